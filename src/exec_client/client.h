/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - the runtime's connection to the session's executor, a process of
 * the same binary that performs effects and outlives the runtime.
 *
 * The first call starts the executor; every later runtime of the session finds
 * it again (one socket per session, see executor.h).  The client hides the
 * executor's death: it reconnects, to a new executor if needed, and attaches to
 * each call under way by its effect_id, so the journal decides how the call
 * ended.  A call of class R is repeated, once.  Therefore:
 *
 *	Every call started gets on_finished exactly once, never from inside the
 *	function that started it, and never after th_executor_client_free.
 *
 * It never repeats an effect of another class, never guesses (an outcome that
 * the journal does not have is TH_OUTCOME_UNKNOWN), and never gives a key of
 * a model to the executor: its environment has only the entries of
 * th_executor_options, and an agent's secrets go over its socket.
 *
 * Callbacks are called from the loop; they may start and cancel calls and free
 * the client.  Their arguments are borrowed.  All functions run on the loop's
 * thread.
 */
#ifndef TH_EXEC_CLIENT_CLIENT_H
#define TH_EXEC_CLIENT_CLIENT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/geom.h"
#include "base/hash.h"
#include "base/secret.h"
#include "core/effect_call.h"

struct th_loop;
struct th_tls_config;
struct th_exec_frame;
struct th_executor_client;

/* Options for the executor, used if this client starts it; all are copied.  A running executor
 * keeps its own options; another workspace or computer than it has is TH_EBUSY. */
struct th_executor_options {
	/* The session's id, 1..TH_SESSION_ID_MAX bytes, and its store (th_store_scope).  Together
	 * they identify the executor. */
	struct th_str session, scope;
	/* Epoch of the session's lease; 0: a guest (`thole computer`), which neither raises the
	 * fence nor is stopped by it. */
	int64_t epoch;
	/* Absolute path; empty: the executor's, or without one no files and no commands. */
	struct th_str workspace;
	bool net_host; /* commands and desktop get the host's network */
	struct th_str
	    net; /* else the list of what they may reach: JSON, th_net_parse; empty: none */

	/* A list of exec_secret, JSON; NULL: none.  th_executor_client_new takes it over. */
	struct th_secret *secrets;
	/* Asked before an executor is connected to for a new call or for who waits for it, and
	 * before such a call is sent to one: are these the values that count?  TH_EBUSY: later,
	 * when th_executor_client_secrets is called; another error: they cannot be had, and what
	 * waits is not begun, but what is attached to goes on.  NULL: they do. */
	enum th_code (*fresh)(void *ctx, struct th_err *err);
	void *fresh_ctx;

	struct th_str computer;            /* kind; empty: the executor's, if any */
	struct th_str computer_own;        /* the kind's own options: a JSON object; empty: none */
	struct th_size size;               /* of a desktop; 0x0: default */
	struct th_str display, xauthority; /* x11 */
	struct th_str bus;                 /* x11: accessibility bus, th_computer_options */
	struct th_str parser;              /* URL of an OmniParser server; empty: none */
	struct th_str ocr;                 /* program that reads pictures; empty: tesseract */
	const struct th_str *start;        /* commands to start on a new desktop, each run by sh */
	size_t start_count;
	/* How many of these show a window; the first call waits for them, up to start_wait_ms. */
	size_t start_windows;
	int64_t start_wait_ms; /* 0: TH_START_WAIT_S */

	const struct th_str *environment; /* "NAME=value" for commands, beside the clean default */
	size_t environment_count;
	int64_t command_ms_max; /* longest command; 0: TH_COMMAND_SECONDS_DEFAULT */
	int64_t linger_ms;      /* how long it waits for a runtime; 0: TH_EXECUTOR_LINGER_MS */
	/* Timeouts for its first answer and for its end; 0: TH_EXEC_START_MS,
	 * TH_EXECUTOR_END_MS. */
	uint64_t start_ms, end_ms;
	/* Where the session's executor lives, if that is another machine: HOST:PORT of its gate
	 * (executor/gate.h), which is reached with `tls` (a client's; it outlives this one).  When
	 * none runs there, or that machine cannot be reached for TH_EXEC_REACH_MS, what it had is
	 * unknown, and the session goes on with one here. */
	struct th_str place;
	struct th_tls_config *tls;
	bool net_ask;      /* what `net` lacks may be asked for */
	bool net_strict;   /* calls may be strict */
	bool no_sandbox;   /* commands unconfined but for uid and no_new_privs */
	bool only_running; /* never start one: TH_ENOENT when none runs */
	bool looks_on;     /* only watches: the executor does not stay for it */
	/* The thole program to start as the executor.  It must identify itself as an executor
	 * before anything is sent to it.  NULL: only a running executor can be used. */
	const char *program;
};

