/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow.c - the stages of a connection: what the client wants is read, decided
 * and dialled; then bytes are passed on, at most one piece waiting in each
 * direction; a client that was refused may read why.
 */
#include "egress/flow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "egress/dial.h"
#include "egress/terminate.h"
#include "io/address.h"
#include "io/clock.h"
#include "io/files.h"
#include "wire/proxy.h"

#define PIECE (256 * TH_KIB)
#define ROUNDS_MAX 4           /* pieces per wake-up, so that one flow cannot starve others */
#define LEAVE_BYTES_MAX TH_MIB /* that a refused client may still send */

enum stage { STAGE_HEAD, STAGE_DIAL, STAGE_RELAY, STAGE_LEAVE };
enum kind { KIND_TUNNEL, KIND_HTTP, KIND_SOCKS };
static const char *const kind_names[] = { "tunnel", "http", "socks" };
#define KIND_TLS "tls" /* a tunnel whose TLS ends here */

struct side {
	int fd;
	struct th_poll *poll;
	struct th_buf out; /* what waits to be written to it */
	size_t out_used;
	bool ended; /* nothing more comes from it */
	bool shut;  /* nothing more is written to it */
};

struct flow {
	struct th_flow base; /* first */
	enum stage stage;
	enum kind kind;
	bool greeted; /* SOCKS */
	bool whole;   /* HTTP: the request has ended */
	bool chunks;  /* HTTP: its body goes on in chunks */
	bool secret;  /* a tunnel to a host that gets one */
	bool address;
	bool tls_ended;           /* its server has, and the rest was given on */
	struct th_terminate *tls; /* of that, once it is connected */
	struct th_buf early;      /* of the client, not yet understood */
	struct th_http1 *http;
	struct th_proxy_request request;
	char host[TH_NET_HOST_MAX + 1];
	uint16_t port;
	struct side client, server;
	struct th_dial *dial;
	struct th_timer timer;
	size_t left; /* bytes read while leaving */
	/* what is told */
	const char *decision; /* NULL: not yet */
	char why[200];
	bool counted;
	uint64_t from_ms, up, down;
	bool ending;
};

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

static void decide(struct flow *f, const char *decision, const char *why)
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

static void end(struct flow *f)
{
	f->base.owner->on_end(f->base.owner->ctx, &f->base);
	th_flow_free(&f->base);
}

static void on_late(void *ctx)
{
	end((struct flow *)ctx);
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

/* Writes at once, and keeps what does not go; false: it is broken. */
static bool give(struct side *s, struct th_str bytes)
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

static void update(struct flow *f)
{
	bool reads = f->stage == STAGE_HEAD || f->stage == STAGE_LEAVE ||
		     (f->stage == STAGE_RELAY && waiting(&f->server) == 0 && takes(f));

	watch(&f->client, (reads && !f->client.ended ? TH_POLL_READ : 0U) |
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
enum answer { ANSWER_BAD, ANSWER_REFUSED, ANSWER_UNREACHABLE };

/* The client may read it, and then the connection ends. */
static void leave(struct flow *f, enum answer answer, const char *text)
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
	if (!give(&f->client, th_buf_str(&out))) {
		end(f);
		return;
	}
	if (waiting(&f->client) == 0 && shutdown(f->client.fd, SHUT_WR) == 0)
		f->client.shut = true;
	update(f);
}

/* ---- dialling ---- */

static bool http_body(struct flow *f, struct th_str bytes);

/* Bytes of the client or of the server through the TLS that ends here. */
static bool terminate(struct flow *f, bool of_client, struct th_str bytes)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf to_client = TH_BUF_INIT(2 * TH_MIB);
	TH_CLEANUP(th_buf_deinit) struct th_buf to_server = TH_BUF_INIT(2 * TH_MIB);
	struct th_err err = {};
	enum th_code code = of_client
				? th_terminate_client(f->tls, bytes, &to_client, &to_server, &err)
				: th_terminate_server(f->tls, bytes, &to_client, &to_server, &err);
	bool given =
	    give(&f->client, th_buf_str(&to_client)) && give(&f->server, th_buf_str(&to_server));

	if (code == TH_ECONN) { /* that side said goodbye */
		*(of_client ? &f->client.ended : &f->server.ended) = true;
		code = TH_OK;
	}
	if (code && given) {
		f->counted = false;
		decide(f, "failed", err.msg);
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
		decide(f, "failed", err.msg);
		return false;
	}
	return give(&f->server, th_buf_str(&first)) &&
	       (early.len == 0 || terminate(f, true, early));
}

static void begin_relay(struct flow *f)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(2 * TH_HTTP1_HEAD_MAX);
	struct th_str early = th_buf_str(&f->early);
	bool good = true;

	f->stage = STAGE_RELAY;
	th_timer_start(&f->timer, TH_EGRESS_IDLE_MS, 0);
	if (f->kind == KIND_HTTP) {
		th_proxy_head(f->http, &f->request, &head);
		good = !head.failed && give(&f->server, th_buf_str(&head)) && http_body(f, early);
	} else {
		if (f->kind == KIND_TUNNEL)
			th_buf_add_cstr(&head, "HTTP/1.1 200 Connection established\r\n\r\n");
		else
			th_socks_answer(TH_SOCKS_GOOD, &head);
		f->up += early.len;
		good = give(&f->client, th_buf_str(&head)) &&
		       (f->secret ? begin_tls(f, early) : give(&f->server, early));
	}
	th_buf_deinit(&f->early);
	if (good)
		update(f);
	else
		end(f);
}

