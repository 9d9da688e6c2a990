/* SPDX-License-Identifier: Apache-2.0 */
#include "base/codec.h"
#include "base/cpu.h"
#include "base/limits.h"
#include "rig.h"

static const unsigned masks[] = { ~0u, 0 };

/* ---- base64 ---- */

/* RFC 4648 section 10, and all characters of the alphabet. */
static void base64_vectors(void **state)
{
	static const struct {
		const char *plain, *text;
	} cases[] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
	};
	static const char alphabet[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	struct th_buf out = TH_BUF_INIT(1000);

	(void)state;
	for (size_t m = 0; m < TH_COUNT(masks); m++) {
		th_cpu_limit(masks[m]);
		for (size_t i = 0; i < TH_COUNT(cases); i++) {
			th_buf_clear(&out);
			th_base64_encode(&out, cases[i].plain, strlen(cases[i].plain));
			assert_is(th_buf_str(&out), cases[i].text);
			th_buf_clear(&out);
			assert_true(th_base64_decode(&out, th_str_of(cases[i].text)));
			assert_is(th_buf_str(&out), cases[i].plain);
		}
		/* The alphabet twice, so that the wide body runs too. */
		struct th_buf plain = TH_BUF_INIT(1000);

		assert_true(th_base64_decode(&plain, th_str_of(alphabet)));
		assert_true(th_base64_decode(&plain, th_str_of(alphabet)));
		th_buf_clear(&out);
		th_base64_encode(&out, plain.ptr, plain.len);
		assert_str(th_str_sub(th_buf_str(&out), 0, 64), th_str_of(alphabet));
		assert_str(th_str_sub(th_buf_str(&out), 64, 64), th_str_of(alphabet));
		th_buf_deinit(&plain);
	}
	th_buf_deinit(&out);
}

static void base64_round_trip(void **state)
{
	struct th_buf wide = TH_BUF_INIT(1000), portable = TH_BUF_INIT(1000);
	struct th_buf back = TH_BUF_INIT(1000);
	uint8_t plain[400];
	uint64_t seed = 1;

	(void)state;
	for (size_t round = 0; round < 4000; round++) {
		size_t len = round % sizeof(plain);

		draw_bytes(&seed, plain, len);
		char *exact = exact_copy(plain, len);

		th_buf_clear(&wide);
		th_buf_clear(&portable);
		th_buf_clear(&back);
		th_cpu_limit(~0u);
		th_base64_encode(&wide, exact, len);
		th_cpu_limit(0);
		th_base64_encode(&portable, exact, len);
		assert_int_equal(wide.len, th_base64_size(len));
		assert_str(th_buf_str(&wide), th_buf_str(&portable));
		assert_true(th_base64_decode(&back, th_buf_str(&wide)));
		assert_str(th_buf_str(&back), th_str_n(plain, len));
		free(exact);
	}
	th_buf_deinit(&wide);
	th_buf_deinit(&portable);
	th_buf_deinit(&back);
}

static void base64_is_strict(void **state)
{
	static const char *const bad[] = {
		"Z",    "Zg",       "Zg=",  "Zm8",  "=",        "==",     "===",    "====",
		"A===", "Zg==Zg==", "Z=g=", "Zg=A", "Zm8=Zm9v", "Zm 9v",  "Zm9v\n", "Zm9\n",
		"Zm9-", "Zm9_",     "Zm9*", "Zh==", "Zm9=",     "Zg==\n", " Zm9v",  "\xc3\xa9gg",
	};
	struct th_buf out = TH_BUF_INIT(100), fresh = TH_BUF_INIT(100);

	(void)state;
	th_buf_add_cstr(&out, "kept");
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		if (th_base64_decode(&out, th_str_of(bad[i])))
			fail_msg("%s", bad[i]);
		assert_string_equal(out.ptr, "kept");
		assert_int_equal(out.len, 4);
		assert_false(th_base64_decode(&fresh, th_str_of(bad[i])));
		assert_string_equal(fresh.ptr, "");
	}
	assert_false(th_base64_decode(&out, TH_STR("Zm9\0")));
	/* Each byte that is not of the alphabet, at each place. */
	for (int c = 0; c < 256; c++) {
		bool good = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
			    (c >= '0' && c <= '9') || c == '+' || c == '/';

		for (size_t at = 0; at < 4; at++) {
			char text[] = "AAAAAAAA";

			text[at] = (char)c;
			th_buf_clear(&fresh);
			assert_int_equal(th_base64_decode(&fresh, th_str_n(text, 8)), good);
		}
	}
	th_buf_deinit(&out);
	th_buf_deinit(&fresh);
}

