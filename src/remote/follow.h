/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow.h - a session of a server, followed event by event until it rests.
 *
 * The number of the next event is all that is kept of the stream: after a cut,
 * or when the server was started anew, it is asked for from there on, so no
 * event is missed and none is shown twice.  A server that is gone is waited
 * for, TH_REMOTE_AWAY_MS at most.
 */
#ifndef TH_REMOTE_FOLLOW_H
#define TH_REMOTE_FOLLOW_H

#include "core/session.h"
#include "remote/remote.h"
#include "wire/sse.h"

struct th_follow {
	const struct th_remote_job *job;
	struct th_remote *remote;
	struct th_show show;
	struct th_session fold;
	struct th_sse sse;
	char id[TH_SESSION_ID_MAX + 1];
	uint64_t next, show_from; /* number of the next event; of the first that is shown */
	/* The stream under way. */
	struct th_buf refused; /* what an answer other than 200 says */
	struct th_fetch_result result;
	bool good, ended;
	unsigned tries; /* that brought nothing */
	uint64_t heard_ms;
	/* A person's word. */
	bool interrupted, paused, interactive;
	const char *reason;
	struct th_err err;
};

/* The next event of the log: folds it, and shows it from show_from on.  One that came before is
 * passed over. */
TH_NODISCARD enum th_code th_follow_take(struct th_follow *f, const struct th_event *ev,
					 struct th_err *err);
void th_follow_flush(struct th_follow *f); /* what was shown is written; else it is interrupted */
/* Until the session rests, with at least the event before `past`; f->err has the error. */
TH_NODISCARD enum th_code th_follow(struct th_follow *f, uint64_t past);

/* Before a further try: the longer, the more there were, or what the server asked for (-1:
 * nothing), and never exactly as long as others wait.  Ends early where the loop is stopped. */
void th_follow_wait(struct th_remote *r, unsigned tries, int64_t asked_ms);

#endif
