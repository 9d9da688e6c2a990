/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/terminate.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/wiped.h"
#include "io/tls.h"
#include "wire/authority.h"
#include "wire/proxy.h"

#define PORT_HTTPS 443
#define TAKES_MAX (64 * TH_KIB) /* held for a server whose handshake is not over */
#define HELD_MAX TH_MIB

struct th_terminate {
	const struct th_egress_secrets *secrets;
	char host[TH_NET_HOST_MAX + 1];
	bool address;
	uint16_t port;
	struct th_tls_config *config;
	struct th_tls *client, *server;
	struct th_buf asked; /* of the client, decrypted, not read yet */
	struct th_buf held;  /* for the server, not encrypted yet */
	struct th_http1 *http;
	bool in_body, chunks;
	bool whole; /* the request has ended; nothing more of the client is read */
	struct th_mask_stream mask;
};

enum th_code th_terminate_new(const struct th_egress_secrets *secrets, const char *host,
			      bool address, uint16_t port, struct th_buf *to_server,
			      struct th_terminate **ret, struct th_err *err)
{
	struct th_terminate *t = (struct th_terminate *)th_alloc(sizeof(*t));

	t->secrets = secrets;
	t->address = address;
	t->port = port;
	snprintf(t->host, sizeof(t->host), "%s", host);
	th_buf_init(&t->asked, TH_MIB);
	th_buf_init(&t->held, HELD_MAX);
	th_mask_stream_init(&t->mask, secrets->mask);
	t->http = th_http1_new_relay();
	enum th_code code = th_ca_server(secrets->ca, host, address, &t->config, err);
	if (code == TH_OK) {
		t->client = th_tls_new(t->config);
		code = th_tls_connect(secrets->client, host, address, to_server, &t->server, err);
	}
	if (code) {
		th_terminate_free(t);
		return code;
	}
	*ret = t;
	return TH_OK;
}

struct th_terminate *th_terminate_free(struct th_terminate *t)
{
	if (!t)
		return NULL;
	th_tls_free(t->client);
	th_tls_free(t->server);
	th_tls_config_free(t->config);
	th_http1_free(t->http);
	th_mask_stream_deinit(&t->mask);
	th_buf_wipe(&t->held);
	th_buf_deinit(&t->asked);
	free(t);
	return NULL;
}

/* ---- requests ---- */

/* The host that the client connected to: what goes there is for it alone. */
static bool is_own_host(const struct th_terminate *t, struct th_str authority)
{
	char host[TH_NET_HOST_MAX + 1], port[8];
	struct th_str name = th_authority_host(authority);
	bool address;

	if (!th_net_host(name, host, &address) || (!t->address && strcmp(host, t->host) != 0))
		return false;
	snprintf(port, sizeof(port), ":%u", t->port);
	return authority.len == name.len
		   ? t->port == PORT_HTTPS
		   : th_str_is(th_str_sub(authority, name.len, authority.len), port);
}

static enum th_code put_head(struct th_terminate *t, struct th_err *err)
{
	struct th_str target = th_http1_target(t->http), host = th_http1_header(t->http, "host");
	struct th_http1_header h;

	if (!target.len || target.ptr[0] != '/')
		return th_fail(err, TH_EPROTO, "the target of a request must be a path");
	if (!is_own_host(t, host))
		return th_fail(err, TH_EPERM, "the header Host names another host than %s",
			       t->host);
	th_buf_printf(&t->held, "%.*s %.*s HTTP/1.1\r\nHost: %.*s\r\n",
		      TH_FMT(th_http1_method(t->http)), TH_FMT(target), TH_FMT(host));
	/* What is compressed cannot be looked through; and the end of the connection is the end of
	 * the answer, of which the last bytes may be held back until then. */
	th_buf_add(&t->held, TH_STR("Accept-Encoding: identity\r\nConnection: close\r\n"));
	t->chunks = th_http1_header_count(t->http, "transfer-encoding") > 0;
	if (t->chunks)
		th_buf_add(&t->held, TH_STR("Transfer-Encoding: chunked\r\n"));
	for (size_t i = 0; th_http1_header_at(t->http, i, &h); i++) {
		if (!th_proxy_goes_on(t->http, h.name) ||
		    th_str_ieq(h.name, TH_STR("accept-encoding")))
			continue;
		th_buf_printf(&t->held, "%.*s: ", TH_FMT(h.name));
		th_egress_secrets_fill(t->secrets, th_str_of(t->host), t->address, t->port, h.name,
				       h.value, &t->held);
		th_buf_add(&t->held, TH_STR("\r\n"));
	}
	th_buf_add(&t->held, TH_STR("\r\n"));
	return TH_OK;
}

