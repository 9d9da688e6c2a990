/* SPDX-License-Identifier: Apache-2.0 */
/* test_script.c - what a script can do, and that no script does more. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/limits.h"
#include "script/script.h"

static enum th_code run(const char *source, const char *arguments, struct th_buf *out,
			struct th_err *err)
{
	struct th_script *s = NULL;
	enum th_code code = th_script_new(TH_STR("t"), th_str_of(source), NULL, &s, err);

	if (!code)
		code = th_script_call(s, "f", th_str_of(arguments), out, err);
	th_script_free(s);
	return code;
}

/* What f makes of the arguments. */
static void gives(const char *source, const char *arguments, const char *wanted)
{
	struct th_buf out = TH_BUF_INIT(TH_SCRIPT_VALUE_MAX);
	struct th_err err = { 0 };

	if (run(source, arguments, &out, &err))
		fail_msg("%s: %s", source, err.msg);
	if (strcmp(out.ptr, wanted) != 0)
		fail_msg("%s: %s, not %s", source, out.ptr, wanted);
	th_buf_deinit(&out);
}

static void fails(const char *source, enum th_code wanted, const char *words)
{
	struct th_buf out = TH_BUF_INIT(TH_SCRIPT_VALUE_MAX);
	struct th_err err = { 0 };
	enum th_code code = run(source, "[]", &out, &err);

	if (code != wanted || !strstr(err.msg, words))
		fail_msg("%s: %s \"%s\" (%s), not %s \"%s\"", source, th_code_name(code),
			 code ? err.msg : "", out.ptr, th_code_name(wanted), words);
	assert_int_equal(out.len, 0);
	th_buf_deinit(&out);
}

/* ---- what it can do ----------------------------------------------------------------------- */

static void values_cross(void **state)
{
	static const char *const whole[] = {
		"null",
		"true",
		"[]",
		"{}",
		"[[]]",
		"[null,null]",
		"{\"a\":[],\"b\":{},\"c\":null}",
		"-9223372036854775808",
		"9223372036854775807",
		"0.5",
		"\"\\u0000 \xc3\xa4\"",
		"[1,[2,[3,{\"x\":[]}]]]",
	};
	char arguments[200];

	(void)state;
	for (size_t i = 0; i < TH_COUNT(whole); i++) {
		snprintf(arguments, sizeof(arguments), "[%s]", whole[i]);
		gives("function f(v) return v end", arguments, whole[i]);
		gives("function f(v) return json.decode(json.encode(v)) end", arguments, whole[i]);
	}
	gives("function f() end", "[]", "null");
	gives("function f() return {} end", "[]", "{}");
	gives("function f() return list() end", "[]", "[]");
	gives("function f() return list{1, 2} end", "[]", "[1,2]");
	gives("function f() return {b = 1, a = 2, c = {z = 1, y = 2}} end", "[]",
	      "{\"a\":2,\"b\":1,\"c\":{\"y\":2,\"z\":1}}");
	gives("function f(a, b) return a + b end", "[1, 2]", "3");
	gives("function f() return 1e400 end", "[]", "null");
	gives("function f() return 'a\\xffb' end", "[]",
	      "\"a\xef\xbf\xbd"
	      "b\"");
	gives("function f(v) table.insert(v, 3) return v end", "[[1,2]]", "[1,2,3]");
	gives("function f(v) return v.a == null end", "[{\"a\":null}]", "true");
	gives("function f() return (json.decode('{')) end", "[]", "null");
	gives("function f(v) return v end", "[18446744073709551615]", "18446744073709552000.0");
	fails("function f() return {1, 2, x = 3} end", TH_EPROTO, "neither a list nor an object");
	fails("function f() return {[1.5] = 3} end", TH_EPROTO, "key of type number");
	fails("function f() return f end", TH_EPROTO, "a function cannot be given back");
	fails("function f() local t = {} t.t = t return t end", TH_EPROTO, "deeper than 32");
	fails("function f() local t = {1} for i = 1, 30 do t = {t, t, t, t} end return t end",
	      TH_EPROTO, "larger than");
}

