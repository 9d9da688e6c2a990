/* SPDX-License-Identifier: Apache-2.0 */
/* The executor as a process: started, found, joined, killed, ended. */
#include "exec_rig.h"
#include "peak.h"

#include "exec_client/internal.h"
#include "executor/ledger.h"
#include "io/sock.h"

static void does_an_effect(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o);
	struct heard h;

	(void)state;
	do_call(x, shell("e1", "{\"command\":\"echo hi; exit 2\"}"), &h);
	assert_int_equal(h.status, TH_OUTCOME_DONE);
	assert_int_equal(h.accepted, 1);
	assert_false(h.reattached);
	assert_string_equal(h.output.ptr, "hi\n");
	assert_string_equal(h.text.ptr, "hi\n[exit code 2]");
	assert_string_equal(h.evidence.ptr, "{\"exit_code\":2,\"output_size\":3}");
	heard_deinit(&h);
	do_call(x, call("r1", TH_CLASS_R, "list_dir", "{\"path\":\".\"}"), &h);
	assert_int_equal(h.status, TH_OUTCOME_DONE);
	assert_int_equal(h.accepted, 0);
	heard_deinit(&h);
	do_call(x, call("e2", TH_CLASS_W, "shell", "{\"cmd\":\"true\"}"), &h);
	assert_int_equal(h.status, TH_OUTCOME_REFUSED);
	assert_true(has(&h.text, "arguments of shell: cmd"));
	heard_deinit(&h);
	do_call(x, call("e3", TH_CLASS_W, "shelf", "{}"), &h);
	assert_int_equal(h.status, TH_OUTCOME_REFUSED);
	heard_deinit(&h);
	do_call(x, call("e4", TH_CLASS_W, "computer", "{\"actions\":[]}"), &h);
	assert_int_equal(h.status, TH_OUTCOME_REFUSED);
	assert_true(has(&h.text, "no computer"));
	heard_deinit(&h);
	release(x);
}

