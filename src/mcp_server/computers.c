/* SPDX-License-Identifier: Apache-2.0 */
/*
 * computers.c - a desktop for each user of MCP: looked at, and acted on, by the
 * client's own model.
 *
 * It starts with the first call, has a folder beside the workspaces, and is given
 * up when nobody used it for a while.  No session stands behind it and no log: the
 * executor's journal alone says what was done, as for any computer of a program.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/codec.h"
#include "mcp_server/kit.h"

// clang-format off
#define TH_FIELDS_mcp_see(F)                                                                 \
	F(mcp_see, bool, tree, "tree", 0, "the elements that programs tell of, as text with their places, instead of a picture")
#define TH_FIELDS_mcp_act(F)                                                                 \
	F(mcp_act, raw, actions, "actions", TH_REQ, "computer actions, in order, as thole's agents have them: [{\"type\": \"click\", \"x\": 10, \"y\": 20}, {\"type\": \"type\", \"text\": \"hi\"}]; click, double_click, move, drag, scroll, keypress, type, wait, …")
// clang-format on
TH_STRUCT(mcp_see)
TH_STRUCT(mcp_act)
// clang-format off
TH_TABLE(mcp_see, "a look", true)
TH_TABLE(mcp_act, "actions", true)
// clang-format on

/* What thole_computer_new makes. */
static const struct {
	struct th_str kind;
} own = { .kind = TH_STR_INIT("desktop") };

struct th_mcp_computer {
	struct th_mcp_computer *next;
	struct thole_computer *computer;
	uint64_t used_ms;
	struct look *looks; /* calls under way */
	char user[TH_USER_MAX + 1];
};

/* A call under way; its request may be over before. */
struct look {
	struct look *next;
	struct th_mcp *m; /* NULL: it is over */
	struct th_server *server;
	struct th_mcp_computer *computer;
};

/* As for a session: where the configuration lets nobody choose a desktop, there is none. */
bool th_mcp_computers_offered(const struct th_server *s)
{
	return th_settings_computer(&s->settings, own.kind);
}

/* ---- the user's own ---- */

static struct th_mcp_computer *find(struct th_server *s, const char *user)
{
	struct th_mcp_computer *c = s->mcp_computers;

	while (c && strcmp(c->user, user) != 0)
		c = c->next;
	return c;
}

/* The user's computer, or a new one.  NULL: `err`. */
static struct th_mcp_computer *have(struct th_server *s, const char *user, struct thole_error *err)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_USER_MAX + 8);
	struct th_mcp_computer *c = find(s, user);
	const char *options[] = { "folder", NULL, NULL };
	struct thole_computer *made = NULL;
	char *folder = NULL;
	int code;

	if (c)
		return c;
	if (s->mcp_computer_count == TH_MCP_COMPUTERS_MAX) {
		err->code = THOLE_ELIMIT;
		snprintf(err->text, sizeof(err->text),
			 "%d users have a computer of this server, and no more may",
			 TH_MCP_COMPUTERS_MAX);
		return NULL;
	}
	code = th_workspace_of_computer(s, user, &folder, err);
	th_buf_printf(&name, "mcp-%s", user);
	options[1] = folder;
	if (!code)
		code = thole_computer_new(s->rt, name.ptr, options, &made, err);
	free(folder);
	if (code)
		return NULL;
	c = th_alloc(sizeof(*c));
	*c = (struct th_mcp_computer){ .next = s->mcp_computers, .computer = made };
	snprintf(c->user, sizeof(c->user), "%s", user);
	s->mcp_computers = c;
	s->mcp_computer_count++;
	return c;
}

static void look_free(struct look *l)
{
	struct look **at = &l->computer->looks;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	if (l->m) {
		l->m->gone = NULL;
		l->m->ctx = NULL;
	}
	free(l);
}

static void give_up(struct th_server *s, struct th_mcp_computer *c)
{
	struct th_mcp_computer **at = &s->mcp_computers;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	s->mcp_computer_count--;
	thole_computer_free(c->computer); /* its calls are told nothing more */
	while (c->looks)
		look_free(c->looks);
	free(c);
}