/* Depth and size at their edges. */
static void edges(void **state)
{
	struct th_buf arguments = TH_BUF_INIT(2 * TH_SCRIPT_VALUE_MAX);
	struct th_buf out = TH_BUF_INIT(TH_SCRIPT_VALUE_MAX);
	struct th_script *s;
	struct th_err err;
	char *source;

	(void)state;
	assert_int_equal(TH_SCRIPT_DEPTH_MAX, 32);
	gives(
	    "function f() local t = 1 for i = 1, 31 do t = list{t} end return #json.encode(t) end",
	    "[]", "63");
	fails("function f() local t = 1 for i = 1, 32 do t = list{t} end return t end", TH_EPROTO,
	      "deeper than 32");
	gives("function f() return json.decode(('['):rep(31) .. 1 .. (']'):rep(31)) ~= nil end",
	      "[]", "true");
	fails("function f() return json.decode(('['):rep(32) .. 1 .. (']'):rep(32)) end", TH_EPROTO,
	      "deeper than 32");
	/* The slots of a table are one block, 16 bytes each. */
	assert_int_equal(TH_SCRIPT_BLOCK_MAX, 131072 * 16);
	gives("function f() local t = {} for i = 1, 131072 do t[i] = 1 end return #t end", "[]",
	      "131072");
	fails("function f() local t = {} for i = 1, 131073 do t[i] = 1 end return #t end",
	      TH_ELIMIT, "more than 16777216 bytes of memory");
	gives("function f() return #json.encode(('x'):rep(1024 * 1024 - 2)) end", "[]", "1048576");
	fails("function f() return ('x'):rep(1024 * 1024 - 1) end", TH_EPROTO, "larger than");
	assert_int_equal(
	    th_script_new(TH_STR("t"), TH_STR("function f(s) return #s end"), NULL, &s, &err),
	    TH_OK);
	th_buf_add_cstr(&arguments, "[\"");
	for (size_t i = 0; i < TH_SCRIPT_VALUE_MAX - 4; i++)
		th_buf_add_char(&arguments, 'x');
	th_buf_add_cstr(&arguments, "\"]");
	assert_int_equal(th_script_call(s, "f", th_buf_str(&arguments), &out, &err), TH_OK);
	assert_string_equal(out.ptr, "1048572");
	th_buf_add_char(&arguments, ' ');
	assert_int_equal(th_script_call(s, "f", th_buf_str(&arguments), &out, &err), TH_ELIMIT);
	assert_string_equal(out.ptr, "1048572");
	th_script_free(s);
	source = malloc(TH_SCRIPT_SOURCE_MAX + 1);
	memset(source, ' ', TH_SCRIPT_SOURCE_MAX + 1);
	assert_int_equal(
	    th_script_new(TH_STR("t"), th_str_n(source, TH_SCRIPT_SOURCE_MAX), NULL, &s, &err),
	    TH_OK);
	th_script_free(s);
	assert_int_equal(
	    th_script_new(TH_STR("t"), th_str_n(source, TH_SCRIPT_SOURCE_MAX + 1), NULL, &s, &err),
	    TH_ELIMIT);
	free(source);
	th_buf_deinit(&arguments);
	th_buf_deinit(&out);
}

static void lua_works(void **state)
{
	(void)state;
	gives("function f(n) local function fib(n) return n < 2 and n or fib(n-1) + fib(n-2) end "
	      "return fib(n) end",
	      "[15]", "610");
	gives(
	    "function f() local co = coroutine.create(function(a, b) local c = coroutine.yield(a + "
	    "b) "
	    "error({code = c}) end)\n"
	    "local t = {coroutine.resume(co, 1, 2)} local u = {coroutine.resume(co, 7)}\n"
	    "return {t[1], t[2], u[1], u[2].code, coroutine.status(co), coroutine.resume(co)} end",
	    "[]", "[true,3,false,7,\"dead\",false,\"cannot resume dead coroutine\"]");
	gives("function f() local g = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) "
	      "end "
	      "end) return {g(), g(), g()} end",
	      "[]", "[1,2,3]");
	gives("function f() local g = coroutine.wrap(function() local ok, e = pcall(function() "
	      "coroutine.yield(1) error('x', 0) end) coroutine.yield(e) return ok end) "
	      "return {g(), g(), g()} end",
	      "[]", "[1,\"x\",false]");
	gives("function f() local t = {5, 2, 8} table.sort(t, function(a, b) return a > b end) "
	      "return table.concat(t, '-') end",
	      "[]", "\"8-5-2\"");
	gives("function f() local s = '' for k, v in pairs({a = 1}) do s = s .. k .. v end "
	      "for i, v in ipairs({7, 8}) do s = s .. i .. v end return s end",
	      "[]", "\"a11728\"");
	gives("function f() return ('%d %s %5.2f %q %s'):format(3, 'x', 1.5, 'y', {}) end", "[]",
	      "\"3 x  1.50 \\\"y\\\" table\"");
	gives("function f() return {tostring({}), tostring(print), tostring(nil), tostring(1.5), "
	      "tostring(setmetatable({}, {__tostring = function() return 'T' end}))} end",
	      "[]", "[\"table\",\"function\",\"nil\",\"1.5\",\"T\"]");
	gives("function f() local o = setmetatable({}, {__index = function(t, k) return k .. '!' "
	      "end}) "
	      "return o.x end",
	      "[]", "\"x!\"");
	gives("function f() local s = '' for _, c in utf8.codes('a\xc3\xa4') do s = s .. c .. ' ' "
	      "end "
	      "return s end",
	      "[]", "\"97 228 \"");
	gives("function f() return {table.unpack(table.move({1, 2, 3}, 2, 3, 1))} end", "[]",
	      "[2,3,3]");
	gives("function f() return {('ab'):rep(3, ','), (''):rep(1e15), ('x'):rep(-1), "
	      "('x'):byte()} end",
	      "[]", "[\"ab,ab,ab\",\"\",\"\",120]");
	gives(
	    "function f() local t = {} do local c <close> = setmetatable({}, {__close = function() "
	    "t.closed = true end}) end return t end",
	    "[]", "{\"closed\":true}");
	gives("function f() return '10' + 1 end", "[]", "11");
	gives("function f() return {pcall(error, {message = 'm'})} end", "[]",
	      "[false,{\"message\":\"m\"}]");
}

