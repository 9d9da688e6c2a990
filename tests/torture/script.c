/* SPDX-License-Identifier: Apache-2.0 */
/* script.c - the tasks, and a model that reads its next line off the history it is shown. */
#include <stdio.h>

#include "torture.h"

#define SAY(name) "echo before-" name "; echo " name " >ledger; echo after-" name
#define SHELL(name)                                                                               \
	{                                                                                         \
		"shell", "{\"command\":\"" SAY(name) "\"}", TH_CLASS_W, name, "after-" name, NULL \
	}
#define SLOW(name)                                                                          \
	{                                                                                   \
		"shell", "{\"command\":\"echo begin; sleep 0.03; " SAY(name) "; exit 3\"}", \
		    TH_CLASS_W, name, "after-" name, NULL                                   \
	}
#define WRITE(name)                                                                          \
	{                                                                                    \
		"write_file", "{\"path\":\"" name "\",\"content\":\"text of " name "\\n\"}", \
		    TH_CLASS_V, name, "text of " name "\n", NULL                             \
	}
#define READ(name)                                                                              \
	{                                                                                       \
		"read_file", "{\"path\":\"" name "\"}", TH_CLASS_R, NULL, "text of " name, NULL \
	}
#define LIST(wanted)                                                           \
	{                                                                      \
		"list_dir", "{\"path\":\".\"}", TH_CLASS_R, NULL, wanted, NULL \
	}
#define TURN(text, calls)                    \
	{                                    \
		text, calls, TH_COUNT(calls) \
	}
#define END                                             \
	{                                               \
		"All is done as it was asked.", NULL, 0 \
	}

static const struct script_call all_1[] = { SHELL("w00"), LIST("ledger") };
static const struct script_call all_2[] = { SHELL("w02"), WRITE("v03"), SLOW("w04"), READ("seed") };
static const struct script_call all_3[] = { READ("v03"), LIST("seed"), WRITE("v08") };
static const struct script_call all_4[] = { WRITE("v09"), READ("seed"), WRITE("dir/v11") };
static const struct script_call all_5[] = { SHELL("w12") };
static const struct script_call all_6[] = { READ("dir/v11"), READ("v09"),  SHELL("w15"),
					    SHELL("w16"),    WRITE("v17"), LIST("seed") };
static const struct script_call all_7[] = { SHELL("w19"), WRITE("v20"), READ("seed") };
static const struct script_turn all_turns[] = {
	TURN("I look around first.", all_1), TURN("Now four things at once.", all_2),
	TURN("I read what I wrote.", all_3), TURN("Two files, and a look between.", all_4),
	TURN("One thing alone.", all_5),     TURN("Six at once.", all_6),
	TURN("The last three.", all_7),      END,
};
static const struct script all = {
	"all", NULL,      "do all of it",      "All is done as it was asked.",
	NULL,  all_turns, TH_COUNT(all_turns),
};

/* Approval of commands: what is written down as decided must be done once. */
static const struct script_call ask_1[] = { SHELL("w00"), READ("seed"), SHELL("w02") };
static const struct script_call ask_2[] = { WRITE("v03"), SLOW("w04") };
static const struct script_turn ask_turns[] = {
	TURN("Two commands that a person must allow.", ask_1),
	TURN("A file, and one command more.", ask_2),
	END,
};
static const struct script ask = {
	"ask", "shell",   "do it, when you may", "All is done as it was asked.",
	NULL,  ask_turns, TH_COUNT(ask_turns),
};

/* Short, for kills of the recovery. */
static const struct script_call short_1[] = { SHELL("w00"), WRITE("v01"), SLOW("w02"),
					      READ("seed") };
static const struct script_turn short_turns[] = {
	TURN("Four things at once.", short_1),
	END,
};
static const struct script short_ = {
	"short",
	NULL,
	"do it",
	"All is done as it was asked.",
	NULL,
	short_turns,
	TH_COUNT(short_turns),
};

/* A shell that lives on between calls, with a job in its background, and an editor. */
#define BASH(name)                                                                               \
	{                                                                                        \
		"bash", "{\"command\":\"" SAY(name) "\"}", TH_CLASS_W, name, "after-" name, NULL \
	}
#define JOB(name)                                                                         \
	{                                                                                 \
		"bash", "{\"command\":\"sleep 1000 & " SAY(name) "\"}", TH_CLASS_W, name, \
		    "after-" name, NULL                                                   \
	}
