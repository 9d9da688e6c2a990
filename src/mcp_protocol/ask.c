/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.c - questions of a tool to the client: forms for its user, a model that
 * it has, its folders.
 *
 * In the older era a question is a request on the event stream of the call, and
 * its answer a POST of its own.  In the newer one the call is answered with the
 * questions, and made again with the answers; what the tool wants to have again
 * is with the client meanwhile, sealed so that it cannot be changed.
 */
#include <stdio.h>
#include <stdlib.h>

#include "io/clock.h"
#include "mcp_protocol/mcp.h"

#define HEX TH_SHA256_HEX_SIZE

static char *copy(struct th_str s)
{
	char *text = th_alloc(s.len + 1);

	memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	return text;
}

bool th_mcp_asked_by(struct th_str message, char ret[static TH_FLEET_TAG_SIZE + 1])
{
	struct th_str id = th_json_raw_inside(th_json_raw_get(message, "id"));

	if (th_json_raw_get(message, "method").len || id.len < TH_FLEET_TAG_SIZE + 2 ||
	    id.ptr[TH_FLEET_TAG_SIZE] != '.')
		return false;
	memcpy(ret, id.ptr, TH_FLEET_TAG_SIZE);
	ret[TH_FLEET_TAG_SIZE] = '\0';
	return true;
}

bool th_mcp_can(const struct th_mcp *m, const char *capability)
{
	if (!m->modern && !m->session)
		return false; /* there is nobody who could answer */
	return th_json_is_object(th_json_get(m->capabilities, capability));
}

const struct th_json *th_mcp_input(const struct th_mcp *m, const char *key)
{
	for (size_t i = 0; i < m->input_count; i++)
		if (m->inputs[i].doc && strcmp(m->inputs[i].key, key) == 0)
			return th_json_root(m->inputs[i].doc);
	return NULL;
}

const char *th_mcp_state(const struct th_mcp *m)
{
	return m->state ? m->state : "";
}

void th_mcp_question(struct th_mcp *m, struct th_jw *w, const char *key, const char *method,
		     struct th_str params)
{
	(void)m;
	th_jw_name(w, th_str_of(key));
	th_jw_object(w);
	th_jw_kstr(w, "method", th_str_of(method));
	th_jw_kraw(w, "params", params);
	th_jw_object_end(w);
}

void th_mcp_forget_inputs(struct th_mcp *m)
{
	for (size_t i = 0; i < m->input_count; i++) {
		free(m->inputs[i].key);
		th_json_free(m->inputs[i].doc);
	}
	m->input_count = m->input_waits = 0;
	free(m->state);
	m->state = NULL;
}

/* ---- what the client keeps for us ---- */

/* Nodes of a fleet open what another one sealed. */
static struct th_digest key_of(const struct th_server *s)
{
	struct th_str secret = { (const char *)s->mcp_key, sizeof(s->mcp_key) };
	static const char purpose[] = "thole mcp requestState";

	if (s->settings.fleet_secret)
		secret = th_secret_expose(s->settings.fleet_secret);
	return th_hmac_sha256(secret.ptr, secret.len, purpose, sizeof(purpose));
}

/* Of the state, who it is of, and the call: nobody else can use it, and for nothing else. */
static bool seal(const struct th_mcp *m, struct th_str text, struct th_digest *ret)
{
	struct th_buf all TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_SERVE_JSON_MAX);
	struct th_str name = th_json_get_str(m->params, "name");
	struct th_digest key = key_of(m->access->server);

	th_buf_add_mem(&all, m->access->user, strlen(m->access->user) + 1);
	th_buf_add(&all, m->method);
	th_buf_add_char(&all, '\0');
	th_buf_add(&all, name);
	th_buf_add_char(&all, '\0');
	th_buf_add(&all, text);
	*ret = th_hmac_sha256(key.bytes, sizeof(key.bytes), all.ptr, all.len);
	explicit_bzero(&key, sizeof(key));
	return !all.failed;
}

/* HMAC, the time until which it holds, and the state in base64. */
static void put_state(const struct th_mcp *m, const char *state, struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_digest mine;
	char hex[HEX + 1];

	th_buf_printf(&text, "%llu.", (unsigned long long)(th_clock_wall_ms() + TH_MCP_STATE_MS));
	th_base64_encode(&text, state, strlen(state));
	if (!seal(m, th_buf_str(&text), &mine))
		return; /* it is none, and is refused when it comes back */
	th_digest_hex(&mine, hex);
	th_buf_printf(out, "%s.", hex);
	th_buf_add(out, th_buf_str(&text));
}

static bool read_state(struct th_mcp *m, struct th_str text)
{
	struct th_buf state TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_str given = th_str_split(&text, '.'), rest = text, until;
	struct th_digest mine, theirs;
	int64_t until_ms;

	until = th_str_split(&text, '.');
	if (!th_digest_parse(given, &theirs) || !seal(m, rest, &mine) ||
	    !th_digest_eq(&mine, &theirs) || !th_str_i64(until, &until_ms) ||
	    until_ms < (int64_t)th_clock_wall_ms() || !th_base64_decode(&state, text))
		return false;
	m->state = copy(th_buf_str(&state));
	return true;
}

bool th_mcp_state_of(struct th_str text, struct th_buf *out)
{
	(void)th_str_split(&text, '.');
	(void)th_str_split(&text, '.');
	return text.len && th_base64_decode(out, text);
}

