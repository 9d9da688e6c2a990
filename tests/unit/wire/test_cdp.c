/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "unit.h"

#include "base/limits.h"
#include "wire/cbor.h"
#include "wire/cdp.h"

#define assert_str(a, b) assert_true(th_str_is(a, b))

static struct th_err err;

static void add(struct th_buf *out, const char *json)
{
	struct th_json_doc *doc;

	assert_int_equal(th_json_parse(th_str_of(json), &doc, &err), TH_OK);
	th_cbor_from_json(th_json_root(doc), out);
	th_json_free(doc);
}

static void expect(struct th_str cbor, const char *json)
{
	struct th_buf text = TH_BUF_INIT(TH_KIB);

	assert_int_equal(th_cbor_to_json(cbor, NULL, &text, &err), TH_OK);
	assert_str(th_buf_str(&text), json);
	th_buf_deinit(&text);
}

/* Messages come in any pieces. */
static void test_framing(void **state)
{
	static const char *const whole[] = { "{\"id\":1}", "[]", "{\"method\":\"a\"}" };
	struct th_buf stream = TH_BUF_INIT(TH_KIB);
	struct th_str text;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(whole); i++)
		add(&stream, whole[i]);
	add(&stream, "[\"the first half of it comes\"]");
	stream.len -= 10;
	for (size_t step = 1; step < stream.len; step++) {
		size_t count = 0;
		struct th_cdp_in in;

		th_cdp_in_init(&in);
		for (size_t at = 0; at < stream.len; at += step) {
			assert_int_equal(
			    th_cdp_in_add(&in, th_str_sub(th_buf_str(&stream), at, step), &err),
			    TH_OK);
			while (th_cdp_in_next(&in, &text)) {
				assert_true(count < TH_COUNT(whole));
				expect(text, whole[count++]);
			}
		}
		assert_int_equal(count, TH_COUNT(whole));
		th_cdp_in_deinit(&in);
	}
	th_buf_deinit(&stream);
}

/* Of what is no message each byte is given out, and refused by whoever reads it. */
static void test_strange(void **state)
{
	static const char text[] = "{\"id\":1}\xd8\x18{";
	struct th_json_doc *doc = NULL;
	struct th_cdp_message m;
	struct th_cdp_in in;
	struct th_str byte;
	size_t count = 0;

	(void)state;
	th_cdp_in_init(&in);
	assert_int_equal(th_cdp_in_add(&in, th_str_of(text), &err), TH_OK);
	while (th_cdp_in_next(&in, &byte)) {
		assert_int_equal(byte.len, 1);
		assert_int_equal(byte.ptr[0], text[count++]);
		assert_int_equal(th_cdp_read(byte, &doc, &m, &err), TH_EPROTO);
		doc = th_json_free(doc);
	}
	assert_int_equal(count, sizeof(text) - 1);
	th_cdp_in_deinit(&in);
}

static void test_too_large(void **state)
{
	enum { PIECE = 1024 * 1024 };
	char *piece = th_alloc(PIECE);
	enum th_code code = TH_OK;
	struct th_cdp_in in;
	struct th_str text;
	size_t came = 0;

	(void)state;
	memset(piece, 'x', PIECE);
	th_cdp_in_init(&in);
	assert_int_equal(th_cdp_in_add(&in, TH_STR("\xd8\x18\x5a\xff\xff\xff\xff"), &err), TH_OK);
	while (!code && came < 2 * TH_JSON_SIZE_MAX) {
		code = th_cdp_in_add(&in, th_str_n(piece, PIECE), &err);
		came += PIECE;
		assert_false(th_cdp_in_next(&in, &text));
	}
	assert_int_equal(code, TH_ELIMIT);
	assert_true(came > TH_JSON_SIZE_MAX && came <= TH_JSON_SIZE_MAX + 2 * PIECE);
	th_cdp_in_deinit(&in);
	free(piece);
}

