/* SPDX-License-Identifier: Apache-2.0 */
#include "io/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "io/files.h"

static struct th_loop *loop;
static struct th_err err;
static char folder[64], path[96];
static struct th_buf heard; /* "json:attachment size;" of each frame */
static struct th_sock *accepted;
static struct th_err closed;
static int closes, drains, stop_at, frames;

static int setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/thole-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/s", folder);
	th_buf_init(&heard, TH_MIB);
	accepted = NULL;
	closed = err = (struct th_err){};
	closes = drains = stop_at = frames = 0;
	return th_loop_new(&loop, NULL);
}

static int teardown(void **state)
{
	(void)state;
	th_buf_deinit(&heard);
	loop = th_loop_free(loop);
	return th_dir_remove(folder, NULL);
}

static void on_frame(void *ctx, struct th_sock *s, const struct th_frame *f)
{
	(void)ctx;
	(void)s;
	th_buf_printf(&heard, "%.*s:%zu;", TH_FMT(f->json), f->attachment.len);
	frames++;
	if (frames == stop_at)
		th_loop_stop(loop);
}

static void on_drain(void *ctx, struct th_sock *s)
{
	(void)ctx;
	(void)s;
	drains++;
	th_loop_stop(loop);
}

static void on_close(void *ctx, struct th_sock *s, const struct th_err *why)
{
	(void)ctx;
	(void)s;
	closes++;
	closed = *why;
	th_loop_stop(loop);
}

static const struct th_sock_handlers handlers = { .on_frame = on_frame,
						  .on_drain = on_drain,
						  .on_close = on_close };

static void on_accept(void *ctx, int fd)
{
	(void)ctx;
	assert_null(accepted);
	assert_int_equal(th_sock_new(loop, fd, &handlers, &accepted, NULL), TH_OK);
}

static struct th_sock *one_with(const struct th_sock_handlers *h, int *ret_other)
{
	int fds[2];
	struct th_sock *s;
	assert_int_equal(th_pipe_pair(fds, NULL), TH_OK);
	assert_int_equal(th_sock_new(loop, fds[0], h, &s, NULL), TH_OK);
	*ret_other = fds[1];
	return s;
}

static struct th_sock *one_of(int *ret_other)
{
	return one_with(&handlers, ret_other);
}

static void frames_travel_both_ways(void **state)
{
	struct th_sock_server *server;
	struct th_sock *client;
	struct stat st;
	(void)state;
	assert_int_equal(th_sock_listen(loop, path, on_accept, NULL, &server, &err), TH_OK);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(th_sock_connect(loop, path, &handlers, &client, &err), TH_OK);
	assert_int_equal(th_sock_send(client, TH_STR("{\"a\":1}"), TH_STR("xyz"), &err), TH_OK);
	assert_int_equal(th_sock_send(client, TH_STR("{}"), TH_STR(""), &err), TH_OK);
	stop_at = 2;
	th_loop_run(loop);
	assert_string_equal(heard.ptr, "{\"a\":1}:3;{}:0;");
	assert_int_equal(th_sock_send(accepted, TH_STR("[2]"), TH_STR(""), &err), TH_OK);
	stop_at = 3;
	th_loop_run(loop);
	assert_string_equal(heard.ptr, "{\"a\":1}:3;{}:0;[2]:0;");
	client = th_sock_free(client);
	th_loop_run(loop);
	assert_int_equal(closes, 1);
	assert_int_equal(closed.code, TH_OK);
	assert_int_equal(th_sock_send(accepted, TH_STR("{}"), TH_STR(""), &err), TH_ECONN);
	accepted = th_sock_free(accepted);
	th_sock_server_free(server);
	assert_int_equal(access(path, F_OK), -1);
}

