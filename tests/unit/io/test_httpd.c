/* SPDX-License-Identifier: Apache-2.0 */
#include "io/httpd.h"

#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"

static struct th_loop *loop;
static struct th_httpd *httpd;
static struct th_secret *token;
static struct th_err err;
static struct th_httpd_caller *held;
static size_t seen;

static void on_request(void *ctx, struct th_httpd_caller *c, struct th_str method,
		       struct th_str path, struct th_str body)
{
	(void)ctx;
	seen++;
	assert_true(th_str_is(method, "POST"));
	assert_true(th_str_is(path, "/x"));
	assert_true(th_str_is(body, "{}"));
	held = c;
	th_loop_stop(loop);
}

static int setup(void **state)
{
	(void)state;
	seen = 0;
	held = NULL;
	token = th_secret_new(TH_STR("k"));
	assert_int_equal(th_loop_new(&loop, &err), TH_OK);
	assert_int_equal(th_httpd_new(loop, TH_STR("http://127.0.0.1:0/"), token, on_request, NULL,
				      &httpd, &err),
			 TH_OK);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	httpd = th_httpd_free(httpd);
	loop = th_loop_free(loop);
	token = th_secret_free(token);
	return 0;
}

static int dial(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)th_httpd_port(httpd)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static void stop(void *ctx)
{
	(void)ctx;
	th_loop_stop(loop);
}

/* Until what is under way has been served; `ms` is only for what must not happen. */
static void serve(uint64_t ms)
{
	struct th_timer timer = { 0 };

	th_timer_init(&timer, loop, stop, NULL);
	th_timer_start(&timer, ms, 0);
	th_loop_run(loop);
	th_timer_stop(&timer);
}

#define POST "POST /x HTTP/1.1\r\nHost: localhost\r\nX-API-Key: k\r\nContent-Length: 2\r\n\r\n"

static void answers_later(void **state)
{
	char text[512];
	int fd = dial();

	(void)state;
	assert_int_equal(write(fd, POST "{", sizeof(POST)), sizeof(POST));
	serve(50);
	assert_int_equal(seen, 0); /* its body is not all there */
	assert_int_equal(write(fd, "}", 1), 1);
	serve(20000);
	assert_int_equal(seen, 1);
	th_httpd_reply(held, 200, TH_STR("{\"a\":1}"));
	ssize_t n = read(fd, text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	assert_non_null(strstr(text, "HTTP/1.1 200 OK\r\n"));
	assert_non_null(strstr(text, "\r\n\r\n{\"a\":1}"));
	close(fd);
}

static void one_who_hangs_up(void **state)
{
	int fd = dial();

	(void)state;
	assert_int_equal(write(fd, POST "{}", sizeof(POST) + 1), sizeof(POST) + 1);
	serve(20000);
	close(fd);
	serve(20);
	th_httpd_reply(held, 200, TH_STR("{}"));
}

/* Half a request is waited for so long and no longer, and so is one who does not read his reply. */
static void a_caller_has_so_long(void **state)
{
	static char reply[16 * TH_MIB];
	size_t got = 0;
	int fd = dial();
	ssize_t n = -1;

	(void)state;
	th_httpd_caller_ms(httpd, 20);
	assert_int_equal(write(fd, POST "{", sizeof(POST)), sizeof(POST));
	for (int i = 0; i < 100 && (n = recv(fd, reply, 1, MSG_DONTWAIT)) < 0; i++)
		serve(20); /* all in all less than the default */
	assert_int_equal(n, 0);
	close(fd);

	fd = dial();
	assert_int_equal(write(fd, POST "{}", sizeof(POST) + 1), sizeof(POST) + 1);
	serve(20000);
	assert_int_equal(seen, 1);
	memset(reply, ' ', sizeof(reply));
	th_httpd_reply(held, 200, th_str_n(reply, sizeof(reply)));
	serve(100);
	while ((n = recv(fd, reply, sizeof(reply), MSG_DONTWAIT)) > 0)
		got += (size_t)n;
	assert_true(n == 0 || errno != EAGAIN); /* it was hung up on */
	assert_true(got < sizeof(reply));
	close(fd);
}

/* One too many is hung up on; the others are not. */
static void no_more_callers_than_the_limit(void **state)
{
	int fds[TH_HUMAN_CALLERS_MAX + 1];
	char byte;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(fds); i++) {
		fds[i] = dial();
		serve(i < TH_HUMAN_CALLERS_MAX ? 5 : 50);
	}
	assert_int_equal(recv(fds[TH_HUMAN_CALLERS_MAX], &byte, 1, 0), 0);
	assert_int_equal(recv(fds[0], &byte, 1, MSG_DONTWAIT), -1);
	for (size_t i = 0; i < TH_COUNT(fds); i++)
		close(fds[i]);
}

static void only_the_loopback(void **state)
{
	static const char *const bad[] = { "http://0.0.0.0:1",     "https://127.0.0.1:1",
					   "http://127.0.0.1",     "http://127.0.0.1:65536",
					   "http://127.0.0.1:x",   "http://localhost.x:1",
					   "http://127.0.0.1:1/a", "" };
	struct th_httpd *other;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		assert_int_equal(
		    th_httpd_new(loop, th_str_of(bad[i]), token, on_request, NULL, &other, &err),
		    TH_EUSAGE);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(answers_later),        TEST(one_who_hangs_up),
		TEST(a_caller_has_so_long), TEST(no_more_callers_than_the_limit),
		TEST(only_the_loopback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
