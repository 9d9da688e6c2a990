/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cbor.h - JSON's values as CBOR (RFC 8949), in the form that Chromium's
 * protocol has: every map and array stands in an envelope, which says how long
 * it is; texts are UTF-8, or UTF-16 as a byte string; bytes have tag 22.
 *
 * Pure.  Any bytes are an error or give JSON, never more.
 */
#ifndef TH_WIRE_CBOR_H
#define TH_WIRE_CBOR_H

#include "base/buf.h"
#include "base/json.h"

#define TH_CBOR_ENVELOPE_SIZE 7 /* bytes before what an envelope holds */

/* How long the message is that these bytes begin with.  0: more bytes are needed to know;
 * SIZE_MAX: they begin no envelope. */
size_t th_cbor_message_size(struct th_str bytes);

/* Members of any of these names (ends with NULL) that are left out unread wherever they stand in
 * the member `in` of a member of the message, when their values stand in an envelope. */
struct th_cbor_cut {
	const char *in;
	const char *const *names;
};

/*
 * One value as JSON.  Bytes become base64; of UTF-16 what is no character, and
 * numbers that are not finite, become U+FFFD and null.  `cut` may be NULL.
 * TH_EPROTO: not such a value, or more than one; deeper than TH_JSON_DEPTH_MAX.
 */
TH_NODISCARD enum th_code th_cbor_to_json(struct th_str cbor, const struct th_cbor_cut *cut,
					  struct th_buf *out, struct th_err *err);
/* Whole numbers of more than 32 bits become floating ones. */
void th_cbor_from_json(const struct th_json *v, struct th_buf *out);

#endif
