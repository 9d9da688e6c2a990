/* SPDX-License-Identifier: Apache-2.0 */
/* exec_rig.h - an executor of its own for every test: real processes in temporary folders. */
#ifndef TH_TESTS_EXEC_RIG_H
#define TH_TESTS_EXEC_RIG_H

#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/limits.h"
#include "desktop/desktop.h"
#include "exec_client/client.h"
#include "exec_client/start.h"
#include "executor/executor.h"
#include "io/clock.h"
#include "io/detach.h"
#include "io/files.h"
#include "io/loop.h"
#include "io/sandbox.h"

static struct th_loop *loop;
static char folder[256], workspace[300];
static unsigned test_number;

/* One call and what was heard of it. */
struct heard {
	unsigned accepted, finished;
	enum th_outcome_status status;
	enum th_code code;
	bool reattached;
	struct th_buf output, text,
	    evidence; /* output: streamed; text: for the model, decoded when a string */
	struct th_digest blob;
	size_t blob_size, blob_count;
	char blob_type[64];
	const char *until; /* stop the loop when the output ends with this */
};

static inline void heard_init(struct heard *h)
{
	memset(h, 0, sizeof(*h));
	th_buf_init(&h->output, 64 * TH_MIB);
	th_buf_init(&h->text, 8 * TH_MIB);
	th_buf_init(&h->evidence, TH_MIB);
}

static inline void heard_deinit(struct heard *h)
{
	th_buf_deinit(&h->output);
	th_buf_deinit(&h->text);
	th_buf_deinit(&h->evidence);
}

static inline void on_accepted(void *ctx)
{
	struct heard *h = (struct heard *)ctx;
	assert_int_equal(h->finished, 0);
	h->accepted++;
	if (h->until && h->until[0] == '\0')
		th_loop_stop(loop);
}

static inline void on_output(void *ctx, uint64_t offset, struct th_str bytes)
{
	struct heard *h = (struct heard *)ctx;
	(void)offset;
	th_buf_add(&h->output, bytes);
	if (h->until && h->until[0] && strstr(h->output.ptr, h->until))
		th_loop_stop(loop);
}

static inline void on_finished(void *ctx, const struct th_effect_result *r)
{
	struct heard *h = (struct heard *)ctx;
	h->finished++;
	h->status = r->status;
	h->code = r->code;
	h->reattached = r->reattached;
	if (!th_json_unescape(r->output, &h->text)) {
		th_buf_clear(&h->text);
		th_buf_add(&h->text, r->output);
	}
	th_buf_add(&h->evidence, r->evidence);
	h->blob_count = r->blob_count;
	if (r->blob_count > 0) {
		const struct th_blob *b = &r->blobs[r->blob_count - 1];
		struct th_digest d = th_sha256_of(b->bytes.ptr, b->bytes.len);
		assert_true(th_digest_eq(&d, &b->hash));
		h->blob = d;
		h->blob_size = b->bytes.len;
		snprintf(h->blob_type, sizeof(h->blob_type), "%.*s", TH_FMT(b->media_type));
	}
	th_loop_stop(loop);
}

static inline struct th_executor_handlers handlers_of(struct heard *h)
{
	return (struct th_executor_handlers){ .on_accepted = on_accepted,
					      .on_output = on_output,
					      .on_finished = on_finished,
					      .ctx = h };
}

static inline struct th_executor_options options(void)
{
	static char self[TH_PATH_LEN_MAX];

	return (struct th_executor_options){
		.session = TH_STR("session 1"),
		.scope = th_str_of(folder),
		.epoch = 1,
		.workspace = th_str_of(workspace),
		.linger_ms = 60000,
		.program = th_program_self(self),
	};
}

/* Those that a failed test leaves. */
static struct th_executor_client *clients[64];

static inline struct th_executor_client *release(struct th_executor_client *x)
{
	for (size_t i = 0; i < TH_COUNT(clients); i++)
		if (clients[i] == x)
			clients[i] = NULL;
	return th_executor_client_free(x);
}

static inline struct th_executor_client *client(const struct th_executor_options *o)
{
	struct th_executor_client *x = NULL;
	struct th_err err;
	if (th_executor_client_new(loop, o, &x, &err))
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < TH_COUNT(clients); i++)
		if (!clients[i]) {
			clients[i] = x;
			break;
		}
	return x;
}

