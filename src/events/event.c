/* SPDX-License-Identifier: Apache-2.0 */
#include "events/event.h"

#define DIGEST_VERSION 1

TH_TABLE(ev_session_created, "The session begins: its agent, model and place.", true)
TH_TABLE(ev_session_forked, "The session begins as a copy of another's prefix.", true)
TH_TABLE(ev_message, "A message to the agent.", true)
TH_TABLE(ev_model_requested, "A model request is about to be sent; budget is reserved.", true)
TH_TABLE(ev_model_started, "The provider makes the answer in the background.", true)
TH_TABLE(ev_model_answered, "A complete answer of the model, verbatim.", true)
TH_TABLE(ev_model_failed, "A request ended without a usable answer.", true)
TH_TABLE(ev_call, "One call of an answer, with its class and the policy's verdict.", true)
TH_TABLE(ev_approval_requested, "A person must decide about a call.", true)
TH_TABLE(ev_approval_decided, "A person, or policy, decided.", true)
TH_TABLE(ev_intent, "An effect is about to start; durable before it does.", true)
TH_TABLE(ev_outcome, "The one result of a call.", true)
TH_TABLE(ev_question, "A call's server asks the person; an intent goes on with it.", true)
TH_TABLE(ev_sampled, "The model answered what a call's server asked of it.", true)
TH_TABLE(ev_server_task, "A call's server does it as a task, by whose name it is taken up.", true)
TH_TABLE(ev_parked, "An effect of unknown outcome waits until a person says how it ended.", true)
TH_TABLE(ev_settled, "A person said how such an effect ended.", true)
TH_TABLE(ev_hook_started, "A program that is a hook is about to start; durable before it does.",
	 true)
TH_TABLE(ev_guardrail, "A guardrail checked input, output or a call.", true)
TH_TABLE(ev_analysis, "An external analyser said how risky a call is.", true)
TH_TABLE(ev_handoff, "Another agent takes over.", true)
TH_TABLE(ev_delegation_started, "Another session works on a call.", true)
TH_TABLE(ev_delegation_waits, "That session waits for a person, or no longer does.", true)
TH_TABLE(ev_delegation_finished, "That session has ended; its usage counts here too.", true)
TH_TABLE(ev_code, "A function of the agent's code answered.", true)
TH_TABLE(ev_mcp_tools, "The tools of a server (MCP), as an agent has them from here on.", true)
TH_TABLE(ev_items_added, "Items were added to the history from outside.", true)
TH_TABLE(ev_items_removed, "The newest items were removed from the history.", true)
TH_TABLE(ev_condensation_requested, "Somebody asks for that before the next request.", true)
TH_TABLE(ev_condensation, "Older items were replaced in the history that the model sees.", true)
TH_TABLE(ev_control, "A person takes over from the agent, or gives back.", true)
TH_TABLE(ev_input, "A person is about to do something; durable before it is done.", true)
TH_TABLE(ev_input_done, "What became of that.", true)
TH_TABLE(ev_state_changed, "Paused, resumed, stopped, stuck or at a limit.", true)
TH_TABLE(ev_session_changed, "Its title, metadata, confirmations or secrets were changed.", true)
TH_TABLE(ev_budget, "A limit of the session was changed.", true)
TH_TABLE(ev_plan, "Plan mode begins, in which nothing is changed; or a person ends it.", true)
TH_TABLE(ev_asked, "Somebody asked the model something beside the task.", true)
TH_TABLE(ev_goal, "The session is given a goal, or it ends.", true)
TH_TABLE(ev_verdict, "Whether the task is done, as the model judges it.", true)
TH_TABLE(ev_error, "The run failed.", true)
TH_TABLE(ev_final, "The agent's final output.", true)

