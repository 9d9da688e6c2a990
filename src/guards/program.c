/* SPDX-License-Identifier: Apache-2.0 */
#include "guards/program.h"

#include <stdlib.h>

#include "agents/agent_secret.h"
#include "base/text.h"
#include "guards/guard_look.h"
#include "guards/hook_ask.h"
#include "guards/verdict.h"
#include "live/log.h"
#include "live/queue.h"

struct th_program {
	struct th_program *next;
	const struct th_hook_program *hook;
	struct th_pending_callback about; /* the guardrail; of session_end nothing */
	bool waited;                      /* for: it has a stage */
	uint64_t seq;                     /* of HOOK_STARTED; 0: the executor is not ready */
	bool started, over;
	char effect_id[33];
	struct th_buf journal;
	/* How it ended, when that came too early or too late to be used. */
	struct th_hook_end end;
	struct th_buf why, out, err;
	int64_t elapsed_ms;
	struct th_hook_ask ask; /* where it asks a model */
};

static const struct th_hook_program *hook_of(const struct th_live *l,
					     const struct th_pending_callback *a)
{
	return l->fold.team->members[a->member].guards[a->guard].program;
}

/* Else it is another agent's own, which may have come with a file. */
static bool is_of_the_first(const struct th_live *l, const struct th_hook_program *hook)
{
	for (size_t i = 0; i < l->fold.team->program_count; i++)
		if (&l->fold.team->programs[i] == hook)
			return true;
	return false;
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

/* ---- its input ---- */

/* A text as it is; anything else as JSON. */
static void add_plain(struct th_buf *out, struct th_str raw)
{
	if (raw.len && !th_json_unescape(raw, out))
		th_buf_add(out, raw);
}

static enum th_code print_input(struct th_live *l, struct th_program *p, struct th_buf *out,
				struct th_err *err)
{
	struct th_buf subject TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_GUARD_INPUT_MAX);
	struct th_buf message TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_GUARD_INPUT_MAX);
	struct th_buf tool TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf extra TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_hook_input in = { .event = p->hook->event,
				    .session = th_str_of(l->id),
				    .folder = l->fold.workspace };
	struct th_jw w = th_jw(&subject);
	enum th_code code = TH_OK;
	struct th_str about;

	th_jw_object(&w);
	if (p->waited)
		code = th_live_guard_subject(l, &p->about, &w, err);
	th_jw_object_end(&w);
	if (code)
		return code;
	about = th_buf_str(&subject);
	add_plain(&tool, th_json_raw_get(about, "tool"));
	in.tool = th_buf_str(&tool);
	in.arguments = th_json_raw_get(about, "arguments");
	if (p->about.stage == TH_GUARD_TOOL_OUTPUT)
		in.response = th_json_raw_get(about, "output");
	else if (p->hook->event != TH_HOOK_ON_SESSION_START)
		add_plain(&message, p->about.stage == TH_GUARD_INPUT
					? th_json_raw_get(about, "input")
					: th_json_raw_get(about, "output"));
	in.message = th_buf_str(&message);
	w = th_jw(&extra);
	th_jw_object(&w);
	th_jw_kstr(&w, "agent", l->fold.team->members[p->about.member].name);
	if (p->hook->event == TH_HOOK_ON_STOP)
		th_jw_kint(&w, "sent_back", l->fold.sent_back);
	if (p->hook->event == TH_HOOK_ON_SESSION_END)
		th_jw_kstr(&w, "state", th_str_of(th_state_name(l->fold.state)));
	th_jw_object_end(&w);
	in.extra = th_buf_str(&extra);
	w = th_jw(out);
	th_hook_input_print(&in, &w);
	return th_buf_check(out, "what a hook is told", err);
}

