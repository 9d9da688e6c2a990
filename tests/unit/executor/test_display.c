/* SPDX-License-Identifier: Apache-2.0 */
/* The computer through the executor: a real private desktop, its death, its end. */
#include "exec_rig.h"

#include <sys/wait.h>
#include <xcb/xcb.h>

#include "computers/computers.h"

#include "base/geom.h"
#include "computer/computer.h"
#include "display/link.h"

static bool desktops_work(void)
{
	return access("/usr/bin/Xvfb", X_OK) == 0 && access("/usr/bin/openbox", X_OK) == 0;
}

static struct th_executor_options desktop(void)
{
	struct th_executor_options o = options();
	o.computer = TH_STR("desktop");
	o.size = (struct th_size){ 800, 600 };
	return o;
}

static struct th_effect_call computer(const char *id, enum th_class class, const char *arguments)
{
	return call(id, class, "computer", arguments);
}

static struct th_str member(const struct th_buf *json, const char *key)
{
	return th_json_raw_get(th_buf_str(json), key);
}

/* The display process of an executor: its child that was started so. */
static pid_t display_of(int64_t executor)
{
	pid_t found = 0;
	DIR *dir = opendir("/proc");

	for (struct dirent *e; (e = readdir(dir));) {
		char path[300];
		int parent = 0;
		struct th_buf text = TH_BUF_INIT(TH_MIB);
		snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
		    th_file_read(path, TH_MIB, &text, NULL) == TH_OK && strrchr(text.ptr, ')') &&
		    sscanf(strrchr(text.ptr, ')') + 1, " %*c %d", &parent) == 1 &&
		    parent == executor) {
			th_buf_clear(&text);
			snprintf(path, sizeof(path), "/proc/%s/cmdline", e->d_name);
			if (th_file_read(path, TH_MIB, &text, NULL) == TH_OK &&
			    memmem(text.ptr, text.len, "display", 7))
				found = (pid_t)atoi(e->d_name);
		}
		th_buf_deinit(&text);
	}
	closedir(dir);
	assert_true(found > 0);
	return found;
}

/* The Xvfb whose sandbox shows this test's workspace. */
static pid_t xvfb(void)
{
	pid_t found = 0;
	DIR *dir = opendir("/proc");

	for (struct dirent *e; (e = readdir(dir));) {
		char path[300];
		struct th_buf text = TH_BUF_INIT(TH_MIB);
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		if (th_file_read(path, TH_MIB, &text, NULL) == TH_OK &&
		    th_str_is(th_buf_str(&text), "Xvfb\n")) {
			th_buf_clear(&text);
			snprintf(path, sizeof(path), "/proc/%s/mountinfo", e->d_name);
			if (th_file_read(path, TH_MIB, &text, NULL) == TH_OK &&
			    strstr(text.ptr, workspace))
				found = (pid_t)atoi(e->d_name);
		}
		th_buf_deinit(&text);
	}
	closedir(dir);
	return found;
}

static void await_gone(pid_t pid)
{
	for (int i = 0; i < 500 && kill(pid, 0) == 0; i++)
		poll(NULL, 0, 10);
	assert_int_not_equal(kill(pid, 0), 0);
}

