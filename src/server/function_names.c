/* SPDX-License-Identifier: Apache-2.0 */
#include "server/function_names.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/limits.h"

/* ---- a list of tools ---- */

struct th_function_iter th_function_iter(const struct th_json *tools)
{
	return (struct th_function_iter){ .list = th_json_iter(tools) };
}

static bool is_function(const struct th_json *tool)
{
	struct th_str type = th_json_get_str(tool, "type");

	return !type.len || th_str_is(type, "function") || th_str_is(type, "custom");
}

bool th_function_next(struct th_function_iter *it)
{
	for (;;) {
		while (it->inside && th_json_next(&it->inner))
			if (is_function(it->tool = it->inner.val))
				return true;
		it->inside = false;
		it->space = TH_STR("");
		if (!th_json_next(&it->list))
			return false;
		if (is_function(it->tool = it->list.val))
			return true;
		if (!th_str_is(th_json_get_str(it->tool, "type"), "namespace"))
			continue;
		it->inside = true;
		it->space = th_json_get_str(it->tool, "name");
		it->inner = th_json_iter(th_json_get(it->tool, "tools"));
	}
}

/* ---- names ---- */

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

void th_function_full_name(struct th_str space, struct th_str name, struct th_buf *out)
{
	enum { DIGITS = 8 }; /* of the digest */
	char hex[TH_SHA256_HEX_SIZE + 1];
	struct th_digest digest;
	size_t plain = 0;

	th_buf_clear(out);
	th_buf_add(out, space);
	if (space.len)
		th_buf_add(out, TH_STR("__"));
	th_buf_add(out, name);
	if (!space.len)
		return;
	while (plain < out->len && is_plain(out->ptr[plain]))
		plain++;
	if (plain == out->len && out->len <= TH_TOOL_NAME_MAX)
		return;
	digest = th_sha256_of(out->ptr, out->len);
	for (size_t i = plain; i < out->len; i++)
		if (!is_plain(out->ptr[i]))
			out->ptr[i] = '_';
	th_digest_hex(&digest, hex);
	th_buf_truncate(out, TH_MIN(out->len, (size_t)(TH_TOOL_NAME_MAX - DIGITS - 1)));
	th_buf_add_char(out, '_');
	th_buf_add(out, th_str_n(hex, DIGITS));
}

static char *copy(struct th_str s)
{
	char *text = th_alloc(s.len + 1);

	memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	return text;
}

struct th_function_name *th_function_names(const struct th_json *tools, size_t *ret_count)
{
	struct th_buf full TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_function_iter it = th_function_iter(tools);
	struct th_function_name *list = NULL;
	size_t count = 0;

	while (th_function_next(&it)) {
		struct th_str name = th_json_get_str(it.tool, "name");

		if (!name.len)
			continue;
		th_function_full_name(it.space, name, &full);
		list = th_realloc(list, (count + 1) * sizeof(*list));
		list[count++] =
		    (struct th_function_name){ .full = copy(th_buf_str(&full)),
					       .name = copy(name),
					       .space = it.space.len ? copy(it.space) : NULL,
					       .search = !it.space.len &&
							 th_str_is(name, TH_TOOL_SEARCH) &&
							 th_json_get(it.tool, "execution") };
	}
	*ret_count = count;
	return list;
}

struct th_function_name *th_function_names_free(struct th_function_name *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(list[i].full);
		free(list[i].name);
		free(list[i].space);
	}
	free(list);
	return NULL;
}
