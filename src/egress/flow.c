/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow.c - the bytes of a connection: passed on, at most one piece waiting in
 * each direction; a client that was refused may read why.
 */
#include "egress/flow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "egress/flow_internal.h"
#include "io/clock.h"
#include "io/files.h"

#define PIECE (256 * TH_KIB)
#define ROUNDS_MAX 4           /* pieces per wake-up, so that one flow cannot starve others */
#define LEAVE_BYTES_MAX TH_MIB /* that a refused client may still send */

static const char *const kind_names[] = { "tunnel", "http", "socks" };
#define KIND_TLS "tls" /* a tunnel whose TLS ends here */

/* Of the one thread of the process. */
static char piece[PIECE];

static size_t waiting(const struct side *s)
{
	return s->out.len - s->out_used;
}

/* ---- what is told ---- */

void th_flow_sync(struct th_flow *base)
{
	struct flow *f = (struct flow *)base;
	uint64_t now = th_clock_ms();

	if (!f->decision || (f->counted && f->up == 0 && f->down == 0 && !f->ending))
		return;
	struct th_egress_connection c = {
		.op = TH_STR("connection"),
		.host = th_str_of(f->host),
		.port = f->port,
		.kind = th_str_of(f->secret ? KIND_TLS : kind_names[f->kind]),
		.decision = th_str_of(f->decision),
		.why = th_str_of(f->why),
		.count = f->counted ? 0 : 1,
		.bytes_up = (int64_t)f->up,
		.bytes_down = (int64_t)f->down,
		.ms = (int64_t)(now - f->from_ms),
	};
	f->counted = true;
	f->up = f->down = 0;
	f->from_ms = now;
	f->base.owner->on_report(f->base.owner->ctx, &c);
}

void th_flow_decide(struct flow *f, const char *decision, const char *why)
{
	f->decision = decision;
	snprintf(f->why, sizeof(f->why), "%.*s", (int)sizeof(f->why) - 1, why);
	th_flow_sync(&f->base);
}

/* ---- life ---- */

static void side_deinit(struct side *s)
{
	s->poll = th_poll_free(s->poll);
	th_fd_close(&s->fd);
	th_buf_deinit(&s->out);
}

void th_flow_free(struct th_flow *base)
{
	struct flow *f = (struct flow *)base;

	f->ending = true;
	th_flow_sync(base);
	th_timer_stop(&f->timer);
	th_dial_free(f->dial);
	side_deinit(&f->client);
	side_deinit(&f->server);
	th_terminate_free(f->tls);
	th_http1_free(f->http);
	th_buf_deinit(&f->early);
	free(f);
}

void th_flow_end(struct flow *f)
{
	f->base.owner->on_end(f->base.owner->ctx, &f->base);
	th_flow_free(&f->base);
}

static void on_late(void *ctx)
{
	struct flow *f = (struct flow *)ctx;

	if (f->stage == STAGE_ASK)
		th_flow_unanswered(f);
	else
		th_flow_end(f);
}

/* ---- bytes ---- */

/* False: it is broken. */
static bool flush(struct side *s)
{
	while (waiting(s) > 0) {
		ssize_t put = send(s->fd, s->out.ptr + s->out_used, waiting(s), MSG_NOSIGNAL);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK;
		s->out_used += (size_t)put;
	}
	s->out_used = 0;
	th_buf_clear(&s->out);
	return true;
}

/* Into `piece`; >0 bytes, 0: none now, -1: none ever more. */
static ssize_t take(struct side *s)
{
	ssize_t got;

	do
		got = recv(s->fd, piece, sizeof(piece), 0);
	while (got < 0 && errno == EINTR);
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 0;
	if (got <= 0)
		s->ended = true;
	return got > 0 ? got : -1;
}

ssize_t th_flow_read(struct flow *f)
{
	ssize_t got = take(&f->client);

	if (got > 0)
		th_buf_add_mem(&f->early, piece, (size_t)got);
	return got;
}

