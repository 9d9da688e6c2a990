/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suite.c - what every kind of store must do.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lab.h"
#include "store/search.h"

const struct lab_kind *lab_kind;
static struct th_err err;

void lab_written_and_read(void **state)
{
	const char *url = lab_kind->fresh();
	struct th_store *s = lab_open(url, NULL);
	static struct lab_log a, b;

	(void)state;
	lab_log_init(&a, "a1");
	lab_log_init(&b, "b1");
	lab_check(s, &a);
	for (size_t i = 1; i < 20; i++) {
		assert_int_equal(lab_append_now(s, &a, i), TH_OK);
		assert_int_equal(lab_append_now(s, &b, 1), TH_OK);
		lab_check(s, &a);
		lab_check(s, &b);
	}
	lab_verify(s);
	th_store_close(s);
}

struct listing {
	char ids[64][32];
	size_t count, stop_at;
};

static enum th_code list_one(void *ctx, const struct th_session_row *row, struct th_err *ret)
{
	struct listing *l = ctx;

	snprintf(l->ids[l->count++], 32, "%.*s", TH_FMT(row->session_id));
	return l->stop_at == l->count ? th_fail(ret, TH_ECANCELED, "enough") : TH_OK;
}

static size_t list(struct th_store *s, struct th_session_filter filter, struct listing *l)
{
	*l = (struct listing){};
	assert_int_equal(s->kind->list(s, &filter, list_one, l, &err), TH_OK);
	return l->count;
}

void lab_listed(void **state)
{
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);
	static struct lab_log logs[10];
	struct listing l;

	(void)state;
	assert_int_equal(list(s, (struct th_session_filter){}, &l), 0);
	for (size_t i = 0; i < 10; i++) {
		char id[32];

		snprintf(id, sizeof(id), "%s-%zu", i % 3 ? "job" : "test", i);
		lab_log_init(&logs[i], id);
		assert_int_equal(lab_append_now(s, &logs[i], 10 - i), TH_OK); /* updated_ms */
	}
	assert_int_equal(list(s, (struct th_session_filter){}, &l), 10);
	for (size_t i = 0; i < 10; i++)
		assert_string_equal(l.ids[i], logs[i].id); /* newest first */
	assert_int_equal(list(s, (struct th_session_filter){ .prefix = TH_STR("test") }, &l), 4);
	assert_string_equal(l.ids[3], "test-9");
	assert_int_equal(list(s, (struct th_session_filter){ .state = TH_STR("running") }, &l), 5);
	assert_int_equal(list(s, (struct th_session_filter){ .user = TH_STR("anna") }, &l), 10);
	assert_int_equal(list(s, (struct th_session_filter){ .user = TH_STR("ann") }, &l), 0);
	assert_int_equal(list(s, (struct th_session_filter){ .limit = 3 }, &l), 3);
	assert_int_equal(list(s, (struct th_session_filter){ .limit = 10 }, &l), 10);
	assert_int_equal(
	    list(s, (struct th_session_filter){ .prefix = TH_STR("job"), .limit = 2 }, &l), 2);
	assert_string_equal(l.ids[1], "job-2");
	l = (struct listing){ .stop_at = 2 };
	assert_int_equal(s->kind->list(s, &(struct th_session_filter){}, list_one, &l, &err),
			 TH_ECANCELED);
	assert_int_equal(l.count, 2);
	th_store_close(s);
}

/* More events of session i of a list; rows that differ in all that a list can ask for. */
static void page_append(struct th_store *s, struct lab_log *log, size_t i, size_t count)
{
	static const struct th_str users[] = { TH_STR_INIT("anna"), TH_STR_INIT("berta") };
	static struct lab_append a;
	struct th_append append;
	struct th_batch batch = { .appends = &append, .append_count = 1 };
	char metadata[64];

	lab_make(log, count, &a, &append);
	snprintf(metadata, sizeof(metadata), "{\"n\":%zu,\"team\":\"%s\"}", i % 3,
		 i % 4 ? "red \\u0062lue" : "green");
	a.row.created_ms = 1700000000000 - (int64_t)(i / 2);
	a.row.user = users[i % 2];
	a.row.agent = i % 3 == 2 ? TH_STR("scribe") : TH_STR("scribe two");
	a.row.metadata = th_str_of(metadata);
	a.row.title = i % 5 ? TH_STR("Write the Report") : TH_STR("Nothing");
	assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
	assert_int_equal(append.result, TH_OK);
	lab_done(log, &append);
}

struct page {
	struct listing l;
	enum th_list_order order;
	struct th_buf cursor; /* of the last row */
};

static enum th_code page_one(void *ctx, const struct th_session_row *row, struct th_err *ret)
{
	struct page *p = ctx;

	th_buf_clear(&p->cursor);
	th_cursor_print(p->order, row, &p->cursor);
	return list_one(&p->l, row, ret);
}

/* All pages of a list, of `size` rows; an append to a session between them. */
static size_t walk(struct th_store *s, struct th_session_filter f, size_t size, struct listing *ret,
		   struct lab_log *busy, size_t busy_index)
{
	struct page p = { .order = f.order, .cursor = TH_BUF_INIT(TH_KIB) };
	char cursor[TH_KIB];

	f.limit = size;
	for (;;) {
		size_t before = p.l.count;

		assert_int_equal(s->kind->list(s, &f, page_one, &p, &err), TH_OK);
		assert_true(p.l.count - before <= size);
		if (p.l.count == before)
			break;
		snprintf(cursor, sizeof(cursor), "%s", p.cursor.ptr);
		assert_int_equal(th_cursor_parse(th_str_of(cursor), &f, &err), TH_OK);
		assert_int_equal(f.order, p.order);
		if (busy)
			page_append(s, busy, busy_index, 1);
	}
	th_buf_deinit(&p.cursor);
	*ret = p.l;
	return p.l.count;
}

void lab_paged(void **state)
{
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);
	static struct lab_log logs[20];
	struct listing all, pages;

	(void)state;
	for (size_t i = 0; i < 20; i++) {
		char id[32];

		snprintf(id, sizeof(id), "%c-%zu", (char)('a' + (i * 7) % 20), i);
		lab_log_init(&logs[i], id);
		page_append(s, &logs[i], i, 1 + i * 5 % 7);
		if (i % 3 == 0) /* of which `recent` knows */
			page_append(s, &logs[i], i, 2);
	}
	for (enum th_list_order order = TH_LIST_UPDATED; order <= TH_LIST_CREATED; order++) {
		struct th_session_filter f = { .order = order };

		assert_int_equal(list(s, f, &all), 20);
		for (size_t size = 1; size <= 21; size += 4) {
			assert_int_equal(walk(s, f, size, &pages, NULL, 0), 20);
			assert_memory_equal(pages.ids, all.ids, sizeof(all.ids));
		}
	}
	assert_string_equal(all.ids[0], "a-0"); /* two began in each millisecond */
	assert_string_equal(all.ids[1], "h-1");
	/* Each once, though some go on meanwhile. */
	for (size_t i = 0; i < 20; i++) {
		struct th_session_filter f = { .order = TH_LIST_CREATED };

		assert_int_equal(walk(s, f, 3, &pages, &logs[i], i), 20);
		assert_memory_equal(pages.ids, all.ids, sizeof(all.ids));
	}
	th_store_close(s);
}

struct page_filter {
	struct th_session_filter f;
	bool (*takes)(size_t i);
};

static bool is_berta(size_t i)
{
	return i % 2 == 1;
}

static bool is_report(size_t i)
{
	return i % 5 != 0;
}

static bool is_blue(size_t i)
{
	return i % 4 != 0;
}

static bool is_two(size_t i)
{
	return i % 3 == 2;
}

static bool is_bertas_blue(size_t i)
{
	return is_berta(i) && is_blue(i);
}

static bool is_none(size_t i)
{
	return i > 20;
}

