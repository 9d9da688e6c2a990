/* SPDX-License-Identifier: Apache-2.0 */
/*
 * console.h - what the subcommands share: errors and output, the options that
 * many have, configuration and store.
 *
 * An error is one sentence on standard error, "thole: what, where, what to do",
 * and the exit code of its kind: 0 finished, 1 failed, 2 usage, 3 waits for a
 * person, 4 limit reached, 5 stuck, 130 cancelled.  What comes from outside
 * (models, files, programs) reaches a terminal only through th_text_line.
 */
#ifndef TH_CONSOLE_CONSOLE_H
#define TH_CONSOLE_CONSOLE_H

#include "base/buf.h"
#include "config/config.h"
#include "console/option.h"
#include "core/session.h"
#include "store/store.h"

/* ---- help ---- */

/* Help of one command, to standard output (usage.c). */
TH_NODISCARD enum th_code th_cli_usage(const struct th_command *c, struct th_err *err);
TH_NODISCARD enum th_code th_cli_show(const struct th_buf *text, struct th_err *err);
void th_cli_usage_line(struct th_buf *out, const struct th_command *c); /* "thole NAME [OPTION…]" */

/* This very program, to be started as an executor. */
const char *th_cli_self(void);

/* ---- errors and output ---- */

/* Prints err's sentence; returns its exit code. */
int th_cli_fail(const struct th_err *err);
/* A sentence of our own; returns `exit_code`. */
TH_PRINTF(2, 3) int th_cli_die(int exit_code, const char *fmt, ...);

/* All of it to a descriptor; false: it cannot be written (a closed pipe, a full disk). */
bool th_cli_write(int fd, struct th_str text);
/* To standard output; returns `exit_code`, or 1 with a sentence when it could not be written. */
int th_cli_print(const struct th_buf *text, int exit_code);

bool th_cli_terminal(int fd); /* a terminal, for people */
/* Of a command that reads the messages of a program: said where a person began it by hand. */
void th_cli_for_programs(const char *program, const char *page);
bool th_cli_colour(int fd);    /* one that takes colours; NO_COLOR and TERM=dumb say no */
size_t th_cli_columns(int fd); /* of the terminal; 0: none, or not known */

/* ---- what people read ---- */

void th_cli_size(struct th_buf *out, int64_t bytes);                /* "12.3 KB" */
void th_cli_time(struct th_buf *out, int64_t ms);                   /* "0.2 s", "3 min 5 s" */
void th_cli_cost(struct th_buf *out, int64_t nano_usd);             /* "$0.0123" */
void th_cli_number(struct th_buf *out, int64_t n);                  /* "12.3k" */
void th_cli_count(struct th_buf *out, int64_t n, const char *what); /* "1 turn", "2 turns" */
void th_cli_ago(struct th_buf *out, int64_t unix_ms);               /* "5 min ago" */

/* Who types, for the log: the name that was logged in with, also behind sudo; without a login (a
 * container, cron) the name of the user, or its number.  Valid until the next call. */
struct th_str th_cli_user(void);

/* ---- options that many commands have ---- */

struct th_remote;

struct th_common {
	struct th_str store, config;
	struct th_str server, token_file; /* of commands that can work at a server (remote.h) */
	struct th_remote *remote;         /* the server where they do; NULL: on this machine */
	/* With it: the caller's sessions there, to be read.  Blobs are those of the session whose
	 * events were read last. */
	struct th_store *(*remote_store)(struct th_remote *r);
};

#define TH_OPTION_STORE(type, member)                                      \
	{                                                                  \
		"store", 0, "URL", TH_OPTION_TEXT, offsetof(type, member), \
		    "the log: sqlite:PATH (its folder must be there), "    \
		    "postgres://USER@HOST/DATABASE or memory: (default: "  \
		    "THOLE_STORE, the configuration, "                     \
		    "or log.db in "                                        \
		    "the state directory)",                                \
		    "FILE"                                                 \
	}
#define TH_OPTION_CONFIG(type, member)                                                     \
	{                                                                                  \
		"config", 0, "FILE", TH_OPTION_TEXT, offsetof(type, member),               \
		    "configuration file (default: thole/config.yaml in the configuration " \
		    "directory)",                                                          \
		    "FILE"                                                                 \
	}
