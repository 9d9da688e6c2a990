/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h - the items that a session's model sees, held between requests that need
 * them: so one more condensation costs what the model sees, and not the whole log.
 *
 * It is a fold of the log like any other, and made anew from the log when it is
 * not there.  It stays in a session that was condensed, or whose code filters each
 * request, and whose log is longer than TH_VIEW_LOG_MIN.  Others have it for one
 * request, where their log had to be read beside the loop (log_ahead.h).
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
struct th_view *th_view_drop(struct th_view *view);
/* The caller's from now on, to read on from where it stands: the one that there is, if it can serve
 * up to `upto`, else an empty one.  NULL: there is no memory. */
struct th_view *th_live_view_take(struct th_live *l, uint64_t upto);
/* The session's from now on, in the place of what it has. */
void th_live_view_give(struct th_live *l, struct th_view *view);
/* The next request needs it, too. */
bool th_live_view_stays(const struct th_live *l);
/* For who reads the log; ctx: the view. */
enum th_code th_view_take(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			  struct th_err *err);

#endif