static void says_what_it_is(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x;
	struct stat st;

	(void)state;
	setenv("OPENAI_API_KEY", "sk-very-secret", 1);
	x = client(&o);
	struct greeting g = greet(x, false);
	unsetenv("OPENAI_API_KEY");
	assert_int_equal(g.err.code, TH_OK);
	assert_int_equal(g.info.epoch, 1);
	assert_true(th_str_is(g.info.workspace, workspace));
	assert_int_equal(g.info.screen.width, 0);
	assert_true(th_str_starts(g.info.sandbox, TH_STR("{\"level\":")));
	/* It stands alone: no terminal, no descriptors, no secrets of ours. */
	pid_t pid = (pid_t)g.info.pid;
	assert_int_equal(getsid(pid), getpgid(pid));
	assert_int_not_equal(getsid(pid), getsid(0));
	char path[64];
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	assert_int_equal(th_file_read(path, TH_MIB, &text, NULL), TH_OK);
	assert_true(th_str_find(th_buf_str(&text), TH_STR("XDG_STATE_HOME=")) >= 0);
	assert_true(th_str_find(th_buf_str(&text), TH_STR("sk-very")) < 0);
	th_buf_deinit(&text);
	assert_int_equal(stat(path_of("socket"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(path_of(""), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(stat(path_of("journal"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	release(x);
}

static void a_failed_start_says_why(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x;
	struct greeting g;
	struct heard h;

	(void)state;
	o.workspace = TH_STR("/nowhere/at/all");
	x = client(&o);
	g = greet(x, false);
	assert_int_equal(g.err.code, TH_ENOENT);
	assert_non_null(strstr(g.err.msg, "the workspace /nowhere/at/all: No such file"));
	do_call(x, shell("e1", "{\"command\":\"true\"}"), &h);
	assert_int_equal(h.status, TH_OUTCOME_NOT_STARTED);
	assert_int_equal(h.code, TH_ENOENT);
	assert_true(has(&h.text, "/nowhere/at/all"));
	heard_deinit(&h);
	release(x);
	/* A command that does one thing: the error is the sentence alone, whatever words are in it.
	 */
	struct th_executor_answer answer;
	struct th_effect_call call = shell("e2", "{\"command\":\"true\"}");
	struct th_err err = {};
	o.workspace = TH_STR("/nowhere/error: at/all");
	assert_int_equal(th_executor_client_once(&o, &call, NULL, &answer, &err), TH_ENOENT);
	assert_non_null(strstr(err.msg, "the workspace /nowhere/error: at/all: No such file"));
	assert_null(strstr(err.msg, "not started"));
	assert_int_equal(answer.result.status, TH_OUTCOME_NOT_STARTED);
	th_executor_answer_deinit(&answer);

	o = options();
	o.program = "/bin/false";
	x = client(&o);
	g = greet(x, false);
	assert_int_equal(g.err.code, TH_ECONN);
	assert_non_null(strstr(g.err.msg, "/bin/false ended without saying that it is thole's"));
	release(x);

	o.program = "/no/such/program";
	x = client(&o);
	g = greet(x, false);
	assert_int_equal(g.err.code, TH_ENOENT);
	release(x);

	o = options();
	o.only_running = true;
	x = client(&o);
	g = greet(x, false);
	assert_int_equal(g.err.code, TH_ENOENT);
	release(x);
}

/* Until no other executor of this test's folder is there: they have it as their home of state. */
static void await_alone(pid_t executor)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	unsigned others = 1;

	for (int i = 0; i < 1000 && others > 0; i++) {
		DIR *dir = opendir("/proc");
		others = 0;
		for (struct dirent *e; (e = readdir(dir));) {
			char path[300];
			pid_t pid = (pid_t)atoi(e->d_name);
			if (pid <= 0 || pid == executor || pid == getpid())
				continue;
			snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
			th_buf_clear(&text);
			if (th_file_read(path, TH_MIB, &text, NULL) == TH_OK)
				others +=
				    memmem(text.ptr, text.len, folder, strlen(folder)) != NULL;
		}
		closedir(dir);
		poll(NULL, 0, 10);
	}
	th_buf_deinit(&text);
	assert_int_equal(others, 0);
}

/* Ten at once, each of which finds nobody and starts one. */
static void there_is_only_one(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x[10];
	struct greeting g[10] = {};
	struct heard h;

	(void)state;
	for (int i = 0; i < 10; i++) {
		x[i] = client(&o);
		th_executor_client_ready(x[i], false, on_ready, &g[i]);
	}
	for (int i = 0; i < 10; i++) {
		while (!g[i].done)
			th_loop_run(loop);
		assert_int_equal(g[i].err.code, TH_OK);
		assert_int_equal(g[i].info.pid, g[0].info.pid);
	}
	/* Those that were too many took nothing along, not even once they are all gone. */
	await_alone((pid_t)g[0].info.pid);
	do_call(x[0], shell("e1", "{\"command\":\"echo x > /tmp/x && cat /tmp/x\"}"), &h);
	assert_string_equal(h.text.ptr, "x\n[exit code 0]");
	heard_deinit(&h);
	for (int i = 0; i < 10; i++)
		release(x[i]);
}

static void a_contradiction_is_told(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o), *y;
	struct greeting g;
	char other[400];

	(void)state;
	greet(x, false);
	snprintf(other, sizeof(other), "%s/other", folder);
	assert_int_equal(mkdir(other, 0755), 0);
	o.workspace = th_str_of(other);
	y = client(&o);
	g = greet(y, false);
	assert_int_equal(g.err.code, TH_EBUSY);
	assert_non_null(strstr(g.err.msg, "works in"));
	release(y);
	o.workspace = TH_STR("");
	y = client(&o);
	g = greet(y, false);
	assert_int_equal(g.err.code, TH_OK);
	release(y);
	release(x);
}

static void write_line(const char *path)
{
	int fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "go\n", 3), 3);
	close(fd);
}

static const char wait_for_go[] =
    "{\"command\":\"echo before; read x < pipe; echo after >> count; echo after\"}";

static void make_pipe(void)
{
	assert_int_equal(mkfifo(in_workspace("pipe"), 0666), 0);
	assert_int_equal(chmod(in_workspace("pipe"), 0666), 0);
}

static void a_command_outlives_its_runtime(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o);
	struct heard h, again, third;

	(void)state;
	make_pipe();
	run_call(x, shell("e1", wait_for_go), &h);
	wait_output(&h, "before\n");
	release(x);
	heard_deinit(&h);

	o.epoch = 2;
	x = client(&o);
	struct th_effect_call c = shell("e1", wait_for_go);
	c.epoch = 1;
	attach_call(x, c, 0, &again);
	attach_call(x, c, 7, &third);
	wait_output(&again, "before\n");
	write_line(in_workspace("pipe"));
	wait_finished(&again);
	wait_finished(&third);
	assert_string_equal(again.output.ptr, "before\nafter\n");
	assert_string_equal(third.output.ptr, "after\n");
	assert_string_equal(again.text.ptr, "before\nafter\n[exit code 0]");
	assert_int_equal(again.status, TH_OUTCOME_DONE);
	assert_true(again.reattached);
	heard_deinit(&again);
	heard_deinit(&third);
	/* And once more, when it has finished; it is not done again. */
	attach_call(x, c, 0, &again);
	wait_finished(&again);
	assert_string_equal(again.text.ptr, "before\nafter\n[exit code 0]");
	heard_deinit(&again);
	struct th_buf count = TH_BUF_INIT(64);
	assert_int_equal(th_file_read(in_workspace("count"), 64, &count, NULL), TH_OK);
	assert_string_equal(count.ptr, "after\n");
	th_buf_deinit(&count);
	release(x);
}

static void an_id_acts_once(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o);
	struct heard h[4];
	struct th_buf count = TH_BUF_INIT(64);

	(void)state;
	for (int i = 0; i < 4; i++)
		run_call(x, shell("e1", "{\"command\":\"echo x >> count\"}"), &h[i]);
	for (int i = 0; i < 4; i++) {
		wait_finished(&h[i]);
		assert_int_equal(h[i].status, TH_OUTCOME_DONE);
		heard_deinit(&h[i]);
	}
	const struct th_str id = TH_STR("e1");
	th_executor_client_forget(x, &id, 1);
	do_call(x, shell("e1", "{\"command\":\"echo x >> count\"}"), &h[0]);
	assert_int_equal(h[0].status, TH_OUTCOME_UNKNOWN);
	heard_deinit(&h[0]);
	assert_int_equal(th_file_read(in_workspace("count"), 64, &count, NULL), TH_OK);
	assert_string_equal(count.ptr, "x\n");
	th_buf_deinit(&count);
	do_call(x, shell("../e1", "{\"command\":\"true\"}"), &h[0]);
	assert_int_equal(h[0].status, TH_OUTCOME_NOT_STARTED);
	assert_int_equal(h[0].code, TH_EUSAGE);
	heard_deinit(&h[0]);
	release(x);
}

static void an_older_epoch_is_fenced(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o), *y, *guest;
	struct heard h;

	(void)state;
	greet(x, false);
	o.epoch = 5;
	y = client(&o);
	assert_int_equal(greet(y, false).info.epoch, 5);
	do_call(x, shell("e1", "{\"command\":\"echo x > stale\"}"), &h);
	assert_int_equal(h.status, TH_OUTCOME_NOT_STARTED);
	assert_int_equal(h.code, TH_EFENCED);
	heard_deinit(&h);
	assert_int_not_equal(access(in_workspace("stale"), F_OK), 0);
	do_call(y, shell("e2", "{\"command\":\"true\"}"), &h);
	assert_int_equal(h.status, TH_OUTCOME_DONE);
	heard_deinit(&h);
	release(x);
	o.epoch = 4;
	x = client(&o);
	assert_int_equal(greet(x, false).err.code, TH_EFENCED);
	release(x);
	o.epoch = 0;
	guest = client(&o);
	do_call(guest, shell("e3", "{\"command\":\"true\"}"), &h);
	assert_int_equal(h.status, TH_OUTCOME_DONE);
	heard_deinit(&h);
	/* The fence survives the executor. */
	kill_executor(greet(guest, false).info.pid);
	release(guest);
	o.epoch = 4;
	x = client(&o);
	assert_int_equal(greet(x, false).err.code, TH_EFENCED);
	release(x);
	release(y);
}

