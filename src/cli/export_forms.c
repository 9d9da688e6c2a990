/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/export_forms.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "admin/openhands.h"
#include "admin/trajectory.h"
#include "admin/transfer.h"
#include "base/limits.h"
#include "cli/cli.h"
#include "cli/export_html.h"

static enum th_code put(int fd, struct th_str text, struct th_err *err)
{
	return th_cli_write(fd, text)
		   ? TH_OK
		   : th_fail(err, TH_EIO, "cannot write to %s: %s",
			     fd == STDOUT_FILENO ? "standard output" : "the file", strerror(errno));
}

static enum th_code put_line(void *ctx, struct th_str line, struct th_err *err)
{
	int fd = *(const int *)ctx;

	return put(fd, line, err) ?: put(fd, TH_STR("\n"), err);
}

static enum th_code write_lines(struct th_store *store, const struct th_session_row *row, int fd,
				struct th_err *err)
{
	return th_session_export(store, row->session_id, put_line, &fd, err);
}

/* Says the size first: a session with many pictures is a big file. */
static enum th_code write_html(struct th_store *store, const struct th_session_row *row, int fd,
			       struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_html_size size;
	enum th_code code = th_html_measure(store, row, &size, err);

	if (code)
		return code;
	th_cli_size(&text, (int64_t)size.bytes);
	th_buf_add_cstr(&text, ": ");
	th_cli_count(&text, (int64_t)size.events, "event");
	th_buf_add_cstr(&text, " and ");
	th_cli_count(&text, (int64_t)size.pictures, "picture");
	th_buf_add_char(&text, '\n');
	(void)th_cli_write(STDERR_FILENO, th_buf_str(&text));
	return th_html_write(store, row, fd, err);
}

static enum th_code put_text(void *ctx, struct th_str text, struct th_err *err)
{
	return put(*(const int *)ctx, text, err);
}

#define TRAJECTORY(form)                                                                           \
	static enum th_code write_##form(struct th_store *store, const struct th_session_row *row, \
					 int fd, struct th_err *err)                               \
	{                                                                                          \
		return th_trajectory_export(store, row, &th_trajectory_##form, put_text, &fd,      \
					    err);                                                  \
	}

TRAJECTORY(atif)
TRAJECTORY(openai)
TRAJECTORY(anthropic)
TRAJECTORY(sharegpt)

static enum th_code openhands_v1(struct th_store *store, const struct th_session_row *row,
				 const char *path, struct th_err *err)
{
	return th_openhands_export(store, row, false, path, err);
}

static enum th_code openhands_v0(struct th_store *store, const struct th_session_row *row,
				 const char *path, struct th_err *err)
{
	return th_openhands_export(store, row, true, path, err);
}

static const struct th_export_form forms[] = {
	{ "lines", write_lines, NULL },         { "html", write_html, NULL },
	{ "atif", write_atif, NULL },           { "openai", write_openai, NULL },
	{ "anthropic", write_anthropic, NULL }, { "sharegpt", write_sharegpt, NULL },
	{ "openhands", NULL, openhands_v1 },    { "openhands-v0", NULL, openhands_v0 },
};

const struct th_export_form *th_export_form(struct th_str name)
{
	for (size_t i = 0; i < TH_COUNT(forms); i++)
		if (th_str_is(name, forms[i].name))
			return &forms[i];
	return NULL;
}
