/* SPDX-License-Identifier: Apache-2.0 */
/* hold.c - see viewer.h. */
#include <stdlib.h>

#include "sessions_api/viewer.h"

#define TYPED '>'   /* no JSON begins so */
#define DOWN_MAX 32 /* keys and buttons that one person holds down */

struct th_hold {
	struct th_hold *next;
	struct th_server *server;
	struct th_listener listener; /* keeps the session open here */
	struct th_viewer *viewer;    /* NULL: its socket is closed */
	uint64_t until_ms;
	char user[TH_USER_MAX + 1];
	char *queue[TH_SERVE_INPUTS_MAX]; /* actions that wait, as JSON; what is typed into the
					     shell, behind TYPED */
	size_t count;
	bool moves_last;      /* the last of them is a move with no button down */
	bool busy;            /* an input is under way */
	bool copies;          /* which asks for the clipboard */
	char *down[DOWN_MAX]; /* actions that let go of what is down */
	size_t down_count, buttons;
	bool giving, given;
	const char *reason;
	struct th_buf note;
};

static void pump(struct th_hold *o);

static struct th_hold *hold_of(const struct th_server *s, const struct th_hub *h)
{
	struct th_hold *o = s->holds;

	while (o && o->listener.hub != h)
		o = o->next;
	return o;
}

bool th_hold_is(const struct th_viewer *v)
{
	const struct th_hold *o = hold_of(v->server, v->listener.hub);

	return o && o->viewer == v;
}

int64_t th_hold_lease_ms(const struct th_server *s, const struct th_hub *h)
{
	const struct th_hold *o = hold_of(s, h);
	uint64_t now_ms = th_loop_now_ms(s->loop);

	return o && o->until_ms > now_ms ? (int64_t)(o->until_ms - now_ms) : 0;
}

static void hold_free(struct th_hold *o)
{
	struct th_hold **at = &o->server->holds;
	struct th_hub *h = o->listener.hub;

	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	th_hub_unlisten(&o->listener);
	for (size_t i = 0; i < o->count; i++)
		free(o->queue[i]);
	for (size_t i = 0; i < o->down_count; i++)
		free(o->down[i]);
	th_buf_deinit(&o->note);
	th_viewers_control(o->server, h);
	free(o);
}

static char *copy_of(struct th_str text)
{
	char *copy = th_alloc(text.len + 1);

	memcpy(copy, text.ptr, text.len);
	return copy;
}

/* ---- what is done ---- */

static void on_done(void *ctx, struct thole_session *session, const char *status, const char *text)
{
	struct th_hub *h = ctx;
	struct th_hold *o = hold_of(h->server, h);
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_jw w = th_jw(&json);
	bool done = strcmp(status, "done") == 0;

	(void)session;
	if (!o)
		return;
	o->busy = false;
	if (o->viewer && !done) {
		(void)th_viewer_refuse(o->viewer, "input", status, text ? text : "");
	} else if (o->viewer && o->copies) {
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("clipboard"));
		th_jw_kstr(&w, "text", th_str_of(text));
		th_jw_object_end(&w);
		(void)th_viewer_say(o->viewer, &json);
	}
	pump(o);
}

static void give(struct th_hold *o)
{
	struct thole_error err;

	if (thole_session_give(o->listener.hub->session, o->user, o->note.ptr, o->reason, &err)) {
		if (err.code == THOLE_EBUSY)
			return; /* the sweep comes back to it */
		hold_free(o);
		return;
	}
	o->given = true; /* its event ends the hold */
	th_server_kick(o->server);
}

/* One text for the shell is an input of its own. */
static void type_next(struct th_hold *o)
{
	char *text = o->queue[0];
	struct thole_error err;

	o->count--;
	memmove(o->queue, o->queue + 1, o->count * sizeof(o->queue[0]));
	o->copies = false;
	o->busy = true;
	if (thole_session_type(o->listener.hub->session, o->user, text + 1, on_done,
			       o->listener.hub, &err) == 0) {
		th_server_kick(o->server);
	} else {
		o->busy = false;
		if (o->viewer)
			(void)th_viewer_refuse(o->viewer, "input", thole_code_name(err.code),
					       err.text);
	}
	free(text);
	if (!o->busy)
		pump(o);
}

/* How many of those that wait are actions before the next text. */
static size_t actions_first(const struct th_hold *o)
{
	size_t n = 0;

	while (n < o->count && n < (size_t)TH_ACTIONS_MAX && o->queue[n][0] != TYPED)
		n++;
	return n;
}