static void sees_and_acts(void **state)
{
	struct th_executor_options o = desktop();
	struct th_executor_client *x = client(&o);
	struct heard h;
	struct greeting g;

	(void)state;
	g = greet(x, false);
	assert_int_equal(g.info.screen.width, 0); /* not open yet */
	assert_true(th_str_is(g.info.computer, "desktop"));
	g = greet(x, true);
	assert_int_equal(g.err.code, TH_OK);
	assert_int_equal(g.info.screen.width, 800);
	assert_int_equal(g.info.screen.height, 600);
	assert_true(g.info.caps & TH_CAP_SEE);

	do_call(x, computer("r1", TH_CLASS_R, "{\"actions\":[],\"screenshot\":true}"), &h);
	assert_int_equal(h.status, TH_OUTCOME_DONE);
	assert_int_equal(h.accepted, 0);
	assert_int_equal(h.blob_count, 1);
	assert_string_equal(h.blob_type, "image/png");
	assert_true(has(&h.text, "\"type\":\"image\",\"media_type\":\"image/png\",\"blob\":\""));
	assert_true(has(&h.text, "\"width\":800,\"height\":600"));
	struct th_digest first = h.blob;
	heard_deinit(&h);

	do_call(x,
		computer("e1", TH_CLASS_W,
			 "{\"actions\":[{\"type\":\"click\",\"x\":10,\"y\":20},{\"type\":\"cursor_"
			 "position\"}],\"settle\":true,"
			 "\"screenshot\":true}"),
		&h);
	assert_int_equal(h.status, TH_OUTCOME_DONE);
	assert_int_equal(h.accepted, 1);
	assert_true(has(&h.text, "the pointer is at (10, 20)"));
	assert_true(th_str_is(member(&h.evidence, "done"), "2"));
	assert_true(th_str_is(member(&h.evidence, "pointer"), "[10,20]"));
	assert_true(th_digest_eq(
	    &h.blob, &first)); /* nothing was drawn, and the bytes are there all the same */
	assert_true(th_str_is(member(&h.evidence, "unchanged"), "true"));
	heard_deinit(&h);

	/* From the journal, with its picture. */
	attach_call(x, computer("e1", TH_CLASS_W, "{\"actions\":[]}"), 0, &h);
	wait_finished(&h);
	assert_int_equal(h.blob_count, 1);
	assert_true(th_digest_eq(&h.blob, &first));
	heard_deinit(&h);

	do_call(x,
		computer("r2", TH_CLASS_R,
			 "{\"actions\":[{\"type\":\"screenshot\"}],\"format\":\"jpeg\",\"fit_"
			 "width\":400,\"fit_height\":400}"),
		&h);
	assert_string_equal(h.blob_type, "image/jpeg");
	assert_true(has(&h.text, "\"width\":400,\"height\":300"));
	heard_deinit(&h);
	do_call(x,
		computer("r3", TH_CLASS_R,
			 "{\"actions\":[{\"type\":\"zoom\",\"region\":[0,0,100,50]}]}"),
		&h);
	assert_true(has(&h.text, "\"width\":100,\"height\":50"));
	heard_deinit(&h);
	do_call(x,
		computer("e2", TH_CLASS_W,
			 "{\"actions\":[{\"type\":\"clipboard_set\",\"text\":\"h\\u00e9\"}]}"),
		&h);
	assert_int_equal(h.status, TH_OUTCOME_DONE);
	heard_deinit(&h);
	do_call(x, computer("r4", TH_CLASS_R, "{\"actions\":[{\"type\":\"clipboard_get\"}]}"), &h);
	assert_true(has(&h.text, "{\"type\":\"text\",\"text\":\"h\xc3\xa9\"}"));
	heard_deinit(&h);
	release(x);
}

static void what_cannot_be_is_refused_before_anything_moves(void **state)
{
	static const char *const refused[] = {
		"{\"actions\":[{\"type\":\"move\",\"x\":5,\"y\":5},{\"type\":\"click\",\"x\":800,"
		"\"y\":0}]}",
		"{\"actions\":[{\"type\":\"move\",\"x\":5,\"y\":5},{\"type\":\"dance\"}]}",
		"{\"actions\":[{\"type\":\"move\",\"x\":5,\"y\":5},{\"type\":\"key\",\"keys\":["
		"\"nokey\"]}]}",
		"{\"actions\":{}}",
		"{\"actions\":[],\"screenshot\":true,\"format\":\"bmp\"}",
		"{\"action\":[]}",
	};
	struct th_executor_options o = desktop();
	struct th_executor_client *x = client(&o);
	struct heard h;
	char id[16];

	(void)state;
	do_call(x, computer("e", TH_CLASS_W, "{\"actions\":[{\"type\":\"move\",\"x\":7,\"y\":8}]}"),
		&h);
	heard_deinit(&h);
	for (size_t i = 0; i < TH_COUNT(refused); i++) {
		snprintf(id, sizeof(id), "e%zu", i);
		do_call(x, computer(id, TH_CLASS_W, refused[i]), &h);
		if (h.status != TH_OUTCOME_REFUSED)
			fail_msg("%s: %s: %s", refused[i], th_outcome_name(h.status), h.text.ptr);
		if (i == 0)
			assert_true(has(
			    &h.text,
			    "action 2 of 2: (800, 0) is outside the screen: x must be 0 to 799"));
		heard_deinit(&h);
	}
	do_call(x, computer("r", TH_CLASS_R, "{\"actions\":[{\"type\":\"cursor_position\"}]}"), &h);
	assert_true(has(&h.text, "(7, 8)"));
	heard_deinit(&h);
	release(x);
}

