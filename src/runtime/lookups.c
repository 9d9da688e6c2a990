/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/lookups.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/wiped.h"
#include "io/child.h"
#include "io/variable.h"
#include "runtime/given.h"
#include "runtime/given_source.h"
#include "runtime/internal.h"
#include "runtime/lookups_internal.h"

/* Nothing of it is under way any more. */
static void stop(struct th_lookup *k)
{
	th_fetch_cancel(k->session->rt->fetcher, k->fetch);
	k->child = th_child_free(k->child);
	if (k->timer.loop)
		th_timer_stop(&k->timer);
	th_loop_undefer(k->session->rt->loop, &k->end);
	th_buf_wipe(&k->answer);
}

/* ---- what came ------------------------------------------------------------------------------ */

/* The text to which the names of members lead. */
static enum th_code follow(const struct th_strs *member, struct th_buf *answer, struct th_err *err)
{
	struct th_json_doc *doc = NULL;
	const struct th_json *v = NULL;
	struct th_buf text = TH_BUF_INIT(TH_SECRET_ANSWER_MAX);
	enum th_code code = TH_OK;

	if (!member->count)
		return TH_OK;
	if (th_json_parse_secret(th_buf_str(answer), &doc, NULL) == TH_OK)
		v = th_json_root(doc);
	for (size_t i = 0; i < member->count; i++)
		v = th_json_getn(v, member->list[i]);
	if (th_json_type(v) != TH_JSON_STR)
		code = th_fail(err, TH_EPROTO, "the answer has no text where `member` leads");
	th_buf_reserve(&text, TH_SECRET_ANSWER_MAX); /* so that no copy is left behind */
	th_buf_add(&text, th_json_str(v));
	th_buf_wipe(answer);
	*answer = text;
	th_json_free(doc);
	return code;
}

static enum th_code have(struct th_lookup *k, struct th_err *err)
{
	enum th_code code = follow(&k->of->from->member, &k->answer, err);

	if (!code)
		code = th_secret_trim(&k->answer, err);
	if (code)
		return code;
	th_secret_free(k->value);
	k->value = th_secret_new(th_buf_str(&k->answer));
	return TH_OK;
}

static void own_ended(struct th_lookup *k)
{
	uint64_t now_ms = th_loop_now_ms(k->session->rt->loop);
	int64_t refresh_s = k->of->from->refresh_s;

	if (!k->why.code)
		(void)!have(k, &k->why);
	if (k->why.code)
		k->due_ms = now_ms + TH_SECRET_RETRY_MS;
	else
		k->due_ms = refresh_s ? now_ms + (uint64_t)refresh_s * 1000 : UINT64_MAX;
}

static void client_ended(struct th_lookup *k)
{
	struct th_given_source *of = th_runtime_given_source_of(k->session, k->number);

	if (!of)
		return; /* it has another value now, or none */
	if (!k->why.code)
		(void)!th_runtime_given_have(k->session, of, th_buf_str(&k->answer), &k->why);
	of->why = k->why;
	of->due_ms = th_loop_now_ms(k->session->rt->loop) +
		     (k->why.code ? TH_SECRET_RETRY_MS : TH_SECRET_REFRESH_S * (uint64_t)1000);
}

static void ended(struct th_lookup *k, const struct th_err *why)
{
	struct th_runtime_session *s = k->session;

	k->why = why ? *why : (struct th_err){ 0 };
	if (k->of)
		own_ended(k);
	else
		client_ended(k);
	stop(k);
	k->runs = false;
	if (--s->lookups->running > 0)
		return;
	s->lookups->answered = true;
	s->lookups->over(s);
}

/* ---- a server ------------------------------------------------------------------------------- */

static bool on_data(void *ctx, struct th_str bytes)
{
	struct th_lookup *k = ctx;

	th_buf_add(&k->answer, bytes);
	return !k->answer.failed;
}

static void on_done(void *ctx, const struct th_fetch_result *r)
{
	struct th_lookup *k = ctx;
	struct th_err why = r->err;

	if (r->end == TH_FETCH_STATUS)
		th_fail(&why, TH_EPROTO, "its server answered HTTP %d", r->head.status);
	else if (k->answer.failed)
		th_fail(&why, TH_ELIMIT, "the answer has more than %zu bytes",
			(size_t)TH_SECRET_ANSWER_MAX);
	ended(k, r->end == TH_FETCH_OK ? NULL : &why);
}

