/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.c - see manifest.h. */
#include "server/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/diff.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"
#include "io/clock.h"
#include "io/files.h"
#include "server/access.h"
#include "wire/percent.h"

#define VERSION 1
/* All its paths, percent-encoded, and what stands beside them. */
#define SIZE_MAX_OF_ALL (4 * (size_t)TH_FILES_PATHS_MAX + 256 * (size_t)TH_FILES_MAX)

const struct th_manifest_limits th_manifest_limits = {
	.tree = { TH_FILES_MAX, TH_FILES_DEPTH_MAX, TH_FILES_PATHS_MAX },
	.compare = TH_FILES_COMPARE_MAX,
	.compare_all = TH_FILES_COMPARE_ALL_MAX,
	.copy = TH_FILES_COPY_MAX,
	.copies = TH_FILES_COPIES_MAX,
};

static const char *const kinds[] = { "file", "link", "special", NULL };

bool th_is_text(struct th_str bytes, bool cut)
{
	size_t good = th_utf8_valid(bytes);

	return th_str_find_char(bytes, '\0') < 0 &&
	       (good == bytes.len || (cut && bytes.len - good < 4));
}

/* ---- contents ---- */

/* Reads what is to be compared of one entry; false: too large for what is left, or unreadable. */
static bool content_read(int dir_fd, const struct th_folder_entry *e,
			 const struct th_manifest_limits *limits, size_t *spent, struct th_buf *out)
{
	TH_CLEANUP(th_fd_close) int fd = -1;
	struct th_err ignored;
	struct stat st;
	size_t most = TH_MIN(limits->compare, limits->compare_all - *spent);

	th_buf_clear(out);
	if (e->kind == TH_FOLDER_SPECIAL || e->size > most)
		return false;
	if (e->kind == TH_FOLDER_LINK
		? th_folder_link(dir_fd, e->path, out, &ignored) != TH_OK
		: th_folder_open(dir_fd, e->path, &fd, &st, &ignored) != TH_OK ||
		      th_file_read_fd(fd, most, out, &ignored) != TH_OK)
		return false;
	*spent += TH_MIN(out->len, most);
	return true;
}

/* ---- at the start ---- */

/* What a text was, under its digest.  It is not forced to the disk, of which there may be many: who
 * reads it looks at the digest again. */
static enum th_code keep(int kept_fd, const char *hex, struct th_str bytes, struct th_err *err)
{
	TH_CLEANUP(th_fd_close)
	int fd = openat(kept_fd, hex, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 && errno == EEXIST)
		return TH_OK;
	if (fd < 0)
		return th_fail_errno(err, errno, "the copy of a file");
	return th_file_write_fd(fd, bytes, err);
}

struct start {
	int dir_fd, kept_fd;
	const struct th_manifest_limits *limits;
	size_t compared, copied;
	struct th_buf bytes;
	struct th_jw w;
};

static enum th_code put_entry(struct start *s, const struct th_folder_entry *e, struct th_err *err)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(3 * TH_PATH_LEN_MAX * 4);
	char hex[TH_SHA256_HEX_SIZE + 1];
	enum th_code code = TH_OK;

	th_percent_encode(e->path, &name);
	th_jw_object(&s->w);
	th_jw_kstr(&s->w, "path", th_buf_str(&name));
	th_jw_kstr(&s->w, "kind", th_str_of(kinds[e->kind]));
	th_jw_kuint(&s->w, "size", e->size);
	th_jw_kint(&s->w, "mtime_ns", e->mtime_ns);
	if (content_read(s->dir_fd, e, s->limits, &s->compared, &s->bytes)) {
		struct th_str bytes = th_buf_str(&s->bytes);
		struct th_digest digest = th_sha256_of(bytes.ptr, bytes.len);
		bool text = e->kind == TH_FOLDER_FILE && th_is_text(bytes, false);
		bool kept = text && bytes.len <= s->limits->copy &&
			    bytes.len <= s->limits->copies - s->copied;

		th_digest_hex(&digest, hex);
		th_jw_kstr(&s->w, "sha256", th_str_of(hex));
		th_jw_kbool(&s->w, "binary", !text);
		th_jw_kbool(&s->w, "kept", kept);
		if (kept) {
			s->copied += bytes.len;
			code = keep(s->kept_fd, hex, bytes, err);
		}
	}
	th_jw_object_end(&s->w);
	return code;
}

