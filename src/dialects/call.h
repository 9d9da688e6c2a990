/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.h - calls as models write them in their text:
 *
 *	click(start_box='<|box_start|>(10,20)<|box_end|>')
 *	pyautogui.hotkey(['ctrl', 'c'])      left_click(start_box=[10,20], element_info='')
 *
 * Python's syntax of a call with literal arguments, read and never run.  What
 * models get wrong is understood: an apostrophe or a line's end inside single
 * quotes, boxes without quotes.  Expressions are refused.
 */
#ifndef TH_DIALECTS_CALL_H
#define TH_DIALECTS_CALL_H

#include "dialects/say.h"

#define TH_CALL_ARGS_MAX 16

enum th_value_kind { TH_VALUE_NONE, TH_VALUE_TEXT, TH_VALUE_NUMBER, TH_VALUE_WORD, TH_VALUE_LIST };
struct th_value {
	enum th_value_kind kind;
	struct th_str text; /* TEXT: decoded; else as written */
	double number;
	struct th_value *items; /* LIST */
	size_t count;
};
struct th_text_call {
	struct th_str name;                   /* "pyautogui.click" */
	struct th_str keys[TH_CALL_ARGS_MAX]; /* empty: by position */
	struct th_value values[TH_CALL_ARGS_MAX];
	size_t count;
	struct th_str source;
};

bool th_call_blank(char c); /* stands before, between and behind what a call is made of */
/* True if *text begins with a name and a parenthesis, after blanks, which are then cut off. */
bool th_call_begins(struct th_str *text);
/* Takes one call off *text.  TH_EPROTO: a sentence for the model. */
TH_NODISCARD enum th_code th_call_read(struct th_str *text, struct th_arena *a,
				       struct th_text_call *ret, struct th_err *err);
/* The argument of one of these names ("start_box|point"), or NULL. */
const struct th_value *th_call_get(const struct th_text_call *call, const char *names);
/* The n-th of those without a name, or NULL. */
const struct th_value *th_call_at(const struct th_text_call *call, size_t n);
/* The mouse button of its argument "button"; without one *ret stays.  TH_EPROTO: a sentence for the
 * model. */
TH_NODISCARD enum th_code th_call_button(const struct th_text_call *call, enum th_button *ret,
					 struct th_err *err);
/* A text as it is, of others what was written; empty for NULL. */
struct th_str th_value_text(const struct th_value *v);
/* A number, or a text that is one. */
bool th_value_number(const struct th_value *v, double *ret);
/* All numbers in it; -1: there is something else. */
int th_value_numbers(const struct th_value *v, double *ret, int max);

/* Writes `s` inside quotes as th_call_read decodes it. */
void th_call_quote(struct th_buf *out, struct th_str s);

#endif
