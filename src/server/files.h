/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.h - what a session changed in its folder: the list, a diff, a file.
 *
 * The folder is read by a worker, not by the loop.  A request whose peer leaves
 * meanwhile, or whose server ends, is let go of; its worker ends by itself.
 */
#ifndef TH_SERVER_FILES_H
#define TH_SERVER_FILES_H

#include "base/str.h"
#include "server/access.h"

enum th_files_kind { TH_FILES_LIST, TH_FILES_DIFF, TH_FILES_GET };

/* Answers the request about the session of the access's first argument, which is its user's; `path`
 * is below the session's folder. */
void th_access_files(struct th_access *a, enum th_files_kind kind, struct th_str path);
const char *th_type_of(struct th_str bytes); /* by what they are; never a page */
/* Workers that still read go on, and nobody hears of it. */
void th_files_jobs_drop(struct th_server *s);

#endif
