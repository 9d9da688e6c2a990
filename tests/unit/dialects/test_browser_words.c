/* SPDX-License-Identifier: Apache-2.0 */
/* Tools for a browser as others have them, as calls of ours. */
#include "unit.h"

#include "actions/browse.h"
#include "dialects/browser_words.h"

static const struct th_tool_spec tools[] = { { .name = TH_STR_INIT("shell") },
					     { .name = TH_STR_INIT("browser") },
					     { .name = TH_STR_INIT("browser_hover") } };
static const struct th_dialect_context context = {
	.screen = { 800, 500 }, .turn = 3, .tools = tools, .tool_count = TH_COUNT(tools)
};

/* The items of one call, `arguments` as JSON. */
static void put_call(const char *name, const char *arguments, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("function_call"));
	th_jw_kstr(&w, "id", TH_STR("fc_1"));
	th_jw_kstr(&w, "name", th_str_of(name));
	th_jw_kstr(&w, "arguments", th_str_of(arguments));
	th_jw_kstr(&w, "status", TH_STR("incomplete"));
	th_jw_object_end(&w);
	th_jw_array_end(&w);
}

/* What the call becomes, to be freed; NULL: it stays as it is. */
static struct th_json_doc *become(const struct th_dialect_context *c, const char *name,
				  const char *arguments)
{
	struct th_buf items = TH_BUF_INIT(TH_MIB), out = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *doc = NULL;
	struct th_err err = { 0 };
	bool changed;

	put_call(name, arguments, &items);
	assert_int_equal(th_browser_words(c, th_buf_str(&items), &out, &changed, &err), TH_OK);
	if (changed && th_json_parse(th_buf_str(&out), &doc, &err))
		fail_msg("%s %s: %s", name, arguments, err.msg);
	th_buf_deinit(&items);
	th_buf_deinit(&out);
	return doc;
}

static void is_ours(const char *name, const char *arguments, const char *want)
{
	struct th_json_doc *doc = become(&context, name, arguments), *ours = NULL;
	const struct th_json *item = th_json_at(th_json_root(doc), 0);
	struct th_str got = th_json_get_str(item, "arguments");
	struct th_browse_step *steps;
	struct th_browse browse;
	struct th_arena a;
	struct th_err err = { 0 };
	size_t count;

	if (!doc || th_json_get(item, "error"))
		fail_msg("%s %s: %.*s", name, arguments, TH_FMT(th_json_get_str(item, "error")));
	if (!th_str_is(got, want))
		fail_msg("%s %s: found %.*s, want %s", name, arguments, TH_FMT(got), want);
	assert_true(th_str_is(th_json_get_str(item, "name"), "browser"));
	assert_true(th_str_is(th_json_get_str(item, "function"), name));
	assert_true(th_str_is(th_json_get_str(item, "said"), arguments));
	assert_true(th_str_is(th_json_get_str(item, "id"), "fc_1"));
	assert_true(th_str_is(th_json_get_str(item, "status"), "incomplete"));
	/* And the tool takes it. */
	th_arena_init(&a, TH_MIB);
	if (th_json_parse(got, &ours, &err) ||
	    th_table_parse(&th_browse_table, th_json_root(ours), &a, &browse, &err) ||
	    th_browse_check(&browse, &steps, &count, &err))
		fail_msg("%s: the tool refuses %s: %s", name, want, err.msg);
	th_arena_deinit(&a);
	th_json_free(ours);
	th_json_free(doc);
}

static void is_refused(const char *name, const char *arguments, const char *sentence)
{
	struct th_json_doc *doc = become(&context, name, arguments);
	const struct th_json *item = th_json_at(th_json_root(doc), 0);
	struct th_str error = th_json_get_str(item, "error");

	if (!th_str_is(error, sentence))
		fail_msg("%s %s: found %.*s, want %s", name, arguments, TH_FMT(error), sentence);
	assert_true(th_str_is(th_json_get_str(item, "name"), "browser"));
	assert_true(th_str_is(th_json_get_str(item, "arguments"), arguments));
	th_json_free(doc);
}

