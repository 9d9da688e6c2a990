/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/limits.h"
#include "base/secret.h"
#include "base/wiped.h"
#include "rig.h"

#include <malloc.h>
#include <string.h>

#define SECRET "sk-which-nobody-may-find"

/* What the code under test gives back to malloc goes through here. */
void __real_free(void *ptr);
void __wrap_free(void *ptr);

static unsigned given_back, with_secret;

void __wrap_free(void *ptr)
{
	if (ptr) {
		given_back++;
		with_secret += memmem(ptr, malloc_usable_size(ptr), SECRET, strlen(SECRET)) != NULL;
	}
	__real_free(ptr);
}

static int count_anew(void **state)
{
	(void)state;
	given_back = with_secret = 0;
	return 0;
}

static void compares(void **state)
{
	struct th_secret *s = th_secret_new(TH_STR("sk-abc\0x"));

	(void)state;
	assert_str(th_secret_expose(s), TH_STR("sk-abc\0x"));
	assert_true(th_secret_eq(s, TH_STR("sk-abc\0x")));
	assert_false(th_secret_eq(s, TH_STR("sk-abc\0y")));
	assert_false(th_secret_eq(s, TH_STR("Sk-abc\0x")));
	assert_false(th_secret_eq(s, TH_STR("sk-abc\0")));
	assert_false(th_secret_eq(s, TH_STR("sk-abc\0x\0")));
	assert_false(th_secret_eq(s, TH_STR("sk-abc\0xsk-abc\0x")));
	assert_false(th_secret_eq(s, (struct th_str){ NULL, 0 }));
	assert_null(th_secret_free(s));
	assert_null(th_secret_free(NULL));
}

static void empty(void **state)
{
	struct th_secret *s = th_secret_new((struct th_str){ NULL, 0 });

	(void)state;
	assert_true(th_secret_eq(s, TH_STR("")));
	assert_false(th_secret_eq(s, TH_STR("\0")));
	assert_false(th_secret_eq(s, TH_STR("a")));
	assert_int_equal(th_secret_expose(s).len, 0);
	assert_null(th_secret_free(s));
}

static void owns_its_copy(void **state)
{
	char text[] = "token";
	struct th_secret *s = th_secret_new(th_str_of(text));

	(void)state;
	memset(text, 0, sizeof(text));
	assert_true(th_secret_eq(s, TH_STR("token")));
	assert_null(th_secret_free(s));
}

static void leaves_nothing_behind(void **state)
{
	(void)state;
	assert_null(th_secret_free(th_secret_new(TH_STR(SECRET))));
	assert_int_equal(given_back, 1);
	assert_int_equal(with_secret, 0);
}

static void memory_is_wiped_where_it_moves(void **state)
{
	char *memory = th_wiped_alloc(sizeof(SECRET));

	(void)state;
	memcpy(memory, SECRET, sizeof(SECRET));
	memory = th_wiped_realloc(memory, 4 * TH_KIB);
	assert_int_equal(given_back, 1);
	assert_string_equal(memory, SECRET);
	memory = th_wiped_realloc(memory, sizeof(SECRET));
	assert_string_equal(memory, SECRET);
	th_wiped_free(memory);
	th_wiped_free(NULL);
	assert_int_equal(given_back, 3);
	assert_int_equal(with_secret, 0);
	th_wiped_free(th_wiped_realloc(NULL, 1));
}

static void a_buffer_leaves_nothing_behind(void **state)
{
	struct th_buf b TH_CLEANUP(th_buf_wipe) = TH_BUF_INIT(TH_KIB);

	(void)state;
	th_buf_add_cstr(&b, SECRET);
	th_buf_clear(&b);
	th_buf_wipe(&b);
	assert_int_equal(given_back, 1);
	assert_int_equal(with_secret, 0);
	assert_int_equal(b.cap, 0);
}

/* A document is as large as its text: what is no JSON is noticed behind the secret. */
static void a_document_leaves_nothing_behind(void **state)
{
	static const char *const texts[] = {
		"{\"token\":\"" SECRET "\",\"list\":[1,2,3,[4,5,6]]}",
		"[\"" SECRET "\", {\"" SECRET "\": true}] and more",
		("\"" SECRET), /* one text, as the compiler may ask */
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(texts); i++) {
		struct th_json_doc *doc;
		struct th_err err = { 0 };
		enum th_code code = th_json_parse_secret(th_str_of(texts[i]), &doc, &err);

		assert_int_equal(code, i ? TH_EPROTO : TH_OK);
		assert_null(strstr(err.msg, "sk-"));
		if (!code)
			assert_str(th_json_get_str(th_json_root(doc), "token"), TH_STR(SECRET));
		th_json_free(doc);
		assert_true(given_back > 0);
		assert_int_equal(with_secret, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compares),
		cmocka_unit_test(empty),
		cmocka_unit_test(owns_its_copy),
		cmocka_unit_test_setup(leaves_nothing_behind, count_anew),
		cmocka_unit_test_setup(memory_is_wiped_where_it_moves, count_anew),
		cmocka_unit_test_setup(a_buffer_leaves_nothing_behind, count_anew),
		cmocka_unit_test_setup(a_document_leaves_nothing_behind, count_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
