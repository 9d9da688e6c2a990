/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - sessions of the C API: how they begin, what is said to them, and how they are given
 * back.
 */
#include <stdlib.h>

#include "admin/edit.h"
#include "api/api.h"
#include "base/text.h"
#include "computers/image.h"
#include "io/clock.h"

static const struct th_session *fold_of(const struct thole_session *s)
{
	return s && s->handle.generation ? th_driver_session(s->rt->driver, s->handle) : NULL;
}

/* ---- life -------------------------------------------------------------------------------------
 */

/* Those that the caller gave back, and that are not closed yet. */
static void ended_add(struct thole_session *s)
{
	s->next_ended = s->rt->ended;
	if (s->next_ended)
		s->next_ended->at_ended = &s->next_ended;
	s->at_ended = &s->rt->ended;
	s->rt->ended = s;
}

static void ended_remove(struct thole_session *s)
{
	if (!s->at_ended)
		return;
	*s->at_ended = s->next_ended;
	if (s->next_ended)
		s->next_ended->at_ended = s->at_ended;
	s->at_ended = NULL;
}

void th_api_session_unref(struct thole_session *s)
{
	struct thole_runtime *rt = s->rt;

	if (--s->users > 0)
		return;
	ended_remove(s);
	if (s->prev)
		s->prev->next = s->next;
	else
		rt->sessions = s->next;
	if (s->next)
		s->next->prev = s->prev;
	if (rt->busy == s)
		rt->busy = NULL;
	th_api_named_remove(s);
	th_api_agent_unref(s->agent);
	th_png_free(s->png);
	free(s->message_later);
	free(s->take_later);
	free(s->reason_later);
	free(s->handoff);
	free(s->text);
	free(s->id);
	free(s);
}

void th_api_session_lose(struct thole_session *s, const struct th_err *err)
{
	s->lost = true;
	s->why = *err;
	s->opening = false;
	th_api_calls_forget(s);
	th_api_tell(s, THOLE_NOTE_REST, TH_STR("lost"), th_str_of(err->msg), (struct th_str){ 0 },
		    (struct th_str){ 0 }, 0, NULL);
}

static void on_rest(void *ctx, struct th_handle h, const struct th_session *f,
		    const struct th_err *err)
{
	struct thole_session *s = ctx;
	struct th_str text =
	    f->state == TH_STATE_FINISHED ? th_buf_str(&f->final) : th_buf_str(&f->reason);

	(void)h;
	if (s->freed) {
		th_api_deliver_soon(s->rt);
		return;
	}
	if (err) {
		th_api_session_lose(s, err);
		return;
	}
	s->after_turn = false;
	th_api_tell(s, THOLE_NOTE_REST, th_str_of(th_state_name(f->state)), text,
		    (struct th_str){ 0 }, (struct th_str){ 0 }, f->seq, NULL);
}

static enum th_code go_on(struct thole_session *s, struct th_err *err);
static enum th_code say(struct thole_session *s, struct th_str text, struct th_err *err);

static void on_ready(void *ctx, struct th_handle h, const struct th_err *err)
{
	struct thole_session *s = ctx;
	struct th_err e = { 0 };
	enum th_code code = TH_OK;

	if (err) {
		if (!s->freed)
			th_api_session_lose(s, err);
		s->opening = false;
		th_api_session_unref(s); /* the driver has it not, and will not */
		return;
	}
	s->handle = h;
	if (!s->opening)
		return; /* from inside th_runtime_start */
	s->opening = false;
	if (s->freed)
		code = TH_OK;
	else if (s->take_later)
		code = th_api_take(s, s->take_later, &e);
	else if (s->message_later)
		code = say(s, th_str_of(s->message_later), &e);
	else if (s->resume_later)
		code = go_on(s, &e);
	if (!code && !s->freed && s->state_later) {
		code = th_driver_set_state(s->rt->driver, s->handle, s->state_later,
					   th_str_of(s->reason_later), &e);
		if (code == TH_EPROTO || code == TH_EUSAGE)
			code = TH_OK; /* its state does not allow it: nothing is left to be done */
	}
	free(s->message_later);
	free(s->take_later);
	free(s->reason_later);
	s->message_later = s->take_later = s->reason_later = NULL;
	if (code)
		th_api_session_lose(s, &e);
	th_api_deliver_soon(s->rt);
}

