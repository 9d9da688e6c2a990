/* SPDX-License-Identifier: Apache-2.0 */
#include "core/restated.h"

#include "base/limits.h"
#include "base/text.h"

TH_TABLE(restated_notes, "arguments of notes", false)

void th_restated_init(struct th_restated *k)
{
	th_buf_init_try(&k->notes, 2 * TH_RESTATED_MAX);
	th_buf_init_try(&k->tasks, 2 * TH_RESTATED_MAX);
}

void th_restated_deinit(struct th_restated *k)
{
	th_buf_deinit(&k->notes);
	th_buf_deinit(&k->tasks);
}

enum th_code th_restated_check(struct th_str arguments, struct th_err *err)
{
	struct th_json_doc *doc = NULL;
	struct th_str text;
	enum th_code code = th_json_parse(arguments, &doc, err);

	text = code ? TH_STR("") : th_json_get_str(th_json_root(doc), "text");
	if (text.len > TH_RESTATED_MAX)
		code = th_fail(err, TH_ELIMIT, "notes have at most %zu bytes",
			       (size_t)TH_RESTATED_MAX);
	th_json_free(doc);
	return code;
}

/* "1. [x] title", and what is noted with it. */
static void put_task(const struct th_json *task, size_t number, struct th_buf *out)
{
	struct th_str status = th_json_get_str(task, "status");
	struct th_str notes = th_json_get_str(task, "notes");

	th_buf_printf(out, "\n%zu. [%s] ", number,
		      th_str_is(status, "done")          ? "x"
		      : th_str_is(status, "in_progress") ? "~"
							 : " ");
	th_text_line(out, th_json_get_str(task, "title"), TH_TASK_LINE_MAX);
	if (notes.len) {
		th_buf_add_cstr(out, " - ");
		th_text_line(out, notes, TH_TASK_LINE_MAX);
	}
}

static void take_tasks(struct th_restated *k, const struct th_json *v)
{
	const struct th_json *list = th_json_get(v, "task_list");
	struct th_json_iter it = th_json_iter(list);

	if (!th_str_is(th_json_get_str(v, "command"), "plan"))
		return;
	th_buf_clear(&k->tasks);
	while (th_json_next(&it) && k->tasks.len < TH_RESTATED_MAX)
		put_task(it.val, it.index + 1, &k->tasks);
	if (k->tasks.len >= TH_RESTATED_MAX)
		th_buf_add_cstr(&k->tasks, "\n(the rest is in the task list)");
}

void th_restated_take(struct th_restated *k, struct th_str tool, struct th_str arguments)
{
	bool notes = th_str_is(tool, TH_RESTATED_NOTES);
	struct th_json_doc *doc = NULL;

	if (!notes && !th_str_is(tool, "task_list") && !th_str_is(tool, "task_tracker"))
		return;
	if (th_json_parse(arguments, &doc, NULL))
		return;
	if (notes) {
		th_buf_clear(&k->notes);
		th_buf_add(&k->notes, th_utf8_cut(th_json_get_str(th_json_root(doc), "text"),
						  TH_RESTATED_MAX));
	} else {
		take_tasks(k, th_json_root(doc));
	}
	th_json_free(doc);
}

void th_restated_print(const struct th_restated *k, struct th_buf *out)
{
	if (k->notes.len)
		th_buf_printf(out, "%s[Your notes:]\n%.*s", out->len ? "\n\n" : "",
			      TH_FMT(th_buf_str(&k->notes)));
	if (k->tasks.len)
		th_buf_printf(out, "%s[Your task list:]%.*s", out->len ? "\n\n" : "",
			      TH_FMT(th_buf_str(&k->tasks)));
}