/* Writes at once, and keeps what does not go; false: it is broken. */
bool th_flow_give(struct side *s, struct th_str bytes)
{
	ssize_t put = 0;

	if (waiting(s) == 0) {
		do
			put = send(s->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
		while (put < 0 && errno == EINTR);
		if (put < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
			return false;
	}
	if (put < 0)
		put = 0;
	th_buf_add(&s->out, th_str_sub(bytes, (size_t)put, bytes.len));
	return !s->out.failed;
}

static void watch(struct side *s, unsigned events)
{
	if (s->poll && th_poll_get(s->poll) != events)
		th_poll_set(s->poll, events);
}

/* Whether more of the client should be read. */
static bool takes(const struct flow *f)
{
	return f->tls ? th_terminate_takes(f->tls) : !f->whole;
}

void th_flow_update(struct flow *f)
{
	bool reads = f->stage == STAGE_HEAD || f->stage == STAGE_LEAVE ||
		     (f->stage == STAGE_RELAY && waiting(&f->server) == 0 && takes(f));

	watch(&f->client, (reads && !f->client.ended ? TH_POLL_READ : 0U) |
			      (f->stage == STAGE_ASK ? TH_POLL_HANGUP : 0U) |
			      (waiting(&f->client) ? TH_POLL_WRITE : 0U));
	watch(&f->server, (!f->server.ended && waiting(&f->client) == 0 ? TH_POLL_READ : 0U) |
			      (waiting(&f->server) ? TH_POLL_WRITE : 0U));
}

/* ---- refusing ---- */

static const struct {
	const char *status;
	enum th_socks_reply socks;
} answers[] = {
	{ "400 Bad Request", TH_SOCKS_FAILED },
	{ "403 Forbidden", TH_SOCKS_REFUSED },
	{ "502 Bad Gateway", TH_SOCKS_UNREACHABLE },
};

/* The client may read it, and then the connection ends. */
void th_flow_leave(struct flow *f, enum answer answer, const char *text)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf out = TH_BUF_INIT(4 * TH_KIB);

	if (f->kind == KIND_SOCKS)
		th_socks_answer(answers[answer].socks, &out);
	else
		th_buf_printf(&out,
			      "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
			      "Connection: close\r\n\r\nthole: %s\n",
			      answers[answer].status, strlen(text) + 8, text);
	f->stage = STAGE_LEAVE;
	th_timer_start(&f->timer, TH_EGRESS_LEAVE_MS, 0);
	if (!th_flow_give(&f->client, th_buf_str(&out))) {
		th_flow_end(f);
		return;
	}
	if (waiting(&f->client) == 0 && shutdown(f->client.fd, SHUT_WR) == 0)
		f->client.shut = true;
	th_flow_update(f);
}

/* ---- the server is there ---- */

static bool http_body(struct flow *f, struct th_str bytes);
static void on_server(void *ctx, unsigned events);

/* Bytes of the client or of the server through the TLS that ends here. */
static bool terminate(struct flow *f, bool of_client, struct th_str bytes)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf to_client = TH_BUF_INIT(2 * TH_MIB);
	TH_CLEANUP(th_buf_deinit) struct th_buf to_server = TH_BUF_INIT(2 * TH_MIB);
	struct th_err err = {};
	enum th_code code = of_client
				? th_terminate_client(f->tls, bytes, &to_client, &to_server, &err)
				: th_terminate_server(f->tls, bytes, &to_client, &to_server, &err);
	bool given = th_flow_give(&f->client, th_buf_str(&to_client)) &&
		     th_flow_give(&f->server, th_buf_str(&to_server));

	if (code == TH_ECONN) { /* that side said goodbye */
		*(of_client ? &f->client.ended : &f->server.ended) = true;
		code = TH_OK;
	}
	if (code && given) {
		f->counted = false;
		th_flow_decide(f, "failed", err.msg);
	}
	return code == TH_OK && given;
}

static bool begin_tls(struct flow *f, struct th_str early)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf first = TH_BUF_INIT(64 * TH_KIB);
	struct th_err err = {};

	if (th_terminate_new(f->base.owner->secrets, f->host, f->address, f->port, &first, &f->tls,
			     &err)) {
		f->counted = false;
		th_flow_decide(f, "failed", err.msg);
		return false;
	}
	return th_flow_give(&f->server, th_buf_str(&first)) &&
	       (early.len == 0 || terminate(f, true, early));
}

