/* SPDX-License-Identifier: Apache-2.0 */
#include "a2a/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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

/* A text, or the texts of its parts. */
static void add_text(const struct th_json *v, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(v);

	th_buf_add(out, th_json_str(v));
	while (th_json_next(&it)) {
		struct th_str text = th_json_get_str(it.val, "text");

		if (out->len && text.len)
			th_buf_add_char(out, '\n');
		th_buf_add(out, text);
	}
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
				   .reason = copy(th_json_get_str(v, "reason")) };
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

static void on_event(struct th_a2a_task *t, struct th_str kind, const struct th_json *data)
{
	if (th_str_is(kind, "message")) {
		struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);

		add_text(th_json_get(data, "content"), &text);
		add_message(t, th_str_is(th_json_get_str(data, "role"), "user"), th_buf_str(&text));
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
	if (th_a2a_task_over(t) && th_str_is(kind, "message")) {
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

/* ---- printed ---- */

const char *th_a2a_state_name(enum th_a2a_state s, bool v1)
{
	static const char *const names[][2] = {
		[TH_A2A_SUBMITTED] = { "submitted", "TASK_STATE_SUBMITTED" },
		[TH_A2A_WORKING] = { "working", "TASK_STATE_WORKING" },
		[TH_A2A_INPUT_REQUIRED] = { "input-required", "TASK_STATE_INPUT_REQUIRED" },
		[TH_A2A_COMPLETED] = { "completed", "TASK_STATE_COMPLETED" },
		[TH_A2A_FAILED] = { "failed", "TASK_STATE_FAILED" },
		[TH_A2A_CANCELED] = { "canceled", "TASK_STATE_CANCELED" },
	};

	return names[s][v1];
}

static void put_text_part(struct th_jw *w, bool v1, struct th_str text)
{
	th_jw_object(w);
	if (!v1)
		th_jw_kstr(w, "kind", TH_STR("text"));
	th_jw_kstr(w, "text", text);
	th_jw_object_end(w);
}

static void put_ids(const struct th_a2a_task *t, struct th_jw *w)
{
	char id[TH_A2A_ID_MAX];

	th_a2a_task_id(t, id);
	th_jw_kstr(w, "taskId", th_str_of(id));
	th_jw_kstr(w, "contextId", th_str_of(t->session));
}

/* Opens a message and the list of its parts. */
static void begin_message(const struct th_a2a_task *t, bool v1, bool user, uint64_t seq,
			  struct th_jw *w)
{
	char id[TH_A2A_ID_MAX];

	snprintf(id, sizeof(id), "%s-%llu", t->session, (unsigned long long)seq);
	th_jw_object(w);
	if (!v1)
		th_jw_kstr(w, "kind", TH_STR("message"));
	th_jw_kstr(w, "messageId", th_str_of(id));
	th_jw_kstr(w, "role",
		   th_str_of(v1 ? (user ? "ROLE_USER" : "ROLE_AGENT") : (user ? "user" : "agent")));
	put_ids(t, w);
	th_jw_name(w, TH_STR("parts"));
	th_jw_array(w);
}

static void end_message(struct th_jw *w)
{
	th_jw_array_end(w);
	th_jw_object_end(w);
}

static void put_waiting(const struct th_a2a_task *t, bool v1, struct th_jw *w)
{
	th_jw_object(w);
	if (!v1)
		th_jw_kstr(w, "kind", TH_STR("data"));
	th_jw_name(w, TH_STR("data"));
	th_jw_object(w);
	th_jw_name(w, TH_STR("waiting"));
	th_jw_array(w);
	for (size_t i = 0; i < t->call_count; i++) {
		const struct th_a2a_call *c = &t->calls[i];

		if (!c->waits)
			continue;
		th_jw_object(w);
		th_jw_kstr(w, "call_id", th_str_of(c->call_id));
		th_jw_kstr(w, "word", th_str_of(c->parked ? "settle" : "approve"));
		th_jw_kstr(w, "tool", th_str_of(c->tool));
		th_jw_kraw(w, "arguments", th_str_of(c->arguments[0] ? c->arguments : "{}"));
		th_jw_kstr(w, "reason", th_str_of(c->reason));
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
	th_jw_object_end(w);
	th_jw_object_end(w);
}

/* Why it stands as it does. */
static void put_status_message(const struct th_a2a_task *t, bool v1, struct th_jw *w)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	bool waits = t->state == TH_A2A_INPUT_REQUIRED;
	const struct th_a2a_message *last =
	    t->message_count ? &t->messages[t->message_count - 1] : NULL;

	for (size_t i = 0; waits && i < t->call_count; i++)
		if (t->calls[i].waits)
			th_buf_printf(&text, "%s%s waits for a person: %s", text.len ? "\n" : "",
				      t->calls[i].tool, t->calls[i].reason);
	if (!waits && t->why)
		th_buf_add_cstr(&text, t->why);
	else if (!waits && t->state == TH_A2A_WORKING && last && !last->user)
		th_buf_add_cstr(&text, last->text);
	if (!text.len)
		return;
	th_jw_name(w, TH_STR("message"));
	begin_message(t, v1, false, t->last_seq, w);
	put_text_part(w, v1, th_buf_str(&text));
	if (waits)
		put_waiting(t, v1, w);
	end_message(w);
}

static void put_status(const struct th_a2a_task *t, bool v1, struct th_jw *w)
{
	time_t at = (time_t)(t->at_ms / 1000);
	char date[32], stamp[48];
	struct tm tm;

	th_jw_name(w, TH_STR("status"));
	th_jw_object(w);
	th_jw_kstr(w, "state", th_str_of(th_a2a_state_name(t->state, v1)));
	put_status_message(t, v1, w);
	if (t->at_ms && gmtime_r(&at, &tm) &&
	    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm)) {
		snprintf(stamp, sizeof(stamp), "%s.%03dZ", date, (int)(t->at_ms % 1000));
		th_jw_kstr(w, "timestamp", th_str_of(stamp));
	}
	th_jw_object_end(w);
}

static void put_artifact(const struct th_a2a_task *t, bool v1, struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kstr(w, "artifactId", TH_STR("answer"));
	th_jw_kstr(w, "name", TH_STR("answer"));
	th_jw_name(w, TH_STR("parts"));
	th_jw_array(w);
	put_text_part(w, v1, th_str_of(t->output));
	th_jw_array_end(w);
	th_jw_object_end(w);
}

void th_a2a_print_task(const struct th_a2a_task *t, bool v1, int64_t history, struct th_jw *w)
{
	size_t most = (size_t)TH_MIN(TH_MAX(history, (int64_t)0), (int64_t)TH_A2A_HISTORY_MAX);
	size_t first = t->message_count > most ? t->message_count - most : 0;
	char id[TH_A2A_ID_MAX];

	th_a2a_task_id(t, id);
	th_jw_object(w);
	if (!v1)
		th_jw_kstr(w, "kind", TH_STR("task"));
	th_jw_kstr(w, "id", th_str_of(id));
	th_jw_kstr(w, "contextId", th_str_of(t->session));
	put_status(t, v1, w);
	if (t->output) {
		th_jw_name(w, TH_STR("artifacts"));
		th_jw_array(w);
		put_artifact(t, v1, w);
		th_jw_array_end(w);
	}
	th_jw_name(w, TH_STR("history"));
	th_jw_array(w);
	for (size_t i = first; i < t->message_count; i++) {
		begin_message(t, v1, t->messages[i].user, t->messages[i].seq, w);
		put_text_part(w, v1, th_str_of(t->messages[i].text));
		end_message(w);
	}
	th_jw_array_end(w);
	th_jw_object_end(w);
}

void th_a2a_print_status(const struct th_a2a_task *t, bool v1, struct th_jw *w)
{
	th_jw_object(w);
	if (v1) {
		th_jw_name(w, TH_STR("statusUpdate"));
		th_jw_object(w);
	} else {
		th_jw_kstr(w, "kind", TH_STR("status-update"));
		th_jw_kbool(w, "final", th_a2a_task_over(t) || t->state == TH_A2A_INPUT_REQUIRED);
	}
	put_ids(t, w);
	put_status(t, v1, w);
	if (v1)
		th_jw_object_end(w);
	th_jw_object_end(w);
}

void th_a2a_print_output(const struct th_a2a_task *t, bool v1, struct th_jw *w)
{
	th_jw_object(w);
	if (v1) {
		th_jw_name(w, TH_STR("artifactUpdate"));
		th_jw_object(w);
	} else {
		th_jw_kstr(w, "kind", TH_STR("artifact-update"));
	}
	put_ids(t, w);
	th_jw_name(w, TH_STR("artifact"));
	put_artifact(t, v1, w);
	th_jw_kbool(w, "append", false);
	th_jw_kbool(w, "lastChunk", true);
	if (v1)
		th_jw_object_end(w);
	th_jw_object_end(w);
}