static void test_playwright(void **state)
{
	(void)state;
	is_ours("browser_navigate", "{\"url\":\"https://a.example\"}",
		"{\"action\":\"open\",\"url\":\"https://a.example\"}");
	is_ours("browser_snapshot", "{}", "{\"action\":\"snapshot\"}");
	is_ours("browser_click",
		"{\"element\":\"OK\",\"ref\":\"e12\",\"doubleClick\":true,\"button\":\"right\","
		"\"modifiers\":[\"Shift\"]}",
		"{\"action\":\"click\",\"ref\":12,\"count\":2,\"button\":\"right\",\"keys\":["
		"\"Shift\"]}");
	is_ours("browser_type", "{\"ref\":\"7\",\"text\":\"hi\",\"submit\":true}",
		"{\"action\":\"type\",\"ref\":7,\"text\":\"hi\",\"enter\":true,\"clear\":true}");
	is_ours("browser_type", "{\"ref\":7,\"text\":\"hi\",\"slowly\":true}",
		"{\"action\":\"type\",\"ref\":7,\"text\":\"hi\",\"clear\":false}");
	is_ours("browser_fill_form",
		"{\"fields\":[{\"name\":\"n\",\"type\":\"textbox\",\"ref\":\"e1\",\"value\":\"A\"},"
		"{\"name\":\"s\",\"type\":\"slider\",\"ref\":\"e2\",\"value\":0.5},"
		"{\"name\":\"c\",\"type\":\"combobox\",\"ref\":\"e3\",\"value\":\"Red\"},"
		"{\"name\":\"r\",\"type\":\"radio\",\"ref\":\"e4\",\"value\":\"true\"}]}",
		"{\"steps\":[{\"action\":\"type\",\"text\":\"A\",\"clear\":true,\"ref\":1},"
		"{\"action\":\"type\",\"text\":\"0.5\",\"clear\":true,\"ref\":2},"
		"{\"action\":\"select\",\"values\":[\"Red\"],\"ref\":3},"
		"{\"action\":\"click\",\"ref\":4}]}");
	is_ours("browser_drag", "{\"startRef\":\"e1\",\"endRef\":\"e2\",\"startElement\":\"a\"}",
		"{\"action\":\"drag\",\"ref\":1,\"to\":2}");
	is_ours("browser_press_key", "{\"key\":\"Control++\"}",
		"{\"action\":\"key\",\"keys\":[\"Control\",\"+\"]}");
	is_ours("browser_press_key", "{\"key\":\"+\"}", "{\"action\":\"key\",\"keys\":[\"+\"]}");
	is_ours("browser_press_key", "{\"key\":\"ArrowLeft\"}",
		"{\"action\":\"key\",\"keys\":[\"ArrowLeft\"]}");
	is_ours("browser_wait_for", "{\"textGone\":\"Loading\",\"time\":1.2}",
		"{\"action\":\"wait\",\"gone\":true,\"text\":\"Loading\",\"seconds\":2}");
	is_ours("browser_handle_dialog", "{\"accept\":true,\"promptText\":\"x\"}",
		"{\"action\":\"dialog\",\"dismiss\":false,\"text\":\"x\"}");
	is_ours("browser_file_upload", "{\"paths\":[\"a\"]}",
		"{\"action\":\"upload\",\"files\":[\"a\"]}");
	is_ours("browser_evaluate", "{\"function\":\"() => 1\"}",
		"{\"action\":\"evaluate\",\"script\":\"(() => 1)()\"}");
	is_ours("browser_take_screenshot", "{\"type\":\"png\",\"fullPage\":false}",
		"{\"action\":\"screenshot\"}");
	is_ours("browser_tabs", "{\"action\":\"new\"}", "{\"action\":\"open\",\"new_tab\":true}");
	is_ours("browser_tabs", "{\"action\":\"select\",\"index\":2}",
		"{\"action\":\"tab\",\"tab\":2}");
	is_ours("browser_tab_new", "{\"url\":\"https://a.example\"}",
		"{\"action\":\"open\",\"new_tab\":true,\"url\":\"https://a.example\"}");
	is_ours("browser_mouse_wheel", "{\"deltaX\":0,\"deltaY\":90}",
		"{\"action\":\"scroll\",\"dx\":0,\"dy\":90}");
}

static void test_openhands(void **state)
{
	(void)state;
	is_ours("browser_click", "{\"index\":4,\"new_tab\":false,\"summary\":\"s\"}",
		"{\"action\":\"click\",\"ref\":4}");
	is_ours("browser_type", "{\"index\":4,\"text\":\"hi\",\"security_risk\":\"LOW\"}",
		"{\"action\":\"type\",\"ref\":4,\"text\":\"hi\"}");
	is_ours("browser_get_state", "{\"include_screenshot\":true}",
		"{\"action\":\"snapshot\",\"screenshot\":true}");
	is_ours("browser_scroll", "{\"direction\":\"up\"}", "{\"action\":\"scroll\",\"dy\":-500}");
	is_ours("browser_switch_tab", "{\"tab_id\":\"3\"}", "{\"action\":\"tab\",\"tab\":3}");
	is_ours("browser_get_content", "{\"extract_links\":false,\"start_from_char\":0}",
		"{\"action\":\"read\"}");
}

