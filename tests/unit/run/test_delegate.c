/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_delegate.c - agents as tools, in a world of paper: what a session that
 * works on a call is begun with, how it ends, who waits for whom, and that a
 * death at any commit begins nothing twice.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/agent_command.h"
#include "run/driver.h"

#define EVENTS_MAX 256
#define LOGS_MAX 80
#define ASKED_MAX 96

struct log {
	char id[TH_SESSION_ID_MAX + 1];
	char *metadata;
	struct {
		struct th_event ev;
		char *call, *data;
	} list[EVENTS_MAX];
	size_t count;
};

struct request {
	struct th_ticket ticket;
	char id[TH_SESSION_ID_MAX + 1]; /* of its session; empty: answered */
	char *body;
};

struct world {
	struct th_driver *driver;
	struct th_handle h; /* of a1 */
	struct th_batch *batch;
	th_commit_fn *done;
	void *done_ctx;
	struct log *logs[LOGS_MAX];
	size_t log_count;
	struct request asked[ASKED_MAX];
	size_t asked_count;
	struct th_ticket over[LOGS_MAX];
	size_t over_count;
	bool flush, dead;
	bool fenced; /* another runtime has taken the children */
	int64_t clock, epoch;
	uint32_t drawn;
	size_t commits, commits_max; /* 0: any number; then the process dies */
	size_t runs, leases, rests;
};

static struct log *log_of(struct world *w, struct th_str id)
{
	for (size_t i = 0; i < w->log_count; i++)
		if (th_str_is(id, w->logs[i]->id))
			return w->logs[i];
	return NULL;
}

static int64_t now(void *ctx)
{
	return ((struct world *)ctx)->clock += 10;
}

static void draw(void *ctx, void *ptr, size_t len)
{
	uint32_t drawn = ++((struct world *)ctx)->drawn;

	memset(ptr, 0, len);
	memcpy(ptr, &drawn, TH_MIN(len, sizeof(drawn)));
}

static void flush_soon(void *ctx)
{
	((struct world *)ctx)->flush = true;
}

static void timer(void *ctx, struct th_ticket t, int64_t delay_ms)
{
	(void)ctx, (void)t, (void)delay_ms;
}

static void commit(void *ctx, struct th_batch *batch, th_commit_fn *done, void *done_ctx)
{
	struct world *w = ctx;
	struct th_err err = { 0 };

	if (w->dead) {
		done(done_ctx, batch, th_fail(&err, TH_EIO, "dead"), &err);
		return;
	}
	w->batch = batch;
	w->done = done;
	w->done_ctx = done_ctx;
}

static enum th_code no_blob(void *ctx, const struct th_digest *hash, struct th_buf *out,
			    struct th_err *err)
{
	(void)ctx, (void)hash, (void)out;
	return th_fail(err, TH_ENOENT, "no such blob");
}

static enum th_code read_log(void *ctx, struct th_str id, uint64_t from, uint64_t to,
			     th_event_fn *fn, void *fn_ctx, struct th_err *err)
{
	struct log *g = log_of(ctx, id);
	struct th_digest none = { { 0 } };
	enum th_code code = TH_OK;

	for (size_t i = from - 1; g && i < g->count && (to == 0 || i < to) && !code; i++)
		code = fn(fn_ctx, &g->list[i].ev, &none, err);
	return code;
}

static enum th_code model_call(void *ctx, struct th_ticket t, const struct th_model_call *call,
			       struct th_err *err)
{
	struct world *w = ctx;
	struct th_buf body = TH_BUF_INIT(TH_MIB);
	struct th_handle h = { t.index, t.generation };
	struct th_str id = th_driver_session_id(w->driver, h);
	struct request *r = &w->asked[w->asked_count++];

	(void)err;
	assert_true(w->asked_count <= ASKED_MAX);
	for (size_t i = 0; i < call->body_count; i++)
		th_buf_add(&body, call->body[i]);
	r->ticket = t;
	snprintf(r->id, sizeof(r->id), "%.*s", TH_FMT(id));
	r->body = th_buf_steal(&body, NULL);
	return TH_OK;
}

static void model_cancel(void *ctx, struct th_ticket t)
{
	struct world *w = ctx;

	for (size_t i = 0; i < w->asked_count; i++)
		if (w->asked[i].ticket.generation == t.generation)
			w->asked[i].id[0] = '\0';
}

static void tool_forget(void *ctx, struct th_str id, const struct th_str *ids, size_t count)
{
	(void)ctx, (void)id, (void)ids, (void)count;
}

static void fatal(void *ctx, const struct th_err *err)
{
	(void)ctx, (void)err;
}

static struct th_session_row row_of(struct world *w, struct log *g)
{
	return (struct th_session_row){ .session_id = th_str_of(g->id),
					.head_seq = g->count,
					.epoch = ++w->epoch,
					.metadata = th_str_of(g->metadata) };
}

