/* SPDX-License-Identifier: Apache-2.0 */
/*
 * computing.c - one call of a computer that the program makes: its actions, one after the other,
 * each a call of its own that the program answers; then the picture.  It does what
 * display/request.c does for the computers of thole's own.
 */
#include <stdlib.h>

#include "actions/action.h"
#include "api/api.h"
#include "computer/image.h"
#include "display/link.h"
#include "wire/exec.h"

struct th_computing {
	struct th_computing *next;
	struct thole_session *session;
	struct th_ticket ticket;
	enum th_class class;
	char *call_id, *effect_id, *arguments;
	struct th_arena memory;
	struct th_exec_computer args;
	struct th_action *actions;
	size_t count, done;
	struct thole_call *step; /* waits for its answer */
	bool begun, looking;     /* looking: the step is a picture */
	bool cancelled;
	bool over; /* an action failed: what comes is the picture of it */
	enum th_outcome_status status;
	bool acted;            /* an action that changes something was given out */
	struct th_timer timer; /* of a wait */
	uint64_t started_ms;
	struct th_buf output;
	struct th_jw w;
	size_t parts;
	struct th_api_picture pictures[TH_PICTURES_MAX];
	struct th_blob blobs[TH_PICTURES_MAX];
	size_t picture_count;
};

/* Its session no longer knows it. */
static void computing_unlink(struct th_computing *m)
{
	struct th_computing **at = &m->session->computings;

	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
}

static void computing_free(struct th_computing *m)
{
	if (m->timer.loop)
		th_timer_stop(&m->timer);
	for (size_t i = 0; i < m->picture_count; i++)
		free(m->pictures[i].bytes);
	th_buf_deinit(&m->output);
	th_arena_deinit(&m->memory);
	free(m->call_id);
	free(m->effect_id);
	free(m->arguments);
	free(m);
}

void th_api_computings_forget(struct thole_session *s)
{
	while (s->computings) {
		struct th_computing *m = s->computings;

		computing_unlink(m);
		computing_free(m);
	}
}

static struct th_computing *computing_of(const struct thole_session *s, struct th_ticket t)
{
	struct th_computing *m = s->computings;

	while (m && !th_ticket_eq(m->ticket, t))
		m = m->next;
	return m;
}

bool th_api_computing_is(const struct thole_session *s, struct th_ticket t)
{
	return computing_of(s, t) != NULL;
}

/* From deep inside the driver: it begins when that is over. */
void th_api_on_computer(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	struct thole_session *s = ctx;
	struct th_str none = { 0 };
	struct th_computing *m;

	(void)d;
	if (s->freed)
		return;
	m = th_alloc(sizeof(*m));
	m->session = s;
	m->ticket = call->ticket;
	m->class = call->class;
	m->call_id = th_api_copy(call->call_id);
	m->effect_id = th_api_copy(call->effect_id);
	m->arguments = th_api_copy(call->arguments);
	th_arena_init(&m->memory, TH_TURN_MEMORY_MAX);
	th_buf_init(&m->output, TH_EVENT_DATA_MAX / 2);
	m->next = s->computings;
	s->computings = m;
	th_api_tell(s, TH_NOTE_COMPUTE, none, none, none, none, 0, NULL);
}

static void add_text(struct th_computing *m, struct th_str text)
{
	th_jw_object(&m->w);
	th_jw_kstr(&m->w, "type", TH_STR("text"));
	th_jw_kstr(&m->w, "text", text);
	th_jw_object_end(&m->w);
	m->parts++;
}

static void finish(struct th_computing *m, enum th_outcome_status status)
{
	struct thole_session *s = m->session;
	struct th_buf evidence = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(&evidence);
	struct th_effect_result r = {
		.status = status,
		.blobs = m->blobs,
		.blob_count = m->picture_count,
		.elapsed_ms = (int64_t)(th_loop_now_ms(s->rt->loop) - m->started_ms),
	};

	if (m->step) {
		m->step->computing = NULL;
		th_api_call_forget(m->step);
	}
	if (m->parts == 0)
		add_text(m, TH_STR("done"));
	th_jw_array_end(&m->w);
	th_jw_object(&w);
	th_jw_kuint(&w, "done", m->done);
	th_jw_kuint(&w, "of", m->count);
	th_jw_object_end(&w);
	if (m->output.failed) {
		th_buf_clear(&m->output);
		th_buf_add(&m->output,
			   TH_STR("\"" TH_ERROR_MARK "what was answered is too large\""));
		r.blob_count = 0;
	}
	r.output = th_buf_str(&m->output);
	r.evidence = th_buf_str(&evidence);
	/* The session may be lost by it, and forget all that it knows. */
	computing_unlink(m);
	th_driver_tool_done(s->rt->driver, m->ticket, &r);
	th_buf_deinit(&evidence);
	computing_free(m);
}

static void step(struct th_computing *m, struct th_str name, struct th_str arguments, bool looks);