void lab_page_cursors(void **state)
{
	static const char *const wrong[] = { "",
					     "u",
					     "u1",
					     "c1.",
					     "x1.a",
					     "u1a.b",
					     "u.a",
					     "9223372036854775808.a",
					     "u ",
					     "u-.a ",
					     "u99999999999999999999.a" };
	const struct page_filter filters[] = {
		{ { .user = TH_STR("berta") }, is_berta },
		{ { .agent = TH_STR("scribe") }, is_two },
		{ { .agent = TH_STR("scrib") }, is_none },
		{ { .title = TH_STR("REPORT") }, is_report },
		{ { .title = TH_STR("Write the Report") }, is_report },
		{ { .title = TH_STR("Write the Report.") }, is_none },
		{ { .key = TH_STR("team"), .value = TH_STR("red blue") }, is_blue },
		{ { .key = TH_STR("n"), .value = TH_STR("2") }, is_two },
		{ { .key = TH_STR("m"), .value = TH_STR("2") }, is_none },
		{ { .user = TH_STR("berta"), .key = TH_STR("team"), .value = TH_STR("red blue") },
		  is_bertas_blue },
		{ { .user = TH_STR("carla") }, is_none },
	};
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);
	struct th_session_filter f = { 0 };
	static struct lab_log logs[20];
	struct listing pages;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(wrong); i++)
		assert_int_equal(th_cursor_parse(th_str_of(wrong[i]), &f, &err), TH_EUSAGE);
	assert_int_equal(th_cursor_parse(TH_STR("c-5.a.b"), &f, &err), TH_OK);
	assert_true(f.order == TH_LIST_CREATED && f.after.ms == -5 && th_str_is(f.after.id, "a.b"));
	for (size_t i = 0; i < 20; i++) {
		char id[32];

		snprintf(id, sizeof(id), "s-%zu", i);
		lab_log_init(&logs[i], id);
		page_append(s, &logs[i], i, 1 + i % 2);
		page_append(s, &logs[i], i, 1);
	}
	for (size_t k = 0; k < TH_COUNT(filters) * 2; k++) {
		struct page_filter one = filters[k / 2];
		size_t wanted = 0, got;

		one.f.order = k % 2 ? TH_LIST_CREATED : TH_LIST_UPDATED;
		got = walk(s, one.f, 4, &pages, NULL, 0);
		for (size_t i = 0; i < 20; i++)
			wanted += one.takes(i);
		assert_int_equal(got, wanted);
		for (size_t i = 0; i < got; i++)
			assert_true(one.takes((size_t)atoi(pages.ids[i] + 2)));
	}
	/* Those that wait have an index of their own; a row and what is newer may differ. */
	for (int round = 0; round < 3; round++) {
		size_t wanted = 0;

		for (size_t i = 0; i < 20; i++) {
			if (i % 3 == (size_t)round)
				page_append(s, &logs[i], i, 1);
			wanted += logs[i].seq % 2 == 0;
		}
		f = (struct th_session_filter){ .state = TH_STR("waiting"),
						.order = TH_LIST_CREATED };
		assert_int_equal(walk(s, f, 3, &pages, NULL, 0), wanted);
		f.order = TH_LIST_UPDATED;
		assert_int_equal(walk(s, f, 3, &pages, NULL, 0), wanted);
	}
	th_store_close(s);
}

static struct th_blob blob_of(struct th_str bytes)
{
	return (struct th_blob){ th_sha256_of(bytes.ptr, bytes.len), TH_STR("text/plain"), bytes };
}

void lab_blobs_once(void **state)
{
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);
	struct th_blob blobs[] = { blob_of(TH_STR("one")), blob_of(TH_STR("two")),
				   blob_of(TH_STR("one")), blob_of(TH_STR("")) };
	struct th_batch batch = { .blobs = blobs, .blob_count = 4 };
	struct th_digest other = th_sha256_of("three", 5);
	struct th_buf out = TH_BUF_INIT(TH_KIB);
	struct th_verify_report r;

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
	th_buf_add(&out, TH_STR("<"));
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(s->kind->blob(s, &blobs[i].hash, &out, &err), TH_OK);
	assert_string_equal(out.ptr, "<onetwoone");
	assert_int_equal(s->kind->blob(s, &other, &out, &err), TH_ENOENT);
	th_buf_deinit(&out);
	out = (struct th_buf)TH_BUF_INIT(2);
	assert_int_equal(s->kind->blob(s, &blobs[0].hash, &out, &err), TH_ELIMIT);
	th_buf_deinit(&out);
	assert_int_equal(s->kind->verify(s, TH_STR(""), &r, &err), TH_OK);
	assert_false(r.bad);
	assert_int_equal(r.blobs, 3);
	th_store_close(s);
}

static enum th_code commit_one(struct th_store *s, struct th_append *a)
{
	struct th_batch batch = { .appends = a, .append_count = 1 };

	assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
	return a->result;
}

/* ---- removing ---- */

static void sweep_all(struct th_store *s)
{
	bool more = true;

	for (int i = 0; more; i++) {
		assert_true(i < 1000);
		assert_int_equal(s->kind->sweep(s, &more, &err), TH_OK);
	}
}

/* An event that names these blobs, in hexadecimal; each is stored with it. */
static void append_with(struct th_store *s, struct lab_log *log, const char *one, const char *two)
{
	static struct lab_append a;
	struct th_append append;
	struct th_blob blobs[] = { blob_of(th_str_of(one)), blob_of(th_str_of(two)) };
	struct th_batch batch = {
		.appends = &append, .append_count = 1, .blobs = blobs, .blob_count = 2
	};
	char hex[2][TH_SHA256_HEX_SIZE + 1], data[256];

	lab_make(log, 1, &a, &append);
	for (size_t i = 0; i < 2; i++)
		th_digest_hex(&blobs[i].hash, hex[i]);
	snprintf(data, sizeof(data), "{\"text\":\"{\\\"blob\\\":\\\"%s\\\"}\",\"blob\":\"%s\"}",
		 hex[0], hex[1]);
	a.events[0].data = th_str_of(data);
	lab_rechain(log, &a, &append);
	assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
	lab_done(log, &append);
}

static enum th_code blob_code(struct th_store *s, const char *text)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_digest hash = th_sha256_of(text, strlen(text));

	return s->kind->blob(s, &hash, &out, &err);
}

static void give_back(struct th_store *s, const struct lab_log *log)
{
	assert_int_equal(s->kind->release(s, th_str_of(log->id), log->epoch, &err), TH_OK);
}

static enum th_code event_any(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			      struct th_err *ret)
{
	(void)ctx;
	(void)ev;
	(void)digest;
	(void)ret;
	return TH_OK;
}

void lab_removed(void **state)
{
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);
	const struct th_str gone[] = { TH_STR_INIT("gone"), TH_STR_INIT("helper") };
	static struct lab_log log, helper, stays;
	struct th_session_row row;
	struct listing l;
	struct th_arena arena;

	(void)state;
	th_arena_init(&arena, TH_MIB);
	lab_log_init(&log, "gone");
	lab_log_init(&helper, "helper");
	lab_log_init(&stays, "stays");
	for (int i = 0; i < 3; i++) {
		append_with(s, &log, "only gone's", "both");
		append_with(s, &helper, "helper's", "both");
		append_with(s, &stays, "stays'", "both");
	}
	give_back(s, &log);
	give_back(s, &helper);
	assert_int_equal(s->kind->remove(s, gone, 2, &err), TH_OK);
	assert_int_equal(s->kind->get(s, gone[0], &arena, &row, &err), TH_ENOENT);
	assert_int_equal(s->kind->lease(s, gone[1], &arena, &row, &err), TH_ENOENT);
	assert_int_equal(s->kind->read(s, gone[0], 1, 0, event_any, NULL, &err), TH_ENOENT);
	assert_int_equal(list(s, (struct th_session_filter){}, &l), 1);
	lab_verify(s);
	sweep_all(s);
	lab_verify(s);
	assert_int_equal(blob_code(s, "only gone's"), TH_ENOENT);
	assert_int_equal(blob_code(s, "helper's"), TH_ENOENT);
	assert_int_equal(blob_code(s, "stays'"), TH_OK);
	assert_int_equal(blob_code(s, "both"), TH_OK);
	/* Who goes on is not disturbed, and a name can be had again. */
	append_with(s, &stays, "stays'", "more");
	lab_log_init(&log, "gone");
	append_with(s, &log, "only gone's", "both");
	append_with(s, &log, "only gone's", "both");
	lab_verify(s);
	give_back(s, &log);
	give_back(s, &stays);
	assert_int_equal(s->kind->remove(s, &gone[0], 1, &err), TH_OK);
	assert_int_equal(s->kind->remove(s, &(struct th_str){ "stays", 5 }, 1, &err), TH_OK);
	sweep_all(s);
	lab_verify(s);
	assert_int_equal(blob_code(s, "both"), TH_ENOENT);
	assert_int_equal(list(s, (struct th_session_filter){}, &l), 0);
	th_arena_deinit(&arena);
	th_store_close(s);
}

