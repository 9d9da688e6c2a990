/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intake.h - the body of an answer as it comes, in any pieces, up to its
 * events: for decoders whose events are all alike.
 */
#ifndef TH_MODELS_INTAKE_H
#define TH_MODELS_INTAKE_H

#include "models/answer.h"
#include "wire/sse.h"

/* One event of the stream; its strings are good until it returns.  False: over a maximum, which
 * th_intake_over has said. */
typedef bool th_intake_fn(void *ctx, const struct th_sse_event *ev);

struct th_intake {
	enum th_body_mode mode;
	size_t bom_len;
	bool ended;   /* the stream's last bytes are taken */
	bool limited; /* over a maximum; err says which */
	size_t events;
	struct th_sse sse;
	struct th_buf body; /* JSON: all of it; a stream: its first bytes, for messages */
	struct th_buf text; /* of messages */
	struct th_err err;
	th_intake_fn *fn;
	void *ctx;
};

void th_intake_init(struct th_intake *in, th_intake_fn *fn, void *ctx);
void th_intake_deinit(struct th_intake *in);
/* As wire->feed. */
int th_intake_feed(struct th_intake *in, struct th_str bytes);
/* The body has ended: the last event of a stream may lack its blank line. */
void th_intake_end(struct th_intake *in);
/* "the answer has more than <max> <what>"; always TH_ELIMIT. */
int th_intake_over(struct th_intake *in, const char *what, size_t max);
/* A stream without its end, of which nothing better is known. */
void th_intake_fail(struct th_intake *in, bool broken, struct th_answer *ret);

#endif