/* The first call waits for the window of each program that shows one. */
static void the_first_look_waits_for_windows(void **state)
{
	struct th_executor_options o = desktop();
	struct th_str start[] = { th_str_of(own("sleep 1; exec xeyes; sleep 717174#")),
				  th_str_of(own("sleep 717175#")) };
	struct th_executor_client *x;
	struct heard h;

	(void)state;
	o.start = start;
	o.start_count = 2;
	o.start_windows = 1;
	x = client(&o);
	do_call(x, computer("r", TH_CLASS_R, "{\"actions\":[],\"screenshot\":true}"), &h);
	assert_int_equal(h.status, TH_OUTCOME_DONE);
	assert_int_equal(member(&h.evidence, "start").len, 0);
	heard_deinit(&h);
	do_call(x, shell("e", "{\"command\":\"xprop -root _NET_CLIENT_LIST\"}"), &h);
	assert_true(has(&h.output, "window id # 0x"));
	heard_deinit(&h);
	release(x);
}

/* One that shows none although it should: the wait is bounded, and what was seen is said once. */
static void a_missing_window_is_said(void **state)
{
	struct th_executor_options o = desktop();
	struct th_str start[] = { th_str_of(own("sleep 717176#")) };
	struct th_executor_client *x;
	struct heard h;

	(void)state;
	o.start = start;
	o.start_count = o.start_windows = 1;
	o.start_wait_ms = 700;
	x = client(&o);
	do_call(x, computer("r", TH_CLASS_R, "{\"actions\":[],\"screenshot\":true}"), &h);
	assert_int_equal(h.status, TH_OUTCOME_DONE);
	assert_true(th_str_is(member(&h.evidence, "start"),
			      "{\"windows\":1,\"shown\":0,\"waited_ms\":700}"));
	heard_deinit(&h);
	do_call(x, computer("r", TH_CLASS_R, "{\"actions\":[],\"screenshot\":true}"), &h);
	assert_int_equal(member(&h.evidence, "start").len, 0);
	heard_deinit(&h);
	release(x);
}

static void commands_run_on_the_desktop(void **state)
{
	struct th_executor_options o = desktop();
	struct th_str start[] = { th_str_of(own("echo started > started; sleep 717171#")) };
	struct th_executor_client *x;
	struct heard h;

	(void)state;
	o.start = start;
	o.start_count = 1;
	x = client(&o);
	do_call(x, shell("before", "{\"command\":\"echo ${DISPLAY:-none}\"}"), &h);
	assert_string_equal(h.output.ptr, "none\n"); /* the desktop is not there yet */
	heard_deinit(&h);
	assert_int_equal(greet(x, true).err.code, TH_OK);
	do_call(x,
		shell("e1", own("{\"command\":\"echo $DISPLAY; pwd; sleep 717172# & while [ ! -s "
				"started ]; do sleep 0.01; done; cat "
				"started; exit 3\"}")),
		&h);
	assert_true(has(&h.output, workspace));
	assert_true(has(&h.output, ":0\n") || has(&h.output, ":"));
	assert_true(has(&h.text, "started\n[exit code 3]"));
	assert_int_equal(h.status, TH_OUTCOME_DONE);
	heard_deinit(&h);
	/* What it left running stays, and may say what it likes; a timeout takes all of its own. */
	await_alive(own("717172#"));
	do_call(
	    x,
	    shell("e2", own("{\"command\":\"(setsid sh -c 'sleep 717173# & sleep 717174#' &); echo "
			    "go; sleep 717175#\",\"timeout_s\":1}")),
	    &h);
	assert_int_equal(h.status, TH_OUTCOME_FAILED);
	assert_true(has(&h.text, "go\n[ended after 1 s"));
	heard_deinit(&h);
	await_dead(own("717173#"));
	await_dead(own("717174#"));
	await_dead(own("717175#"));
	assert_int_equal(alive(own("717172#")), 1);
	end(x);
	await_dead(own("#"));
	release(x);
}

