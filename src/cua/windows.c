/* SPDX-License-Identifier: Apache-2.0 */
/*
 * windows.c - commands for the windows of the face's desktop (cua.h).
 *
 * xdotool, wmctrl and xwininfo speak to the window manager.  Each command is
 * a script of ours whose words are numbers, so nothing that a client or a
 * window's title says is read by the shell.
 */
#include "cua/cua.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "base/text.h"

enum { NOT_FOUND = 3, NO_PROGRAMS = 4 }; /* exit codes of the scripts */

#define PROGRAMS "for p in xdotool wmctrl xwininfo; do command -v $p >/dev/null || exit 4; done; "
#define ACTIVE "w=$(xdotool getactivewindow 2>/dev/null) || exit 3; "
/* NAME=NUMBER, a line each; xdotool says another place than the window manager was given. */
#define GEOMETRY "xwininfo -id $w | sed -n 's/^ *\\(.*\\): *\\(-\\{0,1\\}[0-9]*\\)$/\\1=\\2/p'"
#define IS_THERE "xdotool getwindowname $w >/dev/null 2>&1 || exit 3; "

/* False: the job has failed. */
static bool went_well(struct th_cua_job *job, int exit_code, struct th_str bytes)
{
	if (exit_code == NOT_FOUND)
		th_cua_fail(job, "%s",
			    strstr(job->row->params, "window_id") ? "Window not found"
								  : "No active window");
	else if (exit_code == NO_PROGRAMS)
		th_cua_fail(job,
			    "windows need the programs xdotool, wmctrl and xwininfo, "
			    "which are not all installed (packages xdotool, wmctrl, x11-utils)");
	else if (exit_code)
		th_cua_fail(job, "%.*s", TH_FMT(th_str_trim(bytes)));
	return exit_code == 0;
}

/* A window's number, of a number or a text.  False: the job has failed. */
static bool need_window(struct th_cua_job *job, int64_t *ret)
{
	const struct th_json *given = th_json_get(job->command.params, "window_id");
	struct th_str text = th_json_str(given);

	if (!given) {
		th_cua_fail(job, "%s() missing 1 required positional argument: 'window_id'",
			    job->row->name);
		return false;
	}
	*ret = th_json_int(given, -1);
	if (text.len && !th_str_i64(text, ret))
		*ret = -1;
	if (*ret > 0 && *ret <= UINT32_MAX)
		return true;
	th_cua_fail(job, "Window not found");
	return false;
}

static bool need_number(struct th_cua_job *job, const char *name, int64_t least, int64_t *ret)
{
	const struct th_json *given = th_json_get(job->command.params, name);

	*ret = th_json_int(given, INT64_MIN);
	if (given && *ret >= least && *ret <= INT16_MAX)
		return true;
	th_cua_fail(job, "%s is a number of pixels, %lld to %d", name, (long long)least, INT16_MAX);
	return false;
}

/* ---- what a script says ---- */

static void then_nothing(struct th_cua_job *job, struct th_str said, int exit_code,
			 struct th_str bytes)
{
	(void)said;
	if (went_well(job, exit_code, bytes))
		th_cua_done(job, TH_STR(""));
}

static void then_id(struct th_cua_job *job, struct th_str said, int exit_code, struct th_str bytes)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	int64_t id;

	(void)said;
	if (!went_well(job, exit_code, bytes))
		return;
	if (!th_str_i64(th_str_trim(bytes), &id)) {
		th_cua_fail(job, "No active window");
		return;
	}
	th_buf_printf(&out, "\"window_id\":%lld", (long long)id);
	th_cua_done(job, th_buf_str(&out));
}

static void then_name(struct th_cua_job *job, struct th_str said, int exit_code,
		      struct th_str bytes)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_jw w = th_jw(&out);
	bool title = strcmp(job->row->detail, "title") == 0;

	(void)said;
	if (title && exit_code == NOT_FOUND) /* no window is active: the title is empty */
		bytes = TH_STR("");
	else if (!went_well(job, exit_code, bytes))
		return;
	if (th_str_ends(bytes, TH_STR("\n")))
		bytes.len--;
	th_utf8_clean(&name, bytes);
	th_buf_printf(&out, "\"%s\":", title ? "title" : "name");
	th_jw_str(&w, th_buf_str(&name));
	if (title) { /* two clients, two names */
		struct th_jw again = th_jw(&out);

		th_buf_add_cstr(&out, ",\"result\":");
		th_jw_str(&again, th_buf_str(&name));
	}
	th_cua_done(job, th_buf_str(&out));
}

/* Of lines NAME=NUMBER.  0: it is not there. */
static int64_t value_of(struct th_str lines, const char *name)
{
	while (lines.len) {
		struct th_str value = th_str_split(&lines, '\n');
		struct th_str key = th_str_split(&value, '=');
		int64_t n;

		if (th_str_is(key, name) && th_str_i64(value, &n))
			return n;
	}
	return 0;
}

/* Where its frame begins, in pixels. */
static int64_t place_of(struct th_str lines, char axis)
{
	char absolute[32], relative[32];

	snprintf(absolute, sizeof(absolute), "Absolute upper-left %c", axis);
	snprintf(relative, sizeof(relative), "Relative upper-left %c", axis);
	return value_of(lines, absolute) - value_of(lines, relative);
}

