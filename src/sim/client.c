/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/client.h"

#include <stdlib.h>

#include "wire/exec.h"

#define BLOBS_MAX 8
#define RETRY_MS 50

struct call {
	struct call *next;
	struct th_ticket ticket;
	int64_t id, epoch, timeout_ms;
	enum th_class class;
	bool settle, begin, sent, again;
	char *effect_id, *tool, *arguments, *digest, *journal; /* journal: of its INTENT */
};

struct th_sim_client {
	struct th_sim_client_world world;
	size_t session;
	char *session_id;
	int64_t epoch, ids, due_ms;
	struct th_sim_conn *conn;
	bool greeted, told, fenced;
	char journal[64];
	struct call *calls; /* oldest first */
};

static char *copy(struct th_str s)
{
	char *p = th_alloc(s.len + 1);

	if (s.len > 0)
		memcpy(p, s.ptr, s.len);
	return p;
}

struct th_sim_client *th_sim_client_new(const struct th_sim_client_world *world, size_t session,
					struct th_str session_id, int64_t epoch)
{
	struct th_sim_client *c = th_alloc(sizeof(*c));

	c->world = *world;
	c->session = session;
	c->session_id = copy(session_id);
	c->epoch = epoch;
	return c;
}

static void call_free(struct call *call)
{
	free(call->effect_id);
	free(call->tool);
	free(call->arguments);
	free(call->digest);
	free(call->journal);
	free(call);
}

static struct call *call_take(struct th_sim_client *c, int64_t id)
{
	for (struct call **at = &c->calls; *at; at = &(*at)->next)
		if ((*at)->id == id) {
			struct call *call = *at;

			*at = call->next;
			return call;
		}
	return NULL;
}

struct th_sim_client *th_sim_client_free(struct th_sim_client *c)
{
	if (!c)
		return NULL;
	while (c->calls)
		call_free(call_take(c, c->calls->id));
	th_sim_conn_close(c->conn);
	free(c->session_id);
	free(c);
	return NULL;
}

/* ---- sending ---- */

static void send_head(struct th_sim_client *c, const struct th_table *table, const void *m)
{
	struct th_buf head = TH_BUF_INIT(TH_FRAME_JSON_MAX);

	th_exec_print(table, m, &head);
	th_sim_conn_send(c->conn, th_buf_str(&head));
	th_buf_deinit(&head);
}

static void send_call(struct th_sim_client *c, struct call *call)
{
	bool attach = call->settle && call->class != TH_CLASS_R;
	struct th_buf alias = TH_BUF_INIT(128);
	struct th_exec_run m = {
		.op = TH_STR("run"),
		.id = call->id,
		.effect_id = th_str_of(call->effect_id),
		.epoch = attach ? call->epoch : c->epoch,
		.class = th_str_of(th_class_name(call->class)),
		.tool = th_str_of(call->tool),
		.arguments = th_str_of(call->arguments),
		.digest = th_str_of(call->digest),
		.timeout_ms = call->timeout_ms,
		.journal = th_str_of(call->journal),
		.again = call->again && !attach && call->class != TH_CLASS_R,
		.begin = attach && call->begin,
	};

	if (c->world.repeat && (attach || call->again)) {
		th_buf_printf(&alias, "%s-again", call->effect_id);
		m.effect_id = th_buf_str(&alias);
		m.again = attach = false;
	}
	if (attach)
		m.op = TH_STR("attach");
	if (c->world.guest)
		m.epoch = 0;
	if (c->world.ageless && !attach)
		m.epoch = INT64_MAX;
	if (c->world.any_journal)
		m.journal = th_str_of(c->journal);
	call->sent = true;
	send_head(c, &th_exec_run_table, &m);
	th_buf_deinit(&alias);
}

static void finish(struct th_sim_client *c, struct call *call, enum th_outcome_status status,
		   struct th_str output)
{
	struct th_effect_result result = { .status = status, .output = output };
	struct th_ticket t = call->ticket;

	call_free(call);
	c->world.done(c->world.ctx, c->session, t, &result);
}

