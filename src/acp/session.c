/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - sessions of an editor: begun, taken up, listed, asked and stopped. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "acp/acp.h"
#include "base/arena.h"
#include "base/text.h"
#include "console/console.h"

#define NOT_FOUND (-32002) /* of the protocol */
#define LIST_MAX "50"      /* sessions of a page */
#define NOTES (THOLE_NOTE_DELTA | THOLE_NOTE_EVENT | THOLE_NOTE_ASK | THOLE_NOTE_REST)

/* ---- which is meant ---- */

static struct acp_session *find(struct acp *a, struct th_str id)
{
	struct acp_session *s = a->sessions;

	while (s && !th_str_is(id, s->id))
		s = s->next;
	return s;
}

/* One that is open; NULL: the request was answered. */
static struct acp_session *open_one(struct acp *a, const struct th_rpc *m,
				    const struct th_json *params)
{
	struct acp_session *s = find(a, th_json_get_str(params, "sessionId"));

	if (!s)
		th_acp_error(a, m->id, NOT_FOUND,
			     "no such session is open; session/load takes one up");
	return s;
}

static int error_of(const struct thole_error *err)
{
	return err->code == THOLE_ENOENT   ? NOT_FOUND
	       : err->code == THOLE_EUSAGE ? TH_RPC_EPARAMS
					   : TH_RPC_EINTERNAL;
}

static void fail(struct acp *a, const struct th_rpc *m, const struct thole_error *err)
{
	th_acp_error(a, m->id, error_of(err), err->text);
}

static char *copy(struct th_str text)
{
	char *bytes = th_alloc(text.len + 1);

	if (text.len)
		memcpy(bytes, text.ptr, text.len);
	bytes[text.len] = '\0';
	return bytes;
}

/* ---- beginning ---- */

static int set_list(struct thole_agent *agent, const char *member, struct th_str names,
		    struct thole_error *err)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_jw w = th_jw(&json);

	th_jw_array(&w);
	while (names.len) {
		struct th_str name = th_str_trim(th_str_split(&names, ','));

		if (name.len)
			th_jw_str(&w, name);
	}
	th_jw_array_end(&w);
	return thole_agent_set_json(agent, member, json.ptr, err);
}

static int set_text(struct thole_agent *agent, const char *member, struct th_str text,
		    struct thole_error *err)
{
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);

	th_buf_add(&bytes, text);
	return text.len ? thole_agent_set(agent, member, bytes.ptr, err) : 0;
}

int th_acp_agent(const struct acp *a, const char *cwd, struct thole_agent **ret,
		 struct thole_error *err)
{
	const struct acp_options *o = a->options;
	struct thole_agent *agent = NULL;
	int code = o->agent.len ? thole_agent_load(o->agent.ptr, &agent, err)
				: thole_agent_parse("name: editor\n", "editor", &agent, err);

	if (!code && cwd)
		code = thole_agent_set(agent, "workspace", cwd, err);
	if (!code)
		code = set_text(agent, "model", o->model, err);
	if (!code)
		code = th_str_is(o->net, "host") || th_str_is(o->net, "none")
			   ? set_text(agent, "net", o->net, err)
		       : o->net.len ? set_list(agent, "net", o->net, err)
				    : 0;
	if (!code && o->approve.len)
		code = set_list(agent, "approve", o->approve, err);
	if (code)
		thole_agent_free(agent);
	else
		*ret = agent;
	return code;
}

/* A folder of this machine; false: the request was answered. */
static bool check_cwd(struct acp *a, const struct th_rpc *m, const char *cwd)
{
	struct stat st;

	if (cwd[0] == '/' && strlen(cwd) < TH_PATH_LEN_MAX && stat(cwd, &st) == 0 &&
	    S_ISDIR(st.st_mode))
		return true;
	th_acp_error(a, m->id, TH_RPC_EPARAMS, "cwd is the absolute path of a folder");
	return false;
}

static bool has_room(struct acp *a, const struct th_rpc *m)
{
	if (a->session_count < TH_ACP_SESSIONS_MAX)
		return true;
	th_acp_error(a, m->id, TH_RPC_EREQUEST,
		     "too many sessions are open; session/close gives one back");
	return false;
}

static struct acp_session *adopt(struct acp *a, struct thole_session *session, const char *cwd)
{
	struct acp_session *s = th_alloc(sizeof(*s));
	struct thole_error ignored;