bool th_mcp_read_inputs(struct th_mcp *m)
{
	const struct th_json *inputs = th_json_get(m->params, "inputResponses");
	const struct th_json *state = th_json_get(m->params, "requestState");
	struct th_json_iter it = th_json_iter(inputs);
	bool good = !inputs || th_json_is_object(inputs);

	while (good && th_json_next(&it)) {
		struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
		struct th_mcp_input *in = &m->inputs[m->input_count];

		good = th_json_is_object(it.val);
		if (!good || m->input_count == TH_MCP_ASKS_MAX)
			break;
		th_json_print(it.val, &text);
		if (th_json_parse(th_buf_str(&text), &in->doc, NULL) != TH_OK)
			break;
		in->key = copy(it.key);
		m->input_count++;
	}
	if (!good) {
		th_mcp_fault(m, 400, TH_MCP_PARAMS, (struct th_str){ NULL, 0 },
			     "inputResponses is an object of objects");
		return false;
	}
	if (state && !read_state(m, th_json_str(state))) {
		th_mcp_fault(m, 400, TH_MCP_PARAMS, (struct th_str){ NULL, 0 },
			     "requestState is none that was given here, or it has run out");
		return false;
	}
	return true;
}

/* ---- asking ---- */

static void ask_modern(struct th_mcp *m, struct th_str questions, const char *state)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw w = th_jw(&out);

	th_jw_object(&w);
	th_jw_kstr(&w, "resultType", TH_STR("input_required"));
	th_jw_kraw(&w, "inputRequests", questions);
	if (state) {
		struct th_buf sealed TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);

		put_state(m, state, &sealed);
		th_jw_kstr(&w, "requestState", th_buf_str(&sealed));
	}
	th_jw_object_end(&w);
	th_mcp_answer(m, th_buf_str(&out));
}

static void put_number(const struct th_mcp *m, uint64_t number, struct th_jw *w)
{
	char text[TH_FLEET_TAG_SIZE + 32], tag[TH_FLEET_TAG_SIZE + 1];

	if (!m->session->guest_over) {
		th_jw_kuint(w, "id", number);
		return;
	}
	th_fleet_tag(m->access->server->settings.s.fleet->address, tag);
	snprintf(text, sizeof(text), "%s.%llu", tag, (unsigned long long)number);
	th_jw_kstr(w, "id", th_str_of(text));
}

static bool send_question(struct th_mcp *m, struct th_str key, struct th_str question)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_mcp_input *in = &m->inputs[m->input_count];
	struct th_jw w = th_jw(&json);

	if (m->input_count == TH_MCP_ASKS_MAX)
		return false;
	*in = (struct th_mcp_input){ .key = copy(key), .number = ++m->access->server->mcp_asked };
	m->input_count++;
	m->input_waits++;
	th_jw_object(&w);
	th_jw_kstr(&w, "jsonrpc", TH_STR("2.0"));
	put_number(m, in->number, &w);
	th_jw_kraw(&w, "method", th_json_raw_get(question, "method"));
	th_jw_kraw(&w, "params", th_json_raw_get(question, "params"));
	th_jw_object_end(&w);
	th_mcp_send(m, th_buf_str(&json));
	return true;
}

static bool is_there(const struct th_mcp_session *s, const struct th_mcp *m)
{
	const struct th_mcp *at = s->requests;

	while (at && at != m)
		at = at->next;
	return at;
}

void th_mcp_ask(struct th_mcp *m, struct th_str questions, const char *state)
{
	struct th_json_raw_iter it = th_json_raw_iter(questions);
	const struct th_mcp_session *s = m->session;

	if (m->modern) {
		ask_modern(m, questions, state);
		return;
	}
	if (!s) {
		th_mcp_text(m, TH_STR("the client's session is over"), true);
		return;
	}
	free(m->state);
	m->state = state ? copy(th_str_of(state)) : NULL;
	/* Its client may leave at any of them, and then it is freed. */
	while (is_there(s, m) && th_json_raw_next(&it))
		if (!send_question(m, it.key, it.val)) {
			th_mcp_text(m, TH_STR("too much was asked in one call"), true);
			return;
		}
}

/* ---- answers of the older era ---- */

/* Of a question of ours; 0: it is none. */
static uint64_t number_of(const struct th_json *id)
{
	struct th_str text = th_json_str(id);
	int64_t number;

	if (th_json_type(id) != TH_JSON_STR)
		return th_json_uint(id, 0);
	(void)th_str_split(&text, '.');
	return th_str_i64(text, &number) && number > 0 ? (uint64_t)number : 0;
}

static struct th_mcp *find(struct th_mcp_session *s, uint64_t number, struct th_mcp_input **ret)
{
	for (struct th_mcp *m = s->requests; m; m = m->next)
		for (size_t i = 0; i < m->input_count; i++)
			if (!m->inputs[i].doc && m->inputs[i].number == number) {
				*ret = &m->inputs[i];
				return m;
			}
	return NULL;
}

bool th_mcp_answered(struct th_mcp_session *s, const struct th_json *message)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	const struct th_json *result = th_json_get(message, "result");
	struct th_mcp_input *in = NULL;
	struct th_mcp *m = find(s, number_of(th_json_get(message, "id")), &in);

	if (!m)
		return false;
	if (th_json_is_object(result))
		th_json_print(result, &text);
	else /* who cannot answer has not answered */
		th_buf_add_cstr(&text, "{\"action\":\"cancel\"}");
	if (th_json_parse(th_buf_str(&text), &in->doc, NULL) != TH_OK || --m->input_waits)
		return true;
	th_mcp_again(m);
	return true;
}
