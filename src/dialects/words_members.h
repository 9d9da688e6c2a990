/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words_members.h - members of a computer function's arguments, whichever of their
 * names a model gives them: `names` is "text|content", the first that is there counts.
 */
#ifndef TH_DIALECTS_WORDS_MEMBERS_H
#define TH_DIALECTS_WORDS_MEMBERS_H

#include "dialects/say.h"

const struct th_json *th_words_member(const struct th_json *args,
				      const char *names); /* NULL: absent, or null */
bool th_words_flag(const struct th_json *args, const char *names);
int32_t th_words_whole(double v, int32_t max); /* rounded, within -max ... max */
/* A string; anything else as its JSON text. */
struct th_str th_words_text(const struct th_json *v, struct th_arena *a);
/* [1, 2], {"x":1,"y":2}, "[1, 2]", "<point>1 2</point>"; a list of such lists is one list.  How
 * many; -1: they are none, or more than `max`. */
int th_words_numbers(const struct th_json *v, double *ret, int max);

/* TH_OK without a member; *ret is then untouched. */
TH_NODISCARD enum th_code th_words_number(const struct th_json *args, const char *names,
					  double *ret, struct th_err *err);
/* `what` names it in the error. */
TH_NODISCARD enum th_code th_words_list_point(const struct th_dialect_context *c,
					      const struct th_json *v, const char *what,
					      struct th_point *ret, struct th_err *err);
/* `lists` and `x`, `y` name the members.  TH_OK and *ret_has false: there is no point. */
TH_NODISCARD enum th_code th_words_point(const struct th_dialect_context *c,
					 const struct th_json *args, const char *lists,
					 const char *x, const char *y, struct th_point *ret,
					 bool *ret_has, struct th_err *err);
/* A list, a chord as text, or a list inside a text. */
TH_NODISCARD enum th_code th_words_keys(const struct th_json *args, const char *names,
					struct th_arena *a, struct th_action *ret,
					struct th_err *err);
/* Seconds or milliseconds; 0 when not said. */
TH_NODISCARD enum th_code th_words_time(const struct th_json *args, struct th_action *ret,
					struct th_err *err);

#endif
