/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencua.h - OpenCUA's calls, as rows (opencua_words.c); reading and writing them
 * (opencua_read.c, opencua_write.c).
 */
#ifndef TH_DIALECTS_OPENCUA_H
#define TH_DIALECTS_OPENCUA_H

#include "dialects/dialect.h"

enum th_opencua_shape {
	TH_OPENCUA_POINT,
	TH_OPENCUA_MOVE,
	TH_OPENCUA_DRAG,
	TH_OPENCUA_TURN,
	TH_OPENCUA_TURN_ACROSS,
	TH_OPENCUA_WRITE,
	TH_OPENCUA_PRESS,
	TH_OPENCUA_CHORD,
	TH_OPENCUA_ONE_KEY,
	TH_OPENCUA_SLEEP,
	TH_OPENCUA_WAIT,
	TH_OPENCUA_LOOK,
	TH_OPENCUA_LAST
};

struct th_opencua_word {
	const char *word;
	enum th_opencua_shape shape;
	enum th_action_kind kind;
	enum th_button button;
	int32_t count;
};

/* `name` may begin with the name of a module ("pyautogui.click"); or NULL. */
const struct th_opencua_word *th_opencua_find(struct th_str name);
/* The word that says the action, or NULL. */
const char *th_opencua_word_of(const struct th_action *a);

/* As of struct th_dialect. */
enum th_code th_opencua_decode(const struct th_dialect_context *c, struct th_str items,
			       struct th_buf *out, struct th_err *err);
enum th_code th_opencua_encode(const struct th_dialect_context *c, struct th_str items,
			       struct th_buf *out, struct th_err *err);

#endif
