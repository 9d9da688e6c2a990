/* SPDX-License-Identifier: Apache-2.0 */
/* test_pq.c - a connection whose other end is slow, or silent. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit.h"

#include "base/limits.h"
#include "io/files.h"
#include "postgres/pq.h"
#include "wire/percent.h"

#define SIZE (16 * TH_MIB)
#define PARTS 5      /* in so many it is passed on */
#define GAP_MS 500   /* and rests in between */
#define WAIT_MS 1500 /* longer than a gap, and shorter than all of them */

static struct th_err err;
static char folder[] = "/tmp/thole-slow-XXXXXX";

/* What stands between: it passes on what the client says in parts, or nothing of a large one. */
static struct {
	pthread_t thread;
	int listener;
	struct sockaddr_un server;
	bool silent;
} b;

static void pass(int to, const char *bytes, ssize_t len)
{
	for (ssize_t at = 0; at < len;) {
		ssize_t n = send(to, bytes + at, (size_t)(len - at), MSG_NOSIGNAL);

		if (n <= 0)
			return;
		at += n;
	}
}

static void *between(void *unused)
{
	int client = accept(b.listener, NULL, NULL);
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd fds[] = { { .fd = client, .events = POLLIN },
				{ .fd = server, .events = POLLIN } };
	static char bytes[TH_MIB];
	size_t sent = 0, part = 1;

	(void)unused;
	assert_int_equal(connect(server, (struct sockaddr *)&b.server, sizeof(b.server)), 0);
	while (poll(fds, 2, -1) > 0) {
		int from = fds[0].revents ? 0 : 1;
		ssize_t len = recv(fds[from].fd, bytes, sizeof(bytes), 0);

		if (len <= 0)
			break;
		pass(fds[!from].fd, bytes, len);
		if (from)
			continue;
		sent += (size_t)len;
		if (sent < part * (SIZE / PARTS))
			continue;
		part++;
		if (b.silent) { /* until it hangs up */
			fds[0].events = 0;
			(void)poll(fds, 1, -1);
			break;
		}
		(void)poll(NULL, 0, GAP_MS);
	}
	close(client);
	close(server);
	return NULL;
}

static int64_t ask(bool silent, enum th_code wanted)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct sockaddr_un here = { .sun_family = AF_UNIX };
	char *bytes = th_alloc(SIZE), url[256];
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	struct th_pq c = TH_PQ_INIT;
	int64_t len = 0;

	snprintf(here.sun_path, sizeof(here.sun_path), "%s/.s.PGSQL.5432", folder);
	snprintf(url, sizeof(url), "postgres://thole@%%2Ftmp%%2F%s:5432/postgres", folder + 5);
	b.silent = silent;
	b.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(b.listener, (struct sockaddr *)&here, sizeof(here)), 0);
	assert_int_equal(listen(b.listener, 1), 0);
	assert_int_equal(pthread_create(&b.thread, NULL, between, NULL), 0);
	c.url = c.shown = url;
	c.wait_ms = 60000;
	assert_int_equal(th_pq_connect(&c, &err), TH_OK);
	c.wait_ms = WAIT_MS;
	memset(bytes, 'x', SIZE);
	th_pq_arg_bytes(&args, bytes, SIZE);
	assert_int_equal(th_pq_run(&c, "SELECT length($1)::bigint", &args, &r, &err), wanted);
	if (wanted == TH_OK)
		assert_true(th_pq_rows(r) == 1 && th_pq_i64(r, 0, 0, &len));
	else
		assert_null(c.conn);
	th_pq_close(&c);
	assert_int_equal(pthread_join(b.thread, NULL), 0);
	close(b.listener);
	unlink(here.sun_path);
	free(bytes);
	return len;
}

/* What is large takes as long as it takes, while it goes on. */
static void slow(void **state)
{
	(void)state;
	assert_int_equal(ask(false, TH_OK), SIZE);
}

static void silent(void **state)
{
	(void)state;
	assert_int_equal(ask(true, TH_ECONN), 0);
	assert_non_null(strstr(err.msg, "did not answer in time"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(slow), cmocka_unit_test(silent) };
	const char *server = getenv("THOLE_TEST_POSTGRES");
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_str rest = th_str_of(server), place;
	int status;

	if (!server)
		return 77;
	(void)th_str_split(&rest, '@');
	place = th_str_split(&rest, ':');
	if (!th_percent_decode(place, &path) || !mkdtemp(folder))
		return 1;
	b.server.sun_family = AF_UNIX;
	snprintf(b.server.sun_path, sizeof(b.server.sun_path), "%s/.s.PGSQL.%d", path.ptr,
		 atoi(rest.ptr));
	status = cmocka_run_group_tests(tests, NULL, NULL);
	(void)!th_dir_remove(folder, &err);
	return status;
}
