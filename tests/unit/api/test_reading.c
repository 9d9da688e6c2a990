/* SPDX-License-Identifier: Apache-2.0 */
/* Reads beside the loop: the same lines as the blocking functions give, and every way to end. */
#include "base/hash.h"
#include "base/limits.h"
#include "io/files.h"
#include "rig.h"

static char folder[] = "/tmp/thole-reading-XXXXXX";
static char url[128];

static int setup(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(url, sizeof(url), "sqlite:%s/s.db", folder);
	return away_from_home(state);
}

static int teardown(void **state)
{
	struct th_err err;

	(void)state;
	return th_dir_remove(folder, &err) == TH_OK ? 0 : -1;
}

static void says_hello(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)ctx;
	(void)request;
	(void)nth;
	scripted_say(items, "Hello to you.");
}

/* ---- what a reading gives ---- */

struct got {
	struct th_buf text;
	size_t lines, ended, stop_at;
	int code;
	char why[512];
	struct thole_reading *reading;
	bool free_it;
};

static int on_line(void *ctx, const char *line, size_t len)
{
	struct got *g = ctx;

	assert_int_equal(g->ended, 0);
	th_buf_add_mem(&g->text, line, len);
	th_buf_add_char(&g->text, '\n');
	g->lines++;
	if (g->free_it && g->lines == g->stop_at) {
		thole_reading_free(g->reading);
		return 0;
	}
	return g->lines == g->stop_at ? 77 : 0;
}

static int on_bytes(void *ctx, const void *bytes, size_t size)
{
	struct got *g = ctx;

	th_buf_add_mem(&g->text, bytes, size);
	g->lines++;
	return 0;
}

static void on_done(void *ctx, int code, const struct thole_error *err)
{
	struct got *g = ctx;

	g->ended++;
	g->code = code;
	assert_true((err != NULL) == (code != THOLE_OK && code != 77));
	snprintf(g->why, sizeof(g->why), "%s", err ? err->text : "");
}

static struct got got_new(void)
{
	return (struct got){ .text = TH_BUF_INIT(64 * TH_MIB) };
}

static void got_clear(struct got *g)
{
	th_buf_deinit(&g->text);
	*g = got_new();
}

/* A session `s` of some dozen turns: more than a piece of events. */
static void with_session(struct thole_runtime *rt, struct thole_agent *agent)
{
	struct thole_session *s = NULL;

	GOOD(thole_session_new(rt, agent, "s", &s, &error));
	for (int i = 0; i < TH_READ_PIECE_EVENTS / 4; i++)
		GOOD(thole_session_run(s, "go", &error));
	thole_session_free(s);
}

static void compare(struct thole_runtime *rt, uint64_t from)
{
	struct got all = got_new(), parts = got_new();

	GOOD(thole_runtime_log(rt, "s", from, on_line, &all, &error));
	GOOD(thole_runtime_log_start(rt, "s", from, on_line, on_done, &parts, NULL, &error));
	assert_int_equal(parts.lines, 0); /* never from inside */
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(parts.ended, 1);
	assert_int_equal(parts.code, THOLE_OK);
	assert_int_equal(parts.lines, all.lines);
	assert_true(th_str_eq(th_buf_str(&parts.text), th_buf_str(&all.text)));
	th_buf_deinit(&all.text);
	th_buf_deinit(&parts.text);
}

static void same_as_blocking(const char *store)
{
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), store);
	struct thole_agent *agent = agent_of("a");
	struct got all = got_new(), parts = got_new();

	with_session(rt, agent);
	compare(rt, 0);
	compare(rt, TH_READ_PIECE_EVENTS);
	compare(rt, 100000); /* behind the end: nothing */
	compare(rt, UINT64_MAX);
	GOOD(thole_runtime_export(rt, "s", on_line, &all, &error));
	assert_true(all.lines > TH_READ_PIECE_EVENTS);
	GOOD(thole_runtime_export_start(rt, "s", on_line, on_done, &parts, NULL, &error));
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(parts.code, THOLE_OK);
	assert_true(th_str_eq(th_buf_str(&parts.text), th_buf_str(&all.text)));

	got_clear(&parts);
	parts.stop_at = 3;
	GOOD(thole_runtime_log_start(rt, "s", 1, on_line, on_done, &parts, NULL, &error));
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(parts.code, 77);
	assert_int_equal(parts.lines, 3);

	got_clear(&parts);
	parts.stop_at = TH_READ_PIECE_EVENTS - 1; /* in the middle of the export */
	GOOD(thole_runtime_export_start(rt, "s", on_line, on_done, &parts, NULL, &error));
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(parts.code, 77);
	assert_int_equal(parts.ended, 1);

	got_clear(&parts);
	GOOD(thole_runtime_log_start(rt, "nobody", 1, on_line, on_done, &parts, NULL, &error));
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(parts.code, THOLE_ENOENT);
	assert_true(strlen(parts.why) > 0);
	th_buf_deinit(&all.text);
	th_buf_deinit(&parts.text);
	thole_agent_free(agent);
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

