/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote.h - a thole serve as the commands see it: where it is, who calls, and
 * one request after the other.
 *
 * A command that can work there looks for it (th_remote_find) and then reads
 * through a store of its sessions (th_remote_store), so that what people see is
 * made by the same code as of a log on this machine.  What changes a session is
 * a request of docs/HTTP.md.
 */
#ifndef TH_REMOTE_REMOTE_H
#define TH_REMOTE_REMOTE_H

#include "base/secret.h"
#include "console/console.h"
#include "console/show.h"
#include "io/fetch.h"
#include "io/loop.h"

/* A server's address, and the token for it. */
struct th_place {
	struct th_buf url; /* without a slash at its end; of a socket: http://localhost */
	char *unix_path;   /* NULL: the url says where */
	struct th_secret *token;
	struct th_buf shown; /* as it was given, for errors */
};

/*
 * `server` empty: THOLE_SERVER, else `otherwise`.  The token is the first line of `token_file`, or
 * where that is empty THOLE_TOKEN.  TH_EUSAGE: no such address, or no token.
 */
TH_NODISCARD enum th_code th_place_init(struct th_place *p, struct th_str server,
					struct th_str token_file, const char *otherwise,
					struct th_err *err);
void th_place_deinit(struct th_place *p);

struct th_remote {
	struct th_place place;
	struct th_loop *loop;
	struct th_fetcher *fetcher;
	bool unsure;            /* the last request may have arrived, and was not answered */
	int64_t retry_after_ms; /* the last answer said so; -1: it did not */
};

bool th_remote_wanted(const struct th_common *o); /* a server is named, and no log is */
/* To be freed also where it fails. */
TH_NODISCARD enum th_code th_remote_new(const struct th_common *o, struct th_remote **ret,
					struct th_err *err);

/*
 * In *ret, and in o->remote, the server that --server or THOLE_SERVER names; NULL: neither does, or
 * --store names a log of this machine.  (store.c)
 */
TH_NODISCARD enum th_code th_remote_find(struct th_common *o, struct th_remote **ret,
					 struct th_err *err);
void th_remote_freep(struct th_remote **r); /* for TH_CLEANUP */
/* What a command says that works on this machine's log alone, where a server is named; its exit
 * code.  0: none is. */
int th_remote_refuse(const struct th_common *o, const char *what);

struct th_remote_request {
	const char *method;
	struct th_str path; /* with its query */
	struct th_str body; /* JSON; .ptr NULL: none */
	struct th_str key;  /* Idempotency-Key, or empty */
	const char *accept; /* NULL: JSON */
	/* Gets the bytes of a good answer as they come, instead of `ret`; false ends it. */
	bool (*on_bytes)(void *ctx, struct th_str bytes);
	void *ctx;
};
/* Waits for the answer; `ret` may be NULL.  Any status but 2xx is an error, one sentence. */
TH_NODISCARD enum th_code th_remote_call(struct th_remote *r, const struct th_remote_request *q,
					 struct th_buf *ret, struct th_err *err);
/* The error of an answer that is no 2xx, or did not come; `body` is what it said. */
enum th_code th_remote_fault(struct th_remote *r, const struct th_fetch_result *result,
			     struct th_str body, struct th_err *err);
/* Appends it so that it may stand in a path or a query. */
void th_remote_add(struct th_buf *path, struct th_str text);
/* "/api/sessions/ID" and what follows it. */
void th_remote_path(struct th_buf *path, struct th_str session_id, const char *rest);

/* ---- commands at a server; each returns the exit code ---- */

struct th_remote_job {
	struct th_common *common;
	struct th_str agent, session_id; /* empty: the default; one is made */
	struct th_str message;           /* empty: it is resumed; act: said with it */
	struct th_str more;              /* JSON: beyond its limits; empty: nothing */
	struct th_str at;                /* when a new one begins; empty: now, and it is followed */
	struct th_str priority;          /* of a new one; empty: normal, or what the server has */
	bool plan, act;                  /* a task in plan mode; its end */
	bool goal;                       /* the message is one; without: what was ended goes on */
	int64_t rounds;                  /* of it; 0: the server's own */
	enum th_output output;
	bool as_terminal;
};
int th_remote_run(const struct th_remote_job *job); /* run.c */

/* decide.c */
struct th_remote_decision {
	struct th_common *common;
	struct th_str session_id, call_id, message;
	const char *word; /* approve, answer, reject, settle */
	struct th_str as; /* settle: done, … */
	bool all, always;
};
int th_remote_decide(const struct th_remote_decision *d);
int th_remote_cancel(struct th_common *o, const struct th_session_row *row);
int th_remote_fork(struct th_common *o, struct th_str session_id, int64_t seq,
		   struct th_str target);
int th_remote_delete(struct th_common *o, struct th_str session_id);
/* The session as lines, to a descriptor that is called `where` in errors. */
TH_NODISCARD enum th_code th_remote_export(struct th_remote *r, struct th_str session_id, int fd,
					   const char *where, struct th_err *err);

#endif
