/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a document: text in UTF-8, within its limits, and nothing that turns it around. */
#include <stdlib.h>

#include "base/limits.h"
#include "base/text.h"
#include "wire/html_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB), title = TH_BUF_INIT(TH_KIB);
	struct th_str text;
	uint32_t cp;

	th_html_text(th_str_n(data, size), &out, &title);
	text = th_buf_str(&out);
	if (!out.failed && th_utf8_valid(text) != text.len)
		abort();
	while (!out.failed && th_utf8_next(&text, &cp))
		if (th_text_is_bidi(cp) || (cp < 0x20 && cp != '\n' && cp != '\t'))
			abort();
	th_buf_deinit(&out);
	th_buf_deinit(&title);
	return 0;
}
