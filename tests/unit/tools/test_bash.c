/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shells that live on: the end of a command as an event, what is kept between
 * calls, input and keys, waiting, ending, and programs that do not behave.
 */
#include "job.h"

#include <signal.h>

#define MAX_ARGUMENTS (256 * TH_KIB)

static const char *bash(const char *command)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf arguments = TH_BUF_INIT(MAX_ARGUMENTS);
	struct th_jw w = th_jw(&arguments);

	th_jw_object(&w);
	th_jw_kstr(&w, "command", th_str_of(command));
	th_jw_object_end(&w);
	return tool("bash", arguments.ptr);
}

static const char *type(const char *text)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf arguments = TH_BUF_INIT(MAX_ARGUMENTS);
	struct th_jw w = th_jw(&arguments);

	th_jw_object(&w);
	th_jw_kstr(&w, "command", th_str_of(text));
	th_jw_kbool(&w, "input", true);
	th_jw_object_end(&w);
	return tool("bash", arguments.ptr);
}

/* Starts it, and returns while it runs and has printed `ready`. */
static void leave_running(const char *command, const char *ready)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf arguments = TH_BUF_INIT(MAX_ARGUMENTS);
	TH_CLEANUP(th_buf_deinit) struct th_buf seen = TH_BUF_INIT(TH_MIB);

	for (bool first = true; first || !has(seen.ptr, ready); first = false) {
		struct th_jw w = th_jw(&arguments);

		th_jw_object(&w);
		th_jw_kstr(&w, "command", first ? th_str_of(command) : TH_STR(""));
		th_jw_kraw(&w, "timeout_s", TH_STR("0.2"));
		th_jw_object_end(&w);
		tool("bash", arguments.ptr);
		th_buf_clear(&arguments);
		if (!has(run.text.ptr, "[The command timed out after 0.2 seconds. "))
			fail_msg("%s", run.text.ptr);
		assert_true(has(run.evidence.ptr, "\"running\":true"));
		th_buf_add(&seen, th_buf_str(&run.text));
	}
}

#define DONE(n) "[The command completed with exit code " #n ".]"

static void keeps_what_a_shell_keeps(void **state)
{
	(void)state;
	assert_string_equal(bash("echo hello"), "hello\n" DONE(0));
	assert_true(has(run.evidence.ptr, "{\"exit_code\":0,\"folder\":\""));
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_string_equal(bash("(exit 42)"), DONE(42));
	assert_string_equal(bash("echo $?"), "42\n" DONE(0));
	bash("mkdir sub && cd sub && X='a  b' && declare -A m=([k]=v) && f() { echo \"f:$1\"; }");
	assert_true(has(run.text.ptr, "[Current working directory: "));
	assert_true(has(run.text.ptr, "/ws/sub]"));
	assert_string_equal(bash("echo \"$X ${m[k]}\"; f 1; basename \"$PWD\"; pwd | grep -c ws"),
			    "a  b v\nf:1\nsub\n1\n" DONE(0));
	/* Several statements, many lines, and text that a shell could trip over. */
	assert_string_equal(
	    bash("for i in 1 2\ndo\n  echo \"line $i!\"\ndone\ncat <<'X'\n$i `no` \\\nX"),
	    "line 1!\nline 2!\n$i `no` \\\n" DONE(0));
	assert_true(has(bash("echo 'open"), "unexpected EOF"));
	assert_string_equal(bash("echo after; false"), "after\n" DONE(1));
	/* The command's own standard input is the terminal, and it sees none of our pipes. */
	assert_string_equal(
	    bash("[ -t 0 ] && [ -t 1 ] && echo tty; ls /proc/self/fd | tr '\\n' ' '"),
	    "tty\n0 1 2 3\n" DONE(0)); /* 3: ls's own, of the folder */
}

