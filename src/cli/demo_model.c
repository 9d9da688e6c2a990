/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/demo_model.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"
#include "io/files.h"

#define HEAD_MAX (64 * TH_KIB)
#define ANSWER_MAX (256 * TH_KIB)
#define IDLE_MS 30000 /* of a peer that says nothing */

struct th_demo_model {
	int listen_fd, stop_fd, port;
	th_demo_script *script;
	void *script_ctx;
	pthread_t thread;
};

/* ---- the script ---- */

/* One turn: what it says, then one call, or the end. */
struct turn {
	const char *thought, *tool, *arguments;
	const char *wanted; /* must stand in the result of the call before; NULL: anything */
};

#define XTERM                                                                                \
	"xterm -geometry 80x20+120+120 -fa Monospace -fs 12 -e sh -c ': > .ready; exec sh' " \
	">/dev/null 2>&1 & "                                                                 \
	"n=0; while [ ! -e .ready ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done; "     \
	"rm .ready && echo the terminal is open"

static const struct turn script[] = {
	{ "I open a terminal on my desktop.", "shell", "{\"command\":\"" XTERM "\"}", NULL },
	{ "Now I look at the screen.", "computer", "{\"actions\":[{\"type\":\"screenshot\"}]}",
	  "the terminal is open" },
	{ "There it is. I click into it and write the file by keyboard.", "computer",
	  "{\"actions\":[{\"type\":\"click\",\"x\":400,\"y\":260},"
	  "{\"type\":\"type\",\"text\":\"cat > " TH_DEMO_FILE "\",\"enter\":true},"
	  "{\"type\":\"type\",\"text\":\"" TH_DEMO_LINE "\",\"enter\":true},"
	  "{\"type\":\"key\",\"keys\":[\"ctrl\",\"d\"]}]}",
	  "input_image" },
	{ "I let the terminal show what is in it.", "computer",
	  "{\"actions\":[{\"type\":\"type\",\"text\":\"clear; cat " TH_DEMO_FILE
	  "\",\"enter\":true}]}",
	  "input_image" },
	{ "I do not trust the picture alone and read the file.", "read_file",
	  "{\"path\":\"" TH_DEMO_FILE "\"}", "input_image" },
	{ NULL, NULL, NULL, TH_DEMO_LINE },
};

/* ---- answers ---- */

/* Results of calls in the request, and the last of them. */
static size_t results(const struct th_json *body, const struct th_json **ret_last)
{
	struct th_json_iter it = th_json_iter(th_json_get(body, "input"));
	size_t count = 0;

	*ret_last = NULL;
	while (th_json_next(&it)) {
		if (!th_str_ends(th_json_get_str(it.val, "type"), TH_STR("_call_output")))
			continue;
		count++;
		*ret_last = it.val;
	}
	return count;
}

static bool result_has(const struct th_json *result, const char *wanted)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);

	if (!wanted)
		return true;
	th_json_print(result, &text);
	return th_str_find(th_buf_str(&text), th_str_of(wanted)) >= 0;
}

struct answer {
	struct th_buf out, items; /* the stream; the items of the whole answer */
	struct th_buf item;       /* the one that is being said */
	size_t number, sequence, items_count;
	size_t body_size;
};

static void event(struct answer *a, const char *type, const char *key, struct th_str value,
		  bool indexed)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(ANSWER_MAX);
	struct th_jw w = th_jw(&text);

	th_jw_object(&w);
	th_jw_kstr(&w, "type", th_str_of(type));
	th_jw_kuint(&w, "sequence_number", a->sequence++);
	if (indexed)
		th_jw_kuint(&w, "output_index", a->items_count);
	th_jw_kraw(&w, key, value);
	th_jw_object_end(&w);
	th_buf_printf(&a->out, "event: %s\ndata: %.*s\n\n", type, TH_FMT(th_buf_str(&text)));
}

static void item_done(struct answer *a)
{
	event(a, "response.output_item.done", "item", th_buf_str(&a->item), true);
	th_buf_printf(&a->items, "%s%.*s", a->items_count ? "," : "", TH_FMT(th_buf_str(&a->item)));
	a->items_count++;
}

static void delta(struct answer *a, const char *type, const char *item_id, struct th_str text)
{
	struct th_buf data TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(ANSWER_MAX);
	struct th_jw w = th_jw(&data);

	th_jw_object(&w);
	th_jw_kstr(&w, "type", th_str_of(type));
	th_jw_kuint(&w, "sequence_number", a->sequence++);
	th_jw_kstr(&w, "item_id", th_str_of(item_id));
	th_jw_kuint(&w, "output_index", a->items_count);
	th_jw_kuint(&w, "content_index", 0);
	th_jw_kstr(&w, "delta", text);
	th_jw_object_end(&w);
	th_buf_printf(&a->out, "event: %s\ndata: %.*s\n\n", type, TH_FMT(th_buf_str(&data)));
}

