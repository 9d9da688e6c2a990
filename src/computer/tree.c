/* SPDX-License-Identifier: Apache-2.0 */
#include "computer/tree.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/limits.h"
#include "io/clock.h"
#include "io/files.h"
#include "wire/dbus.h"

#define SHOWING (UINT32_C(1) << 25) /* bits of the first word of states */
#define VISIBLE (UINT32_C(1) << 30)
#define ROUND 128 /* objects asked about at once */

enum question { CHILDREN, ROLE, STATES, PLACE, NAME, QUESTIONS };

#define ACCESSIBLE "org.a11y.atspi.Accessible"
static const struct {
	const char *interface, *member, *signature, *answer;
} questions[QUESTIONS] = {
	[CHILDREN] = { ACCESSIBLE, "GetChildren", "", "a(so)" },
	[ROLE] = { ACCESSIBLE, "GetRoleName", "", "s" },
	[STATES] = { ACCESSIBLE, "GetState", "", "au" },
	[PLACE] = { "org.a11y.atspi.Component", "GetExtents", "u",
		    "(iiii)" }, /* 0: of the screen */
	[NAME] = { "org.freedesktop.DBus.Properties", "Get", "ss", "v" },
};

/* Roles that only contain others: a mark in their middle would mean something else. */
static const char *const holders[] = { "application",
				       "desktop frame",
				       "document frame",
				       "document web",
				       "filler",
				       "frame",
				       "grouping",
				       "internal frame",
				       "invalid",
				       "layered pane",
				       "list",
				       "menu bar",
				       "option pane",
				       "page tab list",
				       "panel",
				       "redundant object",
				       "root pane",
				       "scroll bar",
				       "scroll pane",
				       "section",
				       "separator",
				       "split pane",
				       "status bar",
				       "table",
				       "tool bar",
				       "tree",
				       "tree table",
				       "unknown",
				       "viewport",
				       "window",
				       "dialog",
				       "alert",
				       "color chooser",
				       "file chooser",
				       NULL };

struct object {
	struct th_str bus, path;
	struct th_str role, name;
	struct th_rect place;
	uint32_t states;
	bool has_place, has_states;
};

struct reader {
	int fd, interrupt_fd;
	uint64_t until_ms;
	uint32_t serial; /* of the last call */
	struct th_arena memory;
	struct object *list;
	size_t count, cap, asked; /* those before `asked` have been */
	struct th_buf in, out;
	size_t used; /* of in */
	th_found_fn *fn;
	void *ctx;
};

/* ---- bytes -------------------------------------------------------------------------------- */

/* TH_ETIMEOUT: the time is over; TH_ECONN: the bus is gone. */
static enum th_code await(const struct reader *r, short events, struct th_err *err)
{
	struct pollfd p[2] = { { .fd = r->fd, .events = events },
			       { .fd = r->interrupt_fd, .events = POLLIN } };
	uint64_t now = th_clock_ms();
	int n;

	if (now >= r->until_ms)
		return th_fail(err, TH_ETIMEOUT, "the programs did not answer in time");
	n = poll(p, 2, (int)(r->until_ms - now));
	if (n < 0 && errno != EINTR)
		return th_fail_errno(err, errno, "wait for the accessibility bus");
	if (n > 0 && p[1].revents)
		return th_fail(err, TH_ECANCELED, "interrupted while elements were looked for");
	return TH_OK;
}

/* Reads what is there; nothing is no error. */
static enum th_code drain(struct reader *r, struct th_err *err)
{
	char *to = th_buf_grow(&r->in, 64 * TH_KIB);
	ssize_t n;

	if (!to)
		return th_fail(err, TH_ELIMIT, "the programs say more than is read");
	n = recv(r->fd, to, 64 * TH_KIB, MSG_DONTWAIT);
	if (n > 0)
		th_buf_grown(&r->in, (size_t)n);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		return th_fail(err, TH_ECONN, "the accessibility bus has closed the connection");
	return TH_OK;
}

static enum th_code receive(struct reader *r, struct th_err *err)
{
	enum th_code code = await(r, POLLIN, err);

	return code ? code : drain(r, err);
}

/* Sends what is queued and reads meanwhile, so that neither side blocks the other. */
static enum th_code flush(struct reader *r, struct th_err *err)
{
	size_t at = 0;
	enum th_code code = TH_OK;

	while (at < r->out.len && !code) {
		ssize_t n =
		    send(r->fd, r->out.ptr + at, r->out.len - at, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0)
			at += (size_t)n;
		else if (n < 0 && errno == EAGAIN)
			code = await(r, POLLIN | POLLOUT, err);
		else if (n < 0 && errno != EINTR)
			code = th_fail(err, TH_ECONN, "the accessibility bus is gone");
		if (!code && n < 0)
			code = drain(r, err);
	}
	th_buf_clear(&r->out);
	return code;
}

