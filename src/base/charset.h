/* SPDX-License-Identifier: Apache-2.0 */
/*
 * charset.h - text files in other encodings than UTF-8, as UTF-8 and back.
 *
 * Every encoding here is a bijection on the texts that it is found for: what is
 * decoded and encoded again has the same bytes.  So a file may be changed in
 * one place and keep all others, whatever it is written in.
 */
#ifndef TH_BASE_CHARSET_H
#define TH_BASE_CHARSET_H

#include "base/buf.h"

enum th_charset {
	TH_CHARSET_UTF8,
	TH_CHARSET_UTF8_BOM,
	TH_CHARSET_UTF16LE, /* both with a byte order mark, which is how they are found */
	TH_CHARSET_UTF16BE,
	TH_CHARSET_LATIN,  /* windows-1252 with its five holes as control characters, as browsers do
			    */
	TH_CHARSET_BINARY, /* no text */
	TH_CHARSET_COUNT
};

const char *th_charset_name(enum th_charset c);

/* By looking: a byte order mark; NUL bytes are no text; what is no UTF-8 is LATIN. */
enum th_charset th_charset_of(struct th_str bytes);

/* Not of BINARY.  The text without a byte order mark. */
void th_charset_decode(enum th_charset c, struct th_str bytes, struct th_buf *out);

/* Not of BINARY.  With the byte order mark.  False: a character has no place in it, *ret_bad; `out`
 * may hold anything. */
TH_NODISCARD bool th_charset_encode(enum th_charset c, struct th_str text, struct th_buf *out,
				    uint32_t *ret_bad);

#endif
