/* SPDX-License-Identifier: Apache-2.0 */
/*
 * begin.c - a conversation is begun.
 *
 * A client sends its whole agent: model, key, tools, hooks.  What runs here is an agent of this
 * server: the model's name is the name of one, or a model of serve.models.  Keys are not read;
 * tools are those of the agent file; what would run a program of the client's is refused.
 * Its secrets are for commands that name them (secrets.c).
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "io/clock.h"
#include "openhands_api/internal.h"

#define TAG_CHARACTERS 256 /* as OpenHands has it */
#define TAG_WORDS                                                                                \
	"the key of a tag is made of a to z and 0 to 9, and its value is a text of at most 256 " \
	"characters"
#define NAME_OF_OWN "openhands" /* of the agent that a model of serve.models is given to */

struct beginning {
	struct th_access *access;
	const struct th_json *v;
	const struct th_served_agent *agent;
	struct th_str model; /* empty: the agent's */
	struct th_buf metadata;
	struct th_buf confirm; /* empty: none is asked for */
	char id[TH_UUID_TEXT_SIZE + 1];
	bool given; /* its id was */
};

/* ---- what is asked ---- */

/* Of the agent or the request, that this server would have to run, or cannot. */
static const struct {
	const char *name, *why;
} refused[] = {
	{ "plugins", "plugins are not loaded: what an agent has stands in its file here" },
	{ "hook_config",
	  "hooks of a client are not run: they stand in the agent file (docs/HOOKS.md)" },
	{ "agent_profile_id", "there are no profiles: name an agent of this server as the model" },
	{ "mcp_config",
	  "MCP servers of a client are not started: they stand in the agent file (docs/MCP.md)" },
	{ "parent_conversation_id", "a conversation has no parent here" },
	{ "worktree", "a conversation has a folder of its own, and no worktree" },
};

static const char *fault_of(const struct th_json *request, const struct th_json *agent)
{
	struct th_str kind = th_json_get_str(agent, "kind");

	for (size_t i = 0; i < TH_COUNT(refused); i++)
		if (th_json_says(th_json_get(request, refused[i].name)) ||
		    th_json_says(th_json_get(agent, refused[i].name)))
			return refused[i].why;
	if (kind.len && !th_str_is(kind, "Agent"))
		return "the agent is of the kind Agent";
	return NULL;
}

/* "thole/NAME", or NAME alone, is an agent; else it is a model, with its maker before a slash or
 * without. */
static bool choose(struct beginning *b, struct th_str name)
{
	struct th_server *s = b->access->server;
	struct th_str last = name;

	(void)th_str_split(&last, '/');
	if (!last.len)
		last = name;
	b->agent = th_served_find(&s->agents, th_str_starts(name, TH_STR("thole/")) ? last : name);
	if (b->agent)
		return true;
	b->model = th_strs_has(&s->settings.s.models, name) ? name : last;
	b->agent = th_served_find(&s->agents, TH_STR(NAME_OF_OWN));
	if (!b->agent)
		b->agent = th_served_find(&s->agents, TH_STR("default"));
	return th_strs_has(&s->settings.s.models, b->model);
}

/* {"kind": "ConfirmRisky", "threshold", "confirm_unknown"} as `confirm` of an agent file. */
static bool read_policy(const struct th_json *policy, struct th_buf *out)
{
	struct th_str kind = th_json_get_str(policy, "kind"), threshold;
	struct th_jw w = th_jw(out);
	char lower[16];

	if (th_str_is(kind, "NeverConfirm") || th_str_is(kind, "AlwaysConfirm")) {
		th_buf_printf(out, "{\"when\":\"%s\"}",
			      th_str_is(kind, "AlwaysConfirm") ? "always" : "never");
		return true;
	}
	threshold = th_json_get_str(policy, "threshold");
	if (!threshold.len)
		threshold = TH_STR("HIGH");
	if (!th_str_is(kind, "ConfirmRisky") || threshold.len >= sizeof(lower))
		return false;
	for (size_t i = 0; i <= threshold.len; i++)
		lower[i] = i == threshold.len ? '\0' : (char)(threshold.ptr[i] | 0x20);
	if (strcmp(lower, "low") != 0 && strcmp(lower, "medium") != 0 && strcmp(lower, "high") != 0)
		return false;
	th_jw_object(&w);
	th_jw_kstr(&w, "when", TH_STR("risky"));
	th_jw_kstr(&w, "threshold", th_str_of(lower));
	th_jw_kbool(&w, "unknown", th_json_bool(th_json_get(policy, "confirm_unknown"), true));
	th_jw_object_end(&w);
	return true;
}

bool th_oh_confirm_of(const struct th_json *policy, struct th_buf *out)
{
	return read_policy(policy, out) && !out->failed;
}

