/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.c - answers of the Messages wire: an event stream or one
 * JSON body, found out by looking.  Both end as one message object.
 */
#include <stdlib.h>

#include "anthropic_messages/decoder.h"
#include "anthropic_messages/messages.h"
#include "base/limits.h"

struct th_decoder *th_messages_new(const struct th_profile *profile, th_delta_fn *fn, void *ctx)
{
	struct th_decoder *d = th_alloc(sizeof(*d));
	struct th_buf *bufs[] = { &d->start, &d->over, &d->usage,   &d->error,
				  &d->items, &d->raw,  &d->scratch, &d->head };

	(void)profile;
	d->fn = fn;
	d->ctx = ctx;
	th_intake_init(&d->in, th_messages_event, d);
	/* Blocks and what joins them; arguments that become a string may double. */
	for (size_t i = 0; i < TH_COUNT(bufs); i++)
		th_buf_init(bufs[i], TH_ANSWER_MAX);
	d->raw.max = TH_ANSWER_MAX + TH_ANSWER_ITEMS_MAX * TH_KIB;
	d->items.max = 2 * d->raw.max;
	th_delta_text_init(&d->delta);
	return d;
}

struct th_decoder *th_messages_free(struct th_decoder *d)
{
	if (!d)
		return NULL;
	th_intake_deinit(&d->in);
	th_blocks_deinit(&d->blocks);
	th_buf_deinit(&d->start);
	th_buf_deinit(&d->over);
	th_buf_deinit(&d->usage);
	th_buf_deinit(&d->error);
	th_buf_deinit(&d->head);
	th_buf_deinit(&d->raw);
	th_buf_deinit(&d->items);
	th_buf_deinit(&d->scratch);
	th_delta_text_deinit(&d->delta);
	th_json_free(d->doc);
	th_json_free(d->error_doc);
	free(d);
	return NULL;
}

bool th_messages_finished(const struct th_decoder *d)
{
	return d->finished;
}

/* ---- bytes ---- */

int th_messages_feed(struct th_decoder *d, struct th_str bytes)
{
	return th_intake_feed(&d->in, bytes);
}

/* ---- the answer ---- */

#define BEFORE_MESSAGE TH_STR("{\"wire\":\"messages\",\"message\":")

struct phrase {
	struct th_str text;
	enum th_failure class;
	const char *code;
};

/* What the type of an error does not tell: the request is too long for the model, or the money is
 * out. */
static const struct phrase phrases[] = {
	{ TH_STR_INIT("prompt is too long"), TH_FAILURE_REJECTED, "context_length_exceeded" },
	{ TH_STR_INIT("exceed context limit"), TH_FAILURE_REJECTED, "context_length_exceeded" },
	{ TH_STR_INIT("exceeds the context window"), TH_FAILURE_REJECTED,
	  "context_length_exceeded" },
	{ TH_STR_INIT("credit balance is too low"), TH_FAILURE_QUOTA, "billing_error" },
	{ TH_STR_INIT("spend limit"), TH_FAILURE_QUOTA, "billing_error" },
	{ TH_STR_INIT("specified API usage limits"), TH_FAILURE_QUOTA, "billing_error" },
};

static void take_error(const struct th_json *error, struct th_str raw, int http_status,
		       struct th_answer *ret)
{
	th_answer_take_error(ret, error, raw, http_status);
	for (size_t i = 0; i < TH_COUNT(phrases); i++)
		if (th_str_find(ret->error_message, phrases[i].text) >= 0) {
			ret->error_class = th_str_of(th_failure_name(phrases[i].class));
			ret->error_code = th_str_of(phrases[i].code);
			return;
		}
}

static void take_error_event(struct th_decoder *d, struct th_answer *ret)
{
	struct th_str raw = th_buf_str(&d->error);
	const struct th_json *error;

	if (!th_intake_error_event(&d->in, &raw, &d->error_doc, &error, ret))
		return;
	take_error(error, raw, 0, ret);
	if (th_str_is(ret->error_code, "error")) /* the event's own type */
		ret->error_code = (struct th_str){ NULL, 0 };
}

static int64_t sum(int64_t a, int64_t b)
{
	int64_t r;

	if (a < 0 || b < 0)
		return a < 0 ? b : a;
	return __builtin_add_overflow(a, b, &r) ? INT64_MAX : r;
}

static void add_usage(const struct th_json *u, struct th_usage *ret)
{
	int64_t read = th_answer_tokens(u, "cache_read_input_tokens");
	int64_t written = th_answer_tokens(u, "cache_creation_input_tokens");

	ret->input = sum(ret->input, th_answer_tokens(u, "input_tokens"));
	ret->input = sum(sum(ret->input, read), written);
	ret->cached = sum(ret->cached, read);
	ret->written = sum(ret->written, TH_MAX(written, (int64_t)0));
	ret->output = sum(ret->output, th_answer_tokens(u, "output_tokens"));
}

