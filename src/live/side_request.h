/* SPDX-License-Identifier: Apache-2.0 */
/*
 * side_request.h - a request to a model that is not a turn of the session.  The
 * caller names the model and the content, and gets the answer or a failure, once.
 *
 * A side request writes no event: its cost is in the event that the caller
 * writes with the answer (core/side.h).  If no event has the answer, the request
 * is made again after a crash.  Its tokens and price are reserved in the
 * session's budget before it is sent.  It is retried as the class of the
 * failure allows, and cancelled when the run is cancelled.
 *
 * A new kind of caller is a row of TH_SIDE_KINDS and a row of `kinds`.
 */
#ifndef TH_LIVE_SIDE_REQUEST_H
#define TH_LIVE_SIDE_REQUEST_H

#include "core/side.h"
#include "live/live.h"

struct th_side_request;

/* Reads the items of an answer, in the wire's format.  False: the answer is unusable, and `err`
 * says why; the request is not repeated, because it would get the same answer. */
typedef bool th_side_read_fn(struct th_live *l, void *ctx, struct th_str items, struct th_err *err);
/* Called once at the end; `err` NULL: there is an answer, else why not.  The request is freed; the
 * function may lose the session and make other requests. */
typedef void th_side_done_fn(struct th_live *l, void *ctx, const struct th_err *err);

struct th_side_ask {
	enum th_side_kind kind;
	struct th_request_options options; /* the model; what it points to lives as long as `l` */
	struct th_str base_url;
	struct th_str content; /* of the message, JSON; borrowed for the call only */
	bool reader;           /* it is the agent's `quarantine_model`, not the session's */
	bool judge;            /* the same for `judge.model` of the first agent */
	bool history;          /* the session's history precedes it; else it is the first message */
	/* What follows it: earlier answers to it with the results of their calls, without pictures;
	 * borrowed for the call only. */
	const struct th_group *groups;
	size_t group_count;
	struct th_buf *raw;   /* NULL: or the provider's own form of the answer, as of th_answer */
	int64_t total_ms_max; /* per attempt; 0: the limit of any request */
	int64_t output_max;   /* maximum tokens of the answer, for the budget */
	struct th_side_usage *usage; /* the usage is added here */
	int *failure; /* where the model gave no answer, the enum th_failure of its last one; or
			 NULL */
	th_side_read_fn *read;
	th_side_done_fn *done;
	void *ctx;
};

/* The session's model with nothing of the session: no tools, no history, no instructions, and none
 * of the settings that are about its turns.  `bare` lives as long as the request. */
struct th_side_bare {
	struct th_agent agent;
	struct th_agent_model_settings settings;
};
struct th_request_options th_side_bare(const struct th_live *l, struct th_side_bare *bare);
/* For such a function: the text of a final answer, where one is wanted and no call.  False: it is
 * none; `to`: what the model was to do, "judge". */
bool th_side_text(struct th_str items, const char *to, struct th_buf *text, struct th_err *err);

/* Sends the request.  On an error nothing was sent and `done` is not called: the budget has no room
 * (TH_ELIMIT), or the model cannot be reached.  `done` is never called before this returns. */
TH_NODISCARD enum th_code th_side_request(struct th_live *l, const struct th_side_ask *ask,
					  struct th_side_request **ret, struct th_err *err);
/* `done` is not called.  NULL is fine. */
void th_side_cancel(struct th_live *l, struct th_side_request *r);
void th_side_cancel_all(struct th_live *l);
void th_side_wake(struct th_live *l); /* the timer expired: sends the waiting retries */

bool th_side_data(struct th_driver *d, struct th_ticket t, struct th_str bytes);
void th_side_end(struct th_driver *d, struct th_ticket t, const struct th_model_end *end);

#endif