static inline struct th_effect_call call(const char *id, enum th_class class, const char *tool,
					 const char *arguments)
{
	return (struct th_effect_call){
		.effect_id = th_str_of(id),
		.class = class,
		.tool = th_str_of(tool),
		.arguments = th_str_of(arguments),
	};
}

static inline struct th_effect_call shell(const char *id, const char *arguments)
{
	return call(id, TH_CLASS_W, "shell", arguments);
}

static inline void wait_finished(struct heard *h)
{
	while (!h->finished)
		th_loop_run(loop);
}

static inline void wait_output(struct heard *h, const char *until)
{
	h->until = until;
	while (!h->finished && (until[0] ? strstr(h->output.ptr, until) == NULL : h->accepted == 0))
		th_loop_run(loop);
	h->until = NULL;
	if (h->finished)
		fail_msg("it ended as %s: %s", th_outcome_name(h->status), h->text.ptr);
}

static inline struct th_executor_id run_call(struct th_executor_client *x, struct th_effect_call c,
					     struct heard *h)
{
	struct th_executor_handlers on = handlers_of(h);
	heard_init(h);
	return th_executor_client_run(x, &c, &on);
}

static inline struct th_executor_id
attach_call(struct th_executor_client *x, struct th_effect_call c, uint64_t offset, struct heard *h)
{
	struct th_executor_handlers on = handlers_of(h);
	heard_init(h);
	return th_executor_client_attach(x, &c, offset, &on);
}

static inline void do_call(struct th_executor_client *x, struct th_effect_call c, struct heard *h)
{
	run_call(x, c, h);
	wait_finished(h);
}

struct greeting {
	bool done;
	struct th_executor_info info;
	struct th_err err;
};

static inline void on_ready(void *ctx, const struct th_executor_info *info,
			    const struct th_err *err)
{
	struct greeting *g = (struct greeting *)ctx;
	assert_false(g->done);
	g->done = true;
	if (info)
		g->info = *info;
	else
		g->err = *err;
	th_loop_stop(loop);
}

static inline struct greeting greet(struct th_executor_client *x, bool screen)
{
	struct greeting g = {};
	th_executor_client_ready(x, screen, on_ready, &g);
	while (!g.done)
		th_loop_run(loop);
	return g;
}

static inline void on_ended(void *ctx, const struct th_err *err)
{
	if (err)
		fail_msg("%s", err->msg);
	*(bool *)ctx = true;
	th_loop_stop(loop);
}

static inline void end(struct th_executor_client *x)
{
	bool done = false;
	th_executor_client_end(x, on_ended, &done);
	while (!done)
		th_loop_run(loop);
}

/* Waits for the end of a process that is not our child. */
static inline int watch_process(int64_t pid)
{
	return (int)syscall(SYS_pidfd_open, (pid_t)pid, 0u);
}

static inline void await_process(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	assert_true(pidfd >= 0);
	assert_int_equal(poll(&p, 1, 20000), 1);
	close(pidfd);
}

/* Also lets clients read that it has gone: else the next greeting may still name it. */
static inline void kill_executor(int64_t pid)
{
	int pidfd = watch_process(pid);
	assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
	await_process(pidfd);
	for (int i = 0; i < 3; i++)
		th_loop_pass(loop);
}

/* The text with every '#' replaced by a number that only this run has: others may test at the same
 * time.  Good for the next few calls. */
static inline const char *own(const char *text)
{
	static char rooms[8][512];
	static unsigned next;
	char *out = rooms[next++ % TH_COUNT(rooms)];
	size_t n = 0;

	for (; *text && n < sizeof(rooms[0]) - 16; text++) {
		if (*text == '#')
			n += (size_t)snprintf(out + n, 16, "%07d", (int)getpid());
		else
			out[n++] = *text;
	}
	out[n] = '\0';
	return out;
}

/* How many processes have this word, which only one test uses, in their command line. */
static inline unsigned alive(const char *word)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	unsigned found = 0;
	DIR *dir = opendir("/proc");

	for (struct dirent *e; (e = readdir(dir));) {
		char path[300];
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/cmdline", e->d_name);
		th_buf_clear(&text);
		if (th_file_read(path, TH_MIB, &text, NULL) == TH_OK)
			found += memmem(text.ptr, text.len, word, strlen(word)) != NULL;
	}
	closedir(dir);
	th_buf_deinit(&text);
	return found;
}