static void cancel_ends_a_wait(void **state)
{
	struct th_executor_options o = desktop();
	struct th_executor_client *x = client(&o);
	struct heard h, queued;

	(void)state;
	assert_int_equal(greet(x, true).err.code, TH_OK);
	uint64_t began = th_clock_ms();
	struct th_executor_id id =
	    run_call(x,
		     computer("e1", TH_CLASS_W,
			      "{\"actions\":[{\"type\":\"move\",\"x\":1,\"y\":2},{\"type\":"
			      "\"wait\",\"duration_ms\":60000}]}"),
		     &h);
	struct th_executor_id second = run_call(
	    x, computer("e2", TH_CLASS_W, "{\"actions\":[{\"type\":\"move\",\"x\":9,\"y\":9}]}"),
	    &queued);
	wait_output(&h, "");
	th_executor_client_cancel(x, second);
	wait_finished(&queued);
	assert_int_equal(queued.status, TH_OUTCOME_NOT_STARTED);
	heard_deinit(&queued);
	th_executor_client_cancel(x, id);
	wait_finished(&h);
	/* Accepted is not begun: a cancel that overtakes the first action is told as that. */
	bool begun = h.status != TH_OUTCOME_NOT_STARTED;
	if (begun) {
		assert_int_equal(h.status, TH_OUTCOME_FAILED);
		assert_true(has(&h.text, "error in action 2 of 2"));
		assert_true(th_str_is(member(&h.evidence, "done"), "1"));
	}
	heard_deinit(&h);
	assert_true(th_clock_ms() - began < 30000);
	/* It is as good as before. */
	do_call(x, computer("r1", TH_CLASS_R, "{\"actions\":[{\"type\":\"cursor_position\"}]}"),
		&h);
	assert_int_equal(has(&h.text, "(1, 2)"), begun);
	heard_deinit(&h);
	release(x);
}