static struct thole_session *session_make(struct thole_runtime *rt, struct thole_agent *agent)
{
	struct thole_session *s = th_alloc(sizeof(*s));

	s->rt = rt;
	s->agent = th_api_agent_ref(agent);
	s->users = 2;
	s->next = rt->sessions;
	if (s->next)
		s->next->prev = s;
	rt->sessions = s;
	return s;
}

/* Functions of all agents of the team; of two that share one, the first's row counts. */
static size_t add_rows(const struct thole_session *s, const struct thole_agent *a,
		       struct th_tool_row *rows, size_t count)
{
	for (size_t i = 0; a && i < a->tool_count; i++)
		rows[count++] = (struct th_tool_row){
			.spec = a->tools[i]->spec,
			.local = th_api_on_call,
			.cancel = th_api_on_cancel,
			.alive = th_api_is_alive,
			.ctx = (void *)(uintptr_t)s,
		};
	for (size_t i = 0; a && i < a->member_count; i++)
		count = add_rows(s, a->members[i], rows, count);
	return count;
}

static size_t count_tools(const struct thole_agent *a)
{
	size_t count = a ? a->tool_count : 0;

	for (size_t i = 0; a && i < a->member_count; i++)
		count += count_tools(a->members[i]);
	return count;
}

static size_t agent_rows(const struct thole_session *s, struct th_tool_row **ret)
{
	size_t count = count_tools(s->agent);

	*ret = count > 0 ? th_alloc(count * sizeof(**ret)) : NULL;
	return add_rows(s, s->agent, *ret, 0);
}

/* What a session begins with beside its agent. */
struct beginning {
	const char *id, *user, *metadata;    /* NULL: none */
	bool in_pieces;                      /* a stored one with a long log is open later */
	const struct th_session_row *leased; /* NULL: its lease is not taken */
};

/* `def` NULL: a stored one. */
static int start(struct thole_runtime *rt, struct thole_agent *agent, const struct th_agent *def,
		 const struct beginning *b, struct thole_session **ret, struct thole_error *err)
{
	struct thole_session *s = session_make(rt, agent);
	struct th_observer observer = {
		.event = th_api_on_event, .delta = th_api_on_delta, .rest = on_rest, .ctx = s
	};
	struct th_tool_row *rows = NULL, computer = { .local = th_api_on_computer,
						      .cancel = th_api_on_cancel,
						      .alive = th_api_is_alive,
						      .ctx = s };
	size_t count = agent_rows(s, &rows);
	struct th_callbacks callbacks = { &th_api_callbacks_ops, s };
	struct th_start how = {
		.session_id = th_str_of(b->id),
		.agent = def,
		.user = th_str_of(b->user),
		.metadata = th_str_of(b->metadata),
		.tools = rows,
		.tool_count = count,
		.computer = agent && agent->see ? &computer : NULL,
		.callbacks = agent ? &callbacks : NULL,
		.in_pieces = b->in_pieces,
		.leased = b->leased,
	};
	struct th_err e = { 0 };
	enum th_code code;

	s->id = th_api_copy(th_str_of(b->id));
	th_api_named_add(s);
	s->stored = def == NULL;
	code = th_runtime_start(rt->rt, &how, !def, &observer, on_ready, s, &e);
	free(rows);
	if (code) {
		s->users = 1;
		th_api_session_unref(s);
		return th_api_out(code, &e, err);
	}
	s->opening = s->handle.generation == 0;
	rt->session_count++;
	*ret = s;
	return TH_OK;
}

static int check_start(struct thole_runtime *rt, struct thole_session *const *ret,
		       struct thole_error *err)
{
	int code = th_api_enter(rt, err);

	if (!code && !ret)
		code =
		    th_api_fail(err, TH_EUSAGE, "there is no place for the session: ret is NULL");
	if (!code)
		th_api_sessions_reap(rt); /* their names and places are free */
	return code;
}

static void new_id(char text[static TH_UUID_TEXT_SIZE + 1])
{
	struct th_uuid id = th_uuid_now();

	th_uuid_text(&id, text);
}

static bool is_open(struct thole_runtime *rt, const char *id)
{
	for (const struct thole_session *s = th_api_named_first(rt, id); s;
	     s = th_api_named_next(s))
		if ((s->handle.generation || s->opening) && !s->lost)
			return true;
	return false;
}

