/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts.h - the parts of a content while it streams.
 *
 * Pieces of text that follow each other are one part; a part that carries a
 * signature, or anything else than text, is kept byte for byte and never
 * merged.  Only arguments that come in pieces (partialArgs) are put together.
 */
#ifndef TH_GOOGLE_GEMINI_PARTS_H
#define TH_GOOGLE_GEMINI_PARTS_H

#include "base/buf.h"
#include "base/json.h"
#include "google_gemini/args.h"

enum th_gemini_part_kind {
	TH_GEMINI_TEXT,    /* `raw`: the inside of a JSON string */
	TH_GEMINI_THOUGHT, /* likewise */
	TH_GEMINI_WHOLE,   /* `raw`: the part */
	TH_GEMINI_CALL     /* `raw`: members of its functionCall, `more`: of the part; and `args` */
};

struct th_gemini_part {
	enum th_gemini_part_kind kind;
	bool open; /* CALL: more arguments will come */
	struct th_buf raw, more;
	struct th_gemini_args *args;
};

struct th_gemini_parts {
	struct th_gemini_part *list;
	size_t count, cap;
	size_t size; /* bytes kept */
	bool failed; /* over a maximum: nothing more is taken */
};

/* What a piece of text or arguments means to an observer. */
struct th_gemini_piece {
	enum {
		TH_GEMINI_PIECE_NONE,
		TH_GEMINI_PIECE_TEXT,
		TH_GEMINI_PIECE_THOUGHT,
		TH_GEMINI_PIECE_CALL
	} kind;
	struct th_str raw; /* the text with its quotes, or the arguments */
};

/* What of a part matters, raw. */
struct th_gemini_members {
	struct th_str text, thought, call;
	bool other; /* there is something else */
};

void th_gemini_parts_deinit(struct th_gemini_parts *parts); /* empty again */
/* Takes one part, raw.  False: not an object, or its arguments make no sense; it is passed over. */
bool th_gemini_parts_add(struct th_gemini_parts *parts, struct th_str part,
			 struct th_gemini_piece *ret);
/* The same, of a part whose members are known. */
bool th_gemini_parts_take(struct th_gemini_parts *parts, struct th_str part,
			  const struct th_gemini_members *m, struct th_gemini_piece *ret);
/* Walks a part; false: there is no object. */
bool th_gemini_members(struct th_json_walk *w, struct th_gemini_members *ret);
/* The list of parts.  What came must still be checked as JSON. */
void th_gemini_parts_print(const struct th_gemini_parts *parts, struct th_buf *out);

#endif
