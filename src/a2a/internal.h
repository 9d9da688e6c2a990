/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal.h - a request of the A2A protocol, how it is answered, and how a task is followed.
 */
#ifndef TH_A2A_INTERNAL_H
#define TH_A2A_INTERNAL_H

#include "a2a/a2a.h"
#include "a2a/task.h"
#include "server/service.h"
#include "server/webhooks.h"
#include "wire/jsonrpc.h"

enum th_a2a_code { /* of the protocol */
		   TH_A2A_ENOTFOUND = -32001,
		   TH_A2A_EOVER = -32002, /* it cannot be cancelled any more */
		   TH_A2A_ENOPUSH = -32003,
		   TH_A2A_EUNSUPPORTED = -32004,
		   TH_A2A_ETYPE = -32005, /* of a part */
		   TH_A2A_ENOCARD = -32007,
		   TH_A2A_EVERSION = -32009
};

struct th_a2a;
struct th_a2a_list;

typedef void th_a2a_fn(struct th_a2a *m);

/* A request, until it is answered or its task is followed. */
struct th_a2a {
	struct th_access *access;
	struct th_json_doc *doc;
	const struct th_json *params;
	struct th_str id; /* of `id_text` */
	char *id_text;
	th_a2a_fn *fn;            /* the method */
	struct th_log_load *load; /* of the task's log */
	struct th_a2a_list *list; /* ListTasks */
	/* The task that it names, or the last one of the context: `found`, where it is the
	 * caller's and has begun. */
	struct th_a2a_task task;
	bool found;
	bool waits; /* for the store: the method is done again when it has answered */
	bool v1;
	bool rest;                        /* HTTP+JSON, which is of 1.0 alone */
	struct th_a2a_push *push;         /* a hook that is not begun yet; NULL: none */
	char made[TH_UUID_TEXT_SIZE + 1]; /* the name of a session that it begins */
};

/* ---- a2a.c ---- */

struct th_a2a *th_a2a_new(struct th_access *a);
/* Answers now or later, by the method of that name of 1.0.  `params`: a JSON object. */
void th_a2a_serve(struct th_a2a *m, const char *method, struct th_str params);
void th_a2a_free(struct th_a2a *m); /* of one that was answered at once */

/* ---- answer.c ---- */

/* Each answers the request. */
TH_PRINTF(3, 4) void th_a2a_fail(struct th_a2a *m, int code, const char *fmt, ...);
void th_a2a_answer(struct th_a2a *m, const struct th_buf *result);
void th_a2a_answer_nothing(struct th_a2a *m);
void th_a2a_fail_api(struct th_a2a *m, const struct thole_error *err);
void th_a2a_no_task(struct th_a2a *m);
/* Open here.  NULL: it cannot be opened, which was the answer; or m->waits. */
struct th_hub *th_a2a_open(struct th_a2a *m, const char *session);
/* `plain`: the task itself, not as SendMessage of 1.0 gives it. */
void th_a2a_answer_task(struct th_a2a *m, const struct th_a2a_task *t, int64_t history, bool plain);
int64_t th_a2a_history(const struct th_a2a *m); /* how many messages are wanted */
/* `wrap`: what SendMessage answers, where GetTask answers with the task itself. */
void th_a2a_put_task(const struct th_a2a_task *t, bool v1, int64_t history, bool wrap,
		     struct th_buf *out);

/* ---- follow.c ---- */

/* How it is answered. */
struct th_a2a_how {
	bool stream;
	bool at_once; /* not streamed: as soon as it is in the log */
	bool plain;   /* 1.0: the task itself, not as what SendMessage gives */
	bool rests;   /* streamed: it stands as it is */
};

/* Answers with m->task when its session rests; or streams it until then.  Takes the task over. */
void th_a2a_follow(struct th_a2a *m, struct th_hub *h, const struct th_a2a_how *how);

/* ---- list.c ---- */

void th_a2a_list_tasks(struct th_a2a *m); /* a page of them; answers */
void th_a2a_list_free(struct th_a2a_list *l);

/* ---- message.c ---- */

void th_a2a_send(struct th_a2a *m, bool stream); /* a message; answers */

/* ---- parts.c: what a message says ---- */

struct th_a2a_said {
	struct th_buf text, items; /* items: the same with its files, as a list of one message */
	struct th_jw w;
	bool files;
	const struct th_json *decision; /* a data part that decides; NULL: none */
};
/* 0, or the code of an error of the protocol, and `err` says why.  To be deinited in both cases. */
TH_NODISCARD int th_a2a_said_read(const struct th_json *message, struct th_a2a_said *ret,
				  struct th_err *err);
void th_a2a_said_deinit(struct th_a2a_said *s);

/* ---- push.c: who wants to be told of a task ---- */

th_a2a_fn th_a2a_push_set, th_a2a_push_get, th_a2a_push_list, th_a2a_push_delete;
/* What a message's configuration asks for, before the message is said.  False: it was answered, or
 * m->waits, and nothing was said. */
bool th_a2a_push_add(struct th_a2a *m);
/* What the hook is for is there; or it is not, or its client has left.  Nothing where none waits.
 */
void th_a2a_push_end(struct th_a2a *m, bool begun);

/* ---- letter.c: what they are told ---- */

extern const struct th_letters th_a2a_letters;

/* ---- handlers (a2a.c, rest.c, card.c) ---- */

th_access_fn th_a2a_post, th_a2a_rest, th_a2a_card, th_a2a_agent_card;

/* ---- rest.c: HTTP+JSON ---- */

/* The task that such a request names; false: it is none, or names none. */
bool th_a2a_rest_task(const struct th_access *a, struct th_str *ret);

/* Such a request. */
struct th_a2a_rest_request {
	const struct th_route *route;
	struct th_str query, body;
	const char *task, *config; /* of its path; not looked at where that has none */
};
/* The method that it is, and its parameters as a JSON object.  NULL: the body is none. */
const char *th_a2a_rest_read(const struct th_a2a_rest_request *r, struct th_buf *params);

#endif