static const struct th_table *const tables[TH_EVENT_COUNT] = {
	[TH_EV_SESSION_CREATED] = &th_ev_session_created_table,
	[TH_EV_SESSION_FORKED] = &th_ev_session_forked_table,
	[TH_EV_MESSAGE] = &th_ev_message_table,
	[TH_EV_MODEL_REQUESTED] = &th_ev_model_requested_table,
	[TH_EV_MODEL_STARTED] = &th_ev_model_started_table,
	[TH_EV_MODEL_ANSWERED] = &th_ev_model_answered_table,
	[TH_EV_MODEL_FAILED] = &th_ev_model_failed_table,
	[TH_EV_CALL] = &th_ev_call_table,
	[TH_EV_APPROVAL_REQUESTED] = &th_ev_approval_requested_table,
	[TH_EV_APPROVAL_DECIDED] = &th_ev_approval_decided_table,
	[TH_EV_INTENT] = &th_ev_intent_table,
	[TH_EV_OUTCOME] = &th_ev_outcome_table,
	[TH_EV_QUESTION] = &th_ev_question_table,
	[TH_EV_SAMPLED] = &th_ev_sampled_table,
	[TH_EV_SERVER_TASK] = &th_ev_server_task_table,
	[TH_EV_PARKED] = &th_ev_parked_table,
	[TH_EV_SETTLED] = &th_ev_settled_table,
	[TH_EV_HOOK_STARTED] = &th_ev_hook_started_table,
	[TH_EV_GUARDRAIL] = &th_ev_guardrail_table,
	[TH_EV_ANALYSIS] = &th_ev_analysis_table,
	[TH_EV_HANDOFF] = &th_ev_handoff_table,
	[TH_EV_DELEGATION_STARTED] = &th_ev_delegation_started_table,
	[TH_EV_DELEGATION_WAITS] = &th_ev_delegation_waits_table,
	[TH_EV_DELEGATION_FINISHED] = &th_ev_delegation_finished_table,
	[TH_EV_CODE] = &th_ev_code_table,
	[TH_EV_MCP_TOOLS] = &th_ev_mcp_tools_table,
	[TH_EV_ITEMS_ADDED] = &th_ev_items_added_table,
	[TH_EV_ITEMS_REMOVED] = &th_ev_items_removed_table,
	[TH_EV_CONDENSATION] = &th_ev_condensation_table,
	[TH_EV_CONDENSATION_REQUESTED] = &th_ev_condensation_requested_table,
	[TH_EV_CONTROL] = &th_ev_control_table,
	[TH_EV_INPUT] = &th_ev_input_table,
	[TH_EV_INPUT_DONE] = &th_ev_input_done_table,
	[TH_EV_STATE_CHANGED] = &th_ev_state_changed_table,
	[TH_EV_BUDGET] = &th_ev_budget_table,
	[TH_EV_PLAN] = &th_ev_plan_table,
	[TH_EV_GOAL] = &th_ev_goal_table,
	[TH_EV_ASKED] = &th_ev_asked_table,
	[TH_EV_VERDICT] = &th_ev_verdict_table,
	[TH_EV_SESSION_CHANGED] = &th_ev_session_changed_table,
	[TH_EV_ERROR] = &th_ev_error_table,
	[TH_EV_FINAL] = &th_ev_final_table,
};

#define X(id, name, doc) name,
static const char *const event_names[] = { TH_EVENTS(X) NULL };
static const char *const class_names[] = { TH_CLASSES(X) NULL };
#undef X
#define X(id, name, doc) doc,
static const char *const event_docs[] = { TH_EVENTS(X) };
#undef X
#define X(id, name, doc) TH_STR_INIT(name),
static const struct th_str event_strs[] = { TH_EVENTS(X) };
#undef X
#define X(id, name) name,
static const char *const source_names[] = { TH_SOURCES(X) NULL };
static const char *const outcome_names[] = { TH_OUTCOMES(X) NULL };
#undef X

const char *th_event_name(enum th_event_kind kind)
{
	assert((unsigned)kind < TH_EVENT_COUNT);
	return event_names[kind];
}

