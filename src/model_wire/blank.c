/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blank.c - one bit a pixel, all bits 0: rows of zero bytes, deflated with the
 * fixed codes as one literal and a run of matches at distance 1.
 */
#include "model_wire/blank.h"

#include "base/limits.h"

#define MATCH_MAX 258
#define ADLER_BASE 65521

struct bits {
	struct th_buf *out;
	uint32_t pending, count;
};

/* Deflate fills bytes from the lowest bit. */
static void put_bits(struct bits *b, uint32_t value, uint32_t count)
{
	b->pending |= value << b->count;
	b->count += count;
	while (b->count >= 8) {
		th_buf_add_char(b->out, (char)(b->pending & 0xff));
		b->pending >>= 8;
		b->count -= 8;
	}
}

/* Huffman codes go in from their highest bit. */
static void put_code(struct bits *b, uint32_t code, uint32_t count)
{
	while (count-- > 0)
		put_bits(b, code >> count & 1, 1);
}

static void put_zero(struct bits *b)
{
	put_code(b, 0x30, 8);
}

static void put_u32(struct th_buf *out, uint32_t v)
{
	const char bytes[4] = { (char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v };

	th_buf_add_mem(out, bytes, sizeof(bytes));
}

/* CRC-32 of ISO 3309, as PNG wants it. */
static uint32_t crc32(struct th_str s)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < s.len; i++) {
		crc ^= (unsigned char)s.ptr[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static void put_chunk(struct th_buf *out, const char *type, struct th_str data)
{
	size_t start;

	put_u32(out, (uint32_t)data.len);
	start = out->len;
	th_buf_add_cstr(out, type);
	th_buf_add(out, data);
	put_u32(out, crc32(th_str_sub(th_buf_str(out), start, out->len)));
}

/* `count` zero bytes as a zlib stream. */
static void put_zeros(struct th_buf *out, size_t count)
{
	struct bits b = { .out = out };
	size_t left = count;

	th_buf_add_mem(out, "\x78\x01", 2);
	put_bits(&b, 1 | 1 << 1, 3); /* the last block, fixed codes */
	put_zero(&b);
	for (left--; left >= MATCH_MAX; left -= MATCH_MAX) {
		put_code(&b, 0xc5, 8); /* length 258 */
		put_code(&b, 0, 5);    /* distance 1 */
	}
	while (left-- > 0)
		put_zero(&b);
	put_code(&b, 0, 7); /* end of block */
	put_bits(&b, 0, 7); /* whole bytes */
	put_u32(out, (uint32_t)(count % ADLER_BASE) << 16 | 1);
}

void th_blank_png(struct th_buf *out, struct th_size size)
{
	uint32_t width = (uint32_t)TH_MIN(TH_MAX(size.width, 1), TH_SCREEN_SIDE_MAX);
	uint32_t height = (uint32_t)TH_MIN(TH_MAX(size.height, 1), TH_SCREEN_SIDE_MAX);
	struct th_buf data = TH_BUF_INIT(TH_MIB);

	th_buf_add_mem(out, "\x89PNG\r\n\x1a\n", 8);
	put_u32(&data, width);
	put_u32(&data, height);
	th_buf_add_mem(&data, "\1\0\0\0\0", 5); /* 1 bit, grey */
	put_chunk(out, "IHDR", th_buf_str(&data));
	th_buf_clear(&data);
	put_zeros(&data, ((size_t)(width + 7) / 8 + 1) * height);
	put_chunk(out, "IDAT", th_buf_str(&data));
	put_chunk(out, "IEND", TH_STR(""));
	th_buf_deinit(&data);
}
