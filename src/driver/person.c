/* SPDX-License-Identifier: Apache-2.0 */
/* person.c - see person.h. */
#include "driver/person.h"

#include <stdlib.h>

#include "driver/delegate.h"
#include "driver/driver.h"
#include "driver/observation.h"
#include "history/history.h"
#include "live/log.h"
#include "live/queue.h"

/* The part of a ticket says what of the person's it is. */
enum part { PART_INPUT, PART_LOOK, PART_GIVE };

enum at { AT_NOTHING, AT_WAITS, AT_INPUT, AT_LOOK, AT_GIVES };

struct th_takeover {
	enum at at;
	uint64_t count; /* of looks */
	struct th_arena memory;
	struct th_str by, tool, arguments, note, reason;
	int64_t timeout_ms;
	th_person_fn *fn;
	void *ctx;
	bool give_after; /* once the input is over */
	bool given_up;   /* the input */
	bool holds;      /* somebody took over since this session was opened */
};

static struct th_takeover *person_of(struct th_live *l)
{
	if (!l->person) {
		l->person = th_alloc(sizeof(*l->person));
		th_arena_init(&l->person->memory, 4 * TH_EVENT_DATA_MAX);
	}
	return l->person;
}

void th_live_person_free(struct th_live *l)
{
	if (!l->person)
		return;
	th_arena_deinit(&l->person->memory);
	free(l->person);
	l->person = NULL;
}

static const struct th_session_control *control_of(const struct th_live *l)
{
	return th_session_control(&l->fold);
}

bool th_live_taken(const struct th_live *l)
{
	return control_of(l)->taken;
}

static struct th_ticket ticket_of(const struct th_live *l, enum part part, uint64_t seq)
{
	struct th_ticket t = th_live_ticket_of(l, TH_TICKET_PERSON, seq);

	t.part = part;
	return t;
}

static const struct th_tool_row *row_of(const struct th_live *l, struct th_str tool)
{
	const struct th_session_config *c = l->session_config;

	if (th_str_is(tool, "computer"))
		return c->computer;
	for (size_t i = 0; i < c->tool_count; i++)
		if (th_str_eq(c->tools[i].spec.name, tool))
			return &c->tools[i];
	return NULL;
}

bool th_driver_has_tool(struct th_driver *d, struct th_handle h, struct th_str name)
{
	const struct th_live *l = th_driver_find(d, h);

	return l && row_of(l, name) && !row_of(l, name)->command;
}

/* ---- taken ---- */

enum th_code th_driver_take(struct th_driver *d, struct th_handle h, struct th_str by,
			    struct th_err *err)
{
	const struct th_ev_control data = { .taken = true, .by = by };
	struct th_live *l = th_driver_find(d, h);
	enum th_code code;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	if (control_of(l)->taken && person_of(l)->holds)
		return th_fail(err, TH_EBUSY, "%.*s has taken over",
			       TH_FMT(th_buf_str(&control_of(l)->by)));
	code = th_live_append_event(l, TH_EV_CONTROL, TH_SOURCE_USER, 0, TH_STR(""), &data, err);
	if (code)
		return code;
	person_of(l)->holds = true;
	if (control_of(l)->from_run)
		th_live_delegates_state(l, TH_STATE_PAUSED, TH_STR("a person has taken over"));
	th_live_pump(l);
	return TH_OK;
}

/* ---- inputs ---- */

static void answer(struct th_takeover *p, const struct th_effect_result *r)
{
	th_person_fn *fn = p->fn;
	void *ctx = p->ctx;

	p->at = AT_NOTHING;
	p->fn = NULL;
	if (fn)
		fn(ctx, r);
}

static void write_input(struct th_live *l, struct th_str journal)
{
	struct th_takeover *p = l->person;
	char id[33], digest[TH_SHA256_HEX_SIZE + 1];
	struct th_ev_input data = {
		.by = p->by,
		.tool = p->tool,
		.arguments = p->arguments,
		.class = th_str_of(th_class_name(TH_CLASS_W)),
		.epoch = l->epoch,
		.journal = journal,
		.timeout_ms = p->timeout_ms,
	};
	struct th_err err = { 0 };

	th_driver_random_id(l->driver, id);
	th_call_digest(p->tool, p->arguments, digest);
	data.effect_id = th_str_n(id, 32);
	data.digest = th_str_of(digest);
	p->at = AT_INPUT;
	if (th_live_append_event(l, TH_EV_INPUT, TH_SOURCE_USER, 0, TH_STR(""), &data, &err)) {
		struct th_buf output TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(16 * TH_KIB);
		struct th_effect_result r = { .status = TH_OUTCOME_REFUSED, .code = err.code };
		struct th_jw w = th_jw(&output);

		th_jw_str(&w, th_str_of(err.msg)); /* the agent went on meanwhile */
		r.output = th_buf_str(&output);
		r.why = th_str_of(err.msg);
		answer(p, &r);
	}
}

