/* SPDX-License-Identifier: Apache-2.0 */
/*
 * computer_result.c - what a command of thole computer says: text, JSON, or a picture in a file.
 */
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "cli/computer_result.h"
#include "io/files.h"

/* NULL: neither --format nor the file's name says one that is known. */
const char *th_computer_format_of(const struct th_computer_flags *o)
{
	static const char *const endings[][2] = {
		{ ".png", "png" }, { ".jpg", "jpeg" }, { ".jpeg", "jpeg" }, { ".webp", "webp" }
	};
	struct th_str name = o->output;
	ptrdiff_t slash;

	if (o->format.ptr)
		return th_str_is(o->format, "jpeg") || th_str_is(o->format, "jpg") ? "jpeg"
		       : th_str_is(o->format, "webp")                              ? "webp"
		       : th_str_is(o->format, "png")                               ? "png"
										   : NULL;
	while ((slash = th_str_find_char(name, '/')) >= 0)
		name = th_str_sub(name, (size_t)slash + 1, name.len);
	for (size_t i = 0; i < TH_COUNT(endings); i++)
		if (th_str_ends(name, th_str_of(endings[i][0])))
			return endings[i][1];
	return th_str_find_char(name, '.') < 0 ? "png" : NULL;
}

/* Text of an output, its parts one after the other. */
static void output_text(const struct th_json *output, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(output);

	if (th_json_str(output).ptr) {
		th_buf_add(out, th_json_str(output));
		return;
	}
	while (th_json_next(&it)) {
		struct th_str text = th_json_get_str(it.val, "text");

		if (!text.ptr)
			continue;
		if (out->len)
			th_buf_add_char(out, '\n');
		th_buf_add(out, text);
	}
}

/* For people line by line without escapes; into a pipe as it is. */
void th_computer_add_text(struct th_buf *out, struct th_str text)
{
	if (!th_cli_terminal(STDOUT_FILENO)) {
		th_buf_add(out, text);
		return;
	}
	while (text.len) {
		bool line = th_str_find_char(text, '\n') >= 0;

		th_text_line(out, th_str_split(&text, '\n'), TH_TOOL_OUTPUT_MAX);
		if (line)
			th_buf_add_char(out, '\n');
	}
}

void th_computer_result_json(const struct th_effect_result *r, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "status", th_str_of(th_outcome_name(r->status)));
	th_jw_kraw(&w, "output", r->output.len ? r->output : TH_STR("null"));
	if (r->evidence.len)
		th_jw_kraw(&w, "evidence", r->evidence);
	th_jw_kint(&w, "elapsed_ms", r->elapsed_ms);
	th_jw_object_end(&w);
	th_buf_add_char(out, '\n');
}

static enum th_code save_picture(const struct th_computer_flags *o,
				 const struct th_effect_result *r, struct th_arena *a,
				 struct th_buf *out, struct th_err *err)
{
	const struct th_blob *b = r->blob_count ? &r->blobs[r->blob_count - 1] : NULL;
	const char *path;

	if (!b)
		return th_fail(err, TH_EIO, "there is no picture in the result");
	if (!o->output.ptr || th_str_is(o->output, "-")) {
		if (!th_cli_write(STDOUT_FILENO, b->bytes))
			return th_fail(err, TH_EIO,
				       "the picture cannot be written to standard output");
		return TH_OK;
	}
	path = th_arena_cstr(a, o->output);
	if (!path)
		return th_fail(err, TH_EUSAGE, "the name of the file is not usable");
	if (!o->json) {
		th_text_line(out, o->output, 1000);
		th_buf_add_cstr(out, ", ");
		th_cli_size(out, (int64_t)b->bytes.len);
		th_buf_add_char(out, '\n');
	}
	return th_file_write(path, b->bytes, 0644, err);
}

int th_computer_failed(enum th_outcome_status status, struct th_str text)
{
	return th_cli_die(1, "%s: %.*s", th_outcome_name(status),
			  TH_FMT(th_utf8_cut(th_outcome_sentence(text), 1500)));
}

int th_computer_result_show(struct th_computer_call *c, bool picture,
			    const struct th_effect_result *r)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_TOOL_OUTPUT_MAX);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_TOOL_OUTPUT_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	bool done = r->status == TH_OUTCOME_DONE;

	if (th_json_parse(r->output, &doc, NULL) == TH_OK)
		output_text(th_json_root(doc), &text);
	if (c->o->json)
		th_computer_result_json(r, &out);
	if (!done && !c->o->json)
		return th_computer_failed(r->status, th_buf_str(&text));
	if (done && picture && save_picture(c->o, r, c->a, &out, c->err) != TH_OK)
		return th_cli_fail(c->err);
	if (!c->o->json && !picture && text.len) {
		th_computer_add_text(&out, th_buf_str(&text));
		if (text.ptr[text.len - 1] != '\n')
			th_buf_add_char(&out, '\n');
	}
	return th_cli_print(&out, done ? 0 : 1);
}
