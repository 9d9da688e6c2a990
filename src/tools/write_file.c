/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_file.c - writes a whole file of the workspace, in one step: afterwards
 * it is the old or the new one, whatever happened in between.
 *
 * Class V.  The digest of what was there is noted before anything is changed,
 * so that after a crash a look at the file says whether it was written: the
 * new content is there (done), the old is (not started), or something else
 * is (unknown).
 *
 * Missing folders are made first; they stay when the write then fails.  A link
 * at the end of the path is followed, inside the workspace.
 */
#include <stdlib.h>

#include "io/loop.h"
#include "tools/edit_history.h"
#include "tools/place.h"

#define TH_FIELDS_write_file(F)                                                               \
	F(write_file, str, path, "path", TH_REQ | TH_NONEMPTY,                                \
	  "File, relative to the workspace or absolute inside it; missing folders are made.") \
	F(write_file, str, content, "content", TH_REQ, "The whole new content.")

TH_STRUCT(write_file)
extern const struct th_table th_write_file_table;
TH_TABLE(write_file, "arguments of write_file", false)

struct writing {
	struct th_tool_job *job;
	const struct th_write_file *args;
	struct th_place place; /* what was there */
	struct th_digest new_digest;
	bool probing, touched; /* touched: writing has begun */
	struct th_err err;
};

/* ---- in a worker ---- */

static void work_look(void *ctx)
{
	struct writing *w = (struct writing *)ctx;
	const struct th_tool_env *env = w->job->env;

	th_tool_owner_enter(env);
	w->new_digest = th_sha256_of(w->args->content.ptr, w->args->content.len);
	if (th_place_find(env, w->args->path, &w->place, &w->err) == TH_OK)
		(void)!th_place_look(env, &w->place, NULL, &w->err);
	th_tool_owner_leave(env);
}

static void work_write(void *ctx)
{
	struct writing *w = (struct writing *)ctx;

	th_tool_owner_enter(w->job->env);
	(void)!th_place_write(w->job->env, &w->place, w->args->content, &w->touched, &w->err);
	th_tool_owner_leave(w->job->env);
	if (!w->err.code)
		th_seen_put(w->job->env, w->place.path, &w->new_digest);
}

/* ---- on the loop ---- */

static void finish(struct writing *w, enum th_outcome_status status, struct th_str text)
{
	struct th_tool_job *job = w->job;
	struct th_buf evidence = TH_BUF_INIT(1024);
	struct th_jw jw = th_jw(&evidence);

	th_jw_object(&jw);
	th_place_put_digest(&jw, "old_sha256", w->place.exists, &w->place.digest);
	th_place_put_digest(&jw, "new_sha256", true, &w->new_digest);
	th_jw_kuint(&jw, "size", w->args->content.len);
	th_jw_object_end(&jw);
	free(w);
	th_tool_text(job, status, text, th_buf_str(&evidence));
	th_buf_deinit(&evidence);
}

static void fail(struct writing *w, enum th_outcome_status status)
{
	struct th_tool_job *job = w->job;
	struct th_err err = w->err;
	free(w);
	th_tool_fail(job, status, &err);
}

static void written(void *ctx)
{
	struct writing *w = (struct writing *)ctx;
	struct th_buf text = TH_BUF_INIT(2 * TH_PATH_LEN_MAX);

	if (w->err.code && !w->touched && (w->err.code == TH_EPERM || w->err.code == TH_EUSAGE)) {
		fail(w, TH_OUTCOME_REFUSED);
		return;
	}
	if (w->err.code) {
		/* The folder's fsync may fail after the rename: then the file is the new one. */
		fail(w, TH_OUTCOME_FAILED);
		return;
	}
	th_buf_printf(&text, "%s %s: %zu bytes", w->place.exists ? "replaced" : "created",
		      w->place.path, w->args->content.len);
	if (w->place.exists)
		th_buf_printf(&text, " instead of %lld", (long long)w->place.size);
	finish(w, TH_OUTCOME_DONE, th_buf_str(&text));
	th_buf_deinit(&text);
}

static void settle(struct writing *w)
{
	struct th_str noted = w->job->noted;
	bool same_new = w->place.exists && th_digest_eq(&w->place.digest, &w->new_digest);
	struct th_json_doc *doc = NULL;
	struct th_digest before = {};
	bool known = false, existed = false;

	if (noted.len > 0 && th_json_parse(noted, &doc, NULL) == TH_OK) {
		struct th_str hex = th_json_get_str(th_json_root(doc), "old_sha256");
		existed = hex.ptr != NULL;
		known = !existed || th_digest_parse(hex, &before);
	}
	th_json_free(doc);
	if (same_new)
		finish(w, TH_OUTCOME_DONE, TH_STR("the file has the new content"));
	else if (known && existed == w->place.exists &&
		 (!existed || th_digest_eq(&before, &w->place.digest)))
		finish(w, TH_OUTCOME_NOT_STARTED,
		       TH_STR("the file is as it was before and was not written"));
	else
		finish(w, TH_OUTCOME_UNKNOWN,
		       TH_STR("the file has neither the new content nor what was noted before: it "
			      "may have been "
			      "written and changed again; read it before writing it once more"));
}

static void looked(void *ctx)
{
	struct writing *w = (struct writing *)ctx;
	struct th_buf note = TH_BUF_INIT(512);
	struct th_jw jw = th_jw(&note);

	if (w->err.code) {
		bool refused = w->err.code == TH_EPERM || w->err.code == TH_EUSAGE;
		fail(w, w->probing ? TH_OUTCOME_UNKNOWN
			: refused  ? TH_OUTCOME_REFUSED
				   : TH_OUTCOME_FAILED);
		return;
	}
	if (w->probing) {
		settle(w);
		return;
	}
	th_jw_object(&jw);
	th_place_put_digest(&jw, "old_sha256", w->place.exists, &w->place.digest);
	th_jw_object_end(&jw);
	bool noted = w->job->note(w->job, th_buf_str(&note));
	th_buf_deinit(&note);
	if (!noted) {
		th_fail(&w->err, TH_EIO,
			"the executor's journal takes no more, so nothing was written");
		fail(w, TH_OUTCOME_NOT_STARTED);
		return;
	}
	th_work(w->job->env->loop, work_write, written, w);
}

static void begin(struct th_tool_job *job, bool probing)
{
	const struct th_write_file *args = (const struct th_write_file *)job->args;
	struct writing *w = (struct writing *)th_alloc(sizeof(*w));

	w->job = job;
	w->args = args;
	w->probing = probing;
	if (args->content.len > TH_FILE_WRITE_MAX) {
		th_fail(&w->err, TH_ELIMIT, "content of %zu bytes is over the limit of %zu",
			args->content.len, TH_FILE_WRITE_MAX);
		fail(w, TH_OUTCOME_REFUSED);
		return;
	}
	th_work(job->env->loop, work_look, looked, w);
}

static void start(struct th_tool_job *job)
{
	begin(job, false);
}

static void probe(struct th_tool_job *job)
{
	begin(job, true);
}

const struct th_tool th_tool_write_file = {
	.name = "write_file",
	.description = "Write a whole file of the workspace, new or instead of the old one; "
		       "missing folders are made.",
	.class = TH_CLASS_V,
	.scope = { TH_TARGET_FILES, TH_SHOWS_ONE },
	.was_default = true,
	.arguments = &th_write_file_table,
	.start = start,
	.probe = probe,
};
