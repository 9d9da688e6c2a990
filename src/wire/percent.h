/* SPDX-License-Identifier: Apache-2.0 */
/* percent.h - words of a URL: what is no letter, digit or one of "-_.~" is %XX. */
#ifndef TH_WIRE_PERCENT_H
#define TH_WIRE_PERCENT_H

#include "base/buf.h"

void th_percent_encode(struct th_str text, struct th_buf *out);
/* False: a "%" without two digits, a NUL byte, or more than `out` holds. */
bool th_percent_decode(struct th_str text, struct th_buf *out);
/* A member of a query, decoded, with "+" for a space; the first, where there are several.  False:
 * it is not there, or is none. */
bool th_query_get(struct th_str query, const char *name, struct th_buf *out);

#endif