static enum th_code child_lease(void *ctx, struct th_str id, struct th_arena *a,
				struct th_session_row *ret, struct th_err *err)
{
	struct world *w = ctx;
	struct log *g = log_of(w, id);

	(void)a;
	w->leases++;
	if (!g)
		return th_fail(err, TH_ENOENT, "no such session");
	*ret = row_of(w, g);
	return TH_OK;
}

static void child_over(void *ctx, struct th_ticket child)
{
	struct world *w = ctx;

	w->over[w->over_count++] = child;
}

static const struct th_world_ops ops = {
	.now_ms = now,
	.random = draw,
	.flush_soon = flush_soon,
	.timer = timer,
	.commit = commit,
	.blob = no_blob,
	.read = read_log,
	.model_call = model_call,
	.model_cancel = model_cancel,
	.tool_forget = tool_forget,
	.child_lease = child_lease,
	.child_over = child_over,
	.fatal = fatal,
};

static void keep(struct world *w, const struct th_append *a)
{
	struct log *g = log_of(w, a->row->session_id);

	if (!g) {
		assert_true(a->create && w->log_count < LOGS_MAX);
		g = w->logs[w->log_count++] = calloc(1, sizeof(*g));
		snprintf(g->id, sizeof(g->id), "%.*s", TH_FMT(a->row->session_id));
		g->metadata = strndup(a->row->metadata.ptr, a->row->metadata.len);
	}
	for (size_t j = 0; j < a->event_count; j++) {
		const struct th_event *ev = &a->events[j];

		assert_true(g->count < EVENTS_MAX);
		g->list[g->count].call = strndup(ev->call.ptr, ev->call.len);
		g->list[g->count].data = strndup(ev->data.ptr, ev->data.len);
		g->list[g->count].ev = *ev;
		g->list[g->count].ev.call = th_str_of(g->list[g->count].call);
		g->list[g->count].ev.data = th_str_of(g->list[g->count].data);
		g->list[g->count++].ev.build = TH_STR("test");
	}
}

static void make_durable(struct world *w)
{
	struct th_batch *batch = w->batch;
	struct th_err err = { 0 };

	w->batch = NULL;
	for (size_t i = 0; i < batch->append_count; i++) {
		if (w->fenced && !th_str_is(batch->appends[i].row->session_id, "a1"))
			batch->appends[i].result = TH_EFENCED;
		else
			keep(w, &batch->appends[i]);
	}
	if (++w->commits == w->commits_max) {
		/* The runtime dies before it hears that they are. */
		w->dead = true;
		w->done(w->done_ctx, batch, th_fail(&err, TH_EIO, "dead"), &err);
		return;
	}
	w->done(w->done_ctx, batch, TH_OK, &err);
}

static void settle(struct world *w)
{
	while (!w->dead && (w->flush || w->batch || w->over_count)) {
		if (w->flush) {
			w->flush = false;
			th_driver_flush(w->driver);
		}
		if (w->batch)
			make_durable(w);
		while (w->over_count > 0 && !w->flush && !w->batch && !w->dead) {
			struct th_ticket t = w->over[--w->over_count];

			th_driver_close(w->driver, (struct th_handle){ t.index, t.generation });
		}
	}
}

/* ---- agents ---- */

#define TEAM(more, sub)                                                            \
	"{\"name\":\"a\",\"model\":\"gpt-5.4\"" more                               \
	",\"tools\":[\"ask\"],\"commands\":[{\"name\":\"ask\",\"agent\":\"b\"" sub \
	"}],\"agents\":{\"b\":{\"name\":\"b\",\"tools\":[\"weather\"],\"approve\":[\"risky\"]}}}"
#define SELF                                                                                 \
	"{\"name\":\"a\",\"model\":\"gpt-5.4\",\"tools\":[\"ask\"],\"commands\":[{\"name\":" \
	"\"ask\",\"agent\":\"a\"}]}"

static void run_tool(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	struct world *w = ctx;
	struct th_tool_result r = { .status = TH_OUTCOME_DONE, .output = TH_STR("\"sunny\"") };

	w->runs++;
	th_driver_tool_done(d, call->ticket, &r);
}

struct team {
	struct th_arena memory;
	struct th_json_doc *doc;
	struct th_agent agents[2];
	struct th_outfit outfits[2];
	struct th_tool_row rows[2][2];
};

static struct team team;

