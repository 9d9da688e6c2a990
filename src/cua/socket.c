/* SPDX-License-Identifier: Apache-2.0 */
/* socket.c - Cua's commands over a WebSocket: one after the other, each answered in its turn.
 * (cua.h) */
#include <stdlib.h>

#include "cua/cua.h"

struct th_cua_socket {
	struct th_cua_socket *prev, *next;
	struct th_cua *cua;
	struct th_access *access;
	char *waiting[TH_SERVE_CUA_QUEUE_MAX];
	size_t count;
	bool authenticated, busy; /* busy: a command is under way */
	bool looping;             /* `go` is at work */
	bool flat;                /* the command under way has its parameters beside its name */
	const char *result;       /* th_cua_print_flat */
	bool over;
	struct th_timer login;
};

static void socket_free(struct th_cua_socket *s)
{
	if (s->prev)
		s->prev->next = s->next;
	else
		s->cua->sockets = s->next;
	if (s->next)
		s->next->prev = s->prev;
	for (size_t i = 0; i < s->count; i++)
		free(s->waiting[i]);
	th_timer_stop(&s->login);
	free(s);
}

/* Nobody hears what its command says any more. */
static void leave(struct th_cua_socket *s)
{
	th_cua_forget(s->cua, s);
	s->over = true;
	if (!s->looping)
		socket_free(s);
}

/* The request ends with it. */
static void end(struct th_cua_socket *s, unsigned code)
{
	struct th_http_request *r = s->access->request;

	s->access->gone = NULL;
	s->access->message = NULL;
	leave(s);
	th_http_close(r, code);
}

static void say(struct th_cua_socket *s, struct th_str json)
{
	enum th_code code = th_http_send(s->access->request, json, true);

	if (code == TH_ELIMIT) /* he asks and does not read */
		end(s, 1008);
}

static void say_error(struct th_cua_socket *s, const char *text)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);

	th_cua_print_error(th_str_of(text), &json);
	say(s, th_buf_str(&json));
}

/* The first message of who has not said yet who he is. */
static void authenticate(struct th_cua_socket *s, const struct th_cua_command *c)
{
	struct th_str key = th_json_get_str(c->params, "api_key");
	const struct th_token *t = s->cua->open || !key.len ? NULL : th_cua_token(s->cua, key);
	const char *why = NULL;

	if (!s->cua->open) {
		if (!th_str_is(c->name, "authenticate"))
			why = "First message must be authentication";
		else if (!key.len)
			why = "API key required";
		else if (!t)
			why = "Authentication failed";
	}
	if (why) {
		s->cua->server->metrics.refused_tokens++;
		say_error(s, why);
		if (!s->over)
			end(s, 1000);
		return;
	}
	if (t)
		th_guard_found(s->access, t, TH_SCOPE_RUN);
	s->authenticated = true;
	th_timer_stop(&s->login);
	say(s, TH_STR("{\"success\":true,\"message\":\"Authentication successful\"}"));
}

static void go(struct th_cua_socket *s);

static void say_answer(struct th_cua_socket *s, struct th_str json)
{
	struct th_buf flat TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);

	if (s->flat)
		th_cua_print_flat(json, s->result, &flat);
	if (flat.failed)
		say_error(s, "the answer is too long");
	else
		say(s, s->flat ? th_buf_str(&flat) : json);
}

static void answered(void *to, struct th_str json)
{
	struct th_cua_socket *s = to;

	s->busy = false;
	/* `say` may end it, and then it is gone unless `go` is at work. */
	if (s->looping) {
		say_answer(s, json);
		return;
	}
	s->looping = true;
	say_answer(s, json);
	s->looping = false;
	if (s->over)
		socket_free(s);
	else
		go(s);
}

static const char *result_of(struct th_str name)
{
	size_t i = 0;

	while (th_cua_results[i][0] && !th_str_is(name, th_cua_results[i][0]))
		i++;
	return th_cua_results[i][1];
}

static void take(struct th_cua_socket *s, struct th_str message)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_cua_command c = { 0 };
	struct th_err err = { 0 };
	int status;

	if (th_cua_parse(message, &doc, &c, &err) && s->authenticated) {
		say_error(s, err.msg);
		return;
	}
	if (!s->authenticated || th_str_is(c.name, "authenticate")) {
		authenticate(s, &c);
		return;
	}
	s->busy = true;
	s->flat = c.flat;
	s->result = result_of(c.name);
	if (!th_cua_begin(s->cua, s->cua->rows, message, answered, s, &status, &err)) {
		s->busy = false;
		say_error(s, err.msg);
	}
}

static void go(struct th_cua_socket *s)
{
	if (s->looping)
		return;
	s->looping = true;
	while (!s->over && !s->busy && s->count) {
		char *message = s->waiting[0];

		memmove(s->waiting, s->waiting + 1, --s->count * sizeof(char *));
		take(s, th_str_of(message));
		free(message);
	}
	s->looping = false;
	if (s->over)
		socket_free(s);
}

static void on_message(struct th_access *a, struct th_str text, bool is_text)
{
	struct th_cua_socket *s = a->ctx;
	char *copy;

	if (!is_text || memchr(text.ptr, 0, text.len) || s->count == TH_SERVE_CUA_QUEUE_MAX) {
		end(s, is_text ? 1008 : 1003);
		return;
	}
	copy = th_alloc(text.len + 1);
	memcpy(copy, text.ptr, text.len);
	s->waiting[s->count++] = copy;
	go(s);
}

static void on_gone(struct th_access *a)
{
	leave(a->ctx);
}

static void on_late(void *ctx)
{
	end(ctx, 1008);
}

void th_cua_socket_begin(struct th_cua *c, struct th_access *a, bool authenticated)
{
	struct th_cua_socket *s = th_alloc(sizeof(*s));

	*s = (struct th_cua_socket){
		.cua = c, .access = a, .next = c->sockets, .authenticated = authenticated
	};
	th_timer_init(&s->login, c->server->loop, on_late, s);
	if (!th_http_upgrade(a->request, (struct th_str){ NULL, 0 })) { /* it was answered */
		free(s);
		return;
	}
	if (s->next)
		s->next->prev = s;
	c->sockets = s;
	a->ctx = s;
	a->message = on_message;
	a->gone = on_gone;
	if (!authenticated)
		th_timer_start(&s->login, TH_SERVE_CUA_LOGIN_MS, 0);
}

void th_cua_sockets_finish(struct th_cua *c)
{
	while (c->sockets)
		end(c->sockets, 1001);
}

void th_cua_sockets_free(struct th_cua *c)
{
	while (c->sockets) {
		c->sockets->access->gone = NULL;
		leave(c->sockets);
	}
}
