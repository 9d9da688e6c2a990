/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/result.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/text.h"
#include "tools/clip.h"
#include "wire/mcp_read.h"

/* In the order of the result: a piece of the text, or a picture. */
struct piece {
	size_t from, len; /* of the text */
	char hex[TH_SHA256_HEX_SIZE + 1];
	char type[16]; /* of the picture; empty: it is text */
	size_t size;
};

struct content {
	struct th_tool_job *job;
	struct th_buf text; /* of all pieces */
	struct piece pieces[2 * TH_MCP_PICTURES_MAX + 2];
	size_t count, picture_count, picture_bytes;
};

static void on_text(void *ctx, struct th_str text)
{
	struct content *c = (struct content *)ctx;
	struct piece *p = c->count ? &c->pieces[c->count - 1] : NULL;

	if (!p || p->type[0]) {
		p = &c->pieces[c->count++];
		*p = (struct piece){ .from = c->text.len };
	} else {
		th_buf_add_char(&c->text, '\n');
	}
	th_buf_add(&c->text, text);
	p->len = c->text.len - p->from;
}

static void on_picture(void *ctx, struct th_str bytes, struct th_str media_type)
{
	struct content *c = (struct content *)ctx;
	struct th_digest digest = th_sha256_of(bytes.ptr, bytes.len);
	struct piece *p;

	if (c->picture_count == TH_MCP_PICTURES_MAX ||
	    c->picture_bytes + bytes.len > TH_MCP_PICTURE_BYTES_MAX) {
		on_text(c, TH_STR("[one more picture, which is not shown]"));
		return;
	}
	p = &c->pieces[c->count++];
	*p = (struct piece){ .size = bytes.len };
	th_digest_hex(&digest, p->hex);
	snprintf(p->type, sizeof(p->type), "%.*s", TH_FMT(media_type));
	c->picture_count++;
	c->picture_bytes += bytes.len;
	c->job->picture(c->job, bytes, th_str_of(p->hex), media_type);
}

static const struct th_mcp_result_ops read_ops = { on_text, on_picture };

/* Each piece gets its share of what a model is shown. */
static void put_text(const struct content *c, const struct piece *p, bool error, struct th_buf *out)
{
	size_t share = TH_TOOL_OUTPUT_MODEL_MAX;
	struct th_clip clip;

	if (c->text.len > share)
		share = TH_MAX((size_t)((double)share * (double)p->len / (double)c->text.len),
			       (size_t)256);
	if (error)
		th_buf_add_cstr(out, TH_ERROR_MARK);
	th_clip_init(&clip, share);
	th_clip_add(&clip, th_str_sub(th_buf_str(&c->text), p->from, p->len));
	th_clip_text(&clip, out);
	th_clip_deinit(&clip);
}

static void put_parts(const struct content *c, bool error, struct th_buf *output)
{
	struct th_jw w = th_jw(output);

	th_jw_array(&w);
	for (size_t i = 0; i < c->count; i++) {
		const struct piece *p = &c->pieces[i];
		struct th_buf text = TH_BUF_INIT(8 * TH_TOOL_OUTPUT_MODEL_MAX);

		th_jw_object(&w);
		th_jw_kstr(&w, "type", p->type[0] ? TH_STR("image") : TH_STR("text"));
		if (p->type[0]) {
			th_jw_kstr(&w, "media_type", th_str_of(p->type));
			th_jw_kstr(&w, "blob", th_str_of(p->hex));
			th_jw_kuint(&w, "size", p->size);
		} else {
			put_text(c, p, error, &text);
			th_jw_kstr(&w, "text", th_buf_str(&text));
			error = false;
		}
		th_jw_object_end(&w);
		th_buf_deinit(&text);
	}
	th_jw_array_end(&w);
}

static void put_string(const struct content *c, bool error, struct th_buf *output)
{
	struct th_buf text = TH_BUF_INIT(8 * TH_TOOL_OUTPUT_MODEL_MAX);
	struct th_jw w = th_jw(output);

	if (c->count)
		put_text(c, &c->pieces[0], error, &text);
	else
		th_buf_add_cstr(&text, error ? TH_ERROR_MARK "the tool failed and does not say why"
					     : "(no output)");
	th_jw_str(&w, th_buf_str(&text));
	th_buf_deinit(&text);
}

void th_mcp_result_show(struct th_tool_job *job, struct th_str text)
{
	struct th_buf copy = TH_BUF_INIT(2 * TH_MCP_LINE_MAX);

	if (job->env->mask) {
		th_buf_add(&copy, text);
		(void)th_mask_apply_buf(job->env->mask, &copy);
		text = th_buf_str(&copy);
	}
	job->output(job, text);
	th_buf_deinit(&copy);
}

enum th_code th_mcp_result_put(struct th_tool_job *job, struct th_str result, struct th_buf *output,
			       bool *ret_error, struct th_err *err)
{
	struct content c = { .job = job };
	enum th_code code;

	th_buf_init(&c.text, 2 * TH_MCP_LINE_MAX);
	code = th_mcp_result_read(result, &read_ops, &c, ret_error, err);
	if (!code && c.text.len > TH_TOOL_OUTPUT_MODEL_MAX)
		th_mcp_result_show(job, th_buf_str(&c.text));
	if (!code && c.picture_count)
		put_parts(&c, *ret_error, output);
	else if (!code)
		put_string(&c, *ret_error, output);
	th_buf_deinit(&c.text);
	return code ?: th_buf_check(output, "the result", err);
}
