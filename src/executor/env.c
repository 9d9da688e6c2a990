/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env.c - where and as whom an executor's tools act: workspace, user,
 * environment, sandbox, and the programs that an agent file starts on its
 * desktop.  docs/SANDBOX.md says why it is so.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "computers/computers.h"
#include "exec_client/claim.h"
#include "executor/state.h"
#include "io/child.h"
#include "io/files.h"
#include "io/role.h"
#include "mcp/process.h"

#define TMP_NAME "tmp"
#define UNDO_NAME "undo" /* what edits replaced; lives as long as the journal */
#define NOBODY 65534

/* Our own folders: not the workspace's, should they lie in it (a home folder as workspace).  The
 * sandbox hides them from commands itself; this is for the file tools. */
static const char *const *hidden_dirs(struct th_arena *a)
{
	const char **list = (const char **)th_arena_array(a, TH_DIR_KIND_COUNT + 1, sizeof(*list));
	size_t n = 0;

	for (int kind = 0; list && kind < TH_DIR_KIND_COUNT; kind++) {
		struct th_buf path = TH_BUF_INIT(TH_PATH_LEN_MAX);
		if (th_dir_find((enum th_dir_kind)kind, &path, NULL) == TH_OK)
			list[n++] = th_arena_cstr(a, th_buf_str(&path));
		th_buf_deinit(&path);
	}
	return list;
}

/* A folder that is /tmp for all commands of the session. */
static char *make_tmp(struct th_executor_server *x)
{
	char path[TH_PATH_LEN_MAX];
	int n = snprintf(path, sizeof(path), "%s/" TMP_NAME, x->state_dir);
	if (n < 0 || (size_t)n >= sizeof(path) || (mkdir(path, 0700) < 0 && errno != EEXIST))
		return NULL;
	if (chmod(path, 01777) < 0)
		return NULL;
	return th_arena_cstr(&x->env_arena, th_str_of(path));
}

/*
 * The same without namespaces, where it cannot be shown as /tmp: TMPDIR names it.  As root commands
 * have another user, who does not get into the state folder; then it is in /tmp itself.
 */
static char *make_visible_tmp(struct th_executor_server *x)
{
	char path[TH_PATH_LEN_MAX];
	uid_t uid = x->env.owner_uid ? x->env.owner_uid : NOBODY;

	if (!x->env.as_owner)
		return make_tmp(x);
	if (!th_executor_visible_tmp(x->state_dir, path))
		return NULL;
	(void)!th_dir_remove(path, NULL); /* of one that was killed */
	if (mkdir(path, 0700) < 0 ||
	    chown(path, uid, x->env.owner_uid ? x->env.owner_gid : NOBODY) < 0)
		return NULL;
	return th_arena_cstr(&x->env_arena, th_str_of(path));
}

static enum th_code make_plan(struct th_executor_server *x, const char *workspace,
			      struct th_err *err)
{
	const char *const trust[] = { x->trust, NULL };
	struct th_sandbox s = {
		.readable = trust,
		.level_min = x->start.no_sandbox ? TH_SANDBOX_OFF : TH_SANDBOX_FULL,
		.level_max = x->start.no_sandbox ? TH_SANDBOX_OFF : TH_SANDBOX_FULL,
		.workspace = workspace,
		.net = x->start.net_host ? TH_SANDBOX_NET_HOST
		       : x->egress       ? TH_SANDBOX_NET_SPACE
					 : TH_SANDBOX_NET_NONE,
		.net_fd = x->net_space.net_fd,
		.user_fd = x->net_space.user_fd,
		.tmp = x->start.no_sandbox ? NULL : make_tmp(x),
	};
	if (x->env.as_owner) {
		s.uid = x->env.owner_uid; /* 0: nobody, who is shown root's workspace as its own */
		s.gid = x->env.owner_gid;
	}
	enum th_code code = th_sandbox_plan_new(&s, &x->plan, err);
	if (code == TH_EUNSUPPORTED && x->egress)
		return th_prefix(err, code, "net: a list of hosts needs namespaces");
	if (code != TH_EUNSUPPORTED || x->start.no_sandbox)
		return code;
	/* No namespaces here: the kernel's own rules. */
	struct th_err why = *err;
	const char *const readable[] = { "/proc/self/exe", x->trust, NULL }; /* tools/fetch.h */
	s.readable = readable;
	s.tmp = x->tmpdir = make_visible_tmp(x);
	s.level_min = s.level_max = TH_SANDBOX_KERNEL;
	if (!s.tmp)
		return th_fail(err, TH_EIO, "no temporary folder for commands could be made");
	code = th_sandbox_plan_new(&s, &x->plan, err);
	if (code != TH_EUNSUPPORTED)
		return code;
	*err = why;
	return th_prefix(err, code, "commands cannot be confined");
}

