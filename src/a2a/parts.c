/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts.c - the parts of a message of the A2A protocol, as the model reads them.
 *
 * A picture or a PDF is given to it as such; a file of text is text under its name; of a file at an
 * address it reads the address, and nothing is fetched.
 */
#include "a2a/internal.h"
#include "base/text.h"

static int fail(int code, const char *why, struct th_err *err)
{
	(void)th_fail(err, TH_EPROTO, "%s", why);
	return code;
}

static void put_text(struct th_a2a_said *s, struct th_str text)
{
	if (s->text.len && text.len)
		th_buf_add_char(&s->text, '\n');
	th_buf_add(&s->text, text);
	if (!text.len)
		return;
	th_jw_object(&s->w);
	th_jw_kstr(&s->w, "type", TH_STR("input_text"));
	th_jw_kstr(&s->w, "text", text);
	th_jw_object_end(&s->w);
}

/* ---- files by their bytes ---- */

static bool is_picture(struct th_str type)
{
	return th_str_is(type, "image/png") || th_str_is(type, "image/jpeg") ||
	       th_str_is(type, "image/webp") || th_str_is(type, "image/gif");
}

/* An unknown one may be text: its bytes say so. */
static bool may_be_text(struct th_str type)
{
	static const char *const known[] = { "application/json",       "application/xml",
					     "application/yaml",       "application/x-yaml",
					     "application/javascript", "application/sql",
					     "application/toml" };

	if (!type.len || th_str_starts(type, TH_STR("text/")) ||
	    th_str_ends(type, TH_STR("+json")) || th_str_ends(type, TH_STR("+xml")))
		return true;
	for (size_t i = 0; i < TH_COUNT(known); i++)
		if (th_str_is(type, known[i]))
			return true;
	return false;
}

static void put_bytes(struct th_a2a_said *s, bool picture, struct th_str type, struct th_str name,
		      struct th_str base64)
{
	struct th_buf url TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MESSAGE_MAX);

	th_buf_printf(&url, "data:%.*s;base64,", TH_FMT(type));
	th_buf_add(&url, base64);
	s->items.failed |= url.failed;
	s->files = true;
	th_jw_object(&s->w);
	th_jw_kstr(&s->w, "type", picture ? TH_STR("input_image") : TH_STR("input_file"));
	if (!picture)
		th_jw_kstr(&s->w, "filename", name.len ? name : TH_STR("file.pdf"));
	th_jw_kstr(&s->w, picture ? "image_url" : "file_data", th_buf_str(&url));
	th_jw_object_end(&s->w);
}

static bool put_text_file(struct th_a2a_said *s, struct th_str name, struct th_str bytes)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MESSAGE_MAX);

	if (th_utf8_valid(bytes) != bytes.len || memchr(bytes.ptr ?: "", 0, bytes.len))
		return false;
	th_buf_printf(&text, "%.*s:\n```\n", TH_FMT(name.len ? name : TH_STR("file")));
	th_buf_add(&text, bytes);
	th_buf_add_cstr(&text, "\n```");
	s->text.failed |= text.failed;
	put_text(s, th_buf_str(&text));
	return true;
}

/* 0, or the code of an error; so below. */
static int put_file(struct th_a2a_said *s, struct th_str type, struct th_str name,
		    struct th_str base64, struct th_err *err)
{
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MESSAGE_MAX);
	bool picture = is_picture(type);

	if (base64.len > TH_MESSAGE_MAX) {
		s->items.failed = true;
		return 0;
	}
	if (!th_base64_decode(&bytes, base64) || memchr(name.ptr ?: "", 0, name.len))
		return fail(TH_RPC_EPARAMS, "the bytes of a file are base64", err);
	if (picture || th_str_is(type, "application/pdf")) {
		put_bytes(s, picture, type, name, base64);
		return 0;
	}
	if (may_be_text(type) && put_text_file(s, name, th_buf_str(&bytes)))
		return 0;
	return fail(TH_A2A_ETYPE,
		    "the bytes of a file are a picture (PNG, JPEG, WebP, GIF), a PDF or text in "
		    "UTF-8, as its media type says",
		    err);
}

/* ---- parts ---- */

/* In the words of 1.0, or of 0.3 (`file`). */
static int read_part(const struct th_json *part, struct th_a2a_said *s, struct th_err *err)
{
	const struct th_json *data = th_json_get(part, "data"), *file = th_json_get(part, "file");
	struct th_str text = th_json_get_str(part, "text");
	struct th_str raw = th_json_get_str(file ? file : part, file ? "bytes" : "raw");
	struct th_str url = th_json_get_str(file ? file : part, file ? "uri" : "url");
	struct th_str type = th_json_get_str(file ? file : part, file ? "mimeType" : "mediaType");
	struct th_str name = th_json_get_str(file ? file : part, file ? "name" : "filename");

	if (text.ptr) {
		put_text(s, text);
	} else if (th_json_get_str(data, "decision").len) {
		s->decision = data;
	} else if (data) {
		struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MESSAGE_MAX);

		th_json_print(data, &json);
		s->text.failed |= json.failed;
		put_text(s, th_buf_str(&json));
	} else if (raw.len) {
		return put_file(s, type, name, raw, err);
	} else if (url.len) {
		put_text(s, url);
	} else {
		return fail(TH_A2A_ETYPE, "a part is text, data, or a file (raw or url)", err);
	}
	return 0;
}

static void begin(struct th_a2a_said *s)
{
	th_buf_init(&s->text, TH_MESSAGE_MAX);
	th_buf_init(&s->items, TH_MESSAGE_MAX);
	s->w = th_jw(&s->items);
	th_jw_array(&s->w);
	th_jw_object(&s->w);
	th_jw_kstr(&s->w, "type", TH_STR("message"));
	th_jw_kstr(&s->w, "role", TH_STR("user"));
	th_jw_name(&s->w, TH_STR("content"));
	th_jw_array(&s->w);
}

int th_a2a_said_read(const struct th_json *message, struct th_a2a_said *s, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(th_json_get(message, "parts"));
	int code = 0;

	*s = (struct th_a2a_said){ 0 };
	begin(s);
	while (!code && th_json_next(&it))
		code = read_part(it.val, s, err);
	th_jw_array_end(&s->w);
	th_jw_object_end(&s->w);
	th_jw_array_end(&s->w);
	if (code)
		return code;
	if (s->text.failed || (s->files && s->items.failed) ||
	    (!s->text.len && !s->decision && !s->files) ||
	    memchr(s->text.ptr ?: "", 0, s->text.len))
		return fail(TH_RPC_EPARAMS,
			    "message.parts hold 1 byte to 4 MiB, files in base64 among them, and "
			    "their text has no zero",
			    err);
	return 0;
}

void th_a2a_said_deinit(struct th_a2a_said *s)
{
	th_buf_deinit(&s->text);
	th_buf_deinit(&s->items);
}
