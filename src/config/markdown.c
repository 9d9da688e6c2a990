/* SPDX-License-Identifier: Apache-2.0 */
#include "config/markdown.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "io/files.h"

struct th_str th_markdown_front_matter(struct th_str *text)
{
	struct th_str rest = *text, matter;
	size_t at = 0;

	if (!th_str_is(th_str_trim(th_str_split(&rest, '\n')), "---"))
		return (struct th_str){ NULL, 0 };
	matter = rest;
	while (rest.len) {
		struct th_str line = th_str_split(&rest, '\n');

		if (th_str_is(th_str_trim(line), "---")) {
			*text = rest;
			return th_str_sub(matter, 0, at);
		}
		at += line.len + 1;
	}
	return (struct th_str){ NULL, 0 };
}

enum th_code th_markdown_open(const char *key, struct th_str folder, struct th_arena *a,
			      int *ret_dir, struct th_err *err)
{
	const char *path = th_arena_cstr(a, folder);

	*ret_dir = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (*ret_dir >= 0)
		return TH_OK;
	return th_fail(err, TH_EUSAGE, "%s: %.*s cannot be opened: %s", key,
		       TH_FMT(th_utf8_cut(folder, 200)), strerror(errno));
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

enum th_code th_markdown_list(int dir, struct th_arena *a, char **names, size_t max,
			      size_t *ret_count, struct th_err *err)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;
	size_t count = 0;
	bool full = false;

	if (!d)
		th_fd_close(&copy);
	while (d && !full && count < max && (e = readdir(d)))
		if (e->d_name[0] != '.') {
			names[count] = th_arena_cstr(a, th_str_of(e->d_name));
			full = !names[count];
			count += !full;
		}
	if (d)
		closedir(d);
	if (count)
		qsort(names, count, sizeof(*names), by_name);
	*ret_count = count;
	return full ? th_fail(err, TH_ELIMIT, "the files are too large together") : TH_OK;
}

bool th_markdown_read(int dir, struct th_str path, struct th_buf *out)
{
	struct th_err ignored = {};
	struct stat st;
	int fd = -1;
	bool good = !th_open_beneath(dir, path, O_RDONLY | O_NONBLOCK, 0, &fd, &ignored) &&
		    fstat(fd, &st) == 0 && S_ISREG(st.st_mode);

	th_buf_clear(out);
	good = good && !th_file_read_fd(fd, out->max, out, &ignored);
	th_fd_close(&fd);
	return good;
}
