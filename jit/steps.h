/* SPDX-License-Identifier: Apache-2.0
 * steps.h: what C does before native code, as tables that its loops walk without a look at the plan: words of keys, reads of windows
 * and tables, values of windows. Made once from the plan of an event type; kept in the unit's arena. Private to jit/.
 *
 * Keys, slots and taint bits live in the event's block: `at` and `slot` are offsets from its start. A key is QUICK when all its
 * words are words of the row, and there unless a field among them is absent; the quick keys of an event are made together, before
 * the first thing that needs one. */
#ifndef RDN_STEPS_H
#define RDN_STEPS_H
#include "jit/plan.h"

struct rdn_keyword { uint32_t at; uint8_t load, bytes; };    /* load: RDN_LOAD_*; bytes: of a TAIL */
struct rdn_quickkey { uint32_t at, word, words; };       /* the key; its words: steps->words[word .. word + words) */
struct rdn_keyform { uint32_t at; bool quick; uint64_t present; };     /* by key of the plan; present: bits without which there is no quick key */
/* A word that is there before the windows change. ITEM and SLOT: the word in the block, the taint bit, the number of the slot; NONE: imm;
 * TEXT: `bit` bytes of the row. present: the bits without which it is undefined. */
struct rdn_source { uint8_t load; uint32_t at, bit; int64_t imm; uint64_t present; };
enum { RDN_PUT_SLOW, RDN_PUT_IMM, RDN_PUT_QUICK };       /* the lane's work; value and span are known, the key there and no where; all there is before */
/* where NONE: imm 1. prev: somebody reads it, and it is kept; slot: where it stands by then, RDN_NO_DEP: nowhere. */
struct rdn_put { uint32_t window, key; uint8_t how; bool is_float, prev; uint32_t slot; uint64_t present; struct rdn_source where, value, span; };
struct rdn_rowread { uint32_t table, key, column, columns; };          /* steps->columns[column .. column + columns) */
struct rdn_rowcolumn { uint32_t column, slot; bool wide, has_els; int64_t els; const struct rdn_gather *of; };

/* Other gathers: the common ones whole, ANY by its row of the plan. */
enum { RDN_FILL_ANY, RDN_FILL_WORD_IN, RDN_FILL_TEXT_IN, RDN_FILL_INCAL, RDN_FILL_TIME };  /* in a list; INCAL, TIME: of now */
struct rdn_fill {
    uint8_t kind, load;                                  /* of the word or text that is asked about, at `at` in the row */
    uint32_t slot, index, at, n;                         /* n: bytes of a text */
    uint64_t present;                                    /* bits of the row without which there is no value */
    uint32_t *needs, nneeds;                             /* slots without which there is none: numbers */
    const struct rdn_gather *of;
};

/* Ranges of the arrays below, in the order of the fields: what is made together. */
struct rdn_turn { uint32_t ask, nasks, row, nrows, fill, nfills; };
struct rdn_steps {
    struct rdn_turn turns[RDN_LEVELS], prevs;            /* [0]: after the windows; [i]: round i before them; prev of windows, before they change */
    struct rdn_keyform *keys;
    struct rdn_quickkey *quick; uint32_t nquick;
    struct rdn_keyword *words;
    struct rdn_ask *asks; const struct rdn_gather **ask_of;    /* reads of windows at quick keys that are always there */
    struct rdn_rowread *rows;
    struct rdn_rowcolumn *columns;
    struct rdn_fill *fills;
    bool optional;                                       /* the event has optional fields, and so a word of their bits */
    struct rdn_put *puts[2];                             /* observed, accepted: as the event's lists; a SLOW one behind the last */
};
void rdn_steps_make(struct rdn_steps *, const struct rdn_plan *, struct rdn_arena *);
#endif