#define TH_EXECUTOR_LINGER_MS 600000
#define TH_EXECUTOR_END_MS (TH_EXEC_STOP_MS + TH_EXEC_START_MS)

/* Properties of a running executor. */
struct th_executor_info {
	int64_t pid;
	int64_t epoch;         /* highest seen */
	struct th_str journal; /* its name; a new one if the journal was lost or damaged */
	struct th_str build;
	struct th_str workspace; /* empty: none */
	struct th_str computer;  /* kind; empty: none */
	struct th_size screen;   /* 0x0: no computer, or not open yet */
	unsigned caps;           /* enum th_computer_caps of computer/computer.h */
	struct th_str sandbox;   /* JSON object: what is enforced */
};

/* Starts and connects nothing yet.  TH_EUSAGE: invalid options. */
TH_NODISCARD enum th_code th_executor_client_new(struct th_loop *l,
						 const struct th_executor_options *options,
						 struct th_executor_client **ret,
						 struct th_err *err);
/* Disconnects; the executor and its commands continue.  Takes NULL, returns NULL. */
struct th_executor_client *th_executor_client_free(struct th_executor_client *x);
void th_executor_client_freep(struct th_executor_client **x);

/*
 * Connects to the executor or starts it, and with `screen` also opens the computer, so that its
 * size is known before the first model request.  on_ready is called once, with the info or an error
 * (for a missing program: its name and package).
 */
typedef void th_executor_client_ready_fn(void *ctx, const struct th_executor_info *info,
					 const struct th_err *err); /* info NULL: failed */
void th_executor_client_ready(struct th_executor_client *x, bool screen,
			      th_executor_client_ready_fn *on_ready, void *ctx);

/* ---- effects ---- */

struct th_executor_handlers {
	/* The effect is in the executor's journal and may begin.  May be NULL.  Not called for
	 * class R and NOT_STARTED; may be called again after a reconnect. */
	void (*on_accepted)(void *ctx);
	/* Output while it is written: bytes at `offset` of the whole output (standard output and
	 * standard error, in order).  May be NULL; then no output is sent. */
	void (*on_output)(void *ctx, uint64_t offset, struct th_str bytes);
	/* A program of it wants to reach a host that net does not list, and waits for
	 * th_executor_client_host.  NULL: nobody can decide, and it is refused. */
	void (*on_asks)(void *ctx, struct th_str host, uint16_t port, bool listed);
	/* It does not wait any more.  May be NULL where on_asks is. */
	void (*on_withdrawn)(void *ctx, struct th_str host, uint16_t port);
	void (*on_finished)(void *ctx, const struct th_effect_result *result); /* exactly once */
	void *ctx;
};

/* A call; {0, 0}: none.  The id of a finished call matches nothing, which is no error. */
struct th_executor_id {
	uint32_t index, generation;
};

/*
 * Performs the effect.  NOT_STARTED: it certainly did not begin (a fence, an executor that cannot
 * be started, or the journal proves it); FAILED: it began and failed; REFUSED: the tool refuses it
 * (outside the workspace, invalid arguments).
 */
struct th_executor_id th_executor_client_run(struct th_executor_client *x,
					     const struct th_effect_call *call,
					     const struct th_executor_handlers *h);