/* All but where, and what says who asks. */
static struct th_fetch_request request_of(struct th_lookup *k, int64_t timeout_s)
{
	return (struct th_fetch_request){
		.method = "GET",
		.total_ms = (uint64_t)timeout_s * 1000,
		.body_max = TH_SECRET_ANSWER_MAX,
		.on_data = on_data,
		.on_done = on_done,
		.ctx = k,
	};
}

static enum th_code ask_server(struct th_lookup *k, struct th_err *err)
{
	const struct th_secret_source *from = k->of->from;
	struct th_buf header TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const struct th_fetch_header headers[] = { { "Accept", TH_STR("*/*") },
						   { "User-Agent", TH_STR("thole/" TH_VERSION) } };
	struct th_fetch_request r = request_of(k, from->timeout_s);
	struct th_secret *token;
	enum th_code code = th_variable_token(from->token_env, &token, err);

	if (code)
		return code;
	r.url = from->url;
	r.headers = headers;
	r.header_count = TH_COUNT(headers);
	r.secret = token;
	th_buf_add(&header, from->token_header);
	if (from->token_header.len)
		r.secret_header = header.ptr;
	code = th_fetch_start(k->session->rt->fetcher, &r, &k->fetch, err);
	th_secret_free(token);
	return code;
}

/* ---- a program ------------------------------------------------------------------------------ */

static void on_end(void *ctx)
{
	struct th_lookup *k = ctx;
	struct th_err why = k->why;

	ended(k, why.code ? &why : NULL);
}

/* Not inside the child's own call. */
static void end_soon(struct th_lookup *k, enum th_code code, const char *why)
{
	k->why = (struct th_err){ 0 };
	if (code)
		th_fail(&k->why, code, "%s", why);
	th_loop_defer(k->session->rt->loop, &k->end);
}

static void on_output(void *ctx, enum th_child_stream stream, struct th_str bytes)
{
	struct th_lookup *k = ctx;

	if (stream != TH_CHILD_OUT || k->answer.failed)
		return;
	th_buf_add(&k->answer, bytes);
	if (k->answer.failed)
		end_soon(k, TH_ELIMIT, "its program writes too much");
}

static void on_exited(void *ctx, const struct th_child_exit *e)
{
	struct th_lookup *k = ctx;
	char why[80];

	if (k->answer.failed)
		return; /* that is said already */
	snprintf(why, sizeof(why), "its program ended with %s %d",
		 e->signalled ? "signal" : "exit status", e->code);
	end_soon(k, e->signalled || e->code ? TH_EIO : TH_OK, why);
}

static void on_late(void *ctx)
{
	struct th_lookup *k = ctx;

	end_soon(k, TH_ETIMEOUT, "its program has not ended in time");
}

/* What it is allowed of our environment. */
static const char *const *environment(const struct th_secret_source *from, struct th_arena *a)
{
	const char **more = (const char **)th_arena_array(a, from->pass.count + 1, sizeof(*more));
	size_t count = 0;

	for (size_t i = 0; more && i < from->pass.count; i++) {
		struct th_str name = from->pass.list[i];
		const char *value = th_variable(name);

		if (value)
			more[count++] =
			    th_arena_cstr(a, th_arena_printf(a, "%.*s=%s", TH_FMT(name), value));
	}
	return more ? th_child_env(a, getenv("HOME") ?: "/", getenv("USER") ?: "user", more) : NULL;
}

static enum th_code ask_program(struct th_lookup *k, struct th_err *err)
{
	const struct th_secret_source *from = k->of->from;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = { 0 };
	struct th_child_spec spec = {
		.cwd = "/", .on_output = on_output, .on_exit = on_exited, .ctx = k
	};
	const char **argv;
	enum th_code code;

	th_arena_init(&a, TH_MIB);
	spec.env = environment(from, &a);
	argv = (const char **)th_arena_array(&a, from->command.count + 1, sizeof(*argv));
	spec.argv = argv;
	for (size_t i = 0; argv && i < from->command.count; i++) {
		argv[i] = th_arena_cstr(&a, from->command.list[i]);
		if (!argv[i])
			return th_fail(err, TH_EUSAGE, "its command has a NUL, or is too long");
	}
	if (!argv || !spec.env)
		return th_fail(err, TH_ELIMIT, "its command or environment is too long");
	code = th_child_start(k->session->rt->loop, &spec, &k->child, err);
	if (!code)
		th_timer_start(&k->timer, (uint64_t)from->timeout_s * 1000, 0);
	return code;
}

/* ---- asking --------------------------------------------------------------------------------- */

static enum th_code ask_for_client(struct th_lookup *k, struct th_err *err)
{
	return th_given_source_ask(th_runtime_given_source_of(k->session, k->number),
				   k->session->rt->fetcher, request_of(k, TH_SECRET_LOOKUP_S),
				   &k->fetch, err);
}