static const struct th_outfit *dress(struct world *w, const char *definition)
{
	struct th_err err = { 0 };
	size_t count = 0;

	th_arena_deinit(&team.memory);
	th_json_free(team.doc);
	memset(&team, 0, sizeof(team));
	th_arena_init(&team.memory, TH_MIB);
	assert_int_equal(th_json_parse(th_str_of(definition), &team.doc, &err), TH_OK);
	for (; count < 2; count++) {
		struct th_outfit *o = &team.outfits[count];
		struct th_agent *a = &team.agents[count];
		const struct th_agent_command *c;

		if (th_team_agent(th_json_root(team.doc), count, &team.memory, a, &err))
			break;
		o->agent = a;
		o->tools = team.rows[count];
		c = a->commands.list;
		if (c)
			team.rows[count][o->tool_count++] = (struct th_tool_row){
				.spec = { .name = c->name,
					  .schema = th_agent_command_schema(c),
					  .class = th_agent_command_class(c) },
				.command = c,
				.check = true,
			};
		for (size_t i = 0; !c && i < 2; i++)
			team.rows[count][o->tool_count++] = (struct th_tool_row){
				.spec = { .name = i ? TH_STR("risky") : TH_STR("weather"),
					  .schema = TH_STR("{\"type\":\"object\"}"),
					  .class = TH_CLASS_R },
				.local = run_tool,
				.ctx = w,
			};
		assert_int_equal(
		    th_model_resolve(TH_STR("gpt-5.4"), &o->first.profile, &o->first.model, &err),
		    TH_OK);
	}
	team.outfits[0].members = &team.outfits[1];
	team.outfits[0].member_count = count - 1;
	return &team.outfits[0];
}

static void on_rest(void *ctx, struct th_handle h, const struct th_session *s,
		    const struct th_err *err)
{
	(void)h, (void)s, (void)err;
	((struct world *)ctx)->rests++;
}

static struct world *begin_until(const char *definition, size_t commits_max)
{
	struct world *w = calloc(1, sizeof(*w));
	struct th_world world = { &ops, w };
	struct th_ev_session_created created = { .model = TH_STR("gpt-5.4"),
						 .user = TH_STR("ada") };
	struct th_observer seen = { .rest = on_rest, .ctx = w };
	struct th_err err = { 0 };

	w->clock = 1000000;
	w->epoch = 1;
	w->commits_max = commits_max;
	w->driver = th_driver_new(&world, TH_STR("test"));
	if (th_driver_create(w->driver, TH_STR("a1"), dress(w, definition), &created, &seen, &w->h,
			     &err))
		fail_msg("%s", err.msg);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("my task"), &err), TH_OK);
	settle(w);
	return w;
}

static struct world *begin(const char *definition)
{
	return begin_until(definition, 0);
}

static void forget_requests(struct world *w)
{
	for (size_t i = 0; i < w->asked_count; i++)
		free(w->asked[i].body);
	memset(w->asked, 0, sizeof(w->asked));
	w->asked_count = 0;
}

/* The runtime dies, and another one opens this session. */
static struct th_handle take(struct world *w, const char *definition, const char *id)
{
	struct th_world world = { &ops, w };
	struct th_observer seen = { .rest = on_rest, .ctx = w };
	struct th_session_row row;
	struct th_handle h;
	struct th_err err = { 0 };

	w->dead = true;
	w->driver = th_driver_free(w->driver);
	forget_requests(w);
	w->dead = w->flush = false;
	w->over_count = w->commits_max = 0;
	row = row_of(w, log_of(w, th_str_of(id)));
	w->driver = th_driver_new(&world, TH_STR("test"));
	if (th_driver_open(w->driver, &row, dress(w, definition), &seen, &h, &err))
		fail_msg("%s", err.msg);
	return h;
}

static void reopen(struct world *w, const char *definition)
{
	struct th_err err = { 0 };

	w->h = take(w, definition, "a1");
	if (th_driver_resume(w->driver, w->h, &err))
		fail_msg("%s", err.msg);
	settle(w);
}

static void log_free(struct log *g)
{
	for (size_t i = 0; i < g->count; i++) {
		free(g->list[i].call);
		free(g->list[i].data);
	}
	free(g->metadata);
	free(g);
}

static void end(struct world *w)
{
	w->dead = true;
	th_driver_free(w->driver);
	forget_requests(w);
	for (size_t i = 0; i < w->log_count; i++)
		log_free(w->logs[i]);
	free(w);
}

static struct request *request_of(struct world *w, const char *id)
{
	for (size_t i = 0; i < w->asked_count; i++)
		if (strcmp(w->asked[i].id, id) == 0)
			return &w->asked[i];
	return NULL;
}

static void answer(struct world *w, const char *id, const char *items)
{
	struct request *r = request_of(w, id);
	struct th_buf body = TH_BUF_INIT(TH_MIB);
	struct th_model_end done = { .ok = true, .http_status = 200, .hints = { -1, -1 } };

	if (!r)
		fail_msg("nobody asks for %s", id);
	r->id[0] = '\0';
	th_buf_printf(
	    &body,
	    "{\"id\":\"r\",\"object\":\"response\",\"status\":\"completed\",\"model\":\"m\","
	    "\"output\":[%s],\"usage\":{\"input_tokens\":10,\"output_tokens\":1,"
	    "\"total_tokens\":11}}",
	    items);
	assert_true(th_driver_model_data(w->driver, r->ticket, th_buf_str(&body)));
	th_driver_model_done(w->driver, r->ticket, &done);
	th_buf_deinit(&body);
	settle(w);
}

