/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edit.c - shows and changes a file of the workspace exactly where it is told
 * to: view, create, str_replace, insert and undo_edit.
 *
 * Texts are looked for byte by byte; a text that stands nowhere, or twice, is
 * an answer that names the lines, never a guess.  What is not changed keeps its
 * bytes: line ends, encoding, a missing last line end (edit_text.h, charset.h).
 * A change replaces the file in one step and can be taken back
 * (edit_history.h).  A call that goes by line numbers is refused when the file
 * is not what the model saw.
 *
 * Class V as write_file is: digests of before and after are noted first.  Calls
 * of one session run one after the other, in their order, so that several edits
 * of a file in one answer all hold.
 *
 * The words are those of the editors that models were trained with.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "io/files.h"
#include "io/loop.h"
#include "tools/edit_parts.h"

#define ROW(kind, field, flags, doc) TH_FIELD_ROW(edit, kind, field, #field, flags, doc)
/* clang-format off */
static const struct th_field fields[] = {
	{ .name = "command", .offset = offsetof(struct th_edit, command), .kind = TH_FIELD_enum,
	  .flags = TH_REQ, .doc = "What to do.", .names = th_edit_commands },
	ROW(str, path, TH_REQ | TH_NONEMPTY, "File or folder, absolute or relative to the workspace.")
	ROW(str, file_text, 0, "create: the new file's content.")
	ROW(str, old_str, 0,
	    "str_replace: text that stands exactly once in the file, with its white space.")
	ROW(str, new_str, 0, "str_replace: what takes its place; insert: the lines to put in.")
	{ .name = "insert_line", .offset = offsetof(struct th_edit, insert_line),
	  .kind = TH_FIELD_int, .flags = TH_NONEG, .doc = "insert: the line behind which they go; 0: the file's start.",
	  .has_default = true, .default_int = TH_EDIT_LINE_UNSET },
	ROW(ints, view_range, 0, "view: first and last line, from 1; -1: to the end.")
	/* Words of other editors. */
	ROW(str, insert_text, TH_HIDDEN, "new_str of insert")
	ROW(str, security_risk, TH_HIDDEN, "not looked at")
	ROW(str, summary, TH_HIDDEN, "not looked at")
	ROW(str, description, TH_HIDDEN, "not looked at")
};
/* clang-format on */
#undef ROW

static const struct th_table th_edit_table = { "edit",           "arguments of edit",    fields,
					       TH_COUNT(fields), sizeof(struct th_edit), false };

static void put_note(struct th_editing *e)
{
	struct th_jw w = th_jw(&e->note);

	e->new_digest = th_sha256_of(e->new_bytes.ptr, e->new_bytes.len);
	th_jw_object(&w);
	th_jw_kstr(&w, "path", th_str_of(e->place.path));
	th_place_put_digest(&w, "old_sha256", e->place.exists, &e->place.digest);
	th_place_put_digest(&w, "new_sha256", !e->goes, &e->new_digest);
	th_jw_object_end(&w);
}

static void work_plan(void *ctx)
{
	struct th_editing *e = (struct th_editing *)ctx;
	const struct th_tool_env *env = e->job->env;
	enum th_edit_what what;
	int64_t size;
	enum th_code code;

	th_tool_owner_enter(env);
	code = th_editing_look(e, &what, &size);
	if (!code)
		code = th_editing_check(e, what, size);
	if (!code && what != TH_EDIT_FOLDER)
		code = th_place_find(env, e->path, &e->place, &e->err);
	if (!code)
		code = e->args->command == TH_EDIT_VIEW ? th_editing_show(e, what)
							: th_editing_change(e);
	th_tool_owner_leave(env);
	if (!code && e->args->command != TH_EDIT_VIEW)
		put_note(e);
	if (code && !e->err.code)
		th_fail(&e->err, code, "refused");
	if (code == TH_EPERM && e->status == TH_OUTCOME_DONE)
		e->status = TH_OUTCOME_REFUSED;
	else if (code && e->status == TH_OUTCOME_DONE)
		e->status = TH_OUTCOME_FAILED;
}

/* ---- in a worker: doing it ---- */

