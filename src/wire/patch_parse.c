/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patch_parse.c - a patch of several files: their headers, and the diff of each.
 */
#include "base/limits.h"
#include "base/text.h"
#include "wire/patch_internal.h"

#define BEGIN_PATCH "*** Begin Patch"
#define MOVE_TO "*** Move to: "

static const struct {
	const char *lead;
	enum th_patch_kind kind;
} headers[] = {
	{ "*** Add File: ", TH_PATCH_ADD_FILE },
	{ "*** Update File: ", TH_PATCH_UPDATE_FILE },
	{ "*** Delete File: ", TH_PATCH_DELETE_FILE },
};

struct envelope {
	struct th_str rest, line;
	const char *line_at; /* where `line` begins, with its end in what follows */
	size_t number;
	struct th_err *err;
};

static void next_line(struct envelope *e)
{
	e->line_at = e->rest.ptr;
	e->line = th_patch_take_line(&e->rest);
	e->number++;
}

static enum th_code envelope_fail(const struct envelope *e, const char *wanted)
{
	struct th_str shown = th_utf8_cut(e->line, 100);

	return th_fail(e->err, TH_EPROTO, "line %zu of the patch: %s, not \"%.*s\"", e->number,
		       wanted, TH_FMT(shown));
}

static bool header(const struct envelope *e, struct th_patch_file *ret)
{
	for (size_t i = 0; i < TH_COUNT(headers); i++) {
		if (!th_patch_line_starts(e->line, headers[i].lead))
			continue;
		*ret = (struct th_patch_file){ .kind = headers[i].kind };
		ret->path = th_str_trim(th_str_sub(e->line, strlen(headers[i].lead), SIZE_MAX));
		return true;
	}
	return false;
}

/* What follows a file's header, to the next header or the end. */
static enum th_code read_file(struct envelope *e, struct th_patch_file *f)
{
	const char *from;

	if (!f->path.len)
		return envelope_fail(e, "a path is wanted behind the colon");
	next_line(e);
	if (f->kind == TH_PATCH_UPDATE_FILE && th_patch_line_starts(e->line, MOVE_TO)) {
		f->move_to = th_str_trim(th_str_sub(e->line, strlen(MOVE_TO), SIZE_MAX));
		if (!f->move_to.len)
			return envelope_fail(e, "a path is wanted behind the colon");
		next_line(e);
	}
	from = e->line_at;
	while (!th_patch_ends_file(e->line)) {
		if (f->kind == TH_PATCH_DELETE_FILE)
			return envelope_fail(e, "a deleted file has no lines; a header is wanted");
		if (f->kind == TH_PATCH_ADD_FILE && !th_patch_line_starts(e->line, "+"))
			return envelope_fail(e, "a line of a new file begins with +");
		if (!e->rest.len)
			return envelope_fail(e, "the patch must end with " END_PATCH);
		next_line(e);
	}
	f->diff = th_str_n(from, (size_t)(e->line_at - from));
	/* A new file may be empty. */
	if (f->kind == TH_PATCH_UPDATE_FILE && !f->diff.len && !f->move_to.len)
		return envelope_fail(e, "lines of the file are wanted before a header");
	return TH_OK;
}

enum th_code th_patch_parse(struct th_str text, struct th_arena *a, struct th_patch_file **ret,
			    size_t *ret_count, struct th_err *err)
{
	struct envelope e = { .rest = text.ptr ? th_str_trim(text) : TH_STR(""), .err = err };
	struct th_patch_file *files = th_arena_array(a, TH_PATCH_FILES_MAX, sizeof(*files));

	*ret = files;
	*ret_count = 0;
	if (!files)
		return th_fail(err, TH_ELIMIT, "no memory left for a patch");
	next_line(&e);
	if (!th_str_is(th_str_trim(e.line), BEGIN_PATCH))
		return envelope_fail(&e, "a patch begins with " BEGIN_PATCH);
	next_line(&e);
	while (!th_str_is(e.line, END_PATCH)) {
		struct th_patch_file file;
		enum th_code code;

		if (!header(&e, &file))
			return envelope_fail(&e, "*** Add File:, *** Update File: or *** Delete "
						 "File: is wanted");
		if (*ret_count == TH_PATCH_FILES_MAX)
			return th_fail(err, TH_ELIMIT, "a patch may change up to %d files",
				       TH_PATCH_FILES_MAX);
		code = read_file(&e, &file);
		if (code)
			return code;
		files[(*ret_count)++] = file;
	}
	if (e.rest.len) {
		next_line(&e);
		return envelope_fail(&e, "nothing may follow " END_PATCH);
	}
	if (!*ret_count)
		return envelope_fail(&e, "a patch changes at least one file");
	return TH_OK;
}
