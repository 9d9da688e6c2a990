/* SPDX-License-Identifier: Apache-2.0 */
/* A session as an HTML file: how large it may be, and how many pictures it may have. */
#include <stdio.h>

#include "unit.h"

#include "base/limits.h"
#include "cli/export_html.h"
#include "sessions_api/page.h"

#define STEP 64 /* pictures of one event */

/* A store of one session, whose pictures are made when they are read. */
struct made {
	struct th_store store;
	size_t pictures;
	size_t size, last_size; /* of each picture, and of the last */
};

static void put_pictures(struct th_buf *out, size_t from, size_t to)
{
	th_buf_add_cstr(out, "{\"role\":\"user\",\"content\":[");
	for (size_t i = from; i < to; i++)
		th_buf_printf(out, "%s{\"media_type\":\"image/png\",\"blob\":\"%064zx\"}",
			      i > from ? "," : "", i);
	th_buf_add_cstr(out, "]}");
}

static enum th_code read_made(struct th_store *s, struct th_str session TH_UNUSED,
			      uint64_t from TH_UNUSED, uint64_t to TH_UNUSED, th_event_fn *fn,
			      void *ctx, struct th_err *err)
{
	struct made *m = TH_CONTAINER_OF(s, struct made, store);
	enum th_code code = TH_OK;
	uint64_t seq = 0;

	for (size_t i = 0; !code && i < m->pictures; i += STEP) {
		struct th_buf data TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
		struct th_event ev = { .seq = ++seq, .kind = TH_EV_MESSAGE };

		put_pictures(&data, i, TH_MIN(i + STEP, m->pictures));
		ev.data = th_buf_str(&data);
		code = fn(ctx, &ev, NULL, err);
	}
	return code;
}

static enum th_code read_blob(struct th_store *s, const struct th_digest *hash, struct th_buf *out,
			      struct th_err *err TH_UNUSED)
{
	struct made *m = TH_CONTAINER_OF(s, struct made, store);
	char hex[TH_SHA256_HEX_SIZE + 1], last[TH_SHA256_HEX_SIZE + 1];
	size_t size = m->size;

	th_digest_hex(hash, hex);
	snprintf(last, sizeof(last), "%064zx", m->pictures - 1);
	if (strcmp(hex, last) == 0)
		size = m->last_size;
	if (size)
		memset(th_buf_grow(out, size), 0, size);
	th_buf_grown(out, size);
	return TH_OK;
}

static const struct th_store_kind kind = { .read = read_made, .blob = read_blob };

static enum th_code measure(struct made *m, size_t title, struct th_html_size *ret,
			    struct th_err *err)
{
	const struct th_session_row row = { .session_id = TH_STR("s"),
					    .title = th_str_sub(TH_STR("ttt"), 0, title),
					    .head_seq = 1000 };

	m->store.kind = &kind;
	return th_html_measure(&m->store, &row, ret, err);
}

static void test_how_many_pictures(void **state)
{
	struct made m = { .pictures = TH_HTML_PICTURES_MAX };
	struct th_html_size size;
	struct th_err err = {};

	(void)state;
	assert_int_equal(measure(&m, 0, &size, &err), TH_OK);
	assert_int_equal(size.pictures, TH_HTML_PICTURES_MAX);
	m.pictures++;
	assert_int_equal(measure(&m, 0, &size, &err), TH_ELIMIT);
	assert_string_equal(err.msg, "it has more than 4096 pictures");
}

/* To the byte: four of the file are three of a picture, and a title fills it up. */
static void test_how_large(void **state)
{
	struct made m = { .pictures = 4, .size = 61 * TH_MIB };
	struct th_html_size size;
	struct th_err err = {};
	size_t left;

	(void)state;
	assert_int_equal(measure(&m, 0, &size, &err), TH_OK);
	left = TH_HTML_SIZE_MAX - size.bytes;
	m.last_size = left / 4 * 3;
	assert_int_equal(measure(&m, left % 4, &size, &err), TH_OK);
	assert_int_equal(size.bytes, TH_HTML_SIZE_MAX);
	m.last_size++;
	assert_int_equal(measure(&m, left % 4, &size, &err), TH_ELIMIT);
	assert_non_null(strstr(err.msg, "more than 256 MiB"));
}

/* Nothing of the page is larger than what is read of it. */
static void test_files_of_the_page(void **state)
{
	(void)state;
	for (const struct th_page_file *f = th_page_files; f->name; f++) {
		struct th_buf plain TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PAGE_FILE_MAX);

		th_page_plain(f, &plain);
		assert_false(plain.failed);
		assert_int_equal(plain.len, f->size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_how_many_pictures),
		cmocka_unit_test(test_how_large),
		cmocka_unit_test(test_files_of_the_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
