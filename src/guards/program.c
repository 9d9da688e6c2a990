/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "guards/guard_look.h"
#include "guards/program_internal.h"
#include "live/log.h"
#include "live/queue.h"

static const struct th_hook_program *hook_of(const struct th_live *l,
					     const struct th_pending_callback *a)
{
	return l->fold.team->members[a->member].guards[a->guard].program;
}

static struct th_program *program_new(struct th_live *l, const struct th_hook_program *hook)
{
	struct th_program *p = th_alloc(sizeof(*p)), **at = &l->programs;

	p->hook = hook;
	th_buf_init(&p->why, 4 * TH_KIB);
	th_buf_init(&p->out, TH_EVENT_DATA_MAX);
	th_buf_init(&p->err, TH_EVENT_DATA_MAX);
	th_buf_init(&p->journal, 4 * TH_KIB);
	while (*at)
		at = &(*at)->next;
	*at = p;
	return p;
}

static void program_free(struct th_live *l, struct th_program *p)
{
	th_hook_ask_deinit(l, &p->ask);
	th_buf_deinit(&p->why);
	th_buf_deinit(&p->out);
	th_buf_deinit(&p->err);
	th_buf_deinit(&p->journal);
	free(p);
}

static void program_drop(struct th_live *l, struct th_program *p)
{
	struct th_program **at = &l->programs;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	program_free(l, p);
}

void th_live_programs_free(struct th_live *l)
{
	while (l->programs)
		program_drop(l, l->programs);
}

static struct th_program *program_find(const struct th_live *l, uint64_t seq)
{
	struct th_program *p = l->programs;

	while (p && p->seq != seq)
		p = p->next;
	return p;
}

/* ---- from begin to end ---- */

static void begin(struct th_live *l, struct th_program *p)
{
	const struct th_world_ops *ops = l->driver->world.ops;
	const struct th_call *c = th_live_call(l, p->about.call_seq);
	struct th_ticket t = th_live_ticket_of(l, TH_TICKET_HOOK, l->fold.seq);
	struct th_ev_hook_started d = {
		.name = p->hook->name,
		.event = th_str_of(th_hook_event_name(p->hook->event)),
		.stage = p->waited ? th_str_of(th_guard_stage_name(p->about.stage)) : TH_STR(""),
		.agent = l->fold.team->members[p->about.member].name,
		.call_id = c ? c->call_id : TH_STR(""),
		.type = p->hook->looks  ? TH_STR("agent")
			: p->hook->asks ? TH_STR("prompt")
					: TH_STR(""),
		.command = p->hook->command,
		.async = p->hook->async,
		.epoch = l->epoch,
		.timeout_ms = p->hook->timeout_s * 1000,
	};

	if (!p->hook->asks && !ops->tool_ready(l->driver->world.ctx, t, &d.journal))
		return;
	th_buf_add(&p->journal, d.journal);
	th_driver_random_id(l->driver, p->effect_id);
	d.effect_id = th_str_of(p->effect_id);
	p->seq = l->fold.seq + 1;
	th_live_write_event(l, TH_EV_HOOK_STARTED, TH_SOURCE_ENVIRONMENT,
			    c ? c->call_seq : p->about.asked_seq, d.call_id, &d);
}

void th_live_programs_ready(struct th_live *l)
{
	for (struct th_program *p = l->programs, *next; p && !l->lost; p = next) {
		next = p->next;
		if (p->seq)
			continue;
		if (p->waited && !th_live_guard_open(l, &p->about))
			program_drop(l, p); /* a resume asks anew */
		else
			begin(l, p);
	}
}

static void run(struct th_live *l, struct th_program *p, struct th_str arguments, int64_t epoch,
		bool settle)
{
	struct th_effect_call call = {
		.effect_id = th_str_of(p->effect_id),
		.class = TH_CLASS_W,
		.tool = TH_STR("command"),
		.arguments = arguments,
		.timeout_ms = p->hook->timeout_s * 1000,
		.epoch = epoch,
		.journal = th_buf_str(&p->journal),
	};
	char digest[TH_SHA256_HEX_SIZE + 1];

	p->started = true;
	th_call_digest(p->hook->name, arguments, digest);
	call.digest = th_str_of(digest);
	l->driver->world.ops->tool_run(l->driver->world.ctx,
				       th_live_ticket_of(l, TH_TICKET_HOOK, p->seq), &call, settle);
}