/* A command may have changed it meanwhile. */
static enum th_code still_so(struct th_editing *e)
{
	bool still = false;
	enum th_code code = th_place_still(e->job->env, &e->place, &still, &e->err);

	if (code || still)
		return code;
	(void)th_editing_refuse(
	    e,
	    "%.*s was changed by something else at this very moment; nothing was edited. "
	    "View it again.",
	    TH_FMT(e->path));
	e->status = TH_OUTCOME_FAILED;
	return TH_EUSAGE;
}

static void work_change(void *ctx)
{
	struct th_editing *e = (struct th_editing *)ctx;
	struct th_tool_env *env = e->job->env;
	bool taking_back = e->args->command == TH_EDIT_UNDO;
	struct th_err why = {};
	enum th_code code;

	th_tool_owner_enter(env);
	code = still_so(e);
	th_tool_owner_leave(env);
	if (code)
		return;
	if (!taking_back && !env->no_undo &&
	    th_undo_push(env, &e->place, th_buf_str(&e->bytes), &e->new_digest, &why))
		th_buf_printf(&e->say, "\n[undo_edit cannot take this back: %s]", why.msg);
	th_tool_owner_enter(env);
	e->touched = e->goes;
	if (e->goes)
		code = th_place_remove(env, &e->place, &e->err);
	else
		code = th_place_write(env, &e->place, e->new_bytes, &e->touched, &e->err);
	th_tool_owner_leave(env);
	if (code) {
		th_buf_clear(&e->say); /* it says what was to be done */
		e->status =
		    !e->touched && code == TH_EPERM ? TH_OUTCOME_REFUSED : TH_OUTCOME_FAILED;
		return;
	}
	if (taking_back)
		th_undo_drop(env, &e->undo);
	th_seen_put(env, e->place.path, e->goes ? NULL : &e->new_digest);
}

/* ---- in a worker: what became of it ---- */

static bool is_as(const struct th_place *p, const struct th_json *note, const char *key)
{
	struct th_str hex = th_json_get_str(note, key);
	struct th_digest digest;

	if (!hex.ptr)
		return !p->exists;
	return p->exists && th_digest_parse(hex, &digest) && th_digest_eq(&digest, &p->digest);
}

static void work_probe(void *ctx)
{
	struct th_editing *e = (struct th_editing *)ctx;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *note;
	bool old = false, new = false;

	e->status = TH_OUTCOME_UNKNOWN;
	if (!th_json_parse(e->job->noted, &doc, NULL)) {
		note = th_json_root(doc);
		th_tool_owner_enter(e->job->env);
		if (!th_place_find(e->job->env, th_json_get_str(note, "path"), &e->place, NULL) &&
		    !th_place_look(e->job->env, &e->place, NULL, NULL)) {
			old = is_as(&e->place, note, "old_sha256");
			new = is_as(&e->place, note, "new_sha256");
		}
		th_tool_owner_leave(e->job->env);
	}
	if (new)
		e->status = TH_OUTCOME_DONE;
	else if (old)
		e->status = TH_OUTCOME_NOT_STARTED;
	th_buf_printf(&e->say,
		      new   ? "%.*s was edited as asked."
		      : old ? "%.*s is as it was before and was not edited."
			    : "%.*s is neither as it was before nor as the edit makes it: view it "
			      "before editing it again.",
		      TH_FMT(e->path));
}

/* ---- on the loop ---- */

static void run_first(struct th_edit_state *s);

static void finish(void *ctx)
{
	struct th_editing *e = (struct th_editing *)ctx;
	struct th_tool_job *job = e->job;
	struct th_edit_state *s = job->env->edit;
	struct th_buf say = e->say, note = e->note,
		      *bufs[] = { &e->decoded, &e->result, &e->encoded };
	enum th_outcome_status status = e->status;
	struct th_err err = e->err;
	bool failed = status != TH_OUTCOME_DONE && say.len == 0, parts = e->is_parts;
	char hex[TH_SHA256_HEX_SIZE + 1];

	assert(s->first == e);
	s->first = e->next;
	if (!s->first)
		s->last = NULL;
	if (parts) {
		th_digest_hex(&e->place.digest, hex);
		job->picture(job, th_buf_str(&e->bytes), th_str_of(hex),
			     th_str_of(e->picture_type));
	}
	for (size_t i = 0; i < TH_COUNT(bufs); i++)
		th_buf_deinit(bufs[i]);
	th_buf_deinit(&e->bytes);
	free(e);
	run_first(s);
	if (failed || (status == TH_OUTCOME_FAILED && err.code && err.code != TH_EUSAGE))
		th_tool_fail(job, status, &err);
	else if (parts)
		job->done(job, status, th_buf_str(&say), TH_STR(""));
	else
		th_tool_text(job, status, th_buf_str(&say), th_buf_str(&note));
	th_buf_deinit(&say);
	th_buf_deinit(&note);
}

