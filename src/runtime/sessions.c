/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sessions.c - sessions begun, taken up and given back.
 */
#include <stdlib.h>

#include "base/text.h"
#include "io/clock.h"
#include "runtime/internal.h"
#include "runtime/lookups.h"

struct th_runtime_session *th_runtime_session_new(struct th_runtime *rt)
{
	struct th_runtime_session *s = th_alloc(sizeof(*s));

	s->rt = rt;
	s->next = rt->sessions;
	if (s->next)
		s->next->prev = s;
	rt->sessions = s;
	th_arena_init(&s->memory, 4 * TH_CONFIG_SIZE_MAX);
	return s;
}

void th_runtime_session_free(struct th_runtime_session *s)
{
	struct th_runtime *rt = s->rt;

	th_runtime_session_effects_drop(s);
	th_runtime_open_drop(s);
	th_runtime_log_drop(s);
	if (s->asking)
		th_lease_drop(s->asking);
	if (s->timer.loop)
		th_timer_stop(&s->timer);
	if (s->wait.loop)
		th_timer_stop(&s->wait);
	s->executor = th_executor_client_free(s->executor);
	th_runtime_lookups_free(s);
	free(s->no_executor);
	free(s->far);
	if (s->prev)
		s->prev->next = s->next;
	else
		rt->sessions = s->next;
	if (s->next)
		s->next->prev = s->prev;
	if (s->handle.generation)
		rt->by_index[s->handle.index] = NULL;
	rt->child_count -= s->parent != NULL;
	th_runtime_setup_drop(rt, s->setup);
	th_arena_deinit(&s->memory);
	free(s);
}

void th_runtime_session_index(struct th_runtime_session *s)
{
	struct th_runtime *rt = s->rt;

	if (s->handle.index >= rt->by_index_cap) {
		size_t cap = TH_MAX(rt->by_index_cap * 2, (size_t)s->handle.index + 8);

		rt->by_index = th_realloc(rt->by_index, cap * sizeof(struct th_runtime_session *));
		memset(rt->by_index + rt->by_index_cap, 0,
		       (cap - rt->by_index_cap) * sizeof(struct th_runtime_session *));
		rt->by_index_cap = cap;
	}
	rt->by_index[s->handle.index] = s;
}

/* Is its log read beside the loop, since the store is elsewhere or the log too long for one pass?
 */
static bool is_long(const struct th_runtime_session *s)
{
	return s->stored && (s->beside || (s->in_pieces && s->row.head_seq > TH_OPEN_EVENTS_MAX));
}

/* Is a computer to be opened before the driver has the session?  One of this process is there. */
static bool opens_computer(const struct th_runtime_session *s)
{
	return s->setup->config.has_computer && !s->setup->config.computer;
}

static struct th_session_config config_of(const struct th_runtime_session *s)
{
	struct th_session_config ret = s->setup->config;

	if (opens_computer(s))
		ret.screen = s->screen;
	return ret;
}

/* The log's first event says what it is run with.  One with a computer stops here: that is opened
 * first. */
static enum th_code fit_stored(void *ctx, const struct th_event *first,
			       struct th_session_config *ret, struct th_err *err)
{
	struct th_runtime_session *s = ctx;
	enum th_code code;

	if (!s->setup) {
		code = th_runtime_setup_stored(s, first, s->start, err);
		if (code)
			return code;
		if (opens_computer(s)) {
			s->screen_first = true;
			return th_fail(err, TH_EBUSY, "its computer is not open yet");
		}
	}
	*ret = config_of(s);
	return TH_OK;
}

static th_opened_fn opened;

static enum th_code with_driver(struct th_runtime_session *s, struct th_err *err)
{
	struct th_runtime *rt = s->rt;
	struct th_ev_session_created created = { .user = s->user, .metadata = s->metadata };
	struct th_session_config config;
	enum th_code code;

