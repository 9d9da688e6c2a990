/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cua.h - commands and answers of Cua's computer-server: what a client says, and
 * how it is answered to the byte.
 *
 * A command is {"command": NAME, "params": {...}}; some clients give the
 * parameters beside the name instead.  Answers over HTTP are one line
 * "data: JSON", in the form that Python's json.dumps has by default.
 */
#ifndef TH_WIRE_CUA_H
#define TH_WIRE_CUA_H

#include "base/json.h"

struct th_cua_command {
	struct th_str name;
	const struct th_json *params; /* an object, or absent */
	bool flat;                    /* the parameters stood beside the name */
};

/* The document is the caller's to free, and the command borrows from it.  TH_EPROTO: no JSON, or no
 * command; the sentence is the protocol's own. */
TH_NODISCARD enum th_code th_cua_parse(struct th_str message, struct th_json_doc **ret_doc,
				       struct th_cua_command *ret, struct th_err *err);

/*
 * A parameter as a whole number: clients send 3, 3.0 and sometimes "3"; fractions are rounded.
 * False: it is absent, null, or no number that a screen could have.
 */
bool th_cua_number(const struct th_json *params, const char *name, int32_t *ret);

/* Valid JSON without spaces, as json.dumps prints it: ", " and ": ", and ASCII alone. */
void th_cua_print(struct th_str json, struct th_buf *out);
/* The same as an answer to POST /cmd. */
void th_cua_print_line(struct th_str json, struct th_buf *out);
/*
 * An answer without spaces, for who gives parameters beside the name: he reads `result`.  That is
 * the answer's `member`, or all of it where that is NULL; a failure has none.
 */
void th_cua_print_flat(struct th_str json, const char *member, struct th_buf *out);
/* {"success":false,"error":TEXT} without spaces. */
void th_cua_print_error(struct th_str text, struct th_buf *out);

#endif
