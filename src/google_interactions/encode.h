/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode.h - what both directions of a request share.
 */
#ifndef TH_GOOGLE_INTERACTIONS_ENCODE_H
#define TH_GOOGLE_INTERACTIONS_ENCODE_H

#include "base/json.h"
#include "google_gemini/writer.h"

#define TH_INTERACTIONS_WIRE "interactions"

static inline struct th_str th_interactions_raw(struct th_str object, const char *key)
{
	return th_gemini_raw_str(object, key);
}

static inline bool th_interactions_is_string(struct th_str raw)
{
	return raw.len >= 2 && raw.ptr[0] == '"';
}

static inline bool th_interactions_is_list(struct th_str raw)
{
	return raw.len && raw.ptr[0] == '[';
}

static inline bool th_interactions_has(struct th_str object, const char *key)
{
	return th_json_raw_get(object, key).len > 0;
}

/* Settings that are numbers, by the same names in both. */
#define TH_INTERACTIONS_NUMBERS 3
extern const char *const th_interactions_numbers[TH_INTERACTIONS_NUMBERS];

TH_NODISCARD enum th_code th_interactions_put_steps(struct th_str items, struct th_buf *out,
						    struct th_err *err);
void th_interactions_put_tools(struct th_jw *w, struct th_str tools);

#endif
