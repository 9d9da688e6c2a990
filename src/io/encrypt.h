/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encrypt.h - texts that only who has the same secret can read and write (AES-256-GCM).
 *
 * A sealed text is base64 of 12 random bytes, the encrypted text and 16 bytes that prove it.  It is
 * sealed for one purpose and under one name: elsewhere it does not open.
 */
#ifndef TH_IO_ENCRYPT_H
#define TH_IO_ENCRYPT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/secret.h"

struct th_encryption {
	unsigned char key[32];
};

/* To be wiped by th_encryption_deinit. */
void th_encryption_init(struct th_encryption *s, const struct th_secret *secret,
			struct th_str purpose);
void th_encryption_deinit(struct th_encryption *s);
/* Appends. */
TH_NODISCARD enum th_code th_encrypt(const struct th_encryption *s, struct th_str name,
				     struct th_str text, struct th_buf *out, struct th_err *err);
/* Appends.  TH_EPERM: it was sealed by another secret or under another name, or is damaged. */
TH_NODISCARD enum th_code th_decrypt(const struct th_encryption *s, struct th_str name,
				     struct th_str sealed, struct th_buf *out, struct th_err *err);

#endif
