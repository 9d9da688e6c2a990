/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide.c - thole approve, thole answer, thole reject, thole settle, thole cancel: a person's word
 * on a session that nobody runs, written into its log.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "admin/edit.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/holder.h"
#include "console/view.h"
#include "driver/driver.h"
#include "exec_client/client.h"
#include "io/clock.h"
#include "remote/remote.h"

#define OWNER_WAIT_MS 15000 /* for a runtime to end after the request to */
#define OWNER_POLL_US 50000
#define LINE_COLUMNS_MAX 2000 /* of what a call does */

struct decide_options {
	struct th_common common;
	struct th_str message;
	bool all, always;
};

static const struct th_option approve_options[] = {
	{ "all", 'a', NULL, TH_OPTION_FLAG, offsetof(struct decide_options, all),
	  "all calls that wait", NULL },
	{ "always", 0, NULL, TH_OPTION_FLAG, offsetof(struct decide_options, always),
	  "also every other call of its tool in this session", NULL },
	TH_OPTIONS_SERVER(struct decide_options, common),
	TH_OPTIONS_COMMON(struct decide_options, common),
	TH_OPTIONS_END,
};

static const struct th_option reject_options[] = {
	{ "message", 'm', "TEXT", TH_OPTION_TEXT, offsetof(struct decide_options, message),
	  "text for the model instead of a result", NULL },
	{ "all", 'a', NULL, TH_OPTION_FLAG, offsetof(struct decide_options, all),
	  "all calls that wait", NULL },
	{ "always", 0, NULL, TH_OPTION_FLAG, offsetof(struct decide_options, always),
	  "also every later call of its tool in this session", NULL },
	TH_OPTIONS_SERVER(struct decide_options, common),
	TH_OPTIONS_COMMON(struct decide_options, common),
	TH_OPTIONS_END,
};

static const struct th_option answer_options[] = {
	TH_OPTIONS_SERVER(struct decide_options, common),
	TH_OPTIONS_COMMON(struct decide_options, common),
	TH_OPTIONS_END,
};

struct said {
	struct th_buf *out;
	const char *what;
	size_t count;
};

static void on_decided(void *ctx, const struct th_call *c)
{
	struct said *s = ctx;

	s->count++;
	th_buf_printf(s->out, "%s: ", s->what);
	(void)th_view_call(c->tool, c->arguments, LINE_COLUMNS_MAX, s->out);
	th_buf_add_char(s->out, '\n');
}

/* One decision, or with `all` one after the other until no call waits. */
static enum th_code decide(struct th_edit *e, const struct decide_options *o, struct th_str call_id,
			   bool approve, struct th_buf *out, struct th_err *err)
{
	const struct th_ev_approval_decided word = {
		.approve = approve, .always = o->always, .by = th_cli_user(), .message = o->message
	};
	struct said said = { .out = out,
			     .what = !approve         ? "rejected"
				     : o->message.len ? "answered"
						      : "approved" };
	enum th_code code;

	do
		code = th_edit_decide(e, call_id, &word, on_decided, &said, err);
	while (!code && o->all && !call_id.len);
	return code == TH_ENOENT && said.count ? TH_OK : code;
}

/* In the session, or in one that works for it. */
static bool another_waits(struct th_store *store, struct th_str id, enum th_call_phase phase)
{
	struct th_edit e;
	struct th_err ignored;
	bool waits;

	if (th_edit_open_waiting(&e, store, id, phase, TH_STR(""), &ignored) != TH_OK)
		return false;
	waits = th_session_waits(&e.session, phase, TH_STR("")) != NULL;
	th_edit_close(&e);
	return waits;
}

static void what_next(struct th_store *store, struct th_str id, const struct th_common *o,
		      struct th_buf *out)
{
	bool waits =
	    another_waits(store, id, TH_CALL_ASKED) || another_waits(store, id, TH_CALL_PARKED);

	th_buf_printf(out, waits ? "another call waits: %s log " : "to go on: %s resume ",
		      th_cli_program());
	th_cli_word(out, id);
	th_cli_same_log(o, out);
	th_buf_add_char(out, '\n');
}

enum decision { APPROVE, REJECT, ANSWER };

