/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.c - answers of the Interactions API: an event stream or
 * one JSON body, found out by looking.  Both end as a list of steps, and what
 * was said about the interaction.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "google_gemini/gemini.h"
#include "google_interactions/decoder.h"
#include "google_interactions/interactions.h"

struct th_decoder *th_interactions_new(const struct th_profile *profile, th_delta_fn *fn, void *ctx)
{
	struct th_decoder *d = th_alloc(sizeof(*d));
	struct th_buf *bufs[] = { &d->id,    &d->model, &d->status, &d->usage,
				  &d->final, &d->error, &d->text };

	(void)profile;
	d->fn = fn;
	d->ctx = ctx;
	th_intake_init(&d->in, th_interactions_event, d);
	for (size_t i = 0; i < TH_COUNT(bufs); i++)
		th_buf_init(bufs[i], TH_ANSWER_MAX);
	/* Steps and what joins them; arguments that become a string may double. */
	th_buf_init(&d->raw, 2 * TH_ANSWER_MAX + TH_ANSWER_ITEMS_MAX * TH_KIB);
	th_buf_init(&d->items, 2 * d->raw.max);
	th_delta_text_init(&d->delta);
	return d;
}

struct th_decoder *th_interactions_free(struct th_decoder *d)
{
	if (!d)
		return NULL;
	th_intake_deinit(&d->in);
	th_steps_deinit(&d->steps);
	th_buf_deinit(&d->id);
	th_buf_deinit(&d->model);
	th_buf_deinit(&d->status);
	th_buf_deinit(&d->usage);
	th_buf_deinit(&d->final);
	th_buf_deinit(&d->error);
	th_buf_deinit(&d->raw);
	th_buf_deinit(&d->items);
	th_buf_deinit(&d->text);
	th_delta_text_deinit(&d->delta);
	th_json_free(d->doc);
	th_json_free(d->error_doc);
	free(d);
	return NULL;
}

int th_interactions_feed(struct th_decoder *d, struct th_str bytes)
{
	return th_intake_feed(&d->in, bytes);
}

bool th_interactions_finished(const struct th_decoder *d)
{
	return d->finished;
}

struct th_str th_interactions_id(const struct th_decoder *d, int64_t *ret_next_event)
{
	*ret_next_event = 0; /* its events have names, not numbers */
	return th_buf_str(&d->id);
}

/* ---- what is said about it ---- */

static void take_usage(const struct th_json *u, struct th_usage *ret)
{
	int64_t tools = th_answer_tokens(u, "total_tool_use_tokens");

	ret->input = th_answer_tokens(u, "total_input_tokens");
	ret->output = th_answer_tokens(u, "total_output_tokens");
	ret->cached = th_answer_tokens(u, "total_cached_tokens");
	ret->reasoning = th_answer_tokens(u, "total_thought_tokens");
	ret->total = th_answer_tokens(u, "total_tokens");
	if (tools > 0) /* what the provider's own tools read */
		ret->input = TH_MAX(ret->input, (int64_t)0) + tools;
	if (ret->reasoning > 0) /* thoughts are paid for as output, and counted beside it */
		ret->output = TH_MAX(ret->output, (int64_t)0) + ret->reasoning;
}

static const struct {
	const char *theirs;
	enum th_answer_status status;
	const char *reason; /* INCOMPLETE; NULL: their own word */
} statuses[] = {
	{ "completed", TH_ANSWER_COMPLETED, NULL },
	{ "requires_action", TH_ANSWER_COMPLETED, NULL },
	{ "incomplete", TH_ANSWER_INCOMPLETE, "max_output_tokens" },
	{ "failed", TH_ANSWER_FAILED, NULL },
	{ "cancelled", TH_ANSWER_FAILED, NULL },
};

