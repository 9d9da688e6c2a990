/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_script.c - any bytes as a script: it is compiled, run and, where it has a
 * function f, called; with small caps, so that no input takes long.  What it
 * gives back must be JSON.  Then the same bytes as a pattern, cut at the first
 * NUL into pattern and subject.
 */
#include <assert.h>
#include <stdint.h>

#include "base/json.h"
#include "base/limits.h"
#include "script/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct th_script_limits small = {
	.memory = TH_MIB,
	.instructions = 20000,
	.wall_ms = 1000,
};

static void call(struct th_script *s, const char *function, struct th_str arguments)
{
	struct th_buf out = TH_BUF_INIT(TH_SCRIPT_VALUE_MAX);
	struct th_json_doc *doc = NULL;
	struct th_err err;
	enum th_code code = th_script_call(s, function, arguments, &out, &err);

	assert(code != TH_OK || out.len > 0);
	/* Our own text, deeper than a script may make it, never fails to be read. */
	assert(code != TH_OK || th_json_parse(th_buf_str(&out), &doc, &err) == TH_OK);
	assert(code == TH_OK || out.len == 0);
	th_json_free(doc);
	th_buf_deinit(&out);
}

static void as_pattern(struct th_str bytes)
{
	static const char source[] =
	    "function f(s, p) local n = 0\n"
	    "s:find(p) s:match(p) for a, b in s:gmatch(p) do n = n + 1 end\n"
	    "return {s:gsub(p, '<%0>')} end";
	struct th_buf arguments = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&arguments);
	struct th_script *s = NULL;
	struct th_str pattern = th_str_split(&bytes, '\0');

	th_jw_array(&w);
	th_jw_str(&w, bytes);
	th_jw_str(&w, pattern);
	th_jw_array_end(&w);
	if (!th_script_new(TH_STR("pattern"), th_str_of(source), &small, &s, NULL) &&
	    !th_buf_check(&arguments, "", NULL))
		call(s, "f", th_buf_str(&arguments));
	th_script_free(s);
	th_buf_deinit(&arguments);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str bytes = th_str_n(data, size);
	struct th_script *s = NULL;
	struct th_err err;

	if (!th_script_new(TH_STR("fuzz"), bytes, &small, &s, &err) && th_script_has(s, "f")) {
		call(s, "f", TH_STR("[{\"a\":[1,2.5,null,true,\"x\"]},[]]"));
		call(s, "f", TH_STR("[]"));
	}
	th_script_free(s);
	as_pattern(bytes);
	return 0;
}
