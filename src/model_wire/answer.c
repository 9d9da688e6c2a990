/* SPDX-License-Identifier: Apache-2.0 */
#include "model_wire/answer.h"

#include "base/limits.h"
#include "base/text.h"

enum th_body_mode th_body_look(size_t *bom_len, struct th_str *bytes)
{
	while (bytes->len) {
		char c = bytes->ptr[0];

		if (*bom_len < 3 && c == "\xef\xbb\xbf"[*bom_len])
			(*bom_len)++;
		else if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
			break;
		*bytes = th_str_sub(*bytes, 1, bytes->len);
	}
	if (!bytes->len)
		return TH_BODY_LOOKING;
	return bytes->ptr[0] == '{' || bytes->ptr[0] == '[' ? TH_BODY_JSON : TH_BODY_STREAM;
}

void th_answer_init(struct th_answer *ret)
{
	*ret = (struct th_answer){
		.status = TH_ANSWER_FAILED,
		.items = TH_STR("[]"),
		.usage = { -1, -1, -1, -1, -1, -1 },
	};
}

void th_answer_fail(struct th_answer *ret, enum th_failure class, struct th_str message)
{
	ret->status = TH_ANSWER_FAILED;
	ret->error_class = th_str_of(th_failure_name(class));
	ret->error_message = message;
}

/* ---- errors ---- */

const struct th_json *th_answer_find_error(const struct th_json *root, struct th_str *raw)
{
	const struct th_json *error;

	if (th_json_is_array(root)) {
		struct th_json_raw_iter it = th_json_raw_iter(*raw);

		root = th_json_at(root, 0);
		*raw = th_json_raw_next(&it) ? it.val : (struct th_str){ NULL, 0 };
	}
	error = th_json_get(root, "error");
	if (th_json_is_null(error))
		return root;
	*raw = th_json_raw_get(*raw, "error");
	return error;
}

/* The first of these members that is a string with something in it. */
static struct th_str first_str(const struct th_json *v, const char *a, const char *b)
{
	struct th_str s = th_json_get_str(v, a);

	return s.len ? s : th_json_get_str(v, b);
}

/* An HTTP status that stands as a number inside an answer. */
static int status_in(const struct th_json *error)
{
	int64_t status = th_json_get_int(error, "code", 0);

	if (status < 400)
		status = th_json_get_int(error, "status_code", 0);
	return status >= 400 && status < 600 ? (int)status : 0;
}

void th_answer_take_error(struct th_answer *ret, const struct th_json *error, struct th_str raw,
			  int http_status)
{
	struct th_str code = th_json_get_str(error, "code");
	struct th_str type = first_str(error, "type", "status");
	struct th_str message = first_str(error, "message", "detail");

	if (!http_status)
		http_status = status_in(error);
	if (!message.len)
		message = th_json_str(error);
	if (!message.len)
		message = code.len ? code : TH_STR("the provider gave no reason");
	th_answer_fail(ret, th_failure_of(http_status, code, type), message);
	ret->error_code = code.len ? code : type;
	if (!ret->error_code.len && th_json_get_int(error, "code", 0) > 0)
		ret->error_code = th_json_raw_get(raw, "code");
	ret->error_raw = raw;
}

struct th_str th_answer_beginning(struct th_buf *text, const char *lead, struct th_str body)
{
	th_buf_clear(text);
	th_buf_add_cstr(text, lead);
	th_text_line(text, th_str_trim(th_str_sub(body, 0, TH_ANSWER_START_MAX)), 200);
	return th_buf_str(text);
}

/* ---- endings ---- */

bool th_answer_body(struct th_answer *ret, struct th_str body, bool cut, struct th_json_doc **doc,
		    struct th_err *err)
{
	enum th_code code = th_json_parse(body, doc, err);

	if (!code)
		return true;
	if (cut)
		th_fail(err, TH_ECONN, "the answer was cut after %zu bytes", body.len);
	else
		th_prefix(err, code, "the answer's body");
	th_answer_fail(ret,
		       cut                 ? TH_FAILURE_CUT
		       : code == TH_ELIMIT ? TH_FAILURE_LIMIT
					   : TH_FAILURE_MALFORMED,
		       th_str_of(err->msg));
	return false;
}