static void tell_rest(struct th_live *l)
{
	for (const struct th_program *p = l->programs; p; p = p->next)
		if (!p->waited)
			return;
	if (l->rest_waits) {
		l->rest_waits = false;
		th_live_hold(l, TH_DO_NOTIFY, l->fold.seq, 0);
		th_live_dirty(l);
	}
}

/* How it ended is known. */
static void end(struct th_live *l, struct th_program *p)
{
	const struct th_call *c = th_live_call(l, p->about.call_seq);

	if (p->waited && !p->hook->async &&
	    th_session_hook(&l->fold, c, p->about.stage, p->about.guard) == p->seq) {
		if (!th_live_guard_open(l, &p->about)) {
			p->over = true; /* the session rests; whoever goes on with it takes it up */
			return;
		}
		th_program_conclude(l, p);
	} else {
		th_program_note(l, p);
	}
	program_drop(l, p);
	if (!l->lost) {
		tell_rest(l);
		th_live_pump(l);
	}
}

static void on_asked(struct th_live *l, struct th_hook_ask *ask, const struct th_err *err)
{
	struct th_program *p = TH_CONTAINER_OF(ask, struct th_program, ask);

	p->end = (struct th_hook_end){ .exited = !err };
	if (err)
		th_buf_add_cstr(&p->why, err->msg);
	else
		th_buf_add(&p->out, th_buf_str(&ask->verdict));
	p->end.why = th_buf_str(&p->why);
	p->end.out = th_buf_str(&p->out);
	end(l, p);
}

static void start(struct th_live *l, struct th_program *p)
{
	struct th_buf input TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_COMMAND_INPUT_MAX);
	struct th_buf arguments TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_EVENT_DATA_MAX);
	struct th_err err = { 0 };
	enum th_code code = th_program_print_input(l, p, &input, &err);

	p->started = true;
	if (code == TH_ELIMIT) {
		const struct th_effect_result r = { .status = TH_OUTCOME_NOT_STARTED,
						    .why = th_str_of(err.msg) };

		th_live_program_done(l, th_live_ticket_of(l, TH_TICKET_HOOK, p->seq), &r);
	} else if (code) {
		th_live_lose(l, &err);
	} else if (p->hook->asks) {
		code = th_hook_ask(l, &p->ask, p->hook, th_buf_str(&input), on_asked, &err);
		if (code)
			on_asked(l, &p->ask, &err);
	} else {
		th_program_print_command(l, p, th_buf_str(&input), &arguments);
		run(l, p, th_buf_str(&arguments), l->epoch, false);
	}
}

void th_live_programs_start(struct th_live *l)
{
	struct th_program *p = l->programs;

	while (p && !l->lost) {
		bool due = !p->started && p->seq && p->seq <= l->durable_seq;

		if (due)
			start(l, p);
		p = due ? l->programs : p->next; /* one that could not start is gone */
	}
}

/* What its HOOK_STARTED says. */
struct begun {
	struct th_program *program;
	int64_t epoch;
};

static enum th_code read_begun(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	struct begun *b = ctx;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = { 0 };
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_ev_hook_started d;
	enum th_code code = th_json_parse(ev->data, &doc, err);

	(void)digest;
	th_arena_init(&a, TH_MIB);
	if (!code)
		code = th_table_parse(th_event_table(TH_EV_HOOK_STARTED), th_json_root(doc), &a, &d,
				      err);
	if (!code && d.effect_id.len >= sizeof(b->program->effect_id))
		code = th_fail(err, TH_ECORRUPT, "a hook's effect_id is too long");
	if (code)
		return code;
	memcpy(b->program->effect_id, d.effect_id.ptr, d.effect_id.len);
	th_buf_add(&b->program->journal, d.journal);
	b->epoch = d.epoch;
	return TH_OK;
}

/* An earlier runtime started it. */
static void settle(struct th_live *l, struct th_program *p)
{
	struct begun b = { p, 0 };
	struct th_err err = { 0 };

	if (th_live_read(l, p->seq, p->seq, read_begun, &b, &err)) {
		th_live_lose(l, &err);
		return;
	}
	if (p->hook->asks)
		start(l, p); /* no answer is in the log: it is asked again */
	else
		run(l, p, TH_STR("{}"), b.epoch, true);
}