static void in_a_file(void **state)
{
	(void)state;
	same_as_blocking(url);
}

static void in_memory(void **state)
{
	(void)state;
	same_as_blocking("memory:");
}

static void ended_early(void **state)
{
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), url);
	struct got a = got_new(), b = got_new(), c = got_new(), d = got_new();

	(void)state;
	/* At once; in its own function, of the log and of the export; and with the runtime. */
	GOOD(thole_runtime_log_start(rt, "s", 1, on_line, on_done, &a, &a.reading, &error));
	thole_reading_free(a.reading);
	b.free_it = c.free_it = true;
	b.stop_at = c.stop_at = 2;
	GOOD(thole_runtime_log_start(rt, "s", 1, on_line, on_done, &b, &b.reading, &error));
	GOOD(thole_runtime_export_start(rt, "s", on_line, on_done, &c, &c.reading, &error));
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(a.lines + a.ended, 0);
	assert_int_equal(b.lines, 2);
	assert_int_equal(c.lines, 2);
	assert_int_equal(b.ended + c.ended, 0);
	GOOD(thole_runtime_log_start(rt, "s", 1, on_line, on_done, &d, NULL, &error));
	GOOD(thole_runtime_export_start(rt, "s", on_line, on_done, &d, NULL, &error));
	GOOD(thole_runtime_free(rt));
	assert_int_equal(d.ended, 0);
	th_buf_deinit(&a.text);
	th_buf_deinit(&b.text);
	th_buf_deinit(&c.text);
	scripted_free(model);
}

