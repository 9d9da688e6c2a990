/* SPDX-License-Identifier: Apache-2.0 */
/* start.c - see start.h. */
#include "exec_client/start.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/detach.h"
#include "io/files.h"
#include "io/role.h"
#include "io/sock.h"
#include "wire/exec.h"

#define KEY_LEN 24 /* hex digits: short, for the sake of the socket's path */

enum th_code th_executor_paths(struct th_str scope, struct th_str session, struct th_buf *state_dir,
			       struct th_buf *socket, struct th_err *err)
{
	struct th_sha256 h;
	char hex[TH_SHA256_HEX_SIZE + 1];

	th_sha256_init(&h);
	th_sha256_add(&h, scope.ptr, scope.len);
	th_sha256_add(&h, "", 1);
	th_sha256_add(&h, session.ptr, session.len);
	struct th_digest digest = th_sha256_end(&h);
	th_digest_hex(&digest, hex);
	enum th_code code = th_dir_of(TH_DIR_STATE, state_dir, err);
	if (code == TH_OK)
		code = th_dir_of(TH_DIR_RUNTIME, socket, err);
	if (code)
		return th_prefix(err, code, "a place for the executor");
	th_buf_printf(state_dir, "/exec/%.*s", KEY_LEN, hex);
	th_buf_printf(socket, "/%.*s.sock", KEY_LEN, hex);
	code = th_buf_check(state_dir, "the path of the executor's folder", err);
	return code ? code : th_buf_check(socket, "the path of the executor's socket", err);
}

/* What of our environment an executor needs; never a key, so by name and not by exception. */
static bool passes(const char *entry)
{
	static const char *const names[] = {
		"PATH",
		"HOME",
		"USER",
		"LOGNAME",
		"LANG",
		"LANGUAGE",
		"TZ",
		"TMPDIR",
		"XDG_RUNTIME_DIR",
		"XDG_STATE_HOME",
		"XDG_CONFIG_HOME",
		"XDG_DATA_HOME",
		"XDG_CACHE_HOME",
		"ASAN_OPTIONS",
		"UBSAN_OPTIONS",
		"LSAN_OPTIONS",
		"TSAN_OPTIONS",
		NULL,
	};
	const char *eq = strchr(entry, '=');
	struct th_str name = th_str_n(entry, eq ? (size_t)(eq - entry) : 0);
	return th_names_find(names, name) >= 0 || th_str_starts(name, TH_STR("LC_"));
}

enum th_code th_executor_spawn(const char *program, struct th_str session, int *ret_fd,
			       int *ret_pidfd, struct th_err *err)
{
	TH_CLEANUP(th_arena_deinit) struct th_arena arena = {};
	TH_CLEANUP(th_fd_close) int theirs = -1;
	size_t count = 0, n = 0;
	int pair[2];

	if (!program)
		return th_fail(err, TH_EUSAGE,
			       "no program is named that runs commands and desktops");
	enum th_code code = th_role_check(err);
	if (code)
		return code;
	th_arena_init(&arena, 64 * TH_KIB);
	while (environ[count])
		count++;
	const char **env = (const char **)th_arena_array(&arena, count + 2, sizeof(*env));
	const char *name = th_arena_cstr(&arena, session);
	if (!env || !name)
		return th_fail(err, TH_EUSAGE,
			       "the session's id holds a NUL, or the environment is too large");
	for (size_t i = 0; i < count; i++)
		if (passes(environ[i]))
			env[n++] = environ[i];
	env[n++] = TH_ROLE_ENTRY(TH_ROLE_EXECUTOR);
	code = th_pipe_pair(pair, err);
	if (code)
		return code;
	theirs = pair[1];
	const char *const argv[] = { "thole", "exec", "--session", name, "--fd", "3", NULL };
	const struct th_child_fd fds[] = { { theirs, 3 } };
	code = th_detach(program, argv, env, fds, TH_COUNT(fds), ret_pidfd, err);
	if (code) {
		th_fd_close(&pair[0]);
		if (code == TH_ENOENT)
			return th_fail(
			    err, code,
			    "the program %s, which runs commands and desktops, is not there: "
			    "put it into $PATH, or name it by the option program",
			    program);
		return th_prefix(err, code, "start the executor");
	}
	*ret_fd = pair[0];
	return TH_OK;
}

void th_executor_announced(const char *state_dir, struct th_buf *socket, struct th_buf *token)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(2 * TH_PATH_LEN_MAX);
	char path[TH_PATH_LEN_MAX];
	struct th_str rest, line;

	if (snprintf(path, sizeof(path), "%s/lock", state_dir) >= (int)sizeof(path) ||
	    th_file_read(path, 2 * TH_PATH_LEN_MAX, &text, NULL))
		return;
	rest = th_buf_str(&text);
	line = th_str_split(&rest, '\n');
	if (socket)
		th_buf_add(socket, line);
	if (token)
		th_buf_add(token, th_str_split(&rest, '\n'));
}

void th_executor_computer(const struct th_executor_options *o, struct th_buf *out)
{
	struct th_exec_computer_start m = {
		.kind = o->computer,
		.options = o->computer_own,
		.width = o->size.width,
		.height = o->size.height,
		.display = o->display,
		.xauthority = o->xauthority,
		.bus = o->bus,
		.parser = o->parser,
		.ocr = o->ocr,
		.start = { (struct th_str *)(uintptr_t)o->start, o->start_count },
		.windows = (int64_t)o->start_windows,
		.wait_ms = o->start_wait_ms,
	};
	if (o->computer.len > 0)
		th_exec_print(&th_exec_computer_start_table, &m, out);
}

void th_executor_start_message(const struct th_executor_options *o, const char *state_dir,
			       const char *socket, struct th_buf *out)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf computer = TH_BUF_INIT(TH_MIB);
	struct th_exec_start m = {
		.op = TH_STR("start"),
		.session = o->session,
		.state_dir = th_str_of(state_dir),
		.socket = th_str_of(socket),
		.workspace = o->workspace,
		.net_host = o->net_host,
		.net = o->net,
		.net_ask = o->net_ask,
		.net_strict = o->net_strict,
		.secrets = o->secrets ? th_secret_expose(o->secrets) : TH_STR(""),
		.no_sandbox = o->no_sandbox,
		.environment = { (struct th_str *)(uintptr_t)o->environment, o->environment_count },
		.command_ms_max = o->command_ms_max,
		.linger_ms = o->linger_ms,
	};
	th_executor_computer(o, &computer);
	m.computer = th_buf_str(&computer);
	th_exec_print(&th_exec_start_table, &m, out);
}
