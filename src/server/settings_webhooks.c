/* SPDX-License-Identifier: Apache-2.0 */
/* settings_webhooks.c - serve.webhooks: where, signed with what, and told of what. */
#include <stdio.h>
#include <string.h>

#include "base/codec.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/wiped.h"
#include "io/files.h"
#include "server/settings.h"
#include "wire/authority.h"

#define AT(member) offsetof(struct th_serve_webhook, member)
// clang-format off
static const struct th_field fields[] = {
	{ "url", AT(url), TH_FIELD_str, TH_REQ | TH_NONEMPTY, "where it is sent: https://…", NULL, NULL, false, 0 },
	{ "secret", AT(secret), TH_FIELD_str, TH_NONEMPTY, "whsec_ and base64 of 24 to 64 bytes, which sign what is sent", NULL, NULL, false, 0 },
	{ "secret_file", AT(secret_file), TH_FIELD_str, TH_NONEMPTY, "or a file with it", NULL, NULL, false, 0 },
	{ "events", AT(events), TH_FIELD_strs, TH_NONEMPTY, "of session.finished, session.failed, session.waiting, session.limit, session.stopped; default: all but the last", NULL, NULL, false, 0 },
	{ "user", AT(user), TH_FIELD_str, TH_NONEMPTY, "only of this user's sessions", NULL, NULL, false, 0 },
	{ "private", AT(private_too), TH_FIELD_bool, 0, "it may be at an address that is not public, such as one of this machine", NULL, NULL, false, 0 },
	{ "retry_ms", AT(retry_ms), TH_FIELD_int, TH_POSITIVE, "wait before the second try; doubles up to an hour", NULL, NULL, true, (int64_t)TH_WEBHOOK_RETRY_FIRST_MS },
};
// clang-format on
#undef AT
const struct th_table th_serve_webhook_table = {
	"webhook", "a webhook", fields, TH_COUNT(fields), sizeof(struct th_serve_webhook), false
};

const char *th_webhook_event_name(enum th_webhook_event e)
{
	static const char *const names[] = { "session.finished", "session.failed",
					     "session.waiting", "session.limit",
					     "session.stopped" };

	_Static_assert(TH_COUNT(names) == TH_WEBHOOK_EVENT_COUNT, "each event has a name");
	return names[e];
}

static enum th_code read_events(const struct th_strs *list, unsigned *ret, struct th_err *err)
{
	*ret = list->count ? 0 : (1u << TH_WEBHOOK_STOPPED) - 1;
	for (size_t i = 0; i < list->count; i++) {
		enum th_webhook_event e = 0;

		while (e < TH_WEBHOOK_EVENT_COUNT &&
		       !th_str_is(list->list[i], th_webhook_event_name(e)))
			e++;
		if (e == TH_WEBHOOK_EVENT_COUNT)
			return th_fail(err, TH_EUSAGE,
				       "events are session.finished, session.failed, "
				       "session.waiting, session.limit and session.stopped");
		*ret |= 1u << e;
	}
	return TH_OK;
}

/* Errors never have the secret in them. */
static enum th_code read_secret(struct th_str text, struct th_webhook_to *to, struct th_err *err)
{
	struct th_buf key TH_CLEANUP(th_buf_wipe) = TH_BUF_INIT(TH_KIB);
	bool good;

	text = th_str_trim(text);
	good = th_str_starts(text, TH_STR("whsec_")) &&
	       th_base64_decode(&key, th_str_sub(text, 6, text.len)) && key.len >= 24 &&
	       key.len <= sizeof(to->key);
	if (good) {
		memcpy(to->key, key.ptr, key.len);
		to->key_len = key.len;
	}
	return good ? TH_OK
		    : th_fail(err, TH_EUSAGE,
			      "the secret is whsec_ and the base64 of 24 to 64 random bytes");
}

static enum th_code read_secret_file(struct th_str path, struct th_webhook_to *to,
				     struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_wipe) = TH_BUF_INIT(TH_KIB);
	char name[TH_PATH_LEN_MAX];
	enum th_code code;

	if (path.len >= sizeof(name) || memchr(path.ptr, 0, path.len))
		return th_fail(err, TH_EUSAGE, "secret_file is no path");
	snprintf(name, sizeof(name), "%.*s", TH_FMT(path));
	code = th_file_read(name, TH_KIB, &text, err);
	if (!code)
		code = th_prefix(err, read_secret(th_buf_str(&text), to, err), "%s", name);
	return code;
}

bool th_webhook_url_is_good(struct th_str url)
{
	struct th_str place = th_authority_of_url(url);

	if (!th_str_istarts(url, TH_STR("https://")) && !th_str_istarts(url, TH_STR("http://")))
		return false;
	for (size_t i = 0; i < url.len; i++)
		if ((unsigned char)url.ptr[i] <= ' ' || (unsigned char)url.ptr[i] == 0x7f)
			return false;
	/* A user and a password would stand in the logs of whoever passes it on. */
	return th_authority_host(place).len > 0 && th_str_find_char(place, '@') < 0;
}

static void name_it(struct th_webhook_to *to)
{
	struct th_sha256 h;
	struct th_digest d;
	char hex[TH_SHA256_HEX_SIZE + 1];

	th_sha256_init(&h);
	th_sha256_add(&h, to->url.ptr, to->url.len);
	th_sha256_add(&h, "\n", 1);
	th_sha256_add(&h, to->user.ptr, to->user.len);
	d = th_sha256_end(&h);
	th_digest_hex(&d, hex);
	memcpy(to->name, hex, sizeof(to->name) - 1);
}

static enum th_code read_one(const struct th_serve_webhook *w, struct th_webhook_to *to,
			     struct th_err *err)
{
	enum th_code code;

	to->url = w->url;
	to->user = w->user;
	to->private_too = w->private_too;
	to->retry_ms = TH_MIN((uint64_t)w->retry_ms, TH_WEBHOOK_RETRY_MAX_MS);
	name_it(to);
	if (!th_webhook_url_is_good(w->url))
		return th_fail(err, TH_EUSAGE,
			       "url is https://HOST/… or http://HOST/…, without a user or blanks");
	if (!w->secret.len == !w->secret_file.len)
		return th_fail(err, TH_EUSAGE, "either secret or secret_file is needed");
	code = read_events(&w->events, &to->events, err);
	if (!code)
		code = w->secret.len ? read_secret(w->secret, to, err)
				     : read_secret_file(w->secret_file, to, err);
	return code;
}

enum th_code th_settings_webhooks(struct th_settings *s, struct th_err *err)
{
	const struct th_serve_webhook *list = s->s.webhooks.list;
	size_t count = s->s.webhooks.count;
	enum th_code code = TH_OK;

	if (count > TH_WEBHOOKS_MAX)
		return th_fail(err, TH_ELIMIT, "webhooks: at most %d", TH_WEBHOOKS_MAX);
	s->webhooks = th_alloc((count + 1) * sizeof(*s->webhooks));
	memset(s->webhooks, 0, (count + 1) * sizeof(*s->webhooks));
	for (size_t i = 0; !code && i < count; i++) {
		code = read_one(&list[i], &s->webhooks[s->webhook_count++], err);
		for (size_t j = 0; !code && j < i; j++)
			if (strcmp(s->webhooks[i].name, s->webhooks[j].name) == 0)
				code =
				    th_fail(err, TH_EUSAGE, "it is the same as webhooks[%zu]", j);
		code = code ? th_prefix(err, code, "webhooks[%zu]", i) : TH_OK;
	}
	return code;
}
