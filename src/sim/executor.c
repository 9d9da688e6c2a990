/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/rename.h"

#include "sim/executor.h"

#include <stdio.h>
#include <stdlib.h>

#include "executor/state.h"
#include "io/clock.h"
#include "sim/executor_internal.h"

/* The one whose code runs now: clocks are asked without a context. */
static struct th_sim_exec *running;

static struct th_sim_exec *exec_of(struct th_executor_server *p)
{
	return TH_CONTAINER_OF(p, struct th_sim_exec, p);
}

/* ---- tools ---- */

const struct th_sim_tool th_sim_tools[] = {
	{ .name = "look", .class = TH_CLASS_R },
	{ .name = "api", .class = TH_CLASS_K },
	{ .name = "save", .class = TH_CLASS_V },
	{ .name = "shell", .class = TH_CLASS_W, .scope = { TH_TARGET_FILES, TH_SHOWS_ANY } },
	{ .name = "pay", .class = TH_CLASS_X },
	{ .name = NULL },
};

#define TH_FIELDS_sim_arguments(F) F(sim_arguments, str, text, "text", 0, "anything")
TH_STRUCT(sim_arguments)
static const struct th_field arguments_fields[] = { TH_FIELDS_sim_arguments(TH_FIELD_ROW) };
static const struct th_table arguments_table = {
	"sim_arguments",
	"arguments of a tool of the simulator",
	arguments_fields,
	TH_COUNT(arguments_fields),
	sizeof(struct th_sim_arguments),
	true,
};

static struct job *job_new(struct th_sim_exec *x, const struct th_exec_effect *e)
{
	struct job *j = th_alloc(sizeof(*j)), **at = &x->jobs;
	struct th_sim_random *r = x->world.random;

	memcpy(j->id, e->id, sizeof(j->id));
	j->class = e->class;
	j->due_ms = x->world.now_ms(x->world.ctx) + (int64_t)th_sim_below(r, 20);
	if (th_sim_chance(r, x->world.slow))
		j->due_ms += (int64_t)th_sim_below(r, 200000);
	j->steps_max = 1;
	j->fails = th_sim_chance(r, 12);
	j->acts = !j->fails || th_sim_chance(r, 2);
	while (*at)
		at = &(*at)->next;
	*at = j;
	return j;
}

static void job_drop(struct th_sim_exec *x, struct job *j)
{
	struct job **at = &x->jobs;

	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	free(j);
}

static void tool_start(struct th_tool_job *tool)
{
	struct th_exec_effect *e = tool->ctx;
	struct th_sim_exec *x = exec_of(e->x);
	struct job *j;

	if (x->dead)
		return;
	if (e->class == TH_CLASS_V && !tool->note(tool, TH_STR("{\"before\":1}"))) {
		x->stumbled = true;
		tool->done(tool, TH_OUTCOME_NOT_STARTED, TH_STR("\"the disk is full\""),
			   TH_STR(""));
		return;
	}
	j = job_new(x, e);
	j->tool = tool;
	tool->state = j;
}

static void tool_probe(struct th_tool_job *tool)
{
	struct th_exec_effect *e = tool->ctx;
	struct th_sim_exec *x = exec_of(e->x);
	struct job *j;

	if (x->dead)
		return;
	j = job_new(x, e);
	j->tool = tool;
	j->probes = true;
	tool->state = j;
}

static void tool_cancel(struct th_tool_job *tool)
{
	struct job *j = tool->state;

	j->cancelled = true;
	j->due_ms = 0;
}

static const struct th_tool tools[] = {
	{
	    .name = "look",
	    .description = "",
	    .class = TH_CLASS_R,
	    .arguments = &arguments_table,
	    .start = tool_start,
	    .cancel = tool_cancel,
	},
	{
	    .name = "api",
	    .description = "",
	    .class = TH_CLASS_K,
	    .arguments = &arguments_table,
	    .start = tool_start,
	    .cancel = tool_cancel,
	},
	{
	    .name = "save",
	    .description = "",
	    .class = TH_CLASS_V,
	    .arguments = &arguments_table,
	    .start = tool_start,
	    .cancel = tool_cancel,
	    .probe = tool_probe,
	},
	{
	    .name = "shell",
	    .description = "",
	    .class = TH_CLASS_W,
	    .arguments = &arguments_table,
	    .start = tool_start,
	    .cancel = tool_cancel,
	},
	{
	    .name = "pay",
	    .description = "",
	    .class = TH_CLASS_X,
	    .arguments = &arguments_table,
	    .start = tool_start,
	    .cancel = tool_cancel,
	},
};

