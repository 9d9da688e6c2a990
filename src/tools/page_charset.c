/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/page_charset.h"

#include <errno.h>
#include <iconv.h>

#include "base/charset.h"
#include "base/limits.h"
#include "base/text.h"

#define LOOKED_AT TH_KIB /* where browsers look for a <meta>, too */

/* Labels as pages have them (WHATWG's Encoding standard), and iconv's names for what they mean.
 * Only these are asked for: who writes a page does not choose what else iconv can. */
static const struct encoding {
	const char *label, *name;
} encodings[] = {
	{ "utf-8", "UTF-8" },
	{ "utf8", "UTF-8" },
	{ "iso-8859-1", "WINDOWS-1252" },
	{ "iso8859-1", "WINDOWS-1252" },
	{ "latin1", "WINDOWS-1252" },
	{ "us-ascii", "WINDOWS-1252" },
	{ "ascii", "WINDOWS-1252" },
	{ "windows-1252", "WINDOWS-1252" },
	{ "cp1252", "WINDOWS-1252" },
	{ "iso-8859-2", "ISO-8859-2" },
	{ "latin2", "ISO-8859-2" },
	{ "iso-8859-3", "ISO-8859-3" },
	{ "iso-8859-4", "ISO-8859-4" },
	{ "iso-8859-5", "ISO-8859-5" },
	{ "iso-8859-6", "ISO-8859-6" },
	{ "iso-8859-7", "ISO-8859-7" },
	{ "iso-8859-8", "ISO-8859-8" },
	{ "iso-8859-8-i", "ISO-8859-8" },
	{ "iso-8859-9", "WINDOWS-1254" },
	{ "latin5", "WINDOWS-1254" },
	{ "iso-8859-10", "ISO-8859-10" },
	{ "iso-8859-11", "WINDOWS-874" },
	{ "iso-8859-13", "ISO-8859-13" },
	{ "iso-8859-14", "ISO-8859-14" },
	{ "iso-8859-15", "ISO-8859-15" },
	{ "iso-8859-16", "ISO-8859-16" },
	{ "windows-874", "WINDOWS-874" },
	{ "tis-620", "WINDOWS-874" },
	{ "windows-1250", "WINDOWS-1250" },
	{ "windows-1251", "WINDOWS-1251" },
	{ "cp1251", "WINDOWS-1251" },
	{ "windows-1253", "WINDOWS-1253" },
	{ "windows-1254", "WINDOWS-1254" },
	{ "windows-1255", "WINDOWS-1255" },
	{ "windows-1256", "WINDOWS-1256" },
	{ "windows-1257", "WINDOWS-1257" },
	{ "windows-1258", "WINDOWS-1258" },
	{ "koi8-r", "KOI8-R" },
	{ "koi8-u", "KOI8-U" },
	{ "ibm866", "CP866" },
	{ "macintosh", "MACINTOSH" },
	{ "gbk", "GB18030" },
	{ "gb2312", "GB18030" },
	{ "gb18030", "GB18030" },
	{ "big5", "BIG5" },
	{ "big5-hkscs", "BIG5" },
	{ "euc-jp", "EUC-JP" },
	{ "iso-2022-jp", "ISO-2022-JP" },
	{ "shift_jis", "CP932" },
	{ "shift-jis", "CP932" },
	{ "sjis", "CP932" },
	{ "x-sjis", "CP932" },
	{ "windows-31j", "CP932" },
	{ "euc-kr", "UHC" },
	{ "ks_c_5601-1987", "UHC" },
	{ "utf-16", "UTF-16LE" },
	{ "utf-16le", "UTF-16LE" },
	{ "utf-16be", "UTF-16BE" },
};

static const struct encoding *encoding_find(struct th_str label)
{
	for (size_t i = 0; i < TH_COUNT(encodings); i++)
		if (th_str_ieq(label, th_str_of(encodings[i].label)))
			return &encodings[i];
	return NULL;
}

/* ---- what says so ---- */

/* The value behind `key` and "=" in a tag or a header: quoted, or up to a blank, `;` or `>`. */
static struct th_str value_of(struct th_str text, const char *key)
{
	struct th_str name = th_str_of(key);

	for (size_t i = 0; i + name.len <= text.len; i++) {
		struct th_str rest = th_str_sub(text, i + name.len, text.len);
		size_t end = 0;

		if (!th_str_istarts(th_str_sub(text, i, text.len), name))
			continue;
		rest = th_str_trim(rest);
		if (!rest.len || rest.ptr[0] != '=')
			continue;
		rest = th_str_trim(th_str_sub(rest, 1, rest.len));
		if (rest.len && (rest.ptr[0] == '"' || rest.ptr[0] == '\'')) {
			ptrdiff_t close =
			    th_str_find_char(th_str_sub(rest, 1, rest.len), rest.ptr[0]);

			return close < 0 ? TH_STR("")
					 : th_str_trim(th_str_sub(rest, 1, (size_t)close));
		}
		while (end < rest.len && !strchr(" \t\r\n\f;>\"'", rest.ptr[end]))
			end++;
		return th_str_sub(rest, 0, end);
	}
	return TH_STR("");
}