#define TEXT(s)                                                                               \
	"{\"type\":\"message\",\"id\":\"m\",\"role\":\"assistant\",\"status\":\"completed\"," \
	"\"content\":[{\"type\":\"output_text\",\"text\":\"" s "\",\"annotations\":[]}]}"
#define REFUSAL(s)                                                                            \
	"{\"type\":\"message\",\"id\":\"m\",\"role\":\"assistant\",\"status\":\"completed\"," \
	"\"content\":[{\"type\":\"refusal\",\"refusal\":\"" s "\"}]}"
#define CALL(id, name, args)                                                                       \
	"{\"type\":\"function_call\",\"id\":\"fc_" id "\",\"call_id\":\"" id "\",\"name\":\"" name \
	"\",\"arguments\":\"" args "\",\"status\":\"completed\"}"
#define ASK(id) CALL(id, "ask", "{\\\"input\\\":\\\"do it\\\"}")

static const struct th_session *fold(const struct world *w)
{
	return th_driver_session(w->driver, w->h);
}

static const char *data_of(struct world *w, const char *id, enum th_event_kind kind)
{
	struct log *g = log_of(w, th_str_of(id));

	for (size_t i = g ? g->count : 0; i > 0; i--)
		if (g->list[i - 1].ev.kind == kind)
			return g->list[i - 1].data;
	return NULL;
}

static size_t count_of(struct world *w, const char *id, enum th_event_kind kind)
{
	struct log *g = log_of(w, th_str_of(id));
	size_t count = 0;

	for (size_t i = 0; g && i < g->count; i++)
		count += g->list[i].ev.kind == kind;
	return count;
}

/* The id of the n-th session that works for a1. */
static const char *child(struct world *w, size_t n)
{
	return n < w->log_count - 1 ? w->logs[n + 1]->id : "none";
}

/* ---- tests ---- */

static void an_agent_answers_a_call(void **unused)
{
	struct world *w = begin(TEAM("", ",\"turns\":3"));
	struct request *r;

	(void)unused;
	answer(w, "a1", ASK("c1"));
	assert_int_equal(w->log_count, 2);
	assert_null(request_of(w, "a1"));
	r = request_of(w, child(w, 0));
	assert_non_null(r);
	/* Nothing but the input, with its own tools. */
	assert_non_null(strstr(r->body, "do it"));
	assert_null(strstr(r->body, "my task"));
	assert_non_null(strstr(r->body, "weather"));
	assert_null(strstr(r->body, "\"ask\""));
	assert_non_null(strstr(data_of(w, child(w, 0), TH_EV_SESSION_CREATED), "\"begins\":\"b\""));
	assert_non_null(strstr(data_of(w, child(w, 0), TH_EV_SESSION_CREATED), "\"turns\":3"));
	assert_non_null(strstr(data_of(w, child(w, 0), TH_EV_SESSION_CREATED), "\"user\":\"ada\""));
	assert_non_null(strstr(data_of(w, "a1", TH_EV_DELEGATION_STARTED), child(w, 0)));
	answer(w, child(w, 0), CALL("c9", "weather", "{}"));
	assert_int_equal(w->runs, 1);
	answer(w, child(w, 0), TEXT("it rains"));
	assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "\"output\":\"it rains\""));
	assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "\"status\":\"done\""));
	/* What it took counts here; it is closed. */
	assert_int_equal(fold(w)->totals.tokens_in, 30);
	assert_int_equal(fold(w)->totals.turns, 1);
	assert_int_equal(th_driver_count(w->driver), 1);
	answer(w, "a1", TEXT("over"));
	assert_int_equal(fold(w)->state, TH_STATE_FINISHED);
	assert_int_equal(w->leases, 0);
	end(w);
}

/* Empty output: what was said, or came of a tool, last. */
static void silence_is_answered_with_what_was_last(void **unused)
{
	struct world *w = begin(TEAM("", ""));

	(void)unused;
	answer(w, "a1", ASK("c1"));
	answer(w, child(w, 0), CALL("c9", "weather", "{}"));
	answer(w, child(w, 0), "{\"type\":\"reasoning\",\"id\":\"r1\",\"summary\":[]}");
	assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "\"output\":\"sunny\""));
	end(w);
}

