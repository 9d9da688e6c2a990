/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program on the accessibility bus may send: any bytes are refused, or
 * read as values that lie inside the message.
 */
#include <stdlib.h>

#include "wire/dbus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inside(struct th_str whole, struct th_str part)
{
	if (part.len && (part.ptr < whole.ptr || part.ptr + part.len > whole.ptr + whole.len))
		abort();
}

static void read_values(const struct th_dbus_message *m)
{
	struct th_dbus_values v = th_dbus_values(m), u = v, w = v;
	size_t end = th_dbus_array(&v, 8), before;

	while (th_dbus_more(&v, end)) {
		before = v.at;
		th_dbus_align(&v, 8);
		inside(m->body, th_dbus_text(&v));
		inside(m->body, th_dbus_text(&v));
		if (!v.failed && v.at <= before)
			abort();
	}
	inside(m->body, th_dbus_signature(&u));
	inside(m->body, th_dbus_text(&u));
	for (int i = 0; i < 4; i++)
		(void)th_dbus_u32(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str bytes = th_str_n(data, size);
	struct th_dbus_message m;
	struct th_err err = { 0 };

	if (th_dbus_welcome(bytes) > (int)size)
		abort();
	if (th_dbus_read(bytes, &m, &err)) {
		if (!err.msg[0])
			abort();
		return 0;
	}
	inside(bytes, m.body);
	inside(bytes, m.signature);
	read_values(&m);
	return 0;
}
