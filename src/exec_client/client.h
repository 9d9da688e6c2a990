/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - how a runtime has effects done: by the session's
 * executor, a process of our own binary that outlives us.
 *
 * The executor is started by the first call and found again by every later
 * runtime of the session (one socket per session, see executor.h).  The client
 * hides its death: a connection that breaks is made again, if need be with a
 * new executor, and every call under way is attached to by its effect_id, so
 * the journal says what became of it.  A call of class R is simply made again,
 * once.  So:
 *
 *	Every call started gets on_finished exactly once, never from inside the
 *	function that started it, and never after th_executor_client_free.
 *
 * It never repeats an effect of another class, never guesses (what the journal
 * does not know is TH_OUTCOME_UNKNOWN), and never hands a secret to the
 * executor: its environment holds only what th_executor_options lists.
 *
 * Callbacks come from the loop and may start, cancel and free; what they are
 * given is borrowed until they return.  One thread: the loop's.
 */
#ifndef TH_EXEC_CLIENT_CLIENT_H
#define TH_EXEC_CLIENT_CLIENT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/geom.h"
#include "base/hash.h"
#include "core/effect_call.h"

struct th_loop;
struct th_executor_client;

/* Options for the executor, if this client is the one that starts it; all is copied.  One that
 * runs already keeps what it has; a workspace or computer that contradicts is TH_EBUSY with a
 * sentence. */
struct th_executor_options {
	/* The session's id, 1..TH_SESSION_ID_MAX bytes, and whose that is: th_store_scope. Both
	 * together name one executor, so whoever wants the same one gives the same two. */
	struct th_str session, scope;
	/* Of the session's lease; 0: a guest (`thole computer`), who neither raises nor is stopped
	 * by the fence. */
	int64_t epoch;
	/* Absolute path; empty: what the executor has, else no files and no commands. */
	struct th_str workspace;
	bool net_host; /* commands and desktop get the host's network */

	struct th_str computer;            /* kind; empty: none, or what the executor has */
	struct th_str computer_own;        /* the kind's own options: a JSON object; empty: none */
	struct th_size size;               /* of a desktop; 0x0: default */
	struct th_str display, xauthority; /* x11 */
	struct th_str bus;                 /* x11: accessibility bus, th_computer_options */
	struct th_str parser;              /* URL of an OmniParser server; empty: none */
	struct th_str ocr;                 /* program that reads pictures; empty: tesseract */
	const struct th_str *start;        /* commands to start on a new desktop, each run by sh */
	size_t start_count;
	/* How many of these show a window: the first call waits for that, wait_ms at most. */
	size_t start_windows;
	int64_t start_wait_ms; /* 0: TH_START_WAIT_S */

	const struct th_str *environment; /* "NAME=value" for commands, beside the clean default */
	size_t environment_count;
	int64_t command_ms_max; /* longest command; 0: TH_COMMAND_SECONDS_DEFAULT */
	int64_t linger_ms;      /* how long it waits for a runtime; 0: TH_EXECUTOR_LINGER_MS */
	/* How long it may take to answer first, and to end; 0: TH_EXEC_START_MS,
	 * TH_EXECUTOR_END_MS. */
	uint64_t start_ms, end_ms;
	bool no_sandbox;   /* commands unconfined but for uid and no_new_privs */
	bool only_running; /* never start one: TH_ENOENT when none runs */
	/* The thole program, which is started as the executor.  It must say that it is one before
	 * anything is sent to it.  NULL: only an executor that runs already can be used. */
	const char *program;
};

#define TH_EXECUTOR_LINGER_MS 600000
#define TH_EXECUTOR_END_MS (TH_EXEC_STOP_MS + TH_EXEC_START_MS)

/* What a running executor says of itself. */
struct th_executor_info {
	int64_t pid;
	int64_t epoch;         /* highest seen */
	struct th_str journal; /* its name: another one when that was lost or damaged */
	struct th_str build;
	struct th_str workspace; /* empty: none */
	struct th_str computer;  /* kind; empty: none */
	struct th_size screen;   /* 0x0: no computer, or not open yet */
	unsigned caps;           /* enum th_computer_caps of computers/computer.h */
	struct th_str sandbox;   /* JSON object: what is enforced */
};

