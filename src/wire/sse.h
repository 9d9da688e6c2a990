/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sse.h - server-sent events (WHATWG HTML, section 9.2), taken in any pieces.
 *
 * Lines end in LF, CR or CRLF; a byte order mark at the start, comments and
 * unknown fields are skipped; data lines of one event are joined with LF.  An
 * event whose data came whole, in one line of one piece, is not copied.
 *
 * Where it differs from the standard: an event with an empty data line is an
 * event, and th_sse_end gives the last one when its blank line is missing.
 */
#ifndef TH_WIRE_SSE_H
#define TH_WIRE_SSE_H

#include "base/buf.h"

struct th_sse_event {
	struct th_str name; /* of the event field; empty: none */
	struct th_str data;
};

struct th_sse {
	struct th_buf line, data, name;
	struct th_str event_data; /* of the event under way: in the piece given, or in `data` */
	struct th_buf last_id;
	int64_t retry_ms; /* what the server asked for; -1: nothing */
	size_t line_max;
	bool borrowed; /* event_data points into the piece */
	bool has_data, started, skip_lf, given, failed;
};

/* `line_max`: longest line, and longest data of one event, in bytes. */
void th_sse_init(struct th_sse *s, size_t line_max);
void th_sse_deinit(struct th_sse *s);

/*
 * Takes bytes off the front of *bytes up to the end of the next event.  1: an
 * event, whose strings are good until the next call and as long as the piece;
 * 0: all bytes are taken, there is no whole event; TH_ELIMIT: a line or an event
 * was too long, and for good.  Where the stream was cut into pieces makes no
 * difference.
 */
TH_NODISCARD int th_sse_next(struct th_sse *s, struct th_str *bytes, struct th_sse_event *ret,
			     struct th_err *err);

/* The stream has ended: 1: an event that was not closed, and may have been cut anywhere; 0: none;
 * TH_ELIMIT as above. */
TH_NODISCARD int th_sse_end(struct th_sse *s, struct th_sse_event *ret, struct th_err *err);

#endif
