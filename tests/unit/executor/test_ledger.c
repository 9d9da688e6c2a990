/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/ledger.h"

#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/files.h"

static char folder[64], path[96];

static int setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/thole-ledger-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/journal", folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return th_dir_remove(folder, NULL);
}

static struct th_ledger *ledger(struct th_ledger_found *found)
{
	struct th_ledger *l = NULL;
	struct th_ledger_found ignored;
	struct th_err err;
	if (th_ledger_open(path, found ? found : &ignored, &l, &err))
		fail_msg("%s", err.msg);
	return l;
}

static struct th_ledger_entry *accept(struct th_ledger *l, const char *id, enum th_class class,
				      const char *tool)
{
	struct th_ledger_entry what = {
		.class = class, .epoch = 3, .accepted_ms = 1234567, .tool = (char *)(uintptr_t)tool
	};
	struct th_ledger_entry *e = NULL;
	snprintf(what.id, sizeof(what.id), "%s", id);
	assert_int_equal(th_ledger_accept(l, &what, &e, NULL), TH_OK);
	assert_ptr_equal(th_ledger_find(l, th_str_of(id)), e);
	return e;
}

static void check(struct th_ledger *l)
{
	struct th_ledger_entry *e = th_ledger_find(l, TH_STR("a"));
	assert_int_equal(e->state, TH_LEDGER_FINISHED);
	assert_int_equal(e->status, TH_OUTCOME_FAILED);
	assert_string_equal(e->output, "[{\"type\":\"text\",\"text\":\"\xc3\xa9\"}]");
	assert_string_equal(e->evidence, "{\"exit_code\":1}");
	assert_int_equal(e->elapsed_ms, 77);
	assert_null(e->noted);
	e = th_ledger_find(l, TH_STR("b"));
	assert_int_equal(e->state, TH_LEDGER_ACCEPTED);
	assert_int_equal(e->class, TH_CLASS_V);
	assert_int_equal(e->epoch, 3);
	assert_int_equal(e->accepted_ms, 1234567);
	assert_string_equal(e->noted, "{\"old_sha256\":null}");
	e = th_ledger_find(l, TH_STR("c"));
	assert_int_equal(e->steps, 4);
	assert_string_equal(e->tool, "computer");
	assert_int_equal(th_ledger_find(l, TH_STR("d"))->state, TH_LEDGER_NEVER);
	assert_int_equal(th_ledger_find(l, TH_STR("e"))->state, TH_LEDGER_FORGOTTEN);
	assert_null(th_ledger_find(l, TH_STR("f")));
	assert_int_equal(th_ledger_epoch(l), 9);
	assert_int_equal(th_ledger_count(l), 4);
}

static void remembers(void **state)
{
	struct th_ledger_found found;
	struct th_ledger *l = ledger(&found);
	char id[64];

	(void)state;
	assert_true(found.journal.created);
	snprintf(id, sizeof(id), "%s", th_ledger_id(l));
	assert_int_equal(strlen(id), 36);
	assert_int_equal(th_ledger_epoch_raise(l, 3, NULL), TH_OK);
	struct th_ledger_entry *a = accept(l, "a", TH_CLASS_W, "shell");
	struct th_ledger_entry *b = accept(l, "b", TH_CLASS_V, "write_file");
	struct th_ledger_entry *c = accept(l, "c", TH_CLASS_W, "computer");
	struct th_ledger_entry *e = accept(l, "e", TH_CLASS_X, "shell");
	assert_int_equal(th_ledger_never(l, TH_STR("d"), NULL), TH_OK);
	assert_int_equal(th_ledger_note(l, b, TH_STR("{\"old_sha256\":null}"), NULL), TH_OK);
	assert_int_equal(th_ledger_step(l, c, 4, NULL), TH_OK);
	assert_int_equal(th_ledger_finish(l, a, TH_OUTCOME_FAILED,
					  TH_STR("[{\"type\":\"text\",\"text\":\"\xc3\xa9\"}]"),
					  TH_STR("{\"exit_code\":1}"), 77, NULL),
			 TH_OK);
	assert_int_equal(
	    th_ledger_finish(l, e, TH_OUTCOME_DONE, TH_STR("\"x\""), TH_STR(""), 0, NULL), TH_OK);
	assert_int_equal(th_ledger_forget(l, e, NULL), TH_OK);
	assert_int_equal(th_ledger_epoch_raise(l, 9, NULL), TH_OK);
	check(l);
	assert_int_equal(th_ledger_sync(l, NULL), TH_OK);
	l = th_ledger_close(l);

	l = ledger(&found);
	assert_false(found.journal.created);
	assert_int_equal(found.open, 2);
	assert_true(found.computer);
	assert_string_equal(th_ledger_id(l), id);
	check(l);
	/* Made small it says the same. */
	uint64_t before = th_ledger_find(l, TH_STR("a"))->accepted_ms;
	assert_int_equal(th_ledger_tidy(l, true, NULL), TH_OK);
	check(l);
	assert_int_equal(th_ledger_find(l, TH_STR("a"))->accepted_ms, before);
	l = th_ledger_close(l);
	l = ledger(&found);
	assert_string_equal(th_ledger_id(l), id);
	check(l);
	th_ledger_close(l);
}

