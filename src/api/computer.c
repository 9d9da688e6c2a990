/* SPDX-License-Identifier: Apache-2.0 */
/* computer.c - a computer without an agent (runtime/computer.h). */
#include "runtime/computer.h"

#include <stdlib.h>

#include "actions/action.h"
#include "api/api.h"
#include "api/computer.h"
#include "computers/computers.h"
#include "core/session.h"
#include "io/clock.h"

#define COMMAND_MS_MAX 3600000

struct computer_call {
	struct computer_call *prev, *next;
	struct thole_computer *computer;
	thole_computer_fn *fn;
	void *ctx;
	enum th_class class;
	int64_t timeout_ms;
	struct th_buf output; /* of a command */
	bool lost;            /* a part of that */
	char id[TH_UUID_TEXT_SIZE + 1], digest[TH_SHA256_HEX_SIZE + 1];
	char *tool, *arguments;
};

static void call_free(struct computer_call *call)
{
	struct thole_computer *c = call->computer;

	if (call->prev)
		call->prev->next = call->next;
	else
		c->calls = call->next;
	if (call->next)
		call->next->prev = call->prev;
	c->count--;
	th_buf_deinit(&call->output);
	free(call->tool);
	free(call->arguments);
	free(call);
}

/* The last that is done with the call: its function may free the computer. */
static void tell(struct computer_call *call, enum th_outcome_status status, struct th_str output,
		 struct th_str evidence, struct th_str bytes)
{
	char *said = th_api_copy(output), *known = evidence.len ? th_api_copy(evidence) : NULL;
	thole_computer_fn *fn = call->fn;
	void *ctx = call->ctx;
	struct th_buf kept = call->output;

	th_buf_init(&call->output, 0);
	call_free(call);
	fn(ctx, th_outcome_name(status), said, known, bytes.ptr, bytes.len);
	th_buf_deinit(&kept);
	free(said);
	free(known);
}

static void tell_why(struct computer_call *call, enum th_outcome_status status, const char *why)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_jw w = th_jw(&json);

	th_jw_str(&w, th_str_of(why));
	tell(call, status, th_buf_str(&json), TH_STR(""), TH_STR(""));
}

static void on_output(void *ctx, uint64_t offset, struct th_str bytes)
{
	struct computer_call *call = ctx;

	call->lost |= offset != call->output.len;
	th_buf_add(&call->output, bytes);
}

static void on_finished(void *ctx, const struct th_effect_result *r)
{
	struct computer_call *call = ctx;
	struct th_str id = th_str_of(call->id), bytes = th_buf_str(&call->output);

	if (r->blob_count)
		bytes = r->blobs[r->blob_count - 1].bytes;
	th_executor_client_forget(call->computer->client, &id, 1);
	if (call->lost || call->output.failed)
		tell_why(call, TH_OUTCOME_FAILED,
			 "the command wrote more than can be given back at once");
	else
		tell(call, r->status, r->output, r->evidence, bytes);
}

/* Its screen is there, so that a command finds it. */
static void on_ready(void *ctx, const struct th_executor_info *info, const struct th_err *err)
{
	struct computer_call *call = ctx;
	struct th_effect_call what = {
		.effect_id = th_str_of(call->id),
		.class = call->class,
		.tool = th_str_of(call->tool),
		.arguments = th_str_of(call->arguments),
		.digest = th_str_of(call->digest),
		.timeout_ms = call->timeout_ms,
	};
	struct th_executor_handlers h = { .on_finished = on_finished, .ctx = call };

	if (!info) {
		tell_why(call, TH_OUTCOME_NOT_STARTED, err->msg);
		return;
	}
	th_api_computer_ready(call->computer, info);
	if (th_str_is(what.tool, "shell"))
		h.on_output = on_output;
	th_executor_client_run(call->computer->client, &what, &h);
}

/* ---- the API ---- */

static int read_size(const char *text, struct th_size *ret, struct thole_error *err)
{
	struct th_str height = th_str_of(text), width = th_str_split(&height, 'x');
	int64_t w, h;

	if (!th_str_i64(width, &w) || !th_str_i64(height, &h) || w < 1 || h < 1 ||
	    w > TH_SCREEN_SIDE_MAX || h > TH_SCREEN_SIDE_MAX)
		return th_api_fail(err, TH_EUSAGE, "size is WIDTHxHEIGHT, such as 1280x800");
	*ret = (struct th_size){ (int32_t)w, (int32_t)h };
	return TH_OK;
}

/* The first kind that it works on; NULL: there is none. */
static const struct th_computer_kind *with_tool(const char *tool)
{
	size_t i = 0;

	while (th_computer_kinds[i] &&
	       !(th_computer_kinds[i]->tool && strcmp(th_computer_kinds[i]->tool, tool) == 0))
		i++;
	return th_computer_kinds[i];
}

static int read_options(const char *const *options, struct th_executor_options *o,
			struct thole_error *err)
{
	int code = TH_OK;

	for (; !code && options && *options; options += 2) {
		code = th_api_text(*options, "an option's name", 1, TH_PATH_LEN_MAX, err)
			   ?: th_api_text(options[1], *options, 1, TH_PATH_LEN_MAX, err);
		if (code)
			return code;
		if (strcmp(*options, "folder") == 0)
			o->workspace = th_str_of(options[1]);
		else if (strcmp(*options, "size") == 0)
			code = read_size(options[1], &o->size, err);
		else if (strcmp(*options, "tool") == 0 && with_tool(options[1]))
			o->computer = th_str_of(with_tool(options[1])->name);
		else if (strcmp(*options, "net") == 0 &&
			 (strcmp(options[1], "host") == 0 || strcmp(options[1], "none") == 0))
			o->net_host = strcmp(options[1], "host") == 0;
		else
			return th_api_fail(
			    err, TH_EUSAGE,
			    "a computer's options are folder, size, tool (one that works "
			    "on it) and net (host or none), not \"%.64s\"",
			    *options);
	}
	if (!code && (!o->workspace.len || o->workspace.ptr[0] != '/'))
		return th_api_fail(err, TH_EUSAGE, "folder must be given, an absolute path");
	return code;
}

