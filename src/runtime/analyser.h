/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyser.h - external analysers that are servers: a call is posted to one, as JSON, by this
 * process, which has the network and the tokens.  To ask changes nothing there.
 */
#ifndef TH_RUNTIME_ANALYSER_H
#define TH_RUNTIME_ANALYSER_H

#include "runtime/internal.h"

/* False: it is no such question. */
bool th_runtime_analyser_run(struct th_runtime_session *s, struct th_ticket t,
			     const struct th_effect_call *call);
/* It is given up, and nobody hears of it.  False: it is no such question. */
bool th_runtime_analyser_cancel(struct th_runtime *rt, struct th_ticket t);
void th_runtime_analyser_free(struct th_runtime_session *s); /* nobody hears of its questions */

#endif
