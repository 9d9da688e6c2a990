/* SPDX-License-Identifier: Apache-2.0 */
/* exec.c - see exec.h. */
#include "wire/exec.h"

#include "base/limits.h"

TH_TABLE(exec_hello, "first message of a connection", true)
TH_TABLE(exec_run, "do an effect, or join one", true)
TH_TABLE(exec_request, "a request that is only its number", true)
TH_TABLE(exec_host, "A host that is asked for, and the word about it.", true)
TH_TABLE(exec_input, "What was typed for a run.", true)
TH_TABLE(exec_forget, "outcomes that are durable elsewhere", true)
TH_TABLE(exec_given, "a secret of a client", true)
TH_TABLE(exec_give, "secrets for commands", true)
TH_TABLE(exec_welcome, "what an executor says of itself", true)
TH_TABLE(exec_output, "output of a running effect", true)
TH_TABLE(exec_finished, "how an effect ended", true)
TH_TABLE(exec_blob, "bytes in the attachment", true)
TH_TABLE(exec_error, "a request that was not done", true)
TH_TABLE(exec_computer_start, "the computer of an executor", true)
TH_TABLE(exec_secret, "a secret and where it may go", true)
TH_TABLE(exec_start, "what an executor is started with", true)
TH_TABLE(exec_role, "first message of what was started in a role", true)
TH_TABLE(exec_ready, "the executor listens", true)
TH_TABLE(exec_computer, "arguments of the computer", false)
TH_TABLE(exec_display_start, "what a display process is started with", true)
TH_TABLE(exec_screen, "the computer is open", true)
TH_TABLE(exec_do, "act and look", true)
TH_TABLE(exec_step, "one more action was done", true)
TH_TABLE(exec_watch, "a live view is wanted", true)
TH_TABLE(exec_frame, "what has changed on the screen", true)

#define X(id, name) name,
static const char *const op_names[] = { TH_EXEC_OPS(X) NULL };
#undef X

const char *th_exec_op_name(enum th_exec_op op)
{
	assert(op < TH_EXEC_OP_COUNT);
	return op_names[op];
}

int th_exec_op_find(struct th_str name)
{
	return th_names_find(op_names, name);
}

enum th_code th_exec_open(struct th_str head, struct th_json_doc **ret, enum th_exec_op *ret_op,
			  struct th_err *err)
{
	struct th_json_doc *doc;
	enum th_code code = th_json_parse(head, &doc, err);
	if (code)
		return code;
	struct th_str name = th_json_get_str(th_json_root(doc), "op");
	int op = th_exec_op_find(name);
	if (op < 0) {
		name = th_str_sub(name, 0, 32);
		code = th_fail(err, TH_EPROTO, "a message with the op '%.*s', which is none",
			       TH_FMT(name));
		th_json_free(doc);
		return code;
	}
	*ret = doc;
	*ret_op = (enum th_exec_op)op;
	return TH_OK;
}

void th_exec_print(const struct th_table *t, const void *message, struct th_buf *out)
{
	struct th_jw w = th_jw(out);
	th_table_print(t, message, &w);
}

void th_exec_print_error(int64_t id, const struct th_err *e, struct th_buf *out)
{
	struct th_exec_error m = {
		.op = TH_STR("error"),
		.id = id,
		.code = th_str_of(th_code_name(e->code)),
		.message = th_str_of(e->msg),
	};
	th_exec_print(&th_exec_error_table, &m, out);
}

void th_exec_print_role(const char *role, struct th_buf *out)
{
	struct th_exec_role m = {
		.op = TH_STR("role"),
		.program = TH_STR("thole"),
		.role = th_str_of(role),
		.protocol = TH_EXEC_PROTOCOL,
	};
	th_exec_print(&th_exec_role_table, &m, out);
}

enum th_code th_exec_check_role(struct th_str head, const char *role, struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	TH_CLEANUP(th_arena_deinit) struct th_arena arena = {};
	struct th_exec_role m;
	enum th_exec_op op = TH_EXEC_OP_COUNT;

	th_arena_init(&arena, 64 * TH_KIB);
	enum th_code code = th_exec_open(head, &doc, &op, err);
	if (code == TH_OK && op != TH_EXEC_OP_ROLE)
		code = th_fail(err, TH_EPROTO, "it said '%s' first", th_exec_op_name(op));
	if (code == TH_OK &&
	    th_table_parse(&th_exec_role_table, th_json_root(doc), &arena, &m, err))
		code = TH_EPROTO;
	if (code)
		return TH_EPROTO;
	if (!th_str_is(m.program, "thole") || !th_str_is(m.role, role))
		return th_fail(err, TH_EPROTO, "it says that it is something else");
	return th_exec_check_protocol(m.protocol, err);
}

enum th_code th_exec_check_protocol(int64_t version, struct th_err *err)
{
	if (version == TH_EXEC_PROTOCOL || (version == 0 && TH_EXEC_PROTOCOL == 1))
		return TH_OK;
	return th_fail(err, TH_EUNSUPPORTED,
		       "it speaks version %lld of the protocol, this process version %d",
		       (long long)version, TH_EXEC_PROTOCOL);
}

enum th_code th_exec_error(const struct th_exec_error *e, struct th_err *err)
{
#define X(id, value, name, exit_code)                     \
	if (TH_##id != TH_OK && th_str_is(e->code, name)) \
		return th_fail(err, TH_##id, "%.*s", TH_FMT(e->message));
	TH_CODES(X)
#undef X
	return th_fail(err, TH_EPROTO, "%.*s", TH_FMT(e->message));
}

bool th_exec_effect_id_ok(struct th_str id)
{
	if (id.len == 0 || id.len > TH_EFFECT_ID_MAX || id.ptr[0] == '-')
		return false;
	for (size_t i = 0; i < id.len; i++) {
		char c = id.ptr[i];
		bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			  (c >= '0' && c <= '9') || c == '-' || c == '_';
		if (!ok)
			return false;
	}
	return true;
}
