/* SPDX-License-Identifier: Apache-2.0 */
/* effect.c - see effect.h. */
#include "events/effect.h"

#include "base/field.h"
#include "base/json.h"

static const char *const targets[] = { "other", "screen", "files", "web", NULL };
static const char *const shows[] = { "", "folder", "any", NULL };

struct th_str th_effect_target_name(struct th_effect_scope s)
{
	assert(s.target < TH_TARGET_COUNT);
	return th_str_of(targets[s.target]);
}

struct th_str th_effect_shows_name(struct th_effect_scope s)
{
	assert(s.shows < TH_SHOWS_COUNT);
	return th_str_of(shows[s.shows]);
}

bool th_effect_only_looks(const struct th_effect_looks *only, struct th_str arguments)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

	if (!only || th_json_parse(arguments, &doc, NULL))
		return false;
	return th_names_find(only->values, th_json_get_str(th_json_root(doc), only->member)) >= 0;
}

/* The tools of the builds that did not write `target`: this list never grows. */
static struct th_effect_scope scope_before(struct th_str tool)
{
	static const char *const names[] = { "computer", "shell",       "read_file", "write_file",
					     "list_dir", "apply_patch", NULL };
	static const struct th_effect_scope scopes[] = {
		{ TH_TARGET_SCREEN, TH_SHOWS_ONE },   { TH_TARGET_FILES, TH_SHOWS_ANY },
		{ TH_TARGET_FILES, TH_SHOWS_ONE },    { TH_TARGET_FILES, TH_SHOWS_ONE },
		{ TH_TARGET_FILES, TH_SHOWS_FOLDER }, { TH_TARGET_FILES, TH_SHOWS_ONE },
	};
	int at = th_names_find(names, tool);

	return at >= 0 ? scopes[at] : (struct th_effect_scope){ TH_TARGET_OTHER, TH_SHOWS_ONE };
}

struct th_effect_scope th_effect_scope_of(struct th_str target, struct th_str what,
					  struct th_str tool)
{
	int t = th_names_find(targets, target), s = th_names_find(shows, what);

	if (!target.len)
		return scope_before(tool);
	return (struct th_effect_scope){
		.target = t >= 0 ? (uint8_t)t : (uint8_t)TH_TARGET_OTHER,
		.shows = s >= 0 ? (uint8_t)s : (uint8_t)TH_SHOWS_ONE,
	};
}