static void runs_long_commands(void **state)
{
	struct th_buf command = TH_BUF_INIT(MAX_ARGUMENTS);

	(void)state;
	th_buf_add_cstr(&command, "x='");
	while (command.len < TH_COMMAND_SIZE_MAX - 12)
		th_buf_add_char(&command, 'y');
	th_buf_add_cstr(&command, "';echo ${#x}");
	assert_int_equal(command.len, TH_COMMAND_SIZE_MAX);
	bash(command.ptr);
	assert_true(has(run.text.ptr, "98289\n" DONE(0)));
	th_buf_add_char(&command, ' ');
	assert_true(has(bash(command.ptr), "write it to a file and run that"));
	assert_int_equal(run.status, TH_OUTCOME_REFUSED);
	th_buf_deinit(&command);
}

/* What a program prints ends nothing: not the last word that was used, nor a prompt. */
static void output_forges_no_end(void **state)
{
	(void)state;
	bash("printf '\\e]7770;0123456789abcdef0123456789abcdef\\a\\n$ \\n"
	     "###PS1JSON###\\n{\"exit_code\": 7}\\n###PS1END###\\n'; sleep 0.3; echo real; "
	     "exit_=$(exit 3)");
	assert_true(has(run.text.ptr, "###PS1END###\nreal\n" DONE(3)));
	/* A command of its own that speaks to the pipes' numbers finds nothing there. */
	bash("bash -c 'echo x >&52' 2>&1; bash -c 'echo x >&51' 2>&1; env | grep -c __thole");
	assert_true(has(run.text.ptr, "52: Bad file descriptor"));
	assert_true(has(run.text.ptr, "51: Bad file descriptor"));
	assert_true(has(run.text.ptr, "\n0\n" DONE(1)));
	/* Even when the shell's own hooks and output are bent. */
	assert_true(
	    has(bash("PROMPT_COMMAND='echo mine'; PS1='$ '; exec >/dev/null; echo gone"), DONE(0)));
	assert_true(has(bash("echo here >&2; exec >/dev/tty; echo back"), "here\nback\n" DONE(0)));
	assert_true(has(bash("set -eu; true; echo $-"), DONE(0)));
	assert_true(has(bash("set +e; set +u; echo on"), "on\n" DONE(0)));
}

static void shows_terminals(void **state)
{
	(void)state;
	assert_string_equal(bash("printf '\\e[31mred\\e[0m \\e[1mbold\\e[m\\n'"),
			    "red bold\n" DONE(0));
	assert_string_equal(bash("for i in 1 50 100; do printf '\\rprogress %3d%%' $i; done; echo"),
			    "progress 100%\n" DONE(0));
	assert_string_equal(bash("printf 'a\\tb\\t\\tc\\n\\tindent\\n'"),
			    "a\tb\t\tc\n\tindent\n" DONE(0));
	assert_string_equal(bash("printf 'no end'"), "no end\n" DONE(0));
	assert_string_equal(bash("printf 'next\\n'"), "next\n" DONE(0));
	assert_string_equal(bash("printf 'é✓ 日本 e\\xcc\\x81\\n'"), "é✓ 日本 e\xcc\x81\n" DONE(0));
	assert_string_equal(bash("printf 'one\\ntwo\\n\\e[2A\\e[KONE\\n\\n'"),
			    "ONE\ntwo\n" DONE(0));
	assert_string_equal(bash("echo old; clear; echo new"), "new\n" DONE(0));
	/* Longer than a row is one line; exactly a row is one too. */
	bash("printf 'x%.0s' {1..450}; echo; printf 'y%.0s' {1..200}; echo; echo z");
	struct th_buf text = TH_BUF_INIT(4096);
	for (int i = 0; i < 450; i++)
		th_buf_add_char(&text, 'x');
	th_buf_add_char(&text, '\n');
	for (int i = 0; i < 200; i++)
		th_buf_add_char(&text, 'y');
	th_buf_add_cstr(&text, "\nz\n" DONE(0));
	assert_string_equal(run.text.ptr, text.ptr);
	th_buf_deinit(&text);
	/* A full-screen program that leaves is not to be seen afterwards. */
	assert_string_equal(bash("printf 'a\\n\\e[?1049h\\e[2J\\e[Hfull\\e[?1049lb\\n'"),
			    "a\nb\n" DONE(0));
	/* Nor one that does not leave, and what is long behind it is whole. */
	bash("printf '\\e[?1049h\\e[2J\\e[Hfull'");
	bash("seq 1 120");
	assert_true(th_str_starts(th_buf_str(&run.text), TH_STR("1\n2\n3\n")));
}

