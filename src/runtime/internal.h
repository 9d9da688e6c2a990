/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal.h - what the runtime's files share: runtime.c has the world's
 * clock and store, models.c requests, effects.c executors,
 * sessions.c the sessions' lives, children.c those that work for
 * others, setup.c and session_config.c what they are run with, trace.c where
 * traces go.
 */
#ifndef TH_RUNTIME_INTERNAL_H
#define TH_RUNTIME_INTERNAL_H

#include "exec_client/client.h"
#include "io/fetch.h"
#include "io/tls.h"
#include "runtime/human_model.h"
#include "runtime/leases.h"
#include "runtime/otlp.h"
#include "runtime/registry.h"
#include "runtime/reservations.h"
#include "runtime/resolved_models.h"
#include "runtime/runtime.h"
#include "script/callbacks.h"

#define TH_RANDOM_POOL 1024
#define TH_SETUP_BUCKETS 256

/*
 * What sessions with one definition are run with: its agents, their models, keys and tools.  Made
 * once for all sessions of a runtime that have it, and freed with the last of them.  One with
 * functions of a program (struct th_start) is its session's alone.
 */
struct th_runtime_setup {
	struct th_runtime_setup *next; /* in its bucket */
	struct th_digest key;          /* of the definition as session_created has it */
	size_t users;
	bool shared;            /* it is in the runtime's table */
	bool checked;           /* as a new session's is; a stored one may be older than a check */
	struct th_arena memory; /* agents, tools, strings */
	struct th_agent agent;  /* who begins; without a workspace, which is the session's */
	struct th_session_config config; /* but for the size of a screen that is opened later */
	struct th_script_code script;    /* of the agent; config.callbacks points into it */
	struct th_tool_row computer;     /* of this process, where computer.local is set */
	struct th_callbacks program;     /* of this process */
	struct th_callbacks both;        /* that, and then the script */
	struct th_resolved_models models;
	struct th_resolved_models **members; /* of the other agents: each server gets its own key */
};

/* A session of the runtime: what the driver borrows, and its executor. */
struct th_runtime_given;
struct th_runtime_lookups;
struct th_runtime_mcp;

struct th_runtime_session {
	struct th_runtime *rt;
	struct th_runtime_mcp *mcp; /* mcp.c: calls of servers at an address; NULL: none yet */
	struct th_runtime_lookups *lookups; /* lookups.c; NULL: none is asked for yet */
	struct th_runtime_session *prev, *next;
	struct th_runtime_session *parent; /* whose call it works on: closed before that; or NULL */
	struct th_arena memory;            /* strings; what it was begun with */
	struct th_runtime_setup *setup;    /* NULL: its first event was not read yet */
	struct th_size screen;             /* of the computer that was opened for it */
	struct th_str id, user, metadata, workspace;
	struct th_session_row row; /* of a stored session */
	bool stored;
	bool over;               /* of one with a parent: it is to be closed */
	bool screen_first;       /* found while it was read: its computer has to be there before */
	bool in_pieces;          /* a long log is read beside the loop */
	bool beside;             /* so is any log: nothing of it waits for the store */
	bool from_dead;          /* where it cannot be opened, it is handed on */
	struct th_start *start;  /* how one with a long log was begun; NULL: no more is known */
	struct th_lease *asking; /* for its lease; NULL: not now */
	struct th_runtime_opening *opening; /* its log is being read; NULL: it is not */
	struct th_runtime_log *log;         /* the same of an open one; NULL: it is not */
	struct th_observer observer;        /* the driver's: the caller's, or ours in front of it */
	struct th_observer watcher;         /* the caller's, where traces are sent */
	th_ready_fn *ready;
	void *ready_ctx;
	struct th_handle handle; /* {0, 0}: not with the driver yet */
	struct th_executor_client *executor;
	char *far; /* where its executor was when it was taken up; NULL: here */
	bool far_known;
	bool may_have_executor;      /* of this process or of one before */
	bool greeting, unavailable;  /* intents wait for the executor; it cannot be had */
	struct th_err *no_executor;  /* why; NULL: there always was one */
	struct th_timer timer, wait; /* as world.h has them */
	struct th_ticket timer_ticket, wait_ticket;
	struct th_runtime_request *calls;
};

