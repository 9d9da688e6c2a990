/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo_serve.h - thole demo serve: the page with a session that waits for a
 * person, to click through; the model is the demo's script, all else is real.
 */
#ifndef TH_CLI_DEMO_SERVE_H
#define TH_CLI_DEMO_SERVE_H

#include "base/str.h"

struct th_demo_serve_options {
	struct th_str folder; /* empty: a new one in /tmp */
	struct th_str listen; /* HOST:PORT with a port of its own; empty: 127.0.0.1:7711 */
};

/* Serves until it is told to end; an exit code. */
int th_demo_serve(const struct th_demo_serve_options *o);

#endif
