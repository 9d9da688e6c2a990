/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/multipart.h"

#include <string.h>

#define BOUNDARY_MAX 70 /* RFC 2046 */

/* The value of a parameter behind a ';': a token, or a text in quotes without escapes. */
static bool parameter(struct th_str header, const char *name, struct th_str *ret)
{
	(void)th_str_split(&header, ';');
	while (header.len) {
		struct th_str value = th_str_split(&header, ';');
		struct th_str key = th_str_trim(th_str_split(&value, '='));

		if (!th_str_ieq(key, th_str_of(name)))
			continue;
		value = th_str_trim(value);
		if (value.len >= 2 && value.ptr[0] == '"' && value.ptr[value.len - 1] == '"')
			value = th_str_sub(value, 1, value.len - 2);
		*ret = value;
		return value.len > 0;
	}
	return false;
}

/* What stands before the mark; *at is behind it then. */
static bool take_until(struct th_str *at, struct th_str mark, struct th_str *ret)
{
	const char *found = at->len ? memmem(at->ptr, at->len, mark.ptr, mark.len) : NULL;
	size_t before;

	if (!found)
		return false;
	before = (size_t)(found - at->ptr);
	*ret = th_str_sub(*at, 0, before);
	*at = th_str_sub(*at, before + mark.len, at->len);
	return true;
}

/* Of the lines of a part's head the one that says its name. */
static bool is_called(struct th_str head, struct th_str name)
{
	while (head.len) {
		struct th_str line = th_str_split(&head, '\n'), value;

		if (th_str_ieq(th_str_trim(th_str_split(&line, ':')),
			       TH_STR("content-disposition")) &&
		    parameter(th_str_trim(line), "name", &value))
			return th_str_eq(value, name);
	}
	return false;
}

bool th_multipart_find(struct th_str type, struct th_str body, struct th_str name,
		       struct th_str *ret)
{
	struct th_str boundary, mark, passed;
	char text[BOUNDARY_MAX + 4];

	if (!parameter(type, "boundary", &boundary) || boundary.len > BOUNDARY_MAX)
		return false;
	memcpy(text, "\r\n--", 4);
	memcpy(text + 4, boundary.ptr, boundary.len);
	mark = th_str_n(text, boundary.len + 4);
	/* The first one has no line before it. */
	if (th_str_starts(body, th_str_sub(mark, 2, mark.len)))
		body = th_str_sub(body, mark.len - 2, body.len);
	else if (!take_until(&body, mark, &passed))
		return false;
	while (th_str_starts(body, TH_STR("\r\n"))) {
		struct th_str head, bytes;

		if (!take_until(&body, TH_STR("\r\n\r\n"), &head) ||
		    !take_until(&body, mark, &bytes))
			return false;
		if (is_called(head, name)) {
			*ret = bytes;
			return true;
		}
	}
	return false;
}
