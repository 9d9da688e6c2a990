/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openhands_condense.c - what a condenser leaves of a history, and what may be
 * left of one at all.  What upstream forgets is compared with what our row would
 * leave out; that ours then pins what the user said is on top of it.
 */
#include "openhands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "context/condenser.h"

#define EVENTS_MAX 1024

/* A history as a case has it: one item for each event. */
struct history {
	struct th_transcript_item items[EVENTS_MAX];
	struct th_transcript t;
	struct th_str names[EVENTS_MAX]; /* as the case writes them */
	int64_t ids[EVENTS_MAX];
	size_t action; /* the last action: the results' */
	bool asked, told;
	struct th_arena memory;
};

static struct history *history_new(void)
{
	struct history *h = th_alloc(sizeof(*h));

	th_arena_init(&h->memory, 16 * TH_MIB);
	h->t.list = h->items;
	h->t.task_at = 0;
	h->action = SIZE_MAX;
	return h;
}

static void history_free(struct history *h)
{
	th_arena_deinit(&h->memory);
	free(h);
}

__attribute__((format(printf, 2, 3))) static struct th_str make(struct history *h, const char *fmt,
								...)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	struct th_str held;
	va_list ap;

	va_start(ap, fmt);
	th_buf_vprintf(&text, fmt, ap);
	va_end(ap);
	held = th_arena_str(&h->memory, th_buf_str(&text));
	th_buf_deinit(&text);
	return held;
}

static struct th_transcript_item *add(struct history *h, struct th_str name, int64_t id)
{
	size_t at = h->t.count++;

	assert(at < EVENTS_MAX);
	h->names[at] = name;
	h->ids[at] = id;
	h->items[at] = (struct th_transcript_item){ .seq = (uint64_t)id + 1,
						    .kind = TH_TRANSCRIPT_MESSAGE,
						    .role = TH_STR("user"),
						    .content = TH_STR("\"x\"") };
	return &h->items[at];
}

static void add_call(struct history *h, struct th_str name, int64_t id)
{
	struct th_transcript_item *item = add(h, name, id);

	item->kind = TH_TRANSCRIPT_OUTPUT;
	item->of = 1;
	item->call_id = make(h, "c%lld", (long long)id);
	item->item = TH_STR("{\"type\":\"function_call\"}");
	h->action = h->t.count - 1;
}

static void add_result(struct history *h, struct th_str name, int64_t id, struct th_str text)
{
	struct th_transcript_item *item = add(h, name, id);
	bool browser = th_str_starts(name, TH_STR("Browser"));

	item->kind = TH_TRANSCRIPT_RESULT;
	item->output = TH_STR("\"result\"");
	item->call_id = h->action == SIZE_MAX ? TH_STR("none") : h->items[h->action].call_id;
	item->item = TH_STR("{\"type\":\"function_call\"}");
	item->tool = browser ? TH_STR("browser") : TH_STR("run");
	item->evidence = browser ? make(h, "{\"url\":\"%.*s\"}", TH_FMT(text)) : TH_STR("");
}

/* The first message is the task. */
static void add_task(struct history *h, struct th_str name, int64_t id)
{
	add(h, name, id);
	if (!h->told)
		h->t.task_at = h->t.count - 1;
	h->told = true;
}

/* "CmdRunAction#1", "MessageAction#0:go". */
static void add_event(struct history *h, struct th_str text)
{
	ptrdiff_t hash = th_str_find(text, TH_STR("#")), colon = th_str_find(text, TH_STR(":"));
	struct th_str kind = th_str_sub(text, 0, hash < 0 ? text.len : (size_t)hash);
	struct th_str rest = colon < 0 ? TH_STR("") : th_str_sub(text, (size_t)colon + 1, text.len);
	int64_t id = hash < 0 ? (int64_t)h->t.count : strtoll(text.ptr + hash + 1, NULL, 10);

	if (th_str_is(kind, "CondensationRequestAction"))
		h->asked = true;
	else if (th_str_is(kind, "CondensationAction"))
		h->asked = false;
	else if (th_str_is(kind, "SystemMessageAction"))
		add(h, text, id)->role = TH_STR("system");
	else if (th_str_starts(kind, TH_STR("Recall"))) /* what is known of the place */
		add(h, text, id)->role = TH_STR("developer");
	else if (th_str_is(kind, "MessageAction"))
		add_task(h, text, id);
	else if (th_str_ends(kind, TH_STR("Observation")))
		add_result(h, text, id, rest);
	else
		add_call(h, text, id);
}

