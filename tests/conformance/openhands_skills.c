/* SPDX-License-Identifier: Apache-2.0 */
/* openhands_skills.c - which skills a message or a path brings. */
#include "openhands.h"

#include "core/skill.h"

#define WORDS_MAX 64

static bool same(struct th_str got, const struct th_json *want, struct th_buf *found)
{
	th_buf_add(found, got.ptr ? got : TH_STR("none"));
	return th_json_is_null(want) ? !got.len : th_str_eq(got, th_json_str(want));
}

static struct th_strs words_of(const struct th_json *list, struct th_str *words)
{
	struct th_json_iter it = th_json_iter(list);
	size_t count = 0;

	while (th_json_next(&it) && count < WORDS_MAX)
		words[count++] = th_json_str(it.val);
	return (struct th_strs){ words, count };
}

bool oh_skill_word(const struct oh_case *c, struct th_buf *found)
{
	struct th_str words[WORDS_MAX];
	const struct th_skill s = { .triggers =
					words_of(th_json_get(c->input, "keywords"), words) };

	return same(th_skill_word(&s, th_json_get_str(c->input, "message")), c->expected, found);
}

bool oh_skill_path(const struct oh_case *c, struct th_buf *found)
{
	struct th_str words[WORDS_MAX];
	const struct th_skill s = { .paths = words_of(th_json_get(c->input, "paths"), words) };

	return same(th_skill_path(&s, th_json_get_str(c->input, "file")), c->expected, found);
}