/* A model request in the hands of the fetcher. */
struct th_runtime_request {
	struct th_runtime_request *next;
	struct th_runtime_session *session;
	struct th_ticket ticket;
	struct th_fetch_id id;
	struct th_retry_hints hints;
};

/* An effect in the hands of the executor. */
struct th_runtime_effect {
	struct th_runtime_session *session;
	struct th_handle handle;
	struct th_ticket ticket;
	struct th_executor_id id;
	struct th_runtime_effect *next;
};

struct th_runtime {
	struct th_loop *loop;
	bool own_loop;
	struct th_fetcher *fetcher;
	struct th_otlp *otlp;          /* NULL: traces are sent nowhere */
	struct th_human_model *person; /* who plays human/human */
	struct th_store *store;
	struct th_reader *reader, *long_reader, *blob_reader, *writer;
	struct th_leases *leases;
	struct th_reservations *reservations;
	const struct th_config *config;
	struct th_driver *driver;
	struct th_deferred flush, reap, lost;
	th_store_heard_fn *left; /* NULL: nobody asked for it */
	void *left_ctx;
	size_t child_count; /* sessions with a parent */
	struct th_runtime_session *sessions;
	struct th_runtime_given *given;       /* secrets of clients (given.h) */
	uint64_t given_sources;               /* that were said so far */
	struct th_runtime_session **by_index; /* by the driver's handle index */
	size_t by_index_cap;
	struct th_runtime_effect *tool_calls;
	struct th_runtime_question *questions; /* to analysers; analyser.c */
	struct th_tool_row *tools;
	size_t tool_count;
	struct th_schemas schemas;
	struct th_runtime_setup *setups[TH_SETUP_BUCKETS];
	char *program;
	struct th_buf scope;              /* what the store is called: executors are found by it */
	struct th_tls_config *far_tls;    /* to executors of other machines; NULL: none */
	char here[TH_FLEET_TEXT_MAX + 1]; /* where others reach ours; "": nowhere */
	struct th_buf labels;             /* what this machine has (base/label.h) */
	bool placed;                      /* that was said: sessions that need others are refused */
	bool no_sandbox, settling, failed;
	bool executors; /* there was one */
	bool mcp;       /* a server at an address was called */
	struct th_runtime_ending *endings;
	struct th_screen_feed *screens; /* live views */
	size_t viewer_count;
	struct th_err failure;
	uint8_t random[TH_RANDOM_POOL];
	size_t random_left;
};

/* The session of a driver's handle, or NULL. */
struct th_runtime_session *th_runtime_find(struct th_runtime *rt, uint32_t index,
					   uint32_t generation);

/* place.c: TH_EPLACE, and the labels that are missing. */
TH_NODISCARD enum th_code th_runtime_place(const struct th_runtime *rt,
					   const struct th_agent *agent, struct th_err *err);

/* models.c */
/* The deadlines of a request: what the settings say, else the defaults; never more than is left of
 * the task, whose last moment is 1 ms. */
void th_world_model_deadlines(const struct th_model_call *call, struct th_fetch_request *r);
enum th_code th_world_model_call(void *ctx, struct th_ticket t, const struct th_model_call *call,
				 struct th_err *err);
void th_world_model_alive(void *ctx, struct th_ticket t);
void th_world_model_cancel(void *ctx, struct th_ticket t);
void th_runtime_human_model(struct th_runtime *rt, const struct th_runtime_options *options,
			    int person_in);

/* effects.c */
bool th_world_tool_ready(void *ctx, struct th_ticket t, struct th_str *ret_journal);
struct th_str th_world_tool_place(void *ctx, struct th_ticket t);
/* May an effect begin?  False: the runtime ends, since its sessions may be another's. */
bool th_runtime_holds(struct th_runtime *rt);
void th_world_tool_run(void *ctx, struct th_ticket t, const struct th_effect_call *call,
		       bool settle);
