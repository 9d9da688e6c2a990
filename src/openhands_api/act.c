/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.c - what a client does itself in a conversation's folder: where that is, and commands that
 * the session's executor runs for it (thole_session_command).
 *
 * OpenHands has one folder for all; here each conversation has its own.  So a path is that of a
 * conversation: the one of the route, or the one in whose folder the path lies.
 */
#include <stdio.h>
#include <stdlib.h>

#include "openhands_api/internal.h"

/* ---- where ---- */

/* "FOLDERS/UUID/a" becomes the UUID, in args[0], and "a". */
static bool find_folder(struct th_access *a, struct th_str *path)
{
	struct th_str all = a->server->o.workspaces, name;
	struct th_uuid id;

	if (!all.len || !th_str_starts(*path, all))
		return false;
	*path = th_str_sub(*path, all.len, path->len);
	if (!path->len || path->ptr[0] != '/')
		return false;
	*path = th_str_sub(*path, 1, path->len);
	name = th_str_split(path, '/');
	if (!th_uuid_parse(name, &id))
		return false;
	snprintf(a->args[0], sizeof(a->args[0]), "%.*s", TH_FMT(name));
	return true;
}

/* The same below the folder of the route's conversation. */
static bool is_below(struct th_access *a, struct th_str *path)
{
	char *folder;
	bool below;

	if (!path->len || path->ptr[0] != '/')
		return true;
	folder = th_workspace_path(a->server, a->args[0]);
	below = a->server->o.workspaces.len && th_str_starts(*path, th_str_of(folder));
	if (below)
		*path = th_str_sub(*path, strlen(folder), path->len);
	free(folder);
	if (!below || (path->len && path->ptr[0] != '/'))
		return false;
	return true;
}

bool th_oh_place(struct th_access *a, const char *what, struct th_str path, struct th_buf *below)
{
	bool of_route = th_str_starts(th_str_of(a->route->path), TH_STR(TH_OH_ONE));
	bool good = path.len < TH_PATH_LEN_MAX && !memchr(path.ptr ?: "", 0, path.len);

	if (of_route && !th_oh_mine(a, NULL))
		return false;
	if (!good || !(of_route ? is_below(a, &path) : find_folder(a, &path))) {
		th_access_fail(a, 422, NULL,
			       "%s lies in the folder of one of your conversations: its "
			       "workspace.working_dir",
			       what);
		return false;
	}
	while (path.len && path.ptr[0] == '/')
		path = th_str_sub(path, 1, path.len);
	while (path.len && path.ptr[path.len - 1] == '/')
		path.len--;
	th_buf_add(below, path);
	return of_route || th_oh_mine(a, NULL);
}

/* ---- what ---- */

#define OPTIONS_MAX 6 /* names and values */

/* A session has one under way; others of it wait, in their order. */
struct th_oh_act {
	struct th_oh_act *next;
	struct th_oh *o;
	struct th_listener listener; /* keeps the session open */
	bool begun;
	char user[TH_USER_MAX + 1];
	char *command, *options[OPTIONS_MAX + 1];
	th_oh_ended_fn *fn;
	void *ctx;
};

static void act_free(struct th_oh_act *act)
{
	for (size_t i = 0; i < OPTIONS_MAX; i++)
		free(act->options[i]);
	free(act->command);
	free(act);
}

static struct th_oh_act *act_of(const struct th_oh *o, const struct th_hub *h)
{
	struct th_oh_act *act = o->acts;

	while (act && act->listener.hub != h)
		act = act->next;
	return act;
}

static void begin_next(struct th_oh *o, struct th_hub *h);

/* Out of the list, and whoever had it run hears how it ended. */
static void act_tell(struct th_oh_act *act, const struct th_oh_ended *end)
{
	struct th_oh_act **at = &act->o->acts;

	while (*at != act)
		at = &(*at)->next;
	*at = act->next;
	act->fn(act->ctx, end);
}

/* It ended, and its session stays open: the next one's turn has come. */
static void act_over(struct th_oh_act *act, const struct th_oh_ended *end)
{
	struct th_hub *h = act->listener.hub;
	struct th_oh *o = act->o;

	act_tell(act, end);
	begin_next(o, h);
	th_hub_unlisten(&act->listener);
	act_free(act);
}

