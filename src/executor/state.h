/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - what the files of the executor share; nobody else
 * includes this.
 */
#ifndef TH_EXECUTOR_STATE_H
#define TH_EXECUTOR_STATE_H

#include "base/mask.h"
#include "display/link.h"
#include "egress/link.h"
#include "executor/executor.h"
#include "executor/ledger.h"
#include "executor/reaper.h"
#include "executor/spool.h"
#include "io/net_space.h"
#include "io/sock.h"
#include "rules/net_rule.h"
#include "tools/tool.h"

struct th_executor_server;
struct th_exec_effect;
struct th_exec_terminal_view;

/* What was said of a host, or a host that is asked for. */
struct th_exec_said {
	char name[TH_NET_HOST_MAX + 1];
	uint16_t port;
	bool allow, listed;
};

/* A runtime. */
struct th_exec_client {
	struct th_executor_server *x;
	struct th_sock *sock;
	struct th_exec_client *next;
	bool greeted;    /* it said hello */
	bool looks_on;   /* and only watches */
	bool dead;       /* to be removed; nothing is sent any more */
	bool blocked;    /* too much waits for it */
	int64_t epoch;   /* 0: a guest */
	int64_t open_id; /* of an open that is not answered yet; 0: none */
};

/* A request that waits for an effect's end. */
struct th_exec_sub {
	struct th_exec_sub *next;
	struct th_exec_client *client;
	int64_t id;
	bool watch;
	uint64_t sent; /* of the output */
};

/* One under way, or finished and not yet told to all. */
struct th_exec_effect {
	struct th_executor_server *x;
	struct th_exec_effect *next;         /* in x->effects */
	struct th_exec_effect *next_pending; /* in x->pending */
	char id[TH_EFFECT_ID_MAX + 1];
	enum th_class class;
	struct th_ledger_entry *entry; /* NULL: class R */
	const struct th_tool *tool;    /* NULL: the computer */
	struct th_arena arena;
	struct th_str arguments;
	struct th_json_doc *doc;
	struct th_tool_job job;
	struct th_display_call call;
	struct th_spool spool;
	struct th_exec_sub *subs;
	uint64_t started_ms;
	bool probe, started, cancelled, repeated, finished;
	bool settling; /* it has ended; its connections are being asked for */
	struct th_egress_wait settle;
	/* once finished */
	enum th_outcome_status status;
	struct th_buf output, evidence;
	struct th_picture *pictures[TH_PICTURES_MAX];
	size_t picture_count;
	int64_t elapsed_ms;
};

/* Pictures of outcomes that nobody has taken over yet. */
struct th_picture_cache {
	struct th_picture_cache *next;
	char id[TH_EFFECT_ID_MAX + 1];
	struct th_picture *pictures[TH_PICTURES_MAX];
	size_t count, size;
};

struct th_executor_server {
	struct th_loop *loop;
	struct th_arena arena; /* options */
	struct th_exec_start start;
	char *state_dir, *socket, *workspace; /* workspace: NULL: none */
	struct th_str computer;               /* exec_computer_start; empty: none */
	int state_fd, spool_fd, lock_fd;
	int reaper_fd;
	char token[TH_EXEC_TOKEN_LEN + 1];
	char entry[TH_REAPER_ENTRY_SIZE]; /* in the environment of all commands */
	struct th_ledger *ledger;
	struct th_sock_server *server;
	struct th_exec_client *clients;
	int64_t epoch_before; /* the highest that the journal knew when this process opened it */
	size_t client_count;
	struct th_exec_effect *effects, *pending, **pending_last;
	size_t running;
	struct th_picture_cache *picture_cache, **picture_cache_last;
	size_t picture_cache_size;
	bool dirty; /* the journal wants a sync */
	struct th_deferred flush, reap;
	struct th_tool_env env;
	struct th_arena env_arena;
	struct th_sandbox_plan *plan;
	struct th_net_space net_space;               /* of a net that is a list */
	struct th_egress_link *egress;               /* NULL: none */
	struct th_exec_said said[TH_HOSTS_SAID_MAX]; /* of hosts that net does not list */
	size_t said_count;
	bool strict;                                  /* what net lists is asked about, too */
	struct th_exec_said asks[TH_EGRESS_ASKS_MAX]; /* hosts that are asked for, the first now */
	size_t ask_count;
	void (*on_ask)(void *ctx, struct th_str host, uint16_t port, bool listed); /* th_exec_ask */
	void (*on_withdrawn)(void *ctx, struct th_str host, uint16_t port); /* …_withdrawn */
	struct th_exec_effect *asking; /* in whose name; NULL: nobody is asked */
	const struct th_exec_client *asking_client;
	struct th_mask *mask; /* over what tools give out */
	const char **handed;  /* NAME=value of all that clients gave, in the arena; NULL: none */
	size_t handed_count;
	size_t own_given;            /* of env.given the agent's, which are first */
	struct th_err not_given;     /* why the last list of theirs was not taken; code 0: it was */
	struct th_secret *secrets;   /* as they came */
	struct th_secret *authority; /* th_ca_export */
	const char *trust;           /* file of roots for programs; NULL: the system's */
	const char **secret_environment; /* placeholders and the file of roots */
	const char *tmpdir;              /* the folder TMPDIR names; NULL: /tmp will do */
	char sandbox[512];               /* JSON, for welcome */
	struct th_display *display;
	struct th_exec_watching *watchings; /* live views of it */
	size_t watching_count;
	struct th_exec_terminal_view *terminal_views;
	bool cut_off; /* the one before us died in a call of the computer */
	struct th_child *programs[TH_DESKTOP_START_MAX]; /* of the agent's `start` list */
	size_t program_count;
	struct th_timer linger;
	int64_t linger_ms;
	bool stopping, remove, stopped;
	int status; /* exit status */
};