void th_world_tool_cancel(void *ctx, struct th_ticket t);
void th_world_tool_host(void *ctx, struct th_ticket t, struct th_str host, uint16_t port,
			bool allow);
void th_world_tool_forget(void *ctx, struct th_str session_id, const struct th_str *effect_ids,
			  size_t count);
TH_NODISCARD enum th_code th_runtime_session_executor(struct th_runtime_session *s, int64_t epoch,
						      struct th_err *err);
void th_runtime_session_executor_end(const struct th_runtime_session *s); /* if it may have one */
void th_runtime_session_effects_drop(
    struct th_runtime_session *s); /* nobody hears of them any more */

/* far.c */
/* Where the session's executor is, by its log; empty: on this machine. */
struct th_str th_runtime_session_far(struct th_runtime_session *s);
/* Its client, which is about to go, may have left that machine: then the session's is here. */
void th_runtime_session_note_place(struct th_runtime_session *s);
/* Where it is of a session that is open here, as far as that is known now; else empty. */
struct th_str th_runtime_far_of(struct th_runtime *rt, struct th_str session_id);

/* executor_end.c */
/* Waits until those of that session that were told to end are gone; an empty name: all of them. */
void th_runtime_executor_ended(struct th_runtime *rt, struct th_str session);

/* setup.c */
/* Of a new session's agent, which is copied, or of a stored session's first event.  `start` (may be
 * NULL) has what a program gives.  Everything that can be wrong before anything is started. */
TH_NODISCARD enum th_code th_runtime_setup_new(struct th_runtime_session *s,
					       const struct th_start *start, struct th_err *err);
TH_NODISCARD enum th_code th_runtime_setup_stored(struct th_runtime_session *s,
						  const struct th_event *first,
						  const struct th_start *start, struct th_err *err);
struct th_runtime_setup *th_runtime_setup_share(struct th_runtime_setup *u);
/* Its session has it no more; NULL is fine. */
void th_runtime_setup_drop(struct th_runtime *rt, struct th_runtime_setup *u);

/* session_config.c: models, keys and tools of u->agent. */
TH_NODISCARD enum th_code th_runtime_setup_make(struct th_runtime *rt, struct th_runtime_setup *u,
						const struct th_start *start, struct th_err *err);

/* trace.c: the observer that the driver has, ours in front of the caller's or not. */
void th_runtime_session_watch(struct th_runtime_session *s, const struct th_observer *observer);

/* The task that is over, where traces are sent. */
void th_runtime_session_trace(struct th_runtime_session *s, const struct th_session *fold);

/* children.c */
enum th_code th_world_child_lease(void *ctx, struct th_str session_id, struct th_arena *a,
				  struct th_session_row *ret, struct th_err *err);
void th_world_child_opened(void *ctx, struct th_ticket parent, struct th_ticket child,
			   struct th_str session_id, int64_t epoch);
void th_world_child_over(void *ctx, struct th_ticket child);
void th_runtime_session_close_children(struct th_runtime_session *parent);
void th_runtime_reap(void *ctx); /* the runtime: closes those that are over */

/* opening.c */
/* Has the log read in pieces, then calls `opened`, which may free the session; `fit` gets the
 * session as its ctx. */
typedef void th_opened_fn(struct th_runtime_session *s, const struct th_err *err);
TH_NODISCARD enum th_code th_runtime_open_begin(struct th_runtime_session *s,
						th_session_config_fn *fit, th_opened_fn *opened,
						struct th_err *err);
void th_runtime_open_drop(struct th_runtime_session *s); /* gives it up */
enum th_code th_world_log_ask(void *ctx, struct th_ticket t, struct th_err *err);
void th_world_log_cancel(void *ctx, struct th_ticket t);
void th_runtime_log_drop(struct th_runtime_session *s);

/* sessions.c */
struct th_runtime_session *th_runtime_session_new(struct th_runtime *rt);
void th_runtime_session_index(struct th_runtime_session *s); /* found by its handle from now on */
void th_runtime_session_free(struct th_runtime_session *s);

#endif
