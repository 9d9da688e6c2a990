/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyse.h - external analysers (rules/risk.h): programs and servers that say how risky a call is,
 * before it is recorded.
 *
 * Each answer is an event (ANALYSIS), so whoever takes the session up asks only those that have not
 * answered.  To ask changes nothing: a question under way at a crash is asked again.
 */
#ifndef TH_GUARDS_ANALYSE_H
#define TH_GUARDS_ANALYSE_H

#include "live/live.h"

/* What is asked about; borrowed until the function returns. */
struct th_analyse {
	struct th_call *call;
	enum th_class class;
	struct th_str arguments;       /* as they are recorded */
	struct th_str item, grounding; /* for `record`, which is called when all have answered */
	th_record_item_fn *record;
};

/* True: some are asked, and the call waits. */
bool th_live_analyse(struct th_live *l, const struct th_analyse *q);
void th_live_analysis_done(struct th_live *l, struct th_ticket t, const struct th_effect_result *r);
/* The session was stopped: nobody is asked any more, and each call that waited is recorded, as one
 * that was cancelled. */
void th_live_analyses_stop(struct th_live *l);
void th_live_analyses_free(struct th_live *l);
/* What such a program or server wrote, or why there is nothing; empty `text` before. */
TH_NODISCARD enum th_code th_analyser_said(const struct th_effect_result *r, struct th_buf *text,
					   struct th_err *err);

#endif
