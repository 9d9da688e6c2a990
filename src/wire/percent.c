/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/percent.h"

#include "base/limits.h"

static int hex_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void th_percent_encode(struct th_str text, struct th_buf *out)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if ((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
		    (c && strchr("-_.~", c)))
			th_buf_add_char(out, c);
		else
			th_buf_printf(out, "%%%02X", (unsigned char)c);
	}
}

bool th_percent_decode(struct th_str text, struct th_buf *out)
{
	for (size_t i = 0; i < text.len; i++) {
		int high, low;

		if (!text.ptr[i])
			return false;
		if (text.ptr[i] != '%') {
			th_buf_add_char(out, text.ptr[i]);
			continue;
		}
		if (text.len - i < 3)
			return false;
		high = hex_of(text.ptr[i + 1]);
		low = hex_of(text.ptr[i + 2]);
		if (high < 0 || low < 0 || high + low == 0)
			return false;
		th_buf_add_char(out, (char)(high << 4 | low));
		i += 2;
	}
	return !out->failed;
}

/* Forms write a space so. */
static void put_spaces(struct th_str value, struct th_buf *out)
{
	for (size_t i = 0; i < value.len; i++)
		th_buf_add_char(out, value.ptr[i] == '+' ? ' ' : value.ptr[i]);
}

bool th_query_get(struct th_str query, const char *name, struct th_buf *out)
{
	while (query.len) {
		struct th_str value = th_str_split(&query, '&');
		struct th_str key = th_str_split(&value, '=');
		struct th_buf spaced TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);

		if (!th_str_is(key, name))
			continue;
		put_spaces(value, &spaced);
		th_buf_clear(out);
		return !spaced.failed && th_percent_decode(th_buf_str(&spaced), out);
	}
	return false;
}
