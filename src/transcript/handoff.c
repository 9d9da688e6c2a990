/* SPDX-License-Identifier: Apache-2.0 */
#include "transcript/handoff.h"

enum part { INPUT_HISTORY, PRE_HANDOFF_ITEMS, NEW_ITEMS, PART_COUNT };
static const char *const part_names[PART_COUNT] = { "input_history", "pre_handoff_items",
						    "new_items" };
#define INPUT_ITEMS "input_items"

static void bounds(const struct th_transcript *transcript, size_t ret[static PART_COUNT + 1])
{
	ret[INPUT_HISTORY] = 0;
	ret[PRE_HANDOFF_ITEMS] = th_transcript_run_at(transcript);
	ret[NEW_ITEMS] = th_transcript_turn_at(transcript);
	ret[PART_COUNT] = transcript->count;
}

void th_handoff_put_parts(const struct th_transcript *transcript, struct th_jw *w)
{
	size_t at[PART_COUNT + 1];

	bounds(transcript, at);
	for (int p = 0; p < PART_COUNT; p++) {
		th_jw_name(w, th_str_of(part_names[p]));
		th_jw_array(w);
		for (size_t i = at[p]; i < at[p + 1]; i++)
			th_transcript_print(&transcript->list[i], w);
		th_jw_array_end(w);
	}
}

/* A text is what the user said, as a run may begin with. */
static enum th_code put_given(const char *name, const struct th_json *given, struct th_jw *w,
			      size_t *count, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(given);
	enum th_code code;

	if (th_json_str(given).ptr && th_str_is(th_str_of(name), part_names[INPUT_HISTORY])) {
		th_jw_object(w);
		th_jw_kstr(w, "role", TH_STR("user"));
		th_jw_kstr(w, "content", th_json_str(given));
		th_jw_object_end(w);
		*count += 1;
		return TH_OK;
	}
	code = th_items_check(given, err);
	if (code)
		return th_prefix(err, code, "%s", name);
	while (th_json_next(&it))
		th_jw_json(w, it.val);
	*count += th_json_count(given);
	return TH_OK;
}

/* One list of what the answer gives and of what it leaves as it was. */
static enum th_code put_parts(const struct th_transcript *transcript, const struct th_json *answer,
			      struct th_jw *w, size_t *ret_run_items, struct th_err *err)
{
	const struct th_json *instead = th_json_get(answer, INPUT_ITEMS);
	size_t at[PART_COUNT + 1], count = 0, began = 0;
	bool any = !th_json_is_null(instead);
	enum th_code code = TH_OK;

	bounds(transcript, at);
	th_jw_array(w);
	for (int p = 0; p < PART_COUNT && !code; p++) {
		const char *name = part_names[p];
		const struct th_json *given = th_json_get(answer, name);

		if (p == NEW_ITEMS && !th_json_is_null(instead)) {
			name = INPUT_ITEMS;
			given = instead;
		}
		any |= given != NULL;
		if (given)
			code = put_given(name, given, w, &count, err);
		else
			for (size_t i = at[p]; i < at[p + 1]; i++, count++)
				th_transcript_print(&transcript->list[i], w);
		if (p == INPUT_HISTORY)
			began = count;
	}
	th_jw_array_end(w);
	*ret_run_items = count - began;
	if (!code && !any)
		return th_fail(err, TH_EPROTO,
			       "it must be a list of items, or an object with input_history, "
			       "pre_handoff_items, new_items or input_items");
	return code;
}

enum th_code th_handoff_mark(const struct th_transcript *transcript, const struct th_json *answer,
			     struct th_buf *marks, size_t *ret_run_items, struct th_err *err)
{
	struct th_json_doc *doc = NULL;
	struct th_buf list;
	struct th_jw w;
	enum th_code code;

	*ret_run_items = 0;
	if (!th_json_is_object(answer))
		return th_transcript_mark(transcript, answer, marks, err);
	th_buf_init_try(&list, marks->max);
	w = th_jw(&list);
	code = put_parts(transcript, answer, &w, ret_run_items, err)
		   ?: th_buf_check(&list, "a narrowed history", err)
		   ?: th_json_try_parse(th_buf_str(&list), &doc, err)
		   ?: th_transcript_mark(transcript, th_json_root(doc), marks, err);
	th_json_free(doc);
	th_buf_deinit(&list);
	return code;
}
