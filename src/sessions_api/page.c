/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - the page: files that anybody may have; what it shows it gets by the API, as its user. */
#include "sessions_api/page.h"

#include <assert.h>
#include <libdeflate.h>
#include <stdio.h>

#include "sessions_api/internal.h"

/* Nothing but the page's own files, nothing inline, no text that becomes markup or code. */
static const char policy[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Vary: Accept-Encoding\r\n"
    "Cache-Control: no-cache\r\n";

const struct th_page_file *th_page_find(struct th_str name)
{
	for (const struct th_page_file *f = th_page_files; f->name; f++)
		if (th_str_is(name, f->name))
			return f;
	return NULL;
}

void th_page_plain(const struct th_page_file *f, struct th_buf *out)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	char *to = d ? th_buf_grow(out, f->size) : NULL;
	enum libdeflate_result code = LIBDEFLATE_BAD_DATA;

	if (to)
		code = libdeflate_gzip_decompress(d, f->gzip, f->gzip_size, to, f->size, NULL);
	libdeflate_free_decompressor(d);
	if (!to) /* the buffer is marked as failed */
		return;
	assert(code == LIBDEFLATE_SUCCESS); /* the bytes are the program's own */
	th_buf_grown(out, f->size);
}

/* One of the codings is gzip, and it is not ruled out by q=0. */
static bool takes_gzip(struct th_str header)
{
	while (header.len) {
		struct th_str value = th_str_split(&header, ',');
		struct th_str name = th_str_trim(th_str_split(&value, ';'));

		value = th_str_trim(value);
		if (th_str_ieq(name, TH_STR("gzip")))
			return !th_str_is(value, "q=0") && !th_str_is(value, "q=0.0");
	}
	return false;
}

/* A list of tags, of which one is this file's. */
static bool has_it(struct th_str header, const struct th_page_file *f)
{
	while (header.len) {
		struct th_str tag = th_str_trim(th_str_split(&header, ','));

		if (th_str_starts(tag, TH_STR("W/")))
			tag = th_str_sub(tag, 2, tag.len);
		if (th_str_is(tag, f->tag) || th_str_is(tag, "*"))
			return true;
	}
	return false;
}

static void give(struct th_access *a, struct th_str name)
{
	const struct th_page_file *f = th_page_find(name);
	struct th_buf headers TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct th_buf plain TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PAGE_FILE_MAX);
	struct th_str body;

	if (!f || !f->type) {
		th_access_fail(a, 404, "not_found", "the page has no such file");
		return;
	}
	th_buf_printf(&headers, "%sETag: %s\r\n", policy, f->tag);
	if (has_it(th_http_header(a->request, "if-none-match"), f)) {
		th_http_reply(a->request, 304, NULL, th_buf_str(&headers), (struct th_str){ 0 });
		return;
	}
	if (takes_gzip(th_http_header(a->request, "accept-encoding"))) {
		th_buf_add_cstr(&headers, "Content-Encoding: gzip\r\n");
		body = th_str_n((const char *)f->gzip, f->gzip_size);
	} else {
		th_page_plain(f, &plain);
		body = th_buf_str(&plain);
	}
	th_http_reply(a->request, 200, f->type, th_buf_str(&headers), body);
}

void th_page_index(struct th_access *a)
{
	give(a, TH_STR("index.html"));
}

void th_page_get(struct th_access *a)
{
	give(a, th_str_of(a->args[0]));
}
