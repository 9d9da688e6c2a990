/* SPDX-License-Identifier: Apache-2.0 */
/* sign.h - a private key of a PEM file, and what it signs (JWS: ES256 or RS256). */
#ifndef TH_IO_SIGN_H
#define TH_IO_SIGN_H

#include "base/buf.h"
#include "base/err.h"

struct th_sign;

/* TH_EUSAGE: it is no private key, has a password, or is of another kind than EC P-256 and RSA. */
TH_NODISCARD enum th_code th_sign_new(struct th_str pem, struct th_sign **ret, struct th_err *err);
struct th_sign *th_sign_free(struct th_sign *s); /* takes NULL, returns NULL */
const char *th_sign_algorithm(const struct th_sign *s);
/* Appends the bytes of the signature. */
TH_NODISCARD enum th_code th_sign(const struct th_sign *s, struct th_str text, struct th_buf *out,
				  struct th_err *err);

#endif
