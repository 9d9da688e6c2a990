/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo_model.h - the built-in scripted model: a small HTTP server on the
 * loopback that speaks OpenAI's Responses API and answers by a script, so that
 * the demo goes the whole real way without a key.
 *
 * It is no model: it looks at nothing but the results of its own calls.  It
 * has a thread of its own and serves one request at a time; nobody else is
 * told its port.
 */
#ifndef TH_CLI_DEMO_MODEL_H
#define TH_CLI_DEMO_MODEL_H

#include "base/err.h"

#define TH_DEMO_MODEL "scripted"
#define TH_DEMO_FILE "hello.txt"
#define TH_DEMO_LINE "Every action written down before it happens."

struct th_demo_model;

#define TH_DEMO_CALLS_MAX 2

/* One answer: what it says, then calls; none: it is the last. */
struct th_demo_turn {
	char text[512];
	size_t call_count;
	struct {
		char tool[32], arguments[1024];
	} calls[TH_DEMO_CALLS_MAX];
};

/*
 * Another script: called in the server's thread with the number of results that
 * the request has; the same number should give the same calls, because an answer
 * that did not become durable is asked for again.
 */
typedef void th_demo_script(void *ctx, size_t results, struct th_demo_turn *ret);

/* script NULL: the demo's own. */
TH_NODISCARD enum th_code th_demo_model_start(th_demo_script *script, void *ctx,
					      struct th_demo_model **ret, struct th_err *err);
int th_demo_model_port(const struct th_demo_model *m);
struct th_demo_model *th_demo_model_stop(struct th_demo_model *m); /* takes NULL, returns NULL */

#endif
