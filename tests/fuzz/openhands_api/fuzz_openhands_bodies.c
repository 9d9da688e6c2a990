/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a message of a client of OpenHands, as a confirmation policy, and as its word about
 * a session's metadata: refused with a sentence, or what is made of it is good JSON.
 */
#include <stdlib.h>

#include "openhands_api/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void good(const struct th_buf *json)
{
	if (!json->failed && json->len && !th_json_valid(th_buf_str(json)))
		abort();
}

static void message(const struct th_json *v)
{
	struct th_oh_said said = { 0 };
	struct th_err err = {};

	if (th_oh_said_read(v, &said, &err) == TH_OK) {
		good(&said.items);
		if (!said.items.len && (!said.text.len || memchr(said.text.ptr, 0, said.text.len)))
			abort();
	} else if (!err.msg[0]) {
		abort();
	}
	th_oh_said_deinit(&said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_buf confirm TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf metadata TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *v;

	if (th_json_parse(th_str_n(data, size), &doc, NULL) != TH_OK)
		return 0;
	v = th_json_root(doc);
	message(v);
	if (th_oh_confirm_of(v, &confirm))
		good(&confirm);
	th_oh_print_own(v, "tags", v, &metadata);
	good(&metadata);
	return 0;
}
