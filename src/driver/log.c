/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.c - events on their way into the store: each is folded, waits in
 * its session's list, and goes with those of all sessions into one transaction.
 */
#include "driver/log.h"

#include <stdlib.h>

#include "base/text.h"
#include "driver/delegate.h"

#define REUSE_MAX (64 * TH_KIB) /* a larger buffer is freed after its event */

bool th_copy_text(struct th_str s, char **ret)
{
	if (s.len == 0)
		return true;
	*ret = th_try_alloc(s.len + 1);
	if (*ret)
		memcpy(*ret, s.ptr, s.len);
	return *ret != NULL;
}

bool th_list_room(void *list, size_t count, size_t *cap, size_t more, size_t size)
{
	size_t want = TH_MAX(TH_MAX(*cap * 2, (size_t)4), count + more);
	void *at;

	if (count + more <= *cap)
		return true;
	memcpy(&at, list, sizeof(at)); /* a pointer to a pointer of any type */
	at = th_try_realloc(at, want * size);
	if (!at)
		return false;
	memcpy(list, &at, sizeof(at));
	*cap = want;
	return true;
}

static void ask_flush(struct th_driver *d)
{
	if (d->flush_asked)
		return;
	d->flush_asked = true;
	d->world.ops->flush_soon(d->world.ctx);
}

void th_live_no_memory(struct th_live *l)
{
	if (l->lost)
		return;
	l->lost = l->untold = l->driver->untold = true;
	l->held_count = 0;
	l->queue_at = l->queue_count = 0;
	l->driver->log_ops->lost(l);
	ask_flush(l->driver);
}

/* Told, sessions may be closed. */
static void tell_lost(struct th_driver *d)
{
	if (!d->untold)
		return;
	d->untold = false;
	for (uint32_t i = 0; i < d->live_cap; i++) {
		struct th_live *l = d->lives[i];
		struct th_err err = { 0 };

		if (!l || !l->untold)
			continue;
		l->untold = false;
		(void)th_fail(&err, TH_ENOMEM, "session %s: out of memory", l->id);
		if (l->observer.rest)
			l->observer.rest(l->observer.ctx,
					 (struct th_handle){ l->index, l->generation }, &l->fold,
					 &err);
	}
}

/* NULL: out of memory. */
static struct th_commit *filling(struct th_driver *d)
{
	if (d->filling)
		return d->filling;
	if (d->spare) {
		d->filling = d->spare;
		d->spare = d->spare->next;
		d->filling->next = NULL;
	} else {
		d->filling = th_try_alloc(sizeof(*d->filling));
		if (!d->filling)
			return NULL;
		d->filling->driver = d;
		th_arena_init_try(&d->filling->arena, TH_BATCH_MEMORY_MAX);
	}
	return d->filling;
}

void th_live_dirty(struct th_live *l)
{
	struct th_driver *d = l->driver;

	if (l->dirty)
		return;
	l->dirty = true;
	l->dirty_next = NULL;
	if (d->dirty)
		d->dirty_last->dirty_next = l;
	else
		d->dirty = l;
	d->dirty_last = l;
	ask_flush(d);
}

