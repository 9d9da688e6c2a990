/* SPDX-License-Identifier: Apache-2.0 */
/*
 * items.c - the history of a session, read and changed by the program.
 */
#include "admin/items.h"

#include "api/api.h"

static int read_items(struct thole_session *s, int64_t first, size_t count, char **ret,
		      struct thole_error *err)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_err e = { 0 };
	enum th_code code = th_items_read(th_runtime_store(s->rt->rt), th_str_of(s->id), 0, first,
					  count, &text, &e);

	if (code == TH_ENOENT) { /* its first event is on the way to the store */
		code = TH_OK;
		th_buf_clear(&text);
		th_buf_add_cstr(&text, "[]");
	}
	if (!code)
		*ret = th_api_copy(th_buf_str(&text));
	th_buf_deinit(&text);
	return th_api_out(code, &e, err);
}

int thole_session_items(struct thole_session *s, int64_t first, size_t count, char **ret,
			struct thole_error *err)
{
	int code = th_api_check_ready(s, err);

	if (!code && !ret)
		code = th_api_fail(err, TH_EUSAGE, "there is no place for the items: ret is NULL");
	return code ? code : read_items(s, first, count, ret, err);
}

int thole_session_items_add(struct thole_session *s, const char *json, bool begin,
			    struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = th_api_check_ready(s, err);

	if (!code)
		code = th_api_text(json, "the items", 1, TH_MESSAGE_MAX, err);
	if (code)
		return code;
	code = th_api_take_over(s, &e)
		   ?: th_driver_items_add(s->rt->driver, s->handle, th_str_of(json), begin, &e);
	return th_api_out((enum th_code)code, &e, err);
}

/* count 0: all. */
static int take_out(struct thole_session *s, size_t count, struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = th_api_take_over(s, &e)
		       ?: th_driver_items_remove(s->rt->driver, s->handle, (int64_t)count, &e);

	return th_api_out((enum th_code)code, &e, err);
}

int thole_session_items_pop(struct thole_session *s, size_t count, char **ret,
			    struct thole_error *err)
{
	char *items = NULL;
	int code = th_api_check_ready(s, err);

	if (!code && (count == 0 || count > TH_SESSION_ITEMS_MAX))
		code = th_api_fail(err, count ? TH_ELIMIT : TH_EUSAGE,
				   "1 to %d items can be taken out at once", TH_SESSION_ITEMS_MAX);
	if (!code && ret && !th_driver_durable(s->rt->driver, s->handle))
		code = th_api_fail(err, TH_EBUSY,
				   "what was said last is not written yet; wait, and try again");
	if (!code && ret)
		code = read_items(s, -(int64_t)count, 0, &items, err);
	if (!code)
		code = take_out(s, count, err);
	if (code)
		thole_free(items);
	else if (ret)
		*ret = items;
	return code;
}

int thole_session_items_clear(struct thole_session *s, struct thole_error *err)
{
	int code = th_api_check_ready(s, err);

	return code ? code : take_out(s, 0, err);
}
