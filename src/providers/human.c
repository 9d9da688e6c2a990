/* SPDX-License-Identifier: Apache-2.0 */
#include "providers/human.h"

#include "base/limits.h"
#include "base/text.h"
#include "dialects/actions.h"
#include "openai_chat/chat.h"

const struct th_wire th_wire_human = {
	.name = "human",
	.key_header = "Authorization",
	.same = "{\"type\":\"text\",\"text\":\"" TH_IMAGE_SAME "\"}",
	.path = th_chat_path,
	.head = th_chat_head,
	.tail = th_chat_tail,
	.message = th_chat_message,
	.answer = th_chat_answer,
	.results = th_chat_results,
	.begun = th_chat_has_system,
	.request_decode = th_chat_request_decode,
	.request_encode = th_chat_request_encode,
	.decoder_new = th_chat_new,
	.feed = th_chat_feed,
	.finished = th_chat_finished,
	.end = th_chat_end,
	.error = th_chat_error,
	.decoder_free = th_chat_free,
};

const char th_human_help[] =
    "You are the model. A line is one answer:\n"
    "  click X Y           also: double, triple, right, middle, move\n"
    "  click #N            the element with the mark N (omni+human/human)\n"
    "  click \"WORDS\"       the element so described (GROUNDER+human/human)\n"
    "  drag X Y X Y        from, to\n"
    "  scroll down 5       up, down, left, right and notches; or: scroll X Y down 5\n"
    "  type TEXT           \\n is Enter, \\t is Tab, \\\\ a backslash\n"
    "  key ctrl+s          keys that are down together\n"
    "  wait SECONDS        screenshot\n"
    "  shell COMMAND       the tool `shell`\n"
    "  TOOL {\"a\": 1}       any tool, with its arguments as JSON\n"
    "  {\"name\": …, \"arguments\": {…}}   or a list of such: several calls at once\n"
    "  done TEXT           the task is done; any other text says so too\n"
    "  fail REASON         it cannot be done\n"
    "  show                the whole request again     help     this\n"
    "  leave               (or end of input) the session waits; thole resume asks again\n";

/* ---- an answer of the wire ---------------------------------------------------------------- */

struct answer {
	struct th_buf *out;
	bool calls;
};

static void put_str(struct th_buf *out, struct th_str s)
{
	struct th_jw w = th_jw(out);

	th_jw_str(&w, s);
}

static struct answer answer_begin(struct th_buf *out, struct th_str text)
{
	struct answer a = { .out = out };

	th_buf_add_cstr(out, "{\"object\":\"chat.completion\",\"model\":\"human\",\"choices\":[{"
			     "\"index\":0,\"finish_reason\":\"stop\",\"message\":{\"role\":"
			     "\"assistant\",\"content\":");
	if (text.ptr)
		put_str(out, text);
	else
		th_buf_add_cstr(out, "null");
	return a;
}

/* `arguments` is a JSON object.  The id is the decoder's to make when there is none. */
static void answer_call(struct answer *a, struct th_str id, struct th_str name,
			struct th_str arguments)
{
	th_buf_add_cstr(a->out, a->calls ? ",{" : ",\"tool_calls\":[{");
	a->calls = true;
	if (id.len) {
		th_buf_add_cstr(a->out, "\"id\":");
		put_str(a->out, id);
		th_buf_add_char(a->out, ',');
	}
	th_buf_add_cstr(a->out, "\"type\":\"function\",\"function\":{\"name\":");
	put_str(a->out, name);
	th_buf_add_cstr(a->out, ",\"arguments\":");
	put_str(a->out, arguments);
	th_buf_add_cstr(a->out, "}}");
}

static enum th_code answer_end(struct answer *a, struct th_err *err)
{
	th_buf_add_cstr(a->out, a->calls ? "]}}]," : "}}],");
	th_buf_add_cstr(a->out, "\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0}}");
	return th_buf_check(a->out, "the answer", err);
}

