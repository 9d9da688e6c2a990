/* SPDX-License-Identifier: Apache-2.0 */
/* follow.c - a task is followed: the answer comes when it rests, or it is streamed until then. */
#include <stdlib.h>

#include "a2a/internal.h"

struct follow {
	struct th_listener listener;
	struct th_access *access;
	struct th_a2a_task task;
	struct th_a2a_how how;
	char *id; /* of the request, raw */
	enum th_a2a_state told;
	size_t told_messages;
	int64_t history;
	bool v1, rest, began;
	bool writes, gone; /* its peer may leave while it is written to: it is freed after that */
};

static void follow_free(struct follow *f)
{
	th_hub_unlisten(&f->listener);
	th_a2a_task_deinit(&f->task);
	free(f->id);
	free(f);
}

/* The task goes on: it can be got, or subscribed to. */
static void on_gone(struct th_access *a)
{
	struct follow *f = a->ctx;

	f->gone = true;
	if (!f->writes)
		follow_free(f);
}

/* False: the reader is gone, and so is f. */
static bool put(struct follow *f, struct th_str bytes)
{
	enum th_code code;

	f->writes = true;
	code = th_http_write(f->access->request, bytes);
	f->writes = false;
	if (code == TH_ELIMIT && !f->gone) { /* it does not read */
		f->access->gone = NULL;
		th_http_abort(f->access->request);
		f->gone = true;
	}
	if (f->gone)
		follow_free(f);
	return code != TH_ELIMIT && code != TH_ECONN;
}

static bool frame(struct follow *f, const struct th_buf *result)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);

	if (f->rest)
		th_buf_add(&json, th_buf_str(result));
	else
		th_rpc_print_result(th_str_of(f->id), th_buf_str(result), &json);
	th_buf_add_cstr(&line, "data: ");
	th_buf_add(&line, th_buf_str(&json));
	th_buf_add_cstr(&line, "\n\n");
	return put(f, th_buf_str(&line));
}

static void on_ping(struct th_listener *l)
{
	(void)put(TH_CONTAINER_OF(l, struct follow, listener), TH_STR(": still here\n\n"));
}

static void end(struct follow *f)
{
	struct th_a2a m = {
		.access = f->access, .id = th_str_of(f->id), .v1 = f->v1, .rest = f->rest
	};
	struct th_access *a = f->access;

	a->gone = NULL;
	if (f->how.stream) {
		follow_free(f);
		th_http_end(a->request);
		return;
	}
	th_a2a_answer_task(&m, &f->task, f->history, f->how.plain);
	follow_free(f);
}

/* What is new of it, as the parts of a stream.  False: f is gone. */
static bool tell(struct follow *f)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw w = th_jw(&out);
	bool news = f->task.state != f->told || f->task.message_count != f->told_messages;

	if (!f->how.stream || !f->task.message_count || (f->began && !news))
		return true; /* it begins with what was said */
	if (!f->began) {
		th_a2a_put_task(&f->task, f->v1, f->history, true, &out);
	} else {
		if (f->task.output && th_a2a_task_over(&f->task)) {
			th_a2a_print_output(&f->task, f->v1, &w);
			if (!frame(f, &out))
				return false;
			th_buf_clear(&out);
			w = th_jw(&out);
		}
		th_a2a_print_status(&f->task, f->v1, &w);
	}
	f->began = true;
	f->told = f->task.state;
	f->told_messages = f->task.message_count;
	return frame(f, &out);
}

static bool is_word(const struct thole_note *note)
{
	const char *kind = thole_note_name(note);

	return strcmp(kind, "approval_decided") == 0 || strcmp(kind, "settled") == 0;
}

static bool ends(const struct follow *f, const struct thole_note *note)
{
	if (!note)
		return true;
	if (f->how.at_once)
		return f->task.message_count > 0;
	/* A word about one of several calls: it has not ceased to wait, and rests no second time.
	 */
	if (thole_note_kind(note) == THOLE_NOTE_EVENT)
		return f->task.state == TH_A2A_INPUT_REQUIRED && is_word(note);
	return thole_note_kind(note) == THOLE_NOTE_REST && f->task.last_seq > 0;
}

static void on_note(struct th_listener *l, const struct thole_note *note)
{
	struct follow *f = TH_CONTAINER_OF(l, struct follow, listener);

	if (note && thole_note_kind(note) == THOLE_NOTE_EVENT) {
		if (!th_a2a_task_event(&f->task, th_str_of(thole_note_json(note)))) {
			end(f);
			return;
		}
		if (!tell(f))
			return;
	}
	if (ends(f, note))
		end(f);
}

void th_a2a_follow(struct th_a2a *m, struct th_hub *h, const struct th_a2a_how *how)
{
	struct follow *f = th_alloc(sizeof(*f));

	*f = (struct follow){ .access = m->access,
			      .task = m->task,
			      .how = *how,
			      .history = th_a2a_history(m),
			      .v1 = m->v1,
			      .rest = m->rest };
	m->task = (struct th_a2a_task){ 0 };
	f->id = th_alloc(m->id.len + 1);
	memcpy(f->id, m->id.ptr ?: "", m->id.len); /* HTTP+JSON has none */
	f->id[m->id.len] = '\0';
	f->listener.fn = on_note;
	f->listener.ping = how->stream ? on_ping : NULL;
	m->access->ctx = f;
	m->access->gone = on_gone;
	th_hub_listen(h, &f->listener);
	th_server_kick(m->access->server);
	if (!how->stream)
		return;
	f->writes = true;
	th_http_begin(m->access->request, 200, "text/event-stream",
		      TH_STR("Cache-Control: no-store\r\nX-Accel-Buffering: no\r\n"));
	f->writes = false;
	if (f->gone)
		follow_free(f);
	else if (tell(f) && how->rests)
		end(f);
}