static void a_dead_display_is_told_and_replaced(void **state)
{
	struct th_executor_options o = desktop();
	struct th_executor_client *x = client(&o);
	struct heard h;

	(void)state;
	if (!namespaces())
		skip(); /* xvfb() finds it by its mounts */
	int64_t executor = greet(x, true).info.pid;
	/* Its process dies in the middle of a request. */
	run_call(x,
		 computer("e1", TH_CLASS_W,
			  "{\"actions\":[{\"type\":\"move\",\"x\":1,\"y\":2},{\"type\":\"hold_"
			  "key\",\"keys\":[\"a\"],"
			  "\"duration_ms\":60000}],\"screenshot\":true}"),
		 &h);
	wait_output(&h, "");
	pid_t server = xvfb();
	assert_true(server > 0);
	assert_int_equal(kill(display_of(executor), SIGKILL), 0);
	wait_finished(&h);
	assert_int_equal(h.status, TH_OUTCOME_UNKNOWN);
	assert_true(has(&h.text, "may or may not have happened"));
	heard_deinit(&h);
	await_gone(server);
	do_call(x, computer("r1", TH_CLASS_R, "{\"actions\":[],\"screenshot\":true}"), &h);
	assert_int_equal(h.status, TH_OUTCOME_DONE);
	assert_true(th_str_is(member(&h.evidence, "restarted"), "true"));
	heard_deinit(&h);
	do_call(x, computer("r2", TH_CLASS_R, "{\"actions\":[],\"screenshot\":true}"), &h);
	assert_true(member(&h.evidence, "restarted").len == 0);
	heard_deinit(&h);
	/* The X server dies while it waits for nothing. */
	server = xvfb();
	assert_int_equal(kill(server, SIGKILL), 0);
	await_gone(server);
	do_call(x,
		computer("e3", TH_CLASS_W, "{\"actions\":[{\"type\":\"move\",\"x\":3,\"y\":4}]}"),
		&h);
	if (h.status == TH_OUTCOME_DONE)
		assert_true(th_str_is(member(&h.evidence, "restarted"), "true"));
	heard_deinit(&h);
	do_call(x, computer("r4", TH_CLASS_R, "{\"actions\":[],\"screenshot\":true}"), &h);
	assert_int_equal(h.status, TH_OUTCOME_DONE);
	heard_deinit(&h);
	/* And while it is held in a gesture: never a false success. */
	run_call(
	    x,
	    computer(
		"e5", TH_CLASS_W,
		"{\"actions\":[{\"type\":\"hold_key\",\"keys\":[\"a\"],\"duration_ms\":3000}]}"),
	    &h);
	wait_output(&h, "");
	for (int i = 0; i < 100 && !h.finished; i++)
		th_loop_pass(loop); /* it is at the desktop by now, or about to be */
	kill(xvfb(), SIGKILL);
	wait_finished(&h);
	/* A gesture that had not begun is done on the new desktop, and says so. */
	if (h.status == TH_OUTCOME_DONE)
		assert_true(th_str_is(member(&h.evidence, "restarted"), "true"));
	heard_deinit(&h);
	release(x);
}

static void a_frozen_display_is_noticed(void **state)
{
	struct th_executor_options o = desktop();
	struct th_executor_client *x = client(&o);
	struct heard h;

	(void)state;
	if (!namespaces())
		skip(); /* xvfb() finds it by its mounts */
	assert_int_equal(greet(x, true).err.code, TH_OK);
	pid_t server = xvfb();
	assert_int_equal(kill(server, SIGSTOP), 0);
	uint64_t began = th_clock_ms();
	do_call(x,
		computer("e1", TH_CLASS_W, "{\"actions\":[{\"type\":\"click\",\"x\":3,\"y\":4}]}"),
		&h);
	assert_true(h.status == TH_OUTCOME_UNKNOWN || h.status == TH_OUTCOME_NOT_STARTED);
	assert_true(th_clock_ms() - began < 20000);
	heard_deinit(&h);
	await_gone(server);
	do_call(x, computer("r1", TH_CLASS_R, "{\"actions\":[],\"screenshot\":true}"), &h);
	assert_int_equal(h.status, TH_OUTCOME_DONE);
	assert_true(th_str_is(member(&h.evidence, "restarted"), "true"));
	heard_deinit(&h);
	release(x);
}

static void a_killed_executor_takes_the_desktop_along(void **state)
{
	struct th_executor_options o = desktop();
	struct th_executor_client *x = client(&o);
	struct heard h;

	(void)state;
	if (!namespaces())
		skip(); /* xvfb() finds it by its mounts */
	int64_t executor = greet(x, true).info.pid;
	do_call(x, shell("e0", own("{\"command\":\"setsid sleep 919191# & echo\"}")), &h);
	heard_deinit(&h);
	run_call(x,
		 computer("e1", TH_CLASS_W,
			  "{\"actions\":[{\"type\":\"move\",\"x\":1,\"y\":2},{\"type\":\"move\","
			  "\"x\":2,\"y\":2},"
			  "{\"type\":\"wait\",\"duration_ms\":60000}]}"),
		 &h);
	wait_output(&h, "");
	pid_t server = xvfb(), display = display_of(executor);
	kill_executor(executor);
	wait_finished(&h);
	assert_int_equal(h.status, TH_OUTCOME_UNKNOWN);
	heard_deinit(&h);
	await_gone(server);
	await_gone(display);
	await_dead(own("919191#"));
	release(x);
}

