/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the body of a route that has a table for it (the first byte says which), or as
 * `serve` of the configuration: refused with a sentence, or what it says, said again, is taken and
 * says the same.
 */
#include <stdlib.h>

#include "server/service.h"
#include "sessions_api/sessions_api.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool take(const struct th_table *t, struct th_str text, struct th_buf *out)
{
	_Alignas(16) char body[4096];
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	struct th_jw w = th_jw(out);
	struct th_err err = {};

	th_arena_init(&memory, 4 * TH_MIB);
	if (t->size > sizeof(body))
		abort();
	if (th_json_parse(text, &doc, &err) != TH_OK ||
	    th_table_parse(t, th_json_root(doc), &memory, body, &err) != TH_OK) {
		if (!err.msg[0])
			abort();
		return false;
	}
	th_table_print(t, body, &w);
	return true;
}

static void settings(struct th_str text)
{
	struct th_settings s = {};
	struct th_err err = {};

	/* One with a file in it would read whatever is there. */
	if (th_str_find(text, TH_STR("file")) >= 0 || th_str_find_char(text, '\\') >= 0)
		return;
	if (th_settings_parse(text, &s, &err) == TH_OK) {
		(void)th_settings_quota(&s, "ann");
		th_settings_deinit(&s);
	} else if (!err.msg[0]) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_buf one TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(16 * TH_MIB);
	struct th_buf two TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(16 * TH_MIB);
	static const struct th_service *const services[] = { &th_service_operations,
							     &th_service_sessions, NULL };
	struct th_route_iter it = { .service = services };
	const struct th_table *tables[64];
	const struct th_route *r;
	size_t count = 0;
	struct th_str text;

	if (!size || size > TH_SERVE_SMALL_MAX)
		return 0;
	while ((r = th_route_next(&it)))
		if (r->body && count < TH_COUNT(tables))
			tables[count++] = r->body;
	text = th_str_n((const char *)data + 1, size - 1);
	if (data[0] % (count + 1) == count) {
		settings(text);
		return 0;
	}
	if (!take(tables[data[0] % (count + 1)], text, &one))
		return 0;
	if (!take(tables[data[0] % (count + 1)], th_buf_str(&one), &two) ||
	    !th_str_eq(th_buf_str(&one), th_buf_str(&two)))
		abort();
	return 0;
}
