/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser_cut.c - where a history can be cut, and what always stays.
 */
#include "core/condenser.h"

/* Do the item and the one before it belong to one answer? */
static bool is_inside(const struct th_transcript *t, size_t at)
{
	const struct th_transcript_item *item = &t->list[at];

	return item->kind == TH_TRANSCRIPT_OUTPUT && at > 0 &&
	       t->list[at - 1].kind == TH_TRANSCRIPT_OUTPUT && t->list[at - 1].seq == item->seq;
}

static size_t call_of(const struct th_transcript *t, size_t result)
{
	size_t at = result;

	while (at-- > 0)
		if (t->list[at].kind == TH_TRANSCRIPT_OUTPUT &&
		    th_str_eq(t->list[at].call_id, t->list[result].call_id))
			return at;
	return result;
}

size_t th_condenser_cut(const struct th_transcript *transcript, size_t at)
{
	size_t cut = TH_MIN(at, transcript->count), before;

	/* A result takes the cut back to its call, and a call to where its answer begins, where
	 * there may be results of other calls. */
	do {
		before = cut;
		for (size_t i = transcript->count; i-- > cut;)
			if (transcript->list[i].kind == TH_TRANSCRIPT_RESULT)
				cut = TH_MIN(cut, call_of(transcript, i));
		while (cut > 0 && cut < transcript->count && is_inside(transcript, cut))
			cut--;
	} while (cut != before);
	return cut;
}

bool th_condenser_pinned(const struct th_transcript *transcript, size_t at)
{
	const struct th_transcript_item *item = &transcript->list[at];
	size_t task = transcript->task_at;

	if (item->kind != TH_TRANSCRIPT_MESSAGE)
		return false;
	return at == 0 || at == task ||
	       (at > task && item->seq == transcript->list[task].seq &&
		th_condenser_pinned(transcript, at - 1));
}

void th_condenser_mark(const struct th_transcript_item *item, struct th_jw *w)
{
	th_jw_array(w);
	th_jw_uint(w, item->seq);
	th_jw_uint(w, item->index);
	th_jw_array_end(w);
}

size_t th_condenser_size(const struct th_transcript_item *item)
{
	return item->content.len + item->output.len +
	       (item->kind == TH_TRANSCRIPT_OUTPUT ? item->item.len : 0);
}

void th_condenser_note(struct th_str text, struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kstr(w, "role", TH_STR("user"));
	th_jw_kstr(w, "content", text);
	th_jw_object_end(w);
}