	if (is_long(s))
		return th_runtime_open_begin(s, fit_stored, opened, err);
	config = config_of(s);
	created.model = s->setup->agent.model;
	created.workspace = s->workspace;
	if (s->stored)
		code = th_driver_open(rt->driver, &s->row, &config, &s->observer, &s->handle, err);
	else
		code = th_driver_create(rt->driver, s->id, &config, &created, &s->observer,
					&s->handle, err);
	if (code)
		return code;
	th_runtime_session_index(s);
	return TH_OK;
}

static void give_to(const struct th_runtime_session *s, bool hand_over)
{
	if (s->stored)
		th_lease_give(s->rt->leases, &(struct th_held){ s->id, s->row.epoch, hand_over });
}

/* The lease would also end with this process; giving it back is a courtesy to others. */
static void give_back(const struct th_runtime_session *s)
{
	give_to(s, false);
}

static void start_over(struct th_runtime_session *s, const struct th_err *err)
{
	th_ready_fn *ready = s->ready;
	void *ctx = s->ready_ctx;
	struct th_err copy = *err;

	give_to(s, s->from_dead);
	s->executor = th_executor_client_free(s->executor);
	/* Nothing of a session that never began is worth coming back for. */
	if (!s->stored)
		th_runtime_session_executor_end(s);
	th_runtime_session_free(s);
	ready(ctx, (struct th_handle){ 0 }, &copy);
}

static void on_executor_ready(void *ctx, const struct th_executor_info *info,
			      const struct th_err *err)
{
	struct th_runtime_session *s = ctx;
	struct th_err failure = { 0 };

	if (!info) {
		start_over(s, err);
		return;
	}
	s->screen = info->screen;
	if (with_driver(s, &failure))
		start_over(s, &failure);
	else if (!s->opening)
		s->ready(s->ready_ctx, s->handle, NULL);
}

static enum th_code open_computer(struct th_runtime_session *s, struct th_err *err)
{
	enum th_code code = th_runtime_session_executor(s, s->stored ? s->row.epoch : 1, err);

	if (!code)
		th_executor_client_ready(s->executor, true, on_executor_ready, s);
	return code;
}

static void opened(struct th_runtime_session *s, const struct th_err *err)
{
	struct th_err failure = err ? *err : (struct th_err){ 0 };

	if (!err) {
		th_runtime_session_index(s);
		s->ready(s->ready_ctx, s->handle, NULL);
	} else if (!s->screen_first || s->executor || open_computer(s, &failure)) {
		start_over(s, &failure);
	}
}

/* What a session with a long log is begun with, until its first event has been read. */
static enum th_code keep_start(struct th_runtime_session *s, const struct th_start *start,
			       struct th_err *err)
{
	struct th_tool_row *tools = th_arena_array(&s->memory, start->tool_count, sizeof(*tools));
	struct th_tool_row *computer = TH_NEW(&s->memory, struct th_tool_row);
	struct th_callbacks *callbacks = TH_NEW(&s->memory, struct th_callbacks);

	s->start = TH_NEW(&s->memory, struct th_start);
	if (!tools || !computer || !callbacks || !s->start)
		return th_fail(err, TH_ELIMIT, "the agent has too many tools");
	if (start->tool_count > 0)
		memcpy(tools, start->tools, start->tool_count * sizeof(*tools));
	if (start->computer)
		*computer = *start->computer;
	if (start->callbacks)
		*callbacks = *start->callbacks;
	*s->start = (struct th_start){
		.tools = tools,
		.tool_count = start->tool_count,
		.computer = start->computer ? computer : NULL,
		.callbacks = start->callbacks ? callbacks : NULL,
	};
	return TH_OK;
}

static void row_copy(struct th_runtime_session *s, const struct th_session_row *leased)
{
	struct th_str *const strings[] = { &s->row.session_id, &s->row.user,  &s->row.agent,
					   &s->row.model,      &s->row.state, &s->row.title,
					   &s->row.parent,     &s->row.owner, &s->row.metadata };

	s->row = *leased;
	for (size_t i = 0; i < TH_COUNT(strings); i++)
		*strings[i] = th_arena_str(&s->memory, *strings[i]);
}

