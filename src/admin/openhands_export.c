/* SPDX-License-Identifier: Apache-2.0 */
/* openhands_export.c - a session of ours as a folder that OpenHands reads. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "admin/openhands.h"
#include "admin/trajectory.h"
#include "base/limits.h"
#include "core/session.h"
#include "forms/openhands_write.h"
#include "io/files.h"

struct leaving {
	struct th_store *store;
	const struct th_session_row *row;
	struct th_openhands_log log;
	struct th_openhands_writer writer;
	struct th_str state; /* of the conversation that it was, JSON */
	struct th_session fold;
	struct th_arena memory;
	bool forked; /* and nothing happened since */
	int dir;
};

static enum th_code picture(void *ctx, const struct th_digest *hash, struct th_buf *out,
			    struct th_err *err)
{
	const struct leaving *x = ctx;

	return th_trajectory_picture(x->store, hash, out, err);
}

static enum th_code on_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			     struct th_err *err)
{
	struct leaving *x = ctx;
	struct th_effects fx TH_UNSET;

	(void)digest;
	if (ev->kind == TH_EV_SESSION_CREATED)
		x->state = th_arena_str(
		    &x->memory,
		    th_json_raw_get(
			th_json_raw_get(th_json_raw_get(ev->data, "metadata"), "openhands"),
			"state"));
	x->forked = ev->kind == TH_EV_SESSION_FORKED;
	return th_session_step(&x->fold, ev, &fx, err) ?: th_openhands_write(&x->writer, ev, err);
}

/* ---- files ---- */

/* "events/7.json": the folder is there. */
static enum th_code put_file(struct leaving *x, struct th_str name, struct th_str text,
			     struct th_err *err)
{
	char path[TH_SESSION_ID_MAX + 256];
	int fd = -1, dir = x->dir;
	ptrdiff_t slash = th_str_find_char(name, '/');
	enum th_code code;

	snprintf(path, sizeof(path), "%.*s",
		 TH_FMT(slash < 0 ? name : th_str_sub(name, (size_t)slash + 1, name.len)));
	if (strchr(path, '/') || th_str_find_char(name, '\0') >= 0)
		return th_fail(err, TH_EPROTO, "an event's id cannot be in a file's name");
	if (slash >= 0) {
		code = th_open_beneath(x->dir, th_str_sub(name, 0, (size_t)slash),
				       O_RDONLY | O_DIRECTORY, 0, &fd, err);
		if (code)
			return code;
		dir = fd;
	}
	code = th_file_write_at(dir, path, text, 0600, err);
	th_fd_close(&fd);
	return code;
}

static enum th_code put_events(struct leaving *x, struct th_err *err)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	enum th_code code = TH_OK;

	for (size_t i = 0; !code && i < x->log.count; i++) {
		th_buf_clear(&name);
		th_openhands_event_file(&x->log, i, &name);
		code = th_buf_check(&name, "a file's name", err)
			   ?: put_file(x, th_buf_str(&name), x->log.list[i].text, err);
	}
	return code;
}

/* Whole pages only, as OpenHands writes them. */
static enum th_code put_pages(struct leaving *x, struct th_err *err)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf page TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EXPORT_SIZE_MAX);
	enum th_code code = TH_OK;

	for (size_t first = 0; !code && first + TH_OPENHANDS_PAGE <= x->log.count;
	     first += TH_OPENHANDS_PAGE) {
		struct th_jw w = th_jw(&page);

		th_buf_clear(&name);
		th_buf_clear(&page);
		th_openhands_page_file(first, &name);
		th_jw_array(&w);
		for (size_t i = 0; i < TH_OPENHANDS_PAGE; i++)
			th_jw_raw(&w, x->log.list[first + i].text);
		th_jw_array_end(&w);
		code = th_buf_check(&page, "a page", err)
			   ?: put_file(x, th_buf_str(&name), th_buf_str(&page), err);
	}
	return code;
}

/* ---- state ---- */

static const char *status_of(const struct leaving *x)
{
	if (x->forked)
		return "idle";
	switch (x->fold.state) {
	case TH_STATE_FINISHED:
		return "finished";
	case TH_STATE_WAITING:
		return "waiting_for_confirmation";
	case TH_STATE_PAUSED:
	case TH_STATE_SCHEDULED:
		return "paused";
	case TH_STATE_FAILED:
	case TH_STATE_LIMIT:
		return "error";
	case TH_STATE_STUCK:
		return "stuck";
	case TH_STATE_RUNNING: /* nobody has it: its process has died */
		return "running";
	case TH_STATE_LOADING:
	case TH_STATE_IDLE:
	case TH_STATE_STOPPED:
	case TH_STATE_COUNT:
		break;
	}
	return "idle";
}

static void put_agent(const struct leaving *x, struct th_jw *w)
{
	th_jw_name(w, TH_STR("agent"));
	th_jw_object(w);
	th_jw_kstr(w, "kind", TH_STR("Agent"));
	th_jw_name(w, TH_STR("llm"));
	th_jw_object(w);
	th_jw_kstr(w, "model", x->row->model);
	th_jw_kstr(w, "usage_id", TH_STR("default"));
	th_jw_object_end(w);
	th_jw_name(w, TH_STR("tools"));
	th_jw_array(w);
	th_jw_array_end(w);
	th_jw_object_end(w);
	th_jw_name(w, TH_STR("workspace"));
	th_jw_object(w);
	th_jw_kstr(w, "kind", TH_STR("LocalWorkspace"));
	th_jw_kstr(w, "working_dir",
		   x->fold.workspace.len ? x->fold.workspace : TH_STR("workspace"));
	th_jw_object_end(w);
}