/* An object; which session it works for is not the program's to say. */
static int check_metadata(const char *json, struct thole_error *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_err e = { 0 };
	int code = th_api_text(json, "the metadata", 2, TH_METADATA_MAX, err);

	if (code)
		return code;
	if (th_json_parse(th_str_of(json), &doc, &e))
		return th_api_fail(err, TH_EUSAGE, "the metadata: %s", e.msg);
	if (!th_json_is_object(th_json_root(doc)))
		return th_api_fail(err, TH_EUSAGE, "the metadata is not a JSON object");
	if (th_json_get(th_json_root(doc), "delegated_by"))
		return th_api_fail(err, TH_EUSAGE,
				   "the metadata has the reserved member "
				   "\"delegated_by\"");
	return TH_OK;
}

static int read_beginning(const char *const *options, struct beginning *b, struct thole_error *err)
{
	int code = TH_OK;

	for (; !code && options && *options; options += 2) {
		code = th_api_text(*options, "an option's name", 1, TH_PATH_LEN_MAX, err);
		if (code)
			return code;
		if (strcmp(*options, "id") == 0) {
			code = th_api_text(options[1], "the session's name", 1, TH_SESSION_ID_MAX,
					   err);
			b->id = options[1];
		} else if (strcmp(*options, "user") == 0) {
			code = th_api_text(options[1], "the user", 1, TH_USER_MAX, err);
			b->user = options[1];
		} else if (strcmp(*options, "metadata") == 0) {
			code = check_metadata(options[1], err);
			b->metadata = options[1];
		} else {
			return th_api_fail(err, TH_EUSAGE,
					   "there is no option \"%.64s\" of a session", *options);
		}
	}
	return code;
}

int thole_session_new_with(struct thole_runtime *rt, struct thole_agent *agent,
			   const char *const *options, struct thole_session **ret,
			   struct thole_error *err)
{
	struct beginning b = { 0 };
	char made[TH_UUID_TEXT_SIZE + 1];
	struct th_agent def;
	int code = check_start(rt, ret, err);

	if (!code && !agent)
		code = th_api_fail(err, TH_EUSAGE, "the agent is NULL");
	if (!code)
		code = read_beginning(options, &b, err);
	if (!code)
		code = th_api_agent_use(agent, rt->config, err);
	if (!code && b.id && is_open(rt, b.id)) /* the store may not know it yet */
		code = th_api_fail(err, TH_EEXIST, "session %s exists already", b.id);
	if (code)
		return code;
	def = agent->def;
	if (!def.model.len)
		def.model = rt->config->model;
	if (!b.id) {
		new_id(made);
		b.id = made;
	}
	return start(rt, agent, &def, &b, ret, err);
}

int thole_session_new(struct thole_runtime *rt, struct thole_agent *agent, const char *id,
		      struct thole_session **ret, struct thole_error *err)
{
	const char *const options[] = { "id", id, NULL };

	return thole_session_new_with(rt, agent, id ? options : NULL, ret, err);
}

static int open_stored(struct thole_runtime *rt, struct thole_agent *agent, const char *id,
		       const struct th_session_row *leased, bool in_pieces,
		       struct thole_session **ret, struct thole_error *err)
{
	struct beginning b = { .id = id, .in_pieces = in_pieces, .leased = leased };
	int code = check_start(rt, ret, err);

	if (!code)
		code = th_api_text(id, "the session's name", 1, TH_SESSION_ID_MAX, err);
	if (!code && agent)
		code = th_api_agent_use(agent, rt->config, err);
	if (!code && is_open(rt, id)) /* it would be its own rival */
		code = th_api_fail(err, TH_EBUSY, "this runtime has session %s open", id);
	return code ? code : start(rt, agent, NULL, &b, ret, err);
}

int thole_session_open(struct thole_runtime *rt, struct thole_agent *agent, const char *id,
		       struct thole_session **ret, struct thole_error *err)
{
	return open_stored(rt, agent, id, NULL, false, ret, err);
}

int thole_session_open_start(struct thole_runtime *rt, struct thole_agent *agent, const char *id,
			     struct thole_session **ret, struct thole_error *err)
{
	return open_stored(rt, agent, id, NULL, true, ret, err);
}

int th_api_session_open_leased(struct thole_runtime *rt, struct thole_agent *agent,
			       const struct th_session_row *leased, struct thole_session **ret,
			       struct thole_error *err)
{
	char id[TH_SESSION_ID_MAX + 1];

