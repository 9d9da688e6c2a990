/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.c - the chunks of a stream, walked as raw text; what becomes part
 * of the answer is parsed at its end, and thereby checked.  A broken chunk is
 * remembered: what it held is missing.
 */
#include "base/json.h"
#include "base/limits.h"
#include "openai_chat/decoder.h"

static bool is_null(struct th_str raw)
{
	return !raw.len || raw.ptr[0] == 'n';
}

/* Keeps the text of a raw string, if it is one and not empty. */
static void keep_str(struct th_buf *to, struct th_str raw)
{
	struct th_buf text = TH_BUF_INIT(to->max);

	if (raw.len > 2 && th_json_unescape(raw, &text) && text.len && !text.failed) {
		th_buf_clear(to);
		th_buf_add(to, th_buf_str(&text));
	}
	th_buf_deinit(&text);
}

static void keep_raw(struct th_buf *to, struct th_str raw)
{
	th_buf_clear(to);
	th_buf_add(to, raw);
}

static bool same(struct th_str raw, const struct th_buf *kept)
{
	return raw.len == kept->len + 2 && !memcmp(raw.ptr + 1, kept->ptr, kept->len);
}

static void take_error(struct th_decoder *d, struct th_str raw)
{
	if (!d->error.len)
		th_buf_add(&d->error, raw);
}

/* `delta` begins with the object; returns what stands behind its last member. */
static struct th_str take_delta(struct th_decoder *d, struct th_str delta)
{
	struct th_str rest = th_chat_message_add(&d->message, delta);

	d->chosen = true;
	if (d->twins && d->chunks % 2 == 1)
		return rest;
	if (d->twins)
		th_chat_message_add(&d->single, delta);
	if (d->fn)
		th_chat_tell(d, delta);
	return rest;
}

struct choice {
	struct th_str delta, message, finish, error; /* raw */
	int64_t index;
	bool late; /* the index stands behind the delta */
};

/* Returns what stands behind the last member. */
static struct th_str read_choice(struct th_decoder *d, struct th_json_raw_iter *it,
				 struct choice *c)
{
	struct th_str rest = it->rest;

	while (th_json_raw_next(it)) {
		if (th_str_eq(it->key, TH_STR("delta"))) {
			c->delta = it->val;
		} else if (th_str_eq(it->key, TH_STR("finish_reason"))) {
			c->finish = it->val;
		} else if (th_str_eq(it->key, TH_STR("index"))) {
			if (!th_str_i64(it->val, &c->index))
				c->index = 0;
			c->late = c->delta.len > 0;
		} else if (th_str_eq(it->key, TH_STR("message"))) {
			c->message = it->val;
		} else if (th_str_eq(it->key, TH_STR("error"))) {
			c->error = it->val;
		} else if (th_str_eq(it->key, TH_STR("usage")) && th_json_raw_is_object(it->val)) {
			keep_raw(&d->usage, it->val);
		}
		rest = it->rest;
	}
	return rest;
}

static void take_end(struct th_decoder *d, const struct choice *c)
{
	if (!is_null(c->finish)) {
		d->chosen = true;
		keep_str(&d->finish, c->finish);
	}
	if (!is_null(c->error) && !d->error.len) {
		th_buf_add(&d->error, TH_STR("{\"error\":"));
		th_buf_add(&d->error, c->error);
		th_buf_add_char(&d->error, '}');
	}
}

/* Of several answers the first is taken. */
static void take_choice(struct th_decoder *d, struct th_str raw)
{
	struct th_json_raw_iter it = th_json_raw_iter(raw);
	struct choice c = { 0 };

	read_choice(d, &it, &c);
	if (c.index != 0)
		return;
	if (th_json_raw_is_object(c.delta)) {
		d->delta_count++;
		d->delta = c.delta;
		d->late = c.late;
		take_delta(d, c.delta);
	} else if (th_json_raw_is_object(c.message)) { /* a whole answer in one event */
		take_delta(d, c.message);
	}
	take_end(d, &c);
}

static void take_choices(struct th_decoder *d, struct th_str raw)
{
	struct th_json_raw_iter it = th_json_raw_iter(raw);

	while (raw.len && raw.ptr[0] == '[' && th_json_raw_next(&it))
		if (th_json_raw_is_object(it.val))
			take_choice(d, it.val);
}

static void take_member(struct th_decoder *d, struct th_str key, struct th_str val,
			struct th_str data)
{
	if (th_str_eq(key, TH_STR("choices"))) {
		take_choices(d, val);
	} else if (th_str_eq(key, TH_STR("id"))) {
		if (!same(val, &d->response_id))
			keep_str(&d->response_id, val);
	} else if (th_str_eq(key, TH_STR("model"))) {
		if (!same(val, &d->model))
			keep_str(&d->model, val);
	} else if (th_str_eq(key, TH_STR("usage"))) {
		if (th_json_raw_is_object(val))
			keep_raw(&d->usage, val);
	} else if (th_str_eq(key, TH_STR("x_groq"))) {
		struct th_str usage = th_json_raw_get(val, "usage");

		if (th_json_raw_is_object(usage) && !d->usage.len)
			keep_raw(&d->usage, usage);
	} else if (th_str_eq(key, TH_STR("error")) && !is_null(val)) {
		take_error(d, data);
	}
}

