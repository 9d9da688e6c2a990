/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an answer of Chat Completions, whole and in pieces: the same
 * answer, whose items are a JSON list of objects.  They go back into requests
 * that are JSON, as raw and as items, whatever the server.
 */
#include "answers.h"

#include "openai_chat/chat.h"

static void send_back(const char *model, struct th_str items, struct th_str raw)
{
	struct th_request_options o = { .screen = { 64, 48 } };
	struct th_group g = { .kind = TH_GROUP_ANSWER, .items = items, .raw = raw };
	struct th_result results[TH_CALLS_MAX];
	struct th_json_raw_iter it = th_json_raw_iter(items);
	struct th_buf out = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_group r = { .kind = TH_GROUP_RESULTS, .results = results };
	struct th_hole holes[4];
	struct th_err err;
	size_t count;

	if (th_model_resolve(th_str_of(model), &o.profile, &o.model, NULL))
		abort();
	while (th_json_raw_next(&it) && r.result_count < TH_CALLS_MAX)
		results[r.result_count++] = (struct th_result){ .call_item = it.val,
								.call_id = TH_STR("c"),
								.output = TH_STR("\"out\"") };
	th_chat_head(&o, &out);
	size_t start = out.len;
	if (th_group_render(&o, &g, true, &out, holes, TH_COUNT(holes), &count, &err))
		abort();
	if (r.result_count &&
	    th_group_render(&o, &r, out.len == start, &out, holes, TH_COUNT(holes), &count, &err))
		abort();
	th_chat_tail(&o, &out);
	if (!out.failed)
		must_be_json(th_buf_str(&out));
	th_buf_deinit(&out);
}

static void check(const struct th_answer *a)
{
	static const char *const models[] = { "chat:any", "deepseek/x", "mistral/x", "azure/x",
					      "openrouter/x" };
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;

	if (th_json_parse(a->items, &doc, NULL) || !th_json_is_array(th_json_root(doc)))
		abort();
	for (it = th_json_iter(th_json_root(doc)); th_json_next(&it);)
		assert(th_json_is_object(it.val));
	th_json_free(doc);
	doc = NULL;
	if (a->raw.len && th_json_parse(a->raw, &doc, NULL))
		abort();
	th_json_free(doc);
	for (size_t i = 0; i < TH_COUNT(models); i++) {
		send_back(models[i], a->items, a->raw);
		send_back(models[i], a->items, TH_STR(""));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_answer(&th_wire_chat, data, size, check);
	return 0;
}
