/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"
#include "base/hash.h"
#include "rig.h"

/* Every body: the processor's own instructions, then the portable ones. */
static const unsigned masks[] = { ~0u, 0 };

static struct th_str hex_of(const void *ptr, size_t len, char out[static TH_SHA256_HEX_SIZE + 1])
{
	struct th_digest d = th_sha256_of(ptr, len);

	th_digest_hex(&d, out);
	return th_str_of(out);
}

/* FIPS 180-2 appendix B and the NIST examples. */
static void sha256_vectors(void **state)
{
	static const struct {
		const char *text, *hex;
	} cases[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
		{ "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
		  "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
		  "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
	};
	char hex[TH_SHA256_HEX_SIZE + 1], *million = malloc(1000000);

	(void)state;
	assert_non_null(million);
	memset(million, 'a', 1000000);
	for (size_t m = 0; m < TH_COUNT(masks); m++) {
		th_cpu_limit(masks[m]);
		for (size_t i = 0; i < TH_COUNT(cases); i++)
			assert_is(hex_of(cases[i].text, strlen(cases[i].text), hex), cases[i].hex);
		assert_is(hex_of(million, 1000000, hex),
			  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	}
	free(million);
}

/* Any cut gives the digest of the whole, and both bodies agree, at every length around a block. */
/* RFC 4231, cases 2, 3 and 6; and an empty key. */
static void hmac_vectors(void **state)
{
	static const struct {
		const char *key;
		int key_byte, key_len;
		const char *text;
		int text_byte, text_len;
		const char *hex;
	} cases[] = {
		{ "Jefe", 0, 4, "what do ya want for nothing?", 0, 28,
		  "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
		{ NULL, 0xaa, 20, NULL, 0xdd, 50,
		  "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe" },
		{ NULL, 0xaa, 131, "Test Using Larger Than Block-Size Key - Hash Key First", 0, 54,
		  "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54" },
		{ "", 0, 0, "", 0, 0,
		  "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad" },
	};
	char key[200], text[200], hex[TH_SHA256_HEX_SIZE + 1];

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		struct th_digest d;

		memset(key, cases[i].key_byte, sizeof(key));
		memset(text, cases[i].text_byte, sizeof(text));
		if (cases[i].key)
			memcpy(key, cases[i].key, (size_t)cases[i].key_len);
		if (cases[i].text)
			memcpy(text, cases[i].text, (size_t)cases[i].text_len);
		d = th_hmac_sha256(key, (size_t)cases[i].key_len, text, (size_t)cases[i].text_len);
		th_digest_hex(&d, hex);
		assert_string_equal(hex, cases[i].hex);
	}
}

static void sha256_in_pieces(void **state)
{
	uint8_t text[400];
	uint64_t seed = 1;

	(void)state;
	draw_bytes(&seed, text, sizeof(text));
	for (size_t len = 0; len <= sizeof(text); len++) {
		struct th_digest whole, pieces;
		struct th_sha256 h;

		th_cpu_limit(0);
		whole = th_sha256_of(text, len);
		th_cpu_limit(~0u);
		th_sha256_init(&h);
		for (size_t at = 0; at < len;) {
			size_t take = draw_below(&seed, 150);

			take = TH_MIN(take, len - at);
			th_sha256_add(&h, text + at, take);
			at += take;
		}
		th_sha256_add(&h, NULL, 0);
		pieces = th_sha256_end(&h);
		assert_true(th_digest_eq(&whole, &pieces));
	}
}

static void digests(void **state)
{
	struct th_digest d = th_sha256_of("abc", 3), e = { { 0 } }, before;
	char hex[TH_SHA256_HEX_SIZE + 1];

	(void)state;
	th_digest_hex(&d, hex);
	assert_true(th_digest_parse(th_str_of(hex), &e));
	assert_true(th_digest_eq(&d, &e));
	before = e;
	for (size_t i = 0; i < TH_SHA256_HEX_SIZE; i++) {
		static const char bad[] = "g/:@`GAF\0-";
		char keep = hex[i];

		for (size_t c = 0; c < sizeof(bad) - 1; c++) {
			hex[i] = bad[c];
			assert_false(th_digest_parse(th_str_n(hex, TH_SHA256_HEX_SIZE), &e));
		}
		hex[i] = keep;
	}
	assert_memory_equal(&e, &before, sizeof(e));
	assert_false(th_digest_parse(th_str_n(hex, TH_SHA256_HEX_SIZE - 1), &e));
	assert_false(th_digest_parse(th_str_n(hex, TH_SHA256_HEX_SIZE + 1), &e));
	assert_false(th_digest_parse((struct th_str){ NULL, 0 }, &e));
	for (size_t i = 0; i < TH_SHA256_SIZE; i++) {
		e = d;
		e.bytes[i] ^= 0x80;
		assert_false(th_digest_eq(&d, &e));
	}
}

/* RFC 3720 appendix B.4, and the check value of the catalogues. */
static void crc32c_vectors(void **state)
{
	static const uint8_t read_command[48] = {
		0x01, 0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00,
		0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x18, 0x28, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	uint8_t zeros[32] = { 0 }, ones[32], up[32], down[32];

	(void)state;
	for (size_t i = 0; i < 32; i++) {
		ones[i] = 0xff;
		up[i] = (uint8_t)i;
		down[i] = (uint8_t)(31 - i);
	}
	for (size_t m = 0; m < TH_COUNT(masks); m++) {
		th_cpu_limit(masks[m]);
		assert_int_equal(th_crc32c(0, "", 0), 0);
		assert_int_equal(th_crc32c(0, "123456789", 9), 0xe3069283);
		assert_int_equal(th_crc32c(0, zeros, 32), 0x8a9136aa);
		assert_int_equal(th_crc32c(0, ones, 32), 0x62a8ab43);
		assert_int_equal(th_crc32c(0, up, 32), 0x46dd794e);
		assert_int_equal(th_crc32c(0, down, 32), 0x113fdb5c);
		assert_int_equal(th_crc32c(0, read_command, 48), 0xd9963a56);
	}
}

static void crc32c_in_pieces(void **state)
{
	uint8_t text[200];
	uint64_t seed = 2;

	(void)state;
	draw_bytes(&seed, text, sizeof(text));
	for (size_t len = 0; len <= sizeof(text); len++) {
		size_t cut = draw_below(&seed, len + 1);
		uint32_t whole;

		th_cpu_limit(0);
		whole = th_crc32c(0, text, len);
		th_cpu_limit(~0u);
		assert_int_equal(th_crc32c(th_crc32c(0, text, cut), text + cut, len - cut), whole);
	}
}

/* Each byte, and the length, reach the result; reads stay inside. */
static void hash64_sees_all(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (size_t len = 0; len < 300; len++) {
		char *text = malloc(len ? len : 1), *next;
		uint64_t h;

		assert_non_null(text);
		draw_bytes(&seed, text, len);
		h = th_hash64(text, len);
		next = exact_copy(text, len);
		assert_true(th_hash64(next, len) == h);
		for (size_t i = 0; i < len; i++) {
			for (int bit = 0; bit < 8; bit++) {
				next[i] = (char)(next[i] ^ 1 << bit);
				assert_true(th_hash64(next, len) != h);
				next[i] = text[i];
			}
		}
		if (len) {
			memset(text, 0, len);
			assert_true(th_hash64(text, len) != th_hash64(text, len - 1));
		}
		free(text);
		free(next);
	}
}

/* Half of the bits change with any one, on average: no lane is lost. */
static void hash64_mixes(void **state)
{
	static const size_t sizes[] = { 1, 3, 7, 8, 15, 16, 17, 63, 64, 65, 127, 128, 1000 };
	uint8_t text[1000];
	uint64_t seed = 4;

	(void)state;
	for (size_t s = 0; s < TH_COUNT(sizes); s++) {
		size_t flips = 0, rounds = 2000;

		for (size_t round = 0; round < rounds; round++) {
			size_t bit = draw_below(&seed, sizes[s] * 8);
			uint64_t before;

			draw_bytes(&seed, text, sizes[s]);
			before = th_hash64(text, sizes[s]);
			text[bit / 8] ^= (uint8_t)(1 << bit % 8);
			flips += (size_t)__builtin_popcountll(before ^ th_hash64(text, sizes[s]));
		}
		assert_in_range(flips, rounds * 31, rounds * 33);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hmac_vectors),     cmocka_unit_test(sha256_vectors),
		cmocka_unit_test(sha256_in_pieces), cmocka_unit_test(digests),
		cmocka_unit_test(crc32c_vectors),   cmocka_unit_test(crc32c_in_pieces),
		cmocka_unit_test(hash64_sees_all),  cmocka_unit_test(hash64_mixes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
