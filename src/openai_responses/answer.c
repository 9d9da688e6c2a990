/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.c - answers of the Responses wire: an event stream or one
 * JSON body, found out by looking.  The terminal event's `response` is the
 * answer; what came before it stands in where it is missing or has no output.
 */
#include <stdlib.h>

#include "base/field.h"
#include "base/limits.h"
#include "base/text.h"
#include "openai_responses/decoder.h"
#include "openai_responses/responses.h"

struct th_decoder *th_responses_new(const struct th_profile *profile, th_delta_fn *fn, void *ctx)
{
	struct th_decoder *d = th_alloc(sizeof(*d));

	(void)profile;
	d->fn = fn;
	d->ctx = ctx;
	d->last_seq = -1;
	th_intake_init(&d->in, th_responses_event, d);
	th_buf_init(&d->response_id, TH_SSE_NAME_MAX);
	th_buf_init(&d->model, TH_SSE_NAME_MAX);
	th_buf_init(&d->final, TH_ANSWER_MAX);
	th_buf_init(&d->error, TH_ANSWER_MAX);
	/* Items and what joins them. */
	th_buf_init(&d->list, TH_ANSWER_MAX + TH_ANSWER_ITEMS_MAX * TH_KIB);
	th_delta_text_init(&d->delta);
	return d;
}

struct th_decoder *th_responses_free(struct th_decoder *d)
{
	if (!d)
		return NULL;
	th_intake_deinit(&d->in);
	th_items_deinit(&d->items);
	th_buf_deinit(&d->response_id);
	th_buf_deinit(&d->model);
	th_buf_deinit(&d->final);
	th_buf_deinit(&d->error);
	th_buf_deinit(&d->list);
	th_delta_text_deinit(&d->delta);
	th_json_free(d->doc);
	th_json_free(d->error_doc);
	free(d);
	return NULL;
}

struct th_str th_responses_id(const struct th_decoder *d, int64_t *ret_next_event)
{
	*ret_next_event = d->next_event;
	return th_buf_str(&d->response_id);
}

bool th_responses_finished(const struct th_decoder *d)
{
	return d->finished;
}

/* ---- bytes ---- */

int th_responses_feed(struct th_decoder *d, struct th_str bytes)
{
	return th_intake_feed(&d->in, bytes);
}

/* ---- the answer ---- */

static void take_usage(const struct th_json *usage, struct th_usage *ret)
{
	ret->input = th_answer_tokens(usage, "input_tokens");
	ret->output = th_answer_tokens(usage, "output_tokens");
	ret->total = th_answer_tokens(usage, "total_tokens");
	ret->cached = th_answer_tokens(th_json_get(usage, "input_tokens_details"), "cached_tokens");
	ret->reasoning =
	    th_answer_tokens(th_json_get(usage, "output_tokens_details"), "reasoning_tokens");
}

/* Kinds of items that a client must answer. */
static const char *const calls[] = { "function_call",        "computer_call",
				     "custom_tool_call",     "shell_call",
				     "local_shell_call",     "apply_patch_call",
				     "mcp_approval_request", NULL };

/* A history takes no other roles. */
static bool is_role(struct th_str role)
{
	static const char *const roles[] = { "assistant", "user", "developer", "system", NULL };

	return th_names_find(roles, role) >= 0;
}

/* Every item an object of some type, messages of somebody, and not too many. */
static bool items_fit(struct th_decoder *d, const struct th_json *list, struct th_answer *ret)
{
	struct th_json_iter it = th_json_iter(list);
	size_t call_count = 0;

	if (th_json_count(list) > TH_ANSWER_ITEMS_MAX) {
		th_intake_over(&d->in, "items", TH_ANSWER_ITEMS_MAX);
		th_intake_fail(&d->in, TH_FAILURE_LIMIT, ret);
		return false;
	}
	while (th_json_next(&it)) {
		struct th_str type = th_json_get_str(it.val, "type");
		struct th_str role = th_json_get_str(it.val, "role");
		enum th_code code = TH_OK;

		if (!th_json_is_object(it.val))
			code = th_fail(th_intake_err(&d->in), TH_EPROTO,
				       "item %zu of the answer is %s, not an object", it.index,
				       th_json_type_name(th_json_type(it.val)));
		else if (!type.len)
			code = th_fail(th_intake_err(&d->in), TH_EPROTO,
				       "item %zu of the answer has no type", it.index);
		else if (th_str_is(type, "message") && th_json_get(it.val, "role") &&
			 !is_role(role))
			code =
			    th_fail(th_intake_err(&d->in), TH_EPROTO,
				    "item %zu of the answer is a message of \"%.*s\", which is no "
				    "role",
				    it.index, TH_FMT(th_utf8_cut(role, 40)));
		if (code) {
			th_intake_fail(&d->in, TH_FAILURE_MALFORMED, ret);
			return false;
		}
		for (const char *const *name = calls; *name; name++)
			call_count += th_str_is(type, *name);
	}
	if (call_count <= TH_CALLS_MAX)
		return true;
	th_intake_over(&d->in, "calls", TH_CALLS_MAX);
	th_intake_fail(&d->in, TH_FAILURE_LIMIT, ret);
	return false;
}

/* What the stream brought before its end. */
static bool take_streamed_items(struct th_decoder *d, struct th_answer *ret)
{
	struct th_json_doc *doc;
	bool fit;

	th_buf_clear(&d->list);
	th_items_print(&d->items, &d->list);
	if (th_buf_check(&d->list, "the answer", th_intake_err(&d->in))) {
		th_intake_fail(&d->in, TH_FAILURE_LIMIT, ret);
		return false;
	}
	if (th_json_parse(th_buf_str(&d->list), &doc, th_intake_err(&d->in))) {
		th_intake_fail(&d->in, TH_FAILURE_MALFORMED, ret);
		return false;
	}
	fit = items_fit(d, th_json_root(doc), ret);
	th_json_free(doc);
	if (fit)
		ret->items = th_buf_str(&d->list);
	return fit;
}