static void base64_limit(void **state)
{
	struct th_buf out = TH_BUF_INIT(4);

	(void)state;
	th_base64_encode(&out, "abc", 3);
	assert_is(th_buf_str(&out), "YWJj");
	th_base64_encode(&out, "", 0);
	assert_false(out.failed);
	th_buf_clear(&out);
	th_base64_encode(&out, "abcd", 4);
	assert_true(out.failed && out.len == 0);
	th_buf_clear(&out);
	assert_true(th_base64_decode(&out, TH_STR("YWJjZA==")));
	assert_is(th_buf_str(&out), "abcd");
	assert_true(th_base64_decode(&out, TH_STR("YQ==")));
	assert_true(out.failed);
	th_buf_deinit(&out);
}

/* ---- UUIDs ---- */

/* RFC 9562 appendix A.6. */
static void uuid7_vector(void **state)
{
	static const uint8_t random[10] = { 0x0c, 0xc3, 0x18, 0xc4, 0xdc,
					    0x0c, 0x0c, 0x07, 0x39, 0x8f };
	struct th_uuid u = th_uuid7(UINT64_C(0x017f22e279b0), random), v;
	char text[TH_UUID_TEXT_SIZE + 1];

	(void)state;
	th_uuid_text(&u, text);
	assert_string_equal(text, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
	assert_true(th_uuid_parse(th_str_of(text), &v));
	assert_memory_equal(&u, &v, sizeof(u));
	assert_true(th_uuid_parse(TH_STR("017F22E2-79B0-7CC3-98C4-DC0C0C07398F"), &v));
	assert_memory_equal(&u, &v, sizeof(u));
}

static void uuid7_fields(void **state)
{
	char before[TH_UUID_TEXT_SIZE + 1] = "", text[TH_UUID_TEXT_SIZE + 1];

	(void)state;
	for (uint64_t seed = 1, ms = 0; ms < (UINT64_C(1) << 48); ms += 1 + (draw(&seed) >> 26)) {
		uint8_t random[10];
		struct th_uuid u, v;

		draw_bytes(&seed, random, sizeof(random));
		u = th_uuid7(ms, random);
		assert_int_equal(u.bytes[6] >> 4, 7);
		assert_int_equal(u.bytes[8] >> 6, 2);
		th_uuid_text(&u, text);
		assert_true(strcmp(before, text) < 0); /* text order is time order */
		memcpy(before, text, sizeof(text));
		assert_true(th_uuid_parse(th_str_of(text), &v));
		assert_memory_equal(&u, &v, sizeof(u));
	}
}

static void uuid_is_strict(void **state)
{
	char text[] = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
	struct th_uuid u = { { 1 } }, before = u;

	(void)state;
	for (size_t at = 0; at < TH_UUID_TEXT_SIZE; at++) {
		char keep = text[at];

		for (int c = 0; c < 256; c++) {
			bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ||
				   (c >= 'A' && c <= 'F');

			text[at] = (char)c;
			if (keep == '-' ? c == '-' : hex)
				continue;
			assert_false(th_uuid_parse(th_str_n(text, TH_UUID_TEXT_SIZE), &u));
		}
		text[at] = keep;
	}
	assert_false(th_uuid_parse(th_str_n(text, TH_UUID_TEXT_SIZE - 1), &u));
	assert_false(th_uuid_parse(th_str_n(text, TH_UUID_TEXT_SIZE + 1), &u));
	assert_false(th_uuid_parse((struct th_str){ NULL, 0 }, &u));
	assert_memory_equal(&u, &before, sizeof(u));
}

/* ---- frames ---- */

static void frame_round_trip(void **state)
{
	struct th_buf out = TH_BUF_INIT(10000);
	uint64_t seed = 1;
	char text[300];

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct th_str json = { text, draw_below(&seed, sizeof(text)) };
		struct th_str more = { text, draw_below(&seed, sizeof(text)) };
		struct th_frame f;
		struct th_err err;
		size_t first;

		draw_bytes(&seed, text, sizeof(text));
		th_buf_clear(&out);
		th_frame_write(&out, json, more);
		first = out.len;
		th_frame_write(&out, more, json);
		/* Every cut before the end asks for more; nothing is read behind it. */
		for (size_t cut = 0; cut < first; cut += 1 + cut / 16) {
			char *exact = exact_copy(out.ptr, cut);

			assert_int_equal(th_frame_read(th_str_n(exact, cut), &f, &err), 0);
			free(exact);
		}
		assert_int_equal(th_frame_read(th_buf_str(&out), &f, &err), 1);
		assert_int_equal(f.size, first);
		assert_str(f.json, json);
		assert_str(f.attachment, more);
		th_buf_drop(&out, f.size);
		assert_int_equal(th_frame_read(th_buf_str(&out), &f, &err), 1);
		assert_int_equal(f.size, out.len);
		assert_str(f.json, more);
		assert_str(f.attachment, json);
	}
	th_buf_deinit(&out);
}

