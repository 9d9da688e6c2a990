/* SPDX-License-Identifier: Apache-2.0 */
#include "a2a/task.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"

static char *copy(struct th_str s)
{
	char *text = th_alloc(s.len + 1);

	if (s.len)
		memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	return text;
}

void th_a2a_task_init(struct th_a2a_task *t, const char *session, uint64_t after)
{
	*t = (struct th_a2a_task){ .after = after };
	snprintf(t->session, sizeof(t->session), "%s", session);
}

static void call_free(struct th_a2a_call *c)
{
	free(c->call_id);
	free(c->tool);
	free(c->arguments);
	free(c->reason);
}

void th_a2a_task_deinit(struct th_a2a_task *t)
{
	for (size_t i = 0; i < t->message_count; i++)
		free(t->messages[i].text);
	for (size_t i = 0; i < t->call_count; i++)
		call_free(&t->calls[i]);
	free(t->messages);
	free(t->calls);
	free(t->output);
	free(t->why);
	*t = (struct th_a2a_task){ 0 };
}

/* ---- names ---- */

void th_a2a_task_id(const struct th_a2a_task *t, char ret[static TH_A2A_ID_MAX])
{
	snprintf(ret, TH_A2A_ID_MAX, "%s.%llu", t->session, (unsigned long long)t->after);
}

bool th_a2a_task_parse(struct th_str id, char session[static TH_SESSION_ID_MAX + 1],
		       uint64_t *after)
{
	const char *dot = id.len ? memrchr(id.ptr, '.', id.len) : NULL;
	size_t len = dot ? (size_t)(dot - id.ptr) : 0;
	int64_t n;

	if (!len || len > TH_SESSION_ID_MAX || memchr(id.ptr, 0, id.len) ||
	    !th_str_i64(th_str_sub(id, len + 1, id.len), &n) || n < 0)
		return false;
	memcpy(session, id.ptr, len);
	session[len] = '\0';
	*after = (uint64_t)n;
	return true;
}

/* ---- the fold ---- */

const struct th_a2a_call *th_a2a_task_question(const struct th_a2a_task *t)
{
	for (size_t i = 0; i < t->call_count; i++)
		if (t->calls[i].waits && t->calls[i].question)
			return &t->calls[i];
	return NULL;
}

bool th_a2a_task_over(const struct th_a2a_task *t)
{
	return t->state >= TH_A2A_COMPLETED;
}

static void add_message(struct th_a2a_task *t, bool user, struct th_str text)
{
	struct th_a2a_message *m;

	if (!text.len)
		return;
	if (t->message_count == TH_A2A_HISTORY_MAX) { /* the log has the older ones */
		free(t->messages[0].text);
		memmove(t->messages, t->messages + 1, --t->message_count * sizeof(*t->messages));
	}
	t->messages = th_realloc(t->messages, (t->message_count + 1) * sizeof(*t->messages));
	m = &t->messages[t->message_count++];
	*m = (struct th_a2a_message){ copy(text), t->last_seq, user };
}

/* A file has its name here alone: its bytes are the session's. */
static void add_part(const struct th_json *part, struct th_buf *out)
{
	struct th_str text = th_json_get_str(part, "text"), type = th_json_get_str(part, "type");
	bool picture = th_str_is(type, "image") || th_str_is(type, "input_image");
	bool file = th_str_is(type, "input_file");

	if (out->len && (text.len || picture || file))
		th_buf_add_char(out, '\n');
	if (picture)
		th_buf_add_cstr(out, "[picture]");
	else if (file)
		th_buf_printf(out, "[file %.*s]", TH_FMT(th_json_get_str(part, "filename")));
	else
		th_buf_add(out, text);
}

/* A text, or its parts. */
static void add_text(const struct th_json *v, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(v);

	th_buf_add(out, th_json_str(v));
	while (th_json_next(&it))
		add_part(it.val, out);
}