static void it_says(void **state)
{
	struct th_script *s;
	struct th_err err;
	struct th_buf out = TH_BUF_INIT(TH_KIB);

	(void)state;
	assert_int_equal(
	    th_script_new(TH_STR("t"),
			  TH_STR("print('a', 1, nil, {}) function f() for i = 1, 5000 do "
				 "print('line', i) end end"),
			  NULL, &s, &err),
	    TH_OK);
	assert_true(th_script_has(s, "f"));
	assert_false(th_script_has(s, "g"));
	assert_true(th_str_is(th_script_said(s), "a\t1\tnil\ttable\n"));
	assert_int_equal(th_script_call(s, "f", TH_STR("[]"), &out, &err), TH_OK);
	assert_true(th_script_said(s).len <= TH_SCRIPT_SAID_MAX);
	assert_int_equal(th_script_call(s, "g", TH_STR("[]"), &out, &err), TH_ENOENT);
	th_script_free(s);
	th_buf_deinit(&out);
}

static void errors_name_the_line(void **state)
{
	struct th_script *s;
	struct th_err err;

	(void)state;
	assert_int_equal(th_script_new(TH_STR("a.lua"), TH_STR("\nfunction f("), NULL, &s, &err),
			 TH_EUSAGE);
	assert_non_null(strstr(err.msg, "a.lua:2:"));
	assert_int_equal(th_script_new(TH_STR("a.lua"), TH_STR("\n\nerror('no')"), NULL, &s, &err),
			 TH_EUSAGE);
	assert_string_equal(err.msg, "a.lua:3: no");
	fails("function f() local x = nil\nreturn x.y end", TH_EPROTO,
	      "t:2: attempt to index a nil value (local 'x')");
	/* An error that is no string has nobody asked what it is. */
	fails(
	    "function f() error(setmetatable({}, {__tostring = function() while true do end end})) "
	    "end",
	    TH_EPROTO, "raised a value of type table");
	fails("function f() error() end", TH_EPROTO, "type nil");
}

/* ---- what it cannot reach ----------------------------------------------------------------- */

static void nothing_reaches_out(void **state)
{
	static const char *const gone[] = {
		"load",
		"loadstring",
		"dofile",
		"loadfile",
		"require",
		"package",
		"io",
		"os",
		"debug",
		"collectgarbage",
		"xpcall",
		"warn",
		"string.dump",
		"string.pack",
		"string.unpack",
		"math.random",
		"math.randomseed",
		"coroutine.close",
		"_VERSION",
	};
	char source[100];

	(void)state;
	for (size_t i = 0; i < TH_COUNT(gone); i++) {
		snprintf(source, sizeof(source), "function f() return %s == nil end", gone[i]);
		gives(source, "[]", "true");
	}
	/* The whole of what there is. */
	gives("function f() local t = {} for k in pairs(_G) do t[#t+1] = k end table.sort(t) "
	      "return table.concat(t, ' ') end",
	      "[]",
	      "\"_G assert coroutine error f getmetatable ipairs json list math next null pairs "
	      "pcall "
	      "print rawequal rawget rawlen rawset select setmetatable string table tonumber "
	      "tostring "
	      "type utf8\"");
	/* Bytecode is no source. */
	fails("\x1bLua", TH_EUSAGE, "attempt to load a binary chunk");
	/* Strings' metatable. */
	gives("function f() return getmetatable('') end", "[]", "false");
	fails("function f() setmetatable('', {}) end", TH_EPROTO, "table expected");
	fails("function f() setmetatable(list(), {}) end", TH_EPROTO, "protected");
	fails("function f() return ('%p'):format('x') end", TH_EPROTO, "%p");
	fails("function f() return ('%-10p'):format('x') end", TH_EPROTO, "%p");
	fails("function f() setmetatable({}, {__gc = function() end}) end", TH_EPROTO, "__gc");
	fails("function f() setmetatable({}, {__mode = 'k'}) end", TH_EPROTO, "__mode");
}

/* ---- hostile ones ------------------------------------------------------------------------- */