/* Arguments of the tool `command`: the line goes to sh. */
static void print_command(const struct th_live *l, const struct th_program *p, struct th_str input,
			  struct th_buf *out)
{
	struct th_str argv[] = { TH_STR("/bin/sh"), TH_STR("-c"), p->hook->command };
	struct th_jw w = th_jw(out);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	const struct {
		const char *name;
		struct th_str value;
	} environment[] = {
		{ "OPENHANDS_PROJECT_DIR", l->fold.workspace },
		{ "OPENHANDS_SESSION_ID", th_str_of(l->id) },
		{ "OPENHANDS_EVENT_TYPE", th_json_raw_get(input, "event_type") },
		{ "OPENHANDS_TOOL_NAME", th_json_raw_get(input, "tool_name") },
	};

	th_jw_object(&w);
	th_jw_kstr(&w, "name", p->hook->name);
	th_jw_key(&w, TH_STR("argv"));
	th_jw_array(&w);
	for (size_t i = 0; i < TH_COUNT(argv); i++)
		th_jw_str(&w, argv[i]);
	th_jw_array_end(&w);
	th_jw_key(&w, TH_STR("environment"));
	th_jw_array(&w);
	for (size_t i = 0; i < TH_COUNT(environment); i++) {
		th_buf_clear(&text);
		th_buf_printf(&text, "%s=", environment[i].name);
		if (i < 2)
			th_buf_add(&text, environment[i].value);
		else if (!th_str_is(environment[i].value, "null"))
			add_plain(&text, environment[i].value);
		th_jw_str(&w, th_buf_str(&text));
	}
	th_jw_array_end(&w);
	th_jw_kraw(&w, "input", input);
	th_jw_kint(&w, "timeout_s", p->hook->timeout_s);
	th_jw_kbool(&w, "apart", true);
	if (is_of_the_first(l, p->hook))
		th_agent_secrets_name(l->session_config->agent->secrets, TH_SECRET_TO_HOOK,
				      p->hook->command, &w);
	th_jw_object_end(&w);
}

/* ---- its end ---- */

/* Takes over what the result says. */
static void read_end(struct th_program *p, const struct th_effect_result *r)
{
	struct th_buf report TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_str exit_code = th_json_raw_get(r->evidence, "exit_code");
	bool ran = r->status == TH_OUTCOME_DONE || r->status == TH_OUTCOME_FAILED;

	p->elapsed_ms = r->elapsed_ms;
	p->end = (struct th_hook_end){ 0 };
	if (ran && th_json_unescape(r->output, &report)) {
		add_plain(&p->out, th_json_raw_get(th_buf_str(&report), "out"));
		add_plain(&p->err, th_json_raw_get(th_buf_str(&report), "err"));
	}
	p->end.exited = ran && th_str_i64(exit_code, &p->end.status) &&
			!th_json_raw_get(r->evidence, "timed_out").len;
	if (!p->end.exited && th_json_raw_get(r->evidence, "timed_out").len)
		th_buf_printf(&p->why, "it was ended after %lld s, its time limit",
			      (long long)p->hook->timeout_s);
	else if (!p->end.exited && r->status == TH_OUTCOME_UNKNOWN)
		th_buf_add_cstr(&p->why, "how it ended is not known, and it is not started again");
	else if (!p->end.exited && ran)
		th_buf_add_cstr(&p->why, "it was ended by a signal");
	else if (!p->end.exited)
		th_buf_printf(&p->why, "it was not started: %.*s",
			      TH_FMT(th_utf8_cut(r->why.len ? r->why : r->output, 1000)));
	p->end.why = th_buf_str(&p->why);
	p->end.out = th_buf_str(&p->out);
	p->end.err = th_buf_str(&p->err);
}

