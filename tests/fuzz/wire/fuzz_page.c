/* SPDX-License-Identifier: Apache-2.0 */
/* Any JSON as trees of a page: some text, within its limits, and the same one for the same trees.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "base/text.h"
#include "wire/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_page(struct th_page *p, struct th_page_refs *refs, const struct th_json *root)
{
	struct th_json_iter it = th_json_iter(root);
	int frame = 0;

	th_page_begin(p);
	while (th_json_next(&it)) {
		int index = th_page_add(p, 1 + frame % 3, it.val);
		th_page_hang(p, index, 1, 2 + frame++);
	}
	th_page_write(p, refs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_page *p = th_page_new(), *again = th_page_new();
	struct th_page_refs refs = { 0 };
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *doc = NULL;
	size_t lines, bytes = 0;

	if (th_json_parse(th_str_n(data, size), &doc, NULL) == TH_OK) {
		write_page(p, &refs, th_json_root(doc));
		write_page(again, &refs, th_json_root(doc));
		if (!th_str_eq(th_page_text(p), th_page_text(again)) ||
		    th_page_changes(p, again, 100, &out) != 0)
			abort();
		const struct th_page_line *list = th_page_lines(p, &lines);
		for (size_t i = 0; i < lines; i++)
			bytes += list[i].len + 1;
		struct th_str text = th_page_text(p);
		if (bytes != text.len || th_utf8_valid(text) != text.len ||
		    memchr(text.ptr, '\x1b', text.len))
			abort();
		th_page_show(p, 200, &out);
		if (out.len > 200)
			abort();
		write_page(again, NULL, th_json_root(doc));
	}
	th_json_free(doc);
	th_buf_deinit(&out);
	th_page_free(p);
	th_page_free(again);
	th_page_refs_deinit(&refs);
	return 0;
}