#define CREATE(name)                                                                              \
	{                                                                                         \
		"edit",                                                                           \
		    "{\"command\":\"create\",\"path\":\"" name "\",\"file_text\":\"text of " name \
		    "\\n\"}",                                                                     \
		    TH_CLASS_V, name, "text of " name "\n", NULL                                  \
	}
#define REPLACE(name)                                                                              \
	{                                                                                          \
		"edit",                                                                            \
		    "{\"command\":\"str_replace\",\"path\":\"" name                                \
		    "\",\"old_str\":\"text of " name "\",\"new_str\":\"other text of " name "\"}", \
		    TH_CLASS_V, name, "other text of " name "\n", "text of " name "\n"             \
	}
static const struct script_call hands_1[] = { BASH("w00"), CREATE("v01"), READ("seed") };
static const struct script_call hands_2[] = { JOB("w03"), REPLACE("seed") };
static const struct script_call hands_3[] = { BASH("w05"), CREATE("dir/v06") };
static const struct script_turn hands_turns[] = {
	TURN("A command, and a file.", hands_1),
	TURN("One that leaves something running, and a change.", hands_2),
	TURN("And once more.", hands_3),
	END,
};
static const struct script hands = {
	"hands",
	NULL,
	"work",
	"All is done as it was asked.",
	NULL,
	hands_turns,
	TH_COUNT(hands_turns),
};

/*
 * On a desktop: a terminal hands each line that is typed into it to the ledger.
 * A gesture empties the line first, for what an earlier one may have left there.
 */
#define TYPE(name)                                                                \
	{                                                                         \
		"computer",                                                       \
		    "{\"actions\":[{\"type\":\"click\",\"x\":200,\"y\":120},"     \
		    "{\"type\":\"key\",\"keys\":[\"ctrl\",\"u\"]},"               \
		    "{\"type\":\"type\",\"text\":\"" name "\",\"enter\":true}]}", \
		    TH_CLASS_W, name, "image", NULL                               \
	}
#define SETTLE                                                                         \
	{                                                                              \
		"shell",                                                               \
		    "{\"command\":\"n=0; while [ ! -e .ready ] && [ $n -lt 100 ]; do " \
		    "sleep 0.1; n=$((n+1)); done; sleep 0.3; echo settled\"}",         \
		    TH_CLASS_W, NULL, "settled", NULL                                  \
	}
static const struct script_call desk_1[] = { SETTLE };
static const struct script_call desk_2[] = { TYPE("g01") };
static const struct script_call desk_3[] = { TYPE("g02"), SHELL("w03") };
static const struct script_call desk_4[] = { TYPE("g04") };
static const struct script_call desk_5[] = { SETTLE };
static const struct script_turn desk_turns[] = {
	TURN("I wait for the terminal.", desk_1),
	TURN("I type into it.", desk_2),
	TURN("And again, with a command.", desk_3),
	TURN("Once more.", desk_4),
	TURN("I wait.", desk_5),
	END,
};
static const struct script desk = {
	"desk",
	NULL,
	"type",
	"All is done as it was asked.",
	"name: desk\n"
	"model: scripted\n"
	"computer:\n"
	"  kind: desktop\n"
	"  width: 480\n"
	"  height: 320\n"
	"  start:\n"
	"    - \"xterm -geometry 60x12+20+20 -e sh -c ': >.ready; while read l; do echo $l "
	">ledger; "
	"done'\"\n",
	desk_turns,
	TH_COUNT(desk_turns),
};

const struct script *const scripts[] = { &all, &ask, &short_, &hands, &desk, NULL };

const struct script *script_find(const char *name)
{
	for (size_t i = 0; scripts[i]; i++)
		if (strcmp(scripts[i]->name, name) == 0)
			return scripts[i];
	return NULL;
}

size_t script_calls(const struct script *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++)
		n += s->turns[i].count;
	assert(n <= CALLS_MAX && s->count <= TURNS_MAX);
	return n;
}

const struct script_call *script_call(const struct script *s, size_t index)
{
	for (size_t i = 0; i < s->count; i++) {
		if (index < s->turns[i].count)
			return &s->turns[i].calls[index];
		index -= s->turns[i].count;
	}
	return NULL;
}

