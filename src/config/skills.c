/* SPDX-License-Identifier: Apache-2.0 */
#include "config/skills.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/subagents.h"
#include "base/text.h"
#include "config/markdown.h"
#include "config/mcp_json.h"
#include "config/read.h"
#include "config/yaml.h"
#include "io/files.h"

/* ---- one file ---- */

/* A list of texts, a text with commas, or a list of objects with names. */
static enum th_code read_names(const struct th_json *v, struct th_arena *a, struct th_strs *ret,
			       struct th_err *err)
{
	struct th_json_iter it = th_json_iter(v);
	struct th_str text = th_json_str(v);
	size_t count = th_json_is_array(v) ? th_json_count(v) : 1;

	*ret = (struct th_strs){ 0 };
	if (th_json_is_null(v))
		return TH_OK;
	for (size_t i = 0; i < text.len; i++)
		count += text.ptr[i] == ',';
	if (count > TH_SKILL_WORDS_MAX)
		return th_fail(err, TH_ELIMIT, "a list of a skill has at most %d words",
			       TH_SKILL_WORDS_MAX);
	ret->list = th_arena_array(a, count + 1, sizeof(*ret->list));
	if (!ret->list)
		return th_fail(err, TH_ELIMIT, "the skills are too large");
	while (text.len)
		ret->list[ret->count++] = th_arena_str(a, th_str_trim(th_str_split(&text, ',')));
	while (th_json_is_array(v) && th_json_next(&it)) {
		struct th_str word = th_json_is_object(it.val) ? th_json_get_str(it.val, "name")
							       : th_json_str(it.val);

		if (word.len)
			ret->list[ret->count++] = th_arena_str(a, word);
	}
	return TH_OK;
}

static enum th_code read_matter(const struct th_json *v, bool legacy, struct th_arena *a,
				struct th_skill *ret, struct th_err *err)
{
	struct th_str name = th_json_get_str(v, "name");
	enum th_code code = read_names(th_json_get(v, "triggers"), a, &ret->triggers, err)
				?: read_names(th_json_get(v, "paths"), a, &ret->paths, err)
				       ?: read_names(th_json_get(v, "inputs"), a, &ret->inputs, err);

	if (name.len)
		ret->name = th_arena_str(a, th_utf8_cut(name, TH_SKILL_NAME_MAX));
	ret->description =
	    th_arena_str(a, th_utf8_cut(th_json_get_str(v, "description"), TH_SKILL_ABOUT_MAX));
	ret->unlisted = th_json_bool(th_json_get(v, "disable-model-invocation")
					 ?: th_json_get(v, "disable_model_invocation"),
				     false);
	/* A task is asked for by its name. */
	if (!code && th_json_is_array(th_json_get(v, "inputs")) &&
	    ret->triggers.count < TH_SKILL_WORDS_MAX) {
		struct th_str *list = th_arena_array(a, ret->triggers.count + 1, sizeof(*list));

		if (!list)
			return th_fail(err, TH_ELIMIT, "the skills are too large");
		if (ret->triggers.count)
			memcpy(list, ret->triggers.list, ret->triggers.count * sizeof(*list));
		list[ret->triggers.count++] = th_arena_printf(a, "/%.*s", TH_FMT(ret->name));
		ret->triggers.list = list;
	}
	ret->always = legacy && !ret->triggers.count && !ret->paths.count;
	return code;
}

static enum th_code check_text(struct th_str text, struct th_err *err)
{
	if (th_utf8_valid(text) != text.len)
		return th_fail(err, TH_EPROTO, "it is not UTF-8 text");
	return text.len > TH_SKILL_SIZE_MAX
		   ? th_fail(err, TH_ELIMIT, "a skill has at most %d bytes", TH_SKILL_SIZE_MAX)
		   : TH_OK;
}

/* A text that is always said whole: whatever begins it belongs to another program. */
static enum th_code read_whole(struct th_str text, struct th_str name, struct th_str source,
			       struct th_arena *a, struct th_skill *ret, struct th_err *err)
{
	enum th_code code = check_text(text, err);

	*ret = (struct th_skill){ .name = th_arena_str(a, th_utf8_cut(name, TH_SKILL_NAME_MAX)),
				  .source = th_arena_str(a, source),
				  .always = true,
				  .description = TH_STR("") };
	ret->text = th_arena_str(a, th_str_trim(text));
	return code ?: ret->text.ptr ? TH_OK : th_fail(err, TH_ELIMIT, "the skills are too large");
}

