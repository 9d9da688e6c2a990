/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - what is the same of every open store, and the cursors of lists. */
#include "base/text.h"
#include "store/common.h"

bool th_store_holds(struct th_store *s)
{
	return !s->kind->holds || s->kind->holds(s);
}

struct th_store *th_store_close(struct th_store *s)
{
	if (s)
		s->kind->close(s);
	return NULL;
}

void th_cursor_print(enum th_list_order order, const struct th_session_row *row, struct th_buf *out)
{
	bool created = order == TH_LIST_CREATED;

	th_buf_printf(out, "%c%lld.%.*s", created ? 'c' : 'u',
		      (long long)(created ? row->created_ms : row->updated_ms),
		      TH_FMT(row->session_id));
}

enum th_code th_cursor_parse(struct th_str text, struct th_session_filter *filter,
			     struct th_err *err)
{
	ptrdiff_t dot = th_str_find_char(text, '.');
	struct th_session_cursor c = { 0 };
	bool created = th_str_starts(text, TH_STR("c"));

	if (dot > 0)
		c.id = th_str_sub(text, (size_t)dot + 1, text.len);
	if (dot < 2 || (!created && !th_str_starts(text, TH_STR("u"))) ||
	    !th_str_i64(th_str_sub(text, 1, (size_t)dot - 1), &c.ms) || !th_session_id_ok(c.id))
		return th_fail(err, TH_EUSAGE, "\"%.*s\" is not the cursor of a list of sessions",
			       TH_FMT(th_utf8_cut(text, 80)));
	filter->order = created ? TH_LIST_CREATED : TH_LIST_UPDATED;
	filter->after = c;
	return TH_OK;
}