/* Once per event of a replay. */
int th_event_find(struct th_str name)
{
	for (int i = 0; i < TH_EVENT_COUNT; i++) {
		if (th_str_eq(event_strs[i], name))
			return i;
	}
	return -1;
}

const char *th_event_doc(enum th_event_kind kind)
{
	assert((unsigned)kind < TH_EVENT_COUNT);
	return event_docs[kind];
}

const char *th_source_name(enum th_source source)
{
	assert((unsigned)source < TH_SOURCE_COUNT);
	return source_names[source];
}

int th_source_find(struct th_str name)
{
	return th_names_find(source_names, name);
}

const char *th_class_name(enum th_class c)
{
	assert((unsigned)c < TH_CLASS_COUNT);
	return class_names[c];
}

int th_class_find(struct th_str name)
{
	return th_names_find(class_names, name);
}

enum th_class th_class_of(struct th_str name)
{
	int found = th_class_find(name);

	return found < 0 ? TH_CLASS_W : (enum th_class)found;
}

/* The classes are declared in this order. */
enum th_class th_class_stricter(enum th_class a, enum th_class b)
{
	_Static_assert(TH_CLASS_L < TH_CLASS_R && TH_CLASS_R < TH_CLASS_K &&
			   TH_CLASS_K < TH_CLASS_V && TH_CLASS_V < TH_CLASS_W &&
			   TH_CLASS_W < TH_CLASS_X,
		       "classes stand from lax to strict");
	return TH_MAX(a, b);
}

enum th_class th_class_with_hints(enum th_class declared, const struct th_hints *hints)
{
	enum th_class class = declared;

	if (hints->read_only == 0)
		class = th_class_stricter(class, TH_CLASS_W);
	if (hints->idempotent == 0 && class == TH_CLASS_K)
		class = TH_CLASS_W;
	if (hints->destructive == 1)
		class = th_class_stricter(class, TH_CLASS_X);
	return class;
}

const char *th_outcome_name(enum th_outcome_status s)
{
	assert((unsigned)s < TH_OUTCOME_COUNT);
	return outcome_names[s];
}

struct th_str th_outcome_sentence(struct th_str text)
{
	struct th_str mark = TH_STR(TH_ERROR_MARK);

	return th_str_starts(text, mark) ? th_str_sub(text, mark.len, text.len) : text;
}

int th_outcome_find(struct th_str name)
{
	return th_names_find(outcome_names, name);
}

const struct th_table *th_event_table(enum th_event_kind kind)
{
	assert((unsigned)kind < TH_EVENT_COUNT);
	return tables[kind];
}

/* ---- the chain ---- */

/* Collects the many small columns, so that the hash sees few and large pieces. */
struct mixer {
	struct th_sha256 hash;
	size_t len;
	uint8_t bytes[512];
};

static void mix(struct mixer *m, const void *ptr, size_t len)
{
	if (len > sizeof(m->bytes) - m->len) {
		th_sha256_add(&m->hash, m->bytes, m->len);
		m->len = 0;
	}
	if (len > sizeof(m->bytes)) {
		th_sha256_add(&m->hash, ptr, len);
	} else if (len > 0) {
		memcpy(m->bytes + m->len, ptr, len);
		m->len += len;
	}
}

static void mix_u64(struct mixer *m, uint64_t v)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(v >> (8 * i));
	mix(m, bytes, sizeof(bytes));
}

static void mix_str(struct mixer *m, struct th_str s)
{
	uint8_t bytes[4];

	assert(s.len <= UINT32_MAX);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(s.len >> (8 * i));
	mix(m, bytes, sizeof(bytes));
	mix(m, s.ptr, s.len);
}