struct found {
	uint64_t seqs[TH_SEARCH_HITS_MAX];
	size_t count;
	char text[128];
};

static enum th_code note_found(void *ctx, uint64_t seq, struct th_str label, struct th_str text,
			       struct th_err *ret)
{
	struct found *f = ctx;

	(void)ret;
	assert_true(f->count < TH_SEARCH_HITS_MAX && th_str_is(label, "user"));
	f->seqs[f->count++] = seq;
	snprintf(f->text, sizeof(f->text), "%.*s", TH_FMT(text));
	return TH_OK;
}

static size_t search(struct th_store *s, const char *words, uint64_t event, struct found *f)
{
	const struct th_text_query q = { th_str_of(words), event, TH_SEARCH_HITS_MAX };

	*f = (struct found){ 0 };
	assert_int_equal(th_store_search(s, TH_STR("words"), &q, note_found, f, &err), TH_OK);
	return f->count;
}

/* By words, newest first, or by number; the newest events too, and those of another session of that
 * name never. */
void lab_words_found(void **state)
{
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);
	const struct th_str id = TH_STR("words");
	struct th_text_query q = { TH_STR(" ;\" "), 0, 1 };
	static struct lab_log log;
	struct th_buf many = TH_BUF_INIT(TH_KIB);
	struct found f;
	char words[128];

	(void)state;
	lab_log_init(&log, "words");
	for (int i = 0; i < 5; i++)
		assert_int_equal(lab_append_now(s, &log, 5), TH_OK);
	assert_int_equal(search(s, "SAID", 0, &f), TH_SEARCH_HITS_MAX);
	assert_int_equal(f.seqs[0], 25);
	assert_int_equal(f.seqs[19], 6);
	assert_int_equal(search(s, "", 7, &f), 1);
	assert_int_equal(f.seqs[0], 7);
	snprintf(words, sizeof(words), "%s", f.text);
	assert_int_equal(search(s, words, 0, &f), 1);
	assert_int_equal(f.seqs[0], 7);
	assert_int_equal(search(s, "said OR nothing", 0, &f), 0);
	assert_int_equal(search(s, "sai*", 0, &f), 0);
	assert_int_equal(search(s, "", 1, &f), 0);
	assert_int_equal(search(s, "", 99, &f), 0);
	assert_int_equal(th_store_search(s, id, &q, note_found, &f, &err), TH_EUSAGE);
	for (size_t i = 0; i < TH_SEARCH_WORDS_MAX; i++)
		th_buf_add_cstr(&many, "said ");
	q.words = th_buf_str(&many);
	f.count = 0;
	assert_int_equal(th_store_search(s, id, &q, note_found, &f, &err), TH_OK);
	th_buf_add_cstr(&many, "said");
	q.words = th_buf_str(&many);
	assert_int_equal(th_store_search(s, id, &q, note_found, &f, &err), TH_EUSAGE);
	assert_int_equal(lab_append_now(s, &log, 5), TH_OK);
	assert_int_equal(search(s, "said", 0, &f), TH_SEARCH_HITS_MAX);
	assert_int_equal(f.seqs[0], 30);
	give_back(s, &log);
	assert_int_equal(s->kind->remove(s, &id, 1, &err), TH_OK);
	lab_log_init(&log, "words");
	assert_int_equal(lab_append_now(s, &log, 5), TH_OK);
	assert_int_equal(search(s, words, 0, &f), 0);
	assert_int_equal(search(s, "said", 0, &f), 4);
	lab_verify(s);
	th_buf_deinit(&many);
	th_store_close(s);
}

void lab_remove_refused(void **state)
{
	const char *url = lab_kind->fresh();
	struct th_store *s = lab_open(url, NULL), *other = lab_open(url, NULL);
	const struct th_str a = TH_STR("a"), none = TH_STR("none");
	const struct th_str both[] = { a, TH_STR_INIT("f") };
	const struct th_str wrong[] = { a, none };
	static struct lab_log log, fork;

	(void)state;
	lab_log_init(&log, "a");
	assert_int_equal(lab_append_now(s, &log, 5), TH_OK);
	assert_int_equal(other->kind->remove(other, &a, 1, &err), TH_EBUSY);
	assert_true(strstr(err.msg, "session a is held by another runtime"));
	lab_log_fork(&fork, "f", &log, 3);
	assert_int_equal(lab_append_now(s, &fork, 2), TH_OK);
	give_back(s, &log);
	assert_int_equal(other->kind->remove(other, &a, 1, &err), TH_EBUSY);
	assert_true(strstr(err.msg, "session f, which was forked from it"));
	assert_int_equal(other->kind->remove(other, both, 2, &err), TH_EBUSY); /* f is held */
	assert_int_equal(s->kind->remove(s, wrong, 2, &err), TH_ENOENT);       /* all or none */
	assert_int_equal(s->kind->remove(s, &none, 1, &err), TH_ENOENT);
	assert_int_equal(s->kind->remove(s, &a, TH_REMOVE_SESSIONS_MAX + 1, &err), TH_ELIMIT);
	lab_check(s, &log);
	lab_check(s, &fork);
	assert_int_equal(s->kind->remove(s, both, 2, &err), TH_OK); /* f is its own */
	assert_int_equal(lab_append_now(s, &fork, 2), TH_ENOENT);
	sweep_all(s);
	lab_verify(s);
	th_store_close(other);
	th_store_close(s);
}

/* ---- what was used ---- */

struct usage {
	char text[1024];
};

static enum th_code add_usage(void *ctx, const struct th_usage_row *row, struct th_err *ret)
{
	struct usage *u = ctx;
	size_t len = strlen(u->text);

	(void)ret;
	snprintf(
	    u->text + len, sizeof(u->text) - len, "%lld%.*s%.*s%.*s:%lld,%lld,%lld,%lld,%lld,%lld ",
	    (long long)row->day, TH_FMT(row->user), TH_FMT(row->agent), TH_FMT(row->model),
	    (long long)row->sessions, (long long)row->turns, (long long)row->tokens_in,
	    (long long)row->tokens_cached, (long long)row->tokens_out, (long long)row->cost_nano);
	return TH_OK;
}

static void used_is(struct th_store *s, struct th_usage_filter f, const char *wanted)
{
	struct usage u = { "" };

	assert_int_equal(s->kind->usage(s, &f, add_usage, &u, &err), TH_OK);
	assert_string_equal(u.text, wanted);
}

struct using
{
	const char *user, *model, *metadata;
	int64_t day, turns, in, cached, out, cost;
};

static void use(struct th_store *s, struct lab_log *log, struct using u)
{
	static struct lab_append a;
	struct th_append append;

	lab_make(log, 1, &a, &append);
	a.row.user = th_str_of(u.user);
	a.row.model = th_str_of(u.model);
	a.row.metadata = th_str_of(u.metadata ? u.metadata : "{}");
	a.row.updated_ms = u.day * 86400000 + 5;
	a.row.iteration = u.turns;
	a.row.tokens_in = u.in;
	a.row.tokens_cached = u.cached;
	a.row.tokens_out = u.out;
	a.row.cost_nano = u.cost;
	assert_int_equal(commit_one(s, &append), TH_OK);
	lab_done(log, &append);
}