void th_sim_client_run(struct th_sim_client *c, struct th_ticket t,
		       const struct th_effect_call *what, bool settle)
{
	struct call *call = th_alloc(sizeof(*call)), **at = &c->calls;

	*call = (struct call){
		.ticket = t,
		.id = ++c->ids,
		.epoch = what->epoch,
		.timeout_ms = what->timeout_ms,
		.class = what->class,
		.settle = settle,
		.begin = what->begin,
		.effect_id = copy(what->effect_id),
		.tool = copy(what->tool),
		.arguments = copy(what->arguments),
		.digest = copy(what->digest),
		.journal = copy(what->journal),
	};
	while (*at)
		at = &(*at)->next;
	*at = call;
	if (c->greeted)
		send_call(c, call);
}

struct th_str th_sim_client_journal(const struct th_sim_client *c)
{
	return th_str_of(c->journal);
}

bool th_sim_client_has(const struct th_sim_client *c, struct th_ticket t)
{
	for (const struct call *call = c->calls; call; call = call->next)
		if (th_ticket_eq(call->ticket, t))
			return true;
	return false;
}

void th_sim_client_stall(struct th_sim_client *c, int64_t until_ms)
{
	if (c->conn && !th_sim_conn_cut(c->conn))
		th_sim_conn_stall(c->conn, until_ms);
}

bool th_sim_client_cut(const struct th_sim_client *c)
{
	return c->conn && th_sim_conn_cut(c->conn);
}

void th_sim_client_cancel(struct th_sim_client *c, struct th_ticket t)
{
	for (struct call *call = c->calls; call; call = call->next)
		if (th_ticket_eq(call->ticket, t) && call->sent && c->greeted) {
			struct th_exec_request m = { .op = TH_STR("cancel"), .id = call->id };

			send_head(c, &th_exec_request_table, &m);
		}
}

void th_sim_client_forget(struct th_sim_client *c, const struct th_str *ids, size_t count)
{
	struct th_str list[16];
	struct th_exec_forget m = { .op = TH_STR("forget"), .effect_ids = { list, count } };

	assert(count <= TH_COUNT(list));
	for (size_t i = 0; i < count; i++)
		list[i] = ids[i];
	if (c->greeted) /* else it is never sent: the journal keeps more than it must */
		send_head(c, &th_exec_forget_table, &m);
}

/* ---- receiving ---- */

static void lose_connection(struct th_sim_client *c)
{
	c->conn = th_sim_conn_close(c->conn);
	c->greeted = false;
	c->due_ms = c->world.now_ms(c->world.ctx) + RETRY_MS;
	for (struct call *call = c->calls; call; call = call->next) {
		call->again |= call->sent;
		call->sent = false;
	}
}

static void on_welcome(struct th_sim_client *c, const struct th_exec_welcome *m)
{
	size_t len = TH_MIN(m->journal.len, sizeof(c->journal) - 1);

	memcpy(c->journal, m->journal.ptr, len);
	c->journal[len] = '\0';
	c->greeted = true;
	for (struct call *call = c->calls; call; call = call->next)
		send_call(c, call);
	if (!c->told) {
		c->told = true;
		c->world.ready(c->world.ctx, c->session, false);
	}
}

static void on_fenced(struct th_sim_client *c)
{
	c->fenced = true;
	c->conn = th_sim_conn_close(c->conn);
	c->greeted = false;
	if (!c->told) {
		c->told = true;
		c->world.ready(c->world.ctx, c->session, true);
	}
}

static void on_error(struct th_sim_client *c, const struct th_exec_error *m)
{
	struct call *call;
	bool fenced = th_str_is(m->code, th_code_name(TH_EFENCED));

	if (m->id == 0) {
		if (fenced)
			on_fenced(c);
		else
			lose_connection(c);
		return;
	}
	call = call_take(c, m->id);
	if (!call)
		return;
	/* Of a fresh run an error proves that it was not begun; of anything else it proves nothing.
	 */
	if (call->settle || call->again)
		finish(c, call, TH_OUTCOME_UNKNOWN, TH_STR("\"it may or may not have happened\""));
	else
		finish(c, call, TH_OUTCOME_NOT_STARTED, TH_STR("\"it was not started\""));
}

static size_t blobs_parse(struct th_str list, struct th_str attachment, struct th_blob *blobs)
{
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;
	size_t count = 0, at = 0;

	if (list.len == 0 || th_json_parse(list, &doc, NULL))
		return 0;
	for (it = th_json_iter(th_json_root(doc)); th_json_next(&it) && count < BLOBS_MAX;) {
		size_t size = (size_t)th_json_get_int(it.val, "size", 0);

		if (!th_digest_parse(th_json_get_str(it.val, "blob"), &blobs[count].hash))
			continue;
		blobs[count].media_type = TH_STR("image/png");
		blobs[count++].bytes = th_str_sub(attachment, at, size);
		at += size;
	}
	th_json_free(doc);
	return count;
}

