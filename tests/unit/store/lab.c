/* SPDX-License-Identifier: Apache-2.0 */
#include "lab.h"

#include <stdio.h>
#include <stdlib.h>

struct th_err lab_err;
#define err lab_err

static void copy_id(char out[static TH_SESSION_ID_MAX + 8], const char *id)
{
	assert_true(strlen(id) < TH_SESSION_ID_MAX + 8);
	strcpy(out, id);
}

void lab_log_init(struct lab_log *log, const char *id)
{
	*log = (struct lab_log){ .epoch = 1 };
	copy_id(log->id, id);
}

void lab_log_fork(struct lab_log *log, const char *id, const struct lab_log *parent, uint64_t seq)
{
	lab_log_init(log, id);
	copy_id(log->parent, parent->id);
	log->parent_seq = log->seq = seq;
	log->head = parent->at[seq];
	memcpy(log->at, parent->at, sizeof(log->at));
}

void lab_rechain(const struct lab_log *log, struct lab_append *a, struct th_append *ret)
{
	const struct th_digest *before = &log->head;

	for (size_t i = 0; i < ret->event_count; i++) {
		a->digests[i] = th_event_digest(before, th_str_of(log->id), &a->events[i]);
		before = &a->digests[i];
	}
	a->row.head = *before;
}

static struct th_event event_at(const struct lab_log *log, uint64_t seq, char *data, size_t size)
{
	uint64_t mixed = seq * 0x9e3779b97f4a7c15u;
	bool forked = log->parent[0] && seq == log->parent_seq + 1;
	struct th_event ev = {
		.seq = seq,
		.ts_ms = 1700000000000 + (int64_t)seq,
		.source = (enum th_source)(mixed % TH_SOURCE_COUNT),
		.kind = seq == 1 ? TH_EV_SESSION_CREATED
			: forked ? TH_EV_SESSION_FORKED
				 : TH_EV_MESSAGE,
		.cause = seq - 1,
		.call = seq % 3 ? TH_STR("") : TH_STR("call_1"),
		.build = TH_STR("0.1.0"),
	};

	memcpy(ev.id.bytes, &mixed, sizeof(mixed));
	snprintf(data, size, "{\"role\":\"user\",\"content\":\"%s: %llu\"}", "said",
		 (unsigned long long)mixed);
	ev.data = th_str_of(data);
	return ev;
}

/* It changes now and then only, as that of a session does. */
static void title_at(uint64_t seq, char *ret, size_t size)
{
	snprintf(ret, size, "part %llu", (unsigned long long)seq / 16);
}

void lab_make(const struct lab_log *log, size_t count, struct lab_append *a, struct th_append *ret)
{
	assert_true(count <= LAB_EVENTS_MAX);
	for (size_t i = 0; i < count; i++)
		a->events[i] = event_at(log, log->seq + 1 + i, a->data[i], sizeof(a->data[i]));
	title_at(log->seq + count, a->title, sizeof(a->title));
	a->row = (struct th_session_row){
		.session_id = th_str_of(log->id),
		.user = TH_STR("anna"),
		.agent = TH_STR("default"),
		.model = TH_STR("scripted"),
		.state = (log->seq + count) % 2 ? TH_STR("running") : TH_STR("waiting"),
		.title = th_str_of(a->title),
		.parent = th_str_of(log->parent),
		.parent_seq = log->parent_seq,
		.head_seq = log->seq + count,
		.iteration = (int64_t)(log->seq + count) / 2,
		.calls = 3,
		.tokens_in = -1,
		.tokens_out = INT64_MAX,
		.cost_nano = INT64_MIN,
		.epoch = log->epoch,
		.created_ms = 1700000000001,
		.updated_ms = 1700000000000 + (int64_t)(log->seq + count),
		.metadata = TH_STR("{\"a\":1}"),
	};
	*ret = (struct th_append){
		.create = !log->stored,
		.row = &a->row,
		.seq_before = log->seq,
		.head_before = log->head,
		.events = a->events,
		.digests = a->digests,
		.event_count = count,
		.result = TH_EPROTO,
	};
	lab_rechain(log, a, ret);
}

void lab_done(struct lab_log *log, const struct th_append *a)
{
	assert_int_equal(a->result, TH_OK);
	assert_int_equal(a->seq_before, log->seq);
	for (size_t i = 0; i < a->event_count; i++) {
		if (a->events[i].seq < TH_COUNT(log->at))
			log->at[a->events[i].seq] = a->digests[i];
	}
	log->seq += a->event_count;
	if (a->event_count > 0)
		log->head = a->digests[a->event_count - 1];
	log->stored = true;
}

