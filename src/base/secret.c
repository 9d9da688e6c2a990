/* SPDX-License-Identifier: Apache-2.0 */
#include "base/secret.h"

#include <stdlib.h>

#include "base/err.h"

struct th_secret {
	size_t len;
	char bytes[];
};

struct th_secret *th_secret_new(struct th_str value)
{
	struct th_secret *s;

	assert(value.len < PTRDIFF_MAX);
	s = th_alloc(sizeof(*s) + value.len + 1);
	s->len = value.len;
	if (value.len)
		memcpy(s->bytes, value.ptr, value.len);
	return s;
}

struct th_secret *th_secret_free(struct th_secret *s)
{
	if (s) {
		explicit_bzero(s, sizeof(*s) + s->len);
		free(s);
	}
	return NULL;
}

/* Takes as long as `other` is, whatever the secret is: its length is not told either. */
bool th_secret_eq(const struct th_secret *s, struct th_str other)
{
	volatile unsigned char diff = s->len != other.len;

	for (size_t i = 0; i < other.len; i++) /* i % (len + 1): the NUL behind is ours */
		diff |= (unsigned char)(s->bytes[i % (s->len + 1)] ^ other.ptr[i]);
	return diff == 0;
}

struct th_str th_secret_expose(const struct th_secret *s)
{
	return (struct th_str){ s->bytes, s->len };
}
