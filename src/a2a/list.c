/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.c - the tasks of a user, a page at a time: those of his sessions, the one
 * begun last first, and of a session from the newest on.
 *
 * Nothing is kept of tasks beside the logs, so a page reads those of its
 * sessions, one after the other.  A page's token says where the next one begins:
 * the cursor of a page of sessions, a place in that, and the task behind which
 * it goes on there; and how many there are in all.  That is counted once, with the
 * first page: its walk goes on through the other sessions, as far as
 * TH_A2A_COUNT_EVENTS allows.
 */
#include <stdlib.h>

#include "a2a/internal.h"
#include "base/moment.h"
#include "io/clock.h"

struct printed {
	uint64_t after; /* of the task */
	char *json;
};

struct th_a2a_list {
	struct th_json_doc *page; /* of sessions; NULL: not read yet, or to be read anew */
	/* Where it begins, and then where it is. */
	struct th_buf cursor;
	size_t at;       /* in the page */
	uint64_t before; /* of the session there: only tasks that began before it; 0: all */
	/* What is asked for. */
	int64_t size, history, since_ms;
	int state; /* -1: any */
	bool artifacts;
	/* The tasks of the session that is read: the newest of them. */
	struct th_a2a_task task;
	struct printed made[TH_A2A_PAGE_MAX];
	size_t made_count, made_size;
	bool dropped; /* older ones, for want of room: the next page has them */
	/* The page that is made. */
	struct th_buf tasks, next;
	int64_t count, total;
	uint64_t events; /* of logs that were read for the total alone */
	bool full;       /* what comes is only counted */
	bool known;      /* the total is: of the token */
	bool over;
	struct thole_error failure; /* instead of the page; code 0: none */
};

/* ---- what is asked for ---- */

static bool read_state(struct th_str name, int *ret)
{
	*ret = -1;
	/* The last is what clients of generated code write for a member that is not there. */
	if (!name.len || th_str_is(name, "TASK_STATE_UNSPECIFIED") ||
	    th_str_is(name, "UNRECOGNIZED"))
		return true;
	for (int s = TH_A2A_SUBMITTED; s <= TH_A2A_CANCELED; s++)
		if (th_str_is(name, th_a2a_state_name((enum th_a2a_state)s, true)) ||
		    th_str_is(name, th_a2a_state_name((enum th_a2a_state)s, false)))
			*ret = s;
	return *ret >= 0;
}

static bool read_number(struct th_str *text, uint64_t *ret)
{
	int64_t n;
	size_t at = text->len;

	while (at > 0 && text->ptr[at - 1] != '.')
		at--;
	if (at == 0 || !th_str_i64(th_str_sub(*text, at, text->len), &n) || n < 0)
		return false;
	*ret = (uint64_t)n;
	text->len = at - 1;
	return true;
}

/* CURSOR.PLACE.BEFORE.TOTAL */
static bool read_token(struct th_str token, struct th_a2a_list *l)
{
	uint64_t at = 0, total = 0;

	if (!token.len)
		return true;
	if (!read_number(&token, &total) || total > INT32_MAX || !read_number(&token, &l->before) ||
	    !read_number(&token, &at) || at > TH_A2A_PAGE_MAX || memchr(token.ptr, 0, token.len))
		return false;
	l->known = true;
	l->total = (int64_t)total;
	l->at = (size_t)at;
	th_buf_add(&l->cursor, token);
	return !l->cursor.failed;
}

/* A sentence about what is no good; NULL: all is. */
static const char *read_params(const struct th_a2a *m, struct th_a2a_list *l)
{
	struct th_str since = th_json_get_str(m->params, "statusTimestampAfter");
	int64_t size = th_json_get_int(m->params, "pageSize", TH_A2A_PAGE);

	l->size = size;
	l->history = th_json_get_int(m->params, "historyLength", 0);
	l->artifacts = th_json_bool(th_json_get(m->params, "includeArtifacts"), false);
	if (size < 1 || size > TH_A2A_PAGE_MAX)
		return "pageSize is 1 to 100";
	if (!read_state(th_json_get_str(m->params, "status"), &l->state))
		return "status is a state of a task, such as TASK_STATE_WORKING";
	if (since.len && th_moment_parse(since, (int64_t)th_clock_wall_ms(), &l->since_ms, NULL))
		return "statusTimestampAfter is a time such as 2026-11-27T08:30:00Z";
	if (!read_token(th_json_get_str(m->params, "pageToken"), l))
		return "pageToken is the nextPageToken of a page before";
	return NULL;
}

/* ---- the tasks of a session ---- */

static bool is_wanted(const struct th_a2a_list *l)
{
	const struct th_a2a_task *t = &l->task;

	return t->message_count > 0 && (!l->before || t->after < l->before) &&
	       (l->state < 0 || (int)t->state == l->state) && t->at_ms >= l->since_ms;
}

