/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_start.c - computer.start: the commands that begin with a desktop.
 */
#include "agents/agent.h"
#include "base/limits.h"
#include "base/text.h"

static enum th_code start_read(const struct th_json *v, struct th_arena *a, struct th_str *ret,
			       bool *ret_window, struct th_buf *path, struct th_err *err)
{
	bool object = th_json_type(v) == TH_JSON_OBJECT;
	const struct th_json *run = object ? th_json_get(v, "run") : v;
	const struct th_json *window = th_json_get(v, "window");
	struct th_json_iter it = th_json_iter(v);

	*ret_window = th_json_bool(window, true);
	while (object && th_json_next(&it))
		if (!th_str_is(it.key, "run") && !th_str_is(it.key, "window")) {
			th_buf_printf(path, ".%.*s", TH_FMT(th_utf8_cut(it.key, 40)));
			return th_fail(err, TH_EUSAGE, "is not known; run and window are");
		}
	if (window && th_json_type(window) != TH_JSON_BOOL) {
		th_buf_add_cstr(path, ".window");
		return th_fail(err, TH_EUSAGE, "must be true or false");
	}
	if (object)
		th_buf_add_cstr(path, ".run");
	*ret = th_arena_str(a, th_json_str(run));
	if (th_json_type(run) != TH_JSON_STR || ret->len == 0)
		return th_fail(err, TH_EUSAGE,
			       object ? "must be a command"
				      : "must be a command, or {run: COMMAND, window: false}");
	if (memchr(ret->ptr, '\0', ret->len))
		return th_fail(err, TH_EUSAGE, "holds a NUL");
	return TH_OK;
}

enum th_code th_agent_starts_read(struct th_str raw, struct th_arena *a,
				  struct th_agent_starts *ret, struct th_buf *path,
				  struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it;
	bool window;

	*ret = (struct th_agent_starts){ 0 };
	th_buf_clear(path);
	th_buf_add_cstr(path, "start");
	if (!raw.len)
		return TH_OK;
	if (th_json_parse(raw, &doc, err) || th_json_type(th_json_root(doc)) != TH_JSON_ARRAY)
		return th_fail(err, TH_EUSAGE, "must be a list of commands");
	if (th_json_count(th_json_root(doc)) > TH_DESKTOP_START_MAX)
		return th_fail(err, TH_EUSAGE,
			       "has more than %d commands; one of them may be a script that starts "
			       "the others",
			       TH_DESKTOP_START_MAX);
	ret->commands.list = th_arena_array(a, TH_DESKTOP_START_MAX, sizeof(struct th_str));
	if (!ret->commands.list)
		return th_fail_memory(err);
	for (it = th_json_iter(th_json_root(doc)); th_json_next(&it);) {
		th_buf_clear(path);
		th_buf_printf(path, "start[%zu]", ret->commands.count);
		if (start_read(it.val, a, &ret->commands.list[ret->commands.count], &window, path,
			       err))
			return TH_EUSAGE;
		ret->commands.count++;
		ret->windows += window;
	}
	return TH_OK;
}