/* The sums of all rows, each at its day; they stay when the sessions are gone. */
void lab_used(void **state)
{
	const char *url = lab_kind->fresh();
	struct th_store *s = lab_open(url, NULL);
	static struct lab_log a, b, f, child;
	const struct th_str ids[] = { TH_STR_INIT("b"), TH_STR_INIT("f") };
	struct th_usage_filter by_day = { .by = TH_USAGE_BY_DAY };

	(void)state;
	lab_log_init(&a, "a");
	lab_log_init(&b, "b");
	lab_log_init(&child, "c");
	used_is(s, by_day, "");
	use(s, &a, (struct using){ "anna", "m1", NULL, 10, 0, 0, 0, 0, 0 });
	use(s, &b, (struct using){ "", "m1", NULL, 10, 0, 0, 0, 0, 0 });
	for (int64_t i = 1; i <= 5; i++)
		use(s, &a, (struct using){ "anna", "m1", NULL, 10, i, 100 * i, 10 * i, 5 * i, i });
	use(s, &b, (struct using){ "", "m1", NULL, 11, 1, 7, 0, 1, 1000 });
	/* Counted with the one that it works for. */
	use(s, &child,
	    (struct using){ "anna", "m2", "{\"delegated_by\":{\"session\":\"a\"}}", 10, 0, 0, 0, 0,
			    0 });
	use(s, &child,
	    (struct using){ "anna", "m2", "{\"delegated_by\":{\"session\":\"a\"}}", 10, 9, 9, 9, 9,
			    9 });
	used_is(s, by_day, "10:2,5,500,50,25,5 11:0,1,7,0,1,1000 ");
	/* What a fork has of its parent was used there; another model has its own line. */
	lab_log_fork(&f, "f", &b, 2);
	use(s, &f, (struct using){ "", "m1", NULL, 12, 1, 7, 0, 1, 1000 });
	use(s, &f, (struct using){ "", "m2", NULL, 12, 2, 8, 0, 1, 1000 });
	use(s, &f, (struct using){ "", "m2", NULL, 12, 3, 10, 0, 2, 1500 });
	used_is(s, by_day, "10:2,5,500,50,25,5 11:0,1,7,0,1,1000 12:1,2,3,0,1,500 ");
	used_is(s, (struct th_usage_filter){ .by = TH_USAGE_BY_USER },
		"0anna:1,5,500,50,25,5 0local:2,3,10,0,2,1500 ");
	used_is(s, (struct th_usage_filter){ .by = TH_USAGE_BY_MODEL },
		"0m1:3,7,508,50,26,1005 0m2:0,1,2,0,1,500 ");
	used_is(s, (struct th_usage_filter){ .by = TH_USAGE_BY_AGENT, .user = TH_STR("anna") },
		"0default:1,5,500,50,25,5 ");
	by_day.user = TH_STR("local");
	used_is(s, by_day, "10:1,0,0,0,0,0 11:0,1,7,0,1,1000 12:1,2,3,0,1,500 ");
	by_day.from_day = by_day.to_day = 11;
	used_is(s, by_day, "11:0,1,7,0,1,1000 ");
	by_day = (struct th_usage_filter){ .by = TH_USAGE_BY_DAY };
	give_back(s, &b);
	give_back(s, &f);
	assert_int_equal(s->kind->remove(s, ids, 2, &err), TH_OK);
	sweep_all(s);
	used_is(s, by_day, "10:2,5,500,50,25,5 11:0,1,7,0,1,1000 12:1,2,3,0,1,500 ");
	use(s, &a, (struct using){ "anna", "m1", NULL, 12, 6, 600, 60, 30, 6 });
	used_is(s, by_day, "10:2,5,500,50,25,5 11:0,1,7,0,1,1000 12:1,3,103,10,6,501 ");
	lab_verify(s);
	th_store_close(s);
}

static enum th_code add_said(void *ctx, const struct th_usage_row *row, struct th_err *ret)
{
	struct usage *u = ctx;
	size_t len = strlen(u->text);

	(void)ret;
	snprintf(u->text + len, sizeof(u->text) - len, "%.*s:%lld,%lld,%lld,%lld,%lld ",
		 TH_FMT(row->user), (long long)row->sessions, (long long)row->used.tokens_written,
		 (long long)row->used.model_ms, (long long)row->used.tools_ms,
		 (long long)row->used.person_ms);
	return TH_OK;
}

static void say_used(struct th_store *s, struct lab_log *log, const char *user,
		     const char *metadata, struct th_used used)
{
	static struct lab_append a;
	struct th_append append;

	lab_make(log, 1, &a, &append);
	a.row.user = th_str_of(user);
	a.row.metadata = th_str_of(metadata);
	a.row.updated_ms = 10 * 86400000;
	append.used = used;
	assert_int_equal(commit_one(s, &append), TH_OK);
	lab_done(log, &append);
}

/* What appends say themselves, from the first one on; a refused one says nothing. */
void lab_used_said(void **state)
{
	static const char of_a[] = "{\"delegated_by\":{\"session\":\"a\"}}";
	const char *url = lab_kind->fresh();
	struct th_store *s = lab_open(url, NULL);
	struct th_usage_filter by_user = { .by = TH_USAGE_BY_USER };
	static struct lab_log a, b, child;
	static struct lab_append again;
	struct th_append append;
	struct usage u = { "" };

	(void)state;
	lab_log_init(&a, "a");
	lab_log_init(&b, "b");
	lab_log_init(&child, "c");
	say_used(s, &a, "anna", "{}", (struct th_used){ 1, 20, 300, 4000 });
	say_used(s, &a, "anna", "{}", (struct th_used){ 0 });
	say_used(s, &a, "anna", "{}", (struct th_used){ .tools_ms = 7 });
	say_used(s, &b, "bert", "{}", (struct th_used){ .tokens_written = INT64_MAX });
	say_used(s, &b, "bert", "{}", (struct th_used){ .tokens_written = 5, .model_ms = 1 });
	say_used(s, &child, "anna", of_a, (struct th_used){ 9, 9, 9, 9 });
	lab_make(&a, 1, &again, &append);
	append.head_before.bytes[0] ^= 1;
	append.used.model_ms = 5;
	assert_int_equal(commit_one(s, &append), TH_EFENCED);
	assert_int_equal(s->kind->usage(s, &by_user, add_said, &u, &err), TH_OK);
	assert_string_equal(u.text, "anna:1,1,20,307,4000 bert:1,9223372036854775807,1,0,0 ");
	lab_verify(s);
	th_store_close(s);
}

/* ---- by text ---- */

static void say_task(struct th_store *s, struct lab_log *log, const char *title, const char *task)
{
	static struct lab_append a;
	struct th_append append;

	lab_make(log, 1, &a, &append);
	a.row.title = th_str_of(title);
	append.task = th_str_of(task);
	assert_int_equal(commit_one(s, &append), TH_OK);
	lab_done(log, &append);
}

void lab_found_by_text(void **state)
{
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);
	static struct lab_log a, b, f;
	struct th_session_filter text = { .text = TH_STR("INVOICE") };
	char *large = th_alloc(TH_TASK_TEXT_MAX + 100);
	struct listing l;

	(void)state;
	memset(large, 'x', TH_TASK_TEXT_MAX + 99);
	memcpy(large + TH_TASK_TEXT_MAX - 3, "end", 3);
	memcpy(large + TH_TASK_TEXT_MAX, "behind", 6);
	lab_log_init(&a, "a");
	lab_log_init(&b, "b");
	say_task(s, &a, "Do it", "Do it:\nsend the invoice to Anna.");
	say_task(s, &b, "Invoices", "");
	say_task(s, &b, "Invoices", large);
	say_task(s, &a, "Do it", "only the first words count");
	assert_int_equal(list(s, text, &l), 2);
	text.text = TH_STR("anna");
	assert_int_equal(list(s, text, &l), 1);
	assert_string_equal(l.ids[0], "a");
	lab_log_fork(&f, "f", &a, 1);
	assert_int_equal(lab_append_now(s, &f, 1), TH_OK);
	assert_int_equal(list(s, text, &l), 2); /* by its parent's words */
	text.user = TH_STR("berta");
	assert_int_equal(list(s, text, &l), 0);
	assert_int_equal(list(s, (struct th_session_filter){ .text = TH_STR("xend") }, &l), 1);
	assert_int_equal(list(s, (struct th_session_filter){ .text = TH_STR("behind") }, &l), 0);
	assert_int_equal(list(s, (struct th_session_filter){ .text = TH_STR("count") }, &l), 0);
	lab_verify(s);
	th_store_close(s);
	free(large);
}

