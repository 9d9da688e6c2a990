/* SPDX-License-Identifier: Apache-2.0 */
/*
 * human_model.h - who plays the model of human/human: takes requests of that wire,
 * shows them to somebody at a terminal or over HTTP, and gives back his word as
 * the answer.
 *
 * It stands where io/fetch stands for other models, behind world.h: a request
 * under way is the MODEL_REQUESTED event in the log and nothing else.  After a
 * crash the question is asked again; one whose answer is in the log is not.
 * One question is on the terminal at a time, the others wait behind it.  End of
 * input is said with `left`, for each question that is open or comes later.
 *
 * Over HTTP (a base URL of the loopback) it speaks as the completion queue of
 * Cua does: GET /pending, GET /status/ID, POST /complete/ID, POST /fail/ID.  The
 * same question has the same id after a crash, and `success` is said when the
 * answer is durable: who has heard it is not asked again.  The token is
 * HUMAN_API_KEY's, or one made for the time and told by a file.
 */
#ifndef TH_RUNTIME_HUMAN_MODEL_H
#define TH_RUNTIME_HUMAN_MODEL_H

#include "base/secret.h"
#include "driver/world.h"
#include "io/loop.h"

struct th_human_model;

struct th_human_model_options {
	struct th_loop *loop;
	int in_fd;   /* where his lines come from; -1: there is nobody */
	int out_fd;  /* where he is shown the question; his */
	int show_ms; /* that a terminal is waited for; 0: TH_HUMAN_SHOW_MS_MAX */
	/* As th_driver_model_data and _done; never from inside th_human_model_ask. */
	bool (*data)(void *ctx, struct th_ticket t, struct th_str bytes);
	void (*done)(void *ctx, struct th_ticket t, const struct th_model_end *end);
	/* Is the answer to that question in the log?  1: yes; 0: not yet; -1: it got lost. */
	int (*durable)(void *ctx, struct th_ticket t);
	/* He is gone, and the question with him: the session is to wait. */
	void (*left)(void *ctx, struct th_ticket t);
	void *ctx;
};

struct th_human_model *th_human_model_new(const struct th_human_model_options *options);
/* What is open is dropped without a call; the pictures are removed.  Takes NULL, returns NULL. */
struct th_human_model *th_human_model_free(struct th_human_model *p);

/* TH_EUSAGE: there is nobody to ask, and what to do about it.  With a URL the listener is opened,
 * once; `token` is borrowed, NULL: there is none yet. */
TH_NODISCARD enum th_code th_human_model_check(struct th_human_model *p, struct th_str base_url,
					       const struct th_secret *token, struct th_err *err);
/* Something became durable: HTTP requests that wait for it are answered. */
void th_human_model_committed(struct th_human_model *p);

TH_NODISCARD enum th_code th_human_model_ask(struct th_human_model *p, struct th_ticket t,
					     struct th_str session_id,
					     const struct th_model_call *call, struct th_err *err);
bool th_human_model_cancel(struct th_human_model *p,
			   struct th_ticket t); /* false: not one of his */

/* A descriptor that somebody may be behind: a terminal, a pipe, a file; no closed one, no
 * /dev/null. */
bool th_human_model_behind(int fd);

#endif
