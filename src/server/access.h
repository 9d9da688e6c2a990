/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access.h - one request on its way through the server: who asks, for what, and
 * how it is answered.
 *
 * Made when its head was read and it was found to be somebody's who may; ends
 * when the request does.  A handler answers at once, or keeps the access and
 * answers later; then it sets `gone`, which is called when the peer left first.
 */
#ifndef TH_SERVER_ACCESS_H
#define TH_SERVER_ACCESS_H

#include "base/field.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/priority.h"
#include "io/http_server.h"
#include "server/begin_queue.h"
#include "server/needs.h"
#include "server/server.h"
#include "server/tokens.h"

#define TH_ROUTE_ARGS_MAX 2

struct th_access;
struct th_door;
struct th_service;
typedef void th_access_fn(struct th_access *a);

struct th_route {
	const char *method, *path; /* "/api/sessions/{id}": a word in braces is an argument;
				    * "{id}:end" is one with that behind it */
	unsigned scope;            /* one of enum th_scope; 0: without a token */
	th_access_fn *fn;
	size_t body_max;             /* 0: it has none */
	const char *type;            /* of the body; NULL: application/json */
	const char *doc;             /* one line, for docs/HTTP.md and the OpenAPI document */
	const struct th_table *body; /* its members, for these; NULL: none, or another API's */
};

struct th_access {
	struct th_server *server;
	struct th_http_request *request;
	const struct th_route *route;
	const struct th_service *service; /* whose route that is */
	struct th_door *door; /* it came to a service's own listener; NULL: to the server's */
	char user[TH_USER_MAX + 1];
	unsigned scopes;
	struct th_address from; /* if has_from: the client's */
	bool has_from, from_https;
	bool once; /* what failed has done something: a client must not repeat it by itself */
	enum th_priority priority;      /* of the session that it begins */
	bool by_node;                   /* another node of the fleet passes it on */
	struct th_access *next, **link; /* of those whose token was looked at; may be in no list */
	struct th_digest token;         /* which one, and a scope that it needs */
	unsigned scope;
	uint64_t tokens_version; /* when it was looked at the last time */
	int64_t login_ms; /* by a browser's cookie, which is good until then; 0: by a token */
	char args[TH_ROUTE_ARGS_MAX][TH_SESSION_ID_MAX + 1]; /* decoded */
	char task[TH_TASK_ID_MAX + 1];                       /* the argument {task}, the same */
	/* Of who answers later; may be NULL. */
	void (*gone)(struct th_access *a);
	bool reads; /* it waits for the store alone: `gone` is called when the server ends, too */
	void (*room)(struct th_access *a);
	void (*message)(struct th_access *a, struct th_str text, bool is_text);
	void *ctx;
	struct th_needs needs;             /* when they are there, `again` is called */
	th_access_fn *again;               /* NULL: the route's */
	char named[TH_SESSION_ID_MAX + 1]; /* th_access_session */
	struct th_begin_entry begin;       /* of what it begins */
	int status;
};

struct th_access *th_access_new(struct th_server *s, struct th_http_request *r);

/* What happens to a request between its head and its end, but for on_request: the same for all
 * listeners. */
void th_access_handlers(struct th_http_handlers *h);
void th_access_link(struct th_access *a, struct th_access **list);
void th_access_unlink(struct th_access *a); /* also of one that is in no list */
void th_access_end(struct th_server *s, struct th_http_request *r, int status, uint64_t sent);

/* ---- answers (access.c): the access is over afterwards ---- */

void th_access_json(struct th_access *a, int status, const struct th_buf *json);
void th_access_text(struct th_access *a, int status, const char *type, struct th_str text);
void th_access_empty(struct th_access *a, int status);
/* {"error": {"message", "type", "param", "code"}}; `code` may be NULL. */
TH_PRINTF(4, 5)
void th_access_fail(struct th_access *a, int status, const char *code, const char *fmt, ...);
/* 429 or 503: not now, but in so many milliseconds (Retry-After). */
TH_PRINTF(5, 6)
void th_access_wait(struct th_access *a, int status, uint64_t wait_ms, const char *code,
		    const char *fmt, ...);
/* 405: the path takes these methods, with ", " between them. */
TH_PRINTF(3, 4)
void th_access_fail_method(struct th_access *a, const char *methods, const char *fmt, ...);
/* The same, and which member of the request is meant; `code` and `param` may be NULL. */
void th_access_fault(struct th_access *a, int status, const char *code, const char *param,
		     const char *message);
/* The same for what the API said.  Of a node that lacks labels (THOLE_EPLACE) another one answers.
 */
void th_access_error(struct th_access *a, const struct thole_error *err);
/* What a caller may know of it: `err`, or for THOLE_ESETUP, whose sentence is the server's own
 * set-up and goes to the journal, another one in `space`. */
const struct thole_error *th_error_public(const struct th_server *s, const struct thole_error *err,
					  struct thole_error *space);
int th_status_of(int code); /* enum thole_code as an HTTP status */
/* Of a read: the store does not answer now, and may in a while.  Otherwise that log alone cannot be
 * read, or is gone. */
bool th_code_passes(int code);
void th_error_print(int status, const char *code, const char *message, struct th_buf *out);
/* {"type": "error", "error": {"type", "message"}}, as the Messages API has it. */
void th_error_print_messages(int status, const char *message, struct th_buf *out);
/* {"detail": TEXT}, as servers of FastAPI have it. */
void th_error_print_detail(const char *message, struct th_buf *out);

/* What the store said (answer.c): as JSON with that status, or as the error that it is. */
void th_access_answer(struct th_access *a, int status, const struct th_found *answer);
/* The object of a session of the caller's, as the store has it now. */
void th_access_session(struct th_access *a, const char *id, int status);

/* ---- what is asked ---- */

/* A member of the query, decoded; false: it is not there.  A query is read by names alone, so one
 * that a path does not know is passed over: clients add their own (beta, api-version), and each API
 * gets new ones. */
bool th_access_query(const struct th_access *a, const char *name, struct th_buf *out);
/* The same as a number; false, and the request is answered, when it is none or below 0. */
bool th_access_query_int(struct th_access *a, const char *name, int64_t *value);
/* The body as a JSON object, to be freed; NULL: it is none, and the request is answered. */
struct th_json_doc *th_access_body(struct th_access *a);

#endif
