/* SPDX-License-Identifier: Apache-2.0 */
#include "base/picture_type.h"

const char *th_picture_type(struct th_str bytes)
{
	if (th_str_starts(bytes, TH_STR("\x89PNG\r\n\x1a\n")))
		return "image/png";
	if (th_str_starts(bytes, TH_STR("\xff\xd8\xff")))
		return "image/jpeg";
	if (th_str_starts(bytes, TH_STR("GIF8")))
		return "image/gif";
	if (bytes.len >= TH_PICTURE_TYPE_BYTES && th_str_starts(bytes, TH_STR("RIFF")) &&
	    th_str_is(th_str_sub(bytes, 8, 4), "WEBP"))
		return "image/webp";
	return NULL;
}

static uint32_t u32_at(struct th_str s, size_t at)
{
	const unsigned char *p = (const unsigned char *)s.ptr + at;

	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* CRC-32 of ISO 3309, four bits at a time. */
static uint32_t crc32(struct th_str s)
{
	uint32_t table[16], crc = UINT32_MAX;

	for (uint32_t i = 0; i < 16; i++) {
		table[i] = i;
		for (int bit = 0; bit < 4; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
	}
	for (size_t i = 0; i < s.len; i++) {
		crc ^= (unsigned char)s.ptr[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return ~crc;
}

/* Its chunks are whole, and end with IEND. */
static bool png_is_whole(struct th_str bytes)
{
	size_t at = 8;

	while (bytes.len - at >= 12) {
		size_t len = u32_at(bytes, at);

		if (len > bytes.len - at - 12 ||
		    crc32(th_str_sub(bytes, at + 4, len + 4)) != u32_at(bytes, at + 8 + len))
			return false;
		if (th_str_is(th_str_sub(bytes, at + 4, 4), "IEND"))
			return true;
		at += len + 12;
	}
	return false;
}

/* The longer side of a JPEG, as its frame's header says; 0: it says none. */
static uint32_t jpeg_side(struct th_str bytes)
{
	const unsigned char *b = (const unsigned char *)bytes.ptr;
	size_t at = 2, len;

	for (; bytes.len - at >= 9 && b[at] == 0xff; at += 2 + len) {
		unsigned marker = b[at + 1];

		len = (size_t)(b[at + 2] << 8 | b[at + 3]);
		/* The frames, but not the tables that stand among them. */
		if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 &&
		    marker != 0xcc)
			return TH_MAX((uint32_t)(b[at + 5] << 8 | b[at + 6]),
				      (uint32_t)(b[at + 7] << 8 | b[at + 8]));
		if (marker == 0xda || len < 2 || len > bytes.len - at - 2)
			return 0;
	}
	return 0;
}

const char *th_picture_whole_type(struct th_str bytes)
{
	const char *type = th_picture_type(bytes);
	uint32_t side = 0;

	if (type && strcmp(type, "image/png") == 0) {
		if (!png_is_whole(bytes) || bytes.len < 24)
			return NULL;
		side = TH_MAX(u32_at(bytes, 16), u32_at(bytes, 20));
	} else if (type && strcmp(type, "image/jpeg") == 0) {
		side = jpeg_side(bytes);
	}
	return side <= TH_PICTURE_SIDE_MAX ? type : NULL;
}
