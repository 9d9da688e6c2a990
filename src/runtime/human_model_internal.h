/* SPDX-License-Identifier: Apache-2.0 */
/*
 * human_model_internal.h - what the two files of the human model share: human_model.c keeps the
 * questions and the terminal, human_model_http.c answers HTTP requests.
 */
#ifndef TH_RUNTIME_HUMAN_MODEL_INTERNAL_H
#define TH_RUNTIME_HUMAN_MODEL_INTERNAL_H

#include "base/json.h"
#include "base/limits.h"
#include "io/http_server.h"
#include "io/listen.h"
#include "runtime/human_model.h"

struct th_question {
	struct th_question *next;
	bool over_http;
	char id[33];
	int64_t asked_ms;
	struct th_buf messages; /* over HTTP: as they are in the request */
	struct th_human_model *person;
	struct th_ticket ticket;
	struct th_json_doc *request;
	struct th_buf title;   /* the session's name */
	struct th_buf picture; /* path of its newest screenshot; may be empty */
	bool shown;
	struct th_timer timer; /* the task's time */
};

/* What became of a question that is over. */
struct th_transcript {
	char id[33];
	bool failed;
};

/* HTTP requests whose answer is not durable yet. */
struct th_answerer {
	struct th_answerer *next;
	struct th_http_request *request; /* NULL: its client is gone */
	struct th_ticket ticket;
	struct th_transcript transcript;
};

struct th_human_model {
	struct th_human_model_options o;
	struct th_listen *listen; /* NULL: no agent has asked for it */
	struct th_http_server *server;
	const struct th_secret *token; /* the one that requests need */
	struct th_secret *made;        /* a token of our own; NULL: it was given */
	struct th_buf url;             /* as the agent gave it */
	struct th_buf token_file;
	struct th_answerer *answerers;
	struct th_transcript transcript[TH_HUMAN_ANSWERED_MAX];
	size_t transcript_count;
	struct th_question *first; /* of those for the terminal the first is on it */
	struct th_poll *poll;      /* NULL while nothing is asked, and for files */
	int in_flags;              /* as they were before it was polled; -1: it was not */
	bool file;                 /* cannot be polled: read when it is needed */
	struct th_deferred turn;
	struct th_buf in, out;
	bool skipping; /* the rest of a line that is too long */
	bool ended, greeted;
};

/* Writes out what is in p->out. */
void th_human_model_show(struct th_human_model *p);
/* The whole answer of a question, which is over with it. */
void th_human_model_answer(struct th_human_model *p, struct th_question *q, struct th_str answer);

/* human_model_http.c */
TH_NODISCARD enum th_code th_human_model_listen(struct th_human_model *p, struct th_str url,
						const struct th_secret *token, struct th_err *err);
void th_human_model_unlisten(struct th_human_model *p);

#endif
