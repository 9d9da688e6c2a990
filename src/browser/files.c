/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.c - files between a browser and the workspace: see browser.h.
 *
 * The browser does not see the workspace.  It downloads into its profile, under a
 * name of ours, and the file is copied from there; uploads are copied the other
 * way.  Names in the workspace are the suggested ones, cleaned; an existing file is
 * never overwritten.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "browser/browser.h"
#include "io/files.h"

#define FOLDER "downloads"
#define SAME_NAME_MAX 1000 /* name, name-1, name-2 … */

/* ---- places ---- */

static enum th_code workspace_open(const struct th_browser *b, int *ret, struct th_err *err)
{
	if (!b->workspace)
		return th_fail(err, TH_EUNSUPPORTED, "this session has no workspace");
	*ret = open(b->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *ret < 0 ? th_fail_errno(err, errno, "open the workspace") : TH_OK;
}

/* As root: what is made in the workspace is its owner's. */
static void give(int workspace, int fd)
{
	struct stat st;

	if (geteuid() == 0 && fstat(workspace, &st) == 0)
		(void)!fchown(fd, st.st_uid, st.st_gid);
}

static enum th_code folder_open(int workspace, const char *name, int *ret, struct th_err *err)
{
	bool made = mkdirat(workspace, name, 0755) == 0;
	enum th_code code =
	    th_open_beneath(workspace, th_str_of(name), O_RDONLY | O_DIRECTORY, 0, ret, err);

