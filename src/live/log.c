/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.c - events on their way into the store: each is folded, and waits in its session's list
 * (log_commit.h) until it goes with those of all sessions into one transaction (log_flush.c).
 */
#include "live/log.h"

#include <stdlib.h>

#include "base/text.h"
#include "events/event_text.h"
#include "live/log_commit.h"
#include "live/memory.h"

#define REUSE_MAX (64 * TH_KIB) /* a larger buffer is freed after its event */

/* `words`: those that are the title; empty: it has one, or the event has none. */
static bool find_title(struct th_live *l, enum th_event_kind kind, const struct th_json *data,
		       bool asked, struct th_buf *words)
{
	struct th_buf line;
	bool good = true;

	if (l->title)
		return true;
	th_buf_init_try(&line, TH_KIB);
	if (th_event_task(kind, data, asked, words)) {
		th_text_line(&line, th_buf_str(words), TH_TITLE_MAX);
		good = !line.no_memory && th_copy_text(th_buf_str(&line), &l->title);
	}
	th_buf_deinit(&line);
	return good && !words->no_memory;
}

bool th_live_title(struct th_live *l, enum th_event_kind kind, const struct th_json *data,
		   bool asked)
{
	struct th_buf words;
	bool good;

	th_buf_init_try(&words, TH_JSON_SIZE_MAX);
	good = find_title(l, kind, data, asked, &words);
	th_buf_deinit(&words);
	return good;
}

/* Of items that the title says whole nothing more is written.  False: out of memory. */
static bool set_title(struct th_live *l, enum th_event_kind kind, const struct th_json *data,
		      bool asked)
{
	struct th_buf words;
	bool good;

	th_buf_init_try(&words, TH_JSON_SIZE_MAX);
	good = find_title(l, kind, data, asked, &words);
	if (good && words.len && l->driver->filling &&
	    (kind == TH_EV_MESSAGE || !l->title ||
	     !th_str_eq(th_buf_str(&words), th_str_of(l->title)))) {
		struct th_arena *a = &l->driver->filling->arena;

		l->pending.task =
		    th_arena_str(a, th_utf8_cut(th_buf_str(&words), TH_TASK_TEXT_MAX));
		good = l->pending.task.ptr != NULL;
	}
	th_buf_deinit(&words);
	return good;
}

/* Of the row that is written with the event.  False: out of memory. */
static bool set_changed(struct th_live *l, const struct th_event *ev, const struct th_json *data)
{
	struct th_str title = th_json_get_str(data, "title");
	struct th_str metadata = th_json_raw_get(ev->data, "metadata");
	char *copy = NULL;

	if (title.len) {
		if (!th_copy_text(title, &copy))
			return false;
		free(l->title);
		l->title = copy;
	}
	if (metadata.len) {
		if (!th_copy_text(metadata, &copy))
			return false;
		free(l->metadata);
		l->metadata = copy;
	}
	return true;
}

/* The event is folded and waits to be written.  TH_OK: `parsed` is the caller's to free. */
static enum th_code fold(struct th_live *l, const struct th_event *ev, struct th_parsed *parsed,
			 struct th_err *err)
{
	struct th_effects fx TH_UNSET;
	enum th_code code = th_parsed_init(parsed, ev, err);
	bool have = !code, asked = l->fold.totals.turns > 0;

	if (!code)
		code = th_parsed_check_ids(parsed, err);
	if (!code)
		code = th_session_step_parsed(&l->fold, parsed, &fx, err);
	if (!code && !set_title(l, ev->kind, parsed->data, asked))
		code = th_fail_memory(err);
	if (!code && ev->kind == TH_EV_SESSION_CHANGED && !set_changed(l, ev, parsed->data))
		code = th_fail_memory(err);
	if (!code) {
		th_pending_add(l, ev);
		th_live_dirty(l);
		l->driver->log_ops->stepped(l, &fx);
		return TH_OK;
	}
	/* The fold is then of no use, nor what waits to be written with it. */
	if (code == TH_ENOMEM) {
		th_pending_end(&l->pending);
		th_live_lose(l, err);
	}
	if (have)
		th_parsed_deinit(parsed);
	return code;
}

enum th_code th_live_append(struct th_live *l, enum th_event_kind kind, enum th_source source,
			    uint64_t cause, struct th_str call, struct th_str data,
			    struct th_err *err)
{
	struct th_driver *d = l->driver;
	struct th_commit *commit = th_commit_filling(d);
	struct th_parsed parsed TH_UNSET;
	uint8_t random[10];
	struct th_event ev = {
		.seq = l->fold.seq + 1,
		.ts_ms = d->world.ops->now_ms(d->world.ctx),
		.source = source,
		.kind = kind,
		.cause = cause,
		.build = th_str_of(d->build),
	};
	enum th_code code;
	bool room;

