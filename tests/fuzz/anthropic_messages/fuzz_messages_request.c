/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a request: what is taken comes back as the same JSON value; what
 * is not has a sentence.  The same bytes as a unified request, and as the input
 * of the computer tool.
 */
#include <stdlib.h>

#include "anthropic_messages/messages.h"
#include "base/limits.h"
#include "dialects/actions_anthropic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whether a member stands twice in an object, or a name is written with escapes: of the first only
 * one counts, and tables are of plain names. */
static bool is_odd(struct th_str raw, const struct th_json *v)
{
	struct th_json_iter it = th_json_iter(v);

	if (th_str_find(raw, TH_STR("\\u")) >= 0)
		return true;
	while (th_json_next(&it)) {
		if (th_json_is_object(v) && th_json_getn(v, it.key) != it.val)
			return true;
		if (is_odd(TH_STR(""), it.val))
			return true;
	}
	return false;
}

static void check_body(struct th_str body, struct th_str unified)
{
	struct th_buf out = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_doc *a = NULL, *b = NULL;
	struct th_err err = { 0 };
	enum th_code code = th_messages_request_encode(unified, &out, &err);

	if (code == TH_ELIMIT)
		goto out; /* nested deeper by the raw forms than JSON may be */
	if (code || th_json_parse(body, &a, NULL) || th_json_parse(th_buf_str(&out), &b, NULL))
		abort();
	if (!is_odd(body, th_json_root(a)) && !th_json_equal(th_json_root(a), th_json_root(b)))
		abort();
out:
	th_json_free(a);
	th_json_free(b);
	th_buf_deinit(&out);
}

static void check_input(struct th_str text)
{
	struct th_dialect_context c = { .screen = { 640, 480 }, .image = { 320, 240 } };
	struct th_buf out = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_jw w = th_jw(&out);
	struct th_json_doc *doc = NULL;
	struct th_err err = { 0 };
	struct th_str name;

	if (th_model_resolve(TH_STR("claude-5-x"), &c.profile, &name, NULL))
		abort();
	if (!th_json_parse(text, &doc, NULL)) {
		th_jw_array(&w);
		if (th_actions_anthropic_read(&c, th_json_root(doc), &w, &err) && !err.msg[0])
			abort();
		th_jw_array_end(&w);
		th_json_free(doc);
		doc = NULL;
		if (th_json_parse(th_buf_str(&out), &doc, NULL))
			abort();
	}
	th_json_free(doc);
	th_buf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str body = th_str_n(data, size);
	struct th_buf out = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_err err = { 0 };

	if (!th_messages_request_decode(TH_STR(""), body, &out, &err))
		check_body(body, th_buf_str(&out));
	else if (!err.msg[0])
		abort();
	th_buf_clear(&out);
	err.msg[0] = '\0';
	if (th_messages_request_encode(body, &out, &err) && !err.msg[0])
		abort();
	th_buf_deinit(&out);
	check_input(body);
	return 0;
}