void th_human_fail(struct th_str reason, struct th_buf *answer)
{
	struct th_buf args = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_jw w = th_jw(&args);
	struct answer a = answer_begin(answer, (struct th_str){ 0 });
	struct th_err none;

	th_jw_object(&w);
	th_jw_kstr(&w, "action", TH_STR("terminate"));
	th_jw_kstr(&w, "status", TH_STR("failure"));
	th_jw_kstr(&w, "text", reason.len ? reason : TH_STR("the person gave up"));
	th_jw_object_end(&w);
	answer_call(&a, TH_STR(""), TH_STR(TH_COMPUTER_FUNCTION_NAME), th_buf_str(&args));
	(void)!answer_end(&a, &none); /* the reader of the buffer checks it */
	th_buf_deinit(&args);
}

/* ---- calls as JSON ------------------------------------------------------------------------ */

/* {"name","arguments"}, {"function":{…}}, or a computer action {"action":…}. */
static enum th_code json_call(struct answer *a, const struct th_json *call, struct th_err *err)
{
	const struct th_json *function = th_json_get(call, "function");
	const struct th_json *from = th_json_is_object(function) ? function : call;
	const struct th_json *arguments = th_json_get(from, "arguments");
	struct th_str name = th_json_get_str(from, "name");
	bool action = !name.len && (th_json_get_str(call, "action").len ||
				    (th_json_get_str(call, "type").len && from == call));
	struct th_buf text = TH_BUF_INIT(TH_ANSWER_MAX);
	enum th_code code = TH_OK;

	if (action) {
		name = TH_STR(TH_COMPUTER_FUNCTION_NAME);
		arguments = call;
	}
	if (!name.len)
		code = th_fail(err, TH_EUSAGE,
			       "a call is {\"name\": …, \"arguments\": {…}}, or an action of the "
			       "computer, {\"action\": …}");
	else if (th_json_is_object(arguments))
		th_json_print(arguments, &text);
	else if (th_json_is_null(arguments))
		th_buf_add_cstr(&text, "{}");
	else if (th_json_type(arguments) == TH_JSON_STR)
		th_buf_add(&text, th_json_str(arguments));
	else
		code = th_fail(err, TH_EUSAGE, "the arguments of a call must be an object");
	if (!code)
		answer_call(a, th_json_get_str(call, "id"), name, th_buf_str(&text));
	th_buf_deinit(&text);
	return code;
}

static enum th_code json_calls(struct answer *a, const struct th_json *list, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(list);
	enum th_code code = TH_OK;
	size_t count = 0;

	while (!code && th_json_next(&it)) {
		if (++count > TH_CALLS_MAX)
			code =
			    th_fail(err, TH_ELIMIT, "an answer has at most %d calls", TH_CALLS_MAX);
		else
			code = json_call(a, it.val, err);
	}
	return code;
}

enum th_code th_human_complete(const struct th_json *completion, struct th_buf *answer,
			       struct th_err *err)
{
	const struct th_json *calls = th_json_get(completion, "tool_calls");
	const struct th_json *response = th_json_get(completion, "response");
	struct answer a;
	enum th_code code = TH_OK;

	if (!th_json_is_null(calls) && !th_json_is_array(calls))
		return th_fail(err, TH_EUSAGE, "tool_calls must be a list");
	if (!th_json_is_null(response) && th_json_type(response) != TH_JSON_STR)
		return th_fail(err, TH_EUSAGE, "response must be a string");
	if (!th_str_trim(th_json_str(response)).len && th_json_count(calls) == 0)
		return th_fail(err, TH_EUSAGE,
			       "an answer has a \"response\", \"tool_calls\", or both");
	a = answer_begin(answer, th_json_str(response));
	if (th_json_is_array(calls))
		code = json_calls(&a, calls, err);
	return code ? code : answer_end(&a, err);
}

static enum th_code read_json(struct th_str line, struct th_buf *answer, struct th_err *err)
{
	struct th_json_doc *doc;
	const struct th_json *root;
	struct answer a;
	enum th_code code = th_json_parse(line, &doc, err);

