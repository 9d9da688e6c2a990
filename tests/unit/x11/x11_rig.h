/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x11_rig.h - an X server for tests of input, and a program on it that writes
 * down which events it gets.
 *
 * The recorder is a thread with a connection of its own.  It reads its keymap
 * as programs do: late, when a key comes after a MappingNotify.  `slow_us` makes
 * it dawdle before each event, so that a keycode that changes its meaning too
 * early shows as a wrong character.
 */
#ifndef TH_TESTS_X11_RIG_H
#define TH_TESTS_X11_RIG_H

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <xcb/xcb.h>

#include "x11/input.h"

#define RIG_WAIT_MS 60000 /* nothing here takes so long but on a broken build */

struct rig_record {
	uint8_t type; /* XCB_KEY_PRESS ... */
	uint8_t detail;
	uint16_t state;
	int16_t x, y; /* on the root window */
	uint32_t keysym;
	uint32_t time;
};

#define RIG_RECORDS_MAX 200000

struct rig_recorder {
	xcb_connection_t *conn;
	xcb_window_t window;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct rig_record *records;
	size_t count;
	uint32_t marks_sent, marks_seen;
	bool answers_pings, stuck;
	int slow_us;
	xcb_atom_t protocols, ping, mark;
};

struct rig {
	pid_t server;
	int number;       /* of the display */
	char display[32]; /* ":7" */
	int interrupt[2]; /* pipe: [0] is given to the display as interrupt_fd */
	bool is_private;  /* rig_open: as the kind "desktop" */
	struct th_x11 x;  /* what is tested */
	struct th_err err;
};

void rig_start(struct rig *r); /* Xvfb and the connection under test */
void rig_stop(struct rig *r);
void rig_open(struct rig *r); /* a new connection under test, after rig_close */
void rig_close(struct rig *r);
/* Runs a program on the display to its end; its exit status. */
int rig_run(struct rig *r, const char *const argv[]);
/* Starts one; killed with the test. */
pid_t rig_spawn(struct rig *r, const char *const argv[]);
/* Waits for its end; -1 when it takes too long. */
int rig_wait(pid_t pid);
bool rig_has(const char *program); /* on PATH */

void recorder_start(struct rig_recorder *c, struct rig *r, bool answers_pings, int slow_us);
void recorder_stop(struct rig_recorder *c);
/* After this the recorder has seen everything that happened before; forget: drop what it has. */
void recorder_sync(struct rig_recorder *c, struct rig *r);
void recorder_forget(struct rig_recorder *c, struct rig *r);
/* Keysyms of all KeyPress events that are no modifiers, as text. */
char *recorder_text(struct rig_recorder *c);

/* Performs a JSON action; its code. */
enum th_code rig_act(struct rig *r, const char *json, struct th_act_result *ret);
enum th_code rig_type(struct rig *r, const char *text);
/* Fails the test with the sentence when the code is not TH_OK. */
void rig_ok(struct rig *r, const char *json);

#endif