static int64_t number_in(struct th_str text, const char *const *names, int64_t otherwise)
{
	for (; *names; names++) {
		ptrdiff_t at = th_str_find(text, th_str_of(*names));

		if (at >= 0)
			return strtoll(text.ptr + at + strlen(*names), NULL, 10);
	}
	return otherwise;
}

/* "llm_summarizing max_size=10 keep_first=2, 11 events": the numbers that it does not say are those
 * of the other cases about it. */
static const struct th_condenser *row_of(struct th_str text, size_t count,
					 struct th_agent_condenser *own)
{
	static const char *const sizes[] = { "max_size=", "max=", NULL };
	static const char *const firsts[] = { "keep_first=", "keep=", "k=", NULL };
	static const char *const events[] = { "max_events=", NULL };
	static const char *const windows[] = { "attention_window=", "window=", "N=", NULL };
	static const struct {
		const char *word;
		const struct th_condenser *row;
		int64_t size, first, events, window;
	} rows[] = {
		{ "noop", &th_condenser_noop, 0, -1, 0, 0 },
		{ "recent", &th_condenser_recent, 0, 1, 10, 0 },
		{ "observation_masking", &th_condenser_observation, 0, -1, 0, 5 },
		{ "browser", &th_condenser_browser, 0, -1, 0, 1 },
		{ "amortized", &th_condenser_amortized, 0, 1, 0, 0 },
		{ "llm_attention", &th_condenser_attention, 10, 2, 0, 0 },
		{ "attention", &th_condenser_attention, 10, 2, 0, 0 },
		{ "llm", &th_condenser_llm, 10, 2, 0, 0 },
		{ "structured", &th_condenser_structured, 10, 2, 0, 0 },
		{ "conversation_window", &th_condenser_window, 0, -1, 0, 0 },
	};

	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		if (!th_str_starts(text, th_str_of(rows[i].word)))
			continue;
		*own = (struct th_agent_condenser){
			.condenser = th_str_of(rows[i].row->name),
			.max_size = number_in(text, sizes, rows[i].size),
			.keep_first = number_in(text, firsts, rows[i].first),
			.max_events = number_in(text, events, rows[i].events),
			.attention_window = number_in(text, windows, rows[i].window),
		};
		if (rows[i].row == &th_condenser_amortized && !own->max_size)
			own->max_size = (int64_t)TH_MAX(count, (size_t)4); /* at its limit */
		return rows[i].row;
	}
	return NULL;
}

static bool is_out(const struct th_condense_plan *p, size_t at)
{
	return p->fates[at] == TH_FATE_GOES || p->fates[at] == TH_FATE_PINNED;
}

static void put_view(const struct history *h, const struct th_condense_plan *p, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_key(&w, TH_STR("view"));
	th_jw_array(&w);
	for (size_t i = 0; i < h->t.count; i++) {
		struct th_buf text = TH_BUF_INIT(TH_KIB);

		if (p->fates[i] == TH_FATE_MASKED)
			th_buf_printf(&text, "AgentCondensationObservation#-1:%.*s",
				      TH_FMT(p->masks[i]));
		else
			th_buf_add(&text, h->names[i]);
		if (!is_out(p, i))
			th_jw_str(&w, th_buf_str(&text));
		th_buf_deinit(&text);
	}
	th_jw_array_end(&w);
	th_jw_object_end(&w);
}

/* The events that are forgotten: a range where none between them stays. */
static void put_condensation(const struct history *h, const struct th_condense_plan *p,
			     struct th_str summary, struct th_buf *out)
{
	struct th_jw w = th_jw(out);
	size_t first = SIZE_MAX, last = 0, offset = 0;
	bool whole = true;

	while (offset < h->t.count && !is_out(p, offset))
		offset++;
	for (size_t i = 0; i < h->t.count; i++)
		if (is_out(p, i) && !h->items[i].made) {
			first = TH_MIN(first, i);
			last = i;
		}
	for (size_t i = first; i <= last && first != SIZE_MAX; i++)
		whole &= is_out(p, i);
	th_jw_object(&w);
	th_jw_kint(&w, "first", first == SIZE_MAX ? -1 : h->ids[first]);
	th_jw_kint(&w, "last", first == SIZE_MAX ? -1 : h->ids[last]);
	th_jw_kbool(&w, "whole", whole);
	th_jw_kint(&w, "offset", (int64_t)offset);
	th_jw_kbool(&w, "summary", summary.len > 0);
	th_jw_key(&w, TH_STR("ids"));
	th_jw_array(&w);
	for (size_t i = 0; i < h->t.count; i++)
		if (is_out(p, i) && !h->items[i].made)
			th_jw_int(&w, h->ids[i]);
	th_jw_array_end(&w);
	th_jw_object_end(&w);
}