static const struct {
	const char *what, *body;
	enum th_code code;
	const char *words;
} hostile[] = {
	{ "endless loop", "while true do end", TH_ELIMIT, "instructions" },
	{ "endless for", "for i = 1, math.huge do end", TH_ELIMIT, "instructions" },
	{ "goto", "::a:: goto a", TH_ELIMIT, "instructions" },
	{ "memory bomb", "local t = {} for i = 1, 1e9 do t[i] = {i} end", TH_ELIMIT, "" },
	{ "one huge table", "local t = {} for i = 1, 1e9 do t[i] = i end", TH_ELIMIT, "memory" },
	{ "doubling", "local s = 'x' while true do s = s .. s end", TH_ELIMIT, "memory" },
	{ "rep", "return ('x'):rep(1e9)", TH_EPROTO, "too large" },
	{ "rep with gap", "return ('x'):rep(1e6, ('y'):rep(1e6))", TH_EPROTO, "too large" },
	{ "rep overflow", "return ('ab'):rep(1 << 62)", TH_EPROTO, "too large" },
	{ "many reps", "while true do local s = ('x'):rep(1e6) end", TH_ELIMIT, "instructions" },
	{ "format bomb",
	  "while true do local s = ('%99.99f'):rep(100):format(table.unpack((function() "
	  "local t = {} for i = 1, 100 do t[i] = 1e300 end return t end)())) end",
	  TH_ELIMIT, "instructions" },
	{ "deep recursion", "local function g() return 1 + g() end return g()", TH_ELIMIT,
	  "memory" },
	{ "deep recursion, caught",
	  "local function g() return 1 + g() end while true do pcall(g) end", TH_ELIMIT, "memory" },
	{ "tail calls", "local function g() return g() end return g()", TH_ELIMIT, "instructions" },
	{ "C stack", "local function g(s) return (s:gsub('.', g)) end return g('x')", TH_EPROTO,
	  "C stack overflow" },
	{ "C stack by pcall", "local function g() return pcall(g) end g() while true do end",
	  TH_ELIMIT, "" },
	{ "C stack by tostring",
	  "local t = setmetatable({}, {}) getmetatable(t).__tostring = function() return "
	  "tostring(t) "
	  "end return tostring(t)",
	  TH_EPROTO, "C stack overflow" },
	{ "C stack by coroutines", "local function g() return coroutine.wrap(g)() end return g()",
	  TH_EPROTO, "C stack overflow" },
	{ "C stack by index",
	  "local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k] end "
	  "return t.x",
	  TH_EPROTO, "stack overflow" },
	{ "index chain",
	  "local t = {} for i = 1, 1e6 do t = setmetatable({}, {__index = t}) end "
	  "return t.x",
	  TH_ELIMIT, "" },
	{ "pattern bomb", "return (('a'):rep(60)):match(('a-'):rep(40) .. 'b')", TH_ELIMIT,
	  "instructions" },
	{ "pattern bomb by stars", "return (('a'):rep(60)):match(('a*'):rep(40) .. 'b')", TH_ELIMIT,
	  "instructions" },
	{ "pattern bomb by options",
	  "return (('a'):rep(40)):match(('a?'):rep(40) .. ('a'):rep(41))", TH_ELIMIT,
	  "instructions" },
	{ "pattern bomb by balance", "return (('('):rep(1e6)):match('%b()')", TH_ELIMIT,
	  "instructions" },
	{ "pattern bomb by captures", "return (('a'):rep(1e6)):match('(.-)%1%1b')", TH_ELIMIT,
	  "instructions" },
	{ "pattern bomb by a set", "return (('b'):rep(1e6)):find('[' .. ('x'):rep(1e6) .. ']')",
	  TH_ELIMIT, "instructions" },
	{ "gmatch over much", "for a in (('ab'):rep(1e6)):gmatch('(.-)b') do end", TH_ELIMIT, "" },
	{ "gsub for ever", "while true do (('a'):rep(1000)):gsub('a', 'bb') end", TH_ELIMIT,
	  "instructions" },
	{ "plain find", "local a = ('a'):rep(5e5) for i = 1, 1e6 do a:find(a .. 'b', 1, true) end",
	  TH_ELIMIT, "instructions" },
	{ "pcall loop", "while true do pcall(function() while true do end end) end", TH_ELIMIT,
	  "instructions" },
	{ "pcall of memory",
	  "while true do pcall(function() local t = {} while true do t[#t+1] = {} end end) end",
	  TH_ELIMIT, "" },
	{ "pcall of a string of memory",
	  "while true do pcall(function() local s = 'x' while true do s = s .. s end end) end",
	  TH_ELIMIT, "memory" },
	{ "pcall of concat",
	  "local t = {} for i = 1, 1e4 do t[i] = ('x'):rep(1e3) end while true do "
	  "pcall(table.concat, t) "
	  "end",
	  TH_ELIMIT, "" },
	{ "close loop",
	  "local x <close> = setmetatable({}, {__close = function() while true do end end}) "
	  "while true do end",
	  TH_ELIMIT, "instructions" },
	{ "many closes",
	  "local function g(n) local x <close> = setmetatable({}, {__close = function() while true "
	  "do "
	  "end end}) if n > 0 then g(n - 1) end while true do end end g(100)",
	  TH_ELIMIT, "instructions" },
	{ "close in a coroutine",
	  "local co = coroutine.wrap(function() local x <close> = setmetatable({}, {__close = "
	  "function() "
	  "while true do end end}) while true do end end) while true do pcall(co) end",
	  TH_ELIMIT, "instructions" },
	{ "close in a coroutine that fails",
	  "local co = coroutine.wrap(function() local x <close> = setmetatable({}, {__close = "
	  "function() "
	  "while true do end end}) error('x') end) co()",
	  TH_EPROTO, "x" },
	{ "coroutine loop",
	  "local co = coroutine.wrap(function() while true do coroutine.yield() end end) "
	  "while true do co() end",
	  TH_ELIMIT, "instructions" },
	{ "coroutine that loops inside",
	  "coroutine.resume(coroutine.create(function() while true do end end)) return 'went on'",
	  TH_ELIMIT, "instructions" },
	{ "many coroutines",
	  "local t = {} while true do t[#t+1] = coroutine.create(function() end) end", TH_ELIMIT,
	  "" },
	{ "a tree of short coroutines",
	  "local function g(n) if n == 0 then return end coroutine.wrap(g)(n-1) "
	  "coroutine.wrap(g)(n-1) end "
	  "g(100)",
	  TH_ELIMIT, "instructions" },
	{ "coroutine and memory",
	  "while true do coroutine.resume(coroutine.create(function() local t = {} while true do "
	  "t[#t+1] = {} end end)) end",
	  TH_ELIMIT, "" },
	{ "pcall in a coroutine",
	  "local co = coroutine.wrap(function() while true do pcall(function() while true do "
	  "coroutine.yield() end end) end end) while true do co() end",
	  TH_ELIMIT, "instructions" },
	{ "sort by a C function",
	  "local t = {} for i = 1, 1e5 do t[i] = {} end table.sort(t, rawequal) while true do end",
	  TH_ELIMIT, "instructions" },
	{ "sort by next",
	  "local a = {} a[a] = 1 local mt = {__lt = next} setmetatable(a, mt) local t = {} "
	  "for i = 1, 1e5 do t[i] = a end while true do table.sort(t) end",
	  TH_ELIMIT, "instructions" },
	{ "a length that lies",
	  "table.insert(setmetatable({}, {__len = function() return 1 << 40 end}), 1, 'x')",
	  TH_EPROTO, "without a metatable" },
	{ "move", "table.move({}, 1, 1 << 60, 2)", TH_ELIMIT, "instructions" },
	{ "move of extremes", "table.move({}, math.mininteger, math.maxinteger - 1, 1)", TH_ELIMIT,
	  "" },
	{ "unpack", "return table.unpack({}, 1, 1e7)", TH_ELIMIT, "instructions" },
	{ "unpack of less", "while true do select('#', table.unpack({}, 1, 1e5)) end", TH_ELIMIT,
	  "" },
	{ "select", "return select(-1, 1, 2)", TH_OK, "" },
	{ "concat", "return table.concat({}, 'x', 1, 1e9)", TH_ELIMIT, "instructions" },
	{ "ipairs for ever",
	  "for i in ipairs(setmetatable({}, {__index = function() return 1 end})) do end",
	  TH_ELIMIT, "instructions" },
	{ "ipairs in C only",
	  "local f, t, i = ipairs(setmetatable({}, {__index = math.abs})) while true do pcall(f, "
	  "t, i) end",
	  TH_ELIMIT, "instructions" },
	{ "utf8",
	  "local s = ('\\x80'):rep(1e6) while true do utf8.len(s, 1, -1, true) utf8.offset(s, 0, "
	  "1e6) "
	  "end",
	  TH_ELIMIT, "instructions" },
	{ "json bomb", "local s = '[' .. ('[],'):rep(3e5) .. '1]' while true do json.decode(s) end",
	  TH_ELIMIT, "" },
	{ "json depth", "return json.decode(('['):rep(1e5))", TH_OK, "" },
	{ "tonumber", "local s = ('1'):rep(1e6) while true do tonumber(s) end", TH_ELIMIT, "" },
	{ "error objects",
	  "local e = setmetatable({}, {__tostring = function() while true do end end}) "
	  "while true do pcall(error, e) end",
	  TH_ELIMIT, "instructions" },
	{ "a later finalizer",
	  "local mt = {} for i = 1, 1e4 do setmetatable({}, mt) mt.__gc = function(o) while true "
	  "do end "
	  "end mt.__gc = nil end mt.__gc = function(o) resurrected = o while true do end end "
	  "for i = 1, 2e4 do local t = {} end return resurrected == nil",
	  TH_OK, "" },
	{ "a later weak table",
	  "local mt, keep = {}, {} mt.__index = mt for i = 1, 3000 do keep[i] = setmetatable({}, "
	  "mt) end "
	  "for i = 1, 2999 do keep[i][keep[i + 1]] = keep[3000 - i] end mt.__mode = 'k' "
	  "while true do local t = {} end",
	  TH_ELIMIT, "" },
	{ "a metatable of itself", "local t = {} t.__index = t setmetatable(t, t) return t.x",
	  TH_EPROTO, "loop" },
	{ "a call of itself", "local t = {} setmetatable(t, {__call = t}) return t()", TH_ELIMIT,
	  "" },
	{ "a chain of calls",
	  "local f = function() end for i = 1, 1e6 do f = setmetatable({}, {__call = f}) end f()",
	  TH_ELIMIT, "" },
	{ "sums for ever",
	  "local mt = {} mt.__add = function(a, b) return a + b end local t = setmetatable({}, mt) "
	  "while true do pcall(function() return t + t end) end",
	  TH_ELIMIT, "" },
	{ "comparisons for ever",
	  "local mt = {} mt.__lt = function(a, b) while true do end end "
	  "local t = setmetatable({}, mt) return pcall(function() return t < t end)",
	  TH_ELIMIT, "instructions" },
	{ "assignments for ever",
	  "local mt = {} mt.__newindex = function(t, k, v) t[k .. 'x'] = v end "
	  "local t = setmetatable({}, mt) while true do pcall(function() t.x = 1 end) end",
	  TH_ELIMIT, "" },
	{ "the metatable of strings",
	  "getmetatable('').__index = function() while true do end end return ('x').y", TH_EPROTO,
	  "index" },
	{ "a metatable that hides",
	  "setmetatable(string, {__index = function() return print end}) "
	  "return ('x'):nothing()",
	  TH_OK, "" },
	{ "a coroutine with much luggage",
	  "local co = coroutine.wrap(function(...) while true do coroutine.yield(...) end end) "
	  "while true do co(table.unpack({}, 1, 1e4)) end",
	  TH_ELIMIT, "" },
	{ "a coroutine that resumes itself",
	  "local co co = coroutine.create(function() while true do coroutine.resume(co) end end) "
	  "coroutine.resume(co)",
	  TH_ELIMIT, "instructions" },
	{ "coroutines that resume each other",
	  "local a, b a = coroutine.create(function() while true do coroutine.resume(b) "
	  "coroutine.yield() end end) b = coroutine.create(function() while true do "
	  "coroutine.resume(a) coroutine.yield() end end) while true do coroutine.resume(a) end",
	  TH_ELIMIT, "instructions" },
	{ "globals gone", "local g = _G for k in pairs(g) do g[k] = nil end while true do end",
	  TH_ELIMIT, "instructions" },
	{ "string methods gone", "string.rep = nil string.format = nil return ('x'):rep(2)",
	  TH_EPROTO, "rep" },
	{ "print for ever", "while true do print(('x'):rep(1000)) end", TH_ELIMIT, "instructions" },
	{ "printing without end",
	  "print(setmetatable({}, {__tostring = function() while true do end end}))", TH_ELIMIT,
	  "instructions" },
};

