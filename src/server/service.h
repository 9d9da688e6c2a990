/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.h - the server as its own files and its services see it.
 *
 * A service is one API over the same sessions: a folder of its own above this
 * one, with a table of routes, and a row in th_services (cli/services.c).
 * Services know nothing of each other; the server knows them by their row.
 */
#ifndef TH_SERVER_SERVICE_H
#define TH_SERVER_SERVICE_H

#include "base/arena.h"
#include "base/codec.h"
#include "base/field.h"
#include "io/http_server.h"
#include "server/access.h"
#include "server/admission.h"
#include "server/change.h"
#include "server/door.h"
#include "server/find.h"
#include "server/hub.h"
#include "server/log_load.h"
#include "server/rates.h"
#include "server/server.h"
#include "server/settings.h"
#include "server/shares.h"
#include "server/tokens.h"
#include "server/webhooks.h"

struct th_claim;
struct th_reserve_need;
struct th_fleet;
struct th_listen;
struct th_tls_config;

/* ---- agents (agents.c) ---- */

struct th_served_agent {
	char name[TH_AGENT_NAME_MAX + 1];
	struct th_buf text; /* its file; empty: the default */
	char *path;
};

struct th_served {
	struct th_served_agent *list;
	size_t count;
};

/* Reads all of DIR/NAME.yaml, and checks that each is an agent; "default" is always there. */
TH_NODISCARD enum th_code th_served_load(struct th_str folder, struct th_served *ret,
					 struct th_err *err);
void th_served_deinit(struct th_served *s);
const struct th_served_agent *th_served_find(const struct th_served *s, struct th_str name);
/* A new agent of that definition, for one session: its workspace is `workspace`, unless that is
 * NULL. */
TH_NODISCARD int th_served_make(const struct th_served_agent *a, const char *workspace,
				struct thole_agent **ret, struct thole_error *err);

/* ---- figures (metrics.c) ---- */

struct th_metrics {
	uint64_t requests, answers[6]; /* by the first digit of the status */
	uint64_t refused_hosts, refused_tokens, refused_rate, refused_quota, refused_load;
	uint64_t sessions_begun, sessions_recovered, messages, decisions;
	uint64_t events_streamed, deltas_streamed, streams_begun, cursors_lost;
	uint64_t responses_begun;
	size_t streams, sockets, screens;
	size_t conversations_held; /* bytes of those that were told to clients of OpenHands */
};

/* ---- services ---- */

struct th_service {
	const char *name;
	const struct th_route *routes; /* ended by a NULL path; NULL: none on this listener */
	const char *doc;               /* sections of docs/HTTP.md; may be NULL */
	/* The session that a request is about, which another node may have; false: it is about
	 * none, or of none alone, or it is asked again (needs.h).  NULL: all are. */
	bool (*session_of)(struct th_access *a, char ret[static TH_SESSION_ID_MAX + 1]);
	/* The tag of another node that keeps in its memory what a request is about; false: none
	 * does.  A session that a node has comes first.  NULL: the same. */
	bool (*keeper_of)(const struct th_access *a, char ret[static TH_FLEET_TAG_SIZE + 1]);
	/* Adds to the agent the tools that a client gave to a session with this metadata, which is
	 * opened again; *ret_any: there are some.  NULL: there are none. */
	int (*tools)(struct th_server *s, const struct th_json *metadata, struct thole_agent *agent,
		     bool *ret_any, struct thole_error *err);
	/* The listener of its own; NULL: it has none now. */
	struct th_door *(*door)(const struct th_server *s);
	/* Each may be NULL.  At the server's start; on failure the server ends, and `free` is
	 * called. */
	enum th_code (*begin)(struct th_server *s, struct th_err *err);
	void (*sweep)(struct th_server *s);      /* about once a second */
	void (*finish)(struct th_server *s);     /* ends what only listens; takes nothing new */
	bool (*idle)(const struct th_server *s); /* no connection of its own is left */
	void (*free)(struct th_server *s);       /* connections are still there, hubs are told */
	/* How it tells clients what they asked to be told of (webhooks.h); NULL: they cannot. */
	const struct th_letters *letters;
	/* Where else it listens, a line for a person; nothing where it does not. */
	void (*print_place)(const struct th_server *s, struct th_buf *out);
};

/* ---- the server ---- */

