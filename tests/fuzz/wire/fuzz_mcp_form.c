/* SPDX-License-Identifier: Apache-2.0 */
/* A form that a server shows a person, and an answer behind it: what comes out is JSON. */
#include <stdlib.h>

#include "base/limits.h"
#include "wire/mcp_form.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str answer = th_str_n((const char *)data, size);
	struct th_str params = th_str_split(&answer, '\0');
	struct th_buf out = TH_BUF_INIT(4 * TH_MIB);
	struct th_json_doc *doc = NULL;

	if (th_json_parse(params, &doc, NULL) == TH_OK) {
		if (th_mcp_form_question(th_json_root(doc), answer, &out, NULL) == TH_OK)
			assert(th_json_valid(th_buf_str(&out)));
		th_buf_clear(&out);
		if (th_mcp_form_result(th_json_root(doc), answer, false, &out, NULL) == TH_OK)
			assert(th_json_valid(th_buf_str(&out)));
	}
	th_json_free(doc);
	th_buf_deinit(&out);
	return 0;
}
