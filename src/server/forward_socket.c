/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forward_socket.c - a WebSocket whose session another node has: the handshake is asked of that
 * node, and from its answer on both ends talk through this one, which reads nothing of it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/wiped.h"
#include "io/stream.h"
#include "server/fleet.h"
#include "server/service.h"
#include "wire/authority.h"

#define REFUSAL_MAX (64 * TH_KIB) /* of its body */

struct th_passed_socket {
	struct th_access *access;
	struct th_stream *stream;
	struct th_buf asks; /* the request, until it is sent */
	struct th_buf in;   /* of the answer, until it is whole */
	th_passed_fn *fn;
	void *ctx;
	int status; /* of the answer, once its head is whole */
	bool begun, held;
};

/* ---- the answer's head ---- */

static struct th_str header_of(struct th_str head, const char *name)
{
	while (head.len) {
		struct th_str line = th_str_split(&head, '\n');
		struct th_str key = th_str_split(&line, ':');

		if (th_str_ieq(th_str_trim(key), th_str_of(name)))
			return th_str_trim(line);
	}
	return (struct th_str){ NULL, 0 };
}

/* Of the head, with the empty line behind it; SIZE_MAX: it is not whole. */
static size_t head_size(struct th_str in)
{
	for (size_t i = 0; i + 4 <= in.len; i++)
		if (memcmp(in.ptr + i, "\r\n\r\n", 4) == 0)
			return i + 4;
	return SIZE_MAX;
}

static int status_of(struct th_str head)
{
	int64_t status = 0;

	if (!th_str_starts(head, TH_STR("HTTP/1.1 ")) ||
	    !th_str_i64(th_str_sub(head, 9, 3), &status))
		return 0;
	return (int)status;
}

/* To the client, who may leave at that: then this is freed. */
static void tell(struct th_passed_socket *p, struct th_str bytes)
{
	if (th_http_send(p->access->request, bytes, false) == TH_EBUSY)
		th_stream_hold(p->stream, true);
}

static void begin(struct th_passed_socket *p, struct th_str head, struct th_str rest)
{
	static const char *const told[] = { "Sec-WebSocket-Accept", "Sec-WebSocket-Protocol" };
	struct th_buf headers TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP1_HEAD_MAX);

	th_buf_add_cstr(&headers, "Upgrade: websocket\r\nConnection: Upgrade\r\n");
	for (size_t i = 0; i < TH_COUNT(told); i++) {
		struct th_str value = header_of(head, told[i]);

		if (value.len)
			th_buf_printf(&headers, "%s: %.*s\r\n", told[i], TH_FMT(value));
	}
	p->begun = true;
	p->fn(p->ctx, TH_PASSED_BEGUN);
	if (!th_http_pass_socket(p->access->request, th_buf_str(&headers)))
		return; /* its peer left, and `gone` has freed this */
	if (rest.len)
		tell(p, rest);
}

/* Its body is read to its end, so that who asks is told why. */
static bool is_whole(struct th_str head, struct th_str rest)
{
	int64_t size;

	if (!th_str_i64(header_of(head, "Content-Length"), &size))
		size = 0;
	return rest.len >= REFUSAL_MAX || size <= (int64_t)rest.len;
}

static void answered(struct th_passed_socket *p, bool ended)
{
	struct th_str in = th_buf_str(&p->in);
	size_t size = head_size(in);
	struct th_str head = th_str_sub(in, 0, size), rest;

	if (size == SIZE_MAX) {
		if (in.len > TH_HTTP1_HEAD_MAX || ended)
			p->fn(p->ctx, TH_PASSED_LOST);
		return;
	}
	rest = th_str_sub(in, size, in.len);
	p->status = status_of(head);
	if (p->status == 101) {
		struct th_buf all TH_CLEANUP(th_buf_deinit) = p->in;

		th_buf_init(&p->in, 0);
		begin(p, head, rest);
		(void)all;
	} else if (p->status == 421) {
		p->fn(p->ctx, TH_PASSED_MOVED);
	} else if (p->status < 200) {
		p->fn(p->ctx, TH_PASSED_LOST);
	} else if (ended || is_whole(head, rest)) {
		p->fn(p->ctx, TH_PASSED_OVER);
	}
}

/* ---- the other node ---- */

static void on_open(void *ctx)
{
	struct th_passed_socket *p = ctx;

	if (th_stream_write(p->stream, th_buf_str(&p->asks)) != TH_OK)
		th_stream_end(p->stream); /* it is lost */
	th_buf_wipe(&p->asks);
}

static void on_data(void *ctx, struct th_str bytes)
{
	struct th_passed_socket *p = ctx;

	if (p->begun) {
		tell(p, bytes);
		return;
	}
	th_buf_add(&p->in, bytes);
	answered(p, p->in.failed);
}

