/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cua.h - Cua's computer-server face of `thole serve` (--cua): one private desktop
 * for clients that speak that protocol (wire/cua.h, docs/CUA.md).
 *
 * It has a listener of its own with these routes alone, on the loopback.  It
 * drives a computer of its own through thole.h, of no session.  A command is a
 * job: one row of th_cua_commands starts it, and it ends once, by th_cua_done or
 * th_cua_fail, now or later.
 */
#ifndef TH_CUA_CUA_H
#define TH_CUA_CUA_H

#include "server/service.h"
#include "wire/cua.h"

struct th_cua;
struct th_cua_job;
struct th_cua_mcp;
struct th_cua_pty;
struct th_cua_socket;

typedef void th_cua_fn(struct th_cua_job *job);
typedef void th_cua_answered_fn(void *to, struct th_str json);
/* What a call of the computer said, when it was done; else the job has failed.  `said`: its text;
 * `exit_code` of a command; below 0: its time was over. */
typedef void th_cua_then(struct th_cua_job *job, struct th_str said, int exit_code,
			 struct th_str bytes);

struct th_cua_row {
	const char *name;
	const char *params; /* for GET /commands: "x y? button?=left", in Cua's order */
	th_cua_fn *fn;
	const char *detail; /* of the function: an action, a script, a sentence */
};
extern const struct th_cua_row th_cua_commands[]; /* ended by a NULL name */
extern const char *const th_cua_aliases[][2];     /* the same */
/* Commands, and the member that th_cua_print_flat repeats instead of all. */
extern const char *const th_cua_results[][2];

struct th_cua_job {
	struct th_cua_job *prev, *next;
	struct th_cua *cua;
	th_cua_answered_fn *answered; /* NULL: nobody waits any more */
	/* Of the call that was answered; good in `then` alone. */
	const struct th_json *evidence, *output;
	struct th_str written; /* by a command, also by one that was ended */
	void *to;
	struct th_json_doc *doc;
	struct th_cua_command command;
	const struct th_cua_row *row;
	th_cua_then *then;
	struct th_buf bytes; /* of a file or a command, so far; or to be written */
	size_t at, end;      /* of what is read or written */
	struct th_buf path;  /* of the file */
	struct th_buf out;   /* output of a command, while its errors are read */
	int exit_code;
	int step;
	bool whole, cut; /* all of it is wanted; the output was longer */
};

struct th_cua {
	struct th_server *server;
	struct th_listen *listen;
	struct th_http_server *http;
	struct thole_computer *computer;
	struct thole_computer *browser; /* playwright.c; NULL: nobody has asked for it */
	bool open;                      /* without a token */
	const struct th_cua_row *rows;
	const char *const (*aliases)[2];
	struct th_cua_job *jobs;
	size_t job_count;
	struct th_cua_socket *sockets;
	struct th_cua_mcp *mcp;
	struct th_cua_pty *ptys; /* the newest first */
	size_t pty_count;
	int64_t pty_last; /* number of the newest */
};

/* ---- job.c ---- */

/* {"detail": TEXT} */
TH_PRINTF(3, 4)
void th_cua_detail(struct th_access *a, int status, const char *fmt, ...);

/* Begins a command of `rows`; `answered` comes once, also from inside this.  False: *ret_status and
 * *ret_why say why not (ENOENT: there is none of that name), and there is no job. */
bool th_cua_begin(struct th_cua *c, const struct th_cua_row *rows, struct th_str message,
		  th_cua_answered_fn *answered, void *to, int *ret_status, struct th_err *ret_why);
void th_cua_forget(struct th_cua *c, const void *to); /* whoever that is does not wait any more */
void th_cua_jobs_free(struct th_cua *c);
/* {"success":true and `members`: what stands between the braces of a JSON object, or nothing. */
void th_cua_done(struct th_cua_job *job, struct th_str members);
TH_PRINTF(2, 3)
void th_cua_fail(struct th_cua_job *job, const char *fmt, ...);
/* An answer that is not of either form. */
void th_cua_answer(struct th_cua_job *job, struct th_str json);
/* Somebody's token that may run, in these bytes; NULL: it is none. */
const struct th_token *th_cua_token(struct th_cua *c, struct th_str text);

/* ---- socket.c ---- */

void th_cua_socket_begin(struct th_cua *c, struct th_access *a, bool authenticated);
void th_cua_sockets_finish(struct th_cua *c);
void th_cua_sockets_free(struct th_cua *c);

/* ---- pty.c: requests about terminals; the first argument of the path is the number ---- */

typedef void th_cua_route_fn(struct th_cua *c, struct th_access *a);
th_cua_route_fn th_cua_pty_create, th_cua_pty_get, th_cua_pty_delete, th_cua_pty_stdin,
    th_cua_pty_resize, th_cua_pty_stream, th_cua_pty_socket;
void th_cua_ptys_finish(struct th_cua *c); /* ends their programs, and who follows is told */
void th_cua_ptys_free(struct th_cua *c);

/* ---- playwright.c ---- */

void th_cua_playwright(struct th_cua *c, struct th_access *a);

/* ---- mcp.c ---- */

struct th_cua_mcp *th_cua_mcp_new(void);
struct th_cua_mcp *th_cua_mcp_free(struct th_cua_mcp *p); /* takes NULL, returns NULL */
void th_cua_mcp_serve(struct th_cua *c, struct th_access *a);

/* ---- computer.c: calls of the computer ---- */

/* `arguments`: of thole_computer_call.  timeout_ms 0: the longest. */
void th_cua_call(struct th_cua_job *job, const char *tool, struct th_str arguments,
		 int64_t timeout_ms, th_cua_then *then);
/* The same of another computer than the desktop. */
void th_cua_call_of(struct th_cua_job *job, struct thole_computer *of, const char *tool,
		    struct th_str arguments, int64_t timeout_ms, th_cua_then *then);
/* A list of actions. */
void th_cua_act(struct th_cua_job *job, struct th_str actions, th_cua_then *then);
/* A script of ours, with $p being `path`, its "~" read as the home folder. */
void th_cua_shell(struct th_cua_job *job, struct th_str path, struct th_str script,
		  th_cua_then *then);

/* A text that the command cannot do without.  False: the job has failed. */
bool th_cua_need(struct th_cua_job *job, const char *name, struct th_str *ret);

/* ---- desktop.c, files.c, windows.c: the commands ---- */

th_cua_fn th_cua_version, th_cua_screenshot, th_cua_screen_size, th_cua_cursor, th_cua_tree,
    th_cua_find, th_cua_click, th_cua_button, th_cua_move, th_cua_drag_to, th_cua_drag,
    th_cua_scroll, th_cua_scroll_way, th_cua_type, th_cua_key, th_cua_hotkey, th_cua_clipboard,
    th_cua_set_clipboard, th_cua_answers, th_cua_refuse, th_cua_run, th_cua_launch, th_cua_exists,
    th_cua_list, th_cua_read, th_cua_write, th_cua_size, th_cua_path, th_cua_window_active,
    th_cua_window_list, th_cua_window_ask, th_cua_window_do, th_cua_window_set, th_cua_open;

extern const struct th_service th_service_cua; /* as a row of the server's */

#endif
