/* SPDX-License-Identifier: Apache-2.0 */
#include "base/codec.h"

#include "base/cpu.h"
#include "base/limits.h"

/* ---- base64 ---- */

static const char base64_chars[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t th_base64_size(size_t len)
{
	assert(len <= SIZE_MAX / 4 * 3 - 2);
	return (len + 2) / 3 * 4;
}

static char *encode_portable(char *to, const uint8_t *p, size_t len)
{
	for (; len >= 3; len -= 3, p += 3, to += 4) {
		uint32_t v = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];

		to[0] = base64_chars[v >> 18];
		to[1] = base64_chars[v >> 12 & 63];
		to[2] = base64_chars[v >> 6 & 63];
		to[3] = base64_chars[v & 63];
	}
	if (len) {
		uint32_t v = (uint32_t)p[0] << 16 | (len == 2 ? (uint32_t)p[1] << 8 : 0);

		to[0] = base64_chars[v >> 18];
		to[1] = base64_chars[v >> 12 & 63];
		to[2] = len == 2 ? base64_chars[v >> 6 & 63] : '=';
		to[3] = '=';
		to += 4;
	}
	return to;
}

#ifdef TH_CPU_X86
#include <immintrin.h>

/*
 * 24 bytes to 32 characters a step.  Each half of the register holds 12 bytes,
 * spread so that every 32-bit lane has three of them as b1 b0 b2 b1; then two
 * multiplications shift the four six-bit groups into bytes of their own.  A
 * group's range (letters, digits, + or /) picks what to add to make ASCII.
 */
__attribute__((target("avx2"))) static size_t encode_avx2(char *to, const uint8_t *p, size_t len)
{
	/* clang-format off */
	const __m256i spread = _mm256_setr_epi8(
		1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10,
		1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10);
	/* 0: a-z; 1..10: 0-9; 11: +; 12: /; 13: A-Z */
	const __m256i shift = _mm256_setr_epi8(
		'a' - 26, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52,
		'0' - 52, '0' - 52, '0' - 52, '+' - 62, '/' - 63, 'A', 0, 0,
		'a' - 26, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52,
		'0' - 52, '0' - 52, '0' - 52, '+' - 62, '/' - 63, 'A', 0, 0);
	/* clang-format on */
	size_t done = 0;

	for (; len - done >= 28; done += 24, to += 32) { /* the second load reads 12 .. 28 */
		__m256i v = _mm256_inserti128_si256(
		    _mm256_castsi128_si256(
			_mm_loadu_si128((const __m128i *)(const void *)(p + done))),
		    _mm_loadu_si128((const __m128i *)(const void *)(p + done + 12)), 1);

		v = _mm256_shuffle_epi8(v, spread);
		__m256i odd = _mm256_mulhi_epu16(_mm256_and_si256(v, _mm256_set1_epi32(0x0fc0fc00)),
						 _mm256_set1_epi32(0x04000040));
		__m256i even =
		    _mm256_mullo_epi16(_mm256_and_si256(v, _mm256_set1_epi32(0x003f03f0)),
				       _mm256_set1_epi32(0x01000010));

		v = _mm256_or_si256(odd, even);
		__m256i range = _mm256_subs_epu8(v, _mm256_set1_epi8(51));
		__m256i upper = _mm256_cmpgt_epi8(_mm256_set1_epi8(26), v);

		range = _mm256_or_si256(range, _mm256_and_si256(upper, _mm256_set1_epi8(13)));
		v = _mm256_add_epi8(v, _mm256_shuffle_epi8(shift, range));
		_mm256_storeu_si256((__m256i *)(void *)to, v);
	}
	return done;
}
#endif

void th_base64_encode(struct th_buf *out, const void *ptr, size_t len)
{
	size_t size = th_base64_size(len), done = 0;
	char *to;

	if (!len)
		return;
	to = th_buf_grow(out, size);
	if (!to)
		return;
#ifdef TH_CPU_X86
	if (len >= 28 && th_cpu_has(TH_CPU_AVX2))
		done = encode_avx2(to, ptr, len);
#endif
	encode_portable(to + done / 3 * 4, (const uint8_t *)ptr + done, len - done);
	th_buf_grown(out, size);
}

#define BAD 0x80

static uint32_t sextet(char c)
{
	/* Index 0 means "not in the alphabet" but for A, so values are stored plus one. */
	/* clang-format off */
	static const uint8_t values[256] = {
		['A'] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
		22, 23, 24, 25, 26,
		['a'] = 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45,
		46, 47, 48, 49, 50, 51, 52,
		['0'] = 53, 54, 55, 56, 57, 58, 59, 60, 61, 62,
		['+'] = 63,
		['/'] = 64,
	};
	/* clang-format on */

	/* 0 - 1 sets the high bits, which no value has. */
	return (uint32_t)values[(unsigned char)c] - 1;
}

