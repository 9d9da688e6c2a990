/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp.h - an MCP server on one path, of both eras of the protocol: revisions up
 * to 2025-11-25, which begin with `initialize` and may have sessions, and
 * 2026-07-28, in which each request says all.
 *
 * What a server offers is a kit: tables of tools, prompts and resources.  The
 * protocol knows none of them, and a kit does not see which era is spoken.
 *
 * A request is a struct th_mcp until it is answered.  Where a tool has a question
 * for the client, it asks and is called once more when there is an answer: within
 * the same request in the one era, in a new request in the other.
 */
#ifndef TH_MCP_PROTOCOL_MCP_H
#define TH_MCP_PROTOCOL_MCP_H

#include "server/service.h"

#define TH_MCP_MODERN "2026-07-28"
#define TH_MCP_META "io.modelcontextprotocol/"

enum th_mcp_code {
	TH_MCP_PARSE = -32700,
	TH_MCP_REQUEST = -32600,
	TH_MCP_METHOD = -32601,
	TH_MCP_PARAMS = -32602,
	TH_MCP_HEADER = -32020,
	TH_MCP_CAPABILITY = -32021,
	TH_MCP_VERSION = -32022
};

struct th_mcp;
struct th_mcp_session;

/* ---- what a server offers ---- */

/* A task as the client is told of it. */
struct th_mcp_task {
	char id[TH_SESSION_ID_MAX + 1];
	const char *status; /* working, input_required, completed, failed or cancelled */
	char message[256];  /* may be empty */
	int64_t created_ms, updated_ms;
	struct th_buf result;   /* completed: the tool's result; a JSON object */
	struct th_buf requests; /* input_required: {key: {method, params}} */
};
void th_mcp_task_deinit(struct th_mcp_task *t);

/* Where a client is told what changes. */
struct th_mcp_channel {
	struct th_access *access; /* an event stream; NULL: there is none now */
	char *subscription;       /* 2026-07-28: the JSON id of the request; else NULL */
	struct th_mcp_watch *watches;
	size_t count;
};

/* One resource that a client wants to hear of. */
struct th_mcp_watch {
	struct th_mcp_watch *next;
	struct th_mcp_channel *channel;
	struct th_server *server;
	char user[TH_USER_MAX + 1];
	char *uri;
	struct th_listener listener;         /* the kit's */
	struct th_needs look;                /* the kit's: of what others may change */
	uint64_t told;                       /* the kit's: up to where the client was told */
	void (*end)(struct th_mcp_watch *w); /* the kit's; may be NULL */
};
void th_mcp_updated(struct th_mcp_watch *w); /* by the kit: it has changed */

struct th_mcp_tool {
	const char *name, *title, *description;
	const struct th_table *arguments;           /* NULL: `schema` */
	const char *schema;                         /* JSON; its arguments come as they are */
	unsigned scope;                             /* of enum th_scope */
	bool reads;                                 /* and changes nothing */
	bool task;                                  /* may be asked for as a task */
	bool (*offered)(const struct th_server *s); /* else it is not there; NULL: always */
	/* Answers, now or later; called again when something that it asked for is there.
	 * `arguments`: the table's struct, or NULL. */
	void (*call)(struct th_mcp *m, const void *arguments);
};

struct th_mcp_prompt {
	const char *name, *title, *description;
	const char *arguments; /* JSON: [{"name", "description", "required"}, …] */
	void (*get)(struct th_mcp *m);
};

