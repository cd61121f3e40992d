/* SPDX-License-Identifier: Apache-2.0
 * steps.h: what C does before native code, as tables that its loops walk without a look at the plan: words of keys, reads of windows
 * and tables, values of windows. Made once from the plan of an event type; kept in the unit's arena. Private to jit/.
 *
 * Keys, slots and taint bits live in the event's block: `at` and `slot` are offsets from its start. A key is QUICK when all its
 * words are words of the row; the quick keys of an event are made together, before the first thing that needs one. */
#ifndef RDN_STEPS_H
#define RDN_STEPS_H
#include "jit/plan.h"

struct rdn_keyword { uint32_t at; uint8_t load, bytes; };    /* load: RDN_LOAD_*; bytes: of a TAIL */
struct rdn_quickkey { uint32_t at, word, words; };       /* the key; its words: steps->words[word .. word + words) */
struct rdn_keyform { uint32_t at; bool quick; };         /* by key of the plan */
/* A word that is there before the windows change. */
struct rdn_source { uint8_t load; uint32_t at, bit; int64_t imm; };    /* ITEM: its slot, its taint bit; NONE: imm */
enum { RDN_PUT_SLOW, RDN_PUT_IMM, RDN_PUT_QUICK };       /* the lane's work; value and span are known and there is no where; all there is before */
struct rdn_put { uint32_t window, key; uint8_t how; bool is_float; struct rdn_source where, value, span; };   /* where NONE: imm 1 */
struct rdn_rowread { uint32_t table, key, column, columns; };          /* steps->columns[column .. column + columns) */
struct rdn_rowcolumn { uint32_t column, slot; bool wide, has_els; int64_t els; const struct rdn_gather *of; };

/* Other gathers: the common ones whole, ANY by its row of the plan. */
enum { RDN_FILL_ANY, RDN_FILL_INLIST, RDN_FILL_INCAL };  /* INCAL: of now */
struct rdn_fill {
    uint8_t kind, load;                                  /* of the word that INLIST asks about, at `at` in the row */
    uint32_t slot, index, at;
    const struct rdn_gather *of;
};

struct rdn_steps {
    struct rdn_keyform *keys;
    struct rdn_quickkey *quick; uint32_t nquick;
    struct rdn_keyword *words;
    struct rdn_ask *asks; const struct rdn_gather **ask_of; uint32_t nasks;    /* reads of windows at quick keys */
    struct rdn_rowread *rows; uint32_t nrows;
    struct rdn_rowcolumn *columns;
    struct rdn_fill *fills; uint32_t nfills;
    struct rdn_put *puts[2];                             /* observed, accepted: as the event's lists; a SLOW one behind the last */
};
void rdn_steps_make(struct rdn_steps *, const struct rdn_plan *, struct rdn_arena *);
#endif
