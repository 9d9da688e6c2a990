/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reply.h - what a task of a session comes to, as the output of the Responses
 * API: folded from the session's events, live or from its log, so that both say
 * the same.
 *
 * The client's own functions are items for it to answer.  What the agent ran
 * itself is an mcp_call with its output, which clients take as done.
 */
#ifndef TH_SERVER_REPLY_H
#define TH_SERVER_REPLY_H

#include "server/function_names.h"

enum th_reply_kind { TH_REPLY_MESSAGE, TH_REPLY_REASONING, TH_REPLY_CALL, TH_REPLY_OTHER };

struct th_reply_item {
	enum th_reply_kind kind; /* CALL: of a function of the client */
	char *json;
};

enum th_reply_status {
	TH_REPLY_RUNNING,
	TH_REPLY_COMPLETED,
	TH_REPLY_PARKED,  /* completed, and the session waits for the client's results */
	TH_REPLY_WAITING, /* completed, and it waits for a person's decision, and maybe for those */
	TH_REPLY_INCOMPLETE,
	TH_REPLY_FAILED,
	TH_REPLY_CANCELLED
};

/* A call that has no result yet. */
struct th_reply_open {
	char *call_id, *name, *arguments;
	char *approval;        /* the id of the item that asks for a decision; NULL: none does */
	bool client, started;  /* client: the function is the client's */
	bool asked, delegated; /* a person is asked; it is of a session that works for this one */
};

#define TH_REPLY_NAME_MAX 64
#define TH_REPLY_LABEL "thole" /* the "server" of our own calls */

struct th_reply {
	char name[TH_REPLY_NAME_MAX]; /* of the response, without its prefix: items are named by it
				       */
	bool sealed;                  /* reasoning is told with what the provider has sealed */
	const struct th_function_name *functions; /* the client's; borrowed */
	size_t function_count;
	struct th_reply_item *items; /* each is whole when it is added */
	size_t count;
	struct th_reply_open *open;
	size_t open_count;
	enum th_reply_status status;
	char *why;     /* FAILED, INCOMPLETE: a sentence; may be NULL */
	int fault;     /* FAILED: the HTTP status that says whose fault it is; 0: nobody knows */
	bool too_long; /* the last answer was cut at its limit of tokens */
	int64_t tokens_in, tokens_cached, tokens_out, tokens_reasoning;
	int64_t began_ms, ended_ms; /* of the first and the last event */
	uint64_t last_seq;
	bool asked_model;
	bool missed; /* a call had its result that was made before the first event */
};

struct th_reply_parts {
	uint64_t seq;
	int64_t ts_ms;
	struct th_str kind, call, data;
};

/* One event, as thole_runtime_log and notes have it.  Afterwards `count` may have grown, and
 * `status` be another. */
void th_reply_event(struct th_reply *r, struct th_str event);
/* The same in parts; `data` is JSON, which is parsed only where it says more than the kind. */
void th_reply_event_parts(struct th_reply *r, const struct th_reply_parts *event);
void th_reply_deinit(struct th_reply *r);
/* A call that was open before its first event. */
void th_reply_seed(struct th_reply *r, const struct th_reply_open *open);
/* A person is asked about a call, and nothing else is under way. */
bool th_reply_asks(const struct th_reply *r);
/* The session rests for that: each such call is an item that asks, and the status WAITING. */
void th_reply_wait(struct th_reply *r);
/* What one event of the log before a reply leaves open: calls without a result. */
void th_reply_before(struct th_reply *r, struct th_str event);
/* The items as a JSON list. */
void th_reply_print(const struct th_reply *r, struct th_jw *w);
void th_reply_usage(const struct th_reply *r, struct th_jw *w);
/* The HTTP status for a class of failures of a log: 400 where the model's API refuses what it is
 * asked, which the same request again does not mend. */
int th_reply_fault(struct th_str class);
/* "completed", … as the Responses API has it. */
const char *th_reply_status_name(enum th_reply_status s);
/* The texts of its messages, one after the other. */
void th_reply_text(const struct th_reply *r, struct th_buf *out);

#endif
