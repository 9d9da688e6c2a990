/* SPDX-License-Identifier: Apache-2.0 */
/* agents.c - the agents that a server has: the files of its folder. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/files.h"
#include "server/service.h"

static const char default_agent[] = "name: default\n";

static int by_name(const void *a, const void *b)
{
	const struct th_served_agent *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void add(struct th_served *s, const char *name, const char *path)
{
	struct th_served_agent *a;

	s->list = th_realloc(s->list, (s->count + 1) * sizeof(*s->list));
	a = &s->list[s->count++];
	*a = (struct th_served_agent){ 0 };
	snprintf(a->name, sizeof(a->name), "%s", name);
	th_buf_init(&a->text, TH_CONFIG_SIZE_MAX);
	a->path = th_alloc(strlen(path) + 1);
	memcpy(a->path, path, strlen(path) + 1);
}

int th_served_make(const struct th_served_agent *a, const char *workspace, struct thole_agent **ret,
		   struct thole_error *err)
{
	struct thole_agent *agent = NULL;
	int code =
	    thole_agent_parse(a->text.len ? a->text.ptr : default_agent, a->path, &agent, err);

	if (!code && workspace)
		code = thole_agent_set(agent, "workspace", workspace, err);
	if (code)
		thole_agent_free(agent);
	else
		*ret = agent;
	return code;
}

/* A file of the folder; others than NAME.yaml are passed over. */
static enum th_code load_one(const char *folder, const char *file, struct th_served *s,
			     struct th_err *err)
{
	struct th_str name = th_str_of(file);
	struct thole_agent *agent = NULL;
	struct thole_error e;
	char path[TH_PATH_LEN_MAX], plain[TH_AGENT_NAME_MAX + 1];
	enum th_code code;

	if (!th_str_ends(name, TH_STR(".yaml")) || file[0] == '.')
		return TH_OK;
	name.len -= strlen(".yaml");
	if (name.len > TH_AGENT_NAME_MAX || s->count == TH_SERVE_AGENTS_MAX)
		return th_fail(err, TH_ELIMIT,
			       "%s: an agent's name has at most %d bytes, and a "
			       "folder at most %d of them",
			       folder, TH_AGENT_NAME_MAX, TH_SERVE_AGENTS_MAX);
	snprintf(plain, sizeof(plain), "%.*s", TH_FMT(name));
	if (snprintf(path, sizeof(path), "%s/%s", folder, file) >= (int)sizeof(path))
		return th_fail(err, TH_ELIMIT, "%s: the path is too long", folder);
	add(s, plain, path);
	code = th_file_read(path, TH_CONFIG_SIZE_MAX, &s->list[s->count - 1].text, err);
	if (code)
		return code;
	if (th_served_make(&s->list[s->count - 1], NULL, &agent, &e) != 0)
		return th_fail(err, (enum th_code)e.code, "%s", e.text);
	thole_agent_free(agent);
	return TH_OK;
}

enum th_code th_served_load(struct th_str folder, struct th_served *ret, struct th_err *err)
{
	struct th_served new = { 0 };
	char path[TH_PATH_LEN_MAX];
	enum th_code code = TH_OK;
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%.*s", TH_FMT(folder));
	if (folder.len) {
		dir = opendir(path);
		if (!dir)
			return th_fail_errno(err, errno, "agents %s", path);
		while (!code && (entry = readdir(dir)))
			code = load_one(path, entry->d_name, &new, err);
		closedir(dir);
	}
	if (!code && !th_served_find(&new, TH_STR("default")))
		add(&new, "default", "default");
	if (code) {
		th_served_deinit(&new);
		return code;
	}
	qsort(new.list, new.count, sizeof(*new.list), by_name);
	*ret = new;
	return TH_OK;
}

void th_served_deinit(struct th_served *s)
{
	for (size_t i = 0; i < s->count; i++) {
		th_buf_deinit(&s->list[i].text);
		free(s->list[i].path);
	}
	free(s->list);
	*s = (struct th_served){ 0 };
}

const struct th_served_agent *th_served_find(const struct th_served *s, struct th_str name)
{
	for (size_t i = 0; i < s->count; i++)
		if (th_str_is(name, s->list[i].name))
			return &s->list[i];
	return NULL;
}

void th_api_agents(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&json);

	th_jw_object(&w);
	th_jw_name(&w, TH_STR("agents"));
	th_jw_array(&w);
	for (size_t i = 0; i < a->server->agents.count; i++) {
		th_jw_object(&w);
		th_jw_kstr(&w, "name", th_str_of(a->server->agents.list[i].name));
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
	th_jw_name(&w, TH_STR("computers"));
	th_jw_array(&w);
	th_settings_put_computers(&a->server->settings, &w);
	th_jw_array_end(&w);
	th_jw_object_end(&w);
	th_access_json(a, 200, &json);
}