/* Upstream names a range by its ends, and so counts what was forgotten before as forgotten. */
static bool same_condensation(const struct th_json *want, struct th_str found)
{
	const struct th_json *c = th_json_get(want, "condensation"), *range, *ids;
	struct th_json_doc *doc = NULL;
	const struct th_json *v;
	bool same;

	if (th_json_parse(found, &doc, NULL))
		return false;
	v = th_json_root(doc);
	range = th_json_get(c, "range");
	ids = th_json_get(c, "forgotten_event_ids");
	if (th_json_is_array(range))
		same = th_json_int(th_json_at(range, 0), -2) == th_json_get_int(v, "first", -1) &&
		       th_json_int(th_json_at(range, 1), -2) == th_json_get_int(v, "last", -1) &&
		       th_json_bool(th_json_get(v, "whole"), false);
	else
		same = th_json_equal(ids, th_json_get(v, "ids"));
	if (!th_json_is_null(th_json_get(c, "summary")))
		same &=
		    th_json_get_int(c, "summary_offset", -1) == th_json_get_int(v, "offset", -2);
	th_json_free(doc);
	return same;
}

/* Upstream's view of a history that is shorter than max_events has its first events twice. */
static bool same_once(const struct th_json *want, struct th_str found)
{
	struct th_buf once = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&once);
	struct th_json_iter it = th_json_iter(want);
	bool twice = false, same;

	th_jw_object(&w);
	th_jw_key(&w, TH_STR("view"));
	th_jw_array(&w);
	for (size_t n = 0; th_json_next(&it); n++) {
		bool seen = false;

		for (size_t i = 0; i < n && !th_str_starts(th_json_str(it.val), TH_STR("Agent"));
		     i++)
			seen |= th_json_equal(th_json_at(want, i), it.val);
		twice |= seen;
		if (!seen)
			th_jw_json(&w, it.val);
	}
	th_jw_array_end(&w);
	th_jw_object_end(&w);
	same = twice && th_str_eq(th_buf_str(&once), found);
	th_buf_deinit(&once);
	return same;
}

static bool compare(const struct oh_case *c, struct th_buf *found)
{
	const struct th_json *view = th_json_get(c->expected, "view");
	struct th_buf want = TH_BUF_INIT(TH_MIB);
	bool same;

	if (!view)
		return same_condensation(c->expected, th_buf_str(found));
	th_json_print(c->expected, &want);
	same = th_str_eq(th_buf_str(&want), th_buf_str(found));
	th_buf_deinit(&want);
	return same;
}

/* Upstream fails on a request where there is little: ours leaves out what there is. */
static bool outlives(const struct th_condense_plan *p, const struct oh_case *c,
		     struct th_buf *found)
{
	if (!th_json_get(c->expected, "error") || !p->t->count || p->fates[0] == TH_FATE_GOES ||
	    is_out(p, p->t->count - 1))
		return false;
	th_buf_clear(found);
	th_buf_add_cstr(found, OH_DEVIATES "it goes on");
	return true;
}

/* Is the event gone by what the case says? */
static bool is_out_there(const struct history *h, size_t i, const struct th_json *want)
{
	const struct th_json *view = th_json_get(want, "view");
	struct th_json_iter it =
	    th_json_iter(view ?: th_json_get(th_json_get(want, "condensation"), "forgotten"));

	while (th_json_next(&it))
		if (view ? th_str_eq(th_json_str(it.val), h->names[i])
			 : th_json_int(it.val, -1) == h->ids[i])
			return !view;
	return view != NULL;
}

/* Upstream cuts between a call and its result, or leaves out the newest of both.  Ours keeps both
 * or none, and all else is as there. */
static bool parts_pairs(const struct history *h, const struct th_condense_plan *p,
			const struct th_json *want)
{
	bool parts = false;

	for (size_t i = 0; i < h->t.count; i++) {
		const struct th_transcript_item *item = &h->t.list[i];
		size_t other = i;

		for (size_t k = 0; item->call_id.len && k < h->t.count; k++)
			if (k != i && th_str_eq(h->t.list[k].call_id, item->call_id))
				other = k;
		if (is_out(p, i) != is_out(p, other))
			return false;
		if (is_out(p, i) == is_out_there(h, i, want))
			continue;
		if (other == i || (is_out_there(h, i, want) == is_out_there(h, other, want) &&
				   TH_MAX(i, other) + 1 < h->t.count))
			return false;
		parts = true;
	}
	return parts;
}

