/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pty.h - a program on a terminal of its own: size, resize, input, output and
 * a spool of the last bytes it wrote.
 *
 * It does not interpret the bytes: a terminal emulator above does.  The spool
 * is a ring of a fixed size, so a flood costs no memory.
 */
#ifndef TH_IO_PTY_H
#define TH_IO_PTY_H

#include "base/buf.h"
#include "io/child.h"

struct th_pty;

struct th_pty_spec {
	struct th_child_spec
	    child; /* its fds, write_in, merge_err and terminal are set by th_pty_open */
	uint16_t rows, columns;
	const struct th_child_fd *more; /* what else it gets, not on 0 to 2 but as said next */
	size_t more_count;
	bool error_only; /* the terminal is only its standard error; `more` may have 0 and 1 */
	bool lent;       /* it is on 0 to 2, and nobody's controlling terminal yet */
	bool no_echo; /* what is written is not shown; lines, signals and the rest are as usual */
	size_t spool_size; /* bytes kept, at most TH_TOOL_OUTPUT_MAX; 0: none */
};

/* on_output of the child spec hears everything as TH_CHILD_OUT. */
TH_NODISCARD enum th_code th_pty_open(struct th_loop *l, const struct th_pty_spec *spec,
				      struct th_pty **ret, struct th_err *err);
struct th_pty *th_pty_close(struct th_pty *p); /* ends the tree; takes NULL, returns NULL */

struct th_child *th_pty_child(struct th_pty *p);
TH_NODISCARD enum th_code th_pty_resize(struct th_pty *p, uint16_t rows, uint16_t columns,
					struct th_err *err);
/* Modes as a new terminal has them, whatever a program left behind. */
void th_pty_calm(struct th_pty *p);
/* What is typed waits for a newline, as a shell and most commands want it; a program that asks its
 * terminal something reads byte by byte. */
bool th_pty_reads_lines(const struct th_pty *p);
/* To the process group that signals of keys go to; false: there is none. */
bool th_pty_signal(struct th_pty *p, int signum);
/* Queued; TH_ELIMIT when more than TH_TOOL_OUTPUT_MAX waits. */
TH_NODISCARD enum th_code th_pty_write(struct th_pty *p, struct th_str bytes, struct th_err *err);
void th_pty_pause(struct th_pty *p, bool paused);

/* Appends what is in the spool, oldest first; returns how many bytes the program wrote in all. */
uint64_t th_pty_spool(const struct th_pty *p, struct th_buf *out);

#endif
