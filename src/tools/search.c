/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.c - finds text by a pattern (PCRE2), or files by their names.
 *
 * It walks the workspace itself: so what it opens is what the file tools may
 * open, and one bound holds for files, bytes, matches and time whatever is
 * installed on a machine.  Hidden files, what .gitignore names, links and
 * binary files are passed over.  Folders come in the order of their names, so
 * that a search that is cut says the same twice.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/glob.h"
#include "base/limits.h"
#include "base/text.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/loop.h"
#include "tools/clip.h"
#include "tools/ignore.h"
#include "tools/path.h"
#include "tools/tool.h"

#define MATCH_STEPS_MAX 5000000 /* of one match, inside PCRE2 */
#define MATCH_KIB_MAX 65536
#define STACK_MIN (32 * TH_KIB)
#define BINARY_LOOK (8 * TH_KIB)

#define TH_FIELDS_search(F)                                                                        \
	F(search, str, pattern, "pattern", TH_NONEMPTY,                                            \
	  "Regular expression (PCRE) to find in the lines of files; without it files are listed.") \
	F(search, str, files, "files", TH_NONEMPTY,                                                \
	  "Only files whose path, or name, matches, such as *.py or src/**/*.{c,h}.")              \
	F(search, str, path, "path", TH_NONEMPTY,                                                  \
	  "Folder or file to look in; default: the workspace.")                                    \
	F(search, bool, ignore_case, "ignore_case", 0, "Capitals and small letters are the same.") \
	F(search, bool, all, "all", 0, "Hidden files and those that .gitignore names too.")        \
	F(search, str, include, "include", TH_HIDDEN, "files, as other tools call it")             \
	F(search, str, security_risk, "security_risk", TH_HIDDEN, "not looked at")                 \
	F(search, str, summary, "summary", TH_HIDDEN, "not looked at")

TH_STRUCT(search)
extern const struct th_table th_search_table;
TH_TABLE(search, "arguments of search", false)

struct hit { /* a file that is listed */
	struct th_str path;
	struct timespec changed;
};

struct search {
	struct th_tool_job *job;
	const struct th_search *args;
	struct th_str glob;
	pcre2_code *code;
	pcre2_match_data *match;
	pcre2_match_context *limits;
	pcre2_jit_stack *stack;
	atomic_bool cancelled;
	uint64_t end_ms, bytes;
	size_t files, matched_files, matches, too_large, skipped;
	bool full, late, cut; /* cut: more files or bytes than are looked at */
	bool names_cr;        /* the pattern does: it is looked for in the bytes as they are */
	bool more;            /* a folder has more entries than are looked at */
	struct hit *hits;
	size_t hit_count, hit_space;
	struct th_buf text, path, content;
	enum th_outcome_status status;
	struct th_err err;
};

static bool must_stop(struct search *s)
{
	if (s->full || s->late || s->cut || atomic_load(&s->cancelled))
		return true;
	s->late = th_clock_ms() > s->end_ms;
	s->cut = s->files >= TH_SEARCH_FILES_MAX || s->bytes >= TH_SEARCH_BYTES_MAX;
	return s->late || s->cut;
}

/* ---- one file ---- */

static struct th_str line_around(struct th_str text, size_t from, size_t to, size_t *ret_end)
{
	const char *start = from > 0 ? memrchr(text.ptr, '\n', from) : NULL;
	const char *end = to < text.len ? memchr(text.ptr + to, '\n', text.len - to) : NULL;
	size_t begin = start ? (size_t)(start - text.ptr) + 1 : 0;

	*ret_end = end ? (size_t)(end - text.ptr) : text.len;
	return th_str_sub(text, begin, *ret_end - begin);
}

