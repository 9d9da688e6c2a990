/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_begin.c - how sessions of the C API begin: new ones, stored ones that are opened, and
 * forks.  What was said to one while it was opening is passed on once it is open.
 */
#include <stdlib.h>

#include "admin/edit.h"
#include "api/api.h"
#include "io/clock.h"

static void tell_rest(struct thole_session *s, const struct th_session *f)
{
	struct th_str text =
	    f->state == TH_STATE_FINISHED ? th_buf_str(&f->final) : th_buf_str(&f->reason);

	th_api_tell(s, THOLE_NOTE_REST, th_str_of(th_state_name(f->state)), text,
		    (struct th_str){ 0 }, (struct th_str){ 0 }, f->seq, NULL);
}

static void on_rest(void *ctx, struct th_handle h, const struct th_session *f,
		    const struct th_err *err)
{
	struct thole_session *s = ctx;

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
	tell_rest(s, f);
}

static void on_ready(void *ctx, struct th_handle h, const struct th_err *err)
{
	struct thole_session *s = ctx;
	struct th_err e = { 0 };
	enum th_code code = TH_OK;
	bool said = s->take_later || s->message_later || s->resume_later || s->state_later;

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
	else if (s->start_later && (code = th_api_schedule(s, &e)) != TH_OK)
		;
	else if (s->take_later)
		code = th_api_take(s, s->take_later, &e);
	else if (s->message_later)
		code = th_api_say(s, th_str_of(s->message_later), &e);
	else if (s->resume_later)
		code = th_api_go_on(s, &e);
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
	/* Whoever waits until it is open hears of it, though nothing happens in it. */
	else if (s->stored && !said && !s->hurried && !s->freed && th_session_rests(th_api_fold(s)))
		tell_rest(s, th_api_fold(s));
	if (!code && !s->freed && (s->kinds & THOLE_NOTE_OPEN))
		th_api_tell(s, THOLE_NOTE_OPEN, th_str_of(th_state_name(th_api_fold(s)->state)),
			    (struct th_str){ 0 }, (struct th_str){ 0 }, (struct th_str){ 0 }, 0,
			    NULL);
	th_api_deliver_soon(s->rt);
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

/* Has the program functions that answer for it?  Sessions of one without share what they are run
 * with, and its script is asked. */
static bool has_functions(const struct thole_agent *a)
{
	bool found = a && a->function_count > 0;

	for (size_t i = 0; a && !found && i < a->member_count; i++)
		found = has_functions(a->members[i]);
	return found;
}

/* Else the session needs the agent no more: what it is run with is a copy. */
static bool has_code(const struct thole_agent *a)
{
	return a && (a->see || count_tools(a) > 0 || has_functions(a));
}

static struct thole_session *session_make(struct thole_runtime *rt, struct thole_agent *agent)
{
	struct thole_session *s = th_alloc(sizeof(*s));

	s->rt = rt;
	s->agent = has_code(agent) ? th_api_agent_ref(agent) : NULL;
	s->users = 2;
	s->next = rt->sessions;
	if (s->next)
		s->next->prev = s;
	rt->sessions = s;
	return s;
}

static size_t agent_rows(const struct thole_session *s, struct th_tool_row **ret)
{
	size_t count = count_tools(s->agent);

	*ret = count > 0 ? th_alloc(count * sizeof(**ret)) : NULL;
	return add_rows(s, s->agent, *ret, 0);
}

/* What a session begins with beside its agent. */
struct beginning {
	const char *id, *user, *metadata; /* NULL: none */
	const char *start_at;             /* NULL: at once */
	int64_t start_ms;                 /* that; 0: the same */
	enum th_priority priority;
	bool in_pieces;                      /* a stored one with a long log is open later */
	bool beside;                         /* so is any stored one */
	bool from_dead;                      /* it was left behind by another runtime */
	bool fresh;                          /* nobody has used the name */
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
		.definition = def ? agent->text : TH_STR(""),
		.user = th_str_of(b->user),
		.metadata = th_str_of(b->metadata),
		.tools = rows,
		.tool_count = count,
		.computer = agent && agent->see ? &computer : NULL,
		.callbacks = has_functions(agent) ? &callbacks : NULL,
		.in_pieces = b->in_pieces,
		.beside = b->beside,
		.from_dead = b->from_dead,
		.fresh = b->fresh,
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
	s->start_ms = b->start_ms;
	s->start_later = b->start_ms > 0;
	th_api_schedule_note(rt, b->start_ms);
	if (s->start_later && !s->opening)
		code = th_api_schedule(s, &e);
	if (code) {
		thole_session_free(s);
		return th_api_out(code, &e, err);
	}
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
	static const char *const reserved[] = { "delegated_by", TH_START_MEMBER,
						TH_PRIORITY_MEMBER };
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_err e = { 0 };
	int code = th_api_text(json, "the metadata", 2, TH_METADATA_MAX, err);

	if (code)
		return code;
	if (th_json_parse(th_str_of(json), &doc, &e))
		return th_api_fail(err, TH_EUSAGE, "the metadata: %s", e.msg);
	if (!th_json_is_object(th_json_root(doc)))
		return th_api_fail(err, TH_EUSAGE, "the metadata is not a JSON object");
	for (size_t i = 0; i < TH_COUNT(reserved); i++)
		if (th_json_get(th_json_root(doc), reserved[i]))
			return th_api_fail(err, TH_EUSAGE,
					   "the metadata has the reserved member \"%s\"",
					   reserved[i]);
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
		} else if (strcmp(*options, "fresh") == 0) {
			code = th_api_text(options[1], "fresh", 1, TH_PATH_LEN_MAX, err);
			b->fresh = !code && strcmp(options[1], "yes") == 0;
			if (!code && !b->fresh && strcmp(options[1], "no") != 0)
				return th_api_fail(err, TH_EUSAGE, "fresh is yes or no");
		} else if (strcmp(*options, "start_at") == 0) {
			code = th_api_text(options[1], "the time", 1, TH_PATH_LEN_MAX, err);
			b->start_at = options[1];
		} else if (strcmp(*options, "priority") == 0) {
			code = th_api_text(options[1], "the priority", 1, TH_PATH_LEN_MAX, err);
			if (!code && !th_priority_parse(th_str_of(options[1]), &b->priority))
				return th_api_fail(err, TH_EUSAGE,
						   "priority is " TH_PRIORITY_NAMES);
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
	struct th_buf metadata TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_METADATA_MAX);
	struct beginning b = { .priority = TH_PRIORITY_NORMAL };
	char made[TH_UUID_TEXT_SIZE + 1];
	struct th_agent def;
	int code = check_start(rt, ret, err);

	if (!code && !agent)
		code = th_api_fail(err, TH_EUSAGE, "the agent is NULL");
	if (!code)
		code = read_beginning(options, &b, err);
	if (!code && b.start_at)
		code = th_api_schedule_read(b.start_at, &b.start_ms, err);
	if (!code && (b.start_ms || b.priority != TH_PRIORITY_NORMAL)) {
		code = th_api_schedule_metadata(b.metadata, b.start_ms, b.priority, &metadata, err);
		b.metadata = metadata.ptr;
	}
	if (!code)
		code = th_api_agent_use(agent, rt->config, err);
	if (!code)
		code = th_api_agent_policies(agent, err);
	if (!code && b.id)
		code = th_api_check_removed(rt, b.id, err);
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
		b.fresh = true;
	}
	return start(rt, agent, &def, &b, ret, err);
}

