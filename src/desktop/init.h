/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init.h - what the files of a desktop's first process share:
 * init_start.c starts the server, the window manager and the buses,
 * init_command.c runs commands for others, init.c is its loop and
 * its end.
 */
#ifndef TH_DESKTOP_INIT_H
#define TH_DESKTOP_INIT_H

#include <sys/types.h>

#include "desktop/desktop.h"

#define TH_DESKTOP_ENV_MAX 16

struct th_desktop_job {
	int conn;
	pid_t pid; /* 0: free slot */
};

/* A message bus that is started when the first one connects to it. */
enum th_desktop_bus_kind { TH_DESKTOP_BUS_SESSION, TH_DESKTOP_BUS_TREE, TH_DESKTOP_BUS_COUNT };

struct th_desktop_bus {
	char path[352];
	int fd; /* listening, until the daemon has it; -1 */
	bool there;
	pid_t pid;
};

struct th_desktop_init {
	struct th_desktop_config config;
	char home[320], run[320], authority[352];
	struct th_desktop_bus buses[TH_DESKTOP_BUS_COUNT];
	char env_text[TH_DESKTOP_ENV_MAX][512];
	char *env[TH_DESKTOP_ENV_MAX + 1];
	size_t env_count;
	char *search; /* PATH of env */
	pid_t xvfb, wm;
	int wm_starts;
	int signal_fd, ready_fd; /* -1: none */
	int number;              /* of the display; -1: not known yet */
	char ready[16]; /* what Xvfb has written of its number so far: digits, then a newline */
	size_t ready_len;
	struct th_desktop_job jobs[TH_DESKTOP_JOBS_MAX];
};

/* init_start.c */
/* Tells the display process; fd -1: none goes along. */
void th_desktop_init_tell(int32_t kind, int32_t value, const char *text, int fd);
int th_desktop_init_fail(const char *what); /* the same, with errno; always 1 */
TH_NODISCARD int th_desktop_init_files(struct th_desktop_init *in);
/* Of a child, before it becomes another program. */
void th_desktop_init_child(int death_signal);
TH_NODISCARD int th_desktop_init_xvfb(struct th_desktop_init *in);
void th_desktop_init_wm(struct th_desktop_init *in);
void th_desktop_init_bus(struct th_desktop_init *in, enum th_desktop_bus_kind kind);
void th_desktop_init_log(const struct th_desktop_init *in, char *text,
			 size_t size); /* of Xvfb's log */
/* Xvfb has written its number: a connection for the display process, and the window manager. */
TH_NODISCARD int th_desktop_init_ready(struct th_desktop_init *in);

/* init_command.c */
void th_desktop_init_request(struct th_desktop_init *in);
/* A signal for the command, or the end of who wanted it. */
void th_desktop_init_job(struct th_desktop_job *job);
void th_desktop_init_answer(int conn, int32_t kind, int32_t value);

#endif