/* A status that is not in the table is one on the way, or new: incomplete, for that reason. */
static void take_status(struct th_str status, struct th_answer *ret)
{
	ret->status = TH_ANSWER_INCOMPLETE;
	ret->reason = status;
	for (size_t i = 0; i < TH_COUNT(statuses); i++) {
		if (!th_str_is(status, statuses[i].theirs))
			continue;
		ret->status = statuses[i].status;
		ret->reason =
		    statuses[i].reason ? th_str_of(statuses[i].reason) : (struct th_str){ NULL, 0 };
	}
	if (th_str_is(status, "cancelled"))
		th_answer_fail(ret, TH_FAILURE_CANCELLED,
			       TH_STR("the provider says that the answer was cancelled"));
}

/* ---- errors ---- */

static void take_error_event(struct th_decoder *d, struct th_answer *ret)
{
	struct th_str raw = th_buf_str(&d->error);
	const struct th_json *error;

	if (th_intake_error_event(&d->in, &raw, &d->error_doc, &error, ret))
		th_gemini_take_error(error, raw, 0, ret);
}

/* Why a step of the model ended; the last one says it. */
static struct th_str error_of_steps(struct th_str steps)
{
	struct th_json_raw_iter it = th_json_raw_iter(steps);
	struct th_str found = { NULL, 0 };

	while (!it.object && th_json_raw_next(&it)) {
		struct th_str error = th_json_raw_get(it.val, "error");

		if (th_json_raw_is_object(error))
			found = error;
	}
	return found;
}

/* Of an interaction that failed: its own error, its list of errors, or that of a step. */
static void take_failure(struct th_decoder *d, struct th_str interaction, struct th_str steps,
			 struct th_answer *ret)
{
	struct th_str raw = th_json_raw_get(interaction, "error");
	struct th_json_raw_iter it = th_json_raw_iter(th_json_raw_get(interaction, "errors"));

	if (!th_json_raw_is_object(raw) && !it.object && th_json_raw_next(&it))
		raw = it.val;
	if (!th_json_raw_is_object(raw))
		raw = error_of_steps(steps);
	th_json_free(d->error_doc);
	d->error_doc = NULL;
	if (th_json_raw_is_object(raw) && !th_json_parse(raw, &d->error_doc, th_intake_err(&d->in)))
		th_gemini_take_error(th_json_root(d->error_doc), raw, 0, ret);
	else
		th_answer_fail(ret, TH_FAILURE_SERVER,
			       TH_STR("the interaction failed and the provider gave no reason"));
}

/* ---- the steps ---- */

#define BEFORE_STEPS "{\"wire\":\"interactions\",\"message\":{\"steps\":"

static enum th_code check(struct th_decoder *d, struct th_str text)
{
	struct th_json_doc *doc = NULL;
	enum th_code code = th_buf_check(&d->raw, "the answer", th_intake_err(&d->in));

	if (!code && !th_json_valid(text))
		code = th_json_parse(text, &doc, th_intake_err(&d->in));
	th_json_free(doc);
	return code;
}

/* Items and raw form; `list` is absent for what the stream brought.  False: not JSON, or too
 * much. */
static bool take_steps(struct th_decoder *d, struct th_str list, struct th_answer *ret)
{
	const struct th_steps *streamed = list.len ? NULL : &d->steps;
	enum th_code code;

	th_buf_clear(&d->raw);
	th_buf_add_cstr(&d->raw, BEFORE_STEPS);
	if (list.len)
		th_buf_add(&d->raw, list);
	else
		th_steps_print(&d->steps, &d->raw);
	th_buf_add_cstr(&d->raw, "}}");
	code = check(d, th_buf_str(&d->raw));
	th_buf_clear(&d->items);
	if (!code) {
		list = th_str_sub(th_buf_str(&d->raw), strlen(BEFORE_STEPS),
				  d->raw.len - strlen(BEFORE_STEPS) - 2);
		th_buf_clear(&d->text);
		th_json_escape(&d->text, th_buf_str(&d->id));
		code = th_interactions_items(list, streamed, th_buf_str(&d->text), &d->items,
					     th_intake_err(&d->in));
	}
	if (code) {
		th_prefix(th_intake_err(&d->in), code, "the answer's steps");
		th_intake_fail(&d->in, code == TH_ELIMIT ? TH_FAILURE_LIMIT : TH_FAILURE_MALFORMED,
			       ret);
		return false;
	}
	ret->items = th_buf_str(&d->items);
	if (list.len > 2)
		ret->raw = th_buf_str(&d->raw);
	return true;
}

