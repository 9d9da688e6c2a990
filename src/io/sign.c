/* SPDX-License-Identifier: Apache-2.0 */
#include "io/sign.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/limits.h"

#define HALF_SIZE 32 /* of an ES256 signature */

struct th_sign {
	EVP_PKEY *key;
	bool is_ec;
};

/* A key with a password would ask on the terminal. */
static int no_password(char *to, int size, int writes, void *ctx)
{
	(void)to;
	(void)size;
	(void)writes;
	(void)ctx;
	return -1;
}

/* ES256 is of this curve alone; others have 256 bits, too. */
static bool is_p256(const EVP_PKEY *key)
{
	char group[64] = "";

	return EVP_PKEY_is_a(key, "EC") &&
	       EVP_PKEY_get_group_name(key, group, sizeof(group), NULL) == 1 &&
	       strcmp(group, "prime256v1") == 0;
}

enum th_code th_sign_new(struct th_str pem, struct th_sign **ret, struct th_err *err)
{
	BIO *bio =
	    pem.len && pem.len <= TH_OAUTH_JSON_MAX ? BIO_new_mem_buf(pem.ptr, (int)pem.len) : NULL;
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL) : NULL;
	bool is_ec = key && is_p256(key);

	BIO_free(bio);
	if (!key || (!is_ec && (!EVP_PKEY_is_a(key, "RSA") || EVP_PKEY_get_bits(key) < 2048))) {
		EVP_PKEY_free(key);
		return th_fail(err, TH_EUSAGE,
			       "it is no private key without a password, of P-256 or of RSA with "
			       "2048 bits or more, as PEM");
	}
	*ret = (struct th_sign *)th_alloc(sizeof(**ret));
	**ret = (struct th_sign){ key, is_ec };
	return TH_OK;
}

struct th_sign *th_sign_free(struct th_sign *s)
{
	if (s)
		EVP_PKEY_free(s->key); /* which wipes it */
	free(s);
	return NULL;
}

const char *th_sign_algorithm(const struct th_sign *s)
{
	return s->is_ec ? "ES256" : "RS256";
}

/* OpenSSL writes DER; JWS has the two numbers as they are. */
static bool put_halves(const unsigned char *der, size_t len, struct th_buf *out)
{
	ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &der, (long)len);
	unsigned char bytes[2 * HALF_SIZE];
	bool good = sig && BN_bn2binpad(ECDSA_SIG_get0_r(sig), bytes, HALF_SIZE) == HALF_SIZE &&
		    BN_bn2binpad(ECDSA_SIG_get0_s(sig), bytes + HALF_SIZE, HALF_SIZE) == HALF_SIZE;

	if (good)
		th_buf_add_mem(out, bytes, sizeof(bytes));
	ECDSA_SIG_free(sig);
	return good;
}

enum th_code th_sign(const struct th_sign *s, struct th_str text, struct th_buf *out,
		     struct th_err *err)
{
	unsigned char bytes[2048];
	size_t len = sizeof(bytes);
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	bool good = md && EVP_DigestSignInit(md, NULL, EVP_sha256(), NULL, s->key) == 1 &&
		    EVP_DigestSign(md, bytes, &len, (const unsigned char *)text.ptr, text.len) == 1;

	EVP_MD_CTX_free(md);
	if (good && s->is_ec)
		good = put_halves(bytes, len, out);
	else if (good)
		th_buf_add_mem(out, bytes, len);
	return good ? TH_OK : th_fail(err, TH_EIO, "nothing could be signed with the key");
}