static void hostile_scripts_stop(void **state)
{
	struct th_buf out = TH_BUF_INIT(TH_SCRIPT_VALUE_MAX);
	struct th_script *other;
	struct th_err err;

	(void)state;
	assert_int_equal(th_script_new(TH_STR("other"),
				       TH_STR("local n = 0 function f() n = n + 1 return "
					      "('%d %s'):format(n, ('x'):rep(2)) end"),
				       NULL, &other, &err),
			 TH_OK);
	for (size_t i = 0; i < TH_COUNT(hostile); i++) {
		struct th_buf source = TH_BUF_INIT(TH_SCRIPT_SOURCE_MAX), ret = TH_BUF_INIT(TH_MIB);
		struct th_script *s = NULL;
		char wanted[32];
		enum th_code code;

		th_buf_printf(&source, "function f() %s end", hostile[i].body);
		err.msg[0] = '\0';
		if (th_script_new(TH_STR("t"), th_buf_str(&source), NULL, &s, &err))
			fail_msg("%s: %s", hostile[i].what, err.msg);
		code = th_script_call(s, "f", TH_STR("[]"), &ret, &err);
		/* On a machine that is busy elsewhere, time may come first. */
		if (code == TH_ETIMEOUT && hostile[i].code == TH_ELIMIT)
			s = th_script_free(s);
		else if (code != hostile[i].code || (code && !strstr(err.msg, hostile[i].words)))
			fail_msg("%s: %s, %s", hostile[i].what, th_code_name(code),
				 code ? err.msg : ret.ptr);
		/* A cap that was passed stays passed. */
		if (s && code && strstr(err.msg, "stopped: ")) {
			struct th_err again;

			assert_int_equal(th_script_call(s, "f", TH_STR("[]"), &ret, &again), code);
			assert_string_equal(again.msg, err.msg);
		}
		th_script_free(s);
		th_buf_deinit(&source);
		th_buf_deinit(&ret);
		/* The other state goes on as if nothing had been. */
		th_buf_clear(&out);
		assert_int_equal(th_script_call(other, "f", TH_STR("[]"), &out, &err), TH_OK);
		snprintf(wanted, sizeof(wanted), "\"%zu xx\"", i + 1);
		assert_string_equal(out.ptr, wanted);
	}
	th_script_free(other);
	th_buf_deinit(&out);
}