struct th_mcp_kit {
	const char *name;                    /* of the server */
	const char *instructions;            /* NULL: none */
	bool any_accept;                     /* whatever a POST's Accept says: it gets JSON */
	const struct th_mcp_tool *tools;     /* ended by a NULL name */
	const struct th_mcp_prompt *prompts; /* the same; NULL: it has none */
	/* Elements of a list of resources; NULL: it has none. */
	void (*resources)(struct th_mcp *m, struct th_jw *w);
	/* Where one of these has to know something of the store first (m->needs), it returns at
	 * once, whatever it returns, and the method is done again when that is there. */
	const char *templates; /* JSON: a list of them */
	/* Answers with contents, now or later.  False: there is no such resource. */
	bool (*read)(struct th_mcp *m, struct th_str uri);
	/* Tells of changes of a resource by th_mcp_updated; NULL: it never does.  False: it never
	 * changes.  What `known` asked for is there still. */
	bool (*watch)(struct th_mcp *m, struct th_mcp_watch *w);
	/* Before that: there is one of that URI.  NULL: `watch` says. */
	bool (*known)(struct th_mcp *m, struct th_str uri);
	/* A listening name's values: elements of a list of texts; NULL: it completes nothing. */
	void (*complete)(struct th_mcp *m, struct th_jw *w);
	/* A task by its name: *ret gets it (th_mcp_task).  False: there is none.  NULL: it has no
	 * tasks. */
	bool (*task)(struct th_mcp *m, struct th_str id, struct th_mcp_task *ret);
	void (*task_cancel)(struct th_mcp *m, struct th_str id);
	void (*task_input)(struct th_mcp *m, struct th_str id); /* inputResponses are there */
	bool logs; /* tools may write to the client's log */
};

/* ---- a request ---- */

#define TH_MCP_ASKS_MAX 8

struct th_mcp {
	struct th_access *access;
	const struct th_mcp_kit *kit;
	struct th_mcp_session *session; /* of the older era; NULL: none */
	struct th_json_doc *doc;
	const struct th_json *params;
	const struct th_json *capabilities; /* the client's */
	struct th_arena memory;             /* of the arguments */
	char *id;                           /* its JSON text */
	struct th_str method;
	struct th_str progress; /* the JSON text of its token; empty: it wants none */
	bool modern;
	bool streams;    /* its answer is an event stream, which was begun */
	bool wants_task; /* as a task, please */
	double progressed;
	/* Of a tool that asks. */
	const struct th_mcp_tool *tool;
	const struct th_mcp_prompt *prompt;
	void *arguments;
	struct th_mcp_input {
		char *key;
		struct th_json_doc *doc; /* the answer; NULL: it is waited for */
		uint64_t number;         /* of the request to the client */
	} inputs[TH_MCP_ASKS_MAX];
	size_t input_count, input_waits;
	char *state; /* what the tool wants to have again; may be NULL */
	/* Of who answers later; may be NULL.  gone: the peer left. */
	void (*gone)(struct th_mcp *m);
	void *ctx;
	struct th_needs needs;
	char about[TH_SESSION_ID_MAX + 1]; /* th_mcp_about */
	void (*again)(struct th_mcp *m);   /* when they are there; NULL: the method, or the tool */
	struct th_mcp *next;               /* of its session */
};

/* The whole of POST, GET and DELETE. */
void th_mcp_serve(struct th_access *a, const struct th_mcp_kit *kit);

/* ---- answers: m is gone afterwards (answer.c) ---- */

void th_mcp_answer(struct th_mcp *m, struct th_str result); /* a JSON object */
/* `data`: a JSON value, or empty. */
TH_PRINTF(5, 6)
void th_mcp_fault(struct th_mcp *m, int status, int code, struct th_str data, const char *fmt, ...);
/* A tool's result: a text, or a JSON object as text and as itself. */
void th_mcp_text(struct th_mcp *m, struct th_str text, bool is_error);
void th_mcp_json(struct th_mcp *m, struct th_str json);
void th_mcp_error(struct th_mcp *m, const struct thole_error *err);
void th_mcp_no_resource(struct th_mcp *m, struct th_str uri); /* methods.c */
/* The inside of a tool's result, into `w`. */
void th_mcp_put_text(struct th_jw *w, struct th_str text, bool is_error);
void th_mcp_put_json(struct th_jw *w, struct th_str json);
void th_mcp_put_task(const struct th_mcp_task *t, bool modern, struct th_jw *w);
void th_mcp_free(struct th_mcp *m); /* its peer is gone, or it was answered */

void th_mcp_again(struct th_mcp *m); /* calls the tool or the prompt once more */

/* ---- meanwhile ---- */

/* `total` 0: nobody knows.  Only where the client gave a token. */
void th_mcp_progress(struct th_mcp *m, double done, double total, const char *message);
void th_mcp_log(struct th_mcp *m, const char *level, struct th_str text);
/* A line of JSON on its event stream, which is begun if need be. */
void th_mcp_send(struct th_mcp *m, struct th_str message);
bool th_mcp_begin_stream(struct th_mcp *m);

/* ---- questions to the client (ask.c) ---- */