/* ---- end.c ---- */

void th_exec_fatal(struct th_executor_server *x,
		   const struct th_err *err);    /* the journal failed: stop now */
void th_exec_idle(struct th_executor_server *x); /* something ended: linger, or go on stopping */
/* Told to: nothing more begins, what runs is cancelled; `remove`: nothing stays. */
void th_exec_stop(struct th_executor_server *x, bool remove);

/* ---- clients.c ---- */

void th_exec_on_accept(void *ctx, int fd); /* ctx: the executor */
void th_exec_reap(void *ctx);              /* the dead are removed */

/* ---- send.c ---- */

void th_exec_drop(struct th_exec_client *c); /* it is dead, and removed later */
/* False: the client is dead.  It is removed later, so lists may be walked on. */
bool th_exec_send(struct th_exec_client *c, struct th_str head, struct th_str attachment);
bool th_exec_send_error(struct th_exec_client *c, int64_t id, const struct th_err *err);

/* ---- env.c ---- */

/* Workspace, environment and sandbox of tools.  Called again when a workspace comes later. */
TH_NODISCARD enum th_code th_exec_env_make(struct th_executor_server *x, struct th_str workspace,
					   struct th_err *err);
void th_exec_env_deinit(struct th_executor_server *x);
TH_NODISCARD enum th_code th_exec_display_make(struct th_executor_server *x, struct th_str computer,
					       struct th_err *err);

/* ---- net.c: a net that is a list ---- */

TH_NODISCARD enum th_code th_exec_net_make(struct th_executor_server *x, struct th_err *err);
void th_exec_net_deinit(struct th_executor_server *x);
/* Before it. */
TH_NODISCARD enum th_code th_exec_secrets_make(struct th_executor_server *x, struct th_err *err);
void th_exec_secrets_deinit(struct th_executor_server *x);
TH_NODISCARD enum th_code th_exec_on_give(struct th_exec_client *c, const struct th_exec_give *m,
					  struct th_err *err);
/* Entries for the environment of commands: where the proxy is; NULL-terminated, may be empty. */
const char *const *th_exec_net_environment(const struct th_executor_server *x);

/* ---- ask.c: hosts that programs ask for ---- */

void th_exec_ask(void *ctx, struct th_str host, uint16_t port, bool listed);
void th_exec_on_host(struct th_exec_client *c, const struct th_exec_host *m);
void th_exec_ask_withdrawn(void *ctx, struct th_str host, uint16_t port);
void th_exec_ask_said(struct th_executor_server *x, const struct th_exec_run *m);
void th_exec_ask_over(const struct th_exec_effect *e); /* it has ended */
void th_exec_ask_cancelled(struct th_exec_effect *e);  /* it is about to */
void th_exec_ask_client_gone(const struct th_exec_client *c);

/* ---- tell.c: false: the client is dead ---- */