void lab_fenced(void **state)
{
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);
	static struct lab_log log, other, wrong;
	static struct lab_append a;
	struct th_append append;

	(void)state;
	lab_log_init(&log, "s");
	lab_log_init(&other, "s");
	assert_int_equal(lab_append_now(s, &log, 5), TH_OK);
	assert_int_equal(lab_append_now(s, &other, 1), TH_EEXIST);

	wrong = log; /* an older epoch, and one that is not there yet */
	wrong.epoch = 0;
	assert_int_equal(lab_append_now(s, &wrong, 1), TH_EFENCED);
	wrong.epoch = 2;
	assert_int_equal(lab_append_now(s, &wrong, 1), TH_EFENCED);

	wrong = log; /* behind, before */
	wrong.seq = 4;
	wrong.head = log.at[4];
	assert_int_equal(lab_append_now(s, &wrong, 1), TH_EFENCED);
	wrong.seq = 6;
	wrong.head = log.head;
	assert_int_equal(lab_append_now(s, &wrong, 1), TH_EFENCED);

	wrong = log; /* the same number, another history */
	wrong.head.bytes[31] ^= 1;
	assert_int_equal(lab_append_now(s, &wrong, 1), TH_EFENCED);

	lab_log_init(&wrong, "nobody");
	wrong.stored = true;
	wrong.seq = 3;
	lab_make(&wrong, 1, &a, &append);
	assert_int_equal(commit_one(s, &append), TH_ENOENT);

	lab_check(s, &log);
	assert_int_equal(lab_append_now(s, &log, 1), TH_OK);
	lab_check(s, &log);
	lab_verify(s);
	th_store_close(s);
}

void lab_one_of_many_refused(void **state)
{
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);
	static struct lab_log logs[8];
	static struct lab_append a[8];
	struct th_append appends[8];
	struct th_batch batch = { .appends = appends, .append_count = 8 };

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		char id[8];

		snprintf(id, sizeof(id), "s%zu", i);
		lab_log_init(&logs[i], id);
		assert_int_equal(lab_append_now(s, &logs[i], 1 + i), TH_OK);
	}
	for (size_t i = 0; i < 8; i++) {
		if (i == 3)
			logs[i].epoch = 7;
		lab_make(&logs[i], 3, &a[i], &appends[i]);
	}
	/* The same session twice in one batch: the second sees the first. */
	logs[7] = logs[6];
	lab_done(&logs[7], (appends[6].result = TH_OK, &appends[6]));
	lab_make(&logs[7], 2, &a[7], &appends[7]);
	assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(appends[i].result, i == 3 ? TH_EFENCED : TH_OK);
		if (i != 3)
			lab_done(&logs[i], &appends[i]);
		if (i != 6)
			lab_check(s, &logs[i]);
	}
	lab_verify(s);
	th_store_close(s);
}

/* One that needs another is refused with it, whatever else is in the batch. */
void lab_one_needs_another(void **state)
{
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);
	static struct lab_log logs[3];
	static struct lab_append a[3];
	struct th_append appends[3];
	struct th_batch batch = { .appends = appends, .append_count = 3 };

	(void)state;
	for (int fenced = 1; fenced >= 0; fenced--) {
		if (fenced) {
			lab_log_init(&logs[0], "asks");
			assert_int_equal(lab_append_now(s, &logs[0], 1), TH_OK);
		}
		lab_log_init(&logs[1], "works");
		lab_log_init(&logs[2], fenced ? "other" : "another");
		logs[0].epoch += fenced ? 7 : -7;
		for (size_t i = 0; i < 3; i++)
			lab_make(&logs[i], 1, &a[i], &appends[i]);
		appends[1].needs = &appends[0];
		assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
		assert_int_equal(appends[0].result, fenced ? TH_EFENCED : TH_OK);
		assert_int_equal(appends[1].result, fenced ? TH_EFENCED : TH_OK);
		assert_int_equal(appends[2].result, TH_OK);
	}
	for (size_t i = 0; i < 3; i++) {
		lab_done(&logs[i], &appends[i]);
		lab_check(s, &logs[i]);
	}
	lab_verify(s);
	th_store_close(s);
}

void lab_leased_and_released(void **state)
{
	const char *url = lab_kind->fresh();
	struct th_store *one = lab_open(url, NULL), *two = lab_open(url, NULL);
	static struct lab_log log, old;
	struct th_session_row row;
	struct th_arena arena;

	(void)state;
	th_arena_init(&arena, TH_MIB);
	lab_log_init(&log, "s");
	assert_int_equal(lab_append_now(one, &log, 3), TH_OK);
	assert_int_equal(two->kind->lease(two, TH_STR("x"), &arena, &row, &err), TH_ENOENT);

	/* Who made it holds it. */
	assert_int_equal(two->kind->lease(two, TH_STR("s"), &arena, &row, &err), TH_EBUSY);
	assert_non_null(strstr(err.msg, "session s is held by another runtime"));
	assert_int_equal(two->kind->release(two, TH_STR("s"), 1, &err), TH_EFENCED);
	old = log;
	assert_int_equal(lab_append_now(two, &old, 1),
			 TH_EFENCED); /* the right epoch is not enough */
	assert_int_equal(lab_append_now(one, &log, 1), TH_OK);

	/* Taken again by the same: a new epoch. */
	assert_int_equal(one->kind->lease(one, TH_STR("s"), &arena, &row, &err), TH_OK);
	assert_int_equal(row.epoch, 2);
	assert_int_equal(row.head_seq, 4);
	assert_true(th_digest_eq(&row.head, &log.head) && row.owner.len > 0);
	assert_int_equal(lab_append_now(one, &log, 1), TH_EFENCED);
	log.epoch = 2;
	assert_int_equal(lab_append_now(one, &log, 1), TH_OK);

	/* Given back: the old holder is out, the next may come. */
	assert_int_equal(one->kind->release(one, TH_STR("s"), 1, &err), TH_EFENCED);
	assert_int_equal(one->kind->release(one, TH_STR("s"), 2, &err), TH_OK);
	assert_int_equal(one->kind->release(one, TH_STR("s"), 2, &err), TH_EFENCED);
	assert_int_equal(one->kind->release(one, TH_STR("x"), 2, &err), TH_ENOENT);
	old = log;
	assert_int_equal(lab_append_now(one, &old, 1), TH_EFENCED);
	old.epoch = 3; /* guessed: nobody holds it */
	assert_int_equal(lab_append_now(one, &old, 1), TH_EFENCED);
	assert_int_equal(lab_append_now(two, &old, 1), TH_EFENCED);
	assert_int_equal(two->kind->lease(two, TH_STR("s"), &arena, &row, &err), TH_OK);
	assert_int_equal(row.epoch, 4);
	assert_int_equal(one->kind->lease(one, TH_STR("s"), &arena, &row, &err), TH_EBUSY);
	log.epoch = 4;
	assert_int_equal(lab_append_now(two, &log, 2), TH_OK);
	lab_check(one, &log);

	/* Gone without giving it back. */
	th_store_close(two);
	assert_int_equal(one->kind->lease(one, TH_STR("s"), &arena, &row, &err), TH_OK);
	assert_int_equal(row.epoch, 5);
	assert_int_equal(row.head_seq, log.seq);
	lab_verify(one);
	th_arena_deinit(&arena);
	th_store_close(one);
}

