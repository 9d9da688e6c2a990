/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/openhands_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/files.h"

struct found {
	uint64_t number;
	char name[NAME_MAX + 1];
};

void th_openhands_files_deinit(struct th_openhands_files *f)
{
	th_openhands_log_deinit(&f->log);
}

static int by_number(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* ---- folders ---- */

/* The files of events in it, by number, of whichever generation there are. */
static enum th_code list_events(int dir, struct found **ret, size_t *ret_count,
				enum th_openhands *ret_version, struct th_err *err)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct found *list = NULL;
	struct dirent *e;
	size_t count = 0, cap = 0;
	bool v1 = false;

	if (!d) {
		th_fd_close(&copy);
		return th_fail_errno(err, errno, "its folder events");
	}
	while ((e = readdir(d)) && count <= TH_EXPORT_EVENTS_MAX) {
		struct th_str name = th_str_of(e->d_name);
		bool is_v1 = th_str_starts(name, TH_STR("event-"));
		uint64_t number;

		if (!th_openhands_file_number(is_v1 ? TH_OPENHANDS_V1 : TH_OPENHANDS_V0, name,
					      &number))
			continue;
		if (count == cap) {
			cap = TH_MAX(2 * cap, (size_t)64);
			list = th_realloc(list, cap * sizeof(*list));
		}
		v1 |= is_v1;
		list[count].number = number;
		snprintf(list[count++].name, sizeof(list->name), "%s", e->d_name);
	}
	closedir(d);
	if (count)
		qsort(list, count, sizeof(*list), by_number);
	*ret = list;
	*ret_count = count;
	*ret_version = v1 ? TH_OPENHANDS_V1 : TH_OPENHANDS_V0;
	return count > TH_EXPORT_EVENTS_MAX
		   ? th_fail(err, TH_ELIMIT, "a conversation has at most %d events",
			     TH_EXPORT_EVENTS_MAX)
		   : TH_OK;
}

/* A regular file beneath the folder; never one that a link leads to outside. */
static enum th_code read_beneath(int dir, const char *name, struct th_buf *out, struct th_err *err)
{
	struct stat st;
	int fd = -1;
	enum th_code code = th_open_beneath(dir, th_str_of(name), O_RDONLY, 0, &fd, err);

	th_buf_clear(out);
	if (!code && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)))
		code = th_fail(err, TH_EPROTO, "%s is no file", name);
	if (!code)
		code = th_file_read_fd(fd, TH_JSON_SIZE_MAX, out, err);
	th_fd_close(&fd);
	return code;
}

/* What Python writes and is no JSON is mended in place; the rest stays as it is. */
static void mend(struct th_openhands_files *f, struct th_buf *text)
{
	struct th_buf mended TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EXPORT_SIZE_MAX);
	size_t count;

	if (th_json_valid(th_str_trim(th_buf_str(text))))
		return;
	count = th_python_json(th_buf_str(text), &mended);
	if (!count || mended.failed || mended.len > text->max)
		return;
	f->mended += count;
	th_buf_clear(text);
	th_buf_add(text, th_buf_str(&mended));
}

/* The last file of a run that was killed may be cut off: what is whole counts. */
static enum th_code read_events(struct th_openhands_files *f, int dir, const struct found *list,
				size_t count, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	enum th_code code = TH_OK;

	for (size_t i = 0; !code && i < count; i++) {
		struct th_str bytes;

		code = read_beneath(dir, list[i].name, &text, err);
		if (code)
			break;
		mend(f, &text);
		bytes = th_str_trim(th_buf_str(&text));
		if (i + 1 == count && !th_json_valid(bytes)) {
			f->torn = 1;
			break;
		}
		code =
		    th_prefix(err, th_openhands_log_add(&f->log, bytes, err), "%s", list[i].name);
	}
	return code;
}

static enum th_code read_state(struct th_openhands_files *f, int dir, const char *name,
			       struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_str bytes;

	if (read_beneath(dir, name, &text, err))
		return TH_OK; /* it need not be there */
	mend(f, &text);
	bytes = th_str_trim(th_buf_str(&text));
	if (!th_json_valid(bytes))
		return th_fail(err, TH_EPROTO, "%s is not JSON", name);
	f->state = th_arena_str(&f->log.memory, bytes);
	return TH_OK;
}

static enum th_code read_folder(int dir, struct th_openhands_files *f, struct th_err *err)
{
	struct th_err ignored = {};
	struct found *list = NULL;
	enum th_openhands version = TH_OPENHANDS_V0;
	size_t count = 0;
	int events = -1;
	enum th_code code =
	    th_open_beneath(dir, TH_STR("events"), O_RDONLY | O_DIRECTORY, 0, &events, &ignored);

