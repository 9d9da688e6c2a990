/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser_plan.c - what is the same for all condensers: what belongs together
 * goes together, what is pinned stays, and a note stands for what went.
 *
 * A rule that the user gave is never in a model's hands alone: what people
 * complain of most is that it is gone after a summary.
 */
#include "context/condenser.h"

#include <stdlib.h>

#include "base/text.h"

bool th_condenser_is_fresh(uint64_t items, uint64_t fresh)
{
	return fresh >= TH_MAX(items / TH_COMPACT_FRESH, (uint64_t)1);
}

/* ---- for condensers ----------------------------------------------------------------------- */

void th_plan_drop(struct th_condense_plan *p, size_t from, size_t to)
{
	for (size_t i = from; i < TH_MIN(to, p->t->count); i++)
		p->fates[i] = TH_FATE_GOES;
}

void th_plan_keep_all(struct th_condense_plan *p)
{
	for (size_t i = 0; i < p->t->count; i++)
		if (p->fates[i] != TH_FATE_MASKED)
			p->fates[i] = TH_FATE_STAYS;
}

bool th_plan_may_mask(const struct th_condense_plan *p, size_t at)
{
	const struct th_transcript_item *item = &p->t->list[at];

	/* Items of the API's own have results of a form that a text does not fit. */
	return item->kind == TH_TRANSCRIPT_RESULT && !item->made && !th_transcript_native(item);
}

void th_plan_mask(struct th_condense_plan *p, size_t at, struct th_str text)
{
	if (p->fates[at] != TH_FATE_STAYS)
		return;
	p->fates[at] = TH_FATE_MASKED;
	p->masks[at] = text;
	p->masked++;
}

void th_plan_note_summary(struct th_condense_plan *p)
{
	struct th_str text = th_utf8_cut(p->c->summary, TH_COMPACT_SUMMARY_MAX);

	if (text.len)
		th_buf_printf(&p->note, "\n\n%.*s", TH_FMT(text));
}

static void list_one(const struct th_transcript_item *item, size_t each, struct th_buf *out)
{
	struct th_str text = item->kind == TH_TRANSCRIPT_MESSAGE  ? item->content
			     : item->kind == TH_TRANSCRIPT_OUTPUT ? item->item
								  : item->output;
	struct th_str who = item->kind == TH_TRANSCRIPT_MESSAGE  ? item->role
			    : item->kind == TH_TRANSCRIPT_OUTPUT ? TH_STR("assistant")
								 : TH_STR("result");

	th_buf_printf(out, "<EVENT id=%llu>\n%.*s: ", (unsigned long long)item->seq, TH_FMT(who));
	th_text_clip(out, text, each);
	th_buf_add_cstr(out, "\n</EVENT>\n");
}

void th_condenser_list(const struct th_transcript *transcript, size_t from, size_t to, size_t each,
		       struct th_buf *out)
{
	for (size_t i = from; i < to && out->len < TH_COMPACT_LISTED_MAX; i++)
		list_one(&transcript->list[i], each, out);
}

enum th_code th_condenser_json(struct th_str text, struct th_json_doc **ret, struct th_err *err)
{
	ptrdiff_t from = th_str_find(text, TH_STR("{"));
	size_t to = text.len;

	while (to > 0 && text.ptr[to - 1] != '}')
		to--;
	if (from < 0 || to <= (size_t)from)
		return th_fail(err, TH_EPROTO, "the model gave no JSON object");
	return th_json_parse(th_str_sub(text, (size_t)from, to - (size_t)from), ret, err);
}

/* ---- what goes together ------------------------------------------------------------------- */

/* Of each answer with its calls and results: does one go, does one stay? */
struct share {
	bool goes, stays;
};

static void settle_answers(struct th_condense_plan *p)
{
	struct share *shares = th_alloc((p->t->count + 1) * sizeof(*shares));

	for (size_t i = 0; i < p->t->count; i++) {
		struct share *s = &shares[p->group[i]];

		s->goes |= p->fates[i] == TH_FATE_GOES;
		s->stays |= p->fates[i] != TH_FATE_GOES;
	}
	for (size_t i = 0; i < p->t->count; i++) {
		const struct share *s = &shares[p->group[i]];

		if (!s->goes || !s->stays)
			continue;
		if (!p->spares)
			p->fates[i] = TH_FATE_GOES;
		else if (p->fates[i] == TH_FATE_GOES)
			p->fates[i] = TH_FATE_STAYS;
	}
	free(shares);
}

