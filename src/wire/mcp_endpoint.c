/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/mcp_endpoint.h"

#include "base/limits.h"
#include "wire/oauth.h"

static bool is_visible(struct th_str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] < 0x21 || s.ptr[i] > 0x7e || s.ptr[i] == '\\')
			return false;
	return s.len > 0;
}

/* Does it begin with a scheme?  "a:b", but not "/a:b". */
static bool has_scheme(struct th_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == ':')
			return true;
		if (strchr("/?#", s.ptr[i]))
			return false;
	}
	return false;
}

/* The path of `url` up to its last slash, that included. */
static struct th_str folder_of(struct th_str url)
{
	size_t origin = th_oauth_origin(url).len, len = origin;

	for (size_t i = origin; i < url.len && !strchr("?#", url.ptr[i]); i++)
		if (url.ptr[i] == '/')
			len = i + 1;
	return th_str_sub(url, 0, len);
}

enum th_code th_mcp_endpoint(struct th_str url, struct th_str named, struct th_buf *out,
			     struct th_err *err)
{
	struct th_str origin = th_oauth_origin(url);
	struct th_str full;

	named = th_str_trim(named);
	named = th_str_split(&named, '#');
	if (!is_visible(named) || named.len > TH_MCP_ENDPOINT_MAX || !origin.len)
		return th_fail(err, TH_EPROTO, "it names no address for messages");
	th_buf_clear(out);
	if (has_scheme(named)) {
		th_buf_add(out, named);
	} else if (th_str_starts(named, TH_STR("//"))) {
		th_buf_add(out, th_str_split(&url, ':'));
		th_buf_add_char(out, ':');
		th_buf_add(out, named);
	} else if (named.ptr[0] == '/') {
		th_buf_add(out, origin);
		th_buf_add(out, named);
	} else if (named.ptr[0] == '?') {
		struct th_str before = th_str_split(&url, '#');

		th_buf_add(out, th_str_split(&before, '?'));
		th_buf_add(out, named);
	} else {
		th_buf_add(out, folder_of(url));
		th_buf_add_cstr(out, out->len == origin.len ? "/" : "");
		th_buf_add(out, named);
	}
	full = th_buf_str(out);
	if (out->failed || !th_str_ieq(th_oauth_origin(full), origin))
		return th_fail(err, TH_EPROTO, "it names an address for messages of another place");
	return TH_OK;
}