	memcpy(id, leased->session_id.ptr, leased->session_id.len);
	id[leased->session_id.len] = '\0';
	return open_stored(rt, agent, id, leased, true, ret, err);
}

int thole_session_fork(struct thole_runtime *rt, struct thole_agent *agent, const char *id,
		       uint64_t seq, const char *new_name, struct thole_session **ret,
		       struct thole_error *err)
{
	char made[TH_UUID_TEXT_SIZE + 1];
	struct th_err e = { 0 };
	enum th_code forked;
	int code = check_start(rt, ret, err);

	if (!code)
		code = th_api_text(id, "the session's name", 1, TH_SESSION_ID_MAX, err);
	if (!code && new_name)
		code = th_api_text(new_name, "the new session's name", 1, TH_SESSION_ID_MAX, err);
	if (!code && agent)
		code = th_api_agent_use(agent, rt->config, err);
	if (code)
		return code;
	if (!new_name)
		new_id(made);
	forked = th_edit_fork(th_runtime_store(rt->rt), th_str_of(id), seq,
			      th_str_of(new_name ? new_name : made), &e);
	if (forked)
		return th_api_out(forked, &e, err);
	return start(rt, agent, NULL, &(struct beginning){ .id = new_name ? new_name : made }, ret,
		     err);
}

void th_api_session_end(struct thole_session *s)
{
	if (s->freed)
		return;
	s->freed = true;
	th_api_watchers_end(s);
	s->rt->session_count--;
	ended_add(s);
	th_api_calls_forget(s);
}

void thole_session_free(struct thole_session *s)
{
	if (!s || th_api_enter_session(s, NULL) == THOLE_EUSAGE || s->freed)
		return;
	th_api_session_end(s);
	th_api_deliver_soon(s->rt);
	if (s->opening && th_runtime_give_up(s->rt->rt, s)) {
		s->opening = false;
		th_api_session_unref(s); /* the driver has it not, and will not */
	}
	th_api_session_unref(s);
}

int thole_session_hand_over(struct thole_session *s, bool now, struct thole_error *err)
{
	int code = th_api_enter_session(s, err);
	struct thole_runtime *rt;
	struct th_err e = { 0 };
	enum th_code bad;

	if (code || s->freed)
		return code;
	rt = s->rt;
	if (!th_runtime_store(rt->rt)->kind->hand_over)
		return th_api_fail(err, TH_EUNSUPPORTED,
				   "the store is of this machine alone; there is nobody to go on");
	if (s->opening || !s->handle.generation ||
	    (!th_driver_drain(rt->driver, s->handle) && !now))
		return th_api_fail(err, TH_EBUSY, "something of the session is under way");
	th_api_session_end(s);
	bad = th_runtime_hand_over(rt->rt, s->handle, &e);
	s->handle = (struct th_handle){ 0 };
	th_api_deliver_soon(rt);
	th_api_session_unref(s); /* the caller's, and the driver's */
	th_api_session_unref(s);
	return th_api_out(bad, &e, err);
}

/* Does a command or a desktop of it live on, which nobody needs any more? */
static bool ends_executor(const struct thole_session *s)
{
	const struct th_session *f = fold_of(s);
	bool over = f && (f->state == TH_STATE_FINISHED || f->state == TH_STATE_STOPPED);

	if (!over || !s->agent)
		return over;
	return (s->agent->def.computer && !s->agent->see) ||
	       s->agent->def.tools.count > s->agent->tool_count;
}

void th_api_sessions_reap(struct thole_runtime *rt)
{
	for (struct thole_session *s = rt->ended, *next; s; s = next) {
		next = s->next_ended;
		if (s->opening || !s->handle.generation ||
		    !th_driver_durable(rt->driver, s->handle))
			continue;
		th_runtime_close(rt->rt, s->handle, ends_executor(s));
		s->handle = (struct th_handle){ 0 };
		th_api_session_unref(s);
	}
}

void th_api_sessions_close(struct thole_runtime *rt)
{
	while (rt->sessions) {
		rt->sessions->users = 1;
		th_api_session_unref(rt->sessions);
	}
	free(rt->named);
	rt->named = NULL;
	rt->named_size = 0;
}

/* ---- what is said to it -----------------------------------------------------------------------
 */

