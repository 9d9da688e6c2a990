/* SPDX-License-Identifier: Apache-2.0 */
/* server.c - HTTP, as much of it as the scripted model needs: one request per connection. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "torture.h"

struct server {
	int listen_fd, port;
	pthread_t thread;
	atomic_uint asked;
	pthread_mutex_t mutex; /* of what follows */
	const struct script *script;
	unsigned number;
	struct script_seen seen;
};

static bool fill(int fd, struct th_buf *in)
{
	char *to = th_buf_grow(in, 64 * TH_KIB);
	ssize_t n;

	if (!to)
		return false;
	do
		n = recv(fd, to, 64 * TH_KIB, 0);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		th_buf_grown(in, (size_t)n);
	return n > 0;
}

static bool send_all(int fd, struct th_str s)
{
	while (s.len) {
		ssize_t n = send(fd, s.ptr, s.len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		s = th_str_sub(s, (size_t)n, s.len);
	}
	return true;
}

static int64_t content_length(struct th_str head)
{
	int64_t size = -1;

	while (head.len) {
		struct th_str line = th_str_split(&head, '\n'), value = line;

		if (th_str_ieq(th_str_trim(th_str_split(&value, ':')), TH_STR("content-length")) &&
		    !th_str_i64(th_str_trim(value), &size))
			return -1;
	}
	return size;
}

/* "POST /7/v1/responses": 7; -1: something else. */
static int64_t trial_number(struct th_str head)
{
	int64_t number = -1;

	if (!th_str_starts(head, TH_STR("POST /")))
		return -1;
	head = th_str_sub(head, 6, head.len);
	return th_str_i64(th_str_split(&head, '/'), &number) ? number : -1;
}

static void reply(struct server *s, int fd, int64_t number, struct th_str body)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	TH_CLEANUP(th_buf_deinit) struct th_buf out = TH_BUF_INIT(TH_MIB);
	int turn = -1;

	atomic_fetch_add(&s->asked, 1);
	pthread_mutex_lock(&s->mutex);
	if (s->script && number == s->number && th_json_parse(body, &doc, NULL) == TH_OK) {
		turn = script_judge(s->script, th_json_root(doc), &s->seen);
		if (turn >= 0)
			script_answer(s->script, turn, &out);
	}
	pthread_mutex_unlock(&s->mutex);
	if (turn < 0) {
		send_all(fd, TH_STR("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n"
				    "Connection: close\r\n\r\n"));
		return;
	}
	if (!send_all(fd, TH_STR("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
				 "Connection: close\r\n\r\n")))
		return;
	/* In pieces that are no events: a stream is cut anywhere. */
	for (struct th_str rest = th_buf_str(&out); rest.len;) {
		struct th_str piece = th_str_sub(rest, 0, 1500);

		if (!send_all(fd, piece))
			return;
		rest = th_str_sub(rest, piece.len, rest.len);
	}
}

static void serve(struct server *s, int fd)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf in = TH_BUF_INIT(16 * TH_MIB);
	ptrdiff_t end = -1;

	while (end < 0 && in.len < TH_MIB && fill(fd, &in))
		end = th_str_find(th_buf_str(&in), TH_STR("\r\n\r\n"));
	if (end < 0)
		return;
	struct th_str head = th_str_sub(th_buf_str(&in), 0, (size_t)end);
	int64_t number = trial_number(head), size = content_length(head);
	if (size < 0 || number < 0)
		return;
	while (in.len < (size_t)end + 4 + (size_t)size)
		if (!fill(fd, &in))
			return;
	reply(s, fd, number, th_str_sub(th_buf_str(&in), (size_t)end + 4, (size_t)size));
}

static void *thread_main(void *ctx)
{
	struct server *s = ctx;
	const int one = 1;

	for (;;) {
		int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		serve(s, fd);
		close(fd);
	}
	return NULL;
}

struct server *server_start(void)
{
	struct server *s = th_alloc(sizeof(*s));
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	sigset_t all, before;

	s->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->listen_fd < 0 || bind(s->listen_fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
	    listen(s->listen_fd, 64) != 0 ||
	    getsockname(s->listen_fd, (struct sockaddr *)&at, &len) != 0)
		die("cannot listen on the loopback: %s", strerror(errno));
	s->port = ntohs(at.sin_port);
	pthread_mutex_init(&s->mutex, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (pthread_create(&s->thread, NULL, thread_main, s) != 0)
		die("cannot start a thread");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return s;
}

int server_port(const struct server *s)
{
	return s->port;
}

const atomic_uint *server_asked(const struct server *s)
{
	return &s->asked;
}

void server_trial(struct server *s, const struct script *script, unsigned number)
{
	pthread_mutex_lock(&s->mutex);
	s->script = script;
	s->number = number;
	memset(&s->seen, 0, sizeof(s->seen));
	pthread_mutex_unlock(&s->mutex);
}

void server_seen(struct server *s, struct script_seen *ret)
{
	pthread_mutex_lock(&s->mutex);
	*ret = s->seen;
	pthread_mutex_unlock(&s->mutex);
}
