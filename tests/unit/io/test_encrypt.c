/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "base/limits.h"
#include "io/encrypt.h"

static void seal_of(struct th_encryption *s, const char *secret, const char *purpose)
{
	struct th_secret *key = th_secret_new(th_str_of(secret));

	th_encryption_init(s, key, th_str_of(purpose));
	th_secret_free(key);
}

static void opens_with_the_same_alone(void **state)
{
	struct th_buf sealed TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_buf again TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_str text = TH_STR("{\"token\":\"do-not-print-me\"}");
	struct th_encryption s, other;
	struct th_err err = { 0 };

	(void)state;
	seal_of(&s, "a secret of the fleet", "outbox");
	assert_int_equal(th_encrypt(&s, TH_STR("a"), text, &sealed, &err), TH_OK);
	assert_int_equal(th_encrypt(&s, TH_STR("a"), text, &again, &err), TH_OK);
	assert_false(
	    th_str_eq(th_buf_str(&sealed), th_buf_str(&again))); /* each has its own nonce */
	assert_int_equal(th_decrypt(&s, TH_STR("a"), th_buf_str(&sealed), &out, &err), TH_OK);
	assert_true(th_str_eq(th_buf_str(&out), text));
	th_buf_clear(&out);
	assert_int_equal(th_decrypt(&s, TH_STR("b"), th_buf_str(&sealed), &out, &err), TH_EPERM);
	seal_of(&other, "another secret", "outbox");
	assert_int_equal(th_decrypt(&other, TH_STR("a"), th_buf_str(&sealed), &out, &err),
			 TH_EPERM);
	seal_of(&other, "a secret of the fleet", "something else");
	assert_int_equal(th_decrypt(&other, TH_STR("a"), th_buf_str(&sealed), &out, &err),
			 TH_EPERM);
	assert_int_equal(out.len, 0);
	/* Nothing in it, and each of its bytes. */
	for (size_t i = 0; i < sealed.len; i++) {
		sealed.ptr[i] ^= 1;
		(void)!th_decrypt(&s, TH_STR("a"), th_buf_str(&sealed), &out, &err);
		assert_int_equal(out.len, 0);
		sealed.ptr[i] ^= 1;
	}
	for (size_t len = 0; len < sealed.len; len++)
		assert_int_equal(th_decrypt(&s, TH_STR("a"), th_str_n(sealed.ptr, len), &out, &err),
				 TH_EPERM);
	th_buf_clear(&sealed);
	assert_int_equal(th_encrypt(&s, TH_STR(""), TH_STR(""), &sealed, &err), TH_OK);
	assert_int_equal(th_decrypt(&s, TH_STR(""), th_buf_str(&sealed), &out, &err), TH_OK);
	assert_int_equal(out.len, 0);
	th_encryption_deinit(&s);
	th_encryption_deinit(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(opens_with_the_same_alone) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
