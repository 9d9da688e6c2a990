/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/delegate_background.h"

#include "agents/agent_command.h"
#include "base/text.h"
#include "driver/driver.h"
#include "guards/quarantine.h"
#include "live/log.h"
#include "live/queue.h"
#include "session_tools/mcp_tools.h"

#define LAST_MAX (2 * TH_KIB) /* of what one said last, for who looks */

bool th_background_wanted(const struct th_agent *agent)
{
	const struct th_agent_command *list = agent->commands.list;

	for (size_t i = 0; i < agent->commands.count; i++)
		if (list[i].background)
			return true;
	return false;
}

/* By a guardrail or hook: who speaks when a task is over may be another than who began it. */
static bool is_guarded(const struct th_live *l, struct th_str tool)
{
	const struct th_team *team = l->fold.team;
	bool is = false;

	for (size_t i = 0; i < team->count; i++)
		is |= th_member_tool_guards(&team->members[i], TH_GUARD_TOOL_OUTPUT, tool) != 0;
	return is;
}

/* A session of an older build: none of its guards looks at what the tool `background` reads. */
static bool guards_calls_alone(const struct th_live *l)
{
	return !l->team_config.agent->guards_alike;
}

enum th_code th_background_allows(const struct th_live *l, const struct th_agent_command *tool,
				  struct th_err *err)
{
	size_t count = 0;

	for (const struct th_background *b = l->fold.background; b; b = b->next)
		count++;
	if (!tool->background)
		return th_fail(err, TH_EUSAGE, "this tool does nothing in the background");
	if (count >= TH_BACKGROUND_MAX)
		return th_fail(err, TH_ELIMIT,
			       "%d tasks work in the background, which is the most; wait for one",
			       TH_BACKGROUND_MAX);
	if (guards_calls_alone(l) && is_guarded(l, tool->name))
		return th_fail(err, TH_EUSAGE,
			       "what comes of this tool is looked at before you read it, so it "
			       "cannot work in the background; wait for it");
	return TH_OK;
}

bool th_background_is_looked_at(const struct th_live *l, const struct th_call *c)
{
	return th_live_quarantine_has(l, c) || (!guards_calls_alone(l) && is_guarded(l, c->tool));
}

/* ---- what is told ---- */

static void put_id(struct th_live *l, const struct th_call *c, struct th_buf *out)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SESSION_ID_MAX + 1);

	th_call_child(c, th_str_of(l->id), &name);
	th_delegation_task_id(l, th_buf_str(&name), out);
}

static void result(struct th_live *l, const struct th_call *c, enum th_outcome_status status,
		   struct th_str text)
{
	struct th_buf output TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_effect_result r = { .status = status };
	struct th_jw w = th_jw(&output);

	th_jw_str(&w, text);
	r.output = th_buf_str(&output);
	th_driver_tool_done(l->driver, th_live_ticket(l, c->intent_seq), &r);
}

void th_background_begun(struct th_live *l, const struct th_call *c)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	put_id(l, c, &text);
	th_buf_add_cstr(&text, " has begun in the background. A message says what becomes of it; "
			       "go on with something else meanwhile.");
	result(l, c, TH_OUTCOME_DONE, th_buf_str(&text));
}

bool th_background_heard(const struct th_live *l)
{
	return l->fold.state == TH_STATE_RUNNING || l->fold.state == TH_STATE_WAITING ||
	       l->fold.state == TH_STATE_PAUSED;
}

static void answer_waits(struct th_live *l);

