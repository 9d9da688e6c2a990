/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scripted.h - a model's server in the test's own process: OpenAI Responses on loopback, streamed
 * or not, as the request asks.
 *
 * What it answers is said by a function of the test, which is given the body of the request and
 * writes the list of output items.  It runs on the server's threads, one request at a time.
 */
#ifndef TH_TESTS_SCRIPTED_H
#define TH_TESTS_SCRIPTED_H

#include "base/buf.h"

struct scripted;

/* `nth`: of this server, from 0.  `items`: the inside of "output":[…].  Leaving it empty is an
 * answer of status 500. */
typedef void scripted_fn(void *ctx, const char *request, int nth, struct th_buf *items);

struct scripted *scripted_new(scripted_fn *fn, void *ctx);
struct scripted *scripted_free(struct scripted *s); /* ends its threads; takes NULL */
const char *scripted_url(const struct scripted *s); /* http://127.0.0.1:PORT/v1 */
int scripted_requests(const struct scripted *s);    /* so far */
/* While it is held, requests are read but not answered. */
void scripted_hold(struct scripted *s, bool hold);

/* Items. */
void scripted_say(struct th_buf *items, const char *text);
void scripted_call(struct th_buf *items, const char *call_id, const char *tool,
		   const char *arguments_json);
/* "computer_call" with these actions, JSON list. */
void scripted_computer(struct th_buf *items, const char *call_id, const char *actions_json);

/* How often `what` stands in the request. */
int scripted_count(const char *request, const char *what);

#endif