	if (code)
		return th_fail(err, TH_EUSAGE, "this is not JSON (%s); write `done` before a text",
			       err->msg);
	root = th_json_root(doc);
	if (th_json_is_object(root) && (!th_json_is_null(th_json_get(root, "tool_calls")) ||
					!th_json_is_null(th_json_get(root, "response")))) {
		code = th_human_complete(root, answer, err);
	} else {
		a = answer_begin(answer, (struct th_str){ 0 });
		if (th_json_is_array(root) && th_json_count(root) > 0)
			code = json_calls(&a, root, err);
		else
			code = json_call(&a, root, err);
		if (!code)
			code = answer_end(&a, err);
	}
	th_json_free(doc);
	return code;
}

/* ---- lines -------------------------------------------------------------------------------- */

enum verb_kind {
	POINTS, /* X Y, #N, "words" */
	DRAG,
	SCROLL,
	TEXT,
	KEY,
	WAIT,
	LOOK,
	SHELL,
	DONE,
	FAIL,
	HELP,
	SHOW,
	LEAVE
};

static const struct verb {
	const char *word;
	enum verb_kind kind;
	const char *action, *button; /* POINTS */
	const char *form;            /* how it is written */
} verbs[] = {
	{ "click", POINTS, "click", "left", "click X Y" },
	{ "double", POINTS, "double_click", NULL, "double X Y" },
	{ "double_click", POINTS, "double_click", NULL, "double_click X Y" },
	{ "triple", POINTS, "triple_click", NULL, "triple X Y" },
	{ "triple_click", POINTS, "triple_click", NULL, "triple_click X Y" },
	{ "right", POINTS, "click", "right", "right X Y" },
	{ "right_click", POINTS, "click", "right", "right_click X Y" },
	{ "middle", POINTS, "click", "middle", "middle X Y" },
	{ "move", POINTS, "move", NULL, "move X Y" },
	{ "drag", DRAG, NULL, NULL, "drag X Y X Y" },
	{ "scroll", SCROLL, NULL, NULL, "scroll down 5, or scroll X Y down 5" },
	{ "type", TEXT, NULL, NULL, "type TEXT" },
	{ "key", KEY, NULL, NULL, "key ctrl+s" },
	{ "wait", WAIT, NULL, NULL, "wait SECONDS" },
	{ "screenshot", LOOK, NULL, NULL, "screenshot" },
	{ "shell", SHELL, NULL, NULL, "shell COMMAND" },
	{ "done", DONE, NULL, NULL, "done TEXT" },
	{ "fail", FAIL, NULL, NULL, "fail REASON" },
	{ "help", HELP, NULL, NULL, "help" },
	{ "?", HELP, NULL, NULL, "?" },
	{ "show", SHOW, NULL, NULL, "show" },
	{ "leave", LEAVE, NULL, NULL, "leave" },
};

/* A number of words that are all digits; false: not that. */
static bool numbers(struct th_str rest, int64_t *ret, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		rest = th_str_trim(rest);
		struct th_str word = th_str_split(&rest, ' ');

		if (th_str_ends(word, TH_STR(",")))
			word.len--;
		if (!th_str_i64(word, &ret[i]))
			return false;
	}
	return !th_str_trim(rest).len;
}

/* "words" with their quotes taken off, or empty. */
static struct th_str quoted(struct th_str rest)
{
	bool is = rest.len > 2 && rest.ptr[0] == '"' && rest.ptr[rest.len - 1] == '"';

	return is ? th_str_sub(rest, 1, rest.len - 2) : TH_STR("");
}

static bool put_point(struct th_str rest, struct th_jw *w)
{
	int64_t at[2];

	if (rest.len > 1 && rest.ptr[0] == '#' &&
	    th_str_i64(th_str_sub(rest, 1, rest.len - 1), &at[0])) {
		th_jw_kint(w, "element_id", at[0]);
	} else if (quoted(rest).len) {
		th_jw_kstr(w, "element_description", quoted(rest));
	} else if (numbers(rest, at, 2)) {
		th_jw_kint(w, "x", at[0]);
		th_jw_kint(w, "y", at[1]);
	} else {
		return false;
	}
	return true;
}

#define NOTCH 100 /* pixels that the function's words count for one */

