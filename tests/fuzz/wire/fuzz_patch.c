/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file, and after a NUL a diff: any diff gives a text or a reason; an empty
 * diff changes nothing but line ends; what a diff of one mode says is said in
 * one line of the error as well.  All of it as an envelope too: strings that
 * come out of one lie in it.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "wire/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void apply(enum th_patch_mode mode, struct th_str file, struct th_str diff)
{
	struct th_buf out = TH_BUF_INIT(4 * TH_MIB);
	struct th_err err = {};
	enum th_code code = th_patch_apply(mode, file, diff, &out, &err);

	if (code && (!err.msg[0] || strchr(err.msg, '\n')))
		abort();
	if (code == TH_EPROTO && !out.len)
		abort();
	if (!code && mode == TH_PATCH_UPDATE && !diff.len && !memchr(file.ptr, '\r', file.len) &&
	    !th_str_eq(th_buf_str(&out), file))
		abort();
	th_buf_deinit(&out);
}

static bool inside(struct th_str part, struct th_str whole)
{
	return !part.len || (part.ptr >= whole.ptr && part.ptr + part.len <= whole.ptr + whole.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str whole = th_str_n(data, size), diff = whole, file = th_str_split(&diff, '\0');
	struct th_patch_file *files;
	struct th_arena a;
	struct th_err err = {};
	size_t count = 0;

	if (!size)
		return 0;
	apply(TH_PATCH_UPDATE, file, diff);
	apply(TH_PATCH_CREATE, file, diff);
	th_arena_init(&a, TH_MIB);
	if (th_patch_parse(whole, &a, &files, &count, &err)) {
		if (!err.msg[0])
			abort();
	} else {
		for (size_t i = 0; i < count; i++) {
			if (!files[i].path.len || !inside(files[i].path, whole) ||
			    !inside(files[i].diff, whole) || !inside(files[i].move_to, whole))
				abort();
			apply(files[i].kind == TH_PATCH_ADD_FILE ? TH_PATCH_CREATE
								 : TH_PATCH_UPDATE,
			      TH_STR("a\nb\n"), files[i].diff);
		}
	}
	th_arena_deinit(&a);
	return 0;
}
