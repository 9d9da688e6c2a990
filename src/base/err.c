/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define SMALL_MAX 1024 /* bytes; glibc's lists go that far */

/* Makes `msg` what err.h promises: valid UTF-8 on one line.  `cut`: its end was cut off, so that
 * an unfinished character there is dropped, not replaced. */
static void msg_clean(char *msg, size_t len, bool cut)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)msg[i] < 0x20 || msg[i] == 0x7f)
			msg[i] = ' ';
	for (size_t i = th_utf8_valid(th_str_n(msg, len)); i < len;
	     i += th_utf8_valid(th_str_n(msg + i, len - i))) {
		if (cut && len - i < 4 && (msg[i] & 0x40)) {
			len = i;
			break;
		}
		msg[i] = '?';
	}
	msg[len] = '\0';
}

TH_PRINTF(2, 0)
static void msg_format(char msg[static TH_ERR_MSG_MAX], const char *fmt, va_list ap)
{
	int n = vsnprintf(msg, TH_ERR_MSG_MAX, fmt, ap);

	assert(n >= 0);
	msg_clean(msg, TH_MIN((size_t)n, (size_t)TH_ERR_MSG_MAX - 1), n >= TH_ERR_MSG_MAX);
}

enum th_code th_fail(struct th_err *err, enum th_code code, const char *fmt, ...)
{
	char msg[TH_ERR_MSG_MAX]; /* not err->msg: the arguments may point there */
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	msg_format(msg, fmt, ap);
	va_end(ap);
	err->code = code;
	memcpy(err->msg, msg, sizeof(msg));
	return code;
}

enum th_code th_prefix(struct th_err *err, enum th_code code, const char *fmt, ...)
{
	char msg[TH_ERR_MSG_MAX];
	size_t len, rest;
	va_list ap;

	if (!err || code == TH_OK)
		return code;
	if (err->code == TH_OK)
		err->code = code;
	va_start(ap, fmt);
	msg_format(msg, fmt, ap);
	va_end(ap);
	len = strlen(msg);
	if (len + 2 >= sizeof(msg)) {
		memcpy(err->msg, msg, sizeof(msg));
		return err->code;
	}
	memcpy(msg + len, ": ", 2);
	len += 2;
	rest = strlen(err->msg);
	bool cut = rest > sizeof(msg) - 1 - len;

	rest = TH_MIN(rest, sizeof(msg) - 1 - len);
	memcpy(msg + len, err->msg, rest);
	msg_clean(msg, len + rest, cut);
	memcpy(err->msg, msg, sizeof(msg));
	return err->code;
}

const char *th_code_name(enum th_code code)
{
	switch (code) {
#define X(id, value, name, exit_code) \
	case TH_##id:                 \
		return name;
		TH_CODES(X)
#undef X
	}
	return "unknown";
}

int th_code_exit(enum th_code code)
{
	switch (code) {
#define X(id, value, name, exit_code) \
	case TH_##id:                 \
		return exit_code;
		TH_CODES(X)
#undef X
	}
	return 1;
}

static void oom_abort(size_t size)
{
	(void)size;
	abort();
}

static _Atomic(th_oom_fn *) oom = oom_abort;
static atomic_size_t fail_at; /* counts down; 0: never */

void th_oom_hook(th_oom_fn *fn)
{
	atomic_store(&oom, fn ? fn : oom_abort);
}

static void oom_stop(size_t size)
{
	th_oom_fn *fn = atomic_load(&oom);

	fn(size);
	abort(); /* the hook broke its promise */
}

/* calloc takes nothing from the lists that a thread keeps of what it has freed, and free fills them
 * all the same: small pieces go by malloc. */
static void *zeroed(size_t size)
{
	void *ptr;

	if (size > SMALL_MAX)
		return calloc(1, size);
	ptr = malloc(size ? size : 1);
	if (ptr)
		memset(ptr, 0, size);
	return ptr;
}

void *th_alloc(size_t size)
{
	void *ptr = zeroed(size);

	if (!ptr)
		oom_stop(size);
	return ptr;
}

void *th_realloc(void *ptr, size_t size)
{
	ptr = realloc(ptr, size ? size : 1);
	if (!ptr)
		oom_stop(size);
	return ptr;
}

void *th_try_alloc(size_t size)
{
	if (atomic_load_explicit(&fail_at, memory_order_relaxed) > 0 &&
	    atomic_fetch_sub(&fail_at, 1) == 1)
		return NULL;
	return zeroed(size);
}

void *th_try_realloc(void *ptr, size_t size)
{
	if (atomic_load_explicit(&fail_at, memory_order_relaxed) > 0 &&
	    atomic_fetch_sub(&fail_at, 1) == 1)
		return NULL;
	return realloc(ptr, size ? size : 1);
}

enum th_code th_fail_memory(struct th_err *err)
{
	return th_fail(err, TH_ENOMEM, "out of memory");
}

void th_try_alloc_fail_at(size_t nth)
{
	atomic_store(&fail_at, nth);
}