	*s = (struct acp_session){
		.next = a->sessions, .acp = a, .session = session, .cwd = copy(th_str_of(cwd))
	};
	snprintf(s->id, sizeof(s->id), "%s", thole_session_id(session));
	a->sessions = s;
	a->session_count++;
	(void)thole_session_watch(session, NOTES, th_acp_note, s, &ignored); /* there is room */
	return s;
}

void th_acp_new(struct acp *a, const struct th_rpc *m, const struct th_json *params)
{
	char *cwd = copy(th_json_get_str(params, "cwd"));
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_PATH_LEN_MAX * 6);
	struct th_buf metadata TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_METADATA_MAX);
	struct th_jw w = th_jw(&metadata);
	struct thole_agent *agent = NULL;
	struct thole_session *session = NULL;
	struct thole_error err;
	int code;

	if (!check_cwd(a, m, cwd) || !has_room(a, m)) {
		free(cwd);
		return;
	}
	th_jw_object(&w);
	th_jw_kstr(&w, "acp_cwd", th_str_of(cwd));
	th_jw_object_end(&w);
	code = th_acp_agent(a, cwd, &agent, &err);
	if (!code)
		code = th_acp_servers(a, th_json_get(params, "mcpServers"), agent, &err);
	if (!code)
		code = thole_session_new_with(a->rt, agent,
					      (const char *[]){ "metadata", metadata.ptr, NULL },
					      &session, &err);
	thole_agent_free(agent);
	if (code) {
		fail(a, m, &err);
	} else {
		struct th_jw answer = th_jw(&out);

		th_jw_object(&answer);
		th_jw_kstr(&answer, "sessionId", th_str_of(adopt(a, session, cwd)->id));
		th_jw_object_end(&answer);
		th_acp_result(a, m->id, th_buf_str(&out));
	}
	free(cwd);
}

/* ---- taking up ---- */

static int show_line(void *ctx, const char *line, size_t len)
{
	struct acp_session *s = ctx;

	s->replay = true;
	th_acp_event(s, th_str_n(line, len));
	s->replay = false;
	return 0;
}

static void on_shown(void *ctx, int code, const struct thole_error *err)
{
	struct acp_session *s = ctx;
	char *id = s->loading;

	s->loading = NULL;
	s->reading = NULL;
	if (code)
		th_acp_error(s->acp, th_str_of(id), error_of(err), err->text);
	else
		th_acp_result(s->acp, th_str_of(id), TH_STR("{}"));
	free(id);
}

static void take_up(struct acp *a, const struct th_rpc *m, const struct th_json *params, bool show)
{
	struct th_str id = th_json_get_str(params, "sessionId");
	struct acp_session *s = find(a, id);
	struct thole_session *session = NULL;
	char *name = copy(id), *cwd = copy(th_json_get_str(params, "cwd"));
	struct thole_error err = { 0 };
	int code = 0;

	if (s && s->loading)
		th_acp_error(a, m->id, TH_RPC_EREQUEST, "its history is being shown");
	if ((s && s->loading) || !check_cwd(a, m, cwd) || (!s && !has_room(a, m))) {
		free(name);
		free(cwd);
		return;
	}
	if (!s) {
		/* Those that it began with; what is new of them are their tokens. */
		code = th_acp_servers(a, th_json_get(params, "mcpServers"), NULL, &err);
		if (!code)
			code = thole_session_open(a->rt, NULL, name, &session, &err);
		s = code ? NULL : adopt(a, session, cwd);
	}
	if (s && show) {
		code = thole_runtime_log_start(a->rt, s->id, 1, show_line, on_shown, s, &s->reading,
					       &err);
		s->loading = code ? NULL : copy(m->id); /* answered when all was shown */
	}
	if (code)
		fail(a, m, &err);
	else if (!show)
		th_acp_result(a, m->id, TH_STR("{}"));
	free(name);
	free(cwd);
}

void th_acp_load(struct acp *a, const struct th_rpc *m, const struct th_json *params)
{
	take_up(a, m, params, true);
}

void th_acp_resume(struct acp *a, const struct th_rpc *m, const struct th_json *params)
{
	take_up(a, m, params, false);
}