static void on_server(void *ctx, unsigned events);

static void on_dialled(void *ctx, int fd, bool refused, const char *why)
{
	struct flow *f = (struct flow *)ctx;
	char text[TH_NET_HOST_MAX + 300];

	if (fd >= 0) {
		f->dial = th_dial_free(f->dial);
		f->server.fd = fd;
		if (th_poll_new(f->base.owner->loop, fd, on_server, f, &f->server.poll, NULL)) {
			end(f);
			return;
		}
		decide(f, "allowed", "");
		begin_relay(f);
		return;
	}
	snprintf(text, sizeof(text), "%s:%u %s: %s", f->host, f->port,
		 refused ? "may not be reached" : "cannot be reached", why);
	decide(f, refused ? "refused" : "failed", why);
	f->dial = th_dial_free(f->dial); /* `why` was its */
	leave(f, refused ? ANSWER_REFUSED : ANSWER_UNREACHABLE, text);
}

/* An address as the system prints it, which is how the list has it. */
static bool canonical(struct flow *f)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(64);
	struct th_address a;

	if (!th_address_parse(th_str_of(f->host), &a))
		return false;
	th_address_print(&a, &text);
	snprintf(f->host, sizeof(f->host), "%s", text.ptr);
	return true;
}

static void consider(struct flow *f, struct th_str host, uint16_t port, struct th_str method,
		     struct th_str path)
{
	char text[TH_NET_HOST_MAX + 120];
	struct th_net_target target = { .port = port, .method = method, .path = path };

	f->port = port;
	if (!th_net_host(host, f->host, &target.address) || (target.address && !canonical(f))) {
		snprintf(f->host, sizeof(f->host), "?");
		decide(f, "refused", "it is neither a name nor an address");
		leave(f, ANSWER_BAD, "the host is neither a name nor an address");
		return;
	}
	target.host = th_str_of(f->host);
	if (!th_net_match(f->base.owner->policy, &target)) {
		decide(f, "refused", "it is not on the list");
		snprintf(text, sizeof(text), "%s:%u is not on the list of this agent (net)",
			 f->host, f->port);
		leave(f, ANSWER_REFUSED, text);
		return;
	}
	f->address = target.address;
	f->secret = !method.len && th_egress_secrets_for(f->base.owner->secrets, target.host,
							 target.address, port);
	f->stage = STAGE_DIAL;
	th_timer_stop(&f->timer); /* dialling ends by itself */
	f->dial =
	    th_dial_new(f->base.owner->loop, f->base.owner->policy, f->host, port, on_dialled, f);
	update(f);
}

