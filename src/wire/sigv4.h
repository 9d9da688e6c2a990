/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sigv4.h - requests to an object store signed as AWS Signature Version 4 has it.
 *
 * Not by libcurl, which can sign too: versions differ in what they sign (7.88
 * orders no query), and none signs a body that comes in pieces without reading
 * it first.  We know the digest of a body already: it is the blob's name.
 *
 * Pure.  The secret is in no output but by what is computed from it.
 */
#ifndef TH_WIRE_SIGV4_H
#define TH_WIRE_SIGV4_H

#include "base/buf.h"
#include "base/err.h"

struct th_sigv4_header {
	const char *name; /* lower case */
	struct th_str value;
};

struct th_sigv4 {
	const char *method;
	struct th_str path;  /* as it is sent: each part encoded (wire/percent.h) */
	struct th_str query; /* as it is sent: NAME=VALUE, encoded, in the order of the names */
	const struct th_sigv4_header *headers; /* what is signed, in the order of the names */
	size_t header_count;
	struct th_str payload; /* SHA-256 of the body, hex */
	const char *time;      /* th_sigv4_time */
	struct th_str region, service;
	struct th_str key_id, secret;
};

#define TH_SIGV4_TIME_SIZE 17
/* "20130524T000000Z"; a time of no four-digit year is that of 1970. */
void th_sigv4_time(int64_t unix_s, char out[static TH_SIGV4_TIME_SIZE]);

/* Appends the value of Authorization.  TH_ELIMIT: the secret is longer than TH_S3_KEY_MAX. */
TH_NODISCARD enum th_code th_sigv4_sign(const struct th_sigv4 *s, struct th_buf *out,
					struct th_err *err);

#endif