/* ---- the end ---- */

static void take_interaction(struct th_decoder *d, struct th_str interaction, struct th_answer *ret)
{
	struct th_str steps = th_json_raw_get(interaction, "steps");
	struct th_json_raw_iter it = th_json_raw_iter(steps);

	ret->response_id = th_buf_str(&d->id);
	ret->model = th_buf_str(&d->model);
	if (d->usage.len && !th_json_parse(th_buf_str(&d->usage), &d->doc, NULL))
		take_usage(th_json_root(d->doc), &ret->usage);
	if (it.object || !th_json_raw_next(&it))
		steps = (struct th_str){ NULL, 0 };
	if (!take_steps(d, steps, ret))
		return;
	take_status(th_buf_str(&d->status), ret);
	if (ret->status == TH_ANSWER_FAILED && !ret->error_class.len)
		take_failure(
		    d, interaction,
		    th_json_raw_get(th_json_raw_get(th_buf_str(&d->raw), "message"), "steps"), ret);
}

static void end_stream(struct th_decoder *d, struct th_answer *ret)
{
	bool whole = d->finished && !d->in.broken;

	take_interaction(d, th_buf_str(&d->final), ret);
	if (whole || ret->error_class.len)
		return;
	ret->status = TH_ANSWER_FAILED;
	ret->reason = ret->raw = (struct th_str){ NULL, 0 };
	if (d->error.len)
		take_error_event(d, ret);
	else if (d->finished)
		th_answer_fail(
		    ret, TH_FAILURE_MALFORMED,
		    TH_STR("an event of the stream was not JSON: what it held is missing"));
	else
		th_intake_unfinished(&d->in, ret);
}

static void keep_text(struct th_buf *to, const struct th_json *v)
{
	th_buf_clear(to);
	th_buf_add(to, th_json_str(v));
}

static void end_json(struct th_decoder *d, bool cut, struct th_answer *ret)
{
	struct th_str raw = th_buf_str(&d->in.body);
	const struct th_json *root, *error;

	if (!th_answer_body(ret, raw, cut, &d->error_doc, th_intake_err(&d->in)))
		return;
	root = th_json_root(d->error_doc);
	if (th_json_is_array(th_json_get(root, "steps")) || th_json_get_str(root, "status").len) {
		keep_text(&d->id, th_json_get(root, "id"));
		keep_text(&d->model, th_json_get(root, "model"));
		keep_text(&d->status, th_json_get(root, "status"));
		th_buf_clear(&d->usage);
		th_buf_add(&d->usage, th_json_raw_get(raw, "usage"));
		if (!d->status.len)
			th_buf_add_cstr(&d->status, "completed");
		take_interaction(d, raw, ret);
		return;
	}
	error = th_answer_find_error(root, &raw);
	if (error && error != root)
		th_gemini_take_error(error, raw, 0, ret);
	else
		th_answer_fail(ret, TH_FAILURE_MALFORMED,
			       TH_STR("the answer's body is JSON, but neither an interaction nor "
				      "an error"));
}

static void end_docs(struct th_decoder *d)
{
	th_intake_end(&d->in);
	th_json_free(d->doc);
	th_json_free(d->error_doc);
	d->doc = d->error_doc = NULL;
}

void th_interactions_end(struct th_decoder *d, bool cut, struct th_answer *ret)
{
	th_answer_init(ret);
	end_docs(d);
	if (d->in.limited)
		th_intake_fail(&d->in, TH_FAILURE_LIMIT, ret);
	else if (d->in.mode == TH_BODY_JSON)
		end_json(d, cut, ret);
	else
		end_stream(d, ret);
}

void th_interactions_error(struct th_decoder *d, int http_status, struct th_answer *ret)
{
	const struct th_json *error;
	struct th_str raw;

	th_answer_init(ret);
	end_docs(d);
	if (th_intake_http_error(&d->in, th_buf_str(&d->error), http_status, ret, &raw,
				 &d->error_doc, &error))
		th_gemini_take_error(error, raw, http_status, ret);
}