void th_flow_relay(struct flow *f, int fd)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(2 * TH_HTTP1_HEAD_MAX);
	struct th_str early = th_buf_str(&f->early);
	bool good = true;

	f->server.fd = fd;
	if (th_poll_new(f->base.owner->loop, fd, on_server, f, &f->server.poll, NULL)) {
		th_flow_end(f);
		return;
	}
	th_flow_decide(f, "allowed", "");
	f->stage = STAGE_RELAY;
	th_timer_start(&f->timer, TH_EGRESS_IDLE_MS, 0);
	if (f->kind == KIND_HTTP) {
		th_proxy_head(f->http, &f->request, &head);
		good = !head.failed && th_flow_give(&f->server, th_buf_str(&head)) &&
		       http_body(f, early);
	} else {
		if (f->kind == KIND_TUNNEL)
			th_buf_add_cstr(&head, "HTTP/1.1 200 Connection established\r\n\r\n");
		else
			th_socks_answer(TH_SOCKS_GOOD, &head);
		f->up += early.len;
		good = th_flow_give(&f->client, th_buf_str(&head)) &&
		       (f->secret ? begin_tls(f, early) : th_flow_give(&f->server, early));
	}
	th_buf_deinit(&f->early);
	if (good)
		th_flow_update(f);
	else
		th_flow_end(f);
}

/* ---- passing on ---- */

/* The body of a request, framed anew; what comes behind it is not read. */
static bool http_body(struct flow *f, struct th_str bytes)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf body = TH_BUF_INIT(PIECE + TH_HTTP1_HEAD_MAX);
	TH_CLEANUP(th_buf_deinit)
	struct th_buf out = TH_BUF_INIT(PIECE + TH_HTTP1_HEAD_MAX + TH_KIB);
	enum th_http1_step step = TH_HTTP1_MORE;
	size_t used = 0;

	/* Once more without bytes: a request without a body is whole only then. */
	do {
		step = th_http1_feed(f->http, bytes, &used, NULL);
		bytes = th_str_sub(bytes, used, bytes.len);
	} while (step == TH_HTTP1_MORE && used > 0 && bytes.len > 0);
	if (step == TH_HTTP1_BAD)
		return false;
	th_http1_take_body(f->http, &body);
	f->whole = step == TH_HTTP1_WHOLE;
	if (f->chunks && body.len > 0)
		th_buf_printf(&out, "%zx\r\n", body.len);
	th_buf_add(&out, th_buf_str(&body));
	if (f->chunks && body.len > 0)
		th_buf_add(&out, TH_STR("\r\n"));
	if (f->chunks && f->whole)
		th_buf_add(&out, TH_STR("0\r\n\r\n"));
	f->up += body.len;
	return !body.failed && !out.failed && th_flow_give(&f->server, th_buf_str(&out));
}

static bool pass_up(struct flow *f)
{
	for (int round = 0; round < ROUNDS_MAX && waiting(&f->server) == 0 && takes(f); round++) {
		ssize_t got = take(&f->client);
		if (got <= 0)
			break;
		if (f->kind == KIND_HTTP) {
			if (!http_body(f, th_str_n(piece, (size_t)got)))
				return false;
			continue;
		}
		f->up += (uint64_t)got;
		if (f->tls ? !terminate(f, true, th_str_n(piece, (size_t)got))
			   : !th_flow_give(&f->server, th_str_n(piece, (size_t)got)))
			return false;
	}
	return true;
}

static bool pass_down(struct flow *f)
{
	for (int round = 0; round < ROUNDS_MAX && waiting(&f->client) == 0; round++) {
		ssize_t got = take(&f->server);
		if (got <= 0)
			break;
		f->down += (uint64_t)got;
		if (f->tls ? !terminate(f, false, th_str_n(piece, (size_t)got))
			   : !th_flow_give(&f->client, th_str_n(piece, (size_t)got)))
			return false;
	}
	if (f->tls && f->server.ended && !f->tls_ended) {
		TH_CLEANUP(th_buf_deinit) struct th_buf last = TH_BUF_INIT(2 * TH_MIB);

		f->tls_ended = true;
		th_terminate_end(f->tls, &last);
		return th_flow_give(&f->client, th_buf_str(&last));
	}
	return true;
}

