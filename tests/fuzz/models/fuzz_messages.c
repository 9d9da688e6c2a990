/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an answer, whole and in pieces: the same answer, whose items are
 * a JSON list of objects.  The dialect reads its calls; items and the raw form
 * go back into requests that are JSON.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "models/messages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hear(void *ctx, enum th_delta_kind kind, size_t index, struct th_str text)
{
	struct th_buf *out = ctx;

	assert(kind <= TH_DELTA_REFUSAL && index < SIZE_MAX);
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

static void must_be_json(struct th_str text)
{
	struct th_json_doc *doc = NULL;

	if (th_json_parse(text, &doc, NULL) == TH_EPROTO)
		abort();
	th_json_free(doc);
}

static void send_back(const char *model, const struct th_answer *answer, struct th_str items)
{
	struct th_request_options o = { .has_computer = true, .screen = { 64, 48 } };
	struct th_group raw = { .kind = TH_GROUP_ANSWER, .items = items, .raw = answer->raw };
	struct th_group built = { .kind = TH_GROUP_ANSWER, .items = items };
	struct th_buf out = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_hole holes[4];
	struct th_err err;
	size_t start, count;

	if (th_model_resolve(th_str_of(model), &o.profile, &o.model, NULL))
		abort();
	o.image = th_image_size(o.profile, o.screen);
	th_messages_head(&o, &out);
	start = out.len;
	if (th_messages_group(&o, &raw, true, &out, holes, TH_COUNT(holes), &count, &err) ||
	    th_messages_group(&o, &built, out.len == start, &out, holes, TH_COUNT(holes), &count,
			      &err))
		abort();
	th_messages_tail(&o, &out);
	if (!out.failed)
		must_be_json(th_buf_str(&out));
	th_buf_deinit(&out);
}

static void check_items(const struct th_answer *answer)
{
	static const char *const models[] = { "claude-sonnet-4-5", "claude-5-x" };

	for (size_t i = 0; i < TH_COUNT(models); i++) {
		struct th_dialect_context c = { .screen = { 640, 480 }, .image = { 640, 480 } };
		struct th_buf items = TH_BUF_INIT(TH_REQUEST_MAX);
		struct th_str name;

		if (th_model_resolve(th_str_of(models[i]), &c.profile, &name, NULL))
			abort();
		if (!th_dialect_anthropic.decode(&c, answer->items, &items, NULL)) {
			must_be_json(th_buf_str(&items));
			send_back(models[i], answer, th_buf_str(&items));
		}
		th_buf_deinit(&items);
	}
}

static void decode(struct th_str body, size_t step, int how, struct th_buf *out)
{
	struct th_buf heard = TH_BUF_INIT(64 * TH_MIB);
	struct th_decoder *d = th_messages_new(NULL, how & 1 ? hear : NULL, &heard);
	struct th_answer answer;

	while (body.len) {
		size_t len = TH_MIN(step, body.len);
		char *copy = malloc(len);

		assert(copy);
		memcpy(copy, body.ptr, len);
		(void)th_messages_feed(d, th_str_n(copy, len));
		free(copy);
		body = th_str_sub(body, len, body.len);
	}
	if (how & 2)
		th_messages_error(d, how & 4 ? 429 : 500, &answer);
	else
		th_messages_end(d, (how & 4) != 0, &answer);
	assert((answer.status == TH_ANSWER_FAILED) == (answer.error_class.len > 0));
	add_answer(&answer, out);
	th_buf_add(out, th_buf_str(&heard));
	if (step == SIZE_MAX)
		check_items(&answer);
	th_messages_free(d);
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
