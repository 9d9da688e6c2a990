/* SPDX-License-Identifier: Apache-2.0 */
/* The accessibility bus is played by a thread at the other end of a socket pair. */
#include "computer/tree.h"

#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/files.h"
#include "wire/dbus.h"

enum manner { HONEST, GARBAGE, CLOSES, REFUSES, NO_REGISTRY, ENDLESS, SILENT, MUTE, LONG };

static struct th_err err;
static int fds[2], interrupt[2];
static enum manner manner;
static size_t asked; /* objects that the bus was asked about */
static struct th_buf found;
static size_t found_count;
static struct th_tree_options options;

/* ---- the other end ---- */

static void put_u32(struct th_buf *b, uint32_t v)
{
	while (b->len % 4)
		th_buf_add_char(b, '\0');
	th_buf_add_mem(b, &v, 4);
}

static void put_text(struct th_buf *b, const char *s)
{
	put_u32(b, (uint32_t)strlen(s));
	th_buf_add_mem(b, s, strlen(s) + 1);
}

static void reply(uint32_t serial, const char *signature, const struct th_buf *body)
{
	struct th_buf m = TH_BUF_INIT(TH_MIB), fields = TH_BUF_INIT(TH_KIB);

	th_buf_add_mem(&fields, "\5\1u\0", 4);
	put_u32(&fields, serial);
	if (*signature) {
		th_buf_add_mem(&fields, "\10\1g\0", 4);
		th_buf_add_char(&fields, (char)strlen(signature));
		th_buf_add_mem(&fields, signature, strlen(signature) + 1);
	}
	th_buf_add_mem(&m, *signature ? "l\2\0\1" : "l\3\0\1", 4);
	put_u32(&m, (uint32_t)body->len);
	put_u32(&m, 7);
	put_u32(&m, (uint32_t)fields.len);
	th_buf_add(&m, th_buf_str(&fields));
	while (m.len % 8)
		th_buf_add_char(&m, '\0');
	th_buf_add(&m, th_buf_str(body));
	(void)!write(fds[1], m.ptr, m.len);
	th_buf_deinit(&m);
	th_buf_deinit(&fields);
}

/* The tree: an application with a window with a button, a hidden one, and a panel with a label. */
static const struct node {
	const char *path, *role, *name, *children[4];
	uint32_t states;
	int32_t place[4];
} nodes[] = {
	{ "/root", "application", "app", { "/window" }, 0, { 0 } },
	{ "/window",
	  "frame",
	  "A window",
	  { "/ok", "/hidden", "/panel" },
	  0x42000000,
	  { 0, 0, 400, 300 } },
	{ "/ok", "push button", "OK\x1b[2J", { NULL }, 0x42000000, { 10, 20, 60, 30 } },
	{ "/hidden", "push button", "Hidden", { "/below" }, 0x40000000, { 10, 60, 60, 30 } },
	{ "/below", "label", "Below hidden", { NULL }, 0x42000000, { 10, 60, 60, 30 } },
	{ "/panel", "panel", "", { "/label" }, 0x42000000, { 0, 100, 400, 100 } },
	{ "/label", "label", "Name:", { NULL }, 0x42000000, { 5, 110, 50, 20 } },
	{ "/endless", "panel", "", { "/endless", "/endless" }, 0x42000000, { 0, 100, 400, 100 } },
};

static void answer_children(uint32_t serial, const char *const *list, size_t count)
{
	struct th_buf body = TH_BUF_INIT(TH_MIB);
	uint32_t size;

	put_u32(&body, 0);
	while (body.len % 8)
		th_buf_add_char(&body, '\0');
	for (size_t i = 0; i < count && list[i]; i++) {
		while (body.len % 8)
			th_buf_add_char(&body, '\0');
		put_text(&body, ":1.5");
		put_text(&body, list[i]);
	}
	size = (uint32_t)body.len - 8;
	memcpy(body.ptr, &size, sizeof(size));
	reply(serial, "a(so)", &body);
	th_buf_deinit(&body);
}

