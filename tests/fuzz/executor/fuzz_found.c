/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tesseract or a parser's server may say: any bytes give findings that
 * become marks on the screen with clean names, or none.
 */
#include <stdlib.h>

#include "actions/mark.h"
#include "base/limits.h"
#include "wire/found.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct th_size screen = { 640, 480 };

static void on_found(void *ctx, struct th_rect box, struct th_str role, struct th_str name)
{
	th_marks_add(ctx, screen, TH_MARK_OCR, box, role, name);
}

static void check(struct th_marks *m)
{
	struct th_buf list = TH_BUF_INIT(4 * TH_MIB);
	struct th_jw w = th_jw(&list);
	int32_t last = 0;

	th_marks_number(m, NULL, &last, TH_MARK_NUMBER_MAX);
	th_marks_print(m, &w);
	for (size_t i = 0; i < m->count; i++) {
		struct th_point p;

		if (!th_marks_find(th_buf_str(&list), m->list[i].number, &p) ||
		    !th_size_has(screen, p))
			abort();
		for (const char *c = m->list[i].name; *c; c++)
			if ((unsigned char)*c < ' ')
				abort();
	}
	th_buf_deinit(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct th_marks m;
	struct th_err err = { 0 };

	m = (struct th_marks){ 0 };
	th_ocr_read(th_str_n(data, size), on_found, &m);
	check(&m);
	m = (struct th_marks){ 0 };
	if (th_parser_read(th_str_n(data, size), screen, on_found, &m, &err) && !err.msg[0])
		abort();
	check(&m);
	return 0;
}
