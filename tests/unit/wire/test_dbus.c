/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/dbus.h"

#include "unit.h"

#include <stdlib.h>

#include "base/limits.h"

static struct th_err err;

/* By hand, from the specification: Hello of a first client. */
static const char hello[] = "l\1\0\1\0\0\0\0\1\0\0\0\x6e\0\0\0"
			    "\1\1o\0\x15\0\0\0/org/freedesktop/DBus\0\0\0"
			    "\6\1s\0\x14\0\0\0org.freedesktop.DBus\0\0\0\0"
			    "\2\1s\0\x14\0\0\0org.freedesktop.DBus\0\0\0\0"
			    "\3\1s\0\5\0\0\0Hello\0\0\0";

static void writes_calls(void **state)
{
	struct th_dbus_call call = { .serial = 1,
				     .destination = TH_STR("org.freedesktop.DBus"),
				     .path = TH_STR("/org/freedesktop/DBus"),
				     .interface = TH_STR("org.freedesktop.DBus"),
				     .member = TH_STR("Hello"),
				     .signature = "" };
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_dbus_message m;
	struct th_dbus_values v;

	(void)state;
	th_dbus_print(&call, &out);
	assert_int_equal(out.len, sizeof(hello) - 1);
	assert_memory_equal(out.ptr, hello, out.len);
	th_buf_clear(&out);
	call.signature = "ss";
	call.texts[0] = TH_STR("abc");
	call.texts[1] = TH_STR("");
	th_dbus_print(&call, &out);
	assert_int_equal(th_dbus_read(th_buf_str(&out), &m, &err), TH_OK);
	assert_int_equal(m.type, TH_DBUS_CALL);
	assert_true(th_str_is(m.signature, "ss"));
	v = th_dbus_values(&m);
	assert_true(th_str_is(th_dbus_text(&v), "abc"));
	assert_true(th_str_is(th_dbus_text(&v), ""));
	assert_false(v.failed);
	assert_int_equal(v.at, m.body.len);
	assert_int_equal(th_dbus_u32(&v), 0);
	assert_true(v.failed);
	th_buf_clear(&out);
	call.signature = "u";
	call.number = 0x01020304;
	th_dbus_print(&call, &out);
	assert_int_equal(th_dbus_read(th_buf_str(&out), &m, &err), TH_OK);
	v = th_dbus_values(&m);
	assert_int_equal(th_dbus_u32(&v), 0x01020304);
	th_buf_deinit(&out);
}

static void knows_how_long_a_message_is(void **state)
{
	char head[16] = "l\2\0\1";
	size_t size;

	(void)state;
	for (size_t i = 0; i < 16; i++) {
		assert_int_equal(th_dbus_size(th_str_n(hello, i), &size, &err), TH_OK);
		assert_int_equal(size, 0);
	}
	assert_int_equal(th_dbus_size(th_str_n(hello, 16), &size, &err), TH_OK);
	assert_int_equal(size, sizeof(hello) - 1);
	assert_int_equal(th_dbus_size(TH_STR("B\1\0\1"
					     "000000000000"),
				      &size, &err),
			 TH_EPROTO);
	assert_int_equal(th_dbus_size(TH_STR("l\1\0\2"
					     "000000000000"),
				      &size, &err),
			 TH_EPROTO);
	uint32_t body = TH_DBUS_MESSAGE_MAX - 16;
	memcpy(head + 4, &body, sizeof(body));
	assert_int_equal(th_dbus_size(th_str_n(head, 16), &size, &err), TH_OK);
	assert_int_equal(size, TH_DBUS_MESSAGE_MAX);
	body++;
	memcpy(head + 4, &body, sizeof(body));
	assert_int_equal(th_dbus_size(th_str_n(head, 16), &size, &err), TH_ELIMIT);
	memset(head + 4, 0xff, 4);
	memset(head + 12, 0xff, 4);
	assert_int_equal(th_dbus_size(th_str_n(head, 16), &size, &err), TH_ELIMIT);
}