struct th_digest th_event_digest(const struct th_digest *before, struct th_str session_id,
				 const struct th_event *ev)
{
	struct mixer m;
	uint8_t version = DIGEST_VERSION;

	m.len = 0;
	th_sha256_init(&m.hash);
	mix(&m, &version, 1);
	mix(&m, before->bytes, sizeof(before->bytes));
	mix_u64(&m, ev->seq);
	mix_u64(&m, (uint64_t)ev->ts_ms);
	mix_u64(&m, ev->cause);
	mix(&m, ev->id.bytes, sizeof(ev->id.bytes));
	mix_str(&m, session_id);
	mix_str(&m, th_str_of(th_source_name(ev->source)));
	mix_str(&m, th_str_of(th_event_name(ev->kind)));
	mix_str(&m, ev->call);
	mix_str(&m, ev->data);
	mix_str(&m, ev->build);
	th_sha256_add(&m.hash, m.bytes, m.len);
	return th_sha256_end(&m.hash);
}

/* ---- as a line of JSON ---- */

struct event_line {
	struct th_str session, id, call, data, build;
	int64_t seq, ts_ms, source, kind, cause;
};

/* clang-format off */
#define ROW(kind, field, flags, doc, names) \
	{ #field, offsetof(struct event_line, field), TH_FIELD_##kind, flags, doc, NULL, names, false, 0 },
static const struct th_field line_fields[] = {
	ROW(str, session, 0, "session it belongs to", NULL)
	ROW(int, seq, TH_REQ | TH_POSITIVE, "its number in the session, from 1", NULL)
	ROW(str, id, 0, "its UUID", NULL)
	ROW(int, ts_ms, 0, "when: milliseconds since 1970, UTC", NULL)
	ROW(enum, source, TH_REQ, "who wrote it", source_names)
	ROW(enum, kind, TH_REQ, "what happened; says which members data has", event_names)
	ROW(int, cause, TH_NONEG, "number of the event that led here", NULL)
	ROW(str, call, 0, "call_id, where the event is about a call", NULL)
	ROW(raw, data, TH_REQ, "object: the members of its kind", NULL)
	ROW(str, build, 0, "version of the program that wrote it", NULL)
};
/* clang-format on */

static const struct th_table line_table = {
	"event", "One event.", line_fields, TH_COUNT(line_fields), sizeof(struct event_line), true,
};

void th_event_print(struct th_str session_id, const struct th_event *ev, struct th_jw *w)
{
	char id[TH_UUID_TEXT_SIZE + 1];
	struct event_line line = {
		.session = session_id,
		.seq = (int64_t)ev->seq,
		.id = { id, TH_UUID_TEXT_SIZE },
		.ts_ms = ev->ts_ms,
		.source = ev->source,
		.kind = ev->kind,
		.cause = (int64_t)ev->cause,
		.call = ev->call,
		.data = ev->data,
		.build = ev->build,
	};

	th_uuid_text(&ev->id, id);
	th_table_print(&line_table, &line, w);
}

enum th_code th_event_parse(const struct th_json *v, struct th_arena *a, struct th_event *ret,
			    struct th_err *err)
{
	struct event_line line;
	struct th_uuid id = {};
	enum th_code code = th_table_parse(&line_table, v, a, &line, err);

	if (code != TH_OK)
		return code;
	if (!th_json_is_object(th_json_get(v, "data")))
		return th_fail(err, TH_EUSAGE, "data: must be an object");
	if (line.id.len > 0 && !th_uuid_parse(line.id, &id))
		return th_fail(err, TH_EUSAGE, "id: must be a UUID");
	line.call = th_arena_str(a, line.call);
	line.build = th_arena_str(a, line.build);
	if (!line.call.ptr || !line.build.ptr)
		return th_fail(err, TH_ELIMIT, "an event takes more than the %zu bytes there are",
			       a->max);
	*ret = (struct th_event){
		.seq = (uint64_t)line.seq,
		.ts_ms = line.ts_ms,
		.id = id,
		.source = (enum th_source)line.source,
		.kind = (enum th_event_kind)line.kind,
		.cause = (uint64_t)line.cause,
		.call = line.call,
		.data = line.data,
		.build = line.build,
	};
	return TH_OK;
}
