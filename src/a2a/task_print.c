/* SPDX-License-Identifier: Apache-2.0 */
/* task_print.c - a task in the words of version 1.0 or 0.3. */
#include <stdio.h>
#include <time.h>

#include "a2a/task.h"
#include "base/str.h"

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
		th_jw_kstr(w, "word",
			   th_str_of(c->parked     ? "settle"
				     : c->question ? "answer"
						   : "approve"));
		th_jw_kstr(w, "tool", th_str_of(c->tool));
		th_jw_kraw(w, "arguments", th_str_of(c->arguments[0] ? c->arguments : "{}"));
		th_jw_kstr(w, "reason", th_str_of(c->reason));
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
	th_jw_object_end(w);
	th_jw_object_end(w);
}

/* A question as it is asked, and what may be chosen. */
static void add_question(const struct th_a2a_call *c, struct th_buf *text)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it;

	if (th_json_parse(th_str_of(c->arguments), &doc, NULL) != TH_OK)
		return;
	th_buf_add(text, th_json_get_str(th_json_root(doc), "question"));
	it = th_json_iter(th_json_get(th_json_root(doc), "options"));
	while (th_json_next(&it))
		th_buf_printf(text, "\n- %.*s", TH_FMT(th_json_str(it.val)));
}

static void add_waiting(const struct th_a2a_call *c, struct th_buf *text)
{
	if (text->len)
		th_buf_add_char(text, '\n');
	if (c->question && !c->parked)
		add_question(c, text);
	else
		th_buf_printf(text, "%s waits for a person: %s", c->tool, c->reason);
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
			add_waiting(&t->calls[i], &text);
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