static void put_lines(struct search *s, struct th_str lines, size_t number)
{
	while (lines.len > 0 || !s->full) {
		struct th_str line = th_str_split(&lines, '\n');
		struct th_str shown;

		if (th_str_ends(line, TH_STR("\r")))
			line.len--;
		shown = th_utf8_cut(line, TH_SEARCH_LINE_MAX);

		if (s->matches == TH_SEARCH_MATCHES_MAX ||
		    s->text.len + s->path.len + shown.len + 64 > TH_TOOL_OUTPUT_MODEL_MAX) {
			s->full = true;
			return;
		}
		s->matches++;
		th_text_line(&s->text, th_buf_str(&s->path), TH_PATH_LEN_MAX);
		th_buf_printf(&s->text, ":%zu: ", number++);
		th_clip_clean(&s->text, shown);
		th_buf_add_cstr(&s->text, shown.len < line.len ? "…\n" : "\n");
		if (lines.len == 0)
			return;
	}
}

static void look_inside(struct search *s, struct th_str text)
{
	size_t at = 0, counted = 0, number = 1, end;
	bool any = false;

	while (at < text.len && !must_stop(s)) {
		int rc = pcre2_match(s->code, (PCRE2_SPTR)text.ptr, text.len, at, 0, s->match,
				     s->limits);
		const size_t *span = pcre2_get_ovector_pointer(s->match);

		if (rc < 0) {
			s->skipped += rc != PCRE2_ERROR_NOMATCH;
			break;
		}
		/* \K may put the start behind the end; and an empty match behind the last line end
		 * is no line. */
		size_t from = TH_MIN(span[0], span[1]), to = TH_MAX(span[0], span[1]);
		if (from >= text.len && text.ptr[text.len - 1] == '\n')
			break;
		if (to > from && text.ptr[to - 1] == '\n')
			to--;
		struct th_str lines = line_around(text, from, to, &end);
		for (; counted < (size_t)(lines.ptr - text.ptr); counted++)
			number += text.ptr[counted] == '\n';
		any = true;
		put_lines(s, lines, number);
		at = end + 1;
	}
	s->matched_files += any;
}

/* "\r\n" ends a line as "\n" does, as the tool `edit` shows it. */
static void drop_cr(struct th_buf *b)
{
	char *to = b->len ? memchr(b->ptr, '\r', b->len) : NULL;
	const char *end = b->ptr + b->len;

	if (!to)
		return;
	for (const char *at = to; at < end; at++)
		if (*at != '\r' || at + 1 == end || at[1] != '\n')
			*to++ = *at;
	th_buf_truncate(b, (size_t)(to - b->ptr));
}

static void read_file(struct search *s, int folder, const char *name)
{
	TH_CLEANUP(th_fd_close)
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	struct th_str text;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	if (st.st_size > (int64_t)TH_SEARCH_FILE_MAX) {
		s->too_large++;
		return;
	}
	th_buf_clear(&s->content);
	if (th_file_read_fd(fd, TH_SEARCH_FILE_MAX, &s->content, NULL))
		return;
	s->bytes += s->content.len;
	if (!s->names_cr)
		drop_cr(&s->content);
	text = th_buf_str(&s->content);
	if (text.len > 0 && !memchr(text.ptr, '\0', TH_MIN(text.len, BINARY_LOOK)))
		look_inside(s, text);
}

static void add_hit(struct search *s, int folder, const char *name)
{
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return;
	if (s->hit_count == s->hit_space) {
		size_t space = TH_MAX(s->hit_space * 2, (size_t)256);
		struct hit *more = th_arena_array(s->job->arena, space, sizeof(*more));

		if (!more) {
			s->cut = true;
			return;
		}
		if (s->hit_count)
			memcpy(more, s->hits, s->hit_count * sizeof(*more));
		s->hits = more;
		s->hit_space = space;
	}
	struct th_str path = th_arena_str(s->job->arena, th_buf_str(&s->path));
	s->cut = !path.ptr;
	if (path.ptr)
		s->hits[s->hit_count++] = (struct hit){ path, st.st_mtim };
}

