/* SPDX-License-Identifier: Apache-2.0 */
/* egress.c - the process: its sessions, how it starts and how it ends. */
#include "egress/egress.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/limits.h"
#include "egress/claim.h"
#include "egress/flow.h"
#include "io/files.h"
#include "io/sandbox.h"
#include "io/sock.h"
#include "wire/egress.h"

#define ACCEPTS_MAX 32 /* per wake-up */

#ifdef TH_SANITIZED
static const bool sanitized = true; /* it traces itself when it ends, to look for leaks */
#else
static const bool sanitized = false;
#endif

struct egress;

struct session {
	struct egress *e;
	struct session *next;
	struct th_sock *sock;
	int listen_fd; /* -1: it has not begun */
	struct th_poll *poll;
	struct th_arena arena;
	struct th_net_policy policy;
	struct th_egress_secrets *secrets;
	struct th_flow_owner owner;
	struct th_flow *flows;
	size_t flow_count;
	int64_t last_ask;
	bool blocked; /* its executor does not read: nothing new for now */
	bool dead;
};

struct egress {
	struct th_loop *loop;
	struct th_egress_claim claim;
	struct th_sock_server *server;
	struct session *sessions;
	size_t session_count;
	struct th_deferred reap;
	struct th_timer linger;
};

/* ---- sessions ---- */

static void session_kill(struct session *s)
{
	s->dead = true;
	th_loop_defer(s->e->loop, &s->e->reap);
}

static void send_to(struct session *s, const struct th_table *t, const void *message)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(16 * TH_KIB);

	th_egress_print(t, message, &head);
	enum th_code code =
	    s->dead ? TH_ECONN : th_sock_send(s->sock, th_buf_str(&head), TH_STR(""), NULL);
	if (code == TH_EBUSY)
		s->blocked = true;
	else if (code)
		session_kill(s);
}

static void send_number(struct session *s, const char *op, int64_t id)
{
	struct th_egress_number m = { .op = th_str_of(op), .id = id };

	send_to(s, &th_egress_number_table, &m);
}

static void update(struct session *s)
{
	bool more = !s->dead && !s->blocked && s->flow_count < TH_EGRESS_FLOWS_MAX;

	if (s->poll && (th_poll_get(s->poll) != 0) != more)
		th_poll_set(s->poll, more ? TH_POLL_READ : 0);
}

static void on_report(void *ctx, const struct th_egress_connection *c)
{
	struct session *s = (struct session *)ctx;

	send_to(s, &th_egress_connection_table, c);
	update(s);
}

static int64_t on_ask(void *ctx, const char *host, uint16_t port, bool listed)
{
	struct session *s = (struct session *)ctx;
	struct th_egress_ask m = { .op = TH_STR("ask"),
				   .id = ++s->last_ask,
				   .host = th_str_of(host),
				   .port = port,
				   .listed = listed };

	send_to(s, &th_egress_ask_table, &m);
	return m.id;
}

static void on_withdrawn(void *ctx, int64_t ask_id)
{
	struct session *s = (struct session *)ctx;
	struct th_egress_number m = { .op = TH_STR("withdrawn"), .id = ask_id };

	send_to(s, &th_egress_number_table, &m);
}

static void on_flow_end(void *ctx, struct th_flow *f)
{
	struct session *s = (struct session *)ctx;

	if (f->prev)
		f->prev->next = f->next;
	else
		s->flows = f->next;
	if (f->next)
		f->next->prev = f->prev;
	s->flow_count--;
	update(s);
}

static void on_accept(void *ctx, unsigned events)
{
	struct session *s = (struct session *)ctx;

	(void)events;
	for (int i = 0;
	     i < ACCEPTS_MAX && !s->dead && !s->blocked && s->flow_count < TH_EGRESS_FLOWS_MAX;
	     i++) {
		int fd = accept4(s->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0)
			break;
		struct th_flow *f = th_flow_new(&s->owner, fd);
		if (!f)
			continue;
		f->next = s->flows;
		if (s->flows)
			s->flows->prev = f;
		s->flows = f;
		s->flow_count++;
	}
	update(s);
}

static bool is_listening(int fd)
{
	int value = 0;
	socklen_t size = sizeof(value);

	return fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value;
}

static bool token_fits(const struct egress *e, struct th_str token)
{
	unsigned char differs = 0;

	if (token.len != TH_EGRESS_TOKEN_LEN)
		return false;
	for (size_t i = 0; i < token.len; i++)
		differs |= (unsigned char)(token.ptr[i] ^ e->claim.token[i]);
	return differs == 0;
}

static enum th_code begin(struct session *s, const struct th_json *v, struct th_err *err)
{
	struct th_egress_begin m;
	enum th_code code = th_table_parse(&th_egress_begin_table, v, &s->arena, &m, err);