/* One that was taken up knows only its log: what is open there comes first. */
enum th_code th_api_take_over(struct thole_session *s, struct th_err *err)
{
	enum th_code code;

	if (!s->stored || s->resumed)
		return TH_OK;
	code = th_driver_resume(s->rt->driver, s->handle, err);
	s->resumed = !code;
	return code;
}

static enum th_code go_on(struct thole_session *s, struct th_err *err)
{
	bool taken_up = s->stored && !s->resumed;
	enum th_code code = th_runtime_go_on(s->rt->rt, s->handle, taken_up, err);

	if (!code && taken_up) {
		s->resumed = true;
		th_api_ask_again(s);
	}
	return code;
}

static enum th_code say(struct thole_session *s, struct th_str text, struct th_err *err)
{
	enum th_code code = th_api_take_over(s, err);

	return code ? code : th_driver_message(s->rt->driver, s->handle, text, err);
}

static int check_open(struct thole_session *s, struct thole_error *err)
{
	int code = th_api_enter_session(s, err);

	if (!code && s->lost)
		code = th_api_out(s->why.code, &s->why, err);
	return code;
}

int th_api_check_ready(struct thole_session *s, struct thole_error *err)
{
	int code = check_open(s, err);

	if (!code && s->opening)
		th_runtime_open_now(s->rt->rt, s);
	if (!code && s->opening)
		return th_api_fail(err, TH_EPROTO, "the session's computer is not open yet");
	return code ? code : check_open(s, err);
}

int thole_session_message(struct thole_session *s, const char *text, struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = check_open(s, err);

	if (!code)
		code = th_api_text(text, "the message", 1, TH_MESSAGE_MAX, err);
	if (code)
		return code;
	if (!s->opening)
		return th_api_out(say(s, th_str_of(text), &e), &e, err);
	if (s->take_later || s->message_later || s->resume_later)
		return th_api_fail(err, TH_EBUSY,
				   "something was said already, which waits until it is open");
	s->message_later = th_api_copy(th_str_of(text));
	return TH_OK;
}

int thole_session_resume(struct thole_session *s, struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = check_open(s, err);

	if (code)
		return code;
	if (!s->opening)
		return th_api_out(go_on(s, &e), &e, err);
	if (s->take_later || s->message_later || s->resume_later)
		return th_api_fail(err, TH_EBUSY,
				   "something was said already, which waits until it is open");
	s->resume_later = true;
	return TH_OK;
}

static int set_state(struct thole_session *s, enum th_state to, const char *reason,
		     struct thole_error *err)
{
	struct th_err e = { 0 };

	if (s->opening) {
		free(s->reason_later);
		s->reason_later = th_api_copy(th_str_of(reason));
		s->state_later = to;
		return TH_OK;
	}
	return th_api_out(th_driver_set_state(s->rt->driver, s->handle, to, th_str_of(reason), &e),
			  &e, err);
}

int thole_session_pause(struct thole_session *s, const char *reason, struct thole_error *err)
{
	int code = check_open(s, err);

	if (!code && reason)
		code = th_api_text(reason, "the reason", 0, TH_PATH_LEN_MAX, err);
	return code ? code : set_state(s, TH_STATE_PAUSED, reason ? reason : "paused", err);
}

int thole_session_condense(struct thole_session *s, const char *by, struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = th_api_check_ready(s, err);

	if (!code && by)
		code = th_api_text(by, "who says so", 0, TH_PATH_LEN_MAX, err);
	if (code)
		return code;
	return th_api_out(th_driver_condense(s->rt->driver, s->handle, th_str_of(by ?: ""), &e), &e,
			  err);
}

int thole_session_more(struct thole_session *s, const char *more, const char *by,
		       struct thole_error *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_agent_limits limits;
	struct th_more given;
	struct th_err e = { 0 };
	int code = th_api_check_ready(s, err);

	if (!code)
		code = th_api_text(more, "what is given", 1, 4 * TH_KIB, err);
	if (!code && by)
		code = th_api_text(by, "who says so", 0, TH_USER_MAX, err);
	if (code)
		return code;
	th_arena_init(&a, 64 * TH_KIB);
	code = th_json_parse(th_str_of(more), &doc, &e);
	if (!code)
		code = th_table_parse(&th_agent_limits_table, th_json_root(doc), &a, &limits, &e);
	if (code)
		return th_api_fail(err, TH_EUSAGE, "what is given: %s", e.msg);
	code = th_more_of(&limits, &given, &e);
	if (!code)
		code = th_driver_more(s->rt->driver, s->handle, &given, th_str_of(by ?: ""), &e);
	return th_api_out(code, &e, err);
}

