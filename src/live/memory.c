/* SPDX-License-Identifier: Apache-2.0 */
#include "live/memory.h"

#include "base/err.h"

bool th_copy_text(struct th_str s, char **ret)
{
	if (s.len == 0)
		return true;
	*ret = th_try_alloc(s.len + 1);
	if (*ret)
		memcpy(*ret, s.ptr, s.len);
	return *ret != NULL;
}

bool th_list_room(void *list, size_t count, size_t *cap, size_t more, size_t size)
{
	size_t want = TH_MAX(TH_MAX(*cap * 2, (size_t)4), count + more);
	void *at;

	if (count + more <= *cap)
		return true;
	memcpy(&at, list, sizeof(at)); /* a pointer to a pointer of any type */
	at = th_try_realloc(at, want * size);
	if (!at)
		return false;
	memcpy(list, &at, sizeof(at));
	*cap = want;
	return true;
}