/* `e`: as it ended now; NULL: as the journal has it. */
bool th_exec_tell_finished(struct th_exec_client *c, int64_t id,
			   const struct th_ledger_entry *entry, const struct th_exec_effect *e,
			   struct th_picture *const *pictures, size_t count);
bool th_exec_tell_plain(struct th_exec_client *c, int64_t id, enum th_outcome_status status,
			const char *text);
bool th_exec_tell_accepted(struct th_exec_client *c, int64_t id);
bool th_exec_tell_output(struct th_exec_sub *sub, uint64_t offset, struct th_str bytes);

/* ---- pictures.c ---- */

void th_exec_pictures_add(struct th_exec_effect *e);
/* Points to NULL: there are none. */
struct th_picture_cache **th_exec_pictures_find(struct th_executor_server *x, const char *id);
void th_exec_pictures_drop(struct th_executor_server *x, struct th_picture_cache **at);

/* ---- effect.c ---- */

struct th_exec_effect *th_exec_effect_new(struct th_executor_server *x,
					  const struct th_exec_run *m);
void th_exec_effect_free(struct th_exec_effect *e);
struct th_exec_effect *th_exec_effect_find(struct th_executor_server *x, struct th_str id);
void th_exec_effect_sub(struct th_exec_effect *e, struct th_exec_client *c, int64_t id, bool watch,
			uint64_t offset);
void th_exec_sub_remove(struct th_exec_effect *e, struct th_exec_sub *sub);
enum th_exec_served { TH_EXEC_SERVED_ALL, TH_EXEC_SERVED_WAITS, TH_EXEC_SERVED_GONE };
/* Sends what the spool has beyond sub->sent, as long as the client takes it. */
enum th_exec_served th_exec_pump(struct th_exec_effect *e, struct th_exec_sub *sub);
/* A finished effect: tells it to those who have all its output, and is freed with the last. */
void th_exec_effect_settle(struct th_exec_effect *e);
bool th_exec_on_computer(const struct th_exec_effect *e); /* it is done in the display process */
void th_exec_effect_cancel(struct th_exec_effect *e);
/* One may finish at once. */
void th_exec_cancel_all(struct th_executor_server *x);

/* ---- finish.c ---- */

void th_exec_effect_finish(struct th_exec_effect *e, enum th_outcome_status status,
			   struct th_str output, struct th_str evidence,
			   struct th_picture *const *pictures, size_t count);
/* Of an earlier life, and nothing can decide: what is known of it. */
void th_exec_effect_unknown(struct th_exec_effect *e);

/* ---- work.c ---- */

void th_exec_effect_start(struct th_exec_effect *e);

/* ---- run.c ---- */

void th_exec_on_run(struct th_exec_client *c, const struct th_exec_run *m, bool attach);

/* ---- effects.c ---- */

void th_exec_on_cancel(struct th_exec_client *c, int64_t id);
void th_exec_on_input(struct th_exec_client *c, const struct th_exec_input *m, struct th_str bytes);
void th_exec_on_forget(struct th_executor_server *x, struct th_strs ids);
void th_exec_client_gone(struct th_exec_client *c);    /* drops its requests */
void th_exec_client_drained(struct th_exec_client *c); /* goes on sending it output */
void th_exec_flush(void *ctx);
void th_exec_effects_free(struct th_executor_server *x);

/* ---- watch.c: live views ---- */

void th_exec_on_watch(struct th_exec_client *c, const struct th_exec_watch *m);
void th_exec_on_watch_next(struct th_exec_client *c, int64_t id);
void th_exec_on_unwatch(struct th_exec_client *c, int64_t id);
void th_exec_watches_gone(const struct th_exec_client *c); /* drops its watches */
void th_exec_watches_begin(struct th_executor_server *x);  /* there is a computer now */
void th_exec_watches_free(struct th_executor_server *x);

/* ---- watch_terminal.c: of the shell ---- */

typedef void th_exec_frame_fn(void *ctx, const struct th_exec_frame *frame, struct th_str bytes);
struct th_exec_terminal_view *th_exec_terminal_view_new(struct th_executor_server *x,
							uint64_t interval_ms, th_exec_frame_fn *fn,
							void *ctx);
void th_exec_terminal_view_next(struct th_exec_terminal_view *v); /* it takes one more */
struct th_exec_terminal_view *th_exec_terminal_view_free(struct th_exec_terminal_view *v);

#endif
