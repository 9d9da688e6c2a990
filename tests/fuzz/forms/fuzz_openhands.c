/* SPDX-License-Identifier: Apache-2.0 */
/* A list of events, one a line, of either generation: checked, written, seen and told anew. */
#include <stdlib.h>

#include "base/limits.h"
#include "forms/openhands_items.h"
#include "forms/openhands_log.h"
#include "forms/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_event(enum th_openhands v, struct th_openhands_view *view, uint64_t n,
		      const struct th_json *event)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB), again = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&out), w2 = th_jw(&again);
	struct th_str items;
	bool anew;

	if (!th_openhands_print(v, event, &w, NULL) && !out.failed) {
		struct th_json_doc *doc = NULL;

		/* What is written can be read, and written again it is the same. */
		if (th_json_parse(th_buf_str(&out), &doc, NULL) == TH_OK) {
			if (th_openhands_print(v, th_json_root(doc), &w2, NULL) ||
			    !th_str_eq(th_buf_str(&out), th_buf_str(&again)))
				abort();
		}
		th_json_free(doc);
	}
	if (!th_openhands_view_add(view, n, event, &items, &anew, NULL) && !th_json_valid(items))
		abort();
	th_buf_deinit(&out);
	th_buf_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str text = th_str_n(data, size), clean_from = text;
	struct th_buf clean = TH_BUF_INIT(TH_MIB);
	struct th_openhands_log log;
	struct th_openhands_view view;
	struct th_str items;
	enum th_openhands v = size && data[0] == ' ' ? TH_OPENHANDS_V0 : TH_OPENHANDS_V1;

	th_openhands_log_init(&log, v);
	th_openhands_view_init(&view, v);
	while (text.len) {
		struct th_str line = th_str_split(&text, '\n');
		struct th_json_doc *doc = NULL;

		if (th_openhands_log_add(&log, line, NULL) || th_json_parse(line, &doc, NULL))
			continue;
		try_event(v, &view, log.count - 1, th_json_root(doc));
		th_json_free(doc);
	}
	if (!th_openhands_view_close(&view, &items, NULL) && !th_json_valid(items))
		abort();
	(void)th_python_to_json(clean_from, &clean);
	th_buf_clear(&clean);
	th_ps1_strip(clean_from, &clean);
	th_openhands_log_deinit(&log);
	th_openhands_view_deinit(&view);
	th_buf_deinit(&clean);
	return 0;
}
