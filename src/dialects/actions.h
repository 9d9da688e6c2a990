/* SPDX-License-Identifier: Apache-2.0 */
/*
 * actions.h - computer actions in the words of models: each dialect is a
 * parser and its exact inverse, in a file of its own.
 */
#ifndef TH_DIALECTS_ACTIONS_H
#define TH_DIALECTS_ACTIONS_H

#include "actions/action.h"
#include "models/model.h"

/* The name of the function that stands for the computer where a wire or a model has no tool for it.
 */
#define TH_COMPUTER_FUNCTION_NAME "computer"

/* OpenAI's vocabulary (actions_openai.c): click, double_click, drag, keypress, move, screenshot,
 * scroll, type, wait.  Members that are not known are passed over. */
TH_NODISCARD enum th_code th_actions_openai_parse(const struct th_json *v, struct th_arena *a,
						  struct th_action *ret, struct th_err *err);
/* `keys`: the newer tool, where actions may hold keys.  TH_EUNSUPPORTED: no word for it; nothing
 * was written. */
TH_NODISCARD enum th_code th_actions_openai_encode(const struct th_action *action, bool keys,
						   struct th_jw *w, struct th_err *err);

/* The function `computer` for models without a tool of their own: {"actions":[…]} in our form. */
void th_computer_function_description(struct th_size screen, struct th_jw *w);
void th_computer_function_schema(struct th_jw *w);

/*
 * Computer actions as a call item asks for them (`computer_call` with action
 * or actions[]), in our form.  TH_EPROTO: a sentence for the model.
 */
TH_NODISCARD enum th_code th_model_actions(const struct th_profile *p, const struct th_json *item,
					   struct th_arena *a, struct th_action **ret,
					   size_t *ret_count, struct th_err *err);

/* The provider's form of an action, inverse of the above; for plumb and tests. */
TH_NODISCARD enum th_code th_model_action_encode(const struct th_profile *p,
						 const struct th_action *action, struct th_jw *w,
						 struct th_err *err);

#endif