static int run_decide(const struct th_command *self, int argc, char **argv, enum decision what)
{
	bool approve = what != REJECT;
	int more = what == ANSWER; /* operands */
	struct decide_options o = {};
	struct th_operands rest;
	struct th_remote *remote TH_CLEANUP(th_remote_freep) = NULL;
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_session_row row;
	struct th_edit e;
	struct th_str call_id = TH_STR("");
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);

	th_arena_init(&a, TH_MIB);
	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count < 1 + more || rest.count > 2 + more)
		return th_cli_die(
		    2, "%s needs the name of a session%s; %s sessions --state waiting lists them",
		    self->name, more ? ", and the answer" : "", th_cli_program());
	if (what == ANSWER)
		o.message = th_str_of(rest.list[1]);
	if (what == ANSWER && !o.message.len)
		return th_cli_die(2, "the answer is empty");
	code = th_remote_find(&o.common, &remote, &err);
	if (code == TH_OK)
		code = th_cli_session(&o.common, true, th_str_of(rest.list[0]), &a, &store, &row,
				      &err);
	if (rest.count == 2 + more)
		call_id = th_str_of(rest.list[1 + more]);
	if (code == TH_OK && remote)
		return th_remote_decide(&(struct th_remote_decision){ .common = &o.common,
								      .session_id = row.session_id,
								      .call_id = call_id,
								      .message = o.message,
								      .word = self->name,
								      .all = o.all,
								      .always = o.always });
	do {
		if (code == TH_OK)
			code = th_edit_open_waiting(&e, store, row.session_id, TH_CALL_ASKED,
						    call_id, &err);
		if (code != TH_OK)
			return th_holder_fail(&err);
		code = decide(&e, &o, call_id, approve, &out, &err);
		th_edit_close(&e);
	} while (code == TH_OK && o.all && !call_id.len &&
		 another_waits(store, row.session_id, TH_CALL_ASKED));
	if (code == TH_OK)
		what_next(store, row.session_id, &o.common, &out);
	return code == TH_OK ? th_cli_print(&out, 0) : th_cli_fail(&err);
}

static int run_approve(const struct th_command *self, int argc, char **argv)
{
	return run_decide(self, argc, argv, APPROVE);
}

static int run_reject(const struct th_command *self, int argc, char **argv)
{
	return run_decide(self, argc, argv, REJECT);
}

const struct th_command th_command_approve = {
	.name = "approve",
	.operands = "NAME [CALL]",
	.summary = "approve a call that waits for a person",
	.text = "Approves the first waiting call of session NAME, or CALL: the call's id in the "
		"log, or ID#EVENT if\n"
		"the model has used that id before. The approval is valid once, for exactly this "
		"action, and is\n"
		"written to the log; thole resume then runs the call. With --always, waiting and "
		"later calls of the\n"
		"tool need no approval in this session, unless they cannot be undone, a rule that "
		"checks the call's\n"
		"content asks, or the model's provider wants a check.\n"
		"A call may also wait while it runs, for a host that its agent's net does not list "
		"(net_ask): then the\n"
		"host may be reached in this task or, with --always, in this session.\n"
		"\n"
		"Examples:\n"
		"  thole log report                 # shows what waits\n"
		"  thole approve report && thole resume report\n",
	.options = approve_options,
	.words = "SESSION",
	.run = run_approve,
};

const struct th_command th_command_reject = {
	.name = "reject",
	.operands = "NAME [CALL]",
	.summary = "reject a call that waits for a person",
	.text = "The call does not run. The model gets this result, with the message, when the "
		"session continues.\n"
		"\n"
		"Examples:\n"
		"  thole reject report -m \"not in that folder\" && thole resume report\n",
	.options = reject_options,
	.words = "SESSION",
	.run = run_reject,
};

static int run_answer(const struct th_command *self, int argc, char **argv)
{
	return run_decide(self, argc, argv, ANSWER);
}

const struct th_command th_command_answer = {
	.name = "answer",
	.operands = "NAME TEXT [CALL]",
	.summary = "answer a question of the agent",
	.text =
	    "The agent asked with its tool ask, and waits. The text is the result that the model "
	    "gets when the session\n"
	    "continues. CALL names one of several questions, as thole log shows it.\n"
	    "\n"
	    "Examples:\n"
	    "  thole answer report \"the blue one\" && thole resume report\n",
	.options = answer_options,
	.words = "SESSION",
	.run = run_answer,
};

/* ---- settle ---- */

struct settle_options {
	struct th_common common;
	struct th_str as, message;
};

static const struct th_option settle_options[] = {
	{ "as", 0, "WORD", TH_OPTION_TEXT, offsetof(struct settle_options, as),
	  "done, not_started or unknown (nobody can tell)", "done not_started unknown" },
	{ "message", 'm', "TEXT", TH_OPTION_TEXT, offsetof(struct settle_options, message),
	  "additional text for the model", NULL },
	TH_OPTIONS_SERVER(struct settle_options, common),
	TH_OPTIONS_COMMON(struct settle_options, common),
	TH_OPTIONS_END,
};

