/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skill.h - pieces of knowledge in files, and when a model is given one.
 *
 * A skill is *always* part of the instructions (AGENTS.md), or is said when a word of the
 * user names it (triggers), when a call touches a path (paths), or is only listed, and
 * read by the model with the tool `skill` when it wants it.  Its text is data: it comes
 * with a label that says where it is from, and nothing in it is run.
 *
 * Pure: config/skills.c reads the folders when a session begins, and the log has the texts.
 */
#ifndef TH_AGENTS_SKILL_H
#define TH_AGENTS_SKILL_H

#include "base/field.h"

struct th_skill {
	struct th_str name, description;
	struct th_str source; /* path that people and models know */
	struct th_str text;
	struct th_strs triggers; /* words; one that begins with / is a task's */
	struct th_strs paths;    /* patterns as in .gitignore, of paths in the workspace */
	struct th_strs inputs;   /* names of ${…} in the text of a task */
	bool always;             /* part of the instructions */
	bool unlisted;           /* the model is not told of it */
};

struct th_agent_skills {
	bool repository;        /* those of the workspace */
	bool user;              /* those of the account that runs it */
	struct th_strs folders; /* more of them */
	struct th_strs without; /* names that are left out */
	struct th_strs trusted; /* whose .mcp.json counts (agents/subagents.h, th_trusts) */
	struct th_objects list; /* struct th_skill: those that were found, or are given here */
};

extern const struct th_table th_skill_table, th_agent_skills_table;

/* The word that makes the skill said to this message, or absent: whole words only, ASCII letters in
 * either case.  A task's word must begin the message. */
struct th_str th_skill_word(const struct th_skill *s, struct th_str message);
/* The pattern that the path (from the workspace) matches, or absent.  One without a slash matches
 * in any folder. */
struct th_str th_skill_path(const struct th_skill *s, struct th_str path);

const struct th_skill *th_skill_find(const struct th_agent_skills *skills, struct th_str name);

/* The text with its label; `because`: the word or path.  Of a task: with what the message gives
 * as NAME=VALUE in place of ${NAME}, and a sentence about what it does not give. */
void th_skill_print(const struct th_skill *s, struct th_str because, struct th_str message,
		    struct th_buf *out);

/* What the instructions say of skills: those that are always there, and the list. */
void th_skills_instruct(const struct th_agent_skills *skills, struct th_buf *out);
/* Is any listed, so that the tool is there? */
bool th_skills_listed(const struct th_agent_skills *skills);

#endif
