/* SPDX-License-Identifier: Apache-2.0 */
#include "turns/history_make.h"

#include "history/history.h"
#include "live/log.h"
#include "turns/view.h"

/* ---- items ---- */

/* One event, where `marks_seq` is the request whose filter applies (0: none). */
static enum th_code transcript_take(struct th_transcript *transcript, const struct th_event *ev,
				    uint64_t marks_seq, struct th_err *err)
{
	struct th_json_doc *doc = NULL;
	const struct th_json *marks;
	enum th_code code = th_transcript_add(transcript, ev, err);

	if (code || ev->seq != marks_seq)
		return code;
	code = th_json_try_parse(ev->data, &doc, err);
	marks = th_json_get(th_json_root(doc), "history");
	if (!code && marks)
		code = th_transcript_keep(transcript, ev->seq, marks, err);
	th_json_free(doc);
	return code;
}

/* What the agent's definition cuts off. */
static void transcript_cut(const struct th_live *l, struct th_transcript *transcript)
{
	size_t max = (size_t)l->speaking->history_items;

	if (max)
		th_transcript_limit(transcript, max);
	if (max || l->fold.rewritten_seq)
		th_transcript_prune(transcript);
}

static enum th_code transcript_fill(void *ctx, const struct th_event *ev,
				    const struct th_digest *digest, struct th_err *err)
{
	(void)digest;
	return transcript_take(ctx, ev, 0, err);
}

enum th_code th_live_transcript(struct th_live *l, uint64_t upto, const struct th_event *next,
				struct th_transcript *transcript, struct th_err *err)
{
	enum th_code code;

	if (!th_live_view(l, upto, transcript, &code, err)) {
		th_transcript_init(transcript, true);
		if (!code)
			code = th_live_read(l, 1, upto, transcript_fill, transcript, err);
		if (!code)
			code = th_live_view_hold(l, upto, transcript, err);
	}
	/* While the items of the answer are as the log has them: a result is named by its call's
	 * place there. */
	if (!code && next)
		code = th_transcript_add(transcript, next, err);
	if (!code)
		transcript_cut(l, transcript);
	return code;
}

bool th_live_history_rewritten(const struct th_live *l)
{
	return l->fold.rewritten_seq || l->speaking->history_items || l->speaking->input_filter.len;
}

/* ---- the history ---- */

/* A request is open: it sees nothing later. */
static bool is_asked(const struct th_live *l)
{
	return l->fold.phase == TH_TURN_REQUESTED;
}

/* A filter's marks name items of what was sent before it: limited, pruned. */
static bool has_marks(const struct th_live *l)
{
	return is_asked(l) && l->speaking->input_filter.len;
}

uint64_t th_history_making_items(const struct th_live *l, uint64_t seq)
{
	if (!is_asked(l))
		return seq;
	return has_marks(l) ? l->fold.asked_seq - 1 : l->fold.asked_seq;
}

enum th_code th_history_making_begin(struct th_live *l, uint64_t seq, struct th_history_making *m,
				     struct th_err *err)
{
	const struct th_session *s = &l->fold;
	enum th_code code = TH_OK;

	*m = (struct th_history_making){
		.live = l, .history = th_history_new(&l->options), .seq = seq, .from = 1
	};
	th_transcript_init(&m->transcript, true);
	if (!m->history)
		return th_fail_memory(err);
	if (!th_live_history_rewritten(l)) {
		m->phase = TH_MAKING_REST;
		m->to = seq;
		return TH_OK;
	}
	m->asked = is_asked(l);
	m->upto = m->asked ? s->asked_seq : seq;
	m->marks_seq = has_marks(l) ? m->upto : 0;
	m->to = th_history_making_items(l, seq);
	if (th_live_view(l, m->to, &m->transcript, &code, err))
		m->from = m->to + 1;
	return code;
}

bool th_history_making_wants(const struct th_history_making *m, uint64_t *ret_from,
			     uint64_t *ret_to)
{
	*ret_from = m->from;
	*ret_to = m->to;
	return m->from <= m->to || m->phase != TH_MAKING_REST;
}

enum th_code th_history_making_take(void *ctx, const struct th_event *ev,
				    const struct th_digest *digest, struct th_err *err)
{
	struct th_history_making *m = ctx;

	if (m->phase == TH_MAKING_REST)
		return th_history_fill(m->history, ev, digest, err);
	return transcript_take(&m->transcript, ev, m->marks_seq, err);
}

/* The items are known; what comes after them is rendered event by event. */
static enum th_code begin_rest(struct th_history_making *m, struct th_err *err)
{
	enum th_code code = th_history_begin(m->history, &m->transcript, m->upto, m->asked, err);

	th_transcript_deinit(&m->transcript);
	th_transcript_init(&m->transcript, true);
	m->phase = TH_MAKING_REST;
	m->from = m->upto + 1;
	m->to = m->seq;
	return code;
}

enum th_code th_history_making_next(struct th_history_making *m, struct th_err *err)
{
	enum th_code code;

	switch (m->phase) {
	case TH_MAKING_ITEMS:
		code = th_live_view_hold(m->live, m->to, &m->transcript, err);
		if (code)
			return code;
		transcript_cut(m->live, &m->transcript);
		if (!m->marks_seq)
			return begin_rest(m, err);
		m->phase = TH_MAKING_MARKS;
		m->from = m->marks_seq;
		m->to = m->upto;
		return TH_OK;
	case TH_MAKING_MARKS:
		return begin_rest(m, err);
	case TH_MAKING_REST:
		break;
	}
	m->from = m->to + 1;
	return TH_OK;
}

void th_history_making_more(struct th_history_making *m, uint64_t seq)
{
	assert(m->phase == TH_MAKING_REST && m->from > m->to);
	m->seq = m->to = seq;
}

struct th_history *th_history_making_end(struct th_history_making *m)
{
	uint64_t from, to;
	struct th_history *h = m->history;

	th_transcript_deinit(&m->transcript);
	m->history = NULL;
	return th_history_making_wants(m, &from, &to) ? th_history_free(h) : h;
}
