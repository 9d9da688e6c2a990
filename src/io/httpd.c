/* SPDX-License-Identifier: Apache-2.0 */
#include "io/httpd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "io/files.h"
#include "wire/http_head.h"

enum state { READS, WAITS, WRITES };

struct th_httpd_caller {
	struct th_httpd_caller *next;
	struct th_httpd *httpd;
	enum state state;
	int fd;
	struct th_poll *poll;
	struct th_timer timer;
	struct th_buf in, out;
	size_t sent;
};

struct th_httpd {
	struct th_loop *loop;
	const struct th_secret *token;
	th_httpd_fn *fn;
	void *ctx;
	int fd, port;
	struct th_poll *poll;
	struct th_httpd_caller *callers;
	size_t count;
	uint64_t caller_ms;
};

/* ---- callers ---- */

static void caller_free(struct th_httpd_caller *c)
{
	struct th_httpd_caller **at = &c->httpd->callers;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->httpd->count--;
	th_timer_stop(&c->timer);
	th_poll_free(c->poll);
	th_fd_close(&c->fd);
	th_buf_deinit(&c->in);
	th_buf_deinit(&c->out);
	free(c);
}

static void on_slow(void *ctx)
{
	caller_free(ctx);
}

static void write_some(struct th_httpd_caller *c)
{
	while (c->sent < c->out.len) {
		ssize_t n = send(c->fd, c->out.ptr + c->sent, c->out.len - c->sent,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0) {
			c->sent += (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			th_poll_set(c->poll, TH_POLL_WRITE);
			return;
		} else if (n == 0 || errno != EINTR) {
			break;
		}
	}
	shutdown(c->fd, SHUT_WR);
	caller_free(c);
}

static const char *phrase(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 401:
		return "Unauthorized";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 413:
		return "Content Too Large";
	default:
		return "Error";
	}
}

void th_httpd_reply(struct th_httpd_caller *c, int status, struct th_str json)
{
	assert(c->state != WRITES);
	c->state = WRITES;
	th_buf_printf(&c->out,
		      "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
		      "Cache-Control: no-store\r\nConnection: close\r\n\r\n",
		      status, phrase(status), json.len);
	th_buf_add(&c->out, json);
	th_timer_start(&c->timer, c->httpd->caller_ms, 0);
	write_some(c);
}

static void refuse(struct th_httpd_caller *c, int status, const char *why)
{
	struct th_buf text = TH_BUF_INIT(4 * TH_KIB);
	struct th_jw w = th_jw(&text);

	th_jw_object(&w);
	th_jw_kstr(&w, "detail", th_str_of(why));
	th_jw_object_end(&w);
	th_httpd_reply(c, status, th_buf_str(&text));
	th_buf_deinit(&text);
}

static void take_request(struct th_httpd_caller *c)
{
	struct th_httpd *d = c->httpd;
	struct th_http_head h;
	struct th_err err = { 0 };
	enum th_code code = th_http_head_read(th_buf_str(&c->in), &h, &err);

	if (code)
		refuse(c, code == TH_ELIMIT ? 413 : 400, err.msg);
	else if (!h.size || c->in.len < h.size + h.body_size)
		return; /* more is to come */
	else if (!th_http_head_local(&h))
		refuse(c, 403, "this is for callers of this machine, not for other sites' pages");
	else if (!th_secret_eq(d->token, h.token))
		refuse(c, 401, "the token is missing or wrong: Authorization: Bearer TOKEN");
	else {
		c->state = WAITS;
		th_timer_stop(&c->timer);
		th_poll_set(c->poll, 0);
		d->fn(d->ctx, c, h.method, h.path,
		      th_str_sub(th_buf_str(&c->in), h.size, h.body_size));
	}
}