static void print_message(struct th_buf *out, const char *id, struct th_str text,
			  const char *status)
{
	struct th_jw w = th_jw(out);

	th_buf_clear(out);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("message"));
	th_jw_kstr(&w, "id", th_str_of(id));
	th_jw_kstr(&w, "role", TH_STR("assistant"));
	th_jw_kstr(&w, "status", th_str_of(status));
	th_jw_key(&w, TH_STR("content"));
	th_jw_array(&w);
	if (text.len) {
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("output_text"));
		th_jw_kstr(&w, "text", text);
		th_jw_kraw(&w, "annotations", TH_STR("[]"));
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
	th_jw_object_end(&w);
}

static void say(struct answer *a, struct th_str text)
{
	char id[32] = "msg_demo_";

	id[9] = (char)('a' + a->number % 26);
	print_message(&a->item, id, (struct th_str){}, "in_progress");
	event(a, "response.output_item.added", "item", th_buf_str(&a->item), true);
	for (struct th_str rest = text; rest.len;) { /* word by word, as models speak */
		ptrdiff_t blank = th_str_find_char(th_str_sub(rest, 1, rest.len), ' ');
		struct th_str word = th_str_sub(rest, 0, blank < 0 ? rest.len : (size_t)blank + 1);

		delta(a, "response.output_text.delta", id, word);
		rest = th_str_sub(rest, word.len, rest.len);
	}
	print_message(&a->item, id, text, "completed");
	item_done(a);
}

static void call(struct answer *a, size_t number, const char *tool, const char *arguments)
{
	char id[32];
	struct th_jw w = th_jw(&a->item);

	(void)snprintf(id, sizeof(id), "call_demo_%zu", number);
	th_buf_clear(&a->item);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("function_call"));
	th_jw_kstr(&w, "id", th_str_of(id + 5));
	th_jw_kstr(&w, "call_id", th_str_of(id));
	th_jw_kstr(&w, "name", th_str_of(tool));
	th_jw_kstr(&w, "arguments", th_str_of(arguments));
	th_jw_kstr(&w, "status", TH_STR("completed"));
	th_jw_object_end(&w);
	event(a, "response.output_item.added", "item", th_buf_str(&a->item), true);
	item_done(a);
}

static void response(struct answer *a, const char *type, const char *status)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(ANSWER_MAX);

	th_buf_printf(&text,
		      "{\"id\":\"resp_demo_%zu\",\"object\":\"response\",\"status\":\"%s\","
		      "\"model\":\"" TH_DEMO_MODEL
		      "\",\"output\":[%.*s],\"error\":null,\"incomplete_details\":null,\"usage\":{"
		      "\"input_tokens\":%zu,"
		      "\"output_tokens\":%zu,\"total_tokens\":%zu}}",
		      a->number, status, TH_FMT(th_buf_str(&a->items)), a->body_size / 4,
		      a->items.len / 4, (a->body_size + a->items.len) / 4);
	event(a, type, "response", th_buf_str(&text), false);
}

static void answer_by(struct answer *a, const struct th_demo_model *m, size_t done)
{
	struct th_demo_turn t = { 0 };

	m->script(m->script_ctx, done, &t);
	if (t.text[0])
		say(a, th_str_of(t.text));
	for (size_t i = 0; i < t.call_count; i++)
		call(a, done + i, t.calls[i].tool, t.calls[i].arguments);
}

static void answer(struct answer *a, const struct th_demo_model *m, const struct th_json *body)
{
	const struct th_json *last;
	size_t done = results(body, &last);
	const struct turn *t = &script[TH_MIN(done, TH_COUNT(script) - 1)];

	a->number = done;
	response(a, "response.created", "in_progress");
	if (m->script) {
		answer_by(a, m, done);
	} else if (!result_has(last, t->wanted)) {
		say(a, TH_STR("The last step did not give what I expected, so I stop here: the "
			      "file may not be written."));
	} else if (t->tool) {
		say(a, th_str_of(t->thought));
		call(a, done, t->tool, t->arguments);
	} else {
		say(a, TH_STR("Done. I opened a terminal on a private desktop, wrote " TH_DEMO_FILE
			      " by keyboard, and read it back. It says: " TH_DEMO_LINE));
	}
	response(a, "response.completed", "completed");
}

/* ---- HTTP, as much of it as is needed ---- */

static bool readable(int fd, int stop_fd)
{
	struct pollfd p[2] = { { fd, POLLIN, 0 }, { stop_fd, POLLIN, 0 } };
	int n;

	do
		n = poll(p, 2, IDLE_MS);
	while (n < 0 && errno == EINTR);
	return n > 0 && !p[1].revents && p[0].revents;
}

static bool fill(int fd, int stop_fd, struct th_buf *in)
{
	char *to = th_buf_grow(in, 64 * TH_KIB);
	ssize_t n;

	if (!to || !readable(fd, stop_fd))
		return false;
	n = recv(fd, to, 64 * TH_KIB, 0);
	if (n <= 0)
		return false;
	th_buf_grown(in, (size_t)n);
	return true;
}

