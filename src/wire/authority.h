/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authority.h - HOST:PORT, as URLs and the headers Host and Origin have it.
 * Pure and total: any bytes are answered, and answers are borrowed from them.
 */
#ifndef TH_WIRE_AUTHORITY_H
#define TH_WIRE_AUTHORITY_H

#include "base/str.h"

/* HOST of HOST:PORT, HOST or [HOST]:PORT; empty: something else than a port follows the host. */
struct th_str th_authority_host(struct th_str authority);
/* The part between "://" and the path.  .ptr NULL: the text is no URL. */
struct th_str th_authority_of_url(struct th_str url);
/* Is the host a name of this very machine: localhost, 127.0.0.1 or [::1]? */
bool th_authority_is_loopback(struct th_str authority);
/* Is `origin` the origin of the server that `host` (the header) names?  SCHEME://HOST, no path. */
bool th_authority_is_origin(struct th_str origin, struct th_str host, bool secure);
/* Is the text an origin as configurations name it: http or https, a host in small letters, and a
 * port or none; no path? */
bool th_authority_origin_ok(struct th_str origin);
/* Does the URL lead to that origin, however an address is read? */
bool th_authority_url_of(struct th_str url, struct th_str origin);

#endif
