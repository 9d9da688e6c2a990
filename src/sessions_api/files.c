/* SPDX-License-Identifier: Apache-2.0 */
/* files.c - the files of a session's folder (server/files.h). */
#include "server/files.h"
#include "sessions_api/internal.h"

static void begin(struct th_access *a, enum th_files_kind kind)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);

	if (!th_session_mine(a, NULL))
		return;
	if (kind != TH_FILES_LIST && (!th_access_query(a, "path", &path) || !path.len))
		th_access_fail(a, 400, NULL, "path is that of a file below the session's folder");
	else
		th_access_files(a, kind, th_buf_str(&path));
}

void th_api_session_files(struct th_access *a)
{
	begin(a, TH_FILES_LIST);
}

void th_api_session_files_diff(struct th_access *a)
{
	begin(a, TH_FILES_DIFF);
}

void th_api_session_files_get(struct th_access *a)
{
	begin(a, TH_FILES_GET);
}
