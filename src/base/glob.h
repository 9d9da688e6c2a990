/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glob.h - patterns of paths, as shells and .gitignore write them.
 *
 *	*  ?  [a-z]  [!a-z]    anything but a slash
 *	**                     as a whole part: any number of folders, also none
 *	{a,b}                  one of these (not in .gitignore)
 *	\x                     x itself
 *
 * Rules for paths have stars and question marks alone: "app/[id]/a.tsx" names a
 * folder "[id]"; and two stars are anything, also within a part.
 *
 * Pure, and total: any bytes give an answer in at most TH_GLOB_STEPS_MAX steps;
 * a pattern that would need more matches nothing.
 */
#ifndef TH_BASE_GLOB_H
#define TH_BASE_GLOB_H

#include "base/str.h"

enum th_glob {
	TH_GLOB_GITIGNORE,
	TH_GLOB_SHELL, /* with braces */
	TH_GLOB_STARS  /* * ? ** and nothing else */
};

bool th_glob_path(struct th_str pattern, struct th_str path, enum th_glob kind);

#endif