static enum th_code fail_absent(struct th_str id, struct th_err *err)
{
	return th_fail(err, TH_ENOENT,
		       "there is no session %.*s; the command `sessions` lists them", TH_FMT(id));
}

/* It is held from now on. */
static void have(struct th_runtime_session *s)
{
	s->stored = s->may_have_executor = true;
	s->id = s->row.session_id;
	th_runtime_executor_ended(s->rt, s->id);
}

static void on_leased(void *ctx, const struct th_session_row *row, const struct th_err *err)
{
	struct th_runtime_session *s = ctx;
	struct th_err failure = { 0 };

	s->asking = NULL;
	if (row) {
		row_copy(s, row);
		have(s);
		if (with_driver(s, &failure) == TH_OK)
			return;
	} else if (err->code == TH_ENOENT) {
		(void)fail_absent(s->id, &failure);
	} else {
		failure = *err;
	}
	start_over(s, &failure);
}

static enum th_code check_name(struct th_str id, struct th_err *err)
{
	if (id.len > TH_SESSION_ID_MAX || th_str_find_char(id, '\0') >= 0 ||
	    th_utf8_valid(id) != id.len)
		return th_fail(err, TH_EUSAGE, "a session's name is text of at most %d bytes",
			       TH_SESSION_ID_MAX);
	return TH_OK;
}

/* For what it is run with; see setup_stored. */
struct first_event {
	struct th_runtime_session *session;
	const struct th_start *start;
};

static enum th_code on_first_event(void *ctx, const struct th_event *first,
				   const struct th_digest *digest, struct th_err *err)
{
	struct first_event *f = ctx;

	(void)digest;
	return th_runtime_setup_stored(f->session, first, f->start, err);
}

static enum th_code setup_stored(struct th_runtime_session *s, const struct th_start *start,
				 struct th_err *err)
{
	struct th_store *store = s->rt->store;
	struct first_event f = { s, start };
	enum th_code code = store->kind->read(store, s->id, 1, 1, on_first_event, &f, err);

	if (!code && !s->setup)
		code = th_fail(err, TH_ECORRUPT, "session %.*s has no first event", TH_FMT(s->id));
	return code;
}

/* The session of that name, or a new one: held, and with what it is run with, but where its first
 * event is read with the others. */
static enum th_code take(struct th_runtime_session *s, const struct th_start *start, bool take_up,
			 struct th_err *err)
{
	struct th_store *store = s->rt->store;
	char text[TH_UUID_TEXT_SIZE + 1];
	enum th_code code = check_name(start->session_id, err);

	if (code)
		return code;
	code = TH_ENOENT;
	s->beside = start->beside && !start->agent && !store->kind->single;
	s->from_dead = start->from_dead;
	if (s->beside && !start->leased) {
		s->id = th_arena_str(&s->memory, start->session_id);
		code = keep_start(s, start, err);
		if (!code)
			s->asking = th_lease_take(s->rt->leases, s->id, on_leased, s);
		return code;
	}
	if (start->leased) {
		row_copy(s, start->leased);
		code = TH_OK;
	} else if (start->session_id.len && !start->fresh)
		code = store->kind->get(store, start->session_id, &s->memory, &s->row, err);
	if (code && code != TH_ENOENT)
		return code;
	if (!code) {
		if (!take_up)
			return th_fail(err, TH_EEXIST, "session %.*s exists already",
				       TH_FMT(start->session_id));
		if (!start->leased)
			code =
			    store->kind->lease(store, start->session_id, &s->memory, &s->row, err);
		if (code)
			return code;
		have(s);
		if (is_long(s)) /* its first event is read with the others */
			return keep_start(s, start, err);
		return setup_stored(s, start, err);
	}
	if (!start->agent)
		return fail_absent(start->session_id, err);
	s->id = th_arena_str(&s->memory, start->session_id);
	if (!s->id.len) {
		struct th_uuid id = th_uuid_now();

		th_uuid_text(&id, text);
		s->id = th_arena_str(&s->memory, th_str_of(text));
	}
	s->user = th_arena_str(&s->memory, start->user);
	s->metadata = th_arena_str(&s->memory, start->metadata);
	return th_runtime_setup_new(s, start, err);
}

