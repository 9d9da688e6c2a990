/* SPDX-License-Identifier: Apache-2.0 */
/* test_pattern.c - Lua's pattern language, as its manual and its own tests have it. */
#include "unit.h"

#include <string.h>

#include "base/json.h"
#include "base/limits.h"
#include "script/script.h"

/* What `return {…}` gives, as JSON. */
static void gives(const char *expression, const char *wanted)
{
	struct th_buf source = TH_BUF_INIT(TH_SCRIPT_SOURCE_MAX);
	struct th_buf out = TH_BUF_INIT(TH_SCRIPT_VALUE_MAX);
	struct th_script *s = NULL;
	struct th_err err = { 0 };

	th_buf_printf(&source, "function f() return {%s} end", expression);
	if (th_script_new(TH_STR("t"), th_buf_str(&source), NULL, &s, &err) ||
	    th_script_call(s, "f", TH_STR("[]"), &out, &err))
		th_buf_printf(&out, "error: %s", err.msg);
	if (strcmp(out.ptr, wanted) != 0)
		fail_msg("%s: %s, not %s", expression, out.ptr, wanted);
	th_script_free(s);
	th_buf_deinit(&source);
	th_buf_deinit(&out);
}

static void finds(void **state)
{
	static const char *const cases[][2] = {
		{ "('hello'):find('l')", "[3,3]" },
		{ "('hello'):find('xyz')", "{}" },
		{ "('hello'):find('')", "[1,0]" },
		{ "('hello'):find('', 10)", "{}" },
		{ "('hello'):find('', 6)", "[6,5]" },
		{ "('hello'):find('l', -2)", "[4,4]" },
		{ "('a.b'):find('.', 1, true)", "[2,2]" },
		{ "('a.b'):find('%.')", "[2,2]" },
		{ "('alo123alo'):find('12')", "[4,5]" },
		{ "('alo^123alo'):find('^12')", "{}" },
		{ "('aaab'):find('a*b')", "[1,4]" },
		{ "('aaa'):find('^.*$')", "[1,3]" },
		{ "('aaa'):find('b*')", "[1,0]" },
		{ "('aaab'):find('.*b')", "[1,4]" },
		{ "('aaa'):find('.+a')", "[1,3]" },
		{ "('aaa'):find('.-a')", "[1,1]" },
		{ "('aba'):find('ab?c?a')", "[1,3]" },
		{ "('key = value'):find('(%w+)%s*=%s*(%w+)')", "[1,11,\"key\",\"value\"]" },
		{ "('  x'):find('()x()')", "[3,3,3,4]" },
		{ "('(a(b)c)d'):find('%b()')", "[1,7]" },
		{ "('THE (quick) fox'):find('%((%a+)%)')", "[5,11,\"quick\"]" },
		{ "('x]y'):find('[]]')", "[2,2]" },
		{ "('x-y'):find('[a%-]')", "[2,2]" },
		{ "('x^y'):find('[x^]+')", "[1,2]" },
		{ "('abc'):find('[^a-b]')", "[3,3]" },
		{ "('THE (quick) fox'):find('%f[%a]%a+%f[%A]', 4)", "[6,10]" },
		{ "('aXXa'):find('(X)%1')", "[2,3,\"X\"]" },
		{ "('\\0a\\0'):find('%z')", "{}" },
		{ "('a\\0b'):find('\\0')", "[2,2]" },
		{ "('a$a'):find('$', 1, true)", "[2,2]" },
		{ "('a$a'):find('a$')", "[3,3]" },
		{ "('a$a'):find('a$a')", "[1,3]" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++)
		gives(cases[i][0], cases[i][1]);
}

static void matches(void **state)
{
	static const char *const cases[][2] = {
		{ "('2024-05-17'):match('(%d+)-(%d+)-(%d+)')", "[\"2024\",\"05\",\"17\"]" },
		{ "('hello'):match('.-')", "[\"\"]" },
		{ "('hello world'):match('^(%w+)')", "[\"hello\"]" },
		{ "('0xffa'):match('^0x%x+$')", "[\"0xffa\"]" },
		{ "(' \\t\\n'):match('^%s*$')", "[\" \\t\\n\"]" },
		{ "('Ab1_ '):match('^%u%l%d%p%s$')", "[\"Ab1_ \"]" },
		{ "('abc'):match('((a)(b))')", "[\"ab\",\"a\",\"b\"]" },
		{ "('x'):match('()')", "[1]" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++)
		gives(cases[i][0], cases[i][1]);
}

static void replaces(void **state)
{
	static const char *const cases[][2] = {
		{ "('hello world'):gsub('o', '0')", "[\"hell0 w0rld\",2]" },
		{ "('hello world'):gsub('o', '0', 1)", "[\"hell0 world\",1]" },
		{ "('abc'):gsub('', '-')", "[\"-a-b-c-\",4]" },
		{ "('abc'):gsub('%w', '%0%0')", "[\"aabbcc\",3]" },
		{ "('abc'):gsub('(a)(b)', '%2%1')", "[\"bac\",1]" },
		{ "('abc'):gsub('%w', {a = 'x', b = true, c = false})",
		  "error: t:1: invalid replacement value (a boolean)" },
		{ "('abc'):gsub('%w', {a = 'x', c = 1})", "[\"xb1\",3]" },
		{ "('abc'):gsub('%w', function(c) if c == 'b' then return 'B' end end)",
		  "[\"aBc\",3]" },
		{ "('  x  '):gsub('^%s*(.-)%s*$', '%1')", "[\"x\",1]" },
		{ "('aaa'):gsub('^a', 'b')", "[\"baa\",1]" },
		{ "('a,b,,c'):gsub(',', ';')", "[\"a;b;;c\",3]" },
		{ "('abc'):gsub('b', '%%')", "[\"a%c\",1]" },
		{ "('abc'):gsub('b*', 'x')", "[\"xaxcx\",3]" },
		{ "('100'):gsub('0', 5)", "[\"155\",2]" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++)
		gives(cases[i][0], cases[i][1]);
}

static void walks(void **state)
{
	(void)state;
	gives("(function() local t = {} for w in ('one two'):gmatch('%a+') do t[#t+1] = w end "
	      "return table.unpack(t) end)()",
	      "[\"one\",\"two\"]");
	gives("(function() local t = {} for k, v in ('a=1, b=2'):gmatch('(%w)=(%w)') do "
	      "t[#t+1] = k .. v end return table.unpack(t) end)()",
	      "[\"a1\",\"b2\"]");
	gives("(function() local n = 0 for p in ('abc'):gmatch('()') do n = n + p end return n "
	      "end)()",
	      "[10]");
	gives("(function() local t = {} for w in ('xuxx uu ppar r'):gmatch('()%w*') do t[#t+1] = w "
	      "end return #t end)()",
	      "[4]");
}

static void refuses(void **state)
{
	static const char *const cases[][2] = {
		{ "('a'):find('%')", "error: t:1: malformed pattern (ends with '%')" },
		{ "('a'):find('[a')", "error: t:1: malformed pattern (missing ']')" },
		{ "('a'):find('[]')", "error: t:1: malformed pattern (missing ']')" },
		{ "('a'):find('[^]')", "error: t:1: malformed pattern (missing ']')" },
		{ "('a'):find('[a%]')", "error: t:1: malformed pattern (missing ']')" },
		{ "('a'):find('[a%')", "error: t:1: malformed pattern (missing ']')" },
		{ "('a'):find('(a')", "error: t:1: unfinished capture" },
		{ "('a'):match('a)')", "error: t:1: invalid pattern capture" },
		{ "('a'):find('%1')", "error: t:1: invalid capture index %1" },
		{ "('a'):find('(%1)')", "error: t:1: invalid capture index %1" },
		{ "('a'):find('%0')", "error: t:1: invalid capture index %0" },
		{ "('a'):find('%b')", "error: t:1: malformed pattern (missing arguments to '%b')" },
		{ "('a'):find('%b(')",
		  "error: t:1: malformed pattern (missing arguments to '%b')" },
		{ "('a'):find('%fa')", "error: t:1: missing '[' after '%f' in pattern" },
		{ "('a'):gsub('a', '%2')", "error: t:1: invalid capture index %2" },
		{ "('a'):gsub('a', '%x')", "error: t:1: invalid use of '%' in replacement string" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++)
		gives(cases[i][0], cases[i][1]);
	/* The edges: captures, and repetitions inside each other, the whole pattern included. */
	assert_int_equal(TH_SCRIPT_CAPTURES_MAX, 32);
	assert_int_equal(TH_SCRIPT_MATCH_DEPTH_MAX, 200);
	gives("select('#', (('a'):rep(32)):match(('(a)'):rep(32)))", "[32]");
	gives("(('a'):rep(33)):match(('(a)'):rep(33))", "error: t:1: too many captures");
	gives("#(('a'):rep(199)):match(('a?'):rep(199))", "[199]");
	gives("#(('a'):rep(200)):match(('a?'):rep(200))", "error: t:1: pattern too complex");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds), cmocka_unit_test(matches), cmocka_unit_test(replaces),
		cmocka_unit_test(walks), cmocka_unit_test(refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
