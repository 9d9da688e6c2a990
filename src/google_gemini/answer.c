/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.c - answers of generateContent and streamGenerateContent: an
 * event stream, one JSON body, or a list of them.  A stream has no terminal
 * event; it is whole when a reason to finish was given, and ends with the
 * connection: old servers give the reason in every event.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "base/limits.h"
#include "google_gemini/decoder.h"
#include "google_gemini/gemini.h"

struct th_decoder *th_gemini_new(const struct th_profile *profile, th_delta_fn *fn, void *ctx)
{
	struct th_decoder *d = th_alloc(sizeof(*d));

	(void)profile;
	d->fn = fn;
	d->ctx = ctx;
	d->usage = (struct th_usage){ -1, -1, -1, -1, -1, -1 };
	d->tool_input = -1;
	th_intake_init(&d->in, th_gemini_event, d);
	th_buf_init(&d->response_id, TH_ANSWER_MAX);
	th_buf_init(&d->model, TH_ANSWER_MAX);
	th_buf_init(&d->finish, TH_ANSWER_MAX);
	th_buf_init(&d->feedback, TH_ANSWER_MAX);
	th_buf_init(&d->error, TH_ANSWER_MAX);
	th_buf_init(&d->last, TH_ANSWER_MAX);
	/* Parts and what joins them; a string of JSON within it may double. */
	th_buf_init(&d->message, 2 * TH_ANSWER_MAX);
	th_buf_init(&d->items, 2 * TH_ANSWER_MAX);
	th_buf_init(&d->text, TH_ANSWER_MAX);
	th_delta_text_init(&d->delta);
	return d;
}

struct th_decoder *th_gemini_free(struct th_decoder *d)
{
	if (!d)
		return NULL;
	for (size_t i = 0; i < d->member_count; i++) {
		th_buf_deinit(&d->members[i].key);
		th_buf_deinit(&d->members[i].val);
	}
	th_intake_deinit(&d->in);
	th_gemini_parts_deinit(&d->parts);
	th_buf_deinit(&d->response_id);
	th_buf_deinit(&d->model);
	th_buf_deinit(&d->finish);
	th_buf_deinit(&d->feedback);
	th_buf_deinit(&d->error);
	th_buf_deinit(&d->last);
	th_buf_deinit(&d->message);
	th_buf_deinit(&d->items);
	th_buf_deinit(&d->text);
	th_delta_text_deinit(&d->delta);
	th_json_free(d->error_doc);
	free(d);
	return NULL;
}

int th_gemini_feed(struct th_decoder *d, struct th_str bytes)
{
	return th_intake_feed(&d->in, bytes);
}

bool th_gemini_finished(const struct th_decoder *d)
{
	return d->done;
}

/* ---- the parts of an answer ---- */

/* {"wire":"gemini","message":{…},"candidate":{…}}: what goes back, and what was said about it. */
static void print_message(struct th_decoder *d)
{
	struct th_jw w = th_jw(&d->message);

	th_buf_clear(&d->message);
	th_jw_object(&w);
	th_jw_kstr(&w, "wire", TH_STR("gemini"));
	th_jw_key(&w, TH_STR("message"));
	th_jw_object(&w);
	th_jw_kstr(&w, "role", TH_STR("model"));
	th_jw_key(&w, TH_STR("parts"));
	th_gemini_parts_print(&d->parts, &d->message);
	w.comma = true;
	th_jw_object_end(&w);
	if (d->member_count) {
		th_jw_key(&w, TH_STR("candidate"));
		th_jw_object(&w);
		for (size_t i = 0; i < d->member_count; i++) {
			th_jw_raw(&w, TH_STR("\""));
			th_buf_add(w.out, th_buf_str(&d->members[i].key));
			th_buf_add(w.out, TH_STR("\":"));
			th_buf_add(w.out, th_buf_str(&d->members[i].val));
		}
		th_jw_object_end(&w);
	}
	th_jw_object_end(&w);
}