void th_background_say(struct th_live *l, uint64_t intent_seq, struct th_str session,
		       struct th_str agent, const char *state, struct th_str text)
{
	struct th_buf said TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_MIB);
	struct th_buf shown TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_err err = { 0 };

	th_text_clip(&shown, text, TH_TOOL_OUTPUT_MODEL_MAX);
	th_buf_add_cstr(&said, "A task in the background is over.\n<task id=\"");
	th_delegation_task_id(l, session, &said);
	th_buf_printf(&said, "\" agent=\"%.*s\" state=\"%s\">\n", TH_FMT(agent), state);
	th_text_inside(&said, th_buf_str(&shown), "task");
	th_buf_add_cstr(&said, "\n</task>");
	/* A full history takes none: its run ends at that limit. */
	if (l->fold.items < TH_SESSION_ITEMS_MAX &&
	    th_live_append_message(l, TH_SOURCE_ENVIRONMENT, intent_seq, th_buf_str(&said), &err))
		th_live_lose(l, &err);
}

void th_background_over(struct th_live *l)
{
	if (l->lost)
		return;
	answer_waits(l);
	th_live_delegates_check(l);
	th_live_pump(l);
}

void th_background_lost(struct th_live *l, const struct th_call *c, struct th_str child,
			struct th_str text)
{
	struct th_ev_delegation_finished d = {
		.child = child,
		.call_id = c->call_id,
		.state = TH_STR("lost"),
	};
	uint64_t seq = c->intent_seq;

	th_background_say(l, seq, child, TH_STR(""), "unknown", text);
	th_live_write_event(l, TH_EV_DELEGATION_FINISHED, TH_SOURCE_ENVIRONMENT, seq, c->call_id,
			    &d);
	th_background_over(l);
}

/* ---- in line with the run ---- */

static void follow(struct th_live *l, struct th_delegation *g, const struct th_background *b)
{
	enum th_state run = l->fold.state, is = g->child->fold.state;
	struct th_err err = { 0 };

	if (th_delegation_is_over(&g->child->fold))
		th_delegation_end(g);
	else if (b->stopped && !th_delegation_has_ended(&g->child->fold))
		th_delegation_stop(l, g, "the session that it works for was stopped");
	else if (th_delegation_works(l) && (g->held || is == TH_STATE_PAUSED))
		th_delegation_go_on(l, g, &b->call, g->held);
	else if ((th_session_rests(&l->fold) && run != TH_STATE_WAITING) &&
		 (is == TH_STATE_RUNNING || is == TH_STATE_WAITING) &&
		 th_driver_set_state(l->driver, th_live_handle(g->child), TH_STATE_PAUSED,
				     TH_STR("the session that it works for rests"), &err))
		th_live_lose(g->child, &err);
	g->held = false;
}

void th_live_background_tasks(struct th_live *l)
{
	uint64_t done = 0; /* they are in the order of their INTENTs */

	/* All are opened before one of them goes on: they may share what they use. */
	for (const struct th_background *b = l->fold.background; b && !l->lost;) {
		uint64_t seq = b->call.intent_seq;

		if (seq > done && th_delegation_works(l) && !th_delegation_of(l, seq)) {
			done = seq;
			th_delegation_take(l, &b->call);
			b = l->fold.background; /* that one may be over */
		} else {
			b = b->next;
		}
	}
	done = 0;
	for (const struct th_background *b = l->fold.background; b && !l->lost;) {
		uint64_t seq = b->call.intent_seq;
		struct th_delegation *g = seq > done ? th_delegation_of(l, seq) : NULL;

		if (g) {
			done = seq;
			follow(l, g, b);
			b = l->fold.background;
		} else {
			b = b->next;
		}
	}
	if (!l->lost)
		th_live_delegates_check(l);
}

/* ---- the tool ---- */

#define TH_FIELDS_background_call(F)                                                               \
	F(background_call, str, action, "action", TH_REQ | TH_NONEMPTY,                            \
	  "look: what they are at; wait: until they are over; stop: end them; read: what came of " \
	  "those whose message does not say it")                                                   \
	F(background_call, strs, tasks, "tasks", TH_NONEMPTY,                                      \
	  "their ids (task_…); default: all that work in the background")                          \
	F(background_call, int, seconds, "seconds", TH_POSITIVE,                                   \
	  "wait: so long at most; default: until they are over")
TH_STRUCT(background_call)
TH_TABLE(background_call, "What is to be done with tasks in the background.", false)