static void take_error_event(struct th_decoder *d, struct th_answer *ret)
{
	struct th_str raw = th_buf_str(&d->error);
	const struct th_json *error;

	if (!th_intake_error_event(&d->in, &raw, &d->error_doc, &error, ret))
		return;
	th_answer_take_error(ret, error, raw, 0);
	if (th_str_is(ret->error_code, "error")) /* the event's own type */
		ret->error_code = (struct th_str){ NULL, 0 };
}

static void take_status(struct th_str status, struct th_answer *ret)
{
	if (th_str_is(status, "completed")) {
		ret->status = TH_ANSWER_COMPLETED;
	} else if (th_str_is(status, "cancelled")) {
		th_answer_fail(ret, TH_FAILURE_CANCELLED,
			       TH_STR("the provider says that the answer was cancelled"));
	} else if (!th_str_is(status, "failed")) {
		ret->status = TH_ANSWER_INCOMPLETE;
		if (!ret->reason.len)
			ret->reason =
			    status; /* queued, in_progress: a background answer under way */
	}
}

/* A whole response object, in d->doc and as the text it was made of. */
static void take_response(struct th_decoder *d, const struct th_json *root, struct th_str raw,
			  struct th_answer *ret)
{
	const struct th_json *error = th_json_get(root, "error");
	const struct th_json *output = th_json_get(root, "output");
	struct th_str status = th_json_get_str(root, "status");

	if (!status.len)
		status = th_str_of(d->final_status ? d->final_status : "completed");
	ret->response_id = th_json_get_str(root, "id");
	ret->model = th_json_get_str(root, "model");
	ret->reason = th_json_get_str(th_json_get(root, "incomplete_details"), "reason");
	take_usage(th_json_get(root, "usage"), &ret->usage);
	take_status(status, ret);
	if (!th_json_is_null(error))
		th_answer_take_error(ret, error, th_json_raw_get(raw, "error"), 0);
	else if (ret->status == TH_ANSWER_FAILED && !ret->error_class.len && d->error.len)
		take_error_event(d, ret);
	else if (ret->status == TH_ANSWER_FAILED && !ret->error_class.len)
		th_answer_fail(ret, TH_FAILURE_SERVER,
			       TH_STR("the answer failed and the provider gave no reason"));

	if (th_json_count(output) == 0 || !th_json_is_array(output))
		(void)take_streamed_items(d, ret);
	else if (items_fit(d, output, ret))
		ret->items = th_json_raw_get(raw, "output");
}

static void end_json(struct th_decoder *d, bool cut, struct th_answer *ret)
{
	struct th_str raw = th_buf_str(&d->in.body);
	const struct th_json *root, *error;

	if (!th_answer_body(ret, raw, cut, &d->doc, th_intake_err(&d->in)))
		return;
	root = th_json_root(d->doc);
	if (th_json_is_object(th_json_get(root, "response"))) { /* an event outside of a stream */
		root = th_json_get(root, "response");
		raw = th_json_raw_get(raw, "response");
	}
	if (th_json_is_array(th_json_get(root, "output")) || th_json_get_str(root, "status").len) {
		take_response(d, root, raw, ret);
		return;
	}
	error = th_answer_find_error(root, &raw);
	if (error && error != root) {
		th_answer_take_error(ret, error, raw, 0);
		return;
	}
	th_answer_fail(ret, TH_FAILURE_MALFORMED,
		       TH_STR("the answer's body is JSON, but neither a response nor an error"));
}

static void end_unfinished(struct th_decoder *d, struct th_answer *ret)
{
	bool whole = d->done && d->items.count && !d->error.len && !d->in.broken, fit;

	ret->response_id = th_buf_str(&d->response_id);
	ret->model = th_buf_str(&d->model);
	for (size_t i = 0; i < d->items.count; i++)
		whole = whole && d->items.list[i].done;
	fit = take_streamed_items(d, ret);
	if (whole && fit)
		ret->status = TH_ANSWER_COMPLETED;
	else if (d->error.len)
		take_error_event(d, ret);
	else
		th_intake_unfinished(&d->in, ret);
}

void th_responses_end(struct th_decoder *d, bool cut, struct th_answer *ret)
{
	th_answer_init(ret);
	th_intake_end(&d->in);
	th_json_free(d->doc);
	d->doc = NULL;
	th_json_free(d->error_doc);
	d->error_doc = NULL;
	if (d->in.limited) {
		th_intake_fail(&d->in, TH_FAILURE_LIMIT, ret);
	} else if (d->in.mode == TH_BODY_JSON) {
		end_json(d, cut, ret);
	} else if (!d->finished) {
		end_unfinished(d, ret);
	} else if (th_json_parse(th_buf_str(&d->final), &d->doc, th_intake_err(&d->in))) {
		th_prefix(th_intake_err(&d->in), TH_EPROTO, "the answer's last event");
		th_intake_fail(&d->in, TH_FAILURE_MALFORMED, ret);
	} else {
		take_response(d, th_json_root(d->doc), th_buf_str(&d->final), ret);
	}
}

void th_responses_error(struct th_decoder *d, int http_status, struct th_answer *ret)
{
	const struct th_json *error;
	struct th_str raw;

	th_answer_init(ret);
	th_intake_end(&d->in);
	th_json_free(d->error_doc);
	d->error_doc = NULL;
	if (th_intake_http_error(&d->in, th_buf_str(&d->error), http_status, ret, &raw,
				 &d->error_doc, &error))
		th_answer_take_error(ret, error, raw, http_status);
}