static void a_failure_is_told_and_fails_nobody(void **unused)
{
	struct world *w = begin(TEAM("", ",\"turns\":1"));
	const char *told;

	(void)unused;
	answer(w, "a1", ASK("c1"));
	answer(w, child(w, 0), CALL("c9", "weather", "{}"));
	told = data_of(w, "a1", TH_EV_OUTCOME);
	assert_non_null(strstr(told, "\"status\":\"failed\""));
	assert_non_null(strstr(told, "The agent b gave no answer (limit)"));
	assert_non_null(strstr(data_of(w, "a1", TH_EV_DELEGATION_FINISHED), "\"state\":\"limit\""));
	assert_int_equal(fold(w)->state, TH_STATE_RUNNING);
	/* A last turn without a call is within the limit. */
	answer(w, "a1", ASK("c2"));
	answer(w, child(w, 1), TEXT("quick"));
	assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "\"output\":\"quick\""));
	answer(w, "a1", ASK("c3"));
	answer(w, child(w, 2), REFUSAL("I will not"));
	told = data_of(w, "a1", TH_EV_OUTCOME);
	assert_non_null(strstr(told, "gave no answer (refused): I will not"));
	/* Arguments that do not fit reach nobody. */
	answer(w, "a1", CALL("c4", "ask", "{\\\"question\\\":1}"));
	assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "do not fit its schema"));
	assert_int_equal(w->log_count, 4);
	answer(w, "a1", TEXT("over"));
	assert_int_equal(fold(w)->state, TH_STATE_FINISHED);
	end(w);
}

static void two_work_side_by_side_and_share_what_is_left(void **unused)
{
	struct world *w = begin(TEAM(",\"limits\":{\"tokens\":1011,\"cost_usd\":2}", ""));

	(void)unused;
	answer(w, "a1", ASK("c1") "," ASK("c2"));
	assert_int_equal(w->log_count, 3);
	assert_non_null(request_of(w, child(w, 0)));
	assert_non_null(request_of(w, child(w, 1)));
	for (size_t i = 0; i < 2; i++)
		assert_non_null(
		    strstr(data_of(w, child(w, i), TH_EV_SESSION_CREATED), "\"tokens\":500,"));
	answer(w, child(w, 1), TEXT("two"));
	assert_null(request_of(w, "a1"));
	answer(w, child(w, 0), TEXT("one"));
	assert_non_null(request_of(w, "a1"));
	assert_int_equal(fold(w)->totals.tokens_in + fold(w)->totals.tokens_out, 33);
	end(w);
}

/* Of the parent's commits and the children's: death after each of them, before anybody heard. */
static void nothing_is_begun_twice(void **unused)
{
	size_t last = 1000;

	(void)unused;
	for (size_t at = 2; at < last; at++) {
		struct world *w = begin_until(TEAM("", ""), at);
		bool died = false, said = false;

		for (int i = 0; i < 40 && fold(w)->state != TH_STATE_FINISHED; i++) {
			const char *id;

			if (w->dead) {
				died = true;
				reopen(w, TEAM("", ""));
				continue;
			}
			if (request_of(w, "a1")) {
				answer(w, "a1",
				       count_of(w, "a1", TH_EV_OUTCOME) ? TEXT("over") : ASK("c1"));
				continue;
			}
			id = child(w, 0);
			said = count_of(w, id, TH_EV_OUTCOME) > 0;
			answer(w, id, said ? TEXT("it rains") : CALL("c9", "weather", "{}"));
		}
		if (!died)
			last = at; /* it lives through all of them */
		assert_int_equal(fold(w)->state, TH_STATE_FINISHED);
		assert_int_equal(w->log_count, 2);
		assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_STARTED), 1);
		assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_FINISHED), 1);
		assert_int_equal(count_of(w, "a1", TH_EV_OUTCOME), 1);
		assert_int_equal(count_of(w, child(w, 0), TH_EV_MESSAGE), 1);
		assert_int_equal(count_of(w, child(w, 0), TH_EV_MODEL_ANSWERED), 2);
		assert_int_equal(count_of(w, child(w, 0), TH_EV_FINAL), 1);
		assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "it rains"));
		assert_int_equal(fold(w)->totals.tokens_in, 40);
		end(w);
	}
	assert_in_range(last, 8, 999);
}

#define RISKY CALL("c9", "risky", "{}")

