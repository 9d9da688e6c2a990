/* SPDX-License-Identifier: Apache-2.0 */
#include "scripted.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "base/limits.h"

#define CONNECTIONS_MAX 512
#define REQUEST_MAX (32 * TH_MIB)

struct scripted {
	scripted_fn *fn;
	void *ctx;
	int listen_fd;
	char url[64];
	pthread_t acceptor;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool held, ending;
	int requests;
	pthread_t threads[CONNECTIONS_MAX];
	int fds[CONNECTIONS_MAX]; /* -1: closed */
	int connections;
};

struct connection {
	struct scripted *server;
	int nth;
};

static bool send_all(int fd, struct th_str s)
{
	while (s.len > 0) {
		ssize_t n = send(fd, s.ptr, s.len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		s = th_str_sub(s, (size_t)n, s.len);
	}
	return true;
}

/* Reads one request; its body's place in `in`, or false at the end. */
static bool hear(int fd, struct th_buf *in, size_t *ret_body)
{
	th_buf_clear(in);
	for (;;) {
		const char *end = strstr(in->ptr, "\r\n\r\n");
		const char *length = strcasestr(in->ptr, "\r\nContent-Length:");
		size_t body = end ? (size_t)(end + 4 - in->ptr) : 0;
		char *to;
		ssize_t n;

		if (end &&
		    (!length || length > end || in->len >= body + strtoul(length + 17, NULL, 10))) {
			*ret_body = body;
			return true;
		}
		to = th_buf_grow(in, 64 * TH_KIB);
		n = to ? recv(fd, to, 64 * TH_KIB - 1, 0) : 0;
		if (n <= 0)
			return false;
		th_buf_grown(in, (size_t)n);
	}
}

static void put_response(struct th_buf *out, int nth, struct th_str items)
{
	th_buf_printf(
	    out,
	    "{\"id\":\"resp_%d\",\"object\":\"response\",\"created_at\":1,\"model\":\"m\","
	    "\"status\":\"completed\",\"output\":[%.*s],\"usage\":{\"input_tokens\":10,"
	    "\"output_tokens\":5,\"total_tokens\":15}}",
	    nth, TH_FMT(items));
}

static void put_event(struct th_buf *out, const char *type, const char *more, struct th_str raw)
{
	th_buf_printf(out, "event: %s\ndata: {\"type\":\"%s\",%s", type, type, more);
	th_buf_add(out, raw);
	th_buf_add_cstr(out, "}\n\n");
}

/* Items one after the other; the text of a message in pieces of four bytes. */
static void put_stream(struct th_buf *out, int nth, struct th_str items)
{
	struct th_buf list = TH_BUF_INIT(REQUEST_MAX), whole = TH_BUF_INIT(REQUEST_MAX);
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;
	char more[96];

	th_buf_printf(&list, "[%.*s]", TH_FMT(items));
	if (th_json_parse(th_buf_str(&list), &doc, NULL))
		abort(); /* the test's own script */
	put_event(out, "response.created",
		  "\"response\":{\"id\":\"r\",\"status\":\"in_progress\",\"output\":[]}",
		  TH_STR(""));
	it = th_json_iter(th_json_root(doc));
	while (th_json_next(&it)) {
		const struct th_json *part = th_json_at(th_json_get(it.val, "content"), 0);
		struct th_str text = th_json_get_str(part, "text");

		th_buf_clear(&whole);
		th_json_print(it.val, &whole);
		snprintf(more, sizeof(more), "\"output_index\":%zu,\"item\":", it.index);
		put_event(out, "response.output_item.added", more, th_buf_str(&whole));
		while (text.len > 0) {
			struct th_buf piece = TH_BUF_INIT(64);
			struct th_jw w = th_jw(&piece);

			th_jw_str(&w, th_str_sub(text, 0, 4));
			text = th_str_sub(text, 4, text.len);
			snprintf(more, sizeof(more),
				 "\"output_index\":%zu,\"content_index\":0,\"delta\":", it.index);
			put_event(out, "response.output_text.delta", more, th_buf_str(&piece));
			th_buf_deinit(&piece);
		}
		snprintf(more, sizeof(more), "\"output_index\":%zu,\"item\":", it.index);
		put_event(out, "response.output_item.done", more, th_buf_str(&whole));
	}
	th_buf_clear(&whole);
	put_response(&whole, nth, items);
	put_event(out, "response.completed", "\"response\":", th_buf_str(&whole));
	th_json_free(doc);
	th_buf_deinit(&list);
	th_buf_deinit(&whole);
}

static bool serve(struct scripted *s, int fd, const char *body)
{
	struct th_buf items = TH_BUF_INIT(REQUEST_MAX), text = TH_BUF_INIT(REQUEST_MAX);
	struct th_buf out = TH_BUF_INIT(REQUEST_MAX);
	bool stream = strstr(body, "\"stream\":true") != NULL, good;
	int nth;

	pthread_mutex_lock(&s->lock);
	nth = s->requests++;
	s->fn(s->ctx, body, nth, &items);
	while (s->held && !s->ending)
		pthread_cond_wait(&s->changed, &s->lock);
	good = !s->ending;
	pthread_mutex_unlock(&s->lock);
	if (stream && items.len > 0)
		put_stream(&text, nth, th_buf_str(&items));
	else if (items.len > 0)
		put_response(&text, nth, th_buf_str(&items));
	th_buf_printf(&out, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n",
		      items.len > 0 ? "200 OK" : "500 No",
		      stream ? "text/event-stream" : "application/json", text.len);
	th_buf_add(&out, th_buf_str(&text));
	good = good && send_all(fd, th_buf_str(&out));
	th_buf_deinit(&items);
	th_buf_deinit(&text);
	th_buf_deinit(&out);
	return good;
}

static void *serve_connection(void *ctx)
{
	struct connection *c = ctx;
	struct scripted *s = c->server;
	struct th_buf in = TH_BUF_INIT(REQUEST_MAX);
	int fd = s->fds[c->nth];
	size_t body;

	while (hear(fd, &in, &body) && serve(s, fd, in.ptr + body))
		;
	th_buf_deinit(&in);
	pthread_mutex_lock(&s->lock);
	close(fd);
	s->fds[c->nth] = -1;
	pthread_mutex_unlock(&s->lock);
	free(c);
	return NULL;
}

static void *accept_all(void *ctx)
{
	struct scripted *s = ctx;

	for (;;) {
		int fd = accept(s->listen_fd, NULL, NULL);
		struct connection *c;

		if (fd < 0)
			return NULL;
		pthread_mutex_lock(&s->lock);
		if (s->ending || s->connections == CONNECTIONS_MAX) {
			close(fd);
		} else {
			setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
			c = th_alloc(sizeof(*c));
			*c = (struct connection){ s, s->connections };
			s->fds[s->connections] = fd;
			if (pthread_create(&s->threads[s->connections++], NULL, serve_connection,
					   c))
				abort();
		}
		pthread_mutex_unlock(&s->lock);
	}
}

struct scripted *scripted_new(scripted_fn *fn, void *ctx)
{
	struct scripted *s = th_alloc(sizeof(*s));
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);

	s->fn = fn;
	s->ctx = ctx;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(s->listen_fd, (struct sockaddr *)&at, len) || listen(s->listen_fd, 512) ||
	    getsockname(s->listen_fd, (struct sockaddr *)&at, &len))
		abort();
	snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%d/v1", ntohs(at.sin_port));
	if (pthread_create(&s->acceptor, NULL, accept_all, s))
		abort();
	return s;
}

