/* SPDX-License-Identifier: Apache-2.0 */
#include "io/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/files.h"
#include "io/sock.h"

#define BACKLOG 1024
#define PASS_MAX 64  /* connections taken in one pass of the loop */
#define RETRY_MS 100 /* after the process ran out of descriptors */
#define ADDRESS_MAX 300

struct th_listen {
	th_listen_fn *fn;
	void *ctx;
	int fd;
	struct th_poll *poll;
	struct th_timer retry;
	struct th_sock_server *local; /* of a socket file */
	struct sockaddr_storage at;
	char path[ADDRESS_MAX];
};

static void on_retry(void *ctx)
{
	struct th_listen *s = ctx;

	th_poll_set(s->poll, TH_POLL_READ);
}

static void on_ready(void *ctx, unsigned events)
{
	struct th_listen *s = ctx;

	(void)events;
	for (int i = 0; i < PASS_MAX; i++) {
		int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), on = 1;

		if (fd >= 0) {
			(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
			s->fn(s->ctx, fd);
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			   errno == ENOMEM) { /* it would be reported again at once */
			th_poll_set(s->poll, 0);
			th_timer_start(&s->retry, RETRY_MS, 0);
			return;
		} else if (errno != EINTR && errno != ECONNABORTED) {
			return;
		}
	}
}

static enum th_code bad_address(struct th_str address, struct th_err *err)
{
	return th_fail(err, TH_EUSAGE,
		       "\"%.*s\" is not an address to listen at, as 127.0.0.1:7711, [::1]:7711 and "
		       "unix:PATH are",
		       (int)TH_MIN(address.len, (size_t)100), address.ptr);
}

/* The host of HOST:PORT or [HOST]:PORT; *port gets the rest. */
static bool split(struct th_str address, struct th_str *host, struct th_str *port)
{
	ptrdiff_t at = -1;
	int64_t n;

	for (size_t i = 0; i < address.len; i++)
		if (address.ptr[i] == ':')
			at = (ptrdiff_t)i;
	if (at < 1)
		return false;
	*host = th_str_sub(address, 0, (size_t)at);
	*port = th_str_sub(address, (size_t)at + 1, address.len);
	if (host->ptr[0] == '[') {
		if (host->ptr[host->len - 1] != ']')
			return false;
		*host = th_str_sub(*host, 1, host->len - 2);
	}
	return th_str_i64(*port, &n) && n >= 0 && n <= 65535 && host->len < ADDRESS_MAX / 2;
}

static enum th_code open_tcp(const struct addrinfo *info, struct th_str address, int *ret,
			     struct th_err *err)
{
	int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		return th_fail_errno(err, errno, "listening at %.*s", TH_FMT(address));
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, info->ai_addr, info->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
		int errnum = errno;

		close(fd);
		if (errnum == EADDRINUSE)
			return th_fail(err, TH_EBUSY,
				       "another program listens at %.*s: end it, or choose "
				       "another address",
				       TH_FMT(address));
		return th_fail_errno(err, errnum, "listening at %.*s", TH_FMT(address));
	}
	*ret = fd;
	return TH_OK;
}

static enum th_code listen_tcp(struct th_listen *s, struct th_loop *l, struct th_str address,
			       struct th_err *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *found;
	struct th_str host, port;
	char host_text[ADDRESS_MAX], port_text[16];
	socklen_t len = sizeof(s->at);
	enum th_code code;

	if (!split(address, &host, &port))
		return bad_address(address, err);
	snprintf(host_text, sizeof(host_text), "%.*s", TH_FMT(host));
	snprintf(port_text, sizeof(port_text), "%.*s", TH_FMT(port));
	if (getaddrinfo(host_text, port_text, &hints, &found) != 0)
		return th_fail(err, TH_EUSAGE, "%s: no address of that name", host_text);
	code = open_tcp(found, address, &s->fd, err);
	freeaddrinfo(found);
	if (code)
		return code;
	(void)getsockname(s->fd, (struct sockaddr *)&s->at, &len);
	code = th_poll_new(l, s->fd, on_ready, s, &s->poll, err);
	if (!code)
		th_poll_set(s->poll, TH_POLL_READ);
	return code;
}

static void on_local(void *ctx, int fd)
{
	struct th_listen *s = ctx;
	struct th_err err = {};

	if (th_fd_nonblock(fd, &err) == TH_OK)
		s->fn(s->ctx, fd);
	else
		th_fd_close(&fd);
}

enum th_code th_listen_new(struct th_loop *l, struct th_str address, th_listen_fn *fn, void *ctx,
			   struct th_listen **ret, struct th_err *err)
{
	struct th_listen *s = th_alloc(sizeof(*s));
	enum th_code code;

	*s = (struct th_listen){ .fn = fn, .ctx = ctx, .fd = -1 };
	th_timer_init(&s->retry, l, on_retry, s);
	if (th_str_starts(address, TH_STR("unix:"))) {
		struct th_str path = th_str_sub(address, 5, address.len);

		if (!path.len || path.len >= sizeof(s->path) || memchr(path.ptr, 0, path.len)) {
			code = bad_address(address, err);
		} else {
			memcpy(s->path, path.ptr, path.len);
			code = th_sock_listen(l, s->path, on_local, s, &s->local, err);
		}
	} else {
		code = listen_tcp(s, l, address, err);
	}
	if (code)
		th_listen_free(s);
	else
		*ret = s;
	return code;
}

struct th_listen *th_listen_free(struct th_listen *s)
{
	if (s) {
		th_timer_stop(&s->retry);
		th_sock_server_free(s->local);
		th_poll_free(s->poll);
		th_fd_close(&s->fd);
		free(s);
	}
	return NULL;
}

bool th_listen_loopback(const struct th_listen *s)
{
	const struct sockaddr_in *v4 = (const void *)&s->at;
	const struct sockaddr_in6 *v6 = (const void *)&s->at;

	if (s->local)
		return true;
	if (s->at.ss_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	return s->at.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

int th_listen_port(const struct th_listen *s)
{
	const struct sockaddr_in *v4 = (const void *)&s->at;
	const struct sockaddr_in6 *v6 = (const void *)&s->at;

	if (s->local)
		return 0;
	return ntohs(s->at.ss_family == AF_INET6 ? v6->sin6_port : v4->sin_port);
}

void th_listen_print(const struct th_listen *s, struct th_buf *out)
{
	const struct sockaddr_in *v4 = (const void *)&s->at;
	const struct sockaddr_in6 *v6 = (const void *)&s->at;
	char text[INET6_ADDRSTRLEN] = "";

	if (s->local)
		th_buf_printf(out, "unix:%s", s->path);
	else if (s->at.ss_family == AF_INET6)
		th_buf_printf(out, "[%s]:%d",
			      inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text)) ?: "",
			      th_listen_port(s));
	else
		th_buf_printf(out, "%s:%d",
			      inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text)) ?: "",
			      th_listen_port(s));
}
