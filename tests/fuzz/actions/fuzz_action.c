/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON -> parse -> print -> parse: whatever is accepted comes back as it is;
 * whatever is refused gets a sentence.  Lines for people stay short.
 */
#include <stdlib.h>

#include "actions/action.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print(const struct th_action *action, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_action_print(action, &w);
	assert(!out->failed);
}

static void check_accepted(const struct th_action *action, struct th_arena *a)
{
	struct th_buf first = TH_BUF_INIT(64 * TH_MIB), second = TH_BUF_INIT(64 * TH_MIB);
	struct th_buf line = TH_BUF_INIT(TH_KIB);
	struct th_json_doc *doc = NULL;
	struct th_action again;
	struct th_err err = {};

	print(action, &first);
	if (th_json_parse(th_buf_str(&first), &doc, &err) < 0 ||
	    th_action_parse(th_json_root(doc), a, &again, &err) < 0)
		abort();
	print(&again, &second);
	if (!th_str_eq(th_buf_str(&first), th_buf_str(&second)))
		abort();
	th_action_line(action, &line);
	assert(!line.failed && !memchr(line.ptr, '\n', line.len));
	if (th_action_check(action, (struct th_size){ 1280, 800 }, &err) < 0)
		assert(err.code == TH_EUSAGE && err.msg[0] != '\0');
	th_json_free(doc);
	th_buf_deinit(&first);
	th_buf_deinit(&second);
	th_buf_deinit(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_json_doc *doc = NULL;
	struct th_action action;
	struct th_arena arena;
	struct th_err err = {};

	if (th_json_parse(th_str_n(data, size), &doc, &err) < 0)
		return 0;
	th_arena_init(&arena, 16 * TH_MIB);
	if (th_action_parse(th_json_root(doc), &arena, &action, &err) == TH_OK)
		check_accepted(&action, &arena);
	else
		assert(err.code == TH_EPROTO && err.msg[0] != '\0');
	th_arena_deinit(&arena);
	th_json_free(doc);
	return 0;
}
