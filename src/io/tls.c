/* SPDX-License-Identifier: Apache-2.0 */
#include "io/tls.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

#define PIECE (16 * TH_KIB)

struct th_tls_config {
	SSL_CTX *ctx;
};

struct th_tls {
	SSL *ssl;
	BIO *in, *out; /* the ssl's */
};

static enum th_code fail_ssl(struct th_err *err, enum th_code code, const char *what)
{
	unsigned long first = ERR_get_error();
	/* OpenSSL has no text for what the system says: that a file is not there. */
	const char *reason = ERR_SYSTEM_ERROR(first) ? strerror(ERR_GET_REASON(first))
						     : ERR_reason_error_string(first);

	ERR_clear_error();
	return th_fail(err, code, "%s: %s", what, reason ? reason : "OpenSSL does not say why");
}

static SSL_CTX *new_ctx(const SSL_METHOD *method)
{
	SSL_CTX *ctx = SSL_CTX_new(method);

	if (!ctx)
		return NULL;
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE);
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
	return ctx;
}

static enum th_code wrap(SSL_CTX *ctx, bool good, struct th_tls_config **ret, struct th_err *err)
{
	if (!good) {
		SSL_CTX_free(ctx);
		return fail_ssl(err, TH_EIO, "TLS");
	}
	*ret = th_alloc(sizeof(**ret));
	(*ret)->ctx = ctx;
	return TH_OK;
}

enum th_code th_tls_config_of(struct x509_st *cert, struct evp_pkey_st *key,
			      struct th_tls_config **ret, struct th_err *err)
{
	SSL_CTX *ctx = new_ctx(TLS_server_method());
	bool good =
	    ctx && SSL_CTX_use_certificate(ctx, cert) == 1 && SSL_CTX_use_PrivateKey(ctx, key) == 1;

	return wrap(ctx, good, ret, err);
}

enum th_code th_tls_config_client(struct th_tls_config **ret, struct th_err *err)
{
	SSL_CTX *ctx = new_ctx(TLS_client_method());
	bool good = ctx && SSL_CTX_set_default_verify_paths(ctx) == 1;

	if (ctx)
		SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	return wrap(ctx, good, ret, err);
}

/* With the certificate and the key of these files; `ca_file` may be NULL. */
static enum th_code config_of_files(const SSL_METHOD *method, const char *cert_file,
				    const char *key_file, const char *ca_file,
				    struct th_tls_config **ret, struct th_err *err)
{
	SSL_CTX *ctx = new_ctx(method);
	const char *bad = NULL;

	if (!ctx)
		return fail_ssl(err, TH_EIO, "TLS");
	if (SSL_CTX_use_certificate_chain_file(ctx, cert_file) != 1)
		bad = cert_file;
	else if (SSL_CTX_use_PrivateKey_file(ctx, key_file, SSL_FILETYPE_PEM) != 1 ||
		 SSL_CTX_check_private_key(ctx) != 1)
		bad = key_file;
	else if (ca_file && SSL_CTX_load_verify_file(ctx, ca_file) != 1)
		bad = ca_file;
	if (bad) {
		SSL_CTX_free(ctx);
		return fail_ssl(err, TH_EUSAGE, bad);
	}
	if (ca_file)
		SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	return wrap(ctx, true, ret, err);
}

enum th_code th_tls_config_new(const char *cert_file, const char *key_file,
			       struct th_tls_config **ret, struct th_err *err)
{
	return config_of_files(TLS_server_method(), cert_file, key_file, NULL, ret, err);
}

enum th_code th_tls_config_mutual(const char *cert_file, const char *key_file, const char *ca_file,
				  bool server, struct th_tls_config **ret, struct th_err *err)
{
	return config_of_files(server ? TLS_server_method() : TLS_client_method(), cert_file,
			       key_file, ca_file, ret, err);
}

void th_tls_config_replace(struct th_tls_config *c, struct th_tls_config *by)
{
	SSL_CTX_free(c->ctx); /* connections have references of their own */
	c->ctx = by->ctx;
	free(by);
}

struct th_tls_config *th_tls_config_free(struct th_tls_config *c)
{
	if (c) {
		SSL_CTX_free(c->ctx);
		free(c);
	}
	return NULL;
}

struct th_tls *th_tls_new(struct th_tls_config *c)
{
	struct th_tls *t = th_alloc(sizeof(*t));

