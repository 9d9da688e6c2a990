/* SPDX-License-Identifier: Apache-2.0 */
/* command.c - a command that a person has run in the session's workspace. */
#include "api/api.h"

#define NAME "a person's command"

/* $1: the folder, $2: the line, $3: whether it has an input.  Nothing of the person's stands in the
 * text. */
static const char script[] = "cd -- \"$1\" || exit 1\n"
			     "[ \"$3\" ] || exec < /dev/null\n"
			     "if command -v bash > /dev/null; then exec bash -c \"$2\"; fi\n"
			     "exec sh -c \"$2\"\n";

struct wanted {
	struct th_str folder, input;
	int64_t seconds, bytes;
	bool looks, has_input;
};

static bool read_number(struct th_str text, int64_t max, int64_t *ret)
{
	return th_str_i64(text, ret) && *ret >= 1 && *ret <= max;
}

static int read_options(const char *const *options, struct wanted *w, struct thole_error *err)
{
	*w = (struct wanted){ .folder = TH_STR("."), .seconds = 120 };
	for (; options && *options; options += 2) {
		struct th_str name = th_str_of(options[0]), value = th_str_of(options[1]);
		bool good = options[1];

		if (good && th_str_is(name, "folder")) {
			w->folder = value;
			good = value.len > 0 && value.len < TH_PATH_LEN_MAX;
		} else if (good && th_str_is(name, "seconds")) {
			good = read_number(value, INT64_C(86400), &w->seconds);
		} else if (good && th_str_is(name, "bytes")) {
			good = read_number(value, (int64_t)TH_COMMAND_OUT_MAX, &w->bytes);
		} else if (good && th_str_is(name, "input")) {
			w->input = value;
			w->has_input = true;
			good = value.len <= TH_COMMAND_INPUT_MAX - 32 * TH_KIB;
		} else {
			good = good && th_str_is(name, "looks") && th_str_is(value, "yes");
			w->looks = good;
		}
		if (!good)
			return th_api_fail(err, TH_EUSAGE, "the option %.40s is not usable",
					   options[0]);
	}
	return TH_OK;
}

static void print_arguments(const struct wanted *wanted, struct th_str command, struct th_buf *out)
{
	const struct th_str argv[] = { TH_STR("/bin/sh"),
				       TH_STR("-c"),
				       th_str_of(script),
				       TH_STR("sh"),
				       wanted->folder,
				       command,
				       wanted->has_input ? TH_STR("yes") : TH_STR("") };
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "name", TH_STR(NAME));
	th_jw_key(&w, TH_STR("argv"));
	th_jw_array(&w);
	for (size_t i = 0; i < TH_COUNT(argv); i++)
		th_jw_str(&w, argv[i]);
	th_jw_array_end(&w);
	th_jw_kstr(&w, "input", wanted->input);
	th_jw_kint(&w, "timeout_s", wanted->seconds);
	th_jw_kbool(&w, "apart", true);
	if (wanted->bytes)
		th_jw_kint(&w, "most", wanted->bytes);
	th_jw_object_end(&w);
}

/* Its two streams, and how it ended, as one object. */
static void print_end(const struct th_effect_result *r, struct th_buf *out)
{
	struct th_buf streams TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EXEC_OUTPUT_MAX);
	struct th_json_raw_iter it;
	struct th_jw w = th_jw(out);

	if (!th_json_unescape(r->output, &streams))
		th_buf_clear(&streams);
	th_jw_object(&w);
	it = th_json_raw_iter(th_buf_str(&streams));
	while (th_json_raw_next(&it)) {
		th_jw_key(&w, it.key);
		th_jw_raw(&w, it.val);
	}
	it = th_json_raw_iter(r->evidence);
	while (th_json_raw_next(&it)) {
		th_jw_key(&w, it.key);
		th_jw_raw(&w, it.val);
	}
	th_jw_object_end(&w);
}

static void on_done(void *ctx, const struct th_effect_result *r)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_EXEC_OUTPUT_MAX);
	struct thole_session *s = ctx;
	const struct th_str none = { 0 };

	if (!r->evidence.len || (r->status != TH_OUTCOME_DONE && r->status != TH_OUTCOME_FAILED)) {
		th_api_input_over(ctx, r);
		return;
	}
	if (s->freed)
		return;
	print_end(r, &text);
	th_api_tell(s, TH_NOTE_INPUT, th_str_of(th_outcome_name(r->status)), th_buf_str(&text),
		    none, none, 0, NULL);
}

static bool runs_commands(const struct thole_session *s)
{
	static const char *const names[] = { "bash", "execute_bash", "terminal", "shell" };

	for (size_t i = 0; i < TH_COUNT(names); i++)
		if (th_driver_has_tool(s->rt->driver, s->handle, th_str_of(names[i])))
			return true;
	return false;
}

int thole_session_command(struct thole_session *s, const char *by, const char *command,
			  const char *const *options, thole_input_fn *fn, void *ctx,
			  struct thole_error *err)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX / 2);
	struct th_person_input in = { .by = th_str_of(by), .tool = TH_STR("command") };
	struct wanted wanted;
	int code = th_api_check_person(s, by, err);

	if (!code)
		code = th_api_text(command, "the command", 1, TH_COMMAND_SIZE_MAX, err);
	if (!code)
		code = read_options(options, &wanted, err);
	if (!code)
		code = th_api_check_input(s, fn, err);
	if (!code && !runs_commands(s))
		code = th_api_fail(err, TH_EUNSUPPORTED,
				   "the agent has no tool that runs commands (bash, shell)");
	if (code)
		return code;
	print_arguments(&wanted, th_str_of(command), &json);
	if (json.failed)
		return th_api_fail(err, TH_EUSAGE, "the command is no UTF-8, or too long");
	in.arguments = th_buf_str(&json);
	in.class = wanted.looks ? TH_CLASS_R : TH_CLASS_W;
	in.timeout_ms = wanted.seconds * 1000;
	return th_api_input(s, &in, on_done, fn, ctx, err);
}

int thole_session_command_stop(struct thole_session *s, struct thole_error *err)
{
	int code = th_api_check_ready(s, err);

	if (!code)
		th_driver_input_cancel(s->rt->driver, s->handle);
	return code;
}