	if (code)
		return code;
	if (s->listen_fd >= 0)
		return th_fail(err, TH_EPROTO, "it has begun before");
	if (!token_fits(s->e, m.token))
		return th_fail(err, TH_EPERM, "the token is not this egress's");
	if (s->e->session_count > TH_EGRESS_SESSIONS_MAX)
		return th_fail(err, TH_ELIMIT, "the egress has %d sessions, its maximum",
			       TH_EGRESS_SESSIONS_MAX);
	code = th_net_parse(m.net, &s->arena, &s->policy, NULL, err);
	if (code)
		return th_prefix(err, code, "net");
	if (m.secrets.len > 0)
		code = th_egress_secrets_read(m.secrets, m.authority, &s->secrets, err);
	if (code)
		return code;
	s->owner.secrets = s->secrets;
	s->owner.asks = m.ask;
	s->owner.asks_listed = m.ask_listed;
	s->listen_fd = th_sock_take_fd(s->sock);
	if (!is_listening(s->listen_fd))
		return th_fail(err, TH_EPROTO, "no listening socket came along");
	code = th_fd_nonblock(s->listen_fd, err);
	if (code == TH_OK)
		code = th_poll_new(s->e->loop, s->listen_fd, on_accept, s, &s->poll, err);
	if (code == TH_OK)
		send_number(s, "ready", 0);
	update(s);
	return code;
}

static enum th_code on_answer(struct session *s, const struct th_json *v, struct th_err *err)
{
	TH_CLEANUP(th_arena_deinit) struct th_arena a = {};
	struct th_egress_answer m;

	th_arena_init(&a, 64 * TH_KIB);
	enum th_code code = th_table_parse(&th_egress_answer_table, v, &a, &m, err);
	for (struct th_flow *f = s->flows; code == TH_OK && f; f = f->next)
		if (th_flow_answer(f, m.id, m.allow, m.why))
			break; /* `f` may be gone */
	return code;
}

static enum th_code on_renew(struct session *s, const struct th_json *v, struct th_err *err)
{
	TH_CLEANUP(th_arena_deinit) struct th_arena a = {};
	struct th_egress_renew m;

	th_arena_init(&a, TH_FRAME_JSON_MAX);
	enum th_code code = th_table_parse(&th_egress_renew_table, v, &a, &m, err);
	if (code == TH_OK && !s->secrets)
		code = th_fail(err, TH_EPROTO, "it has no secrets");
	return code ? code : th_egress_secrets_renew(s->secrets, m.secrets, err);
}

static enum th_code on_message(struct session *s, struct th_str head, struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	enum th_code code = th_json_parse(head, &doc, err);

	if (code)
		return code;
	const struct th_json *v = th_json_root(doc);
	struct th_str op = th_json_get_str(v, "op");
	if (th_str_is(op, "begin"))
		return begin(s, v, err);
	if (th_str_is(op, "answer") && s->listen_fd >= 0)
		return on_answer(s, v, err);
	if (th_str_is(op, "renew") && s->listen_fd >= 0)
		return on_renew(s, v, err);
	if (!th_str_is(op, "sync") || s->listen_fd < 0)
		return th_fail(err, TH_EPROTO, "%s",
			       s->listen_fd < 0 ? "begin comes first" : "this is not known");
	for (struct th_flow *f = s->flows; f; f = f->next)
		th_flow_sync(f);
	send_number(s, "synced", th_json_get_int(v, "id", 0));
	return TH_OK;
}

static void on_frame(void *ctx, struct th_sock *sock, const struct th_frame *frame)
{
	struct session *s = (struct session *)ctx;
	struct th_err err = {};

	(void)sock;
	if (s->dead || on_message(s, frame->json, &err) == TH_OK)
		return;
	struct th_egress_error m = { .op = TH_STR("error"), .message = th_str_of(err.msg) };
	send_to(s, &th_egress_error_table, &m);
	session_kill(s);
}

static void on_drain(void *ctx, struct th_sock *sock)
{
	struct session *s = (struct session *)ctx;

	(void)sock;
	s->blocked = false;
	update(s);
}

static void on_close(void *ctx, struct th_sock *sock, const struct th_err *err)
{
	(void)sock;
	(void)err;
	session_kill((struct session *)ctx);
}

static void session_free(struct session *s)
{
	s->dead = true;
	s->poll = th_poll_free(s->poll);
	while (s->flows) {
		struct th_flow *f = s->flows;
		s->flows = f->next;
		th_flow_free(f);
	}
	th_sock_free(s->sock);
	th_egress_secrets_free(s->secrets);
	th_fd_close(&s->listen_fd);
	th_arena_deinit(&s->arena);
	free(s);
}

static void idle(struct egress *e)
{
	if (e->session_count > 0)
		th_timer_stop(&e->linger);
	else
		th_timer_start(&e->linger, TH_EGRESS_LINGER_MS, 0);
}

static void reap(void *ctx)
{
	struct egress *e = (struct egress *)ctx;

	for (struct session **at = &e->sessions; *at;) {
		struct session *s = *at;
		if (!s->dead) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		e->session_count--;
		session_free(s);
	}
	idle(e);
}