/* Their requests end with all others of the session; whoever goes on with it asks again. */
void th_live_programs_unask(struct th_live *l)
{
	struct th_program *p = l->programs;

	while (p) {
		bool asks = th_hook_ask_open(&p->ask);

		if (asks)
			program_drop(l, p);
		p = asks ? l->programs : p->next;
	}
	tell_rest(l);
}

static bool is_same(const struct th_program *p, const struct th_pending_callback *about)
{
	return p->waited && p->about.stage == about->stage && p->about.guard == about->guard &&
	       p->about.call_seq == about->call_seq;
}

/* Those that ended, and whose answer is about what nobody asks for any more. */
static void drop_stale(struct th_live *l, const struct th_pending_callback *about)
{
	for (struct th_program *p = l->programs, *next; p; p = next) {
		next = p->next;
		if (p->over && is_same(p, about)) {
			const struct th_str id = th_str_of(p->effect_id);

			l->driver->world.ops->tool_forget(l->driver->world.ctx, th_str_of(l->id),
							  &id, 1);
			program_drop(l, p);
		}
	}
}

void th_live_program(struct th_live *l, const struct th_pending_callback *about)
{
	const struct th_call *c = th_live_call(l, about->call_seq);
	uint64_t seq = th_session_hook(&l->fold, c, about->stage, about->guard);
	struct th_program *p = seq ? program_find(l, seq) : l->programs;

	while (!seq && p && (p->seq || !is_same(p, about)))
		p = p->next;
	if (p && p->over) {
		th_program_conclude(l, p);
		program_drop(l, p);
		return;
	}
	if (p)
		return; /* since before a pause: it is under way */
	drop_stale(l, about);
	p = program_new(l, hook_of(l, about));
	p->about = *about;
	p->waited = true;
	p->seq = seq;
	if (seq)
		settle(l, p);
	else
		begin(l, p);
}

bool th_live_programs_run(const struct th_live *l)
{
	for (const struct th_program *p = l->programs; p; p = p->next)
		if (p->seq && !p->over)
			return true;
	return false;
}

void th_live_program_done(struct th_live *l, struct th_ticket t, const struct th_effect_result *r)
{
	struct th_program *p = program_find(l, t.seq);

	if (!p || p->over)
		return;
	th_program_read_end(p, r);
	end(l, p);
}

void th_live_program_looked(struct th_live *l, struct th_ticket t, const struct th_effect_result *r)
{
	struct th_program *p = l->programs;

	while (p && !th_hook_ask_looked(l, &p->ask, t, r))
		p = p->next;
}

/* Those of the session's end.  True: one is waited for. */
static bool begin_ends(struct th_live *l, const struct th_hook_program *list, size_t count)
{
	bool any = false;

	for (size_t i = 0; i < count && !l->lost; i++) {
		struct th_program *p;

		if (list[i].event != TH_HOOK_ON_SESSION_END)
			continue;
		p = program_new(l, &list[i]);
		p->about.member = l->fold.agent;
		p->about.asked_seq = l->fold.seq;
		any |= !p->hook->async;
		begin(l, p);
	}
	return any;
}

/* Nobody waits for their answers any more.  A question to a model is given up; whoever goes on with
 * the session asks it again. */
static void end_waited(struct th_live *l)
{
	for (struct th_program *p = l->programs, *next; p; p = next) {
		next = p->next;
		if (!p->waited || !p->started || p->over || p->hook->async)
			continue;
		if (p->hook->asks)
			program_drop(l, p);
		else
			l->driver->world.ops->tool_cancel(
			    l->driver->world.ctx, th_live_ticket_of(l, TH_TICKET_HOOK, p->seq));
	}
}

bool th_live_programs_end(struct th_live *l)
{
	const struct th_team *team = l->fold.team;
	const struct th_member *own = &team->members[l->fold.agent];
	enum th_state s = l->fold.state;
	bool any = false;

	if (s != TH_STATE_WAITING && !th_state_holds(s))
		end_waited(l);
	if (!l->worked || (s != TH_STATE_FINISHED && s != TH_STATE_FAILED && s != TH_STATE_STOPPED))
		return l->rest_waits;
	l->worked = false;
	any = begin_ends(l, team->programs, team->program_count);
	any |= begin_ends(l, own->programs, own->program_count);
	l->rest_waits |= any;
	if (!l->lost)
		th_live_pump(l);
	return l->rest_waits;
}
