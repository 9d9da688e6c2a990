/* SPDX-License-Identifier: Apache-2.0 */
#include "context/result.h"

#include "base/text.h"

int64_t th_result_whole(struct th_str evidence)
{
	struct th_str full = th_json_raw_get(evidence, "full_output");
	int64_t size = 0;

	return full.len && th_str_i64(th_json_raw_get(full, "size"), &size) && size > 0 ? size : 0;
}

/* Does a character begin here, or end? */
static bool is_edge(struct th_str s, size_t at)
{
	return at >= s.len || ((unsigned char)s.ptr[at] & 0xc0) != 0x80;
}

/* Where the rest is, `offset` bytes from the beginning. */
static void put_reference(const struct th_result_shown *how, size_t offset, struct th_buf *out)
{
	if (!how->history)
		return;
	th_buf_printf(out, "; read on with history {\"event\": %llu, \"offset\": %zu}",
		      (unsigned long long)how->seq, offset);
}

/* A text of which `max` bytes are shown. */
static void put_text(struct th_str text, size_t max, const struct th_result_shown *how,
		     struct th_buf *out)
{
	size_t head = max / 2, tail = text.len - (max - head);

	while (!is_edge(text, head))
		head--;
	while (!is_edge(text, tail))
		tail++;
	th_buf_add(out, th_str_sub(text, 0, head));
	th_buf_printf(out, "\n[... %zu bytes of this result are not shown", tail - head);
	put_reference(how, head, out);
	th_buf_add_cstr(out, " ...]\n");
	th_buf_add(out, th_str_sub(text, tail, text.len - tail));
}

/* Behind a result that is shown as the log has it, when a blob has more. */
static void put_whole(const struct th_result_shown *how, struct th_buf *out)
{
	th_buf_printf(out,
		      "\n[All of this result has %lld bytes; read it with history "
		      "{\"event\": %llu, \"offset\": 0}]",
		      (long long)how->whole, (unsigned long long)how->seq);
}

/* `left`: bytes that the parts behind it may still show. */
static void put_string(struct th_str raw, size_t *left, const struct th_result_shown *how,
		       bool last, struct th_jw *w)
{
	struct th_buf text, shown;

	th_buf_init_try(&text, 2 * TH_EVENT_DATA_MAX);
	th_buf_init_try(&shown, 2 * TH_EVENT_DATA_MAX);
	if (!th_json_unescape(raw, &text))
		th_buf_clear(&text);
	if (text.len > *left)
		put_text(th_buf_str(&text), *left, how, &shown);
	else
		th_buf_add(&shown, th_buf_str(&text));
	if (text.len <= *left && last && how->whole && how->history)
		put_whole(how, &shown);
	*left -= TH_MIN(text.len, *left);
	th_jw_str(w, th_buf_str(&shown));
	w->out->no_memory |= text.no_memory || shown.no_memory;
	th_buf_deinit(&text);
	th_buf_deinit(&shown);
}

static bool is_text(struct th_str part)
{
	return th_str_is(th_json_raw_get(part, "type"), "\"text\"");
}

static void put_parts(struct th_str parts, size_t max, const struct th_result_shown *how,
		      struct th_jw *w)
{
	struct th_json_raw_iter it = th_json_raw_iter(parts), count = it;
	size_t texts = 0;

	while (th_json_raw_next(&count))
		texts += is_text(count.val);
	th_jw_array(w);
	while (th_json_raw_next(&it)) {
		if (!is_text(it.val)) {
			th_jw_raw(w, it.val);
			continue;
		}
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("text"));
		th_jw_key(w, TH_STR("text"));
		put_string(th_json_raw_get(it.val, "text"), &max, how, --texts == 0, w);
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
}

/* About how many bytes its texts have, by their escaped form, which is never shorter. */
static size_t text_size(struct th_str output)
{
	struct th_json_raw_iter it = th_json_raw_iter(output);
	size_t size = 0;

	if (!output.len || output.ptr[0] != '[')
		return output.len;
	while (th_json_raw_next(&it))
		if (is_text(it.val))
			size += th_json_raw_get(it.val, "text").len;
	return size;
}

bool th_result_shorten(struct th_str output, const struct th_result_shown *how, struct th_buf *out)
{
	size_t max = how->max ?: SIZE_MAX, left = max;
	struct th_jw w = th_jw(out);

	if (!output.len || (output.ptr[0] != '"' && output.ptr[0] != '['))
		return false;
	if (text_size(output) <= max && !(how->whole && how->history))
		return false;
	if (output.ptr[0] == '[')
		put_parts(output, max, how, &w);
	else
		put_string(output, &left, how, true, &w);
	return true;
}
