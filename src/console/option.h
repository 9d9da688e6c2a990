/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option.h - what a subcommand is: its options as a table, and what reads them.
 *
 * The tables are the only place where an option's name occurs: parsing, --help,
 * the man page and the completions all come from them.
 *
 * Options may stand anywhere before "--"; "-s NAME", "-sNAME", "--session NAME"
 * and "--session=NAME" are the same.  A dash followed by a digit, and a dash
 * alone, are operands.  Values of a repeated option: the last counts, lists
 * aside.
 */
#ifndef TH_CONSOLE_OPTION_H
#define TH_CONSOLE_OPTION_H

#include "base/err.h"
#include "base/str.h"

enum th_option_kind {
	TH_OPTION_FLAG, /* bool */
	TH_OPTION_TEXT, /* struct th_str; .ptr NULL: not given */
	TH_OPTION_INT,  /* int64_t, at least 0; -1 must be set before: not given */
};

/* A row; the table ends with name == NULL. */
struct th_option {
	const char *name;  /* "session" */
	char letter;       /* 's' or 0 */
	const char *value; /* "NAME", NULL for a flag */
	enum th_option_kind kind;
	size_t offset; /* in the command's own struct */
	const char *doc;
	const char
	    *words; /* what a shell may complete: "a b c", "FILE", "DIR", "SESSION" or NULL */
};

struct th_command {
	const char *name;
	const char *operands; /* "TASK", "NAME [CALL]" … for the usage line; may be "" */
	const char *summary;  /* one line, for the list of commands */
	const char *text;     /* the rest of --help: paragraphs, then "Examples:" */
	const struct th_option *options; /* NULL: it reads its arguments by itself */
	const char *words;               /* operands a shell may complete, like an option's */
	int (*run)(const struct th_command *self, int argc, char **argv); /* argv[0]: its name */
	bool hidden; /* for programs, not for people: left out of lists */
	bool stops;  /* options end at the first operand */
};

/* Not options: what is left, in order. */
struct th_operands {
	char **list; /* into argv, which was reordered */
	int count;
};

/*
 * Reads argv[1…] by the table into `out`.  TH_OK: go on.  TH_ECANCELED: --help
 * was asked for and printed; the command's exit code is 0.  TH_EUSAGE: one
 * sentence with the nearest name.
 */
TH_NODISCARD enum th_code th_options_parse(const struct th_command *c, int argc, char **argv,
					   void *out, struct th_operands *ret, struct th_err *err);

/* Was an option of this table given?  Valid after parse: bit i is row i; at most 64 rows. */
TH_NODISCARD enum th_code th_options_parse_given(const struct th_command *c, int argc, char **argv,
						 void *out, struct th_operands *ret,
						 uint64_t *ret_given, struct th_err *err);

#endif
