/* SPDX-License-Identifier: Apache-2.0
 * text_json.h: `cost`, `layout` and `hash` with --json. */
#ifndef RDN_TEXT_JSON_H
#define RDN_TEXT_JSON_H
#include "base/buf.h"
/* `text`: whole lines as the verb prints them. */
void text_json(struct rdn_buf *, const char *verb, const char *text, size_t len);
#endif
