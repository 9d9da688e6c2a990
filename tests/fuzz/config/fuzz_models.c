/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a models file: refused with a sentence on one line that begins
 * with the file's name, or rows that can be used as they are: their names
 * resolve, their spaces take and give points, their words fit into a header.
 */
#include "base/text.h"
#include "config/config.h"
#include "dialects/dialect.h"
#include "dialects/space.h"
#include "profiles/compose.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_word(const char *word)
{
	for (; word && *word; word++)
		assert((unsigned char)*word >= ' ' && *word != 0x7f);
}

static void check_row(const struct th_profiles *list, const struct th_profile *p)
{
	static const struct th_size screens[] = { { 1, 1 }, { 1920, 1080 }, { 2160, 3840 } };
	struct th_composed composed;
	struct th_match m;
	struct th_err err = {};

	assert(p->user && p->name && p->pattern && p->note && p->wire && p->dialect);
	assert(p->computer == TH_COMPUTER_NONE || p->vision);
	check_word(p->name);
	check_word(p->beta);
	check_word(p->base_url);
	check_word(p->key_env);
	for (size_t i = 0; i < TH_COUNT(screens); i++) {
		struct th_size image = th_image_size(p, screens[i]);
		struct th_point at = { screens[i].width / 2, screens[i].height / 2 };
		struct th_space_point there;

		assert(image.width > 0 && image.height > 0);
		assert(image.width <= screens[i].width && image.height <= screens[i].height);
		there = th_space_of_screen(&p->space, image, screens[i], at);
		if (th_space_to_screen(&p->space, image, screens[i], there.x, there.y, &at, &err) ==
		    TH_OK)
			assert(at.x >= 0 && at.x < screens[i].width && at.y >= 0 &&
			       at.y < screens[i].height);
	}
	if (th_model_compose(list, th_str_of(p->pattern), &composed, &m, &err) == TH_OK)
		assert(m.profile && m.name.len > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_profiles list = { 0 };
	struct th_arena arena;
	struct th_err err = {};

	th_arena_init(&arena, 8 * TH_MIB);
	if (th_models_parse(th_str_n(data, size), TH_STR("x.yaml"), &arena, &list, &err)) {
		assert(err.code != TH_OK && strncmp(err.msg, "x.yaml:", 7) == 0);
		assert(!strchr(err.msg, '\n'));
		assert(th_utf8_valid(th_str_of(err.msg)) == strlen(err.msg));
		assert(!list.rows);
	}
	for (size_t i = 0; i < list.count; i++)
		check_row(&list, &list.rows[i]);
	th_arena_deinit(&arena);
	return 0;
}