void th_mcp_computers_sweep(struct th_server *s)
{
	uint64_t now_ms = th_loop_now_ms(s->loop);

	for (struct th_mcp_computer *c = s->mcp_computers, *next; c; c = next) {
		next = c->next;
		if (!c->looks && now_ms - c->used_ms >= TH_MCP_COMPUTER_MS)
			give_up(s, c);
	}
}

void th_mcp_computers_free(struct th_server *s)
{
	while (s->mcp_computers)
		give_up(s, s->mcp_computers);
}

/* ---- calls ---- */

static void on_peer_gone(struct th_mcp *m)
{
	struct look *l = m->ctx;

	l->m = NULL; /* the action goes on, and nobody hears of it */
}

static const char *type_of(struct th_str bytes)
{
	return th_str_starts(bytes, TH_STR("\x89PNG")) ? "image/png" : "image/jpeg";
}

static void put_said(const struct th_json *output, struct th_jw *w)
{
	struct th_json_iter it = th_json_iter(output);
	struct th_str text = th_json_str(output);

	do {
		if (th_json_is_array(output))
			text = th_json_get_str(it.val, "text");
		if (!text.len)
			continue;
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("text"));
		th_jw_kstr(w, "text", text);
		th_jw_object_end(w);
	} while (th_json_is_array(output) && th_json_next(&it));
}

static void on_called(void *ctx, const char *status, const char *output, const char *evidence,
		      const void *bytes, size_t size)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_buf picture TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_jw w = th_jw(&out);
	struct look *l = ctx;
	struct th_mcp *m = l->m;

	(void)evidence;
	l->computer->used_ms = th_loop_now_ms(l->server->loop);
	look_free(l);
	if (!m)
		return;
	th_jw_object(&w);
	th_jw_name(&w, TH_STR("content"));
	th_jw_array(&w);
	if (size > 0) {
		th_base64_encode(&picture, bytes, size);
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("image"));
		th_jw_kstr(&w, "data", th_buf_str(&picture));
		th_jw_kstr(&w, "mimeType", th_str_of(type_of(th_str_n(bytes, size))));
		th_jw_object_end(&w);
	}
	if (th_json_parse(th_str_of(output), &doc, NULL) == TH_OK)
		put_said(th_json_root(doc), &w);
	th_jw_array_end(&w);
	th_jw_kbool(&w, "isError", strcmp(status, "done") != 0);
	th_jw_object_end(&w);
	th_mcp_answer(m, th_buf_str(&out));
}

static void call(struct th_mcp *m, struct th_str actions, bool tree)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_server *s = m->access->server;
	struct th_jw w = th_jw(&json);
	struct th_mcp_computer *c;
	struct thole_error err;
	struct look *l;

	c = have(s, m->access->user, &err);
	if (!c) {
		th_mcp_error(m, &err);
		return;
	}
	th_jw_object(&w);
	th_jw_kraw(&w, "actions", actions);
	th_jw_kbool(&w, "screenshot", true);
	if (tree)
		th_jw_kbool(&w, "tree", true);
	th_jw_object_end(&w);
	l = th_alloc(sizeof(*l));
	*l = (struct look){ .next = c->looks, .m = m, .server = s, .computer = c };
	c->looks = l;
	if (thole_computer_call(c->computer, "computer", json.ptr, 0, on_called, l, &err) != 0) {
		look_free(l);
		th_mcp_error(m, &err);
		return;
	}
	m->ctx = l;
	m->gone = on_peer_gone;
	th_server_kick(s);
}

void th_mcp_call_see(struct th_mcp *m, const void *arguments)
{
	const struct th_mcp_see *see = arguments;

	call(m, TH_STR("[]"), see->tree);
}

void th_mcp_call_act(struct th_mcp *m, const void *arguments)
{
	const struct th_mcp_act *act = arguments;

	if (act->actions.len && act->actions.ptr[0] == '[')
		call(m, act->actions, false);
	else
		th_mcp_text(m, TH_STR("actions: a list of objects with a type"), true);
}
