/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.c - answers of the Chat Completions wire: an event stream or one
 * JSON body, found out by looking.  What the model did is decided by what the
 * message holds; the finish reason only says whether it is whole.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "openai_chat/decoder.h"

struct th_decoder *th_chat_new(const struct th_profile *profile, th_delta_fn *fn, void *ctx)
{
	struct th_decoder *d = th_alloc(sizeof(*d));

	(void)profile;
	d->fn = fn;
	d->ctx = ctx;
	d->twins = true;
	th_intake_init(&d->in, th_chat_event, d);
	th_chat_message_init(&d->message);
	th_chat_message_init(&d->single);
	th_buf_init(&d->response_id, TH_SSE_NAME_MAX);
	th_buf_init(&d->model, TH_SSE_NAME_MAX);
	th_buf_init(&d->finish, TH_SSE_NAME_MAX);
	th_buf_init(&d->usage, TH_ANSWER_MAX);
	th_buf_init(&d->error, TH_ANSWER_MAX);
	/* Keys, quotes and commas of what was joined; escapes may be longer than they were. */
	th_buf_init(&d->joined, 2 * TH_ANSWER_MAX);
	th_buf_init(&d->items, 2 * TH_ANSWER_MAX);
	th_buf_init(&d->raw, 2 * TH_ANSWER_MAX);
	th_buf_init(&d->text, TH_ANSWER_MAX);
	th_buf_init(&d->before, TH_SSE_LINE_MAX);
	th_buf_init(&d->head, TH_SSE_LINE_MAX);
	th_buf_init(&d->tail, TH_SSE_LINE_MAX);
	th_buf_init(&d->held, TH_ANSWER_MAX);
	th_delta_text_init(&d->said);
	th_delta_text_init(&d->reasoned);
	th_delta_text_init(&d->called);
	return d;
}

struct th_decoder *th_chat_free(struct th_decoder *d)
{
	if (!d)
		return NULL;
	th_intake_deinit(&d->in);
	th_chat_message_deinit(&d->message);
	th_chat_message_deinit(&d->single);
	th_buf_deinit(&d->response_id);
	th_buf_deinit(&d->model);
	th_buf_deinit(&d->finish);
	th_buf_deinit(&d->usage);
	th_buf_deinit(&d->error);
	th_buf_deinit(&d->joined);
	th_buf_deinit(&d->items);
	th_buf_deinit(&d->raw);
	th_buf_deinit(&d->text);
	th_buf_deinit(&d->before);
	th_buf_deinit(&d->head);
	th_buf_deinit(&d->tail);
	th_buf_deinit(&d->held);
	th_delta_text_deinit(&d->said);
	th_delta_text_deinit(&d->reasoned);
	th_delta_text_deinit(&d->called);
	th_json_free(d->doc);
	th_json_free(d->error_doc);
	free(d);
	return NULL;
}

bool th_chat_finished(const struct th_decoder *d)
{
	return d->finished;
}

/* ---- bytes ---- */

int th_chat_feed(struct th_decoder *d, struct th_str bytes)
{
	return th_intake_feed(&d->in, bytes);
}

/* ---- the answer ---- */

static int64_t first_tokens(const struct th_json *usage, const char *const *keys)
{
	int64_t count = -1;

	for (; *keys && count < 0; keys++)
		count = th_answer_tokens(usage, *keys);
	return count;
}

static void take_usage(const struct th_json *usage, struct th_usage *ret)
{
	static const char *const cached[] = { "prompt_cache_hit_tokens", "cached_tokens",
					      "num_cached_tokens", NULL };

	ret->input = th_answer_tokens(usage, "prompt_tokens");
	ret->output = th_answer_tokens(usage, "completion_tokens");
	ret->total = th_answer_tokens(usage, "total_tokens");
	ret->cached =
	    th_answer_tokens(th_json_get(usage, "prompt_tokens_details"), "cached_tokens");
	if (ret->cached < 0)
		ret->cached = first_tokens(usage, cached);
	ret->reasoning =
	    th_answer_tokens(th_json_get(usage, "completion_tokens_details"), "reasoning_tokens");
	if (ret->reasoning < 0)
		ret->reasoning = th_answer_tokens(usage, "reasoning_tokens");
	ret->written =
	    th_answer_tokens(th_json_get(usage, "prompt_tokens_details"), "cache_write_tokens");
	/* xAI counts reasoning beside the output, and has it paid as such. */
	if (ret->input >= 0 && ret->output >= 0 && ret->reasoning > 0 &&
	    ret->total - ret->input - ret->output == ret->reasoning)
		ret->output += ret->reasoning;
}

