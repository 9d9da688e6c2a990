/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>

#include "base/json.h"
#include "wire/mcp_read.h"

static enum th_code add(struct th_mcp_pages *p, const char *result)
{
	struct th_err err = { 0 };

	return th_mcp_pages_add(p, th_str_of(result), &err);
}

static void test_pages(void **state)
{
	struct th_buf params = TH_BUF_INIT(TH_KIB);
	struct th_mcp_pages p;

	(void)state;
	th_mcp_pages_init(&p);
	th_mcp_pages_params(&p, &params);
	assert_string_equal(params.ptr, "{}");
	assert_int_equal(add(&p, "{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"x\\\"y\"}"),
			 TH_OK);
	th_buf_clear(&params);
	th_mcp_pages_params(&p, &params);
	assert_string_equal(params.ptr, "{\"cursor\":\"x\\\"y\"}");
	assert_int_equal(add(&p, "{\"tools\":[{\"name\":\"b\"},3]}"), TH_OK);
	assert_int_equal(p.cursor.len, 0);
	assert_string_equal(p.tools.ptr, "{\"name\":\"a\"},{\"name\":\"b\"}");
	assert_int_equal(p.left_out, 1);
	th_mcp_pages_deinit(&p);

	th_mcp_pages_init(&p);
	assert_int_equal(add(&p, "{\"tools\":3}"), TH_EPROTO);
	assert_int_equal(add(&p, "{\"tools\":[],\"nextCursor\":\"x\"}"), TH_OK);
	assert_int_equal(add(&p, "{\"tools\":[],\"nextCursor\":\"x\"}"), TH_EPROTO);
	th_mcp_pages_deinit(&p);
	th_buf_deinit(&params);
}

static void test_page_limits(void **state)
{
	struct th_buf page = TH_BUF_INIT(TH_MIB);
	struct th_mcp_pages p;
	char cursor[64];

	(void)state;
	th_mcp_pages_init(&p);
	for (int i = 0; i < TH_MCP_PAGES_MAX; i++) {
		snprintf(cursor, sizeof(cursor), "{\"tools\":[{}],\"nextCursor\":\"%d\"}", i);
		assert_int_equal(p.left_out, 0);
		assert_int_equal(add(&p, cursor), TH_OK);
	}
	assert_int_equal(p.count, TH_MCP_PAGES_MAX);
	assert_int_equal(p.left_out, 1); /* what is behind is not asked for, and said */
	assert_int_equal(p.cursor.len, 0);
	th_mcp_pages_deinit(&p);

	th_mcp_pages_init(&p);
	th_buf_add_cstr(&page, "{\"tools\":[{}");
	for (int i = 1; i < TH_MCP_LISTED_MAX; i++)
		th_buf_add_cstr(&page, ",{}");
	th_buf_add_cstr(&page, "]}");
	assert_int_equal(add(&p, page.ptr), TH_OK);
	assert_int_equal(p.count, TH_MCP_LISTED_MAX);
	assert_int_equal(p.left_out, 0);
	assert_int_equal(add(&p, "{\"tools\":[{}],\"nextCursor\":\"z\"}"), TH_OK);
	assert_int_equal(p.left_out, 1);
	assert_int_equal(p.cursor.len, 0);
	th_mcp_pages_deinit(&p);

	for (size_t over = 0; over < 2; over++) { /* one of all the room, and of a byte more */
		th_mcp_pages_init(&p);
		th_buf_clear(&page);
		th_buf_add_cstr(&page, "{\"tools\":[{\"d\":\"");
		while (page.len < TH_MCP_LIST_SIZE_MAX + 6 + over)
			th_buf_add_char(&page, 'x');
		th_buf_add_cstr(&page, "\"},{}]}");
		assert_int_equal(add(&p, page.ptr), TH_OK);
		assert_int_equal(p.count, 1 - over);
		assert_int_equal(p.left_out, 1 + over); /* none behind one that had no room */
		th_mcp_pages_deinit(&p);
	}
	th_buf_deinit(&page);
}