void lab_leased_in_bulk(void **state)
{
	const char *url = lab_kind->fresh();
	struct th_store *one = lab_open(url, NULL), *two = lab_open(url, NULL);
	static struct lab_log logs[20];
	struct th_session_row rows[21];
	struct th_err errs[21] = {};
	struct th_held held[2];
	struct th_str ids[21];
	struct th_arena arena;

	(void)state;
	th_arena_init(&arena, TH_MIB);
	for (size_t i = 0; i < 20; i++) {
		char id[8];

		snprintf(id, sizeof(id), "s%zu", i);
		lab_log_init(&logs[i], id);
		assert_int_equal(lab_append_now(one, &logs[i], 2), TH_OK);
		if (i != 7)
			assert_int_equal(one->kind->release(one, th_str_of(logs[i].id), 1, &err),
					 TH_OK);
		ids[i] = th_str_of(logs[i].id);
	}
	ids[20] = TH_STR("nobody");
	assert_int_equal(two->kind->lease_many(two, ids, 21, false, &arena, rows, errs, &err),
			 TH_OK);
	for (size_t i = 0; i < 21; i++) {
		assert_int_equal(errs[i].code, i == 7 ? TH_EBUSY : i == 20 ? TH_ENOENT : TH_OK);
		if (errs[i].code != TH_OK)
			continue;
		assert_true(th_str_eq(rows[i].session_id, ids[i]));
		logs[i].epoch = rows[i].epoch;
		assert_int_equal(lab_append_now(two, &logs[i], 1), TH_OK);
	}
	assert_int_equal(lab_append_now(one, &logs[7], 1), TH_OK);
	assert_non_null(strstr(errs[7].msg, "session s7 "));
	/* Given back together; what is not held is passed over. */
	held[0] = (struct th_held){ ids[3], logs[3].epoch, false };
	held[1] = (struct th_held){ ids[4], logs[4].epoch + 1, false };
	assert_int_equal(two->kind->release_many(two, held, 2, errs, &err), TH_OK);
	assert_int_equal(errs[0].code, TH_OK);
	assert_int_equal(errs[1].code, TH_EFENCED);
	assert_int_equal(lab_append_now(two, &logs[3], 1), TH_EFENCED);
	assert_int_equal(lab_append_now(two, &logs[4], 1), TH_OK);
	assert_int_equal(one->kind->lease(one, ids[3], &arena, &rows[3], &err), TH_OK);
	/* Rows that do not fit leave all as it was. */
	th_arena_deinit(&arena);
	th_arena_init(&arena, 2000);
	assert_int_equal(two->kind->lease_many(two, ids, 20, false, &arena, rows, errs, &err),
			 TH_ELIMIT);
	th_arena_deinit(&arena);
	lab_verify(two);
	th_store_close(one);
	th_store_close(two);
}

void lab_forked(void **state)
{
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);
	static struct lab_log root, mid, deep, early, twin;

	(void)state;
	lab_log_init(&root, "root");
	assert_int_equal(lab_append_now(s, &root, 3), TH_OK);
	assert_int_equal(lab_append_now(s, &root, 4), TH_OK);
	lab_log_fork(&mid, "mid", &root, 5); /* inside an append */
	assert_int_equal(lab_append_now(s, &mid, 2), TH_OK);
	assert_int_equal(lab_append_now(s, &root, 4), TH_OK); /* the parent goes on */
	assert_int_equal(lab_append_now(s, &mid, 3), TH_OK);
	lab_log_fork(&deep, "deep", &mid, mid.seq);
	assert_int_equal(lab_append_now(s, &deep, 1), TH_OK);
	lab_log_fork(&early, "early", &deep, 2); /* before its parent's and grandparent's own */
	assert_int_equal(lab_append_now(s, &early, 2), TH_OK);
	lab_log_fork(&twin, "twin", &root, 5);
	assert_int_equal(lab_append_now(s, &twin, 1), TH_OK);
	lab_check(s, &root);
	lab_check(s, &mid);
	lab_check(s, &deep);
	lab_check(s, &early);
	lab_check(s, &twin);
	lab_verify(s);
	for (size_t i = 0; i < 5; i++) {
		static const char *const ids[] = { "root", "mid", "deep", "early", "twin" };
		struct th_verify_report r;

		assert_int_equal(s->kind->verify(s, th_str_of(ids[i]), &r, &err), TH_OK);
		assert_false(r.bad);
		assert_true(r.sessions > 0 && r.events > 0);
	}
	th_store_close(s);
}

void lab_forked_deep(void **state)
{
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);
	static struct lab_log log, next;

	(void)state;
	lab_log_init(&log, "d0");
	assert_int_equal(lab_append_now(s, &log, 1), TH_OK);
	for (int i = 1; i <= TH_FORK_DEPTH_MAX; i++) {
		char id[16];

		snprintf(id, sizeof(id), "d%d", i);
		lab_log_fork(&next, id, &log, log.seq);
		assert_int_equal(lab_append_now(s, &next, 1), TH_OK);
		log = next;
	}
	lab_check(s, &log);
	lab_log_fork(&next, "too-deep", &log, log.seq);
	assert_int_equal(lab_append_now(s, &next, 1), TH_ELIMIT);
	lab_check(s, &next);
	lab_log_fork(&next, "too-deep-too", &log, 1);
	assert_int_equal(lab_append_now(s, &next, 1), TH_ELIMIT);
	lab_verify(s);
	th_store_close(s);
}

void lab_forks_refused(void **state)
{
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);
	static struct lab_log root, fork;

	(void)state;
	lab_log_init(&root, "root");
	assert_int_equal(lab_append_now(s, &root, 3), TH_OK);
	lab_log_fork(&fork, "fork", &root, 4); /* no such event */
	assert_int_equal(lab_append_now(s, &fork, 1), TH_ENOENT);
	lab_log_fork(&fork, "fork", &root, 2); /* another history */
	fork.head.bytes[0] ^= 1;
	assert_int_equal(lab_append_now(s, &fork, 1), TH_EFENCED);
	lab_log_fork(&fork, "fork", &root, 2);
	strcpy(fork.parent, "nobody");
	assert_int_equal(lab_append_now(s, &fork, 1), TH_ENOENT);
	lab_log_fork(&fork, "root", &root, 2); /* of itself */
	assert_int_equal(lab_append_now(s, &fork, 1), TH_EEXIST);
	lab_log_fork(&fork, "fork", &root, 2);
	assert_int_equal(lab_append_now(s, &fork, 1), TH_OK);
	lab_check(s, &fork);
	lab_verify(s);
	th_store_close(s);
}

struct range {
	uint64_t first, last;
	size_t count;
};

static enum th_code note_range(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *ret)
{
	struct range *r = ctx;

	(void)digest;
	(void)ret;
	if (r->count++ == 0)
		r->first = ev->seq;
	else
		assert_int_equal(ev->seq, r->last + 1);
	r->last = ev->seq;
	return TH_OK;
}

void lab_read_in_parts(void **state)
{
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);
	static struct lab_log root, mid, leaf;

	(void)state;
	lab_log_init(&root, "root");
	for (size_t i = 1; i <= 4; i++)
		assert_int_equal(lab_append_now(s, &root, i), TH_OK); /* 10 */
	lab_log_fork(&mid, "mid", &root, 7);
	for (size_t i = 1; i <= 3; i++)
		assert_int_equal(lab_append_now(s, &mid, i), TH_OK); /* 13 */
	lab_log_fork(&leaf, "leaf", &mid, 10);
	for (size_t i = 1; i <= 3; i++)
		assert_int_equal(lab_append_now(s, &leaf, i), TH_OK); /* 16 */
	for (uint64_t from = 0; from <= 18; from++) {
		for (uint64_t to = 0; to <= 18; to++) {
			struct range r = {};
			uint64_t first = from ? from : 1, last = to && to < 16 ? to : 16;

			assert_int_equal(
			    s->kind->read(s, TH_STR("leaf"), from, to, note_range, &r, &err),
			    TH_OK);
			if (first > last) {
				assert_int_equal(r.count, 0);
				continue;
			}
			assert_int_equal(r.count, last - first + 1);
			assert_int_equal(r.first, first);
		}
	}
	assert_int_equal(s->kind->read(s, TH_STR("nobody"), 1, 0, note_range, NULL, &err),
			 TH_ENOENT);
	assert_non_null(strstr(err.msg, "nobody"));
	th_store_close(s);
}

