/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_patch.c - changes several files of the workspace by one V4A patch
 * (wire/patch.h): all of them or none.
 *
 * Everything is read and worked out before anything is changed: a patch that
 * does not fit changes nothing.  Then each file is replaced in one step; when
 * that fails for one of them (a full disk), those before it get back what they
 * had.
 *
 * Class V.  The digests of what was there and of what will be are noted before
 * the first change, so that after a crash a look at the files says whether all
 * were changed (done), none was (not started), or what else is so (unknown,
 * file by file).
 */
#include <pthread.h>
#include <stdlib.h>

#include "io/loop.h"
#include "tools/edit_history.h"
#include "tools/place.h"
#include "wire/patch.h"

#define TH_FIELDS_apply_patch(F)                                                                  \
	F(apply_patch, str, patch, "patch", TH_REQ | TH_NONEMPTY,                                 \
	  "\"*** Begin Patch\", for each file \"*** Add File: PATH\", \"*** Update File: PATH\" " \
	  "(\"*** Move to: PATH\" may follow) or \"*** Delete File: PATH\", \"*** End Patch\". "  \
	  "Lines of a new file begin with +; of an update: @@ and a line before the place, then " \
	  "lines that begin with a space (as they are), - (old) or + (new).")

TH_STRUCT(apply_patch)
extern const struct th_table th_apply_patch_table;
TH_TABLE(apply_patch, "arguments of apply_patch", false)

/* One file that changes; a move is two: what comes, and what goes.  Of a link it is the link that
 * goes. */
struct change {
	struct th_place place;
	struct th_buf old, new;
	struct th_buf behind; /* what stands where a link leads that is moved */
	bool goes;            /* `new` is nothing */
	bool touched;
	struct th_digest new_digest;
};

struct patching {
	struct th_tool_job *job;
	enum th_outcome_status status;
	struct change *changes;
	size_t count, bytes;
	struct th_buf note, text; /* of what is changed; what is said of it */
	bool explained;           /* `text` says why it failed */
	struct th_err err;
};

/* ---- in a worker: what is to be done ---- */

static enum th_code refuse(struct patching *p, const struct th_place *place, const char *why)
{
	p->status = TH_OUTCOME_REFUSED;
	return th_fail(&p->err, TH_EUSAGE, "%s %s", place->path, why);
}

static enum th_code account(struct patching *p, const struct th_buf *b)
{
	p->bytes += b->len;
	if (p->bytes <= TH_PATCH_BYTES_MAX)
		return TH_OK;
	return th_fail(&p->err, TH_ELIMIT, "a patch may read and write %zu bytes in all",
		       TH_PATCH_BYTES_MAX);
}

/* A place that nothing else of the patch changes, with what is there.  `goes`: its name does. */
static enum th_code add_change(struct patching *p, struct th_str path, bool goes,
			       struct change **ret)
{
	struct change *c = *ret = &p->changes[p->count];
	const struct th_tool_env *env = p->job->env;
	enum th_code code;

	*c = (struct change){ 0 };
	th_buf_init(&c->old, TH_FILE_WRITE_MAX);
	th_buf_init(&c->new, TH_FILE_WRITE_MAX);
	th_buf_init(&c->behind, TH_FILE_WRITE_MAX);
	p->count++;
	code = goes ? th_place_find_name(env, path, &c->place, &p->err)
		    : th_place_find(env, path, &c->place, &p->err);
	if (!code)
		code = th_place_look(env, &c->place, &c->old, &p->err);
	if (code == TH_EPERM || code == TH_EUSAGE)
		p->status = TH_OUTCOME_REFUSED;
	for (size_t i = 0; i + 1 < p->count && !code; i++)
		if (!strcmp(p->changes[i].place.path, c->place.path))
			code = refuse(p, &c->place, "is changed twice by the patch");
	return code ? code : account(p, &c->old);
}

static enum th_code work_out(struct patching *p, const struct th_patch_file *f, struct change *c,
			     struct th_buf *out)
{
	enum th_patch_mode mode = f->kind == TH_PATCH_ADD_FILE ? TH_PATCH_CREATE : TH_PATCH_UPDATE;
	struct th_str content = th_buf_str(c->place.link ? &c->behind : &c->old);
	enum th_code code = th_patch_apply(mode, content, f->diff, out, &p->err);

