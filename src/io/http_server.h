/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_server.h - an HTTP/1.1 server: many connections, answers at once or
 * later, streams, WebSockets, TLS.
 *
 * A connection carries one request after the other; the next one is read when
 * the last was answered.  Everything has a bound: heads, bodies, what waits to
 * be written, the time of each.  A peer that takes nothing of what waits for it
 * is dropped.  What the requests mean is the owner's: it knows no path, token
 * or host.
 *
 * All on the loop's thread.
 */
#ifndef TH_IO_HTTP_SERVER_H
#define TH_IO_HTTP_SERVER_H

#include "base/buf.h"
#include "io/address.h"
#include "io/loop.h"

struct th_http_server;
/* One request, until it is answered wholly or its peer is gone.  Not to be used after that. */
struct th_http_request;
struct th_tls_config;

struct th_http_handlers {
	/* The head is there.  Answers how many bytes of body the request may have; or answers the
	 * request (th_http_reply), and then what it says is nothing. */
	size_t (*on_head)(void *ctx, struct th_http_request *r);
	/* The request is there, with its body. */
	void (*on_request)(void *ctx, struct th_http_request *r);
	/* A message of a WebSocket; borrowed. */
	void (*on_message)(void *ctx, struct th_http_request *r, struct th_str message, bool text);
	/* All of a stream was taken after th_http_write had said TH_EBUSY. */
	void (*on_room)(void *ctx, struct th_http_request *r);
	/* The peer left before the request was answered wholly: the last that is heard of it. */
	void (*on_gone)(void *ctx, struct th_http_request *r);
	/* It is over, in whichever way, `sent` bytes long; for a journal.  May be NULL. */
	void (*on_end)(void *ctx, struct th_http_request *r, int status, uint64_t sent);
	void *ctx;
};

struct th_http_times { /* 0: the limit's */
	uint64_t head_ms, body_ms, idle_ms, stall_ms;
};

/* `tls` NULL: none; else it outlives the server. */
struct th_http_server *th_http_server_new(struct th_loop *l, const struct th_http_handlers *h,
					  struct th_tls_config *tls);
void th_http_server_times(struct th_http_server *s, const struct th_http_times *times);
/* A connection: of th_listen_new, or another stream socket that does not block. */
void th_http_server_take(struct th_http_server *s, int fd);
/* Ends those that have no request, and each other one when it was answered. */
void th_http_server_finish(struct th_http_server *s);
size_t th_http_server_count(const struct th_http_server *s); /* connections */
/* Ends all; of the handlers only on_end is called.  Takes NULL, returns NULL. */
struct th_http_server *th_http_server_free(struct th_http_server *s);

/* ---- a request ---- */

struct th_str th_http_method(const struct th_http_request *r);
struct th_str th_http_path(const struct th_http_request *r);  /* as it came, not decoded */
struct th_str th_http_query(const struct th_http_request *r); /* behind the question mark */
/* .ptr NULL: there is none; of several the first. */
struct th_str th_http_header(const struct th_http_request *r, const char *name);
size_t th_http_header_count(const struct th_http_request *r, const char *name);
struct th_str th_http_body(const struct th_http_request *r);
bool th_http_wants_socket(const struct th_http_request *r); /* it asks for a WebSocket */
bool th_http_secure(const struct th_http_request *r);       /* over TLS */
/* Who is connected; false: over a socket file. */
bool th_http_peer(const struct th_http_request *r, struct th_address *ret);
uint64_t th_http_started_ms(const struct th_http_request *r); /* the loop's clock */
void th_http_set_data(struct th_http_request *r, void *data);
void *th_http_data(const struct th_http_request *r);

/*
 * The answer.  `headers`: more of them, each ended by CR LF; may be empty.  A HEAD request gets no
 * body.  The request is over then.
 */
void th_http_reply(struct th_http_request *r, int status, const char *type, struct th_str headers,
		   struct th_str body);

/*
 * Or a stream: begin, write, end.  Each write is sent with one system call where the peer takes it.
 * TH_EBUSY: written, but more than TH_HTTP_QUEUE_MAX waits: no more before on_room.  TH_ELIMIT: not
 * written, twice that waits.
 */
void th_http_begin(struct th_http_request *r, int status, const char *type, struct th_str headers);
TH_NODISCARD enum th_code th_http_write(struct th_http_request *r, struct th_str bytes);
void th_http_end(struct th_http_request *r);
/* A stream that cannot go on: the peer sees that it is not whole. */
void th_http_abort(struct th_http_request *r);
size_t th_http_waiting(const struct th_http_request *r); /* bytes not taken yet */

/* Or a WebSocket, where it was asked for (else a 400 is the answer).  th_http_send answers as
 * th_http_write; th_http_close ends it with a code. */
bool th_http_upgrade(struct th_http_request *r, struct th_str headers);
TH_NODISCARD enum th_code th_http_send(struct th_http_request *r, struct th_str message, bool text);
void th_http_close(struct th_http_request *r, unsigned code);

#endif