static void forget(struct th_a2a_list *l, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		l->made_size -= strlen(l->made[i].json);
		free(l->made[i].json);
	}
	l->made_count -= count;
	memmove(l->made, l->made + count, l->made_count * sizeof(*l->made));
}

/* One is whole: of more than there is room for the oldest go. */
static void take(struct th_a2a *m)
{
	struct th_a2a_list *l = m->list;
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw w = th_jw(&json);
	char *output = l->task.output;

	if (!is_wanted(l))
		return;
	l->total += !l->known;
	if (l->full)
		return;
	if (!l->artifacts)
		l->task.output = NULL;
	th_a2a_print_task(&l->task, m->v1, l->history, &w);
	l->task.output = output;
	while (l->made_count == TH_A2A_PAGE_MAX ||
	       (l->made_count > 0 && l->made_size + json.len > TH_A2A_LIST_SIZE)) {
		forget(l, 1);
		l->dropped = true;
	}
	l->made_size += json.len;
	l->made[l->made_count++] = (struct printed){ l->task.after, th_buf_steal(&json, NULL) };
}

static int on_line(void *ctx, const char *line, size_t len)
{
	struct th_a2a *m = ctx;
	struct th_a2a_task *t = &m->list->task;
	char session[TH_SESSION_ID_MAX + 1];
	uint64_t last;

	if (th_a2a_task_event(t, th_str_n(line, len)))
		return 0;
	take(m);
	memcpy(session, t->session, sizeof(session));
	last = t->last_seq;
	th_a2a_task_deinit(t);
	th_a2a_task_init(t, session, last);
	(void)th_a2a_task_event(t, th_str_n(line, len));
	return 0;
}

/* From the newest on, as many as there is room for.  False: the page is full before the session
 * is told, and the next page goes on there. */
static bool tell(struct th_a2a_list *l)
{
	while (l->made_count > 0) {
		struct printed *p = &l->made[l->made_count - 1];

		if (l->count == l->size || l->tasks.len > TH_A2A_LIST_SIZE)
			return false;
		th_buf_add_cstr(&l->tasks, l->count++ ? "," : "");
		th_buf_add_cstr(&l->tasks, p->json);
		l->before = p->after;
		l->made_size -= strlen(p->json);
		free(p->json);
		l->made_count--;
	}
	if (l->dropped)
		return false;
	l->before = 0;
	return true;
}

/* ---- one session after the other ---- */

static void answer(struct th_a2a *m)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_a2a_list *l = m->list;
	struct th_jw w = th_jw(&out);

	if (l->failure.code) {
		th_a2a_fail_api(m, &l->failure);
		return;
	}
	th_jw_object(&w);
	th_jw_name(&w, TH_STR("tasks"));
	th_jw_raw(&w, TH_STR("["));
	th_buf_add(&out, th_buf_str(&l->tasks));
	th_buf_add_char(&out, ']');
	if (l->next.len)
		th_buf_printf(&l->next, ".%lld", (long long)l->total);
	th_jw_kstr(&w, "nextPageToken", th_buf_str(&l->next));
	th_jw_kint(&w, "pageSize", l->size);
	th_jw_kint(&w, "totalSize", l->total);
	th_jw_object_end(&w);
	th_a2a_answer(m, &out);
}

/* Where the store does not answer now (th_code_passes) the page would lack tasks, and the next one
 * would begin behind them; a log that alone cannot be read has no tasks to tell. */
static void on_read(void *ctx, int code, const struct thole_error *err)
{
	struct th_a2a *m = ctx;
	struct th_a2a_list *l = m->list;

	m->load = NULL;
	if (!code)
		take(m);
	if (l->full)
		l->events += l->task.last_seq;
	th_a2a_task_deinit(&l->task);
	if (th_code_passes(code)) {
		l->failure = *err;
		l->over = true;
	} else if (!l->full && !tell(l)) {
		forget(l, l->made_count);
		th_buf_printf(&l->next, "%.*s.%zu.%llu", TH_FMT(th_buf_str(&l->cursor)), l->at,
			      (unsigned long long)l->before);
		l->before = 0;
		l->full = true;
	}
	l->at++;
	m->access->again(m->access);
}

/* Begins to read the next one.  False: the page of sessions is at its end, the store fails, or
 * nothing is to be counted any more. */