static void it_lingers_and_goes(void **state)
{
	struct th_executor_options o = options();
	struct heard h;

	(void)state;
	o.linger_ms = 50;
	struct th_executor_client *x = client(&o);
	do_call(x, shell("e1", "{\"command\":\"echo kept\"}"), &h);
	heard_deinit(&h);
	int pidfd = watch_process(greet(x, false).info.pid);
	release(x);
	await_process(pidfd);
	assert_int_not_equal(access(path_of("socket"), F_OK), 0);
	assert_int_not_equal(access(path_of("tmp"), F_OK), 0);
	assert_int_equal(access(path_of("journal"), F_OK), 0);
	/* What nobody took over is still known by the next one. */
	o.epoch = 2;
	x = client(&o);
	struct th_effect_call c = shell("e1", "{\"command\":\"echo kept\"}");
	c.epoch = 1;
	attach_call(x, c, 0, &h);
	wait_finished(&h);
	assert_int_equal(h.status, TH_OUTCOME_DONE);
	assert_string_equal(h.text.ptr, "kept\n[exit code 0]");
	heard_deinit(&h);
	release(x);
}

static void it_lingers_for_a_running_command(void **state)
{
	struct th_executor_options o = options();
	struct heard h;

	(void)state;
	make_pipe();
	o.linger_ms = 1;
	struct th_executor_client *x = client(&o);
	run_call(x, shell("e1", wait_for_go), &h);
	wait_output(&h, "before\n");
	int pidfd = watch_process(greet(x, false).info.pid);
	release(x);
	heard_deinit(&h);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	assert_int_equal(poll(&p, 1, 300), 0); /* it does not go */
	write_line(in_workspace("pipe"));
	await_process(pidfd);
	struct th_buf count = TH_BUF_INIT(64);
	assert_int_equal(th_file_read(in_workspace("count"), 64, &count, NULL), TH_OK);
	assert_string_equal(count.ptr, "after\n");
	th_buf_deinit(&count);
}

static void end_leaves_nothing(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o);
	struct heard h;

	(void)state;
	run_call(
	    x,
	    shell("e1", own("{\"command\":\"setsid sleep 424242# & echo begun; sleep 424243#\"}")),
	    &h);
	wait_output(&h, "begun\n");
	assert_true(alive(own("424242#")) > 0);
	int pidfd = watch_process(greet(x, false).info.pid);
	end(x);
	assert_int_equal(h.finished, 1);
	assert_int_equal(h.status, TH_OUTCOME_FAILED);
	assert_true(has(&h.text, "cancelled"));
	heard_deinit(&h);
	await_process(pidfd);
	await_dead(own("#"));
	assert_int_not_equal(access(path_of(""), F_OK), 0);
	assert_int_not_equal(access(path_of("socket"), F_OK), 0);
	end(x); /* nobody is there: fine */
	release(x);
}

static void a_killed_executor_leaves_unknown(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o);
	struct heard h, again;
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "%s",
		 own("{\"command\":\"echo begun; setsid sleep 535353# & sleep 535354#\"}"));
	run_call(x, shell("e1", command), &h);
	wait_output(&h, "begun\n");
	kill_executor(greet(x, false).info.pid);
	/* The client finds another one by itself, whose journal says the truth. */
	wait_finished(&h);
	assert_int_equal(h.status, TH_OUTCOME_UNKNOWN);
	assert_true(has(&h.text, "It may or may not have happened. It was not repeated."));
	assert_true(has(&h.text, "ended with:\nbegun\n"));
	assert_true(has(&h.evidence, "\"executed_again\":false"));
	heard_deinit(&h);
	await_dead(own("#"));
	/* Asked again it says the same. */
	attach_call(x, shell("e1", command), 0, &again);
	wait_finished(&again);
	assert_int_equal(again.status, TH_OUTCOME_UNKNOWN);
	heard_deinit(&again);
	/* Nor is it begun when it is asked for as if it were new. */
	do_call(x, shell("e1", command), &again);
	assert_int_equal(again.status, TH_OUTCOME_UNKNOWN);
	heard_deinit(&again);
	assert_int_equal(alive(own("#")), 0);
	release(x);
}

static void absence_proves_only_what_it_can(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o);
	struct heard h;

	(void)state;
	greet(x, false);
	char journal[64];
	snprintf(journal, sizeof(journal), "%.*s", TH_FMT(th_executor_client_journal(x)));
	assert_int_equal(strlen(journal), 36);
	/* The journal that its INTENT names, and it is not in it. */
	struct th_effect_call c = shell("never", "{\"command\":\"echo x > never\"}");
	c.journal = th_str_of(journal);
	attach_call(x, c, 0, &h);
	wait_finished(&h);
	assert_int_equal(h.status, TH_OUTCOME_NOT_STARTED);
	heard_deinit(&h);
	/* That was said, so it stays true. */
	do_call(x, shell("never", "{\"command\":\"echo x > never\"}"), &h);
	assert_int_equal(h.status, TH_OUTCOME_NOT_STARTED);
	heard_deinit(&h);
	/* Of what was meant for another one, or for none that we know, it knows nothing. */
	c = shell("older", "{\"command\":\"true\"}");
	attach_call(x, c, 0, &h);
	wait_finished(&h);
	assert_int_equal(h.status, TH_OUTCOME_UNKNOWN);
	heard_deinit(&h);
	c.journal = TH_STR("018f0000-0000-7000-8000-000000000000");
	attach_call(x, c, 0, &h);
	wait_finished(&h);
	assert_int_equal(h.status, TH_OUTCOME_UNKNOWN);
	heard_deinit(&h);
	/* Nor does it begin what was meant for another one. */
	do_call(x, c, &h);
	assert_int_equal(h.status, TH_OUTCOME_NOT_STARTED);
	assert_int_equal(h.code, TH_EFENCED);
	heard_deinit(&h);
	/* Reading may be done again. */
	c = call("look", TH_CLASS_R, "list_dir", "{\"path\":\".\"}");
	attach_call(x, c, 0, &h);
	wait_finished(&h);
	assert_int_equal(h.status, TH_OUTCOME_DONE);
	heard_deinit(&h);
	/* A journal that was lost while a command ran: the new one proves nothing, now or when
	 * asked later by the same owner, whose epoch it knows. */
	struct th_effect_call lost =
	    shell("lost", own("{\"command\":\"echo begun; sleep 646464#\"}"));
	lost.journal = th_str_of(journal);
	run_call(x, lost, &h);
	wait_output(&h, "begun\n");
	kill_executor(greet(x, false).info.pid);
	assert_int_equal(unlink(path_of("journal")), 0);
	wait_finished(&h);
	assert_int_equal(h.status, TH_OUTCOME_UNKNOWN);
	heard_deinit(&h);
	attach_call(x, lost, 0, &h);
	wait_finished(&h);
	assert_int_equal(h.status, TH_OUTCOME_UNKNOWN);
	heard_deinit(&h);
	assert_false(th_str_is(th_executor_client_journal(x), journal));
	await_dead(own("646464#"));
	assert_int_not_equal(access(in_workspace("never"), F_OK), 0);
	release(x);
}

