/* SPDX-License-Identifier: Apache-2.0 */
/*
 * side_request.h - one request to a model beside the turns of a session: who
 * makes it says whom to ask and what, and gets the answer or a failure, once.
 *
 * A side request writes no event: the event that its caller writes with the
 * answer holds what it cost (core/side.h).  After a crash, one whose answer is
 * in no event is made again.  Its tokens and price are reserved in the
 * session's budget before it is sent.  It is tried again as the failure's class
 * allows, and ends with the session's own request: when the run is cancelled.
 *
 * A new kind of caller is a row of TH_SIDE_KINDS and a row of `kinds`.
 */
#ifndef TH_DRIVER_SIDE_REQUEST_H
#define TH_DRIVER_SIDE_REQUEST_H

#include "core/side.h"
#include "driver/live.h"

struct th_side_request;

/* Reads an answer with its items, which are in the form of the wire.  False: it is of no use, and
 * `err` says why; the same request would have the same answer, so it is not made again. */
typedef bool th_side_read_fn(struct th_live *l, void *ctx, struct th_str items, struct th_err *err);
/* The end, once: why there is no answer, or NULL.  The request is gone; the function may lose the
 * session and make other requests. */
typedef void th_side_done_fn(struct th_live *l, void *ctx, const struct th_err *err);

struct th_side_ask {
	enum th_side_kind kind;
	struct th_request_options options; /* the model; what it points to lives as long as `l` */
	struct th_str base_url;
	struct th_str content; /* of the message, JSON; needed for the call only */
	bool history;          /* the session's history goes before it; else it is the only one */
	int64_t total_ms_max;  /* of each try; 0: as long as any request may take */
	int64_t output_max;    /* tokens that the answer may have, for the budget */
	struct th_side_usage *usage; /* what it takes is added here */
	th_side_read_fn *read;
	th_side_done_fn *done;
	void *ctx;
};

/* Sends it.  An error: it was not made, the budget leaves no room (TH_ELIMIT) or the model cannot
 * be reached, and `done` is not called.  `done` is never called from here. */
TH_NODISCARD enum th_code th_side_request(struct th_live *l, const struct th_side_ask *ask,
					  struct th_side_request **ret, struct th_err *err);
/* Its `done` is not called.  NULL is fine. */
void th_side_cancel(struct th_live *l, struct th_side_request *r);
void th_side_cancel_all(struct th_live *l);
void th_side_wake(struct th_live *l); /* the timer rang: those that wait are tried again */

bool th_side_data(struct th_driver *d, struct th_ticket t, struct th_str bytes);
void th_side_end(struct th_driver *d, struct th_ticket t, const struct th_model_end *end);

#endif
