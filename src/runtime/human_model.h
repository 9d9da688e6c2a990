/* SPDX-License-Identifier: Apache-2.0 */
/*
 * human_model.h - the model human/human: shows a model request to a person, at a
 * terminal or over HTTP, and returns the person's input as the answer.
 *
 * It takes the place of io/fetch for this model, behind world.h.  A request
 * under way has no state but its MODEL_REQUESTED event.  After a crash the
 * question is asked again, unless its answer is in the log.  The terminal shows
 * one question at a time; the others wait.  At the end of input, `left` is
 * called for each open question and for each later one.
 *
 * Over HTTP (a base URL of the loopback) it has the API of Cua's completion
 * queue: GET /pending, GET /status/ID, POST /complete/ID, POST /fail/ID.  The
 * same question has the same id after a crash.  `success` is sent when the
 * answer is durable, so it will not be asked for again.  The token is
 * HUMAN_API_KEY, or one that is made and written to a file.
 */
#ifndef TH_RUNTIME_HUMAN_MODEL_H
#define TH_RUNTIME_HUMAN_MODEL_H

#include "base/secret.h"
#include "io/loop.h"
#include "live/world.h"

struct th_human_model;

struct th_human_model_options {
	struct th_loop *loop;
	int in_fd;   /* the person's input; -1: none */
	int out_fd;  /* where questions are shown */
	int show_ms; /* maximum wait for the terminal; 0: TH_HUMAN_SHOW_MS_MAX */
	/* As th_driver_model_data and _done; never called from inside th_human_model_ask. */
	bool (*data)(void *ctx, struct th_ticket t, struct th_str bytes);
	void (*done)(void *ctx, struct th_ticket t, const struct th_model_end *end);
	/* Is the answer to that question in the log?  1: yes; 0: not yet; -1: it was lost. */
	int (*durable)(void *ctx, struct th_ticket t);
	/* The person has left; the question is dropped and the session must wait. */
	void (*left)(void *ctx, struct th_ticket t);
	void *ctx;
};

struct th_human_model *th_human_model_new(const struct th_human_model_options *options);
/* Drops open questions without a callback and removes the pictures.  Takes NULL, returns NULL. */
struct th_human_model *th_human_model_free(struct th_human_model *p);

/* TH_EUSAGE: there is no person to ask; the message says what to do.  With a URL, opens the
 * listener once; `token` is borrowed; NULL: make one. */
TH_NODISCARD enum th_code th_human_model_check(struct th_human_model *p, struct th_str base_url,
					       const struct th_secret *token, struct th_err *err);
/* Events became durable: responds to the HTTP requests that waited for them. */
void th_human_model_committed(struct th_human_model *p);

TH_NODISCARD enum th_code th_human_model_ask(struct th_human_model *p, struct th_ticket t,
					     struct th_str session_id,
					     const struct th_model_call *call, struct th_err *err);
bool th_human_model_cancel(struct th_human_model *p,
			   struct th_ticket t); /* false: not a question of this model */

/* Can input come from this descriptor?  Yes for a terminal, pipe, socket or file; no if it is
 * closed or /dev/null. */
bool th_human_model_behind(int fd);

#endif
