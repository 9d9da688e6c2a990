/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ws.h - the server's end of a WebSocket (RFC 6455), over wslay.
 *
 * Pure: bytes in, messages and bytes out.  The handshake is HTTP and not here.
 * Pings are answered, fragments put together, text is UTF-8.  ws.c is the only
 * file that sees wslay.
 */
#ifndef TH_WIRE_WS_H
#define TH_WIRE_WS_H

#include "base/buf.h"

struct th_ws;

/* A whole message, borrowed until it returns; `text`: it is UTF-8. */
typedef void th_ws_fn(void *ctx, struct th_str message, bool text);

/* `out` gets what is to be sent, and stays the caller's.  A message of more than message_max bytes
 * ends the connection with code 1009. */
struct th_ws *th_ws_new(size_t message_max, th_ws_fn *fn, void *ctx, struct th_buf *out);
struct th_ws *th_ws_free(struct th_ws *w); /* takes NULL, returns NULL */

/* TH_OK; TH_EPROTO: no good frames, a close is in `out`; TH_ECONN: the closing handshake is over,
 * and the connection is to be ended once `out` is sent. */
TH_NODISCARD enum th_code th_ws_feed(struct th_ws *w, struct th_str bytes, struct th_err *err);
void th_ws_send(struct th_ws *w, struct th_str message, bool text);
void th_ws_close(struct th_ws *w, unsigned code); /* RFC 6455 section 7.4 */

#endif