static void planned(void *ctx)
{
	struct th_editing *e = (struct th_editing *)ctx;

	if (e->err.code || e->args->command == TH_EDIT_VIEW) {
		finish(e);
		return;
	}
	if (!e->job->note(e->job, th_buf_str(&e->note))) {
		e->status = TH_OUTCOME_NOT_STARTED;
		th_buf_clear(&e->say);
		th_fail(&e->err, TH_EIO,
			"the executor's journal takes no more, so nothing was edited");
		finish(e);
		return;
	}
	th_work(e->job->env->loop, work_change, finish, e);
}

static void run_first(struct th_edit_state *s)
{
	struct th_editing *e = s->first;

	if (e && e->probing)
		th_work(e->job->env->loop, work_probe, finish, e);
	else if (e)
		th_work(e->job->env->loop, work_plan, planned, e);
}

static struct th_str tidy(struct th_arena *a, struct th_str path)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX + 2);
	struct th_str rest = path;

	if (path.len > TH_PATH_LEN_MAX)
		return path; /* refused soon */
	if (th_str_starts(path, TH_STR("/")))
		th_buf_add_char(&out, '/');
	while (rest.len) {
		struct th_str part = th_str_split(&rest, '/');

		if (part.len && !th_str_is(part, "."))
			th_buf_printf(&out, "%s%.*s",
				      out.len && out.ptr[out.len - 1] != '/' ? "/" : "",
				      TH_FMT(part));
	}
	return out.len ? th_arena_str(a, th_buf_str(&out)) : TH_STR(".");
}

static void begin(struct th_tool_job *job, bool probing)
{
	struct th_editing *e = (struct th_editing *)th_alloc(sizeof(*e));
	struct th_edit_state *s = th_editor_state(job->env);
	bool idle = !s->first;

	e->job = job;
	e->args = (const struct th_edit *)job->args;
	e->path = tidy(job->arena, e->args->path);
	e->probing = probing;
	e->status = TH_OUTCOME_DONE;
	th_buf_init(&e->bytes, TH_EDIT_FILE_MAX);
	th_buf_init(&e->decoded, 3 * TH_EDIT_FILE_MAX);
	th_buf_init(&e->result, TH_FILE_WRITE_MAX);
	th_buf_init(&e->encoded, TH_FILE_WRITE_MAX);
	th_buf_init(&e->say, TH_TOOL_OUTPUT_MAX);
	th_buf_init(&e->note, 2 * TH_PATH_LEN_MAX + 512);
	if (idle)
		s->first = e;
	else
		s->last->next = e;
	s->last = e;
	if (idle)
		run_first(s);
}

static void start(struct th_tool_job *job)
{
	begin(job, false);
}

static void probe(struct th_tool_job *job)
{
	begin(job, true);
}

static const char *const looking[] = { "view", NULL };
static const struct th_effect_looks looks = { "command", looking };

const struct th_tool th_tool_edit = {
	.name = "edit",
	.description =
	    "View, create and edit text files of the workspace. view: a file with numbered lines, "
	    "a "
	    "picture, or two levels of a folder. str_replace: put new_str in place of old_str, "
	    "which must stand exactly once. insert: put lines behind a line. undo_edit: take the "
	    "last edit of the file back.",
	.class = TH_CLASS_V,
	.looks = &looks,
	.scope = { TH_TARGET_FILES, TH_SHOWS_ONE },
	.in_default = true,
	.arguments = &th_edit_table,
	.start = start,
	.probe = probe,
};
