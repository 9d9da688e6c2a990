/* SPDX-License-Identifier: Apache-2.0 */
/*
 * executor.c - the process: how it starts and finds that it is the only one, and how it ends.
 */
#include "executor/executor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "display/display.h"
#include "egress/egress.h"
#include "exec_client/claim.h"
#include "exec_client/client.h"
#include "executor/reaper.h"
#include "executor/state.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/role.h"
#include "tools/fetch.h"

/* ---- starting ---- */

static enum th_code open_log(struct th_executor_server *x, struct th_err *err)
{
	struct stat st;
	TH_CLEANUP(th_fd_close)
	int fd = openat(x->state_fd, "log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
			0600);
	if (fd < 0 || fstat(fd, &st) < 0)
		return th_fail_errno(err, errno, "%s/log", x->state_dir);
	if ((uint64_t)st.st_size > TH_EXEC_LOG_MAX && ftruncate(fd, 0) < 0)
		return th_fail_errno(err, errno, "%s/log", x->state_dir);
	if (dup2(fd, 2) < 0)
		return th_fail_errno(err, errno, "%s/log", x->state_dir);
	return TH_OK;
}

static enum th_code open_journal(struct th_executor_server *x, struct th_err *err)
{
	struct th_buf path = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct th_ledger_found found;