static void ask(struct th_lookup *k)
{
	enum th_code code;

	th_buf_init(&k->answer, TH_SECRET_ANSWER_MAX);
	th_buf_reserve(&k->answer, TH_SECRET_ANSWER_MAX); /* so that no copy is left behind */
	k->runs = true;
	k->session->lookups->running++;
	if (!k->of)
		code = ask_for_client(k, &k->why);
	else
		code = k->of->from->url.len ? ask_server(k, &k->why) : ask_program(k, &k->why);
	if (code)
		th_loop_defer(k->session->rt->loop, &k->end);
	else
		k->why.code = TH_OK;
}

static void make_one(struct th_runtime_session *s, struct th_lookup *k)
{
	k->session = s;
	k->end = (struct th_deferred){ .fn = on_end, .ctx = k };
	th_timer_init(&k->timer, s->rt->loop, on_late, k);
}

static enum th_code make(struct th_runtime_session *s, struct th_err *err)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_runtime_lookups *u = th_alloc(sizeof(*u));
	struct th_agent_secrets secrets;
	enum th_code code;

	th_arena_init(&u->memory, 2 * TH_MIB);
	s->lookups = u;
	code = th_agent_secrets_read(s->setup->agent.secrets, &u->memory, &secrets, &path, err);
	if (!code)
		u->list = th_arena_array(&u->memory, secrets.count + 1, sizeof(*u->list));
	if (!code && !u->list)
		code = th_fail(err, TH_ELIMIT, "the secrets are too long");
	for (size_t i = 0; !code && i < secrets.count; i++) {
		struct th_lookup *k = &u->list[u->count];

		if (!secrets.list[i].from)
			continue;
		k->of = &secrets.list[i];
		make_one(s, k);
		u->count++;
	}
	if (code)
		th_runtime_lookups_free(s);
	return code;
}

static void forget_asked(struct th_runtime_lookups *u)
{
	while (u->asked) {
		struct th_lookup *k = u->asked;

		u->asked = k->next;
		stop(k);
		free(k);
	}
}

/* Those that are due; where their answers have just come, only such as came too late to be asked
 * for with them. */
static void ask_all(struct th_runtime_session *s)
{
	uint64_t now_ms = th_loop_now_ms(s->rt->loop);
	struct th_runtime_lookups *u = s->lookups;
	const struct th_given_source *g;

	forget_asked(u);
	for (size_t i = 0; !u->answered && i < u->count; i++)
		if (!u->list[i].value || now_ms >= u->list[i].due_ms)
			ask(&u->list[i]);
	for (size_t i = 0; (g = th_runtime_given_source(s, i)); i++) {
		struct th_lookup *k;

		if (u->answered ? g->due_ms > 0 : g->known && now_ms < g->due_ms)
			continue;
		k = th_alloc(sizeof(*k));
		*k = (struct th_lookup){ .number = g->number, .next = u->asked };
		u->asked = k;
		make_one(s, k);
		ask(k);
	}
}

enum th_code th_runtime_lookups_fresh(struct th_runtime_session *s, th_lookups_over_fn *over,
				      struct th_err *err)
{
	struct th_runtime_lookups *u;
	const struct th_given_source *g;
	enum th_code code;

	if (!s->setup->agent.secrets.len && !th_runtime_given_source(s, 0))
		return TH_OK;
	code = s->lookups ? TH_OK : make(s, err);
	if (code)
		return code;
	u = s->lookups;
	u->over = over;
	if (!u->running)
		ask_all(s);
	if (u->running)
		return TH_EBUSY;
	u->answered = false;
	for (size_t i = 0; i < u->count; i++)
		if (!u->list[i].value)
			return th_fail(err, TH_EUSAGE, "secrets.%.*s: %s",
				       TH_FMT(u->list[i].of->name), u->list[i].why.msg);
	for (size_t i = 0; (g = th_runtime_given_source(s, i)); i++)
		if (!g->known)
			return th_fail(err, TH_EUSAGE, "secrets.%s: %s", g->name, g->why.msg);
	return TH_OK;
}

void th_runtime_lookups_free(struct th_runtime_session *s)
{
	struct th_runtime_lookups *u = s->lookups;

	if (!u)
		return;
	forget_asked(u);
	for (size_t i = 0; i < u->count; i++) {
		stop(&u->list[i]);
		th_secret_free(u->list[i].value);
	}
	th_arena_deinit(&u->memory);
	free(u);
	s->lookups = NULL;
}