const char *th_oh_tags_fault(const struct th_json *tags)
{
	struct th_json_iter it = th_json_iter(tags);

	if (th_json_is_null(tags))
		return NULL;
	if (!th_json_is_object(tags) || th_json_count(tags) > TH_SERVE_OPENHANDS_TAGS_MAX)
		return "tags are an object of at most 50 texts";
	while (th_json_next(&it)) {
		for (size_t i = 0; i < it.key.len; i++)
			if (!(it.key.ptr[i] >= 'a' && it.key.ptr[i] <= 'z') &&
			    !(it.key.ptr[i] >= '0' && it.key.ptr[i] <= '9'))
				return TAG_WORDS;
		if (!it.key.len || th_json_type(it.val) != TH_JSON_STR ||
		    th_str_find_char(th_json_str(it.val), '\0') >= 0 ||
		    th_utf8_count(th_json_str(it.val)) > TAG_CHARACTERS)
			return TAG_WORDS;
	}
	return NULL;
}

void th_oh_print_own(const struct th_json *old, const char *name, const struct th_json *value,
		     struct th_buf *out)
{
	const struct th_json *own = th_json_get(old, TH_OPENHANDS_MEMBER);
	struct th_json_iter it = th_json_iter(old);
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	while (th_json_next(&it)) {
		if (th_str_is(it.key, TH_OPENHANDS_MEMBER))
			continue;
		th_jw_key(&w, it.key);
		th_jw_json(&w, it.val);
	}
	th_jw_name(&w, TH_STR(TH_OPENHANDS_MEMBER));
	th_jw_object(&w);
	it = th_json_iter(own);
	while (th_json_next(&it)) {
		if (th_str_is(it.key, name))
			continue;
		th_jw_key(&w, it.key);
		th_jw_json(&w, it.val);
	}
	th_jw_name(&w, th_str_of(name));
	th_jw_json(&w, value);
	th_jw_object_end(&w);
	th_jw_object_end(&w);
}

static void put_metadata(struct beginning *b, const struct th_json *llm)
{
	static const char *const names[] = { "tags", "max_iterations", TH_OPENHANDS_TOOLS };
	const struct th_json *policy = th_json_get(b->v, "confirmation_policy");
	struct th_jw w = th_jw(&b->metadata);

	th_jw_object(&w);
	th_jw_name(&w, TH_STR(TH_OPENHANDS_MEMBER));
	th_jw_object(&w);
	for (size_t i = 0; i < TH_COUNT(names); i++) {
		const struct th_json *v = th_json_get(b->v, names[i]);

		if (th_json_is_null(v))
			continue;
		th_jw_name(&w, th_str_of(names[i]));
		th_jw_json(&w, v);
	}
	if (!th_json_is_null(policy)) {
		th_jw_name(&w, TH_STR("policy"));
		th_jw_json(&w, policy);
	}
	th_jw_kbool(&w, "stream", th_json_bool(th_json_get(llm, "stream"), false));
	th_jw_object_end(&w);
	th_jw_object_end(&w);
}

/* What it is to be told first can be said: else there is no conversation. */
static bool is_sayable(struct beginning *b)
{
	const struct th_json *first = th_json_get(b->v, "initial_message");
	struct th_oh_said said = { 0 };
	struct th_err err = {};
	bool good = th_json_is_null(first) || th_oh_said_read(first, &said, &err) == TH_OK;

	if (!good)
		th_access_fail(b->access, 422, NULL, "initial_message: %s", err.msg);
	th_oh_said_deinit(&said);
	return good;
}

/* False: it was answered. */
static bool read_request(struct beginning *b)
{
	const struct th_json *agent = th_json_get(b->v, "agent");
	const struct th_json *llm, *policy = th_json_get(b->v, "confirmation_policy");
	struct th_str given = th_json_get_str(b->v, "conversation_id");
	struct th_uuid id = th_uuid_now();
	const char *why;

	if (th_json_is_null(agent))
		agent = th_json_get(b->v, "agent_settings");
	llm = th_json_get(agent, "llm");
	why = fault_of(b->v, agent);
	if (!why && given.len && !th_uuid_parse(given, &id))
		why = "conversation_id is a UUID";
	if (!why && !th_json_get_str(llm, "model").len)
		why = "agent.llm.model names an agent of this server, or a model";
	if (!why && !th_json_is_null(policy) && !read_policy(policy, &b->confirm))
		why = "confirmation_policy is NeverConfirm, AlwaysConfirm or ConfirmRisky";
	if (!why)
		why = th_oh_tags_fault(th_json_get(b->v, "tags"));
	if (!why)
		why = th_oh_tools_fault(th_json_get(b->v, TH_OPENHANDS_TOOLS));
	if (why) {
		th_access_fail(b->access, 422, NULL, "%s", why);
		return false;
	}
	b->given = given.len > 0;
	th_uuid_text(&id, b->id);
	if (!choose(b, th_json_get_str(llm, "model"))) {
		th_access_fail(
		    b->access, 422, NULL,
		    "agent.llm.model is neither an agent of this server (thole/NAME) nor "
		    "a model of serve.models");
		return false;
	}
	put_metadata(b, llm);
	if (b->metadata.failed || b->metadata.len > TH_METADATA_MAX) {
		th_access_fail(b->access, 413, NULL,
			       "tags and client_tools have more than %zu bytes",
			       (size_t)TH_METADATA_MAX);
		return false;
	}
	return is_sayable(b);
}

