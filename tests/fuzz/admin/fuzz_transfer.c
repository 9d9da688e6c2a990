/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an exported session: what is taken is whole to the last byte,
 * and is given out again; what is refused has a sentence that names its line.
 */
#include "admin/transfer.h"
#include "admin/verify.h"
#include "base/text.h"
#include "runtime/runtime.h"
#include "stores/stores.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int next_line(void *ctx, struct th_str *ret, struct th_err *err)
{
	struct th_str *rest = ctx;

	(void)err;
	if (!rest->len)
		return 0;
	*ret = th_str_split(rest, '\n');
	return 1;
}

static enum th_code count_line(void *ctx, struct th_str line, struct th_err *err)
{
	(void)err;
	assert(line.len > 0 && line.ptr[0] == '{');
	++*(size_t *)ctx;
	return TH_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_store_options options = { .create = true };
	struct th_verify_report report = { 0 };
	struct th_str rest = th_str_n(data, size), id;
	struct th_store *store = NULL;
	struct th_arena a;
	struct th_err err = { 0 };
	size_t lines = 0;
	enum th_code code;

	th_arena_init(&a, TH_MIB);
	code = th_store_open(TH_STR("memory:"), &options, &store, &err);
	assert(!code);
	code = th_session_import(store, store, next_line, &rest, &a, &id, &err);
	if (code) {
		assert(err.msg[0] && th_utf8_valid(th_str_of(err.msg)) == strlen(err.msg));
	} else {
		code = th_session_export(store, id, count_line, &lines, &err);
		assert(!code && lines > 2);
	}
	/* Also what came before the fault: parents are taken whole. */
	code = th_store_check(store, TH_STR(""), &report, &err);
	assert(!code && !report.bad);
	th_store_close(store);
	th_arena_deinit(&a);
	return 0;
}