enum th_code th_runtime_start(struct th_runtime *rt, const struct th_start *start, bool take_up,
			      const struct th_observer *observer, th_ready_fn *ready, void *ctx,
			      struct th_err *err)
{
	struct th_runtime_session *s = th_runtime_session_new(rt);
	enum th_code code;

	th_runtime_session_watch(s, observer);
	s->ready = ready;
	s->ready_ctx = ctx;
	s->in_pieces = start->in_pieces;
	code = take(s, start, take_up, err);
	if (!code && s->asking)
		return TH_OK;
	if (!code && is_long(s)) {
		code = with_driver(s, err);
	} else if (!code && opens_computer(s)) {
		code = open_computer(s, err);
	} else if (!code) {
		code = with_driver(s, err);
		if (!code)
			ready(ctx, s->handle, NULL);
	}
	if (code) {
		give_to(s, s->from_dead);
		th_runtime_session_free(s);
	}
	return code;
}

enum th_code th_runtime_take_up(struct th_runtime *rt, const struct th_session_row *leased,
				const struct th_observer *observer, th_ready_fn *ready, void *ctx,
				struct th_err *err)
{
	struct th_runtime_session *s = th_runtime_session_new(rt);
	enum th_code code;

	row_copy(s, leased);
	s->id = s->row.session_id;
	s->stored = s->in_pieces = true;
	th_runtime_session_watch(s, observer);
	s->ready = ready;
	s->ready_ctx = ctx;
	if (is_long(s)) {
		code = with_driver(s, err);
	} else {
		code = th_driver_open_by(rt->driver, &s->row, fit_stored, s, &s->observer,
					 &s->handle, err);
		if (!code) {
			th_runtime_session_index(s);
			ready(ctx, s->handle, NULL);
			return TH_OK;
		}
		if (s->screen_first)
			code = open_computer(s, err);
	}
	if (code) {
		give_back(s);
		th_runtime_session_free(s);
	}
	return code;
}

bool th_runtime_gives_back(const struct th_runtime *rt, struct th_str session_id)
{
	return th_lease_gives(rt->leases, session_id);
}

void th_runtime_give_back_now(struct th_runtime *rt, struct th_str session_id)
{
	th_lease_give_now(rt->leases, session_id);
}

bool th_runtime_gives(const struct th_runtime *rt)
{
	return th_leases_give(rt->leases);
}

void th_runtime_when_given(struct th_runtime *rt, void (*fn)(void *ctx), void *ctx)
{
	th_leases_when_given(rt->leases, fn, ctx);
}

void th_runtime_give_leased(struct th_runtime *rt, const struct th_session_row *leased,
			    bool from_dead)
{
	th_lease_give(rt->leases,
		      &(struct th_held){ leased->session_id, leased->epoch, from_dead });
}

static struct th_runtime_session *find_opening(struct th_runtime *rt, const void *ready_ctx)
{
	struct th_runtime_session *s = rt->sessions;

	while (s && !((s->opening || s->asking) && s->ready_ctx == ready_ctx))
		s = s->next;
	return s;
}

void th_runtime_open_now(struct th_runtime *rt, const void *ready_ctx)
{
	struct th_runtime_session *s = find_opening(rt, ready_ctx);
	struct th_err err = { 0 };
	enum th_code code;

	if (s && s->asking) {
		th_lease_take_now(s->asking);
		s = find_opening(rt, ready_ctx); /* or it is over */
	}
	if (!s)
		return;
	th_runtime_open_drop(s);
	code =
	    th_driver_open_by(rt->driver, &s->row, fit_stored, s, &s->observer, &s->handle, &err);
	opened(s, code ? &err : NULL);
}

