/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a request to a server: refused with a sentence, or in the
 * unified form, which gives the same request back.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "google_interactions/interactions.h"
#include "model_wire/unified.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str body = th_str_n(data, size);
	struct th_buf unified = TH_BUF_INIT(TH_REQUEST_MAX), again = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_err err = { 0 };
	struct th_json_doc *doc;

	if (th_interactions_request_decode(TH_STR(""), body, &unified, &err)) {
		assert(err.msg[0] != '\0' && unified.len == 0);
	} else {
		if (th_json_parse(th_buf_str(&unified), &doc, NULL))
			abort();
		if (!th_json_is_array(th_json_get(th_json_root(doc), "items")) ||
		    !th_json_is_array(th_json_get(th_json_root(doc), "tools")) ||
		    !th_json_is_object(th_json_get(th_json_root(doc), "extra")))
			abort();
		th_json_free(doc);
		if (th_interactions_request_encode(th_buf_str(&unified), &again, NULL) ||
		    !th_unified_equal(th_buf_str(&again), body))
			abort();
	}
	/* The bytes as a unified form: any answer will do. */
	th_buf_clear(&again);
	(void)!th_interactions_request_encode(body, &again, &err);
	th_buf_deinit(&unified);
	th_buf_deinit(&again);
	return 0;
}
