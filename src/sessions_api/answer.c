/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c - what the handlers of /api share: a body, the caller's own session, an answer in time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/codec.h"
#include "base/session_name.h"
#include "io/clock.h"
#include "server/after.h"
#include "sessions_api/internal.h"

/* ---- bodies ---- */

void th_api_body_deinit(struct th_api_body *b)
{
	th_json_free(b->doc);
	th_arena_deinit(&b->memory);
}

/* The request's body by its table; no body is an empty object.  False: it was answered. */
bool th_api_body_read(struct th_access *a, const struct th_table *t, struct th_api_body *b,
		      void *out)
{
	struct th_str text = th_http_body(a->request);
	struct th_err err = {};
	enum th_code code;

	th_arena_init(&b->memory, 2 * TH_SERVE_JSON_MAX);
	b->doc = NULL;
	if (!text.len)
		code = th_json_parse(TH_STR("{}"), &b->doc, &err);
	else
		code = th_json_parse(text, &b->doc, &err);
	if (!code)
		code = th_table_parse(t, th_json_root(b->doc), &b->memory, out, &err);
	if (code)
		th_access_fail(a, 400, "invalid_body", "%s", err.msg);
	return !code;
}

bool th_api_is_name(struct th_access *a, struct th_str id)
{
	const char *fault = id.len ? th_session_name_fault(id) : NULL;

	if (fault)
		th_access_fail(a, 400, "invalid_body", "id %s", fault);
	return !fault;
}

const char *th_api_body_text(struct th_api_body *b, struct th_str s)
{
	return s.len ? th_arena_cstr(&b->memory, s) : NULL;
}

/* ---- options ---- */

bool th_api_options_read(struct th_access *a, const char *const *names, const char *what,
			 struct th_api_options *o)
{
	size_t at = 0;
	bool named;

	*o = (struct th_api_options){ .user = TH_BUF_INIT(8 * TH_KIB) };
	named = th_access_query(a, "user", &o->user);
	if (named && strcmp(o->user.ptr, a->user) != 0 && !(a->scopes & TH_SCOPE_ADMIN)) {
		th_access_fail(a, 403, "scope", "another user's %s needs the scope admin", what);
		return false;
	}
	if (!named || strcmp(o->user.ptr, "*") != 0) {
		o->list[at++] = "user";
		o->list[at++] = named ? o->user.ptr : a->user;
	}
	while (names[o->count]) {
		const char *name = names[o->count];
		struct th_buf *value = &o->values[o->count++];

		assert(o->count <= TH_COUNT(o->values));
		th_buf_init(value, 8 * TH_KIB);
		if (!th_access_query(a, name, value))
			continue;
		o->list[at++] = name;
		o->list[at++] = value->ptr;
	}
	o->list[at] = NULL;
	return true;
}

void th_api_options_deinit(struct th_api_options *o)
{
	for (size_t i = 0; i < o->count; i++)
		th_buf_deinit(&o->values[i]);
	th_buf_deinit(&o->user);
}

/* ---- whose it is ---- */

bool th_session_mine(struct th_access *a, struct th_str *ret_row)
{
	const struct th_hub *h = th_hub_find(a->server, a->args[0]);
	const struct th_found *row;

	/* One that was begun just now is not in the store yet. */
	if (!ret_row && h && h->session && strcmp(h->user, a->user) == 0)
		return true;
	row = th_need_session(&a->needs, a->args[0], a->user);
	if (!row)
		return false;
	if (row->err) {
		th_access_error(a, row->err);
		return false;
	}
	if (ret_row)
		*ret_row = row->text;
	return true;
}

struct th_hub *th_session_mine_open(struct th_access *a, bool ready)
{
	const struct th_found *open = th_need_open(&a->needs, a->args[0], a->user, ready);

	if (!open)
		return NULL;
	if (open->err) {
		th_access_error(a, open->err);
		return NULL;
	}
	return th_hub_find(a->server, a->args[0]);
}

/* ---- answers ---- */

void th_session_answer_after(struct th_access *a, struct th_hub *h, int status, const char *kinds)
{
	th_access_after(a, h, status, kinds, th_access_session);
}
