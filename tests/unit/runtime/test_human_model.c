/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/human_model.h"

#include "unit.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/files.h"
#include "providers/human.h"

static struct th_loop *loop;
static struct th_human_model *person;
static int in[2], out[2], show_ms;
static char folder[64];
static struct th_err err;

/* What came back. */
static struct {
	struct th_buf bytes;
	int done, left;
	struct th_ticket ticket;
	enum th_failure failure;
	bool ok;
} got;

static bool on_data(void *ctx, struct th_ticket t, struct th_str bytes)
{
	(void)ctx;
	(void)t;
	th_buf_clear(&got.bytes);
	th_buf_add(&got.bytes, bytes);
	return true;
}

static void on_done(void *ctx, struct th_ticket t, const struct th_model_end *end)
{
	(void)ctx;
	got.done++;
	got.ticket = t;
	got.ok = end->ok;
	got.failure = end->failure;
	th_loop_stop(loop);
}

static void on_left(void *ctx, struct th_ticket t)
{
	(void)ctx;
	got.left++;
	got.ticket = t;
	th_loop_stop(loop);
}

static void start(int in_fd)
{
	struct th_human_model_options o = {
		.loop = loop,
		.in_fd = in_fd,
		.out_fd = out[1],
		.show_ms = show_ms,
		.data = on_data,
		.done = on_done,
		.left = on_left,
	};

	person = th_human_model_new(&o);
}

static int setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/thole-person-XXXXXX");
	assert_non_null(mkdtemp(folder));
	setenv("XDG_RUNTIME_DIR", folder, 1);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC | O_NONBLOCK), 0);
	memset(&got, 0, sizeof(got));
	th_buf_init(&got.bytes, TH_MIB);
	assert_int_equal(th_loop_new(&loop, &err), TH_OK);
	start(in[0]);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	person = th_human_model_free(person);
	loop = th_loop_free(loop);
	for (int i = 0; i < 2; i++) {
		th_fd_close(&in[i]);
		th_fd_close(&out[i]);
	}
	th_buf_deinit(&got.bytes);
	return th_dir_remove(folder, NULL);
}

static enum th_code ask(uint64_t seq, int64_t ms)
{
	static const struct th_str body[] = {
		TH_STR_INIT("{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
			    "\"text\":\"the task\"},{\"type\":\"image_url\",\"image_url\":{\"url\":"
			    "\"data:image/png;base64,"),
		TH_STR_INIT("iVBORw=="),
		TH_STR_INIT("\"}}]}]}"),
	};
	struct th_model_call call = { .body = body, .body_count = 3, .total_ms_max = ms };

	return th_human_model_ask(person, (struct th_ticket){ 1, 2, seq, TH_TICKET_EVENT, 0 },
				  TH_STR("s"), &call, &err);
}

static void type(const char *text)
{
	assert_int_equal(write(in[1], text, strlen(text)), strlen(text));
}