static void long_output_is_bounded(void **state)
{
	(void)state;
	bash("seq 1 200000");
	assert_true(th_str_starts(th_buf_str(&run.text), TH_STR("1\n2\n3\n")));
	assert_true(has(run.text.ptr, "bytes left out …\n"));
	assert_true(has(run.text.ptr, "\n199999\n200000\n" DONE(0)));
	assert_true(run.text.len < 34 * TH_KIB);
	assert_true(has(run.evidence.ptr, "\"left_out\":"));
	bash("head -c 300000 /dev/urandom");
	assert_true(has(run.text.ptr, "[binary output of "));
	assert_string_equal(bash("echo clean"), "clean\n" DONE(0));
	/* A question in what is printed: its answer is not typed to the shell. */
	assert_string_equal(bash("printf '\\033[c\\033[6n'"), DONE(0));
	assert_string_equal(bash("echo clean"), "clean\n" DONE(0));
	/* Who reads byte by byte has asked. */
	assert_true(
	    has(bash("stty -icanon -echo min 1; printf '\\033[6n'; IFS= read -r -d R a; stty sane; "
		     "echo \"${a#?}\""),
		";1\n" DONE(0)));
}

static void waits_and_types(void **state)
{
	(void)state;
	leave_running("read -p 'name? ' n; echo \"hi $n\"", "name?");
	assert_true(has(bash("ls"), "[Your command \"ls\" is NOT executed. The previous command is "
				    "still running"));
	assert_int_equal(run.status, TH_OUTCOME_REFUSED);
	assert_string_equal(type("Bob"), "hi Bob\n" DONE(0));
	assert_true(has(type("Bob"), "No previous running command to interact with."));
	assert_true(has(bash(""), "No previous running command to retrieve logs from."));
	leave_running("echo ready; sleep 0.6; echo late", "ready");
	assert_true(has(bash(""), "late\n" DONE(0)));
	/* It has ended by itself meanwhile: its end is told, then the new one runs. */
	leave_running("mkfifo p; echo first; read x < p; echo \"second $x\"; touch ended", "first");
	assert_int_equal(th_file_write(in_workspace("go"), TH_STR(""), 0644, NULL), TH_OK);
	int fd = open(in_workspace("p"), O_WRONLY);
	assert_int_equal(write(fd, "go\n", 3), 3);
	close(fd);
	for (int i = 0; access(in_workspace("ended"), F_OK) != 0 && i < 5000; i++)
		usleep(1000);
	/* The event is there when the loop next runs: ask until it is told. */
	TH_CLEANUP(th_buf_deinit) struct th_buf seen = TH_BUF_INIT(TH_MIB);
	do {
		tool("list_dir", "{\"path\":\".\"}");
		th_buf_add_cstr(&seen, bash("echo third"));
	} while (has(run.text.ptr, "NOT executed"));
	assert_true(has(seen.ptr, "second go\n"));
	assert_true(has(run.text.ptr, DONE(0) "\n\nthird\n" DONE(0)));
	/* Nothing new for the idle time. */
	env.bash_idle_ms = 1000;
	assert_true(has(bash("echo quiet; sleep 30"),
			"quiet\n[The command has no new output after 1 seconds. "));
	assert_true(
	    has(type("C-c"), "[The command completed with exit code 130. CTRL+C was sent.]"));
}

