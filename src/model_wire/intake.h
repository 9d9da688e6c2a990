/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intake.h - the body of an answer as it comes, in any pieces, up to its
 * events.
 */
#ifndef TH_MODEL_WIRE_INTAKE_H
#define TH_MODEL_WIRE_INTAKE_H

#include "model_wire/answer.h"
#include "wire/sse.h"

/* One event of the stream; its strings are good until it returns.  False: over a maximum, which
 * th_intake_over has said. */
typedef bool th_intake_fn(void *ctx, const struct th_sse_event *ev);

struct th_intake {
	enum th_body_mode mode;
	size_t bom_len;
	bool ended;   /* the stream's last bytes are taken */
	bool limited; /* over a maximum; *err says which */
	bool broken;  /* an event was not what it should be, as the decoder found */
	bool partial; /* the last one was not: it lacks its second half, and counts for nothing */
	size_t events;
	struct th_sse sse;
	struct th_buf body; /* JSON: all of it; a stream: its first bytes, for messages */
	struct th_buf text; /* of messages */
	struct th_err *err; /* NULL until th_intake_err: thousands of answers are waited for */
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
/* Where what went wrong is written. */
struct th_err *th_intake_err(struct th_intake *in);
/* The message that is there. */
void th_intake_fail(const struct th_intake *in, enum th_failure class, struct th_answer *ret);
/* A stream without its end, of which nothing better is known. */
void th_intake_unfinished(struct th_intake *in, struct th_answer *ret);
/* An error that came as an event of a stream: its object, and that one's own bytes.  False: it is
 * no JSON, which has been said. */
bool th_intake_error_event(struct th_intake *in, struct th_str *raw, struct th_json_doc **doc,
			   const struct th_json **ret_error, struct th_answer *ret);
/* An HTTP status other than 2xx, as th_answer_http_error; `error`: that of a stream, if there was
 * one. */
bool th_intake_http_error(struct th_intake *in, struct th_str error, int http_status,
			  struct th_answer *ret, struct th_str *raw, struct th_json_doc **doc,
			  const struct th_json **ret_error);

#endif
