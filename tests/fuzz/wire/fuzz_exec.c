/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads of messages between runtime, executor and display: any bytes are
 * refused with a sentence or read by the tables; what is read and printed is
 * read again as the same.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "wire/exec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct th_table *t, const struct th_json *v, struct th_arena *a)
{
	struct th_buf first = TH_BUF_INIT(64 * TH_MIB), second = TH_BUF_INIT(64 * TH_MIB);
	struct th_json_doc *doc = NULL;
	struct th_err err = {};
	void *m = th_arena_alloc(a, t->size), *again = th_arena_alloc(a, t->size);

	if (!m || !again)
		return;
	if (th_table_parse(t, v, a, m, &err)) {
		assert(err.code != TH_OK && err.msg[0] != '\0');
	} else {
		th_exec_print(t, m, &first);
		if (th_json_parse(th_buf_str(&first), &doc, &err) ||
		    th_table_parse(t, th_json_root(doc), a, again, &err))
			abort();
		th_exec_print(t, again, &second);
		if (!th_str_eq(th_buf_str(&first), th_buf_str(&second)))
			abort();
	}
	th_json_free(doc);
	th_buf_deinit(&first);
	th_buf_deinit(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
#define X(name) &th_##name##_table,
	static const struct th_table *const tables[] = { TH_EXEC_MESSAGES(X) };
#undef X
	struct th_str head = th_str_n(data, size);
	struct th_json_doc *doc = NULL;
	struct th_err err = {};
	struct th_arena arena;
	enum th_exec_op op = TH_EXEC_OP_COUNT;

	(void)th_exec_effect_id_ok(head);
	if (th_exec_open(head, &doc, &op, &err)) {
		assert(err.msg[0] != '\0');
		return 0;
	}
	assert(op < TH_EXEC_OP_COUNT);
	th_arena_init(&arena, 64 * TH_MIB);
	for (size_t i = 0; i < TH_COUNT(tables); i++)
		check(tables[i], th_json_root(doc), &arena);
	th_arena_deinit(&arena);
	th_json_free(doc);
	return 0;
}