static void a_person_is_asked_through_the_parent(void **unused)
{
	struct world *w = begin(TEAM("", ""));
	struct th_str me = TH_STR("me"), nothing = TH_STR("");
	struct th_err err = { 0 };

	(void)unused;
	answer(w, "a1", ASK("c1") "," ASK("c2"));
	answer(w, child(w, 0), RISKY);
	/* The other one works: nobody is called yet. */
	assert_int_equal(fold(w)->state, TH_STATE_RUNNING);
	answer(w, child(w, 1), TEXT("two"));
	assert_int_equal(fold(w)->state, TH_STATE_WAITING);
	assert_int_equal(w->rests, 1);
	assert_non_null(strstr(data_of(w, "a1", TH_EV_DELEGATION_WAITS), "\"tool\":\"risky\""));
	assert_non_null(strstr(data_of(w, "a1", TH_EV_DELEGATION_WAITS), child(w, 0)));
	assert_true(th_str_is(
	    th_driver_waits(w->driver, w->h, TH_CALL_ASKED, nothing, NULL)->call_id, "c9"));

	/* It still waits after a restart, and is said to. */
	reopen(w, TEAM("", ""));
	assert_int_equal(fold(w)->state, TH_STATE_WAITING);
	assert_int_equal(w->rests, 2);
	assert_int_equal(w->runs, 0);
	assert_int_equal(th_driver_decide(w->driver, w->h, TH_STR("c8"), true, me, nothing, &err),
			 TH_ENOENT);
	assert_int_equal(th_driver_decide(w->driver, w->h, TH_STR("c9"), true, me, nothing, &err),
			 TH_OK);
	assert_int_equal(fold(w)->state, TH_STATE_RUNNING);
	settle(w);
	assert_int_equal(w->runs, 1);
	assert_int_equal(th_driver_decide(w->driver, w->h, TH_STR("c9"), true, me, nothing, &err),
			 TH_ENOENT);

	/* One that is turned down, while the session is held. */
	answer(w, child(w, 0), CALL("c10", "risky", "{}"));
	assert_int_equal(fold(w)->state, TH_STATE_WAITING);
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR("held"), &err), TH_OK);
	assert_int_equal(
	    th_driver_decide(w->driver, w->h, nothing, false, me, TH_STR("no rain"), &err), TH_OK);
	settle(w);
	assert_null(request_of(w, child(w, 0)));
	reopen(w, TEAM("", "")); /* which resumes */
	assert_non_null(request_of(w, child(w, 0)));
	assert_non_null(strstr(request_of(w, child(w, 0))->body, "no rain"));
	assert_int_equal(w->runs, 1);
	answer(w, child(w, 0), TEXT("one"));
	answer(w, "a1", TEXT("over"));
	assert_int_equal(fold(w)->state, TH_STATE_FINISHED);
	end(w);
}

static void stop_and_pause_reach_who_works(void **unused)
{
	struct world *w = begin(TEAM("", ""));
	struct th_err err = { 0 };

	(void)unused;
	answer(w, "a1", ASK("c1"));
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR("held"), &err), TH_OK);
	settle(w);
	assert_null(request_of(w, child(w, 0)));
	assert_non_null(strstr(data_of(w, child(w, 0), TH_EV_STATE_CHANGED), "\"to\":\"paused\""));
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
	settle(w);
	assert_non_null(request_of(w, child(w, 0)));
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR("enough"), &err), TH_OK);
	settle(w);
	assert_null(request_of(w, child(w, 0)));
	assert_non_null(strstr(data_of(w, child(w, 0), TH_EV_STATE_CHANGED), "\"to\":\"stopped\""));
	assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "gave no answer (stopped)"));
	assert_int_equal(fold(w)->state, TH_STATE_STOPPED);
	end(w);

	/* Stopped while nobody ran it: what was begun is stopped, what was not is not begun. */
	w = begin(TEAM("", ""));
	answer(w, "a1", ASK("c1"));
	w->commits_max = w->commits + 1;
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR("enough"), &err), TH_OK);
	settle(w);
	assert_true(w->dead);
	reopen(w, TEAM("", ""));
	assert_int_equal(fold(w)->state, TH_STATE_STOPPED);
	assert_null(request_of(w, child(w, 0)));
	assert_non_null(strstr(data_of(w, child(w, 0), TH_EV_STATE_CHANGED), "\"to\":\"stopped\""));
	assert_int_equal(count_of(w, "a1", TH_EV_OUTCOME), 1);
	end(w);

	/* The same of the parent alone, as an operator does it to a log. */
	w = begin(TEAM("", ""));
	answer(w, "a1", ASK("c1"));
	w->h = take(w, TEAM("", ""), "a1");
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR("enough"), &err), TH_OK);
	settle(w);
	assert_int_equal(count_of(w, child(w, 0), TH_EV_STATE_CHANGED), 0);
	reopen(w, TEAM("", ""));
	assert_null(request_of(w, child(w, 0)));
	assert_non_null(strstr(data_of(w, child(w, 0), TH_EV_STATE_CHANGED), "\"to\":\"stopped\""));
	assert_int_equal(count_of(w, "a1", TH_EV_OUTCOME), 1);
	end(w);
}

/* A person decides in the child's own log, while nobody runs either. */
static void a_word_between_two_runtimes(void **unused)
{
	struct world *w = begin(TEAM("", ""));
	struct th_handle h;
	struct th_err err = { 0 };

	(void)unused;
	answer(w, "a1", ASK("c1"));
	answer(w, child(w, 0), RISKY);
	assert_int_equal(w->rests, 1);
	h = take(w, TEAM("", ""), child(w, 0));
	w->commits_max = w->commits + 1;
	assert_int_equal(
	    th_driver_decide(w->driver, h, TH_STR("c9"), true, TH_STR("me"), TH_STR(""), &err),
	    TH_OK);
	settle(w);
	assert_true(w->dead);
	assert_int_equal(count_of(w, child(w, 0), TH_EV_APPROVAL_DECIDED), 1);
	w->rests = 0;
	/* Nobody is called again. */
	reopen(w, TEAM("", ""));
	assert_int_equal(w->rests, 0);
	assert_int_equal(fold(w)->state, TH_STATE_RUNNING);
	assert_int_equal(w->runs, 1);
	answer(w, child(w, 0), TEXT("one"));
	answer(w, "a1", TEXT("over"));
	assert_int_equal(fold(w)->state, TH_STATE_FINISHED);
	end(w);
}

