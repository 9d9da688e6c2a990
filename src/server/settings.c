/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - `serve` of the configuration file. */
#include "server/internal.h"

TH_TABLE(serve_settings, "serve", false)

enum th_code th_settings_parse(struct th_str json, struct th_settings *ret, struct th_err *err)
{
	struct th_settings new = { 0 };
	enum th_code code = TH_OK;

	th_arena_init(&new.memory, TH_CONFIG_SIZE_MAX);
	if (json.len) {
		code = th_json_parse(json, &new.doc, err);
		if (!code)
			code = th_table_parse(&th_serve_settings_table, th_json_root(new.doc),
					      &new.memory, &new.s, err);
	}
	if (code) {
		th_settings_deinit(&new);
		return th_prefix(err, code, "serve");
	}
	*ret = new;
	return TH_OK;
}

void th_settings_deinit(struct th_settings *s)
{
	th_json_free(s->doc);
	th_arena_deinit(&s->memory);
	*s = (struct th_settings){ 0 };
}