static void is_file(const char *name, const char *content)
{
	struct th_buf text = TH_BUF_INIT(TH_KIB);

	assert_int_equal(th_file_read(in_workspace(name), TH_KIB, &text, NULL), TH_OK);
	assert_string_equal(text.ptr, content);
	th_buf_deinit(&text);
}

/* Its runtime died before it was sent: the next one has it begun, once, while the executor lives.
 */
static void what_never_began_may_begin(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o);
	char journal[64];
	struct heard h;

	(void)state;
	greet(x, false);
	snprintf(journal, sizeof(journal), "%.*s", TH_FMT(th_executor_client_journal(x)));
	release(x);
	o.epoch = 2;
	x = client(&o);
	struct th_effect_call c = shell("b1", "{\"command\":\"echo x >> begun; echo it ran\"}");
	c.journal = th_str_of(journal);
	c.epoch = 1;
	c.begin = true;
	for (int i = 0; i < 2; i++) {
		attach_call(x, c, 0, &h);
		wait_finished(&h);
		assert_int_equal(h.status, TH_OUTCOME_DONE);
		assert_non_null(strstr(h.text.ptr, "it ran"));
		heard_deinit(&h);
	}
	is_file("begun", "x\n");
	/* What its runtime had sent comes late. */
	c.begin = false;
	do_call(x, c, &h);
	assert_int_not_equal(h.status, TH_OUTCOME_UNKNOWN);
	heard_deinit(&h);
	is_file("begun", "x\n");
	/* Another life of the executor: its intent was written in the one before. */
	kill_executor(greet(x, false).info.pid);
	release(x);
	/* Also if the same owner met that one, too. */
	x = client(&o);
	greet(x, false);
	release(x);
	o.epoch = 3;
	x = client(&o);
	greet(x, false);
	assert_true(th_str_is(th_executor_client_journal(x), journal));
	c = shell("b2", "{\"command\":\"echo y >> begun\"}");
	c.journal = th_str_of(journal);
	c.epoch = 2;
	c.begin = true;
	attach_call(x, c, 0, &h);
	wait_finished(&h);
	assert_int_equal(h.status, TH_OUTCOME_NOT_STARTED);
	heard_deinit(&h);
	is_file("begun", "x\n");
	/* A file is the same file in any life. */
	c = call("b3", TH_CLASS_V, "write_file", "{\"path\":\"file\",\"content\":\"z\\n\"}");
	c.journal = th_str_of(journal);
	c.epoch = 2;
	c.begin = true;
	attach_call(x, c, 0, &h);
	wait_finished(&h);
	assert_int_equal(h.status, TH_OUTCOME_DONE);
	heard_deinit(&h);
	is_file("file", "z\n");
	release(x);
}

/* An attach that breaks and is sent again meets a journal that its own first hello has named: the
 * silence of that one proves nothing. */
static void an_attach_sent_twice_proves_nothing(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o);
	struct heard h;

	(void)state;
	for (int i = 0; i < 2; i++) {
		int64_t pid = greet(x, false).info.pid;
		assert_int_equal(kill((pid_t)pid, SIGSTOP), 0);
		attach_call(x, shell("old", "{\"command\":\"true\"}"), 0, &h);
		th_loop_pass(loop);
		th_loop_pass(loop);
		if (i == 0)
			assert_int_equal(unlink(path_of("journal")), 0);
		kill_executor(pid);
		wait_finished(&h);
		assert_int_equal(h.status, TH_OUTCOME_UNKNOWN);
		heard_deinit(&h);
	}
	release(x);
}

/* Killed between acceptance and the end, again and again: nothing happens twice, nothing is made
 * up. */
static void killed_at_many_points(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o);
	unsigned unknown = 0, done = 0;

	(void)state;
	for (int i = 0; i < 16; i++) {
		struct heard h;
		char id[32], arguments[128];
		snprintf(id, sizeof(id), "e%d", i);
		snprintf(arguments, sizeof(arguments),
			 "{\"command\":\"echo %d >> ledger; echo out\"}", i);
		int64_t pid = greet(x, false).info.pid;
		run_call(x, shell(id, arguments), &h);
		switch (i % 4) {
		case 0: /* whatever it is at after one pass */
			th_loop_pass(loop);
			break;
		case 1:
			wait_output(&h, "");
			break;
		case 2:
			h.until = "out\n";
			while (!h.finished && !has(&h.output, "out\n"))
				th_loop_run(loop);
			h.until = NULL;
			break;
		default:
			wait_finished(&h);
		}
		kill_executor(pid);
		wait_finished(&h);
		struct th_buf ledger = TH_BUF_INIT(64 * TH_KIB);
		unsigned times = 0;
		char line[32];
		(void)!th_file_read(in_workspace("ledger"), 64 * TH_KIB, &ledger, NULL);
		snprintf(line, sizeof(line), "%d\n", i);
		struct th_str rest = th_buf_str(&ledger);
		while (rest.len > 0)
			times += (unsigned)atoi(th_str_split(&rest, '\n').ptr) == (unsigned)i;
		th_buf_deinit(&ledger);
		assert_true(times <= 1);
		if (h.status == TH_OUTCOME_DONE)
			assert_int_equal(times, 1);
		else if (h.status == TH_OUTCOME_NOT_STARTED)
			assert_int_equal(times, 0);
		else
			assert_int_equal(h.status, TH_OUTCOME_UNKNOWN);
		unknown += h.status == TH_OUTCOME_UNKNOWN;
		done += h.status == TH_OUTCOME_DONE;
		heard_deinit(&h);
	}
	assert_true(unknown > 0 && done >= 4);
	release(x);
}

