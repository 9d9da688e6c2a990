/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as YAML: what is taken is JSON that the house's parser takes; what
 * is refused has a sentence on one line with the file's name.  As an agent file
 * it is taken or refused likewise.
 */
#include "base/json.h"
#include "base/text.h"
#include "config/config.h"
#include "config/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_err(const struct th_err *err)
{
	assert(err->code != TH_OK && strncmp(err->msg, "x.yaml:", 7) == 0);
	assert(!strchr(err->msg, '\n'));
	assert(th_utf8_valid(th_str_of(err->msg)) == strlen(err->msg));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str yaml = th_str_n(data, size), name = TH_STR("x.yaml");
	struct th_buf json = TH_BUF_INIT(16 * TH_MIB);
	struct th_json_doc *doc = NULL;
	struct th_agent agent;
	struct th_arena arena;
	struct th_err err = {};

	if (th_yaml_to_json(yaml, name, &json, &err) == TH_OK) {
		enum th_code code = th_json_parse(th_buf_str(&json), &doc, &err);

		assert(code == TH_OK);
		doc = th_json_free(doc);
	} else {
		check_err(&err);
	}
	th_buf_deinit(&json);
	th_arena_init(&arena, 8 * TH_MIB);
	if (th_agent_parse(yaml, name, &arena, &agent, &err) == TH_OK)
		assert(agent.name.len > 0);
	else
		check_err(&err);
	th_arena_deinit(&arena);
	assert(th_yaml_line(yaml, TH_STR("limits.turns")) >= 1);
	return 0;
}
