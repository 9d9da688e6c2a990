/* SPDX-License-Identifier: Apache-2.0 */
/*
 * browser_words.h - tools for a browser as others have them, as calls of the tool
 * TH_TOOL_BROWSER: those of Playwright's MCP server and of OpenHands (browser_click …), and
 * BrowserGym's code (click('12')), which OpenHands' earlier agent wrote.
 *
 * Models know these names from their training.  A call becomes one of ours before anything
 * looks at it, so that rules, approvals and the log know one tool.  It keeps what the model
 * said in "function" and "said", by which it goes back to an API that names it.  What cannot
 * be said as one of ours gets an "error", a sentence with which it is refused.
 */
#ifndef TH_DIALECTS_BROWSER_WORDS_H
#define TH_DIALECTS_BROWSER_WORDS_H

#include "dialects/dialect.h"

/* The items of an answer, with the calls of those tools as ours, into `out`; *ret false: there are
 * none, and nothing was written.  Only where the request offers our tool, and none of that name. */
TH_NODISCARD enum th_code th_browser_words(const struct th_dialect_context *c, struct th_str items,
					   struct th_buf *out, bool *ret, struct th_err *err);

#endif
