/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls.h - an end of TLS 1.2 and 1.3, over OpenSSL's memory BIOs: bytes in, bytes out, no
 * descriptor.
 */
#ifndef TH_IO_TLS_H
#define TH_IO_TLS_H

#include "base/buf.h"

struct th_tls_config; /* certificate and key */
struct th_tls;        /* one connection */

/* PEM files: the certificate with those between it and its root, and its key. */
TH_NODISCARD enum th_code th_tls_config_new(const char *cert_file, const char *key_file,
					    struct th_tls_config **ret, struct th_err *err);
struct th_tls_config *th_tls_config_free(struct th_tls_config *c); /* NULL; after its connections */

/* Certificate and key of OpenSSL, for io/ca.c; both stay the caller's. */
struct x509_st;
struct evp_pkey_st;
TH_NODISCARD enum th_code th_tls_config_of(struct x509_st *cert, struct evp_pkey_st *key,
					   struct th_tls_config **ret, struct th_err *err);
/* The client's end: servers must prove themselves by the roots that this system trusts. */
TH_NODISCARD enum th_code th_tls_config_client(struct th_tls_config **ret, struct th_err *err);

/* An end of which both have a certificate that the roots in `ca_file` (PEM) vouch for, and no
 * others: who is not one of them gets no further than the handshake. */
TH_NODISCARD enum th_code th_tls_config_mutual(const char *cert_file, const char *key_file,
					       const char *ca_file, bool server,
					       struct th_tls_config **ret, struct th_err *err);

/* `c` is as `by` from now on, which is freed; connections that are there go on as they were. */
void th_tls_config_replace(struct th_tls_config *c, struct th_tls_config *by);

struct th_tls *th_tls_new(struct th_tls_config *c);
/* Of a client; `host` is a name or an address without brackets; `out` gets the first bytes. */
TH_NODISCARD enum th_code th_tls_connect(struct th_tls_config *c, const char *host, bool address,
					 struct th_buf *out, struct th_tls **ret,
					 struct th_err *err);
bool th_tls_is_ready(const struct th_tls *t); /* the handshake is over */
struct th_tls *th_tls_free(struct th_tls *t); /* takes NULL, returns NULL */

/* What came from the peer: appends what it says to `plain`, and what is to be sent to `out`.
 * TH_ECONN: it closed; TH_EPROTO: this is no TLS, or it fails. */
TH_NODISCARD enum th_code th_tls_read(struct th_tls *t, struct th_str bytes, struct th_buf *plain,
				      struct th_buf *out, struct th_err *err);
/* What is said to the peer, encrypted to `out`.  Only once the handshake is over, as it is when the
 * peer has said something. */
TH_NODISCARD enum th_code th_tls_write(struct th_tls *t, struct th_str plain, struct th_buf *out,
				       struct th_err *err);
void th_tls_close(struct th_tls *t, struct th_buf *out); /* says goodbye */

/* Base64 of the SHA-1 of key and GUID: Sec-WebSocket-Accept of RFC 6455, section 4.2.2. */
void th_tls_accept_key(struct th_str key, char out[static 29]);

#endif
