/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context.c - what long histories cost, without transfer, store and tools.
 *
 *	context mode=fold events=1000000       a log of so many events is folded
 *	context mode=turns condenser=summary   2,100 turns through a window of 32,000 tokens
 *	context mode=cache wire=messages       300 turns with condensations, as a provider counts
 *
 * turns: processor time from an answer's bytes to the next request, with its share of the
 * condensations, as the mean of 200 turns from turn 50 and from turn 1,900; points=1
 * prints the tokens of each request.  cache: the share of all tokens sent that the provider
 * reads from its cache: the Responses API's longest common beginning with an earlier request,
 * in steps of 128 tokens from 1,024 on; Anthropic's beginning up to a mark, with at most 20 blocks
 * to the next one.  A token is four bytes.  check=1: it fails where that is worse than what is
 * promised (docs/CONTEXT.md); processor times only with TH_TORTURE, on a machine that is
 * free.
 */
#include "bench.h"

#include "base/limits.h"
#include "paper.h"
#include "transcript/parsed.h"

#define TURNS 2100
#define WINDOW 32000 /* tokens */
#define SPAN 200     /* turns of a mean */
#define EARLY 50
#define LATE 1900
#define TOKEN 4
#define FOLD_S_MAX 2.0
#define FOLD_MB_MAX 200.0
#define RATIO_MAX 1.2
#define SHARE_MIN 0.95
#define OUTPUT "0123456789 is what the tool has found, and some more words of it besides. "

static bool checks, checks_time;

static void die(const char *what)
{
	fprintf(stderr, "context: %s\n", what);
	exit(1);
}

/* What is promised. */
static int promised(bool holds)
{
	if (holds)
		return 0;
	fprintf(stderr, "context: that is worse than promised\n");
	return 1;
}

/* ---- fold ---- */

static void step(struct th_session *s, struct th_event *ev, enum th_event_kind kind, uint64_t cause,
		 struct th_str call, const struct th_buf *data)
{
	struct th_effects effects;
	struct th_err err;

	ev->seq++;
	ev->kind = kind;
	ev->cause = cause;
	ev->call = call;
	ev->data = th_buf_str(data);
	if (th_session_step(s, ev, &effects, &err))
		die(err.msg);
}

static void fold_turn(struct th_session *s, struct th_event *ev, long number, struct th_buf *data)
{
	char id[32], digest[TH_SHA256_HEX_SIZE + 1];
	struct th_str call = th_str_n(id, (size_t)snprintf(id, sizeof(id), "call_%ld", number));
	uint64_t seq = ev->seq;

	th_call_digest(TH_STR("shell"), TH_STR("{}"), digest);
	th_buf_clear(data);
	th_buf_printf(data, "{\"model\":\"gpt-5.4\",\"turn\":%ld,\"attempt\":1,\"items\":1}",
		      number + 1);
	step(s, ev, TH_EV_MODEL_REQUESTED, 0, TH_STR(""), data);
	th_buf_clear(data);
	th_buf_printf(data,
		      "{\"response_id\":\"r\",\"model\":\"gpt-5.4\",\"status\":\"completed\","
		      "\"items\":[{\"type\":\"function_call\",\"id\":\"fc\",\"call_id\":\"%s\","
		      "\"name\":\"shell\",\"arguments\":\"{}\",\"status\":\"completed\"}],"
		      "\"usage\":{\"input\":10,\"output\":5,\"total\":15}}",
		      id);
	step(s, ev, TH_EV_MODEL_ANSWERED, seq + 1, TH_STR(""), data);
	th_buf_clear(data);
	th_buf_printf(data,
		      "{\"call_id\":\"%s\",\"tool\":\"shell\",\"arguments\":{},\"class\":\"W\","
		      "\"digest\":\"%s\",\"policy\":\"run\"}",
		      id, digest);
	step(s, ev, TH_EV_CALL, seq + 2, call, data);
	th_buf_clear(data);
	th_buf_printf(data,
		      "{\"call_id\":\"%s\",\"effect_id\":\"0123456789abcdef0123456789%06ld\","
		      "\"epoch\":1,\"class\":\"W\",\"tool\":\"shell\",\"digest\":\"%s\","
		      "\"timeout_ms\":120000}",
		      id, number, digest);
	step(s, ev, TH_EV_INTENT, seq + 3, call, data);
	th_buf_clear(data);
	th_buf_printf(data,
		      "{\"call_id\":\"%s\",\"effect_id\":\"0123456789abcdef0123456789%06ld\","
		      "\"status\":\"done\",\"output\":\"" OUTPUT OUTPUT "\"}",
		      id, number);
	step(s, ev, TH_EV_OUTCOME, seq + 4, call, data);
}

