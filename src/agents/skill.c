/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/skill.h"

#include "base/glob.h"
#include "base/limits.h"
#include "base/text.h"

#define AT(member) offsetof(struct th_skill, member)

static const struct th_field skill_fields[] = {
	{ "name", AT(name), TH_FIELD_str, TH_REQ | TH_NONEMPTY, "its name", NULL, NULL, false, 0 },
	{ "description", AT(description), TH_FIELD_str, 0, "what it is for, one line", NULL, NULL,
	  false, 0 },
	{ "source", AT(source), TH_FIELD_str, 0, "file that it is from", NULL, NULL, false, 0 },
	{ "text", AT(text), TH_FIELD_str, TH_REQ, "what the model is told", NULL, NULL, false, 0 },
	{ "triggers", AT(triggers), TH_FIELD_strs, 0,
	  "words of a user that make it be said; /NAME at the beginning of a message: a task", NULL,
	  NULL, false, 0 },
	{ "paths", AT(paths), TH_FIELD_strs, 0,
	  "patterns (*, ? and **) of files whose use makes it be said", NULL, NULL, false, 0 },
	{ "inputs", AT(inputs), TH_FIELD_strs, 0, "names of ${…} in the text of a task", NULL, NULL,
	  false, 0 },
	{ "always", AT(always), TH_FIELD_bool, 0, "it is part of the instructions", NULL, NULL,
	  false, 0 },
	{ "unlisted", AT(unlisted), TH_FIELD_bool, 0, "the model is not told that it is there",
	  NULL, NULL, false, 0 },
};
#undef AT
const struct th_table th_skill_table = { "skill",
					 "A piece of knowledge.",
					 skill_fields,
					 TH_COUNT(skill_fields),
					 sizeof(struct th_skill),
					 false };

#define AT(member) offsetof(struct th_agent_skills, member)

static const struct th_field skills_fields[] = {
	{ "repository", AT(repository), TH_FIELD_bool, 0,
	  "read those of the workspace: AGENTS.md and the like, .agents/skills, .openhands/skills, "
	  ".openhands/microagents",
	  NULL, NULL, false, 0 },
	{ "user", AT(user), TH_FIELD_bool, 0, "read those of the account, in the same folders of ~",
	  NULL, NULL, false, 0 },
	{ "folders", AT(folders), TH_FIELD_strs, 0, "more folders of skills; these come first",
	  NULL, NULL, false, 0 },
	{ "trusted", AT(trusted), TH_FIELD_strs, 0,
	  "beside whose skills the MCP servers of .mcp.json count: folders, user, repository; "
	  "default: none",
	  NULL, NULL, false, 0 },
	{ "without", AT(without), TH_FIELD_strs, 0, "names of skills that are left out", NULL, NULL,
	  false, 0 },
	{ "list", AT(list), TH_FIELD_objects, 0,
	  "skills that are given here; a session's log has those that were read", &th_skill_table,
	  NULL, false, 0 },
};
#undef AT
const struct th_table th_agent_skills_table = {
	"agent_skills",          "Knowledge in files.",          skills_fields,
	TH_COUNT(skills_fields), sizeof(struct th_agent_skills), false
};

/* ---- words ---- */

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool is_word_part(char c)
{
	return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9');
}

/* A capital of two bytes in UTF-8, of Latin, Greek or Cyrillic, as its small letter. */
static uint32_t lower_of_two(uint32_t c)
{
	if ((c >= 0xc0 && c <= 0xde && c != 0xd7) || (c >= 0x391 && c <= 0x3a9) ||
	    (c >= 0x410 && c <= 0x42f))
		return c + 0x20;
	if (c >= 0x400 && c <= 0x40f)
		return c + 0x50;
	if ((c >= 0x100 && c <= 0x12f) || (c >= 0x132 && c <= 0x137) || (c >= 0x14a && c <= 0x177))
		return c | 1;
	if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e))
		return c + (c & 1);
	return c;
}

