/* SPDX-License-Identifier: Apache-2.0 */
/*
 * actions_anthropic.h - the words of Anthropic's computer tool, all its
 * generations: {"action":"left_click","coordinate":[x,y],"text":"ctrl"}.  In
 * the toolset of 2026 the word is the name of the member tool, and the rest its
 * input.
 *
 * Points are in the model's space (pixels of the picture as it was sent);
 * actions here in pixels of the screen.
 */
#ifndef TH_DIALECTS_ACTIONS_ANTHROPIC_H
#define TH_DIALECTS_ACTIONS_ANTHROPIC_H

#include "actions/action.h"
#include "dialects/dialect.h"

/*
 * Reads one input as actions in our form, which become elements of the list
 * that `w` stands in: mostly one; several for keys one after the other, and for
 * a drag from where the pointer is.  Every generation's words are read whatever
 * the tool was.  TH_EPROTO, TH_EUSAGE: a sentence for the model; nothing was
 * written.
 */
TH_NODISCARD enum th_code th_actions_anthropic_read(const struct th_dialect_context *c,
						    const struct th_json *input, struct th_jw *w,
						    struct th_err *err);

/* The inverse: {"action":…}.  TH_EUNSUPPORTED: the tool of the profile has no word for it;
 * nothing was written. */
TH_NODISCARD enum th_code th_actions_anthropic_write(const struct th_dialect_context *c,
						     const struct th_action *action,
						     struct th_jw *w, struct th_err *err);

#endif