/* "elicitation", "sampling", "roots": the client has said that it takes such questions. */
bool th_mcp_can(const struct th_mcp *m, const char *capability);
/* The answer under this key; NULL: there is none yet. */
const struct th_json *th_mcp_input(const struct th_mcp *m, const char *key);
const char *th_mcp_state(const struct th_mcp *m); /* "": there is none */
/* In a session of another node the number of a question to the client follows this node's tag. */
bool th_mcp_asked_by(struct th_str message, char ret[static TH_FLEET_TAG_SIZE + 1]);
/* Adds a question; th_mcp_ask sends them, and the tool is called again when all have answers.
 * `state` comes back with them; may be NULL.  m may be gone afterwards. */
void th_mcp_question(struct th_mcp *m, struct th_jw *w, const char *key, const char *method,
		     struct th_str params);
void th_mcp_ask(struct th_mcp *m, struct th_str questions, const char *state);
void th_mcp_forget_inputs(struct th_mcp *m); /* they were used: the same may be asked again */
/* An answer of the older era.  False: nobody asked. */
bool th_mcp_answered(struct th_mcp_session *s, const struct th_json *message);
/* What a state says that nobody has looked at yet: only to find who can look. */
bool th_mcp_state_of(struct th_str text, struct th_buf *out);
/* Reads inputResponses and requestState.  False: it was answered. */
bool th_mcp_read_inputs(struct th_mcp *m);

/* ---- methods (methods.c) ---- */

void th_mcp_dispatch(struct th_mcp *m);

/* ---- sessions of the older era (session.c) ---- */

#define TH_MCP_ASKABLE 3 /* kinds of questions, and so letters of them in a session's id */

struct th_mcp_session {
	struct th_mcp_session *next;
	/* In a fleet the node's tag follows: what is said in it finds this node.  Then what its
	 * client can be asked, for other nodes. */
	char id[TH_UUID_TEXT_SIZE + 1 + TH_FLEET_TAG_SIZE + 1 + TH_MCP_ASKABLE + 1];
	char user[TH_USER_MAX + 1];
	const struct th_mcp_kit *kit;    /* whose session it is */
	struct th_json_doc *initialized; /* params of initialize */
	int level;                       /* of the log; an index, 1 to 8: from debug on */
	struct th_mcp_channel channel;
	struct th_mcp *requests; /* under way */
	uint64_t used_ms;
	/* Another node's, which is here for these requests alone: after the last one.  NULL: it is
	 * this node's. */
	void (*guest_over)(struct th_server *server, struct th_mcp_session *s);
};

/* The node that asked what the request answers, or else the one that has the session of its header,
 * if it is another one: as keeper_of of a service. */
bool th_mcp_session_keeper(const struct th_access *a, char ret[static TH_FLEET_TAG_SIZE + 1]);
/* Of the request's header.  False: it names one that is not there, and was answered.  Where
 * another node has it, and this one what the request is about, it is NULL, or a guest that is here
 * already. */
bool th_mcp_session_find(struct th_access *a, const struct th_mcp_kit *kit,
			 struct th_mcp_session **ret);
struct th_mcp_session *th_mcp_session_new(struct th_mcp *m);
/* Of another node, whose client can be asked something, for a request about what this one has: it
 * ends with its last request.  NULL: it is none of those. */
struct th_mcp_session *th_mcp_session_guest(struct th_access *a, const struct th_mcp_kit *kit);
void th_mcp_session_listen(struct th_access *a, struct th_mcp_session *s);
void th_mcp_session_end(struct th_server *server, struct th_mcp_session *s);
void th_mcp_sessions_free(struct th_server *server);
/* Adds or takes away what is listened to.  False: the kit has none of that URI. */
/* What is left to be done is `fn`, with m->about; it asks for what it needs anew. */
void th_mcp_about(struct th_mcp *m, const char *session, void (*fn)(struct th_mcp *m));
bool th_mcp_known(struct th_mcp *m, struct th_str uri); /* the kit knows it, or m waits */
bool th_mcp_watch(struct th_mcp_channel *c, struct th_mcp *m, struct th_str uri);
void th_mcp_unwatch(struct th_mcp_channel *c, struct th_str uri);
/* The request itself becomes a channel (2026-07-28). */
void th_mcp_listen(struct th_mcp *m);

#endif