static void stays_small(void **state)
{
	struct th_ledger *l = ledger(NULL);
	static char text[20000];
	struct th_ledger_found found;

	(void)state;
	memset(text, 'x', sizeof(text));
	text[0] = text[sizeof(text) - 1] = '"';
	for (int i = 0; i < 2000; i++) {
		char id[32];
		snprintf(id, sizeof(id), "effect-%d", i);
		struct th_ledger_entry *e = accept(l, id, TH_CLASS_W, "shell");
		assert_int_equal(th_ledger_finish(l, e, TH_OUTCOME_DONE,
						  th_str_n(text, sizeof(text)), TH_STR("{}"), 1,
						  NULL),
				 TH_OK);
		assert_int_equal(th_ledger_forget(l, e, NULL), TH_OK);
		assert_int_equal(th_ledger_tidy(l, false, NULL), TH_OK);
	}
	th_ledger_close(l);
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_true((uint64_t)st.st_size < 2 * TH_LEDGER_TIDY_SIZE);
	l = ledger(&found);
	assert_int_equal(th_ledger_count(l), 0);
	assert_int_equal(th_ledger_find(l, TH_STR("effect-0"))->state, TH_LEDGER_FORGOTTEN);
	assert_int_equal(th_ledger_find(l, TH_STR("effect-1999"))->state, TH_LEDGER_FORGOTTEN);
	th_ledger_close(l);
}

static void has_limits(void **state)
{
	struct th_ledger *l = ledger(NULL);
	struct th_ledger_entry what = { .class = TH_CLASS_W }, *e;
	char id[32];

	(void)state;
	for (int i = 0; i < TH_EXEC_EFFECTS_MAX; i++) {
		snprintf(id, sizeof(id), "e%d", i);
		accept(l, id, TH_CLASS_W, "shell");
	}
	strcpy(what.id, "one more");
	assert_int_equal(th_ledger_accept(l, &what, &e, NULL), TH_ELIMIT);
	e = th_ledger_find(l, TH_STR("e0"));
	assert_int_equal(
	    th_ledger_finish(l, e, TH_OUTCOME_DONE, TH_STR("\"\""), TH_STR(""), 0, NULL), TH_OK);
	assert_int_equal(th_ledger_forget(l, e, NULL), TH_OK);
	assert_int_equal(th_ledger_accept(l, &what, &e, NULL), TH_OK);
	th_ledger_close(l);
}

/* Ids are forgotten in the end, the oldest first. */
static void forgets_the_forgotten(void **state)
{
	struct th_ledger *l = ledger(NULL);
	char id[32];

	(void)state;
	for (int i = 0; i < TH_EXEC_FORGOTTEN_MAX + 10; i++) {
		snprintf(id, sizeof(id), "e%d", i);
		struct th_ledger_entry *e = accept(l, id, TH_CLASS_W, "shell");
		assert_int_equal(
		    th_ledger_finish(l, e, TH_OUTCOME_DONE, TH_STR("\"\""), TH_STR(""), 0, NULL),
		    TH_OK);
		assert_int_equal(th_ledger_forget(l, e, NULL), TH_OK);
	}
	assert_null(th_ledger_find(l, TH_STR("e9")));
	assert_non_null(th_ledger_find(l, TH_STR("e10")));
	th_ledger_close(l);
}

static enum th_code accept_all(void *ctx, struct th_str record, struct th_err *err)
{
	(void)ctx;
	(void)record;
	(void)err;
	return TH_OK;
}

