/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser_recent.c - the newest items stay, and what began the task; a note
 * says how many were left out.
 */
#include "core/condenser.h"

static void note(size_t left_out, struct th_jw *w)
{
	struct th_buf text = TH_BUF_INIT(TH_KIB);

	th_buf_printf(&text, "[%zu earlier items of this conversation were left out here.]",
		      left_out);
	th_condenser_note(th_buf_str(&text), w);
	th_buf_deinit(&text);
}

static size_t condense(const struct th_condense *c, struct th_jw *w)
{
	const struct th_transcript *transcript = c->transcript;
	size_t keep = c->options->keep ? (size_t)c->options->keep : TH_COMPACT_KEEP_DEFAULT;
	size_t count = transcript->count, pinned = 0;
	size_t cut = count > keep ? th_condenser_cut(transcript, count - keep) : 0;

	for (size_t i = 0; i < cut; i++)
		pinned += th_condenser_pinned(transcript, i);
	/* The note takes the place of one: the note of the last time is all that would go. */
	if (cut < pinned + 2)
		return 0;
	for (size_t i = 0; i < cut; i++)
		if (th_condenser_pinned(transcript, i))
			th_condenser_mark(&transcript->list[i], w);
	note(cut - pinned, w);
	for (size_t i = cut; i < count; i++)
		th_condenser_mark(&transcript->list[i], w);
	return pinned + 1 + count - cut;
}

const struct th_condenser th_condenser_recent = {
	.name = "recent",
	.summary = "the newest items stay, and what began the task",
	.condense = condense,
};