/* As much as is kept of a name. */
static char long_name[4 * TH_MARK_NAME_MAX + 1];

static void answer_node(uint32_t serial, const struct node *n, struct th_str member)
{
	struct th_buf body = TH_BUF_INIT(TH_KIB);

	if (th_str_is(member, "GetChildren")) {
		asked++;
		answer_children(serial, n->children, TH_COUNT(n->children));
	} else if (th_str_is(member, "GetRoleName")) {
		put_text(&body, n->role);
		reply(serial, "s", &body);
	} else if (th_str_is(member, "GetState")) {
		put_u32(&body, 8);
		put_u32(&body, n->states);
		put_u32(&body, 0);
		reply(serial, "au", &body);
	} else if (th_str_is(member, "GetExtents") && n->place[2]) {
		for (size_t i = 0; i < 4; i++)
			put_u32(&body, (uint32_t)n->place[i]);
		reply(serial, "(iiii)", &body);
	} else if (th_str_is(member, "Get")) {
		th_buf_add_mem(&body, "\1s\0", 3);
		if (manner == LONG)
			put_text(&body, long_name);
		else
			put_text(&body, n->name);
		reply(serial, "v", &body);
	} else {
		reply(serial, "", &body); /* an error: it has no such interface */
	}
	th_buf_deinit(&body);
}

/* Path and member are looked for here: the reader under test keeps neither. */
static void on_call(struct th_str message)
{
	static const char *const apps[] = { "/root" }, *const endless[] = { "/endless" };
	static const struct th_buf empty = TH_BUF_INIT(1);
	struct th_str path, member;
	uint32_t serial;

	memcpy(&serial, message.ptr + 8, sizeof(serial));
	path = th_str_sub(message, 24, th_str_sub(message, 20, 1).ptr[0] & 0x7f);
	member = TH_STR("");
	for (size_t at = 16; at + 8 < message.len; at += 8)
		if (!memcmp(message.ptr + at, "\3\1s\0", 4))
			member = th_str_sub(message, at + 8, (size_t)message.ptr[at + 4]);
	if (th_str_is(member, "Hello"))
		return; /* its answer is not waited for */
	if (manner == GARBAGE && th_str_is(member, "GetRoleName")) {
		(void)!write(fds[1], "no message of any kind", 22);
		return;
	}
	if (th_str_is(path, "/org/a11y/atspi/accessible/root")) {
		if (manner == NO_REGISTRY)
			reply(serial, "", &empty);
		else
			answer_children(serial, manner == ENDLESS ? endless : apps, 1);
		return;
	}
	for (size_t i = 0; i < TH_COUNT(nodes); i++)
		if (th_str_is(path, nodes[i].path) && manner != SILENT)
			answer_node(serial, &nodes[i], member);
}

static void *bus(void *ctx)
{
	struct th_buf in = TH_BUF_INIT(16 * TH_MIB);
	bool welcome = false;

	for (;;) {
		char *to = th_buf_grow(&in, 65536);
		ssize_t n = read(fds[1], to, 65536);
		size_t size;

		if (n <= 0)
			break;
		th_buf_grown(&in, (size_t)n);
		if (!welcome && in.len >= TH_DBUS_HELLO_SIZE) {
			assert_memory_equal(in.ptr, TH_DBUS_HELLO, TH_DBUS_HELLO_SIZE);
			th_buf_drop(&in, TH_DBUS_HELLO_SIZE);
			welcome = true;
			if (manner == CLOSES)
				break;
			if (manner == REFUSES)
				(void)!write(fds[1], "REJECTED EXTERNAL\r\n", 19);
			else if (manner != MUTE)
				(void)!write(fds[1], "DATA\r\nOK 0123\r\n", 15);
		}
		while (welcome && !th_dbus_size(th_buf_str(&in), &size, NULL) && size &&
		       size <= in.len) {
			on_call(th_str_sub(th_buf_str(&in), 0, size));
			th_buf_drop(&in, size);
		}
	}
	shutdown(fds[1], SHUT_RDWR);
	th_buf_deinit(&in);
	return ctx;
}

