/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delegate_wait.c - sessions that wait for a person, and those that wait because of them.
 */
#include "base/text.h"
#include "driver/delegate.h"
#include "driver/delegate_background.h"
#include "driver/driver.h"
#include "live/log.h"
#include "live/queue.h"

/* Of DELEGATION_WAITS; the calls' own logs have all. */
#define WAIT_ARGUMENTS_MAX (4 * TH_KIB)
#define WAIT_TEXT_MAX (4 * TH_KIB)
#define WAIT_LIST_MAX (256 * TH_KIB) /* what begins within is whole */

static bool waits_for_person(const struct th_call *c)
{
	return th_call_asks(c) || c->phase == TH_CALL_PARKED;
}

static struct th_str wait_text(struct th_str text)
{
	return th_utf8_cut(text, WAIT_TEXT_MAX);
}

/* Returns how many there was no room for. */
static int64_t put_waits(const struct th_live *l, const struct th_buf *list, struct th_jw *w)
{
	int64_t more = 0;

	for (size_t i = 0; i < l->fold.call_count; i++) {
		const struct th_call *c = &l->fold.calls[i];

		if (!waits_for_person(c))
			continue;
		if (list->len > WAIT_LIST_MAX) {
			more++;
			continue;
		}
		th_jw_object(w);
		th_jw_kstr(w, "session", th_str_of(l->id));
		th_jw_kstr(w, "call_id", wait_text(c->call_id));
		th_jw_kstr(w, "tool", wait_text(c->tool));
		if (c->arguments.len <= WAIT_ARGUMENTS_MAX)
			th_jw_kraw(w, "arguments", c->arguments);
		if (c->phase == TH_CALL_PARKED)
			th_jw_kbool(w, "parked", true);
		th_jw_kstr(w, "reason",
			   th_call_asks(c)
			       ? wait_text(c->reason)
			       : TH_STR("nobody knows whether an action happened; a person must "
					"say"));
		th_jw_object_end(w);
	}
	for (const struct th_delegation *g = l->children; g; g = g->next)
		more += put_waits(g->child, list, w);
	return more;
}

/* `child` NULL: the session goes on. */
void th_delegation_waits(struct th_live *l, const struct th_call *c, struct th_str id,
			 const struct th_live *child)
{
	struct th_buf list = TH_BUF_INIT(TH_EVENT_DATA_MAX / 2);
	struct th_ev_delegation_waits d = { .child = id, .call_id = c->call_id };
	struct th_jw w = th_jw(&list);
	struct th_err err = { 0 };

	th_jw_array(&w);
	if (child)
		d.more = put_waits(child, &list, &w);
	th_jw_array_end(&w);
	d.waits = th_buf_str(&list);
	if (th_buf_check(&list, "what a session waits for", &err))
		th_live_lose(l, &err);
	else
		th_live_write_event(l, TH_EV_DELEGATION_WAITS, TH_SOURCE_ENVIRONMENT, c->intent_seq,
				    c->call_id, &d);
	th_buf_deinit(&list);
}

/* A person is called when nothing goes on without him. */
static bool others_work(const struct th_live *l)
{
	const struct th_session *s = &l->fold;

	if (s->phase != TH_TURN_CALLS && !(s->phase == TH_TURN_CHECK && s->awaits))
		return true;
	for (size_t i = 0; i < l->fold.call_count; i++) {
		const struct th_call *c = &l->fold.calls[i];
		const struct th_delegation *g;

		if (c->phase != TH_CALL_INTENDED || th_background_is_wait(l, c))
			continue;
		g = th_delegation_of(l, c->intent_seq);
		if (!g || g->child->fold.state != TH_STATE_WAITING)
			return true;
	}
	for (const struct th_background *b = s->background; b; b = b->next) {
		const struct th_delegation *g = th_delegation_of(l, b->call.intent_seq);

		if (!g || g->child->fold.state != TH_STATE_WAITING)
			return true;
	}
	return false;
}

void th_live_delegates_check(struct th_live *l)
{
	bool good = !l->lost && l->children &&
		    (l->fold.state == TH_STATE_RUNNING || l->fold.state == TH_STATE_WAITING);

	if (!good || others_work(l))
		return;
	for (const struct th_delegation *g = l->children; g && !l->lost; g = g->next) {
		const struct th_call *c = th_delegation_call(l, g->intent_seq);

		if (c && c->child == TH_CALL_CHILD_WORKS)
			th_delegation_waits(l, c, th_str_of(g->child->id), g->child);
	}
	th_live_pump(l);
}

struct search {
	enum th_call_phase phase;
	struct th_str name;
	struct th_live *live; /* the first; NULL: none yet */
	const struct th_call *call;
	size_t count;
};