static void blobs_beside(void **state)
{
	static const char hex[] =
	    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), url);
	struct got g = got_new();
	static char too_long[TH_PATH_LEN_MAX + 2];

	(void)state;
	GOOD(thole_runtime_blob_start(rt, hex, 0, 0, on_bytes, on_done, &g, NULL, &error));
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(g.code, THOLE_ENOENT);
	BAD(THOLE_EUSAGE,
	    thole_runtime_blob_start(rt, "xyz", 0, 0, on_bytes, on_done, &g, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_blob_start(rt, hex, 0, 0, NULL, on_done, &g, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_log_start(rt, "s", 1, NULL, on_done, &g, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_log_start(rt, "s", 1, on_line, NULL, &g, NULL, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_log_start(NULL, "s", 1, on_line, on_done, &g, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_export_start(rt, "", on_line, on_done, &g, NULL, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_export_start(NULL, "s", on_line, on_done, &g, NULL, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_blob_start(NULL, hex, 0, 0, on_bytes, on_done, &g, NULL, &error));
	memset(too_long, 'a', sizeof(too_long) - 1);
	BAD(THOLE_ELIMIT,
	    thole_runtime_log_start(rt, too_long, 1, on_line, on_done, &g, NULL, &error));
	BAD(THOLE_ELIMIT,
	    thole_runtime_export_start(rt, too_long, on_line, on_done, &g, NULL, &error));
	BAD(THOLE_ELIMIT,
	    thole_runtime_blob_start(rt, too_long, 0, 0, on_bytes, on_done, &g, NULL, &error));
	thole_reading_free(NULL);
	th_buf_deinit(&g.text);
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

/* A page beside the loop is the same as one in it; its options may be gone when it is read. */
static void pages_beside(void **state)
{
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:pages");
	struct thole_agent *agent = agent_of("a");
	struct got g = got_new();
	char limit[] = "2", *page = NULL;
	const char *options[] = { "limit", limit, "order", "created", NULL };
	const char *const bad[] = { "limit", "0", NULL };
	static char too_long[TH_PATH_LEN_MAX + 2];

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct thole_session *s = NULL;
		char id[8];

		snprintf(id, sizeof(id), "s%d", i);
		GOOD(thole_session_new(rt, agent, id, &s, &error));
		GOOD(thole_session_run(s, "go", &error));
		thole_session_free(s);
	}
	GOOD(thole_runtime_page(rt, options, &page, &error));
	GOOD(thole_runtime_page_start(rt, options, on_line, on_done, &g, NULL, &error));
	limit[0] = '1';
	assert_int_equal(g.lines, 0);
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(g.ended, 1);
	assert_int_equal(g.code, THOLE_OK);
	assert_int_equal(g.lines, 1);
	assert_int_equal(g.text.len, strlen(page) + 1);
	assert_memory_equal(g.text.ptr, page, strlen(page));
	BAD(THOLE_EUSAGE, thole_runtime_page_start(rt, bad, on_line, on_done, &g, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_page_start(rt, NULL, NULL, on_done, &g, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_page_start(NULL, NULL, on_line, on_done, &g, NULL, &error));
	memset(too_long, 'a', sizeof(too_long) - 1);
	BAD(THOLE_ELIMIT, thole_runtime_page_start(rt, (const char *[]){ "title", too_long, NULL },
						   on_line, on_done, &g, NULL, &error));
	thole_free(page);
	th_buf_deinit(&g.text);
	thole_agent_free(agent);
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

/* A session that cannot be had is LOST, and says why. */
static void opened_beside(void **state)
{
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *one = runtime_at(scripted_url(model), url);
	struct thole_runtime *two = runtime_at(scripted_url(model), url);
	struct thole_agent *agent = agent_of("a");
	struct thole_session *held = NULL, *s = NULL;

	(void)state;
	GOOD(thole_session_new(one, agent, "held", &held, &error));
	GOOD(thole_session_run(held, "go", &error));
	GOOD(thole_session_open_start(two, agent, "held", &s, &error));
	assert_int_equal(thole_session_state(s), THOLE_LOADING);
	GOOD(thole_session_lost(s, &error));
	BAD(THOLE_EUSAGE, thole_session_lost(NULL, &error));
	GOOD(thole_session_message(s, "go on", &error));
	GOOD(thole_runtime_run(two, &error));
	assert_int_equal(thole_session_state(s), THOLE_LOST);
	BAD(THOLE_EBUSY, thole_session_lost(s, &error));
	assert_non_null(strstr(error.text, "process"));
	thole_session_free(s);
	GOOD(thole_session_open_start(two, agent, "nobody", &s, &error));
	GOOD(thole_runtime_run(two, &error));
	BAD(THOLE_ENOENT, thole_session_lost(s, &error));
	thole_session_free(s);
	/* Who cannot wait is answered at once. */
	GOOD(thole_session_open_start(two, agent, "held", &s, &error));
	BAD(THOLE_EBUSY, thole_session_approve(s, "c1", "me", &error));
	thole_session_free(s);
	/* Given back, it is to be had, and what was said meanwhile is said then. */
	thole_session_free(held);
	GOOD(thole_runtime_free(one));
	GOOD(thole_session_open_start(two, agent, "held", &s, &error));
	GOOD(thole_session_message(s, "go on", &error));
	GOOD(thole_session_wait(s, 20000, &error));
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	thole_session_free(s);
	thole_agent_free(agent);
	GOOD(thole_runtime_free(two));
	scripted_free(model);
}

/* A store of this machine alone has no other runtimes: what is for them says so. */
static void alone(void **state)
{
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), url);
	const char *none[] = { NULL },
		   *full[] = { "name", "n",        "address", "http://a:1", "capacity",
			       "3",    "draining", "yes",     NULL };
	const char *unknown[] = { "adress", "x", NULL }, *number[] = { "capacity", "-1", NULL };
	static char too_long[TH_PATH_LEN_MAX + 2];
	struct thole_agent *agent = NULL;
	struct thole_session *s = NULL;
	struct got g = got_new();

	(void)state;
	GOOD(thole_runtime_nodes_start(rt, NULL, on_line, on_done, &g, NULL, &error));
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(g.ended, 1);
	assert_int_equal(g.lines, 0);
	got_clear(&g);
	GOOD(thole_runtime_nodes_start(rt, "s", on_line, on_done, &g, NULL, &error));
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(g.ended, 1);
	assert_int_equal(g.lines, 0);
	BAD(THOLE_EUSAGE, thole_runtime_nodes_start(rt, "", on_line, on_done, &g, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_nodes_start(rt, NULL, NULL, on_done, &g, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_nodes_start(rt, NULL, on_line, NULL, &g, NULL, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_nodes_start(NULL, NULL, on_line, on_done, &g, NULL, &error));
	BAD(THOLE_EUNSUPPORTED, thole_runtime_announce(rt, full, &error));
	BAD(THOLE_EUNSUPPORTED, thole_runtime_announce(rt, none, &error));
	BAD(THOLE_EUSAGE, thole_runtime_announce(rt, unknown, &error));
	BAD(THOLE_EUSAGE, thole_runtime_announce(rt, number, &error));
	BAD(THOLE_EUSAGE, thole_runtime_announce(NULL, none, &error));
	memset(too_long, 'a', sizeof(too_long) - 1);
	BAD(THOLE_ELIMIT,
	    thole_runtime_announce(rt, (const char *[]){ "name", too_long, NULL }, &error));
	BAD(THOLE_ELIMIT,
	    thole_runtime_nodes_start(rt, too_long, on_line, on_done, &g, NULL, &error));
	agent = agent_of("a");
	GOOD(thole_session_new(rt, agent, "h", &s, &error));
	BAD(THOLE_EUNSUPPORTED, thole_session_hand_over(s, false, &error));
	BAD(THOLE_EUNSUPPORTED, thole_session_hand_over(s, true, &error));
	BAD(THOLE_EUSAGE, thole_session_hand_over(NULL, true, &error));
	GOOD(thole_session_run(s, "go", &error)); /* it goes on all the same */
	thole_session_free(s);
	thole_agent_free(agent);
	th_buf_deinit(&g.text);
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_a_file),    cmocka_unit_test(in_memory),
		cmocka_unit_test(ended_early),  cmocka_unit_test(blobs_beside),
		cmocka_unit_test(pages_beside), cmocka_unit_test(opened_beside),
		cmocka_unit_test(alone),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
