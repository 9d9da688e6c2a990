/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of an object store, as long as they may be, from the environment and from a file. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "store/s3_internal.h"
#include "unit.h"

static struct th_err err;
static char file[] = "/tmp/thole-s3-keys-XXXXXX";

static enum th_code loads(struct th_s3_keys *k, size_t id, size_t secret, size_t token)
{
	static const char *const names[] = { "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
					     "AWS_SESSION_TOKEN" };
	const size_t sizes[] = { id, secret, token };
	FILE *out = fopen(file, "w");
	enum th_code code, again;

	for (size_t i = 0; i < TH_COUNT(names); i++) {
		char *word = th_alloc(sizes[i] + 1);

		memset(word, 'a' + (int)i, sizes[i]);
		word[sizes[i]] = '\0';
		setenv(names[i], word, 1);
		fprintf(out, "%s%s", i ? "\n" : "", word);
		free(word);
	}
	fprintf(out, "\n");
	assert_int_equal(fclose(out), 0);
	unsetenv("THOLE_S3_KEYS");
	code = th_s3_keys_load(k, &err);
	setenv("THOLE_S3_KEYS", file, 1);
	again = th_s3_keys_load(k, &err);
	assert_int_equal(code, again);
	return code;
}

static void test_at_the_edges(void **state)
{
	struct th_s3_keys k = { 0 };

	(void)state;
	assert_int_equal(loads(&k, TH_S3_KEY_MAX, TH_S3_KEY_MAX, TH_S3_TOKEN_MAX), TH_OK);
	assert_int_equal(th_secret_expose(k.id).len, TH_S3_KEY_MAX);
	assert_int_equal(th_secret_expose(k.secret).len, TH_S3_KEY_MAX);
	assert_int_equal(th_secret_expose(k.token).len, TH_S3_TOKEN_MAX);
	assert_int_equal(loads(&k, 1, 1, 0), TH_OK);
	assert_null(k.token);
	assert_int_equal(loads(&k, TH_S3_KEY_MAX + 1, 1, 0), TH_EUSAGE);
	assert_int_equal(loads(&k, 1, TH_S3_KEY_MAX + 1, 0), TH_EUSAGE);
	assert_int_equal(loads(&k, 1, 1, TH_S3_TOKEN_MAX + 1), TH_EUSAGE);
	assert_non_null(strstr(err.msg, "at most 8192 for a token"));
	assert_null(strstr(err.msg, "ccc"));
	assert_null(k.id);
	th_s3_keys_drop(&k);
}

static int begin(void **state)
{
	(void)state;
	return close(mkstemp(file));
}

static int end(void **state)
{
	(void)state;
	return unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_the_edges),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
