/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transcript.c - code that says what is seen of what was before: once a task
 * (session_input), and where it has become too much (compact).
 *
 * Both are asked when a request is due and all that they look at is durable.
 * What they say is an event before anything is sent, so nobody is asked twice;
 * the log keeps what was.  session_input speaks of one task: the next one begins
 * with all of it again.  What compact gives stands for good.
 */
#include "turns/transcript.h"
#include "turns/history_make.h"
#include "turns/log_ahead.h"

#include "base/text.h"
#include "live/log.h"
#include "live/pending_callback.h"
#include "live/queue.h"
#include "transcript/transcript.h"
#include "turns/condense.h"
#include "turns/team.h"

static th_callback_answered_fn transcript_answered;

static void ask_code(struct th_live *l, enum th_ask_kind kind, struct th_str function,
		     const struct th_transcript *transcript)
{
	struct th_pending_callback *a = th_callback_new(l, kind, transcript_answered);
	struct th_buf input;
	struct th_jw w;

	a->member = l->fold.agent;
	a->message_seq = l->fold.message_seq;
	th_buf_init(&input, TH_EVENT_DATA_MAX * 2);
	th_callback_input(l, a->member, &input, &w);
	if (kind == TH_ASK_SESSION_INPUT) {
		th_live_put_items(&w, "history", transcript, 0, transcript->task_at);
		th_live_put_items(&w, "input", transcript, transcript->task_at, transcript->count);
	} else {
		th_live_put_items(&w, "items", transcript, 0, transcript->count);
		th_jw_kint(&w, "bytes", (int64_t)l->fold.bytes);
	}
	th_jw_object_end(&w);
	th_callback_ask(l, a, function, th_buf_str(&input));
	th_buf_deinit(&input);
}

/* True: it is asked, or will be, and its answer makes the request. */
static bool ask(struct th_live *l, enum th_ask_kind kind, struct th_str function)
{
	struct th_err err = { 0 };
	struct th_transcript transcript;

	if (th_live_asks(l, kind))
		return true;
	if (l->durable_seq < l->fold.seq)
		return th_live_defer_request(l); /* it reads the log */
	if (!th_live_items_here(l, l->fold.seq, TH_DO_REQUEST, 0))
		return true;
	if (th_live_transcript(l, l->fold.seq, NULL, &transcript, &err))
		th_live_lose(l, &err);
	else
		ask_code(l, kind, function, &transcript);
	th_transcript_deinit(&transcript);
	return true;
}

/* ---- what a task begins with -------------------------------------------------------------- */

bool th_live_join(struct th_live *l)
{
	const struct th_session *s = &l->fold;

	if (!l->speaking->session_input.len || s->joined == TH_JOINED || s->agent != s->task_agent)
		return false;
	return ask(l, TH_ASK_SESSION_INPUT, l->speaking->session_input);
}

static void write_joined(struct th_live *l, struct th_str marks)
{
	const struct th_ev_code d = { .use = TH_STR("session_input"),
				      .name = l->speaking->session_input,
				      .agent = th_session_member(&l->fold)->name,
				      .answer = marks };

	th_live_write_event(l, TH_EV_CODE, TH_SOURCE_ENVIRONMENT, l->fold.task_seq, TH_STR(""), &d);
}

/* ---- what has become too much ------------------------------------------------------------- */

static size_t count_of(struct th_str list)
{
	struct th_json_raw_iter it = th_json_raw_iter(list);
	size_t count = 0;

	while (th_json_raw_next(&it))
		count++;
	return count;
}

static void write_compacted(struct th_live *l, struct th_str marks, size_t bytes)
{
	struct th_ev_condensation d = { .name = l->speaking->compact->from,
					.history = marks,
					.items = (int64_t)count_of(marks),
					.bytes = (int64_t)bytes };

	th_live_write_condensed(l, &d);
}

bool th_live_compact(struct th_live *l)
{
	const struct th_agent_compact *c = l->speaking->compact;

	return c && c->from.len && th_live_is_too_long(l) && ask(l, TH_ASK_COMPACT, c->from);
}

/* ---- the answers -------------------------------------------------------------------------- */

static const char *what(enum th_ask_kind kind)
{
	return kind == TH_ASK_COMPACT ? "compact" : "session_input";
}

static void fail(struct th_live *l, enum th_ask_kind kind, const char *how, struct th_str why)
{
	struct th_buf text = TH_BUF_INIT(4 * TH_KIB);

	th_buf_printf(&text, "%s%s: %.*s", what(kind), how,
		      TH_FMT(th_utf8_cut(why, TH_ERR_MSG_MAX)));
	th_live_fail(l, "code", th_buf_str(&text));
	th_buf_deinit(&text);
}

static void take(struct th_live *l, enum th_ask_kind kind, struct th_str items)
{
	struct th_buf marks = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_err err = { 0 };
	struct th_json_doc *doc = NULL;
	struct th_transcript transcript;

	if (th_live_transcript(l, l->durable_seq, NULL, &transcript, &err))
		th_live_lose(l, &err);
	else if (th_json_parse(items, &doc, &err) ||
		 th_transcript_mark(&transcript, th_json_root(doc), &marks, &err))
		fail(l, kind, " gave back no list of items", th_str_of(err.msg));
	else if (kind == TH_ASK_COMPACT)
		write_compacted(l, th_buf_str(&marks), items.len);
	else
		write_joined(l, th_buf_str(&marks));
	th_json_free(doc);
	th_transcript_deinit(&transcript);
	th_buf_deinit(&marks);
}

static void transcript_answered(struct th_live *l, const struct th_pending_callback *a, bool failed,
				struct th_str answer)
{
	const struct th_session *s = &l->fold;
	enum th_ask_kind kind = a->kind;

	/* Paused or stopped meanwhile: resume asks again. */
	if (s->state != TH_STATE_RUNNING || s->phase != TH_TURN_DUE)
		return;
	if (a->message_seq != s->message_seq || l->durable_seq < s->seq)
		; /* more was said since: it is asked anew */
	else if (failed)
		fail(l, kind, "", answer);
	else if (kind == TH_ASK_COMPACT && th_str_is(answer, "null"))
		l->not_compacted = true; /* for this request */
	else
		take(l, kind, answer);
	if (!l->lost && s->state == TH_STATE_RUNNING)
		th_live_request_now(l);
}