/* Its input is what no cache had; the prompt is all three together.  Where the answer took several
 * passes (compaction, an advisor, a fallback), its members are the last one's: what is paid is
 * their sum. */
static void take_usage(const struct th_json *u, struct th_usage *ret)
{
	const struct th_json *passes = th_json_get(u, "iterations");
	struct th_json_iter it = th_json_iter(passes);

	if (th_json_is_array(passes) && th_json_count(passes) > 0)
		while (th_json_next(&it))
			add_usage(it.val, ret);
	else
		add_usage(u, ret);
	ret->reasoning =
	    th_answer_tokens(th_json_get(u, "output_tokens_details"), "thinking_tokens");
	if (ret->input >= 0 && ret->output >= 0)
		ret->total = sum(ret->input, ret->output);
}

/* Stop reasons after which the answer is not all that the model had to say. */
static const struct {
	const char *theirs, *ours;
} reasons[] = {
	{ "max_tokens", "max_output_tokens" },
	{ "model_context_window_exceeded", "context_window" },
	{ "pause_turn", TH_ANSWER_PAUSED },
	{ "compaction", TH_ANSWER_PAUSED }, /* paused behind its summary */
};

static void take_stop(struct th_str stop, struct th_answer *ret)
{
	ret->status = TH_ANSWER_COMPLETED;
	for (size_t i = 0; i < TH_COUNT(reasons); i++)
		if (th_str_is(stop, reasons[i].theirs)) {
			ret->status = TH_ANSWER_INCOMPLETE;
			ret->reason = th_str_of(reasons[i].ours);
		}
}

/* A message as the text that d->raw holds; `root` has what is said about its content. */
static void take_message(struct th_decoder *d, const struct th_json *root, struct th_str raw,
			 const struct th_blocks *blocks, struct th_answer *ret)
{
	enum th_code code;

	ret->response_id = th_json_get_str(root, "id");
	ret->model = th_json_get_str(root, "model");
	take_usage(th_json_get(root, "usage"), &ret->usage);
	take_stop(th_json_get_str(root, "stop_reason"), ret);
	th_buf_clear(&d->items);
	th_buf_reserve(&d->items, raw.len);
	code = th_messages_items(raw, blocks, &d->items, th_intake_err(&d->in));
	if (code) {
		th_intake_fail(&d->in, code == TH_ELIMIT ? TH_FAILURE_LIMIT : TH_FAILURE_MALFORMED,
			       ret);
		return;
	}
	ret->items = th_buf_str(&d->items);
	ret->raw = th_buf_str(&d->raw);
}

/* The model that a fallback block names answered in the place of the first. */
static struct th_str fallback_model(const struct th_blocks *blocks)
{
	struct th_str model = { NULL, 0 };

	for (size_t i = 0; i < blocks->count; i++) {
		struct th_str start = th_buf_str(&blocks->list[i].start), to;

		if (!th_str_is(th_json_raw_get(start, "type"), "\"fallback\""))
			continue;
		to = th_json_raw_get(th_json_raw_get(start, "to"), "model");
		if (to.len)
			model = to;
	}
	return model;
}

/* The message that the stream brought, as far as it came; in d->scratch all of it but the content.
 */
static void print_message(struct th_decoder *d)
{
	static const char *const ours[] = { "content", "usage", "model" };
	struct th_json_raw_iter it;
	struct th_jw w = th_jw(&d->raw), outline;
	struct th_str model = fallback_model(&d->blocks);

	th_buf_clear(&d->scratch);
	th_messages_merge(th_buf_str(&d->start), th_buf_str(&d->over), &d->scratch);
	th_buf_clear(&d->raw);
	th_buf_reserve(&d->raw, d->blocks.size + d->scratch.len + d->usage.len + TH_KIB);
	th_buf_add(&d->raw, BEFORE_MESSAGE);
	th_jw_object(&w);
	for (it = th_json_raw_iter(th_buf_str(&d->scratch)); th_json_raw_next(&it);) {
		bool skip = false;

		for (size_t i = 0; i < TH_COUNT(ours); i++)
			skip = skip || th_str_is(it.key, ours[i]);
		if (th_str_is(it.key, "model") && !model.len)
			model = it.val;
		if (skip)
			continue;
		th_jw_raw(&w, TH_STR("\""));
		th_buf_add(&d->raw, it.key);
		th_buf_add(&d->raw, TH_STR("\":"));
		th_buf_add(&d->raw, it.val);
	}
	if (model.len)
		th_jw_kraw(&w, "model", model);
	th_buf_clear(&d->scratch);
	th_buf_add(&d->scratch, th_str_sub(th_buf_str(&d->raw), BEFORE_MESSAGE.len, d->raw.len));
	outline = (struct th_jw){ &d->scratch, w.comma };
	if (d->usage.len)
		th_jw_kraw(&outline, "usage", th_buf_str(&d->usage));
	th_jw_object_end(&outline);
	th_jw_key(&w, TH_STR("content"));
	th_jw_raw(&w, TH_STR(""));
	th_blocks_print(&d->blocks, &d->raw, BEFORE_MESSAGE.len);
	if (d->usage.len)
		th_jw_kraw(&w, "usage", th_buf_str(&d->usage));
	th_jw_object_end(&w);
	th_buf_add_char(&d->raw, '}');
	d->message = th_str_sub(th_buf_str(&d->raw), BEFORE_MESSAGE.len,
				d->raw.len - BEFORE_MESSAGE.len - 1);
}

