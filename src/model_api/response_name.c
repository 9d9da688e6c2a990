/* SPDX-License-Identifier: Apache-2.0 */
/* response_name.c - the names of responses, and of their items, as text. */
#include <stdio.h>

#include "model_api/response_internal.h"

#define PREFIX "resp_"
#define HEX 32 /* digits of a UUID */

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

void th_response_name_reply(struct th_reply *r, const char *name)
{
	snprintf(r->name, sizeof(r->name), "%s", name + strlen(PREFIX));
}

bool th_response_name_parse(struct th_str name, char session[static TH_UUID_TEXT_SIZE + 1],
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

bool th_response_session_of(struct th_str name, char session[static TH_UUID_TEXT_SIZE + 1])
{
	uint64_t after;

	return th_response_name_parse(name, session, &after);
}

bool th_item_name_parse(struct th_str name, struct th_item_name *ret)
{
	char session[TH_UUID_TEXT_SIZE + 1];
	ptrdiff_t first = th_str_find_char(name, '_'), last = -1;
	uint64_t after;
	int64_t index;
	int size;

	for (size_t i = 0; i < name.len; i++)
		if (name.ptr[i] == '_')
			last = (ptrdiff_t)i;
	if (first < 1 || last <= first || name.len > TH_REPLY_NAME_MAX + 16 ||
	    !th_str_i64(th_str_sub(name, (size_t)last + 1, name.len), &index) || index < 0)
		return false;
	size = snprintf(ret->response, sizeof(ret->response), PREFIX "%.*s",
			(int)(last - first - 1), name.ptr + first + 1);
	ret->index = (size_t)index;
	return size > 0 && (size_t)size < sizeof(ret->response) &&
	       th_response_name_parse(th_str_of(ret->response), session, &after);
}
