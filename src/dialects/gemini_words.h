/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemini_words.h - the functions of Gemini's computer use, as rows; reading and
 * writing calls of them (gemini_read.c, gemini_write.c).
 */
#ifndef TH_DIALECTS_GEMINI_WORDS_H
#define TH_DIALECTS_GEMINI_WORDS_H

#include "dialects/dialect.h"

#define TH_GEMINI_MEMORY(size) \
	(8 * (size) + 256 * TH_KIB) /* that reading a call of this size may take */

enum th_gemini_args {
	TH_GEMINI_NOTHING,
	TH_GEMINI_POINT, /* x, y */
	TH_GEMINI_MAYBE_POINT,
	TH_GEMINI_TEXT_AT,  /* x, y, text, press_enter, clear_before_typing */
	TH_GEMINI_TEXT,     /* text, press_enter */
	TH_GEMINI_CHORD,    /* keys: "Control+A" or a list, or key */
	TH_GEMINI_SCROLL,   /* x, y, direction, magnitude */
	TH_GEMINI_DOCUMENT, /* direction */
	TH_GEMINI_DRAG,
	TH_GEMINI_SECONDS,
	TH_GEMINI_BROWSER,
};

struct th_gemini_word {
	const char *name;
	enum th_gemini_args args;
	enum th_action_kind kind;
	int count;
	enum th_button button;
	const char *browser; /* TH_GEMINI_BROWSER: what it is called there */
	unsigned generation; /* that has the word: 1, 2 or both (3) */
};

const struct th_gemini_word *th_gemini_word_find(struct th_str name); /* or NULL */
/* The row that says the action in this generation, or NULL. */
const struct th_gemini_word *th_gemini_word_of(const struct th_action *a, unsigned generation);
/* Which the model knows.  The preview of 2.5 knows a browser only. */
unsigned th_gemini_generation(const struct th_profile *p);

/* The arguments of a call, as an action in pixels.  A sentence for the model. */
TH_NODISCARD enum th_code th_gemini_read(const struct th_dialect_context *c,
					 const struct th_gemini_word *row,
					 const struct th_json *args, struct th_arena *a,
					 struct th_action *ret, struct th_err *err);
/* encode of the dialect. */
TH_NODISCARD enum th_code th_gemini_encode(const struct th_dialect_context *c, struct th_str items,
					   struct th_buf *out, struct th_err *err);

#endif
