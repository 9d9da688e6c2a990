/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openhands_view.c - what is seen of a history: after condensations, and as far
 * as calls and results are there together.
 */
#include "openhands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "context/condenser.h"

#define ITEMS_MAX 64

/* ---- the first generation: a log, with ids from 0 -------------------------------------------- */

struct log {
	struct th_transcript t;
	uint64_t seq;
	struct th_str names[ITEMS_MAX]; /* of the events, by seq */
	const char *summary;            /* that the last condensation brought */
};

static void append(struct log *l, enum th_event_kind kind, const char *data, struct th_str name)
{
	const struct th_event ev = {
		.seq = ++l->seq, .kind = kind, .source = TH_SOURCE_USER, .data = th_str_of(data)
	};
	struct th_err err = { 0 };

	assert(l->seq < ITEMS_MAX);
	l->names[l->seq] = name;
	if (th_transcript_add(&l->t, &ev, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		abort();
	}
}

/* A condensation as our log has it: what stays, by name, and the summary in its place. */
static void forget(struct log *l, int64_t from, int64_t to, const char *summary, size_t offset)
{
	struct th_buf marks = TH_BUF_INIT(TH_MIB);
	size_t n = 0;

	th_buf_add_cstr(&marks, "{\"first_seq\":1,\"last_seq\":1,\"history\":[");
	for (size_t i = 0; i <= l->t.count; i++) {
		const struct th_transcript_item *item = &l->t.list[i];

		if (summary && n == offset) {
			th_buf_printf(&marks, "%s{\"role\":\"user\",\"content\":\"%s\"}",
				      n ? "," : "", summary);
			n++;
		}
		if (i == l->t.count || item->made ||
		    ((int64_t)item->seq - 1 >= from && (int64_t)item->seq - 1 <= to))
			continue;
		th_buf_printf(&marks, "%s[%llu,%zu]", n ? "," : "", (unsigned long long)item->seq,
			      item->index);
		n++;
	}
	th_buf_add_cstr(&marks, "]}");
	th_buf_add_char(&marks, '\0');
	l->summary = summary;
	append(l, TH_EV_CONDENSATION, marks.ptr, TH_STR("CondensationAction"));
	th_buf_deinit(&marks);
}

static void put_log_view(const struct log *l, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_key(&w, TH_STR("view"));
	th_jw_array(&w);
	for (size_t i = 0; i < l->t.count; i++) {
		const struct th_transcript_item *item = &l->t.list[i];
		struct th_buf text = TH_BUF_INIT(TH_KIB);

		if (item->made)
			th_buf_printf(&text, "AgentCondensationObservation#-1:%.*s",
				      TH_FMT(th_str_sub(item->content, 1, item->content.len - 2)));
		else
			th_buf_add(&text, l->names[item->seq]);
		th_jw_str(&w, th_buf_str(&text));
		th_buf_deinit(&text);
	}
	th_jw_array_end(&w);
	th_jw_object_end(&w);
}

/* What the condensation of a case forgets, with its summary. */
static void forget_given(struct log *l, const struct th_json *given)
{
	const struct th_json *range = th_json_get(given, "range");
	struct th_str summary = th_json_get_str(given, "summary");

	forget(l, th_json_int(th_json_at(range, 0), 0), th_json_int(th_json_at(range, 1), -1),
	       summary.len ? "S" : NULL, (size_t)th_json_get_int(given, "summary_offset", 0));
}

bool oh_view_v0(const struct oh_case *c, struct th_buf *found)
{
	const struct th_json *events = th_json_get(c->input, "events");
	struct th_json_iter it = th_json_iter(events);
	struct log l = { 0 };
	struct th_buf want = TH_BUF_INIT(TH_MIB);
	int64_t condensations = 0;
	bool same;

	if (!events)
		return oh_request(c, found);
	th_transcript_init(&l.t, true);
	while (th_json_next(&it)) {
		struct th_str name = th_json_str(it.val);

		if (!th_str_starts(name, TH_STR("CondensationAction")))
			append(&l, TH_EV_MESSAGE, "{\"role\":\"user\",\"content\":\"x\"}", name);
		else if (th_json_get(c->input, "condensation"))
			forget_given(&l, th_json_get(c->input, "condensation"));
		else /* two, one event each */
			forget(&l, condensations + 1, condensations + 1,
			       condensations ? "S2" : "S1", 1);
		condensations += th_str_starts(name, TH_STR("CondensationAction"));
	}
	put_log_view(&l, found);
	th_json_print(c->expected, &want);
	same = th_str_eq(th_buf_str(&want), th_buf_str(found));
	th_buf_deinit(&want);
	th_transcript_deinit(&l.t);
	return same;
}

/* ---- the second generation ------------------------------------------------------------------- */

/* "[u0,(a1,a2,o1,o2),m3]": u and m are messages, a calls, o and e their results; in brackets one
 * answer's; a star: it has reasoning. */
struct view {
	struct th_transcript_item items[ITEMS_MAX];
	struct th_transcript t;
	char names[ITEMS_MAX][16], ids[ITEMS_MAX][16];
};

static void view_add(struct view *v, const char *name, uint64_t seq, bool reasons)
{
	struct th_transcript_item *item;
	size_t at = v->t.count;

	if (reasons)
		v->items[v->t.count++] =
		    (struct th_transcript_item){ .kind = TH_TRANSCRIPT_OUTPUT,
						 .seq = seq,
						 .of = 2,
						 .item = TH_STR("{\"type\":\"reasoning\"}") };
	at = v->t.count++;
	item = &v->items[at];
	assert(v->t.count < ITEMS_MAX);
	snprintf(v->names[at], sizeof(v->names[0]), "%s", name);
	*item = (struct th_transcript_item){ .kind = TH_TRANSCRIPT_MESSAGE,
					     .seq = seq,
					     .role = TH_STR("user") };
	if (name[0] != 'a' && name[0] != 'o' && name[0] != 'e')
		return;
	snprintf(v->ids[at], sizeof(v->ids[0]), "c%s", name + 1);
	item->call_id = th_str_of(v->ids[at]);
	item->kind = name[0] == 'a' ? TH_TRANSCRIPT_OUTPUT : TH_TRANSCRIPT_RESULT;
	item->of = 1;
	item->item = TH_STR("{\"type\":\"function_call\"}");
	item->output = TH_STR("\"x\"");
}

static void view_read(struct view *v, const char *at)
{
	uint64_t seq = 1;
	bool batch = false;

	*v = (struct view){ 0 };
	v->t.list = v->items;
	for (; *at && *at != ']'; seq += !batch) {
		char name[8] = { 0 };
		size_t len = 0;

		while (*at && strchr("[,( )", *at)) {
			seq += *at == ')';
			batch = (batch || *at == '(') && *at != ')';
			at++;
		}
		while (*at && !strchr(",()*]", *at) && len < sizeof(name) - 1)
			name[len++] = *at++;
		if (len)
			view_add(v, name, seq, *at == '*');
		at += *at == '*';
		while (*at == ')') {
			batch = false;
			at++;
		}
	}
}

static bool says(struct th_str text, const char *word)
{
	return th_str_find(text, th_str_of(word)) >= 0;
}

/* Where the history may be cut, counted in events: reasoning is none of its own. */
static void put_cuts(const struct view *v, struct th_buf *out)
{
	struct th_condense c = { .transcript = &v->t };
	struct th_condense_plan p;
	struct th_jw w = th_jw(out);
	int64_t event = 0;

	th_condense_plan_init(&p, &c, false);
	th_jw_array(&w);
	for (size_t i = 0; i <= v->t.count; i++) {
		if (th_plan_cut_before(&p, i) == i)
			th_jw_int(&w, event);
		event += i < v->t.count && v->names[i][0];
	}
	th_jw_array_end(&w);
	th_condense_plan_deinit(&p);
}

static void put_names(const struct view *v, const struct th_condense_plan *p, const char *summary,
		      struct th_buf *out)
{
	struct th_jw w = th_jw(out);
	bool told = false;

	th_jw_array(&w);
	for (size_t i = 0; i < v->t.count; i++) {
		bool gone = p && (p->fates[i] == TH_FATE_GOES || p->fates[i] == TH_FATE_PINNED);

		if (gone && summary && !told)
			th_jw_str(&w, th_str_of(summary));
		told |= gone;
		if (!gone && v->names[i][0])
			th_jw_str(&w, th_str_of(v->names[i]));
	}
	th_jw_array_end(&w);
}

/* What is left when one event is forgotten. */
static void put_without(struct view *v, size_t forgotten, const char *summary, struct th_buf *out)
{
	struct th_condense c = { .transcript = &v->t };
	struct th_condense_plan p;

	v->t.task_at = 0;
	th_condense_plan_init(&p, &c, false);
	th_plan_drop(&p, forgotten, forgotten + 1);
	(void)th_condense_plan_settle(&p);
	put_names(v, &p, summary, out);
	th_condense_plan_deinit(&p);
}

/* What is left when calls and results that miss each other go. */
static void put_pruned(struct view *v, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	/* The list is shortened in place: the names go by what is left. */
	for (size_t i = 0; i < v->t.count; i++)
		v->items[i].acknowledged = th_str_of(v->names[i]);
	th_transcript_prune(&v->t);
	th_jw_array(&w);
	for (size_t i = 0; i < v->t.count; i++)
		th_jw_str(&w, v->items[i].acknowledged);
	th_jw_array_end(&w);
}

bool oh_view_v1(const struct oh_case *c, struct th_buf *found)
{
	struct th_str desc = th_json_get_str(c->input, "desc");
	ptrdiff_t bracket = th_str_find(desc, TH_STR("["));
	struct view *v = th_alloc(sizeof(*v));
	struct th_buf want = TH_BUF_INIT(TH_MIB);
	bool same;

	if (bracket >= 0) {
		char text[256];

		snprintf(text, sizeof(text), "%.*s", (int)(desc.len - (size_t)bracket),
			 desc.ptr + bracket);
		view_read(v, text);
		put_cuts(v, found);
	} else if (says(desc, "batch")) {
		/* The newest item stays: here something was said later, by nobody. */
		view_read(v, "[u0,(a1,a2,o1,o2),m3]");
		v->names[5][0] = 0;
		put_without(v, 1, NULL, found);
	} else if (says(desc, "summary")) {
		view_read(v, "[u0,m1,m2]");
		put_without(v, 1, "k-summary", found);
	} else if (says(desc, "duplicate")) {
		view_read(v, "[u0,a1,e1,o1]");
		put_pruned(v, found);
	} else if (says(desc, "action") && (says(desc, "dangling") || says(desc, "without"))) {
		view_read(v, says(desc, "observation without") ? "[u0,o1]" : "[u0,a1]");
		put_pruned(v, found);
	} else if (says(desc, "observation")) {
		view_read(v, "[u0,o1]");
		put_pruned(v, found);
	}
	th_json_print(c->expected, &want);
	same = th_str_eq(th_buf_str(&want), th_buf_str(found));
	th_buf_deinit(&want);
	free(v);
	return same;
}
