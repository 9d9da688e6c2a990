/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that may sign and keys that may not, made by OpenSSL, which checks the signatures, too. */
#include "io/sign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/limits.h"

static const struct th_str text = { "header.claims", 13 };

/* Takes the key. */
static enum th_code sign_new(EVP_PKEY *key, const char *password, struct th_sign **ret)
{
	struct th_err err = { 0 };
	BIO *bio = BIO_new(BIO_s_mem());
	enum th_code code;
	char *pem;
	long len;

	assert_non_null(key);
	assert_int_equal(PEM_write_bio_PrivateKey(bio, key, password ? EVP_aes_128_cbc() : NULL,
						  (const unsigned char *)password,
						  password ? (int)strlen(password) : 0, NULL, NULL),
			 1);
	len = BIO_get_mem_data(bio, &pem);
	code = th_sign_new(th_str_n(pem, (size_t)len), ret, &err);
	BIO_free(bio);
	EVP_PKEY_free(key);
	return code;
}

static bool is_signature(EVP_PKEY *key, struct th_str sig)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool good = EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
		    EVP_DigestVerify(ctx, (const unsigned char *)sig.ptr, sig.len,
				     (const unsigned char *)text.ptr, text.len) == 1;

	EVP_MD_CTX_free(ctx);
	return good;
}

static void signs_by_p256(void **state)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	struct th_buf out = TH_BUF_INIT(TH_KIB);
	struct th_sign *s;
	struct th_err err;
	unsigned char der[128], *end = der;
	ECDSA_SIG *sig = ECDSA_SIG_new();

	(void)state;
	EVP_PKEY_up_ref(key);
	assert_int_equal(sign_new(key, NULL, &s), TH_OK);
	assert_string_equal(th_sign_algorithm(s), "ES256");
	assert_int_equal(th_sign(s, text, &out, &err), TH_OK);
	assert_int_equal(out.len, 64); /* RFC 7518, 3.4: two numbers of 32 bytes */
	ECDSA_SIG_set0(sig, BN_bin2bn((unsigned char *)out.ptr, 32, NULL),
		       BN_bin2bn((unsigned char *)out.ptr + 32, 32, NULL));
	int len = i2d_ECDSA_SIG(sig, &end);
	assert_true(is_signature(key, th_str_n(der, (size_t)len)));
	ECDSA_SIG_free(sig);
	EVP_PKEY_free(key);
	th_buf_deinit(&out);
	th_sign_free(s);
}

static void signs_by_rsa(void **state)
{
	EVP_PKEY *key = EVP_RSA_gen(2048);
	struct th_buf out = TH_BUF_INIT(TH_KIB);
	struct th_sign *s;
	struct th_err err;

	(void)state;
	EVP_PKEY_up_ref(key);
	assert_int_equal(sign_new(key, NULL, &s), TH_OK);
	assert_string_equal(th_sign_algorithm(s), "RS256");
	assert_int_equal(th_sign(s, text, &out, &err), TH_OK);
	assert_true(is_signature(key, th_buf_str(&out)));
	EVP_PKEY_free(key);
	th_buf_deinit(&out);
	th_sign_free(s);
}

static void refuses_the_others(void **state)
{
	struct th_sign *s;
	struct th_err err = { 0 };

	(void)state;
	assert_int_equal(sign_new(EVP_EC_gen("secp256k1"), NULL, &s), TH_EUSAGE);
	assert_int_equal(sign_new(EVP_EC_gen("P-384"), NULL, &s), TH_EUSAGE);
	assert_int_equal(sign_new(EVP_RSA_gen(1024), NULL, &s), TH_EUSAGE);
	assert_int_equal(sign_new(EVP_EC_gen("P-256"), "a password", &s), TH_EUSAGE);
	assert_int_equal(th_sign_new(TH_STR("no key"), &s, &err), TH_EUSAGE);
	assert_int_equal(th_sign_new(TH_STR(""), &s, &err), TH_EUSAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signs_by_p256),
		cmocka_unit_test(signs_by_rsa),
		cmocka_unit_test(refuses_the_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