static int fold(long events)
{
	struct th_session *s = th_alloc(sizeof(*s));
	struct th_event ev = { .source = TH_SOURCE_AGENT,
			       .ts_ms = 1700000000000,
			       .build = TH_STR("0.1.0") };
	struct th_buf data = TH_BUF_INIT(TH_MIB);
	double from = bench_cpu_us(), all;

	th_session_init(s);
	th_buf_add_cstr(&data, "{\"agent\":{\"name\":\"bench\",\"limits\":{\"turns\":1000000}},"
			       "\"model\":\"gpt-5.4\"}");
	step(s, &ev, TH_EV_SESSION_CREATED, 0, TH_STR(""), &data);
	th_buf_clear(&data);
	th_buf_add_cstr(&data, "{\"role\":\"user\",\"content\":\"do it\"}");
	step(s, &ev, TH_EV_MESSAGE, 0, TH_STR(""), &data);
	for (long i = 0; (long)ev.seq + 5 <= events; i++)
		fold_turn(s, &ev, i, &data);
	all = bench_cpu_us() - from;
	printf("{\"bench\":\"context\",\"mode\":\"fold\",\"events\":%llu,\"cpu_s\":%.2f,"
	       "\"rss_mb\":%.1f}\n",
	       (unsigned long long)ev.seq, all / 1e6, (double)bench_rss_kb() / 1024);
	th_session_deinit(s);
	free(s);
	th_buf_deinit(&data);
	return promised(!checks_time ||
			(all / 1e6 <= FOLD_S_MAX && (double)bench_rss_kb() / 1024 <= FOLD_MB_MAX));
}

/* ---- a session ---- */

struct bench {
	struct paper *w;
	struct th_agent agent;
	struct th_agent_compact compact;
	struct th_agent_limits limits;
	struct th_tool_row tool;
	struct th_session_config o;
	struct th_buf body;
	double handed; /* processor time when the last request was handed over */
	size_t summaries, forgotten;
};

static void on_request(void *own)
{
	((struct bench *)own)->handed = bench_cpu_us();
}

static void find(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	struct th_effect_result result = { .status = TH_OUTCOME_DONE,
					   .output = TH_STR("\"" OUTPUT OUTPUT OUTPUT "\"") };

	(void)ctx;
	th_driver_tool_done(d, call->ticket, &result);
}

static void begin(struct bench *b, const char *model, const char *condenser, int64_t tokens)
{
	struct th_ev_session_created created = { 0 };
	struct th_err err = { 0 };

	b->w = paper_new();
	b->limits.turns = 100000;
	b->agent = (struct th_agent){ .name = TH_STR("bench"),
				      .instructions = TH_STR("You are a careful worker."),
				      .limits = &b->limits };
	b->compact = (struct th_agent_compact){
		.own = { .condenser = th_str_of(condenser), .keep_first = -1 }, .tokens = tokens
	};
	if (condenser[0])
		b->agent.compact = &b->compact;
	b->tool = (struct th_tool_row){ .spec = { .name = TH_STR("find"),
						  .schema = TH_STR("{\"type\":\"object\"}"),
						  .class = TH_CLASS_R },
					.local = find,
					.ctx = b->w };
	b->o = (struct th_session_config){ .agent = &b->agent, .tools = &b->tool, .tool_count = 1 };
	th_buf_init(&b->body, TH_MIB);
	if (th_model_resolve(th_str_of(model), &b->o.first.profile, &b->o.first.model, &err))
		die(err.msg);
	created.model = b->o.first.model;
	b->w->on_request = on_request;
	b->w->own = b;
	if (paper_create(b->w, &b->o, &created, &err) ||
	    th_driver_message(b->w->driver, b->w->h,
			      TH_STR("Never touch keep.txt. Find all of it."), &err))
		die(err.msg);
	paper_settle(b->w);
}

