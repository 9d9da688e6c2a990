/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cdp.h - the Chrome DevTools Protocol over a pipe, in CBOR (wire/cbor.h): its
 * parts speak that among themselves, and JSON would be made of it for us.  A
 * command has an id that its answer repeats; an event has none.  A session
 * (flat mode) is a tab or a frame with a process of its own; without one the
 * message is the browser's.
 *
 * Pure.  Whatever a page says comes through here: any bytes are an error or a
 * message, never more.
 */
#ifndef TH_WIRE_CDP_H
#define TH_WIRE_CDP_H

#include "base/buf.h"
#include "base/json.h"

/* ---- what has come ---- */

struct th_cdp_in {
	struct th_buf buf;
	size_t taken; /* of buf: up to the end of the message given out last */
};

void th_cdp_in_init(struct th_cdp_in *in);
void th_cdp_in_deinit(struct th_cdp_in *in);
/* TH_ELIMIT: a message is larger than TH_JSON_SIZE_MAX. */
TH_NODISCARD enum th_code th_cdp_in_add(struct th_cdp_in *in, struct th_str bytes,
					struct th_err *err);
/* The next whole message, borrowed until the next call of any function; false: there is none.  A
 * byte that begins no message is given out as one, which th_cdp_read refuses. */
bool th_cdp_in_next(struct th_cdp_in *in, struct th_str *ret);

struct th_cdp_message {
	int64_t id;                   /* of the command that is answered; 0: an event */
	struct th_str session;        /* empty: the browser's */
	struct th_str method;         /* event */
	const struct th_json *params; /* event; may be NULL */
	const struct th_json *result; /* answer; NULL: it failed */
	struct th_str error;          /* answer that failed: why, as it came */
};

/* TH_EPROTO: not such a message.  Strings live as long as the document, which is the caller's to
 * free.  Of accessibility trees what takes most of their room and nobody reads is left out. */
TH_NODISCARD enum th_code th_cdp_read(struct th_str bytes, struct th_json_doc **ret_doc,
				      struct th_cdp_message *ret, struct th_err *err);

/* ---- what is sent ---- */

/* A command up to its parameters, which the caller writes as members; then its end, which appends
 * it to `out` as it is sent.  `text` is free again then. */
struct th_jw th_cdp_begin(struct th_buf *text, int64_t id, struct th_str session,
			  const char *method);
TH_NODISCARD enum th_code th_cdp_end(struct th_jw *w, struct th_buf *out, struct th_err *err);

#endif