static bool next_session(struct th_a2a *m)
{
	struct th_a2a_list *l = m->list;
	const struct th_json *sessions = th_json_get(th_json_root(l->page), "sessions");
	const struct th_json *row;
	char id[TH_SESSION_ID_MAX + 1];

	if (l->full && (l->known || l->events > TH_A2A_COUNT_EVENTS)) {
		l->over = true;
		return false;
	}
	while ((row = th_json_at(sessions, l->at))) {
		struct th_str name = th_json_get_str(row, "session_id");

		if (name.len && name.len <= TH_SESSION_ID_MAX &&
		    th_json_get_int(row, "updated_ms", 0) >= l->since_ms) {
			memcpy(id, name.ptr, name.len);
			id[name.len] = '\0';
			th_a2a_task_init(&l->task, id, 0);
			if (th_log_load(m->access->server, id, m->access->user, 1, on_line, on_read,
					m, &m->load, &l->failure) == 0)
				return true;
			th_a2a_task_deinit(&l->task);
			if (th_code_passes(l->failure.code)) {
				l->over = true;
				return false;
			}
			l->failure = (struct thole_error){ 0 };
		}
		l->before = 0;
		l->at++;
	}
	return false;
}

/* The page of sessions is at its end: what is behind it is told by the next page of tasks. */
static void next_page(struct th_a2a_list *l)
{
	struct th_str after = th_json_get_str(th_json_root(l->page), "next");

	if (!after.len || l->over) {
		l->over = true;
		return;
	}
	if (!l->full)
		th_buf_printf(&l->next, "%.*s.0.0", TH_FMT(after));
	l->full = true;
	l->over = l->known;
	th_buf_clear(&l->cursor);
	th_buf_add(&l->cursor, after);
	th_json_free(l->page);
	l->page = NULL;
	l->at = 0;
}

/* ---- the sessions ---- */

/* Of the context that is named, or all.  NULL: it is being read. */
static const struct th_found *find_sessions(struct th_a2a *m)
{
	struct th_str context = th_json_get_str(m->params, "contextId");
	struct th_buf limit TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_a2a_list *l = m->list;
	const char *options[] = {
		"user", m->access->user, "order", "created", "limit", NULL, NULL, NULL, NULL
	};

	if (context.len) {
		th_buf_add(&name, context);
		return th_need_session(&m->access->needs, name.ptr, m->access->user);
	}
	th_buf_printf(&limit, "%lld", (long long)(l->full ? TH_A2A_PAGE_MAX : l->size));
	options[5] = limit.ptr;
	if (l->cursor.len) {
		options[6] = "after";
		options[7] = l->cursor.ptr;
	}
	return th_need_page(&m->access->needs, options);
}

static bool take_page(struct th_a2a *m, const struct th_found *found)
{
	struct th_buf one TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	bool alone = th_json_get_str(m->params, "contextId").len;
	struct th_str text = found->text;

	if (found->err && alone && found->err->code == THOLE_ENOENT)
		text = TH_STR("");
	else if (found->err) {
		th_a2a_fail_api(m, found->err);
		return false;
	}
	if (alone) {
		th_buf_printf(&one, "{\"sessions\":[%.*s]}", TH_FMT(text));
		text = th_buf_str(&one);
	}
	if (th_json_parse(text, &m->list->page, NULL) == TH_OK)
		return true;
	th_a2a_fail(m, TH_RPC_EINTERNAL, "the list of sessions cannot be read");
	return false;
}

/* False: it was answered. */
static bool begin(struct th_a2a *m)
{
	struct th_str context = th_json_get_str(m->params, "contextId");
	struct th_a2a_list *l = th_alloc(sizeof(*l));
	const char *why;

	*l = (struct th_a2a_list){ .state = -1 };
	m->list = l;
	th_buf_init(&l->cursor, 4 * TH_KIB);
	th_buf_init(&l->tasks, TH_HTTP_REPLY_MAX);
	th_buf_init(&l->next, 8 * TH_KIB);
	why = read_params(m, l);
	if (!why && (context.len > TH_SESSION_ID_MAX || memchr(context.ptr ?: "", 0, context.len)))
		why = "there is no context of such a name";
	if (why)
		th_a2a_fail(m, TH_RPC_EPARAMS, "%s", why);
	return !why;
}

void th_a2a_list_tasks(struct th_a2a *m)
{
	struct th_a2a_list *l;

	if (!m->list && !begin(m))
		return;
	l = m->list;
	while (!l->over) {
		if (!l->page) {
			const struct th_found *found = find_sessions(m);

			m->waits = !found;
			if (!found || !take_page(m, found))
				return;
		}
		m->waits = next_session(m);
		if (m->waits)
			return;
		next_page(l);
	}
	answer(m);
}

void th_a2a_list_free(struct th_a2a_list *l)
{
	if (!l)
		return;
	forget(l, l->made_count);
	th_a2a_task_deinit(&l->task);
	th_json_free(l->page);
	th_buf_deinit(&l->cursor);
	th_buf_deinit(&l->tasks);
	th_buf_deinit(&l->next);
	free(l);
}
