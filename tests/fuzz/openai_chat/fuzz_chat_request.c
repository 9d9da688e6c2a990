/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a request of Chat Completions: refused with a sentence, or its
 * unified form is JSON and makes the same body again.  And any JSON as a unified
 * request: what it makes is JSON.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "openai_chat/chat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct th_json_doc *parse(struct th_str text)
{
	struct th_json_doc *doc = NULL;

	/* What was added may be too deep for us, never wrong. */
	if (th_json_parse(text, &doc, NULL) == TH_EPROTO)
		abort();
	return doc;
}

/* A member said twice has no one meaning. */
static bool has_twins(const struct th_json *v)
{
	struct th_json_iter it, other;

	for (it = th_json_iter(v); th_json_next(&it);) {
		if (has_twins(it.val))
			return true;
		for (other = it; th_json_is_object(v) && th_json_next(&other);)
			if (th_str_eq(it.key, other.key))
				return true;
	}
	return false;
}

static void check_same(struct th_str body, struct th_str unified)
{
	struct th_buf back = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_doc *given = parse(body), *again;
	struct th_err err = { 0 };

	if (th_chat_request_encode(unified, &back, &err)) {
		if (err.code != TH_ELIMIT)
			abort();
	} else {
		again = parse(th_buf_str(&back));
		if (given && again && !has_twins(th_json_root(given)) &&
		    !th_json_equal(th_json_root(given), th_json_root(again)))
			abort();
		th_json_free(again);
	}
	th_json_free(given);
	th_buf_deinit(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_buf unified = TH_BUF_INIT(TH_REQUEST_MAX), out = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_str body = th_str_n(data, size);
	struct th_err err = { 0 };

	if (th_chat_request_decode(TH_STR(""), body, &unified, &err)) {
		assert(err.msg[0] != '\0' && !unified.len);
	} else {
		th_json_free(parse(th_buf_str(&unified)));
		check_same(body, th_buf_str(&unified));
	}
	if (!th_chat_request_encode(body, &out, &err))
		th_json_free(parse(th_buf_str(&out)));
	th_buf_deinit(&unified);
	th_buf_deinit(&out);
	return 0;
}
