/* SPDX-License-Identifier: Apache-2.0 */
#include "io/pty.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"

static struct th_loop *loop;
static struct th_pty *pty;
static struct th_buf out;
static struct th_child_exit status;
static const char *wait_for;
static bool ended;

static int setup(void **state)
{
	(void)state;
	th_buf_init(&out, 8 * TH_MIB);
	ended = false;
	wait_for = NULL;
	return th_loop_new(&loop, NULL);
}

static int teardown(void **state)
{
	(void)state;
	pty = th_pty_close(pty);
	th_buf_deinit(&out);
	loop = th_loop_free(loop);
	return 0;
}

static void on_output(void *ctx, enum th_child_stream which, struct th_str bytes)
{
	(void)ctx;
	assert_int_equal(which, TH_CHILD_OUT);
	th_buf_add(&out, bytes);
	if (wait_for && strstr(out.ptr, wait_for))
		th_loop_stop(loop);
}

static void on_ended(void *ctx, const struct th_child_exit *s)
{
	(void)ctx;
	assert_false(ended);
	ended = true;
	status = *s;
	th_loop_stop(loop);
}

static void open_pty(const char *script, size_t spool_size)
{
	static const char *argv[] = { "/bin/sh", "-c", NULL, NULL };
	static const char *const env[] = { "PATH=/usr/bin:/bin", "TERM=xterm", NULL };
	struct th_err err = {};
	argv[2] = script;
	struct th_pty_spec spec = {
		.child = { .argv = argv, .env = env, .on_output = on_output, .on_exit = on_ended },
		.rows = 33,
		.columns = 99,
		.spool_size = spool_size,
	};
	if (th_pty_open(loop, &spec, &pty, &err))
		fail_msg("%s", err.msg);
}

static void until(const char *text)
{
	wait_for = text;
	if (!strstr(out.ptr, text))
		th_loop_run(loop);
	if (!strstr(out.ptr, text))
		fail_msg("no \"%s\" in: %s", text, out.ptr);
}

static void it_is_a_terminal_of_the_given_size(void **state)
{
	(void)state;
	open_pty("test -t 0 && test -t 1 && test -t 2 && stty size && tty >/dev/null </dev/tty && "
		 "echo controlled; exit 3",
		 0);
	while (!ended)
		th_loop_run(loop);
	assert_string_equal(out.ptr, "33 99\r\ncontrolled\r\n");
	assert_int_equal(status.code, 3);
	struct th_err err;
	assert_int_equal(th_pty_write(pty, TH_STR("x"), &err), TH_ECONN);
}

static void it_can_be_resized_and_is_told(void **state)
{
	(void)state;
	open_pty("trap 'stty size' WINCH; echo ready; while :; do sleep 0.01; done", 0);
	until("ready");
	assert_int_equal(th_pty_resize(pty, 10, 20, NULL), TH_OK);
	until("10 20");
}

static void keys_reach_the_program_and_interrupt_it(void **state)
{
	(void)state;
	open_pty("read line; echo got:$line; trap 'echo int; exit 9' INT; echo ready; while :; do "
		 "sleep 0.01; done",
		 0);
	assert_int_equal(th_pty_write(pty, TH_STR("hi there\n"), NULL), TH_OK);
	until("got:hi there");
	until("ready");
	assert_int_equal(th_pty_write(pty, TH_STR("\x03"), NULL), TH_OK);
	while (!ended)
		th_loop_run(loop);
	assert_non_null(strstr(out.ptr, "int\r\n"));
	assert_int_equal(status.code, 9);
}

static void the_spool_keeps_the_last_bytes(void **state)
{
	(void)state;
	TH_CLEANUP(th_buf_deinit) struct th_buf b = TH_BUF_INIT(TH_MIB);
	open_pty("stty -opost; seq 1 2000", 1000);
	while (!ended)
		th_loop_run(loop);
	assert_int_equal(th_pty_spool(pty, &b), out.len);
	assert_int_equal(b.len, 1000);
	assert_memory_equal(b.ptr, out.ptr + out.len - 1000, 1000);
	assert_true(th_str_ends(th_buf_str(&b), TH_STR("2000\n")));
}

static void a_short_spool_is_whole(void **state)
{
	(void)state;
	TH_CLEANUP(th_buf_deinit) struct th_buf b = TH_BUF_INIT(TH_MIB);
	open_pty("printf abc", 1000);
	while (!ended)
		th_loop_run(loop);
	assert_int_equal(th_pty_spool(pty, &b), 3);
	assert_string_equal(b.ptr, "abc");
}

static void limits_are_kept(void **state)
{
	(void)state;
	struct th_err err;
	static const char *const argv[] = { "true", NULL };
	struct th_pty_spec spec = { .child = { .argv = argv },
				    .spool_size = TH_TOOL_OUTPUT_MAX + 1 };
	assert_int_equal(th_pty_open(loop, &spec, &pty, &err), TH_ELIMIT);
	open_pty("stty raw -echo; echo ready; sleep 1000", 0);
	until("ready");
	char *much = (char *)calloc(1, TH_TOOL_OUTPUT_MAX + 1);
	assert_int_equal(th_pty_write(pty, th_str_n(much, TH_TOOL_OUTPUT_MAX + 1), &err),
			 TH_ELIMIT);
	assert_int_equal(th_pty_write(pty, th_str_n(much, TH_TOOL_OUTPUT_MAX), &err), TH_OK);
	free(much);
	assert_false(ended);
}

static void a_paused_terminal_stops_its_program(void **state)
{
	(void)state;
	open_pty("yes", 0);
	until("y");
	th_pty_pause(pty, true);
	size_t before = out.len;
	for (int i = 0; i < 50; i++) {
		th_loop_pass(loop);
		poll(NULL, 0, 1);
	}
	assert_int_equal(out.len, before);
	th_child_kill(th_pty_child(pty));
	for (int i = 0; i < 50; i++) {
		th_loop_pass(loop);
		poll(NULL, 0, 1);
	}
	assert_false(ended); /* the last words first */
	th_pty_pause(pty, false);
	while (!ended)
		th_loop_run(loop);
	assert_true(status.killed);
	assert_true(out.len > before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(it_is_a_terminal_of_the_given_size),
		T(it_can_be_resized_and_is_told),
		T(keys_reach_the_program_and_interrupt_it),
		T(the_spool_keeps_the_last_bytes),
		T(a_short_spool_is_whole),
		T(limits_are_kept),
		T(a_paused_terminal_stops_its_program),
	};
	return cmocka_run_group_tests_name("pty", tests, NULL, NULL);
}