struct finish {
	const char *name;
	const char *reason; /* incomplete, for this; NULL: failed */
	enum th_failure class;
};

/* All others say that the answer is whole. */
static const struct finish finishes[] = {
	{ "length", "max_output_tokens", TH_FAILURE_COUNT },
	{ "max_tokens", "max_output_tokens", TH_FAILURE_COUNT },
	{ "model_length", "max_output_tokens", TH_FAILURE_COUNT }, /* Mistral */
	{ "content_filter", "content_filter", TH_FAILURE_COUNT },
	{ "sensitive", "content_filter", TH_FAILURE_COUNT }, /* Z.ai */
	{ "safety", "content_filter", TH_FAILURE_COUNT },
	{ "repetition_truncation", "repetition", TH_FAILURE_COUNT },
	{ "error", NULL, TH_FAILURE_SERVER },
	{ "network_error", NULL, TH_FAILURE_SERVER },
	{ "insufficient_system_resource", NULL, TH_FAILURE_OVERLOADED }, /* DeepSeek */
	{ "abort", NULL, TH_FAILURE_CANCELLED },                         /* vLLM */
};

static const struct finish *find_finish(struct th_str name)
{
	for (size_t i = 0; i < TH_COUNT(finishes); i++)
		if (th_str_ieq(name, th_str_of(finishes[i].name)))
			return &finishes[i];
	return NULL;
}

static void take_finish(struct th_decoder *d, struct th_str name, struct th_answer *ret)
{
	const struct finish *f = find_finish(name);

	ret->status = f ? TH_ANSWER_INCOMPLETE : TH_ANSWER_COMPLETED;
	if (f && f->reason) {
		ret->reason = th_str_of(f->reason);
	} else if (f) {
		th_buf_clear(&d->text);
		th_buf_add(&d->text, TH_STR("the answer ended with the finish reason "));
		th_buf_add(&d->text, name);
		th_answer_fail(ret, f->class, th_buf_str(&d->text));
		ret->error_code = name;
	}
}

/* Items and raw of a message; false when they cannot be had, which ret then says. */
static bool take_message(struct th_decoder *d, struct th_str message, struct th_str finish,
			 struct th_answer *ret)
{
	const struct finish *f = find_finish(finish);
	enum th_code code;

	th_buf_clear(&d->items);
	th_buf_clear(&d->raw);
	code = th_chat_items(message, ret->response_id, f != NULL, &d->items, &d->raw,
			     th_intake_err(&d->in));
	if (code) {
		th_intake_fail(&d->in, code == TH_ELIMIT ? TH_FAILURE_LIMIT : TH_FAILURE_MALFORMED,
			       ret);
		return false;
	}
	ret->items = th_buf_str(&d->items);
	ret->raw = th_buf_str(&d->raw);
	return true;
}

/* ---- one JSON body ---- */

/* The first answer of a body, or of a choice that is a text. */
static struct th_str message_of(const struct th_json *root, struct th_str raw,
				const struct th_json **ret_choice)
{
	struct th_json_raw_iter it = th_json_raw_iter(th_json_raw_get(raw, "choices"));
	const struct th_json *choices = th_json_get(root, "choices");

	*ret_choice = th_json_at(choices, 0);
	if (!th_json_is_array(choices) || !th_json_raw_next(&it) ||
	    !th_json_is_object(th_json_get(*ret_choice, "message")))
		return (struct th_str){ NULL, 0 };
	return th_json_raw_get(it.val, "message");
}

/* FastAPI's {"detail": …} and vLLM's old {"object":"error", "message": …} have no `error`. */
static bool is_bare_error(const struct th_json *root)
{
	return th_str_is(th_json_get_str(root, "object"), "error") ||
	       th_json_get_str(root, "message").len || th_json_get(root, "detail");
}