/*
 * Attaches to an effect that an earlier runtime dispatched: output from `offset` on, then the
 * outcome.  NOT_STARTED: the journal proves that it was never accepted; the executor refuses it
 * from now on, so the answer stays true.  With `begin` it is started instead, if this executor
 * already ran when the INTENT was written: then only the runtime died.  The proof requires the
 * journal that the call names; a driver gets this name by on_ready before it writes an INTENT.  The
 * call must be the same as when it was dispatched: class V is decided by a probe of its arguments,
 * K is sent again, R is repeated.
 */
struct th_executor_id th_executor_client_attach(struct th_executor_client *x,
						const struct th_effect_call *call, uint64_t offset,
						const struct th_executor_handlers *h);

/* Asks the executor to stop the call; on_finished is still called, with the real outcome. */
void th_executor_client_cancel(struct th_executor_client *x, struct th_executor_id id);

/* What was typed for a call that was accepted, and the size of its terminal (0: as it was). */
void th_executor_client_input(struct th_executor_client *x, struct th_executor_id id,
			      struct th_str bytes, int columns, int rows);

/* Whether its programs may reach what they asked for. */
void th_executor_client_host(struct th_executor_client *x, struct th_executor_id id,
			     struct th_str host, uint16_t port, bool allow);

/* The outcomes of these effects are durable: journal and spool may drop them.  Sent later. */
void th_executor_client_forget(struct th_executor_client *x, const struct th_str *effect_ids,
			       size_t count);

/* `fresh` is asked anew.  Takes over the secrets of an executor that is started from now on; NULL:
 * those that it had.  One that runs is given its own as below. */
void th_executor_client_secrets(struct th_executor_client *x, struct th_secret *secrets);
/* Secrets that commands get which name them: a list of exec_given (wire/exec.h), all of them.  They
 * are said to each executor before the next effect; none is started for it. */
void th_executor_client_give(struct th_executor_client *x, struct th_str list);

/* The session has ended: the executor closes the desktop, kills all commands and exits.  `done`
 * (may be NULL) is called when it has exited; TH_OK also if none was running. */
void th_executor_client_end(struct th_executor_client *x,
			    void (*done)(void *ctx, const struct th_err *err), void *ctx);

/* Name of the journal of the last connected executor; empty: never connected. */
struct th_str th_executor_client_journal(const struct th_executor_client *x);

/* Where it lives, as `place`; empty: on this machine. */
struct th_str th_executor_client_place(const struct th_executor_client *x);

/* ---- watching ---- */

/* A live view of the session's computer; all is copied. */
struct th_executor_watch {
	const char *format; /* "jpeg", "webp", "png"; static text */
	int64_t quality, interval_ms;
	/* A frame (wire/exec.h), after which no other comes before th_executor_client_watch_next.
	 * Of width 0: no computer is open, and why; the next one's frames come by themselves.
	 * `frame` NULL: no executor can be had, and the watch is over. */
	void (*on_frame)(void *ctx, const struct th_exec_frame *frame, struct th_str bytes,
			 const struct th_err *err);
	void *ctx;
};
/* One per client; it has none now. */
void th_executor_client_watch(struct th_executor_client *x, const struct th_executor_watch *w);
void th_executor_client_watch_next(struct th_executor_client *x);

/* ---- blocking, for commands: a loop of its own, one call ---- */

/* Result of th_executor_client_once, owned by the caller. */
struct th_executor_answer {
	struct th_effect_result result; /* borrows from memory */
	struct th_arena memory;
};
void th_executor_answer_deinit(struct th_executor_answer *a);

/* Connects to the executor or starts it, performs one effect, disconnects.  The code reports that
 * no executor could be reached; the outcome of the effect is in the result. */
TH_NODISCARD enum th_code
th_executor_client_once(const struct th_executor_options *options,
			const struct th_effect_call *call,
			const struct th_executor_handlers *h, /* may be NULL */
			struct th_executor_answer *ret, struct th_err *err);
TH_NODISCARD enum th_code th_executor_client_info_once(const struct th_executor_options *options,
						       bool screen, struct th_executor_info *ret,
						       struct th_arena *a, struct th_err *err);
TH_NODISCARD enum th_code th_executor_client_end_once(const struct th_executor_options *options,
						      struct th_err *err);

#endif
