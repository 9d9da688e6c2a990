/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.c - each hash has a portable body and, on x86-64, one that uses the
 * processor's own instructions, chosen at run time (cpu.h).
 */
#include "base/hash.h"

#include "base/cpu.h"

static uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* ---- SHA-256 ---- */

/* FIPS 180-4 4.2.2: first 32 bits of the fractions of the cube roots of the first 64 primes. */
/* clang-format off */
static const uint32_t round_keys[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};
/* clang-format on */

static uint32_t rotr(uint32_t v, int by)
{
	return v >> by | v << (32 - by);
}

static uint32_t load_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t sigma0(uint32_t v)
{
	return rotr(v, 7) ^ rotr(v, 18) ^ v >> 3;
}

static uint32_t sigma1(uint32_t v)
{
	return rotr(v, 17) ^ rotr(v, 19) ^ v >> 10;
}

/* FIPS 180-4 6.2.2 with its names, but that the names move on instead of the values: what a round
 * calls h is the next one's a. */
#define ROUND(a, b, c, d, e, f, g, h, t)                                                           \
	do {                                                                                       \
		uint32_t t1 = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + (g ^ (e & (f ^ g))) + \
			      round_keys[t] + w[t];                                                \
		d += t1;                                                                           \
		h = t1 + (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) | (c & (a | b)));     \
	} while (0)

static void blocks_portable(uint32_t state[static 8], const uint8_t *p, size_t count)
{
	uint32_t w[64];

	for (; count > 0; count--, p += 64) {
		uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
		uint32_t e = state[4], f = state[5], g = state[6], h = state[7];

		for (int t = 0; t < 16; t++)
			w[t] = load_be32(p + 4 * t);
		for (int t = 16; t < 64; t++)
			w[t] = sigma1(w[t - 2]) + w[t - 7] + sigma0(w[t - 15]) + w[t - 16];
		for (int t = 0; t < 64; t += 8) {
			ROUND(a, b, c, d, e, f, g, h, t);
			ROUND(h, a, b, c, d, e, f, g, t + 1);
			ROUND(g, h, a, b, c, d, e, f, t + 2);
			ROUND(f, g, h, a, b, c, d, e, t + 3);
			ROUND(e, f, g, h, a, b, c, d, t + 4);
			ROUND(d, e, f, g, h, a, b, c, t + 5);
			ROUND(c, d, e, f, g, h, a, b, t + 6);
			ROUND(b, c, d, e, f, g, h, a, t + 7);
		}
		state[0] += a;
		state[1] += b;
		state[2] += c;
		state[3] += d;
		state[4] += e;
		state[5] += f;
		state[6] += g;
		state[7] += h;
	}
}

#ifdef TH_CPU_X86
#include <immintrin.h>

/* Four rounds t..t+3 with the schedule words in `now`. */
#define ROUNDS(t, now)                                                                            \
	do {                                                                                      \
		__m128i key = _mm_loadu_si128((const __m128i *)(const void *)(round_keys + (t))); \
		__m128i wk = _mm_add_epi32(now, key);                                             \
		cdgh = _mm_sha256rnds2_epu32(cdgh, abef, wk);                                     \
		abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(wk, 0x0e));            \
	} while (0)

/* The words sixteen further on take the place of the oldest four. */
#define SCHEDULE(w0, w1, w2, w3)    \
	(w0 = _mm_sha256msg2_epu32( \
	     _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8(w3, w2, 4)), w3))

__attribute__((target("sha,sse4.1,ssse3"))) static void
blocks_sha_ni(uint32_t state[static 8], const uint8_t *p, size_t count)
{
	const __m128i swap = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
	__m128i abef = _mm_set_epi32((int)state[0], (int)state[1], (int)state[4], (int)state[5]);
	__m128i cdgh = _mm_set_epi32((int)state[2], (int)state[3], (int)state[6], (int)state[7]);

	for (; count > 0; count--, p += 64) {
		const __m128i *in = (const __m128i *)(const void *)p;
		__m128i abef_before = abef, cdgh_before = cdgh;
		__m128i w0 = _mm_shuffle_epi8(_mm_loadu_si128(in), swap);
		__m128i w1 = _mm_shuffle_epi8(_mm_loadu_si128(in + 1), swap);
		__m128i w2 = _mm_shuffle_epi8(_mm_loadu_si128(in + 2), swap);
		__m128i w3 = _mm_shuffle_epi8(_mm_loadu_si128(in + 3), swap);

		for (int t = 0; t < 48; t += 16) {
			ROUNDS(t, w0);
			SCHEDULE(w0, w1, w2, w3);
			ROUNDS(t + 4, w1);
			SCHEDULE(w1, w2, w3, w0);
			ROUNDS(t + 8, w2);
			SCHEDULE(w2, w3, w0, w1);
			ROUNDS(t + 12, w3);
			SCHEDULE(w3, w0, w1, w2);
		}
		ROUNDS(48, w0);
		ROUNDS(52, w1);
		ROUNDS(56, w2);
		ROUNDS(60, w3);
		abef = _mm_add_epi32(abef, abef_before);
		cdgh = _mm_add_epi32(cdgh, cdgh_before);
	}
	uint32_t out[8];

	_mm_storeu_si128((__m128i *)(void *)out, abef); /* f e b a */
	_mm_storeu_si128((__m128i *)(void *)(out + 4), cdgh);
	state[0] = out[3];
	state[1] = out[2];
	state[2] = out[7];
	state[3] = out[6];
	state[4] = out[1];
	state[5] = out[0];
	state[6] = out[5];
	state[7] = out[4];
}
#endif