const struct th_tool *th_tool_find(struct th_str name)
{
	for (size_t i = 0; i < TH_COUNT(tools); i++)
		if (th_str_is(name, tools[i].name))
			return &tools[i];
	return NULL;
}

/* ---- the screen ---- */

void th_display_run(struct th_display *d, struct th_display_call *call)
{
	struct th_exec_effect *e = call->ctx;
	struct th_sim_exec *x = exec_of(e->x);
	struct job *j;

	(void)d;
	if (x->dead)
		return;
	j = job_new(x, e);
	j->screen = call;
	j->steps_max = 1 + (int64_t)th_sim_below(x->world.random, 3);
}

void th_display_cancel(struct th_display *d, struct th_display_call *call)
{
	struct th_exec_effect *e = call->ctx;

	(void)d;
	for (struct job *j = exec_of(e->x)->jobs; j; j = j->next)
		if (j->screen == call) {
			j->cancelled = true;
			j->due_ms = 0;
		}
}

/* The simulator's tools show no pictures. */
struct th_picture *th_picture_new(struct th_str bytes, struct th_str hex, struct th_str media_type)
{
	(void)bytes;
	(void)hex;
	(void)media_type;
	abort();
}

struct th_picture *th_picture_ref(struct th_picture *p)
{
	p->refs++;
	return p;
}

struct th_picture *th_picture_unref(struct th_picture *p)
{
	if (p && --p->refs == 0)
		free(p);
	return NULL;
}

static struct th_picture *picture_new(struct th_sim_exec *x)
{
	struct th_picture *p = th_alloc(sizeof(*p) + 64);
	struct th_digest digest;

	p->refs = 1;
	p->size = (size_t)snprintf(p->bytes, 64, "picture %zu %u", x->session,
				   x->pictures++ % 4); /* some are the same */
	snprintf(p->media_type, sizeof(p->media_type), "image/png");
	digest = th_sha256_of(p->bytes, p->size);
	th_digest_hex(&digest, p->hex);
	return p;
}

/* ---- jobs move ---- */

static void act(struct th_sim_exec *x, struct job *j)
{
	if (j->acted || j->class == TH_CLASS_R)
		return;
	j->acted = true;
	x->world.act(x->world.ctx, x->session, th_str_of(j->id), j->class);
}

static void screen_done(struct th_sim_exec *x, struct job *j)
{
	struct th_picture *p = picture_new(x);
	struct th_display_call *call = j->screen;
	enum th_outcome_status status =
	    j->cancelled || j->fails ? TH_OUTCOME_FAILED : TH_OUTCOME_DONE;
	char output[256];

	snprintf(output, sizeof(output),
		 "[{\"type\":\"text\",\"text\":\"ok\"},{\"type\":\"image\",\"media_type\":"
		 "\"image/png\",\"blob\":\"%s\",\"size\":%zu}]",
		 p->hex, p->size);
	job_drop(x, j);
	call->on_done(call->ctx, status, th_str_of(output), TH_STR("{\"changed\":true}"), &p, 1);
	th_picture_unref(p);
}

static void tool_done(struct th_sim_exec *x, struct job *j)
{
	struct th_tool_job *tool = j->tool;
	enum th_outcome_status status = TH_OUTCOME_DONE;

	if (j->probes)
		status = x->world.acted(x->world.ctx, th_str_of(j->id)) ? TH_OUTCOME_DONE
									: TH_OUTCOME_NOT_STARTED;
	else if (j->cancelled || j->fails)
		status = TH_OUTCOME_FAILED;
	if (x->world.outcome_first && !j->acted && j->acts && status == TH_OUTCOME_DONE) {
		j->tool = NULL; /* the act comes later, if we live */
		j->due_ms += 50;
	} else {
		job_drop(x, j);
	}
	tool->done(tool, status, TH_STR("\"it was done\""), TH_STR("{\"exit_code\":0}"));
}

static void job_step(struct th_sim_exec *x, struct job *j)
{
	bool first = x->world.outcome_first;

	if (!j->tool && !j->screen) {
		act(x, j);
		job_drop(x, j);
		return;
	}
	if (j->acts && !j->acted && !j->cancelled && !j->probes && !(first && j->tool) &&
	    j->class != TH_CLASS_R) {
		act(x, j);
		return;
	}
	if (j->screen && !j->cancelled && j->steps < j->steps_max) {
		j->screen->on_step(j->screen->ctx, ++j->steps);
		return;
	}
	if (j->screen)
		screen_done(x, j);
	else
		tool_done(x, j);
}

