/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "unit.h"

#include "base/limits.h"
#include "wire/cbor.h"

static struct th_err err;

#define BYTES(s) TH_STR_INIT(s)

static void expect(struct th_str cbor, const struct th_cbor_cut *cut, const char *json)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	enum th_code code = th_cbor_to_json(cbor, cut, &out, &err);

	if (json && code)
		fail_msg("%s: %s", json, err.msg);
	if (json && !th_str_is(th_buf_str(&out), json))
		fail_msg("%s, not %s", out.ptr, json);
	if (!json)
		assert_int_equal(code, TH_EPROTO);
	th_buf_deinit(&out);
}

/* As a browser writes them. */
static void test_values(void **state)
{
	static const struct {
		struct th_str cbor;
		const char *json; /* NULL: refused */
	} rows[] = {
		{ BYTES("\x00"), "0" },
		{ BYTES("\x17"), "23" },
		{ BYTES("\x18\xff"), "255" },
		{ BYTES("\x19\x01\x00"), "256" },
		{ BYTES("\x1a\x7f\xff\xff\xff"), "2147483647" },
		{ BYTES("\x20"), "-1" },
		{ BYTES("\x3a\x7f\xff\xff\xff"), "-2147483648" },
		{ BYTES("\x3b\x7f\xff\xff\xff\xff\xff\xff\xff"), "-9223372036854775808" },
		{ BYTES("\x3b\x80\x00\x00\x00\x00\x00\x00\x00"), NULL },
		{ BYTES("\xfb\x3f\xf8\x00\x00\x00\x00\x00\x00"), "1.5" },
		{ BYTES("\xfb\x7f\xf0\x00\x00\x00\x00\x00\x00"), "null" }, /* infinite */
		{ BYTES("\xf4"), "false" },
		{ BYTES("\xf5"), "true" },
		{ BYTES("\xf6"), "null" },
		{ BYTES("\xf7"), NULL },
		{ BYTES("\xfa\x3f\xc0\x00\x00"), NULL },
		{ BYTES("\xff"), NULL },
		{ BYTES("\x1f"), NULL },
		{ BYTES("\x1c"), NULL },
		{ BYTES("\x62hi"), "\"hi\"" },
		{ BYTES("\x63hi"), NULL },
		{ BYTES("\x62h\xff"), "\"h\xef\xbf\xbd\"" },
		{ BYTES("\x44h\0\xe9\0"), "\"h\xc3\xa9\"" },
		{ BYTES("\x44\x3d\xd8\x00\xde"), "\"\xf0\x9f\x98\x80\"" },
		/* Halves of pairs, which JSON cannot say, and pages may. */
		{ BYTES("\x44\x3d\xd8x\0"), "\"\xef\xbf\xbdx\"" },
		{ BYTES("\x44\x00\xdex\0"), "\"\xef\xbf\xbdx\"" },
		{ BYTES("\x42\x3d\xd8"), "\"\xef\xbf\xbd\"" },
		{ BYTES("\x43h\0i"), NULL },
		{ BYTES("\xd6\x43"
			"abc"),
		  "\"YWJj\"" },
		{ BYTES("\xd6\x63"
			"abc"),
		  NULL },
		{ BYTES("\xd7\x43"
			"abc"),
		  NULL },
		{ BYTES("\x9f\x01\x02\xff"), "[1,2]" },
		{ BYTES("\x82\x01\x02"), "[1,2]" },
		{ BYTES("\x83\x01\x02"), NULL },
		{ BYTES("\x9b\xff\xff\xff\xff\xff\xff\xff\xff\x01"), NULL },
		{ BYTES("\x9f\x01"), NULL },
		{ BYTES("\xbf\x61"
			"a\x01\x44h\0\xe9\0\xf6\xff"),
		  "{\"a\":1,\"h\xc3\xa9\":null}" },
		{ BYTES("\xa1\x61"
			"a\x01"),
		  "{\"a\":1}" },
		{ BYTES("\xbf\x61"
			"a\xff"),
		  NULL },
		{ BYTES("\xbf\x01\x01\xff"), NULL },
		{ BYTES("\xd8\x18\x5a\0\0\0\x03\x9f\x01\xff"), "[1]" },
		{ BYTES("\xd8\x18\x5a\0\0\0\x02\x9f\x01\xff"), NULL },   /* too short */
		{ BYTES("\xd8\x18\x5a\0\0\0\x04\x9f\x01\xff\0"), NULL }, /* something behind it */
		{ BYTES("\xd8\x18\x5a\0\0\0\x04\x9f\x01\xff"), NULL },   /* cut off */
		{ BYTES("\x01\x01"), NULL },
		{ BYTES(""), NULL },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		expect(rows[i].cbor, NULL, rows[i].json);
}

static void test_both_ways(void **state)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		/* in parentheses: one string, which clang doubts otherwise */
		("{\"id\":1,\"method\":\"A.b\",\"params\":{\"a\":[true,false,null,-7,2147483647,"
		 "-2147483648,1.25],\"b\":{\"c\":\"\xf0\x9f\x98\x80\"}}}"),
	};
	char longer[300];

	(void)state;
	for (size_t i = 0; i <= TH_COUNT(texts); i++) {
		struct th_buf cbor = TH_BUF_INIT(TH_KIB);
		struct th_json_doc *doc;

		snprintf(longer, sizeof(longer), "[\"%0255d\",4294967296.0]", 0);
		const char *text = i < TH_COUNT(texts) ? texts[i] : longer;
		assert_int_equal(th_json_parse(th_str_of(text), &doc, &err), TH_OK);
		th_cbor_from_json(th_json_root(doc), &cbor);
		assert_int_equal(th_cbor_message_size(th_buf_str(&cbor)), cbor.len);
		expect(th_buf_str(&cbor), NULL, text);
		/* No part of it is a whole message. */
		for (size_t len = 0; len < cbor.len; len++) {
			size_t size = th_cbor_message_size(th_str_sub(th_buf_str(&cbor), 0, len));
			assert_true(len < TH_CBOR_ENVELOPE_SIZE ? size == 0 : size == cbor.len);
			expect(th_str_sub(th_buf_str(&cbor), 0, len), NULL, NULL);
		}
		th_json_free(doc);
		th_buf_deinit(&cbor);
	}
}

