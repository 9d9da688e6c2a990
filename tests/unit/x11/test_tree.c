/* SPDX-License-Identifier: Apache-2.0 */
/* What is found of a display that is there already: its accessibility bus (what is on that is told
 * in test_tree.c), its key. */
#include "x11/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit.h"
#include "x11_rig.h"

#include "base/limits.h"
#include "io/files.h"

static struct rig rig;
static struct th_err err;
static char folder[32], path[64];
static int listener;

static void nobody(void *ctx, struct th_rect box, struct th_str role, struct th_str name)
{
	(void)ctx, (void)box, (void)role, (void)name;
	fail();
}

/* A bus that lets nobody in: who is told so has found it. */
static void *bus(void *ctx)
{
	int fd = accept(listener, NULL, NULL);
	char bytes[256];

	if (fd >= 0 && read(fd, bytes, sizeof(bytes)) > 0)
		(void)!write(fd, "REJECTED EXTERNAL\r\n", 19);
	while (fd >= 0 && read(fd, bytes, sizeof(bytes)) > 0)
		;
	close(fd);
	return ctx;
}

static enum th_code look(const char *named)
{
	free(rig.x.bus);
	rig.x.bus = named ? strdup(named) : NULL;
	err = (struct th_err){ 0 };
	return th_x11_tree(&rig.x.computer, nobody, NULL, &err);
}

static void is_found(const char *named)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, bus, NULL), 0);
	assert_int_equal(look(named), TH_EUNSUPPORTED);
	pthread_join(thread, NULL);
	assert_non_null(strstr(err.msg, "the accessibility bus refuses us"));
}

static void is_not_found(const char *named, const char *why)
{
	assert_int_equal(look(named), TH_EUNSUPPORTED);
	if (!strstr(err.msg, why))
		fail_msg("%s", err.msg);
}

static void write_root(const char *address, size_t size)
{
	xcb_connection_t *conn = xcb_connect(rig.display, NULL);
	xcb_window_t root = xcb_setup_roots_iterator(xcb_get_setup(conn)).data->root;
	xcb_intern_atom_reply_t *atom =
	    xcb_intern_atom_reply(conn, xcb_intern_atom(conn, 0, 10, "AT_SPI_BUS"), NULL);

	assert_non_null(atom);
	free(xcb_request_check(conn, xcb_change_property_checked(conn, XCB_PROP_MODE_REPLACE, root,
								 atom->atom, XCB_ATOM_STRING, 8,
								 (uint32_t)size, address)));
	free(atom);
	xcb_disconnect(conn);
}

static void by_its_address(void **state)
{
	char address[128];

	(void)state;
	is_not_found(NULL, "no accessibility bus is named");
	snprintf(address, sizeof(address), "unix:path=%s,guid=1234", path);
	is_found(address);
	is_not_found("unix:abstract=/x", "not the address of a socket");
	is_not_found("unix:path=/nowhere/bus", "connect to it");
}

/* What stands on the root window is anybody's. */
static void by_the_display(void **state)
{
	char address[2 * TH_BUS_ADDRESS_MAX];
	int len;

	(void)state;
	is_not_found("display", "names none (AT_SPI_BUS)");
	len = snprintf(address, sizeof(address), "unix:path=%s,guid=", path);
	memset(address + len, 'a', sizeof(address) - (size_t)len);
	write_root(address, TH_BUS_ADDRESS_MAX);
	is_found("display");
	write_root(address, TH_BUS_ADDRESS_MAX + 1);
	is_not_found("display", "larger than 1024 bytes");
	write_root(address, sizeof(address));
	is_not_found("display", "larger than 1024 bytes");
	write_root("tcp:host=evil.example,port=1", 28);
	is_not_found("display", "not the address of a socket");
	write_root("", 0);
	is_not_found("display", "names none");
}

/* The file that XAUTHORITY names is read up to its maximum: what is behind the entry matters not.
 */
static void a_key_file_has_a_maximum(void **state)
{
	static const uint8_t key[] = "\377\377\0\0\0\0017\0\022MIT-MAGIC-COOKIE-1\0\020"
				     "0123456789abcdef";
	uint8_t cookie[TH_X11_COOKIE_SIZE];
	char name[64];

	(void)state;
	snprintf(name, sizeof(name), "%s/key", folder);
	for (off_t more = 0; more <= 1; more++) {
		FILE *f = fopen(name, "w");
		bool found = false;

		assert_non_null(f);
		fwrite(key, 1, sizeof(key) - 1, f);
		assert_int_equal(fclose(f), 0);
		assert_int_equal(truncate(name, (off_t)TH_XAUTHORITY_MAX + more), 0);
		assert_int_equal(th_x11_cookie(th_str_of(name), 7, &found, cookie, &err),
				 more ? TH_ELIMIT : TH_OK);
		assert_int_equal(found, !more);
	}
	assert_memory_equal(cookie, "0123456789abcdef", sizeof(cookie));
}

static int setup(void **state)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	(void)state;
	rig_start(&rig);
	strcpy(folder, "/tmp/thole-test-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/bus", folder);
	strcpy(a.sun_path, path);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return bind(listener, (const struct sockaddr *)&a, sizeof(a)) || listen(listener, 1);
}

static int teardown(void **state)
{
	(void)state;
	close(listener);
	rig_stop(&rig);
	return th_dir_remove(folder, NULL);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(by_its_address),
		TEST(by_the_display),
		TEST(a_key_file_has_a_maximum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