struct nested {
	struct th_store *s;
	size_t outer, inner;
};

static enum th_code count_inner(void *ctx, const struct th_event *ev,
				const struct th_digest *digest, struct th_err *ret)
{
	struct nested *n = ctx;

	(void)ev;
	(void)digest;
	(void)ret;
	n->inner++;
	return TH_OK;
}

static enum th_code count_outer(void *ctx, const struct th_event *ev,
				const struct th_digest *digest, struct th_err *ret)
{
	struct nested *n = ctx;

	(void)digest;
	n->outer++;
	if (ev->seq == 5)
		return th_fail(ret, TH_ECANCELED, "enough");
	return n->s->kind->read(n->s, TH_STR("b"), 1, 0, count_inner, n, ret);
}

static enum th_code read_row(void *ctx, const struct th_session_row *row, struct th_err *ret)
{
	struct nested *n = ctx;

	return n->s->kind->read(n->s, row->session_id, 1, 4, count_outer, n, ret);
}

void lab_reading_nested_and_stopped(void **state)
{
	struct nested n = { .s = lab_open(lab_kind->fresh(), NULL) };
	static struct lab_log a, b;

	(void)state;
	lab_log_init(&a, "a");
	lab_log_init(&b, "b");
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(lab_append_now(n.s, &a, 2), TH_OK);
		assert_int_equal(lab_append_now(n.s, &b, 2), TH_OK);
	}
	assert_int_equal(n.s->kind->read(n.s, TH_STR("a"), 1, 0, count_outer, &n, &err),
			 TH_ECANCELED);
	assert_string_equal(err.msg, "enough");
	assert_int_equal(n.outer, 5);
	assert_int_equal(n.inner, 4 * 8);
	n.outer = n.inner = 0;
	assert_int_equal(n.s->kind->list(n.s, &(struct th_session_filter){}, read_row, &n, &err),
			 TH_OK);
	assert_int_equal(n.outer, 2 * 4);
	assert_int_equal(n.inner, 2 * 4 * 8);
	assert_int_equal(lab_append_now(n.s, &a, 2), TH_OK); /* no lock is left */
	lab_check(n.s, &a);
	th_store_close(n.s);
}

static enum th_code append_data(struct th_store *s, struct lab_log *log, struct th_str data)
{
	static struct lab_append a;
	struct th_append append;
	enum th_code code;

	lab_make(log, 1, &a, &append);
	a.events[0].data = data;
	lab_rechain(log, &a, &append);
	code = commit_one(s, &append);
	if (code == TH_OK)
		lab_done(log, &append);
	return code;
}

static enum th_code length(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			   struct th_err *ret)
{
	(void)digest;
	(void)ret;
	*(size_t *)ctx = ev->data.len;
	return TH_OK;
}

void lab_sizes_at_the_edge(void **state)
{
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);
	size_t max = TH_MAX(TH_EVENT_DATA_MAX, TH_BLOB_MAX) + 1, len = 0;
	char *bytes = th_alloc(max);
	struct th_blob blob;
	struct th_batch batch = { .blobs = &blob, .blob_count = 1 };
	struct th_buf out = TH_BUF_INIT(TH_BLOB_MAX);
	static struct lab_log log;

	(void)state;
	memset(bytes, 'x', max);
	lab_log_init(&log, "big");
	assert_int_equal(append_data(s, &log, th_str_n(bytes, TH_EVENT_DATA_MAX)), TH_OK);
	assert_int_equal(append_data(s, &log, th_str_n(bytes, TH_EVENT_DATA_MAX + 1)), TH_ELIMIT);
	assert_int_equal(append_data(s, &log, TH_STR("")), TH_OK);
	assert_int_equal(s->kind->read(s, TH_STR("big"), 1, 1, length, &len, &err), TH_OK);
	assert_int_equal(len, TH_EVENT_DATA_MAX);

	blob = blob_of(th_str_n(bytes, TH_BLOB_MAX));
	assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
	assert_int_equal(s->kind->blob(s, &blob.hash, &out, &err), TH_OK);
	assert_int_equal(out.len, TH_BLOB_MAX);
	assert_memory_equal(out.ptr, bytes, TH_BLOB_MAX);
	blob = blob_of(th_str_n(bytes, TH_BLOB_MAX + 1));
	assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_ELIMIT);
	assert_non_null(strstr(err.msg, "blob"));
	lab_verify(s);
	th_buf_deinit(&out);
	free(bytes);
	th_store_close(s);
}

static void make_many(struct lab_log *log, size_t count, struct th_event *events,
		      struct th_digest *digests, struct th_session_row *row, struct th_append *ret)
{
	static struct lab_append a;
	const struct th_digest *before = &log->head;

	lab_make(log, 1, &a, ret);
	*row = a.row;
	for (size_t i = 0; i < count; i++) {
		events[i] = a.events[0];
		events[i].seq = log->seq + 1 + i;
		if (i > 0)
			events[i].kind = TH_EV_MESSAGE;
		digests[i] = th_event_digest(before, th_str_of(log->id), &events[i]);
		before = &digests[i];
	}
	row->head = *before;
	row->head_seq = log->seq + count;
	ret->row = row;
	ret->events = events;
	ret->digests = digests;
	ret->event_count = count;
}

void lab_ids_at_the_edge(void **state)
{
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);
	struct th_event *events = th_alloc(TH_BATCH_EVENTS_MAX * sizeof(*events));
	struct th_digest *digests = th_alloc(TH_BATCH_EVENTS_MAX * sizeof(*digests));
	struct th_session_row row;
	struct th_append append;
	struct th_batch batch = { .appends = &append, .append_count = 1 };
	static struct lab_log log;
	char id[TH_SESSION_ID_MAX + 2];

	(void)state;
	memset(id, 'i', sizeof(id));
	id[TH_SESSION_ID_MAX + 1] = 0;
	lab_log_init(&log, id);
	assert_int_equal(lab_append_now(s, &log, 1), TH_EUSAGE);
	assert_int_equal(s->kind->read(s, th_str_of(id), 1, 0, note_range, NULL, &err), TH_ENOENT);
	id[TH_SESSION_ID_MAX] = 0;
	lab_log_init(&log, id);
	assert_int_equal(lab_append_now(s, &log, 1), TH_OK);
	lab_check(s, &log);
	lab_log_init(&log, "");
	assert_int_equal(lab_append_now(s, &log, 1), TH_EUSAGE);
	lab_log_init(&log, "bad\xff");
	assert_int_equal(lab_append_now(s, &log, 1), TH_EUSAGE);

	lab_log_init(&log, "long");
	make_many(&log, TH_BATCH_EVENTS_MAX, events, digests, &row, &append);
	assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_ELIMIT); /* the row counts too */
	assert_int_equal(append.result, TH_ELIMIT);
	make_many(&log, TH_BATCH_EVENTS_MAX - 1, events, digests, &row, &append);
	assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
	assert_int_equal(append.result, TH_OK);
	lab_verify(s);
	free(events);
	free(digests);
	th_store_close(s);
}

void lab_strange_text(void **state)
{
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);
	static struct lab_log log;
	size_t len = 0;

	(void)state;
	lab_log_init(&log, "Ünïcode 🚣 '); DROP TABLE events; --");
	assert_int_equal(append_data(s, &log, TH_STR("{\"nul\":\"\0\",\"bad\":\"\xff\xc0\"}")),
			 TH_OK);
	assert_int_equal(append_data(s, &log, TH_STR("\0")), TH_OK);
	assert_int_equal(s->kind->read(s, th_str_of(log.id), 2, 2, length, &len, &err), TH_OK);
	assert_int_equal(len, 1);
	lab_verify(s);
	th_store_close(s);
}

/* ---- with a loop ---- */

#define GROUP_LOGS 8