/* ---- tests ---- */

static void on_found(void *ctx, struct th_rect box, struct th_str role, struct th_str name)
{
	(void)ctx;
	found_count++;
	th_buf_printf(&found, "%.*s \"%.*s\" %d,%d,%d,%d\n", TH_FMT(role), TH_FMT(name), box.x,
		      box.y, box.width, box.height);
}

static enum th_code read_tree(enum manner how)
{
	pthread_t thread;
	enum th_code code;

	manner = how;
	asked = found_count = 0;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(pthread_create(&thread, NULL, bus, NULL), 0);
	options.interrupt_fd = interrupt[0];
	code = th_tree_read(fds[0], &options, on_found, NULL, &err);
	th_fd_close(&fds[0]);
	pthread_join(thread, NULL);
	th_fd_close(&fds[1]);
	return code;
}

static int setup(void **state)
{
	(void)state;
	th_buf_init(&found, 16 * TH_MIB);
	options = (struct th_tree_options){ 0 };
	signal(SIGPIPE, SIG_IGN); /* the reader may be gone before its answer comes */
	return pipe(interrupt);
}

static int teardown(void **state)
{
	(void)state;
	th_buf_deinit(&found);
	th_fd_close(&interrupt[0]);
	th_fd_close(&interrupt[1]);
	return 0;
}

static void what_shows_is_found(void **state)
{
	(void)state;
	assert_int_equal(read_tree(HONEST), TH_OK);
	assert_string_equal(found.ptr, "button \"OK\x1b[2J\" 10,20,60,30\n"
				       "label \"Name:\" 5,110,50,20\n");
	assert_int_equal(asked, 6); /* nothing below what is hidden */
}

static void bad_peers(void **state)
{
	(void)state;
	assert_int_equal(read_tree(CLOSES), TH_EUNSUPPORTED);
	assert_int_equal(read_tree(REFUSES), TH_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "refuses"));
	assert_int_equal(read_tree(NO_REGISTRY), TH_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "at-spi2-core"));
	assert_int_equal(read_tree(GARBAGE), TH_OK); /* what came before counts: nothing */
	assert_int_equal(found_count, 0);
}

static void a_tree_without_end(void **state)
{
	(void)state;
	assert_int_equal(read_tree(ENDLESS), TH_OK);
	assert_true(asked <= TH_TREE_ITEMS_MAX);
	assert_int_equal(found_count, 0);
}

static void an_order_to_stop(void **state)
{
	(void)state;
	assert_int_equal(write(interrupt[1], "x", 1), 1);
	assert_int_equal(read_tree(SILENT), TH_ECANCELED);
}

static void the_time_is_over(void **state)
{
	(void)state;
	options.total_ms = 40;
	assert_int_equal(read_tree(MUTE), TH_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "did not answer in time"));
	(void)!read_tree(SILENT); /* it ends, whether or not the first answer came in time */
	assert_int_equal(found_count, 0);
}

/* The names do not fit any more: what they belong to is told without. */
static void what_they_say_has_a_maximum(void **state)
{
	(void)state;
	memset(long_name, 'n', sizeof(long_name) - 1);
	assert_int_equal(read_tree(LONG), TH_OK);
	assert_int_equal(found_count, 2);
	assert_non_null(strstr(found.ptr, long_name));
	th_buf_clear(&found);
	options.memory_max = TH_KIB;
	assert_int_equal(read_tree(LONG), TH_OK);
	assert_null(strstr(found.ptr ?: "", long_name));
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_shows_is_found), TEST(bad_peers),
		TEST(a_tree_without_end),  TEST(an_order_to_stop),
		TEST(the_time_is_over),    TEST(what_they_say_has_a_maximum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
