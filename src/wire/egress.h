/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress.h - what an executor and the egress process say to each other: frames
 * (base/codec.h) over a Unix socket.
 *
 * Executor -> egress:
 *
 *	begin  first, with the descriptor of the socket that the session's programs
 *	       connect to: ready, or error and the end
 *	renew  other values of the same secrets
 *	answer what was asked for may be reached, or why not
 *	sync   connection for all that is new, then synced
 *
 * Egress -> executor: ask, where a session may: a connection to a host that is not listed waits for
 * answer; withdrawn, when the one that waits has hung up; and connection, whenever one was decided
 *or has ended.  Its numbers are what came since the last one of that connection.  The session ends
 *with the socket.
 */
#ifndef TH_WIRE_EGRESS_H
#define TH_WIRE_EGRESS_H

#include "base/field.h"

#define TH_FIELDS_egress_begin(F)                                                   \
	F(egress_begin, str, op, "op", TH_REQ, "begin")                             \
	F(egress_begin, str, token, "token", TH_REQ, "of the lock file")            \
	F(egress_begin, str, session, "session", TH_REQ, "for people")              \
	F(egress_begin, raw, net, "net", TH_REQ, "what it may reach: th_net_parse") \
	F(egress_begin, bool, ask, "ask", 0, "what is not listed is asked for")     \
	F(egress_begin, bool, ask_listed, "ask_listed", 0, "and what is listed")    \
	F(egress_begin, raw, secrets, "secrets", 0, "list of exec_secret")          \
	F(egress_begin, str, authority, "authority", 0, "certificate and key, PEM")

#define TH_FIELDS_egress_renew(F)                       \
	F(egress_renew, str, op, "op", TH_REQ, "renew") \
	F(egress_renew, raw, secrets, "secrets", TH_REQ, "list of exec_secret")

/* ready, sync, synced, withdrawn */
#define TH_FIELDS_egress_number(F)                                                  \
	F(egress_number, str, op, "op", TH_REQ, "ready, sync, synced or withdrawn") \
	F(egress_number, int, id, "id", TH_EMIT, "of the sync that is answered, or of the ask")

#define TH_FIELDS_egress_ask(F)                                                   \
	F(egress_ask, str, op, "op", TH_REQ, "ask")                               \
	F(egress_ask, int, id, "id", TH_REQ | TH_EMIT, "number of the question")  \
	F(egress_ask, str, host, "host", TH_REQ | TH_NONEMPTY, "name or address") \
	F(egress_ask, int, port, "port", TH_REQ | TH_POSITIVE, "port of it")      \
	F(egress_ask, bool, listed, "listed", 0, "the list has it")

#define TH_FIELDS_egress_answer(F)                                      \
	F(egress_answer, str, op, "op", TH_REQ, "answer")               \
	F(egress_answer, int, id, "id", TH_REQ | TH_EMIT, "of the ask") \
	F(egress_answer, bool, allow, "allow", 0, "it may be reached")  \
	F(egress_answer, str, why, "why", 0, "why not")

#define TH_FIELDS_egress_error(F)                       \
	F(egress_error, str, op, "op", TH_REQ, "error") \
	F(egress_error, str, message, "message", TH_REQ, "one sentence")

#define TH_FIELDS_egress_connection(F)                                                        \
	F(egress_connection, str, op, "op", TH_REQ, "connection")                             \
	F(egress_connection, str, host, "host", 0, "as it was asked for")                     \
	F(egress_connection, int, port, "port", TH_NONEG, "as it was asked for")              \
	F(egress_connection, str, kind, "kind", TH_REQ, "tunnel, http, socks or tls")         \
	F(egress_connection, str, decision, "decision", TH_REQ, "allowed, refused or failed") \
	F(egress_connection, str, why, "why", 0, "of refused and failed")                     \
	F(egress_connection, int, count, "count", TH_NONEG, "1: it is new")                   \
	F(egress_connection, int, bytes_up, "bytes_up", TH_NONEG, "to the server")            \
	F(egress_connection, int, bytes_down, "bytes_down", TH_NONEG, "from the server")      \
	F(egress_connection, int, ms, "ms", TH_NONEG, "how long")

#define TH_EGRESS_MESSAGES(X) \
	X(egress_begin)       \
	X(egress_renew)       \
	X(egress_number)      \
	X(egress_ask)         \
	X(egress_answer)      \
	X(egress_error) X(egress_connection)
#define X(name) TH_STRUCT(name) extern const struct th_table th_##name##_table;
TH_EGRESS_MESSAGES(X)
#undef X

/* A message as a frame's head, appended to `out`. */
void th_egress_print(const struct th_table *t, const void *message, struct th_buf *out);

#endif