enum th_code th_skill_parse(struct th_str text, struct th_str name, struct th_str source,
			    bool legacy, struct th_arena *a, struct th_skill *ret,
			    struct th_err *err)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_CONFIG_SIZE_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str matter = th_markdown_front_matter(&text);
	enum th_code code = TH_OK;

	*ret = (struct th_skill){ .name = th_arena_str(a, th_utf8_cut(name, TH_SKILL_NAME_MAX)),
				  .source = th_arena_str(a, source),
				  .always = legacy };
	code = check_text(text, err);
	if (code)
		return code;
	if (matter.len)
		code = th_yaml_to_json(matter, source, &json, err)
			   ?: th_json_parse(th_buf_str(&json), &doc, err);
	if (!code && doc)
		code = read_matter(th_json_root(doc), legacy, a, ret, err);
	ret->text = th_arena_str(a, th_str_trim(text));
	return code ?: ret->text.ptr ? TH_OK : th_fail(err, TH_ELIMIT, "the skills are too large");
}

/* ---- folders ---- */

struct loading {
	const struct th_agent_skills *how;
	struct th_agent *agent;
	struct th_skill *list;
	size_t count, walked;
	enum th_place place; /* where the file is that is being read */
	struct th_arena *a;
};

static bool is_left_out(const struct loading *x, struct th_str name)
{
	for (size_t i = 0; i < x->count; i++)
		if (th_str_eq(x->list[i].name, name))
			return true;
	return th_strs_has(&x->how->without, name);
}

static enum th_code add(struct loading *x, const struct th_skill *s, struct th_err *err)
{
	if (is_left_out(x, s->name))
		return TH_OK;
	if (x->count == TH_SKILLS_MAX)
		return th_fail(err, TH_ELIMIT, "an agent has at most %d skills", TH_SKILLS_MAX);
	x->list[x->count++] = *s;
	return TH_OK;
}

enum form { LISTED, LEGACY, WHOLE }; /* what it is where it does not say */

static enum th_code add_file(struct loading *x, int dir, struct th_str path, struct th_str name,
			     struct th_str source, enum form form, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_SKILL_SIZE_MAX);
	struct th_err ignored = {};
	struct th_skill s;

	if (!th_markdown_read(dir, path, &text))
		return TH_OK;
	if (form == WHOLE ? read_whole(th_buf_str(&text), name, source, x->a, &s, &ignored)
			  : th_skill_parse(th_buf_str(&text), name, source, form == LEGACY, x->a,
					   &s, &ignored))
		return TH_OK;
	return add(x, &s, err);
}

/* The servers of tools beside a skill. */
static enum th_code add_servers(struct loading *x, int dir, struct th_str name, struct th_str shown,
				struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_CONFIG_SIZE_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str path = th_arena_printf(x->a, "%.*s/.mcp.json", TH_FMT(name));
	enum th_code code;

	if (!th_trusts(&x->how->trusted, x->place) || !th_markdown_read(dir, path, &text))
		return TH_OK;
	code = th_json_parse(th_buf_str(&text), &doc, err)
		   ?: th_mcp_json_add(th_json_root(doc), x->agent, x->a, err);
	return th_prefix(err, code, "%.*s/%.*s", TH_FMT(shown), TH_FMT(path));
}

/* SKILL.md of a folder, however it is written. */
static struct th_str skill_file(struct loading *x, int dir, const char *folder)
{
	static const char *const names[] = { "SKILL.md", "Skill.md", "skill.md" };
	struct th_str path = TH_STR("");
	struct stat st;

	for (size_t i = 0; i < TH_COUNT(names); i++) {
		path = th_arena_printf(x->a, "%s/%s", folder, names[i]);
		if (path.ptr && fstatat(dir, path.ptr, &st, 0) == 0)
			return path;
	}
	return TH_STR("");
}

/* What is no skill in a folder of them. */
static bool is_other(struct th_str name)
{
	return th_str_ieq(name, TH_STR("README.md")) || th_str_ieq(name, TH_STR("SKILL.md"));
}

static enum th_code add_folder(struct loading *x, int root, struct th_str path, struct th_str shown,
			       struct th_str under, size_t depth, struct th_err *err);

