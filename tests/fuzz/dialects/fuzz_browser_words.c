/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of others' tools for a browser: the first byte picks a row (or code), the rest are its
 * arguments.  What comes out is JSON, and a call of our tool with arguments that are an object or
 * with a sentence.
 */
#include <stdlib.h>

#include "dialects/browser_rows.h"
#include "dialects/browser_words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct th_tool_spec tools[] = { { .name = TH_STR_INIT("browser") } };
static const struct th_dialect_context context = { .tools = tools, .tool_count = 1 };

static const char *name_of(uint8_t pick)
{
	size_t count = 0;

	while (th_browser_tools[count].name)
		count++;
	pick %= (uint8_t)(count + 1);
	return pick == count ? "browser" : th_browser_tools[pick].name;
}

static void check(struct th_str items)
{
	struct th_json_doc *doc = NULL, *arguments = NULL;
	const struct th_json *item;

	if (th_json_parse(items, &doc, NULL))
		abort();
	item = th_json_at(th_json_root(doc), 0);
	if (!th_str_is(th_json_get_str(item, "name"), "browser") ||
	    th_json_parse(th_json_get_str(item, "arguments"), &arguments, NULL) ||
	    !th_json_is_object(th_json_root(arguments)))
		abort();
	th_json_free(arguments);
	th_json_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_buf items = TH_BUF_INIT(TH_MIB), out = TH_BUF_INIT(64 * TH_MIB);
	struct th_jw w = th_jw(&items);
	struct th_str text = th_str_n((const char *)data + 1, size ? size - 1 : 0);
	bool code, changed = false;
	const char *name;

	if (!size || size > 64 * TH_KIB)
		return 0;
	name = name_of(data[0]);
	code = th_str_is(th_str_of(name), "browser") && (!text.len || text.ptr[0] != '{');
	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("function_call"));
	th_jw_kstr(&w, "call_id", TH_STR("c"));
	th_jw_kstr(&w, "name", th_str_of(name));
	if (code) { /* as a text, whatever it is */
		struct th_buf object = TH_BUF_INIT(TH_MIB);
		struct th_jw inner = th_jw(&object);

		th_jw_object(&inner);
		th_jw_kstr(&inner, "code", text);
		th_jw_object_end(&inner);
		th_jw_kstr(&w, "arguments", th_buf_str(&object));
		th_buf_deinit(&object);
	} else {
		th_jw_kstr(&w, "arguments", text);
	}
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	if (!th_browser_words(&context, th_buf_str(&items), &out, &changed, NULL) && changed)
		check(th_buf_str(&out));
	th_buf_deinit(&items);
	th_buf_deinit(&out);
	return 0;
}
