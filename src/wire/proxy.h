/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy.h - what a client wants of a forward proxy: HTTP/1.1 (RFC 9110 and 9112;
 * CONNECT and absolute URLs) and SOCKS version 5 (RFC 1928; CONNECT without
 * authentication).
 *
 * Pure.  Hosts are given as they were written; who decides normalises them.
 */
#ifndef TH_WIRE_PROXY_H
#define TH_WIRE_PROXY_H

#include "base/buf.h"
#include "wire/http1.h"

struct th_proxy_request {
	struct th_str host; /* with brackets where it has them; borrowed */
	uint16_t port;
	bool tunnel;        /* CONNECT */
	struct th_str path; /* of plain HTTP, with its query; "" is meant as / */
};

/* Of a head that th_http1_feed has read in relay mode.  NULL, or what is wrong with it. */
const char *th_proxy_read(const struct th_http1 *p, struct th_proxy_request *ret);

/*
 * The head of the request that goes on to the server: its path, one Host, and
 * all headers but those between two neighbours.  The connection is closed after
 * it, so that each request is decided by itself.
 */
void th_proxy_head(const struct th_http1 *p, const struct th_proxy_request *r, struct th_buf *out);

/* Is the header one that goes on to the server? */
bool th_proxy_goes_on(const struct th_http1 *p, struct th_str name);

/* ---- SOCKS ---- */

#define TH_SOCKS_VERSION 5 /* the first byte; no method of HTTP begins so */

enum th_socks_step { TH_SOCKS_MORE, TH_SOCKS_DONE, TH_SOCKS_BAD };

/* The first message; *ret_used: its length.  The answer is TH_SOCKS_WELCOME. */
enum th_socks_step th_socks_greeting(struct th_str bytes, size_t *ret_used);
#define TH_SOCKS_WELCOME "\x05\x00"

/* The second; `host` has room for 256 bytes. */
enum th_socks_step th_socks_request(struct th_str bytes, char host[static 256], uint16_t *ret_port,
				    size_t *ret_used);

enum th_socks_reply {
	TH_SOCKS_GOOD = 0,
	TH_SOCKS_FAILED = 1,
	TH_SOCKS_REFUSED = 2,
	TH_SOCKS_UNREACHABLE = 4,
};
void th_socks_answer(enum th_socks_reply reply, struct th_buf *out);

#endif