TH_PRINTF(3, 4)
static void fail(struct th_computing *m, enum th_outcome_status status, const char *fmt, ...)
{
	struct th_buf text = TH_BUF_INIT(TH_CALL_ANSWER_MAX);
	va_list ap;

	if (m->count > 1 && m->done < m->count)
		th_buf_printf(&text, "error in action %zu of %zu (those before it were done): ",
			      m->done + 1, m->count);
	else
		th_buf_add_cstr(&text, TH_ERROR_MARK);
	va_start(ap, fmt);
	th_buf_vprintf(&text, fmt, ap);
	va_end(ap);
	add_text(m, th_buf_str(&text));
	th_buf_deinit(&text);
	m->status = status;
	/* The picture shows what came of it, unless pictures are what failed. */
	if (m->args.screenshot && !m->looking && !m->cancelled && status != TH_OUTCOME_UNKNOWN) {
		m->over = true;
		step(m, TH_STR("see"), TH_STR("{}"), true);
	} else {
		finish(m, status);
	}
}

/* ---- steps ------------------------------------------------------------------------------------
 */

static void step(struct th_computing *m, struct th_str name, struct th_str arguments, bool looks)
{
	struct thole_session *s = m->session;
	const struct thole_agent *a = s->agent;
	struct th_local_call from = {
		.ticket = m->ticket,
		.tool = name,
		.arguments = arguments,
		.call_id = th_str_of(m->call_id),
		.session_id = th_str_of(s->id),
		.effect_id = th_str_of(m->effect_id),
		.class = m->class,
	};

	m->looking = looks;
	m->step = th_api_call_new(s, &from);
	m->step->computing = m;
	m->step->fn = looks ? a->see : a->act;
	m->step->ctx = a->computer_ctx;
	th_api_call_give(m->step);
}

static void advance(struct th_computing *m);

static void on_waited(void *ctx)
{
	struct th_computing *m = ctx;
	struct thole_session *s = m->session;

	m->done++;
	advance(m);
	th_api_deliver_soon(s->rt);
}

static void act(struct th_computing *m, const struct th_action *a)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_jw w = th_jw(&text);

	th_action_print(a, &w);
	m->acted |= th_action_class(a->kind) != 'R';
	step(m, th_str_of(th_action_name(a->kind)), th_buf_str(&text), false);
	th_buf_deinit(&text);
}

/* Goes as far as nothing has to be waited for. */
static void advance(struct th_computing *m)
{
	struct thole_session *s = m->session;

	while (m->done < m->count) {
		const struct th_action *a = &m->actions[m->done];

		if (a->kind == TH_ACTION_SCREENSHOT) {
			m->args.screenshot = true; /* one, at the end */
			m->done++;
		} else if (a->kind == TH_ACTION_WAIT) {
			th_timer_init(&m->timer, s->rt->loop, on_waited, m);
			th_timer_start(&m->timer, (uint64_t)th_action_duration(a), 0);
			return;
		} else if (a->kind == TH_ACTION_ZOOM) {
			step(m, TH_STR("see"), TH_STR("{}"), true);
			return;
		} else {
			act(m, a);
			return;
		}
	}
	if (m->args.screenshot)
		step(m, TH_STR("see"), TH_STR("{}"), true);
	else
		finish(m, TH_OUTCOME_DONE);
}

static struct th_size screen_of(const struct th_computing *m)
{
	const struct th_agent_computer *pc = m->session->agent->def.computer;

	return (struct th_size){ (int32_t)pc->width, (int32_t)pc->height };
}

/* A picture came: that of a zoom, or the last. */
static bool take_picture(struct th_computing *m, const struct thole_call *c, struct th_err *err)
{
	struct th_size screen = screen_of(m);
	bool last = m->over || m->done == m->count;
	const struct th_rect *region = last ? NULL : &m->actions[m->done].region;
	struct th_size fit = { (int32_t)TH_MIN(m->args.fit_width, (int64_t)TH_SCREEN_SIDE_MAX),
			       (int32_t)TH_MIN(m->args.fit_height, (int64_t)TH_SCREEN_SIDE_MAX) };
	struct th_size whole = region ? (struct th_size){ region->width, region->height } : screen;
	size_t at = m->picture_count;
	enum th_code code = TH_OK;

	if (c->picture_count != 1)
		code = th_fail(err, TH_EUSAGE, "the program gave %zu pictures instead of one",
			       c->picture_count);
	else if (!th_size_eq(c->pictures[0].dim, screen))
		code = th_fail(err, TH_EUSAGE, "the program gave a picture of %dx%d, not %dx%d",
			       c->pictures[0].dim.width, c->pictures[0].dim.height, screen.width,
			       screen.height);
	else if (at == TH_PICTURES_MAX)
		code =
		    th_fail(err, TH_ELIMIT, "more than %d pictures in one call", TH_PICTURES_MAX);
	if (!code)
		code = th_api_picture_png(m->session, &c->pictures[0], region,
					  th_size_fit(whole, fit), &m->pictures[at], err);
	if (code)
		return false;
	th_api_picture_part(&m->pictures[at], &m->w, &m->blobs[at]);
	m->picture_count++;
	m->parts++;
	return true;
}