static void test_depth(void **state)
{
	char deep[1000];
	struct th_buf out = TH_BUF_INIT(TH_KIB);

	(void)state;
	memset(deep, '\x9f', sizeof(deep));
	assert_int_equal(th_cbor_to_json(th_str_n(deep, sizeof(deep)), NULL, &out, &err),
			 TH_EPROTO);
	th_buf_deinit(&out);
	/* As deep as JSON may be, with an envelope around each. */
	struct th_buf text = TH_BUF_INIT(TH_KIB), cbor = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *doc;
	for (size_t i = 0; i < 2 * TH_JSON_DEPTH_MAX; i++)
		th_buf_add_char(&text, i < TH_JSON_DEPTH_MAX ? '[' : ']');
	assert_int_equal(th_json_parse(th_buf_str(&text), &doc, &err), TH_OK);
	th_cbor_from_json(th_json_root(doc), &cbor);
	expect(th_buf_str(&cbor), NULL, text.ptr);
	th_json_free(doc);
	th_buf_deinit(&text);
	th_buf_deinit(&cbor);
}

/* What is cut is cut in its place alone. */
static void test_cut(void **state)
{
	static const char *const names[] = { "sources", NULL };
	static const struct th_cbor_cut cut = { "nodes", names };
	static const char whole[] = "{\"result\":{\"nodes\":[{\"name\":{\"value\":\"a\","
				    "\"sources\":[1,{}]},\"sources\":1}],"
				    "\"sources\":[2],\"value\":{\"nodes\":[{\"sources\":[3]}]}},"
				    "\"nodes\":[{\"sources\":[4]}]}";
	static const char less[] =
	    "{\"result\":{\"nodes\":[{\"name\":{\"value\":\"a\"},\"sources\":1}],"
	    "\"sources\":[2],\"value\":{\"nodes\":[{\"sources\":[3]}]}},\"nodes\":[{\"sources\":[4]"
	    "}]}";
	struct th_buf cbor = TH_BUF_INIT(TH_KIB);
	struct th_json_doc *doc;

	(void)state;
	assert_int_equal(th_json_parse(th_str_of(whole), &doc, &err), TH_OK);
	th_cbor_from_json(th_json_root(doc), &cbor);
	expect(th_buf_str(&cbor), &cut, less);
	expect(th_buf_str(&cbor), NULL, whole);
	th_json_free(doc);
	th_buf_deinit(&cbor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