void th_acp_close(struct acp *a, const struct th_rpc *m, const struct th_json *params)
{
	struct acp_session *s = open_one(a, m, params);
	struct thole_error ignored;

	if (!s)
		return;
	if (s->closing) {
		th_acp_error(a, m->id, TH_RPC_EREQUEST, "it is being closed");
		return;
	}
	if (s->prompt && thole_session_cancel(s->session, THOLE_NOW, &ignored) == 0) {
		s->closing = copy(m->id); /* it rests first: th_acp_note */
		return;
	}
	th_acp_session_free(s);
	th_acp_result(a, m->id, TH_STR("{}"));
}

/* ---- the list ---- */

static void put_listed(const struct th_json *row, struct th_str wanted, struct th_jw *w)
{
	struct th_str cwd = th_json_get_str(th_json_get(row, "metadata"), "acp_cwd");
	time_t at = (time_t)(th_json_get_int(row, "updated_ms", 0) / 1000);
	char stamp[32];
	struct tm tm;

	if (!cwd.len || (wanted.len && !th_str_eq(cwd, wanted)))
		return; /* not an editor's */
	th_jw_object(w);
	th_jw_kstr(w, "sessionId", th_json_get_str(row, "session_id"));
	th_jw_kstr(w, "cwd", cwd);
	if (th_json_get_str(row, "title").len)
		th_jw_kstr(w, "title", th_json_get_str(row, "title"));
	if (gmtime_r(&at, &tm) && strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &tm))
		th_jw_kstr(w, "updatedAt", th_str_of(stamp));
	th_jw_object_end(w);
}

void th_acp_list(struct acp *a, const struct th_rpc *m, const struct th_json *params)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	char *after = copy(th_json_get_str(params, "cursor"));
	const char *options[] = { "user", "local", "limit", LIST_MAX, after[0] ? "after" : NULL,
				  after,  NULL };
	struct th_json_iter it;
	struct th_jw w = th_jw(&out);
	struct thole_error err;
	char *page = NULL;
	int code = thole_runtime_page(a->rt, options, &page, &err);

	free(after);
	if (code) {
		fail(a, m, &err);
		return;
	}
	th_jw_object(&w);
	th_jw_name(&w, TH_STR("sessions"));
	th_jw_array(&w);
	if (th_json_parse(th_str_of(page), &doc, NULL) == TH_OK) {
		it = th_json_iter(th_json_get(th_json_root(doc), "sessions"));
		while (th_json_next(&it))
			put_listed(it.val, th_json_get_str(params, "cwd"), &w);
	}
	th_jw_array_end(&w);
	if (th_json_get_str(th_json_root(doc), "next").len)
		th_jw_kstr(&w, "nextCursor", th_json_get_str(th_json_root(doc), "next"));
	th_jw_object_end(&w);
	thole_free(page);
	th_acp_result(a, m->id, th_buf_str(&out));
}

/* ---- prompts ---- */

struct prompt {
	struct th_buf text, items; /* the same as text, and with its pictures */
	struct th_jw w;
	bool pictures;
};

static void put_text(struct prompt *p, struct th_str text)
{
	if (!text.len)
		return;
	if (p->text.len)
		th_buf_add_char(&p->text, '\n');
	th_buf_add(&p->text, text);
	th_jw_object(&p->w);
	th_jw_kstr(&p->w, "type", TH_STR("input_text"));
	th_jw_kstr(&p->w, "text", text);
	th_jw_object_end(&p->w);
}

static bool put_picture(struct prompt *p, const struct th_json *block)
{
	struct th_str type = th_json_get_str(block, "mimeType");
	struct th_buf url TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ACP_MESSAGE_MAX);

	if (!th_str_is(type, "image/png") && !th_str_is(type, "image/jpeg") &&
	    !th_str_is(type, "image/webp") && !th_str_is(type, "image/gif"))
		return false;
	th_buf_printf(&url, "data:%.*s;base64,", TH_FMT(type));
	th_buf_add(&url, th_json_get_str(block, "data"));
	p->pictures = true;
	th_jw_object(&p->w);
	th_jw_kstr(&p->w, "type", TH_STR("input_image"));
	th_jw_kstr(&p->w, "image_url", th_buf_str(&url));
	th_jw_object_end(&p->w);
	return true;
}

