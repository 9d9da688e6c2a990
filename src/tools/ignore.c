/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/ignore.h"

#include "base/glob.h"
#include "base/limits.h"

static bool parse_line(struct th_str line, struct th_ignore_rule *ret)
{
	*ret = (struct th_ignore_rule){ 0 };
	if (th_str_ends(line, TH_STR("\r")))
		line.len--;
	/* Spaces at the end count only behind a backslash. */
	while (line.len > 0 && line.ptr[line.len - 1] == ' ' &&
	       !(line.len > 1 && line.ptr[line.len - 2] == '\\'))
		line.len--;
	if (line.len == 0 || line.ptr[0] == '#')
		return false;
	if (line.ptr[0] == '!') {
		ret->negated = true;
		line = th_str_sub(line, 1, line.len);
	}
	if (th_str_ends(line, TH_STR("/"))) {
		ret->folders_only = true;
		line.len--;
	}
	ret->anchored = th_str_find_char(line, '/') >= 0;
	if (th_str_starts(line, TH_STR("/")))
		line = th_str_sub(line, 1, line.len);
	ret->pattern = line;
	return line.len > 0;
}

void th_ignore_parse(struct th_ignore *level, struct th_str text, struct th_arena *a)
{
	size_t lines = 1;
	struct th_ignore_rule *rules;

	for (size_t i = 0; i < text.len; i++)
		lines += text.ptr[i] == '\n';
	lines = TH_MIN(lines, TH_IGNORE_RULES_MAX - TH_MIN(level->count, TH_IGNORE_RULES_MAX));
	rules = th_arena_array(a, level->count + lines, sizeof(*rules));
	if (!rules)
		return;
	if (level->count)
		memcpy(rules, level->rules, level->count * sizeof(*rules));
	level->rules = rules;
	for (; lines > 0 && text.len > 0; lines--)
		if (parse_line(th_str_split(&text, '\n'), &rules[level->count]))
			level->count++;
}

static bool matches(const struct th_ignore_rule *r, struct th_str path, bool is_folder)
{
	const char *slash;

	if (r->folders_only && !is_folder)
		return false;
	if (!r->anchored && (slash = memrchr(path.ptr, '/', path.len)))
		path = th_str_sub(path, (size_t)(slash - path.ptr) + 1, path.len);
	return th_glob_path(r->pattern, path, TH_GLOB_GITIGNORE);
}

bool th_ignored(const struct th_ignore *level, struct th_str path, bool is_folder)
{
	for (; level; level = level->above)
		for (size_t i = level->count; i-- > 0;)
			if (path.len > level->base_len &&
			    matches(&level->rules[i], th_str_sub(path, level->base_len, path.len),
				    is_folder))
				return !level->rules[i].negated;
	return false;
}