static int check_plan(struct thole_session *s, const char *text, size_t least, size_t most,
		      const char *by, struct thole_error *err)
{
	int code = th_api_check_ready(s, err);

	if (!code && (text || least))
		code = th_api_text(text, "the message", least, most, err);
	if (!code && by)
		code = th_api_text(by, "who says so", 0, TH_USER_MAX, err);
	return code;
}

int thole_session_plan(struct thole_session *s, const char *text, const char *by,
		       struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = check_plan(s, text, 1, TH_MESSAGE_MAX, by, err);

	if (code)
		return code;
	code = th_api_take_over(s, &e);
	if (!code)
		code = th_driver_plan(s->rt->driver, s->handle, th_str_of(text),
				      th_str_of(by ?: ""), &e);
	return th_api_out(code, &e, err);
}

int thole_session_act(struct thole_session *s, const char *note, const char *by,
		      struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = check_plan(s, note, 0, TH_NOTE_MAX, by, err);

	if (code)
		return code;
	code = th_api_take_over(s, &e);
	if (!code)
		code = th_driver_act(s->rt->driver, s->handle, th_str_of(note ?: ""),
				     th_str_of(by ?: ""), &e);
	return th_api_out(code, &e, err);
}

int thole_session_cancel(struct thole_session *s, enum thole_when when, struct thole_error *err)
{
	int code = check_open(s, err);

	if (!code && when != THOLE_NOW && when != THOLE_AFTER_TURN)
		code = th_api_fail(err, TH_EUSAGE, "cancel: now, or after the turn");
	if (code)
		return code;
	if (when == THOLE_NOW || s->opening || th_session_rests(fold_of(s))) {
		code = set_state(s, TH_STATE_STOPPED, "cancelled", err);
		if (!code)
			th_api_deltas_drop(s);
		return code;
	}
	s->after_turn = true;
	return TH_OK;
}

static int check_word(struct thole_session *s, const char *call_id, const char *by,
		      const char *message, struct thole_error *err)
{
	int code = th_api_check_ready(s, err);

	if (!code && call_id)
		code = th_api_text(call_id, "the call's id", 0, TH_PATH_LEN_MAX, err);
	if (!code && by)
		code = th_api_text(by, "who says so", 0, TH_PATH_LEN_MAX, err);
	if (!code && message)
		code = th_api_text(message, "the message", 0, TH_MESSAGE_MAX, err);
	return code;
}

static int decide(struct thole_session *s, const char *call_id, bool approve, bool always,
		  const char *by, const char *message, struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = check_word(s, call_id, by, message, err);

	if (code)
		return code;
	code = th_api_take_over(s, &e)
		   ?: th_driver_decide_as(s->rt->driver, s->handle, th_str_of(call_id), approve,
					  always, th_str_of(by), th_str_of(message), &e);
	return th_api_out((enum th_code)code, &e, err);
}

int thole_session_approve(struct thole_session *s, const char *call_id, const char *by,
			  struct thole_error *err)
{
	return decide(s, call_id, true, false, by, NULL, err);
}

int thole_session_approve_always(struct thole_session *s, const char *call_id, const char *by,
				 struct thole_error *err)
{
	return decide(s, call_id, true, true, by, NULL, err);
}

int thole_session_answer(struct thole_session *s, const char *call_id, const char *by,
			 const char *answer, struct thole_error *err)
{
	int code = th_api_text(answer, "the answer", 1, TH_MESSAGE_MAX, err);

	return code ? code : decide(s, call_id, true, false, by, answer, err);
}

int thole_session_reject(struct thole_session *s, const char *call_id, const char *by,
			 const char *message, struct thole_error *err)
{
	return decide(s, call_id, false, false, by, message, err);
}

int thole_session_reject_always(struct thole_session *s, const char *call_id, const char *by,
				const char *message, struct thole_error *err)
{
	return decide(s, call_id, false, true, by, message, err);
}

