/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/mcp_read.h"

#include "base/codec.h"
#include "base/json.h"
#include "base/picture_type.h"
#include "base/text.h"

/* ---- lists of tools ------------------------------------------------------------------------ */

void th_mcp_pages_init(struct th_mcp_pages *p)
{
	*p = (struct th_mcp_pages){ 0 };
	th_buf_init(&p->tools, TH_MCP_LIST_SIZE_MAX);
	th_buf_init(&p->cursor, 4 * TH_KIB);
}

void th_mcp_pages_deinit(struct th_mcp_pages *p)
{
	th_buf_deinit(&p->tools);
	th_buf_deinit(&p->cursor);
}

/* Once one had no room, none behind it is taken: what the agent has is the list's beginning. */
static void take(struct th_mcp_pages *p, struct th_str tool)
{
	if (p->left_out || p->count == TH_MCP_LISTED_MAX || !th_json_raw_is_object(tool) ||
	    p->tools.len + tool.len + 2 > TH_MCP_LIST_SIZE_MAX) {
		p->left_out++;
		return;
	}
	if (p->count++)
		th_buf_add_char(&p->tools, ',');
	th_buf_add(&p->tools, tool);
}

enum th_code th_mcp_pages_add(struct th_mcp_pages *p, struct th_str result, struct th_err *err)
{
	struct th_str tools = th_json_raw_get(result, "tools");
	struct th_str cursor = th_json_raw_get(result, "nextCursor");
	struct th_json_raw_iter it = th_json_raw_iter(tools);
	bool again = cursor.len && th_str_eq(cursor, th_buf_str(&p->cursor));

	if (!tools.len || tools.ptr[0] != '[')
		return th_fail(err, TH_EPROTO, "the server's list of tools is not a list");
	while (th_json_raw_next(&it))
		take(p, it.val);
	p->pages++;
	th_buf_clear(&p->cursor);
	if (!th_json_raw_inside(cursor).len || p->left_out)
		return TH_OK;
	if (again)
		return th_fail(err, TH_EPROTO, "the server names the same page of its tools again");
	if (p->pages == TH_MCP_PAGES_MAX) {
		p->left_out++;
		return TH_OK;
	}
	th_buf_add(&p->cursor, cursor);
	return p->cursor.failed ? th_fail(err, TH_EPROTO, "the server's cursor is too long")
				: TH_OK;
}

void th_mcp_pages_params(const struct th_mcp_pages *p, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	if (p->cursor.len)
		th_jw_kraw(&w, "cursor", th_buf_str(&p->cursor));
	th_jw_object_end(&w);
}

/* ---- results -------------------------------------------------------------------------------- */

struct reader {
	const struct th_mcp_result_ops *ops;
	void *ctx;
};

static void put_line(const struct reader *r, const char *what, struct th_str of, struct th_str more)
{
	struct th_buf line = TH_BUF_INIT(4 * TH_KIB);

	th_buf_printf(&line, "[%s", what);
	if (of.len) {
		th_buf_add_char(&line, ' ');
		th_text_line(&line, th_utf8_cut(of, TH_KIB), TH_KIB);
	}
	if (more.len) {
		th_buf_add_cstr(&line, ", ");
		th_text_line(&line, th_utf8_cut(more, 200), 200);
	}
	th_buf_add_char(&line, ']');
	r->ops->text(r->ctx, th_buf_str(&line));
	th_buf_deinit(&line);
}

static void read_picture(const struct reader *r, const struct th_json *part, const char *member)
{
	struct th_buf bytes = TH_BUF_INIT(TH_TOOL_PICTURE_MAX);
	const char *type = NULL;

	if (th_base64_decode(&bytes, th_json_get_str(part, member)))
		type = th_picture_whole_type(th_buf_str(&bytes)); /* its word is not trusted */
	if (type)
		r->ops->picture(r->ctx, th_buf_str(&bytes), th_str_of(type));
	else
		put_line(r, "a picture that cannot be shown", th_json_get_str(part, "mimeType"),
			 TH_STR(""));
	th_buf_deinit(&bytes);
}

static void read_resource(const struct reader *r, const struct th_json *resource)
{
	struct th_str type = th_json_get_str(resource, "mimeType");
	struct th_str uri = th_json_get_str(resource, "uri");

	if (th_json_get(resource, "text")) {
		put_line(r, "resource", uri, type);
		r->ops->text(r->ctx, th_json_get_str(resource, "text"));
	} else if (th_str_starts(type, TH_STR("image/"))) {
		put_line(r, "resource", uri, type);
		read_picture(r, resource, "blob");
	} else {
		put_line(r, "resource that is no text", uri, type);
	}
}

static void read_part(const struct reader *r, const struct th_json *part)
{
	struct th_str type = th_json_get_str(part, "type");

	if (th_str_is(type, "text"))
		r->ops->text(r->ctx, th_json_get_str(part, "text"));
	else if (th_str_is(type, "image"))
		read_picture(r, part, "data");
	else if (th_str_is(type, "resource"))
		read_resource(r, th_json_get(part, "resource"));
	else if (th_str_is(type, "resource_link"))
		put_line(r, "link to", th_json_get_str(part, "uri"), th_json_get_str(part, "name"));
	else if (th_str_is(type, "audio"))
		put_line(r, "sound, which is not shown,", th_json_get_str(part, "mimeType"),
			 TH_STR(""));
	else
		put_line(r, "content of an unknown type", type, TH_STR(""));
}

enum th_code th_mcp_result_read(struct th_str result, const struct th_mcp_result_ops *ops,
				void *ctx, bool *ret_error, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct reader r = { ops, ctx };
	const struct th_json *root, *structured;
	struct th_json_iter it;
	size_t count = 0;

	if (th_json_parse(result, &doc, err))
		return th_prefix(err, TH_EPROTO, "the server's result");
	root = th_json_root(doc);
	structured = th_json_get(root, "structuredContent");
	it = th_json_iter(th_json_get(root, "content"));
	if (!th_json_is_array(it.parent) && !structured)
		return th_fail(err, TH_EPROTO, "the server's result has no content");
	while (th_json_is_array(it.parent) && th_json_next(&it))
		if (count++ < TH_MCP_PARTS_MAX)
			read_part(&r, it.val);
	if (count > TH_MCP_PARTS_MAX) {
		struct th_buf more = TH_BUF_INIT(64);

		th_buf_add_u64(&more, count - TH_MCP_PARTS_MAX);
		put_line(&r, "parts of the result that are not shown:", th_buf_str(&more),
			 TH_STR(""));
		th_buf_deinit(&more);
	}
	if (!count && structured) {
		struct th_buf text = TH_BUF_INIT(TH_MCP_LINE_MAX);

		th_json_print(structured, &text);
		ops->text(ctx, th_buf_str(&text));
		th_buf_deinit(&text);
	}
	*ret_error = th_json_bool(th_json_get(root, "isError"), false);
	return TH_OK;
}
