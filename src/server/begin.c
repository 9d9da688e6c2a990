/* SPDX-License-Identifier: Apache-2.0 */
/* begin.c - what a new session needs: a folder of its own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/files.h"
#include "server/internal.h"

#define NOBODY 65534 /* whom commands of root's sessions run as (io/sandbox.h) */

int th_workspace_make(struct th_server *s, const char *id, char **ret, struct thole_error *err)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct th_err e = {};
	enum th_code code;

	*ret = NULL;
	if (!s->o.workspaces.len)
		return 0;
	th_buf_add(&path, s->o.workspaces);
	th_buf_add_char(&path, '/');
	for (const char *c = id; *c; c++) /* a name of any bytes becomes that of a folder */
		if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
		    (*c >= '0' && *c <= '9') || *c == '-' || *c == '_')
			th_buf_add_char(&path, *c);
		else
			th_buf_printf(&path, "%%%02x", (unsigned char)*c);
	code = th_buf_check(&path, "the workspace's path", &e);
	if (!code)
		code = th_dir_make(path.ptr, 0700, &e);
	/* Of a server that is root's, commands run as nobody; a sandbox lends them the folder. */
	if (!code && s->o.no_sandbox && geteuid() == 0 && chown(path.ptr, NOBODY, NOBODY) != 0)
		code = th_fail_errno(&e, errno, "workspace %s", path.ptr);
	if (code) {
		err->code = code;
		snprintf(err->text, sizeof(err->text), "%s", e.msg);
		return code;
	}
	*ret = th_alloc(path.len + 1);
	memcpy(*ret, path.ptr, path.len + 1);
	return 0;
}