/* A display of somebody else, which outlives us.  Returns its process; *ret: its name.  A server
 * that loses the race for a number ends. */
static pid_t foreign_display(char ret[static 16])
{
	for (int tries = 0; tries < 20; tries++) {
		int fds[2];
		size_t len = 1;
		char last = 0;

		assert_int_equal(pipe(fds), 0);
		pid_t pid = fork();
		if (pid == 0) {
			dup2(fds[1], 9);
			execlp("Xvfb", "Xvfb", "-displayfd", "9", "-screen", "0", "640x480x24",
			       "-nolisten", "tcp", "-ac", "-noreset", (char *)NULL);
			_exit(127);
		}
		close(fds[1]);
		ret[0] = ':';
		/* It writes the number and the newline one after the other. */
		while (len < 16 && last != '\n' && read(fds[0], &last, 1) == 1)
			ret[len++] = last;
		close(fds[0]);
		if (last == '\n') {
			ret[len - 1] = '\0';
			return pid;
		}
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		poll(NULL, 0, 100);
	}
	fail_msg("Xvfb does not start");
	return 0;
}

static void await_log(const char *words)
{
	struct th_buf log = TH_BUF_INIT(TH_MIB);

	for (int i = 0; i < 2000 && !(log.len > 0 && strstr(log.ptr, words)); i++) {
		poll(NULL, 0, 10);
		th_buf_clear(&log);
		(void)!th_file_read(path_of("log"), TH_MIB, &log, NULL);
	}
	if (!log.len || !strstr(log.ptr, words))
		fail_msg("the log does not say '%s': %s", words, log.len ? log.ptr : "");
	th_buf_deinit(&log);
}

/* Killed with a button and a key down on a screen that stays: they are let go of by the next one,
 * also when it is asked for nothing. */
static void what_is_held_down_is_let_go(void **state)
{
	struct th_executor_options o = options();
	struct th_computer *screen = NULL;
	struct th_act_result result = {};
	struct heard h;
	struct th_err err;
	char name[16];
	pid_t server = foreign_display(name);

	(void)state;
	o.computer = TH_STR("x11");
	o.display = th_str_of(name);
	struct th_executor_client *x = client(&o);
	greet(x, true);
	for (int i = 0; i < 2; i++) {
		run_call(x,
			 computer(i ? "e1" : "e0", TH_CLASS_W,
				  "{\"actions\":[{\"type\":\"mouse_down\",\"x\":5,\"y\":5},"
				  "{\"type\":\"key_down\",\"keys\":[\"shift\"]},"
				  "{\"type\":\"wait\",\"duration_ms\":60000}]}"),
			 &h);
		/* Both are down: the second step is in the journal. */
		struct th_buf journal = TH_BUF_INIT(TH_MIB);
		for (int tries = 0; tries < 2000; tries++) {
			th_buf_clear(&journal);
			th_loop_pass(loop);
			assert_int_equal(th_file_read(path_of("journal"), TH_MIB, &journal, NULL),
					 TH_OK);
			if (th_str_find(th_buf_str(&journal),
					i ? TH_STR("\"r\":\"step\",\"id\":\"e1\",\"steps\":2")
					  : TH_STR("\"r\":\"step\",\"id\":\"e0\",\"steps\":2")) >=
			    0)
				break;
			poll(NULL, 0, 10);
		}
		th_buf_deinit(&journal);
		/* Both at once (alone it ends in order, and lets go itself); then only the display
		 * process. */
		int64_t executor = greet(x, false).info.pid;
		pid_t display = display_of(executor);
		if (i == 0)
			assert_int_equal(kill((pid_t)executor, SIGSTOP), 0);
		assert_int_equal(kill(display, SIGKILL), 0);
		if (i == 0)
			kill_executor(executor);
		wait_finished(&h);
		assert_int_equal(h.status, TH_OUTCOME_UNKNOWN);
		if (i == 0)
			assert_true(has(&h.evidence, "\"done_at_least\":2"));
		heard_deinit(&h);
		await_log(i == 0
			      ? "2 keys and buttons were down and let go\n"
			      : "2 keys and buttons were down and let go\nthole executor: 2 keys");
	}
	struct th_computer_options direct = { .kind = TH_STR("x11"),
					      .display = th_str_of(name),
					      .interrupt_fd = -1 };
	assert_int_equal(th_computer_open(&direct, &screen, &err), TH_OK);
	assert_int_equal(screen->kind->reset(screen, &result, &err), TH_OK);
	assert_int_equal(result.keys_released, 0);
	th_computer_close(screen);
	end(x);
	release(x);
	kill(server, SIGTERM);
	assert_int_equal(waitpid(server, NULL, 0), server);
}