static bool is_messages(const struct bench *b)
{
	return th_str_is(th_str_of(b->o.first.profile->wire->name), "messages");
}

/* The answer to the request, whose tokens are counted as they are sent; a summary where one is
 * asked for. */
static void reply(struct bench *b, int turn)
{
	const char *sent = b->w->request->body;
	size_t tokens = strlen(sent) / TOKEN;
	bool summary = strstr(sent, "has become too long. Write a summary");

	b->summaries += summary;
	th_buf_clear(&b->body);
	if (is_messages(b))
		th_buf_printf(&b->body,
			      "{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\","
			      "\"stop_reason\":\"%s\",\"content\":[",
			      summary ? "end_turn" : "tool_use");
	else
		th_buf_add_cstr(&b->body, "{\"id\":\"r\",\"object\":\"response\",\"status\":"
					  "\"completed\",\"output\":[");
	if (summary && is_messages(b))
		th_buf_add_cstr(&b->body,
				"{\"type\":\"text\",\"text\":\"DONE: the first of them.\"}");
	else if (summary)
		th_buf_add_cstr(&b->body, TEXT("DONE: the first of them."));
	else if (is_messages(b))
		th_buf_printf(&b->body,
			      "{\"type\":\"tool_use\",\"name\":\"find\",\"id\":\"toolu_%d\","
			      "\"input\":{\"n\":%d}}",
			      turn, turn);
	else
		th_buf_printf(&b->body,
			      "{\"type\":\"function_call\",\"id\":\"fc_%d\",\"call_id\":\"c%d\","
			      "\"name\":\"find\",\"status\":\"completed\",\"arguments\":"
			      "\"{\\\"n\\\":%d}\"}",
			      turn, turn, turn);
	th_buf_printf(&b->body, "],\"usage\":{\"input_tokens\":%zu,\"output_tokens\":20}}", tokens);
	th_buf_add_char(&b->body, '\0');
	paper_say(b->w, b->w->request, b->body.ptr);
	if (!b->w->request->open)
		die("the run ended early");
	/* Only the newest is looked at again. */
	for (; b->forgotten + 1 < b->w->request_count; b->forgotten++) {
		free(b->w->requests[b->forgotten]->body);
		b->w->requests[b->forgotten]->body = NULL;
	}
}

static void end(struct bench *b)
{
	paper_free(b->w);
	th_buf_deinit(&b->body);
}

static int turns(const char *model, const char *condenser, bool points)
{
	struct bench b = { 0 };
	double early = 0, late = 0;
	size_t most = 0, condensed;
	int code;

	begin(&b, model, condenser, 24000);
	for (int turn = 1; turn <= TURNS; turn++) {
		double from = bench_cpu_us(), spent;
		size_t tokens = strlen(b.w->request->body) / TOKEN, before = b.summaries;

		most = TH_MAX(most, tokens);
		if (points)
			printf("%s%zu", turn == 1 ? "[" : ",", tokens);
		do
			reply(&b, turn);
		while (b.summaries != before && (before = b.summaries)); /* the turn is still due */
		spent = b.handed - from;
		if (turn >= EARLY && turn < EARLY + SPAN)
			early += spent / SPAN;
		if (turn >= LATE && turn < LATE + SPAN)
			late += spent / SPAN;
	}
	condensed = paper_count(b.w->log, TH_EV_CONDENSATION);
	if (points)
		printf("]\n");
	else
		printf(
		    "{\"bench\":\"context\",\"mode\":\"turns\",\"condenser\":\"%s\",\"turns\":%d,"
		    "\"condensations\":%zu,\"tokens_max\":%zu,\"us_turn_%d\":%.1f,\"us_turn_%d\":"
		    "%.1f,\"ratio\":%.2f}\n",
		    condenser, TURNS, condensed, most, EARLY, early, LATE, late, late / early);
	code = promised(!checks || (most < WINDOW && condensed >= 3 &&
				    (!checks_time || late / early <= RATIO_MAX)));
	end(&b);
	return code;
}

/* ---- a provider's cache ---- */

