/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function_names.h - what functions of a client's request are called: by the
 * client, who may have them in namespaces, and by the model, which knows a flat list.
 *
 * A namespace is {"type": "namespace", "name", "tools": [functions]}; its tools are
 * NAMESPACE__NAME here.  Where that is no name of a tool (too long, or with other
 * characters), its end is a digest of the whole.
 */
#ifndef TH_SERVER_FUNCTION_NAMES_H
#define TH_SERVER_FUNCTION_NAMES_H

#include "base/json.h"

/* Functions and custom tools of a list of tools in the Responses form; other kinds are passed over.
 */
struct th_function_iter {
	struct th_json_iter list, inner;
	struct th_str space; /* of `tool`; empty: it is in none */
	const struct th_json *tool;
	bool inside;
};
struct th_function_iter th_function_iter(const struct th_json *tools);
bool th_function_next(struct th_function_iter *it);

#define TH_TOOL_SEARCH "tool_search" /* a function that the client searches its own tools with */

/* The flat name; `space` may be empty: it is the name. */
void th_function_full_name(struct th_str space, struct th_str name, struct th_buf *out);

/* One of them, by all of its names. */
struct th_function_name {
	char *full, *name;
	char *space; /* NULL: it is in none */
	bool search; /* TH_TOOL_SEARCH with "execution": its calls are items tool_search_call */
};
/* Of a list of tools; th_function_names_free(). */
struct th_function_name *th_function_names(const struct th_json *tools, size_t *ret_count);
struct th_function_name *th_function_names_free(struct th_function_name *list, size_t count);

#endif