/* The letter that begins there, small; *at is moved behind it. */
static uint32_t next_lower(struct th_str s, size_t *at)
{
	unsigned char a = (unsigned char)s.ptr[*at];

	*at += 1;
	if (a < 0xc2 || a > 0xdf || *at == s.len)
		return (unsigned char)lower((char)a);
	return lower_of_two((a & 0x1fu) << 6 | ((unsigned char)s.ptr[(*at)++] & 0x3fu));
}

static bool same_at(struct th_str text, size_t at, struct th_str word)
{
	size_t i = 0, j = at;

	while (i < word.len)
		if (j >= text.len || next_lower(text, &j) != next_lower(word, &i))
			return false;
	return (at == 0 || !is_word_part(text.ptr[at - 1])) &&
	       (j == text.len || !is_word_part(text.ptr[j]));
}

static bool has_word(struct th_str text, struct th_str word)
{
	for (size_t i = 0; word.len && i + word.len <= text.len; i++)
		if (same_at(text, i, word))
			return true;
	return false;
}

struct th_str th_skill_word(const struct th_skill *s, struct th_str message)
{
	for (size_t i = 0; i < s->triggers.count; i++) {
		struct th_str word = s->triggers.list[i];
		bool task = word.len && word.ptr[0] == '/';

		if (task ? word.len > 1 && same_at(th_str_trim(message), 0, word)
			 : has_word(message, word))
			return word;
	}
	return (struct th_str){ NULL, 0 };
}

/* ---- paths ---- */

/* "a*.c" means it in any folder, as in .gitignore. */
static bool matches_path(struct th_str pattern, struct th_str path)
{
	char anywhere[TH_GLOB_SIZE_MAX];

	if (!pattern.len)
		return false;
	if (th_str_find_char(pattern, '/') >= 0)
		return th_glob_path(pattern, path, TH_GLOB_STARS);
	if (pattern.len + 3 > sizeof(anywhere))
		return false;
	memcpy(anywhere, "**/", 3);
	memcpy(anywhere + 3, pattern.ptr, pattern.len);
	return th_glob_path(th_str_n(anywhere, pattern.len + 3), path, TH_GLOB_STARS);
}

struct th_str th_skill_path(const struct th_skill *s, struct th_str path)
{
	for (size_t i = 0; i < s->paths.count; i++)
		if (matches_path(s->paths.list[i], path))
			return s->paths.list[i];
	return (struct th_str){ NULL, 0 };
}

const struct th_skill *th_skill_find(const struct th_agent_skills *skills, struct th_str name)
{
	const struct th_skill *list = skills ? skills->list.list : NULL;

	for (size_t i = 0; skills && i < skills->list.count; i++)
		if (th_str_eq(list[i].name, name))
			return &list[i];
	return NULL;
}

/* ---- texts ---- */

static void put_attribute(const char *name, struct th_str value, struct th_buf *out)
{
	th_buf_printf(out, " %s=\"", name);
	for (size_t i = 0; i < value.len; i++)
		th_buf_add_char(out,
				value.ptr[i] == '"' || value.ptr[i] == '<' || value.ptr[i] == '\n'
				    ? ' '
				    : value.ptr[i]);
	th_buf_add_char(out, '"');
}

static void put_head(const struct th_skill *s, struct th_str because, struct th_buf *out)
{
	th_buf_add_cstr(out, "<skill");
	put_attribute("name", s->name, out);
	if (s->source.len)
		put_attribute("source", s->source, out);
	if (because.len)
		put_attribute("because", because, out);
	th_buf_add_cstr(out, ">\n");
}