static void test_messages(void **state)
{
	static const struct {
		const char *text;
		enum th_code code;
		int64_t id;
		const char *method, *session, *error;
	} rows[] = {
		{ "{\"id\":7,\"result\":{\"a\":1}}", TH_OK, 7, "", "", "" },
		{ "{\"id\":7,\"result\":{},\"sessionId\":\"S\"}", TH_OK, 7, "", "S", "" },
		{ "{\"id\":7,\"error\":{\"code\":-1,\"message\":\"no\"}}", TH_OK, 7, "", "", "no" },
		{ "{\"id\":7}", TH_OK, 7, "", "", "" },
		{ "{\"id\":7,\"error\":3}", TH_OK, 7, "", "", "" },
		{ "{\"method\":\"A.b\",\"params\":{},\"sessionId\":\"S\"}", TH_OK, 0, "A.b", "S",
		  "" },
		{ "{\"method\":\"A.b\"}", TH_OK, 0, "A.b", "", "" },
		{ "{\"method\":\"A.b\",\"id\":1}", TH_EPROTO, 0, 0, 0, 0 },
		{ "{\"id\":-1,\"result\":{}}", TH_EPROTO, 0, 0, 0, 0 },
		{ "{\"id\":\"1\",\"result\":{}}", TH_EPROTO, 0, 0, 0, 0 },
		{ "{}", TH_EPROTO, 0, 0, 0, 0 },
		{ "[]", TH_EPROTO, 0, 0, 0, 0 },
		{ "\"\"", TH_EPROTO, 0, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_buf cbor = TH_BUF_INIT(TH_KIB);
		struct th_json_doc *doc = NULL;
		struct th_cdp_message m;

		add(&cbor, rows[i].text);
		enum th_code code = th_cdp_read(th_buf_str(&cbor), &doc, &m, &err);

		if (code != rows[i].code)
			fail_msg("%s: %s", rows[i].text, th_code_name(code));
		if (!code) {
			assert_int_equal(m.id, rows[i].id);
			assert_str(m.method, rows[i].method);
			assert_str(m.session, rows[i].session);
			assert_str(m.error, rows[i].error);
			assert_true(!m.result == !strstr(rows[i].text, "result"));
		}
		th_json_free(doc);
		th_buf_deinit(&cbor);
	}
}

static void test_commands(void **state)
{
	struct th_buf line = TH_BUF_INIT(TH_KIB), out = TH_BUF_INIT(TH_KIB);
	struct th_cdp_in in;
	struct th_str text;

	(void)state;
	struct th_jw w = th_cdp_begin(&line, 3, TH_STR("S\""), "Page.navigate");
	th_jw_kstr(&w, "url", TH_STR("a\0b"));
	assert_int_equal(th_cdp_end(&w, &out, &err), TH_OK);
	w = th_cdp_begin(&line, 4, TH_STR(""), "Browser.close");
	assert_int_equal(th_cdp_end(&w, &out, &err), TH_OK);
	th_cdp_in_init(&in);
	assert_int_equal(th_cdp_in_add(&in, th_buf_str(&out), &err), TH_OK);
	assert_true(th_cdp_in_next(&in, &text));
	expect(text, "{\"id\":3,\"method\":\"Page.navigate\",\"sessionId\":\"S\\\"\","
		     "\"params\":{\"url\":\"a\\u0000b\"}}");
	assert_true(th_cdp_in_next(&in, &text));
	expect(text, "{\"id\":4,\"method\":\"Browser.close\",\"params\":{}}");
	assert_false(th_cdp_in_next(&in, &text));
	th_cdp_in_deinit(&in);
	/* One that does not fit is said to. */
	w = th_cdp_begin(&line, 5, TH_STR(""), "Page.navigate");
	for (size_t i = 0; i < 2 * TH_KIB; i++)
		th_jw_kstr(&w, "url", TH_STR("a"));
	assert_int_equal(th_cdp_end(&w, &out, &err), TH_ELIMIT);
	th_buf_deinit(&line);
	th_buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_framing),   cmocka_unit_test(test_strange),
		cmocka_unit_test(test_too_large), cmocka_unit_test(test_messages),
		cmocka_unit_test(test_commands),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