static void print_info(const struct th_program *p, const struct th_hook_verdict *v,
		       struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	if (p->end.exited)
		th_jw_kint(&w, "exit_status", p->end.status);
	if (v->refused)
		th_jw_kbool(&w, "refused", true);
	if (v->failed)
		th_jw_kstr(&w, "failed", th_utf8_cut(v->reason, 4000));
	if (v->refused)
		th_jw_kstr(&w, "reason", th_utf8_cut(v->reason, 4000));
	if (p->end.out.len)
		th_jw_kstr(&w, "stdout", th_utf8_cut(p->end.out, 4000));
	if (p->end.err.len)
		th_jw_kstr(&w, "stderr", th_utf8_cut(p->end.err, 4000));
	th_jw_kint(&w, "elapsed_ms", p->elapsed_ms);
	th_jw_object_end(&w);
}

/* What the model took that was asked; empty: nothing. */
static struct th_str print_usage(const struct th_program *p, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	if (!p->ask.usage.requests)
		return (struct th_str){ 0 };
	th_jw_object(&w);
	th_side_print(&p->ask.usage, &w);
	th_jw_object_end(&w);
	return th_buf_str(out);
}

static void tell(struct th_live *l, struct th_str text)
{
	struct th_err err = { 0 };

	if (l->lost)
		return;
	if (th_live_append_message(l, TH_SOURCE_ENVIRONMENT, l->fold.seq, text, &err))
		th_live_lose(l, &err);
}

/* Nobody waits for it: what it did is noted, and a failure ends the run where the agent file wants
 * that. */
static void note(struct th_live *l, struct th_program *p)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = { 0 };
	struct th_buf info TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_buf usage TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_hook_verdict v;
	struct th_ev_code d = { .effect_id = th_str_of(p->effect_id),
				.use = th_str_of(th_hook_event_name(p->hook->event)),
				.name = p->hook->name,
				.agent = l->fold.team->members[p->about.member].name };

	th_arena_init(&a, TH_EVENT_DATA_MAX);
	v = th_hook_judge(p->hook, &p->end, &a);
	print_info(p, &v, &info);
	d.answer = th_buf_str(&info);
	d.usage = print_usage(p, &usage);
	if (v.failed) {
		d.failed = v.reason;
		/* What was waited for, and is not any more, ends nothing else. */
		d.fails = l->fold.team->hooks_fail && (p->hook->async || !p->waited);
	}
	th_live_write_event(l, TH_EV_CODE, TH_SOURCE_ENVIRONMENT, p->seq, TH_STR(""), &d);
}

/* pre_tool_use: refused, or with other arguments; *text is what the model is told.  The reason is
 * in `a`, as the verdict is. */
static void judge_call(struct th_live *l, const struct th_program *p, struct th_hook_verdict *v,
		       struct th_arena *a, struct th_ev_guardrail *d, struct th_buf *arguments,
		       struct th_buf *text)
{
	struct th_call *c = th_live_call(l, p->about.call_seq);
	struct th_buf why TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	enum th_class class = TH_CLASS_W;

	if (v->arguments.len && c) {
		if (th_live_may_run_with(l, c, v->arguments, arguments, &class, &why)) {
			d->arguments = th_buf_str(arguments);
			d->class = th_str_of(th_class_name(class));
			th_buf_printf(
			    text, "The hook %.*s changed the arguments of this call to %.*s.",
			    TH_FMT(p->hook->name), TH_FMT(th_utf8_cut(d->arguments, 4000)));
			return;
		}
		v->refused = true;
		v->reason = th_arena_str(a, th_buf_str(&why));
	}
	if (!v->refused && !(v->failed && l->fold.team->hooks_fail))
		return;
	th_buf_printf(arguments, "Not done: the hook %.*s %s: %.*s. Nothing was executed.",
		      TH_FMT(p->hook->name), v->failed ? "failed" : "refused it",
		      TH_FMT(th_utf8_cut(v->reason, TH_HOOK_TEXT_MAX)));
	d->message = th_buf_str(arguments);
}