static bool is_wanted(const struct search *s, const char *name)
{
	return s->glob.len == 0 || th_glob_path(s->glob, th_buf_str(&s->path), TH_GLOB_SHELL) ||
	       (th_str_find_char(s->glob, '/') < 0 &&
		th_glob_path(s->glob, th_str_of(name), TH_GLOB_SHELL));
}

static void take_file(struct search *s, int folder, const char *name)
{
	if (!is_wanted(s, name))
		return;
	s->files++;
	if (s->code)
		read_file(s, folder, name);
	else
		add_hit(s, folder, name);
}

/* ---- folders ---- */

struct names {
	struct th_buf bytes; /* each with its kind in front and a NUL behind */
	const char **list;
	size_t count;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a + 1, *(const char *const *)b + 1);
}

static char kind_of(int fd, const struct dirent *d)
{
	struct stat st;

	if (d->d_type == DT_DIR || d->d_type == DT_REG)
		return d->d_type == DT_DIR ? 'd' : 'f';
	if (d->d_type != DT_UNKNOWN || fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return '-';
	return S_ISDIR(st.st_mode) ? 'd' : S_ISREG(st.st_mode) ? 'f' : '-';
}

static void names_read(struct search *s, int fd, struct names *ret)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again >= 0 ? fdopendir(again) : NULL;
	size_t at = 0;

	*ret = (struct names){ .bytes = TH_BUF_INIT(16 * TH_MIB) };
	if (!dir) {
		th_fd_close(&again);
		return;
	}
	for (const struct dirent *d; (d = readdir(dir));) {
		char kind = kind_of(fd, d);

		if (kind == '-' || !strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") ||
		    (d->d_name[0] == '.' && !s->args->all))
			continue;
		if (ret->count == TH_SEARCH_FOLDER_MAX) {
			s->more = true;
			break;
		}
		th_buf_add_char(&ret->bytes, kind);
		th_buf_add_mem(&ret->bytes, d->d_name, strlen(d->d_name) + 1);
		ret->count++;
	}
	closedir(dir);
	ret->list = (const char **)th_alloc((ret->count + 1) * sizeof(*ret->list));
	for (size_t i = 0; i < ret->count; i++) {
		ret->list[i] = ret->bytes.ptr + at;
		at += strlen(ret->list[i]) + 1;
	}
	qsort(ret->list, ret->count, sizeof(*ret->list), by_name);
}

