/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cua_stages.c - what upstream does in functions that thole has no twin of: by
 * the promise behind them, checked where thole keeps it.  See docs/DEVIATIONS.md.
 */
#include "cua_stages.h"

#include <stdio.h>

#include "base/codec.h"
#include "openai_chat/chat.h"
#include "profiles/plumb.h"
#include "transcript/plan.h"

#define TRIES 4 /* upstream's max_retries and one */

static const struct th_profile *profile(const char *model)
{
	const struct th_profile *p = NULL;
	struct th_str name;

	return th_model_resolve(th_str_of(model), &p, &name, NULL) ? NULL : p;
}

/* ---- convert: nothing that was said, called or answered is lost ---- */

/* Whether a string holds `text`, anywhere in `v`; members of `v` are searched to the leaves. */
static bool holds(const struct th_json *v, struct th_str text)
{
	struct th_json_iter it = th_json_iter(v);

	if (th_json_type(v) == TH_JSON_STR)
		return th_str_find(th_json_str(v), text) >= 0;
	while (th_json_next(&it))
		if (holds(it.val, text))
			return true;
	return false;
}

/* An item's own id is for the API that gave it; the id of a chat message's call is the call's. */
static bool carries(struct th_str key, bool chat)
{
	static const char *const keys[] = { "text",         "content",   "call_id",
					    "tool_call_id", "name",      "arguments",
					    "output",       "image_url", "url" };

	for (size_t i = 0; i < TH_COUNT(keys); i++)
		if (th_str_is(key, keys[i]))
			return true;
	return chat && th_str_is(key, "id");
}

/* The first thing of `from` that `to` lost; thoughts are for the provider that made them. */
static struct th_str lost(bool chat, const struct th_json *from, const struct th_json *to)
{
	struct th_json_iter it = th_json_iter(from);
	struct th_str none = { NULL, 0 };

	if (th_str_is(th_json_get_str(from, "type"), "reasoning"))
		return none;
	while (th_json_next(&it)) {
		struct th_str text = th_json_str(it.val), deeper;

		if (text.len && carries(it.key, chat) && !holds(to, text))
			return text;
		deeper = lost(chat, it.val, to);
		if (deeper.len)
			return deeper;
	}
	return none;
}

/* Every tool message answers a call that stands before it. */
static bool answered(const struct th_json *messages)
{
	struct th_json_iter it = th_json_iter(messages);

	while (th_json_next(&it)) {
		struct th_json_iter before = th_json_iter(messages);
		bool found = false;

		if (!th_str_is(th_json_get_str(it.val, "role"), "tool"))
			continue;
		while (th_json_next(&before) && before.index < it.index)
			found = found || holds(th_json_get(before.val, "tool_calls"),
					       th_json_get_str(it.val, "tool_call_id"));
		if (!found)
			return false;
	}
	return true;
}

/* {"items":…} with pictures whose base64 is whole, as a session's is. */
static void put_input(const struct th_json *input, const char *key, struct th_buf *out)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_str rest;
	ptrdiff_t at;

	th_json_print(input, &text);
	rest = th_buf_str(&text);
	th_buf_printf(out, "{\"model\":\"m\",\"%s\":", key);
	while ((at = th_str_find(rest, TH_STR(";base64,"))) >= 0) {
		size_t len = (size_t)at + 8;

		while (len < rest.len && rest.ptr[len] != '"')
			len++;
		th_buf_add(out, th_str_sub(rest, 0, len));
		for (size_t n = len - (size_t)at - 8; n % 4; n++)
			th_buf_add_char(out, 'A');
		rest = th_str_sub(rest, len, rest.len);
	}
	th_buf_add(out, rest);
	th_buf_add_char(out, '}');
	th_buf_deinit(&text);
}