	if (!code && made)
		give(workspace, *ret);
	return code;
}

/* A file name of what a site suggests: one word of harmless characters. */
static void clean_name(struct th_str suggested, char to[static TH_BROWSER_FILE_NAME_MAX + 1])
{
	struct th_str rest = suggested;
	struct th_buf name = TH_BUF_INIT(TH_BROWSER_FILE_NAME_MAX + 8);
	uint32_t c;

	while (name.len + 4 < TH_BROWSER_FILE_NAME_MAX && th_utf8_next(&rest, &c)) {
		bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
			     (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
			     (c == '.' && name.len > 0);
		/* Letters of all scripts stay; spaces and characters that reorder text do not. */
		bool letter = c >= 0xc0 && !(c >= 0x2000 && c <= 0x206f) && c < 0xe000;
		if (plain || letter)
			th_utf8_add(&name, c);
		else
			th_buf_add_char(&name, '_');
	}
	snprintf(to, TH_BROWSER_FILE_NAME_MAX + 1, "%s", name.len ? name.ptr : "file");
	th_buf_deinit(&name);
}

/* A new file: `name`, or with a number before its ending. */
static enum th_code create(int folder, const char *name, char *ret, size_t ret_size, int *ret_fd,
			   struct th_err *err)
{
	const char *dot = strrchr(name, '.');
	size_t stem = dot && dot != name ? (size_t)(dot - name) : strlen(name);

	for (int i = 0; i < SAME_NAME_MAX; i++) {
		if (i == 0)
			snprintf(ret, ret_size, "%s", name);
		else
			snprintf(ret, ret_size, "%.*s-%d%s", (int)stem, name, i, name + stem);
		*ret_fd =
		    openat(folder, ret, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
		if (*ret_fd >= 0)
			return TH_OK;
		if (errno != EEXIST)
			return th_fail_errno(err, errno, "make the file %s", ret);
	}
	return th_fail(err, TH_EEXIST, "there are %d files called %s already", SAME_NAME_MAX, name);
}

static enum th_code copy(int from, int to, struct th_err *err)
{
	char *room = th_alloc(64 * TH_KIB);
	enum th_code code = TH_OK;
	uint64_t all = 0;
	ssize_t got;

	while (!code && (got = read(from, room, 64 * TH_KIB)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			code = th_fail_errno(err, errno, "read the file");
		else if ((all += (uint64_t)got) > TH_BROWSER_DOWNLOAD_MAX)
			code = th_fail(err, TH_ELIMIT, "the file has more than %d MB",
				       (int)(TH_BROWSER_DOWNLOAD_MAX / TH_MIB));
		else
			code = th_file_write_fd(to, th_str_n(room, (size_t)got), err);
	}
	free(room);
	return code;
}

/* ---- downloads ---- */

/* In the browser's folder, where others may write as well: a link out of it is not followed. */
static enum th_code profile_folder(const struct th_browser *b, int parent, const char *name,
				   int *ret, struct th_err *err)
{
	if (mkdirat(parent, name, 0700) && errno != EEXIST)
		return th_fail_errno(err, errno, "make the folder %s", name);
	*ret = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret < 0 || (geteuid() == 0 && fchown(*ret, b->uid, b->gid)))
		return th_fail_errno(err, errno, "%s", name);
	return TH_OK;
}

enum th_code th_browser_downloads_begin(struct th_browser *b, struct th_err *err)
{
	TH_CLEANUP(th_fd_close) int folder = -1;
	char path[TH_PATH_LEN_MAX];
	enum th_code code = profile_folder(b, b->profile_fd, FOLDER, &folder, err);

	if (code)
		return code;
	if (snprintf(path, sizeof(path), "%s/" FOLDER, b->profile) >= (int)sizeof(path))
		return th_fail(err, TH_ELIMIT, "the browser's folder has too long a path");
	struct th_jw *w = th_browser_begin(b, "", "Browser.setDownloadBehavior");
	th_jw_kstr(w, "behavior", th_str_of(b->workspace ? "allowAndName" : "deny"));
	th_jw_kstr(w, "downloadPath", th_str_of(path));
	th_jw_kbool(w, "eventsEnabled", true);
	return th_browser_call(b, NULL, err);
}

static struct th_browser_download *download_find(struct th_browser *b, struct th_str guid)
{
	for (size_t i = 0; i < TH_COUNT(b->downloads); i++)
		if (guid.len > 0 && th_str_is(guid, b->downloads[i].guid))
			return &b->downloads[i];
	return NULL;
}

static void save(struct th_browser *b, struct th_browser_download *d, struct th_err *err)
{
	TH_CLEANUP(th_fd_close) int workspace = -1;
	TH_CLEANUP(th_fd_close) int folder = -1;
	TH_CLEANUP(th_fd_close) int from = -1;
	TH_CLEANUP(th_fd_close) int to = -1;
	TH_CLEANUP(th_fd_close) int profile = -1;
	char name[TH_BROWSER_FILE_NAME_MAX + 16] = "";
	struct stat st;
	enum th_code code = workspace_open(b, &workspace, err);

	if (!code)
		code = profile_folder(b, b->profile_fd, FOLDER, &profile, err);
	if (!code)
		from = openat(profile, d->guid, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (!code && from < 0)
		code = th_fail_errno(err, errno, "read what was downloaded");
	if (!code && (fstat(from, &st) || !S_ISREG(st.st_mode)))
		code = th_fail(err, TH_EPERM, "what was downloaded is not a file");
	if (!code)
		code = folder_open(workspace, FOLDER, &folder, err);
	if (!code)
		code = create(folder, d->name, name, sizeof(name), &to, err);
	if (!code)
		code = copy(from, to, err);
	if (!code)
		give(workspace, to);
	if (code && to >= 0)
		unlinkat(folder, name, 0);
	if (profile >= 0)
		unlinkat(profile, d->guid, 0);
	if (code)
		snprintf(d->why, sizeof(d->why), "%.*s",
			 TH_FMT(th_utf8_cut(th_str_of(err->msg), sizeof(d->why) - 1)));
	else
		snprintf(d->saved, sizeof(d->saved), FOLDER "/%s", name);
}

/* Names of files are ours (a GUID): nothing else gets into a path. */
static bool is_guid(struct th_str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!((s.ptr[i] >= '0' && s.ptr[i] <= '9') ||
		      (s.ptr[i] >= 'a' && s.ptr[i] <= 'f') ||
		      (s.ptr[i] >= 'A' && s.ptr[i] <= 'F') || s.ptr[i] == '-'))
			return false;
	return s.len > 0 && s.len < TH_BROWSER_ID_SIZE;
}

void th_browser_download_event(struct th_browser *b, const struct th_cdp_message *m)
{
	struct th_str guid = th_json_get_str(m->params, "guid");
	struct th_browser_download *d = download_find(b, guid);
	struct th_str state = th_json_get_str(m->params, "state");
	struct th_err ignored;

	if (th_str_is(m->method, "Browser.downloadWillBegin") && !d && is_guid(guid)) {
		d = &b->downloads[b->download_count++ % TH_BROWSER_DOWNLOADS_MAX];
		*d = (struct th_browser_download){ .state = TH_DOWNLOAD_RUNS };
		snprintf(d->guid, sizeof(d->guid), "%.*s", TH_FMT(guid));
		clean_name(th_json_get_str(m->params, "suggestedFilename"), d->name);
	} else if (th_str_is(m->method, "Browser.downloadProgress") && d &&
		   d->state == TH_DOWNLOAD_RUNS) {
		d->size = th_json_get_int(m->params, "receivedBytes", 0);
		if (th_str_is(state, "completed")) {
			d->state = TH_DOWNLOAD_DONE;
			save(b, d, &ignored);
		} else if (th_str_is(state, "canceled")) {
			d->state = TH_DOWNLOAD_ENDED;
			snprintf(d->why, sizeof(d->why), "it was cancelled");
		}
	}
}

bool th_browser_downloading(const struct th_browser *b)
{
	for (size_t i = 0; i < TH_COUNT(b->downloads); i++)
		if (b->downloads[i].guid[0] && b->downloads[i].state == TH_DOWNLOAD_RUNS)
			return true;
	return false;
}

void th_browser_downloads_tell(struct th_browser *b, struct th_buf *out)
{
	for (size_t i = 0; i < TH_COUNT(b->downloads); i++) {
		struct th_browser_download *d = &b->downloads[i];
		if (!d->guid[0] || (d->told && d->state == TH_DOWNLOAD_RUNS))
			continue;
		if (d->state == TH_DOWNLOAD_RUNS) {
			th_buf_printf(out, "Downloading %s (%lld bytes so far).\n", d->name,
				      (long long)d->size);
			d->told = true;
			continue;
		}
		if (d->saved[0])
			th_buf_printf(out, "Downloaded %s (%lld bytes).\n", d->saved,
				      (long long)d->size);
		else
			th_buf_printf(out, "The download of %s failed: %s.\n", d->name, d->why);
		d->guid[0] = '\0';
	}
}

/* ---- uploads ---- */

enum th_code th_browser_upload(struct th_browser *b, struct th_str path, struct th_arena *a,
			       const char **ret, struct th_err *err)
{
	TH_CLEANUP(th_fd_close) int workspace = -1;
	TH_CLEANUP(th_fd_close) int from = -1;
	TH_CLEANUP(th_fd_close) int to = -1;
	TH_CLEANUP(th_fd_close) int uploads = -1;
	TH_CLEANUP(th_fd_close) int folder = -1;
	char name[TH_BROWSER_FILE_NAME_MAX + 1], one[16];
	struct stat st;
	enum th_code code = workspace_open(b, &workspace, err);
	struct th_str rest = path, last = path;

	/* The workspace's own path before it is allowed. */
	size_t root = b->workspace ? strlen(b->workspace) : 0;
	if (root && th_str_starts(path, th_str_of(b->workspace)) && path.len > root &&
	    path.ptr[root] == '/')
		rest = last = th_str_sub(path, root + 1, path.len);
	if (!code)
		code = th_open_beneath(workspace, rest, O_RDONLY | O_NONBLOCK, 0, &from, err);
	if (!code && (fstat(from, &st) || !S_ISREG(st.st_mode)))
		code = th_fail(err, TH_EUSAGE, "%.*s is not a file", TH_FMT(rest));
	if (!code)
		code = profile_folder(b, b->profile_fd, "uploads", &uploads, err);
	/* A folder for each, so that its name stays. */
	snprintf(one, sizeof(one), "%u", ++b->files);
	if (!code)
		code = profile_folder(b, uploads, one, &folder, err);
	if (code)
		return code;
	while (rest.len > 0)
		last = th_str_split(&rest, '/');
	clean_name(last, name);
	*ret = th_arena_cstr(a, th_arena_printf(a, "%s/uploads/%s/%s", b->profile, one, name));
	if (!*ret)
		return th_fail(err, TH_ELIMIT, "too many files at once");
	to = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0 || (geteuid() == 0 && fchown(to, b->uid, b->gid)))
		return th_fail_errno(err, errno, "hand %s to the browser", name);
	return copy(from, to, err);
}

/* ---- long texts ---- */

void th_browser_put_text(struct th_browser *b, const char *what, struct th_str text,
			 struct th_buf *out)
{
	TH_CLEANUP(th_fd_close) int workspace = -1;
	TH_CLEANUP(th_fd_close) int folder = -1;
	TH_CLEANUP(th_fd_close) int to = -1;
	char name[TH_BROWSER_FILE_NAME_MAX + 16], wanted[64];
	struct th_err why;
	enum th_code code = workspace_open(b, &workspace, &why);

	snprintf(wanted, sizeof(wanted), "%s.txt", what);
	if (!code)
		code = folder_open(workspace, FOLDER, &folder, &why);
	if (!code)
		code = create(folder, wanted, name, sizeof(name), &to, &why);
	if (!code)
		code = th_file_write_fd(to, text, &why);
	if (!code) {
		give(workspace, to);
		th_buf_printf(out, "all of it is in " FOLDER "/%s", name);
	} else {
		th_buf_printf(out, "it could not be written to a file: %s", why.msg);
	}
}