/* ---- it begins ---- */

static int make(struct beginning *b, struct thole_session **ret, struct thole_error *err)
{
	const char *options[] = { "id",       b->id,
				  "user",     b->access->user,
				  "metadata", b->metadata.ptr,
				  "fresh",    "yes",
				  "priority", th_priority_name(b->access->priority),
				  NULL };
	int64_t turns = th_json_get_int(b->v, "max_iterations", 0);
	struct th_server *s = b->access->server;
	struct thole_agent *agent = NULL;
	char *workspace = NULL, limits[64], model[TH_MODEL_NAME_MAX + 1];
	int code = th_workspace_make(s, b->id, &workspace, err);

	snprintf(limits, sizeof(limits), "{\"turns\":%lld}", (long long)turns);
	snprintf(model, sizeof(model), "%.*s", TH_FMT(b->model));
	if (!code)
		code = th_served_make(b->agent, workspace, &agent, err);
	if (!code && turns > 0)
		code = thole_agent_lower(agent, limits, err);
	if (!code && b->model.len)
		code = thole_agent_set(agent, "model", model, err);
	if (!code)
		code = th_oh_tools_add(s, agent, th_json_get(b->v, TH_OPENHANDS_TOOLS), err);
	if (!code)
		code = thole_session_new_with(s->rt, agent, options, ret, err);
	thole_agent_free(agent);
	free(workspace);
	return code;
}

/* The session is open: what waited for that. */
static void opened(struct th_access *a, const char *session, int status)
{
	struct th_hub *h = th_hub_find(a->server, session);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = th_access_body(a);
	struct th_buf confirm TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const struct th_json *v = doc ? th_json_root(doc) : NULL;
	const struct th_json *first = th_json_get(v, "initial_message");
	struct th_oh_said said = { 0 };
	struct thole_error e = { 0 };
	struct th_err err = {};
	int code = 0;

	(void)status;
	if (!doc)
		return;
	if (th_json_says(th_json_get(v, "secrets")) &&
	    th_oh_give(h, th_json_get(v, "secrets"), a->user, &e) != 0) {
		h->doomed = true; /* there is no conversation then */
		th_oh_not_given(a, &e);
		return;
	}
	if (!th_oh_confirm_of(th_json_get(v, "confirmation_policy"), &confirm) ||
	    th_str_is(th_buf_str(&confirm), "{\"when\":\"never\"}"))
		th_buf_clear(&confirm);
	else
		code = thole_session_confirm(h->session, confirm.ptr, a->user, &e);
	if (!code && !th_json_is_null(first)) {
		code = th_oh_said_read(first, &said, &err); /* it could be read before */
		if (code)
			th_access_fail(a, 422, NULL, "initial_message: %s", err.msg);
		else if ((code = th_oh_say(h, &said, &e)) != 0)
			th_access_error(a, &e);
		th_oh_said_deinit(&said);
		if (code)
			return;
	} else if (code) {
		th_access_error(a, &e);
		return;
	} else if (!confirm.len && h->written) {
		th_oh_answer_info(a, session, 201);
		return;
	}
	th_access_after(a, h, 201, "", th_oh_answer_info);
}

/* One that is there is told as it is.  False: so it was, or the handler is called again. */
static bool is_new(struct beginning *b)
{
	struct th_access *a = b->access;
	const struct th_found *mine = th_need_session(&a->needs, b->id, a->user), *any;

	if (!mine)
		return false;
	if (!mine->err) {
		th_oh_answer_info(a, b->id, 200);
		return false;
	}
	any = th_need_session(&a->needs, b->id, NULL);
	if (!any)
		return false;
	if (any->err && any->err->code == THOLE_ENOENT)
		return true;
	if (any->err)
		th_access_error(a, any->err);
	else
		th_access_fail(a, 409, NULL, "session %s exists already", b->id);
	return false;
}

static void begin(struct beginning *b)
{
	struct th_access *a = b->access;
	struct thole_session *session = NULL;
	struct thole_error err;
	struct th_hub *h;

	if (b->given && !is_new(b))
		return;
	if (!th_quota_begin(a))
		return;
	if (make(b, &session, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	a->server->metrics.sessions_begun++;
	h = th_hub_get(a->server, b->id, a->user);
	th_hub_adopt(h, session);
	th_quota_begins(&a->needs, h);
	th_access_ready(a, h, opened);
}

void th_oh_begin(struct th_access *a)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = th_access_body(a);
	struct beginning b = { .access = a,
			       .metadata = TH_BUF_INIT(2 * TH_METADATA_MAX),
			       .confirm = TH_BUF_INIT(TH_KIB) };

	if (!doc)
		return;
	b.v = th_json_root(doc);
	if (read_request(&b))
		begin(&b);
	th_buf_deinit(&b.metadata);
	th_buf_deinit(&b.confirm);
}