/* What is left of a name that begins with this session's. */
static struct th_str name_within(const struct th_live *l, struct th_str name)
{
	struct th_str id = th_str_of(l->id);
	bool within = name.len > id.len + 1 && th_str_starts(name, id) && name.ptr[id.len] == '/';

	return within ? th_str_sub(name, id.len + 1, name.len) : name;
}

/* By its own name, or after its session's: ids of calls are unique within an answer only. */
static bool is_named(const struct th_live *l, const struct th_call *c, struct th_str name)
{
	return th_call_is_named(c, name) || th_call_is_named(c, name_within(l, name));
}

static void search(struct th_live *l, struct search *s)
{
	for (size_t i = 0; i < l->fold.call_count; i++) {
		const struct th_call *c = &l->fold.calls[i];

		if (!th_call_waits(c, s->phase) || !is_named(l, c, s->name))
			continue;
		if (s->count++ == 0) {
			s->live = l;
			s->call = c;
		}
	}
	for (const struct th_delegation *g = l->children; g; g = g->next)
		search(g->child, s);
}

/* A call that waits in this phase, of `l` or of a session that works for it, and which: by its
 * name, as th_driver_waits has it.  TH_ENOENT: none; TH_EUSAGE: several. */
static enum th_code find_waiting(struct th_live *l, enum th_call_phase phase, struct th_str name,
				 struct th_live **ret, const struct th_call **ret_call,
				 struct th_err *err)
{
	struct search s = { .phase = phase, .name = name };
	struct th_str shown = th_utf8_cut(name, 80);

	search(l, &s);
	if (!s.count)
		return th_fail(err, TH_ENOENT, "no call %.*s%swaits for %s", TH_FMT(shown),
			       shown.len ? " " : "",
			       phase == TH_CALL_ASKED ? "a decision" : "a word about its outcome");
	if (name.len && s.count > 1)
		return th_fail(err, TH_EUSAGE,
			       "%zu calls %.*s wait; say of which session, as in %s/%.*s", s.count,
			       TH_FMT(shown), s.live->id, TH_FMT(shown));
	*ret = s.live;
	*ret_call = s.call;
	return TH_OK;
}

enum th_code th_live_word(struct th_live *l, enum th_call_phase phase, struct th_str name,
			  struct th_live **ret, const struct th_call **ret_call, struct th_err *err)
{
	enum th_code code = find_waiting(l, phase, name, ret, ret_call, err);

	if (code)
		return code;
	if (!th_call_is_named(*ret_call, name))
		name = name_within(*ret, name);
	return th_call_word(*ret_call, name, err);
}

void th_live_word_given(struct th_live *l)
{
	for (struct th_delegation *g = l->parent_call; g && g->parent; g = l->parent_call) {
		struct th_live *child = l;
		const struct th_call *c = th_delegation_call(g->parent, g->intent_seq);

		l = g->parent;
		if (c && c->child == TH_CALL_CHILD_WAITS && child->fold.state == TH_STATE_RUNNING)
			th_delegation_waits(l, c, th_str_of(child->id), NULL);
		th_live_pump(l);
	}
}

/* Has another that waits the name of this one? */
static bool is_named_below(struct th_live *l, enum th_call_phase phase, const struct th_call *c)
{
	struct th_buf name = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct search s = { .phase = phase };

	th_call_name(c, &name);
	s.name = th_buf_str(&name);
	search(l, &s);
	th_buf_deinit(&name);
	return s.count > 1;
}

const struct th_call *th_driver_waits(const struct th_driver *d, struct th_handle h,
				      enum th_call_phase phase, struct th_str name,
				      struct th_buf *ret_name)
{
	struct th_live *l = th_live_find(d, h.index, h.generation), *in = NULL;
	const struct th_call *c = NULL;
	struct th_err err;

	if (!l || find_waiting(l, phase, name, &in, &c, &err))
		return NULL;
	if (ret_name && (in != l || is_named_below(l, phase, c)))
		th_buf_printf(ret_name, "%s/", in->id);
	if (ret_name)
		th_call_name(c, ret_name);
	return c;
}

static void tell_waiting(const struct th_live *l, th_waiting_fn *fn, void *ctx)
{
	for (size_t i = 0; i < l->fold.call_count; i++)
		if (waits_for_person(&l->fold.calls[i]))
			fn(ctx, &l->fold.calls[i]);
	for (const struct th_delegation *g = l->children; g; g = g->next)
		tell_waiting(g->child, fn, ctx);
}

void th_driver_waiting(const struct th_driver *d, struct th_handle h, th_waiting_fn *fn, void *ctx)
{
	const struct th_live *l = th_live_find(d, h.index, h.generation);

	if (l)
		tell_waiting(l, fn, ctx);
}
