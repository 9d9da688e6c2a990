/* SPDX-License-Identifier: Apache-2.0 */
#include "io/encrypt.h"

#include <limits.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/codec.h"
#include "base/hash.h"
#include "io/clock.h"

#define NONCE_SIZE 12
#define PROOF_SIZE 16

void th_encryption_init(struct th_encryption *s, const struct th_secret *secret,
			struct th_str purpose)
{
	struct th_str bytes = th_secret_expose(secret);
	struct th_sha256 h;
	struct th_digest d;

	th_sha256_init(&h);
	th_sha256_add(&h, purpose.ptr, purpose.len);
	th_sha256_add(&h, "", 1);
	th_sha256_add(&h, bytes.ptr, bytes.len);
	d = th_sha256_end(&h);
	_Static_assert(sizeof(d.bytes) == sizeof(s->key), "a digest is a key");
	memcpy(s->key, d.bytes, sizeof(s->key));
	explicit_bzero(&h, sizeof(h));
	explicit_bzero(&d, sizeof(d));
}

void th_encryption_deinit(struct th_encryption *s)
{
	explicit_bzero(s, sizeof(*s));
}

/* The cipher with its key, its nonce and the name; NULL: it cannot be had. */
static EVP_CIPHER_CTX *begin(const struct th_encryption *s, const unsigned char *nonce,
			     struct th_str name, bool encrypts)
{
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int len;

	if (c && EVP_CipherInit_ex(c, EVP_aes_256_gcm(), NULL, s->key, nonce, encrypts) == 1 &&
	    EVP_CipherUpdate(c, NULL, &len, (const unsigned char *)name.ptr, (int)name.len) == 1)
		return c;
	EVP_CIPHER_CTX_free(c);
	return NULL;
}

enum th_code th_encrypt(const struct th_encryption *s, struct th_str name, struct th_str text,
			struct th_buf *out, struct th_err *err)
{
	size_t size = NONCE_SIZE + text.len + PROOF_SIZE;
	struct th_buf raw TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(size + 1);
	unsigned char *at = (unsigned char *)th_buf_grow(&raw, size);
	EVP_CIPHER_CTX *c;
	int len = 0, rest = 0;
	bool good;

	if (!at || text.len > INT_MAX || name.len > INT_MAX)
		return th_fail(err, TH_ELIMIT, "a text is too long to be sealed");
	th_random(at, NONCE_SIZE);
	c = begin(s, at, name, true);
	good = c &&
	       EVP_CipherUpdate(c, at + NONCE_SIZE, &len, (const unsigned char *)text.ptr,
				(int)text.len) == 1 &&
	       EVP_CipherFinal_ex(c, at + NONCE_SIZE + len, &rest) == 1 &&
	       EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, PROOF_SIZE,
				   at + NONCE_SIZE + text.len) == 1;
	EVP_CIPHER_CTX_free(c);
	if (!good)
		return th_fail(err, TH_EUNSUPPORTED, "a text cannot be sealed: no AES-256-GCM");
	th_base64_encode(out, at, size);
	return th_buf_check(out, "a sealed text", err);
}

enum th_code th_decrypt(const struct th_encryption *s, struct th_str name, struct th_str sealed,
			struct th_buf *out, struct th_err *err)
{
	struct th_buf raw TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(sealed.len + 2);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(sealed.len + 2);
	EVP_CIPHER_CTX *c = NULL;
	int len = 0, rest = 0;
	bool good = sealed.len <= INT_MAX && name.len <= INT_MAX &&
		    th_base64_decode(&raw, sealed) && raw.len >= NONCE_SIZE + PROOF_SIZE;

	if (good) {
		unsigned char *at = (unsigned char *)raw.ptr;
		size_t size = raw.len - NONCE_SIZE - PROOF_SIZE;
		unsigned char *to = (unsigned char *)th_buf_grow(&text, size + 1);

		c = begin(s, at, name, false);
		good = c && to && EVP_CipherUpdate(c, to, &len, at + NONCE_SIZE, (int)size) == 1 &&
		       EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, PROOF_SIZE,
					   at + NONCE_SIZE + size) == 1 &&
		       EVP_CipherFinal_ex(c, to + len, &rest) == 1;
		if (good)
			th_buf_add_mem(out, to, size);
		if (to)
			explicit_bzero(to, size);
	}
	EVP_CIPHER_CTX_free(c);
	if (!good)
		return th_fail(err, TH_EPERM, "it was sealed by another secret, or is damaged");
	return th_buf_check(out, "a sealed text", err);
}