static void end_json(struct th_decoder *d, bool cut, struct th_answer *ret)
{
	struct th_str raw = th_buf_str(&d->in.body), message, finish;
	const struct th_json *root, *error, *choice;

	if (!th_answer_body(ret, raw, cut, &d->doc, th_intake_err(&d->in)))
		return;
	root = th_json_root(d->doc);
	message = message_of(root, raw, &choice);
	finish = th_json_get_str(choice, "finish_reason");
	ret->response_id = th_json_get_str(root, "id");
	ret->model = th_json_get_str(root, "model");
	take_usage(th_json_get(root, "usage"), &ret->usage);
	if (th_json_is_null(th_json_get(root, "usage")))
		take_usage(th_json_get(th_json_get(root, "x_groq"), "usage"), &ret->usage);
	if (message.len && take_message(d, message, finish, ret))
		take_finish(d, finish, ret);
	error = th_json_get(choice, "error");
	if (th_json_is_null(error)) {
		error = th_answer_find_error(root, &raw);
	} else {
		struct th_json_raw_iter it = th_json_raw_iter(th_json_raw_get(raw, "choices"));

		raw = th_json_raw_next(&it) ? th_json_raw_get(it.val, "error") : raw;
	}
	if (error && (error != root || (!message.len && is_bare_error(root)))) {
		ret->reason = (struct th_str){ NULL, 0 };
		th_answer_take_error(ret, error, raw, 0);
	} else if (!message.len) {
		th_answer_fail(ret, TH_FAILURE_MALFORMED,
			       TH_STR("the answer's body is JSON, but neither a completion nor "
				      "an error"));
	}
}

/* ---- a stream ---- */

static void take_error(struct th_decoder *d, struct th_answer *ret)
{
	struct th_str raw = th_buf_str(&d->error);
	const struct th_json *error;

	if (!th_intake_error_event(&d->in, &raw, &d->error_doc, &error, ret))
		return;
	th_answer_take_error(ret, error, raw, 0);
}

static void end_stream(struct th_decoder *d, struct th_answer *ret)
{
	struct th_str finish = th_buf_str(&d->finish);
	bool twins = d->twins && d->chunks >= 2 && d->chunks % 2 == 0;
	bool good;

	ret->response_id = th_buf_str(&d->response_id);
	ret->model = th_buf_str(&d->model);
	if (d->usage.len && !th_json_parse(th_buf_str(&d->usage), &d->doc, NULL))
		take_usage(th_json_root(d->doc), &ret->usage);
	th_buf_clear(&d->joined);
	th_chat_message_print(twins ? &d->single : &d->message, &d->joined);
	good = take_message(d, th_buf_str(&d->joined), finish, ret);
	if (!d->chosen)
		ret->raw = (struct th_str){ NULL, 0 };
	if (d->error.len)
		take_error(d, ret);
	else if (good && d->in.broken)
		th_answer_fail(ret, TH_FAILURE_MALFORMED,
			       TH_STR("an event of the stream was not JSON"));
	else if (good && d->chosen && (finish.len || d->finished))
		take_finish(d, finish, ret);
	else if (good)
		th_intake_unfinished(&d->in, ret);
}

static void finish_feeding(struct th_decoder *d)
{
	bool again = d->in.ended;

	th_intake_end(&d->in);
	if (d->fn && !again)
		th_chat_tell_end(d);
	th_json_free(d->doc);
	d->doc = NULL;
	th_json_free(d->error_doc);
	d->error_doc = NULL;
}

void th_chat_end(struct th_decoder *d, bool cut, struct th_answer *ret)
{
	th_answer_init(ret);
	finish_feeding(d);
	if (d->in.limited)
		th_intake_fail(&d->in, TH_FAILURE_LIMIT, ret);
	else if (d->in.mode == TH_BODY_JSON)
		end_json(d, cut, ret);
	else
		end_stream(d, ret);
}

void th_chat_error(struct th_decoder *d, int http_status, struct th_answer *ret)
{
	const struct th_json *error;
	struct th_str raw;

	th_answer_init(ret);
	finish_feeding(d);
	if (th_intake_http_error(&d->in, th_buf_str(&d->error), http_status, ret, &raw,
				 &d->error_doc, &error))
		th_answer_take_error(ret, error, raw, http_status);
}