static enum th_code put_manifest(int dir_fd, int kept_fd, const struct th_folder *tree,
				 const struct th_manifest_limits *limits, struct th_err *err)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(SIZE_MAX_OF_ALL);
	struct start s = {
		.dir_fd = dir_fd, .kept_fd = kept_fd, .limits = limits, .w = th_jw(&json)
	};
	enum th_code code = TH_OK;

	th_buf_init(&s.bytes, limits->compare + TH_PATH_LEN_MAX);
	th_jw_object(&s.w);
	th_jw_kint(&s.w, "version", VERSION);
	th_jw_kint(&s.w, "taken_ms", (int64_t)th_clock_wall_ms());
	if (tree->missed)
		th_jw_kstr(&s.w, "missed", th_str_of(tree->missed));
	th_jw_name(&s.w, TH_STR("files"));
	th_jw_array(&s.w);
	for (size_t i = 0; i < tree->count && !code; i++)
		code = put_entry(&s, &tree->list[i], err);
	th_jw_array_end(&s.w);
	th_jw_object_end(&s.w);
	th_buf_deinit(&s.bytes);
	if (!code)
		code = th_buf_check(&json, "the manifest", err);
	return code ? code : th_file_write_at(kept_fd, "manifest", th_buf_str(&json), 0600, err);
}

enum th_code th_manifest_begin(int dir_fd, const char *kept,
			       const struct th_manifest_limits *limits, struct th_err *err)
{
	TH_CLEANUP(th_fd_close) int kept_fd = -1;
	struct th_folder tree TH_CLEANUP(th_folder_deinit) = {};
	enum th_code code;

	th_folder_read(dir_fd, &limits->tree, &tree);
	if (!tree.count && !tree.missed)
		return TH_OK;
	code = th_dir_make(kept, 0700, err);
	if (code)
		return code;
	kept_fd = open(kept, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (kept_fd < 0)
		return th_fail_errno(err, errno, "%s", kept);
	if (faccessat(kept_fd, "manifest", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return TH_OK;
	return put_manifest(dir_fd, kept_fd, &tree, limits, err);
}

/* ---- read again ---- */

struct was {
	struct th_str path;
	enum th_folder_kind kind;
	uint64_t size;
	int64_t mtime_ns;
	struct th_digest digest;
	bool known, binary, kept; /* known: its content was read */
};

struct manifest {
	struct was *list;
	size_t count;
	int64_t taken_ms;
	char *missed; /* NULL: all of it was followed */
	struct th_arena memory;
};

static void manifest_deinit(struct manifest *m)
{
	free(m->list);
	th_arena_deinit(&m->memory);
}

static bool parse_entry(const struct th_json *v, struct manifest *m, struct was *ret)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_PATH_LEN_MAX);
	int kind = th_names_find(kinds, th_json_get_str(v, "kind"));

	ret->known = th_digest_parse(th_json_get_str(v, "sha256"), &ret->digest);
	ret->binary = th_json_bool(th_json_get(v, "binary"), true);
	ret->kept = ret->known && th_json_bool(th_json_get(v, "kept"), false);
	ret->size = th_json_uint(th_json_get(v, "size"), 0);
	ret->mtime_ns = th_json_get_int(v, "mtime_ns", 0);
	if (kind < 0 || !th_percent_decode(th_json_get_str(v, "path"), &path))
		return false;
	ret->kind = (enum th_folder_kind)kind;
	ret->path = th_arena_str(&m->memory, th_buf_str(&path));
	return ret->path.len > 0;
}

static enum th_code parse(struct th_str text, struct manifest *m, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *files;
	struct th_json_iter it;
	enum th_code code = th_json_parse(text, &doc, err);
	struct th_str missed;

	if (code)
		return code;
	if (th_json_get_int(th_json_root(doc), "version", 0) != VERSION)
		return th_fail(err, TH_EPROTO, "it is of another version of thole");
	m->taken_ms = th_json_get_int(th_json_root(doc), "taken_ms", 0);
	missed = th_json_get_str(th_json_root(doc), "missed");
	m->missed = missed.len ? th_arena_cstr(&m->memory, missed) : NULL;
	files = th_json_get(th_json_root(doc), "files");
	m->list = th_alloc((th_json_count(files) + 1) * sizeof(*m->list));
	it = th_json_iter(files);
	while (th_json_next(&it))
		if (!parse_entry(it.val, m, &m->list[m->count++]))
			return th_fail(err, TH_EPROTO, "one of its files cannot be read");
	return TH_OK;
}

/* None: all is zero, a folder that was empty. */
static enum th_code manifest_read(const char *kept, struct manifest *m, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(SIZE_MAX_OF_ALL);
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	enum th_code code;

	*m = (struct manifest){};
	th_arena_init(&m->memory, 2 * (size_t)TH_FILES_PATHS_MAX);
	th_buf_printf(&path, "%s/manifest", kept);
	code = th_buf_check(&path, "the manifest's path", err);
	if (!code)
		code = th_file_read(path.ptr, SIZE_MAX_OF_ALL, &text, err);
	if (code == TH_ENOENT)
		return TH_OK;
	if (!code)
		code = parse(th_buf_str(&text), m, err);
	return code ? th_prefix(err, code, "the manifest") : TH_OK;
}

/* ---- what changed ---- */

struct comparing {
	int dir_fd;
	const struct th_manifest_limits *limits;
	size_t compared;
	struct th_buf bytes;
	struct th_jw w;
};

/* `ret_note`: what is not sure about it; NULL: nothing. */
static bool same(struct comparing *c, const struct was *o, const struct th_folder_entry *n,
		 const char **ret_note)
{
	struct th_digest digest;

	if (o->kind != n->kind || o->size != n->size)
		return false;
	if (n->kind == TH_FOLDER_SPECIAL)
		return true;
	if (!o->known || !content_read(c->dir_fd, n, c->limits, &c->compared, &c->bytes)) {
		*ret_note = "only its size and time were compared";
		return o->mtime_ns == n->mtime_ns;
	}
	digest = th_sha256_of(c->bytes.ptr, c->bytes.len);
	return th_digest_eq(&o->digest, &digest);
}

static bool is_binary(struct comparing *c, const struct th_folder_entry *n, const char **ret_note)
{
	TH_CLEANUP(th_fd_close) int fd = -1;
	struct th_err ignored;
	char bytes[TH_FILES_SNIFF];
	struct stat st;
	ssize_t got;

	if (n->kind != TH_FOLDER_FILE)
		return true;
	if (th_folder_open(c->dir_fd, n->path, &fd, &st, &ignored) != TH_OK ||
	    (got = read(fd, bytes, sizeof(bytes))) < 0) {
		*ret_note = "it cannot be read";
		return true;
	}
	return !th_is_text(th_str_n(bytes, (size_t)got), (size_t)got == sizeof(bytes));
}

static void put_path(struct th_jw *w, struct th_str path)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(16 * TH_PATH_LEN_MAX);

	th_jw_kstr(w, "path", path); /* what is no UTF-8 is replaced there */
	if (th_utf8_valid(path) == path.len)
		return;
	th_percent_encode(path, &text);
	th_jw_kstr(w, "encoded", th_buf_str(&text));
}