/* What was condensed before: in these cases the events that `llm` leaves out. */
static void condense_before(struct history *h, const struct th_condenser *row,
			    const struct th_agent_condenser *own, const struct th_json *events)
{
	struct th_condense c = { .transcript = &h->t };
	struct th_json_iter it = th_json_iter(events);
	struct th_condense_plan p;
	size_t kept = 0;

	while (th_json_next(&it)) {
		if (!th_str_starts(th_json_str(it.val), TH_STR("CondensationAction#"))) {
			add_event(h, th_json_str(it.val));
			continue;
		}
		h->asked = false;
		th_condense_plan_init(&p, &c, false);
		th_condense_plan_by(&p, row, own);
		(void)th_condense_plan_settle(&p);
		kept = 0;
		for (size_t i = 0; i < h->t.count; i++) {
			if (i == (size_t)own->keep_first) {
				h->items[kept].made = true; /* the summary takes the first one's */
				h->items[kept].kind = TH_TRANSCRIPT_MESSAGE;
				kept++;
			}
			if (is_out(&p, i))
				continue;
			h->items[kept] = h->items[i];
			h->names[kept] = h->names[i];
			h->ids[kept++] = h->ids[i];
		}
		th_condense_plan_deinit(&p);
		h->t.count = kept;
	}
}

bool oh_condenser_v0(const struct oh_case *c, struct th_buf *found)
{
	struct th_str name = th_json_get_str(c->input, "condenser");
	const struct th_json *events = th_json_get(c->input, "events");
	struct history *h;
	struct th_agent_condenser own;
	struct th_agent_compact compact = { .pins = 1 };
	struct th_condense input = { .options = &compact, .summary = TH_STR("S") };
	const struct th_condenser *row = row_of(name, th_json_count(events), &own);
	struct th_condense_plan p;
	bool rolling, good, due;

	if (!name.len)
		return oh_condenser_made(c, found);
	if (!row)
		return false;
	h = history_new();
	condense_before(h, row, &own, events);
	compact.own = own;
	input.transcript = &h->t;
	input.reasons = h->asked ? TH_CONDENSE_ASKED : 0;
	input.read_seq = UINT64_MAX;
	if (!row->ask)
		input.summary = TH_STR("");
	th_condense_plan_init(&p, &input, false);
	rolling = row->due && row != &th_condenser_recent && row != &th_condenser_observation &&
		  row != &th_condenser_browser;
	due = !rolling || th_condenser_due(&compact, input.reasons, h->t.count, h->t.count);
	if (row == &th_condenser_window) /* on a request only */
		due = h->asked;
	if (due)
		th_condense_plan_by(&p, row, &own);
	(void)th_condense_plan_settle(&p);
	if (th_json_get(c->expected, "view"))
		put_view(h, &p, found);
	else
		put_condensation(h, &p, input.summary, found);
	good = compare(c, found);
	if (!good && same_once(th_json_get(c->expected, "view"), th_buf_str(found))) {
		th_buf_clear(found);
		th_buf_add_cstr(found, OH_DEVIATES "each is there once");
	} else if (!good && parts_pairs(h, &p, c->expected)) {
		th_buf_clear(found);
		th_buf_add_cstr(found, OH_DEVIATES "a call stays with its result");
	} else if (!good) {
		(void)outlives(&p, c, found);
	}
	th_condense_plan_deinit(&p);
	history_free(h);
	return good;
}

/* ---- what a condenser may be told ----------------------------------------------------------- */