static void depth_and_number_have_limits(void **unused)
{
	struct world *w = begin(SELF);
	struct th_buf many = TH_BUF_INIT(TH_MIB);

	(void)unused;
	answer(w, "a1", ASK("c1"));
	for (int i = 1; i < TH_DELEGATE_DEPTH_MAX; i++)
		answer(w, w->logs[i]->id, ASK("c1"));
	assert_int_equal(w->log_count, 1 + TH_DELEGATE_DEPTH_MAX);
	answer(w, w->logs[TH_DELEGATE_DEPTH_MAX]->id, ASK("c1"));
	assert_int_equal(w->log_count, 1 + TH_DELEGATE_DEPTH_MAX);
	assert_non_null(
	    strstr(data_of(w, w->logs[TH_DELEGATE_DEPTH_MAX]->id, TH_EV_OUTCOME), "deep already"));
	end(w);

	w = begin(TEAM("", ""));
	for (int i = 0; i <= TH_DELEGATES_MAX; i++)
		th_buf_printf(&many,
			      "%s{\"type\":\"function_call\",\"id\":\"f%d\",\"call_id\":\"c%d\","
			      "\"name\":\"ask\",\"arguments\":\"{\\\"input\\\":\\\"x\\\"}\","
			      "\"status\":\"completed\"}",
			      i ? "," : "", i, i);
	answer(w, "a1", many.ptr);
	assert_int_equal(w->log_count, 1 + TH_DELEGATES_MAX);
	assert_int_equal(count_of(w, "a1", TH_EV_OUTCOME), 1);
	assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "at work already"));
	th_buf_deinit(&many);
	end(w);
}

/* A session of that name which is not this call's is left alone. */
static void another_session_is_not_taken(void **unused)
{
	struct world *w = begin(TEAM("", ""));

	(void)unused;
	answer(w, "a1", ASK("c1"));
	w->commits_max = w->commits + 1;
	free(w->logs[1]->metadata);
	w->logs[1]->metadata = strdup("{\"delegated_by\":{\"effect_id\":\"00\"}}");
	reopen(w, TEAM("", ""));
	assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "is another's"));
	assert_null(request_of(w, child(w, 0)));
	end(w);
}

/* That it was begun is in the parent's log: what is not there was lost, and is not begun again. */
static void one_that_is_missing_is_not_begun_again(void **unused)
{
	struct world *w = begin(TEAM("", ""));
	const char *told;

	(void)unused;
	answer(w, "a1", ASK("c1"));
	answer(w, child(w, 0), CALL("c9", "weather", "{}"));
	assert_int_equal(w->runs, 1);
	log_free(w->logs[--w->log_count]); /* as in a store that it was not carried to */
	reopen(w, TEAM("", ""));
	assert_int_equal(w->log_count, 1);
	told = data_of(w, "a1", TH_EV_OUTCOME);
	assert_non_null(told);
	assert_non_null(strstr(told, "\"status\":\"unknown\""));
	assert_non_null(strstr(told, "which was lost (this store does not have it)"));
	assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_FINISHED), 0);
	/* It is in doubt: the same is not asked for again just so. */
	answer(w, "a1", ASK("c2"));
	assert_int_equal(w->log_count, 1);
	assert_int_equal(fold(w)->state, TH_STATE_WAITING);
	end(w);
}

/* Another runtime took it, and may bring it to an end. */
static void one_that_was_taken_is_unknown(void **unused)
{
	struct world *w = begin(TEAM("", ""));
	const char *told;

	(void)unused;
	answer(w, "a1", ASK("c1"));
	w->fenced = true;
	answer(w, child(w, 0), CALL("c9", "weather", "{}"));
	told = data_of(w, "a1", TH_EV_OUTCOME);
	assert_non_null(told);
	assert_non_null(strstr(told, "\"status\":\"unknown\""));
	assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_FINISHED), 0);
	assert_int_equal(fold(w)->doubts.count, 1);
	assert_int_equal(th_driver_count(w->driver), 1);
	answer(w, "a1", TEXT("over"));
	assert_int_equal(fold(w)->state, TH_STATE_FINISHED);
	end(w);
}

