/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an answer of the Interactions API, whole and in pieces: the same answer, whose
 * items are a JSON list of objects.  It goes back into a request that is JSON,
 * as it came and from its items; its computer calls are read or refused with a
 * sentence.
 */
#include "answers.h"

#include "dialects/actions.h"
#include "dialects/dialect.h"
#include "google_interactions/interactions.h"

static void options(const char *model, struct th_request_options *o)
{
	*o = (struct th_request_options){ .has_computer = true,
					  .screen = { 1000, 700 },
					  .image = { 1000, 700 } };
	if (th_model_resolve(th_str_of(model), &o->profile, &o->model, NULL))
		abort();
}

/* The answer and a result for each of its calls. */
static void send_back(const char *model, struct th_str items, struct th_str raw)
{
	struct th_request_options o;
	struct th_buf out = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_raw_iter it = th_json_raw_iter(items);
	struct th_group g = { .kind = TH_GROUP_ANSWER, .items = items, .raw = raw };
	struct th_hole holes[4];
	struct th_err err;
	size_t start, count;

	options(model, &o);
	o.profile->wire->head(&o, &out);
	start = out.len;
	if (th_group_render(&o, &g, true, &out, holes, TH_COUNT(holes), &count, &err))
		abort();
	while (th_json_raw_next(&it)) {
		struct th_result r = { .call_item = it.val,
				       .call_id = TH_STR("c"),
				       .output = TH_STR("\"out\"") };

		g = (struct th_group){ .kind = TH_GROUP_RESULTS, .results = &r, .result_count = 1 };
		if (th_group_render(&o, &g, out.len == start, &out, holes, TH_COUNT(holes), &count,
				    &err))
			abort();
	}
	o.profile->wire->tail(&o, &out);
	if (!out.failed)
		must_be_json(th_buf_str(&out));
	th_buf_deinit(&out);
}

static void check_actions(const struct th_profile *p, struct th_str items)
{
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;
	struct th_arena a;

	if (th_json_parse(items, &doc, NULL) || !th_json_is_array(th_json_root(doc)))
		abort();
	th_arena_init(&a, TH_MIB);
	for (it = th_json_iter(th_json_root(doc)); th_json_next(&it);) {
		struct th_action *actions;
		struct th_err err = { 0 };
		size_t count;

		assert(th_json_is_object(it.val));
		if (!th_str_is(th_json_get_str(it.val, "type"), "computer_call"))
			continue;
		if (th_model_actions(p, it.val, &a, &actions, &count, &err))
			assert(err.msg[0] != '\0');
		else
			assert(count > 0 && count <= TH_ACTIONS_MAX);
	}
	th_arena_deinit(&a);
	th_json_free(doc);
}

static void check_items(const char *model, struct th_str items, struct th_str raw)
{
	struct th_request_options o;
	struct th_buf spoken = TH_BUF_INIT(4 * TH_ANSWER_MAX);
	struct th_dialect_context c;

	options(model, &o);
	c = (struct th_dialect_context){ .profile = o.profile,
					 .screen = o.screen,
					 .image = o.image };
	if (o.profile->dialect->decode(&c, items, &spoken, NULL))
		abort();
	check_actions(o.profile, th_buf_str(&spoken));
	send_back(model, th_buf_str(&spoken), raw);
	send_back(model, th_buf_str(&spoken), TH_STR(""));
	th_buf_deinit(&spoken);
}

static void check(const struct th_answer *a)
{
	if (a->raw.len)
		must_be_json(a->raw);
	check_items("interactions:gemini-2.5-computer-use-preview-10-2025", a->items, a->raw);
	check_items("interactions:gemini-3-flash-preview", a->items, a->raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_answer(&th_wire_interactions, data, size, check);
	return 0;
}
