/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - sessions of the protocol's older era, and channels on which
 * clients of both hear what changes.
 *
 * A session keeps what its client has said once: what it takes, and from which
 * level on it wants a log.  It is its user's alone, and the one that was not used
 * for longest goes when there are too many.
 */
#include <stdio.h>
#include <stdlib.h>

#include "io/clock.h"
#include "mcp_protocol/mcp.h"

static char *copy(struct th_str s)
{
	char *text = th_alloc(s.len + 1);

	memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	return text;
}

/* ---- channels ---- */

void th_mcp_updated(struct th_mcp_watch *w)
{
	struct th_buf frame TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_mcp_channel *c = w->channel;
	struct th_jw out = th_jw(&frame);

	if (!c->access)
		return;
	th_buf_add_cstr(&frame, "event: message\ndata: ");
	th_jw_object(&out);
	th_jw_kstr(&out, "jsonrpc", TH_STR("2.0"));
	th_jw_kstr(&out, "method", TH_STR("notifications/resources/updated"));
	th_jw_name(&out, TH_STR("params"));
	th_jw_object(&out);
	th_jw_kstr(&out, "uri", th_str_of(w->uri));
	if (c->subscription) {
		th_jw_name(&out, TH_STR("_meta"));
		th_jw_object(&out);
		th_jw_kraw(&out, TH_MCP_META "subscriptionId", th_str_of(c->subscription));
		th_jw_object_end(&out);
	}
	th_jw_object_end(&out);
	th_jw_object_end(&out);
	th_buf_add_cstr(&frame, "\n\n");
	/* One that takes nothing misses it, and sees the newest when it reads the resource. */
	(void)!th_http_write(c->access->request, th_buf_str(&frame));
}

static void watch_free(struct th_mcp_watch *w)
{
	if (w->end)
		w->end(w);
	th_hub_unlisten(&w->listener);
	free(w->uri);
	free(w);
}

bool th_mcp_known(struct th_mcp *m, struct th_str uri)
{
	return !m->kit->known || m->kit->known(m, uri);
}

bool th_mcp_watch(struct th_mcp_channel *c, struct th_mcp *m, struct th_str uri)
{
	struct th_mcp_watch *w;

	if (c->count == TH_MCP_WATCHES_MAX || !m->kit->watch)
		return false;
	w = th_alloc(sizeof(*w));
	*w = (struct th_mcp_watch){
		.channel = c, .server = m->access->server, .uri = copy(uri), .next = c->watches
	};
	memcpy(w->user, m->access->user, sizeof(w->user));
	if (!m->kit->watch(m, w)) {
		free(w->uri);
		free(w);
		return false;
	}
	c->watches = w;
	c->count++;
	return true;
}