/* Class V: a journal that ends between accepted and finished, and what the file says of it. */
static void a_write_is_decided_by_looking(void **state)
{
	static const struct {
		const char *content;
		bool noted;
		enum th_outcome_status expected;
	} cases[] = {
		{ "new", true, TH_OUTCOME_DONE },
		{ "old", true, TH_OUTCOME_NOT_STARTED },
		{ "other", true, TH_OUTCOME_UNKNOWN },
		/* It notes first, always. */
		{ "other", false, TH_OUTCOME_NOT_STARTED },
	};
	struct th_executor_options o = options();

	(void)state;
	/* And the same when it is cancelled before the look was begun. */
	for (size_t i = 0; i < 2 * TH_COUNT(cases); i++) {
		const char *content = cases[i % TH_COUNT(cases)].content;
		struct th_ledger_found found;
		struct th_ledger *l;
		struct th_ledger_entry what = { .class = TH_CLASS_V,
						.epoch = 1,
						.tool = (char *)(uintptr_t) "write_file" };
		struct th_ledger_entry *entry;
		struct th_buf note = TH_BUF_INIT(256);
		char hex[TH_SHA256_HEX_SIZE + 1];
		struct heard h;

		snprintf(what.id, sizeof(what.id), "w%zu", i);
		assert_int_equal(th_dir_make(path_of(""), 0700, NULL), TH_OK);
		assert_int_equal(th_ledger_open(path_of("journal"), &found, &l, NULL), TH_OK);
		assert_int_equal(th_ledger_accept(l, &what, &entry, NULL), TH_OK);
		struct th_digest d = th_sha256_of("old", 3);
		th_digest_hex(&d, hex);
		th_buf_printf(&note, "{\"old_sha256\":\"%s\"}", hex);
		if (cases[i % TH_COUNT(cases)].noted)
			assert_int_equal(th_ledger_note(l, entry, th_buf_str(&note), NULL), TH_OK);
		assert_int_equal(th_ledger_sync(l, NULL), TH_OK);
		th_buf_deinit(&note);
		th_ledger_close(l);
		assert_int_equal(th_file_write(in_workspace("v"), th_str_of(content), 0644, NULL),
				 TH_OK);

		struct th_executor_client *x = client(&o);
		struct th_executor_id id = attach_call(
		    x,
		    call(what.id, TH_CLASS_V, "write_file", "{\"path\":\"v\",\"content\":\"new\"}"),
		    0, &h);
		if (i >= TH_COUNT(cases))
			th_executor_client_cancel(x, id);
		wait_finished(&h);
		assert_int_equal(h.status, cases[i % TH_COUNT(cases)].expected);
		heard_deinit(&h);
		end(x);
		release(x);
	}
}

static void many_at_a_time(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o);
	struct heard h[100];

	(void)state;
	for (int i = 0; i < 100; i++) {
		char id[32], arguments[96];
		snprintf(id, sizeof(id), "e%d", i);
		snprintf(arguments, sizeof(arguments), "{\"command\":\"echo %d; echo %d >> all\"}",
			 i, i);
		run_call(x, shell(id, arguments), &h[i]);
	}
	for (int i = 0; i < 100; i++) {
		char expected[64];
		wait_finished(&h[i]);
		snprintf(expected, sizeof(expected), "%d\n[exit code 0]", i);
		assert_string_equal(h[i].text.ptr, expected);
		assert_int_equal(h[i].finished, 1);
		heard_deinit(&h[i]);
	}
	struct th_buf all = TH_BUF_INIT(4096);
	size_t lines = 0;
	assert_int_equal(th_file_read(in_workspace("all"), 4096, &all, NULL), TH_OK);
	for (size_t i = 0; i < all.len; i++)
		lines += all.ptr[i] == '\n';
	assert_int_equal(lines, 100);
	th_buf_deinit(&all);
	release(x);
}

static void too_many_are_told_so(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o);
	static struct heard h[TH_EXEC_RUNNING_MAX + 5];
	struct th_executor_id ids[TH_EXEC_RUNNING_MAX + 5];
	unsigned refused = 0;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(h); i++) {
		char id[32];
		snprintf(id, sizeof(id), "e%zu", i);
		ids[i] = run_call(x, shell(id, own("{\"command\":\"sleep 757575#\"}")), &h[i]);
	}
	for (size_t i = TH_EXEC_RUNNING_MAX; i < TH_COUNT(h); i++) {
		wait_finished(&h[i]);
		assert_int_equal(h[i].code, TH_ELIMIT);
		assert_int_equal(h[i].status, TH_OUTCOME_NOT_STARTED);
		assert_string_equal(
		    h[i].text.ptr, "error: 192 effects of this session are under way, the maximum; "
				   "try again when one of them has ended");
		refused++;
	}
	for (size_t i = 0; i < TH_COUNT(h); i++)
		th_executor_client_cancel(x, ids[i]);
	for (size_t i = 0; i < TH_COUNT(h); i++) {
		wait_finished(&h[i]);
		assert_true(h[i].status == TH_OUTCOME_FAILED ||
			    h[i].status == TH_OUTCOME_NOT_STARTED);
		heard_deinit(&h[i]);
	}
	assert_int_equal(refused, 5);
	await_dead(own("757575#"));
	release(x);
}

/* A command that starts more of them hears it from the kernel; its executor goes on. */
static void processes_of_a_command(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o);
	char expected[64];
	struct heard h;

	(void)state;
	/* Without namespaces there are so many beside what the machine has (io/processes.h). */
	if (!th_str_starts(greet(x, false).info.sandbox, TH_STR("{\"level\":\"full\""))) {
		release(x);
		skip();
	}
	do_call(x, shell("e1", "{\"command\":\"grep processes /proc/self/limits | tr -s ' '\"}"),
		&h);
	snprintf(expected, sizeof(expected), "Max processes %d %d processes",
		 TH_COMMAND_PROCESSES_MAX, TH_COMMAND_PROCESSES_MAX);
	assert_true(has(&h.text, expected));
	heard_deinit(&h);
	release(x);
}

