/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h - what the parts of the Gemini encoder share.
 */
#ifndef TH_GOOGLE_GEMINI_WRITER_H
#define TH_GOOGLE_GEMINI_WRITER_H

#include "dialects/dialect.h"
#include "models/model.h"

/* Predefined functions that a desktop cannot do: the model would only get an error. */
#define TH_GEMINI_EXCLUDED \
	"[\"open_web_browser\",\"navigate\",\"search\",\"go_back\",\"go_forward\"]"

/* Models before the third generation: thinking has a budget in tokens, signatures are not asked
 * for, and only the computer preview takes pictures inside of a function's response. */
bool th_gemini_is_old(const struct th_profile *p);
/* What is declared is a browser, whose results must name its page. */
bool th_gemini_is_browser(const struct th_request_options *o);

struct th_dialect_context th_gemini_context(const struct th_request_options *o);

/* A string member, still escaped, without its quotes; absent when it is none. */
struct th_str th_gemini_raw_str(struct th_str object, const char *key);
/* The address of the page on a result's last picture, a JSON string; "about:blank" without one. */
struct th_str th_gemini_address(struct th_str output);

/* {"inlineData":…} for a picture of ours; what stands for it when it is left out is a part of text.
 */
TH_NODISCARD enum th_code th_gemini_image(struct th_group_writer *x, struct th_str part);
/* The same without its hole, of which *ret_at and *ret_blob are the caller's to use. */
TH_NODISCARD enum th_code th_gemini_blob(struct th_group_writer *x, struct th_str part,
					 size_t *ret_at, struct th_digest *ret_blob);
TH_NODISCARD enum th_code th_gemini_hole(struct th_group_writer *x, struct th_hole hole);

/* One part of a content: of ours, or of the Responses API's. */
TH_NODISCARD enum th_code th_gemini_part(struct th_group_writer *x, struct th_str part);
/* Parts of a content: a string, or a list. */
TH_NODISCARD enum th_code th_gemini_content(struct th_group_writer *x, struct th_str content);

/* Parts of an item of an answer; with *signs the first call gets a signature that stands for none,
 * and *signs is unset. */
TH_NODISCARD enum th_code th_gemini_item(struct th_group_writer *x, struct th_str item,
					 bool *signs);

/* The calls that an item of a call is written as: items of function_call, a JSON list. */
void th_gemini_calls(const struct th_request_options *o, struct th_str item, struct th_buf *out);
/* The result of an answer's item, which may have been written as several calls: each but the `last`
 * only points at the next. */
typedef enum th_code th_gemini_result_fn(struct th_group_writer *x, const struct th_result *r,
					 struct th_str call, bool last);
TH_NODISCARD enum th_code th_gemini_put_result(struct th_group_writer *x, const struct th_result *r,
					       th_gemini_result_fn *put);
/* The name that a call has on the wire, raw, with its quotes. */
struct th_str th_gemini_call_name(struct th_str call);

/* results.c */
TH_NODISCARD enum th_code th_gemini_responses(struct th_group_writer *x, const struct th_group *g);

/* Tools and settings, see request.c. */
void th_gemini_head(const struct th_request_options *o, struct th_buf *out);
void th_gemini_tail(const struct th_request_options *o, struct th_buf *out);
void th_gemini_path(const struct th_request_options *o, struct th_buf *out);
enum th_code th_gemini_message(struct th_group_writer *x, const struct th_group *g);
enum th_code th_gemini_answer(struct th_group_writer *x, const struct th_group *g);
enum th_code th_gemini_results(struct th_group_writer *x, const struct th_group *g);

#endif
