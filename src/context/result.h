/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result.h - what a model is shown of a long result: its head, its tail, and where
 * the rest can be read.
 *
 * The log has the result as its tool gave it, and a blob has all of it where a tool
 * gave more than an event holds; so nothing is lost, and what is shown follows
 * from the event and the agent's definition alone.
 */
#ifndef TH_CONTEXT_RESULT_H
#define TH_CONTEXT_RESULT_H

#include "base/json.h"
#include "base/limits.h"

struct th_result_shown {
	size_t max;    /* bytes of text; 0: all */
	uint64_t seq;  /* the result's event */
	int64_t whole; /* bytes that a blob has of it; 0: there is none */
	bool history;  /* the model has the tool that reads it */
};

/* Bytes that a blob has of a result with this evidence; 0: there is none. */
int64_t th_result_whole(struct th_str evidence);
/* `output` is JSON, a string or a list of parts, of which pictures stay.  False: all of it is
 * shown, and nothing was appended; else what is shown in its place, and out->no_memory says that
 * this is not whole. */
bool th_result_shorten(struct th_str output, const struct th_result_shown *how, struct th_buf *out);

#endif