static void a_flood_stays_small(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o), *slow = client(&o);
	struct heard h;

	(void)state;
	int64_t pid = greet(x, false).info.pid;
	greet(slow, false); /* and never reads again, as a runtime that hangs */
	do_call(x, shell("warm", "{\"command\":\"echo warm\"}"), &h);
	heard_deinit(&h);
	long before = peak_begin(pid);
	struct th_effect_call c = shell("flood", "{\"command\":\"yes | head -c 200000000\"}");
	struct th_executor_handlers on = { .on_finished = on_finished, .ctx = &h };
	heard_init(&h);
	th_executor_client_run(x, &c, &on);
	wait_finished(&h);
	assert_int_equal(h.status, TH_OUTCOME_DONE);
	assert_true(has(&h.evidence, "\"output_size\":200000000"));
	assert_true(h.text.len < TH_TOOL_OUTPUT_MODEL_MAX + 200);
	assert_int_equal(h.blob_count, 1);
	assert_int_equal(h.blob_size, TH_TOOL_OUTPUT_MAX);
	assert_string_equal(h.blob_type, "text/plain");
	heard_deinit(&h);
	assert_true(peak_since(pid, before) < PEAK_OF_ITS_OUTCOME);
	struct stat st;
	assert_int_equal(stat(path_of("spool/flood"), &st), 0);
	assert_true((uint64_t)st.st_size <= TH_TOOL_OUTPUT_MAX + 64);
	/* So many are told at a time, and the one behind them is not. */
	struct th_str ids[TH_EXEC_FORGET_MAX + 1];
	for (size_t i = 0; i < TH_EXEC_FORGET_MAX; i++)
		ids[i] = TH_STR("another");
	ids[TH_EXEC_FORGET_MAX] = TH_STR("flood");
	th_executor_client_forget(x, ids, TH_EXEC_FORGET_MAX + 1);
	do_call(x, call("see", TH_CLASS_R, "list_dir", "{\"path\":\".\"}"), &h);
	heard_deinit(&h);
	assert_int_equal(stat(path_of("spool/flood"), &st), 0);
	th_executor_client_forget(x, ids + 1, TH_EXEC_FORGET_MAX);
	do_call(x, call("look", TH_CLASS_R, "list_dir", "{\"path\":\".\"}"),
		&h); /* behind it on the same way */
	heard_deinit(&h);
	assert_int_not_equal(stat(path_of("spool/flood"), &st), 0);
	release(slow);
	release(x);
}

static void output_comes_whole(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o);
	struct heard h;

	(void)state;
	/* Less than what the spool keeps: all of it, in order. */
	do_call(x, shell("e1", "{\"command\":\"seq 1 60000\"}"), &h);
	struct th_str rest = th_buf_str(&h.output);
	for (int i = 1; i <= 60000; i++)
		assert_int_equal(atoi(th_str_split(&rest, '\n').ptr), i);
	assert_int_equal(rest.len, 0);
	heard_deinit(&h);
	release(x);
}

static void cancel_is_told_truly(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o);
	struct heard h;

	(void)state;
	struct th_executor_id id =
	    run_call(x, shell("e1", own("{\"command\":\"echo a; sleep 868686#\"}")), &h);
	wait_output(&h, "a\n");
	th_executor_client_cancel(x, id);
	wait_finished(&h);
	assert_int_equal(h.status, TH_OUTCOME_FAILED);
	assert_true(has(&h.text, "a\n[cancelled"));
	heard_deinit(&h);
	await_dead(own("868686#"));
	th_executor_client_cancel(x, id); /* a miss */
	/* At once, perhaps before it was begun. */
	id = run_call(x, shell("e2", own("{\"command\":\"echo x > cancelled; sleep 868687#\"}")),
		      &h);
	th_executor_client_cancel(x, id);
	wait_finished(&h);
	if (h.status == TH_OUTCOME_NOT_STARTED)
		assert_int_not_equal(access(in_workspace("cancelled"), F_OK), 0);
	else
		assert_int_equal(h.status, TH_OUTCOME_FAILED);
	heard_deinit(&h);
	release(x);
}

static void free_while_calling(void *ctx, const struct th_effect_result *r)
{
	struct th_executor_client **x = (struct th_executor_client **)ctx;
	(void)r;
	*x = release(*x);
	th_loop_stop(loop);
}

static void freeing_in_a_callback_is_fine(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o);
	struct th_executor_handlers on = { .on_finished = free_while_calling, .ctx = &x };
	struct th_effect_call c = shell("e1", "{\"command\":\"true\"}");
	struct heard h;

	(void)state;
	th_executor_client_run(x, &c, &on);
	run_call(x, shell("e2", "{\"command\":\"sleep 1\"}"), &h);
	while (x)
		th_loop_run(loop);
	assert_int_equal(h.finished, 0);
	heard_deinit(&h);
	o.workspace = TH_STR("/nowhere");
	o.session = TH_STR("another");
	x = client(&o);
	th_executor_client_run(x, &c, &on);
	while (x)
		th_loop_run(loop);
}

