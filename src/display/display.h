/* SPDX-License-Identifier: Apache-2.0 */
/*
 * display.h - the display role: a process that does nothing but host one
 * computer (computer/computer.h).  Single-threaded and blocking; it may crash
 * or hang without harm to anything but what it was doing.
 *
 * It says what it is, opens the computer, confines itself, and then does what comes over its
 * socket (wire/exec.h: start, do), one request after the other.  Live views (watch, next, unwatch)
 * go on meanwhile (watch.h).  Its number in
 * `interrupt_fd` ends what waits.  It ends when the socket closes, and takes a
 * private desktop with it.
 */
#ifndef TH_DISPLAY_DISPLAY_H
#define TH_DISPLAY_DISPLAY_H

struct th_computer;

/* Returns the exit status. */
int th_display_main(int fd, int interrupt_fd);
/* The same for a computer that is open: no start comes, and nothing is confined.  Closes it. */
int th_display_host(struct th_computer *computer, int fd, int interrupt_fd);

#endif
