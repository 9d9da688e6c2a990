/* SPDX-License-Identifier: Apache-2.0 */
/* program_input.c - what a hook is told. */
#include "agents/agent_secret.h"
#include "base/text.h"
#include "guards/guard_look.h"
#include "guards/program_internal.h"

void th_program_add_plain(struct th_buf *out, struct th_str raw)
{
	if (raw.len && !th_json_unescape(raw, out))
		th_buf_add(out, raw);
}

enum th_code th_program_print_input(struct th_live *l, struct th_program *p, struct th_buf *out,
				    struct th_err *err)
{
	struct th_buf subject TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_GUARD_INPUT_MAX);
	struct th_buf message TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_GUARD_INPUT_MAX);
	struct th_buf tool TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf extra TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_hook_input in = { .event = p->hook->event,
				    .session = th_str_of(l->id),
				    .folder = l->fold.workspace };
	struct th_jw w = th_jw(&subject);
	enum th_code code = TH_OK;
	struct th_str about;

	th_jw_object(&w);
	if (p->waited)
		code = th_live_guard_subject(l, &p->about, &w, err);
	th_jw_object_end(&w);
	if (code)
		return code;
	about = th_buf_str(&subject);
	th_program_add_plain(&tool, th_json_raw_get(about, "tool"));
	in.tool = th_buf_str(&tool);
	in.arguments = th_json_raw_get(about, "arguments");
	if (p->about.stage == TH_GUARD_TOOL_OUTPUT)
		in.response = th_json_raw_get(about, "output");
	else if (p->hook->event != TH_HOOK_ON_SESSION_START)
		th_program_add_plain(&message, p->about.stage == TH_GUARD_INPUT
						   ? th_json_raw_get(about, "input")
						   : th_json_raw_get(about, "output"));
	in.message = th_buf_str(&message);
	w = th_jw(&extra);
	th_jw_object(&w);
	th_jw_kstr(&w, "agent", l->fold.team->members[p->about.member].name);
	if (p->hook->event == TH_HOOK_ON_STOP)
		th_jw_kint(&w, "sent_back", l->fold.sent_back);
	if (p->hook->event == TH_HOOK_ON_SESSION_END)
		th_jw_kstr(&w, "state", th_str_of(th_state_name(l->fold.state)));
	th_jw_object_end(&w);
	in.extra = th_buf_str(&extra);
	w = th_jw(out);
	th_hook_input_print(&in, &w);
	return th_buf_check(out, "what a hook is told", err);
}

/* Else it is another agent's own, which may have come with a file. */
static bool is_of_the_first(const struct th_live *l, const struct th_hook_program *hook)
{
	for (size_t i = 0; i < l->fold.team->program_count; i++)
		if (&l->fold.team->programs[i] == hook)
			return true;
	return false;
}

void th_program_print_command(const struct th_live *l, const struct th_program *p,
			      struct th_str input, struct th_buf *out)
{
	struct th_str argv[] = { TH_STR("/bin/sh"), TH_STR("-c"), p->hook->command };
	struct th_jw w = th_jw(out);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	const struct {
		const char *name;
		struct th_str value;
	} environment[] = {
		{ "OPENHANDS_PROJECT_DIR", l->fold.workspace },
		{ "OPENHANDS_SESSION_ID", th_str_of(l->id) },
		{ "OPENHANDS_EVENT_TYPE", th_json_raw_get(input, "event_type") },
		{ "OPENHANDS_TOOL_NAME", th_json_raw_get(input, "tool_name") },
	};

	th_jw_object(&w);
	th_jw_kstr(&w, "name", p->hook->name);
	th_jw_key(&w, TH_STR("argv"));
	th_jw_array(&w);
	for (size_t i = 0; i < TH_COUNT(argv); i++)
		th_jw_str(&w, argv[i]);
	th_jw_array_end(&w);
	th_jw_key(&w, TH_STR("environment"));
	th_jw_array(&w);
	for (size_t i = 0; i < TH_COUNT(environment); i++) {
		th_buf_clear(&text);
		th_buf_printf(&text, "%s=", environment[i].name);
		if (i < 2)
			th_buf_add(&text, environment[i].value);
		else if (!th_str_is(environment[i].value, "null"))
			th_program_add_plain(&text, environment[i].value);
		th_jw_str(&w, th_buf_str(&text));
	}
	th_jw_array_end(&w);
	th_jw_kraw(&w, "input", input);
	th_jw_kint(&w, "timeout_s", p->hook->timeout_s);
	th_jw_kbool(&w, "apart", true);
	if (is_of_the_first(l, p->hook))
		th_agent_secrets_name(l->session_config->agent->secrets, TH_SECRET_TO_HOOK,
				      p->hook->command, &w);
	th_jw_object_end(&w);
}