static enum th_code make_environment(struct th_executor_server *x, const char *workspace,
				     struct th_err *err)
{
	const struct th_strs *given = &x->start.environment;
	const char *const *net = th_exec_net_environment(x);
	size_t net_count = 0;
	const char *home = "/tmp";

	const char *const *secret = (const char *const *)x->secret_environment;
	size_t secret_count = 0;
	while (net[net_count])
		net_count++;
	while (secret[secret_count])
		secret_count++;
	const char **more = (const char **)th_arena_array(
	    &x->env_arena, net_count + secret_count + given->count + 3, sizeof(*more));
	for (size_t i = 0; more && i < net_count; i++)
		*more++ = net[i];
	for (size_t i = 0; more && i < secret_count; i++)
		*more++ = secret[i];
	net_count += secret_count;
	for (size_t i = 0; more && i < given->count; i++) {
		more[i] = th_arena_cstr(&x->env_arena, given->list[i]);
		if (!more[i] || more[i][0] == '=' || !strchr(more[i], '='))
			return th_fail(err, TH_EUSAGE, "environment: '%.*s' is not NAME=value",
				       TH_FMT(th_str_sub(given->list[i], 0, 64)));
	}
	if (more)
		more[given->count] = x->entry;
	if (more && x->tmpdir)
		more[given->count + 1] = th_arena_cstr(
		    &x->env_arena, th_arena_printf(&x->env_arena, "TMPDIR=%s", x->tmpdir));
	if (x->start.no_sandbox)
		home = getenv("HOME") ?: workspace;
	else if (th_sandbox_plan_level(x->plan) != TH_SANDBOX_FULL)
		home = workspace;
	x->env.environment =
	    more ? th_child_env(&x->env_arena, home, "agent", more - net_count) : NULL;
	return x->env.environment ? TH_OK : th_fail(err, TH_ELIMIT, "the environment is too long");
}

static void describe(struct th_executor_server *x)
{
	struct th_buf out = TH_BUF_INIT(sizeof(x->sandbox) - 1);
	struct th_jw w = th_jw(&out);

	th_jw_object(&w);
	th_jw_kstr(&w, "level", th_str_of(th_sandbox_level_name(th_sandbox_plan_level(x->plan))));
	th_jw_kstr(&w, "network",
		   x->start.net_host ? TH_STR("host")
		   : x->egress       ? TH_STR("list")
				     : TH_STR("none"));
	if (x->env.as_owner)
		th_jw_kint(&w, "user", x->env.owner_uid ? (int64_t)x->env.owner_uid : 65534);
	else
		th_jw_kint(&w, "user", (int64_t)geteuid());
	th_jw_object_end(&w);
	snprintf(x->sandbox, sizeof(x->sandbox), "%s", out.ptr);
	th_buf_deinit(&out);
}

enum th_code th_exec_env_make(struct th_executor_server *x, struct th_str workspace,
			      struct th_err *err)
{
	char given[TH_PATH_LEN_MAX], real[TH_PATH_LEN_MAX];
	struct stat st;