struct group {
	struct th_store *s;
	struct th_loop *loop;
	struct lab_log logs[GROUP_LOGS];
	struct {
		struct lab_append a;
		struct th_append append;
		struct th_batch batch;
		bool under_way;
	} jobs[GROUP_LOGS];
	size_t left, done;
	bool inside;
};

static void group_commit(struct group *g, size_t i);

static void group_done(void *ctx, struct th_batch *batch, enum th_code code,
		       const struct th_err *ret)
{
	struct group *g = ctx;
	size_t i = 0;

	assert_false(g->inside); /* never from inside commit */
	assert_int_equal(code, TH_OK);
	assert_null(ret);
	while (&g->jobs[i].batch != batch)
		i++;
	g->jobs[i].under_way = false;
	lab_done(&g->logs[i], &g->jobs[i].append);
	g->done++;
	if (g->left > 0)
		group_commit(g, i);
}

static void group_commit(struct group *g, size_t i)
{
	g->left--;
	lab_make(&g->logs[i], 1 + g->left % 5, &g->jobs[i].a, &g->jobs[i].append);
	g->jobs[i].batch = (struct th_batch){ .appends = &g->jobs[i].append, .append_count = 1 };
	g->jobs[i].under_way = true;
	g->inside = true;
	g->s->kind->commit(g->s, &g->jobs[i].batch, group_done, g);
	g->inside = false;
}

static struct group *group_new(size_t commits)
{
	struct group *g = th_alloc(sizeof(*g));

	assert_int_equal(th_loop_new(&g->loop, &err), TH_OK);
	g->s = lab_open(lab_kind->fresh(), g->loop);
	for (size_t i = 0; i < GROUP_LOGS; i++) {
		char id[16];

		snprintf(id, sizeof(id), "group-%zu", i);
		lab_log_init(&g->logs[i], id);
	}
	g->left = commits;
	return g;
}

static void group_free(struct group *g)
{
	th_loop_free(g->loop);
	free(g);
}

void lab_committed_in_groups(void **state)
{
	struct group *g = group_new(GROUP_LOGS * 50);

	(void)state;
	for (size_t i = 0; i < GROUP_LOGS; i++)
		group_commit(g, i);
	th_loop_run(g->loop); /* ends by itself: an idle store keeps no loop alive */
	assert_int_equal(g->done, GROUP_LOGS * 50);
	for (size_t i = 0; i < GROUP_LOGS; i++)
		lab_check(g->s, &g->logs[i]);
	/* What was given before comes before what is written at once. */
	for (int round = 0; round < 20; round++) {
		static struct lab_log ahead;
		struct th_append guess;

		ahead = g->logs[0];
		g->left = 4;
		for (size_t i = GROUP_LOGS - 4; i < GROUP_LOGS - 1; i++)
			group_commit(g, i);
		group_commit(g, 0);
		guess = (struct th_append){ .seq_before = ahead.seq, /* the worker has the other */
					    .events = g->jobs[0].a.events,
					    .digests = g->jobs[0].a.digests,
					    .event_count = g->jobs[0].append.event_count };
		lab_done(&ahead, &guess);
		assert_int_equal(lab_append_now(g->s, &ahead, 2), TH_OK);
		th_loop_run(g->loop);
		lab_check(g->s, &ahead);
		g->logs[0] = ahead;
	}
	lab_verify(g->s);
	th_store_close(g->s);
	group_free(g);
}

void lab_closed_with_commits_under_way(void **state)
{
	struct group *g = group_new(GROUP_LOGS * 20);

	(void)state;
	for (size_t i = 0; i < GROUP_LOGS; i++)
		group_commit(g, i);
	th_store_close(g->s); /* callbacks come, and theirs */
	assert_int_equal(g->done, GROUP_LOGS * 20);
	group_free(g);
}

struct late {
	struct group *g;
	struct th_deferred deferred;
	struct th_timer timer;
	size_t rounds;
};

static void late_again(void *ctx)
{
	struct late *l = ctx;

	for (size_t i = 0; i < GROUP_LOGS; i++) {
		if (l->g->left > 0 && !l->g->jobs[i].under_way)
			group_commit(l->g, i);
	}
	if (l->rounds-- > 0)
		th_timer_start(&l->timer, 1, 0);
}

/* From timers and callbacks at any time, with pauses in which nothing is under way. */
void lab_committing_from_callbacks(void **state)
{
	struct late l = { .g = group_new(200), .rounds = 20 };

	(void)state;
	th_timer_init(&l.timer, l.g->loop, late_again, &l);
	late_again(&l);
	th_loop_run(l.g->loop);
	assert_int_equal(l.g->done, 200 - l.g->left);
	assert_int_equal(l.g->left, 0);
	for (size_t i = 0; i < GROUP_LOGS; i++)
		lab_check(l.g->s, &l.g->logs[i]);
	th_store_close(l.g->s);
	group_free(l.g);
}

void lab_rows_only(void **state)
{
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);
	static struct lab_log log;

	(void)state;
	lab_log_init(&log, "s");
	assert_int_equal(lab_append_now(s, &log, 2), TH_OK);
	assert_int_equal(lab_append_now(s, &log, 0), TH_OK);
	assert_int_equal(lab_append_now(s, &log, 2), TH_OK);
	assert_int_equal(lab_append_now(s, &log, 0), TH_OK);
	lab_check(s, &log);
	lab_verify(s);
	th_store_close(s);
}

void lab_read_only(void **state)
{
	const char *url = lab_kind->fresh();
	struct th_store *s = lab_open(url, NULL), *reader = NULL;
	struct th_store_options options = { .read_only = true };
	static struct lab_log log;
	struct th_session_row row;
	struct th_arena arena;

	(void)state;
	th_arena_init(&arena, TH_MIB);
	lab_log_init(&log, "s");
	assert_int_equal(lab_append_now(s, &log, 2), TH_OK);
	assert_int_equal(th_store_open(th_str_of(url), &options, &reader, &err), TH_OK);
	lab_check(reader, &log);
	lab_verify(reader);
	assert_int_equal(lab_append_now(reader, &log, 1), TH_EPERM);
	assert_int_equal(reader->kind->lease(reader, TH_STR("s"), &arena, &row, &err), TH_EPERM);
	lab_check(reader, &log);
	assert_int_equal(lab_append_now(s, &log, 1), TH_OK);
	lab_check(reader, &log);
	th_arena_deinit(&arena);
	th_store_close(reader);
	th_store_close(s);
}

/* Random work on some sessions, against what their only writer remembers. */
void lab_as_the_model(void **state)
{
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);
	static struct lab_log logs[24];
	static struct lab_append a[24];
	struct th_append appends[24];
	size_t count = 1;
	unsigned seed = 7;

	(void)state;
	lab_log_init(&logs[0], "m0");
	for (int round = 0; round < 300; round++) {
		struct th_batch batch = { .appends = appends };
		bool used[24] = {};
		size_t chosen[24];

		if (count < 24 && round % 10 == 9) {
			size_t from = (size_t)rand_r(&seed) % count;
			char id[8];

			snprintf(id, sizeof(id), "m%zu", count);
			if (logs[from].stored && round % 20 == 9)
				lab_log_fork(&logs[count], id, &logs[from],
					     1 + (uint64_t)rand_r(&seed) % logs[from].seq);
			else
				lab_log_init(&logs[count], id);
			count++;
		}
		for (int i = rand_r(&seed) % 6; i >= 0; i--) {
			size_t which = (size_t)rand_r(&seed) % count;

			if (used[which] || logs[which].seq > 450)
				continue;
			used[which] = true;
			chosen[batch.append_count] = which;
			lab_make(&logs[which], 1 + (size_t)rand_r(&seed) % 9,
				 &a[batch.append_count], &appends[batch.append_count]);
			batch.append_count++;
		}
		assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
		for (size_t i = 0; i < batch.append_count; i++)
			lab_done(&logs[chosen[i]], &appends[i]);
	}
	for (size_t i = 0; i < count; i++)
		lab_check(s, &logs[i]);
	lab_verify(s);
	th_store_close(s);
}