/* On one screen one thing happens after the other. */
static bool job_waits(const struct th_sim_exec *x, const struct job *j)
{
	for (const struct job *i = x->jobs; i != j; i = i->next)
		if (i->screen && j->screen)
			return true;
	return false;
}

/* ---- the loop, the clock, the spool ---- */

void th_loop_defer(struct th_loop *l, struct th_deferred *d)
{
	(void)l, (void)d;
	running->flush_due = true;
}

uint64_t th_clock_ms(void)
{
	return (uint64_t)running->world.now_ms(running->world.ctx);
}

uint64_t th_clock_wall_ms(void)
{
	return th_clock_ms();
}

struct th_uuid th_uuid_now(void)
{
	uint8_t random[10];

	for (size_t i = 0; i < sizeof(random); i++)
		random[i] = (uint8_t)th_sim_draw(running->world.random);
	return th_uuid7(th_clock_ms(), random);
}

/* What th_ledger_never is to executor/run.c. */
enum th_code th_sim_never(struct th_ledger *l, struct th_str id, struct th_err *err);

enum th_code th_sim_never(struct th_ledger *l, struct th_str id, struct th_err *err)
{
	return running->world.forgetful ? TH_OK : th_ledger_never(l, id, err);
}

bool th_exec_send_error(struct th_exec_client *c, int64_t id, const struct th_err *err)
{
	struct th_buf head = TH_BUF_INIT(8 * TH_ERR_MSG_MAX);
	bool there;

	if (err->code == TH_ELIMIT)
		exec_of(c->x)->stumbled = true;
	th_exec_print_error(id, err, &head);
	there = th_exec_send(c, th_buf_str(&head), TH_STR(""));
	th_buf_deinit(&head);
	return there;
}

/* In the real process this is _exit: whatever the code does after it is done by nobody. */
void th_exec_fatal(struct th_executor_server *p, const struct th_err *err)
{
	struct th_sim_exec *x = exec_of(p);

	if (!x->dead)
		x->world.say(x->world.ctx, "executor %zu stops: %s", x->session, err->msg);
	x->dead = true;
}

void th_exec_idle(struct th_executor_server *p)
{
	(void)p;
}

/* As on_hello of executor.c, without workspace and computer. */
static enum th_code on_hello(struct th_sim_exec *x, struct th_sim_conn *c,
			     const struct th_exec_hello *m, struct th_err *err)
{
	int64_t highest = th_ledger_epoch(x->p.ledger);
	struct th_buf head = TH_BUF_INIT(4 * TH_KIB);
	struct th_exec_welcome welcome = { .op = TH_STR("welcome"),
					   .pid = 1,
					   .build = TH_STR("sim"),
					   .journal = th_str_of(th_ledger_id(x->p.ledger)) };
	enum th_code code = TH_OK;

	if (m->epoch > 0 && m->epoch < highest)
		return th_fail(err, TH_EFENCED, "a newer owner has the session");
	if (m->epoch > highest) {
		code = th_ledger_epoch_raise(x->p.ledger, m->epoch, err);
		if (code == TH_OK)
			code = th_ledger_sync(x->p.ledger, err);
		if (code == TH_EIO)
			th_exec_fatal(&x->p, err);
		if (code)
			return code;
	}
	c->client.greeted = true;
	c->client.epoch = m->epoch;
	welcome.epoch = th_ledger_epoch(x->p.ledger);
	th_exec_print(&th_exec_welcome_table, &welcome, &head);
	th_exec_send(&c->client, th_buf_str(&head), TH_STR(""));
	th_buf_deinit(&head);
	return TH_OK;
}

static void on_message(struct th_sim_exec *x, struct th_sim_conn *c, struct th_str text)
{
	struct th_json_doc *doc = NULL;
	struct th_arena arena;
	struct th_err err;
	enum th_exec_op op;
	const struct th_json *v;
	enum th_code code = th_exec_open(text, &doc, &op, &err);

	assert(!code);
	th_arena_init(&arena, 2 * TH_FRAME_JSON_MAX);
	v = th_json_root(doc);
	if (op == TH_EXEC_OP_HELLO) {
		struct th_exec_hello hello;

		code = th_table_parse(&th_exec_hello_table, v, &arena, &hello, &err)
			   ?: on_hello(x, c, &hello, &err);
		if (code)
			th_exec_send_error(&c->client, 0, &err);
	} else if (op == TH_EXEC_OP_RUN || op == TH_EXEC_OP_ATTACH) {
		struct th_exec_run run;

		code = th_table_parse(&th_exec_run_table, v, &arena, &run, &err);
		assert(!code);
		th_exec_on_run(&c->client, &run, op == TH_EXEC_OP_ATTACH);
	} else if (op == TH_EXEC_OP_CANCEL) {
		th_exec_on_cancel(&c->client, th_json_get_int(v, "id", 0));
	} else if (op == TH_EXEC_OP_FORGET) {
		struct th_exec_forget forget;

		code = th_table_parse(&th_exec_forget_table, v, &arena, &forget, &err);
		assert(!code);
		th_exec_on_forget(&x->p, forget.effect_ids);
	}
	th_arena_deinit(&arena);
	th_json_free(doc);
}

