/* SPDX-License-Identifier: Apache-2.0 */
/* test_sigv4.c - signatures against the examples that AWS has published: those of S3's reference
 * ("Authenticating Requests: Using the Authorization Header") and two of the signing suite. */
#include "unit.h"

#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "wire/sigv4.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define BUCKET "examplebucket.s3.amazonaws.com"
#define DAY "20130524T000000Z"

struct row {
	const char *method, *path, *query;
	struct th_sigv4_header headers[6]; /* name NULL: the end */
	const char *payload, *time, *service, *secret, *signature;
};

static const struct row rows[] = {
	{ "GET",
	  "/test.txt",
	  "",
	  { { "host", TH_STR_INIT(BUCKET) },
	    { "range", TH_STR_INIT("bytes=0-9") },
	    { "x-amz-content-sha256", TH_STR_INIT(EMPTY) },
	    { "x-amz-date", TH_STR_INIT(DAY) } },
	  EMPTY,
	  DAY,
	  "s3",
	  "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
	  "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41" },
	{ "PUT",
	  "/test%24file.text",
	  "",
	  { { "date", TH_STR_INIT("Fri, 24 May 2013 00:00:00 GMT") },
	    { "host", TH_STR_INIT(BUCKET) },
	    { "x-amz-content-sha256",
	      TH_STR_INIT("44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072") },
	    { "x-amz-date", TH_STR_INIT(DAY) },
	    { "x-amz-storage-class", TH_STR_INIT("REDUCED_REDUNDANCY") } },
	  "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
	  DAY,
	  "s3",
	  "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
	  "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd" },
	{ "GET",
	  "/",
	  "lifecycle=",
	  { { "host", TH_STR_INIT(BUCKET) },
	    { "x-amz-content-sha256", TH_STR_INIT(EMPTY) },
	    { "x-amz-date", TH_STR_INIT(DAY) } },
	  EMPTY,
	  DAY,
	  "s3",
	  "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
	  "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543" },
	{ "GET",
	  "/",
	  "max-keys=2&prefix=J",
	  { { "host", TH_STR_INIT(BUCKET) },
	    { "x-amz-content-sha256", TH_STR_INIT(EMPTY) },
	    { "x-amz-date", TH_STR_INIT(DAY) } },
	  EMPTY,
	  DAY,
	  "s3",
	  "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
	  "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7" },
	{ "GET",
	  "/",
	  "",
	  { { "host", TH_STR_INIT("example.amazonaws.com") },
	    { "x-amz-date", TH_STR_INIT("20150830T123600Z") } },
	  EMPTY,
	  "20150830T123600Z",
	  "service",
	  "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
	  "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
	{ "GET",
	  "/",
	  "Param1=value1&Param2=value2",
	  { { "host", TH_STR_INIT("example.amazonaws.com") },
	    { "x-amz-date", TH_STR_INIT("20150830T123600Z") } },
	  EMPTY,
	  "20150830T123600Z",
	  "service",
	  "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
	  "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500" },
};

static enum th_code sign(const struct row *r, struct th_str secret, struct th_buf *out)
{
	struct th_sigv4 s = {
		.method = r->method,
		.path = th_str_of(r->path),
		.query = th_str_of(r->query),
		.headers = r->headers,
		.payload = th_str_of(r->payload),
		.time = r->time,
		.region = TH_STR("us-east-1"),
		.service = th_str_of(r->service),
		.key_id = TH_STR("AKIDEXAMPLE"),
		.secret = secret,
	};

	while (r->headers[s.header_count].name)
		s.header_count++;
	return th_sigv4_sign(&s, out, NULL);
}

static void test_published(void **state)
{
	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
		struct th_str secret = th_str_of(rows[i].secret);

		assert_int_equal(sign(&rows[i], secret, &out), TH_OK);
		if (!th_str_ends(th_buf_str(&out), th_str_of(rows[i].signature)))
			fail_msg("row %zu: %s", i, out.ptr);
		assert_true(th_str_find(th_buf_str(&out), secret) < 0);
	}
}

static void test_whole_value(void **state)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);

	(void)state;
	assert_int_equal(sign(&rows[4], th_str_of(rows[4].secret), &out), TH_OK);
	assert_string_equal(
	    out.ptr,
	    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
	    "SignedHeaders=host;x-amz-date, Signature="
	    "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
}

static void test_secret_of_any_length(void **state)
{
	char longest[TH_S3_KEY_MAX + 1];
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);

	(void)state;
	memset(longest, 'k', sizeof(longest));
	assert_int_equal(sign(&rows[0], th_str_n(longest, TH_S3_KEY_MAX), &out), TH_OK);
	assert_int_equal(sign(&rows[0], th_str_n(longest, TH_S3_KEY_MAX + 1), &out), TH_ELIMIT);
}

static void test_times(void **state)
{
	static const struct {
		int64_t s;
		const char *text;
	} times[] = {
		{ 0, "19700101T000000Z" },
		{ 1369353600, DAY },
		{ 1440938160, "20150830T123600Z" },
		{ 951782399, "20000228T235959Z" },
		{ 951782400, "20000229T000000Z" },
		{ 951868800, "20000301T000000Z" },
		{ 4107542400, "21000301T000000Z" },
		{ 253402300799, "99991231T235959Z" },
		{ 253402300800, "19700101T000000Z" },
		{ -1, "19700101T000000Z" },
	};
	char text[TH_SIGV4_TIME_SIZE];

	(void)state;
	for (size_t i = 0; i < TH_COUNT(times); i++) {
		th_sigv4_time(times[i].s, text);
		assert_string_equal(text, times[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published),
		cmocka_unit_test(test_whole_value),
		cmocka_unit_test(test_secret_of_any_length),
		cmocka_unit_test(test_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