static void on_finished(struct th_sim_client *c, const struct th_exec_finished *m,
			struct th_str attachment)
{
	struct call *call = call_take(c, m->id);
	struct th_blob blobs[BLOBS_MAX];
	struct th_effect_result result = {
		.output = m->output,
		.evidence = m->evidence,
		.elapsed_ms = m->elapsed_ms,
	};
	struct th_ticket t;
	int status = th_outcome_find(m->status);

	assert(status >= 0);
	if (!call)
		return;
	result.status = (enum th_outcome_status)status;
	result.blob_count = blobs_parse(m->blobs, attachment, blobs);
	result.blobs = blobs;
	t = call->ticket;
	call_free(call);
	c->world.done(c->world.ctx, c->session, t, &result);
}

static void on_message(struct th_sim_client *c, struct th_str head, struct th_str attachment)
{
	struct th_json_doc *doc = NULL;
	struct th_arena arena;
	struct th_err err;
	enum th_exec_op op;
	union {
		struct th_exec_welcome welcome;
		struct th_exec_finished finished;
		struct th_exec_error error;
	} m;
	enum th_code code = th_exec_open(head, &doc, &op, &err);

	assert(!code);
	th_arena_init(&arena, 2 * TH_FRAME_JSON_MAX);
	if (op == TH_EXEC_OP_WELCOME) {
		code = th_table_parse(&th_exec_welcome_table, th_json_root(doc), &arena, &m.welcome,
				      &err);
		assert(!code);
		on_welcome(c, &m.welcome);
	} else if (op == TH_EXEC_OP_FINISHED) {
		code = th_table_parse(&th_exec_finished_table, th_json_root(doc), &arena,
				      &m.finished, &err);
		assert(!code);
		on_finished(c, &m.finished, attachment);
	} else if (op == TH_EXEC_OP_ERROR) {
		code =
		    th_table_parse(&th_exec_error_table, th_json_root(doc), &arena, &m.error, &err);
		assert(!code);
		on_error(c, &m.error);
	}
	th_arena_deinit(&arena);
	th_json_free(doc);
}

/* ---- steps ---- */

static bool wants_connection(const struct th_sim_client *c)
{
	return !c->conn && !c->fenced && (!c->told || c->calls);
}

bool th_sim_client_ready(const struct th_sim_client *c, int64_t *due_ms)
{
	if (c->conn)
		return th_sim_conn_waiting(c->conn);
	if (c->fenced)
		return c->calls != NULL;
	if (!wants_connection(c))
		return false;
	if (c->due_ms <= c->world.now_ms(c->world.ctx))
		return true;
	*due_ms = TH_MIN(*due_ms, c->due_ms);
	return false;
}

static void hello(struct th_sim_client *c)
{
	struct th_exec_hello m = {
		.op = TH_STR("hello"),
		.session = th_str_of(c->session_id),
		.epoch = c->world.guest ? 0 : c->epoch,
		.build = TH_STR("sim"),
	};

	send_head(c, &th_exec_hello_table, &m);
}

void th_sim_client_step(struct th_sim_client *c)
{
	struct th_buf head = TH_BUF_INIT(TH_FRAME_JSON_MAX), attachment = TH_BUF_INIT(TH_MIB);

	if (c->fenced && c->calls) {
		struct call *call = call_take(c, c->calls->id);

		finish(c, call,
		       call->again || call->settle ? TH_OUTCOME_UNKNOWN : TH_OUTCOME_NOT_STARTED,
		       TH_STR("\"a newer owner has the session\""));
	} else if (!c->conn) {
		c->conn = c->world.connect(c->world.ctx, c->session);
		if (c->conn)
			hello(c);
		else
			c->due_ms = c->world.now_ms(c->world.ctx) + RETRY_MS;
	} else if (th_sim_conn_take(c->conn, &head, &attachment)) {
		on_message(c, th_buf_str(&head), th_buf_str(&attachment));
	} else {
		lose_connection(c);
	}
	th_buf_deinit(&head);
	th_buf_deinit(&attachment);
}