#define TH_OPTION_MODELS(type, member)                                                     \
	{                                                                                  \
		"models", 0, "FILE", TH_OPTION_TEXT, offsetof(type, member),               \
		    "profiles of models of one's own (default: THOLE_MODELS, the "         \
		    "configuration, or thole/models.yaml in the configuration directory)", \
		    "FILE"                                                                 \
	}
#define TH_OPTION_JSON(type, member)                                                             \
	{                                                                                        \
		"json", 'j', NULL, TH_OPTION_FLAG, offsetof(type, member), "for programs: JSON", \
		    NULL                                                                         \
	}
#define TH_OPTION_SERVER(type, member)                                                    \
	{                                                                                 \
		"server", 0, "URL", TH_OPTION_TEXT, offsetof(type, member),               \
		    "a thole serve, as https://HOST, http://127.0.0.1:7711 or unix:PATH " \
		    "(default: THOLE_SERVER)",                                            \
		    NULL                                                                  \
	}
#define TH_OPTION_TOKEN_FILE(type, member)                                                     \
	{                                                                                      \
		"token-file", 0, "FILE", TH_OPTION_TEXT, offsetof(type, member),               \
		    "file whose first line is the token for it (default: THOLE_TOKEN)", "FILE" \
	}
#define TH_OPTIONS_SERVER(type, member) \
	TH_OPTION_SERVER(type, member.server), TH_OPTION_TOKEN_FILE(type, member.token_file)
#define TH_OPTIONS_COMMON(type, member) \
	TH_OPTION_STORE(type, member.store), TH_OPTION_CONFIG(type, member.config)
#define TH_OPTIONS_END                                       \
	{                                                    \
		NULL, 0, NULL, TH_OPTION_FLAG, 0, NULL, NULL \
	}

/*
 * The word that calls this program again, for a shell: as it was called, or "thole" when that
 * cannot be shown.  Every hint of a command to type begins with it.  Valid until the next call.
 */
const char *th_cli_program(void);
/* One word of such a command, on one line, quoted if a shell would read more into it. */
void th_cli_word(struct th_buf *out, struct th_str text);
/* " --store URL" and " --config FILE" as they were given, for a command that is to be typed next.
 */
void th_cli_same_log(const struct th_common *o, struct th_buf *out);

/* A call that waits for a person, whole, and the command that decides about it: lines without the
 * last one's end. */
void th_cli_waits(struct th_str session_id, const struct th_common *o, const struct th_call *c,
		  struct th_buf *out);

/* Loads the configuration; --store wins.  */
TH_NODISCARD enum th_code th_cli_config(const struct th_common *o, struct th_config **ret,
					struct th_err *err);
/* Opens the store for reading, or for writing with commit_now; never makes one. */
TH_NODISCARD enum th_code th_cli_store(const struct th_common *o, bool write, struct th_store **ret,
				       struct th_err *err);
/* The same, to write; it is made when it is not there. */
TH_NODISCARD enum th_code th_cli_store_make(const struct th_common *o, struct th_store **ret,
					    struct th_err *err);
/* What the store is called that --store or the configuration names: for those who look for a
 * session's executor. */
TH_NODISCARD enum th_code th_cli_scope(const struct th_common *o, struct th_arena *a,
				       struct th_str *ret, struct th_err *err);
void th_cli_storep(struct th_store **s); /* for TH_CLEANUP */

/*
 * Opens the store as th_cli_store does, and finds in it the row of a session, or of the only one
 * whose id begins so, with four bytes or more.  ENOENT names the one that may be meant, EUSAGE some
 * of those that begin so.  The store is the caller's to close, also
 * when the session is not found.
 */
TH_NODISCARD enum th_code th_cli_session(const struct th_common *o, bool write, struct th_str name,
					 struct th_arena *a, struct th_store **ret_store,
					 struct th_session_row *ret, struct th_err *err);
/* Of a new one.  TH_EUSAGE: it could not be named on a command line again. */
TH_NODISCARD enum th_code th_cli_check_name(struct th_str name, struct th_err *err);
/* What a command says that wants the name of one session and was not given it; its exit code. */
int th_cli_names_none(const struct th_command *self);

#endif