static void judge_other(struct th_live *l, const struct th_program *p,
			const struct th_hook_verdict *v, struct th_ev_guardrail *d,
			struct th_buf *text)
{
	if (v->failed && l->fold.team->hooks_fail) {
		d->tripped = true;
		d->message = v->reason;
	} else if (v->refused && p->hook->event == TH_HOOK_ON_USER_PROMPT_SUBMIT) {
		d->tripped = true;
		d->message = v->reason;
	} else if (v->refused && p->hook->event == TH_HOOK_ON_STOP &&
		   l->fold.sent_back < TH_SENT_BACK_MAX) {
		d->again = true;
		th_buf_printf(text, "The hook %.*s does not let you stop here: %.*s",
			      TH_FMT(p->hook->name), TH_FMT(v->reason));
	} else if (v->refused && p->hook->event == TH_HOOK_ON_POST_TOOL_USE) {
		th_buf_printf(text, "The hook %.*s objects: %.*s", TH_FMT(p->hook->name),
			      TH_FMT(v->reason));
	}
}

/* Its answer, where that is still awaited; what it tells the model comes right behind. */
static void conclude(struct th_live *l, struct th_program *p)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = { 0 };
	struct th_buf info TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_HOOK_TEXT_MAX);
	struct th_buf changed TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_buf usage TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_ev_guardrail d = { .effect_id = th_str_of(p->effect_id) };
	struct th_hook_verdict v;

	th_arena_init(&a, TH_EVENT_DATA_MAX);
	v = th_hook_judge(p->hook, &p->end, &a);
	if (p->hook->event == TH_HOOK_ON_PRE_TOOL_USE)
		judge_call(l, p, &v, &a, &d, &changed, &text);
	else
		judge_other(l, p, &v, &d, &text);
	print_info(p, &v, &info);
	d.info = th_buf_str(&info);
	d.usage = print_usage(p, &usage);
	/* Where the agent stops, nobody is told anything. */
	if (v.context.len && !d.tripped && (d.again || p->hook->event != TH_HOOK_ON_STOP))
		th_buf_printf(&text, "%sThe hook %.*s says: %.*s", text.len ? "\n" : "",
			      TH_FMT(p->hook->name), TH_FMT(v.context));
	th_live_guard_write(l, &p->about, &d);
	if (text.len)
		tell(l, th_buf_str(&text));
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
		.type = p->hook->asks ? TH_STR("prompt") : TH_STR(""),
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
		conclude(l, p);
	} else {
		note(l, p);
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
	enum th_code code = print_input(l, p, &input, &err);

	p->started = true;
	if (code == TH_ELIMIT) {
		const struct th_effect_result r = { .status = TH_OUTCOME_NOT_STARTED,
						    .why = th_str_of(err.msg) };

		th_live_program_done(l, th_live_ticket_of(l, TH_TICKET_HOOK, p->seq), &r);
	} else if (code) {
		th_live_lose(l, &err);
	} else if (p->hook->asks) {
		code = th_hook_ask(l, &p->ask, p->hook->command, p->hook->timeout_s,
				   th_buf_str(&input), on_asked, &err);
		if (code)
			on_asked(l, &p->ask, &err);
	} else {
		print_command(l, p, th_buf_str(&input), &arguments);
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
		bool asks = p->ask.request;

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
		conclude(l, p);
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
	read_end(p, r);
	end(l, p);
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

bool th_live_programs_end(struct th_live *l)
{
	const struct th_world_ops *ops = l->driver->world.ops;
	const struct th_team *team = l->fold.team;
	const struct th_member *own = &team->members[l->fold.agent];
	enum th_state s = l->fold.state;
	bool any = false;

	for (struct th_program *p = l->programs; p && s != TH_STATE_WAITING && !th_state_holds(s);
	     p = p->next)
		if (p->waited && p->started && !p->over && !p->hook->async && !p->hook->asks)
			ops->tool_cancel(l->driver->world.ctx,
					 th_live_ticket_of(l, TH_TICKET_HOOK, p->seq));
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