void script_call_id(size_t index, char out[static 16])
{
	snprintf(out, 16, "call_%02u", (unsigned)index);
}

int script_call_index(const struct script *s, struct th_str id)
{
	int64_t n;

	if (!th_str_starts(id, TH_STR("call_")) || !th_str_i64(th_str_sub(id, 5, id.len), &n) ||
	    n < 0 || (size_t)n >= script_calls(s))
		return -1;
	return (int)n;
}

/* ---- judging ---- */

static void blame(struct script_seen *seen, unsigned *count, const char *what, struct th_str id)
{
	(*count)++;
	if (!seen->what[0])
		snprintf(seen->what, sizeof(seen->what), "the history sent to the model %s %.*s",
			 what, TH_FMT(id));
}

static bool same_json(struct th_str a, const char *b)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *x = NULL;
	TH_CLEANUP(th_json_freep) struct th_json_doc *y = NULL;

	return th_json_parse(a, &x, NULL) == TH_OK &&
	       th_json_parse(th_str_of(b), &y, NULL) == TH_OK &&
	       th_json_equal(th_json_root(x), th_json_root(y));
}

static void judge_call(const struct script *s, const struct th_json *item, size_t *calls,
		       struct script_seen *seen)
{
	struct th_str id = th_json_get_str(item, "call_id");
	const struct script_call *c = script_call(s, *calls);
	int index = script_call_index(s, id);

	if (index >= 0 && (size_t)index < *calls)
		blame(seen, &seen->duplicated, "has twice the call", id);
	else if (!c || index != (int)*calls || !th_str_is(th_json_get_str(item, "name"), c->tool) ||
		 !same_json(th_json_get_str(item, "arguments"), c->arguments))
		blame(seen, &seen->diverged, "has another call than was asked for:", id);
	(*calls)++;
}

static void judge_output(const struct script *s, const struct th_json *item, unsigned *outputs,
			 struct script_seen *seen)
{
	struct th_buf text = TH_BUF_INIT(1 << 20);
	struct th_str id = th_json_get_str(item, "call_id");
	int index = script_call_index(s, id);

	if (index < 0) {
		blame(seen, &seen->diverged, "has the outcome of an unknown call", id);
		return;
	}
	if (outputs[index]++)
		blame(seen, &seen->duplicated, "has twice the outcome of", id);
	th_json_print(th_json_get(item, "output"), &text);
	uint64_t hash = th_hash64(text.ptr, text.len);
	if (seen->told[index] && seen->told[index] != hash)
		blame(seen, &seen->diverged, "tells now another outcome of", id);
	seen->told[index] = hash;
	th_buf_deinit(&text);
}

int script_judge(const struct script *s, const struct th_json *body, struct script_seen *seen)
{
	struct th_json_iter it = th_json_iter(th_json_get(body, "input"));
	unsigned outputs[CALLS_MAX] = { 0 };
	size_t calls = 0, sum = 0, turn = 0;
	char id[16];

	while (th_json_next(&it)) {
		struct th_str type = th_json_get_str(it.val, "type");

		if (th_str_is(type, "function_call"))
			judge_call(s, it.val, &calls, seen);
		else if (th_str_is(type, "function_call_output"))
			judge_output(s, it.val, outputs, seen);
	}
	for (size_t i = 0; i < calls && i < CALLS_MAX; i++) {
		script_call_id(i, id);
		if (!outputs[i])
			blame(seen, &seen->lost, "lacks the outcome of", th_str_of(id));
	}
	for (; turn < s->count && sum < calls; turn++)
		sum += s->turns[turn].count;
	if (sum != calls || turn >= s->count) {
		blame(seen, &seen->diverged, "ends inside an answer:", TH_STR(""));
		return -1;
	}
	seen->requests[turn]++;
	return (int)turn;
}

/* ---- answering ---- */

struct answer {
	struct th_buf *out;
	struct th_buf items, item;
	size_t sequence, index;
};

static void event(struct answer *a, const char *type, const char *key, struct th_str value)
{
	th_buf_printf(a->out,
		      "event: %s\ndata: {\"type\":\"%s\",\"sequence_number\":%zu,"
		      "\"output_index\":%zu,\"%s\":%.*s}\n\n",
		      type, type, a->sequence++, a->index, key, TH_FMT(value));
}

