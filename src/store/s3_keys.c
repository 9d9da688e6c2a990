/* SPDX-License-Identifier: Apache-2.0 */
/* s3_keys.c - the key with which requests to an object store are signed. */
#include "store/s3_internal.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/wiped.h"
#include "io/files.h"

#define FILE_VARIABLE "THOLE_S3_KEYS"

void th_s3_keys_drop(struct th_s3_keys *k)
{
	k->id = th_secret_free(k->id);
	k->secret = th_secret_free(k->secret);
	k->token = th_secret_free(k->token);
}

/* One that can stand in a header. */
static bool word_ok(struct th_str s, size_t size_max)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] <= ' ' || s.ptr[i] >= 127)
			return false;
	return s.len > 0 && s.len <= size_max;
}

static enum th_code take(struct th_s3_keys *k, struct th_str id, struct th_str secret,
			 struct th_str token, const char *from, struct th_err *err)
{
	if (!word_ok(id, TH_S3_KEY_MAX) || !word_ok(secret, TH_S3_KEY_MAX) ||
	    (token.len && !word_ok(token, TH_S3_TOKEN_MAX)))
		return th_fail(err, TH_EUSAGE,
			       "the key of the object store in %s: is not a word of at most %d "
			       "characters, another one for its secret, and one of at most %zu for "
			       "a token, if there is one",
			       from, TH_S3_KEY_MAX, TH_S3_TOKEN_MAX);
	k->id = th_secret_new(id);
	k->secret = th_secret_new(secret);
	k->token = token.len ? th_secret_new(token) : NULL;
	return TH_OK;
}

enum th_code th_s3_keys_load(struct th_s3_keys *k, struct th_err *err)
{
	const char *path = getenv(FILE_VARIABLE);
	struct th_buf text =
	    TH_BUF_INIT(2 * TH_S3_KEY_MAX + TH_S3_TOKEN_MAX + 16); /* blanks, too */
	struct th_str words[3] = { { 0 } }, rest;
	size_t count = 0;
	enum th_code code;

	th_s3_keys_drop(k);
	if (!path || !*path) {
		if (!getenv("AWS_ACCESS_KEY_ID") || !getenv("AWS_SECRET_ACCESS_KEY"))
			return th_fail(err, TH_EPERM,
				       "there is no key of the object store: " FILE_VARIABLE
				       " names its file, or AWS_ACCESS_KEY_ID and "
				       "AWS_SECRET_ACCESS_KEY are set");
		return take(k, th_str_of(getenv("AWS_ACCESS_KEY_ID")),
			    th_str_of(getenv("AWS_SECRET_ACCESS_KEY")),
			    th_str_of(getenv("AWS_SESSION_TOKEN")), "the environment", err);
	}
	code = th_file_read_private(path, text.max, &text, err);
	rest = th_str_trim(th_buf_str(&text));
	while (code == TH_OK && rest.len > 0 && count < TH_COUNT(words)) {
		size_t n = 0;

		while (n < rest.len && (unsigned char)rest.ptr[n] > ' ')
			n++;
		words[count++] = th_str_sub(rest, 0, n);
		rest = th_str_trim(th_str_sub(rest, n, rest.len));
	}
	if (code == TH_OK && rest.len > 0)
		code = th_fail(err, TH_EUSAGE,
			       "%s: has more than a key's name, its secret and a token", path);
	if (code == TH_OK)
		code = take(k, words[0], words[1], words[2], path, err);
	th_buf_wipe(&text);
	return code;
}
