/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upload.c - /api/file: files of a conversation's folder that a client fetches and puts there.
 *
 * A file is written by commands of the session's executor, in its sandbox, piece by piece into a
 * file beside it, which then takes its name.  Each is in the log as its user's.  One that ends in
 * between leaves that file behind.
 */
#include <stdlib.h>

#include "base/codec.h"
#include "base/shell.h"
#include "io/clock.h"
#include "openhands_api/internal.h"
#include "server/files.h"
#include "wire/multipart.h"

#define PIECE (288 * TH_KIB) /* 384 in base64 */
#define IS_FOLDER 21         /* exit codes of the script */
#define NO_FOLDER 22

struct upload {
	struct th_access *access; /* NULL: its client left; what was begun is ended */
	struct th_server *server;
	char session[TH_SESSION_ID_MAX + 1], user[TH_USER_MAX + 1];
	char part[TH_UUID_TEXT_SIZE + 1]; /* of the name that it has meanwhile */
	struct th_buf path, bytes;
	size_t at;
};

static void upload_free(struct upload *u)
{
	th_buf_deinit(&u->path);
	th_buf_deinit(&u->bytes);
	free(u);
}

static void on_gone(struct th_access *a)
{
	struct upload *u = a->ctx;

	u->access = NULL;
}

static void print_script(const struct upload *u, bool first, bool last, struct th_buf *out)
{
	th_buf_add_cstr(out, "t=");
	th_shell_word(th_buf_str(&u->path), out);
	th_buf_printf(out,
		      "\nd=$(dirname -- \"$t\")\np=$d/.thole-%s\n"
		      "[ ! -d \"$t\" ] || exit %d\n"
		      "mkdir -p -- \"$d\" || exit %d\n"
		      "tr -d '\"' | base64 -d %s \"$p\"",
		      u->part, IS_FOLDER, NO_FOLDER, first ? ">" : ">>");
	if (last)
		th_buf_add_cstr(out, " && mv -f -- \"$p\" \"$t\"");
	th_buf_add_cstr(out, "\ns=$?\n[ $s = 0 ] || rm -f -- \"$p\"\nexit $s\n");
}

static void refuse(struct th_access *a, const struct th_oh_ended *end)
{
	if (end->ran && end->exit_code == IS_FOLDER)
		th_access_fail(a, 400, NULL, "Path is a directory");
	else if (end->ran && end->exit_code == NO_FOLDER)
		th_access_fail(a, 400, NULL, "A parent of the path is not a directory");
	else
		th_access_fail(a, 500, NULL, "the file was not written: %.*s",
			       TH_FMT(th_str_sub(end->ran ? end->err : end->why, 0, TH_KIB)));
}

static int put_piece(struct upload *u, struct th_hub *h, struct thole_error *err);

static void on_ended(void *ctx, const struct th_oh_ended *end)
{
	struct upload *u = ctx;
	struct th_access *a = u->access;
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_hub *h = th_hub_find(u->server, u->session);
	bool good = end->ran && end->exit_code == 0;
	struct thole_error err;
	int code = 0;

	if (good && u->at < u->bytes.len) { /* h: the session is open still */
		code = put_piece(u, h, &err);
		if (!code)
			return;
	}
	th_buf_printf(&json, "{\"success\":true,\"file_size\":%zu}", u->bytes.len);
	if (a)
		a->gone = NULL;
	if (a && code)
		th_access_error(a, &err);
	else if (a && good)
		th_access_json(a, 200, &json);
	else if (a)
		refuse(a, end);
	upload_free(u);
}

static int put_piece(struct upload *u, struct th_hub *h, struct thole_error *err)
{
	struct th_buf script TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_PATH_LEN_MAX);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * PIECE);
	struct th_str piece = th_str_sub(th_buf_str(&u->bytes), u->at, PIECE);
	bool first = u->at == 0, last = u->at + piece.len == u->bytes.len;
	const char *options[] = { "input", NULL, NULL };

	th_base64_encode(&text, piece.ptr, piece.len);
	print_script(u, first, last, &script);
	options[1] = text.ptr ?: "";
	u->at += piece.len;
	return th_oh_act(h, u->user, script.ptr, options, on_ended, u, err);
}

static void put(struct th_access *a, const char *session, int status)
{
	struct th_hub *h = th_hub_find(a->server, session);
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct th_uuid id = th_uuid_now();
	struct thole_error err;
	struct th_str bytes;
	struct upload *u;

	(void)status;
	(void)th_access_query(a, "path", &path);
	if (!th_multipart_find(th_http_header(a->request, "content-type"), th_http_body(a->request),
			       TH_STR("file"), &bytes)) {
		th_access_fail(a, 422, NULL, "the body has no part that is called file");
		return;
	}
	u = th_alloc(sizeof(*u));
	*u = (struct upload){ .access = a,
			      .server = a->server,
			      .path = TH_BUF_INIT(TH_PATH_LEN_MAX),
			      .bytes = TH_BUF_INIT(TH_SERVE_OPENHANDS_UPLOAD_MAX) };
	memcpy(u->session, h->id, sizeof(u->session));
	memcpy(u->user, a->user, sizeof(u->user));
	th_uuid_text(&id, u->part);
	if (!th_oh_place(a, "path", th_buf_str(&path), &u->path)) {
		upload_free(u);
		return;
	}
	th_buf_add(&u->bytes, bytes);
	if (u->bytes.failed) {
		upload_free(u);
		th_access_fail(a, 413, NULL, "a file has at most %zu bytes",
			       (size_t)TH_SERVE_OPENHANDS_UPLOAD_MAX);
	} else if (put_piece(u, h, &err) != 0) {
		upload_free(u);
		th_access_error(a, &err);
	} else {
		a->ctx = u;
		a->gone = on_gone;
	}
}

/* The path of the query below the conversation's folder; false: it was answered. */
static bool read_path(struct th_access *a, struct th_buf *below)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);

	if (!th_access_query(a, "path", &path) || !path.len || path.ptr[0] != '/') {
		th_access_fail(a, 400, NULL, "Path must be absolute");
		return false;
	}
	if (!th_oh_place(a, "path", th_buf_str(&path), below))
		return false;
	if (below->len)
		return true;
	th_access_fail(a, 400, NULL, "Path is a directory");
	return false;
}

void th_oh_upload(struct th_access *a)
{
	struct th_buf below TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);

	if (read_path(a, &below))
		th_oh_with_open(a, put);
}

void th_oh_download(struct th_access *a)
{
	struct th_buf below TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);

	if (read_path(a, &below))
		th_access_files(a, TH_FILES_GET, th_buf_str(&below));
}
