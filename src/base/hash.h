/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.h - SHA-256 (FIPS 180-4), HMAC with it (RFC 2104), CRC-32C (Castagnoli, RFC 3720 appendix
 * B.4) and a fast non-cryptographic 64-bit hash for comparing frames.
 */
#ifndef TH_BASE_HASH_H
#define TH_BASE_HASH_H

#include "base/buf.h"
#include "base/str.h"

#define TH_SHA256_SIZE 32
#define TH_SHA256_HEX_SIZE 64

struct th_sha256 {
	uint32_t state[8];
	uint64_t size;
	uint8_t block[64];
};

struct th_digest {
	uint8_t bytes[TH_SHA256_SIZE];
};

void th_sha256_init(struct th_sha256 *h);
void th_sha256_add(struct th_sha256 *h, const void *ptr, size_t len);
struct th_digest th_sha256_end(struct th_sha256 *h);
struct th_digest th_sha256_of(const void *ptr, size_t len);

struct th_digest th_hmac_sha256(const void *key, size_t key_len, const void *ptr, size_t len);

bool th_digest_eq(const struct th_digest *a, const struct th_digest *b); /* constant time */
void th_digest_hex(const struct th_digest *d, char out[static TH_SHA256_HEX_SIZE + 1]);
/* Lower case only, as th_digest_hex writes it. */
TH_NODISCARD bool th_digest_parse(struct th_str hex, struct th_digest *ret);

uint32_t th_crc32c(uint32_t crc, const void *ptr, size_t len); /* start with 0 */

/* Not stable between versions: never stored. */
uint64_t th_hash64(const void *ptr, size_t len);

#endif