static enum th_code read_call(struct th_str arguments, struct th_arena *a,
			      struct th_background_call *ret, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	enum th_code code = th_json_parse(arguments, &doc, err);

	if (!code)
		code = th_table_parse(&th_background_call_table, th_json_root(doc), a, ret, err);
	if (!code && ret->seconds > TH_BACKGROUND_SECONDS_MAX)
		code = th_fail(err, TH_EUSAGE, "seconds is at most %d", TH_BACKGROUND_SECONDS_MAX);
	/* Its strings are the document's. */
	if (!code) {
		ret->action = th_arena_str(a, ret->action);
		for (size_t i = 0; i < ret->tasks.count; i++)
			ret->tasks.list[i] = th_arena_str(a, ret->tasks.list[i]);
	}
	return code;
}

static bool is_meant(struct th_live *l, const struct th_background *b, const struct th_strs *tasks)
{
	struct th_buf id TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	put_id(l, &b->call, &id);
	return !tasks->count || th_strs_has(tasks, th_buf_str(&id));
}

static void look(struct th_live *l, const struct th_background *b, struct th_buf *out)
{
	const struct th_delegation *g = th_delegation_of(l, b->call.intent_seq);
	struct th_buf last TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	const struct th_session *s = g ? &g->child->fold : NULL;

	if (out->len)
		th_buf_add_char(out, '\n');
	put_id(l, &b->call, out);
	if (!s) {
		th_buf_add_cstr(out, ": is being taken up again");
		return;
	}
	th_buf_printf(
	    out, " (%.*s): %s, %lld turns, %lld tokens", TH_FMT(th_session_member(s)->name),
	    b->call.child == TH_CALL_CHILD_WAITS || s->state == TH_STATE_WAITING
		? "waits for a person"
		: th_state_name(s->state),
	    (long long)s->totals.turns, (long long)(s->totals.tokens_in + s->totals.tokens_out));
	th_delegation_last(g->child, &last);
	if (last.len) {
		th_buf_add_cstr(out, "\n<last>\n");
		th_text_inside(out, th_utf8_cut(th_buf_str(&last), LAST_MAX), "last");
		th_buf_add_cstr(out, "\n</last>");
	}
}

/* How many of those that are meant work still. */
static size_t count_of(struct th_live *l, const struct th_strs *tasks)
{
	size_t count = 0;

	for (const struct th_background *b = l->fold.background; b; b = b->next)
		count += is_meant(l, b, tasks);
	return count;
}

static void look_at_all(struct th_live *l, const struct th_strs *tasks, struct th_buf *out)
{
	for (const struct th_background *b = l->fold.background; b; b = b->next)
		if (is_meant(l, b, tasks))
			look(l, b, out);
}

static void stop_all(struct th_live *l, const struct th_strs *tasks, struct th_buf *out)
{
	uint64_t done = 0;

	for (const struct th_background *b = l->fold.background; b && !l->lost;) {
		uint64_t seq = b->call.intent_seq;
		struct th_delegation *g = seq > done ? th_delegation_of(l, seq) : NULL;

		if (!g || !is_meant(l, b, tasks)) {
			b = b->next;
			continue;
		}
		done = seq;
		put_id(l, &b->call, out);
		th_buf_add_cstr(out, " is being stopped. ");
		th_delegation_stop(l, g, "the agent that began it stopped it");
		b = l->fold.background; /* one that cannot be stopped is lost */
	}
}

/* ---- results that are looked at ---- */

struct reading {
	struct th_live *l;
	const struct th_background *b;
	struct th_buf *out;
};

static enum th_code put_result(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct reading *r = ctx;
	enum th_code code = th_json_parse(ev->data, &doc, err);

	(void)digest;
	if (code)
		return code;
	th_buf_add_cstr(r->out, r->out->len ? "\n<task id=\"" : "<task id=\"");
	put_id(r->l, &r->b->call, r->out);
	th_buf_printf(r->out, "\" state=\"%.*s\">\n",
		      TH_FMT(th_json_get_str(th_json_root(doc), "state")));
	th_text_inside(r->out, th_json_get_str(th_json_root(doc), "result"), "task");
	th_buf_add_cstr(r->out, "\n</task>");
	return TH_OK;
}