static bool is_id(struct th_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (!((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
		      c == '_' || c == '-'))
			return false;
	}
	return s.len > 0 && s.len <= 40;
}

/* What ids are made of where the provider gives none: its id of the answer, or else the answer. */
static struct th_str id_base(struct th_decoder *d)
{
	struct th_digest digest;
	char hex[TH_SHA256_HEX_SIZE + 1];

	th_buf_clear(&d->text);
	th_buf_add(&d->text, th_buf_str(&d->response_id)); /* already plain */
	if (is_id(th_buf_str(&d->text)))
		return th_buf_str(&d->text);
	digest = th_sha256_of(d->message.ptr, d->message.len);
	th_digest_hex(&digest, hex);
	th_buf_clear(&d->text);
	th_buf_add_mem(&d->text, hex, 16);
	return th_buf_str(&d->text);
}

/* Whether it is JSON; what is not is parsed for the sentence. */
static enum th_code check(struct th_decoder *d, struct th_str text)
{
	struct th_json_doc *doc = NULL;
	enum th_code code =
	    th_json_valid(text) ? TH_OK : th_json_parse(text, &doc, th_intake_err(&d->in));

	th_json_free(doc);
	return code;
}

/* Items and raw form of what came; false: it is not JSON, or too much. */
static bool take_content(struct th_decoder *d, struct th_answer *ret)
{
	enum th_code code;
	struct th_str raw;

	print_message(d);
	code = th_buf_check(&d->message, "the answer", th_intake_err(&d->in));
	if (!code)
		code = check(d, th_buf_str(&d->message));
	if (!code) {
		raw = th_json_raw_get(th_json_raw_get(th_buf_str(&d->message), "message"), "parts");
		th_buf_clear(&d->items);
		code = th_gemini_items(raw, id_base(d), &d->items, th_intake_err(&d->in));
	}
	if (code) {
		th_intake_fail(&d->in, code == TH_ELIMIT ? TH_FAILURE_LIMIT : TH_FAILURE_MALFORMED,
			       ret);
		return false;
	}
	ret->items = th_buf_str(&d->items);
	if (d->parts.count)
		ret->raw = th_buf_str(&d->message);
	return true;
}

static void take_usage(const struct th_decoder *d, struct th_usage *ret)
{
	*ret = d->usage;
	if (d->tool_input > 0)
		ret->input = (ret->input < 0 ? 0 : ret->input) + d->tool_input;
	if (ret->reasoning > 0) /* thoughts are paid for as output, and counted beside it */
		ret->output = (ret->output < 0 ? 0 : ret->output) + ret->reasoning;
}

/* A raw string of ours as text that lives as long as the decoder. */
static struct th_str plain(struct th_buf *raw)
{
	struct th_buf text = TH_BUF_INIT(TH_ANSWER_MAX);

	if (!raw->len || raw->ptr[0] != '"')
		return th_buf_str(raw);
	if (!th_json_unescape(th_buf_str(raw), &text))
		th_buf_clear(&text);
	th_buf_clear(raw);
	th_buf_add(raw, th_buf_str(&text));
	th_buf_deinit(&text);
	return th_buf_str(raw);
}

/* ---- reasons to finish ---- */

static const struct {
	const char *name;
	enum { WHOLE, LENGTH, FILTERED, RETRY } means;
} reasons[] = {
	{ "STOP", WHOLE },
	{ "MAX_TOKENS", LENGTH },
	{ "SAFETY", FILTERED },
	{ "RECITATION", FILTERED },
	{ "LANGUAGE", FILTERED },
	{ "BLOCKLIST", FILTERED },
	{ "PROHIBITED_CONTENT", FILTERED },
	{ "SPII", FILTERED },
	{ "MODEL_ARMOR", FILTERED },
	{ "IMAGE_SAFETY", FILTERED },
	{ "IMAGE_PROHIBITED_CONTENT", FILTERED },
	{ "IMAGE_RECITATION", FILTERED },
	{ "MALFORMED_FUNCTION_CALL", RETRY },
	{ "MALFORMED_RESPONSE", RETRY },
	{ "UNEXPECTED_TOOL_CALL", RETRY },
	{ "MISSING_THOUGHT_SIGNATURE", RETRY },
};

