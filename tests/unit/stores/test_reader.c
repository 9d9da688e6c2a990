/* SPDX-License-Identifier: Apache-2.0 */
/* Reads beside the loop: order, pieces, parts, cancelling, and the end of a reader. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../store/lab.h"
#include "base/limits.h"
#include "io/files.h"
#include "stores/reader.h"

static struct th_err err;
static char folder[] = "/tmp/thole-reader-XXXXXX";

static int setup(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return th_dir_remove(folder, &err) == TH_OK ? 0 : -1;
}

/* A store with one log of `events` events, and a reader of it. */
struct bench {
	struct th_loop *loop;
	struct th_store *store;
	struct th_reader *reader;
	char url[128];
	struct lab_log log;
};

static void bench_open(struct bench *b, bool memory, size_t events)
{
	static int number;

	memset(b, 0, sizeof(*b));
	if (memory)
		snprintf(b->url, sizeof(b->url), "memory:reader%d", ++number);
	else
		snprintf(b->url, sizeof(b->url), "sqlite:%s/s", folder);
	assert_int_equal(th_loop_new(&b->loop, &err), TH_OK);
	b->store = lab_open(b->url, b->loop);
	b->reader = th_reader_new(b->loop, b->store, th_str_of(b->url));
	assert_non_null(b->reader);
	lab_log_init(&b->log, "s");
	for (size_t left = events, count; left > 0; left -= count) {
		count = TH_MIN(left, (size_t)LAB_EVENTS_MAX);
		assert_int_equal(lab_append_now(b->store, &b->log, count), TH_OK);
	}
}

static void bench_close(struct bench *b)
{
	b->reader = th_reader_free(b->reader);
	th_store_close(b->store);
	th_loop_free(b->loop);
	if (b->url[0] == 's')
		unlink(b->url + 7);
}

/* ---- a job that reads all of a log, piece by piece ---- */

struct scan {
	struct th_read job;
	struct th_log_read log;
	const char *id;
	struct th_reader *reader;
	struct th_loop *loop;
	pthread_t ran_on;
	uint64_t last;
	size_t pieces, most, done, dropped;
	enum th_code code;
	size_t grow; /* bytes that each event counts for */
	size_t cancel_at;
	struct scan *other; /* to be asked once this one has a piece */
	const struct scan *beside;
	size_t pieces_beside; /* that this one had when the read was over */
};

static enum th_code scan_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *e)
{
	struct scan *s = ctx;

	(void)digest;
	(void)e;
	assert_int_equal(ev->seq, s->last + 1);
	s->last = ev->seq;
	s->log.bytes += s->grow;
	return TH_OK;
}

static enum th_code scan_run(struct th_read *job, struct th_store *store, struct th_err *e)
{
	struct scan *s = TH_CONTAINER_OF(job, struct scan, job);

	s->ran_on = pthread_self();
	return th_log_read_next(&s->log, store, th_str_of(s->id), e);
}

static void scan_done(struct th_read *job, enum th_code code, const struct th_err *e)
{
	struct scan *s = TH_CONTAINER_OF(job, struct scan, job);

	assert_true((code == TH_OK) == (e == NULL));
	s->code = code;
	s->done++;
	s->pieces++;
	s->most = TH_MAX(s->most, s->log.count);
	if (s->other) {
		struct scan *other = s->other;

		s->other = NULL;
		assert_int_equal(th_reader_ask(s->reader, &other->job, &err), TH_OK);
	}
	if (code || s->log.over) {
		s->pieces_beside = s->beside ? s->beside->pieces : 0;
		return;
	}
	assert_int_equal(th_reader_ask(s->reader, job, &err), TH_OK);
	if (s->cancel_at == s->pieces)
		th_reader_cancel(job);
}

static void scan_drop(struct th_read *job)
{
	TH_CONTAINER_OF(job, struct scan, job)->dropped++;
}

static struct scan scan_of(struct bench *b, const char *id)
{
	return (struct scan){
		.job = { .run = scan_run, .done = scan_done, .drop = scan_drop },
		.log = { .next = 1, .take = scan_event },
		.id = id,
		.reader = b->reader,
		.loop = b->loop,
	};
}

static void scan_begin(struct scan *s)
{
	s->log.ctx = s;
	assert_int_equal(th_reader_ask(s->reader, &s->job, &err), TH_OK);
}