/* What the agent says before it is done; its last word is the output. */
static void on_answer(struct th_a2a_task *t, const struct th_json *data)
{
	struct th_json_iter it = th_json_iter(th_json_get(data, "items")), calls = it;
	bool last = true;

	while (th_json_next(&calls))
		last &= !th_str_ends(th_json_get_str(calls.val, "type"), TH_STR("_call"));
	while (!last && th_json_next(&it)) {
		struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);

		if (!th_str_is(th_json_get_str(it.val, "type"), "message"))
			continue;
		add_text(th_json_get(it.val, "content"), &text);
		add_message(t, false, th_buf_str(&text));
	}
}

static struct th_a2a_call *find_call(struct th_a2a_task *t, struct th_str call_id)
{
	for (size_t i = 0; i < t->call_count; i++)
		if (th_str_is(call_id, t->calls[i].call_id))
			return &t->calls[i];
	return NULL;
}

static struct th_a2a_call *add_call(struct th_a2a_task *t, struct th_str call_id,
				    const struct th_json *v)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_a2a_call *c;

	th_json_print(th_json_get(v, "arguments"), &text);
	t->calls = th_realloc(t->calls, (t->call_count + 1) * sizeof(*t->calls));
	c = &t->calls[t->call_count++];
	*c = (struct th_a2a_call){ .call_id = copy(call_id),
				   .tool = copy(th_json_get_str(v, "tool")),
				   .arguments = copy(th_buf_str(&text)),
				   .reason = copy(th_json_get_str(v, "reason")),
				   .question = th_json_bool(th_json_get(v, "question"), false) };
	return c;
}

static void drop_calls(struct th_a2a_task *t, struct th_str call_id, bool below)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->call_count; i++)
		if (below ? t->calls[i].below : th_str_is(call_id, t->calls[i].call_id))
			call_free(&t->calls[i]);
		else
			t->calls[kept++] = t->calls[i];
	t->call_count = kept;
}

static void on_waits(struct th_a2a_task *t, const struct th_json *data)
{
	struct th_json_iter it = th_json_iter(th_json_get(data, "waits"));

	drop_calls(t, TH_STR(""), true);
	while (th_json_next(&it)) {
		struct th_buf id TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
		struct th_a2a_call *c;

		th_buf_printf(&id, "%.*s/%.*s", TH_FMT(th_json_get_str(it.val, "session")),
			      TH_FMT(th_json_get_str(it.val, "call_id")));
		c = add_call(t, th_buf_str(&id), it.val);
		c->waits = c->below = true;
		c->question = strcmp(c->tool, "ask") == 0; /* the list does not say it */
	}
}

static void on_asked(struct th_a2a_task *t, struct th_str kind, const struct th_json *data)
{
	struct th_a2a_call *c = find_call(t, th_json_get_str(data, "call_id"));

	if (!c)
		return;
	c->waits = th_str_is(kind, "approval_requested") || th_str_is(kind, "parked");
	c->parked = th_str_is(kind, "parked");
	if (c->waits) {
		free(c->reason);
		c->reason = copy(c->parked ? TH_STR("nobody knows whether it happened")
					   : th_json_get_str(data, "reason"));
	}
}

/* A call's server has a question: that is what is shown of it. */
static void on_question(struct th_a2a_task *t, const struct th_json *data)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_a2a_call *c = find_call(t, th_json_get_str(data, "call_id"));

	if (!c)
		return;
	c->question = true;
	th_json_print(th_json_get(data, "arguments"), &text);
	free(c->arguments);
	c->arguments = copy(th_buf_str(&text));
}

static void end_with(struct th_a2a_task *t, enum th_a2a_state state, struct th_str why)
{
	t->state = state;
	free(t->why);
	t->why = why.len ? copy(why) : NULL;
}

static void on_state(struct th_a2a_task *t, const struct th_json *data)
{
	struct th_str to = th_json_get_str(data, "to"), why = th_json_get_str(data, "reason");

	if (th_str_is(to, "stopped"))
		end_with(t, TH_A2A_CANCELED, why);
	else if (th_str_is(to, "limit") || th_str_is(to, "stuck") || th_str_is(to, "failed"))
		end_with(t, TH_A2A_FAILED, why);
	else
		end_with(t, TH_A2A_WORKING, TH_STR(""));
}