static void ignore_read(struct search *s, int fd, struct th_ignore *level)
{
	static const char *const names[] = { ".gitignore", ".ignore" };

	for (size_t i = 0; i < TH_COUNT(names) && !s->args->all; i++) {
		struct th_buf text = TH_BUF_INIT(TH_IGNORE_SIZE_MAX);
		TH_CLEANUP(th_fd_close)
		int file = openat(fd, names[i], O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		struct stat st;

		if (file >= 0 && fstat(file, &st) == 0 && S_ISREG(st.st_mode) &&
		    !th_file_read_fd(file, TH_IGNORE_SIZE_MAX, &text, NULL)) {
			struct th_str kept = th_arena_str(s->job->arena, th_buf_str(&text));
			if (kept.ptr)
				th_ignore_parse(level, kept, s->job->arena);
		}
		th_buf_deinit(&text);
	}
}

static void walk(struct search *s, const struct th_ignore *above, unsigned depth)
{
	size_t base = s->path.len;
	struct th_str here = base > 0 ? th_str_sub(th_buf_str(&s->path), 0, base - 1) : TH_STR(".");
	TH_CLEANUP(th_fd_close) int fd = -1;
	struct th_ignore level = { .above = above, .base_len = base };
	struct names names;

	/* One that may not be opened (ours, another user's) is passed over. */
	if (depth == TH_SEARCH_DEPTH_MAX ||
	    th_tool_open(s->job->env, here, O_RDONLY | O_DIRECTORY, 0, &fd, NULL)) {
		s->skipped++;
		return;
	}
	ignore_read(s, fd, &level);
	names_read(s, fd, &names);
	for (size_t i = 0; i < names.count && !must_stop(s); i++) {
		const char *name = names.list[i] + 1;
		bool folder = names.list[i][0] == 'd';

		th_buf_add_cstr(&s->path, name);
		if (!th_ignored(&level, th_buf_str(&s->path), folder) &&
		    !(folder && !strcmp(name, ".git"))) {
			if (!folder) {
				take_file(s, fd, name);
			} else {
				th_buf_add_char(&s->path, '/');
				walk(s, &level, depth + 1);
			}
		}
		th_buf_truncate(&s->path, base);
	}
	free(names.list);
	th_buf_deinit(&names.bytes);
}

/* The rules of the folders that the named one lies in hold too. */
static const struct th_ignore *rules_above(struct search *s, struct th_str path)
{
	const struct th_ignore *above = NULL;

	for (size_t at = 0; at < path.len;) {
		struct th_ignore *level = TH_NEW(s->job->arena, struct th_ignore);
		struct th_str folder = at ? th_str_sub(path, 0, at - 1) : TH_STR(".");
		TH_CLEANUP(th_fd_close) int fd = -1;
		ptrdiff_t slash = th_str_find_char(th_str_sub(path, at, path.len), '/');

		if (!level)
			break;
		*level = (struct th_ignore){ .above = above, .base_len = at };
		if (!th_tool_open(s->job->env, folder, O_RDONLY | O_DIRECTORY, 0, &fd, NULL))
			ignore_read(s, fd, level);
		above = level;
		at = slash < 0 ? path.len : at + (size_t)slash + 1;
	}
	return above;
}

/* ---- in a worker ---- */

static enum th_code begin_at(struct search *s)
{
	struct th_str asked = s->args->path.len ? s->args->path : TH_STR("."), path;
	TH_CLEANUP(th_fd_close) int fd = -1;
	struct stat st;
	enum th_code code = th_tool_relative(s->job->env, asked, &path, &s->err);

	if (!code)
		code = th_tool_open(s->job->env, asked, O_PATH, 0, &fd, &s->err);
	if (!code && fstat(fd, &st) < 0)
		code = th_fail_errno(&s->err, errno, "%.*s", TH_FMT(asked));
	if (code)
		return code;
	while (th_str_starts(path, TH_STR("./")))
		path = th_str_sub(path, 2, path.len);
	while (path.len > 0 && path.ptr[path.len - 1] == '/')
		path.len--;
	if (th_str_is(path, "."))
		path.len = 0;
	if (S_ISDIR(st.st_mode)) {
		th_buf_add(&s->path, path);
		if (path.len)
			th_buf_add_char(&s->path, '/');
		walk(s, rules_above(s, path), 0);
		return TH_OK;
	}
	if (!S_ISREG(st.st_mode))
		return th_fail(&s->err, TH_EUSAGE, "%.*s is not a regular file", TH_FMT(asked));
	/* A file that is named is looked at, whatever ignores it. */
	const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
	size_t base = slash ? (size_t)(slash - path.ptr) + 1 : 0;
	th_fd_close(&fd);
	code = th_tool_open(s->job->env, base ? th_str_sub(path, 0, base) : TH_STR("."),
			    O_RDONLY | O_DIRECTORY, 0, &fd, &s->err);
	if (code)
		return code;
	th_buf_add(&s->path, path);
	take_file(s, fd, s->path.ptr + base);
	return TH_OK;
}

static void work(void *ctx)
{
	struct search *s = (struct search *)ctx;
	enum th_code code;

	th_tool_owner_enter(s->job->env);
	code = begin_at(s);
	th_tool_owner_leave(s->job->env);
	if (code)
		s->status =
		    code == TH_EPERM || code == TH_EUSAGE ? TH_OUTCOME_REFUSED : TH_OUTCOME_FAILED;
}

/* ---- on the loop ---- */

static int newest_first(const void *a, const void *b)
{
	const struct hit *x = (const struct hit *)a, *y = (const struct hit *)b;

	if (x->changed.tv_sec != y->changed.tv_sec)
		return x->changed.tv_sec > y->changed.tv_sec ? -1 : 1;
	if (x->changed.tv_nsec != y->changed.tv_nsec)
		return x->changed.tv_nsec > y->changed.tv_nsec ? -1 : 1;
	return th_str_cmp(x->path, y->path);
}

static void put_hits(struct search *s)
{
	if (s->hit_count)
		qsort(s->hits, s->hit_count, sizeof(*s->hits), newest_first);
	for (; s->matches < s->hit_count; s->matches++) {
		if (s->matches == TH_SEARCH_MATCHES_MAX ||
		    s->text.len + s->hits[s->matches].path.len + 64 > TH_TOOL_OUTPUT_MODEL_MAX) {
			s->full = true;
			break;
		}
		th_text_line(&s->text, s->hits[s->matches].path, TH_PATH_LEN_MAX);
		th_buf_add_char(&s->text, '\n');
	}
}

static void put_ending(struct search *s)
{
	const char *what = s->code ? "matching lines" : "files";

	if (!s->code && s->hit_count > s->matches)
		th_buf_printf(&s->text, "[the %zu newest of %zu files are shown]", s->matches,
			      s->hit_count);
	else if (s->full)
		th_buf_printf(&s->text, "[stopped after %zu %s; narrow the search]", s->matches,
			      what);
	else if (s->code && s->matches)
		th_buf_printf(&s->text, "[%zu %s in %zu files]", s->matches, what,
			      s->matched_files);
	else
		th_buf_printf(&s->text, "[%zu %s]", s->matches, what);
	if (s->late)
		th_buf_printf(&s->text,
			      "\n[ended after %d s, its time limit: not all was looked at]",
			      TH_SEARCH_MS_MAX / 1000);
	if (s->cut || s->more)
		th_buf_printf(&s->text, "\n[%zu files were looked at, and there are more]",
			      s->files);
	if (atomic_load(&s->cancelled))
		th_buf_add_cstr(&s->text, "\n[cancelled: not all was looked at]");
	if (s->too_large)
		th_buf_printf(&s->text, "\n[%zu files of more than %zu MiB were passed over]",
			      s->too_large, TH_SEARCH_FILE_MAX / TH_MIB);
	if (s->skipped)
		th_buf_printf(&s->text,
			      "\n[%zu files or folders could not be looked at: not readable, too "
			      "deep, or the pattern takes too long on them]",
			      s->skipped);
}

static void search_free(struct search *s)
{
	pcre2_code_free(s->code);
	pcre2_match_data_free(s->match);
	pcre2_match_context_free(s->limits);
	pcre2_jit_stack_free(s->stack);
	th_buf_deinit(&s->text);
	th_buf_deinit(&s->path);
	th_buf_deinit(&s->content);
	free(s);
}

static void worked(void *ctx)
{
	struct search *s = (struct search *)ctx;
	struct th_tool_job *job = s->job;
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(0), evidence = TH_BUF_INIT(512);
	struct th_jw w = th_jw(&evidence);

	if (s->err.code) {
		struct th_err err = s->err;
		enum th_outcome_status status = s->status;

		search_free(s);
		th_tool_fail(job, status, &err);
		return;
	}
	if (!s->code)
		put_hits(s);
	put_ending(s);
	th_jw_object(&w);
	th_jw_kuint(&w, "matches", s->matches);
	th_jw_kuint(&w, "files", s->files);
	if (s->full || s->late || s->cut || s->more)
		th_jw_kbool(&w, "cut", true);
	th_jw_object_end(&w);
	text = s->text;
	th_buf_init(&s->text, 0);
	search_free(s);
	th_tool_text(job, TH_OUTCOME_DONE, th_buf_str(&text), th_buf_str(&evidence));
	th_buf_deinit(&evidence);
}

/* "\r", and not the "r" behind a "\\". */
static bool names_cr(struct th_str pattern)
{
	for (size_t i = 0; i + 1 < pattern.len; i++)
		if (pattern.ptr[i] == '\\' && pattern.ptr[++i] == 'r')
			return true;
	return th_str_find_char(pattern, '\r') >= 0;
}

static enum th_code compile(struct search *s)
{
	struct th_str pattern = s->args->pattern;
	uint32_t flags = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_MULTILINE;
	PCRE2_UCHAR why[256];
	PCRE2_SIZE at;
	int error;

	if (pattern.len > TH_SEARCH_PATTERN_MAX)
		return th_fail(&s->err, TH_ELIMIT, "a pattern has at most %zu bytes",
			       TH_SEARCH_PATTERN_MAX);
	if (s->args->ignore_case)
		flags |= PCRE2_CASELESS;
	s->names_cr = names_cr(pattern);
	s->code = pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len, flags, &error, &at, NULL);
	if (!s->code) {
		pcre2_get_error_message(error, why, sizeof(why));
		return th_fail(&s->err, TH_EUSAGE, "the pattern is not one, at byte %zu: %s", at,
			       (const char *)why);
	}
	/* Where the machine allows no code made at run time, the plain matcher does it. */
	(void)pcre2_jit_compile(s->code, PCRE2_JIT_COMPLETE);
	s->match = pcre2_match_data_create_from_pattern(s->code, NULL);
	s->limits = pcre2_match_context_create(NULL);
	if (!s->match || !s->limits)
		return th_fail(&s->err, TH_ELIMIT, "the pattern takes too much memory");
	pcre2_set_match_limit(s->limits, MATCH_STEPS_MAX);
	pcre2_set_heap_limit(s->limits, MATCH_KIB_MAX);
	/* Its own is so small that a quoted string of a few pages does not fit. */
	s->stack = pcre2_jit_stack_create(STACK_MIN, MATCH_KIB_MAX * TH_KIB, NULL);
	if (s->stack)
		pcre2_jit_stack_assign(s->limits, NULL, s->stack);
	return TH_OK;
}