/* The name as a UUID, which OpenHands wants: itself, or one made of it. */
static void put_uuid(struct th_str name, struct th_jw *w)
{
	struct th_digest d = th_sha256_of(name.ptr, name.len);
	char text[TH_UUID_TEXT_SIZE + 1];
	struct th_uuid id;

	if (!th_uuid_parse(name, &id)) {
		memcpy(id.bytes, d.bytes, sizeof(id.bytes));
		id.bytes[6] = (uint8_t)((id.bytes[6] & 0x0f) | 0x80);
		id.bytes[8] = (uint8_t)((id.bytes[8] & 0x3f) | 0x80);
	}
	th_uuid_text(&id, text);
	th_jw_kstr(w, "id", th_str_of(text));
}

/* What was there stays; what we know better is put in its place. */
static void put_v1_state(const struct leaving *x, struct th_jw *w)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *state = NULL;
	struct th_json_iter it;

	if (x->state.len && !th_json_parse(x->state, &doc, NULL))
		state = th_json_root(doc);
	it = th_json_iter(state);
	th_jw_object(w);
	if (!th_json_get(state, "id"))
		put_uuid(x->row->session_id, w);
	if (!th_json_get(state, "agent"))
		put_agent(x, w);
	while (th_json_next(&it)) {
		if (th_str_is(it.key, "execution_status") || th_str_is(it.key, "leaf_event_id"))
			continue;
		th_jw_key(w, it.key);
		th_jw_json(w, it.val);
	}
	th_jw_kstr(w, "execution_status", th_str_of(status_of(x)));
	if (x->log.count)
		th_jw_kstr(w, "leaf_event_id", x->log.list[x->log.count - 1].id);
	th_jw_object_end(w);
}

static void put_v0_state(const struct leaving *x, struct th_jw *w)
{
	if (x->state.len) {
		th_jw_raw(w, x->state);
		return;
	}
	th_jw_object(w);
	th_jw_kstr(w, "conversation_id", x->row->session_id);
	th_jw_kstr(w, "title", x->row->title);
	th_jw_name(w, TH_STR("selected_repository"));
	th_jw_null(w);
	th_jw_kstr(w, "llm_model", x->row->model);
	th_jw_object_end(w);
}

static enum th_code put_state(struct leaving *x, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&text);
	bool v0 = x->log.version == TH_OPENHANDS_V0;

	if (v0)
		put_v0_state(x, &w);
	else
		put_v1_state(x, &w);
	return th_buf_check(&text, "the state", err)
		   ?: put_file(x, v0 ? TH_STR("metadata.json") : TH_STR("base_state.json"),
			       th_buf_str(&text), err);
}

/* V0 finds a conversation only at its place in a file store; V1 is given the folder itself. */
static enum th_code place(const struct leaving *x, const char *path, struct th_buf *out,
			  struct th_err *err)
{
	struct th_str user = x->row->user, id = x->row->session_id;

	th_buf_add_cstr(out, path);
	if (x->log.version == TH_OPENHANDS_V1)
		return TH_OK;
	if (th_str_find_char(id, '/') >= 0 || th_str_find_char(user, '/') >= 0 ||
	    th_str_starts(id, TH_STR(".")) || th_str_starts(user, TH_STR(".")))
		return th_fail(err, TH_EUSAGE,
			       "the name of the session or its user cannot be a folder's name");
	th_buf_add_char(out, '/');
	th_openhands_v0_folder(user, id, out);
	return th_buf_check(out, "the folder's name", err);
}

static enum th_code open_folder(struct leaving *x, const char *root, struct th_err *err)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	enum th_code code = place(x, root, &name, err);
	const char *path = name.ptr;

	code = code ?: th_dir_make(path, 0700, err);
	if (code)
		return code;
	x->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (x->dir < 0)
		return th_fail_errno(err, errno, "%s", path);
	if (!th_dir_is_empty(x->dir))
		return th_fail(err, TH_EEXIST, "the folder %s is not empty", path);
	if (mkdirat(x->dir, "events", 0700) != 0 ||
	    (x->log.version == TH_OPENHANDS_V0 && mkdirat(x->dir, "event_cache", 0700) != 0))
		return th_fail_errno(err, errno, "%s", path);
	return TH_OK;
}

enum th_code th_openhands_export(struct th_store *store, const struct th_session_row *row,
				 bool first_generation, const char *path, struct th_err *err)
{
	struct leaving x = { .store = store, .row = row, .dir = -1 };
	const struct th_trajectory_out out = { &x, NULL, picture };
	enum th_code code;

	th_openhands_log_init(&x.log, first_generation ? TH_OPENHANDS_V0 : TH_OPENHANDS_V1);
	th_openhands_writer_init(&x.writer, &x.log, &out);
	th_session_init(&x.fold);
	th_arena_init(&x.memory, TH_EVENT_DATA_MAX);
	code = store->kind->read(store, row->session_id, 1, row->head_seq, on_event, &x, err);
	code = code ?: th_openhands_write_end(&x.writer, err);
	code = code ?: open_folder(&x, path, err);
	code = code ?: put_events(&x, err);
	if (!code && first_generation)
		code = put_pages(&x, err);
	code = code ?: put_state(&x, err);
	th_fd_close(&x.dir);
	th_openhands_writer_deinit(&x.writer);
	th_openhands_log_deinit(&x.log);
	th_session_deinit(&x.fold);
	th_arena_deinit(&x.memory);
	return code;
}