static struct th_str member(const struct th_decoder *d, const char *key)
{
	for (size_t i = 0; i < d->member_count; i++)
		if (th_str_is(th_buf_str(&d->members[i].key), key))
			return th_buf_str(&d->members[i].val);
	return (struct th_str){ NULL, 0 };
}

/* "REASON: message", in d->text. */
static struct th_str reason_text(struct th_decoder *d, const char *lead, struct th_str reason,
				 struct th_str raw_message)
{
	th_buf_clear(&d->text);
	th_buf_add_cstr(&d->text, lead);
	th_buf_add(&d->text, reason);
	th_buf_add(&d->text, TH_STR(": "));
	if (raw_message.len < 3 || !th_json_unescape(raw_message, &d->text))
		th_buf_truncate(&d->text, d->text.len - 2);
	return th_buf_str(&d->text);
}

static void take_reason(struct th_decoder *d, struct th_answer *ret)
{
	struct th_str reason = plain(&d->finish);

	ret->status = TH_ANSWER_INCOMPLETE;
	ret->reason = reason;
	for (size_t i = 0; i < TH_COUNT(reasons); i++) {
		if (!th_str_is(reason, reasons[i].name))
			continue;
		switch (reasons[i].means) {
		case WHOLE:
			ret->status = TH_ANSWER_COMPLETED;
			ret->reason = (struct th_str){ NULL, 0 };
			break;
		case LENGTH:
			ret->reason = TH_STR("max_output_tokens");
			break;
		case FILTERED:
			ret->reason = TH_STR("content_filter");
			break;
		case RETRY:
			th_answer_fail(ret, TH_FAILURE_MALFORMED,
				       reason_text(d, "the model's call is not one: ", reason,
						   member(d, "finishMessage")));
			ret->error_code = reason;
			ret->reason = (struct th_str){ NULL, 0 };
			break;
		}
		return;
	}
}

/* The prompt was refused: there is no candidate. */
static void take_feedback(struct th_decoder *d, struct th_answer *ret)
{
	struct th_str raw = th_buf_str(&d->feedback);

	th_json_free(d->error_doc);
	d->error_doc = NULL;
	if (th_json_parse(raw, &d->error_doc, th_intake_err(&d->in))) {
		th_intake_fail(&d->in, TH_FAILURE_MALFORMED, ret);
		return;
	}
	ret->error_code = th_json_get_str(th_json_root(d->error_doc), "blockReason");
	ret->error_raw = raw;
	th_answer_fail(ret, TH_FAILURE_REJECTED,
		       reason_text(d, "the provider blocked the request: ", ret->error_code,
				   th_json_raw_get(raw, "blockReasonMessage")));
}

/* ---- errors ---- */

/* Google's reason ("API_KEY_INVALID") says more than its status; a quota of the day is not a matter
 * of waiting for a minute. */
static struct th_str error_reason(const struct th_json *error)
{
	struct th_json_iter it = th_json_iter(th_json_get(error, "details"));

	while (th_json_next(&it)) {
		struct th_str reason = th_json_get_str(it.val, "reason");
		struct th_json_iter quota = th_json_iter(th_json_get(it.val, "violations"));

		if (reason.len)
			return reason;
		while (th_json_next(&quota))
			if (th_str_find(th_json_get_str(quota.val, "quotaId"), TH_STR("PerDay")) >=
			    0)
				return TH_STR("insufficient_quota");
	}
	return (struct th_str){ NULL, 0 };
}