/* The next actions that wait, as one input; or what is to be let go of; or it is given back. */
static void pump(struct th_hold *o)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct thole_error err;
	size_t count = actions_first(o);
	bool ups = o->giving && !o->count && o->down_count;

	if (o->busy || o->given)
		return;
	if (o->count && !count) {
		type_next(o);
		return;
	}
	if (!count && !ups) {
		if (o->giving)
			give(o);
		return;
	}
	o->copies = false;
	th_buf_add_char(&json, '[');
	for (size_t i = 0; i < (ups ? o->down_count : count); i++) {
		char *action = ups ? o->down[i] : o->queue[i];

		th_buf_add_cstr(&json, i ? "," : "");
		th_buf_add_cstr(&json, action);
		o->copies |= strstr(action, "\"clipboard_get\"") != NULL;
		free(action);
	}
	th_buf_add_char(&json, ']');
	if (ups) {
		o->down_count = o->buttons = 0;
	} else {
		memmove(o->queue, o->queue + count, (o->count - count) * sizeof(o->queue[0]));
		o->count -= count;
		o->moves_last &= o->count > 0;
	}
	o->busy = true;
	if (thole_session_input(o->listener.hub->session, o->user, json.ptr, on_done,
				o->listener.hub, &err) == 0) {
		th_server_kick(o->server);
		return;
	}
	o->busy = false;
	if (o->viewer)
		(void)th_viewer_refuse(o->viewer, "input", thole_code_name(err.code), err.text);
	else if (o->giving)
		give(o);
}

static void give_soon(struct th_hold *o, const char *reason)
{
	if (o->giving)
		return;
	o->giving = true;
	o->reason = reason;
	pump(o);
}

/* ---- who holds ---- */

static void on_note(struct th_listener *l, const struct thole_note *note)
{
	struct th_hold *o = TH_CONTAINER_OF(l, struct th_hold, listener);

	if (!note ||
	    (thole_note_kind(note) == THOLE_NOTE_EVENT && !thole_session_holder(l->hub->session)))
		hold_free(o);
}

static void take(struct th_viewer *v);

/* The session is open. */
static void take_again(struct th_access *a)
{
	take(a->ctx);
}

static void take(struct th_viewer *v)
{
	struct th_hub *h = v->listener.hub;
	struct th_hold *o = hold_of(v->server, h);
	struct thole_error err = { 0 };

	if (o && o->viewer != v && (o->viewer || strcmp(o->user, v->access->user) != 0)) {
		(void)th_viewer_refuse(v, "take", "busy", "another person has taken over");
		return;
	}
	if (!o) {
		const struct th_found *open;

		v->access->again = take_again;
		open = th_need_open(&v->access->needs, h->id, v->access->user, false);
		if (!open)
			return;
		if (open->err)
			err = *open->err;
		th_needs_forget(&v->access->needs);
		if (err.code || thole_session_take(h->session, v->access->user, &err)) {
			(void)th_viewer_refuse(v, "take", thole_code_name(err.code), err.text);
			return;
		}
		o = th_alloc(sizeof(*o));
		*o = (struct th_hold){ .server = v->server, .next = v->server->holds };
		th_buf_init(&o->note, TH_NOTE_MAX);
		memcpy(o->user, v->access->user, sizeof(o->user));
		o->listener.fn = on_note;
		th_hub_listen(h, &o->listener);
		v->server->holds = o;
		th_server_kick(v->server);
	}
	o->viewer = v;
	o->until_ms = th_loop_now_ms(v->server->loop) + TH_SERVE_LEASE_MS;
	th_viewers_control(v->server, h);
}

void th_hold_left(struct th_viewer *v)
{
	struct th_hold *o = hold_of(v->server, v->listener.hub);
	uint64_t until_ms = th_loop_now_ms(v->server->loop) + TH_SERVE_LEASE_GONE_MS;

	if (!o || o->viewer != v)
		return;
	o->viewer = NULL;
	o->until_ms = TH_MIN(o->until_ms, until_ms);
}

void th_holds_sweep(struct th_server *s)
{
	uint64_t now_ms = th_loop_now_ms(s->loop);

	for (struct th_hold *o = s->holds, *next; o; o = next) {
		next = o->next;
		if (o->giving)
			pump(o); /* it may not have been the time */
		else if (now_ms >= o->until_ms)
			give_soon(o, "the lease ended");
	}
}

void th_holds_free(struct th_server *s)
{
	while (s->holds)
		hold_free(s->holds);
}

/* ---- actions ---- */

/* The action of ours that a message's action is: a key stands alone there. */
static void print_action(const struct th_json *v, struct th_str type, struct th_buf *out)
{
	struct th_jw w = th_jw(out);
	struct th_json_iter it = th_json_iter(v);

	th_jw_object(&w);
	th_jw_kstr(&w, "type", type);
	while (th_json_next(&it)) {
		if (th_str_is(it.key, "type"))
			continue;
		if (th_str_is(it.key, "key")) {
			th_jw_key(&w, TH_STR("keys"));
			th_jw_array(&w);
			th_jw_json(&w, it.val);
			th_jw_array_end(&w);
			continue;
		}
		th_jw_key(&w, it.key);
		th_jw_json(&w, it.val);
	}
	th_jw_object_end(&w);
}

