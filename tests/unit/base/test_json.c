/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"
#include "rig.h"

#define FFFD "\xef\xbf\xbd"

static struct th_json_doc *parse(struct th_str text)
{
	struct th_json_doc *doc;
	struct th_err err;
	char *exact = exact_copy(text.ptr, text.len);

	if (th_json_parse(th_str_n(exact, text.len), &doc, &err) != TH_OK)
		fail_msg("%.*s: %s", TH_FMT(text), err.msg);
	if (!th_json_valid(th_str_n(exact, text.len)))
		fail_msg("not valid: %.*s", TH_FMT(th_str_sub(text, 0, 1000)));
	free(exact); /* the document keeps its own copy */
	return doc;
}

static void refused(struct th_str text, enum th_code wanted)
{
	struct th_json_doc *doc = (void *)1;
	struct th_err err = { 0 };
	char *exact = exact_copy(text.ptr, text.len);

	if (th_json_valid(th_str_n(exact, text.len)))
		fail_msg("valid: %.*s", TH_FMT(th_str_sub(text, 0, 1000)));
	if (th_json_parse(th_str_n(exact, text.len), &doc, &err) != wanted)
		fail_msg("not refused so: %.*s (%s)", TH_FMT(text), err.msg);
	assert_null(doc);
	assert_int_equal(err.code, wanted);
	assert_true(err.msg[0] && !strchr(err.msg, '\n'));
	assert_int_equal(th_utf8_valid(th_str_of(err.msg)), strlen(err.msg));
	free(exact);
}

/* ---- what is JSON ---- */

static void accepts(void **state)
{
	static const struct th_str good[] = {
		TH_STR_INIT("null"),
		TH_STR_INIT(" \t\r\n1 \n"),
		TH_STR_INIT("[]"),
		TH_STR_INIT("{}"),
		TH_STR_INIT("\"\""),
		TH_STR_INIT("-0"),
		TH_STR_INIT("-0.0e-0"),
		TH_STR_INIT("1E+2"),
		TH_STR_INIT("\"\\u0000\""),
		TH_STR_INIT("\"\\ud83d\\ude00\""),
		TH_STR_INIT("\"\x7f\""),
		TH_STR_INIT("\"\xf4\x8f\xbf\xbf\""),
		TH_STR_INIT("{\"\":0,\"\":1}"),
		TH_STR_INIT("[1,[2,{\"a\":[]}],\"x\"]"),
		TH_STR_INIT("1e-400"),
		TH_STR_INIT("\"\\/\\b\\f\\n\\r\\t\\\"\\\\\""),
		TH_STR_INIT("123456789012345678901234567890"),
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(good); i++)
		th_json_free(parse(good[i]));
}