struct th_server {
	struct th_loop *loop;
	struct thole_runtime *rt;
	struct th_server_options o;
	const struct th_service *const *services; /* ended by NULL */
	struct th_settings settings;
	struct th_served agents;
	struct th_tokens tokens;
	struct th_listen *listen;
	struct th_tls_config *tls;
	struct th_http_server *http;
	struct th_hubs hubs;
	struct th_webhooks *webhooks;
	struct th_fleet *fleet; /* NULL: it is alone */
	struct th_claim *claim; /* sessions that are wanted and that it has not got yet */
	size_t claims;
	struct th_admission admission;
	struct th_begin_queue begins; /* accesses that wait for their turn */
	struct th_shares shares;
	struct th_reserve_need *reserving; /* for sessions that do not run yet */
	struct th_needs left;              /* responses that were not to be kept, at its start */
	struct th_metrics metrics;
	struct th_rates users, strangers; /* requests of a user; of an address without a token */
	struct th_poll *rt_poll;
	struct th_timer rt_timer, sweep;
	struct th_deferred kick; /* the runtime has something to do */
	/* What the services keep; each looks at its own. */
	struct th_viewer *viewers; /* of screens */
	struct th_hold *holds;     /* of persons who have taken over */
	struct th_cua *cua;        /* NULL: not that face */
	struct th_oh *openhands;   /* the same */
	struct th_mcp_session *mcp_sessions;
	struct th_mcp_computer *mcp_computers; /* of users */
	size_t mcp_computer_count;
	uint64_t mcp_asked;              /* requests to MCP clients */
	uint8_t mcp_key[32];             /* seals what they keep for us */
	struct th_files_job *files_jobs; /* requests for files that a worker has */
	size_t files_job_count;
	struct th_change *changes;        /* forks and deletions under way */
	struct th_response *talks;        /* those under way that are of conversations */
	struct th_lanes *lanes;           /* WebSockets of /v1/responses */
	struct th_raw_agents *raw_agents; /* of its requests that name a model; NULL: none yet */
	uint64_t started_ms, stamped_ms;
	int64_t began_ms;                /* by the wall clock */
	struct th_access *callers;       /* requests under way of those who have a token */
	uint64_t tokens_version;         /* rises when they are read again */
	int64_t tokens_stamp;            /* of the file of `thole token`, when it was read */
	uint64_t tokens_pass;            /* of the loop, when that was looked at; 0: look again */
	unsigned beat;                   /* of the sweep */
	bool failed, finishing, closing; /* closing: connections are cut */
};

/* drive.c */
TH_NODISCARD enum th_code th_drive_begin(struct th_server *s, struct th_err *err);
void th_drive_end(struct th_server *s);
/* After each function of thole.h that may have given the runtime something to do. */
void th_server_kick(struct th_server *s);
/* takeover.c: what was running in this store is gone on with; and what other nodes left is looked
 * for, and taken if there is room. */
TH_NODISCARD enum th_code th_server_recover(struct th_server *s, struct th_err *err);
void th_server_recover_end(struct th_server *s); /* what is under way is dropped */
void th_server_look(struct th_server *s);

/* ---- journal.c ---- */

/* A line for each request; and a sentence. */
void th_journal_request(const struct th_server *s, const struct th_http_request *r,
			const struct th_access *a, int status, uint64_t sent);
TH_PRINTF(3, 4)
void th_journal_say(const struct th_server *s, const char *about, const char *fmt, ...);

/* ---- guard.c: may this request come in at all? ---- */

/* Where it comes from: the peer, or what a proxy that is trusted says. */
void th_guard_from(struct th_access *a);
/* The host it names is ours, and no other site's page sent it.  False: it was answered. */
bool th_guard_place(struct th_access *a);
/* Somebody's token, with the scope of the route.  False: it was answered. */
bool th_guard_caller(struct th_access *a);
bool th_guard_type(struct th_access *a); /* the body's type */
/* Whose it is was found out in another way: by this token, of which it needs a scope.  It ends when
 * that is revoked. */
void th_guard_found(struct th_access *a, const struct th_token *t, unsigned needs);
/* The browser of who asks speaks TLS, with us or with a proxy before us. */
bool th_guard_https(const struct th_access *a);
/* Somebody without a good token may try again now.  False: it was answered. */
bool th_guard_stranger(struct th_access *a);
/* All tokens and logins, as their files are now. */
const struct th_tokens *th_guard_tokens(struct th_server *s);
#define TH_LOGIN_COOKIE "thole_login"
/* What the browser's cookie says; empty: there is none, or more than one. */
struct th_str th_guard_cookie(const struct th_access *a);

/* ---- revoke.c: each second ---- */

void th_revoke_sweep(struct th_server *s);

/* ---- routes.c ---- */

/* Fills in route and args.  False: it was answered. */
bool th_route_find(struct th_access *a);
/* A path beside a route's words; arguments are decoded into the access. */
bool th_route_fits(const char *words, struct th_str path, struct th_access *a);
/* The first of these that it is, with its args; NULL, and *ret_path: there is one with another
 * method. */
const struct th_route *th_route_in(const struct th_route *routes, struct th_access *a,
				   bool *ret_path);