static enum th_code next(struct reader *r, struct th_dbus_message *ret, struct th_err *err)
{
	size_t size = 0;
	enum th_code code;

	for (;;) {
		struct th_str rest = th_str_sub(th_buf_str(&r->in), r->used, r->in.len);

		code = th_dbus_size(rest, &size, err);
		if (code)
			return code;
		if (size && size <= rest.len) {
			r->used += size;
			return th_dbus_read(th_str_sub(rest, 0, size), ret, err);
		}
		th_buf_drop(&r->in, r->used);
		r->used = 0;
		code = receive(r, err);
		if (code)
			return code;
	}
}

/* ---- objects ------------------------------------------------------------------------------ */

static void add_object(struct reader *r, struct th_str bus, struct th_str path)
{
	struct object o = { .bus = th_arena_str(&r->memory, bus),
			    .path = th_arena_str(&r->memory, path) };

	/* Also when the memory is full: the number of objects is limited, and so is their text. */
	if (!bus.len || !path.len || !o.bus.ptr || !o.path.ptr || r->count == TH_TREE_ITEMS_MAX)
		return;
	if (r->count == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 64;
		r->list = th_realloc(r->list, r->cap * sizeof(*r->list));
	}
	r->list[r->count++] = o;
}

static void read_children(struct reader *r, struct th_dbus_values *v)
{
	size_t end = th_dbus_array(v, 8);

	while (th_dbus_more(v, end)) {
		struct th_str bus, path;

		th_dbus_align(v, 8);
		bus = th_dbus_text(v);
		path = th_dbus_text(v);
		if (!v->failed)
			add_object(r, bus, path);
	}
}

static void read_place(struct object *o, struct th_dbus_values *v)
{
	int32_t n[4];

	th_dbus_align(v, 8);
	for (size_t i = 0; i < 4; i++)
		n[i] = (int32_t)th_dbus_u32(v);
	o->has_place = !v->failed;
	o->place = (struct th_rect){ n[0], n[1], n[2], n[3] };
}

static void take_answer(struct reader *r, size_t index, enum question q,
			const struct th_dbus_message *m)
{
	struct th_dbus_values v = th_dbus_values(m);
	struct object *o = &r->list[index];
	struct th_str text;

	if (m->type != TH_DBUS_RETURN || !th_str_is(m->signature, questions[q].answer))
		return;
	switch (q) {
	case CHILDREN:
		break; /* when it is known whether it shows */
	case ROLE:
		text = th_dbus_text(&v);
		if (th_str_is(text, "push button")) /* its name before at-spi2-core 2.53 */
			text = TH_STR("button");
		o->role = th_arena_str(&r->memory, th_str_sub(text, 0, 64));
		break;
	case STATES:
		if (th_dbus_array(&v, 4) > v.at)
			o->states = th_dbus_u32(&v);
		o->has_states = !v.failed;
		break;
	case PLACE:
		read_place(o, &v);
		break;
	case NAME:
		if (!th_str_is(th_dbus_signature(&v), "s"))
			break;
		text = th_dbus_text(&v);
		o->name = th_arena_str(&r->memory, th_str_sub(text, 0, 4 * TH_MARK_NAME_MAX));
		break;
	case QUESTIONS:
		break;
	}
}

/* ---- rounds ------------------------------------------------------------------------------- */

static void ask(struct reader *r, const struct object *o, enum question q)
{
	struct th_dbus_call call = {
		.serial = ++r->serial,
		.destination = o->bus,
		.path = o->path,
		.interface = th_str_of(questions[q].interface),
		.member = th_str_of(questions[q].member),
		.signature = questions[q].signature,
		.texts = { TH_STR(ACCESSIBLE), TH_STR("Name") },
	};

	th_dbus_print(&call, &r->out);
}

static bool shows(const struct object *o)
{
	return o->has_states && o->states & SHOWING && o->states & VISIBLE;
}

static bool holds(struct th_str role)
{
	for (size_t i = 0; holders[i]; i++)
		if (th_str_is(role, holders[i]))
			return true;
	return false;
}

/* Children count when their parent is visible; programs have no such state. */
static void finish(struct reader *r, size_t from, size_t to, struct th_str *children)
{
	for (size_t i = from; i < to; i++) {
		struct object o = r->list[i];
		struct th_dbus_message m = { .body = children[i - from] };
		struct th_dbus_values v = th_dbus_values(&m);

		if (!th_str_is(o.role, "application") && !shows(&o))
			continue;
		if (m.body.len)
			read_children(r, &v);
		if (o.has_place && o.role.len && !holds(o.role))
			r->fn(r->ctx, o.place, o.role, o.name);
	}
}