void th_mcp_unwatch(struct th_mcp_channel *c, struct th_str uri)
{
	struct th_mcp_watch **at = &c->watches;

	while (*at) {
		struct th_mcp_watch *w = *at;

		if (!th_str_is(uri, w->uri)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		c->count--;
		watch_free(w);
	}
}

static void channel_deinit(struct th_mcp_channel *c)
{
	while (c->watches) {
		struct th_mcp_watch *w = c->watches;

		c->watches = w->next;
		watch_free(w);
	}
	free(c->subscription);
}

/* ---- sessions ---- */

#define TAGGED (TH_UUID_TEXT_SIZE + 1 + TH_FLEET_TAG_SIZE)

/* What a client has said that it can be asked: a letter each behind the tag of the session's id. */
static const struct {
	char letter;
	const char *capability;
} askable[TH_MCP_ASKABLE] = {
	{ 'e', "elicitation" },
	{ 'r', "roots" },
	{ 's', "sampling" },
};

/* The tag in a session's id; false: it is of no node, or of this one. */
static bool other_node(const struct th_access *a, struct th_str id,
		       char ret[static TH_FLEET_TAG_SIZE + 1])
{
	const struct th_serve_fleet *set = a->server->settings.s.fleet;
	char mine[TH_FLEET_TAG_SIZE + 1];

	if (!set || id.len < TAGGED || id.len > TAGGED + TH_MCP_ASKABLE)
		return false;
	memcpy(ret, id.ptr + TH_UUID_TEXT_SIZE + 1, TH_FLEET_TAG_SIZE);
	ret[TH_FLEET_TAG_SIZE] = '\0';
	th_fleet_tag(set->address, mine);
	return strcmp(mine, ret) != 0;
}

bool th_mcp_session_keeper(const struct th_access *a, char ret[static TH_FLEET_TAG_SIZE + 1])
{
	const struct th_serve_fleet *set = a->server->settings.s.fleet;
	char mine[TH_FLEET_TAG_SIZE + 1];

	if (!set || !th_mcp_asked_by(th_http_body(a->request), ret))
		return other_node(a, th_http_header(a->request, "mcp-session-id"), ret);
	th_fleet_tag(set->address, mine);
	return strcmp(mine, ret) != 0;
}

bool th_mcp_session_find(struct th_access *a, const struct th_mcp_kit *kit,
			 struct th_mcp_session **ret)
{
	struct th_str id = th_http_header(a->request, "mcp-session-id");
	char tag[TH_FLEET_TAG_SIZE + 1], named[TH_SESSION_ID_MAX + 1];
	bool is_post = th_str_is(th_http_method(a->request), "POST");

	*ret = NULL;
	if (!id.ptr)
		return true;
	for (struct th_mcp_session *s = a->server->mcp_sessions; s; s = s->next)
		if (s->kit == kit && th_str_is(id, s->id) && strcmp(s->user, a->user) == 0 &&
		    (is_post || !s->guest_over)) {
			s->used_ms = th_loop_now_ms(a->server->loop);
			*ret = s;
			return true;
		}
	if (other_node(a, id, tag) && a->service->session_of && a->service->session_of(a, named))
		return true;
	/* Who asked it has gone: nobody waits for the answer, but its session may be there. */
	if (is_post && th_mcp_asked_by(th_http_body(a->request), tag))
		return true;
	th_access_fail(a, 404, "session_not_found", "there is no such session: initialize again");
	return false;
}

void th_mcp_session_end(struct th_server *server, struct th_mcp_session *s)
{
	struct th_mcp_session **at = &server->mcp_sessions;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	s->guest_over = NULL; /* its last request ends it no more */
	while (s->requests) {
		struct th_mcp *m = s->requests;
		bool waits = m->input_waits > 0;

		s->requests = m->next;
		m->session = NULL;
		m->capabilities = NULL;
		m->input_waits = 0;
		if (waits) /* nobody will answer */
			th_mcp_again(m);
	}
	if (s->channel.access) {
		struct th_access *a = s->channel.access;

		a->gone = NULL;
		a->ctx = NULL;
		th_http_end(a->request);
	}
	channel_deinit(&s->channel);
	th_json_free(s->initialized);
	free(s);
}

static void make_room(struct th_server *server, const struct th_mcp_kit *kit)
{
	struct th_mcp_session *oldest = NULL;
	size_t count = 0;

	for (struct th_mcp_session *s = server->mcp_sessions; s; s = s->next) {
		if (s->kit != kit || s->guest_over)
			continue;
		count++;
		if (!oldest || s->used_ms <= oldest->used_ms)
			oldest = s;
	}
	if (count >= TH_MCP_SESSIONS_MAX)
		th_mcp_session_end(server, oldest);
}

/* Behind the tag, and as long as this node's id may be. */
static void put_askable(const struct th_json *capabilities, char *id)
{
	for (size_t i = 0; i < TH_MCP_ASKABLE; i++)
		if (th_json_is_object(th_json_get(capabilities, askable[i].capability)))
			*id++ = askable[i].letter;
	*id = '\0';
}

struct th_mcp_session *th_mcp_session_guest(struct th_access *a, const struct th_mcp_kit *kit)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_str id = th_http_header(a->request, "mcp-session-id");
	char tag[TH_FLEET_TAG_SIZE + 1];
	struct th_mcp_session *s;
	struct th_jw w = th_jw(&text);

	if (!other_node(a, id, tag) || id.len == TAGGED)
		return NULL;
	s = th_alloc(sizeof(*s));
	*s = (struct th_mcp_session){ .next = a->server->mcp_sessions,
				      .kit = kit,
				      .used_ms = th_loop_now_ms(a->server->loop),
				      .guest_over = th_mcp_session_end };
	memcpy(s->id, id.ptr, id.len);
	memcpy(s->user, a->user, sizeof(s->user));
	th_jw_object(&w);
	th_jw_name(&w, TH_STR("capabilities"));
	th_jw_object(&w);
	for (size_t i = 0; i < TH_MCP_ASKABLE; i++)
		if (strchr(s->id + TAGGED, askable[i].letter))
			th_jw_kraw(&w, askable[i].capability, TH_STR("{}"));
	th_jw_object_end(&w);
	th_jw_object_end(&w);
	if (th_json_parse(th_buf_str(&text), &s->initialized, NULL) != TH_OK)
		s->initialized = NULL; /* then it is asked nothing */
	a->server->mcp_sessions = s;
	return s;
}

