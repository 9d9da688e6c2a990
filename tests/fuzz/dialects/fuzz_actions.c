/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON as an action in OpenAI's words: what is read and can be said again is
 * read as the same; what is refused gets a sentence.
 */
#include <stdlib.h>

#include "dialects/actions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print(const struct th_action *action, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_action_print(action, &w);
}

static void check_inverse(const struct th_action *action, bool keys, struct th_arena *a)
{
	struct th_buf said = TH_BUF_INIT(16 * TH_MIB), first = TH_BUF_INIT(16 * TH_MIB);
	struct th_buf second = TH_BUF_INIT(16 * TH_MIB);
	struct th_jw w = th_jw(&said);
	struct th_json_doc *doc = NULL;
	struct th_action again;
	struct th_err err = { 0 };

	if (th_actions_openai_encode(action, keys, &w, &err)) {
		assert(err.code == TH_EUNSUPPORTED && !said.len);
	} else {
		if (th_json_parse(th_buf_str(&said), &doc, &err) ||
		    th_actions_openai_parse(th_json_root(doc), a, &again, &err))
			abort();
		print(action, &first);
		print(&again, &second);
		if (!th_str_eq(th_buf_str(&first), th_buf_str(&second)))
			abort();
	}
	th_json_free(doc);
	th_buf_deinit(&said);
	th_buf_deinit(&first);
	th_buf_deinit(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_json_doc *doc = NULL;
	struct th_action action;
	struct th_arena a;
	struct th_err err = { 0 };

	if (th_json_parse(th_str_n(data, size), &doc, &err))
		return 0;
	th_arena_init(&a, 16 * TH_MIB);
	if (th_actions_openai_parse(th_json_root(doc), &a, &action, &err)) {
		assert(err.msg[0] != '\0');
	} else {
		check_inverse(&action, true, &a);
		check_inverse(&action, false, &a);
	}
	/* Our own actions, of which the vocabulary has only some. */
	if (!th_action_parse(th_json_root(doc), &a, &action, &err))
		check_inverse(&action, true, &a);
	th_arena_deinit(&a);
	th_json_free(doc);
	return 0;
}