static void send_all(int fd, struct th_str s)
{
	while (s.len) {
		ssize_t n = send(fd, s.ptr, s.len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		s = th_str_sub(s, (size_t)n, s.len);
	}
}

/* Value of a header in lower-cased text, or empty. */
static struct th_str header(struct th_str head, struct th_str name)
{
	while (head.len) {
		struct th_str line = th_str_split(&head, '\n'), value = line;

		if (th_str_ieq(th_str_trim(th_str_split(&value, ':')), name))
			return th_str_trim(value);
	}
	return (struct th_str){};
}

static void reply_status(int fd, const char *status)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(HEAD_MAX);

	th_buf_printf(&out, "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		      status);
	send_all(fd, th_buf_str(&out));
}

static void reply(int fd, const struct th_demo_model *m, struct th_str request)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct answer a = { .body_size = request.len };
	struct th_buf head TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(HEAD_MAX);

	if (th_json_parse(request, &doc, NULL) != TH_OK) {
		reply_status(fd, "400 Bad Request");
		return;
	}
	th_buf_init(&a.out, ANSWER_MAX);
	th_buf_init(&a.items, ANSWER_MAX);
	th_buf_init(&a.item, ANSWER_MAX);
	answer(&a, m, th_json_root(doc));
	th_buf_printf(
	    &head,
	    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %zu\r\n"
	    "Connection: close\r\n\r\n",
	    a.out.len);
	send_all(fd, th_buf_str(&head));
	send_all(fd, th_buf_str(&a.out));
	th_buf_deinit(&a.out);
	th_buf_deinit(&a.items);
	th_buf_deinit(&a.item);
}

static void serve(int fd, const struct th_demo_model *m)
{
	int stop_fd = m->stop_fd;
	struct th_buf in TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	ptrdiff_t end = -1;
	struct th_str head;
	int64_t size = 0;

	while (end < 0 && in.len < HEAD_MAX && fill(fd, stop_fd, &in))
		end = th_str_find(th_buf_str(&in), TH_STR("\r\n\r\n"));
	if (end < 0)
		return;
	head = th_str_sub(th_buf_str(&in), 0, (size_t)end);
	if (!th_str_starts(head, TH_STR("POST ")) ||
	    !th_str_i64(header(head, TH_STR("content-length")), &size) || size < 0 ||
	    (size_t)size > TH_REQUEST_MAX / 2) {
		reply_status(fd, "404 Not Found");
		return;
	}
	if (th_str_ieq(header(head, TH_STR("expect")), TH_STR("100-continue")))
		send_all(fd, TH_STR("HTTP/1.1 100 Continue\r\n\r\n"));
	while (in.len < (size_t)end + 4 + (size_t)size)
		if (!fill(fd, stop_fd, &in))
			return;
	reply(fd, m, th_str_sub(th_buf_str(&in), (size_t)end + 4, (size_t)size));
}

static void *thread_main(void *ctx)
{
	const struct th_demo_model *m = ctx;
	struct pollfd p[2] = { { m->listen_fd, POLLIN, 0 }, { m->stop_fd, POLLIN, 0 } };

	for (;;) {
		int fd;

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			break;
		if (p[1].revents)
			break;
		fd = accept4(m->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		serve(fd, m);
		close(fd);
	}
	return NULL;
}

static enum th_code listen_loopback(struct th_demo_model *m, struct th_err *err)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);

	m->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	m->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (m->listen_fd < 0 || m->stop_fd < 0 ||
	    bind(m->listen_fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
	    listen(m->listen_fd, 8) != 0 ||
	    getsockname(m->listen_fd, (struct sockaddr *)&at, &len) != 0)
		return th_fail_errno(err, errno,
				     "the scripted model cannot listen on the loopback");
	m->port = ntohs(at.sin_port);
	return TH_OK;
}

static void free_model(struct th_demo_model *m)
{
	th_fd_close(&m->listen_fd);
	th_fd_close(&m->stop_fd);
	free(m);
}

enum th_code th_demo_model_start(th_demo_script *other, void *ctx, struct th_demo_model **ret,
				 struct th_err *err)
{
	struct th_demo_model *m = th_alloc(sizeof(*m));
	enum th_code code = listen_loopback(m, err);
	sigset_t all, before;
	int failed;

	m->script = other;
	m->script_ctx = ctx;
	if (code == TH_OK) {
		/* Signals are for the main thread. */
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, &before);
		failed = pthread_create(&m->thread, NULL, thread_main, m);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		if (failed)
			code = th_fail_errno(err, failed,
					     "the scripted model cannot start its thread");
	}
	if (code != TH_OK) {
		free_model(m);
		return code;
	}
	*ret = m;
	return TH_OK;
}

int th_demo_model_port(const struct th_demo_model *m)
{
	return m->port;
}

struct th_demo_model *th_demo_model_stop(struct th_demo_model *m)
{
	if (!m)
		return NULL;
	if (eventfd_write(m->stop_fd, 1) == 0)
		pthread_join(m->thread, NULL);
	free_model(m);
	return NULL;
}
