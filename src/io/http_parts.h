/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_parts.h - one connection of the HTTP server, shared by http_server.c
 * (it reads), http_write.c, http_socket.c and http_request.c; nobody else
 * includes this.
 */
#ifndef TH_IO_HTTP_PARTS_H
#define TH_IO_HTTP_PARTS_H

#include <time.h>

#include "base/limits.h"
#include "io/http_server.h"
#include "io/tls.h"
#include "wire/http1.h"
#include "wire/ws.h"

#define TH_HTTP_READ_SIZE (64 * TH_KIB)

enum th_http_state {
	TH_HTTP_READS,   /* a request, or waits for one */
	TH_HTTP_ANSWERS, /* the owner has it */
	TH_HTTP_STREAMS, /* the owner writes */
	TH_HTTP_SOCKET,  /* it is a WebSocket */
	TH_HTTP_LINGERS, /* all is said; what the peer still sends is read over */
	TH_HTTP_DEAD     /* to be freed */
};

struct th_http_request {
	struct th_http_request *prev, *next;
	struct th_http_server *server;
	enum th_http_state state;
	int fd;
	struct th_poll *poll;
	struct th_timer timer;
	struct th_deferred again; /* goes on with what was read already */
	struct th_http1 *parser;
	struct th_ws *ws;
	struct th_tls *tls;
	struct th_buf in;    /* not parsed yet */
	struct th_buf out;   /* not sent yet, as the peer reads it (encrypted, if at all) */
	struct th_buf plain; /* of a WebSocket or of TLS, on its way to `out` */
	size_t sent;         /* of out */
	uint64_t total, started_ms;
	size_t over; /* bytes read over */
	int status;
	int depth; /* how many of the owner's functions are at work */
	void *data;
	bool headed, chunked, last, wants_room, is_head, head_done, goodbye;
	bool events; /* the stream is one of events */
	bool held;   /* the owner of a socket that is passed on takes no more */
	bool has_peer;
	struct th_address peer;
};

struct th_http_server {
	struct th_loop *loop;
	struct th_http_handlers h;
	struct th_tls_config *tls;
	struct th_http_times times;
	struct th_http_request *list;
	size_t count;
	bool finishing;
	time_t date_at;
	char date[40];
};

/* http_write.c */
void th_http_note_end(struct th_http_request *r);
/* The connection is over; it is freed where nobody is at work with it. */
void th_http_kill(struct th_http_request *r);
void th_http_set_timer(struct th_http_request *r);
void th_http_set_poll(struct th_http_request *r);
/* Bytes for the peer, through TLS where there is one; `flush` sends what can be sent. */
void th_http_put(struct th_http_request *r, struct th_str bytes);
void th_http_flush(struct th_http_request *r);
void th_http_put_head(struct th_http_request *r, int status, const char *type,
		      struct th_str headers, int64_t size);
/* TH_EBUSY: enough waits to be sent, and the owner is told when there is room. */
enum th_code th_http_full(struct th_http_request *r);

/* http_socket.c: what was read, to the owner of the socket. */
void th_http_socket_feed(struct th_http_request *r);

#endif
