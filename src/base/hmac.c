/* SPDX-License-Identifier: Apache-2.0 */
/* hmac.c - HMAC with SHA-256 (RFC 2104). */
#include "base/hash.h"

#define BLOCK 64

struct th_digest th_hmac_sha256(const void *key, size_t key_len, const void *ptr, size_t len)
{
	struct th_digest d = th_sha256_of(key, key_len > BLOCK ? key_len : 0);
	const uint8_t *from = key_len > BLOCK ? d.bytes : key;
	size_t used = key_len > BLOCK ? sizeof(d.bytes) : key_len;
	uint8_t inner[BLOCK], outer[BLOCK];
	struct th_sha256 h;

	for (size_t i = 0; i < BLOCK; i++) {
		uint8_t byte = i < used ? from[i] : 0;

		inner[i] = byte ^ 0x36;
		outer[i] = byte ^ 0x5c;
	}
	th_sha256_init(&h);
	th_sha256_add(&h, inner, sizeof(inner));
	th_sha256_add(&h, ptr, len);
	d = th_sha256_end(&h);
	th_sha256_init(&h);
	th_sha256_add(&h, outer, sizeof(outer));
	th_sha256_add(&h, d.bytes, sizeof(d.bytes));
	return th_sha256_end(&h);
}