struct entry {
	char *text; /* a request, or its beginning up to a mark; marks are no part of it */
	size_t len;
};

struct cache {
	struct entry *list;
	size_t count;
	size_t marks[16], mark_count; /* of the request at hand */
};

#define MARK ",\"cache_control\":{\"type\":\"ephemeral\"}"

/* Takes the marks out, and notes where they were. */
static void take_marks(struct cache *c, char *text)
{
	char *from;

	c->mark_count = 0;
	while ((from = strstr(text, MARK))) {
		memmove(from, from + strlen(MARK), strlen(from + strlen(MARK)) + 1);
		if (c->mark_count < TH_COUNT(c->marks))
			c->marks[c->mark_count++] = (size_t)(from - text);
	}
}

/* A mark finds what was stored up to 20 blocks before it. */
static bool reaches(const struct cache *c, const char *text, size_t len)
{
	for (size_t i = 0; i < c->mark_count; i++) {
		size_t blocks = 0;

		if (c->marks[i] < len)
			continue;
		for (const char *at = text + len; (at = strstr(at, "\"type\":")); at++)
			if (at < text + c->marks[i])
				blocks++;
			else
				break;
		if (blocks <= 20)
			return true;
	}
	return false;
}

static size_t common(const char *a, size_t len, const char *b)
{
	size_t n = 0;

	while (n < len && b[n] && a[n] == b[n])
		n++;
	return n;
}

static void store(struct cache *c, const char *text, size_t len)
{
	c->list = th_realloc(c->list, (c->count + 1) * sizeof(*c->list));
	c->list[c->count++] = (struct entry){ strndup(text, len), len };
}

/* Tokens of this request that the provider has. */
static size_t cached(struct cache *c, const char *body, bool marked)
{
	char *text = strdup(body);
	size_t best = 0;

	take_marks(c, text);
	for (size_t i = 0; i < c->count; i++) {
		size_t n = common(c->list[i].text, c->list[i].len, text);

		if (marked && (n < c->list[i].len || !reaches(c, text, n)))
			n = 0;
		best = TH_MAX(best, n);
	}
	for (size_t i = 0; marked && i < c->mark_count; i++)
		store(c, text, c->marks[i]);
	if (!marked)
		store(c, text, strlen(text));
	free(text);
	best /= TOKEN;
	return best < 1024 ? 0 : marked ? best : best / 128 * 128;
}

static int cache(const char *model, const char *condenser, long count)
{
	struct bench b = { 0 };
	struct cache c = { 0 };
	double sent = 0, read = 0;
	size_t condensed;

	begin(&b, model, condenser, 12000);
	for (int turn = 1; turn <= count; turn++) {
		size_t before;

		do {
			before = b.summaries;
			sent += (double)(strlen(b.w->request->body) / TOKEN);
			read += (double)cached(&c, b.w->request->body, is_messages(&b));
			reply(&b, turn);
		} while (b.summaries != before);
	}
	condensed = paper_count(b.w->log, TH_EV_CONDENSATION);
	printf("{\"bench\":\"context\",\"mode\":\"cache\",\"wire\":\"%s\",\"condenser\":\"%s\","
	       "\"turns\":%ld,\"condensations\":%zu,\"share\":%.4f}\n",
	       b.o.first.profile->wire->name, condenser, count, condensed, read / sent);
	for (size_t i = 0; i < c.count; i++)
		free(c.list[i].text);
	free(c.list);
	end(&b);
	return promised(!checks || (condensed >= 3 && read / sent >= SHARE_MIN));
}

int main(int argc, char **argv)
{
	const char *mode = bench_option(argc, argv, "mode", "turns");
	const char *condenser = bench_option(argc, argv, "condenser", "summary");
	const char *model = bench_option(argc, argv, "model", "gpt-5.4");

	checks = bench_number(argc, argv, "check", 0) != 0;
	checks_time = checks && getenv("TH_TORTURE");
	if (strcmp(mode, "fold") == 0)
		return fold(bench_number(argc, argv, "events", 1000000));
	if (strcmp(mode, "cache") == 0)
		return cache(model, condenser, bench_number(argc, argv, "turns", 300));
	return turns(model, condenser, bench_number(argc, argv, "points", 0) != 0);
}