static void put_body(struct th_terminate *t, bool whole)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf body = TH_BUF_INIT(TH_MIB);

	th_http1_take_body(t->http, &body);
	if (t->chunks && body.len > 0)
		th_buf_printf(&t->held, "%zx\r\n", body.len);
	th_buf_add(&t->held, th_buf_str(&body));
	if (t->chunks && body.len > 0)
		th_buf_add(&t->held, TH_STR("\r\n"));
	if (t->chunks && whole)
		th_buf_add(&t->held, TH_STR("0\r\n\r\n"));
}

static enum th_code read_request(struct th_terminate *t, struct th_err *err)
{
	enum th_code code = TH_OK;

	while (code == TH_OK && !t->whole) {
		size_t used;
		enum th_http1_step step = th_http1_feed(t->http, th_buf_str(&t->asked), &used, err);

		th_buf_drop(&t->asked, used);
		if (step == TH_HTTP1_BAD)
			return TH_EPROTO;
		if (t->in_body)
			put_body(t, step == TH_HTTP1_WHOLE);
		if (step == TH_HTTP1_HEAD) {
			t->in_body = true;
			code = put_head(t, err);
		} else if (step == TH_HTTP1_WHOLE) {
			t->whole = true;
		} else {
			break;
		}
	}
	if (t->whole)
		th_buf_clear(&t->asked);
	return code ? code : th_buf_check(&t->held, "a request", err);
}

bool th_terminate_takes(const struct th_terminate *t)
{
	return !t->whole && t->held.len < TAKES_MAX;
}

/* ---- both sides ---- */

static enum th_code send_held(struct th_terminate *t, struct th_buf *to_server, struct th_err *err)
{
	enum th_code code;

	if (!th_tls_is_ready(t->server) || t->held.len == 0)
		return TH_OK;
	code = th_tls_write(t->server, th_buf_str(&t->held), to_server, err);
	explicit_bzero(t->held.ptr, t->held.len);
	th_buf_clear(&t->held);
	return code;
}

enum th_code th_terminate_client(struct th_terminate *t, struct th_str bytes,
				 struct th_buf *to_client, struct th_buf *to_server,
				 struct th_err *err)
{
	enum th_code code = th_tls_read(t->client, bytes, &t->asked, to_client, err);
	enum th_code read = read_request(t, code ? NULL : err);

	if (code == TH_OK)
		code = read;
	if (code == TH_OK || code == TH_ECONN) {
		enum th_code sent = send_held(t, to_server, code ? NULL : err);
		code = code ? code : sent;
	}
	return code;
}

enum th_code th_terminate_server(struct th_terminate *t, struct th_str bytes,
				 struct th_buf *to_client, struct th_buf *to_server,
				 struct th_err *err)
{
	TH_CLEANUP(th_buf_wipe) struct th_buf plain = TH_BUF_INIT(2 * TH_MIB);
	TH_CLEANUP(th_buf_deinit) struct th_buf masked = TH_BUF_INIT(2 * TH_MIB);
	enum th_code code = th_tls_read(t->server, bytes, &plain, to_server, err);

	th_mask_stream_feed(&t->mask, th_buf_str(&plain), &masked);
	if (code == TH_OK)
		code = send_held(t, to_server, err);
	if (masked.len > 0 && th_tls_is_ready(t->client)) {
		enum th_code written =
		    th_tls_write(t->client, th_buf_str(&masked), to_client, code ? NULL : err);
		code = code ? code : written;
	}
	return code;
}

void th_terminate_end(struct th_terminate *t, struct th_buf *to_client)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf rest = TH_BUF_INIT(TH_MIB);

	th_mask_stream_end(&t->mask, &rest);
	if (!th_tls_is_ready(t->client))
		return;
	if (rest.len > 0 && th_tls_write(t->client, th_buf_str(&rest), to_client, NULL))
		return;
	th_tls_close(t->client, to_client);
}
