/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.c - what a client may begin with: each agent of this server is a profile of its name,
 * whose model is "thole/NAME".  Nobody changes that over this API, and there are no secrets in it.
 */
#include "openhands_api/internal.h"

#define ACTIVE "default" /* there is always an agent of that name */
#define MODEL "thole/"

static void put_model(struct th_str agent, struct th_jw *w)
{
	struct th_buf model TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_AGENT_NAME_MAX);

	th_buf_add_cstr(&model, MODEL);
	th_buf_add(&model, agent);
	th_jw_kstr(w, "model", th_buf_str(&model));
}

void th_oh_settings(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_jw w = th_jw(&json);

	th_jw_object(&w);
	th_jw_name(&w, TH_STR("agent_settings"));
	th_jw_object(&w);
	th_jw_kstr(&w, "agent_kind", TH_STR("openhands"));
	th_jw_name(&w, TH_STR("llm"));
	th_jw_object(&w);
	put_model(TH_STR(ACTIVE), &w);
	th_jw_object_end(&w);
	th_jw_kraw(&w, "mcp_config", TH_STR("{}"));
	th_jw_object_end(&w);
	th_jw_kraw(&w, "conversation_settings", TH_STR("{}"));
	th_jw_kbool(&w, "llm_api_key_is_set", false);
	th_jw_kstr(&w, "active_profile", TH_STR(ACTIVE));
	th_jw_kraw(&w, "misc_settings", TH_STR("{}"));
	th_jw_object_end(&w);
	th_access_json(a, 200, &json);
}

void th_oh_profiles(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_MIB);
	const struct th_served *agents = &a->server->agents;
	struct th_jw w = th_jw(&json);

	th_jw_object(&w);
	th_jw_name(&w, TH_STR("profiles"));
	th_jw_array(&w);
	for (size_t i = 0; i < agents->count; i++) {
		th_jw_object(&w);
		th_jw_kstr(&w, "name", th_str_of(agents->list[i].name));
		put_model(th_str_of(agents->list[i].name), &w);
		th_jw_kbool(&w, "api_key_set", false);
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
	th_jw_kstr(&w, "active_profile", TH_STR(ACTIVE));
	th_jw_object_end(&w);
	th_access_json(a, 200, &json);
}

void th_oh_profile(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_str name = th_str_of(a->args[0]);
	struct th_jw w = th_jw(&json);

	if (!th_served_find(&a->server->agents, name)) {
		th_access_fail(a, 404, NULL, "there is no agent of that name");
		return;
	}
	th_jw_object(&w);
	th_jw_kstr(&w, "name", name);
	th_jw_name(&w, TH_STR("config"));
	th_jw_object(&w);
	put_model(name, &w);
	th_jw_object_end(&w);
	th_jw_kbool(&w, "api_key_set", false);
	th_jw_object_end(&w);
	th_access_json(a, 200, &json);
}

void th_oh_no_secrets(struct th_access *a)
{
	th_access_text(a, 200, "application/json", TH_STR("{\"secrets\":[]}"));
}

void th_oh_no_secret(struct th_access *a)
{
	th_access_fail(
	    a, 404, NULL,
	    "there are no secrets of a client but those of a conversation, which are not "
	    "given back");
}