/* What lets go of it again; or one that did is not down any more. */
static void note_down(struct th_hold *o, const struct th_json *v, struct th_str type)
{
	struct th_buf up TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	bool button = th_str_starts(type, TH_STR("mouse_"));
	bool down = th_str_ends(type, TH_STR("_down"));
	struct th_str name = th_json_get_str(v, button ? "button" : "key");
	struct th_jw w = th_jw(&up);

	if (!down && !th_str_ends(type, TH_STR("_up")))
		return;
	th_jw_object(&w);
	th_jw_kstr(&w, "type", button ? TH_STR("mouse_up") : TH_STR("key_up"));
	if (button) {
		th_jw_kstr(&w, "button", name.len ? name : TH_STR("left"));
	} else {
		th_jw_key(&w, TH_STR("keys"));
		th_jw_array(&w);
		th_jw_str(&w, name);
		th_jw_array_end(&w);
	}
	th_jw_object_end(&w);
	for (size_t i = 0; i < o->down_count; i++) {
		if (strcmp(o->down[i], up.ptr) != 0)
			continue;
		free(o->down[i]);
		o->down[i] = o->down[--o->down_count];
		o->buttons -= button;
		break;
	}
	if (down && o->down_count < DOWN_MAX) {
		o->down[o->down_count++] = copy_of(th_buf_str(&up));
		o->buttons += button;
	}
}

/* False: there is no room for it. */
static bool add_action(struct th_hold *o, const struct th_json *v)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_str type = th_json_get_str(v, "type");
	bool move = th_str_is(type, "move") && o->buttons == 0;

	print_action(v, type, &text);
	note_down(o, v, type);
	/* Where the pointer was meanwhile nobody asks; while a button is down it draws. */
	if (move && o->moves_last && o->count)
		free(o->queue[--o->count]);
	if (o->count == TH_SERVE_INPUTS_MAX)
		return false;
	o->queue[o->count++] = copy_of(th_buf_str(&text));
	o->moves_last = move;
	return true;
}

/* Of a terminal: {"text"}, a line or a key. */
static bool add_text(struct th_hold *o, struct th_str text)
{
	char *entry;

	if (o->count == TH_SERVE_INPUTS_MAX)
		return false;
	entry = th_alloc(text.len + 2);
	entry[0] = TYPED;
	memcpy(entry + 1, text.ptr, text.len);
	entry[text.len + 1] = '\0';
	o->queue[o->count++] = entry;
	o->moves_last = false;
	return true;
}

static void input(struct th_viewer *v, struct th_hold *o, const struct th_json *message)
{
	struct th_json_iter it = th_json_iter(th_json_get(message, "actions"));
	bool room = true;

	if (thole_session_control(o->listener.hub->session) != THOLE_CONTROL_PERSON) {
		(void)th_viewer_refuse(v, "input", "busy",
				       "a call of the agent is still under way");
		return;
	}
	if (v->form->terminal) {
		struct th_str text = th_json_get_str(message, "text");

		if (!text.len || text.len > TH_BASH_INPUT_MAX || memchr(text.ptr, '\0', text.len)) {
			(void)th_viewer_refuse(v, "input", "usage",
					       "text is a line or a key, without a zero");
			return;
		}
		room = add_text(o, text);
	}
	while (!v->form->terminal && room && th_json_next(&it))
		room = add_action(o, it.val);
	pump(o);
	if (!room && o->viewer)
		(void)th_viewer_refuse(v, "input", "limit", "too many actions wait");
}

void th_hold_message(struct th_viewer *v, struct th_str text)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_hold *o = hold_of(v->server, v->listener.hub);
	struct th_str type, note;

	if (th_json_parse(text, &doc, NULL) || !th_json_is_object(th_json_root(doc))) {
		(void)th_viewer_refuse(v, "message", "protocol", "a message is a JSON object");
		return;
	}
	type = th_json_get_str(th_json_root(doc), "type");
	if (!(v->access->scopes & TH_SCOPE_RUN)) {
		(void)th_viewer_refuse(v, "message", "scope",
				       "this token does not have the scope run");
		return;
	}
	if (th_str_is(type, "take")) {
		take(v);
		return;
	}
	if (!o || o->viewer != v || o->giving) {
		(void)th_viewer_refuse(v, "message", "control", "you have not taken over");
		return;
	}
	o->until_ms = th_loop_now_ms(v->server->loop) + TH_SERVE_LEASE_MS;
	if (th_str_is(type, "input")) {
		input(v, o, th_json_root(doc));
	} else if (th_str_is(type, "give")) {
		note = th_json_get_str(th_json_root(doc), "note");
		if (note.len > TH_NOTE_MAX) {
			(void)th_viewer_refuse(v, "give", "limit", "the note is too long");
			return;
		}
		th_buf_add(&o->note, note);
		give_soon(o, NULL);
	} else if (!th_str_is(type, "renew")) {
		(void)th_viewer_refuse(v, "message", "protocol",
				       "take, give, renew and input are the messages");
	}
}