static void add_answer(struct th_computing *m, const struct thole_call *c)
{
	th_jw_object(&m->w);
	th_jw_kstr(&m->w, "type", TH_STR("text"));
	th_jw_kraw(&m->w, "text", th_buf_str(&c->output));
	th_jw_object_end(&m->w);
	m->parts++;
}

static void step_failed(struct th_computing *m, const struct thole_call *c)
{
	struct th_buf text = TH_BUF_INIT(TH_CALL_ANSWER_MAX);

	if (!th_json_unescape(th_buf_str(&c->output), &text) || text.len == 0)
		th_buf_add_cstr(&text, "it could not be done");
	fail(m, c->status, "%.*s", TH_FMT(th_buf_str(&text)));
	th_buf_deinit(&text);
}

void th_api_on_step(struct thole_call *c)
{
	struct th_computing *m = c->computing;
	bool last = m->done == m->count; /* of the list: what comes is the picture */
	struct th_err err = { 0 };

	m->step = NULL;
	th_api_call_forget(c);
	if (m->over) {
		if (c->status != TH_OUTCOME_DONE || !take_picture(m, c, &err))
			add_text(m, TH_STR("no picture could be taken"));
		finish(m, m->status);
		return;
	}
	if (m->looking && c->status == TH_OUTCOME_DONE && take_picture(m, c, &err)) {
		if (last) {
			finish(m, TH_OUTCOME_DONE);
			return;
		}
	} else if (last && m->count > 0) {
		/* All actions were done: that stays true whatever became of the picture. */
		add_text(m, TH_STR("no picture could be taken"));
		if (err.code)
			add_text(m, th_str_of(err.msg));
		finish(m, TH_OUTCOME_DONE);
		return;
	} else if (m->looking) {
		if (c->status != TH_OUTCOME_DONE)
			step_failed(m, c);
		else
			fail(m, TH_OUTCOME_FAILED, "%s", err.msg);
		return;
	} else if (c->status != TH_OUTCOME_DONE) {
		step_failed(m, c);
		return;
	} else if (c->output.len > 2) {
		add_answer(m, c);
	}
	m->done++;
	advance(m);
}

/* ---- beginning and end ------------------------------------------------------------------------
 */

static enum th_code parse(struct th_computing *m, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it;
	enum th_code code = th_json_parse(th_str_of(m->arguments), &doc, err);

	if (!code)
		code = th_table_parse(&th_exec_computer_table, th_json_root(doc), &m->memory,
				      &m->args, err);
	if (code)
		return code;
	it = th_json_iter(th_json_get(th_json_root(doc), "actions"));
	m->count = th_json_count(it.parent);
	if (m->count > TH_ACTIONS_MAX)
		return th_fail(err, TH_ELIMIT, "more than %d actions in one call", TH_ACTIONS_MAX);
	m->actions = th_arena_array(&m->memory, m->count + 1, sizeof(*m->actions));
	if (!m->actions)
		return th_fail(err, TH_ELIMIT, "the actions are too large");
	while (!code && th_json_next(&it)) {
		struct th_action *a = &m->actions[it.index];

		code = th_action_parse(it.val, &m->memory, a, err);
		if (!code)
			code = th_action_check(a, screen_of(m), err);
		if (code && m->count > 1)
			(void)th_prefix(err, code, "action %zu of %zu", it.index + 1, m->count);
	}
	return code;
}

static void begin(struct th_computing *m)
{
	struct th_err err = { 0 };

	m->begun = true;
	m->started_ms = th_loop_now_ms(m->session->rt->loop);
	m->w = th_jw(&m->output);
	th_jw_array(&m->w);
	if (m->cancelled) {
		fail(m, TH_OUTCOME_NOT_STARTED, "it was cancelled; nothing was done");
		return;
	}
	if (parse(m, &err)) {
		m->count = 0;
		m->args.screenshot = false;
		fail(m, TH_OUTCOME_REFUSED, "%s; nothing was done", err.msg);
		return;
	}
	advance(m);
}

void th_api_compute(struct thole_session *s)
{
	struct th_computing *m = s->computings;

	while (m) {
		if (!m->begun) {
			begin(m); /* which may end it, and others begin in their own time */
			m = s->computings;
		} else if (m->cancelled) {
			fail(m, m->step && m->acted ? TH_OUTCOME_UNKNOWN : TH_OUTCOME_FAILED,
			     "it was cancelled");
			m = s->computings;
		} else {
			m = m->next;
		}
	}
}

bool th_api_computing_cancel(struct thole_session *s, struct th_ticket t)
{
	struct th_computing *m = computing_of(s, t);
	struct th_str none = { 0 };

	if (!m)
		return false;
	m->cancelled = true;
	th_api_tell(s, TH_NOTE_COMPUTE, none, none, none, none, 0, NULL);
	return true;
}