/* What a message gives as NAME=VALUE; a value with spaces stands in quotes. */
static struct th_str given(struct th_str message, struct th_str name)
{
	for (size_t i = 0; i + name.len < message.len; i++) {
		struct th_str rest;
		char end = ' ';
		size_t len = 0;

		if (message.ptr[i + name.len] != '=' ||
		    !th_str_eq(th_str_sub(message, i, name.len), name) ||
		    (i > 0 && is_word_part(message.ptr[i - 1])))
			continue;
		rest = th_str_sub(message, i + name.len + 1, message.len);
		if (rest.len && (rest.ptr[0] == '"' || rest.ptr[0] == '\'')) {
			end = rest.ptr[0];
			rest = th_str_sub(rest, 1, rest.len);
		}
		while (len < rest.len && rest.ptr[len] != end &&
		       (end != ' ' || rest.ptr[len] != '\n'))
			len++;
		return th_str_sub(rest, 0, len);
	}
	return (struct th_str){ NULL, 0 };
}

/* ${NAME} of an input that is given becomes its value; all else stays. */
static void put_filled(const struct th_skill *s, struct th_str message, struct th_buf *out)
{
	struct th_str rest = s->text;
	ptrdiff_t at;

	while (s->inputs.count && (at = th_str_find(rest, TH_STR("${"))) >= 0) {
		struct th_str tail = th_str_sub(rest, (size_t)at + 2, rest.len), value, name;
		ptrdiff_t end = th_str_find_char(tail, '}');

		name = th_str_sub(tail, 0, end < 0 ? 0 : (size_t)end);
		value = th_strs_has(&s->inputs, name) ? given(message, name)
						      : (struct th_str){ NULL, 0 };
		th_text_inside(out, th_str_sub(rest, 0, (size_t)at), "skill");
		if (value.ptr) {
			th_text_inside(out, value, "skill");
			rest = th_str_sub(tail, (size_t)end + 1, tail.len);
		} else {
			th_buf_add_cstr(out, "${");
			rest = tail;
		}
	}
	th_text_inside(out, rest, "skill");
}

static void put_missing(const struct th_skill *s, struct th_str message, struct th_buf *out)
{
	bool first = true;

	for (size_t i = 0; i < s->inputs.count; i++) {
		if (given(message, s->inputs.list[i]).ptr)
			continue;
		th_buf_printf(out, "%s%.*s",
			      first ? "\nThe user has not said these; ask for them where you "
				      "cannot find them out: "
				    : ", ",
			      TH_FMT(s->inputs.list[i]));
		first = false;
	}
}

void th_skill_print(const struct th_skill *s, struct th_str because, struct th_str message,
		    struct th_buf *out)
{
	put_head(s, because, out);
	put_filled(s, message, out);
	put_missing(s, message, out);
	th_buf_add_cstr(out, "\n</skill>");
}

bool th_skills_listed(const struct th_agent_skills *skills)
{
	const struct th_skill *list = skills ? skills->list.list : NULL;

	for (size_t i = 0; skills && i < skills->list.count; i++)
		if (!list[i].always && !list[i].unlisted)
			return true;
	return false;
}

void th_skills_instruct(const struct th_agent_skills *skills, struct th_buf *out)
{
	const struct th_skill *list = skills ? skills->list.list : NULL;

	for (size_t i = 0; skills && i < skills->list.count; i++) {
		if (!list[i].always)
			continue;
		th_buf_add_cstr(out, "\n\n");
		th_skill_print(&list[i], TH_STR(""), TH_STR(""), out);
	}
	if (!th_skills_listed(skills))
		return;
	th_buf_add_cstr(out, "\n\nThese skills are there. Read one with the tool skill before you "
			     "do what it is about:\n<available_skills>\n");
	for (size_t i = 0; i < skills->list.count; i++) {
		if (list[i].always || list[i].unlisted)
			continue;
		put_head(&list[i], TH_STR(""), out);
		th_text_inside(out, list[i].description, "skill");
		th_buf_add_cstr(out, "\n</skill>\n");
	}
	th_buf_add_cstr(out, "</available_skills>");
}