static void then_geometry(struct th_cua_job *job, struct th_str said, int exit_code,
			  struct th_str bytes)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const char *what = job->row->detail;

	(void)said;
	if (!went_well(job, exit_code, bytes))
		return;
	if (strcmp(what, "size") != 0)
		th_buf_printf(&out, "\"x\":%lld,\"y\":%lld", (long long)place_of(bytes, 'X'),
			      (long long)place_of(bytes, 'Y'));
	if (strcmp(what, "bounds") == 0)
		th_buf_add_char(&out, ',');
	if (strcmp(what, "position") != 0)
		th_buf_printf(&out, "\"width\":%lld,\"height\":%lld",
			      (long long)value_of(bytes, "Width"),
			      (long long)value_of(bytes, "Height"));
	th_cua_done(job, th_buf_str(&out));
}

/* ---- windows of a program ---- */

/* "0x01e00003  0 host title…": the id, and the title, which may be empty. */
static bool line_read(struct th_str line, uint64_t *ret_id, struct th_str *ret_title)
{
	struct th_str id = th_str_split(&line, ' ');
	unsigned digit;

	if (!th_str_starts(id, TH_STR("0x")) || id.len < 3 || id.len > 10)
		return false;
	*ret_id = 0;
	for (size_t i = 2; i < id.len; i++) {
		char c = (char)(id.ptr[i] | 0x20);

		if (!isxdigit((unsigned char)c))
			return false;
		digit = c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
		*ret_id = *ret_id * 16 + digit;
	}
	for (int i = 0; i < 2; i++) { /* the desktop, the host */
		while (line.len && line.ptr[0] == ' ')
			line = th_str_sub(line, 1, line.len);
		(void)th_str_split(&line, ' ');
	}
	*ret_title = line;
	return true;
}

static bool has_text(struct th_str text, struct th_str part)
{
	for (size_t i = 0; i + part.len <= text.len; i++)
		if (strncasecmp(text.ptr + i, part.ptr, part.len) == 0)
			return true;
	return false;
}

static void then_windows(struct th_cua_job *job, struct th_str said, int exit_code,
			 struct th_str bytes)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_str app = th_json_get_str(job->command.params, "app"), title;
	const char *mark = "";
	uint64_t id;

	(void)said;
	if (!went_well(job, exit_code, bytes))
		return;
	th_buf_add_cstr(&out, "\"windows\":[");
	while (bytes.len) {
		struct th_str line = th_str_split(&bytes, '\n');

		if (!line_read(line, &id, &title) || (app.len && !has_text(title, app)))
			continue;
		th_buf_printf(&out, "%s%llu", mark, (unsigned long long)id);
		mark = ",";
	}
	th_buf_add_char(&out, ']');
	th_cua_done(job, th_buf_str(&out));
}

/* ---- commands ---- */

static void run(struct th_cua_job *job, const char *script, th_cua_then *then)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);

	th_buf_printf(&text, PROGRAMS "%s", script);
	th_cua_shell(job, TH_STR(""), th_buf_str(&text), then);
}

void th_cua_window_active(struct th_cua_job *job)
{
	if (!job->row->detail)
		run(job, ACTIVE "echo $w", then_id);
	else if (strcmp(job->row->detail, "title") == 0)
		run(job, ACTIVE "xdotool getwindowname $w", then_name);
	else
		run(job, ACTIVE GEOMETRY, then_geometry);
}

void th_cua_window_list(struct th_cua_job *job)
{
	run(job, "wmctrl -l", then_windows);
}

/* What is asked of one window; `detail` says what. */
void th_cua_window_ask(struct th_cua_job *job)
{
	bool name = strcmp(job->row->detail, "name") == 0;
	char script[256];
	int64_t id;

	if (!need_window(job, &id))
		return;
	snprintf(script, sizeof(script), "w=%lld; " IS_THERE "%s", (long long)id,
		 name ? "xdotool getwindowname $w" : GEOMETRY);
	run(job, script, name ? then_name : then_geometry);
}

/* What is done to one: `detail` is the command, to which the window's number is added. */
void th_cua_window_do(struct th_cua_job *job)
{
	char script[256];
	int64_t id;

	if (!need_window(job, &id))
		return;
	snprintf(script, sizeof(script), "w=%lld; " IS_THERE "%s", (long long)id, job->row->detail);
	run(job, script, then_nothing);
}

/* To a size or a place. */
void th_cua_window_set(struct th_cua_job *job)
{
	bool size = strcmp(job->row->detail, "windowsize") == 0;
	char script[256];
	int64_t id, a, b;

	if (!need_window(job, &id) ||
	    !need_number(job, size ? "width" : "x", size ? 1 : INT16_MIN, &a) ||
	    !need_number(job, size ? "height" : "y", size ? 1 : INT16_MIN, &b))
		return;
	snprintf(script, sizeof(script), "w=%lld; " IS_THERE "xdotool %s $w %lld %lld",
		 (long long)id, job->row->detail, (long long)a, (long long)b);
	run(job, script, then_nothing);
}

/* A file or an address, with the program that the desktop has for it. */
void th_cua_open(struct th_cua_job *job)
{
	struct th_str target = th_json_get_str(job->command.params, "target");

	if (!target.len)
		target = th_json_get_str(job->command.params, "path"); /* as Cua's shell says it */
	if (!target.len) {
		(void)th_cua_need(job, "target", &target);
		return;
	}
	th_cua_shell(job, target,
		     TH_STR("command -v xdg-open >/dev/null || { echo 'opening needs the program "
			    "xdg-open, which is not installed (package xdg-utils)'; exit 1; }; "
			    "case $p in http://*|https://*) ;; *) [ -e \"$p\" ] || "
			    "{ echo \"there is no file $p\"; exit 1; };; esac; "
			    "setsid xdg-open \"$p\" >/dev/null 2>&1 </dev/null &"),
		     then_nothing);
}
