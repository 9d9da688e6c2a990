/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/exec.h"

#include <stdio.h>

#include "unit.h"

#include "base/limits.h"

static void effect_ids_are_file_names(void **state)
{
	static const char *const good[] = { "a", "0190f5d2-7c1e-7abc-8def-0123456789ab", "A_b-9" };
	static const char *const bad[] = { "", "-a", "a/b", "..", "a b", "a\n", "\xc3\xa9", "a.b" };
	char longest[TH_EFFECT_ID_MAX + 2];

	(void)state;
	for (size_t i = 0; i < TH_COUNT(good); i++)
		assert_true(th_exec_effect_id_ok(th_str_of(good[i])));
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		assert_false(th_exec_effect_id_ok(th_str_of(bad[i])));
	memset(longest, 'x', sizeof(longest));
	assert_true(th_exec_effect_id_ok(th_str_n(longest, TH_EFFECT_ID_MAX)));
	assert_false(th_exec_effect_id_ok(th_str_n(longest, TH_EFFECT_ID_MAX + 1)));
	assert_false(th_exec_effect_id_ok(TH_STR("a\0b")));
}

static void ops_have_names(void **state)
{
	(void)state;
	for (int op = 0; op < TH_EXEC_OP_COUNT; op++)
		assert_int_equal(th_exec_op_find(th_str_of(th_exec_op_name((enum th_exec_op)op))),
				 op);
	assert_int_equal(th_exec_op_find(TH_STR("runs")), -1);
}

static void errors_travel(void **state)
{
	struct th_err out = {}, in = {};
	struct th_buf head = TH_BUF_INIT(4096);
	struct th_json_doc *doc;
	struct th_arena arena;
	struct th_exec_error m;
	enum th_exec_op op;

	(void)state;
	th_arena_init(&arena, 65536);
	th_fail(&out, TH_EFENCED, "a \"newer\" owner has it");
	th_exec_print_error(7, &out, &head);
	assert_int_equal(th_exec_open(th_buf_str(&head), &doc, &op, &in), TH_OK);
	assert_int_equal(op, TH_EXEC_OP_ERROR);
	assert_int_equal(th_table_parse(&th_exec_error_table, th_json_root(doc), &arena, &m, &in),
			 TH_OK);
	assert_int_equal(m.id, 7);
	assert_int_equal(th_exec_error(&m, &in), TH_EFENCED);
	assert_string_equal(in.msg, out.msg);
	m.code = TH_STR("of a later build");
	assert_int_equal(th_exec_error(&m, &in), TH_EPROTO);
	m.code = TH_STR("ok"); /* an error is never fine */
	assert_int_equal(th_exec_error(&m, &in), TH_EPROTO);
	th_json_free(doc);
	th_arena_deinit(&arena);
	th_buf_deinit(&head);
}

static void what_is_no_message_is_refused(void **state)
{
	static const char *const heads[] = { "",
					     "{}",
					     "[]",
					     "1",
					     "{\"op\":1}",
					     "{\"op\":\"\"}",
					     "{\"op\":\"Run\"}",
					     "{\"op\":\"run\"",
					     "\xff" };
	struct th_json_doc *doc = NULL;
	enum th_exec_op op;
	struct th_err err;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(heads); i++) {
		err = (struct th_err){};
		assert_int_equal(th_exec_open(th_str_of(heads[i]), &doc, &op, &err), TH_EPROTO);
		assert_true(err.msg[0] != '\0');
	}
}

/* A process of another build is known by its first word. */
static void another_protocol_is_refused(void **state)
{
	struct th_buf mine = TH_BUF_INIT(4096);
	struct th_err err = {};
	char sentence[128];
	char *at;

	(void)state;
	th_exec_print_role("display", &mine);
	assert_int_equal(th_exec_check_role(th_buf_str(&mine), "display", &err), TH_OK);
	assert_int_equal(th_exec_check_role(th_buf_str(&mine), "executor", &err), TH_EPROTO);
	at = strstr(mine.ptr, "\"protocol\":");
	assert_non_null(at);
	at[strlen("\"protocol\":")] = '9';
	assert_int_equal(th_exec_check_role(th_buf_str(&mine), "display", &err), TH_EUNSUPPORTED);
	snprintf(sentence, sizeof(sentence),
		 "it speaks version 9 of the protocol, this process version %d", TH_EXEC_PROTOCOL);
	assert_string_equal(err.msg, sentence);
	th_buf_deinit(&mine);
}

/* And one that was there before is, by its hello; an older build says none. */
static void another_version_is_not_adopted(void **state)
{
	struct th_err err = {};

	(void)state;
	assert_int_equal(th_exec_check_protocol(TH_EXEC_PROTOCOL, &err), TH_OK);
	assert_int_equal(th_exec_check_protocol(0, &err),
			 TH_EXEC_PROTOCOL == 1 ? TH_OK : TH_EUNSUPPORTED);
	assert_int_equal(th_exec_check_protocol(TH_EXEC_PROTOCOL + 1, &err), TH_EUNSUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(effect_ids_are_file_names),
		cmocka_unit_test(ops_have_names),
		cmocka_unit_test(errors_travel),
		cmocka_unit_test(what_is_no_message_is_refused),
		cmocka_unit_test(another_protocol_is_refused),
		cmocka_unit_test(another_version_is_not_adopted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