/* The other node has taken what the client said. */
static void on_room(void *ctx)
{
	struct th_passed_socket *p = ctx;

	if (!p->held)
		return;
	p->held = false;
	th_http_hold(p->access->request, false);
}

static void on_close(void *ctx, const struct th_err *err)
{
	struct th_passed_socket *p = ctx;

	if (err->code)
		th_journal_say(p->access->server, "fleet", "a socket of another node: %s",
			       err->msg);
	if (p->begun)
		p->fn(p->ctx, TH_PASSED_OVER);
	else if (p->in.len)
		answered(p, true);
	else
		p->fn(p->ctx, TH_PASSED_LOST);
}

static void print_request(struct th_passed_socket *p, struct th_str place, struct th_str identity)
{
	static const char *const passed_on[] = { "Sec-WebSocket-Key", "Sec-WebSocket-Version",
						 "Sec-WebSocket-Protocol" };
	const struct th_http_request *r = p->access->request;
	struct th_str query = th_http_query(r);

	th_buf_printf(&p->asks, "GET %.*s%s%.*s HTTP/1.1\r\nHost: %.*s\r\n",
		      TH_FMT(th_http_path(r)), query.len ? "?" : "", TH_FMT(query), TH_FMT(place));
	th_buf_add_cstr(&p->asks, "Upgrade: websocket\r\nConnection: Upgrade\r\n");
	for (size_t i = 0; i < TH_COUNT(passed_on); i++) {
		struct th_str value = th_http_header(r, passed_on[i]);

		if (value.ptr)
			th_buf_printf(&p->asks, "%s: %.*s\r\n", passed_on[i], TH_FMT(value));
	}
	th_buf_add(&p->asks, identity);
	th_buf_add_cstr(&p->asks, "\r\n");
}

enum th_code th_passed_socket_new(struct th_access *a, const char *address, struct th_str identity,
				  th_passed_fn *fn, void *ctx, struct th_passed_socket **ret,
				  struct th_err *err)
{
	struct th_passed_socket *p = th_alloc(sizeof(*p));
	const struct th_stream_handlers h = { .on_open = on_open,
					      .on_data = on_data,
					      .on_room = on_room,
					      .on_close = on_close,
					      .ctx = p };
	struct th_str place = th_authority_of_url(th_str_of(address));
	bool secure = th_str_istarts(th_str_of(address), TH_STR("https://"));
	enum th_code code;

	*p = (struct th_passed_socket){ .access = a, .fn = fn, .ctx = ctx };
	th_buf_init(&p->asks, 2 * TH_HTTP1_HEAD_MAX);
	th_buf_init(&p->in, TH_HTTP1_HEAD_MAX + REFUSAL_MAX + TH_STREAM_QUEUE_MAX);
	print_request(p, place, identity);
	code = th_buf_check(&p->asks, "the request", err);
	if (!code)
		code = th_stream_dial(a->server->loop, place, secure ? a->server->fleet->tls : NULL,
				      &h, &p->stream, err);
	if (code)
		th_passed_socket_free(p);
	else
		*ret = p;
	return code;
}

struct th_passed_socket *th_passed_socket_free(struct th_passed_socket *p)
{
	if (!p)
		return NULL;
	th_stream_free(p->stream);
	th_buf_wipe(&p->asks);
	th_buf_deinit(&p->in);
	free(p);
	return NULL;
}

/* ---- the client ---- */

void th_passed_socket_say(struct th_passed_socket *p, struct th_str bytes)
{
	enum th_code code = th_stream_write(p->stream, bytes);

	if (code == TH_OK)
		return;
	/* A connection that is over tells it itself. */
	p->held = true;
	th_http_hold(p->access->request, true);
}

void th_passed_socket_room(struct th_passed_socket *p)
{
	th_stream_hold(p->stream, false);
}

void th_passed_socket_end(struct th_passed_socket *p)
{
	struct th_http_request *r = p->access->request;
	struct th_buf answer TH_CLEANUP(th_buf_deinit) = p->in;
	struct th_str in = th_buf_str(&answer);
	size_t size = head_size(in);
	bool begun = p->begun || size == SIZE_MAX;
	int status = p->status;
	char type[TH_FETCH_TEXT_MAX + 1];

	th_buf_init(&p->in, 0);
	th_passed_socket_free(p);
	if (begun) {
		th_http_close(r, 1001);
		return;
	}
	snprintf(type, sizeof(type), "%.*s",
		 TH_FMT(header_of(th_str_sub(in, 0, size), "Content-Type")));
	th_http_reply(r, status, type[0] ? type : NULL, (struct th_str){ NULL, 0 },
		      th_str_sub(in, size, in.len));
}