	if (code)
		return th_fail(err, TH_EPROTO,
			       "it has no folder events, as a conversation of OpenHands has");
	code = list_events(events, &list, &count, &version, err);
	if (!code && !count)
		code = th_fail(err, TH_EPROTO, "its folder events has no events");
	if (!code) {
		th_openhands_log_init(&f->log, version);
		code = read_state(
		    f, dir, version == TH_OPENHANDS_V1 ? "base_state.json" : "metadata.json", err);
	}
	if (!code)
		code = read_events(f, events, list, count, err);
	free(list);
	th_fd_close(&events);
	return code;
}

/* ---- files ---- */

/* A list of events, or an object with one. */
static const struct th_json *list_in(const struct th_json *v)
{
	static const char *const names[] = { "events", "trajectory", "history" };

	for (size_t i = 0; th_json_is_object(v) && i < TH_COUNT(names); i++)
		if (th_json_is_array(th_json_get(v, names[i])))
			return th_json_get(v, names[i]);
	return th_json_is_array(v) ? v : NULL;
}

static enum th_code add_list(struct th_openhands_files *f, const struct th_json *list,
			     struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_json_iter it = th_json_iter(list);
	enum th_openhands version = TH_OPENHANDS_V0;
	enum th_code code = TH_OK;

	if (!th_openhands_generation(th_json_at(list, 0), &version))
		return th_fail(err, TH_EPROTO, "it does not begin with an event of OpenHands");
	th_openhands_log_init(&f->log, version);
	while (!code && th_json_next(&it)) {
		th_buf_clear(&text);
		th_json_print(it.val, &text);
		code = th_prefix(err, th_openhands_log_add(&f->log, th_buf_str(&text), err),
				 "event %zu", it.index);
	}
	return code;
}

/* One event a line. */
static enum th_code add_lines(struct th_openhands_files *f, struct th_str text, struct th_err *err)
{
	enum th_code code = TH_OK;

	for (size_t n = 1; !code && text.len; n++) {
		struct th_str line = th_str_trim(th_str_split(&text, '\n'));
		struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
		enum th_openhands version = TH_OPENHANDS_V0;

		if (!line.len)
			continue;
		if (!th_str_trim(text).len && f->log.count && !th_json_valid(line)) {
			f->torn = 1;
			break;
		}
		code = th_json_parse(line, &doc, err);
		if (!code && !f->log.count) {
			if (!th_openhands_generation(th_json_root(doc), &version))
				return th_fail(err, TH_EPROTO,
					       "it does not begin with an event of OpenHands");
			th_openhands_log_init(&f->log, version);
		}
		code = code ?: th_openhands_log_add(&f->log, line, err);
		code = th_prefix(err, code, "line %zu", n);
	}
	return code;
}

static enum th_code read_file(int fd, struct th_openhands_files *f, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EXPORT_SIZE_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_err ignored = {};
	enum th_code code = th_file_read_fd(fd, TH_EXPORT_SIZE_MAX, &text, err);

	if (code)
		return code;
	mend(f, &text);
	if (!th_json_parse(th_buf_str(&text), &doc, &ignored) && list_in(th_json_root(doc)))
		return add_list(f, list_in(th_json_root(doc)), err);
	return add_lines(f, th_buf_str(&text), err);
}

/* The last part of a path, without what names a type of file. */
static struct th_str name_of(const char *path)
{
	struct th_str rest = th_str_of(path), name = rest;

	while (rest.len) {
		struct th_str part = th_str_split(&rest, '/');

		if (part.len && !th_str_is(part, "."))
			name = part;
	}
	return th_str_ends(name, TH_STR(".json")) ? th_str_sub(name, 0, name.len - 5) : name;
}

enum th_code th_openhands_read(const char *path, struct th_openhands_files *ret, struct th_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	enum th_code code;

	*ret = (struct th_openhands_files){ .name = name_of(path) };
	if (fd < 0 || fstat(fd, &st) != 0) {
		code = th_fail_errno(err, errno, "%s", path);
		th_fd_close(&fd);
		return code;
	}
	code = S_ISDIR(st.st_mode) ? read_folder(fd, ret, err) : read_file(fd, ret, err);
	if (!code && !ret->log.count)
		code = th_fail(err, TH_EPROTO, "it has no events");
	th_fd_close(&fd);
	return th_prefix(err, code, "%s", path);
}