/* The whole log in bounded pieces, on another thread where the store can be opened twice. */
static void in_pieces(bool memory)
{
	const size_t events = 2 * TH_READ_PIECE_EVENTS + 3;
	struct bench b;
	struct scan s, by_size, none, part;

	bench_open(&b, memory, events);
	s = scan_of(&b, "s");
	scan_begin(&s);
	assert_int_equal(s.done, 0); /* never from inside */
	th_loop_run(b.loop);
	assert_int_equal(s.code, TH_OK);
	assert_int_equal(s.last, events);
	assert_int_equal(s.pieces, 3);
	assert_int_equal(s.most, TH_READ_PIECE_EVENTS);
	assert_int_equal(pthread_equal(s.ran_on, pthread_self()) != 0, memory);

	by_size = scan_of(&b, "s"); /* three events are a piece */
	by_size.grow = TH_READ_PIECE_BYTES / 3 + 1;
	scan_begin(&by_size);
	th_loop_run(b.loop);
	assert_int_equal(by_size.code, TH_OK);
	assert_int_equal(by_size.last, events);
	assert_int_equal(by_size.most, 3);

	part = scan_of(&b, "s");
	part.log.next = TH_READ_PIECE_EVENTS;
	part.log.to = 2 * TH_READ_PIECE_EVENTS - 1; /* exactly a piece */
	part.last = TH_READ_PIECE_EVENTS - 1;
	scan_begin(&part);
	th_loop_run(b.loop);
	assert_int_equal(part.last, 2 * TH_READ_PIECE_EVENTS - 1);
	assert_int_equal(part.pieces, 1);

	none = scan_of(&b, "nobody");
	scan_begin(&none);
	th_loop_run(b.loop);
	assert_int_equal(none.code, TH_ENOENT);
	bench_close(&b);
}

static void in_pieces_sqlite(void **state)
{
	(void)state;
	in_pieces(false);
}

static void in_pieces_memory(void **state)
{
	(void)state;
	in_pieces(true);
}

/* A short read that is asked while a long log is read does not wait for its end. */
static void takes_turns(void **state)
{
	struct bench b;
	struct scan lengthy, brief;

	(void)state;
	bench_open(&b, false, 4 * TH_READ_PIECE_EVENTS);
	lengthy = scan_of(&b, "s");
	brief = scan_of(&b, "s");
	brief.log.ctx = &brief;
	brief.log.to = 1;
	lengthy.other = &brief;
	scan_begin(&lengthy);
	brief.beside = &lengthy;
	th_loop_run(b.loop);
	assert_int_equal(brief.done, 1);
	assert_int_equal(brief.pieces_beside, 1);
	assert_int_equal(lengthy.last, 4 * TH_READ_PIECE_EVENTS);
	bench_close(&b);
}

struct commit {
	struct bench *b;
	struct scan *scan;
};

static void committed(void *ctx, struct th_batch *batch, enum th_code code,
		      const struct th_err *why)
{
	struct commit *c = ctx;

	(void)batch;
	(void)why;
	assert_int_equal(code, TH_OK);
	scan_begin(c->scan);
}

/* What was committed before the question is seen. */
static void reads_what_was_written(void **state)
{
	static struct lab_append room;
	struct th_append a;
	struct th_batch batch = { .appends = &a, .append_count = 1 };
	struct bench b;
	struct scan first, s;
	struct commit c = { &b, &s };

	(void)state;
	bench_open(&b, false, 1);
	first = scan_of(&b, "s"); /* the thread has its handle */
	scan_begin(&first);
	th_loop_run(b.loop);
	for (size_t i = 0; i < 20; i++) {
		s = scan_of(&b, "s");
		lab_make(&b.log, 3, &room, &a);
		b.store->kind->commit(b.store, &batch, committed, &c);
		th_loop_run(b.loop);
		lab_done(&b.log, &a);
		assert_int_equal(s.last, b.log.seq);
	}
	bench_close(&b);
}

/* ---- parts ---- */

struct parts {
	struct th_read job;
	struct th_reader *reader;
	size_t made, seen, cancel_at, done, dropped;
	enum th_code last, code;
};

static enum th_code parts_run(struct th_read *job, struct th_store *store, struct th_err *e)
{
	struct parts *p = TH_CONTAINER_OF(job, struct parts, job);

	(void)store;
	p->last = TH_OK;
	for (size_t i = 0; i < 10 && !p->last; i++) {
		assert_int_equal(p->seen, p->made); /* at most one is under way */
		p->made++;
		p->last = th_read_give(job, e);
	}
	return p->last;
}

static void parts_part(struct th_read *job)
{
	struct parts *p = TH_CONTAINER_OF(job, struct parts, job);

	p->seen++;
	assert_int_equal(p->seen, p->made);
	if (p->seen == p->cancel_at)
		th_reader_cancel(job);
}

static void parts_done(struct th_read *job, enum th_code code, const struct th_err *e)
{
	struct parts *p = TH_CONTAINER_OF(job, struct parts, job);

	(void)e;
	p->code = code;
	p->done++;
}

static void parts_drop(struct th_read *job)
{
	TH_CONTAINER_OF(job, struct parts, job)->dropped++;
}

static const struct th_read parts_job = {
	.run = parts_run, .part = parts_part, .done = parts_done, .drop = parts_drop
};

static void gives_parts(bool memory)
{
	struct bench b;
	struct parts all = { .job = parts_job }, some = { .job = parts_job, .cancel_at = 3 };

	bench_open(&b, memory, 1);
	assert_int_equal(th_reader_ask(b.reader, &all.job, &err), TH_OK);
	th_loop_run(b.loop);
	assert_int_equal(all.seen, 10);
	assert_int_equal(all.done, 1);
	assert_int_equal(all.code, TH_OK);
	assert_int_equal(th_reader_ask(b.reader, &some.job, &err), TH_OK);
	th_loop_run(b.loop);
	assert_int_equal(some.seen, 3);
	assert_int_equal(some.last, TH_ECANCELED);
	assert_int_equal(some.done, 0);
	assert_int_equal(some.dropped, 1);
	bench_close(&b);
}