static void put_change(struct comparing *c, const struct was *o, const struct th_folder_entry *n,
		       const char *note)
{
	bool binary = n ? is_binary(c, n, &note) : o->binary;

	th_jw_object(&c->w);
	put_path(&c->w, n ? n->path : o->path);
	th_jw_kstr(&c->w, "kind", th_str_of(kinds[n ? n->kind : o->kind]));
	th_jw_kstr(&c->w, "state",
		   o && n ? TH_STR("changed")
		   : n    ? TH_STR("added")
			  : TH_STR("removed"));
	th_jw_name(&c->w, TH_STR("size"));
	if (n)
		th_jw_uint(&c->w, n->size);
	else
		th_jw_null(&c->w);
	th_jw_name(&c->w, TH_STR("was_size"));
	if (o)
		th_jw_uint(&c->w, o->size);
	else
		th_jw_null(&c->w);
	th_jw_kbool(&c->w, "binary", binary);
	if (note)
		th_jw_kstr(&c->w, "note", th_str_of(note));
	th_jw_object_end(&c->w);
}

/* Both lists are sorted.  What was not followed, then or now, is not guessed about. */
static void merge(struct comparing *c, const struct manifest *m, const struct th_folder *t)
{
	size_t i = 0, j = 0;

	while (i < m->count || j < t->count) {
		const struct was *o = i < m->count ? &m->list[i] : NULL;
		const struct th_folder_entry *n = j < t->count ? &t->list[j] : NULL;
		int order = !o ? 1 : !n ? -1 : th_str_cmp(o->path, n->path);
		const char *note = NULL;

		if (order < 0) {
			if (!t->missed)
				put_change(c, o, NULL, NULL);
		} else if (order > 0) {
			if (!m->missed || n->mtime_ns / 1000000 >= m->taken_ms)
				put_change(c, NULL, n, NULL);
		} else if (!same(c, o, n, &note)) {
			put_change(c, o, n, note);
		}
		i += order <= 0;
		j += order >= 0;
	}
}

