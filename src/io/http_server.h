/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_server.h - an HTTP/1.1 server: many connections, responses now or later,
 * streams, WebSockets, TLS.
 *
 * A connection carries one request after another; the next one is read after
 * the response to the last.  Heads, bodies, output queues and the time for each
 * are bounded.  A peer that does not read its response is disconnected.  The
 * server knows no paths, tokens or host names: the owner's handlers do.
 *
 * All functions run on the loop's thread.
 */
#ifndef TH_IO_HTTP_SERVER_H
#define TH_IO_HTTP_SERVER_H

#include "base/buf.h"
#include "io/address.h"
#include "io/loop.h"

struct th_http_server;
/* A request; valid until its response is complete or its peer has gone. */
struct th_http_request;
struct th_tls_config;

struct th_http_handlers {
	/* The head was read.  Returns the maximum size of the body; or responds to the request
	 * (th_http_reply), and then the returned value is ignored. */
	size_t (*on_head)(void *ctx, struct th_http_request *r);
	/* The request was read, with its body. */
	void (*on_request)(void *ctx, struct th_http_request *r);
	/* A message of a WebSocket; borrowed. */
	void (*on_message)(void *ctx, struct th_http_request *r, struct th_str message, bool text);
	/* After th_http_write returned TH_EBUSY: the peer has read everything. */
	void (*on_room)(void *ctx, struct th_http_request *r);
	/* The peer left before the response was complete.  No other callback follows. */
	void (*on_gone)(void *ctx, struct th_http_request *r);
	/* The request ended in any way; `sent`: bytes of its response.  For an access log.  May be
	 * NULL. */
	void (*on_end)(void *ctx, struct th_http_request *r, int status, uint64_t sent);
	void *ctx;
};

struct th_http_times { /* 0: the default in limits.h */
	uint64_t head_ms, body_ms, idle_ms, stall_ms, linger_ms;
	size_t connections;
};

/* `tls` NULL: plain HTTP; else it must outlive the server. */
struct th_http_server *th_http_server_new(struct th_loop *l, const struct th_http_handlers *h,
					  struct th_tls_config *tls);
void th_http_server_times(struct th_http_server *s, const struct th_http_times *times);
/* Serves a connection: a non-blocking stream socket, such as one from th_listen_new. */
void th_http_server_take(struct th_http_server *s, int fd);
/* Closes idle connections now, and each other connection after its response. */
void th_http_server_finish(struct th_http_server *s);
size_t th_http_server_count(const struct th_http_server *s); /* connections */
/* Closes all connections; only on_end is called.  Takes NULL, returns NULL. */
struct th_http_server *th_http_server_free(struct th_http_server *s);

/* ---- a request ---- */

struct th_str th_http_method(const struct th_http_request *r);
struct th_str th_http_path(const struct th_http_request *r);  /* as sent, not decoded */
struct th_str th_http_query(const struct th_http_request *r); /* after the question mark */
/* The first header of that name; .ptr NULL: none. */
struct th_str th_http_header(const struct th_http_request *r, const char *name);
size_t th_http_header_count(const struct th_http_request *r, const char *name);
struct th_str th_http_body(const struct th_http_request *r);
bool th_http_wants_socket(const struct th_http_request *r); /* it requests a WebSocket */
bool th_http_secure(const struct th_http_request *r);       /* over TLS */
/* Who is connected; false: over a socket file. */
bool th_http_peer(const struct th_http_request *r, struct th_address *ret);
bool th_http_is_begun(const struct th_http_request *r);  /* its response is a stream */
bool th_http_is_events(const struct th_http_request *r); /* that is one of events */
bool th_http_is_socket(const struct th_http_request *r); /* a WebSocket that is not passed on */
uint64_t th_http_started_ms(const struct th_http_request *r); /* the loop's clock */
void th_http_set_data(struct th_http_request *r, void *data);
void *th_http_data(const struct th_http_request *r);

/*
 * Sends a complete response and ends the request.  `headers`: additional ones, each ended by CR LF;
 * may be empty.  A HEAD request gets no body.
 */
void th_http_reply(struct th_http_request *r, int status, const char *type, struct th_str headers,
		   struct th_str body);

/*
 * Or a streamed response: begin, write, end.  TH_EBUSY: queued, but more than TH_HTTP_QUEUE_MAX
 * bytes wait: write no more before on_room.  TH_ELIMIT: not queued; twice as much waits.
 * th_http_write may call on_gone; th_http_begin does not: its head is sent with the first bytes, or
 * by the loop.
 */
void th_http_begin(struct th_http_request *r, int status, const char *type, struct th_str headers);
TH_NODISCARD enum th_code th_http_write(struct th_http_request *r, struct th_str bytes);
void th_http_end(struct th_http_request *r);
/* Ends a stream early; the peer can see that it is incomplete. */
void th_http_abort(struct th_http_request *r);
size_t th_http_waiting(const struct th_http_request *r); /* bytes that the peer has not read yet */

/* Or a WebSocket, if the request asks for one (else the response is 400).  th_http_send returns the
 * same codes as th_http_write; th_http_close ends the WebSocket with a code. */
bool th_http_upgrade(struct th_http_request *r, struct th_str headers);
TH_NODISCARD enum th_code th_http_send(struct th_http_request *r, struct th_str message, bool text);
void th_http_close(struct th_http_request *r, unsigned code);

/* Or a WebSocket of somebody else: its bytes go through unread, as messages that are no text, and
 * th_http_send gives such bytes.  `headers`: the other's answer, with Sec-WebSocket-Accept. */
bool th_http_pass_socket(struct th_http_request *r, struct th_str headers);
void th_http_hold(struct th_http_request *r, bool hold); /* of that: nothing is read */

#endif
