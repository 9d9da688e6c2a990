/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/dbus.h"

#include "base/limits.h"

enum { HEAD_SIZE = 16 };
enum field {
	PATH = 1,
	INTERFACE,
	MEMBER,
	ERROR_NAME,
	REPLY_SERIAL,
	DESTINATION,
	SENDER,
	SIGNATURE
};

/* ---- before messages ---- */

static int hex_of(char c)
{
	return c >= '0' && c <= '9'                     ? c - '0'
	       : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
							: -1;
}

/* False: no text that could be escaped so, or one with a zero in it. */
static bool unescape(struct th_str s, struct th_buf *out)
{
	for (size_t i = 0; i < s.len; i++) {
		int byte = (uint8_t)s.ptr[i];

		if (byte == '%') {
			int high = i + 2 < s.len ? hex_of(s.ptr[i + 1]) : -1;
			int low = high >= 0 ? hex_of(s.ptr[i + 2]) : -1;

			if (low < 0)
				return false;
			byte = high * 16 + low;
			i += 2;
		}
		if (!byte)
			return false;
		th_buf_add_char(out, (char)byte);
	}
	return !out->failed;
}

bool th_dbus_path(struct th_str address, struct th_buf *out)
{
	while (address.len) {
		struct th_str keys = th_str_split(&address, ';');

		if (!th_str_is(th_str_split(&keys, ':'), "unix"))
			continue;
		while (keys.len) {
			struct th_str value = th_str_split(&keys, ',');

			if (!th_str_is(th_str_split(&value, '='), "path"))
				continue;
			th_buf_clear(out);
			if (value.len && value.ptr[0] == '/' && unescape(value, out))
				return true;
		}
	}
	return false;
}

int th_dbus_welcome(struct th_str bytes)
{
	struct th_str rest = bytes;

	for (int lines = 0; lines < 2; lines++) {
		ptrdiff_t end = th_str_find(rest, TH_STR("\r\n"));

		if (end < 0)
			return rest.len > 256 ? -1 : 0;
		if (!th_str_starts(rest, lines == 0 ? TH_STR("DATA") : TH_STR("OK ")))
			return -1;
		rest = th_str_sub(rest, (size_t)end + 2, rest.len);
	}
	return (int)(bytes.len - rest.len);
}

/* ---- writing ---- */

static void pad(struct th_buf *out, size_t start, size_t to)
{
	while ((out->len - start) % to)
		th_buf_add_char(out, '\0');
}

static void put_u32(struct th_buf *out, uint32_t v)
{
	const uint8_t bytes[] = { (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16),
				  (uint8_t)(v >> 24) };

	th_buf_add_mem(out, bytes, sizeof(bytes));
}

static void put_text(struct th_buf *out, struct th_str s)
{
	put_u32(out, (uint32_t)s.len);
	th_buf_add(out, s);
	th_buf_add_char(out, '\0');
}

static void put_field(struct th_buf *out, size_t start, enum field field, char type,
		      struct th_str value)
{
	if (!value.len)
		return;
	pad(out, start, 8);
	th_buf_add_char(out, (char)field);
	th_buf_add_char(out, 1);
	th_buf_add_char(out, type);
	th_buf_add_char(out, '\0');
	if (type == 'g') {
		th_buf_add_char(out, (char)value.len);
		th_buf_add(out, value);
		th_buf_add_char(out, '\0');
	} else {
		put_text(out, value);
	}
}

static void put_body(const struct th_dbus_call *call, struct th_buf *out)
{
	if (*call->signature == 'u')
		put_u32(out, call->number);
	for (size_t i = 0; call->signature[i] == 's' && i < TH_COUNT(call->texts); i++) {
		pad(out, 0, 4);
		put_text(out, call->texts[i]);
	}
}

void th_dbus_print(const struct th_dbus_call *call, struct th_buf *out)
{
	struct th_buf body = TH_BUF_INIT(TH_DBUS_MESSAGE_MAX);
	struct th_buf fields = TH_BUF_INIT(TH_DBUS_MESSAGE_MAX);

	put_body(call, &body);
	put_field(&fields, 0, PATH, 'o', call->path);
	put_field(&fields, 0, DESTINATION, 's', call->destination);
	put_field(&fields, 0, INTERFACE, 's', call->interface);
	put_field(&fields, 0, MEMBER, 's', call->member);
	put_field(&fields, 0, SIGNATURE, 'g', th_str_of(call->signature));
	th_buf_add_mem(out, "l\1\0\1", 4); /* little-endian, a call, no flags, version 1 */
	put_u32(out, (uint32_t)body.len);
	put_u32(out, call->serial);
	put_u32(out, (uint32_t)fields.len);
	pad(&fields, 0, 8); /* the list begins at 16 */
	th_buf_add(out, th_buf_str(&fields));
	th_buf_add(out, th_buf_str(&body));
	th_buf_deinit(&body);
	th_buf_deinit(&fields);
}