/* What is left counts, under a new name; and the new one lasts, also when it was made small. */
static void check_damaged(const char *old_name)
{
	struct th_ledger_found found;
	struct th_ledger *l = ledger(&found);
	char name[64];

	assert_true(found.damaged);
	snprintf(name, sizeof(name), "%s", th_ledger_id(l));
	assert_int_equal(strlen(name), 36);
	assert_string_not_equal(name, old_name);
	assert_int_equal(th_ledger_epoch(l), 7);
	assert_non_null(th_ledger_find(l, TH_STR("good")));
	assert_true(th_ledger_find(l, TH_STR("good"))->gap);
	assert_false(accept(l, "new", TH_CLASS_V, "write_file")->gap);
	assert_int_equal(th_ledger_never(l, TH_STR("later"), NULL), TH_OK);
	assert_int_equal(th_ledger_tidy(l, true, NULL), TH_OK);
	th_ledger_close(l);
	l = ledger(&found);
	assert_false(found.damaged);
	assert_string_equal(th_ledger_id(l), name);
	assert_int_equal(th_ledger_epoch(l), 7);
	assert_non_null(th_ledger_find(l, TH_STR("good")));
	assert_true(th_ledger_find(l, TH_STR("good"))->gap);
	assert_false(th_ledger_find(l, TH_STR("new"))->gap);
	assert_non_null(th_ledger_find(l, TH_STR("later")));
	th_ledger_close(l);
}

/* A byte in the middle of the file is another one: a record is missing that had been flushed. */
static void damage_changes_the_name(void **state)
{
	struct th_ledger *l = ledger(NULL);
	struct th_buf bytes = TH_BUF_INIT(TH_MIB);
	char name[64];
	int fd;

	(void)state;
	snprintf(name, sizeof(name), "%s", th_ledger_id(l));
	assert_int_equal(th_ledger_epoch_raise(l, 7, NULL), TH_OK);
	accept(l, "good", TH_CLASS_W, "shell");
	accept(l, "lost", TH_CLASS_W, "shell");
	assert_int_equal(th_ledger_sync(l, NULL), TH_OK);
	accept(l, "after", TH_CLASS_W, "shell");
	assert_int_equal(th_ledger_sync(l, NULL), TH_OK);
	th_ledger_close(l);
	assert_int_equal(th_file_read(path, TH_MIB, &bytes, NULL), TH_OK);
	ptrdiff_t at = th_str_find(th_buf_str(&bytes), TH_STR("\"lost\""));
	assert_true(at > 0);
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, "k", 1, at + 1), 1);
	close(fd);
	th_buf_deinit(&bytes);
	check_damaged(name);
	l = ledger(NULL);
	assert_null(th_ledger_find(l, TH_STR("lost")));
	assert_non_null(th_ledger_find(l, TH_STR("after")));
	th_ledger_close(l);
}

/* Whole records that make no sense: what is said still counts. */
static void nonsense_is_damage(void **state)
{
	static const char *const records[] = {
		"{}",
		"[]",
		"nothing",
		"{\"r\":\"finished\",\"id\":\"unheard\",\"status\":\"done\",\"output\":1}",
		"{\"r\":\"what\"}",
		"{\"r\":\"accepted\",\"id\":\"\",\"class\":\"W\"}",
		"{\"r\":\"accepted\",\"id\":\"x\",\"class\":\"Q\"}",
		"{\"r\":\"note\",\"id\":\"unheard\",\"noted\":{}}",
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(records); i++) {
		struct th_journal_found found;
		struct th_journal *j;
		struct th_ledger *l = ledger(NULL);
		char name[64];
		snprintf(name, sizeof(name), "%s", th_ledger_id(l));
		assert_int_equal(th_ledger_epoch_raise(l, 7, NULL), TH_OK);
		accept(l, "good", TH_CLASS_W, "shell");
		th_ledger_close(l);
		assert_int_equal(th_journal_open(path, accept_all, NULL, &found, &j, NULL), TH_OK);
		assert_int_equal(th_journal_append(j, th_str_of(records[i]), NULL), TH_OK);
		th_journal_close(j);
		check_damaged(name);
		assert_int_equal(unlink(path), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(remembers, setup, teardown),
		cmocka_unit_test_setup_teardown(stays_small, setup, teardown),
		cmocka_unit_test_setup_teardown(has_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(forgets_the_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(damage_changes_the_name, setup, teardown),
		cmocka_unit_test_setup_teardown(nonsense_is_damage, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