enum th_code lab_append_now(struct th_store *s, struct lab_log *log, size_t count)
{
	struct lab_append *a = th_alloc(sizeof(*a));
	struct th_append append;
	struct th_batch batch = { .appends = &append, .append_count = 1 };
	enum th_code code;

	lab_make(log, count, a, &append);
	err.msg[0] = 0;
	code = s->kind->commit_now(s, &batch, &err);
	if (code == TH_OK)
		code = append.result;
	else
		assert_true(err.msg[0] && append.result == code);
	if (code == TH_OK)
		lab_done(log, &append);
	free(a);
	return code;
}

struct checking {
	const struct lab_log *log;
	uint64_t seq;
};

static enum th_code check_event(void *ctx, const struct th_event *ev,
				const struct th_digest *digest, struct th_err *unused)
{
	struct checking *c = ctx;
	char data[128];
	struct th_event expected;

	(void)unused;
	c->seq++;
	expected = event_at(c->log, c->seq, data, sizeof(data));
	assert_int_equal(ev->seq, c->seq);
	assert_int_equal(ev->ts_ms, expected.ts_ms);
	assert_memory_equal(ev->id.bytes, expected.id.bytes, sizeof(ev->id.bytes));
	assert_int_equal(ev->source, expected.source);
	assert_int_equal(ev->cause, expected.cause);
	assert_true(th_str_eq(ev->call, expected.call));
	assert_true(th_str_eq(ev->data, expected.data));
	assert_true(th_str_eq(ev->build, expected.build));
	if (c->seq > c->log->parent_seq)
		assert_int_equal(ev->kind, expected.kind);
	if (c->seq < TH_COUNT(c->log->at))
		assert_true(th_digest_eq(digest, &c->log->at[c->seq]));
	return TH_OK;
}

void lab_check(struct th_store *s, const struct lab_log *log)
{
	struct checking c = { .log = log };
	char title[64];
	struct th_session_row row;
	struct th_arena arena;
	enum th_code code;
	th_arena_init(&arena, TH_MIB);
	code = s->kind->get(s, th_str_of(log->id), &arena, &row, &err);
	if (!log->stored) {
		assert_int_equal(code, TH_ENOENT);
		th_arena_deinit(&arena);
		return;
	}
	assert_int_equal(code, TH_OK);
	assert_true(th_str_is(row.session_id, log->id));
	assert_true(th_str_is(row.user, "anna") && th_str_is(row.agent, "default"));
	assert_true(th_str_is(row.model, "scripted") && th_str_is(row.metadata, "{\"a\":1}"));
	assert_true(th_str_is(row.state, log->seq % 2 ? "running" : "waiting"));
	title_at(log->seq, title, sizeof(title));
	assert_true(th_str_is(row.title, title));
	assert_true(th_str_is(row.parent, log->parent));
	assert_int_equal(row.parent_seq, log->parent_seq);
	assert_int_equal(row.head_seq, log->seq);
	assert_true(th_digest_eq(&row.head, &log->head));
	assert_int_equal(row.iteration, log->seq / 2);
	assert_int_equal(row.calls, 3);
	assert_true(row.tokens_in == -1 && row.tokens_out == INT64_MAX);
	assert_true(row.cost_nano == INT64_MIN);
	assert_int_equal(row.updated_ms, 1700000000000 + (int64_t)log->seq);
	assert_int_equal(s->kind->read(s, th_str_of(log->id), 1, 0, check_event, &c, &err), TH_OK);
	assert_int_equal(c.seq, log->seq);
	th_arena_deinit(&arena);
}

void lab_verify(struct th_store *s)
{
	struct th_verify_report r;

	assert_int_equal(s->kind->verify(s, TH_STR(""), &r, &err), TH_OK);
	if (r.bad)
		fail_msg("%s: %s: %s", r.table, r.key, r.what);
}

struct th_store *lab_open(const char *url, struct th_loop *loop)
{
	struct th_store_options options = { .loop = loop, .create = true };
	struct th_store *s = NULL;

	if (th_store_open(th_str_of(url), &options, &s, &err) != TH_OK)
		fail_msg("%s: %s", url, err.msg);
	return s;
}
