/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - a connection to another machine: TCP, with TLS or without.  Bytes in, bytes out.
 *
 * What waits to be sent is bounded, and whoever cannot take more holds the other way.  A peer
 * that takes nothing for TH_STREAM_STALL_MS, that does not end its handshake in time, or whose
 * machine is gone, ends the connection.  All functions run on the loop's thread; callbacks may
 * free the stream.
 */
#ifndef TH_IO_STREAM_H
#define TH_IO_STREAM_H

#include "base/buf.h"
#include "io/loop.h"
#include "io/tls.h"

struct th_stream;

struct th_stream_handlers {
	void (*on_open)(void *ctx);                      /* connected; the handshake is over */
	void (*on_data)(void *ctx, struct th_str bytes); /* borrowed */
	void (*on_room)(void *ctx); /* after TH_EBUSY: all is sent; may be NULL */
	/* Once: the peer ended it (TH_OK), what th_stream_end began is over (TH_OK), or it failed.
	 * The stream is still to be freed. */
	void (*on_close)(void *ctx, const struct th_err *err);
	void *ctx;
};

/* `place`: HOST:PORT.  `tls`: NULL, or a client's, which outlives it.  TH_EUSAGE: it is no place.
 */
TH_NODISCARD enum th_code th_stream_dial(struct th_loop *l, struct th_str place,
					 struct th_tls_config *tls,
					 const struct th_stream_handlers *h, struct th_stream **ret,
					 struct th_err *err);
/* A connection that a listener gave out, which is taken over also on failure; `tls`: a server's. */
TH_NODISCARD enum th_code th_stream_take(struct th_loop *l, int fd, struct th_tls_config *tls,
					 const struct th_stream_handlers *h, struct th_stream **ret,
					 struct th_err *err);
struct th_stream *th_stream_free(struct th_stream *s); /* takes NULL, returns NULL */

/* After on_open.  TH_EBUSY: it is queued, and more than TH_STREAM_QUEUE_MAX waits: no more before
 * on_room.  TH_ELIMIT: it is not, since twice that would wait.  TH_ECONN: the stream is over. */
TH_NODISCARD enum th_code th_stream_write(struct th_stream *s, struct th_str bytes);
void th_stream_hold(struct th_stream *s, bool hold); /* nothing is read */
/* Nothing more is written or told; on_close follows when what waits was sent. */
void th_stream_end(struct th_stream *s);

/* HOST:PORT, [ADDRESS]:PORT in its parts; false: it is none. */
bool th_stream_place(struct th_str place, char host[static 254], bool *ret_address,
		     uint16_t *ret_port);

#endif
