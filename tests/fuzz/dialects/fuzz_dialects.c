/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model may say, in every dialect: the first byte picks one, the second
 * whether the rest is text or a function's arguments.  The items are JSON, every
 * call has an id, actions lie on the screen, and memory is bounded by the input;
 * what can be said again is read as the same.
 */
#include <stdlib.h>

#include "dialects/actions.h"
#include "dialects/list.h"
#include "dialects/say.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SCREEN            \
	{                 \
		1000, 700 \
	}

static void check_item(const struct th_json *item, const struct th_profile *p)
{
	bool call = th_item_is(item, "computer_call") || th_item_is(item, "function_call");
	struct th_size screen = SCREEN;
	struct th_action *actions;
	struct th_arena a;
	struct th_err err = { 0 };
	size_t count = 0;

	if (call && !th_json_get_str(item, "call_id").len)
		abort();
	if (!th_item_is(item, "computer_call") || th_json_get(item, "targets"))
		return;
	th_arena_init(&a, 64 * TH_MIB);
	if (th_model_actions(p, item, &a, &actions, &count, &err) &&
	    !th_json_get_str(item, "error").len)
		abort();
	for (size_t i = 0; i < count; i++) {
		if (actions[i].has_at && !th_size_has(screen, actions[i].at))
			abort();
		for (size_t k = 0; k < actions[i].path_count; k++)
			if (!th_size_has(screen, actions[i].path[k]))
				abort();
	}
	th_arena_deinit(&a);
}

static void check_items(struct th_str items, const struct th_profile *p)
{
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;

	if (th_json_parse(items, &doc, NULL))
		abort();
	it = th_json_iter(th_json_root(doc));
	while (th_json_next(&it))
		check_item(it.val, p);
	th_json_free(doc);
}

static void put_input(bool function, struct th_str text, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	if (function)
		th_buf_add_cstr(out, "[{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":"
				     "\"computer\",\"arguments\":");
	else
		th_buf_add_cstr(out, "[{\"type\":\"message\",\"content\":");
	th_jw_str(&w, text);
	th_buf_add_cstr(out, "}]");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct th_space spaces[] = {
		{ TH_SPACE_PIXELS, 0, 0, 0, 0, false },
		{ TH_SPACE_NORM, 1000, 0, 0, 0, false },
		{ TH_SPACE_NORM, 999, 0, 0, 0, true },
		{ TH_SPACE_SMART, 0, 28, 3136, 12845056, false },
	};
	struct th_profile p = { .name = "fuzz", .computer = TH_COMPUTER_DIALECT };
	static const struct th_tool_spec tool = {
		.name = TH_STR_INIT("f"),
		.schema =
		    TH_STR_INIT("{\"properties\":{\"a\":{\"type\":\"string\"},\"n\":{\"type\":"
				"\"integer\"},\"l\":{\"type\":\"array\"}}}"),
	};
	struct th_dialect_context c = { .profile = &p,
					.screen = SCREEN,
					.image = SCREEN,
					.turn = 1,
					.tools = &tool,
					.tool_count = 1 };
	struct th_buf in = TH_BUF_INIT(16 * TH_MIB), out = TH_BUF_INIT(64 * TH_MIB);
	struct th_buf said = TH_BUF_INIT(64 * TH_MIB);
	struct th_err err = { 0 };
	size_t count = 0;

	while (th_dialects[count])
		count++;
	if (size < 2)
		return 0;
	p.dialect = th_dialects[data[0] % count];
	p.space = spaces[(data[1] >> 1) % TH_COUNT(spaces)];
	put_input(data[1] & 1, th_str_n(data + 2, size - 2), &in);
	if (p.dialect->decode) {
		if (p.dialect->decode(&c, th_buf_str(&in), &out, &err))
			abort();
		if (out.len > 256 * size + 4096)
			abort();
		check_items(th_buf_str(&out), &p);
		if (!p.dialect->encode(&c, th_buf_str(&out), &said, &err)) {
			th_buf_clear(&out);
			if (p.dialect->decode(&c, th_buf_str(&said), &out, &err))
				abort();
			check_items(th_buf_str(&out), &p);
		}
	}
	th_buf_deinit(&in);
	th_buf_deinit(&out);
	th_buf_deinit(&said);
	return 0;
}