void th_live_person_ready(struct th_live *l)
{
	struct th_str journal;

	if (!l->person || l->person->at != AT_WAITS)
		return;
	if (l->driver->world.ops->tool_ready(l->driver->world.ctx,
					     ticket_of(l, PART_INPUT, l->fold.seq), &journal))
		write_input(l, journal);
}

static void look(struct th_live *l, struct th_takeover *p)
{
	const struct th_tool_row *row = row_of(l, p->tool);
	struct th_ticket t = ticket_of(l, PART_LOOK, ++p->count);
	struct th_effect_call call = { .epoch = l->epoch,
				       .tool = p->tool,
				       .arguments = p->arguments,
				       .class = TH_CLASS_R,
				       .timeout_ms = p->timeout_ms };
	char id[33];

	p->at = AT_LOOK;
	if (row && row->local) {
		row->local(row->ctx, l->driver,
			   &(struct th_local_call){ .ticket = t,
						    .tool = p->tool,
						    .arguments = p->arguments,
						    .session_id = th_str_of(l->id),
						    .class = TH_CLASS_R });
		return;
	}
	th_driver_random_id(l->driver, id);
	call.effect_id = th_str_n(id, 32);
	l->driver->world.ops->tool_run(l->driver->world.ctx, t, &call, false);
}

enum th_code th_driver_input(struct th_driver *d, struct th_handle h,
			     const struct th_person_input *in, th_person_fn *fn, void *ctx,
			     struct th_err *err)
{
	struct th_live *l = th_driver_find(d, h);
	const struct th_tool_row *row;
	struct th_takeover *p;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	p = person_of(l);
	if (p->at != AT_NOTHING || control_of(l)->input_seq)
		return th_fail(err, TH_EBUSY, "an input before this one is under way");
	if (in->class != TH_CLASS_R && !th_session_at_rest(&l->fold))
		return th_fail(err, TH_EBUSY, "%s",
			       control_of(l)->taken ? "a call of the agent is still under way"
						    : "the agent is at work; take over first");
	row = row_of(l, in->tool);
	if (row && (row->command || th_row_delegates(row)))
		return th_fail(err, TH_EUNSUPPORTED, "%.*s is the agent's alone",
			       TH_FMT(th_str_sub(in->tool, 0, 64)));
	th_arena_reset(&p->memory);
	p->by = th_arena_str(&p->memory, in->by);
	p->tool = th_arena_str(&p->memory, in->tool);
	p->arguments = th_arena_str(&p->memory, in->arguments);
	if (!p->by.ptr || !p->tool.ptr || !p->arguments.ptr ||
	    in->arguments.len > TH_EVENT_DATA_MAX / 2)
		return th_fail(err, TH_ELIMIT, "the input is too large");
	p->timeout_ms = in->timeout_ms;
	p->fn = fn;
	p->ctx = ctx;
	p->given_up = false;
	if (in->class == TH_CLASS_R) {
		look(l, p);
	} else if (row && row->local) {
		write_input(l, TH_STR(""));
	} else {
		p->at = AT_WAITS;
		th_live_person_ready(l);
	}
	th_live_pump(l);
	return TH_OK;
}

/* One that waits, or whose event is not durable yet, does not begin. */
void th_driver_input_cancel(struct th_driver *d, struct th_handle h)
{
	struct th_live *l = th_driver_find(d, h);
	struct th_takeover *p = l ? l->person : NULL;

	if (!p)
		return;
	p->given_up = p->at == AT_WAITS || p->at == AT_INPUT;
	if (p->at == AT_INPUT)
		d->world.ops->tool_cancel(d->world.ctx,
					  ticket_of(l, PART_INPUT, control_of(l)->input_seq));
	else if (p->at == AT_LOOK)
		d->world.ops->tool_cancel(d->world.ctx, ticket_of(l, PART_LOOK, p->count));
}

static void unknown(struct th_live *l, struct th_ticket t)
{
	const struct th_effect_result r = { .status = TH_OUTCOME_UNKNOWN,
					    .output = TH_STR("\"\"") };

	th_live_person_done(l, t, &r);
}

