/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an answer, whole and in pieces: the same answer, whose items
 * are a JSON list of objects.  They go back into requests that are JSON, and
 * their computer calls are read or refused with a sentence.
 */
#include "answers.h"

#include "dialects/actions.h"
#include "openai_responses/responses.h"

static const struct th_profile *profile(const char *model, struct th_str *name)
{
	const struct th_profile *p;

	if (th_model_resolve(th_str_of(model), &p, name, NULL))
		abort();
	return p;
}

/* The items as a request's input. */
static void send_back(const char *model, struct th_str items)
{
	struct th_request_options o = { .has_computer = true, .screen = { 64, 48 } };
	struct th_buf out = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_group answer = { .kind = TH_GROUP_ANSWER, .items = items };
	struct th_json_raw_iter it = th_json_raw_iter(items);
	struct th_hole holes[4];
	struct th_err err;
	size_t start, count;

	o.profile = profile(model, &o.model);
	th_responses_head(&o, &out);
	start = out.len;
	if (th_group_render(&o, &answer, true, &out, holes, TH_COUNT(holes), &count, &err))
		abort();
	while (th_json_raw_next(&it)) {
		struct th_result r = { .call_item = it.val,
				       .call_id = TH_STR("c"),
				       .output = TH_STR("\"out\"") };
		struct th_group g = { .kind = TH_GROUP_RESULTS, .results = &r, .result_count = 1 };

		if (th_group_render(&o, &g, out.len == start, &out, holes, TH_COUNT(holes), &count,
				    &err))
			abort();
	}
	th_responses_tail(&o, &out);
	if (!out.failed)
		must_be_json(th_buf_str(&out));
	th_buf_deinit(&out);
}

static void check(const struct th_answer *answer)
{
	struct th_str items = answer->items;
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;
	struct th_arena a;
	struct th_str name;

	if (th_json_parse(items, &doc, NULL) || !th_json_is_array(th_json_root(doc)))
		abort();
	th_arena_init(&a, TH_MIB);
	for (it = th_json_iter(th_json_root(doc)); th_json_next(&it);) {
		struct th_action *actions;
		struct th_err err = { 0 };
		size_t count;

		assert(th_json_is_object(it.val));
		if (th_model_actions(profile("gpt-5.4", &name), it.val, &a, &actions, &count, &err))
			assert(err.msg[0] != '\0');
		else
			assert(count > 0 && count <= TH_ACTIONS_MAX);
	}
	th_arena_deinit(&a);
	th_json_free(doc);
	send_back("gpt-5.4", items);
	send_back("responses:other", items);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_answer(&th_wire_responses, data, size, check);
	return 0;
}