static void test_code(void **state)
{
	(void)state;
	is_ours("browser",
		"{\"code\":\"goto('https://a.example')\\nfill('3', 'x')\\n"
		"click('4', button='right'); noop(1500)\\npress('3', 'Control+a')\"}",
		"{\"steps\":[{\"action\":\"open\",\"url\":\"https://a.example\"},"
		"{\"action\":\"type\",\"clear\":true,\"ref\":3,\"text\":\"x\"},"
		"{\"action\":\"click\",\"ref\":4,\"button\":\"right\"},"
		"{\"action\":\"wait\",\"seconds\":2},"
		"{\"action\":\"key\",\"ref\":3,\"keys\":[\"Control\",\"a\"]}]}");
	is_ours("browser",
		"{\"code\":\"noop() new_tab() tab_focus(2) clear('3') select_option('5', 'x') "
		"dblclick('4') scroll(0, -200) upload_file('6', ['a', 'b']) tab_close()\"}",
		"{\"steps\":[{\"action\":\"wait\"},{\"action\":\"open\",\"new_tab\":true},"
		"{\"action\":\"tab\",\"tab\":2},{\"action\":\"type\",\"clear\":true,\"ref\":3},"
		"{\"action\":\"select\",\"ref\":5,\"values\":[\"x\"]},"
		"{\"action\":\"click\",\"count\":2,\"ref\":4},"
		"{\"action\":\"scroll\",\"dx\":0.0,\"dy\":-200.0},"
		"{\"action\":\"upload\",\"ref\":6,\"files\":[\"a\",\"b\"]},"
		"{\"action\":\"close\"}]}");
	is_refused("browser", "{\"code\":\"send_msg_to_user('hi')\"}",
		   "code: there is no send_msg_to_user here");
	is_refused("browser", "{\"code\":\"click(1, 'left', [], 4)\"}",
		   "click: too many arguments");
	is_refused("browser", "{\"code\":\"click(bid)\"}", "only plain values can be arguments");
	is_refused("browser", "{\"code\":\"  x = 1\"}", "there is no call");
}

static void test_refused(void **state)
{
	(void)state;
	is_refused("browser_click", "{\"ref\":\"f1e2\"}",
		   "browser_click: ref: must be the number of an element in a snapshot, such as 12 "
		   "for [12 button \"OK\"]");
	is_refused("browser_tab_select", "{\"index\":0}",
		   "browser_tab_select: index: must be the number of a tab, as tabs shows it");
	is_refused("browser_take_screenshot", "{\"fullPage\":true}",
		   "browser_take_screenshot: fullPage: a picture shows what is on the screen; "
		   "browser_snapshot has the whole page");
	is_refused("browser_resize", "{\"width\":1}",
		   "browser_resize: the size of the page is the agent file's");
	is_refused("browser_fill_form",
		   "{\"fields\":[{\"type\":\"checkbox\",\"ref\":\"e1\",\"value\":\"true\"}]}",
		   "browser_fill_form: fields: a checkbox is turned over by browser_click; the "
		   "snapshot shows whether it is checked");
	is_refused("browser_click", "{\"ref\":\"e1\",\"speed\":3}",
		   "browser_click: it takes no argument \"speed\" here");
}

/* Names that are the agent's own, our own words, and what is not read here. */
static void test_left_alone(void **state)
{
	const struct th_dialect_context without = { .tools = tools, .tool_count = 1 };

	(void)state;
	assert_null(become(&context, "browser_hover", "{\"ref\":\"e1\"}"));
	assert_null(become(&context, "browser", "{\"action\":\"click\",\"ref\":1}"));
	assert_null(become(&context, "browser", "{\"action\":\"open\",\"code\":\"x\"}"));
	assert_null(become(&context, "browser_dance", "{}"));
	assert_null(become(&context, "browser_click", "[1"));
	assert_null(become(&without, "browser_click", "{\"ref\":\"e1\"}"));
}

/* Whether it is refused: `count` pieces of `piece` with something between them. */
static bool refuses_many(const char *name, const char *begin, const char *piece,
			 const char *between, const char *end, int count)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *doc;
	bool ret;

	th_buf_add_cstr(&text, begin);
	for (int i = 0; i < count; i++)
		th_buf_printf(&text, "%s%s", i ? between : "", piece);
	th_buf_add_cstr(&text, end);
	doc = become(&context, name, text.ptr);
	assert_non_null(doc);
	ret = th_json_get(th_json_at(th_json_root(doc), 0), "error") != NULL;
	th_json_free(doc);
	th_buf_deinit(&text);
	return ret;
}

/* As many steps as there may be, and one more. */
static void test_many(void **state)
{
	(void)state;
	for (int more = 0; more < 2; more++) {
		assert_int_equal(refuses_many("browser", "{\"code\":\"", "go_back()", " ", "\"}",
					      TH_ACTIONS_MAX + more),
				 more);
		assert_int_equal(refuses_many("browser_fill_form", "{\"fields\":[",
					      "{\"ref\":\"e1\",\"value\":\"A\"}", ",", "]}",
					      TH_ACTIONS_MAX + more),
				 more);
	}
	assert_true(refuses_many("browser_fill_form", "{\"fields\":[", "", "", "]}", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_playwright), cmocka_unit_test(test_openhands),
		cmocka_unit_test(test_code),       cmocka_unit_test(test_refused),
		cmocka_unit_test(test_left_alone), cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
