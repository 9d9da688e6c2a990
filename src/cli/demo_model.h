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

TH_NODISCARD enum th_code th_demo_model_start(struct th_demo_model **ret, struct th_err *err);
int th_demo_model_port(const struct th_demo_model *m);
struct th_demo_model *th_demo_model_stop(struct th_demo_model *m); /* takes NULL, returns NULL */

#endif
