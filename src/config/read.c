/* SPDX-License-Identifier: Apache-2.0 */
#include "config/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/wiped.h"
#include "config/yaml.h"
#include "io/files.h"

#define AGENT_JSON_MAX (8 * TH_CONFIG_SIZE_MAX) /* escapes make JSON longer than its YAML */

enum th_code th_config_table_err(struct th_str yaml, struct th_str name, enum th_code code,
				 struct th_err *err)
{
	struct th_err table = code ? *err : (struct th_err){ 0 };
	struct th_str path = th_table_err_path(&table);
	const char *rest = table.msg + (path.len ? path.len + 2 : 0);

	if (code != TH_EUSAGE)
		return code ? th_prefix(err, code, "%.*s", TH_FMT(name)) : TH_OK;
	return th_fail(err, TH_EUSAGE, "%.*s:%d: %.*s %s", TH_FMT(name), th_yaml_line(yaml, path),
		       TH_FMT(path.len ? path : TH_STR("the file")), rest);
}

enum th_code th_config_part_err(struct th_str file, const char *member, enum th_code code,
				struct th_err *err)
{
	/* It may hold a key. */
	struct th_buf text TH_CLEANUP(th_buf_wipe) = TH_BUF_INIT(TH_CONFIG_SIZE_MAX);
	struct th_buf at TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	size_t len = strlen(member);
	struct th_err inner = { 0 };
	struct th_str path;

	if (!code || !file.len || strncmp(err->msg, member, len) != 0 ||
	    strncmp(err->msg + len, ": ", 2) != 0 ||
	    th_config_read_file(file, member, &text, &(struct th_err){ 0 }) != TH_OK)
		return code;
	snprintf(inner.msg, sizeof(inner.msg), "%s", err->msg + len + 2);
	path = th_table_err_path(&inner);
	th_buf_printf(&at, "%s%s%.*s", member, path.len ? "." : "", TH_FMT(path));
	(void)th_fail(err, code, "%.*s:%d: %.*s%s %s", TH_FMT(file),
		      th_yaml_line(th_buf_str(&text), th_buf_str(&at)), TH_FMT(th_buf_str(&at)),
		      path.len ? "" : ":", inner.msg + (path.len ? path.len + 2 : 0));
	return code;
}

enum th_code th_config_read_yaml(struct th_str yaml, struct th_str name, struct th_json_doc **ret,
				 struct th_err *err)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(AGENT_JSON_MAX);
	enum th_code code = th_yaml_to_json(yaml, name, &json, err);

	if (code != TH_OK)
		return code;
	code = th_json_parse(th_buf_str(&json), ret, err);
	return code == TH_OK ? TH_OK : th_prefix(err, code, "%.*s", TH_FMT(name));
}

struct th_str th_config_path(struct th_arena *a, struct th_str path, struct th_str beside)
{
	struct th_str home = th_str_of(getenv("HOME"));
	size_t folder = beside.len;

	if (th_str_starts(path, TH_STR("~/")) && home.len)
		return th_arena_printf(a, "%.*s%.*s", TH_FMT(home),
				       TH_FMT(th_str_sub(path, 1, path.len)));
	while (folder > 0 && beside.ptr[folder - 1] != '/')
		folder--;
	if (!path.len || path.ptr[0] == '/' || !folder)
		return th_arena_str(a, path);
	return th_arena_printf(a, "%.*s%.*s", TH_FMT(th_str_sub(beside, 0, folder)), TH_FMT(path));
}

enum th_code th_config_read_file(struct th_str path, const char *what, struct th_buf *out,
				 struct th_err *err)
{
	char name[TH_PATH_LEN_MAX];
	enum th_code code;

	if (path.len >= sizeof(name) || memchr(path.ptr, '\0', path.len))
		return th_fail(err, TH_EUSAGE, "%s: the path is too long", what);
	memcpy(name, path.ptr, path.len);
	name[path.len] = '\0';
	code = th_file_read(name, out->max, out, err);
	return code == TH_OK ? TH_OK : th_prefix(err, code, "%s", what);
}