void th_gemini_take_error(const struct th_json *error, struct th_str raw, int http_status,
			  struct th_answer *ret)
{
	int64_t code = th_json_get_int(error, "code", 0);
	struct th_str reason = error_reason(error), status = th_json_get_str(error, "status");

	if (http_status == 0 && code >= 400 && code <= 599)
		http_status = (int)code;
	th_answer_take_error(ret, error, raw, http_status);
	if (!reason.len)
		return;
	ret->error_class = th_str_of(th_failure_name(th_failure_of(
	    http_status, th_str_is(reason, "API_KEY_INVALID") ? TH_STR("invalid_api_key") : reason,
	    status)));
	if (!th_str_is(reason, "insufficient_quota"))
		ret->error_code = reason;
}

static void take_error_event(struct th_decoder *d, struct th_answer *ret)
{
	struct th_str raw = th_buf_str(&d->error);
	const struct th_json *error;

	if (!th_intake_error_event(&d->in, &raw, &d->error_doc, &error, ret))
		return;
	th_gemini_take_error(error, raw, 0, ret);
}

/* ---- the end ---- */

/* A body: one response, or the list of them that a stream without events is. */
static bool take_body(struct th_decoder *d, bool cut, struct th_answer *ret)
{
	struct th_str raw = th_buf_str(&d->in.body);
	struct th_json_raw_iter it = th_json_raw_iter(raw);

	if (!th_json_valid(raw) &&
	    !th_answer_body(ret, raw, cut, &d->error_doc, th_intake_err(&d->in)))
		return false;
	if (it.object)
		d->in.broken = !th_gemini_chunk(d, raw);
	while (!it.object && th_json_raw_next(&it))
		d->in.broken = !th_gemini_chunk(d, it.val) || d->in.broken;
	if (d->parts.failed) {
		th_intake_over(&d->in, "bytes or parts", TH_ANSWER_MAX);
		th_intake_fail(&d->in, TH_FAILURE_LIMIT, ret);
		return false;
	}
	return true;
}

static void end_docs(struct th_decoder *d)
{
	th_intake_end(&d->in);
	th_json_free(d->error_doc);
	d->error_doc = NULL;
}

/* What it was that ended without a reason. */
static void take_unfinished(struct th_decoder *d, struct th_answer *ret)
{
	if (d->feedback.len && th_json_raw_get(th_buf_str(&d->feedback), "blockReason").len)
		take_feedback(d, ret);
	else if (d->in.mode == TH_BODY_JSON)
		th_answer_fail(ret, TH_FAILURE_MALFORMED,
			       TH_STR("the answer's body is JSON, but neither an answer with a "
				      "reason to finish nor an error"));
	else
		th_intake_unfinished(&d->in, ret);
}

void th_gemini_end(struct th_decoder *d, bool cut, struct th_answer *ret)
{
	th_answer_init(ret);
	end_docs(d);
	if (d->in.limited) {
		th_intake_fail(&d->in, TH_FAILURE_LIMIT, ret);
		return;
	}
	if (d->in.mode == TH_BODY_JSON && !take_body(d, cut, ret))
		return;
	ret->response_id = plain(&d->response_id);
	ret->model = plain(&d->model);
	take_usage(d, &ret->usage);
	if (!take_content(d, ret))
		return;
	if (d->error.len)
		take_error_event(d, ret);
	else if (!d->finish.len)
		take_unfinished(d, ret);
	else if (d->lost || d->in.broken)
		th_answer_fail(ret, TH_FAILURE_MALFORMED,
			       TH_STR("a piece of the answer is not what it should be"));
	else
		take_reason(d, ret);
}

void th_gemini_error(struct th_decoder *d, int http_status, struct th_answer *ret)
{
	const struct th_json *error;
	struct th_str raw;

	th_answer_init(ret);
	end_docs(d);
	if (th_intake_http_error(&d->in, th_buf_str(&d->error), http_status, ret, &raw,
				 &d->error_doc, &error))
		th_gemini_take_error(error, raw, http_status, ret);
}