/* Does an answer begin here that needs the one before it? */
static bool is_bound(const struct th_condense_plan *p, size_t at)
{
	return p->t->list[at].kind == TH_TRANSCRIPT_OUTPUT && p->group[at] == at && !p->legal[at];
}

static void set_answer(struct th_condense_plan *p, size_t at, enum th_condense_fate fate)
{
	for (size_t i = at; i < p->t->count; i++)
		if (p->group[i] == at && (p->fates[i] == TH_FATE_GOES || fate == TH_FATE_GOES))
			p->fates[i] = (uint8_t)fate;
}

/* An answer that needs the reasoning of one before it goes with that; where an answer is to stay,
 * those that it needs stay. */
static void settle_loops(struct th_condense_plan *p)
{
	size_t before = SIZE_MAX;

	for (size_t i = 0; i < p->t->count && !p->spares; i++) {
		if (p->t->list[i].kind != TH_TRANSCRIPT_OUTPUT || p->group[i] != i)
			continue;
		if (is_bound(p, i) && before != SIZE_MAX && p->fates[before] == TH_FATE_GOES)
			set_answer(p, i, TH_FATE_GOES);
		before = i;
	}
	for (size_t i = p->t->count; i-- > 0 && p->spares;) {
		size_t at = i;

		if (!is_bound(p, i) || p->fates[i] == TH_FATE_GOES)
			continue;
		while (at > 0 && (p->t->list[at - 1].kind != TH_TRANSCRIPT_OUTPUT ||
				  p->group[at - 1] != at - 1))
			at--;
		if (at > 0)
			set_answer(p, at - 1, TH_FATE_STAYS);
	}
}

/* What has just come has not been read: it stays, with what it needs. */
static void keep_newest(struct th_condense_plan *p)
{
	size_t count = p->t->count;

	if (!count || p->fates[count - 1] != TH_FATE_GOES)
		return;
	for (size_t i = th_plan_cut_before(p, count - 1); i < count; i++)
		if (p->fates[i] == TH_FATE_GOES)
			p->fates[i] = TH_FATE_STAYS;
}

/* ---- what is pinned ----------------------------------------------------------------------- */

static void pin(struct th_condense_plan *p)
{
	size_t size = 0;
	bool room = true;

	for (size_t i = p->t->count; i-- > 0;) {
		const struct th_transcript_item *item = &p->t->list[i];
		bool said = th_condenser_said(item);

		if (p->fates[i] != TH_FATE_GOES && p->fates[i] != TH_FATE_PINNED)
			continue;
		if (said) {
			size += item->content.len;
			room &= size <= p->c->pins;
		}
		p->fates[i] =
		    th_condenser_pinned(p->t, i) || (room && said) ? TH_FATE_PINNED : TH_FATE_GOES;
	}
}

size_t th_condenser_pinned_size(const struct th_transcript *transcript)
{
	size_t size = 0;

	for (size_t i = 0; i < transcript->count; i++)
		if (th_condenser_pinned(transcript, i))
			size += th_condenser_size(&transcript->list[i]);
	return size;
}

size_t th_condense_plan_settle(struct th_condense_plan *p)
{
	size_t gone = 0;

	settle_answers(p);
	settle_loops(p);
	keep_newest(p);
	pin(p);
	for (size_t i = 0; i < p->t->count; i++)
		gone += p->fates[i] == TH_FATE_GOES && !p->t->list[i].made;
	return gone;
}

size_t th_plan_gone_size(const struct th_condense_plan *p)
{
	size_t size = 0;

	for (size_t i = 0; i < p->t->count; i++)
		if (p->fates[i] == TH_FATE_GOES && !p->t->list[i].made)
			size += th_condenser_size(&p->t->list[i]);
	return size;
}

void th_condense_plan_by(struct th_condense_plan *p, const struct th_condenser *condenser,
			 const struct th_agent_condenser *given)
{
	p->own = th_condenser_own(condenser, given);
	condenser->plan(p);
}

/* ---- the marks ---------------------------------------------------------------------------- */

static void print_mark(const struct th_transcript_item *item, struct th_jw *w)
{
	th_jw_array(w);
	th_jw_uint(w, item->seq);
	th_jw_uint(w, item->index);
	th_jw_array_end(w);
}

