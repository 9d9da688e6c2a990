/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_native.c - an item, an output and an evidence, with NULs between them.
 * Whatever they hold, a call and a result come out, and both are JSON; a patch
 * names no more files than its item has operations.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "events/native.h"
#include "transcript/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t heads(struct th_str patch)
{
	size_t count = 0;

	while (patch.len) {
		struct th_str line = th_str_split(&patch, '\n');

		count += th_str_starts(line, TH_STR("*** Add File: ")) ||
			 th_str_starts(line, TH_STR("*** Update File: ")) ||
			 th_str_starts(line, TH_STR("*** Delete File: "));
	}
	return count;
}

static void read_call(enum th_native kind, const struct th_json *item, struct th_arena *a)
{
	struct th_json_doc *doc = NULL;
	struct th_str tool, arguments, operation = th_native_operation(item, a);

	th_native_read(kind, item, a, &tool, &arguments);
	if (kind != TH_NATIVE_MCP)
		assert(!th_json_parse(arguments, &doc, NULL));
	if (kind == TH_NATIVE_PATCH && operation.ptr)
		assert(heads(th_json_get_str(th_json_root(doc), "patch")) <= 1);
	th_json_free(doc);
	doc = NULL;
	th_native_as_function(kind, item, a, &tool, &arguments);
	assert(!th_json_parse(arguments, &doc, NULL));
	th_json_free(doc);
}

static void put_result(enum th_native kind, struct th_str item, struct th_str output,
		       struct th_str evidence)
{
	for (int status = 0; status < TH_OUTCOME_COUNT; status++) {
		const struct th_native_result r = { .item = item,
						    .call_id = TH_STR("c"),
						    .status = (enum th_outcome_status)status,
						    .output = output,
						    .evidence = evidence };
		struct th_buf out = TH_BUF_INIT(16 * TH_MIB);
		struct th_json_doc *doc = NULL;
		struct th_jw w = th_jw(&out);

		th_native_put_result(kind, &r, &w);
		assert(!th_json_parse(th_buf_str(&out), &doc, NULL));
		th_json_free(doc);
		th_buf_deinit(&out);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str rest = th_str_n(data, size), first, output;
	struct th_json_doc *doc = NULL;
	enum th_native kind;
	struct th_arena a;

	if (size > 20000)
		return 0;
	first = th_str_split(&rest, '\0');
	output = th_str_split(&rest, '\0');
	th_arena_init(&a, 16 * TH_MIB);
	if (!th_json_parse(first, &doc, NULL)) {
		kind = th_native_of(th_json_root(doc), &a);
		if (kind)
			read_call(kind, th_json_root(doc), &a);
		if (kind && kind != TH_NATIVE_CUSTOM)
			put_result(kind, first, output, rest);
	}
	th_json_free(doc);
	th_arena_deinit(&a);
	return 0;
}