/* All questions about some objects; their children are asked about in later rounds. */
static enum th_code ask_round(struct reader *r, struct th_err *err)
{
	size_t from = r->asked, to = TH_MIN(r->count, from + ROUND), open = 0;
	struct th_str children[ROUND] = { 0 };
	uint32_t first = r->serial + 1;
	enum th_code code;

	for (size_t i = from; i < to; i++)
		for (int q = 0; q < QUESTIONS; q++, open++)
			ask(r, &r->list[i], (enum question)q);
	r->asked = to;
	code = flush(r, err);
	while (open > 0 && !code) {
		struct th_dbus_message m;
		uint32_t at;

		code = next(r, &m, err);
		at = m.answers - first;
		if (code || m.answers < first || at >= (to - from) * QUESTIONS)
			continue;
		open--;
		if (at % QUESTIONS == CHILDREN && m.type == TH_DBUS_RETURN &&
		    th_str_is(m.signature, questions[CHILDREN].answer))
			children[at / QUESTIONS] = th_arena_str(&r->memory, m.body);
		else
			take_answer(r, from + at / QUESTIONS, (enum question)(at % QUESTIONS), &m);
	}
	finish(r, from, to, children);
	return code;
}

/* Says who we are, and asks for the programs that are on the bus. */
static enum th_code begin(struct reader *r, struct th_err *err)
{
	struct th_dbus_call hello = { .serial = ++r->serial,
				      .destination = TH_STR("org.freedesktop.DBus"),
				      .path = TH_STR("/org/freedesktop/DBus"),
				      .interface = TH_STR("org.freedesktop.DBus"),
				      .member = TH_STR("Hello"),
				      .signature = "" };
	const struct object root = { .bus = TH_STR("org.a11y.atspi.Registry"),
				     .path = TH_STR("/org/a11y/atspi/accessible/root") };
	struct th_dbus_message m = { 0 };
	enum th_code code;
	int size;

	th_buf_add_mem(&r->out, TH_DBUS_HELLO, TH_DBUS_HELLO_SIZE);
	code = flush(r, err);
	while (!code && (size = th_dbus_welcome(th_buf_str(&r->in))) <= 0) {
		if (size < 0)
			code = th_fail(err, TH_EUNSUPPORTED, "the accessibility bus refuses us");
		else
			code = receive(r, err);
	}
	if (code)
		return code;
	th_buf_drop(&r->in, (size_t)size);
	th_dbus_print(&hello, &r->out);
	ask(r, &root, CHILDREN);
	code = flush(r, err);
	while (!code && m.answers != r->serial)
		code = next(r, &m, err);
	if (code)
		return code;
	struct th_dbus_values v = th_dbus_values(&m);
	if (m.type != TH_DBUS_RETURN || !th_str_is(m.signature, questions[CHILDREN].answer))
		return th_fail(err, TH_EUNSUPPORTED,
			       "there is no registry on the accessibility bus (Debian, Ubuntu, "
			       "Fedora, Arch, Alpine: package at-spi2-core)");
	read_children(r, &v);
	return TH_OK;
}

enum th_code th_tree_read(int fd, const struct th_tree_options *options, th_found_fn *fn, void *ctx,
			  struct th_err *err)
{
	struct reader r = {
		.fd = fd,
		.interrupt_fd = options->interrupt_fd,
		.until_ms = th_clock_ms() + (options->total_ms ?: TH_TREE_MS),
		.fn = fn,
		.ctx = ctx,
	};
	enum th_code code;
	bool begun;

	th_arena_init(&r.memory, options->memory_max ?: TH_TREE_MEMORY_MAX);
	th_buf_init(&r.in, 2 * TH_DBUS_MESSAGE_MAX);
	th_buf_init(&r.out, 2 * TH_DBUS_MESSAGE_MAX);
	code = begin(&r, err);
	begun = !code;
	while (!code && r.asked < r.count)
		code = ask_round(&r, err);
	th_buf_deinit(&r.in);
	th_buf_deinit(&r.out);
	th_arena_deinit(&r.memory);
	free(r.list);
	if (begun && code != TH_ECANCELED)
		return TH_OK; /* what is known was reported */
	return code == TH_ECANCELED || !code
		   ? code
		   : th_fail(err, TH_EUNSUPPORTED, "the accessibility bus: %s", err->msg);
}