static void print_masked(const struct th_transcript_item *item, struct th_str text, struct th_jw *w)
{
	struct th_str type = th_json_raw_get(item->item, "type");
	struct th_buf name = TH_BUF_INIT(256);

	th_buf_printf(&name, "%.*s_output",
		      TH_FMT(type.len > 2 ? th_str_sub(type, 1, TH_MIN(type.len - 2, (size_t)100))
					  : TH_STR("function_call")));
	th_jw_object(w);
	th_jw_kstr(w, "type", th_buf_str(&name));
	th_jw_kstr(w, "call_id", item->call_id);
	th_jw_kstr(w, "output", text);
	th_jw_object_end(w);
	th_buf_deinit(&name);
}

/* Messages of the user that had no room: by their events, where they can be read again. */
static void add_references(const struct th_condense_plan *p, struct th_buf *out)
{
	size_t count = 0;

	for (size_t i = 0; i < p->t->count; i++) {
		if (p->fates[i] != TH_FATE_GOES || !th_condenser_said(&p->t->list[i]))
			continue;
		if (count == TH_COMPACT_REFERENCES_MAX) {
			th_buf_add(out, TH_STR(", and later ones"));
			break;
		}
		th_buf_printf(out, "%s%llu",
			      count ? ", "
				    : "\n\n[Messages of the user that are not shown: events ",
			      (unsigned long long)p->t->list[i].seq);
		count++;
	}
	if (count)
		th_buf_add(out, TH_STR(".]"));
}

static void print_note(const struct th_condense_plan *p, size_t gone, struct th_jw *w)
{
	struct th_buf text = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	th_buf_printf(&text, "[%llu earlier items of this conversation were left out here.%s]%.*s",
		      (unsigned long long)(p->t->left_out + gone),
		      p->note.len         ? " A summary of them:"
		      : p->t->summary.len ? " A summary of what was before them:"
					  : "",
		      TH_FMT(th_buf_str(&p->note)));
	if (!p->note.len && p->t->summary.len)
		th_buf_printf(&text, "\n\n%.*s", TH_FMT(p->t->summary));
	add_references(p, &text);
	if (p->c->state.len)
		th_buf_printf(&text, "\n\n%.*s",
			      TH_FMT(th_utf8_cut(p->c->state, TH_COMPACT_STATE_MAX)));
	th_jw_object(w);
	th_jw_kstr(w, "role", TH_STR("user"));
	th_jw_kstr(w, "content", th_buf_str(&text));
	th_jw_object_end(w);
	th_buf_deinit(&text);
}

/* The note stands behind what went and what was pinned in its place. */
static size_t note_at(const struct th_condense_plan *p)
{
	size_t at = 0;

	while (at < p->t->count && p->fates[at] != TH_FATE_GOES && p->fates[at] != TH_FATE_PINNED)
		at++;
	while (at < p->t->count && (p->fates[at] == TH_FATE_GOES || p->fates[at] == TH_FATE_PINNED))
		at++;
	return at;
}

static void count(const struct th_condense_plan *p, struct th_condensed *ret)
{
	ret->items = ret->gone = ret->masked = 0;
	ret->first_seq = ret->last_seq = 0;
	for (size_t i = 0; i < p->t->count; i++) {
		const struct th_transcript_item *item = &p->t->list[i];

		ret->items += p->fates[i] != TH_FATE_GOES;
		ret->masked += p->fates[i] == TH_FATE_MASKED;
		if ((p->fates[i] != TH_FATE_GOES && p->fates[i] != TH_FATE_MASKED) || item->made)
			continue;
		ret->gone += p->fates[i] == TH_FATE_GOES;
		if (item->seq && (!ret->first_seq || item->seq < ret->first_seq))
			ret->first_seq = item->seq;
		ret->last_seq = TH_MAX(ret->last_seq, item->seq);
	}
	ret->items += ret->gone > 0;
	ret->left_out = p->t->left_out + ret->gone;
	ret->summary = p->note.len ? p->c->summary : p->t->summary;
}

void th_condense_plan_print(const struct th_condense_plan *p, struct th_buf *marks,
			    struct th_condensed *ret)
{
	struct th_jw w = th_jw(marks);
	size_t note;

	count(p, ret);
	note = ret->gone ? note_at(p) : SIZE_MAX;
	th_jw_array(&w);
	for (size_t i = 0; i <= p->t->count; i++) {
		if (i == note)
			print_note(p, ret->gone, &w);
		if (i == p->t->count || p->fates[i] == TH_FATE_GOES)
			continue;
		if (p->fates[i] == TH_FATE_MASKED)
			print_masked(&p->t->list[i], p->masks[i], &w);
		else
			print_mark(&p->t->list[i], &w);
	}
	th_jw_array_end(&w);
}
