/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.c - /api/bash: commands of clients, and what became of them.
 *
 * A command is one event BashCommand, and one BashOutput when it is over.  They are in memory: the
 * last TH_SERVE_OPENHANDS_COMMANDS_MAX of all clients.  That it was run is in the session's log.
 */
#include <stdio.h>
#include <stdlib.h>

#include "io/clock.h"
#include "openhands_api/internal.h"

#define OUTPUT_BYTES "65536" /* of each stream */
#define SECONDS_DEFAULT 300

struct th_oh_command {
	struct th_oh_command *next; /* the newest is first */
	struct th_oh *o;
	struct th_access *access; /* who waits for its end; NULL: nobody */
	bool over;
	char id[TH_UUID_TEXT_SIZE + 1], output_id[TH_UUID_TEXT_SIZE + 1];
	char session[TH_SESSION_ID_MAX + 1], user[TH_USER_MAX + 1];
	int64_t seconds, exit_code, began_ms, ended_ms;
	struct th_buf command, cwd, out, err;
};

static void command_free(struct th_oh_command *c)
{
	th_buf_deinit(&c->command);
	th_buf_deinit(&c->cwd);
	th_buf_deinit(&c->out);
	th_buf_deinit(&c->err);
	free(c);
}

static void make_id(char text[static TH_UUID_TEXT_SIZE + 1])
{
	struct th_uuid id = th_uuid_now();

	th_uuid_text(&id, text);
}

static_assert(TH_SERVE_OPENHANDS_ACTS_MAX < TH_SERVE_OPENHANDS_COMMANDS_MAX,
	      "of those that are remembered one is over");

/* Before one more: the oldest that is over goes. */
static void make_room(struct th_oh *o)
{
	struct th_oh_command **last = NULL, *c;
	size_t count = 0;

	for (struct th_oh_command **at = &o->commands; *at; at = &(*at)->next, count++)
		if ((*at)->over)
			last = at;
	if (count < TH_SERVE_OPENHANDS_COMMANDS_MAX || !last)
		return;
	c = *last;
	*last = c->next;
	command_free(c);
}

/* ---- as events ---- */

static void print_time(int64_t ms, struct th_jw *w)
{
	th_jw_name(w, TH_STR("timestamp"));
	th_oh_put_time(ms, true, w);
}

static void print_command(const struct th_oh_command *c, struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kstr(w, "kind", TH_STR("BashCommand"));
	th_jw_kstr(w, "id", th_str_of(c->id));
	print_time(c->began_ms, w);
	th_jw_kstr(w, "command", th_buf_str(&c->command));
	if (c->cwd.len)
		th_jw_kstr(w, "cwd", th_buf_str(&c->cwd));
	else
		th_jw_kraw(w, "cwd", TH_STR("null"));
	th_jw_kint(w, "timeout", c->seconds);
	th_jw_object_end(w);
}

static void print_stream(const char *name, const struct th_buf *text, struct th_jw *w)
{
	if (text->len)
		th_jw_kstr(w, name, th_buf_str(text));
	else
		th_jw_kraw(w, name, TH_STR("null"));
}

static void print_output(const struct th_oh_command *c, struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kstr(w, "kind", TH_STR("BashOutput"));
	th_jw_kstr(w, "id", th_str_of(c->output_id));
	print_time(c->ended_ms, w);
	th_jw_kstr(w, "command_id", th_str_of(c->id));
	th_jw_kint(w, "order", 0);
	th_jw_kint(w, "exit_code", c->exit_code);
	print_stream("stdout", &c->out, w);
	print_stream("stderr", &c->err, w);
	th_jw_object_end(w);
}

static void answer(struct th_access *a, const struct th_oh_command *c, bool output)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_MIB);
	struct th_jw w = th_jw(&json);

	if (output)
		print_output(c, &w);
	else
		print_command(c, &w);
	th_access_json(a, 200, &json);
}

/* ---- one begins, and ends ---- */

static void on_ended(void *ctx, const struct th_oh_ended *end)
{
	struct th_oh_command *c = ctx;
	struct th_access *a = c->access;

	th_buf_add(&c->out, end->out);
	th_buf_add(&c->err, end->err);
	if (!end->ran)
		th_buf_add(&c->err, end->why);
	if (end->timed_out) /* its client looks for these words */
		th_buf_printf(&c->err, "Command timed out after %lld seconds",
			      (long long)c->seconds);
	if (end->stopped)
		th_buf_add_cstr(&c->err, "The command was stopped");
	c->exit_code = end->exit_code;
	c->ended_ms = (int64_t)th_clock_wall_ms();
	c->over = true;
	c->access = NULL;
	if (!a)
		return;
	a->gone = NULL;
	answer(a, c, true);
}

static void on_gone(struct th_access *a)
{
	struct th_oh_command *c = a->ctx;

	c->access = NULL; /* it goes on */
}

/* 0: it is no number. */
static int64_t seconds_of(const struct th_json *v)
{
	return th_json_get_int(v, "timeout",
			       th_json_is_null(th_json_get(v, "timeout")) ? SECONDS_DEFAULT : 0);
}