/* Only where this call is looked at itself, whoever speaks now. */
static void read_all(struct th_live *l, const struct th_call *c, const struct th_strs *tasks,
		     struct th_buf *out)
{
	bool may =
	    th_live_quarantine_has(l, c) ||
	    th_member_tool_guards(th_session_member(&l->fold), TH_GUARD_TOOL_OUTPUT, c->tool);
	struct th_err err = { 0 };

	for (const struct th_background *b = l->fold.results; b && may && !l->lost; b = b->next) {
		struct reading r = { .l = l, .b = b, .out = out };

		if (!is_meant(l, b, tasks))
			continue;
		if (out->len > TH_TOOL_OUTPUT_MODEL_MAX) {
			th_buf_add_cstr(out, "\nThere are more: name them in `tasks`.");
			break;
		}
		if (th_live_read(l, b->over_seq, b->over_seq, put_result, &r, &err))
			th_live_lose(l, &err);
	}
	if (!out->len)
		th_buf_add_cstr(out, may ? "None of them has a result that was not told."
					 : "Results are read by an agent that looks at them first; "
					   "hand over to it.");
}

/* None of those that are meant; the model may have had a wrong id. */
static void say_none(struct th_live *l, struct th_buf *out)
{
	const char *before = " Those that do are ";

	th_buf_add_cstr(out, "None of them works in the background; what became of each was told.");
	for (const struct th_background *b = l->fold.background; b; b = b->next) {
		th_buf_add_cstr(out, before);
		put_id(l, &b->call, out);
		before = ", ";
	}
	if (l->fold.background)
		th_buf_add_char(out, '.');
}

static enum th_code read_time(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			      struct th_err *err)
{
	(void)digest;
	(void)err;
	*(int64_t *)ctx = ev->ts_ms;
	return TH_OK;
}

/* Until it has waited long enough, counted from its INTENT, whoever wrote that. */
static int64_t left_ms(struct th_live *l, const struct th_call *c, int64_t seconds)
{
	struct th_err err = { 0 };
	int64_t begun = 0;

	if (th_live_read(l, c->intent_seq, c->intent_seq, read_time, &begun, &err)) {
		th_live_lose(l, &err);
		return 0;
	}
	return begun + seconds * 1000 - l->driver->world.ops->now_ms(l->driver->world.ctx);
}

/* True: it has waited as long as it wanted to. */
static bool say_late(struct th_live *l, const struct th_call *c, const struct th_background_call *d,
		     struct th_buf *out)
{
	if (!d->seconds || left_ms(l, c, d->seconds) > 0)
		return false;
	th_buf_printf(out, "They are not over after %lld s, and work on.\n", (long long)d->seconds);
	look_at_all(l, &d->tasks, out);
	return true;
}

/* True: it has its result. */
static bool do_call(struct th_live *l, const struct th_call *c, bool again)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_background_call d = { 0 };
	struct th_arena memory;
	struct th_err err = { 0 };
	bool waits = false;
	enum th_code code;

	th_arena_init(&memory, TH_TURN_MEMORY_MAX);
	code = read_call(c->arguments, &memory, &d, &err);
	waits = !code && th_str_is(d.action, "wait");
	if (code)
		th_buf_printf(&text, TH_ERROR_MARK "%s", err.msg);
	else if (th_str_is(d.action, "read"))
		read_all(l, c, &d.tasks, &text);
	else if (!count_of(l, &d.tasks) && waits && again)
		th_buf_add_cstr(&text, "They are over.");
	else if (!count_of(l, &d.tasks))
		say_none(l, &text);
	else if (th_str_is(d.action, "look"))
		look_at_all(l, &d.tasks, &text);
	else if (th_str_is(d.action, "stop"))
		stop_all(l, &d.tasks, &text);
	else if (!waits)
		code = TH_EUSAGE;
	else
		(void)say_late(l, c, &d, &text);
	if (code && !text.len)
		th_buf_add_cstr(&text, TH_ERROR_MARK "action must be look, wait, stop or read");
	th_arena_deinit(&memory);
	if (!text.len || l->lost)
		return false;
	result(l, c, code ? TH_OUTCOME_FAILED : TH_OUTCOME_DONE, th_buf_str(&text));
	return true;
}