static bool put_scroll(struct th_str rest, struct th_jw *w)
{
	static const struct {
		const char *word;
		int x, y;
	} ways[] = { { "up", 0, -1 }, { "down", 0, 1 }, { "left", -1, 0 }, { "right", 1, 0 } };
	int64_t at[2], count = 3;
	bool placed =
	    rest.len && (rest.ptr[0] == '-' || (rest.ptr[0] >= '0' && rest.ptr[0] <= '9'));

	for (size_t i = 0; placed && i < 2; i++) {
		if (!th_str_i64(th_str_split(&rest, ' '), &at[i]))
			return false;
		rest = th_str_trim(rest);
	}
	struct th_str way = th_str_split(&rest, ' ');
	rest = th_str_trim(rest);
	if (rest.len && (!th_str_i64(rest, &count) || count < 1 || count > TH_SCROLL_MAX / NOTCH))
		return false;
	for (size_t i = 0; i < TH_COUNT(ways); i++) {
		if (!th_str_is(way, ways[i].word))
			continue;
		if (placed) {
			th_jw_kint(w, "x", at[0]);
			th_jw_kint(w, "y", at[1]);
		}
		th_jw_kint(w, "scroll_x", ways[i].x * count * NOTCH);
		th_jw_kint(w, "scroll_y", ways[i].y * count * NOTCH);
		return true;
	}
	return false;
}

static void put_typed(struct th_str rest, struct th_jw *w)
{
	struct th_buf text = TH_BUF_INIT(TH_ANSWER_MAX);

	for (size_t i = 0; i < rest.len; i++) {
		char c = rest.ptr[i], next = i + 1 < rest.len ? rest.ptr[i + 1] : '\0';

		if (c == '\\' && (next == 'n' || next == 't' || next == '\\')) {
			c = (char)(next == 'n' ? '\n' : next == 't' ? '\t' : '\\');
			i++;
		}
		th_buf_add_char(&text, c);
	}
	th_jw_kstr(w, "text", th_buf_str(&text));
	th_buf_deinit(&text);
}

static void put_keys(struct th_str rest, struct th_jw *w)
{
	th_jw_key(w, TH_STR("keys"));
	th_jw_array(w);
	while (rest.len) {
		struct th_str key = th_str_split(&rest, '+');

		/* "ctrl++" is the key + itself */
		th_jw_str(w, key.len ? th_str_trim(key) : TH_STR("+"));
		if (!key.len)
			break;
	}
	th_jw_array_end(w);
}

/* The members of a computer action but the first; false: it is not written so. */
static bool put_action(const struct verb *v, struct th_str rest, struct th_jw *w)
{
	int64_t at[4];
	double seconds;

	switch (v->kind) {
	case POINTS:
		th_jw_kstr(w, "action", th_str_of(v->action));
		if (v->button)
			th_jw_kstr(w, "button", th_str_of(v->button));
		return put_point(rest, w);
	case DRAG:
		th_jw_kstr(w, "action", TH_STR("drag"));
		if (!numbers(rest, at, 4))
			return false;
		th_jw_kint(w, "start_x", at[0]);
		th_jw_kint(w, "start_y", at[1]);
		th_jw_kint(w, "end_x", at[2]);
		th_jw_kint(w, "end_y", at[3]);
		return true;
	case SCROLL:
		th_jw_kstr(w, "action", TH_STR("scroll"));
		return put_scroll(rest, w);
	case TEXT:
		th_jw_kstr(w, "action", TH_STR("type"));
		put_typed(rest, w);
		return rest.len > 0;
	case KEY:
		th_jw_kstr(w, "action", TH_STR("keypress"));
		put_keys(rest, w);
		return rest.len > 0;
	case WAIT:
		th_jw_kstr(w, "action", TH_STR("wait"));
		if (rest.len && (!th_str_f64(rest, &seconds) || seconds < 0))
			return false;
		if (rest.len)
			th_jw_kreal(w, "time", seconds);
		return true;
	case LOOK:
		th_jw_kstr(w, "action", TH_STR("screenshot"));
		return !rest.len;
	case SHELL:
	case DONE:
	case FAIL:
	case HELP:
	case SHOW:
	case LEAVE:
		break;
	}
	return false;
}