/* What was typed for a program that ended without reading it is not run by the shell. */
static void an_answer_is_no_command(void **state)
{
	(void)state;
	leave_running("mkfifo q; echo ready; read x < q", "ready");
	tool("bash", "{\"command\":\"touch ahead\",\"input\":true,\"timeout_s\":0.2}");
	int fd = open(in_workspace("q"), O_WRONLY);
	assert_int_equal(write(fd, "go\n", 3), 3);
	close(fd);
	do
		tool("list_dir", "{\"path\":\".\"}");
	while (has(bash("echo next"), "NOT executed"));
	assert_true(has(run.text.ptr, "next\n" DONE(0)));
	assert_int_not_equal(access(in_workspace("ahead"), F_OK), 0);
}

/* Nor does a key without a line keep a command from its end, or spoil the next one. */
static void a_key_is_no_command(void **state)
{
	static const char *const modes[] = { "icanon", "-icanon -isig -icrnl min 1" };

	(void)state;
	for (size_t i = 0; i < TH_COUNT(modes); i++) {
		char command[200];

		snprintf(command, sizeof(command),
			 "stty %s; mkfifo k%zu; echo ready; read x < k%zu", modes[i], i, i);
		leave_running(command, "ready");
		tool("bash", "{\"command\":\"UP\",\"input\":true,\"timeout_s\":0.2}");
		snprintf(command, sizeof(command), "k%zu", i);
		int fd = open(in_workspace(command), O_WRONLY);
		assert_int_equal(write(fd, "go\n", 3), 3);
		close(fd);
		do
			tool("list_dir", "{\"path\":\".\"}");
		while (has(bash("stty sane; echo next"), "NOT executed"));
		assert_true(has(run.text.ptr, "next\n" DONE(0)));
	}
}

static void keys_reach_what_runs(void **state)
{
	(void)state;
	leave_running("sh -c 'echo ready; exec cat'", "ready");
	assert_true(
	    has(type("CTRL+d"), "[The command completed with exit code 0. CTRL+D was sent.]"));
	leave_running("sh -c 'echo ready; exec sleep 50'", "ready");
	assert_true(
	    has(type("c-z"), "[The command completed with exit code 148. CTRL+Z was sent.]"));
	assert_true(has(run.text.ptr, "Stopped"));
	assert_true(has(bash("jobs"), "Stopped"));
	assert_true(has(bash("kill %1; sleep 0.2; jobs; echo ok"), "Terminated"));
	/* An interrupted line does not go on behind it; the shell does. */
	leave_running("X=kept; echo ready; while :; do sleep 0.05; done; echo never", "ready");
	assert_true(has(type("C-c"), "exit code 130"));
	assert_false(has(run.text.ptr, "never"));
	assert_string_equal(bash("echo $X"), "kept\n" DONE(0));
	leave_running("echo ready; while :; do :; done", "ready");
	assert_true(has(type("C-c"), "exit code 130"));
	leave_running("read -p ready x; echo \"got $x\"", "ready");
	char line[TH_BASH_INPUT_MAX + 2];
	memset(line, 'l', sizeof(line));
	line[TH_BASH_INPUT_MAX + 1] = '\0';
	assert_true(has(type(line), "input has at most 4000 bytes"));
	line[TH_BASH_INPUT_MAX] = '\0';
	assert_true(has(type(line), "lllll\n" DONE(0)));
}