void th_answer_unfinished(struct th_answer *ret, bool broken, size_t events, struct th_str body,
			  struct th_buf *text)
{
	if (broken)
		th_answer_fail(ret, TH_FAILURE_MALFORMED,
			       TH_STR("the stream ended without its end, and an event of it was "
				      "not JSON"));
	else if (!events && body.len)
		th_answer_fail(ret, TH_FAILURE_MALFORMED,
			       th_answer_beginning(text,
						   "the answer is neither JSON nor an event "
						   "stream; it begins: ",
						   body));
	else if (!events)
		th_answer_fail(ret, TH_FAILURE_CUT, TH_STR("the answer's body is empty"));
	else
		th_answer_fail(ret, TH_FAILURE_CUT,
			       TH_STR("the stream ended before the answer did"));
}

/* What a document is about: the text of the first of these elements that has one, or all of it. */
static struct th_str element_text(struct th_str body, const char *const *tags)
{
	for (; *tags; tags++) {
		ptrdiff_t at = th_str_find(body, th_str_of(*tags)), end;
		struct th_str text;

		if (at < 0)
			continue;
		text = th_str_sub(body, (size_t)at + strlen(*tags), body.len);
		end = th_str_find_char(text, '<');
		text = th_str_trim(th_str_sub(text, 0, end < 0 ? 0 : (size_t)end));
		if (text.len)
			return text;
	}
	return body;
}

/* In short what stands there in place of an error of the API: of a proxy, of a cloud's storage, or
 * at a wrong address. */
static struct th_str foreign_error(struct th_buf *text, struct th_str body)
{
	static const char *const titles[] = { "<title>", "<TITLE>", NULL };
	static const char *const messages[] = { "<Message>", "<message>", NULL };
	struct th_str start = th_str_trim(body);

	if (!th_str_starts(start, TH_STR("<")))
		return th_answer_beginning(text, "", body);
	/* XHTML begins as any XML does. */
	if (th_str_starts(start, TH_STR("<?xml")) && th_str_find(body, TH_STR("<html")) < 0)
		return th_answer_beginning(text, "the server sent XML, not an answer of the API: ",
					   element_text(body, messages));
	return th_answer_beginning(
	    text, "the server sent HTML, not an answer of the API: ", element_text(body, titles));
}

bool th_answer_http_error(struct th_answer *ret, struct th_str *raw, bool json, int http_status,
			  struct th_json_doc **doc, const struct th_json **error,
			  struct th_buf *text)
{
	if (json && !th_json_parse(*raw, doc, NULL)) {
		*error = th_answer_find_error(th_json_root(*doc), raw);
		return true;
	}
	th_answer_fail(ret, th_failure_of(http_status, TH_STR(""), TH_STR("")),
		       raw->len ? foreign_error(text, *raw) : TH_STR("the server gave no reason"));
	return false;
}

int64_t th_answer_tokens(const struct th_json *usage, const char *key)
{
	int64_t count = th_json_get_int(usage, key, -1);

	return count < 0 ? -1 : count;
}

/* ---- deltas ---- */

void th_delta_text_init(struct th_delta_text *t)
{
	*t = (struct th_delta_text){ 0 };
	th_buf_init(&t->joined, TH_ANSWER_MAX);
	th_buf_init(&t->text, TH_ANSWER_MAX);
}

void th_delta_text_deinit(struct th_delta_text *t)
{
	th_buf_deinit(&t->joined);
	th_buf_deinit(&t->text);
}

/* Bytes at the end of a raw text that are the first half of a character. */
static size_t half_of(struct th_str s)
{
	const char *u = s.ptr + s.len - TH_MIN(s.len, (size_t)6);
	size_t slashes = 0;

	if (s.len < 6 || u[0] != '\\' || u[1] != 'u' || (u[2] | 0x20) != 'd' ||
	    !memchr("89abAB", u[3], 6))
		return 0;
	while (u - slashes > s.ptr && u[-1 - (ptrdiff_t)slashes] == '\\')
		slashes++;
	return slashes % 2 ? 0 : 6;
}

struct th_str th_delta_text_of(struct th_delta_text *t, struct th_str raw)
{
	struct th_str inside = th_str_sub(raw, 1, raw.len >= 2 ? raw.len - 2 : 0);
	size_t half = half_of(inside);

	if (half || t->half_len) {
		th_buf_clear(&t->joined);
		th_buf_add_char(&t->joined, '"');
		th_buf_add_mem(&t->joined, t->half, t->half_len);
		th_buf_add(&t->joined, th_str_sub(inside, 0, inside.len - half));
		th_buf_add_char(&t->joined, '"');
		if (half)
			memcpy(t->half, inside.ptr + inside.len - half, half);
		t->half_len = half;
		raw = th_buf_str(&t->joined);
	}
	th_buf_clear(&t->text);
	if (!th_json_unescape(raw, &t->text))
		th_buf_clear(&t->text);
	return th_buf_str(&t->text);
}