static enum th_code read_action(const struct verb *v, struct th_str rest, struct th_buf *answer,
				struct th_err *err)
{
	struct answer a = answer_begin(answer, (struct th_str){ 0 });
	struct th_buf args = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_jw w = th_jw(&args);
	bool good;

	th_jw_object(&w);
	good = put_action(v, rest, &w);
	th_jw_object_end(&w);
	if (good)
		answer_call(&a, TH_STR(""), TH_STR(TH_COMPUTER_FUNCTION_NAME), th_buf_str(&args));
	th_buf_deinit(&args);
	return good ? answer_end(&a, err)
		    : th_fail(err, TH_EUSAGE,
			      "it is written: %s   (as the last word of all: done TEXT)", v->form);
}

static enum th_code read_text(struct th_str text, struct th_buf *answer, struct th_err *err)
{
	struct answer a = answer_begin(answer, text);

	return answer_end(&a, err);
}

static enum th_code read_shell(struct th_str command, struct th_buf *answer, struct th_err *err)
{
	struct answer a = answer_begin(answer, (struct th_str){ 0 });
	struct th_buf args = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_jw w = th_jw(&args);

	th_jw_object(&w);
	th_jw_kstr(&w, "command", command);
	th_jw_object_end(&w);
	answer_call(&a, TH_STR(""), TH_STR("shell"), th_buf_str(&args));
	th_buf_deinit(&args);
	return answer_end(&a, err);
}

/* NAME {…}: a call of any tool.  False: it is not that. */
static bool read_tool(struct th_str word, struct th_str rest, struct th_buf *answer,
		      enum th_code *ret, struct th_err *err)
{
	struct th_json_doc *doc;
	struct answer a;

	if (!rest.len || rest.ptr[0] != '{' || th_json_parse(rest, &doc, NULL))
		return false;
	th_json_free(doc);
	a = answer_begin(answer, (struct th_str){ 0 });
	answer_call(&a, TH_STR(""), word, rest);
	*ret = answer_end(&a, err);
	return true;
}

static enum th_code read_verb(const struct verb *v, struct th_str rest, enum th_human_word *ret,
			      struct th_buf *answer, struct th_err *err)
{
	switch (v->kind) {
	case SHELL:
		return rest.len ? read_shell(rest, answer, err)
				: th_fail(err, TH_EUSAGE, "it is written: %s", v->form);
	case DONE:
		return read_text(rest.len ? rest : TH_STR("Done."), answer, err);
	case FAIL:
		th_human_fail(rest, answer);
		return th_buf_check(answer, "the answer", err);
	case HELP:
		*ret = TH_HUMAN_HELP;
		return TH_OK;
	case SHOW:
		*ret = TH_HUMAN_SHOW;
		return TH_OK;
	case LEAVE:
		*ret = TH_HUMAN_LEAVE;
		return TH_OK;
	case POINTS:
	case DRAG:
	case SCROLL:
	case TEXT:
	case KEY:
	case WAIT:
	case LOOK:
		break;
	}
	return read_action(v, rest, answer, err);
}

enum th_code th_human_read(struct th_str line, enum th_human_word *ret, struct th_buf *answer,
			   struct th_err *err)
{
	struct th_str rest = th_str_trim(line), whole = rest, word;
	enum th_code code;

	*ret = TH_HUMAN_NOTHING;
	if (line.len > TH_HUMAN_LINE_MAX)
		return th_fail(err, TH_ELIMIT, "a line has at most %zu bytes", TH_HUMAN_LINE_MAX);
	if (th_utf8_valid(line) != line.len)
		return th_fail(err, TH_EUSAGE, "the line is not UTF-8 text");
	if (!whole.len)
		return TH_OK;
	*ret = TH_HUMAN_ANSWER;
	if (whole.ptr[0] == '{' || whole.ptr[0] == '[')
		return read_json(whole, answer, err);
	word = th_str_split(&rest, ' ');
	rest = th_str_trim(rest);
	if (read_tool(word, rest, answer, &code, err))
		return code;
	for (size_t i = 0; i < TH_COUNT(verbs); i++)
		if (th_str_is(word, verbs[i].word))
			return read_verb(&verbs[i], rest, ret, answer, err);
	return read_text(whole, answer, err);
}