static void blocks(uint32_t state[static 8], const uint8_t *p, size_t count)
{
#ifdef TH_CPU_X86
	if (th_cpu_has(TH_CPU_SHA)) {
		blocks_sha_ni(state, p, count);
		return;
	}
#endif
	blocks_portable(state, p, count);
}

void th_sha256_init(struct th_sha256 *h)
{
	/* 5.3.3: of the square roots of the first eight primes. */
	*h = (struct th_sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void th_sha256_add(struct th_sha256 *h, const void *ptr, size_t len)
{
	const uint8_t *p = ptr;
	size_t held = h->size % 64;

	if (!len)
		return;
	h->size += len;
	if (held) {
		size_t take = TH_MIN(len, 64 - held);

		memcpy(h->block + held, p, take);
		if (held + take < 64)
			return;
		blocks(h->state, h->block, 1);
		p += take;
		len -= take;
	}
	blocks(h->state, p, len / 64);
	if (len % 64)
		memcpy(h->block, p + len / 64 * 64, len % 64);
}

struct th_digest th_sha256_end(struct th_sha256 *h)
{
	size_t held = h->size % 64;
	uint64_t bits = h->size * 8;
	struct th_digest d;

	h->block[held++] = 0x80;
	if (held > 56) {
		memset(h->block + held, 0, 64 - held);
		blocks(h->state, h->block, 1);
		held = 0;
	}
	memset(h->block + held, 0, 56 - held);
	for (int i = 0; i < 8; i++)
		h->block[56 + i] = (uint8_t)(bits >> (56 - 8 * i));
	blocks(h->state, h->block, 1);
	for (size_t i = 0; i < sizeof(d.bytes); i++)
		d.bytes[i] = (uint8_t)(h->state[i / 4] >> (24 - 8 * (i % 4)));
	return d;
}

struct th_digest th_sha256_of(const void *ptr, size_t len)
{
	struct th_sha256 h;

	th_sha256_init(&h);
	th_sha256_add(&h, ptr, len);
	return th_sha256_end(&h);
}

bool th_digest_eq(const struct th_digest *a, const struct th_digest *b)
{
	volatile uint8_t diff = 0;

	for (size_t i = 0; i < sizeof(a->bytes); i++)
		diff |= a->bytes[i] ^ b->bytes[i];
	return diff == 0;
}

void th_digest_hex(const struct th_digest *d, char out[static TH_SHA256_HEX_SIZE + 1])
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < sizeof(d->bytes); i++) {
		out[2 * i] = hex[d->bytes[i] >> 4];
		out[2 * i + 1] = hex[d->bytes[i] & 15];
	}
	out[TH_SHA256_HEX_SIZE] = '\0';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool th_digest_parse(struct th_str text, struct th_digest *ret)
{
	struct th_digest d;

	if (text.len != TH_SHA256_HEX_SIZE)
		return false;
	for (size_t i = 0; i < sizeof(d.bytes); i++) {
		int high = hex_digit(text.ptr[2 * i]), low = hex_digit(text.ptr[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		d.bytes[i] = (uint8_t)(high << 4 | low);
	}
	*ret = d;
	return true;
}

/* ---- CRC-32C ---- */

/* Of each byte, by the reflected polynomial 0x82f63b78. */
/* clang-format off */
static const uint32_t crc_table[256] = {
	0x00000000, 0xf26b8303, 0xe13b70f7, 0x1350f3f4, 0xc79a971f, 0x35f1141c, 0x26a1e7e8, 0xd4ca64eb,
	0x8ad958cf, 0x78b2dbcc, 0x6be22838, 0x9989ab3b, 0x4d43cfd0, 0xbf284cd3, 0xac78bf27, 0x5e133c24,
	0x105ec76f, 0xe235446c, 0xf165b798, 0x030e349b, 0xd7c45070, 0x25afd373, 0x36ff2087, 0xc494a384,
	0x9a879fa0, 0x68ec1ca3, 0x7bbcef57, 0x89d76c54, 0x5d1d08bf, 0xaf768bbc, 0xbc267848, 0x4e4dfb4b,
	0x20bd8ede, 0xd2d60ddd, 0xc186fe29, 0x33ed7d2a, 0xe72719c1, 0x154c9ac2, 0x061c6936, 0xf477ea35,
	0xaa64d611, 0x580f5512, 0x4b5fa6e6, 0xb93425e5, 0x6dfe410e, 0x9f95c20d, 0x8cc531f9, 0x7eaeb2fa,
	0x30e349b1, 0xc288cab2, 0xd1d83946, 0x23b3ba45, 0xf779deae, 0x05125dad, 0x1642ae59, 0xe4292d5a,
	0xba3a117e, 0x4851927d, 0x5b016189, 0xa96ae28a, 0x7da08661, 0x8fcb0562, 0x9c9bf696, 0x6ef07595,
	0x417b1dbc, 0xb3109ebf, 0xa0406d4b, 0x522bee48, 0x86e18aa3, 0x748a09a0, 0x67dafa54, 0x95b17957,
	0xcba24573, 0x39c9c670, 0x2a993584, 0xd8f2b687, 0x0c38d26c, 0xfe53516f, 0xed03a29b, 0x1f682198,
	0x5125dad3, 0xa34e59d0, 0xb01eaa24, 0x42752927, 0x96bf4dcc, 0x64d4cecf, 0x77843d3b, 0x85efbe38,
	0xdbfc821c, 0x2997011f, 0x3ac7f2eb, 0xc8ac71e8, 0x1c661503, 0xee0d9600, 0xfd5d65f4, 0x0f36e6f7,
	0x61c69362, 0x93ad1061, 0x80fde395, 0x72966096, 0xa65c047d, 0x5437877e, 0x4767748a, 0xb50cf789,
	0xeb1fcbad, 0x197448ae, 0x0a24bb5a, 0xf84f3859, 0x2c855cb2, 0xdeeedfb1, 0xcdbe2c45, 0x3fd5af46,
	0x7198540d, 0x83f3d70e, 0x90a324fa, 0x62c8a7f9, 0xb602c312, 0x44694011, 0x5739b3e5, 0xa55230e6,
	0xfb410cc2, 0x092a8fc1, 0x1a7a7c35, 0xe811ff36, 0x3cdb9bdd, 0xceb018de, 0xdde0eb2a, 0x2f8b6829,
	0x82f63b78, 0x709db87b, 0x63cd4b8f, 0x91a6c88c, 0x456cac67, 0xb7072f64, 0xa457dc90, 0x563c5f93,
	0x082f63b7, 0xfa44e0b4, 0xe9141340, 0x1b7f9043, 0xcfb5f4a8, 0x3dde77ab, 0x2e8e845f, 0xdce5075c,
	0x92a8fc17, 0x60c37f14, 0x73938ce0, 0x81f80fe3, 0x55326b08, 0xa759e80b, 0xb4091bff, 0x466298fc,
	0x1871a4d8, 0xea1a27db, 0xf94ad42f, 0x0b21572c, 0xdfeb33c7, 0x2d80b0c4, 0x3ed04330, 0xccbbc033,
	0xa24bb5a6, 0x502036a5, 0x4370c551, 0xb11b4652, 0x65d122b9, 0x97baa1ba, 0x84ea524e, 0x7681d14d,
	0x2892ed69, 0xdaf96e6a, 0xc9a99d9e, 0x3bc21e9d, 0xef087a76, 0x1d63f975, 0x0e330a81, 0xfc588982,
	0xb21572c9, 0x407ef1ca, 0x532e023e, 0xa145813d, 0x758fe5d6, 0x87e466d5, 0x94b49521, 0x66df1622,
	0x38cc2a06, 0xcaa7a905, 0xd9f75af1, 0x2b9cd9f2, 0xff56bd19, 0x0d3d3e1a, 0x1e6dcdee, 0xec064eed,
	0xc38d26c4, 0x31e6a5c7, 0x22b65633, 0xd0ddd530, 0x0417b1db, 0xf67c32d8, 0xe52cc12c, 0x1747422f,
	0x49547e0b, 0xbb3ffd08, 0xa86f0efc, 0x5a048dff, 0x8ecee914, 0x7ca56a17, 0x6ff599e3, 0x9d9e1ae0,
	0xd3d3e1ab, 0x21b862a8, 0x32e8915c, 0xc083125f, 0x144976b4, 0xe622f5b7, 0xf5720643, 0x07198540,
	0x590ab964, 0xab613a67, 0xb831c993, 0x4a5a4a90, 0x9e902e7b, 0x6cfbad78, 0x7fab5e8c, 0x8dc0dd8f,
	0xe330a81a, 0x115b2b19, 0x020bd8ed, 0xf0605bee, 0x24aa3f05, 0xd6c1bc06, 0xc5914ff2, 0x37faccf1,
	0x69e9f0d5, 0x9b8273d6, 0x88d28022, 0x7ab90321, 0xae7367ca, 0x5c18e4c9, 0x4f48173d, 0xbd23943e,
	0xf36e6f75, 0x0105ec76, 0x12551f82, 0xe03e9c81, 0x34f4f86a, 0xc69f7b69, 0xd5cf889d, 0x27a40b9e,
	0x79b737ba, 0x8bdcb4b9, 0x988c474d, 0x6ae7c44e, 0xbe2da0a5, 0x4c4623a6, 0x5f16d052, 0xad7d5351,
};
/* clang-format on */

static uint32_t crc_portable(uint32_t crc, const uint8_t *p, size_t len)
{
	while (len-- > 0)
		crc = crc >> 8 ^ crc_table[(crc ^ *p++) & 0xff];
	return crc;
}

#ifdef TH_CPU_X86
__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const uint8_t *p,
							    size_t len)
{
	uint64_t wide = crc;

	for (; len >= 8; len -= 8, p += 8)
		wide = _mm_crc32_u64(wide, load64(p));
	crc = (uint32_t)wide;
	while (len-- > 0)
		crc = _mm_crc32_u8(crc, *p++);
	return crc;
}
#endif

uint32_t th_crc32c(uint32_t crc, const void *ptr, size_t len)
{
	crc = ~crc;
#ifdef TH_CPU_X86
	if (th_cpu_has(TH_CPU_SSE42))
		return ~crc_sse42(crc, ptr, len);
#endif
	return ~crc_portable(crc, ptr, len);
}

/* ---- hash64: four lanes of 64 x 64 -> 128 bit products, folded ---- */

/* Odd, and as random as the digits of pi after the point can be. */
#define MIX0 UINT64_C(0x243f6a8885a308d3)
#define MIX1 UINT64_C(0x13198a2e03707345)
#define MIX2 UINT64_C(0xa4093822299f31d1)
#define MIX3 UINT64_C(0x082efa98ec4e6c89)

static inline uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* A lane takes 16 bytes.  Adding what it was keeps a zero factor from wiping out the past. */
static inline uint64_t lane(uint64_t was, const uint8_t *p, uint64_t key)
{
	return mix(load64(p) ^ key, load64(p + 8) ^ was) + (was << 17 | was >> 47);
}

uint64_t th_hash64(const void *ptr, size_t len)
{
	const uint8_t *p = ptr;
	uint64_t h = MIX3 ^ len, a = 0, b = 0;
	size_t left = len;

	if (left >= 64) {
		uint64_t h0 = MIX0, h1 = MIX1, h2 = MIX2, h3 = h;

		for (; left >= 64; left -= 64, p += 64) {
			h0 = lane(h0, p, MIX1);
			h1 = lane(h1, p + 16, MIX2);
			h2 = lane(h2, p + 32, MIX3);
			h3 = lane(h3, p + 48, MIX0);
		}
		h = mix(h0 ^ MIX1, h1 ^ MIX2) + mix(h2 ^ MIX3, h3 ^ MIX0);
	}
	for (; left > 16; left -= 16, p += 16)
		h = lane(h, p, MIX0);
	if (left >= 8) { /* the last bytes, overlapping */
		a = load64(p);
		b = load64(p + left - 8);
	} else if (left >= 4) {
		a = load32(p);
		b = load32(p + left - 4);
	} else if (left > 0) {
		a = (uint64_t)p[0] << 16 | (uint64_t)p[left / 2] << 8 | p[left - 1];
	}
	return mix(mix(a ^ MIX0, b ^ h) ^ MIX1, h ^ MIX2);
}
