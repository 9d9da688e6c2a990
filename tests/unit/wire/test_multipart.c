/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/buf.h"
#include "base/limits.h"
#include "wire/multipart.h"

#define TYPE "multipart/form-data; boundary="

/* Empty, and not NULL: the part is there. */
static struct th_str find(const char *type, const char *body, const char *name)
{
	struct th_str ret = { 0 };

	return th_multipart_find(th_str_of(type), th_str_of(body), th_str_of(name), &ret)
		   ? ret
		   : (struct th_str){ 0 };
}

#define PART(name, bytes) "Content-Disposition: form-data; name=" name "\r\n\r\n" bytes

static void test_found(void **state)
{
	static const char two[] = "--X\r\n" PART("\"a\"", "first") "\r\n--X\r\n" PART(
	    "file; filename=\"y\"", "line\r\n--other\r\n") "\r\n--X--\r\n";

	(void)state;
	assert_true(th_str_is(find(TYPE "X", two, "a"), "first"));
	assert_true(th_str_is(find(TYPE "\"X\"", two, "file"), "line\r\n--other\r\n"));
	assert_true(
	    th_str_is(find("Multipart/Form-Data;charset=x; Boundary=X", two, "a"), "first"));
	assert_null(find(TYPE "X", two, "b").ptr);
	assert_null(find(TYPE "X", two, "filename").ptr);
	assert_true(
	    th_str_is(find(TYPE "X", "before\r\n--X\r\n" PART("a", "") "\r\n--X--", "a"), ""));
}

static void test_broken(void **state)
{
	static const char seventy[] = "1234567890123456789012345678901234567890"
				      "123456789012345678901234567890";
	struct th_buf type TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf body TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	(void)state;
	assert_null(find("multipart/form-data", "--X\r\n" PART("a", "b") "\r\n--X--", "a").ptr);
	assert_null(find(TYPE, "--\r\n" PART("a", "b") "\r\n--", "a").ptr);
	assert_null(find(TYPE "X", "", "a").ptr);
	assert_null(find(TYPE "X", "--X", "a").ptr);
	assert_null(find(TYPE "X", "--X--\r\n" PART("a", "b") "\r\n--X--", "a").ptr);
	assert_null(find(TYPE "X", "--X\r\n" PART("a", "no end"), "a").ptr);
	assert_null(find(TYPE "X", "--X\r\nno head\r\n--X--", "a").ptr);
	th_buf_printf(&type, TYPE "%s", seventy);
	th_buf_printf(&body, "--%s\r\n" PART("a", "b") "\r\n--%s--", seventy, seventy);
	assert_true(th_str_is(find(type.ptr, body.ptr, "a"), "b"));
	th_buf_clear(&type);
	th_buf_clear(&body);
	th_buf_printf(&type, TYPE "%s1", seventy);
	th_buf_printf(&body, "--%s1\r\n" PART("a", "b") "\r\n--%s1--", seventy, seventy);
	assert_null(find(type.ptr, body.ptr, "a").ptr);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_found),
					    cmocka_unit_test(test_broken) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
