/* SPDX-License-Identifier: Apache-2.0 */
/*
 * human.h - a person plays the model ("human/human"): what he is shown of a
 * request, and what his words mean as an answer.
 *
 * His wire is the Chat Completions API's, request and answer, but nothing is
 * sent: runtime/human_model.h shows the request to somebody and takes his word.  So log,
 * replay and budgets are those of every model, and over HTTP he gets the
 * messages in the form that Cua's completion queue has them.
 */
#ifndef TH_PROVIDERS_HUMAN_H
#define TH_PROVIDERS_HUMAN_H

#include "models/model.h"

extern const struct th_wire th_wire_human;

/* What a line at the terminal is. */
enum th_human_word {
	TH_HUMAN_ANSWER, /* `answer` is a whole answer of the wire */
	TH_HUMAN_NOTHING,
	TH_HUMAN_HELP,
	TH_HUMAN_SHOW, /* the whole request once more */
	TH_HUMAN_LEAVE
};
extern const char th_human_help[];

/* TH_EUSAGE, TH_ELIMIT: a sentence that says what is wrong with it; `answer` is then worth nothing.
 */
TH_NODISCARD enum th_code th_human_read(struct th_str line, enum th_human_word *ret,
					struct th_buf *answer, struct th_err *err);

/* The same for the completion queue's {"response"?, "tool_calls"?}. */
TH_NODISCARD enum th_code th_human_complete(const struct th_json *completion, struct th_buf *answer,
					    struct th_err *err);
/* The answer of one who cannot go on: the task fails with this reason. */
void th_human_fail(struct th_str reason, struct th_buf *answer);

/* What of a request is new since the last answer, or (all) the whole of it, as lines for a
 * terminal.  `picture` is what stands for the newest picture; may be empty. */
void th_human_show(const struct th_json *request, bool all, struct th_str picture,
		   struct th_buf *out);
/* base64 of the newest picture, borrowed; empty: there is none. */
struct th_str th_human_picture(const struct th_json *request);

#endif