/* The same, while the source itself runs, and while it is compiled. */
static void hostile_sources_stop(void **state)
{
	struct th_buf source = TH_BUF_INIT(TH_SCRIPT_SOURCE_MAX);
	struct th_script *s;
	struct th_err err;

	(void)state;
	assert_int_equal(th_script_new(TH_STR("t"), TH_STR("while true do end"), NULL, &s, &err),
			 TH_ELIMIT);
	assert_string_equal(err.msg, "t: stopped: it takes more than 2000000 instructions");
	for (int i = 0; i < 30000; i++)
		th_buf_add_cstr(&source, "((");
	assert_int_equal(th_script_new(TH_STR("t"), th_buf_str(&source), NULL, &s, &err),
			 TH_EUSAGE);
	th_buf_clear(&source);
	th_buf_add_cstr(&source, "do ");
	while (source.len < TH_SCRIPT_SOURCE_MAX - 20)
		th_buf_add_cstr(&source, "goto a ");
	th_buf_add_cstr(&source, "::a:: end");
	assert_int_equal(th_script_new(TH_STR("t"), th_buf_str(&source), NULL, &s, &err), TH_OK);
	th_script_free(s);
	th_buf_deinit(&source);
}

static void smaller_limits(void **state)
{
	struct th_script_limits limits = { .memory = 100 * TH_KIB,
					   .instructions = 10000,
					   .wall_ms = 1 << 30 };
	struct th_buf out = TH_BUF_INIT(TH_KIB);
	struct th_script *s;
	struct th_err err;

	(void)state;
	assert_int_equal(th_script_new(TH_STR("t"),
				       TH_STR("function f(n) for i = 1, n do end return n end "
					      "function g(n) return #('x'):rep(n) end"),
				       &limits, &s, &err),
			 TH_OK);
	/* Each call has all of them. */
	for (int i = 0; i < 5; i++)
		assert_int_equal(th_script_call(s, "f", TH_STR("[9000]"), &out, &err), TH_OK);
	assert_int_equal(th_script_call(s, "g", TH_STR("[20000]"), &out, &err), TH_OK);
	assert_int_equal(th_script_call(s, "f", TH_STR("[10100]"), &out, &err), TH_ELIMIT);
	assert_string_equal(err.msg, "t: stopped: it takes more than 10000 instructions");
	th_script_free(s);
	/* Slow, with few instructions: each looks through all that is gone. */
	limits = (struct th_script_limits){ .wall_ms = 100 };
	assert_int_equal(
	    th_script_new(
		TH_STR("t"),
		TH_STR("function f() local t = {} for i = 1, 1e5 do t[i] = i end for i = 1, 1e5 "
		       "do t[i] = nil end while true do pcall(next, t) end end"),
		&limits, &s, &err),
	    TH_OK);
	assert_int_equal(th_script_call(s, "f", TH_STR("[]"), &out, &err), TH_ETIMEOUT);
	assert_string_equal(err.msg, "t: stopped: it takes longer than 100 ms");
	th_script_free(s);
	limits = (struct th_script_limits){ .memory = 100 * TH_KIB };
	assert_int_equal(
	    th_script_new(TH_STR("t"), TH_STR("x = ('x'):rep(90000)"), &limits, &s, &err),
	    TH_ELIMIT);
	th_buf_deinit(&out);
}