/* Cheap: nothing is started or connected yet.  TH_EUSAGE: options that cannot work. */
TH_NODISCARD enum th_code th_executor_client_new(struct th_loop *l,
						 const struct th_executor_options *options,
						 struct th_executor_client **ret,
						 struct th_err *err);
/* Disconnects; the executor and what it runs live on.  Takes NULL, returns NULL. */
struct th_executor_client *th_executor_client_free(struct th_executor_client *x);
void th_executor_client_freep(struct th_executor_client **x);

/*
 * Connects (starts) now, and with `screen` also opens the computer, so that its size is known
 * before the model is asked.  on_ready is called once: TH_OK with the info, or why not (a missing
 * program names itself and its package).
 */
typedef void th_executor_client_ready_fn(void *ctx, const struct th_executor_info *info,
					 const struct th_err *err); /* info NULL: failed */
void th_executor_client_ready(struct th_executor_client *x, bool screen,
			      th_executor_client_ready_fn *on_ready, void *ctx);

/* ---- effects ---- */

struct th_executor_handlers {
	/* The effect is in the executor's journal and may begin.  May be NULL; not for class R; may
	 * come never (NOT_STARTED) or again after a reconnect. */
	void (*on_accepted)(void *ctx);
	/* Output as it comes: bytes at `offset` of the command's whole output (standard output and
	 * errors as they were written).  May be NULL; then no output is sent. */
	void (*on_output)(void *ctx, uint64_t offset, struct th_str bytes);
	void (*on_finished)(void *ctx, const struct th_effect_result *result); /* exactly once */
	void *ctx;
};

/* A call; {0, 0} is none.  One that has finished is a miss, not an error. */
struct th_executor_id {
	uint32_t index, generation;
};

/*
 * Does the effect.  NOT_STARTED: certainly not begun (a fence, an executor that cannot be started,
 * a known effect_id of which the journal says so); FAILED: begun, and failed; REFUSED: the tool
 * will not do that (outside the workspace, arguments that do not fit).
 */
struct th_executor_id th_executor_client_run(struct th_executor_client *x,
					     const struct th_effect_call *call,
					     const struct th_executor_handlers *h);

/*
 * Joins an effect that an earlier runtime dispatched: output from `offset` on, then its outcome.
 * NOT_STARTED when the journal proves that it was never accepted; from then on the executor refuses
 * it, so the answer stays true.  With `begin` it is begun instead, if this executor was there when
 * its INTENT was written: then only the runtime died, and what it wanted is done once.  The proof
 * needs that it is the journal which the call names: a driver has had on_ready, which tells its
 * name, before it writes an INTENT.  All of the call must be as it was dispatched: class V is
 * decided by a probe that looks at its arguments, K is sent again, R simply done again.
 */
struct th_executor_id th_executor_client_attach(struct th_executor_client *x,
						const struct th_effect_call *call, uint64_t offset,
						const struct th_executor_handlers *h);

/* Asks it to end; on_finished still comes, with what is true. */
void th_executor_client_cancel(struct th_executor_client *x, struct th_executor_id id);

/* The outcomes of these are durable: journal and spool may drop them.  Sent when convenient. */
void th_executor_client_forget(struct th_executor_client *x, const struct th_str *effect_ids,
			       size_t count);

/* The session ended: the executor closes the desktop, kills everything and exits.  `done` (may be
 * NULL) is called when it is gone: TH_OK also when none was running. */
void th_executor_client_end(struct th_executor_client *x,
			    void (*done)(void *ctx, const struct th_err *err), void *ctx);

/* Name of the journal of the executor last connected to; empty: none was yet. */
struct th_str th_executor_client_journal(const struct th_executor_client *x);

/* ---- blocking, for commands: a loop of its own, one call ---- */

/* Result of th_executor_client_once, owned by the caller. */
struct th_executor_answer {
	struct th_effect_result result; /* borrows from memory */
	struct th_arena memory;
};
void th_executor_answer_deinit(struct th_executor_answer *a);

/* Connects or starts, does one effect, disconnects.  An operating error (no executor could be
 * started) is a code; how the effect ended is in the result. */
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