/* A listening socket of another program. */
static int listen_here(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(a.sun_path, path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void a_stale_socket_is_replaced_and_a_live_one_kept(void **state)
{
	struct th_sock_server *a, *b = NULL;
	int fd;
	(void)state;
	assert_int_equal(th_pipe_listen(path, &fd, &err), TH_OK);
	assert_int_equal(th_sock_listen(loop, path, on_accept, NULL, &b, &err), TH_EBUSY);
	close(fd); /* its owner died: the file stays */
	assert_int_equal(access(path, F_OK), 0);
	struct th_sock *s = NULL;
	assert_int_equal(th_sock_connect(loop, path, &handlers, &s, &err), TH_ECONN);
	assert_int_equal(th_sock_listen(loop, path, on_accept, NULL, &a, &err), TH_OK);
	/* A file that is not ours any more is not removed. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(th_sock_listen(loop, path, on_accept, NULL, &b, &err), TH_OK);
	th_sock_server_free(a);
	assert_int_equal(access(path, F_OK), 0);
	th_sock_server_free(b);
	assert_int_equal(th_sock_connect(loop, path, &handlers, &s, &err), TH_ENOENT);
	assert_int_equal(th_file_write(path, TH_STR("no socket"), 0600, NULL), TH_OK);
	assert_int_equal(th_sock_listen(loop, path, on_accept, NULL, &b, &err), TH_EEXIST);
	char longer[200];
	memset(longer, 'x', sizeof(longer));
	longer[199] = '\0';
	assert_int_equal(th_sock_listen(loop, longer, on_accept, NULL, &b, &err), TH_ELIMIT);
}

static void bytes_may_come_one_at_a_time(void **state)
{
	int other;
	struct th_sock *s = one_of(&other);
	TH_CLEANUP(th_buf_deinit) struct th_buf b = TH_BUF_INIT(1000);
	(void)state;
	th_frame_write(&b, TH_STR("{\"x\":2}"), TH_STR("abc"));
	th_frame_write(&b, TH_STR("[]"), TH_STR(""));
	for (size_t i = 0; i < b.len; i++) {
		assert_int_equal(send(other, b.ptr + i, 1, 0), 1);
		th_loop_pass(loop);
	}
	assert_string_equal(heard.ptr, "{\"x\":2}:3;[]:0;");
	assert_int_equal(send(other, b.ptr, 9, 0), 9);
	close(other);
	th_loop_run(loop);
	assert_int_equal(closed.code, TH_ECONN); /* cut in the middle */
	th_sock_free(s);
}

static void garbage_ends_the_connection(void **state)
{
	int other;
	struct th_sock *s = one_of(&other);
	(void)state;
	assert_int_equal(send(other, "\xff\xff\xff\xff\xff\xff\xff\xff garbage", 16, 0), 16);
	th_loop_run(loop);
	assert_int_equal(closes, 1);
	assert_true(closed.code == TH_EPROTO || closed.code == TH_ELIMIT);
	th_sock_free(s);
	close(other);
}

static void a_slow_reader_is_noticed_and_memory_is_bounded(void **state)
{
	int other;
	struct th_sock *s = one_of(&other);
	enum th_code code = TH_OK;
	size_t sent = 0;
	char *big = (char *)calloc(1, TH_MIB);
	(void)state;
	while ((code = th_sock_send(s, TH_STR("{}"), th_str_n(big, TH_MIB), &err)) == TH_OK)
		sent++;
	assert_int_equal(code, TH_EBUSY);
	sent++;
	assert_true(sent * TH_MIB > TH_SOCK_QUEUE_MAX);
	while ((code = th_sock_send(s, TH_STR("{}"), th_str_n(big, TH_MIB), &err)) == TH_EBUSY)
		sent++;
	assert_int_equal(code, TH_ELIMIT);
	/* The queue, and what the kernel has taken. */
	assert_true(sent * TH_MIB <= 2 * TH_SOCK_QUEUE_MAX + 4 * TH_MIB);
	/* Now it reads: everything comes, in order, and we are told. */
	struct th_sock *reader;
	assert_int_equal(th_sock_new(loop, other, &handlers, &reader, NULL), TH_OK);
	while (drains == 0 || (size_t)frames < sent)
		th_loop_pass(loop);
	assert_int_equal(drains, 1);
	assert_int_equal(frames, sent);
	free(big);
	th_sock_free(reader);
	th_sock_free(s);
}

static void on_frame_free(void *ctx, struct th_sock *s, const struct th_frame *f)
{
	on_frame(ctx, s, f);
	th_sock_free(s);
}

static void a_socket_may_be_freed_in_its_callback(void **state)
{
	int other;
	struct th_pipe p;
	struct th_sock_handlers h = handlers;
	(void)state;
	h.on_frame = on_frame_free;
	(void)one_with(&h, &other);
	th_pipe_init(&p, other);
	assert_int_equal(th_pipe_write(&p, TH_STR("{}"), TH_STR(""), 1000, &err), TH_OK);
	assert_int_equal(th_pipe_write(&p, TH_STR("{}"), TH_STR(""), 1000, &err), TH_OK);
	th_loop_run(loop);
	assert_int_equal(frames, 1);
	struct th_frame f;
	assert_true(th_pipe_read(&p, 1000, &f, &err) == TH_ECONN);
	th_pipe_deinit(&p);
}

static void the_blocking_side_keeps_its_deadline(void **state)
{
	int fds[2];
	struct th_pipe p;
	struct th_frame f;
	(void)state;
	assert_int_equal(th_pipe_pair(fds, &err), TH_OK);
	th_pipe_init(&p, fds[0]);
	assert_int_equal(th_pipe_read(&p, 10, &f, &err), TH_ETIMEOUT);
	assert_int_equal(send(fds[1], "\x08\0\0", 3, 0), 3);
	assert_int_equal(th_pipe_read(&p, 10, &f, &err), TH_ETIMEOUT);
	char *big = (char *)calloc(1, 8 * TH_MIB);
	assert_int_equal(th_pipe_write(&p, TH_STR("{}"), th_str_n(big, 8 * TH_MIB), 10, &err),
			 TH_ETIMEOUT);
	free(big);
	close(fds[1]);
	assert_int_equal(th_pipe_read(&p, 1000, &f, &err), TH_ECONN);
	th_pipe_deinit(&p);
}

static void *answer(void *ctx)
{
	struct th_pipe p;
	struct th_frame f;
	struct th_err e;
	th_pipe_init(&p, accept4(*(int *)ctx, NULL, NULL, SOCK_CLOEXEC));
	while (th_pipe_read(&p, 10000, &f, &e) == TH_OK)
		assert_int_equal(th_pipe_write(&p, f.json, f.attachment, 10000, &e), TH_OK);
	th_pipe_deinit(&p);
	return NULL;
}

static void two_blocking_sides_talk(void **state)
{
	pthread_t thread;
	struct th_pipe p;
	struct th_frame f;
	int fd = listen_here();
	(void)state;
	pthread_create(&thread, NULL, answer, &fd);
	assert_int_equal(th_pipe_connect(&p, path, &err), TH_OK);
	char *big = (char *)malloc(5 * TH_MIB);
	memset(big, 'q', 5 * TH_MIB);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(
		    th_pipe_write(&p, TH_STR("{\"n\":1}"), th_str_n(big, 5 * TH_MIB), 10000, &err),
		    TH_OK);
		assert_int_equal(th_pipe_read(&p, 10000, &f, &err), TH_OK);
		assert_int_equal(f.attachment.len, 5 * TH_MIB);
		assert_memory_equal(f.attachment.ptr, big, 5 * TH_MIB);
	}
	free(big);
	th_pipe_deinit(&p);
	pthread_join(thread, NULL);
	close(fd);
}

static void a_message_at_the_limit_passes_and_one_byte_more_does_not(void **state)
{
	int other;
	struct th_sock *s = one_of(&other);
	size_t size = TH_FRAME_SIZE_MAX - TH_FRAME_HEAD_SIZE - 2;
	char *big = (char *)calloc(1, size + 1);
	struct th_sock *reader;
	(void)state;
	assert_int_equal(th_sock_send(s, TH_STR("{}"), th_str_n(big, size + 1), &err), TH_ELIMIT);
	assert_int_equal(th_sock_send(s, TH_STR("{}"), th_str_n(big, size), &err), TH_EBUSY);
	free(big);
	assert_int_equal(th_sock_new(loop, other, &handlers, &reader, NULL), TH_OK);
	while (frames == 0 && closes == 0)
		th_loop_pass(loop);
	assert_int_equal(frames, 1);
	th_sock_free(reader);
	th_sock_free(s);
}

static void a_descriptor_comes_beside_its_frame(void **state)
{
	struct th_sock *sender, *reader;
	int pipe_fds[2], other, got;
	char byte = 0;
	(void)state;
	sender = one_of(&other);
	assert_int_equal(th_sock_new(loop, other, &handlers, &reader, NULL), TH_OK);
	assert_int_equal(pipe(pipe_fds), 0);
	th_sock_takes_fds(reader);
	assert_int_equal(th_sock_take_fd(reader), -1);
	assert_int_equal(th_sock_send_fd(sender, TH_STR("{\"fd\":1}"), pipe_fds[1], &err), TH_OK);
	stop_at = 1;
	th_loop_run(loop);
	assert_string_equal(heard.ptr, "{\"fd\":1}:0;");
	got = th_sock_take_fd(reader);
	assert_true(got >= 0);
	assert_int_equal(fcntl(got, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(th_sock_take_fd(reader), -1);
	assert_int_equal(write(got, "x", 1), 1);
	assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
	assert_int_equal(byte, 'x');
	/* The second is closed with the socket, the first being there still. */
	assert_int_equal(th_sock_send_fd(sender, TH_STR("{}"), got, &err), TH_OK);
	assert_int_equal(th_sock_send_fd(sender, TH_STR("{}"), got, &err), TH_OK);
	stop_at = 3;
	th_loop_run(loop);
	close(got);
	close(pipe_fds[1]);
	th_sock_free(sender);
	th_sock_free(reader);
	assert_int_equal(read(pipe_fds[0], &byte, 1), 0);
	close(pipe_fds[0]);
}

/* Who does not ask for descriptors gets none. */
static void a_descriptor_is_not_taken_unasked(void **state)
{
	struct th_sock *sender, *reader;
	int pipe_fds[2], other;
	char byte;
	(void)state;
	sender = one_of(&other);
	assert_int_equal(th_sock_new(loop, other, &handlers, &reader, NULL), TH_OK);
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(th_sock_send_fd(sender, TH_STR("{}"), pipe_fds[1], &err), TH_OK);
	stop_at = 1;
	th_loop_run(loop);
	assert_int_equal(th_sock_take_fd(reader), -1);
	close(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], &byte, 1), 0);
	close(pipe_fds[0]);
	th_sock_free(sender);
	th_sock_free(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(frames_travel_both_ways),
		T(a_stale_socket_is_replaced_and_a_live_one_kept),
		T(bytes_may_come_one_at_a_time),
		T(garbage_ends_the_connection),
		T(a_slow_reader_is_noticed_and_memory_is_bounded),
		T(a_socket_may_be_freed_in_its_callback),
		T(the_blocking_side_keeps_its_deadline),
		T(two_blocking_sides_talk),
		T(a_descriptor_comes_beside_its_frame),
		T(a_descriptor_is_not_taken_unasked),
		T(a_message_at_the_limit_passes_and_one_byte_more_does_not),
	};
	return cmocka_run_group_tests_name("sock", tests, NULL, NULL);
}
