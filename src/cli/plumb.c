/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plumb.c - the pure functions of the model layer on standard input and
 * output (route, decode, encode), and V4A diffs (patch).
 */
#include <unistd.h>

#include "base/limits.h"
#include "cli/cli.h"
#include "io/files.h"
#include "profiles/compose.h"
#include "profiles/plumb.h"
#include "runtime/registry.h"
#include "wire/patch.h"

struct options {
	struct th_str model, screen, image, agent, mode;
	int64_t status;
	bool text, no_stream;
};

#define OPTION_MODEL                                                                   \
	{                                                                              \
		"model", 'm', "NAME", TH_OPTION_TEXT, offsetof(struct options, model), \
		    "the model", NULL                                                  \
	}
#define OPTION_SCREEN                                                                        \
	{                                                                                    \
		"screen", 0, "WxH", TH_OPTION_TEXT, offsetof(struct options, screen),        \
		    "size of the computer's screen; with it, the model has a computer", NULL \
	}

static const struct th_option no_options[] = { TH_OPTIONS_END };
static const struct th_option decode_options[] = {
	OPTION_MODEL,
	OPTION_SCREEN,
	{ "image", 0, "WxH", TH_OPTION_TEXT, offsetof(struct options, image),
	  "size of the picture that the model saw (default: as a session sends it)", NULL },
	{ "text", 0, NULL, TH_OPTION_FLAG, offsetof(struct options, text),
	  "the input is bare text of a model, not a body", NULL },
	{ "status", 0, "CODE", TH_OPTION_INT, offsetof(struct options, status),
	  "the HTTP status that the body came with (default: 200)", NULL },
	TH_OPTIONS_END,
};
static const struct th_option encode_options[] = {
	OPTION_MODEL,
	OPTION_SCREEN,
	{ "agent", 'a', "FILE", TH_OPTION_TEXT, offsetof(struct options, agent),
	  "agent file: instructions, settings and tools", "FILE" },
	{ "no-stream", 0, NULL, TH_OPTION_FLAG, offsetof(struct options, no_stream),
	  "ask for one body instead of a stream", NULL },
	TH_OPTIONS_END,
};

static const struct th_option patch_options[] = {
	{ "mode", 0, "MODE", TH_OPTION_TEXT, offsetof(struct options, mode),
	  "update (default) or create", NULL },
	TH_OPTIONS_END,
};

static enum th_code parse_size(struct th_str text, const char *option, struct th_size *ret,
			       struct th_err *err)
{
	struct th_str width, height = text;
	int64_t w, h;

	if (!text.ptr)
		return TH_OK;
	width = th_str_split(&height, 'x');
	if (!th_str_i64(width, &w) || !th_str_i64(height, &h) || w < 1 || h < 1 ||
	    w > TH_SCREEN_SIDE_MAX || h > TH_SCREEN_SIDE_MAX)
		return th_fail(err, TH_EUSAGE,
			       "--%s must be a size such as 1280x800, sides up to %d", option,
			       TH_SCREEN_SIDE_MAX);
	*ret = (struct th_size){ (int32_t)w, (int32_t)h };
	return TH_OK;
}

static enum th_code need_model(const struct options *o, const struct th_profile **ret,
			       struct th_str *ret_name, struct th_err *err)
{
	if (!o->model.ptr)
		return th_fail(err, TH_EUSAGE, "--model is missing; %s models lists the names",
			       th_cli_program());
	static struct th_composed composed; /* lives as long as the profile is used */

	struct th_match match;
	enum th_code code = th_model_compose(NULL, o->model, &composed, &match, err);

	if (code)
		return code;
	*ret = match.profile;
	*ret_name = match.name;
	return TH_OK;
}

/* ---- the parts ---- */

static int route(const struct options *o, const struct th_operands *names, struct th_err *err)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);

	(void)o;
	if (names->count != 1)
		return th_cli_die(2, "plumb route wants one model name");
	if (th_plumb_route(th_str_of(names->list[0]), &out, err))
		return th_cli_fail(err);
	th_buf_add_char(&out, '\n');
	return th_cli_print(&out, 0);
}

static int decode(const struct options *o, const struct th_operands *names, struct th_err *err)
{
	struct th_buf in TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_dialect_context c = { .turn = 1 };
	struct th_str name;

	if (names->count)
		return th_cli_die(
		    2, "plumb decode takes no operand; the body comes on standard input");
	if (need_model(o, &c.profile, &name, err) ||
	    parse_size(o->screen, "screen", &c.screen, err) ||
	    parse_size(o->image, "image", &c.image, err) ||
	    th_file_read_fd(STDIN_FILENO, TH_REQUEST_MAX, &in, err))
		return th_cli_fail(err);
	if (!o->image.ptr)
		c.image = th_image_size(c.profile, c.screen);
	if (o->text)
		th_plumb_decode_text(&c, th_buf_str(&in), &out);
	else
		th_plumb_decode_on(&c, th_buf_str(&in),
				   o->status < 0 ? 0 : (int)TH_MIN(o->status, 999), &out);
	th_buf_add_char(&out, '\n');
	return th_cli_print(&out, 0);
}

/* The agent file's tools, then those of the input. */
static enum th_code collect_tools(const struct th_agent *agent, struct th_str input,
				  struct th_arena *a, struct th_request_options *r,
				  struct th_err *err)
{
	struct th_tool_row *rows = NULL;
	struct th_tool_spec *given = NULL, *all;
	size_t row_count = 0, given_count = 0;
	enum th_code code = th_plumb_tools(input, a, &given, &given_count, err);