static void on_session(void *ctx, int fd)
{
	struct egress *e = (struct egress *)ctx;
	struct session *s = (struct session *)th_alloc(sizeof(*s));
	const struct th_sock_handlers handlers = {
		.on_frame = on_frame, .on_drain = on_drain, .on_close = on_close, .ctx = s
	};

	s->e = e;
	s->listen_fd = -1;
	s->owner = (struct th_flow_owner){ .loop = e->loop,
					   .policy = &s->policy,
					   .on_report = on_report,
					   .on_end = on_flow_end,
					   .on_ask = on_ask,
					   .on_withdrawn = on_withdrawn,
					   .ctx = s };
	/* Some more may stay, to be told by begin that they are too many. */
	if (e->session_count >= 2 * TH_EGRESS_SESSIONS_MAX)
		th_fd_close(&fd);
	if (fd < 0 || th_sock_new(e->loop, fd, &handlers, &s->sock, NULL)) {
		free(s);
		return;
	}
	th_sock_takes_fds(s->sock);
	th_arena_init(&s->arena, 2 * TH_MIB);
	s->next = e->sessions;
	e->sessions = s;
	e->session_count++;
	idle(e);
}

/* ---- life ---- */

static void on_linger(void *ctx)
{
	th_loop_stop(((struct egress *)ctx)->loop);
}

static void on_signal(void *ctx, int signum)
{
	(void)signum;
	th_loop_stop(((struct egress *)ctx)->loop);
}

static enum th_code open_log(const struct egress *e, struct th_err *err)
{
	struct stat st;
	TH_CLEANUP(th_fd_close)
	int fd = openat(e->claim.dir_fd, "log",
			O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || fstat(fd, &st) < 0 ||
	    ((uint64_t)st.st_size > TH_EGRESS_LOG_MAX && ftruncate(fd, 0) < 0) || dup2(fd, 2) < 0)
		return th_fail_errno(err, errno, "%s/log", e->claim.dir);
	return TH_OK;
}

/* It reads names of hosts and dials: no file of the user's, and nothing to write. */
static void confine(void)
{
	static const char *const readable[] = { "/run/systemd/resolve", "/run/nscd", NULL };
	const char *there[TH_COUNT(readable)] = { NULL };
	struct th_err err;
	size_t n = 0;

	for (size_t i = 0; readable[i]; i++)
		if (access(readable[i], R_OK) == 0)
			there[n++] = readable[i];
	const struct th_sandbox s = { .level_min = TH_SANDBOX_KERNEL,
				      .level_max = TH_SANDBOX_KERNEL,
				      .readable = there,
				      .net = TH_SANDBOX_NET_HOST };
	if (th_sandbox_enter(&s, &err))
		fprintf(stderr, "thole egress: not confined: %s\n", err.msg);
}

static void set_limits(void)
{
	struct rlimit r, none = { 0, 0 };

	/* Neither a core file nor a debugger of the same user shows what is in memory here. */
	(void)!setrlimit(RLIMIT_CORE, &none);
	if (!sanitized)
		(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
		r.rlim_cur = r.rlim_max;
		(void)!setrlimit(RLIMIT_NOFILE, &r);
	}
}

static void run(struct egress *e)
{
	static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };
	struct th_signal *signals[TH_COUNT(numbers)] = {};

	for (size_t i = 0; i < TH_COUNT(numbers); i++)
		(void)!th_signal_new(e->loop, numbers[i], on_signal, e, &signals[i], NULL);
	if (!sanitized)
		confine();
	idle(e);
	th_loop_run(e->loop);
	for (size_t i = 0; i < TH_COUNT(numbers); i++)
		th_signal_free(signals[i]);
}

int th_egress_main(int ready_fd)
{
	struct egress e = { .claim = { .dir_fd = -1, .lock_fd = -1 } };
	struct th_err err = {};

	umask(077);
	signal(SIGPIPE, SIG_IGN);
	set_limits();
	enum th_code code = th_egress_claim(&e.claim, &err);
	bool other = code == TH_EBUSY;
	if (code == TH_OK)
		code = open_log(&e, &err);
	if (code == TH_OK)
		code = th_loop_new(&e.loop, &err);
	if (code == TH_OK)
		code = th_sock_listen(e.loop, e.claim.socket, on_session, &e, &e.server, &err);
	if (code && !other)
		fprintf(stderr, "thole egress: %s\n", err.msg);
	th_fd_close(&ready_fd);
	if (code == TH_OK) {
		e.reap = (struct th_deferred){ .fn = reap, .ctx = &e };
		th_timer_init(&e.linger, e.loop, on_linger, &e);
		run(&e);
	}
	th_sock_server_free(e.server);
	while (e.sessions) {
		struct session *s = e.sessions;
		e.sessions = s->next;
		session_free(s);
	}
	if (e.loop) {
		th_timer_stop(&e.linger);
		th_loop_undefer(e.loop, &e.reap);
	}
	th_loop_free(e.loop);
	th_fd_close(&e.claim.lock_fd);
	th_fd_close(&e.claim.dir_fd);
	return code && !other ? 1 : 0;
}