	th_buf_printf(&path, "%s/journal", x->state_dir);
	enum th_code code = th_buf_check(&path, "the path of the journal", err);
	if (code == TH_OK)
		code = th_ledger_open(path.ptr, &found, &x->ledger, err);
	if (code == TH_OK && found.damaged)
		fprintf(stderr,
			"thole executor: the journal is damaged: %s; what is not in it may have "
			"happened\n",
			found.journal.damaged ? found.journal.what : "a record makes no sense");
	th_buf_deinit(&path);
	if (code)
		return code;
	x->epoch_before = th_ledger_epoch(x->ledger);
	x->cut_off = found.computer;
	if (mkdirat(x->state_fd, "spool", 0700) < 0 && errno != EEXIST)
		return th_fail_errno(err, errno, "%s/spool", x->state_dir);
	x->spool_fd = openat(x->state_fd, "spool", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return x->spool_fd < 0 ? th_fail_errno(err, errno, "%s/spool", x->state_dir) : TH_OK;
}

static enum th_code parse_start(struct th_executor_server *x, struct th_str head,
				struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	enum th_exec_op op;

	/* A copy, so that all strings live as long as the arena. */
	head = th_arena_str(&x->arena, head);
	enum th_code code = th_exec_open(head, &doc, &op, err);
	if (code == TH_OK && op != TH_EXEC_OP_START)
		code = th_fail(err, TH_EPROTO, "start comes first");
	if (code == TH_OK)
		code = th_table_parse(&th_exec_start_table, th_json_root(doc), &x->arena, &x->start,
				      err);
	if (code)
		return code;
	struct th_exec_start *s = &x->start;
	struct th_str *strs[] = { &s->session,  &s->state_dir, &s->socket, &s->workspace,
				  &s->computer, &s->net,       &s->secrets };
	for (size_t i = 0; i < TH_COUNT(strs); i++)
		*strs[i] = th_arena_str(&x->arena, *strs[i]);
	for (size_t i = 0; i < s->environment.count; i++)
		s->environment.list[i] = th_arena_str(&x->arena, s->environment.list[i]);
	x->state_dir = th_arena_cstr(&x->arena, s->state_dir);
	x->socket = th_arena_cstr(&x->arena, s->socket);
	x->linger_ms = s->linger_ms > 0 ? s->linger_ms : TH_EXECUTOR_LINGER_MS;
	if (!x->state_dir || !x->socket || x->state_dir[0] != '/')
		return th_fail(err, TH_EUSAGE, "state_dir and socket must be absolute paths");
	return TH_OK;
}

/* Before it listens: who connects knows the token. */
static enum th_code announce(struct th_executor_server *x, struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(2 * TH_PATH_LEN_MAX);
	uint64_t random[2];

	_Static_assert(TH_EXEC_TOKEN_LEN == 32, "as printed here");
	th_random(random, sizeof(random));
	snprintf(x->token, sizeof(x->token), "%016llx%016llx", (unsigned long long)random[0],
		 (unsigned long long)random[1]);
	th_buf_printf(&text, "%s\n%s\n", x->socket, x->token);
	if (ftruncate(x->lock_fd, 0) < 0 ||
	    pwrite(x->lock_fd, text.ptr, text.len, 0) != (ssize_t)text.len)
		return th_fail_errno(err, errno, "%s/lock", x->state_dir);
	return TH_OK;
}

static void on_linger(void *ctx)
{
	th_exec_stop((struct th_executor_server *)ctx, false);
}

static void on_signal(void *ctx, int signum)
{
	(void)signum;
	th_exec_stop((struct th_executor_server *)ctx, false);
}

static enum th_code begin(struct th_executor_server *x, struct th_buf *other, struct th_err *err)
{
	struct th_executor_claim claim = { x->state_dir, -1, -1 };
	enum th_code code = th_executor_claim(&claim, other, err);
	x->state_fd = claim.state_fd;
	x->lock_fd = claim.lock_fd;
	if (code || other->len > 0)
		return code;
	code = open_log(x, err);
	if (code == TH_OK)
		code = open_journal(x, err);
	if (code == TH_OK)
		code = th_loop_new(&x->loop, err);
	if (code)
		return code;
	code = th_reaper_start(x->entry, &x->reaper_fd, err);
	if (code)
		return code;
	x->env.loop = x->loop;
	x->on_ask = th_exec_ask;
	x->on_withdrawn = th_exec_ask_withdrawn;
	x->flush = (struct th_deferred){ .fn = th_exec_flush, .ctx = x };
	x->reap = (struct th_deferred){ .fn = th_exec_reap, .ctx = x };
	th_timer_init(&x->linger, x->loop, on_linger, x);
	code = th_exec_secrets_make(x, err);
	if (code == TH_OK)
		code = th_exec_net_make(x, err);
	if (code == TH_OK && x->start.workspace.len > 0)
		code = th_exec_env_make(x, x->start.workspace, err);
	if (code == TH_OK && x->start.computer.len > 0)
		code = th_exec_display_make(x, x->start.computer, err);
	if (code == TH_OK)
		code = announce(x, err);
	if (code == TH_OK)
		code = th_sock_listen(x->loop, x->socket, th_exec_on_accept, x, &x->server, err);
	th_executor_claim_started(&claim);
	return code;
}

/* Before it hears anything: who started it may have meant another program. */
static enum th_code say_role(struct th_pipe *starter, struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(TH_KIB);

	th_exec_print_role(TH_ROLE_EXECUTOR, &head);
	return th_pipe_write(starter, th_buf_str(&head), TH_STR(""), TH_EXEC_START_MS, err);
}

static void answer(struct th_pipe *starter, const char *socket, const struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(16 * TH_KIB);
	if (socket) {
		struct th_exec_ready m = { .op = TH_STR("ready"), .socket = th_str_of(socket) };
		th_exec_print(&th_exec_ready_table, &m, &head);
	} else {
		th_exec_print_error(0, err, &head);
	}
	(void)!th_pipe_write(starter, th_buf_str(&head), TH_STR(""), TH_EXEC_START_MS, NULL);
}

/* ---- its life ---- */

static void run(struct th_executor_server *x)
{
	struct th_signal *signals[3] = {};
	static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };

	for (size_t i = 0; i < TH_COUNT(numbers); i++)
		(void)!th_signal_new(x->loop, numbers[i], on_signal, x, &signals[i], NULL);
	th_exec_idle(x);
	th_loop_run(x->loop);
	for (size_t i = 0; i < TH_COUNT(numbers); i++)
		th_signal_free(signals[i]);
}

static void end(struct th_executor_server *x)
{
	struct th_err err;
	bool ours = x->ledger != NULL;

	x->server = th_sock_server_free(x->server);
	th_exec_watches_free(x);
	x->display = th_display_free(x->display);
	if (x->loop) {
		th_timer_stop(&x->linger);
		th_loop_undefer(x->loop, &x->flush);
		th_loop_undefer(x->loop, &x->reap);
	}
	th_exec_env_deinit(x);
	th_exec_effects_free(x);
	th_exec_net_deinit(x);
	if (ours)
		th_exec_secrets_deinit(x);
	th_reaper_stop(&x->reaper_fd);
	if (ours && !x->remove && th_ledger_tidy(x->ledger, true, &err))
		fprintf(stderr, "thole executor: %s\n", err.msg);
	x->ledger = th_ledger_close(x->ledger);
	if (ours && x->remove && th_dir_remove(x->state_dir, &err))
		fprintf(stderr, "thole executor: %s\n", err.msg);
	/* Connections last: who waits for our end sees it when all is gone. */
	while (x->clients) {
		struct th_exec_client *c = x->clients;
		x->clients = c->next;
		th_sock_free(c->sock);
		free(c);
	}
	th_fd_close(&x->spool_fd);
	th_fd_close(&x->lock_fd);
	th_fd_close(&x->state_fd);
}