static enum th_code add_entry(struct loading *x, int dir, const char *entry, struct th_str shown,
			      struct th_str under, size_t depth, struct th_err *err)
{
	struct th_str name = th_str_of(entry), inside, skill;
	bool file = th_str_ends(name, TH_STR(".md"));
	size_t before = x->count;
	enum th_code code;

	if (file && is_other(name))
		return TH_OK;
	inside = file ? name : depth ? TH_STR("") : skill_file(x, dir, entry);
	if (!file && !inside.len)
		return depth < TH_SKILL_DEPTH_MAX
			   ? add_folder(x, dir, name,
					th_arena_printf(x->a, "%.*s/%s", TH_FMT(shown), entry),
					th_arena_printf(x->a, "%.*s%s/", TH_FMT(under), entry),
					depth + 1, err)
			   : TH_OK;
	skill = file ? th_arena_printf(x->a, "%.*s%.*s", TH_FMT(under),
				       TH_FMT(th_str_sub(name, 0, name.len - 3)))
		     : name;
	code = add_file(x, dir, inside, skill,
			th_arena_printf(x->a, "%.*s/%.*s", TH_FMT(shown), TH_FMT(inside)),
			file ? LEGACY : LISTED, err);
	if (!code && !file && x->count > before)
		code = add_servers(x, dir, name, shown, err);
	return code;
}

/* NAME.md, and NAME/SKILL.md, of a folder of skills; SUB/NAME.md of folders below that are no
 * skill, which is `under` "SUB/". */
static enum th_code add_folder(struct loading *x, int root, struct th_str path, struct th_str shown,
			       struct th_str under, size_t depth, struct th_err *err)
{
	char **names = th_arena_array(x->a, TH_SKILLS_MAX * 2, sizeof(*names));
	struct th_err ignored = {};
	enum th_code code = TH_OK;
	size_t count;
	int dir = -1;

	if (!names)
		return th_fail(err, TH_ELIMIT, "the skills are too large");
	if (th_open_beneath(root, path, O_RDONLY | O_DIRECTORY | (depth ? O_NOFOLLOW : 0), 0, &dir,
			    &ignored))
		return TH_OK;
	code = th_markdown_list(dir, x->a, names, TH_SKILLS_MAX * 2, &count, err);
	x->walked += count;
	for (size_t i = 0; !code && i < count && x->walked < TH_SKILL_WALK_MAX; i++)
		code = add_entry(x, dir, names[i], shown, under, depth, err);
	th_fd_close(&dir);
	return code;
}

static enum th_code add_folders(struct loading *x, int root, const char *shown, struct th_err *err)
{
	static const char *const folders[] = { ".agents/skills", ".openhands/skills",
					       ".openhands/microagents" };
	enum th_code code = TH_OK;

	for (size_t i = 0; !code && i < TH_COUNT(folders); i++)
		code = add_folder(x, root, th_str_of(folders[i]),
				  th_arena_printf(x->a, "%s%s", shown, folders[i]), TH_STR(""), 0,
				  err);
	return code;
}

/* ---- a repository ---- */

/* AGENTS.md of a folder below: a rule for what is in it. */
static enum th_code add_below(struct loading *x, int root, struct th_str folder, size_t depth,
			      struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_SKILL_SIZE_MAX);
	char **names = th_arena_array(x->a, TH_SKILL_WALK_MAX, sizeof(*names));
	struct th_err ignored = {};
	enum th_code code = TH_OK;
	size_t count;
	int dir = -1;

	if (!names)
		return th_fail(err, TH_ELIMIT, "the skills are too large");
	if (th_open_beneath(root, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &dir, &ignored))
		return TH_OK;
	code =
	    th_markdown_list(dir, x->a, names,
			     TH_SKILL_WALK_MAX - TH_MIN(x->walked, TH_SKILL_WALK_MAX), &count, err);
	x->walked += count;
	for (size_t i = 0; !code && i < count; i++) {
		struct th_str path =
		    folder.len ? th_arena_printf(x->a, "%.*s/%s", TH_FMT(folder), names[i])
			       : th_str_of(names[i]);
		struct stat st;

		if (fstatat(dir, names[i], &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth < TH_SKILL_DEPTH_MAX &&
		    strcmp(names[i], "node_modules") != 0)
			code = add_below(x, root, path, depth + 1, err);
		if (folder.len && S_ISREG(st.st_mode) && strcmp(names[i], "AGENTS.md") == 0 &&
		    th_markdown_read(root, path, &text)) {
			struct th_skill s;
			struct th_str *pattern = th_arena_array(x->a, 1, sizeof(*pattern));

			if (!pattern ||
			    read_whole(th_buf_str(&text),
				       th_arena_printf(x->a, "agents:%.*s", TH_FMT(folder)), path,
				       x->a, &s, &ignored))
				continue;
			*pattern = th_arena_printf(x->a, "%.*s/**", TH_FMT(folder));
			s.paths = (struct th_strs){ pattern, 1 };
			s.always = false;
			s.unlisted = true;
			code = add(x, &s, err);
		}
	}
	th_fd_close(&dir);
	return code;
}

