/* SPDX-License-Identifier: Apache-2.0 */
/* script.c - the state, its caps, and calls into it. */
#include "script/script_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "io/clock.h"

/* Instructions between two looks at budget and clock.  Between them one instruction may still touch
 * a block of TH_SCRIPT_BLOCK_MAX bytes, so it must not be many. */
#define TICK 100
/* A block costs this much, and an instruction for so many of its bytes: what its collection takes
 * is paid with it. */
#define BLOCK_COST 12
#define BYTES_PER_UNIT 32
/* Of the caller's depth in the C stack nothing is known; Lua's own limit counts from here. */
#define STACK_SLOTS 16

/* ---- caps --------------------------------------------------------------------------------- */

static void stop(struct th_script *s, enum th_script_stop why)
{
	if (s->stopped == TH_STOP_NONE)
		s->stopped = why;
}

/* No allocation: that may be what has come to its end. */
static _Noreturn void raise(lua_State *L)
{
	lua_pushlightuserdata(L, th_script_of(L));
	lua_error(L);
	abort();
}

void th_script_charge(lua_State *L, int64_t units)
{
	struct th_script *s = th_script_of(L);

	if (!s->bounded)
		return;
	s->left -= units;
	if (s->left < 0)
		stop(s, TH_STOP_INSTRUCTIONS);
	if (s->stopped)
		raise(L);
}

static void on_tick(lua_State *L, lua_Debug *ar)
{
	struct th_script *s = th_script_of(L);

	(void)ar;
	if (s->bounded && th_clock_ns() > s->deadline_ns)
		stop(s, TH_STOP_TIME);
	th_script_charge(L, TICK);
}

/* What a seat keeps is not given back: it is as it was when the next one takes it. */
static void *take(struct th_script *s, void *ptr, size_t old, size_t size)
{
	bool seated = ptr && th_script_seat_has(s->seat, ptr);
	void *ret = NULL;

	if (seated && size <= old)
		return ptr;
	if (s->seat && (!ptr || seated))
		ret = th_script_seat_add(s->seat, size);
	if (!ret)
		ret = realloc(seated ? NULL : ptr, size);
	if (ret && seated)
		memcpy(ret, ptr, old);
	return ret;
}

/* Lua collects and asks once more before it takes a refusal for an error. */
static void *allocate(void *ctx, void *ptr, size_t old_size, size_t size)
{
	struct th_script *s = ctx;
	size_t old = ptr ? old_size : 0; /* without a block it is a kind, not a size */
	void *ret;

	if (size == 0) {
		s->memory -= old;
		if (!th_script_seat_has(s->seat, ptr))
			free(ptr);
		return NULL;
	}
	if (size > old && s->bounded) {
		if (size > TH_SCRIPT_BLOCK_MAX || s->memory - old + size > s->limits.memory)
			return NULL;
		s->left -= BLOCK_COST + (int64_t)(size / BYTES_PER_UNIT);
		if (s->left < 0)
			stop(s, TH_STOP_INSTRUCTIONS);
		if (s->stopped)
			return NULL;
	}
	ret = take(s, ptr, old, size);
	if (!ret)
		return size <= old ? ptr : NULL;
	s->memory = s->memory - old + size;
	return ret;
}

void th_script_caught(lua_State *L, int status, int value)
{
	struct th_script *s = th_script_of(L);
	const char *text;

	/* Lua's buffers report a refusal as an ordinary error with these words. */
	text = lua_type(L, value) == LUA_TSTRING ? lua_tostring(L, value) : "";
	if (status == LUA_ERRMEM || strcmp(text, "not enough memory") == 0)
		stop(s, TH_STOP_MEMORY);
	if (s->stopped)
		raise(L);
}

/* ---- functions that charge ---------------------------------------------------------------- */

