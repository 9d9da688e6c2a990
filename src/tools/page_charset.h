/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_charset.h - a page of the web as UTF-8, whatever it is written in.
 *
 * What says so, in browsers' order: a byte order mark, the charset of its
 * Content-Type, a <meta> or an XML declaration in its first KiB, else its bytes
 * (charset.h).  Names of encodings are those of the web, so "iso-8859-1" is
 * windows-1252; one that is not known counts as none.  Bytes that the encoding
 * has not become U+FFFD.
 *
 * The C library's iconv knows the encodings and may open files for one.
 */
#ifndef TH_TOOLS_PAGE_CHARSET_H
#define TH_TOOLS_PAGE_CHARSET_H

#include "base/buf.h"

/* `content_type`: the header's value, may be empty; `html`: a <meta> of it is believed; `cut`: the
 * last character may be half.  False: it is no text. */
TH_NODISCARD bool th_page_decode(struct th_str content_type, bool html, bool cut,
				 struct th_str bytes, struct th_buf *out);

#endif