int thole_session_settle(struct thole_session *s, const char *call_id, enum thole_outcome outcome,
			 const char *by, const char *message, struct thole_error *err)
{
	static const enum th_outcome_status words[] = {
		[THOLE_DONE] = TH_OUTCOME_DONE,
		[THOLE_NOT_STARTED] = TH_OUTCOME_NOT_STARTED,
		[THOLE_UNKNOWN] = TH_OUTCOME_UNKNOWN,
	};
	struct th_err e = { 0 };
	int code = check_word(s, call_id, by, message, err);

	if (!code && (unsigned)outcome >= TH_COUNT(words))
		code = th_api_fail(err, TH_EUSAGE, "it was done, not started, or is unknown");
	if (code)
		return code;
	code = th_api_take_over(s, &e)
		   ?: th_driver_settle(s->rt->driver, s->handle, th_str_of(call_id), words[outcome],
				       th_str_of(by), th_str_of(message), &e);
	return th_api_out((enum th_code)code, &e, err);
}

/* ---- waiting ----------------------------------------------------------------------------------
 */

bool th_api_session_rests(const struct thole_session *s)
{
	const struct th_session *f = fold_of(s);

	if (s->freed || s->lost)
		return true;
	return !s->opening && f && th_session_rests(f) &&
	       th_driver_durable(s->rt->driver, s->handle);
}

static bool rests(void *ctx)
{
	const struct thole_session *s = ctx;

	return !s->rt->notes && !s->rt->released && th_api_session_rests(s);
}

int thole_session_wait(struct thole_session *s, int64_t timeout_ms, struct thole_error *err)
{
	int code = th_api_enter_session(s, err);

	return code ? code : th_api_spin(s->rt, rests, s, timeout_ms, err);
}

int thole_session_run(struct thole_session *s, const char *text, struct thole_error *err)
{
	int code = text ? thole_session_message(s, text, err) : thole_session_resume(s, err);

	return code ? code : thole_session_wait(s, -1, err);
}

/* ---- what it is -------------------------------------------------------------------------------
 */

const char *thole_session_id(const struct thole_session *s)
{
	return s ? s->id : NULL;
}

int thole_session_state(const struct thole_session *s)
{
	const struct th_session *f = fold_of(s);

	if (s && s->lost)
		return THOLE_LOST;
	return f ? (int)f->state : THOLE_LOADING;
}

static const char *keep_text(struct thole_session *s, struct th_str text)
{
	char *copy = th_api_copy(text);

	free(s->text);
	s->text = copy;
	return copy;
}

const char *thole_session_output(struct thole_session *s)
{
	const struct th_session *f = s && !s->lost ? fold_of(s) : NULL;

	return f && f->state == TH_STATE_FINISHED ? keep_text(s, th_buf_str(&f->final)) : NULL;
}

const char *thole_session_reason(struct thole_session *s)
{
	const struct th_session *f = fold_of(s);

	if (s && s->lost)
		return keep_text(s, th_str_of(s->why.msg));
	return f && f->state != TH_STATE_FINISHED && f->reason.len > 0
		   ? keep_text(s, th_buf_str(&f->reason))
		   : NULL;
}

const char *thole_session_waits_for(struct thole_session *s)
{
	struct th_buf name = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	const struct th_call *c =
	    s && !s->lost && s->handle.generation
		? th_driver_waits(s->rt->driver, s->handle, TH_CALL_ASKED, TH_STR(""), &name)
		: NULL;
	const char *text = c ? keep_text(s, th_buf_str(&name)) : NULL;

	th_buf_deinit(&name);
	return text;
}

int thole_session_json(struct thole_session *s, char **ret, struct thole_error *err)
{
	struct th_buf text;
	struct th_jw w;
	struct th_err e = { 0 };
	enum th_code bad;
	int code = th_api_check_ready(s, err);

	if (!code && !ret)
		code = th_api_fail(err, TH_EUSAGE, "there is no place for the text: ret is NULL");
	if (code)
		return code;
	th_buf_init(&text, TH_JSON_SIZE_MAX);
	w = th_jw(&text);
	th_session_print(fold_of(s), &w);
	bad = th_buf_check(&text, "the session's state", &e);
	if (!bad)
		*ret = th_api_copy(th_buf_str(&text));
	th_buf_deinit(&text);
	return th_api_out(bad, &e, err);
}

void thole_session_set_data(struct thole_session *s, void *data)
{
	if (s)
		s->data = data;
}

void *thole_session_data(const struct thole_session *s)
{
	return s ? s->data : NULL;
}
