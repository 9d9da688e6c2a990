/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_head.h - the head of an HTTP/1.1 request, as much of it as io/httpd.h
 * needs.  Pure and total; what is not plain HTTP is refused.
 */
#ifndef TH_WIRE_HTTP_HEAD_H
#define TH_WIRE_HTTP_HEAD_H

#include "base/err.h"
#include "base/str.h"

struct th_http_head {
	struct th_str method, path; /* path: without its query */
	struct th_str host, origin; /* empty: not there */
	struct th_str token;        /* of "Authorization: Bearer" or X-API-Key */
	size_t size, body_size;     /* of the head with its empty line, and what follows */
};

/* TH_OK with size 0: it is not all there yet.  TH_EPROTO, TH_ELIMIT (over TH_REQUEST_HEAD_MAX or
 * TH_HUMAN_BODY_MAX): a sentence for the client.  Strings are borrowed from `bytes`. */
TH_NODISCARD enum th_code th_http_head_read(struct th_str bytes, struct th_http_head *ret,
					    struct th_err *err);

/* Does it speak to this very machine, and come from no page of another site? */
bool th_http_head_local(const struct th_http_head *h);

#endif