/* Runs until it ends.  `starter` gets ready or error, and is closed. */
static int executor_main(int starter_fd)
{
	static struct th_executor_server x;
	TH_CLEANUP(th_buf_deinit) struct th_buf other = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct th_pipe starter;
	struct th_frame frame;
	struct th_err err = {};

	umask(022); /* what is ours is made 0600 or 0700; this is for commands */
	signal(SIGPIPE, SIG_IGN);
	x.net_space = (struct th_net_space)TH_NET_SPACE_NONE;
	x.state_fd = x.spool_fd = x.lock_fd = x.reaper_fd = x.env.workspace_fd = x.env.undo_fd = -1;
	x.pending_last = &x.pending;
	x.picture_cache_last = &x.picture_cache;
	th_arena_init(&x.arena, 4 * TH_MIB);
	th_arena_init(&x.env_arena, 4 * TH_MIB);
	th_pipe_init(&starter, starter_fd);
	enum th_code code = say_role(&starter, &err);
	if (code == TH_OK)
		code = th_pipe_read(&starter, TH_EXEC_START_MS, &frame, &err);
	if (code == TH_OK)
		code = parse_start(&x, frame.json, &err);
	if (code == TH_OK)
		code = begin(&x, &other, &err);
	if (code)
		answer(&starter, NULL, &err);
	else
		answer(&starter, other.len > 0 ? other.ptr : x.socket, NULL);
	th_pipe_deinit(&starter);
	if (code == TH_OK && other.len == 0)
		run(&x);
	end(&x);
	x.loop = th_loop_free(x.loop);
	th_arena_deinit(&x.env_arena);
	th_arena_deinit(&x.arena);
	return code ? 1 : x.status;
}

/* ---- roles ---- */

static bool take(const char *role)
{
	struct th_err err;

	if (th_role_take(role, &err) == TH_OK)
		return true;
	fprintf(stderr, "thole exec: %s\n", err.msg);
	return false;
}

int th_exec_role(int argc, char **argv)
{
	struct th_str role = TH_STR("executor");
	const char *entry = NULL, *url = NULL;
	int64_t fd = 3;
	bool good = true, raw = false;

	for (int i = 1; i + 1 < argc && good; i += 2) {
		struct th_str value = th_str_of(argv[i + 1]);
		if (strcmp(argv[i], "--fd") == 0)
			good = th_str_i64(value, &fd) && fd >= 3 && fd < 1024;
		else if (strcmp(argv[i], "--role") == 0)
			role = value;
		else if (strcmp(argv[i], "--entry") == 0)
			entry = argv[i + 1];
		else if (strcmp(argv[i], "--url") == 0)
			url = argv[i + 1];
		else if (strcmp(argv[i], "--raw") == 0)
			raw = true;
		else /* --session is for people who look at the list of processes */
			good = strcmp(argv[i], "--session") == 0;
	}
	good = good && argc > 1 && argc % 2 == 1;
	if (good && th_str_is(role, "executor"))
		return take(TH_ROLE_EXECUTOR) ? executor_main((int)fd) : 2;
	if (good && th_str_is(role, "display"))
		return take(TH_ROLE_DISPLAY) ? th_display_main(3, 4) : 2;
	if (good && th_str_is(role, "egress"))
		return take(TH_ROLE_EGRESS) ? th_egress_main((int)fd) : 2;
	if (good && th_str_is(role, "reaper") && entry)
		return take(TH_ROLE_REAPER) ? th_reaper_main(3, entry) : 2;
	if (good && th_str_is(role, "fetch") && url)
		return take(TH_ROLE_FETCH) ? th_fetch_main(url, raw) : 2;
	fprintf(stderr, "thole exec: is started by other commands, with a socket and its orders\n");
	return 2;
}