/* Ids of calls are unique within an answer only: what a person saw is what he decides. */
static void two_calls_of_one_id(void **unused)
{
	struct world *w = begin(TEAM("", ""));
	struct th_str me = TH_STR("me"), c9 = TH_STR("c9"), nothing = TH_STR("");
	struct th_buf name = TH_BUF_INIT(TH_KIB);
	const struct th_call *c;
	struct th_err err = { 0 };

	(void)unused;
	answer(w, "a1", ASK("c1") "," ASK("c2"));
	answer(w, child(w, 0), CALL("c9", "risky", "{\\\"what\\\":\\\"ls\\\"}"));
	answer(w, child(w, 1), CALL("c9", "risky", "{\\\"what\\\":\\\"rm\\\"}"));
	assert_null(th_driver_waits(w->driver, w->h, TH_CALL_ASKED, c9, NULL));
	assert_int_equal(th_driver_decide(w->driver, w->h, c9, true, me, nothing, &err), TH_EUSAGE);
	assert_non_null(strstr(err.msg, "2 calls c9 wait; say of which session, as in a1."));
	th_buf_printf(&name, "%s/c9", child(w, 1));
	c = th_driver_waits(w->driver, w->h, TH_CALL_ASKED, th_buf_str(&name), NULL);
	assert_true(c && th_str_is(c->arguments, "{\"what\":\"rm\"}"));
	assert_int_equal(
	    th_driver_decide(w->driver, w->h, th_buf_str(&name), false, me, nothing, &err), TH_OK);
	settle(w);
	assert_int_equal(count_of(w, child(w, 0), TH_EV_APPROVAL_DECIDED), 0);
	assert_int_equal(count_of(w, child(w, 1), TH_EV_APPROVAL_DECIDED), 1);
	/* The name of what was decided is nobody else's. */
	assert_int_equal(
	    th_driver_decide(w->driver, w->h, th_buf_str(&name), true, me, nothing, &err),
	    TH_ENOENT);
	th_buf_clear(&name);
	c = th_driver_waits(w->driver, w->h, TH_CALL_ASKED, nothing, &name);
	assert_true(c && th_str_is(c->arguments, "{\"what\":\"ls\"}"));
	assert_true(th_str_starts(th_buf_str(&name), th_str_of(child(w, 0))));
	/* One is left: its own id is enough. */
	assert_int_equal(th_driver_decide(w->driver, w->h, c9, true, me, nothing, &err), TH_OK);
	settle(w);
	assert_int_equal(w->runs, 1);
	th_buf_deinit(&name);
	end(w);
}

/* What DELEGATION_WAITS says when so many calls wait, each of 4,000 bytes. */
static const char *many_wait(struct world *w, int count)
{
	struct th_buf items = TH_BUF_INIT(TH_MIB);
	char what[4001];

	memset(what, 'x', sizeof(what) - 1);
	what[sizeof(what) - 1] = '\0';
	for (int i = 0; i < count; i++)
		th_buf_printf(&items,
			      "%s{\"type\":\"function_call\",\"id\":\"f%d\",\"call_id\":\"r%d\","
			      "\"name\":\"risky\",\"arguments\":\"{\\\"what\\\":\\\"%s\\\"}\","
			      "\"status\":\"completed\"}",
			      i ? "," : "", i, i, what);
	answer(w, "a1", ASK("c1"));
	answer(w, child(w, 0), items.ptr);
	th_buf_deinit(&items);
	assert_int_equal(fold(w)->state, TH_STATE_WAITING);
	return data_of(w, "a1", TH_EV_DELEGATION_WAITS);
}

/* More than the event has room for: the others are counted. */
static void what_waits_has_a_size(void **unused)
{
	struct world *w = begin(TEAM("", ""));
	const char *told = many_wait(w, 64);
	struct th_err err = { 0 };

	(void)unused;
	assert_non_null(strstr(told, "\"r63\""));
	assert_null(strstr(told, "\"more\""));
	end(w);

	w = begin(TEAM("", ""));
	told = many_wait(w, 100);
	assert_non_null(strstr(told, "\"r63\""));
	assert_null(strstr(told, "\"r99\""));
	assert_non_null(strstr(told, "\"more\":"));
	assert_true(strlen(told) < 300 * TH_KIB);
	assert_int_equal(
	    th_driver_decide(w->driver, w->h, TH_STR("r99"), true, TH_STR("me"), TH_STR(""), &err),
	    TH_OK);
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_agent_answers_a_call),
		cmocka_unit_test(silence_is_answered_with_what_was_last),
		cmocka_unit_test(a_failure_is_told_and_fails_nobody),
		cmocka_unit_test(two_work_side_by_side_and_share_what_is_left),
		cmocka_unit_test(nothing_is_begun_twice),
		cmocka_unit_test(a_person_is_asked_through_the_parent),
		cmocka_unit_test(stop_and_pause_reach_who_works),
		cmocka_unit_test(a_word_between_two_runtimes),
		cmocka_unit_test(depth_and_number_have_limits),
		cmocka_unit_test(another_session_is_not_taken),
		cmocka_unit_test(one_that_is_missing_is_not_begun_again),
		cmocka_unit_test(one_that_was_taken_is_unknown),
		cmocka_unit_test(two_calls_of_one_id),
		cmocka_unit_test(what_waits_has_a_size),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	th_arena_deinit(&team.memory);
	th_json_free(team.doc);
	return failed;
}