static void on_text(void *ctx, struct th_str text)
{
	th_buf_printf(ctx, "<%.*s>", TH_FMT(text));
}

static void on_picture(void *ctx, struct th_str bytes, struct th_str type)
{
	th_buf_printf(ctx, "<%.*s of %zu>", TH_FMT(type), bytes.len);
}

static const struct th_mcp_result_ops ops = { on_text, on_picture };

static void test_results(void **state)
{
	static const struct {
		const char *result, *read;
		bool error;
	} rows[] = {
		{ "{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":"
		  "\"b\"}],\"isError\":true}",
		  "<a><b>", true },
		{ "{\"content\":[]}", "", false },
		{ "{\"content\":[],\"structuredContent\":{\"a\":1}}", "<{\"a\":1}>", false },
		{ "{\"structuredContent\":[2]}", "<[2]>", false },
		{ "{\"content\":[{\"type\":\"text\",\"text\":\"a\"}],\"structuredContent\":{}}",
		  "<a>", false },
		/* a type is what the bytes are, whatever the server says */
		{ "{\"content\":[{\"type\":\"image\",\"data\":\"/9j/\",\"mimeType\":"
		  "\"image/png\"},{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/"
		  "png\"},{\"type\":\"image\",\"data\":\"?\"}]}",
		  "<image/jpeg of 3><[a picture that cannot be shown image/png]><[a picture that "
		  "cannot be shown]>",
		  false },
		{ "{\"content\":[{\"type\":\"audio\",\"mimeType\":\"audio/wav\"},{\"type\":"
		  "\"resource\",\"resource\":{\"uri\":\"a:\\u001b\",\"text\":\"t\"}},{\"type\":"
		  "\"resource\",\"resource\":{\"uri\":\"b\",\"blob\":\"AA\"}},{\"type\":"
		  "\"resource_link\",\"uri\":\"c\",\"name\":\"d\"},{\"type\":\"new\"},7]}",
		  "<[sound, which is not shown, audio/wav]><[resource a:\\x1b]><t><[resource that "
		  "is no text b]><[link to c, d]><[content of an unknown type new]><[content of an "
		  "unknown type]>",
		  false },
	};
	struct th_buf read = TH_BUF_INIT(TH_MIB), many = TH_BUF_INIT(TH_MIB);
	struct th_err err = { 0 };
	bool error;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		th_buf_clear(&read);
		th_buf_add_cstr(&read, "");
		assert_int_equal(
		    th_mcp_result_read(th_str_of(rows[i].result), &ops, &read, &error, &err),
		    TH_OK);
		if (!th_str_is(th_buf_str(&read), rows[i].read) || error != rows[i].error)
			fail_msg("row %zu is read as %.*s", i, TH_FMT(th_buf_str(&read)));
	}
	assert_int_equal(th_mcp_result_read(TH_STR("{}"), &ops, &read, &error, &err), TH_EPROTO);
	th_buf_clear(&read);
	th_buf_add_cstr(&many, "{\"content\":[{\"type\":\"text\",\"text\":\"a\"}");
	for (int i = 0; i < TH_MCP_PARTS_MAX; i++)
		th_buf_add_cstr(&many, ",{\"type\":\"text\",\"text\":\"a\"}");
	th_buf_add_cstr(&many, "]}");
	assert_int_equal(th_mcp_result_read(th_buf_str(&many), &ops, &read, &error, &err), TH_OK);
	assert_non_null(strstr(read.ptr, "<a><[parts of the result that are not shown: 1]>"));
	assert_int_equal(read.len, 3 * TH_MCP_PARTS_MAX +
				       strlen("<[parts of the result that are not shown: 1]>"));
	th_buf_deinit(&read);
	th_buf_deinit(&many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_page_limits),
		cmocka_unit_test(test_results),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
