/* SPDX-License-Identifier: Apache-2.0 */
/* card.c - what another agent reads first: who is here, and where. */
#include "a2a/internal.h"
#include "wire/percent.h"

/* Where the caller found us: the name in the configuration, or the one he used (guard.c has looked
 * at it). */
static void add_base(const struct th_access *a, struct th_buf *out)
{
	struct th_str url = a->server->settings.s.public_url;

	while (url.len && url.ptr[url.len - 1] == '/')
		url.len--;
	if (url.len) {
		th_buf_add(out, url);
		return;
	}
	th_buf_add_cstr(out, th_guard_https(a) ? "https://" : "http://");
	th_buf_add(out, th_http_header(a->request, "host"));
}

static void put_interface(struct th_jw *w, struct th_str url, const char *binding,
			  const char *version)
{
	th_jw_object(w);
	th_jw_kstr(w, "url", url);
	th_jw_kstr(w, "protocolBinding", th_str_of(binding));
	th_jw_kstr(w, "protocolVersion", th_str_of(version));
	th_jw_object_end(w);
}

/* In the words of 1.0 and of 0.3 at once: neither minds the other's members. */
static void put_card(struct th_jw *w, struct th_str name, struct th_str url)
{
	th_jw_object(w);
	th_jw_kstr(w, "name", name);
	th_jw_kstr(w, "description",
		   TH_STR("An agent of thole serve: it works on a task, with its "
			  "tools and its computer, and answers."));
	th_jw_kstr(w, "version", TH_STR(TH_VERSION));
	th_jw_kstr(w, "protocolVersion", TH_STR("0.3.0"));
	th_jw_kstr(w, "url", url);
	th_jw_kstr(w, "preferredTransport", TH_STR("JSONRPC"));
	th_jw_name(w, TH_STR("supportedInterfaces"));
	th_jw_array(w);
	put_interface(w, url, "JSONRPC", "1.0");
	put_interface(w, url, "HTTP+JSON", "1.0");
	put_interface(w, url, "JSONRPC", "0.3");
	th_jw_array_end(w);
	th_jw_kraw(w, "capabilities",
		   TH_STR("{\"streaming\":true,\"pushNotifications\":true,"
			  "\"extendedAgentCard\":false}"));
	th_jw_kraw(w, "defaultInputModes",
		   TH_STR("[\"text/plain\",\"application/json\",\"image/png\",\"image/jpeg\","
			  "\"image/webp\",\"image/gif\",\"application/pdf\"]"));
	th_jw_kraw(w, "defaultOutputModes", TH_STR("[\"text/plain\"]"));
	th_jw_name(w, TH_STR("skills"));
	th_jw_array(w);
	th_jw_object(w);
	th_jw_kstr(w, "id", name);
	th_jw_kstr(w, "name", name);
	th_jw_kstr(w, "description", TH_STR("Works on a task that is given in words."));
	th_jw_kraw(w, "tags", TH_STR("[\"agent\"]"));
	th_jw_object_end(w);
	th_jw_array_end(w);
	th_jw_kraw(w, "securitySchemes",
		   TH_STR("{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\","
			  "\"httpAuthSecurityScheme\":{\"scheme\":\"bearer\"}}}"));
	th_jw_kraw(w, "security", TH_STR("[{\"token\":[]}]"));
	th_jw_kraw(w, "securityRequirements", TH_STR("[{\"schemes\":{\"token\":{\"list\":[]}}}]"));
	th_jw_object_end(w);
}

static void card(struct th_access *a, struct th_str agent)
{
	struct th_buf url TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(16 * TH_KIB);
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_jw w = th_jw(&json);

	if (!th_served_find(&a->server->agents, agent)) {
		th_access_fail(a, 404, "agent", "there is no agent of that name; GET /api/agents");
		return;
	}
	add_base(a, &url);
	th_buf_add_cstr(&url, "/a2a/");
	th_percent_encode(agent, &url);
	put_card(&w, agent, th_buf_str(&url));
	th_access_json(a, 200, &json);
}

/* Open to everybody, so it tells of no other agent than the one that is always there. */
void th_a2a_card(struct th_access *a)
{
	card(a, TH_STR("default"));
}

void th_a2a_agent_card(struct th_access *a)
{
	card(a, th_str_of(a->args[0]));
}
