/* SPDX-License-Identifier: Apache-2.0
 * layout.h: event rows as text, and where two of them part: breakpoint 3 of PLUGINS.md 9.
 *
 * The text is what the layout hash is over (LANGUAGE.md 5): "Order;ts:time;account:sym;qty:int;px:dec(4);note:str(8)?;" */
#ifndef RDN_LAYOUT_H
#define RDN_LAYOUT_H
#include "base/buf.h"
#include "plugins/worker.h"

void rdn_layout_type(struct rdn_buf *, const struct rdn_wire_type *);       /* as rules write it: dec(4), enum(a,b), Order */
void rdn_layout_canon(struct rdn_buf *, const struct rdn_wire_type *event);
/* True with "field px: host dec(4)@32, plugin dec(4)@24; size 48, 40". Fields appended by the host are no difference: rows are found
 * by the column's width, not by the plugin's sizeof. */
bool rdn_layout_differs(const char *host, const char *plugin, char *ret, size_t cap);
#endif
