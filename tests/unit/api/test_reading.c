/* SPDX-License-Identifier: Apache-2.0 */
/* Reads beside the loop: the same lines as the blocking functions give, and every way to end. */
#include "base/hash.h"
#include "base/json.h"
#include "base/limits.h"
#include "on_disk.h"

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
	char name[66] = "";
	const char *line[] = { name, "text", NULL };
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
	got_clear(&g);
	GOOD(thole_runtime_slow_start(rt, on_line, on_done, &g, NULL, &error));
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(g.ended, 1);
	assert_int_equal(g.lines, 0);
	BAD(THOLE_EUSAGE, thole_runtime_slow_start(rt, NULL, on_done, &g, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_slow_start(rt, on_line, NULL, &g, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_slow_start(NULL, on_line, on_done, &g, NULL, &error));
	memset(name, 'n', sizeof(name) - 1);
	BAD(THOLE_ELIMIT,
	    thole_runtime_outbox_put_start(rt, line, false, on_done, &g, NULL, &error));
	name[0] = '\0';
	BAD(THOLE_EUSAGE,
	    thole_runtime_outbox_put_start(rt, line, false, on_done, &g, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_outbox_put_start(rt, NULL, false, NULL, &g, NULL, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_outbox_put_start(NULL, NULL, false, on_done, &g, NULL, &error));
	BAD(THOLE_EUNSUPPORTED,
	    thole_runtime_outbox_put_start(rt, NULL, false, on_done, &g, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_outbox_take_start(rt, NULL, on_done, &g, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_outbox_take_start(rt, on_line, NULL, &g, NULL, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_outbox_take_start(NULL, on_line, on_done, &g, NULL, &error));
	BAD(THOLE_EUNSUPPORTED,
	    thole_runtime_outbox_take_start(rt, on_line, on_done, &g, NULL, &error));
	BAD(THOLE_EUNSUPPORTED,
	    thole_runtime_reserve_start(rt, "n", "u", 1, NULL, on_done, &g, &error));
	BAD(THOLE_EUSAGE, thole_runtime_reserve_start(rt, "n", "u", 0, NULL, on_done, &g, &error));
	BAD(THOLE_EUSAGE, thole_runtime_reserve_start(rt, "n", "u", 1, NULL, NULL, &g, &error));
	BAD(THOLE_EUSAGE, thole_runtime_reserve_start(rt, "n", "", 1, NULL, on_done, &g, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_reserve_start(NULL, "n", "u", 1, NULL, on_done, &g, &error));
	GOOD(thole_runtime_reservation_use(rt, "n", "s", &error));
	GOOD(thole_runtime_unreserve(rt, "n", &error));
	BAD(THOLE_EUSAGE, thole_runtime_reservation_use(NULL, "n", "s", &error));
	BAD(THOLE_EUSAGE, thole_runtime_unreserve(NULL, "n", &error));
	memset(name, 'n', sizeof(name) - 1);
	BAD(THOLE_ELIMIT, thole_runtime_reserve_start(rt, name, "u", 1, NULL, on_done, &g, &error));
	BAD(THOLE_ELIMIT, thole_runtime_reservation_use(rt, name, "s", &error));
	BAD(THOLE_ELIMIT, thole_runtime_unreserve(rt, name, &error));
	name[TH_RESERVATION_NAME_MAX] = '\0';
	GOOD(thole_runtime_unreserve(rt, name, &error));
	BAD(THOLE_EUNSUPPORTED, thole_runtime_announce(rt, full, &error));
	BAD(THOLE_EUNSUPPORTED, thole_runtime_announce(rt, none, &error));
	BAD(THOLE_EUSAGE, thole_runtime_announce(rt, unknown, &error));
	BAD(THOLE_EUSAGE, thole_runtime_announce(rt, number, &error));
	BAD(THOLE_EUSAGE, thole_runtime_announce(NULL, none, &error));
	BAD(THOLE_EUSAGE, thole_runtime_labels(NULL, "a", &error));
	BAD(THOLE_EUSAGE, thole_runtime_labels(rt, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_labels(rt, "a B", &error));
	BAD(THOLE_EUSAGE, thole_runtime_labels(rt, "a b a", &error));
	BAD(THOLE_ELIMIT, thole_runtime_labels(rt, "a b c d e f g h i", &error));
	GOOD(thole_runtime_labels(rt, "a b c d e f g h", &error));
	memset(too_long, 'a', sizeof(too_long) - 1);
	BAD(THOLE_ELIMIT,
	    thole_runtime_announce(rt, (const char *[]){ "name", too_long, NULL }, &error));
	BAD(THOLE_ELIMIT, thole_runtime_labels(rt, too_long, &error));
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

/* ---- a session as a conversation ---- */

static void told(struct thole_runtime *rt, struct thole_conversation *c, const char *const *options,
		 struct got *g)
{
	got_clear(g);
	GOOD(thole_conversation_read(c, options, on_line, on_done, g, NULL, &error));
	assert_int_equal(g->lines, 0);
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(g->ended, 1);
}

/* The nth line from the first. */
static struct th_str line_of(const struct got *g, size_t nth)
{
	struct th_str rest = th_buf_str(&g->text), line = { NULL, 0 };

	for (size_t i = 0; i <= nth; i++)
		line = th_str_split(&rest, '\n');
	return line;
}

static void id_of(const struct got *g, size_t nth, char ret[static 64])
{
	snprintf(ret, 64, "%.*s",
		 TH_FMT(th_json_raw_inside(th_json_raw_get(line_of(g, nth), "id"))));
}

static void as_a_conversation(void **state)
{
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), url);
	struct thole_agent *agent = agent_of("a");
	struct thole_conversation *c = NULL, *anew = NULL;
	struct got all = got_new(), g = got_new();
	char third[64], last[64], from[24];
	struct thole_session *s = NULL;

	(void)state;
	GOOD(thole_conversation_new(rt, "told", &c, &error));
	told(rt, c, NULL, &all);
	assert_int_equal(all.code, THOLE_ENOENT); /* there is no such session yet */
	GOOD(thole_session_new(rt, agent, "told", &s, &error));
	for (int i = 0; i < TH_READ_PIECE_EVENTS; i++)
		GOOD(thole_session_run(s, "go", &error));
	told(rt, c, NULL, &all);
	assert_int_equal(all.code, THOLE_OK);
	/* The instructions, and a message and an answer each time. */
	assert_int_equal(all.lines, 1 + 2 * TH_READ_PIECE_EVENTS);
	assert_int_equal(thole_conversation_count(c), all.lines);
	assert_true(thole_conversation_size(c) > all.text.len);
	id_of(&all, 2, third);
	id_of(&all, all.lines - 1, last);
	/* From a number, from an id, backwards; and the first of them only. */
	told(rt, c, (const char *[]){ "event", third, NULL }, &g);
	assert_int_equal(g.lines, all.lines - 2);
	assert_true(th_str_eq(line_of(&g, 0), line_of(&all, 2)));
	told(rt, c, (const char *[]){ "order", "desc", NULL }, &g);
	assert_int_equal(g.lines, all.lines);
	assert_true(th_str_eq(line_of(&g, 0), line_of(&all, all.lines - 1)));
	assert_true(th_str_eq(line_of(&g, all.lines - 1), line_of(&all, 0)));
	told(rt, c, (const char *[]){ "order", "desc", "event", third, NULL }, &g);
	assert_int_equal(g.lines, 3);
	told(rt, c, (const char *[]){ "from", "9223372036854775807", NULL }, &g);
	assert_int_equal(g.lines, 0);
	told(rt, c, (const char *[]){ "event", "none", NULL }, &g);
	assert_int_equal(g.code, THOLE_ENOENT);
	g.stop_at = 1;
	/* Where in the log they come from. */
	told(rt, c, (const char *[]){ "give", "places", "event", third, NULL }, &g);
	assert_int_equal(g.lines, all.lines - 2);
	assert_true(th_str_starts(line_of(&g, 0), TH_STR("{\"seq\":")));
	assert_true(th_str_ends(line_of(&g, 0), TH_STR("\"last\":true}")));
	assert_false(th_str_eq(line_of(&g, 0), line_of(&g, 1)));
	told(rt, c, (const char *[]){ "give", "events", NULL }, &g);
	assert_true(th_str_eq(th_buf_str(&g.text), th_buf_str(&all.text)));
	/* What comes later is behind the rest; and a new one tells the same. */
	snprintf(from, sizeof(from), "%zu", all.lines);
	GOOD(thole_session_run(s, "more", &error));
	told(rt, c, (const char *[]){ "from", from, NULL }, &g);
	assert_int_equal(g.lines, 2);
	GOOD(thole_conversation_new(rt, "told", &anew, &error));
	told(rt, c, NULL, &all);
	told(rt, anew, NULL, &g);
	assert_true(th_str_eq(th_buf_str(&g.text), th_buf_str(&all.text)));
	/* Freed in the middle. */
	GOOD(thole_conversation_read(c, NULL, on_line, on_done, &g, &g.reading, &error));
	thole_conversation_free(c);
	thole_reading_free(g.reading);
	GOOD(thole_runtime_run(rt, &error));
	thole_conversation_free(anew);
	thole_conversation_free(NULL);
	thole_session_free(s);
	thole_agent_free(agent);
	th_buf_deinit(&g.text);
	th_buf_deinit(&all.text);
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

static void misused_conversations(void **state)
{
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	static const char *const bad[][3] = {
		{ "from", "-1", NULL },  { "from", "x", NULL },   { "order", "up", NULL },
		{ "event", "", NULL },   { "before", "1", NULL }, { "", "1", NULL },
		{ "give", "all", NULL },
	};
	static char too_long[8192];
	struct thole_conversation *c = NULL, *anew = NULL;
	struct thole_agent *agent = agent_of("a");
	struct thole_session *s = NULL;
	struct got g = got_new();

	(void)state;
	BAD(THOLE_EUSAGE, thole_conversation_new(NULL, "a", &c, &error));
	BAD(THOLE_EUSAGE, thole_conversation_new(rt, NULL, &c, &error));
	BAD(THOLE_EUSAGE, thole_conversation_new(rt, "a", NULL, &error));
	BAD(THOLE_EUSAGE, thole_conversation_read(NULL, NULL, on_line, on_done, &g, NULL, &error));
	assert_int_equal(thole_conversation_count(NULL), 0);
	assert_int_equal(thole_conversation_size(NULL), 0);
	GOOD(thole_conversation_new(rt, "a", &c, &error));
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		BAD(THOLE_EUSAGE,
		    thole_conversation_read(c, bad[i], on_line, on_done, &g, NULL, &error));
	BAD(THOLE_EUSAGE, thole_conversation_read(c, NULL, NULL, on_done, &g, NULL, &error));
	BAD(THOLE_EUSAGE, thole_conversation_read(c, NULL, on_line, NULL, &g, NULL, &error));
	memset(too_long, 'a', sizeof(too_long) - 1);
	BAD(THOLE_ELIMIT, thole_conversation_new(rt, too_long, &anew, &error));
	BAD(THOLE_ELIMIT, thole_conversation_read(c, (const char *[]){ "event", too_long, NULL },
						  on_line, on_done, &g, NULL, &error));
	GOOD(thole_session_new(rt, agent, "b", &s, &error));
	BAD(THOLE_EUSAGE, thole_session_confirm(NULL, "{\"when\":\"always\"}", NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_confirm(s, NULL, NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_confirm(s, "{\"when\":\"sometimes\"}", NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_confirm(s, "no JSON", NULL, &error));
	BAD(THOLE_ELIMIT, thole_session_confirm(s, too_long, NULL, &error));
	BAD(THOLE_ELIMIT, thole_session_confirm(s, "{\"when\":\"always\"}", too_long, &error));
	GOOD(thole_session_confirm(s, "{\"when\":\"always\"}", "alice", &error));
	thole_session_free(s);
	thole_agent_free(agent);
	thole_conversation_free(c);
	th_buf_deinit(&g.text);
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_a_file),
		cmocka_unit_test(in_memory),
		cmocka_unit_test(ended_early),
		cmocka_unit_test(blobs_beside),
		cmocka_unit_test(pages_beside),
		cmocka_unit_test(opened_beside),
		cmocka_unit_test(alone),
		cmocka_unit_test(as_a_conversation),
		cmocka_unit_test(misused_conversations),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
