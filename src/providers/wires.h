/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wires.h - the table of wires.  A new wire is its files and one line here.
 */
#ifndef TH_PROVIDERS_WIRES_H
#define TH_PROVIDERS_WIRES_H

#include "models/model.h"

#define TH_WIRES(X) X(responses) X(chat) X(messages) X(gemini) X(interactions)

#define X(name) extern const struct th_wire th_wire_##name;
TH_WIRES(X)
#undef X

/* In the order of the table, NULL-terminated. */
extern const struct th_wire *const th_wires[];
extern const char *const th_wire_names[];

/* Two rows of one wire differ in the key's header or in the path: gateways. */
static inline bool th_wire_same(const struct th_wire *a, const struct th_wire *b)
{
	return a == b || strcmp(a->name, b->name) == 0;
}

/* The names of the wires that have this dialect for their computer tool, with ", " between. */
void th_wire_names_of(const struct th_dialect *dialect, struct th_buf *out);
/* The same, of those that have this computer tool. */
void th_wire_names_with(enum th_computer_tool tool, struct th_buf *out);

/* Whether settings.extra_body may say what it says to this wire.  `extra_body`: JSON, an object, or
 * empty.  TH_EUSAGE: a sentence that begins with "settings.extra_body". */
TH_NODISCARD enum th_code th_wire_check_extra(const struct th_wire *wire, struct th_str extra_body,
					      struct th_err *err);

#endif