	if (code == TH_EPROTO) { /* the reason, with its lines */
		p->explained = true;
		th_buf_clear(&p->text);
		th_buf_printf(&p->text, TH_ERROR_MARK "%s: %.*s\n(nothing was changed)",
			      c->place.path, TH_FMT(th_buf_str(out)));
		return code;
	}
	if (code)
		return th_prefix(&p->err, code, "%s", c->place.path);
	/* A text file's last line ends; a diff says so, if at all, by an empty line behind it. */
	if (mode == TH_PATCH_CREATE && out->len && out->ptr[out->len - 1] != '\n')
		th_buf_add_char(out, '\n');
	code = th_buf_check(out, c->place.path, &p->err);
	return code ? code : account(p, out);
}

/* The file that a link leads to, which is read through it. */
static enum th_code look_behind(struct patching *p, struct th_str path, struct change *c,
				mode_t *ret_mode)
{
	struct th_place place;
	enum th_code code = th_place_find(p->job->env, path, &place, &p->err);

	if (!code)
		code = th_place_look(p->job->env, &place, &c->behind, &p->err);
	if (code == TH_EPERM || code == TH_EUSAGE)
		p->status = TH_OUTCOME_REFUSED;
	if (code)
		return code;
	if (!place.exists)
		return refuse(p, &c->place, "is a link that leads to no file");
	*ret_mode = place.mode;
	return account(p, &c->behind);
}

static enum th_code move(struct patching *p, const struct th_patch_file *f, struct change *from)
{
	mode_t mode = from->place.mode;
	struct change *to;
	enum th_code code = from->place.link ? look_behind(p, f->path, from, &mode) : TH_OK;

	if (!code)
		code = add_change(p, f->move_to, false, &to);
	if (code)
		return code;
	if (to->place.exists)
		return refuse(p, &to->place, "is there already");
	to->place.mode = mode;
	if (f->diff.len)
		code = work_out(p, f, from, &to->new);
	else
		th_buf_add(&to->new, th_buf_str(from->place.link ? &from->behind : &from->old));
	from->goes = true;
	th_buf_printf(&p->text, "moved %s to %s\n", from->place.path, to->place.path);
	return code;
}

static enum th_code plan(struct patching *p, const struct th_patch_file *f)
{
	bool goes = f->kind == TH_PATCH_DELETE_FILE || f->move_to.len > 0;
	struct change *c;
	enum th_code code = add_change(p, f->path, goes, &c);

	if (code)
		return code;
	if (f->kind == TH_PATCH_ADD_FILE && c->place.exists)
		return refuse(p, &c->place, "is there already; use *** Update File:");
	if (f->kind != TH_PATCH_ADD_FILE && !c->place.exists)
		return refuse(p, &c->place, "is not there");
	if (f->kind == TH_PATCH_DELETE_FILE) {
		c->goes = true;
		th_buf_printf(&p->text, "deleted %s\n", c->place.path);
		return TH_OK;
	}
	if (f->move_to.len)
		return move(p, f, c);
	code = work_out(p, f, c, &c->new);
	if (!code)
		th_buf_printf(&p->text, "%s %s\n",
			      f->kind == TH_PATCH_ADD_FILE ? "created" : "updated", c->place.path);
	return code;
}