/* What he was shown so far. */
static const char *shown(void)
{
	static char text[TH_MIB];
	ssize_t n = read(out[0], text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void answers_in_turn(void **state)
{
	(void)state;
	assert_int_equal(ask(7, -1), TH_OK);
	assert_int_equal(ask(8, -1), TH_OK);
	assert_int_equal(got.done, 0); /* never from inside */
	type("help\nclick\n\nshell ls\n");
	th_loop_run(loop);
	assert_int_equal(got.done, 1);
	assert_true(got.ok);
	assert_int_equal(got.ticket.seq, 7);
	assert_non_null(strstr(got.bytes.ptr, "\"name\":\"shell\""));
	const char *text = shown();
	assert_non_null(strstr(text, "the model of s"));
	assert_non_null(strstr(text, "the task"));
	assert_non_null(strstr(text, "it is written: click X Y"));
	assert_non_null(strstr(text, "You are the model."));
	type("done\n");
	th_loop_run(loop);
	assert_int_equal(got.ticket.seq, 8);
	assert_int_equal(got.left, 0);
}

static void keeps_the_picture_while_it_is_asked(void **state)
{
	char path[TH_PATH_LEN_MAX];
	struct th_buf bytes = TH_BUF_INIT(TH_KIB);

	(void)state;
	assert_int_equal(ask(7, -1), TH_OK);
	type("show\nleave\n");
	th_loop_run(loop);
	assert_int_equal(got.left, 1);
	const char *at = strstr(shown(), "screenshot: ");
	assert_non_null(at);
	assert_int_equal(sscanf(at, "screenshot: %4000s", path), 1);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(ask(9, -1), TH_OK);
	assert_int_equal(th_file_read(path, TH_KIB, &bytes, &err), TH_OK);
	assert_true(th_str_is(th_buf_str(&bytes), "\x89PNG"));
	th_buf_deinit(&bytes);
}

static void end_of_input_is_said_for_each(void **state)
{
	(void)state;
	assert_int_equal(ask(1, -1), TH_OK);
	type("done without a newline");
	th_fd_close(&in[1]);
	th_loop_run(loop);
	assert_int_equal(got.done, 1);
	assert_int_equal(ask(2, -1), TH_OK);
	th_loop_run(loop);
	assert_int_equal(got.left, 1);
	assert_int_equal(got.ticket.seq, 2);
}

static void reads_a_file(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/lines", folder);
	assert_int_equal(th_file_write(path, TH_STR("shell one\nshell two\n"), 0600, &err), TH_OK);
	th_human_model_free(person);
	th_fd_close(&in[0]);
	in[0] = open(path, O_RDONLY | O_CLOEXEC);
	start(in[0]);
	for (uint64_t seq = 1; seq <= 3; seq++) {
		assert_int_equal(ask(seq, -1), TH_OK);
		th_loop_run(loop);
	}
	assert_int_equal(got.done, 2);
	assert_int_equal(got.left, 1);
}

static void a_line_that_is_too_long(void **state)
{
	char *text = th_alloc(3 * TH_HUMAN_LINE_MAX);

	(void)state;
	memset(text, 'x', 3 * TH_HUMAN_LINE_MAX);
	fcntl(in[1], F_SETPIPE_SZ, 4 * TH_HUMAN_LINE_MAX);
	fcntl(out[1], F_SETPIPE_SZ, 4 * TH_HUMAN_LINE_MAX);
	assert_int_equal(ask(1, -1), TH_OK);
	assert_int_equal(write(in[1], text, 3 * TH_HUMAN_LINE_MAX), 3 * TH_HUMAN_LINE_MAX);
	type("\nshell after\n");
	th_loop_run(loop);
	assert_int_equal(got.done, 1);
	assert_non_null(strstr(got.bytes.ptr, "after"));
	assert_non_null(strstr(shown(), "a line has at most"));
	free(text);
}

static void cancels_and_ends_in_time(void **state)
{
	(void)state;
	assert_int_equal(ask(1, -1), TH_OK);
	assert_int_equal(ask(2, 1), TH_OK);
	assert_true(
	    th_human_model_cancel(person, (struct th_ticket){ 1, 2, 1, TH_TICKET_EVENT, 0 }));
	assert_false(
	    th_human_model_cancel(person, (struct th_ticket){ 1, 2, 1, TH_TICKET_EVENT, 0 }));
	th_loop_run(loop);
	assert_int_equal(got.done, 1);
	assert_int_equal(got.ticket.seq, 2);
	assert_false(got.ok);
	assert_int_equal(got.failure, TH_FAILURE_TIMEOUT);
}

/* The question is lost on it, and what he types all the same is its answer. */
static void a_terminal_that_takes_nothing(void **state)
{
	char fill[4096] = { 0 };

	(void)state;
	person = th_human_model_free(person);
	show_ms = 20;
	start(in[0]);
	show_ms = 0;
	while (write(out[1], fill, sizeof(fill)) > 0)
		;
	assert_int_equal(ask(1, -1), TH_OK);
	type("shell after\n");
	th_loop_run(loop);
	assert_int_equal(got.done, 1);
	assert_non_null(strstr(got.bytes.ptr, "after"));
	assert_string_equal(shown(), "");
}

static void needs_somebody(void **state)
{
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_false(th_human_model_behind(null_fd));
	assert_false(th_human_model_behind(-1));
	assert_true(th_human_model_behind(in[0]));
	th_fd_close(&null_fd);
	th_human_model_free(person);
	start(-1);
	assert_int_equal(th_human_model_check(person, TH_STR(""), NULL, &err), TH_EUSAGE);
	assert_int_equal(ask(1, -1), TH_EUSAGE);
}

/* The port that it printed. */
static uint16_t listen_port(void)
{
	const char *at = strstr(shown(), "127.0.0.1:");

	assert_non_null(at);
	return (uint16_t)strtoul(at + strlen("127.0.0.1:"), NULL, 10);
}

static int dial(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* One connection more than the limit is closed; the first is served. */
static void no_more_connections_than_the_limit(void **state)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\nX-API-Key: k\r\n\r\n";
	struct th_secret *token = th_secret_new(TH_STR("k"));
	int fds[TH_HUMAN_CALLERS_MAX + 1];
	char text[512] = "";
	ssize_t n = -1;
	uint16_t port;

	(void)state;
	assert_int_equal(th_human_model_check(person, TH_STR("http://127.0.0.1:0"), token, &err),
			 TH_OK);
	port = listen_port();
	for (size_t i = 0; i < TH_COUNT(fds); i++)
		fds[i] = dial(port);
	while ((n = recv(fds[TH_HUMAN_CALLERS_MAX], text, 1, MSG_DONTWAIT)) < 0)
		(void)th_loop_pass(loop);
	assert_int_equal(n, 0);
	assert_int_equal(write(fds[0], request, sizeof(request) - 1), sizeof(request) - 1);
	while ((n = recv(fds[0], text, sizeof(text) - 1, MSG_DONTWAIT)) < 0)
		(void)th_loop_pass(loop);
	assert_int_equal(strncmp(text, "HTTP/1.1 200 ", 13), 0);
	for (size_t i = 0; i < TH_COUNT(fds); i++)
		close(fds[i]);
	person = th_human_model_free(person);
	th_secret_free(token);
}

static void listens_at_the_loopback_only(void **state)
{
	static const char *const bad[] = {
		"http://0.0.0.0:1",     "https://127.0.0.1:1",    "http://127.0.0.1",
		"http://127.0.0.1:",    "http://127.0.0.1:65536", "http://127.0.0.1:x",
		"http://localhost.x:1", "http://127.0.0.1:1/a",   "127.0.0.1:1"
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		assert_int_equal(th_human_model_check(person, th_str_of(bad[i]), NULL, &err),
				 TH_EUSAGE);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(answers_in_turn),
		TEST(keeps_the_picture_while_it_is_asked),
		TEST(end_of_input_is_said_for_each),
		TEST(reads_a_file),
		TEST(a_line_that_is_too_long),
		TEST(cancels_and_ends_in_time),
		TEST(a_terminal_that_takes_nothing),
		TEST(needs_somebody),
		TEST(no_more_connections_than_the_limit),
		TEST(listens_at_the_loopback_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