/* The timer is for the one that waits no longer first. */
static void arm(struct th_live *l)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < l->fold.call_count && !l->lost; i++) {
		const struct th_call *c = &l->fold.calls[i];
		struct th_arena memory TH_CLEANUP(th_arena_deinit) = { 0 };
		struct th_background_call d = { 0 };
		struct th_err err = { 0 };

		th_arena_init(&memory, TH_TURN_MEMORY_MAX);
		if (th_background_is_wait(l, c) && !read_call(c->arguments, &memory, &d, &err) &&
		    d.seconds)
			next = TH_MIN(next, left_ms(l, c, d.seconds));
	}
	if (next < INT64_MAX && !l->lost)
		l->driver->world.ops->timer(l->driver->world.ctx,
					    th_live_ticket_of(l, TH_TICKET_WAIT, l->fold.seq),
					    TH_MAX(next, (int64_t)1));
}

static void run(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	struct th_live *l = th_live_find(d, call->ticket.index, call->ticket.generation);
	const struct th_call *c = l ? th_live_intended(l, call->ticket.seq) : NULL;

	(void)ctx;
	/* One that waits is answered later. */
	if (c && !do_call(l, c, false) && !l->lost) {
		arm(l);
		th_live_delegates_check(l);
	}
}

bool th_background_is_wait(const struct th_live *l, const struct th_call *c)
{
	const struct th_tool_row *row = th_live_row(l, c);

	return c->phase == TH_CALL_INTENDED && row && row->local == run;
}

bool th_background_wait_cancel(struct th_live *l, const struct th_call *c)
{
	if (!th_background_is_wait(l, c))
		return false;
	result(l, c, TH_OUTCOME_DONE, TH_STR("The run was stopped, and they with it."));
	return true;
}

static void answer_waits(struct th_live *l)
{
	for (size_t i = 0; i < l->fold.call_count && !l->lost; i++)
		if (th_background_is_wait(l, &l->fold.calls[i]) &&
		    do_call(l, &l->fold.calls[i], true))
			i = SIZE_MAX; /* the answer may be settled, and another one there */
}

void th_background_wake(struct th_live *l)
{
	th_background_over(l);
	arm(l);
}

const struct th_tool_row th_background_row = {
	.spec = {
		.name = TH_STR_INIT(TH_BACKGROUND_TOOL),
		.description = TH_STR_INIT("Look at your tasks in the background, wait for them, or "
					   "stop them. What becomes of each is told in a message."),
		.schema = TH_STR_INIT(
		    "{\"type\":\"object\",\"properties\":{\"action\":{\"type\":\"string\",\"enum\":"
		    "[\"look\",\"wait\",\"stop\",\"read\"],\"description\":\"look: what they are at; "
		    "wait: until they are over; stop: end them; read: what came of those whose "
		    "message does not say it\"},\"tasks\":{\"type\":\"array\",\"items\":"
		    "{\"type\":\"string\"},\"description\":\"their ids (task_…); default: all that "
		    "work in the background\"},\"seconds\":{\"type\":\"integer\",\"minimum\":1,"
		    "\"description\":\"wait: so long at most; default: until they are over\"}},\"required\":[\"action\"],"
		    "\"additionalProperties\":false}"),
		.class = TH_CLASS_L,
		.scope = { TH_TARGET_OTHER, TH_SHOWS_ONE },
	},
	.local = run,
	.check = true,
};