/* False: out of memory. */
static bool set_title(struct th_live *l, const struct th_json *message)
{
	struct th_str content = th_json_get_str(message, "content");
	struct th_buf line;
	bool good;

	if (l->title)
		return true;
	th_buf_init_try(&line, TH_KIB);
	th_text_line(&line, content, TH_TITLE_MAX);
	good = !line.no_memory && th_copy_text(th_buf_str(&line), &l->title);
	if (good && l->driver->filling) {
		struct th_arena *a = &l->driver->filling->arena;

		l->pending.task = th_arena_str(a, th_utf8_cut(content, TH_TASK_TEXT_MAX));
		good = l->pending.task.ptr != NULL;
	}
	th_buf_deinit(&line);
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

/* Room for one more; false: the batch has no memory left. */
static bool pending_room(struct th_pending *p, struct th_arena *a)
{
	size_t cap = TH_MAX(p->cap * 2, (size_t)4);
	struct th_event *events;
	struct th_digest *digests;

	if (p->count < p->cap)
		return true;
	events = th_arena_array(a, cap, sizeof(*events));
	digests = th_arena_array(a, cap, sizeof(*digests));
	if (!events || !digests)
		return false;
	if (p->count > 0) {
		memcpy(events, p->events, p->count * sizeof(*events));
		memcpy(digests, p->digests, p->count * sizeof(*digests));
	}
	p->events = events;
	p->digests = digests;
	p->cap = cap;
	return true;
}

/* What waited went with its batch, or is lost with it. */
static void pending_end(struct th_pending *p)
{
	p->events = NULL;
	p->digests = NULL;
	p->count = p->cap = 0;
	p->task = TH_STR("");
}

static void pending_add(struct th_live *l, const struct th_event *ev)
{
	struct th_pending *p = &l->pending;

	if (p->count == 0) {
		p->seq_before = ev->seq - 1;
		p->head_before = l->head;
	}
	assert(p->count < p->cap);
	l->head = th_event_digest(&l->head, th_str_of(l->id), ev);
	p->events[p->count] = *ev;
	p->digests[p->count++] = l->head;
}

/* An event was refused: room that nothing waits in goes with its commit, and is nobody's then. */
static void pending_refused(struct th_pending *p)
{
	if (p->count == 0)
		pending_end(p);
}

/* The event is folded and waits to be written.  TH_OK: `parsed` is the caller's to free. */
static enum th_code fold(struct th_live *l, const struct th_event *ev, struct th_parsed *parsed,
			 struct th_err *err)
{
	struct th_effects fx TH_UNSET;
	enum th_code code = th_parsed_init(parsed, ev, err);
	bool have = !code;

	if (!code)
		code = th_parsed_check_ids(parsed, err);
	if (!code)
		code = th_session_step_parsed(&l->fold, parsed, &fx, err);
	if (!code && ev->kind == TH_EV_MESSAGE && !set_title(l, parsed->data))
		code = th_fail_memory(err);
	if (!code && ev->kind == TH_EV_SESSION_CHANGED && !set_changed(l, ev, parsed->data))
		code = th_fail_memory(err);
	if (!code) {
		pending_add(l, ev);
		th_live_dirty(l);
		l->driver->log_ops->stepped(l, &fx);
		return TH_OK;
	}
	/* The fold is then of no use, nor what waits to be written with it. */
	if (code == TH_ENOMEM) {
		pending_end(&l->pending);
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
	struct th_commit *commit = filling(d);
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
	room = pending_room(&l->pending, &commit->arena);
	ev.call = th_arena_str(&commit->arena, call);
	ev.data = th_arena_str(&commit->arena, data);
	if (commit->arena.no_memory || !room || !ev.data.ptr || !ev.call.ptr) {
		pending_refused(&l->pending);
		return commit->arena.no_memory
			   ? th_fail_memory(err)
			   : th_fail(err, TH_ELIMIT, "too much waits to be written");
	}
	d->world.ops->random(d->world.ctx, random, sizeof(random));
	ev.id = th_uuid7((uint64_t)ev.ts_ms, random);
	code = fold(l, &ev, &parsed, err);
	if (code) {
		pending_refused(&l->pending);
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

void th_live_lose(struct th_live *l, const struct th_err *err)
{
	struct th_handle h = th_live_handle(l);

	if (l->lost)
		return;
	l->lost = true;
	l->held_count = 0;
	l->queue_at = l->queue_count = 0;
	l->driver->log_ops->lost(l);
	if (l->observer.rest)
		l->observer.rest(l->observer.ctx, h, &l->fold, err);
}

static void forget_effects(struct th_driver *d, const struct th_append *a)
{
	struct th_str ids[16];
	size_t count = 0;

	for (size_t i = 0; i < a->event_count; i++) {
		struct th_str raw;

		if (a->events[i].kind != TH_EV_OUTCOME && a->events[i].kind != TH_EV_GUARDRAIL &&
		    a->events[i].kind != TH_EV_CODE && a->events[i].kind != TH_EV_QUESTION)
			continue;
		raw = th_json_raw_get(a->events[i].data, "effect_id");
		if (raw.len < 3)
			continue;
		ids[count++] = th_str_sub(raw, 1, raw.len - 2);
		if (count == TH_COUNT(ids)) {
			d->world.ops->tool_forget(d->world.ctx, a->row->session_id, ids, count);
			count = 0;
		}
	}
	if (count > 0)
		d->world.ops->tool_forget(d->world.ctx, a->row->session_id, ids, count);
}

enum th_code th_live_read(const struct th_live *l, uint64_t from, uint64_t to, th_event_fn *fn,
			  void *ctx, struct th_err *err)
{
	const struct th_append *a = l->fresh;
	struct th_driver *d = l->driver;
	enum th_code code = TH_OK;

	if (!a || from <= a->seq_before || to > a->seq_before + a->event_count)
		return d->world.ops->read(d->world.ctx, th_str_of(l->id), from, to, fn, ctx, err);
	for (uint64_t seq = from; seq <= to && !code; seq++) {
		size_t at = (size_t)(seq - a->seq_before - 1);

		code = fn(ctx, &a->events[at], &a->digests[at], err);
	}
	return code;
}

static void append_done(struct th_driver *d, struct th_handle h, const struct th_append *a)
{
	struct th_live *l = th_driver_find(d, h);
	struct th_err err = { 0 };

	if (!l)
		return;
	l->commits--;
	if (a->result != TH_OK) {
		if (a->result == TH_EEXIST)
			(void)th_fail(&err, a->result, "session %s exists already", l->id);
		else
			(void)th_fail(&err, a->result,
				      "session %s was taken by another runtime; nothing more was "
				      "written here",
				      l->id);
		th_live_lose(l, &err);
		return;
	}
	l->durable_seq = a->seq_before + a->event_count;
	l->fresh = a;
	for (size_t i = 0; l && i < a->event_count; i++) {
		if (l->observer.event)
			l->observer.event(l->observer.ctx, h, &a->events[i]);
		l = th_driver_find(d, h);
		if (l)
			d->log_ops->durable(l, &a->events[i]);
	}
	forget_effects(d, a);
	d->log_ops->released(d, h);
	l = th_driver_find(d, h);
	if (l)
		l->fresh = NULL;
}

static void commit_recycle(struct th_driver *d, struct th_commit *c)
{
	th_arena_reset(&c->arena);
	c->batch = (struct th_batch){ 0 };
	c->blob_count = 0;
	c->handles = NULL;
	c->next = d->spare;
	d->spare = c;
}

/* Memory may be there for the other sessions; anything else is the store's end. */
static void on_commit(void *ctx, struct th_batch *batch, enum th_code code,
		      const struct th_err *err)
{
	struct th_commit *c = ctx;
	struct th_driver *d = c->driver;

	d->commits--;
	if (code) {
		if (code != TH_ENOMEM)
			d->world.ops->fatal(d->world.ctx, err);
		for (size_t i = 0; i < batch->append_count; i++) {
			struct th_live *l = th_driver_find(d, c->handles[i]);

			if (l) {
				l->commits--;
				th_live_lose(l, err);
			}
		}
	} else {
		for (size_t i = 0; i < batch->append_count; i++)
			append_done(d, c->handles[i], &batch->appends[i]);
	}
	commit_recycle(d, c);
}

static struct th_str keep(struct th_commit *c, const char *s)
{
	return s ? th_arena_str(&c->arena, th_str_of(s)) : TH_STR("");
}

static void fill_row(struct th_commit *c, struct th_live *l, struct th_session_row *row)
{
	const struct th_session *s = &l->fold;

	*row = (struct th_session_row){
		.session_id = keep(c, l->id),
		.user = keep(c, l->user),
		.title = keep(c, l->title),
		.parent = keep(c, l->parent),
		.parent_seq = l->parent_seq,
		.head = l->head,
		.epoch = l->epoch,
		.created_ms = l->created_ms ? l->created_ms : s->created_ms,
		.metadata = keep(c, l->metadata ? l->metadata : "{}"),
	};
	th_session_row_of(s, row);
	row->agent = th_arena_str(&c->arena, row->agent);
	row->model = th_arena_str(&c->arena, row->model);
}

/* False: out of memory, and nothing happened. */
static bool fill_append(struct th_commit *c, struct th_live *l, struct th_append *a)
{
	struct th_pending *p = &l->pending;
	struct th_session_row *row = TH_NEW(&c->arena, struct th_session_row);

	if (row)
		fill_row(c, l, row);
	if (c->arena.no_memory)
		return false;
	assert(row);
	*a = (struct th_append){
		.create = p->create,
		.row = row,
		.seq_before = p->seq_before,
		.head_before = p->head_before,
		.events = p->events,
		.digests = p->digests,
		.event_count = p->count,
		.task = p->task,
	};
	pending_end(p);
	p->create = false;
	return true;
}

/* It begins to work on a call, whose session says so in the same transaction. */
static bool begins_for_another(const struct th_live *l)
{
	return l->pending.create && l->parent_call && l->parent_call->parent;
}

/* Behind those that they work for. */
static struct th_live *parents_first(struct th_live *list)
{
	struct th_live *children = NULL, **last = &children, **at = &list;

	while (*at) {
		struct th_live *l = *at;

		if (!begins_for_another(l)) {
			at = &l->dirty_next;
			continue;
		}
		*at = l->dirty_next;
		*last = l;
		last = &l->dirty_next;
	}
	*last = NULL;
	*at = children;
	return list;
}

/* A lost session begins nothing.  False: the event cannot be written. */
static bool fill_needs(const struct th_commit *c, const struct th_live *l, struct th_append *a)
{
	struct th_handle of = th_live_handle(l->parent_call->parent);

	for (size_t i = 0; i < c->batch.append_count && !a->needs; i++)
		if (c->handles[i].index == of.index && c->handles[i].generation == of.generation)
			a->needs = &c->batch.appends[i];
	return a->needs != NULL;
}

/* Nothing of what waits can be written: as if the process had died, for these sessions. */
static void flush_failed(struct th_driver *d, struct th_commit *c, struct th_live *list)
{
	for (struct th_live *l = list, *next; l; l = next) {
		next = l->dirty_next;
		l->dirty = false;
		pending_end(&l->pending);
		th_live_no_memory(l);
	}
	d->filling = NULL;
	if (c)
		commit_recycle(d, c);
	d->flush_asked = false;
	tell_lost(d);
}

void th_driver_flush(struct th_driver *d)
{
	struct th_commit *c = filling(d);
	struct th_handle *idle = NULL;
	size_t count = 0, idle_count = 0;
	struct th_live *list = parents_first(d->dirty);

	d->flush_asked = false;
	d->dirty = d->dirty_last = NULL;
	for (struct th_live *l = list; l; l = l->dirty_next)
		count++;
	if (count == 0) {
		tell_lost(d);
		return;
	}
	if (c) {
		c->batch.appends = th_arena_array(&c->arena, count, sizeof(*c->batch.appends));
		c->handles = th_arena_array(&c->arena, count, sizeof(*c->handles));
		idle = th_arena_array(&c->arena, count, sizeof(*idle));
	}
	if (!c || c->arena.no_memory) {
		flush_failed(d, c, list);
		return;
	}
	assert(c->batch.appends && c->handles && idle);
	for (struct th_live *l = list, *next; l; l = next) {
		next = l->dirty_next;
		l->dirty = false;
		if (l->pending.count > 0) {
			struct th_append *a = &c->batch.appends[c->batch.append_count];
			bool child = begins_for_another(l);

			if (!fill_append(c, l, a) || (child && !fill_needs(c, l, a))) {
				c->arena.no_memory = false; /* the next one may fit */
				pending_end(&l->pending);
				th_live_no_memory(l);
				continue;
			}
			c->handles[c->batch.append_count++] = th_live_handle(l);
			l->commits++;
		} else if (l->commits == 0) {
			idle[idle_count++] = th_live_handle(l);
		}
	}
	d->filling = NULL;
	/* Effects of events that were durable already: they wait for nothing. */
	for (size_t i = 0; i < idle_count; i++)
		d->log_ops->released(d, idle[i]);
	c->batch.blobs = c->blobs;
	c->batch.blob_count = c->blob_count;
	if (c->batch.append_count == 0) {
		commit_recycle(d, c);
	} else {
		d->commits++;
		d->world.ops->commit(d->world.ctx, &c->batch, on_commit, c);
	}
	tell_lost(d);
}

enum th_code th_driver_add_blob(struct th_driver *d, const struct th_blob *blob, struct th_err *err)
{
	struct th_commit *c = filling(d);
	struct th_blob kept = { .hash = blob->hash };

	for (size_t i = 0; c && i < c->blob_count; i++)
		if (th_digest_eq(&c->blobs[i].hash, &blob->hash))
			return TH_OK;
	if (!c || !th_list_room(&c->blobs, c->blob_count, &c->blob_cap, 1, sizeof(*c->blobs)))
		return th_fail_memory(err);
	kept.media_type = th_arena_str(&c->arena, blob->media_type);
	kept.bytes = th_arena_str(&c->arena, blob->bytes);
	if (c->arena.no_memory)
		return th_fail_memory(err);
	if (!kept.media_type.ptr || !kept.bytes.ptr)
		return th_fail(err, TH_ELIMIT, "too much waits to be written");
	c->blobs[c->blob_count++] = kept;
	return TH_OK;
}