static void delta(struct answer *a, const char *type, const char *id, struct th_str text)
{
	struct th_buf json = TH_BUF_INIT(1 << 16);

	th_json_escape(&json, text);
	th_buf_printf(
	    a->out,
	    "event: %s\ndata: {\"type\":\"%s\",\"sequence_number\":%zu,\"item_id\":\"%s\","
	    "\"output_index\":%zu,\"content_index\":0,\"delta\":\"%.*s\"}\n\n",
	    type, type, a->sequence++, id, a->index, TH_FMT(th_buf_str(&json)));
	th_buf_deinit(&json);
}

static void item_done(struct answer *a)
{
	event(a, "response.output_item.done", "item", th_buf_str(&a->item));
	th_buf_printf(&a->items, "%s%.*s", a->index ? "," : "", TH_FMT(th_buf_str(&a->item)));
	a->index++;
}

static void say(struct answer *a, int turn, const char *text)
{
	char id[16];
	struct th_str rest = th_str_of(text);

	snprintf(id, sizeof(id), "msg_%02d", turn);
	th_buf_clear(&a->item);
	th_buf_printf(&a->item,
		      "{\"type\":\"message\",\"id\":\"%s\",\"role\":\"assistant\","
		      "\"status\":\"in_progress\",\"content\":[]}",
		      id);
	event(a, "response.output_item.added", "item", th_buf_str(&a->item));
	while (rest.len) {
		struct th_str word = th_str_sub(rest, 0, 7);

		delta(a, "response.output_text.delta", id, word);
		rest = th_str_sub(rest, word.len, rest.len);
	}
	th_buf_clear(&a->item);
	th_buf_printf(&a->item,
		      "{\"type\":\"message\",\"id\":\"%s\",\"role\":\"assistant\","
		      "\"status\":\"completed\",\"content\":[{\"type\":\"output_text\","
		      "\"text\":\"%s\",\"annotations\":[]}]}",
		      id, text);
	item_done(a);
}

static void print_call(struct answer *a, size_t index, const struct script_call *c, bool done)
{
	char id[16];

	script_call_id(index, id);
	th_buf_clear(&a->item);
	th_buf_printf(&a->item,
		      "{\"type\":\"function_call\",\"id\":\"fc_%02zu\",\"call_id\":\"%s\","
		      "\"name\":\"%s\",\"status\":\"%s\",\"arguments\":\"",
		      index, id, c->tool, done ? "completed" : "in_progress");
	if (done)
		th_json_escape(&a->item, th_str_of(c->arguments));
	th_buf_add(&a->item, TH_STR("\"}"));
}

static void call(struct answer *a, size_t index, const struct script_call *c)
{
	char id[16];

	snprintf(id, sizeof(id), "fc_%02u", (unsigned)index);
	print_call(a, index, c, false);
	event(a, "response.output_item.added", "item", th_buf_str(&a->item));
	delta(a, "response.function_call_arguments.delta", id, th_str_of(c->arguments));
	print_call(a, index, c, true);
	item_done(a);
}

static void response(struct answer *a, int turn, const char *type, const char *status)
{
	struct th_buf text = TH_BUF_INIT(1 << 18);

	th_buf_printf(&text,
		      "{\"id\":\"resp_%02d\",\"object\":\"response\",\"status\":\"%s\",\"model\":"
		      "\"scripted\",\"output\":[%.*s],\"error\":null,\"incomplete_details\":null,"
		      "\"usage\":{\"input_tokens\":100,\"output_tokens\":10,\"total_tokens\":110}}",
		      turn, status, TH_FMT(th_buf_str(&a->items)));
	event(a, type, "response", th_buf_str(&text));
	th_buf_deinit(&text);
}

void script_answer(const struct script *s, int turn, struct th_buf *out)
{
	struct answer a = { .out = out,
			    .items = TH_BUF_INIT(1 << 18),
			    .item = TH_BUF_INIT(1 << 16) };
	size_t first = 0;

	for (int i = 0; i < turn; i++)
		first += s->turns[i].count;
	response(&a, turn, "response.created", "in_progress");
	say(&a, turn, s->turns[turn].text);
	for (size_t i = 0; i < s->turns[turn].count; i++)
		call(&a, first + i, &s->turns[turn].calls[i]);
	response(&a, turn, "response.completed", "completed");
	th_buf_deinit(&a.items);
	th_buf_deinit(&a.item);
}