static enum th_code word_of(struct th_str as, enum th_outcome_status *ret, struct th_err *err)
{
	int found = th_outcome_find(as);

	if (found != TH_OUTCOME_DONE && found != TH_OUTCOME_NOT_STARTED &&
	    found != TH_OUTCOME_UNKNOWN)
		return th_fail(err, TH_EUSAGE,
			       "settle needs --as done, --as not_started or --as unknown");
	*ret = (enum th_outcome_status)found;
	return TH_OK;
}

static enum th_code settle(struct th_edit *e, const struct settle_options *o, struct th_str call_id,
			   enum th_outcome_status status, struct th_buf *out, struct th_err *err)
{
	size_t index;
	enum th_code code =
	    th_edit_settle(e, call_id, status, th_cli_user(), o->message, &index, err);

	if (code != TH_OK)
		return code;
	th_buf_printf(out, "%s: ", th_outcome_name(status));
	(void)th_view_call(e->session.calls[index].tool, e->session.calls[index].arguments,
			   LINE_COLUMNS_MAX, out);
	th_buf_add_char(out, '\n');
	return TH_OK;
}

static int run_settle(const struct th_command *self, int argc, char **argv)
{
	struct settle_options o = {};
	struct th_operands rest;
	struct th_remote *remote TH_CLEANUP(th_remote_freep) = NULL;
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_session_row row;
	struct th_edit e;
	struct th_err err = {};
	enum th_outcome_status status = TH_OUTCOME_UNKNOWN;
	struct th_str call_id = TH_STR("");
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);

	th_arena_init(&a, TH_MIB);
	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count < 1 || rest.count > 2)
		return th_cli_die(
		    2, "settle needs the name of a session; %s sessions --state waiting lists them",
		    th_cli_program());
	if (rest.count == 2)
		call_id = th_str_of(rest.list[1]);
	code = word_of(o.as, &status, &err);
	if (code == TH_OK)
		code = th_remote_find(&o.common, &remote, &err);
	if (code == TH_OK)
		code = th_cli_session(&o.common, true, th_str_of(rest.list[0]), &a, &store, &row,
				      &err);
	if (code == TH_OK && remote)
		return th_remote_decide(&(struct th_remote_decision){ .common = &o.common,
								      .session_id = row.session_id,
								      .call_id = call_id,
								      .message = o.message,
								      .word = "settle",
								      .as = o.as });
	if (code == TH_OK)
		code =
		    th_edit_open_waiting(&e, store, row.session_id, TH_CALL_PARKED, call_id, &err);
	if (code != TH_OK)
		return th_holder_fail(&err);
	code = settle(&e, &o, call_id, status, &out, &err);
	th_edit_close(&e);
	if (code == TH_OK)
		what_next(store, row.session_id, &o.common, &out);
	return code == TH_OK ? th_cli_print(&out, 0) : th_cli_fail(&err);
}

const struct th_command th_command_settle = {
	.name = "settle",
	.operands = "NAME [CALL] --as WORD",
	.summary = "say how an action of unknown outcome ended",
	.text = "An agent with \"unknown: park\" in its file waits for a person when nobody can "
		"know whether an action\n"
		"happened. Check what happened, then say done, not_started, or unknown. The answer "
		"is written to the log; the\n"
		"model gets it when the session continues. The action is never repeated.\n"
		"\n"
		"Examples:\n"
		"  thole log report            # shows what waits, and what was seen after it\n"
		"  thole settle report --as done -m \"it is sent\" && thole resume report\n",
	.options = settle_options,
	.words = "SESSION",
	.run = run_settle,
};

/* ---- cancel ---- */

struct cancel_options {
	struct th_common common;
};

static const struct th_option cancel_options[] = {
	TH_OPTIONS_SERVER(struct cancel_options, common),
	TH_OPTIONS_COMMON(struct cancel_options, common),
	TH_OPTIONS_END,
};

/* Opens the session; a runtime that has it is asked to pause and end first, unless it has
 * those of others, too, which would go down with it. */
static enum th_code open_by_force(struct th_edit *e, struct th_store *store, struct th_str id,
				  struct th_err *err)
{
	uint64_t until = th_clock_ms() + OWNER_WAIT_MS;
	enum th_code code = th_edit_open(e, store, store, id, err);
	enum th_holder holder = TH_HOLDER_RUN;
	pid_t pid = code == TH_EBUSY ? th_holder_of(err, &holder) : 0;