static void nothing_is_left_of_many(void **state)
{
	struct th_executor_options o = desktop();

	(void)state;
	if (!namespaces())
		skip(); /* xvfb() finds it by its mounts */
	for (int i = 0; i < 3; i++) {
		struct th_executor_client *x = client(&o);
		int64_t executor = greet(x, true).info.pid;
		pid_t server = xvfb(), display = display_of(executor);
		end(x);
		assert_int_not_equal(kill(server, 0), 0);
		assert_int_not_equal(kill(display, 0), 0);
		release(x);
	}
	char path[600];
	snprintf(path, sizeof(path), "%s/run/thole", folder);
	assert_int_equal(rmdir(path), 0); /* empty */
}

static void a_missing_program_names_itself(void **state)
{
	struct th_executor_options o = options();
	struct th_executor_client *x;

	(void)state;
	o.computer = TH_STR("x11");
	o.display = TH_STR(":987");
	x = client(&o);
	struct greeting g = greet(x, true);
	assert_true(g.err.code == TH_ENOENT || g.err.code == TH_ECONN);
	assert_non_null(strstr(g.err.msg, ":987"));
	release(x);
	struct heard h;
	x = client(&o);
	do_call(x,
		computer("e1", TH_CLASS_W, "{\"actions\":[{\"type\":\"move\",\"x\":1,\"y\":1}]}"),
		&h);
	assert_int_equal(h.status, TH_OUTCOME_NOT_STARTED);
	heard_deinit(&h);
	release(x);
	o.computer = TH_STR("hologram");
	o.session = TH_STR("other");
	x = client(&o);
	g = greet(x, true);
	assert_int_equal(g.err.code, TH_EUSAGE);
	assert_non_null(strstr(g.err.msg, "hologram"));
	end(x);
	release(x);
}

/* In the role of a program on the desktop: its ground becomes noise, which no encoder makes small.
 */
static int play_noise(void)
{
	enum { ROWS = 8 };
	static uint32_t pixels[ROWS * 1920];
	xcb_connection_t *conn = xcb_connect(NULL, NULL);
	xcb_screen_t *screen = xcb_setup_roots_iterator(xcb_get_setup(conn)).data;
	xcb_pixmap_t pixmap = xcb_generate_id(conn);
	xcb_gcontext_t gc = xcb_generate_id(conn);
	uint32_t value = 1;

	xcb_create_pixmap(conn, screen->root_depth, pixmap, screen->root, 1920, 1080);
	xcb_create_gc(conn, gc, pixmap, 0, NULL);
	for (int16_t y = 0; y < 1080; y += ROWS) {
		for (size_t i = 0; i < TH_COUNT(pixels); i++) {
			value = value * 1664525 + 1013904223;
			pixels[i] = value >> 8;
		}
		xcb_put_image(conn, XCB_IMAGE_FORMAT_Z_PIXMAP, pixmap, gc, 1920, ROWS, 0, y, 0,
			      screen->root_depth, sizeof(pixels), (const uint8_t *)pixels);
	}
	xcb_change_window_attributes(conn, screen->root, XCB_CW_BACK_PIXMAP, &pixmap);
	xcb_clear_area(conn, 0, screen->root, 0, 0, 0, 0);
	free(xcb_get_input_focus_reply(conn, xcb_get_input_focus(conn), NULL));
	bool good = !xcb_connection_has_error(conn);
	xcb_disconnect(conn);
	return good ? 0 : 1;
}

