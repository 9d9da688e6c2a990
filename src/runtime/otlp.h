/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp.h - traces to a collector: OTLP over HTTP, as JSON.
 *
 * Off unless a server is named.  A body is what trace/trace.h makes of one task
 * that ended.  Bodies wait in a queue with a maximum; one is under way at a time,
 * tried again with growing pauses where the server is not there or overloaded.
 * What does not fit, or is refused, is dropped and counted: a trace is never a
 * reason for a run to wait or to fail, and the log can make it again
 * (thole log NAME --trace --json).
 */
#ifndef TH_RUNTIME_OTLP_H
#define TH_RUNTIME_OTLP_H

#include "base/secret.h"
#include "base/str.h"
#include "io/fetch.h"

struct th_otlp;

struct th_otlp_options {
	struct th_str url; /* http or https, with its path */
	/* One header, for a key; NULL: none.  Both borrowed. */
	const char *header;
	const struct th_secret *secret;
	uint64_t retry_first_ms; /* 0: TH_OTLP_RETRY_FIRST_MS */
	uint64_t timeout_ms;     /* 0: TH_OTLP_TIMEOUT_MS */
};

struct th_otlp_counts {
	uint64_t sent, dropped; /* bodies */
	size_t waiting;         /* in the queue, or under way */
	uint64_t retry_ms;      /* between the failed try and the next; 0: none has failed */
};

/* TH_EUSAGE: no URL that can be sent to. */
TH_NODISCARD enum th_code th_otlp_new(struct th_loop *l, struct th_fetcher *f,
				      const struct th_otlp_options *options, struct th_otlp **ret,
				      struct th_err *err);
/* Drops what waits.  Takes NULL, returns NULL; before the fetcher is freed. */
struct th_otlp *th_otlp_free(struct th_otlp *o);

/* Queues a body (copied), or drops it. */
void th_otlp_send(struct th_otlp *o, struct th_str body);

struct th_otlp_counts th_otlp_counts(const struct th_otlp *o);

/* Runs the loop until nothing waits, `ms` have passed, or a try has failed: for the end of a
 * program, who must not be kept by a collector that is not there. */
void th_otlp_drain(struct th_otlp *o, uint64_t ms);

#endif
