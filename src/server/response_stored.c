/* SPDX-License-Identifier: Apache-2.0 */
/* response_stored.c - responses that are in the store, by their names. */
#include <stdio.h>
#include <stdlib.h>

#include "server/response_internal.h"

#define PREFIX "resp_"
#define HEX 32 /* digits of a UUID */

/* ---- names ---- */

void th_response_name(const char *session, uint64_t after, char ret[static TH_RESPONSE_NAME_MAX])
{
	char hex[HEX + 1];
	size_t len = 0;

	for (const char *c = session; *c && len < HEX; c++)
		if (*c != '-')
			hex[len++] = *c;
	hex[len] = '\0';
	snprintf(ret, TH_RESPONSE_NAME_MAX, PREFIX "%s_%llu", hex, (unsigned long long)after);
}

static bool name_parse(struct th_str name, char session[static TH_UUID_TEXT_SIZE + 1],
		       uint64_t *after)
{
	static const size_t groups[] = { 8, 4, 4, 4, 12 };
	struct th_str hex = th_str_sub(name, strlen(PREFIX), HEX);
	int64_t n;
	size_t at = 0, from = 0;

	if (!th_str_starts(name, TH_STR(PREFIX)) || hex.len != HEX ||
	    name.len < strlen(PREFIX) + HEX + 2 || name.ptr[strlen(PREFIX) + HEX] != '_' ||
	    !th_str_i64(th_str_sub(name, strlen(PREFIX) + HEX + 1, name.len), &n) || n < 0)
		return false;
	for (size_t g = 0; g < TH_COUNT(groups); g++) {
		if (g)
			session[at++] = '-';
		for (size_t i = 0; i < groups[g]; i++) {
			char c = hex.ptr[from++];

			if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
				return false;
			session[at++] = c;
		}
	}
	session[at] = '\0';
	*after = (uint64_t)n;
	return true;
}

char **th_function_names(const struct th_json *tools, size_t *ret_count)
{
	struct th_json_iter it = th_json_iter(tools);
	char **list = th_alloc((th_json_count(tools) + 1) * sizeof(*list));
	size_t count = 0;

	while (th_json_next(&it)) {
		struct th_str name = th_json_get_str(it.val, "name");

		if (!name.len)
			continue;
		list[count] = th_alloc(name.len + 1);
		memcpy(list[count], name.ptr, name.len);
		list[count++][name.len] = '\0';
	}
	*ret_count = count;
	return list;
}

/* ---- from the log ---- */

static bool begins(struct th_str kind)
{
	return th_str_is(kind, "items_added") || th_str_is(kind, "message");
}

static int on_line(void *ctx, const char *line, size_t len)
{
	struct th_stored *d = ctx;
	struct th_str text = th_str_n(line, len);
	struct th_str kind = th_json_raw_inside(th_json_raw_get(text, "kind"));

	if (d->reply.status == TH_REPLY_PARKED) {
		if (!begins(kind) && !th_str_is(kind, "outcome"))
			return 0; /* it was given back to the store and taken up again */
		d->is_head = false;
		return 1;
	}
	if (d->reply.status != TH_REPLY_RUNNING && begins(kind)) {
		d->is_head = false;
		return 1;
	}
	th_reply_event(&d->reply, text);
	return 0;
}

bool th_stored_load(struct th_server *s, const char *user, struct th_str name,
		    struct th_stored *ret)
{
	struct thole_error err;
	char *row = NULL;

	*ret = (struct th_stored){ .is_head = true };
	if (!name_parse(name, ret->session, &ret->after) ||
	    thole_runtime_session(s->rt, ret->session, user, &row, &err) != 0)
		return false;
	if (th_json_parse(th_str_of(row), &ret->doc, NULL) != TH_OK) {
		thole_free(row);
		return false;
	}
	thole_free(row);
	ret->member =
	    th_json_get(th_json_get(th_json_root(ret->doc), "metadata"), TH_RESPONSE_MEMBER);
	if (!th_json_is_object(ret->member) ||
	    (uint64_t)th_json_get_int(th_json_root(ret->doc), "head_seq", 0) <= ret->after) {
		th_stored_deinit(ret);
		return false;
	}
	ret->functions = th_function_names(th_json_get(th_json_get(ret->member, "echo"), "tools"),
					   &ret->function_count);
	ret->reply.functions = (const char *const *)ret->functions;
	ret->reply.function_count = ret->function_count;
	(void)thole_runtime_log(s->rt, ret->session, ret->after + 1, on_line, ret, &err);
	return true;
}

void th_stored_deinit(struct th_stored *d)
{
	th_reply_deinit(&d->reply);
	for (size_t i = 0; i < d->function_count; i++)
		free(d->functions[i]);
	free(d->functions);
	th_json_free(d->doc);
	*d = (struct th_stored){ 0 };
}