static void end_stream(struct th_decoder *d, bool cut, struct th_answer *ret)
{
	bool whole = d->finished, stopped;
	enum th_code code;

	print_message(d);
	code = th_buf_check(&d->raw, "the answer", th_intake_err(&d->in));
	/* The content is checked, and only what is said about it made a document of. */
	if (!code)
		code =
		    th_json_parse(th_json_valid(d->message) ? th_buf_str(&d->scratch) : d->message,
				  &d->doc, th_intake_err(&d->in));
	if (code) {
		th_prefix(th_intake_err(&d->in), code, "the answer's blocks");
		th_intake_fail(&d->in, code == TH_ELIMIT ? TH_FAILURE_LIMIT : TH_FAILURE_MALFORMED,
			       ret);
		return;
	}
	take_message(d, th_json_root(d->doc), d->message, &d->blocks, ret);
	if (ret->error_class.len)
		return;
	/* The stop reason is the last thing that is said: only message_stop is missing. */
	stopped = th_json_get_str(th_json_root(d->doc), "stop_reason").len > 0;
	for (size_t i = 0; i < d->blocks.count; i++)
		stopped = stopped && d->blocks.list[i].done;
	/* What a broken event held is missing, and may have been the middle of a call's arguments.
	 */
	whole = !d->in.broken && (whole || (stopped && !cut && !d->error.len));
	if (whole)
		return;
	ret->reason = ret->raw = (struct th_str){ NULL, 0 };
	if (d->error.len)
		take_error_event(d, ret);
	else if (d->in.broken && d->finished)
		th_answer_fail(
		    ret, TH_FAILURE_MALFORMED,
		    TH_STR("an event of the stream was not JSON: what it held is missing"));
	else
		th_intake_unfinished(&d->in, ret);
}

static void end_json(struct th_decoder *d, bool cut, struct th_answer *ret)
{
	struct th_str raw = th_buf_str(&d->in.body);
	const struct th_json *root, *error;

	if (!th_answer_body(ret, raw, cut, &d->doc, th_intake_err(&d->in)))
		return;
	root = th_json_root(d->doc);
	if (th_json_is_array(th_json_get(root, "content"))) {
		raw = th_str_trim(raw);
		th_buf_clear(&d->raw);
		th_buf_add(&d->raw, BEFORE_MESSAGE);
		th_buf_add(&d->raw, raw);
		th_buf_add_char(&d->raw, '}');
		take_message(d, root, raw, NULL, ret);
		return;
	}
	error = th_answer_find_error(root, &raw);
	if (error && error != root) {
		take_error(error, raw, 0, ret);
		return;
	}
	th_answer_fail(ret, TH_FAILURE_MALFORMED,
		       TH_STR("the answer's body is JSON, but neither a message nor an error"));
}

static void forget(struct th_decoder *d)
{
	th_json_free(d->doc);
	d->doc = NULL;
	th_json_free(d->error_doc);
	d->error_doc = NULL;
}

void th_messages_end(struct th_decoder *d, bool cut, struct th_answer *ret)
{
	th_answer_init(ret);
	th_intake_end(&d->in);
	forget(d);
	if (d->in.limited)
		th_intake_fail(&d->in, TH_FAILURE_LIMIT, ret);
	else if (d->in.mode == TH_BODY_JSON)
		end_json(d, cut, ret);
	else
		end_stream(d, cut, ret);
}

void th_messages_error(struct th_decoder *d, int http_status, struct th_answer *ret)
{
	const struct th_json *error;
	struct th_str raw;

	th_answer_init(ret);
	th_intake_end(&d->in);
	forget(d);
	if (th_intake_http_error(&d->in, th_buf_str(&d->error), http_status, ret, &raw,
				 &d->error_doc, &error))
		take_error(error, raw, http_status, ret);
}
