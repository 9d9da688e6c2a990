/* SPDX-License-Identifier: Apache-2.0 */
#include "config/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/hook.h"
#include "base/text.h"
#include "io/files.h"

#define FILE_NAME ".openhands/hooks.json"

struct loading {
	struct th_buf lists[TH_HOOK_EVENT_COUNT]; /* elements of each event, with commas */
	struct th_arena *a;
};

static struct th_str *member_of(struct th_agent_hooks *h, enum th_hook_event e)
{
	struct th_str *const members[] = {
		[TH_HOOK_ON_PRE_TOOL_USE] = &h->pre_tool_use,
		[TH_HOOK_ON_POST_TOOL_USE] = &h->post_tool_use,
		[TH_HOOK_ON_USER_PROMPT_SUBMIT] = &h->user_prompt_submit,
		[TH_HOOK_ON_SESSION_START] = &h->session_start,
		[TH_HOOK_ON_SESSION_END] = &h->session_end,
		[TH_HOOK_ON_STOP] = &h->stop,
	};

	return members[e];
}

static void add(struct th_buf *list, const struct th_json *v)
{
	struct th_json_iter it = th_json_iter(v);

	while (th_json_next(&it)) {
		if (list->len)
			th_buf_add_char(list, ',');
		th_json_print(it.val, list);
	}
}

/* Each of its hooks is looked at here, where the file has a name. */
static enum th_code add_text(struct loading *x, struct th_str text, struct th_err *err)
{
	const struct th_json *events[TH_HOOK_EVENT_COUNT];
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_arena scratch TH_CLEANUP(th_arena_deinit) = { 0 };
	struct th_hook_program list[TH_GUARDRAILS_MAX];
	enum th_code code = th_json_parse(text, &doc, err);
	size_t count = 0;

	th_arena_init(&scratch, 4 * TH_MIB);
	code = code ?: th_hooks_file_read(th_json_root(doc), events, err);
	for (int i = 0; i < TH_HOOK_EVENT_COUNT && !code; i++) {
		code = th_hooks_read((enum th_hook_event)i, events[i], &scratch, list, &count,
				     TH_COUNT(list), err);
		add(&x->lists[i], events[i]);
		code = code ?: th_buf_check(&x->lists[i], "hooks", err);
	}
	return code;
}

/* A descriptor that is open, or errno why it is not. */
static enum th_code add_file(struct loading *x, int fd, struct th_str name, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HOOKS_FILE_MAX);
	struct stat st;
	enum th_code code;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		code = th_fail(err, TH_EUSAGE, "it is not a file");
	else
		code = th_file_read_fd(fd, TH_HOOKS_FILE_MAX, &text, err);
	code = code ?: add_text(x, th_buf_str(&text), err);
	return th_prefix(err, code, "%.*s", TH_FMT(th_utf8_cut(name, 200)));
}

/* Of a folder, out of which no link leads; it need not be there. */
static enum th_code add_beneath(struct loading *x, const char *folder, struct th_err *err)
{
	struct th_err why = { 0 };
	int root = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, fd = -1;
	struct th_str name;
	enum th_code code;

	if (root < 0)
		return TH_OK;
	name = th_arena_printf(x->a, "%s/" FILE_NAME, folder);
	code = th_open_beneath(root, TH_STR(FILE_NAME), O_RDONLY | O_NONBLOCK, 0, &fd, &why);
	if (code == TH_ENOENT)
		code = TH_OK;
	else if (code)
		code = th_fail(err, code, "%.*s: %s", TH_FMT(th_utf8_cut(name, 200)), why.msg);
	else
		code = add_file(x, fd, name, err);
	th_fd_close(&fd);
	th_fd_close(&root);
	return code;
}

static enum th_code add_named(struct loading *x, struct th_str file, struct th_err *err)
{
	const char *path = th_arena_cstr(x->a, file);
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	enum th_code code;

	if (fd < 0)
		return th_fail(err, TH_EUSAGE, "hooks.files: %.*s cannot be opened: %s",
			       TH_FMT(th_utf8_cut(file, 200)), strerror(errno));
	code = add_file(x, fd, file, err);
	th_fd_close(&fd);
	return code;
}

static enum th_code add_own(struct loading *x, struct th_agent_hooks *h, struct th_err *err)
{
	for (int i = 0; i < TH_HOOK_EVENT_COUNT; i++) {
		struct th_json_doc *doc = NULL;
		struct th_str raw = *member_of(h, (enum th_hook_event)i);
		enum th_code code = raw.len ? th_json_parse(raw, &doc, err) : TH_OK;

		if (!code)
			add(&x->lists[i], th_json_root(doc));
		th_json_free(doc);
		if (code)
			return code;
	}
	return TH_OK;
}

enum th_code th_hooks_load(struct th_agent *agent, struct th_arena *a, struct th_err *err)
{
	struct th_agent_hooks *hooks;
	struct loading x = { .a = a };
	enum th_code code;

	if (!agent->hooks ||
	    (!agent->hooks->repository && !agent->hooks->user && !agent->hooks->files.count))
		return TH_OK;
	hooks = TH_NEW(a, struct th_agent_hooks);
	if (!hooks)
		return th_fail(err, TH_ELIMIT, "the hooks are too large");
	*hooks = *agent->hooks;
	for (int i = 0; i < TH_HOOK_EVENT_COUNT; i++)
		th_buf_init(&x.lists[i], TH_HOOKS_FILE_MAX);
	code = add_own(&x, hooks, err);
	if (!code && hooks->repository)
		code = add_beneath(
		    &x, th_arena_cstr(a, agent->workspace.len ? agent->workspace : TH_STR(".")),
		    err);
	if (!code && hooks->user)
		code = add_beneath(&x, getenv("HOME"), err);
	for (size_t i = 0; !code && i < hooks->files.count; i++)
		code = add_named(&x, hooks->files.list[i], err);
	for (int i = 0; i < TH_HOOK_EVENT_COUNT; i++) {
		if (!code && x.lists[i].len)
			*member_of(hooks, (enum th_hook_event)i) =
			    th_arena_printf(a, "[%.*s]", TH_FMT(th_buf_str(&x.lists[i])));
		th_buf_deinit(&x.lists[i]);
	}
	agent->hooks = hooks;
	return code;
}