void th_live_input_run(struct th_live *l, bool settle)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = { 0 };
	struct th_ticket t = ticket_of(l, PART_INPUT, control_of(l)->input_seq);
	const struct th_tool_row *row;
	struct th_ev_input in;
	struct th_err err;

	th_arena_init(&a, 4 * TH_EVENT_DATA_MAX);
	if (th_json_parse(th_buf_str(&control_of(l)->input), &doc, &err) ||
	    th_table_parse(th_event_table(TH_EV_INPUT), th_json_root(doc), &a, &in, &err)) {
		th_live_lose(l, &err); /* the fold has read it before */
		return;
	}
	row = row_of(l, in.tool);
	if (!settle && l->person && l->person->given_up) {
		const struct th_effect_result r = { .status = TH_OUTCOME_NOT_STARTED,
						    .output = TH_STR("\"\""),
						    .why =
							TH_STR("it was given up before it began") };

		th_live_person_done(l, t, &r);
		return;
	}
	if (row && row->local && settle) {
		unknown(l, t);
		return;
	}
	if (row && row->local) {
		row->local(row->ctx, l->driver,
			   &(struct th_local_call){ .ticket = t,
						    .tool = in.tool,
						    .arguments = in.arguments,
						    .session_id = th_str_of(l->id),
						    .effect_id = in.effect_id,
						    .class = TH_CLASS_W });
		return;
	}
	const struct th_effect_call call = { .effect_id = in.effect_id,
					     .class = TH_CLASS_W,
					     .tool = in.tool,
					     .arguments = in.arguments,
					     .digest = in.digest,
					     .timeout_ms = in.timeout_ms,
					     .epoch = settle ? in.epoch : l->epoch,
					     .journal = in.journal };

	l->driver->world.ops->tool_run(l->driver->world.ctx, t, &call, settle);
}

/* A text, or the texts of parts. */
static void say_why(const struct th_effect_result *r, struct th_buf *out)
{
	struct th_json_raw_iter it = th_json_raw_iter(r->output);
	struct th_str text;

	if (r->why.len) {
		th_buf_add(out, r->why);
		return;
	}
	if (th_json_unescape(r->output, out))
		return;
	while (th_json_raw_next(&it)) {
		text = th_json_raw_get(it.val, "text");
		if (text.len && !th_json_unescape(text, out))
			return;
	}
}

static void input_over(struct th_live *l, const struct th_effect_result *r)
{
	struct th_takeover *p = person_of(l);
	struct th_buf why TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_ev_input_done data = { .status = th_str_of(th_outcome_name(r->status)),
					 .elapsed_ms = r->elapsed_ms };
	struct th_buf id TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	uint64_t seq = control_of(l)->input_seq;
	struct th_err err;

	if (th_json_unescape(th_json_raw_get(th_buf_str(&control_of(l)->input), "effect_id"), &id))
		data.effect_id = th_buf_str(&id);
	if (r->status != TH_OUTCOME_DONE)
		say_why(r, &why);
	data.why = th_buf_str(&why);
	th_live_write_event(l, TH_EV_INPUT_DONE, TH_SOURCE_ENVIRONMENT, seq, TH_STR(""), &data);
	answer(p, r);
	if (p->give_after && !l->lost) {
		p->give_after = false;
		if (th_live_give_back(l, p->reason, true, &err))
			th_live_lose(l, &err);
	}
}

/* ---- given back ---- */

static void say_what_was(struct th_live *l, const struct th_takeover *p, struct th_buf *text)
{
	const struct th_session_control *c = control_of(l);
	struct th_str by = th_buf_str(&c->by);

	th_buf_printf(text, "%.*s took over the computer and has given it back.",
		      TH_FMT(by.len ? by : TH_STR("A person")));
	if (c->inputs > 0)
		th_buf_printf(text,
			      " Meanwhile the person did something there (%lld %s), so the screen "
			      "may not be as you left it.",
			      (long long)c->inputs, c->inputs == 1 ? "input" : "inputs");
	if (c->doubts > 0)
		th_buf_printf(text, " Of these it is not known of %lld whether they were done.",
			      (long long)c->doubts);
	if (p->note.len)
		th_buf_printf(text, " The person says: %.*s", TH_FMT(p->note));
}

