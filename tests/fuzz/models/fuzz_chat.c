/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an answer of Chat Completions, whole and in pieces: the same
 * answer, whose items are a JSON list of objects.  They go back into requests
 * that are JSON, as raw and as items, whatever the server.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "models/chat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hear(void *ctx, enum th_delta_kind kind, size_t index, struct th_str text)
{
	struct th_buf *out = ctx;

	assert(kind <= TH_DELTA_REFUSAL && index < SIZE_MAX && text.len > 0);
	th_buf_add(out, text);
}

static void add_answer(const struct th_answer *a, struct th_buf *out)
{
	th_buf_printf(out, "%d %lld ", (int)a->status, (long long)a->usage.total);
	th_buf_add(out, a->items);
	th_buf_add(out, a->raw);
	th_buf_add(out, a->response_id);
	th_buf_add(out, a->model);
	th_buf_add(out, a->reason);
	th_buf_add(out, a->error_class);
	th_buf_add(out, a->error_message);
	th_buf_add(out, a->error_code);
	th_buf_add(out, a->error_raw);
}

static void send_back(const char *model, struct th_str items, struct th_str raw)
{
	struct th_request_options o = { .screen = { 64, 48 } };
	struct th_group g = { .kind = TH_GROUP_ANSWER, .items = items, .raw = raw };
	struct th_result results[TH_CALLS_MAX];
	struct th_json_raw_iter it = th_json_raw_iter(items);
	struct th_buf out = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_doc *doc = NULL;
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
	if (th_chat_group(&o, &g, true, &out, holes, TH_COUNT(holes), &count, &err))
		abort();
	if (r.result_count &&
	    th_chat_group(&o, &r, out.len == start, &out, holes, TH_COUNT(holes), &count, &err))
		abort();
	th_chat_tail(&o, &out);
	if (!out.failed && th_json_parse(th_buf_str(&out), &doc, &err) == TH_EPROTO)
		abort();
	th_json_free(doc);
	th_buf_deinit(&out);
}

static void check_answer(const struct th_answer *a)
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

static void decode(struct th_str body, size_t step, int how, struct th_buf *out)
{
	struct th_buf heard = TH_BUF_INIT(64 * TH_MIB);
	struct th_decoder *d = th_chat_new(NULL, how & 1 ? hear : NULL, &heard);
	struct th_answer answer;

	while (body.len) {
		size_t len = TH_MIN(step, body.len);
		char *copy = malloc(len);

		assert(copy);
		memcpy(copy, body.ptr, len);
		(void)th_chat_feed(d, th_str_n(copy, len));
		free(copy);
		body = th_str_sub(body, len, body.len);
	}
	if (how & 2)
		th_chat_error(d, how & 4 ? 429 : 500, &answer);
	else
		th_chat_end(d, (how & 4) != 0, &answer);
	assert((answer.status == TH_ANSWER_FAILED) == (answer.error_class.len > 0));
	add_answer(&answer, out);
	th_buf_add(out, th_buf_str(&heard));
	if (step == SIZE_MAX)
		check_answer(&answer);
	th_chat_free(d);
	th_buf_deinit(&heard);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_buf whole = TH_BUF_INIT(256 * TH_MIB), cut = TH_BUF_INIT(256 * TH_MIB);
	int how =
	    size ? data[size - 1] & 7 : 0; /* the last byte, so that seeds are plain streams */
	size_t step = size ? 1 + data[size - 1] % 61 : 1;

	decode(th_str_n(data, size), SIZE_MAX, how, &whole);
	decode(th_str_n(data, size), step, how, &cut);
	if (!th_str_eq(th_buf_str(&whole), th_buf_str(&cut)))
		abort();
	th_buf_deinit(&whole);
	th_buf_deinit(&cut);
	return 0;
}