static bool conn_waits(const struct th_sim_conn *c)
{
	return c->to_executor.first || c->closed;
}

static void conn_step(struct th_sim_exec *x, struct th_sim_conn *c)
{
	struct th_sim_conn **at = &x->conns;
	struct message *m = c->to_executor.first;

	if (m) {
		on_message(x, c, th_str_n(m->head, m->head_len));
		th_sim_queue_drop(&c->to_executor);
		return;
	}
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->client.dead = true;
	th_exec_client_gone(&c->client);
	th_sim_conn_free(c);
}

/* ---- the process ---- */

struct th_sim_exec *th_sim_exec_new(const struct th_sim_exec_world *world, size_t session,
				    struct th_str session_id)
{
	struct th_sim_exec *x = th_alloc(sizeof(*x));
	struct th_ledger_found found;
	char path[2] = { (char)('0' + session), '\0' }; /* one character names it */
	struct th_err err;

	(void)session_id;
	x->world = *world;
	x->session = session;
	x->p.spool_fd = -1;
	x->p.pending_last = &x->p.pending;
	x->p.picture_cache_last = &x->p.picture_cache;
	x->p.display = (struct th_display *)(void *)x; /* only to be there */
	running = x;
	if (th_ledger_open(path, &found, &x->p.ledger, &err)) {
		world->say(world->ctx, "executor %zu does not start: %s", session, err.msg);
		free(x);
		return NULL;
	}
	x->p.epoch_before = th_ledger_epoch(x->p.ledger);
	return x;
}

struct th_sim_exec *th_sim_exec_free(struct th_sim_exec *x)
{
	if (!x)
		return NULL;
	running = x;
	x->dead = true;
	while (x->conns) {
		struct th_sim_conn *c = x->conns;

		x->conns = c->next;
		th_exec_client_gone(&c->client);
		c->x = NULL;
		if (c->closed)
			th_sim_conn_free(c);
	}
	th_exec_effects_free(&x->p);
	while (x->jobs)
		job_drop(x, x->jobs);
	th_ledger_close(x->p.ledger);
	free(x);
	return NULL;
}

bool th_sim_exec_dead(const struct th_sim_exec *x)
{
	return x->dead;
}

bool th_sim_exec_stumbled(const struct th_sim_exec *x)
{
	return x->stumbled;
}

size_t th_sim_exec_ready(const struct th_sim_exec *x, int64_t *due_ms)
{
	int64_t now = x->world.now_ms(x->world.ctx);
	size_t ready = x->flush_due;

	for (const struct th_sim_conn *c = x->conns; c; c = c->next) {
		if (!conn_waits(c))
			continue;
		ready += c->stalled_ms <= now;
		if (c->stalled_ms > now)
			*due_ms = TH_MIN(*due_ms, c->stalled_ms);
	}
	for (const struct job *j = x->jobs; j; j = j->next) {
		if (job_waits(x, j))
			continue;
		ready += j->due_ms <= now;
		if (j->due_ms > now)
			*due_ms = TH_MIN(*due_ms, j->due_ms);
	}
	return ready;
}

void th_sim_exec_step(struct th_sim_exec *x, size_t which)
{
	int64_t now = x->world.now_ms(x->world.ctx);

	running = x;
	if (x->flush_due && which-- == 0) {
		x->flush_due = false;
		th_exec_flush(&x->p);
		return;
	}
	for (struct th_sim_conn *c = x->conns; c; c = c->next)
		if (conn_waits(c) && c->stalled_ms <= now && which-- == 0) {
			conn_step(x, c);
			return;
		}
	for (struct job *j = x->jobs; j; j = j->next)
		if (!job_waits(x, j) && j->due_ms <= now && which-- == 0) {
			job_step(x, j);
			return;
		}
}