/* { "construct": "AmortizedForgettingCondenser", "max_size": 4, … }, or the numbers within. */
bool oh_condenser_made(const struct oh_case *c, struct th_buf *found)
{
	static const struct {
		const char *class, *name;
	} classes[] = {
		{ "Amortized", "amortized" }, { "LLMAttention", "llm_attention" },
		{ "LLMSummarizing", "llm" },  { "StructuredSummary", "structured" },
		{ "RecentEvents", "recent" }, { "ObservationMasking", "observation_masking" },
		{ "NoOp", "noop" },           { "BrowserOutput", "browser_output_masking" },
	};
	const struct th_json *construct = th_json_get(c->input, "construct");
	bool v1 = th_json_is_object(construct), wants;
	struct th_json_iter it = th_json_iter(v1 ? construct : c->input);
	struct th_buf text = TH_BUF_INIT(TH_KIB);
	struct th_agent_compact compact;
	struct th_json_doc *doc = NULL;
	struct th_arena memory;
	struct th_err err = { 0 };
	struct th_jw w = th_jw(&text);
	const char *name = "llm_summarizing";
	enum th_code code;

	for (size_t i = 0; !v1 && i < TH_COUNT(classes); i++)
		if (th_str_starts(th_json_str(construct), th_str_of(classes[i].class)))
			name = classes[i].name;
	th_jw_object(&w);
	th_jw_kstr(&w, "condenser", th_str_of(name));
	while (th_json_next(&it))
		if (!th_str_is(it.key, "construct")) {
			th_jw_name(&w, it.key);
			th_jw_json(&w, it.val);
		}
	th_jw_object_end(&w);
	th_arena_init(&memory, TH_MIB);
	code = th_json_parse(th_buf_str(&text), &doc, &err);
	if (!code)
		code = th_table_parse(&th_agent_compact_table, th_json_root(doc), &memory, &compact,
				      &err);
	if (!code)
		code = th_condenser_check(&compact, &err);
	th_buf_add_cstr(found, code ? err.msg : "it is taken");
	th_json_free(doc);
	th_arena_deinit(&memory);
	th_buf_deinit(&text);
	wants = th_str_find(th_json_str(c->expected), TH_STR("Error")) >= 0;
	return wants == (code != TH_OK) &&
	       (!wants || th_str_find(th_json_str(c->expected), TH_STR("keep_first")) < 0 ||
		strstr(err.msg, "keep_first"));
}

/* ---- the second generation ------------------------------------------------------------------ */

static bool forgets_newest(const struct th_json *expected, size_t count)
{
	const struct th_json *list = th_json_get(expected, "forgotten");
	char name[32];

	snprintf(name, sizeof(name), "m%zu", count - 1);
	return count && th_json_count(list) &&
	       th_str_is(th_json_str(th_json_at(list, th_json_count(list) - 1)), name);
}

static bool same_forgotten(const struct oh_case *c, const struct th_condense_plan *p)
{
	const struct th_json *want = th_json_get(c->expected, "forgotten");
	size_t n = 0, first = SIZE_MAX;

	for (size_t i = 0; i < p->t->count; i++) {
		char name[32];

		if (!is_out(p, i))
			continue;
		first = TH_MIN(first, i);
		snprintf(name, sizeof(name), "m%zu", i);
		if (!th_str_is(th_json_str(th_json_at(want, n++)), name))
			return false;
	}
	return n == th_json_count(want) &&
	       (n == 0 || th_json_get_int(c->expected, "summary_offset", -1) == (int64_t)first);
}

bool oh_condenser_v1(const struct oh_case *c, struct th_buf *found)
{
	const struct th_json *numbers = th_json_get(c->input, "LLMSummarizing");
	size_t count = (size_t)th_json_get_int(c->input, "n_events", 0), left = 0;
	bool asked = th_json_bool(th_json_get(c->input, "request"), false), good;
	struct th_agent_compact compact = {
		.own = { .condenser = TH_STR("llm_summarizing"),
			 .max_size = th_json_get_int(numbers, "max_size", 0),
			 .keep_first = th_json_get_int(numbers, "keep_first", -1) }
	};
	struct th_condense input = { .options = &compact,
				     .summary = TH_STR("S"),
				     .read_seq = UINT64_MAX,
				     .reasons = asked ? TH_CONDENSE_ASKED : 0 };
	struct history *h;
	struct th_condense_plan p;

	if (!numbers)
		return oh_condenser_made(c, found);
	h = history_new();
	for (size_t i = 0; i < count; i++)
		add(h, TH_STR("m"), (int64_t)i);
	input.transcript = &h->t;
	th_condense_plan_init(&p, &input, false);
	if (th_condenser_due(&compact, input.reasons, count, count))
		th_condense_plan_by(&p, &th_condenser_summarizing, &compact.own);
	(void)th_condense_plan_settle(&p);
	for (size_t i = 0; i < count; i++)
		left += !is_out(&p, i);
	put_condensation(h, &p, input.summary, found);
	if (th_json_get(c->expected, "view_len"))
		good = left == (size_t)th_json_get_int(c->expected, "view_len", -1);
	else
		good = same_forgotten(c, &p);
	/* Upstream's last resort forgets what has just been said, and the task where it is no
	 * one of the first. */
	if (!good && forgets_newest(c->expected, count) && p.fates[0] != TH_FATE_GOES &&
	    !is_out(&p, count - 1)) {
		th_buf_clear(found);
		th_buf_add_cstr(found, OH_DEVIATES "the task stays, and the newest");
	}
	th_condense_plan_deinit(&p);
	history_free(h);
	return good;
}
