/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an answer of Gemini, whole and in pieces: the same answer, whose
 * items are a JSON list of objects.  It goes back into a request that is JSON,
 * as it came and from its items; its computer calls are read or refused with a
 * sentence.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "models/dialect.h"
#include "models/gemini.h"

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

static void options(const char *model, struct th_request_options *o)
{
	*o = (struct th_request_options){ .has_computer = true,
					  .screen = { 1000, 700 },
					  .image = { 1000, 700 } };
	if (th_model_resolve(th_str_of(model), &o->profile, &o->model, NULL))
		abort();
}

static void check_json(struct th_str text)
{
	struct th_json_doc *doc = NULL;

	if (th_json_parse(text, &doc, NULL) == TH_EPROTO)
		abort();
	th_json_free(doc);
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
	if (o.profile->wire->group(&o, &g, true, &out, holes, TH_COUNT(holes), &count, &err))
		abort();
	while (th_json_raw_next(&it)) {
		struct th_result r = { .call_item = it.val,
				       .call_id = TH_STR("c"),
				       .output = TH_STR("\"out\"") };

		g = (struct th_group){ .kind = TH_GROUP_RESULTS, .results = &r, .result_count = 1 };
		if (o.profile->wire->group(&o, &g, out.len == start, &out, holes, TH_COUNT(holes),
					   &count, &err))
			abort();
	}
	o.profile->wire->tail(&o, &out);
	if (!out.failed)
		check_json(th_buf_str(&out));
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

static void decode(struct th_str body, size_t step, int how, struct th_buf *out)
{
	struct th_buf heard = TH_BUF_INIT(64 * TH_MIB);
	struct th_decoder *d = th_gemini_new(NULL, how & 1 ? hear : NULL, &heard);
	struct th_answer answer;

	while (body.len) {
		size_t len = TH_MIN(step, body.len);
		char *copy = malloc(len);

		assert(copy);
		memcpy(copy, body.ptr, len);
		(void)th_gemini_feed(d, th_str_n(copy, len));
		free(copy);
		body = th_str_sub(body, len, body.len);
	}
	if (how & 2)
		th_gemini_error(d, how & 4 ? 429 : 500, &answer);
	else
		th_gemini_end(d, (how & 4) != 0, &answer);
	assert((answer.status == TH_ANSWER_FAILED) == (answer.error_class.len > 0));
	add_answer(&answer, out);
	th_buf_add(out, th_buf_str(&heard));
	if (step == SIZE_MAX) {
		if (answer.raw.len)
			check_json(answer.raw);
		check_items("gemini-2.5-computer-use-preview-10-2025", answer.items, answer.raw);
		check_items("gemini-3-flash-preview", answer.items, answer.raw);
	}
	th_gemini_free(d);
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
