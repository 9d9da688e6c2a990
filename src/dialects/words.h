/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words.h - a call of a computer function, in any of the vocabularies
 * that models were trained on.
 *
 * Reading takes them all at once: what a member means is said by its name
 * (`pixels` > 0 is up, `scroll_y` > 0 is down), so a model that mixes them is
 * understood.  Members that none knows are passed over; the item keeps the
 * arguments verbatim.  Writing keeps to one vocabulary.
 */
#ifndef TH_DIALECTS_WORDS_H
#define TH_DIALECTS_WORDS_H

#include "dialects/say.h"

/* {"action":"left_click","coordinate":[1,2]} and its like, in the model's space.  A drag without a
 * start has a path of one point, for th_say_word: it begins where the pointer is.  TH_EPROTO,
 * TH_EUSAGE: a sentence for the model. */
TH_NODISCARD enum th_code th_words_read(const struct th_dialect_context *c,
					const struct th_json *args, struct th_arena *a,
					struct th_word *ret, struct th_err *err);

/* The function's call as it came: one word, or a list of actions in "actions".  Says an error for
 * what is none. */
void th_words_say(struct th_say *s, struct th_str name, struct th_str arguments);

/* The same for a function whose name is the word: left_click {"coordinates":[1,2]}; false when it
 * is none. */
bool th_words_say_named(struct th_say *s, struct th_str name, struct th_str arguments);

/* Reads <tool_call> in text, as Qwen and models that were tuned from it write (qwen.c). */
void th_qwen_say(struct th_say *say, struct th_str text);

/* encode of a dialect whose calls are the wire's: messages and function_calls.  `put` writes one
 * action's function and arguments.  A call that came as a function goes back as it came. */
TH_NODISCARD enum th_code th_words_write_calls(
    const struct th_dialect_context *c, struct th_str items,
    enum th_code (*put)(const struct th_dialect_context *c, const struct th_action *action,
			struct th_buf *name, struct th_buf *arguments, struct th_err *err),
    struct th_buf *out, struct th_err *err);

bool th_words_knows(struct th_str word); /* "left_click" */
/* "computer", "computer_use" …: what models call the function. */
bool th_words_is_function(struct th_str name);

enum th_words_style {
	TH_WORDS_CUA,       /* action, x, y, button, keys, scroll_x, start_x */
	TH_WORDS_QWEN,      /* action, coordinate, pixels, keys, time */
	TH_WORDS_FARA,      /* QWEN's, type with its flags, words of a browser */
	TH_WORDS_ANTHROPIC, /* action, coordinate, scroll_direction, text, duration */
};

/* TH_EUNSUPPORTED: no word for it; nothing was written. */
TH_NODISCARD enum th_code th_words_write(const struct th_dialect_context *c,
					 enum th_words_style style, const struct th_action *action,
					 struct th_jw *w, struct th_err *err);
/* terminate, answer: for an item that is the last. */
void th_words_write_end(enum th_words_style style, const char *outcome, struct th_str text,
			struct th_jw *w);

/* The functions's JSON Schema and description. */
void th_words_tool(const struct th_dialect_context *c, enum th_words_style style, const char *name,
		   struct th_jw *w);

#endif