static void settle_state(struct th_a2a_task *t)
{
	bool waits = false;

	for (size_t i = 0; i < t->call_count; i++)
		waits |= t->calls[i].waits;
	if (t->state == TH_A2A_WORKING && waits)
		t->state = TH_A2A_INPUT_REQUIRED;
	else if (t->state == TH_A2A_INPUT_REQUIRED && !waits)
		t->state = TH_A2A_WORKING;
}

static void on_final(struct th_a2a_task *t, const struct th_json *data)
{
	end_with(t, TH_A2A_COMPLETED, TH_STR(""));
	free(t->output);
	t->output = copy(th_json_get_str(data, "output"));
}

static void on_message(struct th_a2a_task *t, const struct th_json *item)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);

	add_text(th_json_get(item, "content"), &text);
	add_message(t, th_str_is(th_json_get_str(item, "role"), "user"), th_buf_str(&text));
}

/* Messages with pictures or files come so. */
static void on_items(struct th_a2a_task *t, const struct th_json *data)
{
	struct th_json_iter it = th_json_iter(th_json_get(data, "items"));

	while (th_json_next(&it))
		if (th_json_get_str(it.val, "role").len)
			on_message(t, it.val);
}

static void on_event(struct th_a2a_task *t, struct th_str kind, const struct th_json *data)
{
	if (th_str_is(kind, "message")) {
		on_message(t, data);
	} else if (th_str_is(kind, "items_added")) {
		on_items(t, data);
	} else if (th_str_is(kind, "model_requested") && t->state == TH_A2A_SUBMITTED) {
		t->state = TH_A2A_WORKING;
	} else if (th_str_is(kind, "model_answered")) {
		on_answer(t, data);
	} else if (th_str_is(kind, "call")) {
		drop_calls(t, th_json_get_str(data, "call_id"), false);
		add_call(t, th_json_get_str(data, "call_id"), data);
	} else if (th_str_is(kind, "outcome")) {
		drop_calls(t, th_json_get_str(data, "call_id"), false);
	} else if (th_str_is(kind, "approval_requested") || th_str_is(kind, "approval_decided") ||
		   th_str_is(kind, "parked") || th_str_is(kind, "settled")) {
		on_asked(t, kind, data);
	} else if (th_str_is(kind, "question")) {
		on_question(t, data);
	} else if (th_str_is(kind, "delegation_waits")) {
		on_waits(t, data);
	} else if (th_str_is(kind, "state_changed")) {
		on_state(t, data);
	} else if (th_str_is(kind, "error")) {
		end_with(t, TH_A2A_FAILED, th_json_get_str(data, "message"));
	} else if (th_str_is(kind, "final")) {
		on_final(t, data);
	}
	settle_state(t);
}

static bool begins(struct th_str kind, const struct th_json *data)
{
	return th_str_is(kind, "message") ||
	       (th_str_is(kind, "items_added") && th_json_bool(th_json_get(data, "begins"), false));
}

bool th_a2a_task_event(struct th_a2a_task *t, struct th_str event)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *v, *data;
	struct th_str kind;
	uint64_t seq;

	if (th_json_parse(event, &doc, NULL) != TH_OK)
		return true;
	v = th_json_root(doc);
	data = th_json_get(v, "data");
	kind = th_json_get_str(v, "kind");
	seq = (uint64_t)th_json_get_int(v, "seq", 0);
	if (seq <= t->last_seq)
		return true; /* it was told before */
	if (th_a2a_task_over(t) && begins(kind, data)) {
		char session[TH_SESSION_ID_MAX + 1];

		if (!t->latest)
			return false;
		memcpy(session, t->session, sizeof(session));
		th_a2a_task_deinit(t);
		th_a2a_task_init(t, session, seq - 1);
		t->latest = true;
	}
	t->last_seq = seq;
	t->at_ms = th_json_get_int(v, "ts_ms", 0);
	on_event(t, kind, data);
	return true;
}