bool th_base64_decode(struct th_buf *out, struct th_str text)
{
	size_t pad = 0, size, whole;
	uint32_t bad = 0, v;
	uint8_t *to;

	if (text.len % 4)
		return false;
	if (!text.len)
		return true;
	if (text.ptr[text.len - 1] == '=')
		pad = text.ptr[text.len - 2] == '=' ? 2 : 1;
	size = text.len / 4 * 3 - pad;
	to = (uint8_t *)th_buf_grow(out, size);
	if (!to)
		return true; /* too long, not wrong: the buffer's check says so */
	whole = text.len / 4 - (pad > 0);
	for (const char *p = text.ptr; whole > 0; whole--, p += 4, to += 3) {
		uint32_t a = sextet(p[0]), b = sextet(p[1]), c = sextet(p[2]), d = sextet(p[3]);

		bad |= a | b | c | d;
		v = a << 18 | b << 12 | c << 6 | d;
		to[0] = (uint8_t)(v >> 16);
		to[1] = (uint8_t)(v >> 8);
		to[2] = (uint8_t)v;
	}
	if (pad) {
		const char *p = text.ptr + text.len - 4;
		uint32_t a = sextet(p[0]), b = sextet(p[1]), c = pad == 1 ? sextet(p[2]) : 0;

		bad |= a | b | c;
		v = a << 18 | b << 12 | c << 6;
		if (v & (pad == 1 ? 0xff : 0xffff)) /* bits that belong to no byte */
			bad |= BAD;
		to[0] = (uint8_t)(v >> 16);
		if (pad == 1)
			to[1] = (uint8_t)(v >> 8);
	}
	if (bad & ~(uint32_t)63) {
		th_buf_grown(out, 0); /* the NUL again */
		return false;
	}
	th_buf_grown(out, size);
	return true;
}

/* ---- UUIDs ---- */

struct th_uuid th_uuid7(uint64_t unix_ms, const uint8_t random[static 10])
{
	struct th_uuid u;

	for (int i = 0; i < 6; i++)
		u.bytes[i] = (uint8_t)(unix_ms >> (40 - 8 * i));
	memcpy(u.bytes + 6, random, 10);
	u.bytes[6] = (uint8_t)(0x70 | (u.bytes[6] & 0x0f)); /* version */
	u.bytes[8] = (uint8_t)(0x80 | (u.bytes[8] & 0x3f)); /* variant */
	return u;
}

static bool is_dash(size_t at)
{
	return at == 8 || at == 13 || at == 18 || at == 23;
}

void th_uuid_text(const struct th_uuid *u, char out[static TH_UUID_TEXT_SIZE + 1])
{
	static const char hex[] = "0123456789abcdef";
	size_t nibble = 0;

	for (size_t at = 0; at < TH_UUID_TEXT_SIZE; at++) {
		if (is_dash(at)) {
			out[at] = '-';
			continue;
		}
		out[at] = hex[u->bytes[nibble / 2] >> (nibble % 2 ? 0 : 4) & 15];
		nibble++;
	}
	out[TH_UUID_TEXT_SIZE] = '\0';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool th_uuid_parse(struct th_str text, struct th_uuid *ret)
{
	struct th_uuid u = { 0 };
	size_t nibble = 0;

	if (text.len != TH_UUID_TEXT_SIZE)
		return false;
	for (size_t at = 0; at < TH_UUID_TEXT_SIZE; at++) {
		int v = hex_digit(text.ptr[at]);

		if (is_dash(at)) {
			if (text.ptr[at] != '-')
				return false;
			continue;
		}
		if (v < 0)
			return false;
		u.bytes[nibble / 2] |= (uint8_t)(v << (nibble % 2 ? 0 : 4));
		nibble++;
	}
	*ret = u;
	return true;
}

/* ---- frames ---- */

static void store_le32(char *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (char)(v >> 8 * i);
}

static uint32_t load_le32(const char *p)
{
	uint32_t v = 0;

	for (int i = 3; i >= 0; i--)
		v = v << 8 | (unsigned char)p[i];
	return v;
}

void th_frame_write(struct th_buf *out, struct th_str json, struct th_str attachment)
{
	char head[TH_FRAME_HEAD_SIZE];

	if (json.len > TH_FRAME_JSON_MAX ||
	    attachment.len > TH_FRAME_SIZE_MAX - TH_FRAME_HEAD_SIZE - json.len) {
		out->failed = true; /* half a frame would be taken for the next one's start */
		return;
	}
	size_t size = TH_FRAME_HEAD_SIZE + json.len + attachment.len;

	if (!th_buf_grow(out, size))
		return;
	store_le32(head, (uint32_t)(size - 4));
	store_le32(head + 4, (uint32_t)json.len);
	th_buf_add_mem(out, head, sizeof(head));
	th_buf_add(out, json);
	th_buf_add(out, attachment);
}

int th_frame_read(struct th_str bytes, struct th_frame *ret, struct th_err *err)
{
	uint32_t rest, json_len;

	if (bytes.len < 4)
		return 0;
	rest = load_le32(bytes.ptr);
	if (rest > TH_FRAME_SIZE_MAX - 4)
		return th_fail(err, TH_ELIMIT, "frame is larger than %zu bytes", TH_FRAME_SIZE_MAX);
	if (rest < 4)
		return th_fail(err, TH_EPROTO, "frame has no head");
	if (bytes.len < TH_FRAME_HEAD_SIZE)
		return 0;
	json_len = load_le32(bytes.ptr + 4);
	if (json_len > rest - 4)
		return th_fail(err, TH_EPROTO, "frame's head is larger than the frame");
	if (json_len > TH_FRAME_JSON_MAX)
		return th_fail(err, TH_ELIMIT, "frame's head is larger than %zu bytes",
			       TH_FRAME_JSON_MAX);
	if (bytes.len - 4 < rest)
		return 0;
	ret->json = th_str_n(bytes.ptr + TH_FRAME_HEAD_SIZE, json_len);
	ret->attachment = th_str_n(ret->json.ptr + json_len, rest - 4 - json_len);
	ret->size = (size_t)rest + 4;
	return 1;
}
