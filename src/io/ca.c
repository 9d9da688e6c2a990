/* SPDX-License-Identifier: Apache-2.0 */
#include "io/ca.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"

#define DAY_S (24L * 60 * 60)
#define LIFE_DAYS 365
#define EARLY_DAYS 2 /* for clocks that differ */

struct th_ca {
	EVP_PKEY *key;
	X509 *cert;
};

static enum th_code fail(struct th_err *err, const char *what)
{
	const char *reason = ERR_reason_error_string(ERR_get_error());

	ERR_clear_error();
	return th_fail(err, TH_EIO, "%s: %s", what, reason ? reason : "OpenSSL does not say why");
}

static bool extend(X509 *cert, X509 *issuer, int id, const char *value)
{
	X509V3_CTX ctx;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, id, value);
	bool good = e && X509_add_ext(cert, e, -1) == 1;
	X509_EXTENSION_free(e);
	return good;
}

/* A certificate without a subject's name where there is none to give. */
static X509 *new_cert(EVP_PKEY *key, const char *subject)
{
	unsigned char serial[16];
	BIGNUM *number = NULL;
	X509 *cert = X509_new();
	bool good = cert && RAND_bytes(serial, sizeof(serial)) == 1;

	serial[0] = (serial[0] & 0x7f) | 0x40;
	number = good ? BN_bin2bn(serial, sizeof(serial), NULL) : NULL;
	good = number && X509_set_version(cert, X509_VERSION_3) == 1 &&
	       BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) &&
	       X509_gmtime_adj(X509_getm_notBefore(cert), -EARLY_DAYS * DAY_S) &&
	       X509_gmtime_adj(X509_getm_notAfter(cert), LIFE_DAYS * DAY_S) &&
	       X509_set_pubkey(cert, key) == 1 &&
	       (!subject ||
		X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
					   (const unsigned char *)subject, -1, -1, 0) == 1);
	BN_free(number);
	if (good)
		return cert;
	X509_free(cert);
	return NULL;
}

enum th_code th_ca_new(struct th_ca **ret, struct th_err *err)
{
	struct th_ca *ca = (struct th_ca *)th_alloc(sizeof(*ca));

	ca->key = EVP_EC_gen("P-256");
	ca->cert = ca->key ? new_cert(ca->key, "thole session") : NULL;
	if (!ca->cert || X509_set_issuer_name(ca->cert, X509_get_subject_name(ca->cert)) != 1 ||
	    !extend(ca->cert, ca->cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
	    !extend(ca->cert, ca->cert, NID_key_usage, "critical,keyCertSign") ||
	    !extend(ca->cert, ca->cert, NID_subject_key_identifier, "hash") ||
	    X509_sign(ca->cert, ca->key, EVP_sha256()) == 0) {
		th_ca_free(ca);
		return fail(err, "make a certificate authority");
	}
	*ret = ca;
	return TH_OK;
}

struct th_ca *th_ca_free(struct th_ca *ca)
{
	if (ca) {
		EVP_PKEY_free(ca->key); /* which wipes it */
		X509_free(ca->cert);
		free(ca);
	}
	return NULL;
}

enum th_code th_ca_import(struct th_str pem, struct th_ca **ret, struct th_err *err)
{
	struct th_ca *ca = (struct th_ca *)th_alloc(sizeof(*ca));
	BIO *bio = pem.len <= TH_CA_PEM_MAX ? BIO_new_mem_buf(pem.ptr, (int)pem.len) : NULL;

	ca->cert = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
	ca->key = ca->cert ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;
	BIO_free(bio);
	if (!ca->key || X509_check_private_key(ca->cert, ca->key) != 1) {
		th_ca_free(ca);
		return fail(err, "read a certificate authority");
	}
	*ret = ca;
	return TH_OK;
}

static void add_bio(BIO *bio, struct th_buf *out)
{
	char *bytes;
	long len = BIO_get_mem_data(bio, &bytes);

	th_buf_add_mem(out, bytes, len > 0 ? (size_t)len : 0);
}

void th_ca_print(const struct th_ca *ca, struct th_buf *out)
{
	BIO *bio = BIO_new(BIO_s_mem());

	if (!bio || PEM_write_bio_X509(bio, ca->cert) != 1)
		abort(); /* out of memory */
	add_bio(bio, out);
	BIO_free(bio);
}

enum th_code th_ca_export(const struct th_ca *ca, struct th_buf *out, struct th_err *err)
{
	BIO *bio = BIO_new(BIO_s_secmem());
	bool good = bio && PEM_write_bio_PrivateKey(bio, ca->key, NULL, NULL, 0, NULL, NULL) == 1;

	th_ca_print(ca, out);
	if (good)
		add_bio(bio, out);
	BIO_free(bio);
	return good ? TH_OK : fail(err, "write a certificate authority");
}

enum th_code th_ca_server(const struct th_ca *ca, const char *host, bool address,
			  struct th_tls_config **ret, struct th_err *err)
{
	char names[300];
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = key ? new_cert(key, NULL) : NULL;
	enum th_code code = TH_OK;

	snprintf(names, sizeof(names), "critical,%s:%s", address ? "IP" : "DNS", host);
	if (!cert || X509_set_issuer_name(cert, X509_get_subject_name(ca->cert)) != 1 ||
	    !extend(cert, ca->cert, NID_basic_constraints, "critical,CA:FALSE") ||
	    !extend(cert, ca->cert, NID_key_usage, "critical,digitalSignature") ||
	    !extend(cert, ca->cert, NID_ext_key_usage, "serverAuth") ||
	    !extend(cert, ca->cert, NID_subject_alt_name, names) ||
	    !extend(cert, ca->cert, NID_authority_key_identifier, "keyid") ||
	    X509_sign(cert, ca->key, EVP_sha256()) == 0)
		code = fail(err, "make a certificate");
	if (code == TH_OK)
		code = th_tls_config_of(cert, key, ret, err);
	X509_free(cert);
	EVP_PKEY_free(key);
	return code;
}