static enum th_code run_within(const char *source, const struct th_script_limits *limits,
			       struct th_err *err)
{
	struct th_script *s = NULL;
	struct th_buf out = TH_BUF_INIT(TH_KIB);
	enum th_code code = th_script_new(TH_STR("t"), th_str_of(source), limits, &s, err);

	if (!code)
		code = th_script_call(s, "f", TH_STR("[]"), &out, err);
	th_script_free(s);
	th_buf_deinit(&out);
	return code;
}

/* The least of a cap with which it runs, and that one less stops it. */
static int64_t least(const char *source, bool memory, int64_t below, struct th_err *err)
{
	int64_t above = 0;
	struct th_script_limits limits = { 0 };

	while (below - above > 1) {
		int64_t middle = above + (below - above) / 2;

		if (memory)
			limits.memory = (size_t)middle;
		else
			limits.instructions = middle;
		if (run_within(source, &limits, err))
			above = middle;
		else
			below = middle;
	}
	if (memory)
		limits.memory = (size_t)above;
	else
		limits.instructions = above;
	assert_int_equal(run_within(source, &limits, err), TH_ELIMIT);
	return below;
}

/* What may be asked for at most is what there is without asking; the last byte and the last
 * instruction count. */
static void edges_of_caps(void **state)
{
	/* Strings of 900,000 bytes, made by few instructions. */
	static const char strings[] = "function f() local t, k = {}, ('x'):rep(1000):rep(900) "
				      "for i = 1, %d do t[i] = k .. i end end";
	const struct th_script_limits much = { .memory = TH_SCRIPT_MEMORY_MAX + 1,
					       .instructions = TH_SCRIPT_INSTRUCTIONS_MAX + 1,
					       .wall_ms = TH_SCRIPT_WALL_MS + 1 };
	char source[300], wanted[120];
	struct th_err err;
	int64_t count;

	(void)state;
	count = least("function f() for i = 1, 3000 do end end", false, 100000, &err);
	assert_in_range(count, 3000, 3300);
	snprintf(wanted, sizeof(wanted), "t: stopped: it takes more than %lld instructions",
		 (long long)count - 1);
	assert_string_equal(err.msg, wanted);
	count = least("function f() return #('x'):rep(50000) end", true, 1 << 20, &err);
	assert_in_range(count, 50000, 200000);
	snprintf(wanted, sizeof(wanted), "t: stopped: it needs more than %lld bytes of memory",
		 (long long)count - 1);
	assert_string_equal(err.msg, wanted);
	snprintf(source, sizeof(source), strings, 14);
	assert_int_equal(run_within(source, &much, &err), TH_OK);
	snprintf(source, sizeof(source), strings, 19);
	assert_int_equal(run_within(source, &much, &err), TH_ELIMIT);
	assert_string_equal(err.msg, "t: stopped: it needs more than 16777216 bytes of memory");
	assert_int_equal(run_within("function f() while true do end end", &much, &err), TH_ELIMIT);
	assert_string_equal(err.msg, "t: stopped: it takes more than 2000000 instructions");
	/* Each of its instructions looks through all that is gone. */
	assert_int_equal(run_within("function f() local t = {} for i = 1, 1e5 do t[i] = i end "
				    "for i = 1, 1e5 do t[i] = nil end "
				    "while true do pcall(next, t) end end",
				    &much, &err),
			 TH_ETIMEOUT);
	assert_string_equal(err.msg, "t: stopped: it takes longer than 1000 ms");
}