static void put_note(struct patching *p)
{
	struct th_jw w = th_jw(&p->note);

	th_jw_object(&w);
	th_jw_key(&w, TH_STR("files"));
	th_jw_array(&w);
	for (size_t i = 0; i < p->count; i++) {
		struct change *c = &p->changes[i];

		c->new_digest = th_sha256_of(c->new.ptr, c->new.len);
		th_jw_object(&w);
		th_jw_kstr(&w, "path", th_str_of(c->place.path));
		if (c->place.link)
			th_jw_kbool(&w, "link", true);
		th_place_put_digest(&w, "old_sha256", c->place.exists, &c->place.digest);
		th_place_put_digest(&w, "new_sha256", !c->goes, &c->new_digest);
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
	th_jw_object_end(&w);
}

static void work_plan(void *ctx)
{
	struct patching *p = (struct patching *)ctx;
	const struct th_apply_patch *args = (const struct th_apply_patch *)p->job->args;
	struct th_patch_file *files;
	size_t count;
	enum th_code code = th_patch_parse(args->patch, p->job->arena, &files, &count, &p->err);

	p->status = code ? TH_OUTCOME_REFUSED : TH_OUTCOME_FAILED;
	th_tool_owner_enter(p->job->env);
	for (size_t i = 0; i < count && !code; i++)
		code = plan(p, &files[i]);
	th_tool_owner_leave(p->job->env);
	if (code)
		return;
	put_note(p);
	if (th_buf_check(&p->note, "the list of the patch's files", &p->err))
		p->status = TH_OUTCOME_REFUSED;
}

/* ---- in a worker: doing it ---- */

/* Patches of one answer run side by side, and a file has many names: only what still is as it was
 * read may be changed. */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

static bool is_same(const struct th_place *now, const struct th_place *then)
{
	return now->exists == then->exists &&
	       (!now->exists || th_digest_eq(&now->digest, &then->digest));
}

static enum th_code still_so(struct patching *p, const struct change *c, struct th_err *err)
{
	struct th_place now = c->place;
	enum th_code code = th_place_look(p->job->env, &now, NULL, err);

	if (code || is_same(&now, &c->place))
		return code;
	return th_fail(err, TH_EUSAGE,
		       "%s was changed by somebody else, or has another name in this patch; read "
		       "it again",
		       c->place.path);
}

static enum th_code make(struct patching *p, struct change *c, struct th_err *err)
{
	const struct th_tool_env *env = p->job->env;
	enum th_code code = still_so(p, c, err);

	if (code)
		return code;
	if (!c->goes)
		return th_place_write(env, &c->place, th_buf_str(&c->new), &c->touched, err);
	c->touched = true;
	return th_place_remove(env, &c->place, err);
}

/* Gives a file back what it had, unless it has it still: it could not be written, or not be taken
 * away. */
static enum th_code undo(struct patching *p, struct change *c, struct th_err *err)
{
	const struct th_tool_env *env = p->job->env;
	struct th_place now = c->place;
	enum th_code code = th_place_look(env, &now, NULL, err);
	bool touched;

	if (!code && is_same(&now, &c->place))
		return TH_OK;
	if (!c->place.exists)
		return code ?: th_place_remove(env, &now, err);
	*err = (struct th_err){};
	return th_place_write(env, &c->place, th_buf_str(&c->old), &touched, err);
}

static void work_change(void *ctx)
{
	struct patching *p = (struct patching *)ctx;
	struct th_buf left = TH_BUF_INIT(TH_TOOL_OUTPUT_MODEL_MAX);
	size_t done = 0;

	th_tool_owner_enter(p->job->env);
	pthread_mutex_lock(&changing);
	/* What comes before what goes: a move never leaves nothing. */
	for (int pass = 0; pass < 2 && !p->err.code; pass++)
		for (done = 0; done < p->count && !p->err.code; done++)
			if (p->changes[done].goes == (pass == 1))
				(void)!make(p, &p->changes[done], &p->err);
	p->status = p->err.code ? TH_OUTCOME_FAILED : TH_OUTCOME_DONE;
	if (p->err.code) {
		p->explained = true;
		for (size_t i = 0; i < p->count; i++) {
			struct th_err err = {};

			if (p->changes[i].touched && undo(p, &p->changes[i], &err))
				th_buf_printf(&left, "\n%s stays changed: %s",
					      p->changes[i].place.path, err.msg);
		}
		th_buf_clear(&p->text);
		th_buf_printf(&p->text, TH_ERROR_MARK "%s%s%s", p->err.msg,
			      left.len ? "" : "\n(nothing was changed)", left.ptr);
	}
	for (size_t i = 0; i < p->count && p->status == TH_OUTCOME_DONE; i++)
		th_seen_put(p->job->env, p->changes[i].place.path,
			    p->changes[i].goes ? NULL : &p->changes[i].new_digest);
	pthread_mutex_unlock(&changing);
	th_tool_owner_leave(p->job->env);
	th_buf_deinit(&left);
}

/* ---- in a worker: what became of it ---- */

/* Whether the file is as `key` of its note says. */
static bool is_as(const struct th_place *p, const struct th_json *note, const char *key)
{
	struct th_str hex = th_json_get_str(note, key);
	struct th_digest digest;

	if (!hex.ptr)
		return !p->exists;
	return p->exists && th_digest_parse(hex, &digest) && th_digest_eq(&digest, &p->digest);
}

struct probe {
	size_t all, old, new;
};

static void look_at(struct patching *p, const struct th_json *note, struct probe *n)
{
	struct th_place *place = &p->changes[0].place;
	struct th_str path = th_json_get_str(note, "path");
	bool link = th_json_bool(th_json_get(note, "link"), false), old = false, new = false;
	enum th_code code = link ? th_place_find_name(p->job->env, path, place, &p->err)
				 : th_place_find(p->job->env, path, place, &p->err);

	if (!code && !th_place_look(p->job->env, place, NULL, &p->err)) {
		old = is_as(place, note, "old_sha256");
		new = is_as(place, note, "new_sha256");
	}
	p->err = (struct th_err){};
	n->all++;
	n->old += old;
	n->new += new;
	th_buf_printf(&p->text, "%.*s is %s\n", TH_FMT(path),
		      new   ? "changed"
		      : old ? "as it was before"
			    : "neither as it was before nor as the patch makes it");
}

static void work_probe(void *ctx)
{
	struct patching *p = (struct patching *)ctx;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct probe n = {};

	p->explained = true;
	p->status = TH_OUTCOME_UNKNOWN;
	if (p->job->noted.len == 0 || th_json_parse(p->job->noted, &doc, NULL)) {
		th_buf_add_cstr(&p->text, "nothing was noted of what the patch would change");
		return;
	}
	th_tool_owner_enter(p->job->env);
	for (struct th_json_iter it = th_json_iter(th_json_get(th_json_root(doc), "files"));
	     th_json_next(&it);)
		look_at(p, it.val, &n);
	th_tool_owner_leave(p->job->env);
	if (n.all > 0 && n.new == n.all)
		p->status = TH_OUTCOME_DONE;
	else if (n.all > 0 && n.old == n.all)
		p->status = TH_OUTCOME_NOT_STARTED;
}

/* ---- on the loop ---- */

static void finish(void *ctx)
{
	struct patching *p = (struct patching *)ctx;
	struct th_tool_job *job = p->job;
	enum th_outcome_status status = p->status;
	bool said = p->explained || !p->err.code;
	struct th_buf text = p->text, note = p->note;
	struct th_err err = p->err;

	for (size_t i = 0; i < p->count; i++) {
		th_buf_deinit(&p->changes[i].old);
		th_buf_deinit(&p->changes[i].new);
		th_buf_deinit(&p->changes[i].behind);
	}
	free(p->changes);
	free(p);
	if (said)
		th_tool_text(job, status, th_str_trim(th_buf_str(&text)), th_buf_str(&note));
	else
		th_tool_fail(job, status, &err);
	th_buf_deinit(&text);
	th_buf_deinit(&note);
}

static void planned(void *ctx)
{
	struct patching *p = (struct patching *)ctx;

	if (p->err.code) {
		finish(p);
		return;
	}
	if (!p->job->note(p->job, th_buf_str(&p->note))) {
		p->status = TH_OUTCOME_NOT_STARTED;
		th_fail(&p->err, TH_EIO,
			"the executor's journal takes no more, so nothing was changed");
		finish(p);
		return;
	}
	th_work(p->job->env->loop, work_change, finish, p);
}

static struct patching *begin(struct th_tool_job *job)
{
	struct patching *p = (struct patching *)th_alloc(sizeof(*p));

	p->job = job;
	p->changes = (struct change *)th_alloc((2 * TH_PATCH_FILES_MAX) * sizeof(*p->changes));
	th_buf_init(&p->note, TH_PATCH_NOTE_MAX);
	th_buf_init(&p->text, TH_TOOL_OUTPUT_MODEL_MAX);
	return p;
}

static void start(struct th_tool_job *job)
{
	th_work(job->env->loop, work_plan, planned, begin(job));
}

static void probe(struct th_tool_job *job)
{
	th_work(job->env->loop, work_probe, finish, begin(job));
}

const struct th_tool th_tool_apply_patch = {
	.name = "apply_patch",
	.description =
	    "Change files of the workspace by a patch: add, update, move and delete, all "
	    "of it or nothing.",
	.class = TH_CLASS_V,
	.scope = { TH_TARGET_FILES, TH_SHOWS_ONE },
	.arguments = &th_apply_patch_table,
	.start = start,
	.probe = probe,
};