/* Each byte of a message changed or missing: refused or read, never beyond its end (ASan). */
static void survives_damage(void **state)
{
	char bytes[sizeof(hello)];
	struct th_dbus_message m;

	(void)state;
	for (size_t i = 0; i < sizeof(hello) - 1; i++) {
		char *exact = th_alloc(i + 1);

		memcpy(exact, hello, i);
		assert_int_equal(th_dbus_read(th_str_n(exact, i), &m, &err), TH_EPROTO);
		free(exact);
		for (int v = 0; v < 256; v++) {
			memcpy(bytes, hello, sizeof(hello));
			bytes[i] = (char)v;
			if (th_dbus_read(th_str_n(bytes, sizeof(hello) - 1), &m, &err))
				assert_true(err.msg[0]);
		}
	}
}

static void reads_the_welcome(void **state)
{
	(void)state;
	assert_int_equal(th_dbus_welcome(TH_STR("")), 0);
	assert_int_equal(th_dbus_welcome(TH_STR("DATA\r")), 0);
	assert_int_equal(th_dbus_welcome(TH_STR("DATA\r\nOK 12")), 0);
	assert_int_equal(th_dbus_welcome(TH_STR("DATA\r\nOK 12\r\nl\2")), 13);
	assert_int_equal(th_dbus_welcome(TH_STR("REJECTED EXTERNAL\r\n")), -1);
	assert_int_equal(th_dbus_welcome(TH_STR("DATA\r\nREJECTED\r\n")), -1);
	char noise[300];
	memset(noise, 'x', sizeof(noise));
	assert_int_equal(th_dbus_welcome(th_str_n(noise, sizeof(noise))), -1);
}

static void reads_addresses(void **state)
{
	static const struct {
		const char *address, *path; /* NULL: none */
	} rows[] = {
		{ "unix:path=/run/user/7/at-spi/bus_0,guid=0a1b", "/run/user/7/at-spi/bus_0" },
		{ "unix:guid=0a1b,path=/a", "/a" },
		{ "tcp:host=localhost,port=1;unix:path=/b", "/b" },
		{ "unix:path=/a%20b%2Fc%2c", "/a b/c," },
		{ "unix:abstract=/a", NULL },
		{ "unix:tmpdir=/a", NULL },
		{ "tcp:path=/a", NULL },
		{ "unix:path=", NULL },
		{ "unix:path=a", NULL },
		{ "unix:path=/a%2", NULL },
		{ "unix:path=/a%2x", NULL },
		{ "unix:path=/a%00b", NULL },
		{ "/a", NULL },
		{ ";;:,=%", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		TH_CLEANUP(th_buf_deinit) struct th_buf path = TH_BUF_INIT(64);

		assert_int_equal(th_dbus_path(th_str_of(rows[i].address), &path),
				 rows[i].path != NULL);
		if (rows[i].path)
			assert_true(th_str_is(th_buf_str(&path), rows[i].path));
	}
	for (size_t more = 0; more <= 1; more++) { /* as long as there is room */
		TH_CLEANUP(th_buf_deinit) struct th_buf path = TH_BUF_INIT(5 - more);

		assert_int_equal(th_dbus_path(TH_STR("unix:path=/long"), &path), !more);
	}
}

static void reads_arrays(void **state)
{
	static const char body[] = "\x10\0\0\0\0\0\0\0" /* 16 bytes, structs from 8 on */
				   "\1\0\0\0a\0\0\0"
				   "\1\0\0\0b\0\0\0";
	struct th_dbus_message m = { .body = TH_STR_INIT("") };
	struct th_dbus_values v;
	size_t end;

	(void)state;
	m.body = th_str_n(body, sizeof(body) - 1);
	v = th_dbus_values(&m);
	end = th_dbus_array(&v, 8);
	assert_int_equal(end, 24);
	th_dbus_align(&v, 8);
	assert_true(th_dbus_more(&v, end));
	assert_true(th_str_is(th_dbus_text(&v), "a"));
	th_dbus_align(&v, 8);
	assert_true(th_str_is(th_dbus_text(&v), "b"));
	th_dbus_align(&v, 8);
	assert_false(th_dbus_more(&v, end));
	assert_false(v.failed);
	m.body = TH_STR("\xff\xff\xff\xff\0\0\0\0"); /* longer than all */
	v = th_dbus_values(&m);
	(void)th_dbus_array(&v, 8);
	assert_true(v.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_calls),    cmocka_unit_test(knows_how_long_a_message_is),
		cmocka_unit_test(survives_damage), cmocka_unit_test(reads_the_welcome),
		cmocka_unit_test(reads_arrays),    cmocka_unit_test(reads_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