static struct th_oh_command *command_new(struct th_access *a, const struct th_json *v)
{
	struct th_oh_command *c = th_alloc(sizeof(*c));

	*c = (struct th_oh_command){ .o = a->server->openhands,
				     .seconds = seconds_of(v),
				     .began_ms = (int64_t)th_clock_wall_ms(),
				     .command = TH_BUF_INIT(TH_COMMAND_SIZE_MAX),
				     .cwd = TH_BUF_INIT(TH_PATH_LEN_MAX),
				     .out = TH_BUF_INIT(TH_MIB),
				     .err = TH_BUF_INIT(TH_MIB) };
	make_id(c->id);
	make_id(c->output_id);
	snprintf(c->session, sizeof(c->session), "%s", a->args[0]);
	snprintf(c->user, sizeof(c->user), "%s", a->user);
	th_buf_add(&c->command, th_json_get_str(v, "command"));
	th_buf_add(&c->cwd, th_json_get_str(v, "cwd"));
	return c;
}

/* The session is open. */
static void begin(struct th_access *a, const char *session, bool waits)
{
	struct th_hub *h = th_hub_find(a->server, session);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = th_access_body(a);
	struct th_buf folder TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	const char *options[] = { "bytes", OUTPUT_BYTES, "seconds", NULL, NULL, NULL, NULL };
	struct th_oh_command *c;
	struct thole_error err;
	char seconds[24];

	if (!doc || !th_oh_place(a, "cwd", th_json_get_str(th_json_root(doc), "cwd"), &folder))
		return;
	c = command_new(a, th_json_root(doc));
	snprintf(seconds, sizeof(seconds), "%lld", (long long)c->seconds);
	options[3] = seconds;
	if (folder.len) {
		options[4] = "folder";
		options[5] = folder.ptr;
	}
	if (th_oh_act(h, a->user, c->command.ptr ?: "", options, on_ended, c, &err) != 0) {
		command_free(c);
		th_access_error(a, &err);
		return;
	}
	make_room(c->o);
	c->next = c->o->commands;
	c->o->commands = c;
	if (!waits) {
		answer(a, c, false);
		return;
	}
	c->access = a;
	a->ctx = c;
	a->gone = on_gone;
}

static void start(struct th_access *a, const char *session, int status)
{
	(void)status;
	begin(a, session, false);
}

static void execute(struct th_access *a, const char *session, int status)
{
	(void)status;
	begin(a, session, true);
}

static void look_at(struct th_access *a, th_after_fn *fn)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = th_access_body(a);
	struct th_buf folder TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	const struct th_json *v = doc ? th_json_root(doc) : NULL;
	struct th_str command = th_json_get_str(v, "command");
	int64_t seconds = seconds_of(v);

	if (!doc)
		return;
	if (!command.len || command.len >= TH_COMMAND_SIZE_MAX ||
	    memchr(command.ptr, 0, command.len) || seconds < 1 || seconds > 86400)
		th_access_fail(a, 422, NULL,
			       "command is a text of less than %zu bytes, and timeout is 1 to "
			       "86400 seconds",
			       (size_t)TH_COMMAND_SIZE_MAX);
	else if (th_oh_place(a, "cwd", th_json_get_str(v, "cwd"), &folder))
		th_oh_with_open(a, fn);
}

void th_oh_bash_start(struct th_access *a)
{
	look_at(a, start);
}

void th_oh_bash_execute(struct th_access *a)
{
	look_at(a, execute);
}

/* ---- what became of them ---- */

static bool is_of(const struct th_access *a, const struct th_oh_command *c)
{
	bool of_route = th_str_starts(th_str_of(a->route->path), TH_STR(TH_OH_ONE));

	return strcmp(c->user, a->user) == 0 && (!of_route || strcmp(c->session, a->args[0]) == 0);
}

/* By the last argument; NULL: it was answered. */
static struct th_oh_command *find(struct th_access *a, bool *ret_output)
{
	bool of_route = th_str_starts(th_str_of(a->route->path), TH_STR(TH_OH_ONE));
	struct th_uuid id;
	char text[TH_UUID_TEXT_SIZE + 1];

	if (of_route && !th_oh_mine(a, NULL))
		return NULL;
	if (!th_uuid_parse(th_str_of(a->args[of_route]), &id)) {
		th_access_fail(a, 422, NULL, "the id of an event is a UUID");
		return NULL;
	}
	th_uuid_text(&id, text);
	for (struct th_oh_command *c = a->server->openhands->commands; c; c = c->next) {
		bool output = c->over && strcmp(c->output_id, text) == 0;

		if (is_of(a, c) && (output || strcmp(c->id, text) == 0)) {
			*ret_output = output;
			return c;
		}
	}
	th_access_fail(a, 404, NULL, "there is no such event");
	return NULL;
}

void th_oh_bash_event(struct th_access *a)
{
	bool output = false;
	const struct th_oh_command *c = find(a, &output);

	if (c)
		answer(a, c, output);
}