bool th_runtime_give_up(struct th_runtime *rt, const void *ready_ctx)
{
	struct th_runtime_session *s = find_opening(rt, ready_ctx);

	if (!s)
		return false;
	give_to(s, s->from_dead);
	s->executor = th_executor_client_free(s->executor);
	th_runtime_session_free(s);
	return true;
}

/* Only what is durable may be given to somebody else. */
static bool stop_work(struct th_runtime_session *s, struct th_err *err)
{
	struct th_runtime *rt = s->rt;
	bool durable = th_driver_durable(rt->driver, s->handle);

	th_runtime_session_close_children(s);
	th_driver_close(rt->driver, s->handle);
	if (rt->failed) {
		*err = rt->failure;
		return false;
	}
	if (!durable && th_runtime_settle(rt, err) != TH_OK)
		return false;
	s->row.epoch = s->stored ? s->row.epoch : 1;
	s->stored = true;
	return true;
}

enum th_code th_runtime_hand_over(struct th_runtime *rt, struct th_handle h, struct th_err *err)
{
	struct th_runtime_session *s = th_runtime_find(rt, h.index, h.generation);
	struct th_err local = { 0 };
	enum th_code code = TH_OK;

	if (!s)
		return TH_OK;
	if (!stop_work(s, &local))
		code = th_fail(err, local.code, "%s", local.msg);
	else
		give_to(s, true);
	s->executor = th_executor_client_free(s->executor);
	th_runtime_session_free(s);
	return code;
}

void th_runtime_close(struct th_runtime *rt, struct th_handle h, bool end_executor)
{
	struct th_runtime_session *s = th_runtime_find(rt, h.index, h.generation);
	struct th_err err;

	if (!s)
		return;
	if (stop_work(s, &err))
		give_back(s);
	th_runtime_session_note_place(s);
	s->executor = th_executor_client_free(s->executor);
	if (end_executor)
		th_runtime_session_executor_end(s);
	th_runtime_session_free(s);
}

void th_runtime_forget(struct th_runtime *rt, struct th_handle h)
{
	struct th_runtime_session *s = th_runtime_find(rt, h.index, h.generation);
	struct th_err ignored;

	if (!s)
		return;
	(void)stop_work(s, &ignored);
	s->executor = th_executor_client_free(s->executor);
	th_runtime_session_free(s);
}

static bool left_behind(enum th_state state)
{
	return state == TH_STATE_FAILED || state == TH_STATE_LIMIT || state == TH_STATE_STUCK ||
	       state == TH_STATE_STOPPED;
}

/* Its time has come, or somebody does not wait for it. */
static enum th_code begin(struct th_runtime *rt, struct th_handle h, struct th_err *err)
{
	const struct th_session *s = th_driver_session(rt->driver, h);

	if (!s->task_seq)
		return th_fail(err, TH_EPROTO,
			       "the session begins with a message, and nothing was said yet");
	return th_driver_set_state(rt->driver, h, TH_STATE_RUNNING, TH_STR("begins"), err);
}

enum th_code th_runtime_go_on(struct th_runtime *rt, struct th_handle h, bool taken_up,
			      struct th_err *err)
{
	enum th_state before = th_driver_session(rt->driver, h)->state;
	enum th_code code = TH_OK;

	if (taken_up || before == TH_STATE_PAUSED)
		code = th_driver_resume(rt->driver, h, err);
	if (!code && before == TH_STATE_SCHEDULED)
		return begin(rt, h, err);
	if (!code && left_behind(before))
		code = th_driver_set_state(rt->driver, h, TH_STATE_RUNNING, TH_STR("resumed"), err);
	return code;
}