static void a_dead_shell_is_said(void **state)
{
	(void)state;
	bash("cd /; X=1");
	assert_true(has(bash("echo bye; exit 3"),
			"bye\nexit\n[The shell ended with exit code 3, and with it"));
	assert_true(has(run.evidence.ptr, "\"exit_code\":3"));
	assert_string_equal(bash("echo \"alive [$X]\"; basename \"$PWD\""),
			    "alive []\nws\n" DONE(0));
	assert_true(has(bash("kill -9 $$"), "[The shell was ended by signal 9, and with it"));
	assert_string_equal(
	    bash("exec echo replaced"),
	    "replaced\n[The shell ended with exit code 0, and "
	    "with it all that it had started. The next command begins a new one, in the "
	    "workspace and without its variables.]");
	/* While nobody waits for it. */
	leave_running("echo ready; sleep 0.6; exit 5", "ready");
	assert_true(has(bash(""), "[The shell ended with exit code 5"));
	assert_true(has(bash("echo again"), "again\n" DONE(0)));
	assert_string_equal(tool("bash", "{\"restart\":true}"),
			    "[The shell was ended with all that it had started, and begun anew.]");
	bash("Y=2");
	assert_string_equal(tool("bash", "{\"command\":\"echo [$Y]\",\"reset\":true}"),
			    "[]\n" DONE(0));
}

static bool gone(const char *name)
{
	struct th_buf text = TH_BUF_INIT(64);
	char *end;

	assert_int_equal(th_file_read(in_workspace(name), 64, &text, NULL), TH_OK);
	pid_t pid = (pid_t)strtol(text.ptr, &end, 10);
	th_buf_deinit(&text);
	assert_true(pid > 1);
	for (int i = 0; i < 3000; i++) {
		if (kill(pid, 0) < 0)
			return true;
		usleep(1000);
	}
	return false;
}

/* Background jobs live on, and end with the shell, whatever they do to get away. */
static void nothing_outlives_it(void **state)
{
	(void)state;
	assert_true(
	    has(bash("sleep 300 & echo $! > job; disown; echo started"), "started\n" DONE(0)));
	bash("(setsid sh -c 'trap \"\" TERM HUP INT; echo $$ > daemon; exec 0<&- 1>&- 2>&-; "
	     "while :; do sleep 1; done' &); while [ ! -s daemon ]; do sleep 0.01; done; kill -0 "
	     "$(cat job) && echo there");
	assert_true(has(run.text.ptr, "there\n" DONE(0)));
	tool("bash", "{\"restart\":true}");
	assert_true(gone("job"));
	assert_true(gone("daemon"));
	/* One that closes its output does not hang anything. */
	assert_string_equal(bash("sh -c 'exec 1>&- 2>&-; sleep 0.1'; echo $?"), "0\n" DONE(0));
}

static void what_runs_too_long_is_ended(void **state)
{
	(void)state;
	env.bash_grace_ms = 60000; /* however busy the machine is */
	env.command_ms_max = 1000;
	assert_true(
	    has(bash("sleep 60; echo no"), "[The command was ended after 1 seconds, the longest"));
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_true(has(run.text.ptr, "with exit code 130"));
	/* One that takes no signal but the last. */
	env.bash_grace_ms = 300;
	env.command_ms_max = 200;
	bash("sh -c 'trap \"\" INT TERM; while :; do sleep 1; done'");
	assert_true(has(run.text.ptr, "with exit code 137"));
	/* The shell itself, too. */
	bash("trap '' INT TERM; while :; do :; done");
	assert_true(has(run.text.ptr, "[The shell was ended by signal 9"));
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_true(has(bash("echo on"), "on\n" DONE(0)));
	/* What is in the background is not meant. */
	bash("sleep 300 & echo $! > job");
	bash("sleep 60");
	assert_true(has(bash("kill -0 $(cat job) && echo there"), "there"));
}

static void on_first_output(void)
{
	run.on_output = NULL;
	th_tool_find(TH_STR("bash"))->cancel(&run.job);
}

static void can_be_cancelled(void **state)
{
	(void)state;
	run.on_output = on_first_output;
	assert_true(has(bash("X=kept; echo begun; sleep 60"), "begun\n"));
	assert_true(has(run.text.ptr, "[The command was cancelled, and ended with exit code 1"));
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_true(has(bash("echo $X"), "kept\n" DONE(0)));
}

