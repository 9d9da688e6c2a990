/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/proxy.h"

#include <stdio.h>

#include "wire/authority.h"

#define PORT_HTTP 80

/* ---- HTTP ---- */

/* HOST:PORT; `otherwise` 0: the port must be there. */
static bool split(struct th_str authority, uint16_t otherwise, struct th_proxy_request *ret)
{
	int64_t port = otherwise;

	ret->host = th_authority_host(authority);
	if (ret->host.len == 0)
		return false;
	if (authority.len > ret->host.len &&
	    !th_str_i64(th_str_sub(authority, ret->host.len + 1, authority.len), &port))
		return false;
	ret->port = (uint16_t)port;
	return port >= 1 && port <= 65535;
}

const char *th_proxy_read(const struct th_http1 *p, struct th_proxy_request *ret)
{
	struct th_str target = th_http1_target(p), scheme = TH_STR("http://");

	*ret = (struct th_proxy_request){ .tunnel = th_str_is(th_http1_method(p), "CONNECT") };
	if (ret->tunnel)
		return split(target, 0, ret) ? NULL : "CONNECT wants HOST:PORT";
	if (!th_str_istarts(target, scheme))
		return "this is a proxy: the target must be an http:// URL, or HOST:PORT of a "
		       "CONNECT";
	target = th_str_sub(target, scheme.len, target.len);
	size_t len = 0;
	while (len < target.len && target.ptr[len] != '/' && target.ptr[len] != '?')
		len++;
	ret->path = th_str_sub(target, len, target.len);
	return split(th_str_sub(target, 0, len), PORT_HTTP, ret)
		   ? NULL
		   : "the URL's host must be HOST or HOST:PORT, without a user";
}

/* Is it named by the header Connection? */
static bool is_named(const struct th_http1 *p, struct th_str name)
{
	struct th_http1_header h;

	for (size_t i = 0; th_http1_header_at(p, i, &h); i++) {
		if (!th_str_ieq(h.name, TH_STR("connection")))
			continue;
		while (h.value.len > 0)
			if (th_str_ieq(th_str_trim(th_str_split(&h.value, ',')), name))
				return true;
	}
	return false;
}

bool th_proxy_goes_on(const struct th_http1 *p, struct th_str name)
{
	static const char *const stays[] = {
		"connection", "proxy-connection",    "keep-alive",        "te",   "trailer",
		"upgrade",    "proxy-authorization", "transfer-encoding", "host",
	};

	for (size_t i = 0; i < TH_COUNT(stays); i++)
		if (th_str_ieq(name, th_str_of(stays[i])))
			return false;
	return th_str_ieq(name, TH_STR("content-length")) || !is_named(p, name);
}

void th_proxy_head(const struct th_http1 *p, const struct th_proxy_request *r, struct th_buf *out)
{
	bool slash = r->path.len == 0 || r->path.ptr[0] != '/';
	struct th_http1_header h;

	th_buf_printf(out, "%.*s %s%.*s HTTP/1.1\r\nHost: %.*s", TH_FMT(th_http1_method(p)),
		      slash ? "/" : "", TH_FMT(r->path), TH_FMT(r->host));
	if (r->port != PORT_HTTP)
		th_buf_printf(out, ":%u", r->port);
	th_buf_add(out, TH_STR("\r\nConnection: close\r\n"));
	if (th_http1_header_count(p, "transfer-encoding") > 0)
		th_buf_add(out, TH_STR("Transfer-Encoding: chunked\r\n"));
	for (size_t i = 0; th_http1_header_at(p, i, &h); i++)
		if (th_proxy_goes_on(p, h.name))
			th_buf_printf(out, "%.*s: %.*s\r\n", TH_FMT(h.name), TH_FMT(h.value));
	th_buf_add(out, TH_STR("\r\n"));
}

/* ---- SOCKS ---- */

enum th_socks_step th_socks_greeting(struct th_str bytes, size_t *ret_used)
{
	const unsigned char *b = (const unsigned char *)bytes.ptr;

	if (bytes.len > 0 && b[0] != TH_SOCKS_VERSION)
		return TH_SOCKS_BAD;
	if (bytes.len < 2 || bytes.len < 2U + b[1])
		return TH_SOCKS_MORE;
	*ret_used = 2U + b[1];
	return memchr(b + 2, 0, b[1]) ? TH_SOCKS_DONE : TH_SOCKS_BAD;
}

enum th_socks_step th_socks_request(struct th_str bytes, char host[static 256], uint16_t *ret_port,
				    size_t *ret_used)
{
	const unsigned char *b = (const unsigned char *)bytes.ptr, *port;
	size_t len = 0;

	if (bytes.len < 5)
		return TH_SOCKS_MORE;
	if (b[0] != TH_SOCKS_VERSION || b[1] != 1 || b[2] != 0)
		return TH_SOCKS_BAD;
	if (b[3] == 1)
		len = 4;
	else if (b[3] == 3)
		len = 1U + b[4];
	else if (b[3] == 4)
		len = 16;
	else
		return TH_SOCKS_BAD;
	*ret_used = 4 + len + 2;
	if (bytes.len < *ret_used)
		return TH_SOCKS_MORE;
	port = b + 4 + len;
	*ret_port = (uint16_t)(port[0] << 8 | port[1]);
	if (b[3] == 1) {
		snprintf(host, 256, "%u.%u.%u.%u", b[4], b[5], b[6], b[7]);
	} else if (b[3] == 4) {
		for (size_t i = 0, at = 0; i < 8; i++)
			at += (size_t)snprintf(host + at, 256 - at, "%s%x", i ? ":" : "",
					       (unsigned)(b[4 + 2 * i] << 8 | b[5 + 2 * i]));
	} else {
		memcpy(host, b + 5, len - 1);
		host[len - 1] = '\0';
		if (len == 1 || memchr(host, '\0', len - 1))
			return TH_SOCKS_BAD;
	}
	return *ret_port ? TH_SOCKS_DONE : TH_SOCKS_BAD;
}

void th_socks_answer(enum th_socks_reply reply, struct th_buf *out)
{
	const char bytes[10] = { TH_SOCKS_VERSION, (char)reply, 0, 1 };

	th_buf_add_mem(out, bytes, sizeof(bytes));
}