int thole_computer_new(struct thole_runtime *rt, const char *name, const char *const *options,
		       struct thole_computer **ret, struct thole_error *err)
{
	struct th_executor_options o = { .session = th_str_of(name),
					 .computer = TH_STR("desktop"),
					 .command_ms_max = COMMAND_MS_MAX };
	struct th_executor_client *client;
	struct thole_computer *c;
	struct th_err e = { 0 };
	enum th_code made;
	int code = th_api_enter(rt, err);

	if (!code)
		code = th_api_text(name, "the computer's name", 1, TH_SESSION_ID_MAX, err);
	if (!code && !ret)
		code = th_api_fail(err, TH_EUSAGE, "ret is NULL");
	if (!code)
		code = read_options(options, &o, err);
	if (code)
		return code;
	made = th_runtime_computer(rt->rt, &o, &client, &e);
	if (made)
		return th_api_out(made, &e, err);
	c = th_alloc(sizeof(*c));
	*c = (struct thole_computer){ .rt = rt,
				      .client = client,
				      .tool = th_computer_find(o.computer)->tool,
				      .next = rt->computers };
	if (c->next)
		c->next->prev = c;
	rt->computers = c;
	*ret = c;
	return TH_OK;
}

static void computer_free(struct thole_computer *c)
{
	th_executor_client_free(c->client);
	th_api_terminals_end(c);
	while (c->calls)
		call_free(c->calls);
	free(c);
}

void thole_computer_free(struct thole_computer *c)
{
	if (!c || th_api_enter(c->rt, NULL))
		return;
	if (c->prev)
		c->prev->next = c->next;
	else
		c->rt->computers = c->next;
	if (c->next)
		c->next->prev = c->prev;
	computer_free(c);
}

void th_api_computers_end(struct thole_runtime *rt)
{
	while (rt->computers) {
		struct thole_computer *c = rt->computers;

		rt->computers = c->next;
		computer_free(c);
	}
}

/* Actions that only look are done again when the executor is lost. */
static enum th_class class_of(const char *tool, const struct th_json *arguments)
{
	struct th_json_iter it = th_json_iter(th_json_get(arguments, "actions"));
	enum th_class class = strcmp(tool, "computer") == 0 ? TH_CLASS_R : TH_CLASS_W;

	while (th_json_next(&it)) {
		int kind = th_action_find(th_json_get_str(it.val, "type"));

		if (kind < 0 || th_action_class((enum th_action_kind)kind) != 'R')
			class = TH_CLASS_W;
	}
	return class;
}

int thole_computer_call(struct thole_computer *c, const char *tool, const char *arguments,
			int64_t timeout_ms, thole_computer_fn *fn, void *ctx,
			struct thole_error *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct computer_call *call;
	struct th_uuid id;
	int code =
	    c ? th_api_enter(c->rt, err) : th_api_fail(err, TH_EUSAGE, "the computer is NULL");

	if (!code)
		code = th_api_text(tool, "the tool", 1, TH_NAME_NEAR_MAX, err);
	if (!code && strcmp(tool, "computer") != 0 && strcmp(tool, "shell") != 0 &&
	    !(c->tool && strcmp(tool, c->tool) == 0))
		code = th_api_fail(err, TH_EUSAGE,
				   "the tools are computer, shell, and the one that "
				   "the computer was made for");
	if (!code)
		code = th_api_text(arguments, "arguments", 2, TH_COMPUTER_ACTIONS_SIZE_MAX, err);
	if (!code && (th_json_parse(th_str_of(arguments), &doc, NULL) ||
		      !th_json_is_object(th_json_root(doc))))
		code = th_api_fail(err, TH_EUSAGE, "arguments must be a JSON object");
	if (!code && (!fn || timeout_ms < 0))
		code = th_api_fail(err, TH_EUSAGE, "fn is NULL, or timeout_ms is negative");
	if (!code && c->count >= TH_EXEC_RUNNING_MAX)
		code = th_api_fail(err, TH_ELIMIT, "%d calls are under way", TH_EXEC_RUNNING_MAX);
	if (code)
		return code;
	call = th_alloc(sizeof(*call));
	*call = (struct computer_call){ .computer = c,
					.fn = fn,
					.ctx = ctx,
					.class = class_of(tool, th_json_root(doc)),
					.timeout_ms = timeout_ms,
					.next = c->calls,
					.tool = th_api_copy(th_str_of(tool)),
					.arguments = th_api_copy(th_str_of(arguments)) };
	th_buf_init(&call->output, 4 * TH_TOOL_OUTPUT_MAX);
	id = th_uuid_now();
	th_uuid_text(&id, call->id);
	th_call_digest(th_str_of(tool), th_str_of(arguments), call->digest);
	if (call->next)
		call->next->prev = call;
	c->calls = call;
	c->count++;
	th_executor_client_ready(c->client, true, on_ready, call);
	return TH_OK;
}

int thole_computer_width(const struct thole_computer *c)
{
	return c ? c->size.width : 0;
}

int thole_computer_height(const struct thole_computer *c)
{
	return c ? c->size.height : 0;
}