/* ---- what the client wants ---- */

static void bad(struct flow *f, const char *why)
{
	snprintf(f->host, sizeof(f->host), "?");
	decide(f, "refused", why);
	leave(f, ANSWER_BAD, why);
}

static void read_http(struct flow *f)
{
	struct th_err err = {};
	size_t used;
	const char *wrong;

	if (!f->http)
		f->http = th_http1_new_relay();
	enum th_http1_step step = th_http1_feed(f->http, th_buf_str(&f->early), &used, &err);
	th_buf_drop(&f->early, used);
	if (step == TH_HTTP1_MORE)
		return;
	if (step == TH_HTTP1_BAD) {
		bad(f, err.msg);
		return;
	}
	wrong = th_proxy_read(f->http, &f->request);
	if (wrong) {
		bad(f, wrong);
		return;
	}
	f->kind = f->request.tunnel ? KIND_TUNNEL : KIND_HTTP;
	f->chunks = th_http1_header_count(f->http, "transfer-encoding") > 0;
	if (f->request.tunnel)
		consider(f, f->request.host, f->request.port, TH_STR(""), TH_STR(""));
	else
		consider(f, f->request.host, f->request.port, th_http1_method(f->http),
			 f->request.path.len ? f->request.path : TH_STR("/"));
}

static void read_socks(struct flow *f)
{
	enum th_socks_step step = TH_SOCKS_DONE;
	char host[256];
	uint16_t port;
	size_t used = 0;

	f->kind = KIND_SOCKS;
	if (!f->greeted) {
		step = th_socks_greeting(th_buf_str(&f->early), &used);
		f->greeted = step == TH_SOCKS_DONE;
		th_buf_drop(&f->early, used);
		if (f->greeted && !give(&f->client, TH_STR(TH_SOCKS_WELCOME))) {
			end(f);
			return;
		}
	}
	if (step == TH_SOCKS_DONE)
		step = th_socks_request(th_buf_str(&f->early), host, &port, &used);
	if (step == TH_SOCKS_BAD) {
		bad(f, "this is not a SOCKS 5 request to connect, without a password");
	} else if (step == TH_SOCKS_DONE) {
		th_buf_drop(&f->early, used);
		consider(f, th_str_of(host), port, TH_STR(""), TH_STR(""));
	}
}

static void read_head(struct flow *f)
{
	ssize_t got = take(&f->client);

	if (got < 0) {
		end(f);
		return;
	}
	th_buf_add_mem(&f->early, piece, (size_t)got);
	if (f->early.failed)
		bad(f, "too much came before it was clear what is wanted");
	else if (f->early.len > 0 && f->early.ptr[0] == TH_SOCKS_VERSION && !f->http)
		read_socks(f);
	else if (f->early.len > 0 && f->kind == KIND_SOCKS)
		read_socks(f);
	else if (f->early.len > 0)
		read_http(f);
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
	return !body.failed && !out.failed && give(&f->server, th_buf_str(&out));
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
			   : !give(&f->server, th_str_n(piece, (size_t)got)))
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
			   : !give(&f->client, th_str_n(piece, (size_t)got)))
			return false;
	}
	if (f->tls && f->server.ended && !f->tls_ended) {
		TH_CLEANUP(th_buf_deinit) struct th_buf last = TH_BUF_INIT(2 * TH_MIB);

		f->tls_ended = true;
		th_terminate_end(f->tls, &last);
		return give(&f->client, th_buf_str(&last));
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
		end(f);
		return;
	}
	th_timer_start(&f->timer, TH_EGRESS_IDLE_MS, 0);
	update(f);
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
		update(f);
	else
		end(f);
}

static void on_client(void *ctx, unsigned events)
{
	struct flow *f = (struct flow *)ctx;
	bool good = true;

	switch (f->stage) {
	case STAGE_HEAD:
		if (events & TH_POLL_WRITE && !flush(&f->client))
			end(f);
		else
			read_head(f);
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
	update(f);
	return &f->base;
}
