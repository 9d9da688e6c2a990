/* SPDX-License-Identifier: Apache-2.0 */
/* multipart.h - one part of a body in the form multipart/form-data (RFC 7578). */
#ifndef TH_WIRE_MULTIPART_H
#define TH_WIRE_MULTIPART_H

#include "base/str.h"

/* The bytes of the first part that is called `name`, borrowed of the body.  `type`: the value of
 * Content-Type, which has the boundary.  False: there is none, or the body is broken before its
 * end. */
bool th_multipart_find(struct th_str type, struct th_str body, struct th_str name,
		       struct th_str *ret);

#endif
