/* SPDX-License-Identifier: Apache-2.0 */
#include "server/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "io/files.h"
#include "server/manifest.h"
#include "server/service.h"
#include "wire/percent.h"

struct th_files_job {
	struct th_files_job *next;
	struct th_server *server;
	struct th_access *access; /* NULL: nobody waits any more */
	/* The worker's: */
	enum th_files_kind kind;
	char *folder, *kept;
	struct th_buf path, out;
	enum th_code code;
	struct th_err err;
	bool no_folder;
};

/* ---- in a worker ---- */

static enum th_code get(int dir_fd, struct th_files_job *j)
{
	TH_CLEANUP(th_fd_close) int fd = -1;
	struct stat st;
	enum th_code code = th_folder_open(dir_fd, th_buf_str(&j->path), &fd, &st, &j->err);

	return code ? code : th_file_read_fd(fd, TH_FILES_GET_MAX, &j->out, &j->err);
}

static void work(void *ctx)
{
	struct th_files_job *j = ctx;
	TH_CLEANUP(th_fd_close)
	int fd = open(j->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0) {
		j->no_folder = errno == ENOENT;
		j->code = th_fail_errno(&j->err, errno, "the session's folder");
		return;
	}
	switch (j->kind) {
	case TH_FILES_LIST:
		j->code = th_manifest_changes(fd, j->kept, &th_manifest_limits, &j->out, &j->err);
		break;
	case TH_FILES_DIFF:
		j->code = th_manifest_diff(fd, j->kept, th_buf_str(&j->path), &j->out, &j->err);
		break;
	case TH_FILES_GET:
		j->code = get(fd, j);
		break;
	}
}

/* ---- the answer ---- */

const char *th_type_of(struct th_str bytes)
{
	if (th_str_starts(bytes, TH_STR("\x89PNG")))
		return "image/png";
	if (th_str_starts(bytes, TH_STR("\xff\xd8\xff")))
		return "image/jpeg";
	if (th_str_starts(bytes, TH_STR("RIFF")) &&
	    th_str_starts(th_str_sub(bytes, 8, 4), TH_STR("WEBP")))
		return "image/webp";
	if (th_utf8_valid(bytes) == bytes.len && th_str_find_char(bytes, '\0') < 0)
		return "text/plain; charset=utf-8";
	return "application/octet-stream"; /* never a page */
}

/* A name that any browser may save it under, and the one that it has. */
static void put_disposition(struct th_str path, struct th_buf *headers)
{
	struct th_str name = path;

	while (th_str_find_char(name, '/') >= 0)
		(void)th_str_split(&name, '/');
	th_buf_add_cstr(headers, "Content-Disposition: attachment; filename=\"");
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		th_buf_add_char(
		    headers, c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '%' ? c : '_');
	}
	th_buf_add_cstr(headers, "\"; filename*=UTF-8''");
	th_percent_encode(name, headers);
	th_buf_add_cstr(headers, "\r\nContent-Security-Policy: sandbox\r\n"
				 "Cache-Control: no-store\r\n");
}

static void refuse(struct th_access *a, const struct th_files_job *j)
{
	if (j->no_folder)
		th_access_fail(a, 404, "no_folder", "this session has no folder of its own");
	else if (j->code == TH_EUNSUPPORTED)
		th_access_fail(a, 409, "not_a_file", "%s", j->err.msg);
	else if (j->code == TH_EPROTO)
		th_access_fail(a, 409, "no_diff", "%s", j->err.msg);
	else
		th_access_fail(a, th_status_of((int)j->code), thole_code_name((int)j->code), "%s",
			       j->err.msg);
}

static void answer(struct th_access *a, const struct th_files_job *j)
{
	struct th_buf headers TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_PATH_LEN_MAX);

	if (j->code)
		refuse(a, j);
	else if (j->kind == TH_FILES_LIST)
		th_access_json(a, 200, &j->out);
	else if (j->kind == TH_FILES_DIFF)
		th_access_text(a, 200, "text/x-diff; charset=utf-8", th_buf_str(&j->out));
	else {
		put_disposition(th_buf_str(&j->path), &headers);
		th_http_reply(a->request, 200, th_type_of(th_buf_str(&j->out)),
			      th_buf_str(&headers), th_buf_str(&j->out));
	}
}

static void job_free(struct th_files_job *j)
{
	th_buf_deinit(&j->path);
	th_buf_deinit(&j->out);
	free(j->folder);
	free(j->kept);
	free(j);
}

static void take_out(struct th_files_job *j)
{
	struct th_files_job **at = &j->server->files_jobs;

	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	j->server->files_job_count--;
}

static void done(void *ctx)
{
	struct th_files_job *j = ctx;

	if (j->server)
		take_out(j);
	if (j->access) {
		j->access->gone = NULL;
		answer(j->access, j);
	}
	job_free(j);
}

static void on_gone(struct th_access *a)
{
	struct th_files_job *j = a->ctx;

	j->access = NULL; /* its worker is still counted */
}

void th_files_jobs_drop(struct th_server *s)
{
	for (struct th_files_job *j = s->files_jobs, *next; j; j = next) {
		next = j->next;
		j->access = NULL;
		j->server = NULL;
	}
	s->files_jobs = NULL;
	s->files_job_count = 0;
}

/* ---- the request ---- */

void th_access_files(struct th_access *a, enum th_files_kind kind, struct th_str path)
{
	static const size_t sizes[] = { [TH_FILES_LIST] = TH_JSON_SIZE_MAX,
					[TH_FILES_DIFF] = 4 * (size_t)TH_FILES_DIFF_MAX,
					[TH_FILES_GET] = TH_FILES_GET_MAX };
	struct th_server *s = a->server;
	struct th_files_job *j;

	if (!s->o.workspaces.len) {
		th_access_fail(a, 404, "no_folder", "this session has no folder of its own");
		return;
	}
	if (s->files_job_count >= TH_FILES_JOBS_MAX) {
		th_access_wait(a, 429, 1000, "busy", "other requests for files are under way");
		return;
	}
	j = th_alloc(sizeof(*j));
	*j = (struct th_files_job){ .server = s, .access = a, .kind = kind, .next = s->files_jobs };
	th_buf_init(&j->path, 64 * TH_KIB);
	th_buf_init(&j->out, sizes[kind]);
	th_buf_add(&j->path, path);
	j->folder = th_workspace_path(s, a->args[0]);
	j->kept = th_workspace_start(s, a->args[0]);
	s->files_jobs = j;
	s->files_job_count++;
	a->ctx = j;
	a->gone = on_gone;
	th_work(s->loop, work, done, j);
}