/* A file that the person named, or put into the prompt. */
static void put_resource(struct prompt *p, const struct th_json *r, bool whole)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ACP_MESSAGE_MAX);
	struct th_str uri = th_json_get_str(r, "uri");

	if (!whole)
		th_buf_printf(&text, "[%.*s](%.*s)", TH_FMT(th_json_get_str(r, "name")),
			      TH_FMT(uri));
	else if (th_json_get_str(r, "text").ptr)
		th_buf_printf(&text, "%.*s:\n```\n%.*s\n```", TH_FMT(uri),
			      TH_FMT(th_json_get_str(r, "text")));
	else
		th_buf_printf(&text, "%.*s (a file that is no text)", TH_FMT(uri));
	put_text(p, th_buf_str(&text));
}

static bool put_block(struct prompt *p, const struct th_json *block)
{
	struct th_str type = th_json_get_str(block, "type");

	if (th_str_is(type, "text"))
		put_text(p, th_json_get_str(block, "text"));
	else if (th_str_is(type, "image"))
		return put_picture(p, block);
	else if (th_str_is(type, "resource_link"))
		put_resource(p, block, false);
	else if (th_str_is(type, "resource"))
		put_resource(p, th_json_get(block, "resource"), true);
	else
		return false;
	return true;
}

static bool read_prompt(struct prompt *p, const struct th_json *blocks)
{
	struct th_json_iter it = th_json_iter(blocks);

	th_buf_init(&p->text, TH_MESSAGE_MAX);
	th_buf_init(&p->items, TH_ACP_MESSAGE_MAX);
	p->w = th_jw(&p->items);
	th_jw_array(&p->w);
	th_jw_object(&p->w);
	th_jw_kstr(&p->w, "type", TH_STR("message"));
	th_jw_kstr(&p->w, "role", TH_STR("user"));
	th_jw_name(&p->w, TH_STR("content"));
	th_jw_array(&p->w);
	while (th_json_next(&it))
		if (!put_block(p, it.val))
			return false;
	th_jw_array_end(&p->w);
	th_jw_object_end(&p->w);
	th_jw_array_end(&p->w);
	return (p->text.len || p->pictures) && !p->text.failed && !p->items.failed &&
	       !memchr(p->text.ptr ?: "", 0, p->text.len);
}

/* Says it.  A session that waits for a decision takes no message: the person is asked first. */
static int say(struct acp_session *s, const struct prompt *p, struct thole_error *err)
{
	if (thole_session_state(s->session) != THOLE_WAITING)
		return p->pictures ? thole_session_items_add(s->session, p->items.ptr, true, err)
				   : thole_session_message(s->session, p->text.ptr, err);
	if (p->pictures) {
		err->code = THOLE_EPROTO;
		snprintf(err->text, sizeof(err->text),
			 "the session waits for a decision, and takes no pictures before");
		return err->code;
	}
	s->later = copy(th_buf_str(&p->text));
	return thole_session_resume(s->session, err);
}

void th_acp_prompt(struct acp *a, const struct th_rpc *m, const struct th_json *params)
{
	struct acp_session *s = open_one(a, m, params);
	struct prompt p = { 0 };
	struct thole_error err = { 0 };

	if (!s)
		return;
	if (s->prompt || s->loading) {
		th_acp_error(a, m->id, TH_RPC_EREQUEST,
			     s->prompt ? "the prompt before is not over yet"
				       : "its history is being shown");
		return;
	}
	if (!read_prompt(&p, th_json_get(params, "prompt"))) {
		th_acp_error(
		    a, m->id, TH_RPC_EPARAMS,
		    "a prompt is text, pictures (PNG, JPEG, WebP, GIF), links and embedded "
		    "texts, not empty, and without a zero");
	} else {
		s->prompt = copy(m->id);
		if (say(s, &p, &err) != 0) {
			free(s->prompt);
			s->prompt = NULL;
			fail(a, m, &err);
		}
	}
	th_buf_deinit(&p.text);
	th_buf_deinit(&p.items);
}

void th_acp_cancel(struct acp *a, const struct th_rpc *m, const struct th_json *params)
{
	struct acp_session *s = find(a, th_json_get_str(params, "sessionId"));
	struct thole_error ignored;

	(void)m;
	if (!s || !s->prompt)
		return;
	free(s->later);
	s->later = NULL;
	(void)thole_session_cancel(s->session, THOLE_NOW, &ignored); /* else it is over by itself */
}
