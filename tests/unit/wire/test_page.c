/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

#include "base/limits.h"
#include "wire/page.h"

static struct th_page_refs refs;

#define ROLE(role, name) "\"role\":{\"value\":\"" role "\"},\"name\":{\"value\":\"" name "\"},"
#define NODE(id, role, name, children)                                       \
	"{\"nodeId\":\"" #id                                                 \
	"\",\"ignored\":false," ROLE(role, name) "\"backendDOMNodeId\":" #id \
						 ",\"properties\":[],\"childIds\":[" children "]}"

static struct th_json_doc *parse(const char *text)
{
	struct th_json_doc *doc = NULL;
	struct th_err err;

	if (th_json_parse(th_str_of(text), &doc, &err))
		fail_msg("%s", err.msg);
	return doc;
}

/* One frame. */
static struct th_page *page_of(const char *nodes, struct th_page_refs *with)
{
	struct th_page *p = th_page_new();
	struct th_json_doc *doc = parse(nodes);

	th_page_begin(p);
	assert_int_equal(th_page_add(p, 1, th_json_root(doc)), 0);
	th_page_write(p, with);
	th_json_free(doc);
	return p;
}

static void assert_text(const struct th_page *p, const char *wanted)
{
	struct th_str text = th_page_text(p);

	if (!th_str_is(text, wanted))
		fail_msg("found:\n%.*swanted:\n%s", TH_FMT(text), wanted);
}

/* clang-format off */
static const char shop[] =
    "[" NODE(1, "RootWebArea", "Shop", "\"2\",\"4\",\"6\",\"9\",\"12\",\"30\"")
    "," NODE(2, "heading", "Orders", "\"3\"")
    "," NODE(3, "StaticText", "Orders", "")
    "," NODE(4, "button", "Go \\\"now\\\"", "\"5\"")
    "," NODE(5, "StaticText", "Go now", "")
    "," NODE(6, "listitem", "", "\"7\",\"8\"")
    "," NODE(7, "StaticText", "three  items ", "")
    "," NODE(8, "link", "more", "")
    "," NODE(9, "row", "", "\"10\",\"11\"")
    "," NODE(10, "cell", "", "\"20\"")
    "," NODE(20, "StaticText", "Shoes", "")
    "," NODE(11, "cell", "", "\"21\"")
    "," NODE(21, "checkbox", "keep", "")
    "," NODE(12, "StaticText", "[7 button \\u202e\\u001b[2J]", "")
    "," NODE(30, "textbox", "Name", "\"31\"")
    "," NODE(31, "StaticText", "inside", "") "]";
/* clang-format on */

static void test_text(void **state)
{
	struct th_page *p = page_of(shop, &refs), *again = page_of(shop, &refs);

	(void)state;
	assert_text(p, "# Orders\n[1 button \"Go 'now'\"]\n- three items [2 link \"more\"]\n"
		       "| Shoes | [3 checkbox \"keep\"] |\n"
		       "(7 button \xef\xbf\xbd\\x1b(2J]\n[4 textbox \"Name\"]\n");
	/* An element keeps its number. */
	assert_true(th_str_eq(th_page_text(p), th_page_text(again)));
	th_page_free(again);
	again = page_of(shop, NULL);
	assert_text(again, "# Orders\nGo \"now\"\n- three items more\n| Shoes | keep |\n"
			   "(7 button \xef\xbf\xbd\\x1b(2J]\n");
	th_page_free(again);
	th_page_free(p);
}