static void read_end(const struct th_json *v, struct th_oh_ended *end)
{
	int64_t signal = th_json_get_int(v, "signal", 0);

	end->ran = true;
	end->out = th_json_get_str(v, "out");
	end->err = th_json_get_str(v, "err");
	end->timed_out = th_json_bool(th_json_get(v, "timed_out"), false);
	end->stopped = th_json_bool(th_json_get(v, "cancelled"), false);
	end->size = (uint64_t)th_json_get_int(v, "output_size", 0);
	end->exit_code = signal ? 128 + signal : th_json_get_int(v, "exit_code", -1);
	if (end->timed_out || end->stopped)
		end->exit_code = -1;
}

static void on_done(void *ctx, struct thole_session *session, const char *status, const char *text)
{
	struct th_hub *h = ctx;
	struct th_oh *o = h->server->openhands;
	struct th_oh_act *act = o ? act_of(o, h) : NULL;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_oh_ended end = { .exit_code = -1, .why = th_str_of(text ?: status) };

	(void)session;
	if (!act || !act->begun)
		return;
	if (th_json_parse(end.why, &doc, NULL) == TH_OK && th_json_is_object(th_json_root(doc)))
		read_end(th_json_root(doc), &end);
	act_over(act, &end);
}

static int begin(struct th_oh_act *act, struct thole_error *err)
{
	struct th_hub *h = act->listener.hub;
	const char *options[OPTIONS_MAX + 1];

	for (size_t i = 0; i <= OPTIONS_MAX; i++)
		options[i] = act->options[i];
	act->begun = true;
	th_server_kick(h->server);
	return thole_session_command(h->session, act->user, act->command, options, on_done, h, err);
}

static void begin_next(struct th_oh *o, struct th_hub *h)
{
	struct th_oh_act *act = act_of(o, h);
	struct th_oh_ended end = { .exit_code = -1 };
	struct thole_error err;

	if (!act || act->begun || !h->session || o->server->finishing || begin(act, &err) == 0)
		return;
	end.why = th_str_of(err.text);
	act_over(act, &end);
}

static void on_note(struct th_listener *l, const struct thole_note *note)
{
	const struct th_oh_ended lost = {
		.exit_code = -1,
		.why = TH_STR("the session is not this server's any more: what became of the "
			      "command is in its log"),
	};

	struct th_oh_act *act = TH_CONTAINER_OF(l, struct th_oh_act, listener);

	if (note)
		return;
	/* Each that waits hears it, too: none of them begins, nor ends before its own turn. */
	act_tell(act, &lost);
	th_hub_unlisten(l);
	act_free(act);
}

static char *copy_of(const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(th_alloc(size), text, size);
}

int th_oh_act(struct th_hub *h, const char *by, const char *command, const char *const *options,
	      th_oh_ended_fn *fn, void *ctx, struct thole_error *err)
{
	struct th_oh *o = h->server->openhands;
	struct th_oh_act *act = th_alloc(sizeof(*act)), **last = &o->acts;
	bool waits = act_of(o, h);
	size_t count = 0;
	int code;

	*act = (struct th_oh_act){ .o = o, .fn = fn, .ctx = ctx, .command = copy_of(command) };
	act->listener.fn = on_note;
	snprintf(act->user, sizeof(act->user), "%s", by);
	for (size_t i = 0; i < OPTIONS_MAX && options[i]; i++)
		act->options[i] = copy_of(options[i]);
	for (; *last; last = &(*last)->next)
		count++;
	if (count >= TH_SERVE_OPENHANDS_ACTS_MAX) {
		err->code = THOLE_EBUSY;
		snprintf(err->text, sizeof(err->text), "%d other commands are under way",
			 TH_SERVE_OPENHANDS_ACTS_MAX);
		act_free(act);
		return err->code;
	}
	*last = act;
	th_hub_listen(h, &act->listener);
	code = waits ? 0 : begin(act, err);
	if (!code)
		return 0;
	*last = NULL;
	th_hub_unlisten(&act->listener);
	act_free(act);
	return code;
}

int th_oh_act_stop(struct th_oh *o, const void *ctx, struct thole_error *err)
{
	const struct th_oh_ended stopped = { .ran = true, .stopped = true, .exit_code = -1 };
	struct th_oh_act *act = o->acts;

	while (act && act->ctx != ctx)
		act = act->next;
	if (act && act->begun)
		return thole_session_command_stop(act->listener.hub->session, err);
	if (act)
		act_over(act, &stopped);
	return 0;
}

void th_oh_acts_free(struct th_oh *o)
{
	const struct th_oh_ended over = { .exit_code = -1, .why = TH_STR("the server ends") };

	for (struct th_oh_act *act = o->acts; act; act = act->next)
		act->begun = true; /* none of those that wait begins now */
	while (o->acts)
		act_over(o->acts, &over);
}
