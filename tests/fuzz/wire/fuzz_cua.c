/* SPDX-License-Identifier: Apache-2.0 */
/* A command of Cua's computer-server: any bytes are answered; and JSON as it prints it is ASCII and
 * the same value. */
#include "base/limits.h"
#include "wire/cua.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_buf compact = TH_BUF_INIT(64 * TH_MIB), out = TH_BUF_INIT(64 * TH_MIB);
	struct th_json_doc *doc = NULL, *again = NULL;
	struct th_cua_command c;
	struct th_err err = { 0 };
	int32_t n;

	if (th_cua_parse(th_str_n(data, size), &doc, &c, &err) == TH_OK) {
		assert(c.name.len > 0);
		(void)th_cua_number(c.params, "x", &n);
	}
	if (doc) {
		th_json_print(th_json_root(doc), &compact);
		th_cua_print(th_buf_str(&compact), &out);
		for (size_t i = 0; i < out.len; i++)
			assert((unsigned char)out.ptr[i] < 0x80);
		assert(th_json_parse(th_buf_str(&out), &again, NULL) == TH_OK);
		assert(th_json_equal(th_json_root(doc), th_json_root(again)));
	}
	th_json_free(doc);
	th_json_free(again);
	th_buf_deinit(&compact);
	th_buf_deinit(&out);
	return 0;
}