int thole_session_new(struct thole_runtime *rt, struct thole_agent *agent, const char *id,
		      struct thole_session **ret, struct thole_error *err)
{
	const char *const options[] = { "id", id, NULL };

	return thole_session_new_with(rt, agent, id ? options : NULL, ret, err);
}

static int open_stored(struct thole_runtime *rt, struct thole_agent *agent,
		       const struct beginning *b, struct thole_session **ret,
		       struct thole_error *err)
{
	const char *id = b->id;
	int code = check_start(rt, ret, err);

	if (!code)
		code = th_api_text(id, "the session's name", 1, TH_SESSION_ID_MAX, err);
	if (!code && agent)
		code = th_api_agent_use(agent, rt->config, err);
	if (!code)
		code = th_api_check_removed(rt, id, err);
	if (!code && is_open(rt, id)) /* it would be its own rival */
		code = th_api_fail(err, TH_EBUSY, "this runtime has session %s open", id);
	if (!code && !b->leased && th_runtime_works_for(rt->rt, th_str_of(id)))
		code = th_api_fail(err, TH_EBUSY,
				   "session %s works for one that this runtime has open", id);
	if (code && b->leased)
		th_runtime_give_leased(rt->rt, b->leased, b->from_dead);
	return code ? code : start(rt, agent, NULL, b, ret, err);
}

int thole_session_open(struct thole_runtime *rt, struct thole_agent *agent, const char *id,
		       struct thole_session **ret, struct thole_error *err)
{
	return open_stored(rt, agent, &(struct beginning){ .id = id }, ret, err);
}

int thole_session_open_start(struct thole_runtime *rt, struct thole_agent *agent, const char *id,
			     struct thole_session **ret, struct thole_error *err)
{
	const struct beginning b = { .id = id, .in_pieces = true, .beside = true };

	return open_stored(rt, agent, &b, ret, err);
}

int th_api_session_open_leased(struct thole_runtime *rt, struct thole_agent *agent,
			       const struct th_session_row *leased, bool from_dead,
			       struct thole_session **ret, struct thole_error *err)
{
	char id[TH_SESSION_ID_MAX + 1];
	const struct beginning b = { .id = id,
				     .in_pieces = true,
				     .beside = from_dead,
				     .from_dead = from_dead,
				     .leased = leased };

	memcpy(id, leased->session_id.ptr, leased->session_id.len);
	id[leased->session_id.len] = '\0';
	return open_stored(rt, agent, &b, ret, err);
}

int thole_session_fork(struct thole_runtime *rt, struct thole_agent *agent, const char *id,
		       uint64_t seq, const char *new_name, struct thole_session **ret,
		       struct thole_error *err)
{
	char made[TH_UUID_TEXT_SIZE + 1];
	struct th_store *store;
	struct th_err e = { 0 };
	enum th_code forked;
	int code = check_start(rt, ret, err);

	if (!code)
		code = th_api_text(id, "the session's name", 1, TH_SESSION_ID_MAX, err);
	if (!code && new_name)
		code = th_api_text(new_name, "the new session's name", 1, TH_SESSION_ID_MAX, err);
	if (!code && new_name)
		code = th_api_check_removed(rt, new_name, err);
	if (!code && agent)
		code = th_api_agent_use(agent, rt->config, err);
	if (code)
		return code;
	if (!new_name)
		new_id(made);
	store = th_runtime_store(rt->rt);
	forked = th_runtime_place_stored(rt->rt, th_str_of(id), &e);
	if (!forked)
		forked = th_edit_fork(store, store, th_str_of(id), seq,
				      th_str_of(new_name ? new_name : made), &e);
	if (forked)
		return th_api_out(forked, &e, err);
	return start(rt, agent, NULL, &(struct beginning){ .id = new_name ? new_name : made }, ret,
		     err);
}