struct th_mcp_session *th_mcp_session_new(struct th_mcp *m)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_server *server = m->access->server;
	struct th_mcp_session *s = th_alloc(sizeof(*s));
	struct th_uuid id;

	make_room(server, m->kit);
	th_random(id.bytes, sizeof(id.bytes)); /* nobody can guess it */
	*s = (struct th_mcp_session){ .next = server->mcp_sessions,
				      .kit = m->kit,
				      .used_ms = th_loop_now_ms(server->loop) };
	th_uuid_text(&id, s->id);
	if (server->settings.s.fleet) {
		s->id[TH_UUID_TEXT_SIZE] = '-';
		th_fleet_tag(server->settings.s.fleet->address, s->id + TH_UUID_TEXT_SIZE + 1);
		put_askable(th_json_get(m->params, "capabilities"), s->id + TAGGED);
	}
	memcpy(s->user, m->access->user, sizeof(s->user));
	th_json_print(m->params, &text);
	if (th_json_parse(th_buf_str(&text), &s->initialized, NULL) != TH_OK)
		s->initialized = NULL;
	server->mcp_sessions = s;
	return s;
}

void th_mcp_sessions_free(struct th_server *server)
{
	while (server->mcp_sessions)
		th_mcp_session_end(server, server->mcp_sessions);
}

/* ---- GET: the channel of a session ---- */

static void channel_gone(struct th_access *a)
{
	struct th_mcp_session *s = a->ctx;

	s->channel.access = NULL;
}

void th_mcp_session_listen(struct th_access *a, struct th_mcp_session *s)
{
	if (s->channel.access) {
		th_access_fail(a, 409, "conflict", "the session has such a stream already");
		return;
	}
	s->channel.access = a;
	a->ctx = s;
	a->gone = channel_gone;
	th_http_begin(a->request, 200, "text/event-stream",
		      TH_STR("Cache-Control: no-store\r\nX-Accel-Buffering: no\r\n"));
	(void)!th_http_write(a->request, TH_STR(": here\n\n"));
}

/* ---- 2026-07-28: a request that is a channel ---- */

struct listening {
	struct th_mcp_channel channel;
};

static void listening_gone(struct th_mcp *m)
{
	struct listening *l = m->ctx;

	channel_deinit(&l->channel);
	free(l);
}

void th_mcp_listen(struct th_mcp *m)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	const struct th_json *wanted = th_json_get(m->params, "notifications");
	struct th_json_iter it = th_json_iter(th_json_get(wanted, "resourceSubscriptions"));
	struct listening *l;
	struct th_jw w = th_jw(&json);

	/* All of them at once, and no more than can be listened to. */
	for (size_t i = 0; i < TH_MCP_WATCHES_MAX && th_json_next(&it); i++)
		(void)th_mcp_known(m, th_json_str(it.val));
	if (th_needs_wait(&m->needs))
		return;
	it = th_json_iter(th_json_get(wanted, "resourceSubscriptions"));
	l = th_alloc(sizeof(*l));
	*l = (struct listening){ .channel = { .access = m->access,
					      .subscription = copy(th_str_of(m->id)) } };
	m->ctx = l;
	m->gone = listening_gone;
	th_jw_object(&w);
	th_jw_kstr(&w, "jsonrpc", TH_STR("2.0"));
	th_jw_kstr(&w, "method", TH_STR("notifications/subscriptions/acknowledged"));
	th_jw_name(&w, TH_STR("params"));
	th_jw_object(&w);
	th_jw_name(&w, TH_STR("notifications"));
	th_jw_object(&w);
	th_jw_name(&w, TH_STR("resourceSubscriptions"));
	th_jw_array(&w);
	for (size_t i = 0; i < TH_MCP_WATCHES_MAX && th_json_next(&it); i++)
		if (th_mcp_known(m, th_json_str(it.val)) &&
		    th_mcp_watch(&l->channel, m, th_json_str(it.val)))
			th_jw_str(&w, th_json_str(it.val));
	th_jw_array_end(&w);
	th_jw_object_end(&w);
	th_jw_name(&w, TH_STR("_meta"));
	th_jw_object(&w);
	th_jw_kraw(&w, TH_MCP_META "subscriptionId", th_str_of(m->id));
	th_jw_object_end(&w);
	th_jw_object_end(&w);
	th_jw_object_end(&w);
	th_mcp_send(m, th_buf_str(&json));
}