	if (l->lost)
		return th_fail(err, TH_EFENCED, "another runtime has taken session %s", l->id);
	if (data.len > TH_EVENT_DATA_MAX)
		return th_fail(err, TH_ELIMIT, "the data of a %s event is larger than %zu bytes",
			       th_event_name(kind), TH_EVENT_DATA_MAX);
	code = d->log_ops->before(l, err);
	if (code)
		return code;
	if (!commit)
		return th_fail_memory(err);
	room = th_pending_room(&l->pending, &commit->arena);
	ev.call = th_arena_str(&commit->arena, call);
	ev.data = th_arena_str(&commit->arena, data);
	if (commit->arena.no_memory || !room || !ev.data.ptr || !ev.call.ptr) {
		th_pending_refused(&l->pending);
		return commit->arena.no_memory
			   ? th_fail_memory(err)
			   : th_fail(err, TH_ELIMIT, "too much waits to be written");
	}
	d->world.ops->random(d->world.ctx, random, sizeof(random));
	ev.id = th_uuid7((uint64_t)ev.ts_ms, random);
	code = fold(l, &ev, &parsed, err);
	if (code) {
		th_pending_refused(&l->pending);
		return code;
	}
	code = d->log_ops->appended(l, &parsed, err);
	th_parsed_deinit(&parsed);
	if (!code && l->lost)
		code = th_fail_memory(err);
	if (code)
		th_live_lose(l, err);
	return code;
}

/* An empty buffer for the data of one event.  th_live_append copies what is in it. */
static struct th_buf *data_begin(struct th_driver *d)
{
	th_buf_clear(&d->event_data);
	return &d->event_data;
}

static enum th_code data_append(struct th_live *l, enum th_event_kind kind, enum th_source source,
				uint64_t cause, struct th_str call, struct th_err *err)
{
	struct th_buf *data = &l->driver->event_data;
	enum th_code code = th_buf_check(data, "the data", err);

	if (code)
		(void)th_prefix(err, code, "%s event", th_event_name(kind));
	else
		code = th_live_append(l, kind, source, cause, call, th_buf_str(data), err);
	if (data->cap > REUSE_MAX)
		th_buf_deinit(data);
	return code;
}

enum th_code th_live_append_event(struct th_live *l, enum th_event_kind kind, enum th_source source,
				  uint64_t cause, struct th_str call, const void *in,
				  struct th_err *err)
{
	struct th_jw w = th_jw(data_begin(l->driver));

	th_table_print(th_event_table(kind), in, &w);
	return data_append(l, kind, source, cause, call, err);
}

enum th_code th_live_append_message(struct th_live *l, enum th_source source, uint64_t cause,
				    struct th_str text, struct th_err *err)
{
	struct th_jw w = th_jw(data_begin(l->driver));

	th_jw_object(&w);
	th_jw_kstr(&w, "role", TH_STR("user"));
	th_jw_kstr(&w, "content", text);
	th_jw_object_end(&w);
	return data_append(l, TH_EV_MESSAGE, source, cause, TH_STR(""), err);
}

enum th_code th_live_budget(struct th_live *l, const struct th_agent_limits *limits,
			    const struct th_more *more, struct th_str by, enum th_source source,
			    struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct th_ev_budget d = { .by = by };
	struct th_jw w = th_jw(&text);

	th_table_print(&th_agent_limits_table, limits, &w);
	d.limits = th_buf_str(&text);
	if (more) {
		d.turns = more->turns;
		d.seconds = more->seconds;
	}
	return th_live_append_event(l, TH_EV_BUDGET, source, 0, TH_STR(""), &d, err);
}

enum th_code th_live_state(struct th_live *l, enum th_state to, struct th_str reason,
			   struct th_err *err)
{
	const struct th_ev_state_changed d = { .to = th_str_of(th_state_name(to)),
					       .reason = reason };

	return th_live_append_event(l, TH_EV_STATE_CHANGED,
				    to == TH_STATE_LIMIT || to == TH_STATE_STUCK
					? TH_SOURCE_ENVIRONMENT
					: TH_SOURCE_OPERATOR,
				    0, TH_STR(""), &d, err);
}

void th_live_write_event(struct th_live *l, enum th_event_kind kind, enum th_source source,
			 uint64_t cause, struct th_str call, const void *in)
{
	struct th_err err = { 0 };

	if (l->lost)
		return;
	if (th_live_append_event(l, kind, source, cause, call, in, &err))
		th_live_lose(l, &err);
}

void th_live_fail(struct th_live *l, const char *class, struct th_str message)
{
	struct th_ev_error d = { .class = th_str_of(class), .message = message };

	th_live_write_event(l, TH_EV_ERROR, TH_SOURCE_ENVIRONMENT, l->fold.seq, TH_STR(""), &d);
}
