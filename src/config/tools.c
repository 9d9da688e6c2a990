/* SPDX-License-Identifier: Apache-2.0 */
#include "config/tools.h"

#include <stdlib.h>

static bool has_mappings(const struct th_json *agent)
{
	struct th_json_iter it = th_json_iter(th_json_get(agent, "tools"));

	while (th_json_is_array(it.parent) && th_json_next(&it))
		if (th_json_is_object(it.val))
			return true;
	it = th_json_iter(th_json_get(agent, "agents"));
	while (th_json_is_object(it.parent) && th_json_next(&it))
		if (th_json_is_object(it.val) && has_mappings(it.val))
			return true;
	return false;
}

/* As it is, but for where its program is. */
static void print_command(const struct th_json *command, struct th_str folder, struct th_jw *w)
{
	struct th_json_iter it = th_json_iter(command);

	th_jw_object(w);
	while (th_json_next(&it)) {
		struct th_json_iter word = th_json_iter(it.val);

		th_jw_key(w, it.key);
		if (!th_str_is(it.key, "command") || !th_json_is_array(it.val)) {
			th_jw_json(w, it.val);
			continue;
		}
		th_jw_array(w);
		while (th_json_next(&word)) {
			struct th_str program = th_json_str(word.val);
			struct th_buf path = TH_BUF_INIT(2 * TH_PATH_LEN_MAX);

			th_buf_printf(&path, "%.*s%.*s", TH_FMT(folder), TH_FMT(program));
			if (word.index == 0 && th_str_find_char(program, '/') > 0 &&
			    !th_buf_check(&path, "", NULL))
				th_jw_str(w, th_buf_str(&path));
			else
				th_jw_json(w, word.val);
			th_buf_deinit(&path);
		}
		th_jw_array_end(w);
	}
	th_jw_object_end(w);
}

static enum th_code print_tools(const struct th_json *tools, struct th_str folder, struct th_jw *w,
				struct th_tools_places *places, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(tools);

	th_jw_key(w, TH_STR("tools"));
	th_jw_array(w);
	while (th_json_next(&it)) {
		if (!th_json_is_object(it.val)) {
			th_jw_json(w, it.val);
			continue;
		}
		if (!th_json_get_str(it.val, "name").len)
			return th_fail(err, TH_EUSAGE,
				       "tools[%zu]: needs a name, which is a string", it.index);
		if (places && places->count < TH_COUNT(places->at))
			places->at[places->count++] = it.index;
		th_jw_str(w, th_json_get_str(it.val, "name"));
	}
	th_jw_array_end(w);
	th_jw_key(w, TH_STR("commands"));
	th_jw_array(w);
	it = th_json_iter(tools);
	while (th_json_next(&it))
		if (th_json_is_object(it.val))
			print_command(it.val, folder, w);
	th_jw_array_end(w);
	return TH_OK;
}

static enum th_code print_agent(const struct th_json *agent, int depth, struct th_str folder,
				struct th_jw *w, struct th_tools_places *places, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(agent);
	enum th_code code = TH_OK;

	th_jw_object(w);
	while (!code && th_json_next(&it)) {
		bool mappings =
		    th_json_is_array(it.val) && th_str_is(it.key, "tools") && has_mappings(agent);
		struct th_json_iter member = th_json_iter(it.val);

		if (mappings && th_json_get(agent, "commands"))
			return th_fail(err, TH_EUSAGE,
				       "commands: stand in tools, beside the names, not here");
		if (mappings) {
			code = print_tools(it.val, folder, w, places, err);
			continue;
		}
		th_jw_key(w, it.key);
		if (depth > 0 || !th_str_is(it.key, "agents") || !th_json_is_object(it.val)) {
			th_jw_json(w, it.val);
			continue;
		}
		th_jw_object(w);
		while (!code && th_json_next(&member)) {
			th_jw_key(w, member.key);
			if (!th_json_is_object(member.val))
				th_jw_json(w, member.val);
			else if (print_agent(member.val, depth + 1, folder, w, NULL, err))
				code = th_prefix(err, TH_EUSAGE, "agents.%.*s",
						 TH_FMT(th_str_sub(member.key, 0, 80)));
		}
		th_jw_object_end(w);
	}
	th_jw_object_end(w);
	return code;
}

enum th_code th_tools_lift(struct th_json_doc **doc, struct th_str folder,
			   struct th_tools_places *places, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_jw w = th_jw(&text);
	struct th_json_doc *lifted = NULL;
	enum th_code code;

	places->count = 0;
	if (!has_mappings(th_json_root(*doc)))
		return TH_OK;
	code = print_agent(th_json_root(*doc), 0, folder, &w, places, err);
	if (!code)
		code = th_buf_check(&text, "the agent file", err);
	if (!code)
		code = th_json_parse(th_buf_str(&text), &lifted, err);
	if (code)
		return code;
	th_json_free(*doc);
	*doc = lifted;
	return TH_OK;
}

void th_tools_place_err(const struct th_tools_places *places, struct th_err *err)
{
	struct th_str msg = th_str_of(err->msg), number, prefix = TH_STR("commands[");
	char rest[TH_ERR_MSG_MAX];
	int64_t index;

	if (!th_str_starts(msg, prefix))
		return;
	msg = th_str_sub(msg, prefix.len, msg.len);
	number = th_str_split(&msg, ']');
	if (!th_str_i64(number, &index) || index < 0 || (size_t)index >= places->count)
		return;
	memcpy(rest, msg.ptr, msg.len);
	th_fail(err, err->code, "tools[%zu]%.*s", places->at[index], (int)msg.len, rest);
}