/* Frames hang in their element, whatever process has them. */
static void test_frames(void **state)
{
	struct th_json_doc *outer = parse("[" NODE(1, "RootWebArea", "", "\"2\",\"3\"") "," NODE(
	    2, "Iframe", "Far", "") "," NODE(3, "StaticText", "after", "") "]");
	struct th_json_doc *inner =
	    parse("[" NODE(1, "RootWebArea", "", "\"2\"") "," NODE(2, "button", "In", "") "]");
	struct th_page *p = th_page_new();

	(void)state;
	th_page_begin(p);
	assert_int_equal(th_page_add(p, 7, th_json_root(outer)), 0);
	assert_int_equal(th_page_add(p, 8, th_json_root(inner)), 1);
	assert_int_equal(th_page_add(p, 9, th_json_root(inner)), 2); /* hangs nowhere */
	th_page_hang(p, 1, 7, 2);
	th_page_hang(p, 9, 7, 2);
	th_page_hang(p, 0, 7, 2);
	struct th_page_refs r = { 0 };
	th_page_write(p, &r);
	assert_text(p, "frame \"Far\":\n[1 button \"In\"]\nend of frame\nafter\n");
	const struct th_page_ref *ref = th_page_refs_find(&r, 1);
	assert_true(ref && ref->space == 8 && ref->node == 2);
	assert_null(th_page_refs_find(&r, 2));
	assert_null(th_page_refs_find(&r, 0));
	for (int i = 0; i < TH_PAGE_FRAMES_MAX - 3; i++)
		assert_true(th_page_add(p, 1, th_json_root(inner)) >= 0);
	assert_int_equal(th_page_add(p, 1, th_json_root(inner)), -1);
	th_page_refs_deinit(&r);
	th_page_free(p);
	th_json_free(outer);
	th_json_free(inner);
}

/* Circles, children that are not there, nodes of one id. */
static void test_odd_trees(void **state)
{
	static const char *const odd[] = {
		"[]",
		"[3,\"x\",null,{}]",
		"{\"nodes\":1}",
		"[" NODE(1, "RootWebArea", "", "\"1\",\"2\",\"99\"") "," NODE(
		    2, "button", "b", "\"1\",\"2\"") "," NODE(2, "link", "c", "\"1\"") "]",
	};
	static const char *const texts[] = { "", "", "", "[1 button \"b\"]\n" };

	(void)state;
	for (size_t i = 0; i < TH_COUNT(odd); i++) {
		struct th_page_refs r = { 0 };
		struct th_page *p = page_of(odd[i], &r);

		assert_text(p, texts[i]);
		th_page_free(p);
		th_page_refs_deinit(&r);
	}
}

static void test_limits(void **state)
{
	struct th_buf deep = TH_BUF_INIT(32 * TH_MIB);
	int count = TH_PAGE_NODES_MAX + 10;

	(void)state;
	/* A chain that is deeper, and has more nodes, than is looked at. */
	th_buf_add_cstr(&deep, "[");
	for (int i = 1; i <= count; i++)
		th_buf_printf(&deep,
			      "%s{\"nodeId\":\"%d\",\"role\":{\"value\":\"button\"},\"name\":{"
			      "\"value\":\"x%d\"},"
			      "\"backendDOMNodeId\":%d,\"childIds\":[\"%d\"]}",
			      i > 1 ? "," : "", i, i, i, i + 1);
	th_buf_add_cstr(&deep, "]");
	struct th_page_refs r = { 0 };
	struct th_page *p = page_of(deep.ptr, &r);
	size_t elements;
	const struct th_page_element *list = th_page_elements(p, &elements);
	assert_int_equal(elements, TH_PAGE_DEPTH_MAX);
	/* Of a tree that is gone by now. */
	assert_true(th_str_is(list[0].name, "x1"));
	assert_true(th_str_is(list[elements - 1].name, "x512"));
	assert_int_equal(th_page_left_out(p), 10);
	th_page_free(p);
	th_page_refs_deinit(&r);
	th_buf_deinit(&deep);

	/* Numbers of elements that are long gone are forgotten, and not given again. */
	for (int i = 1; i <= TH_PAGE_REFS_MAX + 1; i++)
		assert_int_equal(th_page_refs_get(&r, 1, i), i);
	assert_null(th_page_refs_find(&r, 1));
	assert_int_equal(th_page_refs_get(&r, 1, 1), TH_PAGE_REFS_MAX + 2);
	assert_int_equal(th_page_refs_get(&r, 1, TH_PAGE_REFS_MAX), TH_PAGE_REFS_MAX);
	th_page_refs_deinit(&r);
}