/* Of the first <meta> that says one. */
static const struct encoding *meta_find(struct th_str head)
{
	while (head.len) {
		ptrdiff_t at = th_str_find_char(head, '<'), end;
		const struct encoding *e;

		if (at < 0)
			return NULL;
		head = th_str_sub(head, (size_t)at, head.len);
		if (th_str_starts(head, TH_STR("<!--"))) {
			end = th_str_find(head, TH_STR("-->"));
			head = th_str_sub(head, end < 0 ? head.len : (size_t)end, head.len);
			continue;
		}
		end = th_str_find_char(head, '>');
		end = end < 0 ? (ptrdiff_t)head.len : end;
		e = th_str_istarts(head, TH_STR("<meta"))
			? encoding_find(value_of(th_str_sub(head, 0, (size_t)end), "charset"))
			: NULL;
		if (e)
			return e;
		head = th_str_sub(head, TH_MAX((size_t)end, (size_t)1), head.len);
	}
	return NULL;
}

/* Who could read that its text is UTF-16 has not read it as UTF-16. */
static const struct encoding *said_inside(struct th_str bytes, bool html)
{
	struct th_str head = th_str_sub(bytes, 0, LOOKED_AT);
	const struct encoding *e = NULL;
	ptrdiff_t end;

	if (th_str_starts(head, TH_STR("<?xml")) && (end = th_str_find_char(head, '>')) > 0)
		e = encoding_find(value_of(th_str_sub(head, 0, (size_t)end), "encoding"));
	if (!e && html)
		e = meta_find(head);
	return e && th_str_starts(th_str_of(e->name), TH_STR("UTF-16"))
		   ? encoding_find(TH_STR("utf-8"))
		   : e;
}

static const struct encoding *said(struct th_str content_type, bool html, struct th_str bytes)
{
	struct th_str rest = content_type;
	const struct encoding *e;

	(void)th_str_split(&rest, ';');
	e = encoding_find(value_of(rest, "charset"));
	return e ? e : said_inside(bytes, html);
}

/* ---- reading it ---- */

/* What it holds back for a mark that could follow, as the vowels of windows-1258. */
static void convert_rest(iconv_t cd, struct th_buf *out)
{
	char piece[64], *to = piece;
	size_t room = sizeof(piece);

	(void)!iconv(cd, NULL, NULL, &to, &room);
	th_buf_add_mem(out, piece, (size_t)(to - piece));
}

/* False: this system has no such encoding. */
static bool convert(const char *name, struct th_str bytes, struct th_buf *out)
{
	iconv_t cd = iconv_open("UTF-8", name);
	char *from = (char *)(uintptr_t)bytes.ptr, piece[4 * TH_KIB];
	size_t left = bytes.len, unit = th_str_starts(th_str_of(name), TH_STR("UTF-16")) ? 2 : 1;

	if (cd == (iconv_t)-1)
		return false;
	while (left > 0 && !out->failed) {
		char *to = piece;
		size_t room = sizeof(piece);
		bool bad = iconv(cd, &from, &left, &to, &room) == (size_t)-1 && errno != E2BIG;

		th_buf_add_mem(out, piece, (size_t)(to - piece));
		if (!bad)
			continue;
		th_utf8_add(out, 0xfffd);
		unit = TH_MIN(unit, left);
		from += unit; /* of what is no character, or of one that ends in its middle */
		left -= unit;
	}
	convert_rest(cd, out);
	iconv_close(cd);
	return true;
}

/* As far as it is known by looking. */
static bool decode_as_it_looks(struct th_str bytes, bool cut, struct th_buf *out)
{
	enum th_charset charset = th_charset_of(bytes);

	if (cut && charset == TH_CHARSET_LATIN && bytes.len - th_utf8_valid(bytes) < 4)
		charset = TH_CHARSET_UTF8;
	if (charset == TH_CHARSET_BINARY)
		return false;
	th_charset_decode(charset, bytes, out);
	return true;
}

bool th_page_decode(struct th_str content_type, bool html, bool cut, struct th_str bytes,
		    struct th_buf *out)
{
	enum th_charset looks = th_charset_of(bytes);
	bool marked = looks == TH_CHARSET_UTF8_BOM || looks == TH_CHARSET_UTF16LE ||
		      looks == TH_CHARSET_UTF16BE;
	const struct encoding *e = marked ? NULL : said(content_type, html, bytes);
	bool wide = e && th_str_starts(th_str_of(e->name), TH_STR("UTF-16"));

	if (!e || (looks == TH_CHARSET_BINARY && !wide))
		return decode_as_it_looks(bytes, cut, out);
	if (strcmp(e->name, "UTF-8") == 0)
		th_utf8_clean(out, bytes);
	else if (strcmp(e->name, "WINDOWS-1252") == 0)
		th_charset_decode(TH_CHARSET_LATIN, bytes, out);
	else if (!convert(e->name, bytes, out))
		return decode_as_it_looks(bytes, cut, out);
	return true;
}