	t->ssl = SSL_new(c->ctx);
	t->in = BIO_new(BIO_s_mem());
	t->out = BIO_new(BIO_s_mem());
	if (!t->ssl || !t->in || !t->out)
		abort(); /* out of memory */
	SSL_set_bio(t->ssl, t->in, t->out);
	SSL_set_accept_state(t->ssl);
	return t;
}

bool th_tls_is_ready(const struct th_tls *t)
{
	return SSL_is_init_finished(t->ssl);
}

struct th_tls *th_tls_free(struct th_tls *t)
{
	if (t) {
		SSL_free(t->ssl);
		free(t);
	}
	return NULL;
}

static void drain(struct th_tls *t, struct th_buf *out)
{
	char piece[PIECE];
	int n;

	while ((n = BIO_read(t->out, piece, sizeof(piece))) > 0)
		th_buf_add_mem(out, piece, (size_t)n);
}

enum th_code th_tls_connect(struct th_tls_config *c, const char *host, bool address,
			    struct th_buf *out, struct th_tls **ret, struct th_err *err)
{
	struct th_tls *t = th_tls_new(c);
	X509_VERIFY_PARAM *p = SSL_get0_param(t->ssl);
	bool good;

	ERR_clear_error();
	SSL_set_connect_state(t->ssl);
	if (address)
		good = X509_VERIFY_PARAM_set1_ip_asc(p, host) == 1;
	else
		good = SSL_set1_host(t->ssl, host) == 1 &&
		       SSL_ctrl(t->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
				(void *)(uintptr_t)host) == 1;
	if (!good) {
		th_tls_free(t);
		return fail_ssl(err, TH_EIO, "TLS");
	}
	(void)SSL_do_handshake(t->ssl); /* it waits for the other's first bytes */
	ERR_clear_error();
	drain(t, out);
	*ret = t;
	return TH_OK;
}

/* What went wrong in a connection: of a certificate, with what is wrong with it. */
static enum th_code fail_peer(const struct th_tls *t, struct th_err *err)
{
	long verified = SSL_get_verify_result(t->ssl);
	enum th_code code = fail_ssl(err, TH_EPROTO, "TLS");
	struct th_err first = *err;

	if (verified == X509_V_OK)
		return code;
	return th_fail(err, code, "%s: %s", first.msg, X509_verify_cert_error_string(verified));
}

enum th_code th_tls_read(struct th_tls *t, struct th_str bytes, struct th_buf *plain,
			 struct th_buf *out, struct th_err *err)
{
	char piece[PIECE];
	int n, why;

	ERR_clear_error();
	if (bytes.len && BIO_write(t->in, bytes.ptr, (int)bytes.len) != (int)bytes.len)
		return fail_ssl(err, TH_EIO, "TLS");
	while ((n = SSL_read(t->ssl, piece, sizeof(piece))) > 0)
		th_buf_add_mem(plain, piece, (size_t)n);
	why = SSL_get_error(t->ssl, n);
	drain(t, out);
	if (why == SSL_ERROR_ZERO_RETURN)
		return th_fail(err, TH_ECONN, "the peer closed the connection");
	if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
		return fail_peer(t, err);
	return th_buf_check(plain, "what came over TLS", err);
}

enum th_code th_tls_write(struct th_tls *t, struct th_str plain, struct th_buf *out,
			  struct th_err *err)
{
	ERR_clear_error();
	while (plain.len > 0) {
		int n = SSL_write(t->ssl, plain.ptr, (int)TH_MIN(plain.len, (size_t)PIECE));

		if (n <= 0)
			return fail_ssl(err, TH_EPROTO, "TLS");
		plain = th_str_sub(plain, (size_t)n, plain.len - (size_t)n);
		drain(t, out);
	}
	return TH_OK;
}

void th_tls_close(struct th_tls *t, struct th_buf *out)
{
	ERR_clear_error();
	(void)SSL_shutdown(t->ssl);
	ERR_clear_error();
	drain(t, out);
}

void th_tls_accept_key(struct th_str key, char out[static 29])
{
	static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	unsigned char digest[EVP_MAX_MD_SIZE];
	char text[128];
	unsigned size = 0;
	int len =
	    snprintf(text, sizeof(text), "%.*s%s", (int)TH_MIN(key.len, (size_t)64), key.ptr, guid);

	if (EVP_Digest(text, (size_t)len, digest, &size, EVP_sha1(), NULL) != 1)
		size = 0;
	EVP_EncodeBlock((unsigned char *)out, digest, (int)TH_MIN(size, 20U));
}
