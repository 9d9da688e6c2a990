/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1.h - HTTP/1.1 requests out of bytes (RFC 9110, RFC 9112), over llhttp.
 *
 * Pure: bytes come in as an argument.  What could be read in two ways is
 * refused: two lengths, a length beside chunks, folded lines, bare line feeds,
 * several or no Host, targets that are no path.  http1.c is the only file that
 * sees llhttp.
 *
 * One parser reads the requests of one connection, one after the other.
 */
#ifndef TH_WIRE_HTTP1_H
#define TH_WIRE_HTTP1_H

#include "base/buf.h"

struct th_http1;

enum th_http1_step {
	TH_HTTP1_MORE,  /* all bytes were taken; the request goes on */
	TH_HTTP1_HEAD,  /* the head is there; the body, if any, comes next */
	TH_HTTP1_WHOLE, /* the request is there */
	TH_HTTP1_BAD    /* it is refused for good; err says why */
};

struct th_http1_header {
	struct th_str name, value; /* without white space at the ends */
};

struct th_http1 *th_http1_new(void);
/* Of a client of a proxy: the target is any (wire/proxy.h reads it), and the body is not kept but
 * taken as it comes, after each feed. */
struct th_http1 *th_http1_new_relay(void);
void th_http1_take_body(struct th_http1 *p, struct th_buf *out);
struct th_http1 *th_http1_free(struct th_http1 *p); /* takes NULL, returns NULL */

/*
 * Reads on.  *ret_used: how many of the bytes were taken; the rest is given again.  After WHOLE the
 * next request is read once th_http1_next was called.  BAD: TH_EPROTO is no good request, TH_ELIMIT
 * one with too large a head, TH_EBUSY one with too large a body.
 */
TH_NODISCARD enum th_http1_step th_http1_feed(struct th_http1 *p, struct th_str bytes,
					      size_t *ret_used, struct th_err *err);
/* At most so many bytes of body; 0, as after th_http1_next: none.  To be said after HEAD. */
void th_http1_body_max(struct th_http1 *p, size_t max);
/* Whether the length that the head says is within that. */
bool th_http1_body_fits(const struct th_http1 *p);
/* Forgets the request and gives its memory back. */
void th_http1_next(struct th_http1 *p);

/* From HEAD on, until th_http1_next; borrowed. */
struct th_str th_http1_method(const struct th_http1 *p);
struct th_str th_http1_target(const struct th_http1 *p); /* path and query, as they came */
/* The value of the header (ASCII letters in either case); .ptr NULL: there is none.  Of several
 * the first. */
struct th_str th_http1_header(const struct th_http1 *p, const char *name);
size_t th_http1_header_count(const struct th_http1 *p, const char *name);
/* One after the other, as they came; false: there are no more. */
bool th_http1_header_at(const struct th_http1 *p, size_t index, struct th_http1_header *ret);
bool th_http1_keep_alive(const struct th_http1 *p);
bool th_http1_chunks(const struct th_http1 *p);  /* the client reads chunks: it is HTTP/1.1 */
bool th_http1_upgrade(const struct th_http1 *p); /* to another protocol, which headers name */
bool th_http1_expects(const struct th_http1 *p); /* waits for 100 Continue */
bool th_http1_has_body(const struct th_http1 *p);
bool th_http1_begun(const struct th_http1 *p); /* some byte of a request came */
/* After WHOLE. */
struct th_str th_http1_body(const struct th_http1 *p);

#endif
