/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.c - the events of a stream.  They are walked as raw text;
 * the list of steps that is put together of them is checked once, at the end.
 * A broken event makes the answer malformed, an unknown one is passed over.
 */
#include "base/json.h"
#include "base/limits.h"
#include "google_interactions/decoder.h"

/* All values are raw, and absent when the event has none. */
struct event {
	struct th_str data, type, index;
	struct th_str interaction, step, delta, error, status, usage;
};

static void take_member(void *ctx, struct th_str key, struct th_str val)
{
	struct event *ev = ctx;

	switch (key.len) {
	case 4:
		if (th_str_eq(key, TH_STR("step")))
			ev->step = val;
		break;
	case 5:
		if (th_str_eq(key, TH_STR("index")))
			ev->index = val;
		else if (th_str_eq(key, TH_STR("delta")))
			ev->delta = val;
		else if (th_str_eq(key, TH_STR("error")))
			ev->error = val;
		else if (th_str_eq(key, TH_STR("usage")))
			ev->usage = val;
		break;
	case 6:
		if (th_str_eq(key, TH_STR("status")))
			ev->status = val;
		break;
	case 10:
		if (th_str_eq(key, TH_STR("event_type")))
			ev->type = th_json_raw_inside(val);
		break;
	case 11:
		if (th_str_eq(key, TH_STR("interaction")))
			ev->interaction = val;
		break;
	default:
		break;
	}
}

/* The text of a raw string, if it is one and not empty. */
static void keep_text(struct th_buf *to, struct th_str raw)
{
	if (!th_json_raw_inside(raw).len)
		return;
	th_buf_clear(to);
	if (!th_json_unescape(raw, to))
		th_buf_clear(to);
}

static void keep_raw(struct th_buf *to, struct th_str raw)
{
	if (!th_json_raw_is_object(raw))
		return;
	th_buf_clear(to);
	th_buf_add(to, raw);
}

static int64_t index_of(const struct event *ev, int64_t otherwise)
{
	int64_t index;

	return th_str_i64(ev->index, &index) && index >= 0 ? index : otherwise;
}

static int64_t last_index(const struct th_decoder *d)
{
	return d->steps.count ? d->steps.list[d->steps.count - 1].index : -1;
}

static void tell(struct th_decoder *d, enum th_delta_kind kind, int64_t index, struct th_str raw)
{
	struct th_str text;

	if (!d->fn || !th_json_raw_inside(raw).len)
		return;
	text = th_delta_text_of(&d->delta, raw);
	if (text.len)
		d->fn(d->ctx, kind, (size_t)index, text);
}

/* A step begins, perhaps with texts that are there already. */
static void start(struct th_decoder *d, int64_t index, struct th_str step)
{
	struct th_json_raw_iter it = th_json_raw_iter(th_json_raw_get(step, "content"));

	if (th_steps_find(&d->steps, index))
		return;
	th_steps_start(&d->steps, index, step);
	d->delta.half_len = 0;
	while (!it.object && d->fn && th_json_raw_next(&it))
		tell(d, TH_DELTA_TEXT, index, th_json_raw_get(it.val, "text"));
}

/* Steps that the interaction already holds: of a stream that resumes one under way. */
static void take_early(struct th_decoder *d, struct th_str steps)
{
	struct th_json_raw_iter it = th_json_raw_iter(steps);

	while (!it.object && !d->steps.failed && th_json_raw_next(&it))
		if (th_json_raw_is_object(it.val))
			start(d, last_index(d) + 1, it.val);
}

static void take_interaction(struct th_decoder *d, struct th_str interaction)
{
	keep_text(&d->id, th_json_raw_get(interaction, "id"));
	keep_text(&d->model, th_json_raw_get(interaction, "model"));
	keep_text(&d->status, th_json_raw_get(interaction, "status"));
	keep_raw(&d->usage, th_json_raw_get(interaction, "usage"));
}

static void on_created(struct th_decoder *d, const struct event *ev)
{
	take_interaction(d, ev->interaction);
	if (!d->steps.count)
		take_early(d, th_json_raw_get(ev->interaction, "steps"));
}

static void on_status(struct th_decoder *d, const struct event *ev)
{
	keep_text(&d->status, ev->status);
	keep_raw(&d->usage, ev->usage);
}

static void on_start(struct th_decoder *d, const struct event *ev)
{
	if (!th_json_raw_is_object(ev->step)) {
		d->in.broken = true;
		return;
	}
	start(d, index_of(ev, last_index(d) + 1), ev->step);
}

static void on_delta(struct th_decoder *d, const struct event *ev)
{
	struct th_step *s = th_steps_find(&d->steps, index_of(ev, last_index(d)));
	enum th_delta_kind kind;
	struct th_str raw;

	if (!s) /* what it belongs to is missing */
		d->in.broken = true;
	if (!s || s->done || !th_json_raw_is_object(ev->delta))
		return;
	th_steps_delta(&d->steps, s, ev->delta, &kind, &raw);
	tell(d, kind, s->index, raw);
}

static void on_stop(struct th_decoder *d, const struct event *ev)
{
	struct th_step *s = th_steps_find(&d->steps, index_of(ev, last_index(d)));

	if (s)
		s->done = true;
	d->delta.half_len = 0;
}

static void on_completed(struct th_decoder *d, const struct event *ev)
{
	if (!th_json_raw_is_object(ev->interaction)) {
		d->in.broken = true;
		return;
	}
	take_interaction(d, ev->interaction);
	keep_raw(&d->final, ev->interaction);
	d->finished = !d->error.len;
}

static void on_error(struct th_decoder *d, const struct event *ev)
{
	if (!d->error.len)
		th_buf_add(&d->error, ev->data);
}

/* The frequent ones first. */
static const struct {
	struct th_str name;
	void (*handle)(struct th_decoder *d, const struct event *ev);
} events[] = {
	{ TH_STR_INIT("step.delta"), on_delta },
	{ TH_STR_INIT("step.start"), on_start },
	{ TH_STR_INIT("step.stop"), on_stop },
	{ TH_STR_INIT("interaction.created"), on_created },
	{ TH_STR_INIT("interaction.status_update"), on_status },
	{ TH_STR_INIT("interaction.completed"), on_completed },
	{ TH_STR_INIT("error"), on_error },
};

static void take_event(struct th_decoder *d, const struct th_sse_event *sse)
{
	struct event ev = { .data = sse->data };

	if (!sse->data.len || d->finished)
		return;
	if (sse->data.len < 16 && th_str_eq(th_str_trim(sse->data), TH_STR("[DONE]"))) {
		d->done = true;
		return;
	}
	if (!th_json_raw_members(sse->data, take_member, &ev)) {
		d->in.broken = true;
		return;
	}
	if (!ev.type.len)
		ev.type = sse->name;
	if (!ev.type.len && !th_json_raw_is_null(ev.error))
		ev.type = TH_STR("error");
	for (size_t i = 0; i < TH_COUNT(events); i++)
		if (th_str_eq(events[i].name, ev.type)) {
			events[i].handle(d, &ev);
			return;
		}
}

bool th_interactions_event(void *ctx, const struct th_sse_event *ev)
{
	struct th_decoder *d = ctx;

	take_event(d, ev);
	if (d->steps.failed && d->steps.count == TH_ANSWER_ITEMS_MAX)
		th_intake_over(&d->in, "items", TH_ANSWER_ITEMS_MAX);
	else if (d->steps.failed || d->final.failed || d->error.failed || d->usage.failed)
		th_intake_over(&d->in, "bytes", TH_ANSWER_MAX);
	return !d->in.limited;
}