/* All routes, service by service: begun with `service` alone, over when next gives NULL. */
struct th_route_iter {
	const struct th_service *const *service;
	const struct th_route *route; /* the next one; NULL: the service's first */
};
const struct th_route *th_route_next(struct th_route_iter *it);

/* ---- docs.c: the tables of routes as text ---- */

void th_docs_page(const struct th_service *const *services, struct th_buf *out); /* docs/HTTP.md */

/* ---- the server's own service: who asks, and how it is (operations.c) ---- */

extern const struct th_service th_service_operations;
extern const struct th_table th_login_table;
th_access_fn th_api_login, th_api_logout, th_api_me, th_api_quota;
th_access_fn th_api_health, th_api_ready, th_api_metrics, th_api_openapi, th_api_agents,
    th_api_fleet;

/* ---- workspaces.c ---- */

/* A folder for the tools of a session that begins; NULL in *ret: it has none of its own.  free()
 * it. */
TH_NODISCARD int th_workspace_make(struct th_server *s, const char *id, char **ret,
				   struct thole_error *err);
/* The folder of a desktop that a user drives himself; free() it. */
TH_NODISCARD int th_workspace_of_computer(struct th_server *s, const char *user, char **ret,
					  struct thole_error *err);
/* Where that folder is, and where the manifest of what it began with; free() them. */
char *th_workspace_path(const struct th_server *s, const char *id);
char *th_workspace_start(const struct th_server *s, const char *id);
/* That folder and what is in it go, with the manifest, in a worker; where there is none nothing
 * happens. */
void th_workspace_remove(struct th_server *s, const char *id);
void th_workspaces_sweep(struct th_server *s); /* what was being removed when a server ended */

#define TH_KEEP_MEMBER "thole_keep" /* of metadata; false: deleted when its response is over */

/* ---- quota.c: may one more run, or go on that rests? ---- */

struct th_refusal {
	uint64_t wait_ms; /* until it may be asked again */
	int status;       /* 429: the user's quota; 503: the server is overloaded */
	const char *code;
	struct th_err why;
};
enum th_room {
	TH_ROOM_YES,
	TH_ROOM_NO,     /* *ret says why */
	TH_ROOM_PENDING /* what the user has used is being read: whoever asks is called again */
};
/* `p`: of the session that is to begin; normal for one that goes on. */
enum th_room th_quota_room(struct th_needs *n, const char *user, enum th_priority p,
			   struct th_refusal *ret);
/* The highest that its user may ask for. */
enum th_priority th_quota_highest(const struct th_access *a);
/* Into a->priority, which is normal at first, or less where the user may not have that; `name` may
 * be empty.  False: it is none, or more than the user may ask for, and it was answered. */
bool th_quota_priority(struct th_access *a, struct th_str name);
/* May another session run here: by the room of a node of a fleet, and of the machine?  *why (may
 * be NULL) says why not. */
bool th_quota_node_has_room(struct th_server *s, struct th_err *why);
/* Of an access, in its turn.  False: it was answered, or the handler is called again. */
bool th_quota_begin(struct th_access *a);
/* What there was room for is this hub's session, which was told to run in this pass of the loop
 * (needs_reserve.c).  Where nothing was reserved nothing happens. */
void th_quota_begins(struct th_needs *n, struct th_hub *h);
void th_quota_leave(struct th_needs *n); /* it begins elsewhere, or not at all */
th_begin_fn th_quota_turn;               /* of an access that waited: its handler is called again */
/* A turn of the session is over: where the day's are used up, it is held, or stopped if somebody
 * waits for its answer. */
void th_quota_look(struct th_hub *h);

/* ---- functions.c: functions of a client's request, which the client answers ---- */

#define TH_RESPONSE_MEMBER "thole_response" /* of the metadata of a session that is one */

/* Adds them to the agent.  `tools`: a JSON list of them in the Responses form, of which functions
 * and custom tools are taken (server/function_names.h).  `only`: a list of {"name", "namespace"},
 * those alone; NULL: all. */
TH_NODISCARD int th_functions_add(struct th_server *s, struct thole_agent *agent,
				  const struct th_json *tools, const struct th_json *only,
				  struct thole_error *err);
/* The agent that gives a session with this metadata the functions that it was begun with, to be
 * freed; NULL in *ret: it has none. */
TH_NODISCARD int th_functions_agent(struct th_server *s, const struct th_json *metadata,
				    struct thole_agent **ret, struct thole_error *err);
/* Has the hub's session open, with the functions that it was begun with; `row`: its object.  It
 * may be LOADING first. */
TH_NODISCARD int th_functions_open_start(struct th_hub *h, struct th_str row,
					 struct thole_error *err);
/* The client's result of a call, or of one that is given again soon. */
void th_functions_answer(struct th_hub *h, struct th_str call_id,
			 struct th_str result); /* without a zero */

#endif
