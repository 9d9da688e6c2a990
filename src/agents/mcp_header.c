/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/mcp_header.h"

#include "base/codec.h"
#include "base/limits.h"

#define MEMBER "x-mcp-header"
#define PREFIX "Mcp-Param-"

/* A token of HTTP. */
static bool is_token(struct th_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      (c && strchr("!#$%&'*+-.^_`|~", c))))
			return false;
	}
	return s.len > 0 && s.len <= TH_MCP_HEADER_NAME_MAX;
}

static bool is_primitive(struct th_str type)
{
	return th_str_is(type, "string") || th_str_is(type, "integer") ||
	       th_str_is(type, "boolean");
}

const char *th_mcp_headers_fault(const struct th_json *schema)
{
	struct th_json_iter it = th_json_iter(th_json_get(schema, "properties"));
	struct th_str names[TH_MCP_HEADERS_MAX];
	size_t count = 0;

	while (th_json_is_object(it.parent) && th_json_next(&it)) {
		const struct th_json *header = th_json_get(it.val, MEMBER);
		struct th_str name = th_json_str(header);

		if (!header)
			continue;
		if (!is_token(name))
			return "the name of an x-mcp-header cannot be used";
		if (!is_primitive(th_json_get_str(it.val, "type")))
			return "an x-mcp-header is no string, integer or boolean";
		for (size_t i = 0; i < count; i++)
			if (th_str_ieq(names[i], name))
				return "two x-mcp-headers have one name";
		if (count == TH_MCP_HEADERS_MAX)
			return "it has too many x-mcp-headers";
		names[count++] = name;
	}
	return NULL;
}

void th_mcp_header_value(struct th_str text, struct th_buf *out)
{
	bool plain = text.len > 0 && text.ptr[0] != ' ' && text.ptr[text.len - 1] != ' ';

	for (size_t i = 0; i < text.len; i++)
		plain &= text.ptr[i] >= 0x20 && text.ptr[i] <= 0x7e;
	if (plain && !th_str_starts(text, TH_STR("=?base64?"))) {
		th_buf_add(out, text);
		return;
	}
	th_buf_add_cstr(out, "=?base64?");
	th_base64_encode(out, text.ptr, text.len);
	th_buf_add_cstr(out, "?=");
}

void th_mcp_headers_put(const struct th_json *schema, const struct th_json *arguments,
			struct th_jw *list)
{
	struct th_json_iter it = th_json_iter(th_json_get(schema, "properties"));

	while (th_json_is_object(it.parent) && th_json_next(&it)) {
		struct th_str name = th_json_get_str(it.val, MEMBER);
		const struct th_json *value = th_json_getn(arguments, it.key);
		struct th_buf line = TH_BUF_INIT(4 * TH_COMMAND_INPUT_MAX);
		struct th_buf text = TH_BUF_INIT(TH_COMMAND_INPUT_MAX);

		if (th_json_type(value) == TH_JSON_STR)
			th_buf_add(&text, th_json_str(value));
		else if (!th_json_is_null(value))
			th_json_print(value, &text);
		if (name.len && !th_json_is_null(value) && !text.failed) {
			th_buf_printf(&line, PREFIX "%.*s: ", TH_FMT(name));
			th_mcp_header_value(th_buf_str(&text), &line);
			th_jw_str(list, th_buf_str(&line));
		}
		th_buf_deinit(&line);
		th_buf_deinit(&text);
	}
}