	if (!pid || holder != TH_HOLDER_RUN || kill(pid, SIGTERM) != 0)
		return code;
	while (code == TH_EBUSY && th_clock_ms() < until) {
		usleep(OWNER_POLL_US);
		code = th_edit_open(e, store, store, id, err);
	}
	return code;
}

static void end_executor(const struct th_common *common, struct th_str session_id,
			 struct th_arena *a)
{
	struct th_executor_options o = { .session = session_id, .only_running = true };
	struct th_err err = {};

	if (th_cli_scope(common, a, &o.scope, &err) != TH_OK) {
		(void)th_cli_fail(&err);
		return;
	}

	/* One that does not answer ends by itself when nobody comes back. */
	if (th_executor_client_end_once(&o, &err) != TH_OK && err.code != TH_ENOENT)
		(void)th_cli_fail(&err);
}

static void stop_below(const struct th_common *common, struct th_edit *e, struct th_arena *a);

/* One that was not begun is nobody's to stop. */
static void stop_one(const struct th_common *common, struct th_store *store, struct th_str id,
		     struct th_arena *a)
{
	struct th_edit e;
	struct th_err err = {};
	enum th_code code = th_edit_open(&e, store, store, id, &err);

	if (code == TH_OK) {
		stop_below(common, &e, a);
		if (th_state_allows(e.session.state, TH_STATE_STOPPED))
			code = th_edit_state(&e, TH_STATE_STOPPED,
					     TH_STR("the session that it works for was cancelled"),
					     &err);
		th_edit_close(&e);
		end_executor(common, id, a);
	}
	if (code != TH_OK && code != TH_ENOENT)
		(void)th_cli_fail(&err);
}

/* Sessions that work on its calls. */
static void stop_below(const struct th_common *common, struct th_edit *e, struct th_arena *a)
{
	const struct th_call *c;

	for (size_t i = 0; (c = th_session_delegated(&e->session, i)); i++) {
		struct th_buf id TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SESSION_ID_MAX + 1);

		th_call_child(c, e->row.session_id, &id);
		stop_one(common, e->store, th_buf_str(&id), a);
	}
}

static int run_cancel(const struct th_command *self, int argc, char **argv)
{
	struct cancel_options o = {};
	struct th_operands rest;
	struct th_remote *remote TH_CLEANUP(th_remote_freep) = NULL;
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_session_row row;
	struct th_edit e;
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);

	th_arena_init(&a, TH_MIB);
	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count != 1)
		return th_cli_names_none(self);
	code = th_remote_find(&o.common, &remote, &err);
	if (code == TH_OK)
		code = th_cli_session(&o.common, true, th_str_of(rest.list[0]), &a, &store, &row,
				      &err);
	if (code == TH_OK && remote)
		return th_remote_cancel(&o.common, &row);
	if (code == TH_OK)
		code = open_by_force(&e, store, row.session_id, &err);
	if (code != TH_OK)
		return th_holder_fail(&err);
	if (e.session.state != TH_STATE_STOPPED &&
	    !th_state_allows(e.session.state, TH_STATE_STOPPED))
		code = th_fail(&err, TH_ENOENT, "session %.*s is %s; there is nothing to cancel",
			       TH_FMT(row.session_id), th_state_name(e.session.state));
	else if (e.session.state != TH_STATE_STOPPED)
		code = th_edit_state(&e, TH_STATE_STOPPED, TH_STR("cancelled by a person"), &err);
	stop_below(&o.common, &e, &a);
	th_edit_close(&e);
	if (code != TH_OK)
		return th_cli_fail(&err);
	end_executor(&o.common, row.session_id, &a);
	th_text_line(&out, row.session_id, TH_SESSION_ID_MAX);
	th_buf_add_cstr(&out, " is stopped\n");
	return th_cli_print(&out, 0);
}

const struct th_command th_command_cancel = {
	.name = "cancel",
	.operands = "NAME",
	.summary = "stop what a session does, its desktop and commands too",
	.text =
	    "A thole run that works on the session is told to let go of it first; a thole serve "
	    "that has it is not (ask it, with --server), nor is the thole acp of an editor. The "
	    "log stays; "
	    "a new message\n"
	    "(thole run -s NAME) would begin a new task in it, and thole resume go on with the "
	    "old one.\n\n"
	    "Examples:\n"
	    "  thole cancel report\n",
	.options = cancel_options,
	.words = "SESSION",
	.run = run_cancel,
};