/* What is not a runtime gets an error, and the executor lives. */
static void strange_clients_do_no_harm(void **state)
{
	static const char *const heads[] = {
		"{}",
		"[]",
		"null",
		"{\"op\":\"what\"}",
		"{\"op\":\"run\"}",
		"{\"op\":\"hello\"}",
		"{\"op\":\"hello\",\"session\":\"other\",\"epoch\":1}",
		"{\"op\":\"hello\",\"session\":\"session 1\",\"epoch\":-1}",
		"{\"op\":\"end\",\"id\":1}",
		"{\"op\":\"welcome\"}",
		"\xff\xfe",
		"",
	};
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o);
	struct heard h;
	struct th_frame frame;

	(void)state;
	greet(x, false);
	for (size_t i = 0; i < TH_COUNT(heads); i++) {
		struct th_pipe p;
		th_pipe_init(&p, -1);
		assert_int_equal(th_pipe_connect(&p, path_of("socket"), NULL), TH_OK);
		assert_int_equal(th_pipe_write(&p, th_str_of(heads[i]), TH_STR("x"), 1000, NULL),
				 TH_OK);
		assert_int_equal(th_pipe_read(&p, 5000, &frame, NULL), TH_OK);
		assert_true(th_str_starts(frame.json, TH_STR("{\"op\":\"error\"")));
		th_pipe_deinit(&p);
	}
	/* No frame at all. */
	struct th_pipe p;
	th_pipe_init(&p, -1);
	assert_int_equal(th_pipe_connect(&p, path_of("socket"), NULL), TH_OK);
	assert_int_equal(write(p.fd, "GET / HTTP/1.1\r\n\r\n", 18), 18);
	assert_int_equal(th_pipe_read(&p, 5000, &frame, NULL), TH_ECONN);
	th_pipe_deinit(&p);
	/* Who cannot read the token is nobody; what calls itself harmless is not believed. */
	struct th_buf token = TH_BUF_INIT(64);
	char hello[200];
	th_executor_announced(path_of(""), NULL, &token);
	assert_int_equal(token.len, TH_EXEC_TOKEN_LEN);
	for (int good = 0; good < 2; good++) {
		snprintf(hello, sizeof(hello),
			 "{\"op\":\"hello\",\"session\":\"session 1\",\"epoch\":1,\"protocol\":%d,"
			 "\"token\":\"%s\"}",
			 TH_EXEC_PROTOCOL, good ? token.ptr : "0123456789abcdef0123456789abcdef");
		th_pipe_init(&p, -1);
		assert_int_equal(th_pipe_connect(&p, path_of("socket"), NULL), TH_OK);
		assert_int_equal(th_pipe_write(&p, th_str_of(hello), TH_STR(""), 1000, NULL),
				 TH_OK);
		assert_int_equal(th_pipe_read(&p, 5000, &frame, NULL), TH_OK);
		if (good)
			break;
		assert_true(th_str_find(frame.json, TH_STR("\"code\":\"denied\"")) > 0);
		th_pipe_deinit(&p);
	}
	th_buf_deinit(&token);
	assert_int_equal(
	    th_pipe_write(
		&p,
		TH_STR(
		    "{\"op\":\"run\",\"id\":7,\"effect_id\":\"soft\",\"epoch\":1,\"class\":\"R\","
		    "\"tool\":\"shell\",\"arguments\":{\"command\":\"true\"}}"),
		TH_STR(""), 1000, NULL),
	    TH_OK);
	assert_int_equal(th_pipe_read(&p, 5000, &frame, NULL), TH_OK);
	assert_true(th_str_starts(frame.json, TH_STR("{\"op\":\"accepted\"")));
	th_pipe_deinit(&p);
	do_call(x, shell("e1", "{\"command\":\"echo well\"}"), &h);
	assert_string_equal(h.output.ptr, "well\n");
	heard_deinit(&h);
	release(x);
}

static void on_no_end(void *ctx, const struct th_err *err)
{
	*(struct th_err *)ctx = err ? *err : (struct th_err){ 0 };
	th_loop_stop(loop);
}

/* One that hangs is waited for, at its greeting and at its end, and no longer. */
static void times_of_an_executor(void **state)
{
	struct th_executor_options o = options();
	struct th_err err = { .code = TH_EPROTO };
	struct th_executor_client *x, *y;
	struct greeting g;

	(void)state;
	o.end_ms = 40;
	x = client(&o);
	int64_t pid = greet(x, false).info.pid;
	assert_int_equal(kill((pid_t)pid, SIGSTOP), 0);
	o.start_ms = 40;
	y = client(&o);
	g = greet(y, false);
	assert_int_equal(g.err.code, TH_ETIMEOUT);
	assert_non_null(strstr(g.err.msg, "the executor does not answer within 40 ms; see /"));
	release(y);
	th_executor_client_end(x, on_no_end, &err);
	while (err.code == TH_EPROTO)
		th_loop_run(loop);
	assert_int_equal(err.code, TH_ETIMEOUT);
	assert_non_null(strstr(err.msg, "the executor does not end within 40 ms; see /"));
	release(x);
	kill_executor(pid);
}

/* What an executor said is kept for the next one, until it is too much. */
static void edges_of_a_log(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o);
	char *text = th_alloc(TH_EXEC_LOG_MAX + 1);

	(void)state;
	memset(text, 'x', TH_EXEC_LOG_MAX + 1);
	for (size_t more = 0; more < 2; more++) {
		struct stat st;

		int64_t pid = greet(x, false).info.pid;
		release(x);
		kill_executor(pid);
		assert_int_equal(th_file_write(path_of("log"),
					       th_str_n(text, TH_EXEC_LOG_MAX + more), 0600, NULL),
				 TH_OK);
		x = client(&o);
		assert_int_equal(greet(x, false).err.code, TH_OK);
		assert_int_equal(stat(path_of("log"), &st), 0);
		assert_int_equal(st.st_size >= (off_t)TH_EXEC_LOG_MAX, !more);
	}
	free(text);
	release(x);
}

/* The last connection that an executor takes, and the first that it does not. */
static void edges_of_connections(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o), *last, *more;
	struct th_pipe p[TH_EXEC_CLIENTS_MAX - 2];
	struct greeting g;

	(void)state;
	assert_int_equal(greet(x, false).err.code, TH_OK);
	for (size_t i = 0; i < TH_COUNT(p); i++) {
		th_pipe_init(&p[i], -1);
		assert_int_equal(th_pipe_connect(&p[i], path_of("socket"), NULL), TH_OK);
	}
	last = client(&o);
	assert_int_equal(greet(last, false).err.code, TH_OK);
	more = client(&o);
	g = greet(more, false);
	if (g.err.code != TH_ELIMIT)
		fail_msg("%s", g.err.msg);
	assert_non_null(strstr(g.err.msg, "the executor has 64 connections, its maximum"));
	for (size_t i = 0; i < TH_COUNT(p); i++)
		th_pipe_deinit(&p[i]);
	/* When others have gone there is a place again. */
	do
		g = greet(more, false);
	while (g.err.code == TH_ELIMIT);
	assert_int_equal(g.err.code, TH_OK);
	release(more);
	release(last);
	release(x);
}

