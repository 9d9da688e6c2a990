/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/edit_view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "io/files.h"
#include "tools/edit_text.h"

void th_editor_put_lines(struct th_buf *out, struct th_str what, struct th_str text, size_t first,
			 size_t total)
{
	size_t count, all = th_editor_lines(text);

	th_buf_printf(out, "Here's the result of running `cat -n` on %.*s:\n", TH_FMT(what));
	count = th_editor_number(text, first, TH_TOOL_OUTPUT_MODEL_MAX, out);
	if (count >= all)
		return;
	if (count == 0) {
		th_buf_printf(out, "%6zu\t", first);
		th_buf_add(out, th_utf8_cut(text, TH_TOOL_OUTPUT_MODEL_MAX));
		th_buf_printf(out, "\n[line %zu is longer than that; only its start is shown]\n",
			      first);
		count = 1;
	}
	if (first + count <= total)
		th_buf_printf(out,
			      "[lines %zu to %zu of %zu are shown; view_range [%zu, -1] shows "
			      "what follows]\n",
			      first, first + count - 1, total, first + count);
}

const char *th_editor_picture_type(struct th_str path, struct th_str bytes)
{
	static const struct {
		const char *suffix, *type, *magic;
		size_t len;
	} rows[] = {
		{ ".png", "image/png", "\x89PNG\r\n\x1a\n", 8 },
		{ ".jpg", "image/jpeg", "\xff\xd8\xff", 3 },
		{ ".jpeg", "image/jpeg", "\xff\xd8\xff", 3 },
		{ ".gif", "image/gif", "GIF8", 4 },
		{ ".webp", "image/webp", "RIFF", 4 },
	};
	struct th_str end;

	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		end = th_str_of(rows[i].suffix);
		if (path.len > end.len &&
		    th_str_ieq(th_str_sub(path, path.len - end.len, end.len), end) &&
		    th_str_starts(bytes, th_str_n(rows[i].magic, rows[i].len)))
			return rows[i].type;
	}
	return NULL;
}

/* ---- folders ---- */

struct folder {
	char *names[TH_EDIT_ENTRIES_MAX]; /* sorted; of a folder with a slash */
	size_t count, hidden, left_out;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_folder(int fd, const struct dirent *d)
{
	struct stat st;

	if (d->d_type != DT_UNKNOWN)
		return d->d_type == DT_DIR;
	return fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static void take(struct folder *f, int fd, const struct dirent *d)
{
	struct th_buf name = TH_BUF_INIT(sizeof(d->d_name) + 1);

	if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
		return;
	if (d->d_name[0] == '.') {
		f->hidden++;
		return;
	}
	if (f->count == TH_EDIT_ENTRIES_MAX) {
		f->left_out++;
		return;
	}
	th_text_line(&name, th_str_of(d->d_name), sizeof(d->d_name));
	if (is_folder(fd, d))
		th_buf_add_char(&name, '/');
	f->names[f->count++] = th_buf_steal(&name, NULL);
}

static enum th_code folder_read(const struct th_tool_env *env, struct th_str path, struct folder *f,
				struct th_err *err)
{
	int fd = -1;
	enum th_code code = th_tool_open(env, path, O_RDONLY | O_DIRECTORY, 0, &fd, err);
	DIR *dir = code ? NULL : fdopendir(fd);

	if (code)
		return code;
	if (!dir) {
		code = th_fail_errno(err, errno, "read the folder");
		th_fd_close(&fd);
		return code;
	}
	for (const struct dirent *d; (d = readdir(dir));)
		take(f, fd, d);
	closedir(dir);
	qsort(f->names, f->count, sizeof(*f->names), by_name);
	return TH_OK;
}

static void folder_free(struct folder *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->names[i]);
	free(f);
}

struct listing {
	struct th_str top;
	struct th_buf *out;
	size_t count, left_out;
};

static void put_entry(struct listing *l, const char *folder, const char *name)
{
	if (l->count == TH_EDIT_ENTRIES_MAX) {
		l->left_out++;
		return;
	}
	l->count++;
	th_buf_printf(l->out, "\n%.*s/%s%s", TH_FMT(l->top), folder, name);
}

static void put_second(const struct th_tool_env *env, struct listing *l, struct th_str path,
		       const char *name)
{
	struct th_buf below = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct folder *f = (struct folder *)th_alloc(sizeof(*f));

	th_buf_printf(&below, "%.*s/%s", TH_FMT(path), name);
	/* One that may not be read has no entries to show. */
	if (!below.failed && !folder_read(env, th_buf_str(&below), f, NULL))
		for (size_t i = 0; i < f->count; i++)
			put_entry(l, name, f->names[i]);
	l->left_out += f->left_out;
	folder_free(f);
	th_buf_deinit(&below);
}

enum th_code th_editor_view_folder(const struct th_tool_env *env, struct th_str path,
				   struct th_buf *out, struct th_err *err)
{
	struct folder *f = (struct folder *)th_alloc(sizeof(*f));
	enum th_code code = folder_read(env, path, f, err);
	struct listing l = { .top = path, .out = out };

	while (l.top.len > 1 && l.top.ptr[l.top.len - 1] == '/')
		l.top.len--;
	if (!code)
		th_buf_printf(out,
			      "Here's the files and directories up to 2 levels deep in %.*s, "
			      "excluding hidden items:\n%.*s/",
			      TH_FMT(path), TH_FMT(l.top));
	for (size_t i = 0; i < f->count && !code; i++) {
		put_entry(&l, "", f->names[i]);
		if (th_str_ends(th_str_of(f->names[i]), TH_STR("/")))
			put_second(env, &l, l.top, f->names[i]);
	}
	l.left_out += f->left_out;
	if (!code && l.left_out)
		th_buf_printf(out, "\n[%zu more entries are not shown]", l.left_out);
	if (!code && f->hidden)
		th_buf_printf(out,
			      "\n\n%zu hidden files/directories in this directory are excluded. "
			      "You can use 'ls -la %.*s' to see them.",
			      f->hidden, TH_FMT(path));
	folder_free(f);
	return code;
}
