/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ca.h - an authority of certificates for one session: made in memory, trusted
 * only in the session's sandbox.
 */
#ifndef TH_IO_CA_H
#define TH_IO_CA_H

#include "base/buf.h"
#include "base/secret.h"
#include "io/tls.h"

struct th_ca;

TH_NODISCARD enum th_code th_ca_new(struct th_ca **ret, struct th_err *err);
/* One that th_ca_export has given. */
TH_NODISCARD enum th_code th_ca_import(struct th_str pem, struct th_ca **ret, struct th_err *err);
struct th_ca *th_ca_free(struct th_ca *ca);                   /* takes NULL, returns NULL */
void th_ca_print(const struct th_ca *ca, struct th_buf *out); /* its certificate, PEM */
/* With its key, PEM. */
TH_NODISCARD enum th_code th_ca_export(const struct th_ca *ca, struct th_buf *out,
				       struct th_err *err);
/* The server's end of TLS with a certificate for that host (a name, or an address without
 * brackets). */
TH_NODISCARD enum th_code th_ca_server(const struct th_ca *ca, const char *host, bool address,
				       struct th_tls_config **ret, struct th_err *err);

#endif