/* Values `from` to `to` - 1 of secrets, all under one name: the last one is what commands get. */
static void give_values(struct th_executor_client *x, int from, int to)
{
	struct th_buf list = TH_BUF_INIT(TH_MIB);

	for (int i = from; i < to; i++)
		th_buf_printf(&list, "%s{\"name\":\"TOKEN\",\"value\":\"value-%d-of-many\"%s}",
			      i > from ? "," : "[", i, i + 1 < to ? ",\"old\":true" : "");
	th_buf_add_char(&list, ']');
	th_executor_client_give(x, th_buf_str(&list));
	th_buf_deinit(&list);
}

/* What a server before this one gave stays masked, and takes room. */
static void too_many_secrets_are_an_ordinary_error(void **state)
{
	static const char tell[] = "{\"command\":\"echo ${#TOKEN} $TOKEN\"}";
	struct th_executor_options o = options();
	struct th_executor_client *x = client(&o);
	struct th_effect_call late;
	struct heard h;

	(void)state;
	give_values(x, 0, TH_SECRETS_GIVEN_MAX);
	do_call(x, shell("e1", tell), &h);
	assert_string_equal(h.text.ptr, "17 *****************\n[exit code 0]");
	heard_deinit(&h);
	release(x);
	o.epoch = 2;
	x = client(&o);
	give_values(x, TH_SECRETS_GIVEN_MAX, TH_SECRETS_GIVEN_MAX + 1);
	do_call(x, shell("e2", tell), &h);
	assert_int_equal(h.status, TH_OUTCOME_NOT_STARTED);
	assert_true(has(&h.text, "256 values of secrets"));
	heard_deinit(&h);
	/* As one whose runtime died before it was sent. */
	late = shell("e3", tell);
	late.journal = th_executor_client_journal(x);
	late.begin = true;
	attach_call(x, late, 0, &h);
	wait_finished(&h);
	assert_int_equal(h.status, TH_OUTCOME_NOT_STARTED);
	heard_deinit(&h);
	/* The connection is the same one, and those that it knows may be given. */
	give_values(x, 7, 8);
	do_call(x, shell("e4", tell), &h);
	assert_string_equal(h.text.ptr, "15 ***************\n[exit code 0]");
	heard_deinit(&h);
	release(x);
}

/* A home folder as workspace: log and journal in it are nobody's business. */
static void our_own_folders_are_no_part_of_the_workspace(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x;
	struct heard h;

	(void)state;
	assert_int_equal(mkdir(in_workspace("deep"), 0755), 0);
	assert_int_equal(mkdir(in_workspace("deep/state"), 0755), 0);
	give_to_commands(in_workspace("deep"));
	setenv("XDG_STATE_HOME", in_workspace("deep/state"), 1);
	x = client(&o);
	struct greeting g = greet(x, false);
	if (!namespaces()) {
		assert_int_equal(g.err.code, TH_EPERM);
		release(x);
		return;
	}
	do_call(x,
		shell("e1", "{\"command\":\"cat deep/state/thole/exec/*/lock; mv deep moved; mv "
			    "deep/state moved; "
			    "echo x > deep/state/thole/x; rm -rf deep; ls\"}"),
		&h);
	assert_false(has(&h.text, ".sock"));
	assert_true(has(&h.text, "busy"));
	heard_deinit(&h);
	assert_int_equal(access(in_workspace("deep/state/thole/exec"), F_OK), 0);
	assert_int_equal(access(path_of("journal"), F_OK), 0);
	do_call(x, call("r1", TH_CLASS_R, "list_dir", "{\"path\":\"deep/state/thole\"}"), &h);
	assert_int_equal(h.status, TH_OUTCOME_REFUSED);
	heard_deinit(&h);
	release(x);
}

static void once_is_enough_for_commands(void **state)
{
	struct th_executor_options o = options();
	struct th_effect_call c = shell("e1", "{\"command\":\"echo once\"}");
	struct th_executor_answer a;
	struct th_executor_info info;
	struct th_arena arena;
	struct th_err err = {};

	(void)state;
	th_arena_init(&arena, TH_MIB);
	assert_int_equal(th_executor_client_once(&o, &c, NULL, &a, &err), TH_OK);
	assert_true(th_str_is(a.result.output, "\"once\\n[exit code 0]\""));
	th_executor_answer_deinit(&a);
	o.only_running = true;
	assert_int_equal(th_executor_client_info_once(&o, false, &info, &arena, &err), TH_OK);
	assert_true(th_str_is(info.workspace, workspace));
	assert_int_equal(th_executor_client_end_once(&o, &err), TH_OK);
	assert_int_equal(th_executor_client_info_once(&o, false, &info, &arena, &err), TH_ENOENT);
	c.effect_id = TH_STR("e2");
	assert_int_equal(th_executor_client_once(&o, &c, NULL, &a, &err), TH_ENOENT);
	assert_string_equal(err.msg, "this session has no executor running");
	th_executor_answer_deinit(&a);
	th_arena_deinit(&arena);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(int argc, char **argv)
{
	TH_EXEC_RIG_ROLES(argc, argv);
	const struct CMUnitTest tests[] = {
		T(does_an_effect),
		T(says_what_it_is),
		T(a_failed_start_says_why),
		T(there_is_only_one),
		T(a_contradiction_is_told),
		T(a_command_outlives_its_runtime),
		T(an_id_acts_once),
		T(an_older_epoch_is_fenced),
		T(it_lingers_and_goes),
		T(it_lingers_for_a_running_command),
		T(end_leaves_nothing),
		T(a_killed_executor_leaves_unknown),
		T(absence_proves_only_what_it_can),
		T(an_attach_sent_twice_proves_nothing),
		T(what_never_began_may_begin),
		T(killed_at_many_points),
		T(a_write_is_decided_by_looking),
		T(many_at_a_time),
		T(too_many_are_told_so),
		T(processes_of_a_command),
		T(a_flood_stays_small),
		T(output_comes_whole),
		T(cancel_is_told_truly),
		T(freeing_in_a_callback_is_fine),
		T(strange_clients_do_no_harm),
		T(times_of_an_executor),
		T(edges_of_a_log),
		T(edges_of_connections),
		T(too_many_secrets_are_an_ordinary_error),
		T(our_own_folders_are_no_part_of_the_workspace),
		T(once_is_enough_for_commands),
	};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
