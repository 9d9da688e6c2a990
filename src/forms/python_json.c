/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_json.c - what Python's json writes and JSON has not: NaN and Infinity, and halves of
 * surrogate pairs in texts.
 */
#include "base/text.h"
#include "forms/openhands.h"

/* A half "\uD800" to "\uDFFF" at the beginning; *high: it is the first half. */
static bool is_half(struct th_str s, bool *high)
{
	if (s.len < 6 || s.ptr[0] != '\\' || s.ptr[1] != 'u' || (s.ptr[2] | 0x20) != 'd')
		return false;
	for (size_t i = 3; i < 6; i++) {
		char c = (char)(s.ptr[i] | 0x20);

		if (!(s.ptr[i] >= '0' && s.ptr[i] <= '9') && !(c >= 'a' && c <= 'f'))
			return false;
	}
	*high = (s.ptr[3] >= '8' && s.ptr[3] <= '9') || (s.ptr[3] | 0x20) == 'a' ||
		(s.ptr[3] | 0x20) == 'b';
	return *high || (s.ptr[3] | 0x20) >= 'c';
}

/* Of an escape in a text: how many bytes of it are taken. */
static size_t take_escape(struct th_str rest, struct th_buf *out, size_t *count)
{
	bool high = false, second = true;
	size_t len = 2;

	if (is_half(rest, &high)) {
		len = 6;
		if (!high || !is_half(th_str_sub(rest, 6, rest.len), &second) || second) {
			th_buf_add_cstr(out, "\\ufffd");
			++*count;
			return len;
		}
		len = 12; /* both halves */
	}
	th_buf_add(out, th_str_sub(rest, 0, len));
	return TH_MIN(len, rest.len);
}

/* Of what stands outside of texts. */
static size_t take_word(struct th_str rest, struct th_buf *out, size_t *count)
{
	static const char *const words[] = { "NaN", "Infinity", "-Infinity" };

	for (size_t i = 0; i < TH_COUNT(words); i++)
		if (th_str_starts(rest, th_str_of(words[i]))) {
			th_buf_add_cstr(out, "null");
			++*count;
			return strlen(words[i]);
		}
	th_buf_add_char(out, rest.ptr[0]);
	return 1;
}

size_t th_python_json(struct th_str text, struct th_buf *out)
{
	bool inside = false;
	size_t count = 0, at = 0;

	while (at < text.len) {
		struct th_str rest = th_str_sub(text, at, text.len);

		if (inside && rest.ptr[0] == '\\') {
			at += take_escape(rest, out, &count);
			continue;
		}
		if (rest.ptr[0] == '"')
			inside = !inside;
		if (inside || rest.ptr[0] == '"') {
			th_buf_add_char(out, rest.ptr[0]);
			at++;
		} else {
			at += take_word(rest, out, &count);
		}
	}
	return count;
}
