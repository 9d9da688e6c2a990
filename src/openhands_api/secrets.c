/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secrets.c - secrets of a client: for commands of the agent that name them.
 *
 * A value is in this process and the session's executor, and in no log; so who gives secrets gives
 * them again when the server began anew.
 */
#include <stdio.h>

#include "base/wiped.h"
#include "openhands_api/internal.h"

/* Of {"kind": "LookupSecret", "url", "headers"}: a client says where this server asks, so its owner
 * says of whom it may. */
static const char *put_lookup(const struct th_settings *settings, const struct th_json *v,
			      struct th_jw *w)
{
	const struct th_json *headers = th_json_get(v, "headers");

	if (!th_settings_secret_server(settings, th_json_get_str(v, "url")))
		return "a LookupSecret is fetched from the servers of serve.secret_servers alone, "
		       "in this server's configuration: give its value, or have its server named";
	th_jw_object(w);
	th_jw_kstr(w, "url", th_json_get_str(v, "url"));
	if (!th_json_is_null(headers)) {
		th_jw_name(w, TH_STR("headers"));
		th_jw_json(w, headers);
	}
	th_jw_object_end(w);
	return NULL;
}

/* A text, {"kind": "StaticSecret", "value": TEXT}, or a LookupSecret.  Not NULL: what is wrong. */
static const char *put_value(const struct th_settings *settings, const struct th_json *v,
			     struct th_jw *w)
{
	struct th_str kind = th_json_get_str(v, "kind");

	if (th_str_is(kind, "LookupSecret") || (!kind.len && th_json_get(v, "url")))
		return put_lookup(settings, v, w);
	if (th_json_is_object(v) && (!kind.len || th_str_is(kind, "StaticSecret")))
		v = th_json_get(v, "value");
	if (!th_json_is_null(v) && th_json_type(v) != TH_JSON_STR)
		return "a secret is a text, a StaticSecret or a LookupSecret";
	if (th_json_is_null(v) || !th_json_str(v).len)
		th_jw_raw(w, TH_STR("null")); /* as one that has none */
	else
		th_jw_json(w, v);
	return NULL;
}

static const char *read_secrets(const struct th_settings *settings, const struct th_json *secrets,
				struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(secrets);
	struct th_jw w = th_jw(out);
	const char *why = NULL;

	if (!th_json_is_object(secrets))
		return "are an object of names and values";
	th_jw_object(&w);
	while (!why && th_json_next(&it)) {
		th_jw_key(&w, it.key);
		why = put_value(settings, it.val, &w);
	}
	th_jw_object_end(&w);
	return why ?: out->failed ? "are too long" : NULL;
}

int th_oh_give(struct th_hub *h, const struct th_json *secrets, const char *by,
	       struct thole_error *err)
{
	struct th_buf text = TH_BUF_INIT(TH_SECRETS_JSON_MAX);
	const char *why;
	int code = THOLE_EUSAGE;

	th_buf_reserve(&text, TH_SECRETS_JSON_MAX); /* so that no copy is left behind */
	why = read_secrets(&h->server->settings, secrets, &text);
	if (why) {
		err->code = code;
		snprintf(err->text, sizeof(err->text), "secrets: %s", why);
	} else {
		code = thole_session_give_secrets(h->session, text.ptr, by, err);
	}
	th_buf_wipe(&text);
	return code;
}

void th_oh_not_given(struct th_access *a, const struct thole_error *err)
{
	if (err->code == THOLE_EUSAGE || err->code == THOLE_ELIMIT)
		th_access_fail(a, 422, NULL, "%s", err->text);
	else
		th_access_error(a, err);
}

static void succeed(struct th_access *a, const char *session, int status)
{
	(void)session;
	(void)status;
	th_access_text(a, 200, "application/json", TH_STR("{\"success\":true}"));
}

static void give(struct th_access *a, const char *session, int status)
{
	struct th_hub *h = th_hub_find(a->server, session);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = th_access_body(a);
	struct thole_error err;

	(void)status;
	if (!doc)
		return;
	if (th_oh_give(h, th_json_get(th_json_root(doc), "secrets"), a->user, &err) != 0)
		th_oh_not_given(a, &err);
	else
		th_access_durable(a, h, 200, succeed);
}

void th_oh_secrets(struct th_access *a)
{
	th_oh_with_open(a, give);
}