static void run_convert(const struct cua_case *c, cua_report_fn *report)
{
	struct th_str function = th_json_get_str(c->root, "function");
	bool back = th_str_find(function, TH_STR("completion_messages_to")) >= 0;
	struct th_buf in = TH_BUF_INIT(TH_JSON_SIZE_MAX), out = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_request_options o = { .profile = profile("chat:m"), .model = TH_STR("m") };
	struct th_json_doc *given = NULL, *made = NULL;
	struct th_err err = { 0 };
	enum th_code code;

	o.screen = o.image = c->screen;
	o.has_computer = true;
	put_input(th_json_get(c->output, "input"), back ? "messages" : "items", &in);
	code = back ? th_chat_request_decode(TH_STR("m"), th_buf_str(&in), &out, &err)
		    : th_plumb_encode(&o, th_buf_str(&in), &out, &err);
	if (!code)
		code = th_json_parse(th_buf_str(&in), &given, &err);
	if (!code)
		code = th_json_parse(th_buf_str(&out), &made, &err);
	if (code) {
		report(c, false, err.msg);
	} else {
		const struct th_json *body = th_json_get(th_json_root(made), "body");
		struct th_str missing = lost(back, th_json_root(given), th_json_root(made));

		if (missing.len)
			report(c, false,
			       th_arena_printf(c->arena, "\"%.*s\" is lost in %.*s",
					       TH_FMT(missing),
					       TH_FMT(th_str_sub(th_buf_str(&out), 0, 2000)))
				   .ptr);
		else
			report(c, back || answered(th_json_get(body, "messages")),
			       "a tool message answers no call");
	}
	th_json_free(given);
	th_json_free(made);
	th_buf_deinit(&in);
	th_buf_deinit(&out);
}

/* ---- history: a picture can be left out, its action never ---- */

static size_t count_pictures(const struct th_json *items, bool results)
{
	struct th_json_iter it = th_json_iter(items);
	size_t n = 0;

	while (th_json_next(&it))
		n +=
		    results == th_str_is(th_json_get_str(it.val, "type"), "computer_call_output") &&
		    holds(it.val, TH_STR("data:image"));
	return n;
}

/* A result with a picture, as its wire renders it: without the picture the call is still there. */
static bool leaves_out(const struct cua_case *c, struct th_str call_id)
{
	char hex[TH_SHA256_HEX_SIZE + 1];
	struct th_digest blob = th_sha256_of("x", 1);
	struct th_request_options o = { .profile = profile("chat:m"), .model = TH_STR("m") };
	struct th_result result = { .call_id = call_id, .tool = TH_STR("computer") };
	struct th_group g = { .kind = TH_GROUP_RESULTS, .results = &result, .result_count = 1 };
	struct th_hole holes[4];
	struct th_buf out = TH_BUF_INIT(TH_MIB), rest = TH_BUF_INIT(TH_MIB);
	size_t count = 0;
	bool good;

	th_digest_hex(&blob, hex);
	o.has_computer = true;
	o.screen = o.image = c->screen;
	result.call_item = th_arena_printf(c->arena,
					   "{\"type\":\"function_call\",\"call_id\":\"%.*s\","
					   "\"name\":\"computer\",\"arguments\":\"{}\"}",
					   TH_FMT(call_id));
	result.output =
	    th_arena_printf(c->arena,
			    "[{\"type\":\"image\",\"media_type\":\"image/png\",\"blob\":\"%s\","
			    "\"width\":1,\"height\":1}]",
			    hex);
	good = !th_group_render(&o, &g, true, &out, holes, TH_COUNT(holes), &count, NULL) &&
	       count == 1 && holes[0].kind == TH_HOLE_IMAGE && holes[0].from <= holes[0].at &&
	       holes[0].at <= holes[0].to && holes[0].to <= holes[0].end && holes[0].end <= out.len;
	if (good) {
		th_buf_add(&rest, th_str_sub(th_buf_str(&out), 0, holes[0].from));
		th_buf_add(&rest, th_str_sub(th_buf_str(&out), holes[0].to, out.len));
		good = th_str_find(th_buf_str(&rest), call_id) >= 0 &&
		       th_str_find(th_buf_str(&rest), TH_STR("data:image")) < 0;
	}
	th_buf_deinit(&out);
	th_buf_deinit(&rest);
	return good;
}

static void run_history(const struct cua_case *c, cua_report_fn *report)
{
	const struct th_json *items = th_json_get(c->output, "items");
	int64_t keep = th_json_get_int(c->output, "only_n_most_recent_images", 0);
	size_t had = count_pictures(items, true), kept = count_pictures(c->expected, true);
	struct th_json_iter it = th_json_iter(items);

	while (th_json_next(&it))
		if (th_str_is(th_json_get_str(it.val, "type"), "computer_call_output") &&
		    !leaves_out(c, th_json_get_str(it.val, "call_id"))) {
			report(c, false, "a picture cannot be left out, or takes its call along");
			return;
		}
	if (th_json_is_array(c->expected) && keep > 0 && (int64_t)had > keep && kept > (size_t)keep)
		report(c, false, "more pictures are kept than asked for");
	else
		report(c,
		       !th_json_is_array(c->expected) ||
			   count_pictures(items, false) == count_pictures(c->expected, false),
		       "a person's picture is trimmed");
}

/* ---- run: what a script's answers lead to ---- */