static void gives_parts_sqlite(void **state)
{
	(void)state;
	gives_parts(false);
}

static void gives_parts_memory(void **state)
{
	(void)state;
	gives_parts(true);
}

/* ---- cancelling, the end, the edge ---- */

static void cancelled(bool memory)
{
	struct bench b;
	struct scan s, at_once;

	bench_open(&b, memory, 4 * TH_READ_PIECE_EVENTS);
	s = scan_of(&b, "s");
	s.cancel_at = 2;
	scan_begin(&s);
	at_once = scan_of(&b, "s");
	scan_begin(&at_once);
	th_reader_cancel(&at_once.job);
	th_loop_run(b.loop);
	assert_int_equal(s.pieces, 2);
	assert_int_equal(s.dropped, 1);
	assert_int_equal(at_once.done, 0);
	assert_int_equal(at_once.dropped, 1);
	bench_close(&b);
}

static void cancelled_sqlite(void **state)
{
	(void)state;
	cancelled(false);
}

static void cancelled_memory(void **state)
{
	(void)state;
	cancelled(true);
}

/* A reader that ends drops what runs, what waits for its part to be taken, and what was asked. */
static void ends_with_work(void **state)
{
	struct bench b;
	struct scan s[3];
	struct parts p = { .job = parts_job };

	(void)state;
	for (int i = 0; i < 20; i++) {
		bench_open(&b, false, TH_READ_PIECE_EVENTS);
		p = (struct parts){ .job = parts_job };
		assert_int_equal(th_reader_ask(b.reader, &p.job, &err), TH_OK);
		for (size_t k = 0; k < TH_COUNT(s); k++) {
			s[k] = scan_of(&b, "s");
			scan_begin(&s[k]);
		}
		if (i % 2)
			th_loop_pass(b.loop);
		b.reader = th_reader_free(b.reader);
		assert_int_equal(p.done + p.dropped, 1);
		for (size_t k = 0; k < TH_COUNT(s); k++)
			assert_int_equal(s[k].dropped, 1);
		bench_close(&b);
	}
}

static void at_most_so_many(void **state)
{
	struct parts *p = calloc(TH_READS_MAX + 2, sizeof(*p));
	struct bench b;

	(void)state;
	assert_non_null(p);
	bench_open(&b, true, 1);
	for (size_t i = 0; i <= TH_READS_MAX; i++) {
		p[i].job = parts_job;
		p[i].cancel_at = 1;
		assert_int_equal(th_reader_ask(b.reader, &p[i].job, &err),
				 i < TH_READS_MAX ? TH_OK : TH_EBUSY);
	}
	p[TH_READS_MAX].job.goes_on = true;
	assert_int_equal(th_reader_ask(b.reader, &p[TH_READS_MAX].job, &err), TH_OK);
	/* One that goes on takes the place of none, and makes none. */
	p[TH_READS_MAX + 1].job = parts_job;
	p[TH_READS_MAX + 1].cancel_at = 1;
	assert_int_equal(th_reader_ask(b.reader, &p[TH_READS_MAX + 1].job, &err), TH_EBUSY);
	th_loop_run(b.loop);
	assert_int_equal(p[TH_READS_MAX - 1].dropped, 1);
	assert_int_equal(p[TH_READS_MAX].dropped, 1);
	assert_int_equal(th_reader_ask(b.reader, &p[TH_READS_MAX + 1].job, &err), TH_OK);
	th_loop_run(b.loop);
	free(p);
	bench_close(&b);
}

/* Where the store cannot be opened once more the loop's own handle does. */
static void without_a_second_handle(void **state)
{
	struct bench b;
	struct scan s;
	char moved[64];

	(void)state;
	bench_open(&b, false, 2 * TH_READ_PIECE_EVENTS);
	snprintf(moved, sizeof(moved), "%s/s.moved", folder);
	assert_int_equal(rename(b.url + 7, moved), 0);
	s = scan_of(&b, "s");
	scan_begin(&s);
	th_loop_run(b.loop);
	assert_int_equal(s.code, TH_OK);
	assert_int_equal(s.last, 2 * TH_READ_PIECE_EVENTS);
	assert_true(pthread_equal(s.ran_on, pthread_self()));
	assert_int_equal(rename(moved, b.url + 7), 0);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_pieces_sqlite),
		cmocka_unit_test(in_pieces_memory),
		cmocka_unit_test(takes_turns),
		cmocka_unit_test(reads_what_was_written),
		cmocka_unit_test(gives_parts_sqlite),
		cmocka_unit_test(gives_parts_memory),
		cmocka_unit_test(cancelled_sqlite),
		cmocka_unit_test(cancelled_memory),
		cmocka_unit_test(ends_with_work),
		cmocka_unit_test(at_most_so_many),
		cmocka_unit_test(without_a_second_handle),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