static void shells_have_names(void **state)
{
	char arguments[256];

	(void)state;
	bash("X=main");
	assert_string_equal(
	    tool("bash", "{\"command\":\"X=${X}two; echo $X\",\"session\":\"two\"}"),
	    "two\n" DONE(0));
	assert_string_equal(bash("echo $X"), "main\n" DONE(0));
	for (int i = 2; i < TH_BASH_SESSIONS_MAX; i++) {
		snprintf(arguments, sizeof(arguments), "{\"command\":\"true\",\"session\":\"s%d\"}",
			 i);
		assert_string_equal(tool("bash", arguments), DONE(0));
	}
	assert_true(has(tool("bash", "{\"command\":\"true\",\"session\":\"more\"}"),
			"there are 8 shells already"));
	assert_true(has(tool("bash", "{\"command\":\"true\",\"session\":"
				     "\"123456789012345678901234567890123\"}"),
			"1 to 32 bytes"));
}

/* Its path is longer than any path may be: the shell gets there step by step. */
static void a_deep_folder(void **state)
{
	(void)state;
	assert_true(has(bash("d=$(printf 'a%.0s' {1..200}); for i in {1..30}; do mkdir $d && cd $d "
			     "|| break; done; "
			     "echo ${#PWD}"),
			DONE(0)));
	assert_true(atoi(run.text.ptr) > TH_PATH_LEN_MAX);
	assert_true(has(bash("false; cd /; pwd"), "/\n" DONE(0)));
}

/* A shell that may open few files is still heard. */
static void few_open_files(void **state)
{
	(void)state;
	assert_string_equal(bash("ulimit -n 64; ulimit -n"), "64\n" DONE(0));
	assert_string_equal(bash("exec 9>&1; echo over >&9; (exit 3)"), "over\n" DONE(3));
	tool("bash", "{\"restart\":true}");
}

/* With set -x the commands are traced, and nothing else: not what brings them, and no value of a
 * secret, which is quoted there as no mask knows it. */
static void traces_commands_alone(void **state)
{
	static struct th_given_secret secret = { TH_STR_INIT("PASS"), "PASS=it's\\secret" };

	(void)state;
	env.given.list = &secret;
	env.given.count = 1;
	assert_string_equal(bash("set -x"), DONE(0));
	assert_string_equal(bash("echo ${#PASS}; (exit 3)"), "++ echo 11\n11\n++ exit 3\n" DONE(3));
	assert_false(has(run.streamed.ptr, "secret"));
	assert_string_equal(bash("echo $?"), "++ echo 3\n3\n" DONE(0));
	assert_true(has(bash("echo 'PASS"), "unexpected EOF"));
	assert_string_equal(bash("echo $? ${#PASS}"), "++ echo 2 11\n2 11\n" DONE(0));
	assert_string_equal(bash("set -e; true"), "++ set -e\n++ true\n" DONE(0));
	assert_string_equal(bash("set +ex"), "++ set +ex\n" DONE(0));
	assert_string_equal(bash("echo quiet"), "quiet\n" DONE(0));
	env.given.count = 0;
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, job_setup, job_teardown)
	const struct CMUnitTest tests[] = {
		TEST(keeps_what_a_shell_keeps),
		TEST(runs_long_commands),
		TEST(a_deep_folder),
		TEST(few_open_files),
		TEST(traces_commands_alone),
		TEST(output_forges_no_end),
		TEST(shows_terminals),
		TEST(long_output_is_bounded),
		TEST(waits_and_types),
		TEST(an_answer_is_no_command),
		TEST(a_key_is_no_command),
		TEST(keys_reach_what_runs),
		TEST(a_dead_shell_is_said),
		TEST(nothing_outlives_it),
		TEST(what_runs_too_long_is_ended),
		TEST(can_be_cancelled),
		TEST(shells_have_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
