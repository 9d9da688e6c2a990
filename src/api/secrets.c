/* SPDX-License-Identifier: Apache-2.0 */
/* secrets.c - secrets that a client gives a session for its commands. */
#include "api/api.h"

static enum th_code names_of(const struct th_json *secrets, struct th_arena *a, struct th_strs *ret,
			     struct th_err *err)
{
	struct th_json_iter it = th_json_iter(secrets);
	size_t count = th_json_count(secrets);

	ret->list = (struct th_str *)th_arena_array(a, count + 1, sizeof(*ret->list));
	if (!ret->list)
		return th_fail_memory(err);
	while (th_json_next(&it))
		ret->list[ret->count++] = th_arena_str(a, it.key);
	return TH_OK;
}

int thole_session_give_secrets(struct thole_session *s, const char *secrets, const char *by,
			       struct thole_error *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_ev_session_changed change = { .by = th_str_of(by ?: "") };
	struct th_err e = { 0 };
	int code = th_api_check_ready(s, err);

	if (!code)
		code = th_api_text(secrets, "the secrets", 2, TH_SECRETS_JSON_MAX, err);
	if (!code && by)
		code = th_api_text(by, "who says so", 0, TH_USER_MAX, err);
	if (code)
		return code;
	th_arena_init(&a, 2 * TH_SECRETS_JSON_MAX);
	if (th_json_parse(th_str_of(secrets), &doc, &e))
		return th_api_fail(err, TH_EUSAGE, "the secrets: %s", e.msg);
	code = th_runtime_give(s->rt->rt, s->handle, th_json_root(doc), &e);
	if (!code)
		code = names_of(th_json_root(doc), &a, &change.secrets, &e);
	if (!code && change.secrets.count)
		code = th_driver_describe(s->rt->driver, s->handle, &change, &e);
	return th_api_out(code, &e, err);
}