static void on_caller(void *ctx, unsigned events)
{
	struct th_httpd_caller *c = ctx;
	char *to;
	ssize_t n;

	if (c->state == WRITES) {
		write_some(c);
		return;
	}
	if (c->state != READS || !(events & TH_POLL_READ))
		return;
	to = th_buf_grow(&c->in, 16 * TH_KIB);
	n = to ? recv(c->fd, to, 16 * TH_KIB, MSG_DONTWAIT) : 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		caller_free(c);
		return;
	}
	th_buf_grown(&c->in, (size_t)n);
	take_request(c);
}

static void on_accept(void *ctx, unsigned events TH_UNUSED)
{
	struct th_httpd *d = ctx;
	int fd = accept4(d->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct th_httpd_caller *c;
	struct th_err err;

	if (fd < 0)
		return;
	if (d->count == TH_HUMAN_CALLERS_MAX) {
		close(fd);
		return;
	}
	c = th_alloc(sizeof(*c));
	*c = (struct th_httpd_caller){ .httpd = d, .fd = fd, .next = d->callers };
	d->callers = c;
	d->count++;
	th_buf_init(&c->in, TH_REQUEST_HEAD_MAX + TH_HUMAN_BODY_MAX + 64 * TH_KIB);
	th_buf_init(&c->out, TH_REQUEST_MAX);
	th_timer_init(&c->timer, d->loop, on_slow, c);
	th_timer_start(&c->timer, c->httpd->caller_ms, 0);
	if (th_poll_new(d->loop, fd, on_caller, c, &c->poll, &err))
		caller_free(c);
	else
		th_poll_set(c->poll, TH_POLL_READ);
}

/* ---- listening ---- */

static bool read_url(struct th_str url, int64_t *ret_port)
{
	static const char *const hosts[] = { "http://127.0.0.1", "http://localhost" };

	while (th_str_ends(url, TH_STR("/")))
		url.len--;
	for (size_t i = 0; i < TH_COUNT(hosts); i++) {
		struct th_str host = th_str_of(hosts[i]);

		if (th_str_istarts(url, host) && url.len > host.len && url.ptr[host.len] == ':')
			return th_str_i64(th_str_sub(url, host.len + 1, url.len), ret_port) &&
			       *ret_port >= 0 && *ret_port <= 65535;
	}
	return false;
}

static enum th_code open_port(struct th_httpd *d, int64_t port, struct th_err *err)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int yes = 1;

	d->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->fd < 0 || setsockopt(d->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
	    bind(d->fd, (const struct sockaddr *)&a, sizeof(a)) || listen(d->fd, 16) ||
	    getsockname(d->fd, (struct sockaddr *)&a, &len))
		return th_fail_errno(err, errno, "listen at port %lld of the loopback",
				     (long long)port);
	d->port = ntohs(a.sin_port);
	return th_poll_new(d->loop, d->fd, on_accept, d, &d->poll, err);
}

enum th_code th_httpd_new(struct th_loop *l, struct th_str url, const struct th_secret *token,
			  th_httpd_fn *fn, void *ctx, struct th_httpd **ret, struct th_err *err)
{
	struct th_httpd *d;
	int64_t port;
	enum th_code code;

	if (!read_url(url, &port))
		return th_fail(err, TH_EUSAGE,
			       "it is listened at the loopback only: http://127.0.0.1:PORT");
	d = th_alloc(sizeof(*d));
	*d = (struct th_httpd){ .loop = l, .token = token, .fn = fn, .ctx = ctx, .fd = -1 };
	d->caller_ms = TH_HUMAN_CALLER_MS;
	code = open_port(d, port, err);
	if (code) {
		th_httpd_free(d);
		return code;
	}
	th_poll_set(d->poll, TH_POLL_READ);
	*ret = d;
	return TH_OK;
}

struct th_httpd *th_httpd_free(struct th_httpd *d)
{
	if (!d)
		return NULL;
	while (d->callers)
		caller_free(d->callers);
	th_poll_free(d->poll);
	th_fd_close(&d->fd);
	free(d);
	return NULL;
}

void th_httpd_caller_ms(struct th_httpd *d, uint64_t ms)
{
	d->caller_ms = ms;
}

int th_httpd_port(const struct th_httpd *d)
{
	return d->port;
}