	if (!code && agent)
		code = th_registry_rows(agent, NULL, 0, NULL, a, &rows, &row_count, err);
	if (code)
		return code;
	all = th_arena_array(a, row_count + given_count + 1, sizeof(*all));
	if (!all)
		return th_fail(err, TH_ELIMIT, "too many tools");
	for (size_t i = 0; i < row_count; i++)
		all[i] = rows[i].spec;
	for (size_t i = 0; i < given_count; i++)
		all[row_count + i] = given[i];
	r->tools = all;
	r->tool_count = row_count + given_count;
	return TH_OK;
}

static enum th_code encode_all(const struct options *o, struct th_arena *a, struct th_buf *out,
			       struct th_err *err)
{
	struct th_buf in TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_request_options r = { .has_computer = o->screen.ptr != NULL,
					.stream = !o->no_stream,
					.extra = true };
	struct th_agent agent;
	enum th_code code = need_model(o, &r.profile, &r.model, err);

	if (!code)
		code = parse_size(o->screen, "screen", &r.screen, err);
	if (!code)
		r.image = th_image_size(r.profile, r.screen);
	if (!code && o->agent.ptr)
		code = th_agent_load(o->agent, a, &agent, err);
	if (!code)
		code = th_file_read_fd(STDIN_FILENO, TH_REQUEST_MAX, &in, err);
	r.agent = o->agent.ptr ? &agent : NULL;
	if (!code)
		code = collect_tools(r.agent, th_buf_str(&in), a, &r, err);
	return code ? code : th_plumb_encode(&r, th_buf_str(&in), out, err);
}

static int encode(const struct options *o, const struct th_operands *names, struct th_err *err)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};

	if (names->count)
		return th_cli_die(
		    2, "plumb encode takes no operand; the items come on standard input");
	th_arena_init(&a, TH_REQUEST_MAX);
	if (encode_all(o, &a, &out, err))
		return th_cli_fail(err);
	th_buf_add_char(&out, '\n');
	return th_cli_print(&out, 0);
}

static enum th_code patch_all(enum th_patch_mode mode, struct th_str in, struct th_buf *out,
			      struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_jw w = th_jw(out);
	struct th_str input, diff;
	enum th_code code = th_json_parse(in, &doc, err);

	if (code)
		return th_prefix(err, code, "standard input");
	input = th_json_get_str(th_json_root(doc), "input");
	diff = th_json_get_str(th_json_root(doc), "diff");
	if (!diff.ptr || (!input.ptr && mode == TH_PATCH_UPDATE))
		return th_fail(err, TH_EUSAGE,
			       "plumb patch reads {\"input\",\"diff\"}, both strings");
	code = th_patch_apply(mode, input, diff, &text, err);
	th_jw_object(&w);
	if (!code)
		th_jw_kstr(&w, "output", th_buf_str(&text));
	else
		th_jw_kstr(&w, "error",
			   code == TH_EPROTO ? th_buf_str(&text) : th_str_of(err->msg));
	th_jw_object_end(&w);
	return TH_OK;
}

static int patch(const struct options *o, const struct th_operands *names, struct th_err *err)
{
	struct th_buf in TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	enum th_patch_mode mode = TH_PATCH_UPDATE;

	if (names->count)
		return th_cli_die(
		    2, "plumb patch takes no operand; file and diff come on standard input");
	if (o->mode.ptr && !th_str_is(o->mode, "update")) {
		if (!th_str_is(o->mode, "create"))
			return th_cli_die(2, "--mode must be update or create");
		mode = TH_PATCH_CREATE;
	}
	if (th_file_read_fd(STDIN_FILENO, TH_REQUEST_MAX, &in, err) ||
	    patch_all(mode, th_buf_str(&in), &out, err))
		return th_cli_fail(err);
	th_buf_add_char(&out, '\n');
	return th_cli_print(&out, 0);
}

static const struct {
	struct th_command command;
	int (*run)(const struct options *o, const struct th_operands *names, struct th_err *err);
} parts[] = {
	{ { .name = "plumb route",
	    .operands = "MODEL",
	    .summary = "which profile, wire and dialect a model name means",
	    .text = "Prints {\"profile\",\"wire\",\"dialect\",\"model\",\"capabilities\"}.",
	    .options = no_options },
	  route },
	{ { .name = "plumb decode",
	    .operands = "",
	    .summary = "a provider's answer as items",
	    .text = "Reads a body, JSON or an event stream, and prints\n"
		    "{\"items\",\"usage\",\"status\",\"error\"}. Any bytes are decoded.",
	    .options = decode_options },
	  decode },
	{ { .name = "plumb encode",
	    .operands = "",
	    .summary = "items as the request that would be sent",
	    .text = "Reads {\"items\":[…]} and prints {\"path\",\"headers\",\"body\"}. The input "
		    "may have\n"
		    "\"tools\":[{\"name\",\"description\",\"parameters\",\"strict\"}] too.",
	    .options = encode_options },
	  encode },
	{ { .name = "plumb patch",
	    .operands = "",
	    .summary = "a file with a V4A diff applied",
	    .text =
		"Reads {\"input\",\"diff\"} and prints {\"output\"}, or {\"error\"} when the diff "
		"does\nnot fit.",
	    .options = patch_options },
	  patch },
};

int th_cli_plumb(int argc, char **argv)
{
	struct options o = { .status = -1 };
	struct th_operands names;
	struct th_err err;

	for (size_t i = 0; argc > 0 && i < TH_COUNT(parts); i++) {
		const struct th_command *c = &parts[i].command;
		enum th_code code;

		if (strcmp(c->name + strlen("plumb "), argv[0]))
			continue;
		code = th_options_parse(c, argc, argv, &o, &names, &err);
		if (code == TH_ECANCELED)
			return 0;
		return code ? th_cli_fail(&err) : parts[i].run(&o, &names, &err);
	}
	return th_cli_die(2, "plumb wants route, decode, encode or patch");
}
