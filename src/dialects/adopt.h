/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adopt.h - an answer of one model in the history of another.
 *
 * What is private to a model stays behind: reasoning, ids, signatures, tools of
 * its provider.  Texts and calls become what the other model's wire and dialect
 * can write; a call of the computer is said in the other's own words where it
 * has words for it, else as a call of the function `computer`, or in a text
 * where the other has neither.  No call is lost and none is made.
 */
#ifndef TH_DIALECTS_ADOPT_H
#define TH_DIALECTS_ADOPT_H

#include "models/model.h"

/* `items`: the JSON list of an answer of `from`, as the log has it; its raw form is of no use any
 * more. TH_EPROTO: not one; TH_ELIMIT: too large. */
TH_NODISCARD enum th_code th_adopt_answer(const struct th_profile *from,
					  const struct th_request_options *to, struct th_str items,
					  struct th_buf *out, struct th_err *err);
/* What a call of it has become, for th_result.call_item. */
TH_NODISCARD enum th_code th_adopt_call(const struct th_profile *from,
					const struct th_request_options *to, struct th_str item,
					struct th_buf *out, struct th_err *err);

#endif
