/* SPDX-License-Identifier: Apache-2.0 */
/*
 * computer_verbs.h - the words of thole computer, and the actions that they are.
 *
 * A verb is a row: which options it takes and how its operands become actions.
 */
#ifndef TH_CLI_COMPUTER_VERBS_H
#define TH_CLI_COMPUTER_VERBS_H

#include "actions/action.h"
#include "cli/cli.h"

#define TH_COMPUTER_VERBS_MAX 32

struct th_computer_flags {
	struct th_common common;
	struct th_str session, computer, folder, output, format, fit, at, button, keys, net;
	int64_t quality, count, duration, timeout;
	bool json, cursor, settle, pixels, enter, clear;
};

/* What a verb works with. */
struct th_computer_call {
	const struct th_computer_flags *o;
	const struct th_computer_verb *verb;
	struct th_operands operands; /* without the verb */
	struct th_arena *a;
	struct th_action *actions;
	size_t count;
	bool screenshot, tree;
	struct th_err *err;
};

struct th_computer_verb {
	const char *name, *operands;
	int min, max;        /* operands; -1: any number */
	const char *options; /* that it takes, besides the general ones */
	enum th_code (*build)(struct th_computer_call *c); /* NULL: it is no action */
	enum th_action_kind kind;
	enum th_button button;
	int32_t clicks;
};

/* NULL: there is none of that name. */
const struct th_computer_verb *th_computer_verb_find(struct th_str name);
/* Their names, in the order of the help, with NULL behind. */
void th_computer_verb_names(const char *names[static TH_COMPUTER_VERBS_MAX]);

#endif