static int charged(lua_State *L)
{
	th_script_charge(L, 2);
	return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

void th_script_wrap(lua_State *L)
{
	assert(lua_iscfunction(L, -1));
	lua_pushcclosure(L, charged, 1);
}

/* ---- running ------------------------------------------------------------------------------ */

static void begin(struct th_script *s)
{
	s->left = s->limits.instructions;
	s->deadline_ns = th_clock_ns() + (uint64_t)s->limits.wall_ms * 1000000;
	s->bounded = true;
}

static enum th_code fail_stopped(const struct th_script *s, struct th_err *err)
{
	switch (s->stopped) {
	case TH_STOP_MEMORY:
		return th_fail(err, TH_ELIMIT,
			       "%s: stopped: it needs more than %zu bytes of memory", s->name,
			       s->limits.memory);
	case TH_STOP_INSTRUCTIONS:
		return th_fail(err, TH_ELIMIT, "%s: stopped: it takes more than %lld instructions",
			       s->name, (long long)s->limits.instructions);
	case TH_STOP_TIME:
		return th_fail(err, TH_ETIMEOUT, "%s: stopped: it takes longer than %lld ms",
			       s->name, (long long)s->limits.wall_ms);
	case TH_STOP_NONE:
		break;
	}
	return TH_OK;
}

/* The error at the top of the stack, which is taken off.  No code of the script runs for it. */
static enum th_code fail_raised(struct th_script *s, int status, enum th_code code,
				struct th_err *err)
{
	struct th_buf text = TH_BUF_INIT(4 * TH_ERR_MSG_MAX);
	size_t len = 0;
	const char *ptr = NULL;
	const char *type = luaL_typename(s->L, -1);

	if (status == LUA_ERRMEM)
		stop(s, TH_STOP_MEMORY);
	if (lua_type(s->L, -1) == LUA_TSTRING)
		ptr = lua_tolstring(s->L, -1, &len);
	if (ptr && strcmp(ptr, "not enough memory") == 0)
		stop(s, TH_STOP_MEMORY);
	if (s->stopped)
		code = fail_stopped(s, err);
	else if (ptr) {
		th_text_line(&text, th_str_n(ptr, len), TH_ERR_MSG_MAX - 100);
		th_fail(err, code, "%s", text.ptr);
	} else
		th_fail(err, code, "%s: raised a value of type %s as its error", s->name, type);
	lua_settop(s->L, 0);
	th_buf_deinit(&text);
	return code;
}

struct call {
	const char *function;
	const struct th_json *arguments;
	struct th_buf *out;
	bool missing;
};

static int run_call(lua_State *L)
{
	struct call *c = lua_touserdata(L, 1);
	struct th_json_iter it = th_json_iter(c->arguments);
	int count = (int)th_json_count(c->arguments);

	lua_settop(L, 0);
	lua_pushglobaltable(L);
	lua_pushstring(L, c->function);
	lua_rawget(L, 1);
	c->missing = !lua_isfunction(L, -1);
	if (c->missing)
		return 0;
	luaL_checkstack(L, count + STACK_SLOTS, "too many arguments");
	while (th_json_next(&it))
		th_script_push(L, it.val, 0);
	lua_call(L, count, 1);
	if (c->out)
		th_script_print(L, -1, c->out);
	return 0;
}

static int run_setup(lua_State *L)
{
	th_script_open(L);
	th_script_open_string(L);
	th_script_open_values(L);
	return 0;
}

struct source {
	struct th_str text;
	const char *name;
	bool compiled;
};

static int run_source(lua_State *L)
{
	struct source *src = lua_touserdata(L, 1);
	char name[80];

	lua_settop(L, 0);
	snprintf(name, sizeof(name), "=%s", src->name);
	if (luaL_loadbufferx(L, src->text.ptr, src->text.len, name, "t") != LUA_OK)
		lua_error(L);
	lua_call(L, 0, 0);
	return 0;
}

static int protected(struct th_script *s, lua_CFunction run, void *ctx)
{
	lua_settop(s->L, 0);
	lua_pushcfunction(s->L, run);
	lua_pushlightuserdata(s->L, ctx);
	return lua_pcall(s->L, 1, 0, 0);
}

/* What stands in the owner, of a state with its libraries. */
struct made {
	lua_State *L;
	size_t memory;
	int list_ref;
};

/* Its status; without s->L: out of memory. */
static int state_new(struct th_script *s)
{
	int status;

	if (s->seat && th_script_seat_restore(s->seat)) {
		const struct made *m = th_script_seat_words(s->seat);

		s->L = m->L;
		s->memory = m->memory;
		s->list_ref = m->list_ref;
		lua_setallocf(s->L, allocate, s);
		*(struct th_script **)lua_getextraspace(s->L) = s;
		return LUA_OK;
	}
	s->L = lua_newstate(allocate, s);
	if (!s->L)
		return LUA_ERRMEM;
	*(struct th_script **)lua_getextraspace(s->L) = s;
	status = protected(s, run_setup, NULL);
	if (status == LUA_OK && s->seat) {
		struct made made = { s->L, s->memory, s->list_ref };

		th_script_seat_keep(s->seat, &made, sizeof(made));
	}
	return status;
}

static void set_limits(struct th_script *s, const struct th_script_limits *given)
{
	s->limits = (struct th_script_limits){
		.memory = TH_SCRIPT_MEMORY_MAX,
		.instructions = TH_SCRIPT_INSTRUCTIONS_MAX,
		.wall_ms = TH_SCRIPT_WALL_MS,
	};
	if (!given)
		return;
	if (given->memory)
		s->limits.memory = TH_MIN(given->memory, s->limits.memory);
	if (given->instructions > 0)
		s->limits.instructions = TH_MIN(given->instructions, s->limits.instructions);
	if (given->wall_ms > 0)
		s->limits.wall_ms = TH_MIN(given->wall_ms, s->limits.wall_ms);
}

enum th_code th_script_new(struct th_str name, struct th_str source,
			   const struct th_script_limits *limits, struct th_script **ret,
			   struct th_err *err)
{
	struct th_script *s;
	struct source src = { .text = source };
	enum th_code code;
	int status;

	if (source.len > TH_SCRIPT_SOURCE_MAX)
		return th_fail(err, TH_ELIMIT, "%.*s: a script has at most %zu bytes, this one %zu",
			       TH_FMT(th_utf8_cut(name, 60)), TH_SCRIPT_SOURCE_MAX, source.len);
	s = th_alloc(sizeof(*s));
	set_limits(s, limits);
	snprintf(s->name, sizeof(s->name), "%.*s", TH_FMT(th_utf8_cut(name, sizeof(s->name) - 1)));
	th_buf_init(&s->said, TH_SCRIPT_SAID_MAX);
	th_buf_init(&s->scratch, TH_SCRIPT_VALUE_MAX);
	s->seat = th_script_seat_take();
	status = state_new(s);
	if (!s->L) {
		th_script_free(s);
		return th_fail_memory(err);
	}
	if (status == LUA_OK) {
		lua_sethook(s->L, on_tick, LUA_MASKCOUNT, TICK);
		begin(s);
		src.name = s->name;
		status = protected(s, run_source, &src);
	}
	if (status == LUA_OK) {
		*ret = s;
		return TH_OK;
	}
	code = fail_raised(s, status, TH_EUSAGE, err);
	th_script_free(s);
	return code;
}

struct th_script *th_script_free(struct th_script *s)
{
	if (!s)
		return NULL;
	s->bounded = false;
	if (s->L)
		lua_close(s->L);
	th_script_seat_give(s->seat);
	th_json_free(s->doc);
	th_buf_deinit(&s->said);
	th_buf_deinit(&s->scratch);
	free(s);
	return NULL;
}

bool th_script_has(struct th_script *s, const char *function)
{
	bool ret = false;

	/* The name is a string of Lua's, and making one may pass the memory cap. */
	s->bounded = false;
	lua_pushglobaltable(s->L);
	lua_pushstring(s->L, function);
	lua_rawget(s->L, -2);
	ret = lua_isfunction(s->L, -1);
	lua_settop(s->L, 0);
	return ret;
}

enum th_code th_script_call(struct th_script *s, const char *function, struct th_str arguments,
			    struct th_buf *out, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct call call = { .function = function, .out = out };
	size_t len = out->len;
	enum th_code code;
	int status;

	if (s->stopped)
		return fail_stopped(s, err);
	if (arguments.len > TH_SCRIPT_VALUE_MAX)
		return th_fail(err, TH_ELIMIT, "%s: %s is given more than %zu bytes", s->name,
			       function, TH_SCRIPT_VALUE_MAX);
	code = th_json_parse(arguments, &doc, err);
	if (code)
		return th_prefix(err, code, "%s: arguments of %s", s->name, function);
	call.arguments = th_json_root(doc);
	assert(th_json_is_array(call.arguments));
	begin(s);
	status = protected(s, run_call, &call);
	if (status != LUA_OK) {
		th_buf_truncate(out, len);
		return fail_raised(s, status, TH_EPROTO, err);
	}
	if (call.missing)
		return th_fail(err, TH_ENOENT, "%s: has no function %s", s->name, function);
	return TH_OK;
}

struct th_str th_script_said(const struct th_script *s)
{
	return th_buf_str(&s->said);
}
