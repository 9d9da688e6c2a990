/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbus.h - as much of the D-Bus protocol as a question to the accessibility bus
 * needs: method calls with few arguments are written, messages and the types of
 * their answers are read.  Pure and total: any bytes are a message that is too
 * short, a refused one, or values inside the message.
 *
 * Only little-endian messages, which every program of this machine sends.
 */
#ifndef TH_WIRE_DBUS_H
#define TH_WIRE_DBUS_H

#include "base/buf.h"
#include "base/err.h"

/* The path of the socket that an address names, unescaped; of several the first that has one.
 * False: it names none that fits in `out`. */
bool th_dbus_path(struct th_str address, struct th_buf *out);

/* What is said before the first message, in one go, and how the answer to it ends. */
#define TH_DBUS_HELLO "\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n"
#define TH_DBUS_HELLO_SIZE (sizeof(TH_DBUS_HELLO) - 1)
/* Length of the server's lines: "DATA", then "OK …"; 0: not all is there; -1: it refuses. */
int th_dbus_welcome(struct th_str bytes);

struct th_dbus_call {
	uint32_t serial; /* not 0 */
	struct th_str destination, path, interface, member;
	const char *signature;  /* "", "u", "ss" */
	uint32_t number;        /* u */
	struct th_str texts[2]; /* ss */
};
void th_dbus_print(const struct th_dbus_call *call, struct th_buf *out);

enum th_dbus_type { TH_DBUS_CALL = 1, TH_DBUS_RETURN, TH_DBUS_ERROR, TH_DBUS_SIGNAL };
struct th_dbus_message {
	enum th_dbus_type type;
	uint32_t answers; /* serial of the call; 0: none */
	struct th_str signature, body;
};

/* Bytes of the message that begins here; 0: not known yet.  TH_EPROTO: no message; TH_ELIMIT: over
 * TH_DBUS_MESSAGE_MAX. */
TH_NODISCARD enum th_code th_dbus_size(struct th_str bytes, size_t *ret, struct th_err *err);
/* A whole one. */
TH_NODISCARD enum th_code th_dbus_read(struct th_str bytes, struct th_dbus_message *ret,
				       struct th_err *err);

/* ---- values of a body ---- */

struct th_dbus_values {
	struct th_str body;
	size_t at;
	bool failed; /* what was asked for is not there: all values are empty from here on */
};
struct th_dbus_values th_dbus_values(const struct th_dbus_message *m);
void th_dbus_align(struct th_dbus_values *v, size_t to); /* before a struct: 8 */
uint32_t th_dbus_u32(struct th_dbus_values *v);
struct th_str th_dbus_text(struct th_dbus_values *v);      /* s, o */
struct th_str th_dbus_signature(struct th_dbus_values *v); /* g */
/* An array whose elements are aligned so; where it ends. */
size_t th_dbus_array(struct th_dbus_values *v, size_t element_align);
static inline bool th_dbus_more(const struct th_dbus_values *v, size_t end)
{
	return !v->failed && v->at < end;
}

#endif