static void refuses(void **state)
{
	static const struct th_str bad[] = {
		{ NULL, 0 },
		TH_STR_INIT(" "),
		TH_STR_INIT("nul"),
		TH_STR_INIT("nullx"),
		TH_STR_INIT("True"),
		TH_STR_INIT("NaN"),
		TH_STR_INIT("Infinity"),
		TH_STR_INIT("-inf"),
		TH_STR_INIT("1 2"),
		TH_STR_INIT("{} {}"),
		TH_STR_INIT("[]]"),
		TH_STR_INIT("[1,]"),
		TH_STR_INIT("[,1]"),
		TH_STR_INIT("[1 2]"),
		TH_STR_INIT("{\"a\":1,}"),
		TH_STR_INIT("{\"a\" 1}"),
		TH_STR_INIT("{a:1}"),
		TH_STR_INIT("{1:1}"),
		TH_STR_INIT("{\"a\":}"),
		TH_STR_INIT("{\"a\"}"),
		TH_STR_INIT("[}"),
		TH_STR_INIT("[1}"),
		TH_STR_INIT("'a'"),
		TH_STR_INIT("// c\n1"),
		TH_STR_INIT("/**/1"),
		TH_STR_INIT("+1"),
		TH_STR_INIT("01"),
		TH_STR_INIT("-"),
		TH_STR_INIT("1."),
		TH_STR_INIT(".5"),
		TH_STR_INIT("1e"),
		TH_STR_INIT("0x1"),
		TH_STR_INIT("1e999"),
		TH_STR_INIT("-1e999"),
		TH_STR_INIT("--1"),
		TH_STR_INIT("-01"),
		TH_STR_INIT("\""),
		TH_STR_INIT("\"\\"),
		TH_STR_INIT("\"\\\""),
		TH_STR_INIT("\"\\x\""),
		TH_STR_INIT("\"\\u12\""),
		TH_STR_INIT("\"\\u123g\""),
		TH_STR_INIT("\"\\U0041\""),
		TH_STR_INIT("\"a\nb\""),
		TH_STR_INIT("\"a\0b\""),
		TH_STR_INIT("\"\x1f\""),
		TH_STR_INIT("\"\\ud800\""),
		TH_STR_INIT("\"\\udc00\""),
		TH_STR_INIT("\"\\ud800\\ud800\""),
		TH_STR_INIT("\"\\ud800x\""),
		TH_STR_INIT("\"\\ud800\\u0041\""),
		TH_STR_INIT("\"\xff\""),
		TH_STR_INIT("\"\xc3\""),
		TH_STR_INIT("\"\xc0\xaf\""),
		TH_STR_INIT("\"\xed\xa0\x80\""),
		TH_STR_INIT("\"\xf4\x90\x80\x80\""),
		TH_STR_INIT("\"\xe2\x82\""),
		TH_STR_INIT("\xef\xbb\xbf{}"),
		TH_STR_INIT("1\0"),
		TH_STR_INIT("\0"),
		TH_STR_INIT("{}\0"),
		TH_STR_INIT("[1]x"),
		TH_STR_INIT("[\v1]"),
		TH_STR_INIT("[\xc2\xa0]"),
		TH_STR_INIT("\\u0031"),
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		refused(bad[i], TH_EPROTO);
}

static struct th_str nested(struct th_buf *out, const char *open, const char *close, size_t depth)
{
	th_buf_clear(out);
	for (size_t i = 0; i < depth; i++)
		th_buf_add_cstr(out, open);
	th_buf_add_cstr(out, "1");
	for (size_t i = 0; i < depth; i++)
		th_buf_add_cstr(out, close);
	return th_buf_str(out);
}

static void depth_limit(void **state)
{
	struct th_buf b = TH_BUF_INIT(10 * TH_MIB);

	(void)state;
	th_json_free(parse(nested(&b, "[", "]", TH_JSON_DEPTH_MAX)));
	th_json_free(parse(nested(&b, "{\"a\":", "}", TH_JSON_DEPTH_MAX)));
	th_json_free(parse(nested(&b, "[{\"a\":", "}]", TH_JSON_DEPTH_MAX / 2)));
	refused(nested(&b, "[", "]", TH_JSON_DEPTH_MAX + 1), TH_ELIMIT);
	refused(nested(&b, "{\"a\":", "}", TH_JSON_DEPTH_MAX + 1), TH_ELIMIT);
	refused(nested(&b, "[", "]", 1000000), TH_ELIMIT);
	refused(nested(&b, "[", "", 1000000), TH_ELIMIT);
	refused(nested(&b, "{\"a\":[", "", 100000), TH_ELIMIT);
	/* Brackets in strings, and side by side, are no depth. */
	th_json_free(parse(
	    TH_STR("\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"")));
	th_json_free(parse(
	    TH_STR("[\"\\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"]")));
	th_buf_clear(&b);
	th_buf_add_char(&b, '[');
	for (int i = 0; i < 1000; i++)
		th_buf_add_cstr(&b, "[{}],");
	th_buf_add_cstr(&b, "0]");
	th_json_free(parse(th_buf_str(&b)));
	th_buf_deinit(&b);
}

static void size_limit(void **state)
{
	char *text = malloc(TH_JSON_SIZE_MAX + 1);

	(void)state;
	assert_non_null(text);
	memset(text, ' ', TH_JSON_SIZE_MAX + 1);
	text[TH_JSON_SIZE_MAX - 1] = '7';
	struct th_json_doc *doc = parse(th_str_n(text, TH_JSON_SIZE_MAX));

	assert_int_equal(th_json_int(th_json_root(doc), 0), 7);
	th_json_free(doc);
	refused(th_str_n(text, TH_JSON_SIZE_MAX + 1), TH_ELIMIT);
	free(text);
}

static void says_where(void **state)
{
	struct th_json_doc *doc;
	struct th_err err;
	char text[400];

	(void)state;
	assert_int_equal(th_json_parse(TH_STR("{\n\"\xc3\xa9\": nul}"), &doc, &err), TH_EPROTO);
	assert_non_null(strstr(err.msg, "line 2, column 6"));
	assert_int_equal(th_json_parse(TH_STR("{\"a\": [1, 2"), &doc, &err), TH_EPROTO);
	assert_non_null(strstr(err.msg, "line 1, column 12"));
	memset(text, 's', sizeof(text)); /* a secret, pasted: little of it is told */
	assert_int_equal(th_json_parse(th_str_n(text, sizeof(text)), &doc, &err), TH_EPROTO);
	assert_true(strlen(err.msg) < 150);
	size_t told = 0;

	for (size_t i = 0, run = 0; err.msg[i]; i++) {
		run = err.msg[i] == 's' ? run + 1 : 0;
		told = TH_MAX(told, run);
	}
	assert_true(told <= 40);
}

/* ---- reading ---- */

static void reads(void **state)
{
	TH_CLEANUP(th_json_freep)
	struct th_json_doc *doc = parse(
	    TH_STR("{\"s\":\"a\\u0000\\ud83d\\ude00\",\"i\":-5,\"u\":18446744073709551615,"
		   "\"r\":2.5,\"w\":3.0,\"t\":true,\"n\":null,\"l\":[1,\"x\"],\"o\":{\"k\":7},"
		   "\"i\":6,\"big\":1e30,\"p63\":9223372036854775808,\"m63\":-9223372036854775808,"
		   "\"r63\":9223372036854775808.0,\"a\\\"b\":1,\"z\":-0}"));
	const struct th_json *v = th_json_root(doc);

	(void)state;
	assert_int_equal(th_json_type(v), TH_JSON_OBJECT);
	assert_int_equal(th_json_count(v), 16);
	assert_str(th_json_get_str(v, "s"), TH_STR("a\0\xf0\x9f\x98\x80"));
	assert_int_equal(th_json_get_int(v, "i", 0), -5); /* the first of double keys */
	assert_int_equal(th_json_type(th_json_get(v, "u")), TH_JSON_INT);
	assert_int_equal(th_json_get_int(v, "u", 9), 9);
	assert_true(th_json_uint(th_json_get(v, "u"), 9) == UINT64_MAX);
	assert_int_equal(th_json_uint(th_json_get(v, "i"), 9), 9);
	assert_int_equal(th_json_uint(th_json_get(v, "w"), 9), 3);
	assert_int_equal(th_json_type(th_json_get(v, "r")), TH_JSON_REAL);
	assert_int_equal(th_json_get_int(v, "r", 9), 9);
	assert_int_equal(th_json_get_int(v, "z", 9), 0);
	assert_int_equal(th_json_uint(th_json_get(v, "z"), 9), 0);
	assert_int_equal(th_json_get_int(v, "w", 9), 3);
	assert_int_equal(th_json_get_int(v, "big", 9), 9);
	assert_int_equal(th_json_uint(th_json_get(v, "big"), 9), 9);
	assert_int_equal(th_json_get_int(v, "p63", 9), 9);
	assert_int_equal(th_json_get_int(v, "r63", 9), 9);
	assert_true(th_json_uint(th_json_get(v, "r63"), 9) == UINT64_C(1) << 63);
	assert_true(th_json_get_int(v, "m63", 9) == INT64_MIN);
	assert_true(th_json_num(th_json_get(v, "i"), 9) == -5);
	assert_true(th_json_num(th_json_get(v, "r"), 9) == 2.5);
	assert_true(th_json_num(th_json_get(v, "s"), 9) == 9);
	assert_true(th_json_bool(th_json_get(v, "t"), false));
	assert_true(th_json_bool(th_json_get(v, "n"), true));
	assert_true(th_json_is_null(th_json_get(v, "n")) && th_json_get(v, "n"));
	assert_true(th_json_is_null(th_json_get(v, "missing")) && !th_json_get(v, "missing"));
	assert_true(th_json_is_array(th_json_get(v, "l")) && th_json_is_object(v));
	assert_is(th_json_str(th_json_at(th_json_get(v, "l"), 1)), "x");
	assert_null(th_json_at(th_json_get(v, "l"), 2));
	assert_null(th_json_at(v, 0));
	assert_null(th_json_get(th_json_get(v, "l"), "k"));
	assert_int_equal(th_json_get_int(th_json_get(v, "o"), "k", 0), 7);
	assert_int_equal(th_json_int(th_json_getn(v, TH_STR("a\"b")), 0), 1);
	assert_null(th_json_getn(v, (struct th_str){ NULL, 0 }));
	assert_null(th_json_str(th_json_get(v, "i")).ptr);
}

/* Small or large, it is the same document; what is small takes no memory. */
static void says_something_or_nothing(void **state)
{
	static const char text[] =
	    "[null,false,0,0.0,\"\",[],{},true,-1,0.5,\"a\",[null],{\"a\":0}]";
	struct th_json_doc *doc;

	(void)state;
	assert_int_equal(th_json_parse(th_str_of(text), &doc, NULL), TH_OK);
	assert_false(th_json_says(NULL));
	for (size_t i = 0; i < th_json_count(th_json_root(doc)); i++)
		assert_int_equal(th_json_says(th_json_at(th_json_root(doc), i)), i >= 7);
	th_json_free(doc);
}

static void parses_in_a_room(void **state)
{
	struct th_json_room room;
	struct th_json_doc *there, *doc;
	struct th_buf b = TH_BUF_INIT(TH_MIB);
	struct th_err err;

	(void)state;
	for (size_t n = 0; n < 3 * TH_JSON_ROOM_SIZE / 4; n += 1 + n / 50) {
		th_buf_clear(&b);
		th_buf_add_char(&b, '[');
		for (size_t i = 0; i < n; i++)
			th_buf_add_cstr(&b, i % 3 ? "[7]," : "\"abcdefgh\",");
		th_buf_add_cstr(&b, "null]");
		doc = parse(th_buf_str(&b));
		assert_int_equal(th_json_parse_in(&room, n % 2, th_buf_str(&b), &there, &err),
				 TH_OK);
		assert_true(th_json_equal(th_json_root(doc), th_json_root(there)));
		th_json_free(there);
		th_json_free(doc);
	}
	th_try_alloc_fail_at(1);
	assert_int_equal(th_json_parse_in(&room, true, TH_STR("{\"a\":1}"), &there, &err), TH_OK);
	th_json_free(there);
	assert_int_equal(th_json_parse_in(&room, true, th_buf_str(&b), &there, &err), TH_ENOMEM);
	assert_null(there);
	th_try_alloc_fail_at(0);
	assert_int_equal(th_json_parse_in(&room, true, TH_STR("{"), &there, &err), TH_EPROTO);
	assert_null(there);
	th_buf_deinit(&b);
}

static void absent_everywhere(void **state)
{
	struct th_json_iter it = th_json_iter(NULL);
	struct th_buf b = TH_BUF_INIT(10);

	(void)state;
	assert_int_equal(th_json_type(NULL), TH_JSON_ABSENT);
	assert_null(th_json_root(NULL));
	assert_null(th_json_get(NULL, "a"));
	assert_null(th_json_at(NULL, 0));
	assert_int_equal(th_json_count(NULL), 0);
	assert_null(th_json_str(NULL).ptr);
	assert_int_equal(th_json_int(NULL, 4), 4);
	assert_int_equal(th_json_uint(NULL, 4), 4);
	assert_true(th_json_num(NULL, 4) == 4 && th_json_bool(NULL, true));
	assert_true(th_json_is_null(NULL));
	assert_false(th_json_is_array(NULL) || th_json_is_object(NULL));
	assert_false(th_json_next(&it) || th_json_next(&it));
	assert_true(th_json_equal(NULL, NULL));
	th_json_print(NULL, &b);
	assert_is(th_buf_str(&b), "null");
	th_buf_deinit(&b);
	assert_null(th_json_free(NULL));
}

static void iterates(void **state)
{
	TH_CLEANUP(th_json_freep)
	struct th_json_doc *doc =
	    parse(TH_STR("[{\"a\":1,\"b\":{\"x\":[1,2]},\"a\":3},[10,[],11],{},[]]"));
	const struct th_json *v = th_json_root(doc);
	struct th_json_iter it = th_json_iter(th_json_at(v, 0));

	(void)state;
	assert_true(th_json_next(&it));
	assert_is(it.key, "a");
	assert_int_equal(th_json_int(it.val, 0), 1);
	assert_true(th_json_next(&it));
	assert_is(it.key, "b");
	assert_int_equal(it.index, 1);
	assert_true(th_json_next(&it)); /* all members are walked, double ones too */
	assert_int_equal(th_json_int(it.val, 0), 3);
	assert_false(th_json_next(&it) || th_json_next(&it));
	assert_null(it.val);
	it = th_json_iter(th_json_at(v, 1));
	assert_true(th_json_next(&it) && it.index == 0 && th_json_int(it.val, 0) == 10);
	assert_null(it.key.ptr);
	assert_true(th_json_next(&it) && th_json_is_array(it.val));
	assert_true(th_json_next(&it) && it.index == 2 && th_json_int(it.val, 0) == 11);
	assert_false(th_json_next(&it));
	for (size_t i = 2; i < 4; i++) {
		it = th_json_iter(th_json_at(v, i));
		assert_false(th_json_next(&it));
	}
}

static void equals(void **state)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} cases[] = {
		{ "1", "1.0", true },
		{ "0", "-0.0", true },
		{ "0", "-0", true },
		{ "-0", "-0.0", true },
		{ "-0", "-1", false },
		{ "-1", "-1.0", true },
		{ "1", "1.5", false },
		{ "1", "-1", false },
		{ "18446744073709551615", "-1", false },
		{ "9007199254740993", "9007199254740992.0", false }, /* as doubles they would be */
		{ "9007199254740992", "9007199254740992.0", true },
		{ "18446744073709551615", "18446744073709551616", false },
		{ "9223372036854775807", "9223372036854775808.0", false },
		{ "-9223372036854775808", "-9223372036854775808.0", true },
		{ "\"a\"", "\"\\u0061\"", true },
		{ "\"a\"", "\"a\\u0000\"", false },
		{ "true", "false", false },
		{ "null", "false", false },
		{ "null", "null", true },
		{ "[1,2]", "[1,2]", true },
		{ "[1,2]", "[2,1]", false },
		{ "[1]", "[1,1]", false },
		{ "[]", "{}", false },
		{ "{\"a\":1,\"b\":[2]}", "{\"b\":[2.0],\"a\":1}", true },
		{ "{\"a\":1}", "{\"a\":1,\"b\":2}", false },
		{ "{\"a\":1}", "{\"b\":1}", false },
		{ "{\"a\":1,\"a\":2}", "{\"a\":1}", true }, /* the first counts */
		{ "{\"a\":1,\"a\":2}", "{\"a\":2}", false },
		{ "{\"a\":1,\"a\":2,\"b\":3}", "{\"a\":1,\"b\":3,\"b\":4}", true },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		struct th_json_doc *a = parse(th_str_of(cases[i].a));
		struct th_json_doc *b = parse(th_str_of(cases[i].b));

		if (th_json_equal(th_json_root(a), th_json_root(b)) != cases[i].equal ||
		    th_json_equal(th_json_root(b), th_json_root(a)) != cases[i].equal)
			fail_msg("%s and %s", cases[i].a, cases[i].b);
		th_json_free(a);
		th_json_free(b);
	}
}

/* Objects of many members in opposite orders: not a squared number of steps. */
static void equals_in_time(void **state)
{
	struct th_buf up = TH_BUF_INIT(8 * TH_MIB), down = TH_BUF_INIT(8 * TH_MIB);
	const int count = 200000;

	(void)state;
	for (int i = 0; i < count; i++) {
		th_buf_printf(&up, "%c\"k%06d\":%d", i ? ',' : '{', i, i);
		th_buf_printf(&down, "%c\"k%06d\":%d", i ? ',' : '{', count - 1 - i, count - 1 - i);
	}
	th_buf_add_char(&up, '}');
	th_buf_add_char(&down, '}');
	struct th_json_doc *a = parse(th_buf_str(&up)), *b = parse(th_buf_str(&down));

	assert_true(th_json_equal(th_json_root(a), th_json_root(b)));
	th_json_free(a);
	th_json_free(b);
	th_buf_deinit(&up);
	th_buf_deinit(&down);
}

/* ---- writing ---- */

static void writes(void **state)
{
	struct th_buf b = TH_BUF_INIT(1000);
	struct th_jw w = th_jw(&b);

	(void)state;
	th_jw_object(&w);
	th_jw_kstr(&w, "s", TH_STR("a\"\\\b\f\n\r\t\v\x1f/\x7f\xc3\xa9"));
	th_jw_kint(&w, "i", INT64_MIN);
	th_jw_kuint(&w, "u", UINT64_MAX);
	th_jw_kbool(&w, "t", true);
	th_jw_kreal(&w, "r", 0.1);
	th_jw_kraw(&w, "raw", TH_STR("[1, 2]"));
	th_jw_key(&w, TH_STR("l"));
	th_jw_array(&w);
	th_jw_array(&w);
	th_jw_array_end(&w);
	th_jw_object(&w);
	th_jw_object_end(&w);
	th_jw_null(&w);
	th_jw_bool(&w, false);
	th_jw_uint(&w, 7);
	th_jw_str(&w, (struct th_str){ NULL, 0 });
	th_jw_array_end(&w);
	th_jw_key(&w, TH_STR("k\"\n"));
	th_jw_int(&w, -1);
	th_jw_object_end(&w);
	assert_is(th_buf_str(&b),
		  "{\"s\":\"a\\\"\\\\\\b\\f\\n\\r\\t\\u000b\\u001f/\x7f\xc3\xa9\","
		  "\"i\":-9223372036854775808,\"u\":18446744073709551615,\"t\":true,\"r\":0.1,"
		  "\"raw\":[1, 2],\"l\":[[],{},null,false,7,\"\"],\"k\\\"\\n\":-1}");
	th_json_free(parse(th_buf_str(&b)));
	th_buf_deinit(&b);
}

/* A name goes in whole, or not at all. */
static void name_at_the_maximum(void **state)
{
	(void)state;
	for (size_t max = 0; max < 16; max++) {
		struct th_buf b = TH_BUF_INIT(max);
		struct th_jw w = th_jw(&b);

		th_jw_object(&w);
		th_jw_name(&w, TH_STR("ab"));
		th_jw_int(&w, 1);
		th_jw_name(&w, TH_STR("cd"));
		th_jw_int(&w, 2);
		assert_int_equal(b.failed, max < 14);
		assert_true(b.len <= max);
		if (max >= 12)
			assert_is(th_str_sub(th_buf_str(&b), 0, 13),
				  max < 13 ? "{\"ab\":1" : "{\"ab\":1,\"cd\":");
		th_buf_deinit(&b);
	}
}

static void writes_reals(void **state)
{
	static const double odd[] = {
		0,      -0.0,  1,       -1.5,    1e21,  1e-7,
		5e-324, 1e308, DBL_MAX, DBL_MIN, 1e100, 123456789012345680.0
	};
	struct th_buf b = TH_BUF_INIT(64);
	uint64_t seed = 5;

	(void)state;
	for (size_t round = 0; round < 50000; round++) {
		struct th_jw w = th_jw(&b);
		uint64_t bits = draw(&seed);
		double v, back;

		memcpy(&v, &bits, sizeof(v));
		if (round < TH_COUNT(odd))
			v = odd[round];
		else if (round % 3 == 0)
			v = (double)(int64_t)(bits >> 30) / 1000;
		th_buf_clear(&b);
		th_jw_real(&w, v);
		if (!isfinite(v)) {
			assert_is(th_buf_str(&b), "null");
			continue;
		}
		assert_true(b.len <= 32);
		struct th_json_doc *doc = parse(th_buf_str(&b));

		back = th_json_num(th_json_root(doc), NAN);
		assert_memory_equal(&back, &v, sizeof(v));
		th_json_free(doc);
	}
	th_buf_clear(&b);
	struct th_jw w = th_jw(&b);

	th_jw_real(&w, INFINITY);
	th_jw_real(&w, -INFINITY);
	th_jw_real(&w, NAN);
	assert_is(th_buf_str(&b), "null,null,null");
	th_buf_deinit(&b);
}

static void replaces_bad_bytes(void **state)
{
	struct th_buf b = TH_BUF_INIT(100);

	(void)state;
	th_json_escape(&b, (struct th_str){ NULL, 0 });
	assert_int_equal(b.len, 0);
	th_json_escape(&b, TH_STR("\xff"
				  "a\xed\xa0\x80\n\xc3"));
	assert_is(th_buf_str(&b), FFFD "a" FFFD FFFD FFFD "\\n" FFFD);
	th_buf_deinit(&b);
}

/* Any bytes at any place among the sixteen: what is written is JSON of the cleaned text. */
static void strings_round_trip(void **state)
{
	struct th_buf b = TH_BUF_INIT(1000), clean = TH_BUF_INIT(1000), back = TH_BUF_INIT(1000);
	char text[80];

	(void)state;
	for (uint64_t seed = 1, round = 0; round < 50000; round++) {
		size_t len = draw_below(&seed, sizeof(text));

		for (size_t i = 0; i < len; i++)
			text[i] = draw_below(&seed, 8) ? (char)('a' + draw_below(&seed, 26))
						       : (char)draw(&seed);
		char *exact = exact_copy(text, len);
		struct th_jw w = th_jw(&b);

		th_buf_clear(&b);
		th_buf_clear(&clean);
		th_buf_clear(&back);
		th_jw_str(&w, th_str_n(exact, len));
		th_utf8_clean(&clean, th_str_n(exact, len));
		struct th_json_doc *doc = parse(th_buf_str(&b));

		assert_str(th_json_str(th_json_root(doc)), th_buf_str(&clean));
		assert_true(th_json_unescape(th_buf_str(&b), &back));
		assert_str(th_buf_str(&back), th_buf_str(&clean));
		th_json_free(doc);
		free(exact);
	}
	th_buf_deinit(&b);
	th_buf_deinit(&clean);
	th_buf_deinit(&back);
}

/* ---- random documents ---- */

static void write_random(struct th_jw *w, uint64_t *seed, size_t depth)
{
	char text[20];
	size_t count = draw_below(seed, 6), len = draw_below(seed, sizeof(text));

	for (size_t i = 0; i < len; i++)
		text[i] = (char)draw(seed);
	switch (draw_below(seed, depth ? 9 : 7)) {
	case 0:
		th_jw_null(w);
		return;
	case 1:
		th_jw_bool(w, draw(seed) & 1);
		return;
	case 2:
		th_jw_int(w, (int64_t)draw(seed) >> draw_below(seed, 64));
		return;
	case 3:
		th_jw_uint(w, draw(seed) >> draw_below(seed, 64));
		return;
	case 4:
		th_jw_real(w, (double)(int64_t)draw(seed) / (double)(1 + draw_below(seed, 1000)));
		return;
	case 5:
	case 6:
		th_jw_str(w, th_str_n(text, len));
		return;
	case 7:
		th_jw_array(w);
		for (size_t i = 0; i < count; i++)
			write_random(w, seed, depth - 1);
		th_jw_array_end(w);
		return;
	default:
		th_jw_object(w);
		for (size_t i = 0; i < count; i++) {
			th_jw_key(w, th_str_n(text, draw_below(seed, len + 1)));
			write_random(w, seed, depth - 1);
		}
		th_jw_object_end(w);
		return;
	}
}

/* The raw walk and the parsed one see the same members in the same order, all the way down. */
static void agree(const struct th_json *v, struct th_str raw)
{
	struct th_json_iter it = th_json_iter(v);
	struct th_json_raw_iter ri = th_json_raw_iter(raw);
	struct th_buf b = TH_BUF_INIT(100000), quoted = TH_BUF_INIT(100000);

	if (th_json_type(v) == TH_JSON_STR) {
		assert_true(th_json_unescape(raw, &b));
		assert_str(th_buf_str(&b), th_json_str(v));
	}
	while (th_json_next(&it)) {
		assert_true(th_json_raw_next(&ri));
		if (th_json_is_object(v)) {
			th_buf_clear(&b);
			th_buf_clear(&quoted);
			th_buf_printf(&quoted, "\"%.*s\"", TH_FMT(ri.key));
			assert_true(th_json_unescape(th_buf_str(&quoted), &b));
			assert_str(th_buf_str(&b), it.key);
			if (!memchr(it.key.ptr, 0, it.key.len)) {
				struct th_str first = th_json_raw_get(raw, it.key.ptr);
				struct th_json_doc *doc =
				    parse(first); /* of double keys the first */

				assert_true(
				    th_json_equal(th_json_root(doc), th_json_get(v, it.key.ptr)));
				th_json_free(doc);
			}
		}
		struct th_json_doc *doc = parse(ri.val);

		assert_true(th_json_equal(th_json_root(doc), it.val));
		th_json_free(doc);
		agree(it.val, ri.val);
	}
	assert_false(th_json_raw_next(&ri));
	th_buf_deinit(&b);
	th_buf_deinit(&quoted);
}

static void documents_round_trip(void **state)
{
	struct th_buf b = TH_BUF_INIT(TH_MIB), again = TH_BUF_INIT(TH_MIB);

	(void)state;
	for (uint64_t seed = 1; seed < 3000; seed++) {
		uint64_t s = seed;
		struct th_jw w = th_jw(&b);

		th_buf_clear(&b);
		th_buf_clear(&again);
		write_random(&w, &s, 5);
		struct th_json_doc *doc = parse(th_buf_str(&b));

		th_json_print(th_json_root(doc), &again);
		assert_str(th_buf_str(&again), th_buf_str(&b));
		agree(th_json_root(doc), th_buf_str(&b));
		th_json_free(doc);
	}
	th_buf_deinit(&b);
	th_buf_deinit(&again);
}

/* ---- verbatim pieces ---- */

static void cuts_verbatim(void **state)
{
	const struct th_str text =
	    TH_STR(" { \"a\" : 1.50 , \"b\":[ 1, {\"]\":\"}\"} ] ,\"\\u0063\":\"x\\\"y\","
		   "\"a\":2, \"n\" :null , \"o\":{ } } ");

	(void)state;
	assert_is(th_json_raw_get(text, "a"), "1.50");
	assert_is(th_json_raw_get(text, "b"), "[ 1, {\"]\":\"}\"} ]");
	assert_is(th_json_raw_get(text, "c"), "\"x\\\"y\"");
	assert_is(th_json_raw_get(text, "n"), "null");
	assert_is(th_json_raw_get(text, "o"), "{ }");
	assert_null(th_json_raw_get(text, "z").ptr);
	assert_null(th_json_raw_get(text, "\\u0063").ptr);
	assert_null(th_json_raw_get(TH_STR("[\"a\",1]"), "a").ptr);
	assert_null(th_json_raw_get(TH_STR("\"a\""), "a").ptr);
	assert_null(th_json_raw_get((struct th_str){ NULL, 0 }, "a").ptr);
	assert_is(th_json_raw_get(TH_STR("{\"\":5}"), ""), "5");
}

/* As each by itself. */
static void cuts_several(void **state)
{
	static const char *const keys[] = { "z", "n", "c", "a", "" };
	static const char *const texts[] = {
		"{\"a\":1,\"\\u0063\":\"x\",\"a\":2,\"n\":null,\"c\":3,\"\":[4]}",
		"{\"a\":1,\"n\":2,\"c\":",
		"{\"n\":{\"a\":1}}",
		"[\"a\",1]",
		"{}",
		"",
	};
	struct th_str found[TH_COUNT(keys)];

	(void)state;
	for (size_t i = 0; i < TH_COUNT(texts); i++) {
		struct th_str text = th_str_of(texts[i]);

		th_json_raw_gets(text, TH_COUNT(keys), keys, found);
		for (size_t k = 0; k < TH_COUNT(keys); k++) {
			struct th_str one = th_json_raw_get(text, keys[k]);

			assert_ptr_equal(found[k].ptr, one.ptr);
			assert_int_equal(found[k].len, one.len);
		}
	}
}

/* Text that is no JSON: absent, and the walk ends. */
static void raw_on_nonsense(void **state)
{
	static const char *const bad[] = { "",
					   "{",
					   "{\"",
					   "{\"a",
					   "{\"a\"",
					   "{\"a\":",
					   "{\"a\":}",
					   "{\"a\":,",
					   "{\"a\" 1}",
					   "{a:1}",
					   "{,",
					   "{\"a\":[",
					   "{\"a\":[}",
					   "{\"a\":{]",
					   "{\"a\":\"",
					   "{\"a\":\"\\",
					   "{\"a\":\"\\\"",
					   "a:1" };
	static const char *const first[] = { "{\"a\":1",   "{\"a\":1]",   "{\"a\":1 2}",
					     "{\"a\":1,}", "{\"a\":1,2}", "{\"a\":1,\"b\"}" };

	(void)state;
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		char *exact = exact_copy(bad[i], strlen(bad[i]));

		assert_null(th_json_raw_get(th_str_n(exact, strlen(bad[i])), "a").ptr);
		free(exact);
	}
	for (size_t i = 0; i < TH_COUNT(first); i++) {
		struct th_json_raw_iter it = th_json_raw_iter(th_str_of(first[i]));

		assert_true(th_json_raw_next(&it));
		assert_is(it.val, "1");
		assert_false(th_json_raw_next(&it));
		assert_null(it.val.ptr);
		assert_null(it.key.ptr);
		assert_false(th_json_raw_next(&it));
	}
}

/* Walks `w` over what `raw` is, and finds the same keys and values as the iterator does. */
static void walk_alike(struct th_json_walk *w, struct th_str raw, int depth)
{
	struct th_json_raw_iter it = th_json_raw_iter(raw);
	bool object = raw.len && raw.ptr[0] == '{', list = raw.len && raw.ptr[0] == '[';
	struct th_str key = { NULL, 0 };

	if (depth == 0 || (!object && !list)) {
		struct th_str val;

		if (!object && !list)
			assert_false(th_json_enter(w, '{') || th_json_enter(w, '['));
		val = th_json_skip(w);
		assert_true(val.ptr == raw.ptr && val.len == raw.len);
		return;
	}
	assert_false(th_json_enter(w, object ? '[' : '{'));
	assert_true(th_json_enter(w, object ? '{' : '['));
	while (object ? th_json_member(w, &key) : th_json_element(w)) {
		assert_true(th_json_raw_next(&it));
		assert_true(key.ptr == it.key.ptr && key.len == it.key.len);
		walk_alike(w, it.val, it.val.len % 7 ? depth - 1 : 1);
	}
	assert_false(th_json_raw_next(&it));
}

static void walks(void **state)
{
	static const char *const bad[] = {
		"",
		"1",
		"{",
		"[1]",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1",
		"{\"a\":1,}",
		"{\"a\":1]",
		"{\"a\" 1}",
		"{,\"a\":1}",
		"{\"a\":1}}",
		"{a:1}",
		"{\"a:1}",
		"{\"a\":[1}",
		"{\"a\":[1,]}",
		"{\"a\":[1 2]}",
		"{\"a\":1}x",
	};
	struct th_json_walk w = th_json_walk((struct th_str){ NULL, 0 });
	struct th_str key;

	(void)state;
	assert_false(th_json_enter(&w, '['));
	assert_null(th_json_skip(&w).ptr);
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		char *exact = exact_copy(bad[i], strlen(bad[i]));
		bool entered;

		w = th_json_walk(th_str_n(exact, strlen(bad[i])));
		entered = th_json_enter(&w, '{');
		while (entered && th_json_member(&w, &key)) {
			if (th_json_enter(&w, '['))
				while (th_json_element(&w))
					(void)th_json_skip(&w);
			else
				(void)th_json_skip(&w);
		}
		if (entered && th_json_walked(&w))
			fail_msg("%s", bad[i]);
		free(exact);
	}
	w = th_json_walk(TH_STR(" { \"a\" : [ ] , \"b\" : { } } "));
	assert_true(th_json_enter(&w, '{'));
	assert_true(th_json_member(&w, &key));
	assert_is(key, "a");
	assert_true(th_json_enter(&w, '['));
	assert_false(th_json_element(&w));
	assert_true(th_json_member(&w, &key));
	assert_is(key, "b");
	assert_true(th_json_enter(&w, '{'));
	assert_false(th_json_member(&w, &key));
	assert_false(th_json_walked(&w));
	assert_false(th_json_member(&w, &key));
	assert_true(th_json_walked(&w));
}

static void raw_depth_limit(void **state)
{
	struct th_buf b = TH_BUF_INIT(10 * TH_MIB);
	struct th_json_raw_iter it;

	(void)state;
	it = th_json_raw_iter(nested(&b, "[", "]", TH_JSON_DEPTH_MAX + 1));
	assert_true(th_json_raw_next(&it)); /* the value inside is of the depth allowed */
	it = th_json_raw_iter(nested(&b, "[", "]", TH_JSON_DEPTH_MAX + 2));
	assert_false(th_json_raw_next(&it));
	it = th_json_raw_iter(nested(&b, "[{\"a\":", "", 500000));
	assert_false(th_json_raw_next(&it));
	th_buf_deinit(&b);
}

static void unescapes(void **state)
{
	static const char *const bad[] = { "",
					   "\"",
					   "x",
					   "\"a",
					   "a\"",
					   "\"\\\"",
					   "\"\\\\\\\"",
					   "\"\\x\"",
					   "\"\\u00\"",
					   "\"\\u00g0\"",
					   "\"\\ud800\"",
					   "\"\\udc00\"",
					   "\"\\ud800\\u0041\"",
					   "\"\\ud800\\udbff\"",
					   "\"\\ud800\\\"",
					   "\"\n\"",
					   "\"a\"b\"",
					   "\"\xff\"",
					   "\"\xc3\"",
					   "1" };
	struct th_buf b = TH_BUF_INIT(100);

	(void)state;
	th_buf_add_cstr(&b, "kept");
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		char *exact = exact_copy(bad[i], strlen(bad[i]));

		if (th_json_unescape(th_str_n(exact, strlen(bad[i])), &b))
			fail_msg("%s", bad[i]);
		assert_is(th_buf_str(&b), "kept");
		free(exact);
	}
	assert_false(th_json_unescape((struct th_str){ NULL, 0 }, &b));
	th_buf_clear(&b);
	assert_true(th_json_unescape(
	    TH_STR("\"\\u0041\\/\\u00e9\\uD83D\\uDE00\\b\\f\\n\\r\\t\\\"\\\\\""), &b));
	assert_is(th_buf_str(&b), "A/\xc3\xa9\xf0\x9f\x98\x80\b\f\n\r\t\"\\");
	th_buf_clear(&b);
	assert_true(th_json_unescape(TH_STR("\"\""), &b));
	assert_is(th_buf_str(&b), "");
	th_buf_deinit(&b);
}

/* Documents with a few bytes changed: whatever the parser says, nobody reads outside or hangs, and
 * what it accepts looks the same raw. */
static void mutated_documents(void **state)
{
	struct th_buf b = TH_BUF_INIT(TH_MIB), out = TH_BUF_INIT(TH_MIB);
	static const char likely[] = "{}[]\",:\\ \n0-9eE.tfnu\0\xff";

	(void)state;
	for (uint64_t seed = 1; seed < 6000; seed++) {
		uint64_t s = seed;
		struct th_jw w = th_jw(&b);
		struct th_json_doc *doc;
		struct th_err err;

		th_buf_clear(&b);
		write_random(&w, &s, 4);
		for (size_t i = draw_below(&s, 4); i > 0; i--)
			b.ptr[draw_below(&s, b.len)] = likely[draw_below(&s, sizeof(likely))];
		size_t len = draw_below(&s, 4) ? b.len : draw_below(&s, b.len);
		char *exact = exact_copy(b.ptr, len);
		struct th_str text = th_str_n(exact, len);
		struct th_json_raw_iter it = th_json_raw_iter(text);

		for (size_t steps = 0; th_json_raw_next(&it); steps++)
			assert_true(steps < len);
		(void)th_json_raw_get(text, "a");
		th_buf_clear(&out);
		if (!th_json_unescape(text, &out))
			assert_int_equal(out.len, 0);
		bool valid = th_json_valid(text);

		assert_int_equal(th_json_parse(text, &doc, &err) == TH_OK, valid);
		if (valid) {
			struct th_json_walk walk = th_json_walk(th_str_trim(text));

			agree(th_json_root(doc), th_str_trim(text));
			walk_alike(&walk, th_str_trim(text), 5);
			assert_true(th_json_walked(&walk));
			th_json_free(doc);
		}
		free(exact);
	}
	th_buf_deinit(&b);
	th_buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepts),
		cmocka_unit_test(refuses),
		cmocka_unit_test(depth_limit),
		cmocka_unit_test(size_limit),
		cmocka_unit_test(says_where),
		cmocka_unit_test(reads),
		cmocka_unit_test(says_something_or_nothing),
		cmocka_unit_test(parses_in_a_room),
		cmocka_unit_test(absent_everywhere),
		cmocka_unit_test(iterates),
		cmocka_unit_test(equals),
		cmocka_unit_test(equals_in_time),
		cmocka_unit_test(writes),
		cmocka_unit_test(name_at_the_maximum),
		cmocka_unit_test(writes_reals),
		cmocka_unit_test(replaces_bad_bytes),
		cmocka_unit_test(strings_round_trip),
		cmocka_unit_test(documents_round_trip),
		cmocka_unit_test(cuts_verbatim),
		cmocka_unit_test(cuts_several),
		cmocka_unit_test(raw_on_nonsense),
		cmocka_unit_test(walks),
		cmocka_unit_test(raw_depth_limit),
		cmocka_unit_test(unescapes),
		cmocka_unit_test(mutated_documents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