void th_oh_bash_stop(struct th_access *a)
{
	bool output = false;
	const struct th_oh_command *c = find(a, &output);
	struct thole_error err;

	if (!c)
		return;
	if (th_oh_act_stop(c->o, c, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	th_server_kick(a->server);
	th_access_text(a, 200, "application/json", TH_STR("{\"success\":true}"));
}

struct wanted {
	struct th_buf kind, command, order, page, past;
	int64_t limit, past_order;
	struct th_jw w;
	bool skips; /* until the page's first event */
	const char *next;
};

static void take(struct wanted *f, const struct th_oh_command *c, bool output)
{
	const char *id = output ? c->output_id : c->id;

	if (f->kind.len && !th_str_is(th_buf_str(&f->kind), output ? "BashOutput" : "BashCommand"))
		return;
	if (output && f->past.len && f->past_order >= 0) /* the only one is number 0 */
		return;
	if (f->skips && !th_str_is(th_buf_str(&f->page), id))
		return;
	f->skips = false;
	if (f->next)
		return;
	if (f->limit-- <= 0) {
		f->next = id;
		return;
	}
	if (output)
		print_output(c, &f->w);
	else
		print_command(c, &f->w);
}

/* In the order of their times: each command, and behind it its output.  The list has the newest
 * first. */
static void take_all(struct wanted *f, struct th_access *a)
{
	const struct th_oh_command *list[TH_SERVE_OPENHANDS_COMMANDS_MAX];
	bool down = th_str_is(th_buf_str(&f->order), "TIMESTAMP_DESC");
	size_t count = 0;

	for (const struct th_oh_command *c = a->server->openhands->commands; c; c = c->next)
		if (is_of(a, c) && (!f->command.len || th_str_is(th_buf_str(&f->command), c->id)))
			list[count++] = c;
	for (size_t i = 0; i < count; i++) {
		const struct th_oh_command *c = list[down ? i : count - 1 - i];

		if (down && c->over)
			take(f, c, true);
		take(f, c, false);
		if (!down && c->over)
			take(f, c, true);
	}
}

static void wanted_deinit(struct wanted *f)
{
	th_buf_deinit(&f->kind);
	th_buf_deinit(&f->command);
	th_buf_deinit(&f->order);
	th_buf_deinit(&f->page);
	th_buf_deinit(&f->past);
}

/* False: it was answered. */
static bool read_wanted(struct th_access *a, struct wanted *f)
{
	struct th_uuid id;
	char text[TH_UUID_TEXT_SIZE + 1];

	(void)th_access_query(a, "kind__eq", &f->kind);
	(void)th_access_query(a, "sort_order", &f->order);
	(void)th_access_query(a, "order__gt", &f->past);
	f->skips = th_access_query(a, "page_id", &f->page) && f->page.len;
	if (!th_access_query_int(a, "limit", &f->limit))
		return false;
	if (th_access_query(a, "command_id__eq", &f->command)) {
		bool good = th_uuid_parse(th_buf_str(&f->command), &id);

		th_buf_clear(&f->command);
		if (good) {
			th_uuid_text(&id, text);
			th_buf_add_cstr(&f->command, text);
		}
		f->limit = good ? f->limit : 0;
	}
	if (f->limit >= 1 && f->limit <= TH_SERVE_OPENHANDS_PAGE_MAX &&
	    (!f->past.len || th_str_i64(th_buf_str(&f->past), &f->past_order)))
		return true;
	th_access_fail(a, 422, NULL,
		       "limit is 1 to %d, command_id__eq a UUID, and order__gt a number",
		       TH_SERVE_OPENHANDS_PAGE_MAX);
	return false;
}

void th_oh_bash_search(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct wanted f TH_CLEANUP(wanted_deinit) = {
		TH_BUF_INIT(TH_KIB), TH_BUF_INIT(TH_KIB), TH_BUF_INIT(TH_KIB),
		TH_BUF_INIT(TH_KIB), TH_BUF_INIT(TH_KIB), .limit = TH_SERVE_OPENHANDS_PAGE_MAX,
		.w = th_jw(&json)
	};

	if ((th_str_starts(th_str_of(a->route->path), TH_STR(TH_OH_ONE)) && !th_oh_mine(a, NULL)) ||
	    !read_wanted(a, &f))
		return;
	th_jw_object(&f.w);
	th_jw_name(&f.w, TH_STR("items"));
	th_jw_array(&f.w);
	take_all(&f, a);
	th_jw_array_end(&f.w);
	if (f.next)
		th_jw_kstr(&f.w, "next_page_id", th_str_of(f.next));
	else
		th_jw_kraw(&f.w, "next_page_id", TH_STR("null"));
	th_jw_object_end(&f.w);
	th_access_json(a, 200, &json);
}

void th_oh_commands_free(struct th_oh *o)
{
	while (o->commands) {
		struct th_oh_command *c = o->commands;

		o->commands = c->next;
		command_free(c);
	}
}
