/* SPDX-License-Identifier: Apache-2.0 */
/*
 * desktop.h - private desktops, and starting programs on them.
 *
 * A desktop is an Xvfb, a window manager and whatever is started on it, all
 * inside one sandbox: PID, mount, IPC and (unless net_host) network namespaces
 * of its own, an unprivileged user, an empty /tmp and HOME that live in memory
 * and nothing on disk but the workspace.  The first program in it is our own
 * binary (init.c).  It holds one end of a socket pair whose other end
 * the display process holds; when that process ends, however it ends, the
 * kernel ends the namespace and with it every process, mount, file, socket
 * and piece of shared memory.  Where the kernel allows no namespaces (or
 * options->plain), the same init works without: it then kills what it adopted
 * and removes its files itself.
 *
 * To start a program on a desktop, put the words of th_desktop_prefix before
 * its argv and start that like any other child (io/child.h):
 *
 *	PROGRAM desktop-run STATE_DIR/desktop.sock -- COMMAND [ARGUMENT...]
 *
 * The prefix asks the desktop's init to start COMMAND inside the sandbox with
 * the prefix's own descriptors 0 to 2, folder, environment and limits; the
 * desktop's DISPLAY, XAUTHORITY, HOME, XDG_RUNTIME_DIR, TMPDIR, USER and D-Bus
 * address win over the environment's.  A folder that is not there inside
 * becomes HOME.  Signals sent to the prefix are passed on to the command's
 * process group; when the prefix is killed, the group is killed.  The prefix
 * exits as the command does (also by the same signal); 127: no such program,
 * 126: it could not be started, or the desktop is gone; both with a sentence
 * on descriptor 2.  What a command leaves running in the background keeps
 * running until it is killed or the desktop ends.
 *
 * PROGRAM is any executable whose main() begins with th_desktop_role.
 */
#ifndef TH_DESKTOP_DESKTOP_H
#define TH_DESKTOP_DESKTOP_H

#include "base/arena.h"
#include "computer/computer.h"
#include "io/sandbox.h"

/*
 * The first thing of main(): true when this process was started as a desktop's
 * init or as a prefix; it has done its work then and main returns *ret_status.
 * Looks at argv, and says by th_role_known that this program may be started
 * again; a program without it cannot open a desktop.
 */
bool th_desktop_role(int argc, char **argv, int *ret_status);

/* NULL-terminated, in the arena; NULL when it is full.  `program` NULL: this one. */
TH_NODISCARD const char *const *th_desktop_prefix(struct th_arena *a, struct th_str state_dir,
						  const char *program);

/*
 * The same without a process that stands outside: starts it and does not wait.  *ret_conn holds
 * it: when that is closed, however, the command's process group is killed.  TH_EIO: the desktop is
 * gone, or cannot start it.
 */
struct th_desktop_command {
	const char *const *argv, *const *env; /* NULL-terminated */
	const char *cwd;
	int fds[3]; /* its descriptors 0 to 2 */
};
TH_NODISCARD enum th_code th_desktop_start(struct th_str state_dir,
					   const struct th_desktop_command *command, int *ret_conn,
					   struct th_err *err);

/* How far it is confined; `c` is of kind desktop. */
enum th_sandbox_level th_desktop_level(const struct th_computer *c);

/* ---- between desktop.c and init.c ---- */

#define TH_DESKTOP_CONTROL_FD 3 /* in the init: SOCK_SEQPACKET to the display process */
#define TH_DESKTOP_LAUNCH_FD 4  /* listening; not open when there is no state_dir */
#define TH_DESKTOP_SELF_FD 5    /* our binary, for exec */
#define TH_DESKTOP_SOCKET "desktop.sock"

struct th_desktop_config { /* display process -> init, once */
	int32_t width, height;
	int32_t number; /* of the display; -1: any that is free */
	int32_t plain;  /* no namespaces: clean up yourself */
	uint8_t cookie[16];
	char base[256]; /* the writable folder: HOME, XDG_RUNTIME_DIR, TMPDIR live in it */
};

enum th_desktop_note_kind {
	TH_DESKTOP_DISPLAY, /* ready; value: its number; a connected socket comes with it */
	TH_DESKTOP_FAILED,  /* text says why */
	TH_DESKTOP_TREE,    /* the answer to one byte: a socket connected to the accessibility bus
			       comes with it, or none and why */
};

struct th_desktop_note { /* init -> display process */
	int32_t kind, value;
	char text[384];
};

int th_desktop_init_main(void);
int th_desktop_run_main(const char *socket_path, char **command);

/* ---- the words of the launch socket (a stream): request, then its text, then these ---- */

#define TH_DESKTOP_LIMITS 16

struct th_desktop_request { /* comes with three descriptors */
	uint32_t size;      /* of the text: cwd, argc arguments, envc entries, each ended by NUL */
	uint32_t argc, envc;
	uint64_t soft[TH_DESKTOP_LIMITS], hard[TH_DESKTOP_LIMITS]; /* by RLIMIT_ number */
};

enum th_desktop_answer_kind {
	TH_DESKTOP_STARTED,
	TH_DESKTOP_REFUSED,
	TH_DESKTOP_FULL,
	TH_DESKTOP_EXITED
};

struct th_desktop_answer {
	int32_t kind, value; /* REFUSED: errno; EXITED: as waitpid gives it */
};
/* The prefix sends int32_t signal numbers. */

#endif