	assert(!x->workspace && workspace.len > 0);
	if (workspace.len >= sizeof(given) || memchr(workspace.ptr, '\0', workspace.len))
		return th_fail(err, TH_EUSAGE, "the workspace's path is too long or holds a NUL");
	memcpy(given, workspace.ptr, workspace.len);
	given[workspace.len] = '\0';
	if (given[0] != '/')
		return th_fail(err, TH_EUSAGE, "the workspace %s is not an absolute path", given);
	if (!realpath(given, real))
		return th_fail_errno(err, errno, "the workspace %s", given);
	TH_CLEANUP(th_fd_close) int fd = open(real, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return th_fail_errno(err, errno, "the workspace %s", real);
	x->env.as_owner = geteuid() == 0;
	x->env.owner_uid = st.st_uid;
	x->env.owner_gid = st.st_gid;
	x->env.hidden = hidden_dirs(&x->env_arena);
	enum th_code code = make_plan(x, real, err);
	if (code == TH_OK)
		code = make_environment(x, real, err);
	if (code) {
		x->plan = th_sandbox_plan_free(x->plan);
		return code;
	}
	/* Only user namespaces can show root's files to another user as its own. */
	if (x->env.as_owner && st.st_uid == 0 && (st.st_mode & 0002) == 0 &&
	    th_sandbox_plan_level(x->plan) != TH_SANDBOX_FULL) {
		x->plan = th_sandbox_plan_free(x->plan);
		return th_fail(
		    err, TH_EUNSUPPORTED,
		    "%s belongs to root, commands run as user %d, and without user namespaces "
		    "it cannot be lent to that user: give it to another one (chown)",
		    real, NOBODY);
	}
	x->workspace = th_arena_cstr(&x->env_arena, th_str_of(real));
	x->env.workspace = th_str_of(x->workspace);
	x->env.workspace_fd = fd;
	fd = -1;
	x->env.sandbox = x->plan;
	x->env.command_ms_max = x->start.command_ms_max;
	if (mkdirat(x->state_fd, UNDO_NAME, 0700) == 0 || errno == EEXIST)
		x->env.undo_fd = openat(x->state_fd, UNDO_NAME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	describe(x);
	return TH_OK;
}

void th_exec_env_deinit(struct th_executor_server *x)
{
	char path[TH_PATH_LEN_MAX];

	for (size_t i = 0; i < x->program_count; i++)
		th_child_free(x->programs[i]);
	x->program_count = 0;
	th_mcp_processes_free(&x->env);
	th_tool_env_deinit(&x->env);
	th_fd_close(&x->env.undo_fd);
	x->plan = th_sandbox_plan_free(x->plan);
	th_fd_close(&x->env.workspace_fd);
	if (x->tmpdir)
		(void)!th_dir_remove(x->tmpdir, NULL);
	/* One that found another at work has no journal, and the folder is the other's. */
	if (x->ledger &&
	    snprintf(path, sizeof(path), "%s/" TMP_NAME, x->state_dir) < (int)sizeof(path))
		(void)!th_dir_remove(path, NULL);
}

/* ---- the desktop ---- */

static void on_program_exit(void *ctx, const struct th_child_exit *e)
{
	(void)ctx;
	(void)e; /* its handle goes with the next start, or with us */
}

/* A desktop is there, the first one or another: what the agent file starts on it. */
static void on_display_start(void *ctx, bool again)
{
	struct th_executor_server *x = (struct th_executor_server *)ctx;
	const char *const *prefix = th_display_prefix(x->display);
	struct th_exec_computer_start start;
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	TH_CLEANUP(th_arena_deinit) struct th_arena arena = {};

	(void)again;
	for (size_t i = 0; i < x->program_count; i++)
		th_child_free(x->programs[i]);
	x->program_count = 0;
	th_arena_init(&arena, TH_MIB);
	if (!prefix || th_json_parse(x->computer, &doc, NULL) ||
	    th_table_parse(&th_exec_computer_start_table, th_json_root(doc), &arena, &start, NULL))
		return;
	for (size_t i = 0; i < start.start.count && x->program_count < TH_DESKTOP_START_MAX; i++) {
		const char *argv[16], *command = th_arena_cstr(&arena, start.start.list[i]);
		size_t n = 0;
		while (prefix[n] && n < 12) {
			argv[n] = prefix[n];
			n++;
		}
		argv[n] = "/bin/sh";
		argv[n + 1] = "-c";
		argv[n + 2] = command;
		argv[n + 3] = NULL;
		struct th_child_spec spec = {
			.argv = argv,
			.env = x->env.environment,
			.cwd = x->workspace ?: "/",
			.on_exit = on_program_exit,
		};
		if (command &&
		    th_child_start(x->loop, &spec, &x->programs[x->program_count], NULL) == TH_OK)
			x->program_count++;
	}
}

enum th_code th_exec_display_make(struct th_executor_server *x, struct th_str computer,
				  struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	struct th_buf dir = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct th_str socket = th_str_of(x->socket);
	enum th_code code = th_json_parse(computer, &doc, err);

	if (code)
		return code;
	if (th_str_ends(socket, TH_STR(".sock")))
		socket.len -= 5;
	th_buf_printf(&dir, "%.*s.d", TH_FMT(socket));
	x->computer = th_arena_str(&x->arena, computer);
	if (!x->computer.ptr) {
		th_buf_deinit(&dir);
		return th_fail(err, TH_ELIMIT, "the description of the computer is too long");
	}
	char self[TH_PATH_LEN_MAX];
	const char *program;
	const struct th_computer_kind *kind =
	    th_computer_find(th_json_get_str(th_json_root(doc), "kind"));
	code = th_role_program(self, &program, err);
	if (code) {
		th_buf_deinit(&dir);
		return code;
	}
	struct th_display_options o = {
		.program = program,
		.loop = x->loop,
		.computer = x->computer,
		.state_dir = th_buf_str(&dir),
		.workspace = th_str_of(x->workspace),
		.net_host = x->start.net_host,
		.net_space = x->egress != NULL,
		.trust = th_str_of(x->trust),
		.net_fd = x->net_space.net_fd,
		.user_fd = x->net_space.user_fd,
		.uid = x->env.as_owner ? x->env.owner_uid : 0,
		.gid = x->env.as_owner && x->env.owner_uid ? x->env.owner_gid : 0,
		.outlives = kind && kind->outlives,
		.release = x->cut_off,
		.goes_on = true,
	};
	x->display = th_display_new(&o);
	th_display_on_start(x->display, on_display_start, x);
	x->env.desktop_prefix = th_display_prefix;
	x->env.desktop_ctx = x->display;
	th_buf_deinit(&dir);
	return TH_OK;
}
