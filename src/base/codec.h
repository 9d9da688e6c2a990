/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec.h - base64 (RFC 4648 section 4), UUIDv7 (RFC 9562) and frames between
 * our own processes.
 */
#ifndef TH_BASE_CODEC_H
#define TH_BASE_CODEC_H

#include "base/buf.h"
#include "base/err.h"

/* Bytes that base64 makes of `len` bytes, padding included. */
size_t th_base64_size(size_t len);
void th_base64_encode(struct th_buf *out, const void *ptr, size_t len);
/* Strict: alphabet, padding and unused bits checked; white space refused.  False leaves `out` as it
 * was; what is too long for `out` shows in its check. */
TH_NODISCARD bool th_base64_decode(struct th_buf *out, struct th_str text);

#define TH_UUID_SIZE 16
#define TH_UUID_TEXT_SIZE 36

struct th_uuid {
	uint8_t bytes[TH_UUID_SIZE];
};

/* Version 7 from a clock and 10 random bytes, both given by the caller. */
struct th_uuid th_uuid7(uint64_t unix_ms, const uint8_t random[static 10]);
void th_uuid_text(const struct th_uuid *u, char out[static TH_UUID_TEXT_SIZE + 1]);
TH_NODISCARD bool th_uuid_parse(struct th_str text, struct th_uuid *ret);

/*
 * One frame: u32 size of the rest, u32 size of the JSON head (both little
 * endian), the head, then the attachment.  Both ends are ours, but the other
 * process may be compromised: sizes are checked before anything is believed.
 */
#define TH_FRAME_HEAD_SIZE 8
/* A frame over the limits, or over out's maximum, adds nothing and sets out->failed. */
void th_frame_write(struct th_buf *out, struct th_str json, struct th_str attachment);
struct th_frame {
	struct th_str json, attachment; /* borrowed from the bytes given */
	size_t size;                    /* of the whole frame */
};
/* 1: a frame; 0: more bytes are needed; TH_EPROTO, TH_ELIMIT: not ours, end the connection. */
TH_NODISCARD int th_frame_read(struct th_str bytes, struct th_frame *ret, struct th_err *err);

#endif