static int read_head(uint32_t rest, uint32_t json_len, size_t len)
{
	uint8_t head[TH_FRAME_HEAD_SIZE];
	struct th_frame f;
	struct th_err err;

	for (int i = 0; i < 4; i++) {
		head[i] = (uint8_t)(rest >> 8 * i);
		head[4 + i] = (uint8_t)(json_len >> 8 * i);
	}
	return th_frame_read(th_str_n(head, len), &f, &err);
}

static void frame_limits(void **state)
{
	const uint32_t max = (uint32_t)TH_FRAME_SIZE_MAX - 4,
		       json_max = (uint32_t)TH_FRAME_JSON_MAX;

	(void)state;
	assert_int_equal(read_head(4, 0, 8), 1);
	assert_int_equal(read_head(3, 0, 4), TH_EPROTO);
	assert_int_equal(read_head(0, 0, 8), TH_EPROTO);
	assert_int_equal(read_head(max, 0, 4), 0);
	assert_int_equal(read_head(max, json_max, 8), 0);
	assert_int_equal(read_head(max + 1, 0, 4), TH_ELIMIT);
	assert_int_equal(read_head(UINT32_MAX, 0, 4), TH_ELIMIT);
	assert_int_equal(read_head(max, json_max + 1, 8), TH_ELIMIT);
	assert_int_equal(read_head(10, 6, 8), 0);
	assert_int_equal(read_head(10, 7, 8), TH_EPROTO);
	assert_int_equal(read_head(10, UINT32_MAX, 8), TH_EPROTO);
}

/* The largest frames there are, written and read; one byte more is refused by the writer. */
static void frame_size_edge(void **state)
{
	char *zeros = calloc(1, TH_FRAME_SIZE_MAX);
	struct th_buf out = TH_BUF_INIT(2 * TH_FRAME_SIZE_MAX);
	size_t left = TH_FRAME_SIZE_MAX - TH_FRAME_HEAD_SIZE;
	struct th_frame f;
	struct th_err err;

	(void)state;
	assert_non_null(zeros);
	th_frame_write(&out, TH_STR(""), th_str_n(zeros, left + 1));
	assert_true(out.failed && out.len == 0);
	th_buf_clear(&out);
	th_frame_write(&out, th_str_n(zeros, TH_FRAME_JSON_MAX + 1), TH_STR(""));
	assert_true(out.failed && out.len == 0);
	th_buf_clear(&out);
	th_frame_write(&out, TH_STR("x"), th_str_n(zeros, SIZE_MAX - 4));
	assert_true(out.failed && out.len == 0);
	th_buf_clear(&out);
	th_frame_write(&out, th_str_n(zeros, TH_FRAME_JSON_MAX),
		       th_str_n(zeros, left - TH_FRAME_JSON_MAX));
	assert_false(out.failed);
	assert_int_equal(out.len, TH_FRAME_SIZE_MAX);
	assert_int_equal(th_frame_read(th_buf_str(&out), &f, &err), 1);
	assert_int_equal(f.size, TH_FRAME_SIZE_MAX);
	assert_int_equal(f.json.len, TH_FRAME_JSON_MAX);
	th_buf_deinit(&out);

	th_buf_init(&out, 10); /* no half frame either when the buffer is the limit */
	th_frame_write(&out, TH_STR("abc"), TH_STR(""));
	assert_true(out.failed && out.len == 0);
	th_buf_deinit(&out);
	free(zeros);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(base64_vectors),   cmocka_unit_test(base64_round_trip),
		cmocka_unit_test(base64_is_strict), cmocka_unit_test(base64_limit),
		cmocka_unit_test(uuid7_vector),     cmocka_unit_test(uuid7_fields),
		cmocka_unit_test(uuid_is_strict),   cmocka_unit_test(frame_round_trip),
		cmocka_unit_test(frame_limits),     cmocka_unit_test(frame_size_edge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