/* A coroutine so short that no hook ever rings in it is paid for all the same: its making, and each
 * time that it is gone on with. */
static void coroutines_are_paid_for(void **state)
{
	static const struct {
		const char *function;
		enum th_code of_20, of_80;
	} costs[] = {
		{ "loop", TH_OK, TH_OK }, /* what the loop itself takes is nothing beside it */
		{ "make", TH_OK, TH_ELIMIT },
		{ "resume", TH_OK, TH_ELIMIT },
		{ "fail", TH_OK, TH_ELIMIT },
	};
	struct th_script_limits limits = { .instructions = 10000 };
	struct th_buf out = TH_BUF_INIT(TH_KIB);
	struct th_script *s;
	struct th_err err;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(costs); i++) {
		assert_int_equal(
		    th_script_new(
			TH_STR("t"),
			TH_STR("local function none() end "
			       "function loop(n) for i = 1, n do none() end end "
			       "function make(n) for i = 1, n do coroutine.create(none) end end "
			       "function resume(n) local co = coroutine.wrap(function() while true "
			       "do coroutine.yield() end end) for i = 1, n do co() end end "
			       "function fail(n) for i = 1, n do pcall(coroutine.wrap(error)) end "
			       "end"),
			&limits, &s, &err),
		    TH_OK);
		assert_int_equal(th_script_call(s, costs[i].function, TH_STR("[20]"), &out, &err),
				 costs[i].of_20);
		assert_int_equal(th_script_call(s, costs[i].function, TH_STR("[80]"), &out, &err),
				 costs[i].of_80);
		th_script_free(s);
	}
	th_buf_deinit(&out);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_cross),
		cmocka_unit_test(edges),
		cmocka_unit_test(lua_works),
		cmocka_unit_test(it_says),
		cmocka_unit_test(errors_name_the_line),
		cmocka_unit_test(nothing_reaches_out),
		cmocka_unit_test(hostile_scripts_stop),
		cmocka_unit_test(hostile_sources_stop),
		cmocka_unit_test(smaller_limits),
		cmocka_unit_test(edges_of_caps),
		cmocka_unit_test(coroutines_are_paid_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
