/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a request of A2A's HTTP+JSON: a line "PATH?QUERY", and a body behind it.  Each route
 * that the path fits reads it: refused, or parameters that are one JSON object, in which the path
 * has the last word.  The body as a message, too: refused with a sentence, or what the model reads.
 */
#include <stdlib.h>
#include <string.h>

#include "a2a/internal.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good)
{
	if (!good)
		abort();
}

/* As the model reads it: texts without a zero, and items that are good JSON. */
static void message(const struct th_json *v)
{
	struct th_a2a_said said;
	struct th_err err = {};

	if (th_a2a_said_read(v, &said, &err)) {
		must(err.msg[0]);
	} else {
		must(said.text.len || said.files || said.decision);
		must(!said.text.len || !memchr(said.text.ptr, 0, said.text.len));
		must(!said.files || th_json_valid(th_buf_str(&said.items)));
	}
	th_a2a_said_deinit(&said);
}

/* How often a member stands in it. */
static size_t count_of(const struct th_json *v, const char *name)
{
	struct th_json_iter it = th_json_iter(v);
	size_t count = 0;

	while (th_json_next(&it))
		count += th_str_is(it.key, name);
	return count;
}

/* What is no UTF-8 is replaced in JSON, and so names nothing. */
static void says(const struct th_json *params, const char *name, const char *value)
{
	struct th_str text = th_str_of(value);

	must(count_of(params, name) == 1);
	must(th_utf8_valid(text) != text.len || th_str_eq(th_json_get_str(params, name), text));
}

static void request(const struct th_route *route, const struct th_access *a, struct th_str query,
		    struct th_str body)
{
	struct th_buf params TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_SERVE_JSON_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_a2a_rest_request r = {
		.route = route, .query = query, .body = body, .task = a->task, .config = a->args[1]
	};
	bool hooks = strstr(route->path, "Configs") != NULL;
	const struct th_json *root;

	if (!th_a2a_rest_read(&r, &params))
		return;
	must(th_json_parse(th_buf_str(&params), &doc, NULL) == TH_OK);
	root = th_json_root(doc);
	must(th_json_is_object(root));
	if (strstr(route->path, "{task}"))
		says(root, hooks ? "taskId" : "id", a->task);
	if (strstr(route->path, "{config}"))
		says(root, "id", a->args[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str body = th_str_n(data, size), path = th_str_split(&body, '\n');
	struct th_str query = path, text = body;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

	path = th_str_split(&query, '?');
	for (const struct th_route *r = th_service_a2a.routes; r->path; r++) {
		struct th_access a = { .route = r };

		if (r->fn == th_a2a_rest && th_route_fits(r->path, path, &a))
			request(r, &a, query, body);
	}
	if (th_json_parse(text, &doc, NULL) == TH_OK)
		message(th_json_root(doc));
	return 0;
}
