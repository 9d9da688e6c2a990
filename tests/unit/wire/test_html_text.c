/* SPDX-License-Identifier: Apache-2.0 */
/* HTML as text: what is shown, what is hidden, what is never closed, and where it stops. */
#include "unit.h"

#include "base/limits.h"
#include "wire/html_text.h"

static struct th_buf out, title;

static const char *text(const char *html)
{
	th_buf_clear(&out);
	th_buf_clear(&title);
	th_html_text(th_str_of(html), &out, &title);
	return out.ptr ? out.ptr : "";
}

static int setup(void **state)
{
	(void)state;
	th_buf_init(&out, TH_MIB);
	th_buf_init(&title, TH_KIB);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	th_buf_deinit(&out);
	th_buf_deinit(&title);
	return 0;
}

static void test_shown(void **state)
{
	static const char *const rows[][2] = {
		{ "a  b\n c", "a b c" },
		{ "<h2>T</h2>x<p>y</p>z", "## T\n\nx\n\ny\n\nz" },
		{ "<ul><li>a<li>b</ul>", "- a\n- b" },
		{ "<table><tr><th>a<td>b</tr><tr><td>c</td><td>d</td></tr></table>",
		  "a | b\nc | d" },
		{ "<pre>  a\n    b\n</pre>c", "  a\n    b\n\nc" },
		{ "x<br>y<hr>z", "x\ny\n\n---\n\nz" },
		{ "<a href='/x?a=1&amp;b=2'>t</a> <a href=#top>u</a> <a href=javascript:f()>v</a>",
		  "[t](/x?a=1&b=2) [u] [v]" },
		{ "<a href=x></a>y", "y" },
		{ "<a href=x>open", "[open](x)" },
		{ "<img alt=\"a &lt; b\"><img src=x>", "[picture: a < b]" },
		{ "<textarea>a<b>c</textarea>d", "a<b>cd" },
		{ "&lt;&#65;&#x42;&hellip;&nbsp;&unknown;&amp &",
		  "<AB\xe2\x80\xa6 &unknown;&amp &" },
		{ "1 < 2 > 1 <3 </ <!x> <?y?>", "1 < 2 > 1 <3 </" },
		{ "<P CLASS=x>A</P>", "A" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		assert_string_equal(text(rows[i][0]), rows[i][1]);
	assert_string_equal(text("<title>a <b> &amp;\n c</title>x"), "x");
	assert_string_equal(title.ptr, "a <b> & c");
}

static void test_hidden(void **state)
{
	static const char *const rows[] = {
		"a<script>x</script>b",
		"a<script>'</b>' x<b></script >b",
		"a<style>x</style>b",
		"a<!-- x -->b",
		"a<!-- x > y -->b",
		"a<p hidden>x<p>y</p>z</p>b",
		"a<div style='Display : NONE'>x<div>y</div></div>b",
		"a<span aria-hidden=true>x</span>b",
		"a<span style=\"visibility:hidden\">x</span>b",
		"a<template>x</template>b",
		"a<svg><text>x</text></svg>b",
		"a<span hidden><script></span></script>x</span>b",
		"a\xe2\x80\xae\xe2\x80\x8b\xf3\xa0\x81\xa1\x01\x7f&#x202e;&#xe0041;b",
		"a<img hidden alt=x>b",
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_str said = th_str_of(text(rows[i]));

		if (!th_str_is(said, "ab"))
			fail_msg("%s: %s", rows[i], said.ptr);
	}
}

static void test_never_closed(void **state)
{
	static const char *const rows[] = { "a<script>x",      "a<!-- x",   "a<p class='x",
					    "a<span hidden>x", "a<title>x", "a<a href=\"x" };

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		assert_string_equal(text(rows[i]), "a");
	assert_string_equal(text("a\xff\xfe"), "a\xef\xbf\xbd\xef\xbf\xbd");
}

/* It stops where there is no more room, and a document of one megabyte of tags takes one pass. */
static void test_bounds(void **state)
{
	struct th_buf small = TH_BUF_INIT(16), many = TH_BUF_INIT(4 * TH_MIB);

	(void)state;
	th_html_text(TH_STR("0123456789abcdef"), &small, &title);
	assert_false(small.failed);
	assert_string_equal(small.ptr, "0123456789abcdef");
	th_buf_clear(&small);
	th_html_text(TH_STR("0123456789abcdefg"), &small, &title);
	assert_true(small.failed);
	while (many.len < TH_MIB)
		th_buf_add_cstr(&many, "<a href=x><!--<p<script");
	(void)text(many.ptr);
	th_buf_clear(&many);
	while (many.len < TH_MIB)
		th_buf_add_cstr(&many, "<p hidden>");
	assert_string_equal(text(many.ptr), "");
	th_buf_deinit(&many);
	th_buf_deinit(&small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_shown, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hidden, setup, teardown),
		cmocka_unit_test_setup_teardown(test_never_closed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