static enum th_code add_repository(struct loading *x, struct th_str workspace, struct th_err *err)
{
	static const char *const files[] = { "AGENTS.md",
					     "agents.md",
					     "agent.md",
					     "CLAUDE.md",
					     "GEMINI.md",
					     ".cursorrules",
					     ".openhands_instructions" };
	const char *path = th_arena_cstr(x->a, workspace.len ? workspace : TH_STR("."));
	int root = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	enum th_code code = TH_OK;

	if (root < 0)
		return TH_OK; /* whoever opens the workspace says so */
	for (size_t i = 0; !code && i < TH_COUNT(files); i++)
		code = add_file(x, root, th_str_of(files[i]), th_str_of(files[i]),
				th_str_of(files[i]), WHOLE, err);
	code = code ?: add_folders(x, root, "", err);
	code = code ?: add_below(x, root, TH_STR(""), 0, err);
	th_fd_close(&root);
	return code;
}

static enum th_code add_user(struct loading *x, struct th_err *err)
{
	const char *home = getenv("HOME");
	int root = home ? open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	enum th_code code = root < 0 ? TH_OK : add_folders(x, root, "~/", err);

	th_fd_close(&root);
	return code;
}

static enum th_code add_named(struct loading *x, struct th_str folder, struct th_err *err)
{
	int root = -1;
	enum th_code code = th_markdown_open("skills.folders", folder, x->a, &root, err);

	code = code ?: add_folder(x, root, TH_STR("."), folder, TH_STR(""), 0, err);
	th_fd_close(&root);
	return code;
}

/* ---- all of them ---- */

static enum th_code instruct(struct th_agent *agent, struct th_arena *a, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SKILLS_SAID_MAX);
	enum th_code code;

	th_skills_instruct(agent->skills, &text);
	code = th_buf_check(&text, "what the instructions say of skills", err);
	if (!code && text.len)
		agent->instructions = th_arena_printf(a, "%.*s%.*s", TH_FMT(agent->instructions),
						      TH_FMT(th_buf_str(&text)));
	return !code && !agent->instructions.ptr && text.len
		   ? th_fail(err, TH_ELIMIT, "the skills are too large")
		   : code;
}

enum th_code th_skills_load(struct th_agent *agent, struct th_arena *a, struct th_err *err)
{
	struct th_agent_skills *skills;
	struct loading x = { .how = agent->skills, .agent = agent, .a = a };
	enum th_code code = TH_OK;

	if (!agent->skills)
		return TH_OK;
	code = th_trusted_check(&agent->skills->trusted, err);
	if (code)
		return th_prefix(err, code, "skills");
	skills = TH_NEW(a, struct th_agent_skills);
	x.list = th_arena_array(a, TH_SKILLS_MAX, sizeof(*x.list));
	if (!skills || !x.list)
		return th_fail(err, TH_ELIMIT, "the skills are too large");
	for (size_t i = 0; !code && i < x.how->list.count; i++)
		code = add(&x, (const struct th_skill *)x.how->list.list + i, err);
	for (size_t i = 0; !code && i < x.how->folders.count; i++)
		code = add_named(&x, x.how->folders.list[i], err);
	x.place = TH_PLACE_REPOSITORY;
	if (!code && x.how->repository)
		code = add_repository(&x, agent->workspace, err);
	x.place = TH_PLACE_USER;
	if (!code && x.how->user)
		code = add_user(&x, err);
	*skills = *x.how;
	skills->list = (struct th_objects){ x.list, x.count };
	agent->skills = skills;
	return code ?: instruct(agent, a, err);
}