enum th_code th_manifest_changes(int dir_fd, const char *kept,
				 const struct th_manifest_limits *limits, struct th_buf *out,
				 struct th_err *err)
{
	struct manifest m TH_CLEANUP(manifest_deinit) = {};
	struct th_folder tree TH_CLEANUP(th_folder_deinit) = {};
	struct comparing c = { .dir_fd = dir_fd, .limits = limits, .w = th_jw(out) };
	enum th_code code = manifest_read(kept, &m, err);
	const char *missed;

	if (code)
		return code;
	th_buf_init(&c.bytes, limits->compare + TH_PATH_LEN_MAX);
	th_folder_read(dir_fd, &limits->tree, &tree);
	th_jw_object(&c.w);
	th_jw_name(&c.w, TH_STR("files"));
	th_jw_array(&c.w);
	merge(&c, &m, &tree);
	th_jw_array_end(&c.w);
	missed = tree.missed ? tree.missed : m.missed;
	th_jw_kbool(&c.w, "complete", !missed);
	if (missed)
		th_jw_kstr(&c.w, "reason", th_str_of(missed));
	th_jw_object_end(&c.w);
	th_buf_deinit(&c.bytes);
	return th_buf_check(out, "the list of files", err);
}

/* ---- one file as a diff ---- */

static const struct was *find(const struct manifest *m, struct th_str path)
{
	for (size_t i = 0; i < m->count; i++)
		if (th_str_eq(m->list[i].path, path))
			return &m->list[i];
	return NULL;
}

static enum th_code read_before(const char *kept, const struct was *o, struct th_buf *out,
				struct th_err *err)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	char hex[TH_SHA256_HEX_SIZE + 1];
	struct th_digest digest;
	enum th_code code;

	if (o->known && o->binary)
		return th_fail(err, TH_EPROTO, "it was no text at the session's start");
	if (!o->kept)
		return th_fail(err, TH_EPROTO,
			       "what it was at the session's start is not kept: only small texts "
			       "are");
	th_digest_hex(&o->digest, hex);
	th_buf_printf(&path, "%s/%s", kept, hex);
	code = th_buf_check(&path, "the copy's path", err);
	if (!code)
		code = th_file_read(path.ptr, TH_FILES_COPY_MAX, out, err);
	if (code)
		return code;
	digest = th_sha256_of(out->ptr, out->len);
	return th_digest_eq(&digest, &o->digest)
		   ? TH_OK
		   : th_fail(err, TH_EPROTO, "the copy of what it was is damaged");
}

static enum th_code read_after(int dir_fd, struct th_str path, struct th_buf *out,
			       struct th_err *err)
{
	TH_CLEANUP(th_fd_close) int fd = -1;
	struct stat st;
	enum th_code code = th_folder_open(dir_fd, path, &fd, &st, err);

	if (!code)
		code = th_file_read_fd(fd, TH_FILES_DIFF_MAX, out, err);
	if (!code && !th_is_text(th_buf_str(out), false))
		code = th_fail(err, TH_EPROTO, "it is no text");
	return code;
}

enum th_code th_manifest_diff(int dir_fd, const char *kept, struct th_str path, struct th_buf *out,
			      struct th_err *err)
{
	struct th_buf before TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_FILES_COPY_MAX + 1);
	struct th_buf after TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_FILES_DIFF_MAX + 1);
	struct manifest m TH_CLEANUP(manifest_deinit) = {};
	const struct th_str none = { NULL, 0 };
	const struct was *o;
	enum th_code code = manifest_read(kept, &m, err);
	bool is, was;

	if (code)
		return code;
	o = find(&m, path);
	code = read_after(dir_fd, path, &after, err);
	is = code != TH_ENOENT;
	was = o && o->kind == TH_FOLDER_FILE;
	if (code && (is || !was))
		return code;
	if (!o && m.missed)
		return th_fail(err, TH_EPROTO,
			       "what it was at the session's start is not known: %s", m.missed);
	code = was ? read_before(kept, o, &before, err) : TH_OK;
	return code ? code
		    : th_diff(th_buf_str(&before), th_buf_str(&after), was ? path : none,
			      is ? path : none, out, err);
}
