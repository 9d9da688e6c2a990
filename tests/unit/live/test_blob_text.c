/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures as base64, shared by requests. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "live/blob_text.h"
#include "paper.h"

/* 24 MiB are 32 as base64: two fit exactly.  What a request still needs is kept beyond it. */
static void edges_of_encoded_pictures(void **state)
{
	struct paper *w = paper_new();
	struct th_digest hashes[4] = {
		{ { 0xab, 0 } }, { { 0xab, 1 } }, { { 0xab, 2 } }, { { 0xab, 3 } }
	};
	size_t size = TH_BLOB_CACHE_MAX / 8 * 3;
	char *picture = th_alloc(size + 1);
	const size_t each = TH_BLOB_CACHE_MAX / 2;
	struct th_str text[4];
	struct th_err err = { 0 };

	(void)state;
	memset(picture, 'p', size);
	picture[size] = '\0';
	w->blob_at = 0xab;
	w->blob = picture;
	assert_int_equal(th_driver_text_need(w->driver, &hashes[0], &text[0], &err), TH_OK);
	assert_int_equal(text[0].len, each);
	th_driver_text_drop(w->driver, &hashes[0]);
	assert_int_equal(th_driver_text_need(w->driver, &hashes[1], &text[1], &err), TH_OK);
	assert_int_equal(w->driver->text_bytes, TH_BLOB_CACHE_MAX);
	assert_int_equal(th_driver_text_need(w->driver, &hashes[0], &text[0], &err), TH_OK);
	/* Both are in use. */
	assert_int_equal(th_driver_text_need(w->driver, &hashes[2], &text[2], &err), TH_OK);
	assert_int_equal(w->driver->text_bytes, 3 * each);
	assert_memory_equal(text[0].ptr, text[2].ptr, each);
	/* Two that are not make room for one, the longest unused first; that which is stays. */
	th_driver_text_drop(w->driver, &hashes[0]);
	th_driver_text_drop(w->driver, &hashes[2]);
	assert_int_equal(th_driver_text_need(w->driver, &hashes[3], &text[3], &err), TH_OK);
	assert_int_equal(w->driver->text_bytes, TH_BLOB_CACHE_MAX);
	assert_memory_equal(text[1].ptr, text[3].ptr, each);
	/* One that was let go is made again. */
	th_driver_text_drop(w->driver, &hashes[1]);
	assert_int_equal(th_driver_text_need(w->driver, &hashes[0], &text[0], &err), TH_OK);
	assert_int_equal(w->driver->text_bytes, TH_BLOB_CACHE_MAX);
	assert_memory_equal(text[0].ptr, text[3].ptr, each);
	th_driver_text_drop(w->driver, &hashes[0]);
	th_driver_text_drop(w->driver, &hashes[3]);
	free(picture);
	paper_free(w);
}

/* Why one did not come is told to each that waited, and nobody reads it here and now for that. */
static void all_are_told_why(void **state)
{
	struct paper *w = paper_new();
	struct th_digest hash = { { 0xab } };
	struct th_err why = { 0 }, err = { 0 };
	struct th_str text;

	(void)state;
	w->beside = true;
	assert_false(th_driver_text_ask(w->driver, &hash));
	assert_false(th_driver_text_ask(w->driver, &hash));
	assert_int_equal(w->blob_asks, 1);
	(void)th_fail(&why, TH_ECONN, "the place is away");
	th_driver_text_came(w->driver, &hash, TH_STR(""), &why);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(th_driver_text_need(w->driver, &hash, &text, &err), TH_ECONN);
		assert_string_equal(err.msg, "picture of the history: the place is away");
	}
	assert_int_equal(w->blob_reads, 0);
	th_driver_text_clear_error(w->driver, &hash);
	assert_false(th_driver_text_ask(w->driver, &hash));
	assert_int_equal(w->blob_asks, 2);
	paper_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edges_of_encoded_pictures),
		cmocka_unit_test(all_are_told_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