static void start(struct th_tool_job *job)
{
	struct search *s = (struct search *)th_alloc(sizeof(*s));
	enum th_code code = TH_OK;

	s->job = job;
	s->args = (const struct th_search *)job->args;
	s->glob = s->args->files.len ? s->args->files : s->args->include;
	s->end_ms = th_clock_ms() + TH_SEARCH_MS_MAX;
	th_buf_init(&s->text, 2 * TH_TOOL_OUTPUT_MODEL_MAX);
	th_buf_init(&s->path, 2 * TH_PATH_LEN_MAX);
	th_buf_init(&s->content, TH_SEARCH_FILE_MAX);
	if (s->glob.len >= TH_GLOB_SIZE_MAX)
		code =
		    th_fail(&s->err, TH_ELIMIT, "files has at most %d bytes", TH_GLOB_SIZE_MAX - 1);
	if (!code && s->args->pattern.len)
		code = compile(s);
	if (code) {
		struct th_err err = s->err;

		search_free(s);
		th_tool_fail(job, TH_OUTCOME_REFUSED, &err);
		return;
	}
	job->state = s;
	th_work(job->env->loop, work, worked, s);
}

static void cancel(struct th_tool_job *job)
{
	struct search *s = (struct search *)job->state;

	atomic_store(&s->cancelled, true);
}

const struct th_tool th_tool_search = {
	.name = "search",
	.description =
	    "Find lines of the workspace's files by a regular expression, or files by their path "
	    "(newest first) when no pattern is given. Hidden and binary files and what .gitignore "
	    "names are passed over.",
	.class = TH_CLASS_R,
	.scope = { TH_TARGET_OTHER, TH_SHOWS_ONE },
	.in_default = true,
	.arguments = &th_search_table,
	.start = start,
	.cancel = cancel,
};
