/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.h - bytes between a socket of this machine and a stream to another one, both ways, with
 * TH_RELAY_SIZE_MAX on their way at most: who is slow holds the other.
 *
 * The stream stays its owner's, who passes on what its handlers are told.  All functions run on
 * the loop's thread.
 */
#ifndef TH_IO_RELAY_H
#define TH_IO_RELAY_H

#include "io/stream.h"

struct th_relay;

/* Takes over `fd`, also on failure.  When it is closed at its other end the stream is ended.
 * `on_end`: all that came before th_relay_over was delivered, or cannot be; the relay is still to
 * be freed. */
TH_NODISCARD enum th_code th_relay_new(struct th_loop *l, int fd, struct th_stream *stream,
				       void (*on_end)(void *ctx), void *ctx, struct th_relay **ret,
				       struct th_err *err);
struct th_relay *th_relay_free(struct th_relay *r);          /* takes NULL, returns NULL */
void th_relay_data(struct th_relay *r, struct th_str bytes); /* of the stream */
void th_relay_room(struct th_relay *r);                      /* of the stream */
void th_relay_over(struct th_relay *r); /* the stream is closed; on_end follows, not from within */

#endif
