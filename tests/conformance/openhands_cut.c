/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openhands_cut.c - texts that are too long for a model.
 */
#include "openhands.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "tools/clip.h"

/* A text of a's and b's, cut: its ends, and that something is missing and where. */
bool oh_cut(const struct oh_case *c, struct th_buf *found)
{
	int64_t len = th_json_get_int(
	    c->input, "len", th_json_get_int(c->input, "CmdOutputObservation.content_len", 0));
	int64_t limit = th_json_get_int(
	    c->input, "limit",
	    th_json_get_int(c->input, "max", th_json_get_int(c->input, "max_chars", 0)));
	struct th_str plain = th_json_get_str(c->input, "text"), head, tail;
	int64_t half = (limit + 1) / 2;
	struct th_clip clip;
	bool same, deviates;

	if (!plain.ptr)
		plain = th_json_get_str(c->input, "truncate_content");
	th_clip_init(&clip, limit > 0 ? (size_t)limit : TH_TOOL_OUTPUT_MODEL_MAX);
	if (plain.ptr)
		th_clip_add(&clip, plain);
	for (int64_t i = 0; i < len && !plain.ptr; i++)
		th_clip_add(&clip, i < len / 2 ? TH_STR("a") : TH_STR("b"));
	(void)th_clip_text(&clip, found);
	th_clip_deinit(&clip);
	if (plain.ptr) {
		same = th_str_eq(th_buf_str(found), th_json_str(c->expected));
		if (!same && limit > 0 && limit < 128 && (int64_t)plain.len > limit)
			th_buf_clear(found);
		if (!same && !found->len)
			th_buf_add_cstr(found, OH_DEVIATES "the ends stay");
		return same;
	}
	head = th_json_get_str(c->expected, "head");
	tail = th_json_get_str(c->expected, "tail");
	if (limit >= len) /* all of it */
		return th_str_starts(th_buf_str(found), head) &&
		       th_str_ends(th_buf_str(found), tail) && (int64_t)found->len == len;
	same = th_str_starts(th_buf_str(found), head) && th_str_ends(th_buf_str(found), tail);
	/* There a limit below some hundred leaves the sentence alone, or a part of it. */
	deviates = !same && limit < 128 + 2 * (int64_t)TH_MAX(head.len, tail.len);
	if (deviates && th_str_find(th_buf_str(found), TH_STR("left out")) >= 0) {
		th_buf_clear(found);
		th_buf_add_cstr(found, OH_DEVIATES "the ends stay");
		return false;
	}
	same = same && th_str_find(th_buf_str(found), TH_STR("left out")) ==
			   half + (ptrdiff_t)strlen("\n… ") +
			       snprintf(NULL, 0, "%lld bytes ", (long long)(len - 2 * half));
	/* The sentence comes on top of what is kept, as in V0. */
	return same && (int64_t)found->len <= limit + 64 &&
	       (th_json_get(c->expected, "marker") ||
		th_json_get_int(c->expected, "len", 0) >= limit);
}