/* The kernel needs a moment to end a namespace whose first process was killed. */
static inline void await_dead(const char *word)
{
	for (int i = 0; i < 200 && alive(word); i++)
		poll(NULL, 0, 10);
	assert_int_equal(alive(word), 0);
}

/* What a shell has just put into the background may still be that shell. */
static inline void await_alive(const char *word)
{
	for (int i = 0; i < 200 && !alive(word); i++)
		poll(NULL, 0, 10);
	assert_int_equal(alive(word), 1);
}

static inline const char *path_of(const char *kind)
{
	static char path[TH_PATH_LEN_MAX];
	struct th_buf state_dir = TH_BUF_INIT(TH_PATH_LEN_MAX),
		      socket = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct th_executor_options o = options();
	assert_int_equal(th_executor_paths(o.scope, o.session, &state_dir, &socket, NULL), TH_OK);
	if (strcmp(kind, "socket") == 0)
		snprintf(path, sizeof(path), "%s", socket.ptr);
	else
		snprintf(path, sizeof(path), "%s%s%s", state_dir.ptr, kind[0] ? "/" : "", kind);
	th_buf_deinit(&state_dir);
	th_buf_deinit(&socket);
	return path;
}

static inline const char *in_workspace(const char *name)
{
	static char path[600];
	snprintf(path, sizeof(path), "%s/%s", workspace, name);
	return path;
}

static inline bool has(const struct th_buf *text, const char *part)
{
	return th_str_find(th_buf_str(text), th_str_of(part)) >= 0;
}

static inline const struct th_sandbox_report *confinement(void)
{
	static struct th_sandbox_report report;
	static bool known;
	if (!known)
		th_sandbox_probe(&report);
	known = true;
	return &report;
}

/* Whether this machine allows namespaces. */
static inline bool namespaces(void)
{
	return confinement()->bwrap;
}

/* Without user namespaces root cannot lend a folder to commands: it is given to their user. */
static inline void give_to_commands(const char *path)
{
	if (geteuid() == 0 && !confinement()->idmap)
		assert_int_equal(chown(path, 65534, 65534), 0);
}

static inline int rig_setup(void **state)
{
	char path[] = "/tmp/thole-exec-XXXXXX", sub[300], real[TH_PATH_LEN_MAX];

	(void)state;
	assert_non_null(mkdtemp(path));
	assert_non_null(realpath(path, real));
	snprintf(folder, sizeof(folder), "%.255s", real);
	snprintf(workspace, sizeof(workspace), "%s/ws", folder);
	assert_int_equal(mkdir(workspace, 0755), 0);
	assert_int_equal(chmod(folder, 0755), 0);
	give_to_commands(workspace);
	snprintf(sub, sizeof(sub), "%s/state", folder);
	assert_int_equal(mkdir(sub, 0700), 0);
	setenv("XDG_STATE_HOME", sub, 1);
	snprintf(sub, sizeof(sub), "%s/run", folder);
	assert_int_equal(mkdir(sub, 0700), 0);
	setenv("XDG_RUNTIME_DIR", sub, 1);
	test_number++;
	return th_loop_new(&loop, NULL);
}

static inline int rig_teardown(void **state)
{
	struct th_executor_options o = options();
	struct th_err err = {};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(clients); i++)
		clients[i] = th_executor_client_free(clients[i]);
	loop = th_loop_free(loop);
	o.epoch = 0;
	if (th_executor_client_end_once(&o, &err))
		fail_msg("%s", err.msg);
	assert_int_not_equal(access(path_of(""), F_OK), 0);
	assert_int_not_equal(access(path_of("socket"), F_OK), 0);
	return th_dir_remove(folder, NULL);
}

/* To be called first in main: the same binary plays the executor and its roles. */
#define TH_EXEC_RIG_ROLES(argc, argv)                              \
	do {                                                       \
		int role_status;                                   \
		if (th_desktop_role(argc, argv, &role_status))     \
			return role_status;                        \
		if ((argc) > 1 && strcmp((argv)[1], "exec") == 0)  \
			return th_exec_role((argc)-1, (argv) + 1); \
	} while (0)

#endif
