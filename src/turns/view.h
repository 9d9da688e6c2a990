/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h - the items that a session's model sees, held between condensations: so
 * one more condensation costs what the model sees, and not the whole log.
 *
 * It is a fold of the log like any other, and made anew from the log when it is
 * not there.  Only a session has it that was condensed and whose log is longer than
 * TH_VIEW_LOG_MIN; a shorter one is read again.
 */
#ifndef TH_TURNS_VIEW_H
#define TH_TURNS_VIEW_H

#include "live/live.h"
#include "transcript/transcript.h"

struct th_view {
	struct th_transcript transcript;
	uint64_t seq; /* the last event that it has */
};

/* A copy of it, of the events up to `upto`, all durable.  False: there is none that can serve, or
 * that failed with *code. */
bool th_live_view(struct th_live *l, uint64_t upto, struct th_transcript *ret, enum th_code *code,
		  struct th_err *err);
/* Takes a transcript of the events up to `seq` to be the view, where one is wanted and there is
 * none, and leaves a copy of it. */
TH_NODISCARD enum th_code th_live_view_hold(struct th_live *l, uint64_t seq,
					    struct th_transcript *transcript, struct th_err *err);
void th_live_view_free(struct th_live *l);

#endif
