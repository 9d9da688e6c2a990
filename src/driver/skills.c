/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/skills.h"

#include "agents/skill.h"
#include "base/limits.h"
#include "live/log.h"

static const struct th_agent_skills *skills_of(const struct th_live *l)
{
	return l->speaking ? l->speaking->skills : NULL;
}

static void say(struct th_live *l, const struct th_skill *s, struct th_str because,
		struct th_str message)
{
	struct th_ev_message d = { .role = TH_STR("user"), .skill = s->name };
	struct th_buf text = TH_BUF_INIT(TH_MESSAGE_MAX), content = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&content);

	th_skill_print(s, because, message, &text);
	th_jw_str(&w, th_buf_str(&text));
	d.content = th_buf_str(&content);
	if (!text.failed && !content.failed)
		th_live_write_event(l, TH_EV_MESSAGE, TH_SOURCE_ENVIRONMENT, l->fold.seq,
				    TH_STR(""), &d);
	th_buf_deinit(&text);
	th_buf_deinit(&content);
}

void th_live_skills_said(struct th_live *l, struct th_str message)
{
	const struct th_agent_skills *skills = skills_of(l);
	const struct th_skill *list = skills ? skills->list.list : NULL;

	for (size_t i = 0; skills && i < skills->list.count; i++) {
		struct th_str word = th_skill_word(&list[i], message);

		/* A task is asked for anew each time. */
		if (word.len &&
		    (word.ptr[0] == '/' || !th_session_skill_said(&l->fold, list[i].name)))
			say(l, &list[i], word, message);
	}
}

/* ---- paths ---- */

static bool names_path(struct th_str key)
{
	static const char *const names[] = { "path",   "file",        "file_path", "filename",
					     "source", "destination", "folder",    "directory" };

	for (size_t i = 0; i < TH_COUNT(names); i++)
		if (th_str_is(key, names[i]))
			return true;
	return false;
}

/* From the workspace, without what does not matter; absent: it is elsewhere. */
static struct th_str in_workspace(struct th_str path, struct th_str workspace)
{
	if (workspace.len && th_str_starts(path, workspace) && path.len > workspace.len &&
	    path.ptr[workspace.len] == '/')
		path = th_str_sub(path, workspace.len + 1, path.len);
	while (th_str_starts(path, TH_STR("./")))
		path = th_str_sub(path, 2, path.len);
	return path.len && path.ptr[0] != '/' && th_str_find(path, TH_STR("..")) < 0
		   ? path
		   : (struct th_str){ NULL, 0 };
}

static void touch(struct th_live *l, struct th_str path)
{
	const struct th_agent_skills *skills = skills_of(l);
	const struct th_skill *list = skills->list.list;

	for (size_t i = 0; i < skills->list.count; i++) {
		struct th_str pattern = th_skill_path(&list[i], path);

		if (pattern.len && !th_session_skill_said(&l->fold, list[i].name))
			say(l, &list[i], path, TH_STR(""));
	}
}

/* Depth is bounded by the parser. */
static void touch_all(struct th_live *l, const struct th_json *v, bool is_path)
{
	struct th_json_iter it = th_json_iter(v);
	struct th_str path = is_path ? in_workspace(th_json_str(v), l->fold.workspace) : TH_STR("");

	if (path.len)
		touch(l, path);
	while (th_json_next(&it))
		touch_all(l, it.val,
			  th_json_is_object(v) ? names_path(it.key)
					       : is_path || th_json_is_object(it.val));
}

void th_live_skills_touched(struct th_live *l, struct th_str arguments)
{
	const struct th_agent_skills *skills = skills_of(l);
	struct th_json_doc *doc = NULL;

	if (!skills || !skills->list.count || th_json_parse(arguments, &doc, NULL))
		return;
	touch_all(l, th_json_root(doc), false);
	th_json_free(doc);
}
