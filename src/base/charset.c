/* SPDX-License-Identifier: Apache-2.0 */
#include "base/charset.h"

#include "base/text.h"

#define BOM8 "\xef\xbb\xbf"
#define BOM16LE "\xff\xfe"
#define BOM16BE "\xfe\xff"

/* windows-1252 from 0x80 on; 0xa0 and up are as in Unicode. */
static const uint16_t latin[32] = {
	0x20ac, 0x0081, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
	0x2039, 0x0152, 0x008d, 0x017d, 0x008f, 0x0090, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
	0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x009d, 0x017e, 0x0178,
};

const char *th_charset_name(enum th_charset c)
{
	static const char *const names[TH_CHARSET_COUNT] = {
		[TH_CHARSET_UTF8] = "utf-8",         [TH_CHARSET_UTF8_BOM] = "utf-8 with a BOM",
		[TH_CHARSET_UTF16LE] = "utf-16le",   [TH_CHARSET_UTF16BE] = "utf-16be",
		[TH_CHARSET_LATIN] = "windows-1252", [TH_CHARSET_BINARY] = "binary",
	};

	assert(c < TH_CHARSET_COUNT);
	return names[c];
}

static uint32_t unit_at(enum th_charset c, const unsigned char *p)
{
	return c == TH_CHARSET_UTF16LE ? (uint32_t)(p[0] | p[1] << 8)
				       : (uint32_t)(p[0] << 8 | p[1]);
}

/* The character at *at, which moves on; false: a half of a pair stands alone. */
static bool utf16_next(enum th_charset c, struct th_str s, size_t *at, uint32_t *ret)
{
	const unsigned char *p = (const unsigned char *)s.ptr;
	uint32_t high = unit_at(c, p + *at), low;

	*at += 2;
	*ret = high;
	if (high < 0xd800 || high > 0xdfff)
		return true;
	if (high > 0xdbff || *at + 2 > s.len)
		return false;
	low = unit_at(c, p + *at);
	if (low < 0xdc00 || low > 0xdfff)
		return false;
	*at += 2;
	*ret = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
	return true;
}

static bool is_utf16(enum th_charset c, struct th_str s)
{
	uint32_t character;

	if (s.len % 2)
		return false;
	for (size_t at = 2; at < s.len;)
		if (!utf16_next(c, s, &at, &character) || character == 0)
			return false;
	return true;
}

enum th_charset th_charset_of(struct th_str s)
{
	if (th_str_starts(s, TH_STR(BOM16LE)) && is_utf16(TH_CHARSET_UTF16LE, s))
		return TH_CHARSET_UTF16LE;
	if (th_str_starts(s, TH_STR(BOM16BE)) && is_utf16(TH_CHARSET_UTF16BE, s))
		return TH_CHARSET_UTF16BE;
	if (s.len && memchr(s.ptr, '\0', s.len))
		return TH_CHARSET_BINARY;
	if (th_utf8_valid(s) < s.len)
		return TH_CHARSET_LATIN;
	return th_str_starts(s, TH_STR(BOM8)) ? TH_CHARSET_UTF8_BOM : TH_CHARSET_UTF8;
}

static void decode_latin(struct th_str s, struct th_buf *out)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char b = (unsigned char)s.ptr[i];

		if (b < 0x80)
			th_buf_add_char(out, (char)b);
		else
			th_utf8_add(out, b < 0xa0 ? latin[b - 0x80] : b);
	}
}

void th_charset_decode(enum th_charset c, struct th_str s, struct th_buf *out)
{
	uint32_t character;

	switch (c) {
	case TH_CHARSET_UTF8:
		th_buf_add(out, s);
		break;
	case TH_CHARSET_UTF8_BOM:
		th_buf_add(out, th_str_sub(s, sizeof(BOM8) - 1, s.len));
		break;
	case TH_CHARSET_UTF16LE:
	case TH_CHARSET_UTF16BE:
		for (size_t at = 2; at + 2 <= s.len;) {
			(void)utf16_next(c, s, &at, &character);
			th_utf8_add(out, character);
		}
		break;
	case TH_CHARSET_LATIN:
		decode_latin(s, out);
		break;
	case TH_CHARSET_BINARY:
	case TH_CHARSET_COUNT:
		assert(false);
	}
}

static void add_unit(enum th_charset c, struct th_buf *out, uint32_t unit)
{
	char high = (char)(unit >> 8), low = (char)(unit & 0xff);

	th_buf_add_char(out, c == TH_CHARSET_UTF16LE ? low : high);
	th_buf_add_char(out, c == TH_CHARSET_UTF16LE ? high : low);
}

static void add_utf16(enum th_charset c, struct th_buf *out, uint32_t character)
{
	if (character < 0x10000) {
		add_unit(c, out, character);
		return;
	}
	add_unit(c, out, 0xd800 + ((character - 0x10000) >> 10));
	add_unit(c, out, 0xdc00 + ((character - 0x10000) & 0x3ff));
}

static bool add_latin(struct th_buf *out, uint32_t character)
{
	if (character < 0x80 || (character >= 0xa0 && character <= 0xff)) {
		th_buf_add_char(out, (char)character);
		return true;
	}
	for (size_t i = 0; i < TH_COUNT(latin); i++)
		if (latin[i] == character) {
			th_buf_add_char(out, (char)(0x80 + i));
			return true;
		}
	return false;
}

bool th_charset_encode(enum th_charset c, struct th_str text, struct th_buf *out, uint32_t *ret_bad)
{
	uint32_t character;

	assert(c != TH_CHARSET_BINARY && c < TH_CHARSET_COUNT);
	if (c == TH_CHARSET_UTF8_BOM)
		th_buf_add_cstr(out, BOM8);
	if (c == TH_CHARSET_UTF8 || c == TH_CHARSET_UTF8_BOM) {
		th_buf_add(out, text);
		return true;
	}
	if (c != TH_CHARSET_LATIN)
		th_buf_add_cstr(out, c == TH_CHARSET_UTF16LE ? BOM16LE : BOM16BE);
	while (th_utf8_next(&text, &character)) {
		if (c != TH_CHARSET_LATIN) {
			add_utf16(c, out, character);
		} else if (!add_latin(out, character)) {
			*ret_bad = character;
			return false;
		}
	}
	return true;
}