/* Whether all events so far came in pairs; with this one, if it is the second of one. */
static void look_for_twins(struct th_decoder *d, struct th_str data)
{
	if (d->chunks % 2 == 0) {
		keep_raw(&d->before, data);
	} else if (!th_str_eq(data, th_buf_str(&d->before))) {
		d->twins = false;
		th_chat_message_deinit(&d->single);
		th_chat_message_init(&d->single);
		th_buf_deinit(&d->before);
	}
}

/*
 * Nearly all chunks of a stream differ in their delta alone.  What stood before
 * and behind the delta of the chunk before is kept: where it comes again it says
 * nothing new, and is not walked again.
 */
static void keep_frame(struct th_decoder *d, struct th_str data)
{
	size_t from = (size_t)(d->delta.ptr - data.ptr), to = from + d->delta.len;

	th_buf_clear(&d->head);
	th_buf_clear(&d->tail);
	if (d->delta_count != 1 || d->in.broken)
		return;
	th_buf_add(&d->head, th_str_sub(data, 0, from));
	th_buf_add(&d->tail, th_str_sub(data, to, data.len));
}

static bool fits_frame(const struct th_decoder *d, struct th_str data)
{
	return d->head.len && data.len > d->head.len + d->tail.len &&
	       data.ptr[d->head.len] == '{' && th_str_starts(data, th_buf_str(&d->head)) &&
	       (!d->late || th_str_ends(data, th_buf_str(&d->tail)));
}

/* Takes `c` off the front. */
static bool cut_char(struct th_str *s, char c)
{
	*s = th_str_trim(*s);
	if (!s->len || s->ptr[0] != c)
		return false;
	*s = th_str_sub(*s, 1, s->len);
	return true;
}

static struct th_str take_members(struct th_decoder *d, struct th_json_raw_iter *it,
				  struct th_str data)
{
	struct th_str rest = it->rest;

	while (th_json_raw_next(it)) {
		take_member(d, it->key, it->val, data);
		rest = it->rest;
	}
	return rest;
}

/* A chunk whose head is known. */
static void take_framed(struct th_decoder *d, struct th_str data)
{
	struct th_str rest = take_delta(d, th_str_sub(data, d->head.len, data.len));
	struct th_json_raw_iter it = { .object = true, .started = true };
	struct choice c = { 0 };
	bool whole = cut_char(&rest, '}');

	if (whole && th_str_eq(rest, th_buf_str(&d->tail)))
		return;
	it.rest = rest;
	rest = whole ? read_choice(d, &it, &c) : rest;
	take_end(d, &c);
	whole = whole && cut_char(&rest, '}');
	it = (struct th_json_raw_iter){ .rest = rest, .started = true };
	while (whole && th_json_raw_next(&it)) {
		if (th_json_raw_is_object(it.val))
			take_choice(d, it.val);
		rest = it.rest;
	}
	whole = whole && cut_char(&rest, ']');
	it = (struct th_json_raw_iter){ .rest = rest, .object = true, .started = true };
	if (whole)
		rest = take_members(d, &it, data);
	d->in.broken = d->in.broken || !whole || !cut_char(&rest, '}') || rest.len;
}

static void take_event(struct th_decoder *d, const struct th_sse_event *sse)
{
	struct th_json_raw_iter it;
	struct th_str data = sse->data, rest;

	if (!data.len || d->finished)
		return;
	if (data.len < 16 && th_str_eq(th_str_trim(data), TH_STR("[DONE]"))) {
		d->finished = true;
		return;
	}
	if (d->twins)
		look_for_twins(d, data);
	if (fits_frame(d, data)) {
		take_framed(d, data);
		return;
	}
	it = th_json_raw_iter(data);
	if (!it.object) {
		d->in.broken = true;
		return;
	}
	if (th_str_is(sse->name, "error"))
		take_error(d, data);
	d->delta_count = 0;
	rest = take_members(d, &it, data);
	d->in.broken = d->in.broken || !cut_char(&rest, '}') || rest.len;
	keep_frame(d, data);
}

/* What the events so far brought fits. */
static bool fits(struct th_decoder *d)
{
	const struct th_chat_message *m = &d->message;

	if (!m->failed && !d->single.failed && !d->error.failed && !d->usage.failed)
		return true;
	if (m->failed && m->size < TH_ANSWER_MAX / 2)
		th_intake_over(&d->in, "calls, parts or members", TH_CALLS_MAX);
	else
		th_intake_over(&d->in, "bytes", TH_ANSWER_MAX);
	return false;
}

bool th_chat_event(void *ctx, const struct th_sse_event *ev)
{
	struct th_decoder *d = ctx;

	take_event(d, ev);
	d->chunks += !d->finished;
	return fits(d);
}
