/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal.h - shared by the files of the client.
 *
 *	client.c   life cycle and public functions
 *	calls.c    calls and waiters: messages to and from the executor
 *	link.c     the connection: made when something waits, made again
 *	           when it breaks, ended
 *	far.c      the same to an executor of another machine
 *
 * Callbacks are called from th_link_pass or a socket's callback, between enter
 * and leave; memory that is freed in between is released at leave.  A callback
 * may free the client, so the caller checks `freed` afterwards.
 */
#ifndef TH_EXEC_CLIENT_INTERNAL_H
#define TH_EXEC_CLIENT_INTERNAL_H

#include "exec_client/client.h"
#include "io/loop.h"
#include "io/sock.h"
#include "wire/exec.h"

#define TH_EXEC_FORGET_MAX \
	1024 /* ids that wait for a connection; more are left to the executor's own limit */

enum th_link_state {
	TH_LINK_IDLE,
	TH_LINK_STARTING,
	TH_LINK_GREETING,
	TH_LINK_OPEN,
	TH_LINK_ENDING,   /* told to end; its end is awaited */
	TH_LINK_REMOVING, /* nobody to tell; what was left is removed */
};

/* What clears away what a dead executor left, in a worker; outlives the client if need be. */
struct th_link_removal {
	struct th_executor_client *x; /* NULL: freed */
	char *state_dir;
	enum th_code code;
	struct th_err err;
};

/* A call under way. */
struct th_link_call {
	uint32_t generation; /* odd: in use */
	uint32_t next_free;
	struct th_arena arena;
	struct th_effect_call what;
	struct th_executor_handlers on;
	int64_t id;      /* on this connection; 0: not sent on it */
	uint64_t offset; /* of the output that comes next */
	unsigned tries;  /* connections it was sent on */
	bool attach, held, cancelled, broken;
	char journal[64]; /* that it was sent to */
};

/* Who wants to know when the executor is there. */
struct th_link_waiter {
	struct th_link_waiter *next;
	th_executor_client_ready_fn *fn;
	void *ctx;
	bool screen;
	int64_t id; /* of its open; 0: not sent */
};

struct th_executor_client {
	struct th_loop *loop;
	struct th_arena arena;
	struct th_executor_options o;
	struct th_buf state_dir, socket;
	struct th_str place;      /* in the arena; empty: this machine */
	struct th_stream *stream; /* to that */
	struct th_relay *relay;   /* between it and `sock` */
	int far_fd;               /* until there is one: the other end of `sock` */
	uint64_t reach_ms;        /* until when it is tried; 0: it is not being tried */
	enum th_link_state state;
	struct th_sock *starter, *sock;
	int started; /* pidfd of what was started, until it proves to be an executor; -1: none */
	bool proved; /* what was started is an executor */
	unsigned attempts; /* to reach one, of which each ended meanwhile */
	struct th_timer timer;
	struct th_deferred pass;
	struct th_arena info_arena;
	struct th_executor_info info;
	char journal[64];
	struct th_link_call **calls;
	uint32_t call_room, call_free; /* 0: none; else index + 1 */
	size_t call_count;
	struct th_link_waiter *waiters;
	struct th_arena forget_arena;
	struct th_str forget[TH_EXEC_FORGET_MAX];
	size_t forget_count;
	int64_t next_id;
	struct th_secret *given;        /* a list of exec_given; NULL: none */
	bool gave;                      /* on this connection */
	struct th_executor_watch watch; /* on_frame NULL: none */
	int64_t watch_id;               /* on this connection; 0: not sent on it */
	bool end;
	struct th_link_removal *removal;
	void (*end_done)(void *ctx, const struct th_err *err);
	void *end_ctx;
	unsigned depth;
	bool freed;
};

/* ---- client.c ---- */

void th_link_enter(struct th_executor_client *x);
void th_link_leave(struct th_executor_client *x);

/* ---- calls.c ---- */

struct th_link_call *th_link_call_new(struct th_executor_client *x, struct th_executor_id *ret);
bool th_link_call_is(const struct th_link_call *c); /* else it is free */
/* Nothing more can be learned of it: it is finished with what is true of it then. */
void th_link_call_give_up(struct th_executor_client *x, struct th_link_call *c,
			  const struct th_err *why);
void th_link_call_send(struct th_executor_client *x, struct th_link_call *c);

/* Tells waiters: with an error those of the request `id` (0: all), else those that wait for the
 * welcome, and with `screen` also those that wait for the computer. */
void th_link_tell(struct th_executor_client *x, bool screen, int64_t id, const struct th_err *err);

/* False: the message is too large, or too much waits for the executor. */
bool th_link_send(struct th_executor_client *x, const struct th_table *t, const void *m);
void th_link_say_host(struct th_executor_client *x, int64_t id, struct th_str host, uint16_t port,
		      bool allow);
void th_link_say_input(struct th_executor_client *x, int64_t id, struct th_str bytes, int columns,
		       int rows);
void th_link_hello(struct th_executor_client *x);
void th_link_forget(struct th_executor_client *x);
void th_link_give(struct th_executor_client *x);
void th_link_watch_send(struct th_executor_client *x);
void th_link_watch_give_up(struct th_executor_client *x, const struct th_err *why);
/* An error of it breaks the connection. */
enum th_code th_link_heard(struct th_executor_client *x, const struct th_frame *frame,
			   struct th_err *err);

/* ---- link.c ---- */

void th_link_soon(struct th_executor_client *x); /* th_link_pass, before the loop sleeps */
void th_link_pass(void *ctx);  /* a th_deferred's: connects, or sends what waits */
void th_link_watch(void *ctx); /* a th_timer's: the executor has not answered */
/* Ends what was started and has not proved to be an executor. */
void th_link_end_started(struct th_executor_client *x);
void th_link_greet(struct th_executor_client *x);      /* `sock` is there: says hello */
extern const struct th_sock_handlers th_link_handlers; /* of `sock`, but for the ctx */
/* The connection, or the attempt to make one, is over. */
void th_link_lost(struct th_executor_client *x, const struct th_err *why);

/* ---- far.c ---- */

TH_NODISCARD enum th_code th_link_far_connect(struct th_executor_client *x, struct th_err *err);
void th_link_far_disconnect(struct th_executor_client *x);
/* The executor there was not reached, or there is none.  True: it is dealt with, and the next pass
 * tries again, there or here. */
bool th_link_far_failed(struct th_executor_client *x, const struct th_err *why);

#endif
