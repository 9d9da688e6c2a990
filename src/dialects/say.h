/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say.h - what a dialect's parser has read, as items; and items, for a
 * dialect's encoder.
 *
 * Writing: texts and reasoning are held back until the next item or the end, so
 * that a word such as "finished()" can make the text before it the last one.
 * Actions that follow one another are one computer_call.  Ids are
 * call_<turn>_<n> unless the wire gave one (th_say_from).
 */
#ifndef TH_DIALECTS_SAY_H
#define TH_DIALECTS_SAY_H

#include "dialects/dialect.h"

/* What one word of a model means. */
enum th_verb {
	TH_VERB_ACTION,
	TH_VERB_END,      /* the task is done: text, failed */
	TH_VERB_ASK,      /* a person is needed: text */
	TH_VERB_REMEMBER, /* a fact: text */
	TH_VERB_BROWSER,  /* name: goto (text: URL), search (text), back, forward, reload */
};
struct th_word {
	enum th_verb verb;
	struct th_action action;
	const char *name;
	struct th_str text;
	bool failed;
};

struct th_say {
	const struct th_dialect_context *c;
	struct th_arena *a;
	struct th_buf *out;
	struct th_jw w;
	int64_t count;                          /* ids made */
	bool open;                              /* a computer_call's list of actions */
	bool any;                               /* something that is more than a thought */
	bool failed;                            /* an item of error was said */
	struct th_str text;                     /* held back */
	struct th_str call_id, name, arguments; /* of the wire's call that is being read */
};

void th_say_begin(struct th_say *s, const struct th_dialect_context *c, struct th_arena *a,
		  struct th_buf *out);
/* The items are whole.  When nothing was read that a run could go on with, `what` is said as an
 * error; NULL: it may be so. */
enum th_code th_say_end(struct th_say *s, const char *what, struct th_str input,
			struct th_err *err);

/* Blank texts are left out; they are borrowed until th_say_end. */
void th_say_reasoning(struct th_say *s, struct th_str text);
void th_say_text(struct th_say *s, struct th_str text);
void th_say_raw(struct th_say *s, struct th_str item); /* an item as it is */

/* Until the next th_say_from: items come from this call of the wire and have its id; empty: from
 * text.  A call must become one item. */
void th_say_from(struct th_say *s, struct th_str call_id, struct th_str name,
		 struct th_str arguments);
/* TH_EPROTO: not an action that can be (th_action_parse's sentence); nothing was said. */
TH_NODISCARD enum th_code th_say_word(struct th_say *s, const struct th_word *word,
				      struct th_err *err);
void th_say_function(struct th_say *s, struct th_str name, struct th_str arguments);
/* The call is whole: the next action is another call. */
void th_say_break(struct th_say *s);
void th_say_error(struct th_say *s, struct th_str input, const char *sentence);

/* ---- points ---- */

/* Numbers of a text, with commas, brackets and tags (<point>, <|box_start|>) around them and
 * nothing else.  Returns how many, at most `max`; -1: there is something else. */
int th_dialect_numbers(struct th_str text, double *ret, int max);
/* Two numbers are a point, four a box whose middle it is. */
TH_NODISCARD enum th_code th_dialect_point(const struct th_dialect_context *c,
					   const double *numbers, int count, struct th_point *ret,
					   struct th_err *err);
/* The other way; a whole number unless the space is fractions. */
struct th_space_point th_dialect_place(const struct th_dialect_context *c, struct th_point p);

/* Splits "ctrl+c" and "ctrl c" into the action's keys; "+" is a key where a name is expected.
 * TH_EPROTO: no key, or too many. */
TH_NODISCARD enum th_code th_dialect_keys(struct th_str text, struct th_action *ret,
					  struct th_err *err);

/* ---- reading items ---- */

/* The text of a message's or reasoning's parts, one after the other, in the arena. */
struct th_str th_item_text(const struct th_json *item, struct th_arena *a);
bool th_item_is(const struct th_json *item, const char *type);
/* A computer_call's actions, in OpenAI's words or in ours. */
TH_NODISCARD enum th_code th_item_actions(const struct th_json *item, struct th_arena *a,
					  struct th_action **ret, size_t *ret_count,
					  struct th_err *err);

/* ---- whole answers ---- */

/* decode of a dialect: `text` reads what a message says, `call` a function_call (NULL: it is a
 * computer's, when it is named as one); all else is copied.  `empty`: the sentence for an answer
 * without anything. */
TH_NODISCARD enum th_code
th_dialect_each(const struct th_dialect_context *c, struct th_str items,
		void (*text)(struct th_say *s, struct th_str text),
		bool (*call)(struct th_say *s, struct th_str name, struct th_str arguments),
		const char *empty, struct th_buf *out, struct th_err *err);

/* An answer for a text dialect's encoder. */
struct th_said_function {
	struct th_str name, arguments;
};
struct th_said {
	struct th_str thought, text; /* of reasoning; of messages */
	struct th_action *actions;   /* of all calls */
	size_t count;
	struct th_said_function *functions;
	size_t function_count;
	const char *outcome; /* or NULL */
	struct th_str outcome_text;
};
/* encode of a text dialect: one message of what `write` makes. */
TH_NODISCARD enum th_code th_dialect_write(const struct th_dialect_context *c, struct th_str items,
					   enum th_code (*write)(const struct th_dialect_context *c,
								 const struct th_said *said,
								 struct th_buf *out,
								 struct th_err *err),
					   struct th_buf *out, struct th_err *err);

/* Memory that parsing `size` bytes may take. */
size_t th_dialect_memory(size_t size);

#endif
