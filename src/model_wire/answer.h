/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.h - what the decoders of all wires share: finding out what a body is,
 * errors as providers write them, and deltas as text.
 */
#ifndef TH_MODEL_WIRE_ANSWER_H
#define TH_MODEL_WIRE_ANSWER_H

#include "models/model.h"

enum th_body_mode { TH_BODY_LOOKING, TH_BODY_JSON, TH_BODY_STREAM };

/* Takes white space and a byte order mark off the front; what follows says the mode.  `bom_len`
 * begins as 0: bytes of the mark that were skipped. */
enum th_body_mode th_body_look(size_t *bom_len, struct th_str *bytes);

/* FAILED, nothing known. */
void th_answer_init(struct th_answer *ret);
void th_answer_fail(struct th_answer *ret, enum th_failure class, struct th_str message);

/*
 * The error in a body or event: {"error": …}, a list of such, or the object
 * itself, which is then `root`.  *raw is the text of `root`, and becomes that of
 * the error.
 */
const struct th_json *th_answer_find_error(const struct th_json *root, struct th_str *raw);
/* `error` is an error object or a string, `raw` its text; `http_status` 0: inside an answer. */
void th_answer_take_error(struct th_answer *ret, const struct th_json *error, struct th_str raw,
			  int http_status);

/*
 * The endings that decoders share.
 *
 * A body that must be JSON, into *doc.  False: it is not, which ret says; `cut`:
 * the connection ended early.
 */
bool th_answer_body(struct th_answer *ret, struct th_str body, bool cut, struct th_json_doc **doc,
		    struct th_err *err);

/* A stream without its end, of which nothing better is known: `body` is its beginning, `events` how
 * many came; `broken`: one of them was not JSON.  The message may be in `text`. */
void th_answer_unfinished(struct th_answer *ret, bool broken, size_t events, struct th_str body,
			  struct th_buf *text);

/* An HTTP status other than 2xx: the error in *raw, a body or an event, into *doc and *error, which
 * may be NULL (a list of none); *raw becomes its text.  False: it is not JSON (`json`: it may be),
 * and ret says what there is. */
bool th_answer_http_error(struct th_answer *ret, struct th_str *raw, bool json, int http_status,
			  struct th_json_doc **doc, const struct th_json **error,
			  struct th_buf *text);

/* The first bytes of a body as one line, behind `lead`; in `text`. */
struct th_str th_answer_beginning(struct th_buf *text, const char *lead, struct th_str body);

int64_t th_answer_tokens(const struct th_json *usage, const char *key); /* -1: not said */

/*
 * Deltas as text for the observer.  Characters that were cut in two (\ud83d,
 * its \ude00 to come) are told when they are whole.
 */
struct th_delta_text {
	struct th_buf joined, text;
	size_t half_len;
	char half[8];
};
void th_delta_text_init(struct th_delta_text *t);
void th_delta_text_deinit(struct th_delta_text *t);
/* `raw` is a JSON string with its quotes; the text is good until the next call. */
struct th_str th_delta_text_of(struct th_delta_text *t, struct th_str raw);

#endif
