/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser_summary.c - a model sums up the older part; the newest items stay,
 * and so do the user's own messages, word for word, up to a limit of bytes.
 *
 * A rule that the user gave is never in the model's hands alone: what people
 * complain of most is that it is gone after a summary.
 */
#include "core/condenser.h"

#include "base/text.h"

static const char prompt[] =
    "The conversation above has become too long. Write a summary that takes the place of its older "
    "part. The newest items and the user's own messages stay beside it. Call no tool, and do not "
    "go "
    "on with the task in this answer.\n\n"
    "Use these headings, and leave out those with nothing under them:\n"
    "TASK: what is wanted, with every rule, limit and preference that was given.\n"
    "DONE: what was done so far, and how it ended.\n"
    "STATE: files, programs, accounts and screens as they are now: paths, names, values, ids.\n"
    "FACTS: what was found out: figures, names, errors and what solved them.\n"
    "OPEN: what remains, in order; what waits for a person; actions whose outcome is unknown.\n"
    "NEXT: the very next step.\n\n"
    "Keep names, paths, numbers, ids and commands exactly. Say nothing that is not above.";

/* What of the history stays. */
struct plan {
	const struct th_transcript *t;
	size_t cut;      /* where the tail begins */
	size_t pin_from; /* messages of the user from here on stay */
	size_t pinned;
	size_t left, left_size, all_size;
};

/* One that somebody said: a note of an earlier condensation is of no event. */
static bool is_said(const struct th_transcript_item *item)
{
	return item->kind == TH_TRANSCRIPT_MESSAGE && item->seq > 0;
}

static bool stays(const struct plan *p, size_t at)
{
	return th_condenser_pinned(p->t, at) || (at >= p->pin_from && is_said(&p->t->list[at]));
}

/* The tail: as many as the options say, else about a quarter of all. */
static size_t tail_from(const struct th_condense *c, size_t all_size)
{
	const struct th_transcript *t = c->transcript;
	size_t at = t->count, size = 0;

	if (c->options->keep)
		return at > (size_t)c->options->keep ? at - (size_t)c->options->keep : 0;
	while (at > 0) {
		size += th_condenser_size(&t->list[at - 1]);
		if (t->count - at >= TH_COMPACT_KEEP_DEFAULT || size > all_size / 4)
			break;
		at--;
	}
	/* The newest one stays in any case. */
	return TH_MIN(at, t->count - TH_MIN(t->count, (size_t)1));
}

/* What came after the model had read the history is in no summary. */
static size_t read_upto(const struct th_condense *c)
{
	size_t at = c->transcript->count;

	while (at > 0 && c->transcript->list[at - 1].seq > c->read_seq)
		at--;
	return at;
}

static size_t pins_from(const struct th_condense *c, size_t cut)
{
	size_t max = c->options->pins ? (size_t)c->options->pins : (size_t)TH_COMPACT_PINS_DEFAULT;
	size_t size = 0, from = cut;

	for (size_t i = cut; i-- > 0;) {
		if (!is_said(&c->transcript->list[i]))
			continue;
		size += c->transcript->list[i].content.len;
		if (size > max)
			break;
		from = i;
	}
	return from;
}

static struct plan plan_of(const struct th_condense *c)
{
	const struct th_transcript *t = c->transcript;
	struct plan p = { .t = t };

	for (size_t i = 0; i < t->count; i++)
		p.all_size += th_condenser_size(&t->list[i]);
	p.cut = th_condenser_cut(t, TH_MIN(tail_from(c, p.all_size), read_upto(c)));
	p.pin_from = pins_from(c, p.cut);
	for (size_t i = 0; i < p.cut; i++) {
		if (stays(&p, i)) {
			p.pinned++;
			continue;
		}
		p.left++;
		p.left_size += th_condenser_size(&t->list[i]);
	}
	return p;
}

/* Messages of the user that had no room: by their events, where they can be read again. */
static void print_references(const struct plan *p, struct th_buf *out)
{
	size_t count = 0;

	for (size_t i = 0; i < p->cut; i++) {
		if (stays(p, i) || !is_said(&p->t->list[i]))
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

static size_t condense(const struct th_condense *c, struct th_jw *w)
{
	struct plan p = plan_of(c);
	struct th_buf text;

	/* A tenth at least, so that there is progress; and the note takes the place of one. */
	if (p.left < 2 || p.left_size < p.all_size / 10)
		return 0;
	for (size_t i = 0; i < p.cut; i++)
		if (stays(&p, i))
			th_condenser_mark(&p.t->list[i], w);
	th_buf_init(&text, TH_EVENT_DATA_MAX);
	th_buf_printf(&text,
		      "[%zu earlier items of this conversation were left out here. A summary of "
		      "them:]\n\n%.*s",
		      p.left, TH_FMT(th_utf8_cut(c->summary, TH_COMPACT_SUMMARY_MAX)));
	print_references(&p, &text);
	th_condenser_note(th_buf_str(&text), w);
	th_buf_deinit(&text);
	for (size_t i = p.cut; i < p.t->count; i++)
		th_condenser_mark(&p.t->list[i], w);
	return p.pinned + 1 + p.t->count - p.cut;
}

const struct th_condenser th_condenser_summary = {
	.name = "summary",
	.summary = "a model sums up the older part; the newest items and the user's messages stay",
	.condense = condense,
	.prompt = prompt,
};