/* ---- values ---- */

struct th_dbus_values th_dbus_values(const struct th_dbus_message *m)
{
	return (struct th_dbus_values){ .body = m->body };
}

static bool has(struct th_dbus_values *v, size_t size)
{
	if (v->failed || size > v->body.len - v->at)
		v->failed = true;
	return !v->failed;
}

void th_dbus_align(struct th_dbus_values *v, size_t to)
{
	size_t more = (to - v->at % to) % to;

	if (has(v, more))
		v->at += more;
}

static uint32_t u32_of(const char *ptr)
{
	uint8_t b[4];

	memcpy(b, ptr, sizeof(b));
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

uint32_t th_dbus_u32(struct th_dbus_values *v)
{
	th_dbus_align(v, 4);
	if (!has(v, 4))
		return 0;
	v->at += 4;
	return u32_of(v->body.ptr + v->at - 4);
}

static struct th_str take(struct th_dbus_values *v, size_t len)
{
	struct th_str s = TH_STR("");

	if (len == SIZE_MAX || !has(v, len + 1) || v->body.ptr[v->at + len] != '\0') {
		v->failed = true;
		return s;
	}
	s = th_str_n(v->body.ptr + v->at, len);
	v->at += len + 1;
	return s;
}

struct th_str th_dbus_text(struct th_dbus_values *v)
{
	uint32_t len = th_dbus_u32(v);

	return v->failed ? TH_STR("") : take(v, len);
}

struct th_str th_dbus_signature(struct th_dbus_values *v)
{
	size_t len;

	if (!has(v, 1))
		return TH_STR("");
	len = (uint8_t)v->body.ptr[v->at++];
	return take(v, len);
}

size_t th_dbus_array(struct th_dbus_values *v, size_t element_align)
{
	uint32_t size = th_dbus_u32(v);

	th_dbus_align(v, element_align);
	return has(v, size) ? v->at + size : v->at;
}

/* ---- messages ---- */

enum th_code th_dbus_size(struct th_str bytes, size_t *ret, struct th_err *err)
{
	uint64_t size;

	*ret = 0;
	if (bytes.len < HEAD_SIZE)
		return TH_OK;
	if (bytes.ptr[0] != 'l' || bytes.ptr[3] != 1)
		return th_fail(err, TH_EPROTO, "this is not a message of D-Bus");
	size = HEAD_SIZE + (((uint64_t)u32_of(bytes.ptr + 12) + 7) & ~UINT64_C(7)) +
	       u32_of(bytes.ptr + 4);
	if (size > TH_DBUS_MESSAGE_MAX)
		return th_fail(err, TH_ELIMIT, "a message of %llu bytes is more than is read",
			       (unsigned long long)size);
	*ret = (size_t)size;
	return TH_OK;
}

/* One field of the head; unknown ones are read past, by the types that the protocol has for them.
 */
static void read_field(struct th_dbus_values *v, struct th_dbus_message *m)
{
	struct th_str signature;
	uint8_t code;

	th_dbus_align(v, 8);
	if (!has(v, 1))
		return;
	code = (uint8_t)v->body.ptr[v->at++];
	signature = th_dbus_signature(v);
	if (th_str_is(signature, "u")) {
		uint32_t number = th_dbus_u32(v);

		if (code == REPLY_SERIAL)
			m->answers = number;
	} else if (th_str_is(signature, "s") || th_str_is(signature, "o")) {
		(void)th_dbus_text(v);
	} else if (th_str_is(signature, "g")) {
		struct th_str text = th_dbus_signature(v);

		if (code == SIGNATURE)
			m->signature = text;
	} else {
		v->failed = true;
	}
}

enum th_code th_dbus_read(struct th_str bytes, struct th_dbus_message *ret, struct th_err *err)
{
	struct th_dbus_values fields = { 0 };
	size_t size, list, end;
	enum th_code code = th_dbus_size(bytes, &size, err);

	if (code)
		return code;
	*ret = (struct th_dbus_message){ .type = (enum th_dbus_type)(
					     uint8_t)(bytes.len > 1 ? bytes.ptr[1] : 0) };
	if (!size || size > bytes.len || ret->type < TH_DBUS_CALL || ret->type > TH_DBUS_SIGNAL)
		return th_fail(err, TH_EPROTO, "this is not a complete message of D-Bus");
	list = u32_of(bytes.ptr + 12);
	end = HEAD_SIZE + list;
	fields.body = th_str_n(bytes.ptr, end);
	fields.at = HEAD_SIZE;
	while (th_dbus_more(&fields, end))
		read_field(&fields, ret);
	if (fields.failed)
		return th_fail(err, TH_EPROTO, "the head of a message of D-Bus is damaged");
	end = (end + 7) & ~(size_t)7;
	ret->body = th_str_n(bytes.ptr + end, size - end);
	return TH_OK;
}
