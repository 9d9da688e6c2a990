/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/text.h"
#include "core/past.h"
#include "core/schema.h"
#include "run/driver_internal.h"

/* Sets *ret; nothing for an empty text.  False: out of memory. */
static bool copy(struct th_str s, char **ret)
{
	if (s.len == 0)
		return true;
	*ret = th_try_alloc(s.len + 1);
	if (*ret)
		memcpy(*ret, s.ptr, s.len);
	return *ret != NULL;
}

/* Room for one more element in a list that doubles. */
static bool room(void *list, size_t count, size_t *cap, size_t more, size_t size)
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

static void live_free(struct th_live *l);

static void ask_flush(struct th_driver *d);
static void hold(struct th_live *l, enum th_effect_kind kind, uint64_t seq, uint64_t call_seq);
static void make_dirty(struct th_live *l);

/* As if the process had died: what is in the log says what is open.  Called anywhere, so its owner
 * is told later. */
static void live_no_memory(struct th_live *l)
{
	if (l->lost)
		return;
	l->lost = l->untold = l->driver->untold = true;
	l->held_count = 0;
	l->queue_at = l->queue_count = 0;
	th_live_model_cancel(l, false);
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

/* ---- sessions by handle ------------------------------------------------------------------ */

struct th_live *th_live_find(const struct th_driver *d, uint32_t index, uint32_t generation)
{
	if (index >= d->live_cap || !d->lives[index] || d->lives[index]->generation != generation)
		return NULL;
	return d->lives[index];
}

static struct th_live *find(const struct th_driver *d, struct th_handle h)
{
	return th_live_find(d, h.index, h.generation);
}

static struct th_handle handle_of(const struct th_live *l)
{
	return (struct th_handle){ l->index, l->generation };
}

struct th_ticket th_live_ticket(const struct th_live *l, uint64_t seq)
{
	return (struct th_ticket){ l->index, l->generation, seq };
}

const struct th_outfit *th_outfit_member(const struct th_outfit *o, size_t agent)
{
	return agent == 0 || agent > o->member_count ? o : &o->members[agent - 1];
}

void th_live_instruct(struct th_live *l, struct th_str text, bool fresh)
{
	if (l->instructed && th_str_eq(th_buf_str(&l->instructions), text))
		return;
	th_buf_clear(&l->instructions);
	th_buf_add(&l->instructions, text);
	l->instructed = true;
	l->instructions_new = fresh;
	if (!l->rewritten)
		l->rewritten = th_alloc(sizeof(*l->rewritten));
	*l->rewritten = *l->outfit->agent;
	l->rewritten->instructions = th_buf_str(&l->instructions);
	l->options.agent = l->speaking = l->rewritten;
}

/* The functions that hand over, beside the agent's own tools. */
static enum th_code fit_tools(struct th_live *l, struct th_err *err)
{
	const struct th_outfit *outfit = l->outfit;
	const struct th_member *m = &l->fold.team->members[l->speaks];
	size_t count = outfit->tool_count + m->handoff_count;
	struct th_tool_spec *specs;

	free((void *)(uintptr_t)l->options.tools);
	l->options.tools = NULL;
	l->options.tool_count = 0;
	if (count == 0)
		return TH_OK;
	specs = th_try_alloc(count * sizeof(*specs));
	if (!specs)
		return th_fail_memory(err);
	for (size_t i = 0; i < outfit->tool_count; i++)
		specs[i] = outfit->tools[i].spec;
	for (size_t i = 0; i < m->handoff_count; i++)
		specs[outfit->tool_count + i] = (struct th_tool_spec){
			.name = m->handoffs[i].tool,
			.description = m->handoffs[i].description,
			.schema = TH_STR("{\"type\":\"object\",\"properties\":{},\"required\":[],"
					 "\"additionalProperties\":false}"),
			.class = TH_CLASS_L,
			.strict = true,
		};
	l->options.tools = specs;
	l->options.tool_count = count;
	return TH_OK;
}

static const struct th_choice *choice_at(const struct th_outfit *o, size_t at)
{
	assert(at <= o->agent->fallback.count);
	return at ? &o->fallback[at - 1] : &o->first;
}

/* Who is asked from now on.  What another model is to read is written anew. */
static void live_turn_to(struct th_live *l, size_t at)
{
	const struct th_choice *before = l->choice;

	assert(!l->flight && !l->grounds);
	l->model_at = at;
	l->choice = choice_at(th_outfit_member(&l->team_outfit, l->speaks), at);
	l->options.profile = l->choice->profile;
	l->options.model = l->choice->model;
	l->options.image = th_image_size(l->choice->profile, l->outfit->screen);
	if (before && (before->profile != l->choice->profile ||
		       !th_str_eq(before->model, l->choice->model))) {
		l->history = th_history_free(l->history);
		l->history_due = true;
	}
}

static void who_answered(const void *ctx, struct th_str agent, size_t at, struct th_speaker *ret)
{
	const struct th_live *l = ctx;
	int member = agent.len ? th_team_find(l->fold.team, agent) : 0;
	const struct th_outfit *o = th_outfit_member(&l->team_outfit, (size_t)TH_MAX(member, 0));
	const struct th_choice *c = choice_at(o, TH_MIN(at, o->agent->fallback.count));

	*ret = (struct th_speaker){ c->profile, c->model };
}

bool th_live_choose(struct th_live *l)
{
	if (l->model_at == l->fold.model_at)
		return true;
	if (l->durable_seq < l->fold.seq)
		return !th_live_later(l);
	live_turn_to(l, l->fold.model_at);
	l->history_due = false; /* it can be made at once */
	return true;
}

/* In the strict subset where that is possible: providers hold the model to it. */
static void fit_format(struct th_live *l)
{
	struct th_output_format *f = &l->options.format;
	struct th_json_doc *doc = NULL;
	struct th_err err;

	*f = (struct th_output_format){ 0 };
	th_arena_reset(&l->format);
	if (!l->speaking->output_schema.len)
		return;
	if (!th_json_parse(l->speaking->output_schema, &doc, &err))
		f->strict = !th_schema_strict(th_json_root(doc), 0, &l->format, &f->schema, &err);
	if (!f->strict)
		f->schema = l->speaking->output_schema;
	th_json_free(doc);
}

enum th_code th_live_dress(struct th_live *l, struct th_err *err)
{
	const struct th_outfit *outfit = th_outfit_member(&l->team_outfit, l->fold.agent);

	l->speaks = l->fold.agent;
	l->outfit = outfit;
	l->speaking = outfit->agent;
	l->instructed = l->instructions_new = false;
	l->instructed_turn = 0;
	l->options.agent = l->speaking;
	l->options.has_computer = outfit->has_computer;
	l->options.screen = outfit->screen;
	l->options.stream = !outfit->agent->settings || outfit->agent->settings->stream;
	l->options.who = who_answered;
	l->options.who_ctx = l;
	for (size_t i = 0; i <= outfit->agent->fallback.count; i++) {
		const struct th_price *price = &choice_at(outfit, i)->profile->price;

		th_session_prices(&l->fold, i, price->input, price->output);
	}
	live_turn_to(l, l->fold.model_at);
	fit_format(l);
	return fit_tools(l, err);
}

static enum th_code live_fit(struct th_live *l, const struct th_outfit *outfit, struct th_err *err)
{
	l->team_outfit = *outfit;
	return th_live_dress(l, err);
}

/* Without its outfit: live_fit comes before anything else. */
static enum th_code live_new(struct th_driver *d, struct th_str id,
			     const struct th_observer *observer, struct th_live **ret,
			     struct th_err *err)
{
	struct th_live *l;
	uint32_t index;

	if (d->live_count == TH_SESSIONS_MAX)
		return th_fail(err, TH_ELIMIT, "this runtime has %d sessions open, its maximum",
			       TH_SESSIONS_MAX);
	if (id.len == 0 || id.len > TH_SESSION_ID_MAX)
		return th_fail(err, TH_EUSAGE, "a session id has 1 to %d bytes", TH_SESSION_ID_MAX);
	if (d->live_count == d->live_cap) {
		uint32_t cap = d->live_cap ? d->live_cap * 2 : 8;
		struct th_live **lives = th_try_realloc(d->lives, cap * sizeof(*lives));

		if (!lives)
			return th_fail_memory(err);
		d->lives = lives;
		memset(d->lives + d->live_cap, 0, (cap - d->live_cap) * sizeof(*d->lives));
		d->live_free = d->live_cap;
		d->live_cap = cap;
	}
	for (index = d->live_free; d->lives[index]; index++)
		;
	d->live_free = index + 1;
	l = th_try_alloc(sizeof(*l));
	if (!l)
		return th_fail_memory(err);
	l->driver = d;
	l->index = index;
	l->generation = ++d->generations;
	th_session_init(&l->fold);
	th_buf_init(&l->previous, TH_RESPONSE_ID_MAX);
	th_buf_init(&l->instructions, TH_EVENT_DATA_MAX);
	th_buf_init(&l->filtered, TH_EVENT_DATA_MAX);
	th_arena_init(&l->format, TH_EVENT_DATA_MAX);
	d->lives[index] = l;
	d->live_count++;
	if (observer)
		l->observer = *observer;
	if (!copy(id, &l->id)) {
		live_free(l);
		return th_fail_memory(err);
	}
	*ret = l;
	return TH_OK;
}

static void live_free(struct th_live *l)
{
	struct th_driver *d = l->driver;

	assert(!l->dirty);
	d->lives[l->index] = NULL;
	d->live_free = TH_MIN(d->live_free, l->index);
	d->live_count--;
	th_history_free(l->history);
	th_buf_deinit(&l->previous);
	th_live_unknowns_free(l);
	th_live_askings_free(l);
	th_buf_deinit(&l->instructions);
	free(l->rewritten);
	th_buf_deinit(&l->filtered);
	th_arena_deinit(&l->format);
	th_session_deinit(&l->fold);
	free((void *)(uintptr_t)l->options.tools);
	free(l->pending.events);
	free(l->pending.digests);
	free(l->held);
	free(l->queue);
	free(l->user);
	free(l->title);
	free(l->parent);
	free(l->metadata);
	free(l->id);
	free(l);
}

/* With nothing that waits to be written. */
static void live_drop(struct th_live *l)
{
	struct th_driver *d = l->driver;

	if (l->dirty) {
		struct th_live **at = &d->dirty;

		while (*at != l)
			at = &(*at)->dirty_next;
		*at = l->dirty_next;
		d->dirty_last = NULL;
		for (struct th_live *i = d->dirty; i; i = i->dirty_next)
			d->dirty_last = i;
		l->dirty = false;
	}
	live_free(l);
}

/* ---- the log ----------------------------------------------------------------------------- */

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

static void ask_flush(struct th_driver *d)
{
	if (d->flush_asked)
		return;
	d->flush_asked = true;
	d->world.ops->flush_soon(d->world.ctx);
}

static void make_dirty(struct th_live *l)
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

static void hold_as(struct th_live *l, const struct th_held *held)
{
	if (!room(&l->held, l->held_count, &l->held_cap, 1, sizeof(*l->held))) {
		live_no_memory(l);
		return;
	}
	l->held[l->held_count++] = *held;
}

static void hold(struct th_live *l, enum th_effect_kind kind, uint64_t seq, uint64_t call_seq)
{
	hold_as(l, &(struct th_held){ .kind = kind, .seq = seq, .call_seq = call_seq });
}

static void queue_effects(struct th_live *l, const struct th_effects *fx)
{
	if (fx->count == 0)
		return;
	if (l->queue_at == l->queue_count)
		l->queue_at = l->queue_count = 0;
	if (!room(&l->queue, l->queue_count, &l->queue_cap, fx->count, sizeof(*l->queue))) {
		live_no_memory(l);
		return;
	}
	memcpy(l->queue + l->queue_count, fx->list, fx->count * sizeof(fx->list[0]));
	l->queue_count += fx->count;
}

/* The history is made before the first event that is not yet in the store, so it never has gaps. */
static enum th_code history_fill(void *ctx, const struct th_event *ev,
				 const struct th_digest *digest, struct th_err *err)
{
	(void)digest;
	return th_history_add(ctx, ev, err);
}

enum th_code th_live_history(struct th_live *l, struct th_err *err)
{
	if (l->history || l->history_due)
		return TH_OK;
	/* Made when a request needs it. */
	l->history_due = th_live_history_odd(l);
	return l->history_due ? TH_OK : th_live_history_make(l, err);
}

/* False: out of memory. */
static bool set_title(struct th_live *l, struct th_str data)
{
	struct th_json_doc *doc = NULL;
	struct th_buf line;
	bool good;

	if (l->title)
		return true;
	if (th_json_try_parse(data, &doc, NULL))
		return false;
	th_buf_init_try(&line, TH_KIB);
	th_text_line(&line, th_json_get_str(th_json_root(doc), "content"), TH_TITLE_MAX);
	good = !line.no_memory && copy(th_buf_str(&line), &l->title);
	th_buf_deinit(&line);
	th_json_free(doc);
	return good;
}

static bool pending_room(struct th_live *l)
{
	struct th_pending *p = &l->pending;
	size_t cap = p->cap;

	/* The two lists have one capacity: both, or none. */
	if (!room(&p->digests, p->count, &cap, 1, sizeof(*p->digests)))
		return false;
	return room(&p->events, p->count, &p->cap, 1, sizeof(*p->events));
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

/* Each request, or each task, may see something else of what was. */
static void retire_history(struct th_live *l)
{
	if (!l->speaking->input_filter.len && !l->speaking->history_items)
		return;
	l->history = th_history_free(l->history);
	l->history_due = true;
}

enum th_code th_live_append(struct th_live *l, enum th_event_kind kind, enum th_source source,
			    uint64_t cause, struct th_str call, struct th_str data,
			    struct th_err *err)
{
	struct th_driver *d = l->driver;
	struct th_commit *commit = filling(d);
	struct th_effects fx TH_UNSET;
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

	if (l->lost)
		return th_fail(err, TH_EFENCED, "another runtime has taken session %s", l->id);
	if (data.len > TH_EVENT_DATA_MAX)
		return th_fail(err, TH_ELIMIT, "the data of a %s event is larger than %zu bytes",
			       th_event_name(kind), TH_EVENT_DATA_MAX);
	code = th_live_history(l, err);
	if (code)
		return code;
	if (!commit || !pending_room(l))
		return th_fail_memory(err);
	ev.call = th_arena_str(&commit->arena, call);
	ev.data = th_arena_str(&commit->arena, data);
	if (commit->arena.no_memory)
		return th_fail_memory(err);
	if (!ev.data.ptr || !ev.call.ptr)
		return th_fail(err, TH_ELIMIT, "too much waits to be written");
	d->world.ops->random(d->world.ctx, random, sizeof(random));
	ev.id = th_uuid7((uint64_t)ev.ts_ms, random);
	code = th_session_step(&l->fold, &ev, &fx, err);
	if (code == TH_OK && kind == TH_EV_MESSAGE && !set_title(l, data))
		code = th_fail_memory(err);
	/* The fold is then of no use, nor what waits to be written with it. */
	if (code == TH_ENOMEM) {
		l->pending.count = 0;
		th_live_lose(l, err);
	}
	if (code)
		return code;
	pending_add(l, &ev);
	make_dirty(l);
	queue_effects(l, &fx);
	if (l->history)
		code = th_history_add(l->history, &ev, err);
	if (!code && (l->fold.agent != l->speaks || kind == TH_EV_SESSION_CREATED))
		code = th_live_dress(l, err);
	if (!code && l->fold.rewritten_seq == ev.seq) {
		l->history = th_history_free(l->history);
		l->history_due = true;
	}
	if (!code && (kind == TH_EV_MODEL_REQUESTED || l->fold.task_seq == ev.seq))
		retire_history(l);
	if (!code && l->lost)
		code = th_fail_memory(err);
	if (code)
		th_live_lose(l, err);
	return code;
}

void th_live_write(struct th_live *l, enum th_event_kind kind, enum th_source source,
		   uint64_t cause, struct th_str call, struct th_str data)
{
	struct th_err err = { 0 };

	if (l->lost)
		return;
	if (th_live_append(l, kind, source, cause, call, data, &err))
		th_live_lose(l, &err);
}

void th_live_lose(struct th_live *l, const struct th_err *err)
{
	struct th_handle h = handle_of(l);

	if (l->lost)
		return;
	l->lost = true;
	l->held_count = 0;
	l->queue_at = l->queue_count = 0;
	th_live_model_cancel(l, false);
	if (l->observer.rest)
		l->observer.rest(l->observer.ctx, h, &l->fold, err);
}

/* ---- effects ----------------------------------------------------------------------------- */

static void write_final(struct th_live *l)
{
	struct th_session *s = &l->fold;
	struct th_buf data;
	struct th_jw w;

	th_buf_init(&data, TH_EVENT_DATA_MAX);
	w = th_jw(&data);
	th_jw_object(&w);
	th_jw_kstr(&w, "output", th_buf_str(&s->final));
	th_jw_kstr(&w, "status", s->final_refusal ? TH_STR("refused") : TH_STR("finished"));
	if (s->instead >= 0) {
		const struct th_member *m = th_session_member(s);

		th_jw_kstr(&w, "instead_of",
			   th_str_of(th_instead_name((enum th_instead)s->instead)));
		th_jw_kbool(&w, "in_history", m->instead[s->instead].in_history);
	}
	th_jw_object_end(&w);
	th_live_write(l, TH_EV_FINAL, TH_SOURCE_AGENT, s->answer_seq, TH_STR(""),
		      th_buf_str(&data));
	th_buf_deinit(&data);
}

static void write_failure(struct th_live *l, const struct th_effect *fx)
{
	struct th_session *s = &l->fold;
	/* Who gave up has said why; else what stopped the run is known. */
	struct th_str why =
	    th_utf8_cut(th_buf_str(s->final_failure ? &s->final : &s->reason), TH_ERR_MSG_MAX);
	struct th_buf text;

	th_buf_init(&text, 4 * TH_KIB);
	if (fx->class) { /* whatever was said since, this is why */
		th_buf_add(&text, th_utf8_cut(th_buf_str(&s->trip), 4000));
	} else {
		th_buf_add_cstr(&text, fx->reason);
		if (why.len > 0) {
			th_buf_add_cstr(&text, ": ");
			th_buf_add(&text, why);
		}
	}
	th_live_fail(l, fx->class ? fx->class : "model", th_buf_str(&text));
	th_buf_deinit(&text);
}

static enum th_code write_state(struct th_live *l, enum th_state to, struct th_str reason,
				struct th_err *err)
{
	struct th_buf data;
	struct th_jw w;
	enum th_code code;

	th_buf_init(&data, TH_EVENT_DATA_MAX);
	w = th_jw(&data);
	th_jw_object(&w);
	th_jw_kstr(&w, "to", th_str_of(th_state_name(to)));
	if (reason.len)
		th_jw_kstr(&w, "reason", reason);
	th_jw_object_end(&w);
	code = th_live_append(l, TH_EV_STATE_CHANGED,
			      to == TH_STATE_LIMIT ? TH_SOURCE_ENVIRONMENT : TH_SOURCE_OPERATOR, 0,
			      TH_STR(""), th_buf_str(&data), err);
	th_buf_deinit(&data);
	return code;
}

static struct th_call *call_by_seq(struct th_live *l, uint64_t call_seq)
{
	for (size_t i = 0; i < l->fold.call_count; i++)
		if (l->fold.calls[i].call_seq == call_seq)
			return &l->fold.calls[i];
	return NULL;
}

bool th_live_later(struct th_live *l)
{
	for (size_t i = 0; i < l->held_count; i++)
		if (l->held[i].kind == TH_DO_REQUEST)
			return true;
	hold(l, TH_DO_REQUEST, l->fold.seq, 0);
	make_dirty(l);
	return true;
}

void th_live_hold_hand_over(struct th_live *l, const struct th_call *c)
{
	hold(l, TH_DO_HAND_OVER, l->fold.seq, c->call_seq);
	make_dirty(l);
}

/* What it looks at is durable before it is asked. */
static void guard(struct th_live *l, const struct th_effect *fx, const struct th_call *c)
{
	struct th_held held = {
		.kind = TH_DO_GUARD, .seq = l->fold.seq, .stage = fx->stage, .guard = fx->guard
	};

	if (fx->stage == TH_GUARD_TOOL_INPUT || fx->stage == TH_GUARD_TOOL_OUTPUT)
		held.call_seq = c->call_seq;
	hold_as(l, &held);
	make_dirty(l);
}

static void perform(struct th_live *l, const struct th_effect *fx)
{
	struct th_driver *d = l->driver;
	struct th_session *s = &l->fold;
	struct th_call *c = fx->call < s->call_count ? &s->calls[fx->call] : NULL;
	struct th_err err;

	switch (fx->kind) {
	case TH_DO_RECORD:
		th_live_record(l, c);
		break;
	case TH_DO_ASK:
		th_live_ask(l, c);
		break;
	case TH_DO_REFUSE:
		th_live_refuse(l, c);
		break;
	case TH_DO_INTEND:
		th_live_intend(l, c);
		break;
	case TH_DO_CONCLUDE:
		th_live_conclude(l, c);
		break;
	case TH_DO_REQUEST:
		th_live_request(l);
		break;
	case TH_DO_FINISH:
		write_final(l);
		break;
	case TH_DO_FAIL:
		write_failure(l, fx);
		break;
	case TH_DO_LIMIT:
		if (write_state(l, TH_STATE_LIMIT, th_str_of(fx->reason), &err))
			th_live_lose(l, &err);
		break;
	case TH_DO_MODEL_CALL:
		hold(l, fx->kind, s->request_seq, 0);
		make_dirty(l);
		break;
	case TH_DO_NOTIFY:
		hold(l, fx->kind, s->seq, 0);
		make_dirty(l);
		break;
	case TH_DO_TOOL_RUN:
		hold(l, fx->kind, c->intent_seq, c->call_seq);
		make_dirty(l);
		break;
	case TH_DO_CORRECT:
		th_live_correct(l);
		break;
	case TH_DO_GUARD:
		guard(l, fx, c);
		break;
	case TH_DO_HAND_OVER:
		hold(l, fx->kind, s->seq, c->call_seq);
		make_dirty(l);
		break;
	case TH_DO_TOOL_USE:
		hold(l, fx->kind, s->seq, 0);
		make_dirty(l);
		break;
	case TH_DO_MODEL_CANCEL:
		th_live_model_cancel(l, true);
		break;
	case TH_DO_TOOL_SETTLE:
		th_live_tool_run(l, c, true);
		break;
	case TH_DO_TOOL_CANCEL:
		th_live_tool_cancel(l, c);
		break;
	case TH_DO_TIMER_SET:
		d->world.ops->timer(d->world.ctx, th_live_ticket(l, s->seq), fx->retry_in_ms);
		break;
	case TH_EFFECT_COUNT:
		assert(false && "no such effect");
	}
}

void th_live_pump(struct th_live *l)
{
	if (l->pumping)
		return;
	l->pumping = true;
	while (l->queue_at < l->queue_count && !l->lost) {
		struct th_effect fx = l->queue[l->queue_at++];

		perform(l, &fx);
	}
	if (l->queue_at == l->queue_count) {
		free(l->queue);
		l->queue = NULL;
		l->queue_at = l->queue_count = l->queue_cap = 0;
	}
	l->pumping = false;
}

/* What waited for events up to durable_seq may happen now.  The session may be gone afterwards. */
static void release_held(struct th_driver *d, struct th_handle h)
{
	struct th_live *l = find(d, h);
	size_t done = 0;

	while (l && !l->lost && done < l->held_count && l->held[done].seq <= l->durable_seq) {
		struct th_held held = l->held[done++];
		struct th_call *c = held.call_seq ? call_by_seq(l, held.call_seq) : NULL;

		if (done == l->held_count)
			done = l->held_count = 0;
		/* A later request may have taken its place, and is not durable yet. */
		if (held.kind == TH_DO_MODEL_CALL && l->history_due &&
		    l->durable_seq < l->fold.seq) {
			/* It is made of the whole log; held again, it is still of its request. */
			hold(l, held.kind, l->fold.seq, held.call_seq ?: held.seq);
		} else if (held.kind == TH_DO_MODEL_CALL &&
			   (held.call_seq ?: held.seq) == l->fold.request_seq) {
			th_live_model_call(l);
		} else if (held.kind == TH_DO_REQUEST && l->fold.phase == TH_TURN_DUE &&
			   !l->fold.correct && l->fold.state == TH_STATE_RUNNING) {
			th_live_request(l);
			l = find(d, h);
		} else if (held.kind == TH_DO_TOOL_RUN && c && c->phase == TH_CALL_INTENDED) {
			th_live_tool_run(l, c, false);
		} else if (held.kind == TH_DO_GUARD) {
			th_live_guard(l, &held);
		} else if (held.kind == TH_DO_HAND_OVER && c) {
			th_live_hand_over(l, c);
		} else if (held.kind == TH_DO_TOOL_USE) {
			th_live_tool_use(l);
		} else if (held.kind == TH_DO_NOTIFY && th_session_rests(&l->fold) &&
			   l->durable_seq < l->fold.seq) {
			hold(l, held.kind, l->fold.seq, 0); /* told when all of it is durable */
		} else if (held.kind == TH_DO_NOTIFY && th_session_rests(&l->fold) &&
			   l->observer.rest) {
			l->observer.rest(l->observer.ctx, h, &l->fold, NULL);
			l = find(d, h);
		}
	}
	if (!l)
		return;
	if (done > 0 && l->held_count >= done) {
		memmove(l->held, l->held + done, (l->held_count - done) * sizeof(*l->held));
		l->held_count -= done;
	}
	th_live_pump(l);
}

/* ---- flush ------------------------------------------------------------------------------- */

static void forget_effects(struct th_driver *d, const struct th_append *a)
{
	struct th_str ids[16];
	size_t count = 0;

	for (size_t i = 0; i < a->event_count; i++) {
		struct th_str raw;

		if (a->events[i].kind != TH_EV_OUTCOME)
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

static void append_done(struct th_driver *d, struct th_handle h, const struct th_append *a)
{
	struct th_live *l = find(d, h);
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
	for (size_t i = 0; l && i < a->event_count && l->observer.event; i++) {
		l->observer.event(l->observer.ctx, h, &a->events[i]);
		l = find(d, h);
	}
	forget_effects(d, a);
	release_held(d, h);
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
			struct th_live *l = find(d, c->handles[i]);

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
		.agent = th_arena_str(&c->arena, s->agent_name),
		.model = th_arena_str(&c->arena, s->model),
		.state = th_str_of(th_state_name(s->state)),
		.title = keep(c, l->title),
		.parent = keep(c, l->parent),
		.parent_seq = l->parent_seq,
		.head_seq = s->seq,
		.head = l->head,
		.iteration = s->totals.turns,
		.calls = s->totals.calls,
		.tokens_in = s->totals.tokens_in,
		.tokens_out = s->totals.tokens_out,
		.cost_nano = s->totals.cost_nano,
		.epoch = l->epoch,
		.created_ms = l->created_ms ? l->created_ms : s->created_ms,
		.updated_ms = s->updated_ms,
		.metadata = keep(c, l->metadata ? l->metadata : "{}"),
	};
}

/* False: out of memory, and nothing happened. */
static bool fill_append(struct th_commit *c, struct th_live *l, struct th_append *a)
{
	struct th_pending *p = &l->pending;
	struct th_session_row *row = TH_NEW(&c->arena, struct th_session_row);
	struct th_event *events = th_arena_array(&c->arena, p->count, sizeof(*events));
	struct th_digest *digests = th_arena_array(&c->arena, p->count, sizeof(*digests));

	if (row && events && digests)
		fill_row(c, l, row);
	if (c->arena.no_memory)
		return false;
	assert(row && events && digests);
	memcpy(events, p->events, p->count * sizeof(*events));
	memcpy(digests, p->digests, p->count * sizeof(*digests));
	*a = (struct th_append){
		.create = p->create,
		.row = row,
		.seq_before = p->seq_before,
		.head_before = p->head_before,
		.events = events,
		.digests = digests,
		.event_count = p->count,
	};
	/* Between two flushes of a session lies a request or an effect: its list is small, and it
	 * would lie about in thousands of sessions. */
	free(p->events);
	free(p->digests);
	p->events = NULL;
	p->digests = NULL;
	p->count = p->cap = 0;
	p->create = false;
	return true;
}

/* Nothing of what waits can be written: as if the process had died, for these sessions. */
static void flush_failed(struct th_driver *d, struct th_commit *c, struct th_live *list)
{
	for (struct th_live *l = list, *next; l; l = next) {
		next = l->dirty_next;
		l->dirty = false;
		l->pending.count = 0;
		live_no_memory(l);
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
	struct th_live *list = d->dirty;

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

			if (!fill_append(c, l, a)) {
				c->arena.no_memory = false; /* the next one may fit */
				l->pending.count = 0;
				live_no_memory(l);
				continue;
			}
			c->handles[c->batch.append_count++] = handle_of(l);
			l->commits++;
		} else if (l->commits == 0) {
			idle[idle_count++] = handle_of(l);
		}
	}
	d->filling = NULL;
	/* Effects of events that were durable already: they wait for nothing. */
	for (size_t i = 0; i < idle_count; i++)
		release_held(d, idle[i]);
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
	if (!c || !room(&c->blobs, c->blob_count, &c->blob_cap, 1, sizeof(*c->blobs)))
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

/* ---- life of a driver and its sessions --------------------------------------------------- */

struct th_driver *th_driver_new(const struct th_world *world, struct th_str build)
{
	struct th_driver *d = th_try_alloc(sizeof(*d));

	if (!d)
		return NULL;
	d->world = *world;
	return copy(build, &d->build) ? d : th_driver_free(d);
}

static void commit_free(struct th_commit *c)
{
	th_arena_deinit(&c->arena);
	free(c->blobs);
	free(c);
}

struct th_driver *th_driver_free(struct th_driver *d)
{
	if (!d)
		return NULL;
	for (uint32_t i = 0; i < d->live_cap; i++)
		if (d->lives[i])
			th_driver_close(d, handle_of(d->lives[i]));
	while (d->spare) {
		struct th_commit *next = d->spare->next;

		commit_free(d->spare);
		d->spare = next;
	}
	if (d->filling)
		commit_free(d->filling);
	th_driver_texts_free(d);
	free(d->lives);
	free(d->build);
	free(d);
	return NULL;
}

static void created_data(const struct th_outfit *outfit,
			 const struct th_ev_session_created *created, struct th_buf *data)
{
	struct th_ev_session_created d = *created;
	struct th_buf agent;
	struct th_jw w;

	th_buf_init_try(&agent, TH_EVENT_DATA_MAX);
	if (!d.agent.len) {
		w = th_jw(&agent);
		th_table_print(&th_agent_table, outfit->agent, &w);
		d.agent = th_buf_str(&agent);
	}
	if (!d.model.len)
		d.model = outfit->first.model;
	w = th_jw(data);
	th_table_print(&th_ev_session_created_table, &d, &w);
	data->failed |= agent.failed;
	data->no_memory |= agent.no_memory;
	th_buf_deinit(&agent);
}

enum th_code th_driver_create(struct th_driver *d, struct th_str session_id,
			      const struct th_outfit *outfit,
			      const struct th_ev_session_created *created,
			      const struct th_observer *observer, struct th_handle *ret,
			      struct th_err *err)
{
	struct th_live *l;
	struct th_buf data;
	enum th_code code = live_new(d, session_id, observer, &l, err);

	if (code)
		return code;
	code = live_fit(l, outfit, err);
	if (code) {
		live_free(l);
		return code;
	}
	l->epoch = 1;
	l->pending.create = true;
	th_buf_init_try(&data, TH_EVENT_DATA_MAX);
	created_data(outfit, created, &data);
	code = th_buf_check(&data, "the agent's definition", err);
	if (!code && (!copy(created->user, &l->user) || !copy(created->metadata, &l->metadata)))
		code = th_fail_memory(err);
	if (!code)
		code = th_live_append(l, TH_EV_SESSION_CREATED, TH_SOURCE_OPERATOR, 0, TH_STR(""),
				      th_buf_str(&data), err);
	th_buf_deinit(&data);
	if (code) {
		l->observer = (struct th_observer){ 0 }; /* nobody has heard of it */
		live_drop(l);
		return code;
	}
	*ret = handle_of(l);
	th_live_pump(l);
	return TH_OK;
}

struct folding {
	struct th_live *live;
	struct th_digest head;
	th_outfit_fn *fit; /* called with the first event */
	void *fit_ctx;
};

static enum th_code fit_given(void *ctx, const struct th_event *first, struct th_outfit *ret,
			      struct th_err *err)
{
	(void)first;
	(void)err;
	*ret = *(const struct th_outfit *)ctx;
	return TH_OK;
}

/* What its code said before: the next try of the same turn says it again. */
static void recall_instructions(struct th_live *l, struct th_str data)
{
	struct th_str raw = th_json_raw_get(data, "instructions");
	struct th_buf text;

	if (!raw.len)
		return;
	th_buf_init(&text, TH_EVENT_DATA_MAX);
	if (th_json_unescape(raw, &text))
		th_live_instruct(l, th_buf_str(&text), false);
	th_buf_deinit(&text);
}

static enum th_code fold_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	struct folding *f = ctx;
	struct th_outfit outfit = { 0 };
	struct th_effects fx TH_UNSET;
	enum th_code code;

	if (f->live->fold.seq == 0) {
		code = f->fit(f->fit_ctx, ev, &outfit, err);
		if (!code)
			code = live_fit(f->live, &outfit, err);
		if (code)
			return code;
	}
	f->head = *digest;
	code = th_session_step(&f->live->fold, ev, &fx, err);
	if (!code && (f->live->fold.agent != f->live->speaks || ev->kind == TH_EV_SESSION_CREATED))
		code = th_live_dress(f->live, err);
	if (!code && ev->kind == TH_EV_MODEL_REQUESTED)
		recall_instructions(f->live, ev->data);
	return code;
}

static enum th_code open_row(struct th_driver *d, const struct th_session_row *row,
			     th_outfit_fn *fit, void *fit_ctx, const struct th_observer *observer,
			     struct th_live **ret, struct th_err *err)
{
	struct folding f = { .fit = fit, .fit_ctx = fit_ctx };
	struct th_live *l;
	size_t named;
	bool fork = row->head_seq == row->parent_seq && row->parent.len > 0;
	enum th_code code = live_new(d, row->session_id, observer, &l, err);

	if (code)
		return code;
	f.live = l;
	code = d->world.ops->read(d->world.ctx, fork ? row->parent : row->session_id, 1,
				  row->head_seq, fold_event, &f, err);
	if (!code && (l->fold.seq != row->head_seq || l->fold.seq == 0))
		code =
		    th_fail(err, TH_ECORRUPT, "the log ends at event %llu, but its row says %llu",
			    (unsigned long long)l->fold.seq, (unsigned long long)row->head_seq);
	/* Who answered is known by its place in the list. */
	named = l->fold.seq ? th_session_member(&l->fold)->fallback.count : 0;
	if (!code && named != l->outfit->agent->fallback.count)
		code = th_fail(err, TH_EUSAGE,
			       "the log's agent has %zu models to fall back to, the one given %zu",
			       named, l->outfit->agent->fallback.count);
	if (!code && (!copy(row->user, &l->user) || !copy(row->title, &l->title) ||
		      !copy(row->parent, &l->parent) || !copy(row->metadata, &l->metadata)))
		code = th_fail_memory(err);
	if (code) {
		live_free(l);
		return th_prefix(err, code, "session %.*s", TH_FMT(row->session_id));
	}
	live_turn_to(l, l->fold.model_at);
	l->history_due = false; /* nothing waits: it can be made at once */
	l->head = f.head;
	l->epoch = row->epoch;
	l->created_ms = row->created_ms;
	l->durable_seq = row->head_seq;
	l->parent_seq = row->parent_seq;
	*ret = l;
	return TH_OK;
}

enum th_code th_driver_open_by(struct th_driver *d, const struct th_session_row *row,
			       th_outfit_fn *fit, void *fit_ctx, const struct th_observer *observer,
			       struct th_handle *ret, struct th_err *err)
{
	struct th_live *l;
	enum th_code code = open_row(d, row, fit, fit_ctx, observer, &l, err);

	if (!code)
		*ret = handle_of(l);
	return code;
}

enum th_code th_driver_open(struct th_driver *d, const struct th_session_row *row,
			    const struct th_outfit *outfit, const struct th_observer *observer,
			    struct th_handle *ret, struct th_err *err)
{
	struct th_outfit given = *outfit;

	return th_driver_open_by(d, row, fit_given, &given, observer, ret, err);
}

static enum th_code fork_history(struct th_live *l, struct th_err *err)
{
	struct th_driver *d = l->driver;

	l->history_due = th_live_history_odd(l); /* of what is left of the prefix, by a request */
	if (l->history_due)
		return TH_OK;
	l->history = th_history_new(&l->options);
	if (!l->history)
		return th_fail_memory(err);
	return d->world.ops->read(d->world.ctx, th_str_of(l->parent), 1, l->parent_seq,
				  history_fill, l->history, err);
}

enum th_code th_driver_fork(struct th_driver *d, const struct th_session_row *row,
			    const struct th_outfit *outfit, const struct th_observer *observer,
			    struct th_handle *ret, struct th_err *err)
{
	struct th_ev_session_forked data = { .parent = row->parent,
					     .seq = (int64_t)row->parent_seq };
	struct th_outfit given = *outfit;
	struct th_live *l;
	struct th_buf text;
	struct th_jw w;
	enum th_code code = open_row(d, row, fit_given, &given, observer, &l, err);

	if (code)
		return code;
	l->epoch = 1;
	l->created_ms = d->world.ops->now_ms(d->world.ctx);
	l->pending.create = true;
	code = fork_history(l, err);
	th_buf_init_try(&text, TH_EVENT_DATA_MAX);
	w = th_jw(&text);
	th_table_print(&th_ev_session_forked_table, &data, &w);
	if (!code)
		code = th_buf_check(&text, "a fork", err);
	if (!code)
		code = th_live_append(l, TH_EV_SESSION_FORKED, TH_SOURCE_OPERATOR, 0, TH_STR(""),
				      th_buf_str(&text), err);
	th_buf_deinit(&text);
	if (code) {
		l->observer = (struct th_observer){ 0 };
		live_drop(l);
		return code;
	}
	/* What the prefix left open waits for a resume. */
	l->queue_at = l->queue_count = 0;
	*ret = handle_of(l);
	return TH_OK;
}

enum th_code th_driver_resume(struct th_driver *d, struct th_handle h, struct th_err *err)
{
	struct th_live *l = find(d, h);
	struct th_effects fx;
	enum th_code code;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	code = th_live_check_calls(l, err);
	if (code)
		return th_prefix(err, code, "session %s", l->id);
	if (l->fold.state == TH_STATE_PAUSED) {
		code = write_state(l, TH_STATE_RUNNING, TH_STR("resumed"), err);
		if (code)
			return code;
		/* What was under way before the pause is settled, not started anew. */
		l->queue_at = l->queue_count = 0;
	}
	th_session_resume(&l->fold, &fx);
	queue_effects(l, &fx);
	th_live_pump(l);
	return TH_OK;
}

void th_driver_close(struct th_driver *d, struct th_handle h)
{
	struct th_live *l = find(d, h);

	if (!l)
		return;
	th_live_model_cancel(l, false);
	th_live_ending_free(l);
	if (l->dirty && l->pending.count > 0)
		th_driver_flush(d);
	live_drop(l);
}

/* ---- inputs ------------------------------------------------------------------------------ */

enum th_code th_driver_message(struct th_driver *d, struct th_handle h, struct th_str text,
			       struct th_err *err)
{
	struct th_live *l = find(d, h);
	struct th_buf data;
	struct th_jw w;
	enum th_code code;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	if (text.len > TH_MESSAGE_MAX)
		return th_fail(err, TH_ELIMIT, "a message has at most %zu bytes, this one has %zu",
			       TH_MESSAGE_MAX, text.len);
	code = th_live_history(l, err);
	if (code)
		return code;
	if (l->history && th_history_full(l->history))
		return th_fail(err, TH_ELIMIT,
			       "%d messages wait already for the agent to read them",
			       TH_HELD_MESSAGES_MAX);
	th_buf_init(&data, TH_EVENT_DATA_MAX * 2);
	w = th_jw(&data);
	th_jw_object(&w);
	th_jw_kstr(&w, "role", TH_STR("user"));
	th_jw_kstr(&w, "content", text);
	th_jw_object_end(&w);
	code =
	    th_live_append(l, TH_EV_MESSAGE, TH_SOURCE_USER, 0, TH_STR(""), th_buf_str(&data), err);
	th_buf_deinit(&data);
	if (!code)
		th_live_pump(l);
	return code;
}

/* An event of a person, from a table. */
static enum th_code put_in(struct th_live *l, enum th_event_kind kind, enum th_source source,
			   const void *in, struct th_err *err)
{
	struct th_buf data;
	struct th_jw w;
	enum th_code code;

	th_buf_init(&data, TH_EVENT_DATA_MAX);
	w = th_jw(&data);
	th_table_print(th_event_table(kind), in, &w);
	code = th_buf_check(&data, th_event_name(kind), err);
	if (!code)
		code = th_live_append(l, kind, source, 0, TH_STR(""), th_buf_str(&data), err);
	th_buf_deinit(&data);
	if (!code)
		th_live_pump(l);
	return code;
}

enum th_code th_driver_items_add(struct th_driver *d, struct th_handle h, struct th_str items,
				 bool begins, struct th_err *err)
{
	const struct th_ev_items_added data = { .items = items, .begins = begins };
	struct th_live *l = find(d, h);
	struct th_json_doc *doc = NULL;
	enum th_code code;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	code = th_json_parse(items, &doc, err);
	if (!code)
		code = th_items_check(th_json_root(doc), err);
	th_json_free(doc);
	if (code)
		return th_prefix(err, code, "items");
	return put_in(l, TH_EV_ITEMS_ADDED, TH_SOURCE_USER, &data, err);
}

enum th_code th_driver_items_remove(struct th_driver *d, struct th_handle h, int64_t count,
				    struct th_err *err)
{
	const struct th_ev_items_removed data = { .count = count };
	struct th_live *l = find(d, h);

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	return put_in(l, TH_EV_ITEMS_REMOVED, TH_SOURCE_USER, &data, err);
}

enum th_code th_driver_decide(struct th_driver *d, struct th_handle h, struct th_str call_id,
			      bool approve, struct th_str by, struct th_str message,
			      struct th_err *err)
{
	return th_driver_decide_as(d, h, call_id, approve, false, by, message, err);
}

enum th_code th_driver_decide_as(struct th_driver *d, struct th_handle h, struct th_str call_id,
				 bool approve, bool always, struct th_str by, struct th_str message,
				 struct th_err *err)
{
	struct th_live *l = find(d, h);
	const struct th_call *c;
	struct th_ev_approval_decided decided = {
		.approve = approve, .always = always, .by = by, .message = message
	};
	struct th_buf data;
	struct th_jw w;
	enum th_code code;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	c = th_session_waits(&l->fold, TH_CALL_ASKED, call_id);
	if (!c)
		return th_fail(err, TH_ENOENT, "no call %.*s waits for a decision",
			       TH_FMT(th_utf8_cut(call_id, 80)));
	decided.call_id = c->call_id;
	decided.digest = th_str_of(c->digest);
	th_buf_init(&data, TH_EVENT_DATA_MAX);
	w = th_jw(&data);
	th_table_print(&th_ev_approval_decided_table, &decided, &w);
	code = th_live_append(l, TH_EV_APPROVAL_DECIDED, TH_SOURCE_USER, c->call_seq, c->call_id,
			      th_buf_str(&data), err);
	th_buf_deinit(&data);
	if (!code)
		th_live_pump(l);
	return code;
}

enum th_code th_driver_settle(struct th_driver *d, struct th_handle h, struct th_str call_id,
			      enum th_outcome_status status, struct th_str by,
			      struct th_str message, struct th_err *err)
{
	struct th_live *l = find(d, h);
	const struct th_call *c;
	struct th_ev_settled settled = { .status = th_str_of(th_outcome_name(status)),
					 .by = by,
					 .message = message };
	struct th_buf data;
	struct th_jw w;
	enum th_code code;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	c = th_session_waits(&l->fold, TH_CALL_PARKED, call_id);
	if (!c)
		return th_fail(err, TH_ENOENT, "no call %.*s waits for a word about its outcome",
			       TH_FMT(th_utf8_cut(call_id, 80)));
	settled.call_id = c->call_id;
	settled.effect_id = c->effect_id;
	th_buf_init(&data, TH_EVENT_DATA_MAX);
	w = th_jw(&data);
	th_table_print(&th_ev_settled_table, &settled, &w);
	code = th_live_append(l, TH_EV_SETTLED, TH_SOURCE_USER, c->intent_seq, c->call_id,
			      th_buf_str(&data), err);
	th_buf_deinit(&data);
	if (!code)
		th_live_pump(l);
	return code;
}

enum th_code th_driver_set_state(struct th_driver *d, struct th_handle h, enum th_state to,
				 struct th_str reason, struct th_err *err)
{
	struct th_live *l = find(d, h);
	enum th_code code;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	code = write_state(l, to, reason, err);
	if (!code)
		th_live_pump(l);
	return code;
}

const struct th_session *th_driver_session(const struct th_driver *d, struct th_handle h)
{
	const struct th_live *l = find(d, h);

	return l ? &l->fold : NULL;
}

struct th_str th_driver_session_id(const struct th_driver *d, struct th_handle h)
{
	const struct th_live *l = find(d, h);

	return l ? th_str_of(l->id) : TH_STR("");
}

bool th_driver_durable(const struct th_driver *d, struct th_handle h)
{
	const struct th_live *l = find(d, h);

	return !l || l->lost || l->durable_seq == l->fold.seq;
}

int th_driver_answered(const struct th_driver *d, struct th_ticket t)
{
	const struct th_live *l = find(d, (struct th_handle){ t.index, t.generation });

	if (!l || l->lost)
		return -1;
	if (l->durable_seq != l->fold.seq)
		return 0;
	return l->fold.answer_seq > t.seq ? 1 : -1;
}

bool th_driver_idle(const struct th_driver *d)
{
	return !d->dirty && d->commits == 0;
}

size_t th_driver_count(const struct th_driver *d)
{
	return d->live_count;
}

void th_driver_timer(struct th_driver *d, struct th_ticket t)
{
	struct th_live *l = th_live_find(d, t.index, t.generation);
	struct th_effects fx;

	if (!l || l->lost)
		return;
	th_live_grounds_wake(l);
	th_live_poll(l);
	th_session_wake(&l->fold, &fx);
	queue_effects(l, &fx);
	th_live_pump(l);
}