static bool mentions(struct th_str s, const char *what)
{
	return th_str_find(s, th_str_of(what)) >= 0;
}

/* A failure is retried by its class, at most so often, whatever its text says. */
static const char *check_failure(struct th_str step)
{
	const struct th_retry_hints hints = { -1, -1 };
	enum th_failure f = TH_FAILURE_REJECTED;
	bool again = false;

	if (mentions(step, "RateLimit"))
		f = th_failure_of(429, TH_STR(""), TH_STR(""));
	else if (mentions(step, "Timeout"))
		f = TH_FAILURE_TIMEOUT;
	else if (mentions(step, "ServiceUnavailable") || mentions(step, "503"))
		f = th_failure_of(503, TH_STR(""), TH_STR(""));
	else if (mentions(step, "APIConnection"))
		f = TH_FAILURE_CONNECT;
	else if (mentions(step, "InternalServer") || mentions(step, "500"))
		f = th_failure_of(500, TH_STR(""), TH_STR(""));
	else if (mentions(step, "529") || mentions(step, "verloaded"))
		f = th_failure_of(529, TH_STR(""), TH_STR(""));
	else /* a programming error, whose text may say "connection" */
		f = th_failure_of(400, TH_STR("invalid_request_error"), step);
	again = f != TH_FAILURE_REJECTED;
	if (th_failure_retries(f) != again)
		return again ? "it is not tried again" : "it is tried again";
	if (again && th_retry_delay_ms(f, &hints, 1, TRIES, 0.5) < 0)
		return "it is not tried again";
	return th_retry_delay_ms(f, &hints, TRIES, TRIES, 0.5) < 0 ? NULL : "it is tried for ever";
}

/* A call goes on, text alone is the end; text before a call is not. */
static const char *check_answer(const struct cua_case *c, struct th_str step)
{
	bool call = mentions(step, "click") || mentions(step, "tool_use");
	struct th_buf items = TH_BUF_INIT(TH_MIB), read = TH_BUF_INIT(TH_MIB);
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	const struct th_profile *p = profile("claude-sonnet-4-5");
	struct th_dialect_context context = {
		.profile = p, .screen = c->screen, .image = c->screen, .turn = 1
	};
	struct th_next next;
	const char *why = NULL;

	th_buf_add_char(&items, '[');
	if (mentions(step, "text"))
		th_buf_add_cstr(&items,
				"{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{"
				"\"type\":\"output_text\",\"text\":\"said\"}]}");
	if (call)
		th_buf_printf(&items,
			      "%s{\"type\":\"function_call\",\"call_id\":\"toolu_1\",\"name\":"
			      "\"computer\",\"arguments\":\"{\\\"action\\\":\\\"left_click\\\","
			      "\\\"coordinate\\\":[1,2]}\"}",
			      items.len > 1 ? "," : "");
	th_buf_add_char(&items, ']');
	if (!p || p->dialect->decode(&context, th_buf_str(&items), &read, NULL) ||
	    th_plan_answer(th_buf_str(&read), c->arena, &text, &next, NULL))
		why = "the answer cannot be planned";
	else if (call && (next.kind != TH_NEXT_CALLS || next.call_count != 1))
		why = "its call is not done";
	else if (!call && (next.kind != TH_NEXT_FINAL || !th_str_is(th_buf_str(&text), "said")))
		why = "its text is not the end";
	th_buf_deinit(&items);
	th_buf_deinit(&read);
	th_buf_deinit(&text);
	return why;
}

static void run_run(const struct cua_case *c, cua_report_fn *report)
{
	const struct th_json *script = th_json_get(c->output, "script");
	struct th_json_iter it = th_json_iter(script);

	if (!th_json_count(script)) {
		report(c, false, "the case has no script");
		return;
	}
	while (th_json_next(&it)) {
		struct th_str step = th_json_str(it.val);
		bool answer = th_str_starts(step, TH_STR("text")) || mentions(step, "click") ||
			      mentions(step, "tool_use");
		const char *why = answer ? check_answer(c, step) : check_failure(step);

		if (why) {
			report(c, false,
			       th_arena_printf(c->arena, "\"%.*s\": %s", TH_FMT(step), why).ptr);
			return;
		}
	}
	report(c, true, NULL);
}

void cua_stage(const struct cua_case *c, cua_report_fn *report)
{
	if (th_str_is(c->stage, "convert"))
		run_convert(c, report);
	else if (th_str_is(c->stage, "history"))
		run_history(c, report);
	else if (th_str_is(c->stage, "run"))
		run_run(c, report);
	else
		report(c, false, "no such stage is known");
}