struct scripted *scripted_free(struct scripted *s)
{
	if (!s)
		return NULL;
	pthread_mutex_lock(&s->lock);
	s->ending = true;
	pthread_cond_broadcast(&s->changed);
	for (int i = 0; i < s->connections; i++)
		if (s->fds[i] >= 0)
			shutdown(s->fds[i], SHUT_RDWR);
	pthread_mutex_unlock(&s->lock);
	shutdown(s->listen_fd, SHUT_RDWR);
	pthread_join(s->acceptor, NULL);
	for (int i = 0; i < s->connections; i++)
		pthread_join(s->threads[i], NULL);
	close(s->listen_fd);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
	free(s);
	return NULL;
}

const char *scripted_url(const struct scripted *s)
{
	return s->url;
}

int scripted_requests(const struct scripted *s)
{
	struct scripted *unlocked = (struct scripted *)(uintptr_t)s;
	int count;

	pthread_mutex_lock(&unlocked->lock);
	count = s->requests;
	pthread_mutex_unlock(&unlocked->lock);
	return count;
}

void scripted_hold(struct scripted *s, bool hold)
{
	pthread_mutex_lock(&s->lock);
	s->held = hold;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void separate(struct th_buf *items)
{
	if (items->len > 0)
		th_buf_add_char(items, ',');
}

void scripted_say(struct th_buf *items, const char *text)
{
	struct th_jw w = th_jw(items);

	separate(items);
	th_buf_printf(items,
		      "{\"id\":\"msg_%zu\",\"type\":\"message\",\"status\":\"completed\","
		      "\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\","
		      "\"annotations\":[],\"text\":",
		      items->len);
	th_jw_str(&w, th_str_of(text));
	th_buf_add_cstr(items, "}]}");
}

void scripted_call(struct th_buf *items, const char *call_id, const char *tool,
		   const char *arguments_json)
{
	struct th_jw w = th_jw(items);

	separate(items);
	th_buf_printf(items,
		      "{\"id\":\"fc_%zu\",\"type\":\"function_call\",\"status\":\"completed\","
		      "\"call_id\":\"%s\",\"name\":\"%s\",\"arguments\":",
		      items->len, call_id, tool);
	th_jw_str(&w, th_str_of(arguments_json));
	th_buf_add_cstr(items, "}");
}

void scripted_computer(struct th_buf *items, const char *call_id, const char *actions_json)
{
	separate(items);
	th_buf_printf(items,
		      "{\"id\":\"cu_%zu\",\"type\":\"computer_call\",\"status\":\"completed\","
		      "\"call_id\":\"%s\",\"actions\":%s,\"pending_safety_checks\":[]}",
		      items->len, call_id, actions_json);
}

int scripted_count(const char *request, const char *what)
{
	int count = 0;

	for (const char *at = strstr(request, what); at; at = strstr(at + 1, what))
		count++;
	return count;
}
