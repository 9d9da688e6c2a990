/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "wire/s3_answer.h"

#define HEAD "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.example/\"><Name>b</Name>"
#define WHOLE "<IsTruncated>false</IsTruncated>"
#define END "</ListBucketResult>"
#define OBJECT(key, time)                                                                 \
	"<Contents><Key>" key "</Key><LastModified>" time "</LastModified><Size>3</Size>" \
	"</Contents>"

struct got {
	char text[256];
	size_t count;
};

static enum th_code take(void *ctx, struct th_str key, int64_t changed_s, struct th_err *err)
{
	struct got *g = ctx;
	size_t len = strlen(g->text);

	(void)err;
	g->count++;
	if (len < 128)
		snprintf(g->text + len, sizeof(g->text) - len, "%.*s %lld;", TH_FMT(key),
			 (long long)changed_s);
	return TH_OK;
}

static enum th_code read_list(const char *xml, struct got *g, bool *more)
{
	*g = (struct got){ 0 };
	return th_s3_list_read(th_str_of(xml), take, g, more, NULL);
}

static void test_lists(void **state)
{
	struct got g;
	bool more = true;

	(void)state;
	assert_int_equal(read_list(HEAD WHOLE END, &g, &more), TH_OK);
	assert_true(g.count == 0 && !more);
	assert_int_equal(read_list(HEAD "<IsTruncated>true</IsTruncated>" OBJECT(
				       "a/b", "2013-05-24T00:00:00.000Z")
				       OBJECT("a/c", "2000-02-29T23:59:59Z") END,
				   &g, &more),
			 TH_OK);
	assert_true(more);
	assert_string_equal(g.text, "a/b 1369353600;a/c 951868799;");
	/* The order of the elements is not ours to say. */
	assert_int_equal(read_list(HEAD "<Contents><LastModified>1970-01-01T00:00:01Z"
					"</LastModified><Key>k</Key></Contents>" WHOLE END,
				   &g, &more),
			 TH_OK);
	assert_string_equal(g.text, "k 1;");
	/* It says there is more, and has nothing to go on from. */
	assert_int_equal(read_list(HEAD "<IsTruncated>true</IsTruncated>" END, &g, &more), TH_OK);
	assert_false(more);
}

static void test_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"<html>",
		HEAD WHOLE,
		END HEAD WHOLE,
		HEAD END,
		HEAD WHOLE "<Contents></Contents>" END,
		HEAD WHOLE "<Contents><Key>k</Key></Contents>" END,
		HEAD WHOLE OBJECT("k", "") END,
		HEAD WHOLE OBJECT("k", "2013-05-24") END,
		HEAD WHOLE OBJECT("k", "2013-05-24T00:00:00") END,
		HEAD WHOLE OBJECT("k", "2013-13-24T00:00:00Z") END,
		HEAD WHOLE OBJECT("k", "2013-05-24T24:00:00Z") END,
		HEAD WHOLE OBJECT("k", "2013-02-29T00:00:00Z") END,
		HEAD WHOLE OBJECT("k", "1969-12-31T00:00:00Z") END,
		HEAD WHOLE OBJECT("k", "2O13-05-24T00:00:00Z") END,
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		struct got g;
		bool more;

		if (read_list(bad[i], &g, &more) != TH_EPROTO)
			fail_msg("row %zu was taken", i);
	}
}

static void test_bounded(void **state)
{
	struct th_buf xml TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct got g;
	bool more;

	(void)state;
	for (int extra = 0; extra < 2; extra++) {
		th_buf_clear(&xml);
		th_buf_add_cstr(&xml, HEAD WHOLE);
		for (int i = 0; i < TH_PLACE_LIST_MAX + extra; i++)
			th_buf_add_cstr(&xml, OBJECT("k", "2013-05-24T00:00:00Z"));
		th_buf_add_cstr(&xml, END);
		assert_int_equal(read_list(xml.ptr, &g, &more), extra ? TH_EPROTO : TH_OK);
		assert_int_equal(g.count, TH_PLACE_LIST_MAX);
	}
}

static void test_errors(void **state)
{
	static const struct {
		const char *xml, *name;
	} rows[] = {
		{ "<Error><Code>NoSuchKey</Code></Error>", "NoSuchKey" },
		{ "<Error><Code>a b</Code></Error>", "" },
		{ "<Error><Code>\033[2J</Code></Error>", "" },
		{ "<Code>1234567890123456789012345678901234567890123456789012345678901234</Code>",
		  "1234567890123456789012345678901234567890123456789012345678901234" },
		{ "<Code>12345678901234567890123456789012345678901234567890123456789012345</Code>",
		  "" },
		{ "<Code>", "" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		assert_true(th_str_is(th_s3_error_name(th_str_of(rows[i].xml)), rows[i].name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