/* Pictures are kept for who asks for an outcome again, up to a limit: then the oldest are lost, and
 * that is said; the outcomes are not. */
static void the_oldest_pictures_are_lost(void **state)
{
	struct th_executor_options o = desktop();
	struct th_executor_client *x;
	struct th_buf copy = TH_BUF_INIT(TH_KIB);
	struct heard h;
	char id[32];

	(void)state;
	o.size = (struct th_size){ 1920, 1080 };
	x = client(&o);
	greet(x, true);
	th_buf_printf(&copy, "cp /proc/%d/exe %s/noise && chmod 755 %s/noise", (int)getpid(),
		      workspace, workspace);
	assert_int_equal(system(copy.ptr), 0);
	th_buf_deinit(&copy);
	do_call(x, shell("noise", "{\"command\":\"./noise play-noise\"}"), &h);
	if (!has(&h.text, "[exit code 0]"))
		fail_msg("%s", h.text.ptr);
	heard_deinit(&h);
	size_t size = 0, most = 1;
	for (size_t i = 0; i <= most; i++) {
		snprintf(id, sizeof(id), "e%zu", i);
		do_call(x, computer(id, TH_CLASS_W, "{\"actions\":[],\"screenshot\":true}"), &h);
		assert_int_equal(h.status, TH_OUTCOME_DONE);
		assert_int_equal(h.blob_count, 1);
		assert_true(size == 0 || h.blob_size == size);
		size = h.blob_size;
		most = TH_EXEC_BLOBS_MAX / size;
		heard_deinit(&h);
		if (i + 1 < most)
			continue;
		/* With as many as there is room for, the first is there; with one more, it is not.
		 */
		attach_call(x, computer("e0", TH_CLASS_W, "{\"actions\":[]}"), 0, &h);
		wait_finished(&h);
		assert_int_equal(h.status, TH_OUTCOME_DONE);
		assert_int_equal(h.blob_count, i < most ? 1 : 0);
		assert_true(has(&h.text, "the picture that was taken is lost; take a new one") ==
			    (i == most));
		heard_deinit(&h);
		attach_call(x, computer(i < most ? "e0" : "e1", TH_CLASS_W, "{\"actions\":[]}"), 0,
			    &h);
		wait_finished(&h);
		assert_int_equal(h.blob_count, 1);
		heard_deinit(&h);
	}
	assert_true(most >= 4 && most < 100); /* it was noise */
	release(x);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(int argc, char **argv)
{
	TH_EXEC_RIG_ROLES(argc, argv);
	if (argc == 2 && strcmp(argv[1], "play-noise") == 0)
		return play_noise();
	const struct CMUnitTest tests[] = {
		T(sees_and_acts),
		T(what_cannot_be_is_refused_before_anything_moves),
		T(the_first_look_waits_for_windows),
		T(a_missing_window_is_said),
		T(commands_run_on_the_desktop),
		T(cancel_ends_a_wait),
		T(a_dead_display_is_told_and_replaced),
		T(a_frozen_display_is_noticed),
		T(a_killed_executor_takes_the_desktop_along),
		T(what_is_held_down_is_let_go),
		T(nothing_is_left_of_many),
		T(a_missing_program_names_itself),
		T(the_oldest_pictures_are_lost),
	};
	if (!desktops_work()) {
		printf("not run: Xvfb and openbox are not installed\n");
		return 77;
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