/* An end goes through when all before it has. */
static bool pass_end(struct side *from, struct side *to)
{
	if (!from->ended || waiting(to) > 0 || to->shut)
		return true;
	to->shut = true;
	return shutdown(to->fd, SHUT_WR) == 0;
}

static void relayed(struct flow *f, bool good)
{
	bool over =
	    f->server.ended && waiting(&f->client) == 0 &&
	    (f->kind == KIND_HTTP || f->tls || (f->client.ended && waiting(&f->server) == 0));

	if (!good || over || !pass_end(&f->client, &f->server) ||
	    !pass_end(&f->server, &f->client)) {
		th_flow_end(f);
		return;
	}
	th_timer_start(&f->timer, TH_EGRESS_IDLE_MS, 0);
	th_flow_update(f);
}

static void on_server(void *ctx, unsigned events)
{
	struct flow *f = (struct flow *)ctx;
	bool good = true;

	if (f->stage != STAGE_RELAY)
		return;
	if (events & TH_POLL_WRITE)
		good = flush(&f->server);
	if (good && events & TH_POLL_READ && !f->server.ended)
		good = pass_down(f);
	relayed(f, good);
}

/* A refused client: it reads, and what it goes on sending is dropped. */
static void leaving(struct flow *f, unsigned events)
{
	bool good = !(events & TH_POLL_WRITE) || flush(&f->client);

	if (good && waiting(&f->client) == 0 && !f->client.shut) {
		f->client.shut = true;
		good = shutdown(f->client.fd, SHUT_WR) == 0;
	}
	if (good && events & TH_POLL_READ) {
		ssize_t got = take(&f->client);
		f->left += got > 0 ? (size_t)got : 0;
		good = got >= 0 && f->left <= LEAVE_BYTES_MAX;
	}
	if (good)
		th_flow_update(f);
	else
		th_flow_end(f);
}

static void on_client(void *ctx, unsigned events)
{
	struct flow *f = (struct flow *)ctx;
	bool good = true;

	switch (f->stage) {
	case STAGE_HEAD:
		if (events & TH_POLL_WRITE && !flush(&f->client))
			th_flow_end(f);
		else
			th_flow_want(f);
		return;
	case STAGE_ASK:
		/* Errors are reported as readable. */
		if (events & (TH_POLL_HANGUP | TH_POLL_READ) || !flush(&f->client))
			th_flow_hung_up(f);
		else
			th_flow_update(f);
		return;
	case STAGE_DIAL:
		return;
	case STAGE_LEAVE:
		leaving(f, events);
		return;
	case STAGE_RELAY:
		break;
	}
	if (events & TH_POLL_WRITE)
		good = flush(&f->client);
	if (good && events & TH_POLL_READ && !f->client.ended)
		good = pass_up(f);
	relayed(f, good);
}

struct th_flow *th_flow_new(struct th_flow_owner *owner, int fd)
{
	struct flow *f = (struct flow *)th_alloc(sizeof(*f));

	f->base.owner = owner;
	f->client.fd = fd;
	f->server.fd = -1;
	f->from_ms = th_clock_ms();
	th_buf_init(&f->early, PIECE + TH_HTTP1_HEAD_MAX);
	th_buf_init(&f->client.out, 2 * PIECE);
	th_buf_init(&f->server.out, 4 * PIECE);
	th_timer_init(&f->timer, owner->loop, on_late, f);
	if (th_poll_new(owner->loop, fd, on_client, f, &f->client.poll, NULL)) {
		th_flow_free(&f->base);
		return NULL;
	}
	th_timer_start(&f->timer, TH_EGRESS_HEAD_MS, 0);
	th_flow_update(f);
	return &f->base;
}