/* `r`: the picture; NULL: none was taken. */
static void print_message(struct th_live *l, const struct th_takeover *p,
			  const struct th_effect_result *r, struct th_buf *content)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_str parts = r && r->status == TH_OUTCOME_DONE ? r->output : TH_STR("[]");
	struct th_json_raw_iter it = th_json_raw_iter(parts);
	struct th_jw w = th_jw(content);

	say_what_was(l, p, &text);
	if (parts.len > 2)
		th_buf_add_cstr(&text, " This is the screen now:");
	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("text"));
	th_jw_kstr(&w, "text", th_buf_str(&text));
	th_jw_object_end(&w);
	while (th_json_raw_next(&it))
		th_jw_raw(&w, it.val);
	th_jw_array_end(&w);
}

/* Event, message and state in one transaction: after a crash it is given back wholly, or taken. */
static enum th_code give_now(struct th_live *l, const struct th_effect_result *r,
			     struct th_err *err)
{
	struct th_buf content TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_takeover *p = l->person;
	const struct th_ev_control data = { .by = p->by, .note = p->note, .reason = p->reason };
	bool tell = p->note.len || l->fold.phase != TH_TURN_REST;
	bool goes_on = control_of(l)->from_run && l->fold.state == TH_STATE_PAUSED;
	struct th_ev_message message = { .role = TH_STR("user") };
	enum th_code code;

	p->at = AT_NOTHING;
	p->holds = false;
	for (size_t i = 0; r && i < r->blob_count; i++) {
		code = th_driver_add_blob(l->driver, &r->blobs[i], err);
		if (code)
			return code;
	}
	print_message(l, p, r, &content);
	code = th_live_append_event(l, TH_EV_CONTROL, TH_SOURCE_USER, 0, TH_STR(""), &data, err);
	if (!code && tell) {
		message.content = th_buf_str(&content);
		code = th_live_append_event(l, TH_EV_MESSAGE, TH_SOURCE_USER, l->fold.seq,
					    TH_STR(""), &message, err);
	}
	if (!code && goes_on) {
		code = th_live_state(l, TH_STATE_RUNNING, TH_STR("given back"), err);
		if (!code)
			th_live_delegates_state(l, TH_STATE_RUNNING, TH_STR("given back"));
	}
	th_live_pump(l);
	return code;
}

static bool wants_picture(const struct th_live *l)
{
	return l->session_config->has_computer && l->resolved->profile->vision;
}

enum th_code th_live_give_back(struct th_live *l, struct th_str reason, bool show,
			       struct th_err *err)
{
	const struct th_observation o = { .tool = TH_STR("computer"),
					  .arguments =
					      TH_STR("{\"actions\":[{\"type\":\"screenshot\"}]}") };
	struct th_takeover *p = person_of(l);

	if (p->at == AT_GIVES)
		return TH_OK;
	if (p->at != AT_NOTHING || control_of(l)->input_seq) {
		p->give_after = true;
		return TH_OK;
	}
	p->reason = th_arena_str(&p->memory, reason);
	if (!show || !wants_picture(l) || (!p->note.len && l->fold.phase == TH_TURN_REST))
		return give_now(l, NULL, err);
	p->at = AT_GIVES;
	th_live_observe(l, &o, ticket_of(l, PART_GIVE, ++p->count));
	return TH_OK;
}

enum th_code th_driver_give(struct th_driver *d, struct th_handle h, struct th_str by,
			    struct th_str note, struct th_str reason, struct th_err *err)
{
	struct th_live *l = th_driver_find(d, h);
	struct th_takeover *p;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	if (!control_of(l)->taken)
		return th_fail(err, TH_EPROTO, "nobody has taken over");
	if (note.len > TH_NOTE_MAX)
		return th_fail(err, TH_ELIMIT, "a note has at most %d bytes", TH_NOTE_MAX);
	p = person_of(l);
	if (p->at != AT_NOTHING || control_of(l)->input_seq)
		return th_fail(err, TH_EBUSY, "an input is under way");
	th_arena_reset(&p->memory);
	p->by = th_arena_str(&p->memory, by);
	p->note = th_arena_str(&p->memory, note);
	return th_live_give_back(l, reason, true, err);
}

void th_live_person_done(struct th_live *l, struct th_ticket t, const struct th_effect_result *r)
{
	struct th_takeover *p = person_of(l);
	struct th_err err;

	if (t.part == PART_INPUT && t.seq == control_of(l)->input_seq) {
		input_over(l, r);
	} else if (t.part == PART_LOOK && p->at == AT_LOOK && t.seq == p->count) {
		answer(p, r);
	} else if (t.part == PART_GIVE && p->at == AT_GIVES && t.seq == p->count) {
		if (give_now(l, r, &err))
			th_live_lose(l, &err);
	}
	if (!l->lost)
		th_live_pump(l);
}