/* What can be acted on comes first; what is left out is counted. */
static void test_show(void **state)
{
	struct th_buf nodes = TH_BUF_INIT(TH_MIB), out = TH_BUF_INIT(TH_MIB);
	struct th_page_refs r = { 0 };

	(void)state;
	th_buf_add_cstr(&nodes, "[{\"nodeId\":\"0\",\"childIds\":[\"1\"");
	for (int i = 2; i <= 200; i++)
		th_buf_printf(&nodes, ",\"%d\"", i);
	th_buf_add_cstr(&nodes, "]}");
	for (int i = 1; i <= 200; i++)
		th_buf_printf(
		    &nodes,
		    ",{\"nodeId\":\"%d\",\"backendDOMNodeId\":%d,\"role\":{\"value\":\"%s\"},"
		    "\"name\":{\"value\":\"words and words %d\"}}",
		    i, i, i % 10 ? "StaticText" : "button", i);
	th_buf_add_cstr(&nodes, "]");
	struct th_page *p = page_of(nodes.ptr, &r);
	size_t left = th_page_show(p, 1000, &out), lines = 0, buttons = 0;
	for (struct th_str rest = th_buf_str(&out); rest.len; lines++)
		buttons += th_str_split(&rest, '\n').ptr[0] == '[';
	assert_true(out.len <= 1000 && left > 0);
	assert_int_equal(buttons, 20);
	assert_int_equal(left + lines, 200);
	th_buf_clear(&out);
	assert_int_equal(th_page_show(p, 100, &out), 200 - 3);
	assert_true(out.len <= 100);
	th_page_free(p);
	th_page_refs_deinit(&r);
	th_buf_deinit(&nodes);
	th_buf_deinit(&out);
}

static void test_changes(void **state)
{
	static const char before[] =
	    "[" NODE(1, "RootWebArea", "", "\"2\",\"3\",\"4\",\"5\"") "," NODE(
		2, "button", "a", "") "," NODE(3, "button", "b",
					       "") "," NODE(4, "StaticText", "same",
							    "") "," NODE(5, "StaticText", "old",
									 "") "]";
	static const char after[] = "[" NODE(1, "RootWebArea", "", "\"4\",\"2\",\"6\"") "," NODE(
	    2, "button", "A", "") "," NODE(4, "StaticText", "same", "") "," NODE(6, "link", "new",
										 "") "]";
	struct th_page_refs r = { 0 };
	struct th_page *x = page_of(before, &r), *y = page_of(after, &r);
	struct th_buf out = TH_BUF_INIT(TH_KIB);

	(void)state;
	/* The button that has another name now is in the line that came. */
	assert_int_equal(th_page_changes(x, y, 1000, &out), 4);
	assert_string_equal(out.ptr, "+ [1 button \"A\"]\n+ [3 link \"new\"]\n- [2 button \"b\"]\n"
				     "- old\n");
	th_buf_clear(&out);
	assert_int_equal(th_page_changes(x, x, 1000, &out), 0);
	assert_int_equal(out.len, 0);
	assert_int_equal(th_page_changes(x, y, 30, &out), 4);
	assert_true(out.len <= 30);
	th_buf_deinit(&out);
	th_page_free(x);
	th_page_free(y);
	th_page_refs_deinit(&r);
}

static int end(void **state)
{
	(void)state;
	th_page_refs_deinit(&refs);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),      cmocka_unit_test(test_frames),
		cmocka_unit_test(test_odd_trees), cmocka_unit_test(test_limits),
		cmocka_unit_test(test_show),      cmocka_unit_test(test_changes),
	};
	return cmocka_run_group_tests(tests, NULL, end);
}
