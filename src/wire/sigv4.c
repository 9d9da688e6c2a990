/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/sigv4.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/moment.h"

#define DAY_S 86400
#define CANONICAL_MAX (64 * TH_KIB)

void th_sigv4_time(int64_t unix_s, char out[static TH_SIGV4_TIME_SIZE])
{
	int64_t year, month, day, s;

	if (unix_s < 0 || unix_s >= 253402300800) /* the year 10000 */
		unix_s = 0;
	s = unix_s % DAY_S;
	th_moment_date(unix_s / DAY_S, &year, &month, &day);
	snprintf(out, TH_SIGV4_TIME_SIZE, "%04u%02u%02uT%02u%02u%02uZ", (unsigned)year % 10000,
		 (unsigned)month % 100, (unsigned)day % 100, (unsigned)(s / 3600) % 100,
		 (unsigned)(s / 60 % 60), (unsigned)(s % 60));
}

static struct th_digest hmac(const struct th_digest *key, struct th_str text)
{
	return th_hmac_sha256(key->bytes, sizeof(key->bytes), text.ptr, text.len);
}

static void names_add(const struct th_sigv4 *s, struct th_buf *out)
{
	for (size_t i = 0; i < s->header_count; i++)
		th_buf_printf(out, "%s%s", i ? ";" : "", s->headers[i].name);
}

static void canonical(const struct th_sigv4 *s, struct th_buf *out)
{
	th_buf_printf(out, "%s\n", s->method);
	th_buf_add(out, s->path);
	th_buf_add_char(out, '\n');
	th_buf_add(out, s->query);
	th_buf_add_char(out, '\n');
	for (size_t i = 0; i < s->header_count; i++) {
		th_buf_printf(out, "%s:", s->headers[i].name);
		th_buf_add(out, th_str_trim(s->headers[i].value));
		th_buf_add_char(out, '\n');
	}
	th_buf_add_char(out, '\n');
	names_add(s, out);
	th_buf_add_char(out, '\n');
	th_buf_add(out, s->payload);
}

/* The key of a day, a region and a service. */
static enum th_code key_make(const struct th_sigv4 *s, struct th_digest *ret, struct th_err *err)
{
	char first[TH_S3_KEY_MAX + 4] = "AWS4";
	struct th_digest d;

	if (s->secret.len > TH_S3_KEY_MAX)
		return th_fail(err, TH_ELIMIT, "the secret of a key has at most %d bytes",
			       TH_S3_KEY_MAX);
	if (s->secret.len > 0)
		memcpy(first + 4, s->secret.ptr, s->secret.len);
	d = th_hmac_sha256(first, 4 + s->secret.len, s->time, 8);
	explicit_bzero(first, sizeof(first));
	d = hmac(&d, s->region);
	d = hmac(&d, s->service);
	*ret = hmac(&d, TH_STR("aws4_request"));
	explicit_bzero(&d, sizeof(d));
	return TH_OK;
}

enum th_code th_sigv4_sign(const struct th_sigv4 *s, struct th_buf *out, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(CANONICAL_MAX);
	struct th_buf to_sign TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	char hex[TH_SHA256_HEX_SIZE + 1];
	struct th_digest digest, key;
	enum th_code code = key_make(s, &key, err);

	if (code != TH_OK)
		return code;
	canonical(s, &text);
	digest = th_sha256_of(text.ptr, text.len);
	th_digest_hex(&digest, hex);
	th_buf_printf(&to_sign, "AWS4-HMAC-SHA256\n%s\n%.8s/%.*s/%.*s/aws4_request\n%s", s->time,
		      s->time, TH_FMT(s->region), TH_FMT(s->service), hex);
	digest = hmac(&key, th_buf_str(&to_sign));
	explicit_bzero(&key, sizeof(key));
	th_digest_hex(&digest, hex);
	code = th_buf_check(&text, "a request that is to be signed", err);
	if (code == TH_OK)
		code = th_buf_check(&to_sign, "what is to be signed", err);
	if (code != TH_OK)
		return code;
	th_buf_printf(out,
		      "AWS4-HMAC-SHA256 Credential=%.*s/%.8s/%.*s/%.*s/aws4_request, "
		      "SignedHeaders=",
		      TH_FMT(s->key_id), s->time, TH_FMT(s->region), TH_FMT(s->service));
	names_add(s, out);
	th_buf_printf(out, ", Signature=%s", hex);
	return th_buf_check(out, "a signature", err);
}
