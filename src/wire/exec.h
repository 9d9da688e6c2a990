/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.h - what runtime, executor and display process say to each other.
 *
 * Frames (base/codec.h) over a Unix socket: a JSON head with "op", and an
 * attachment where one is named.  One request has one answer with the same
 * "id"; progress comes between.  Both ends check everything; members that no
 * table knows are ignored, so that builds of different age get along.
 *
 * Runtime -> executor, and what answers:
 *
 *	hello     first on every connection: welcome, or error and the end
 *	open      start the computer: welcome with the screen, or error
 *	run       do an effect: accepted (in the journal; not for class R),
 *	          output ..., finished
 *	attach    join an effect dispatched before: the same answers
 *	cancel    end the effect of request `id`: its own finished follows
 *	host      whether the programs of run `id` may reach what they asked for: no answer
 *	input     what was typed for run `id`, and its terminal's size: no answer
 *	forget    these outcomes are durable elsewhere: no answer
 *	give      secrets that commands get which name them, all of them, in the place of those
 *	          that were given before: no answer; what was given once is masked for good.
 *	          Too many: each run is an error until the next give
 *	end       the session ended: all is closed and killed, then the connection
 *	watch     a live view: frames, the first with all tiles
 *	next      the last frame of that request was taken: one more, when something is new
 *	unwatch   no more frames
 *
 * A watch gets one frame and then no other before `next`, so whoever is slow is sent less, and
 * nothing waits for him.  While no computer is open it has none, or one of width 0; a watch never
 * opens one.  Executor -> display: the same three, and frames.
 *
 * While a run is under way the executor may say asks: a program wants to reach a host that net does
 * not list, and waits for host.  One at a time on a connection.
 *
 * `run` refuses an effect_id that the journal knows (error "exists") unless
 * `again` is set: the same runtime asks once more after its connection broke,
 * and is attached.  `journal` is the one that the INTENT names (a guest's: that
 * it was sent to before): another one takes no run for it ("fenced"), and
 * proves nothing by absence.  An epoch lower than the highest seen
 * is "fenced"; epoch 0 is a guest's.  output carries bytes as attachment;
 * finished carries the bytes of its blobs, one after the other.
 *
 * A runtime on another machine says the same over TLS (executor/gate.h).  Its hello has the store
 * in place of the token, which the gate there reads and puts in; the rest is passed on unread.
 *
 * What is started in a role (executor, display) speaks first, over the socket
 * that it inherited: role.  Nothing is sent to it before that, and when it says
 * anything else it is ended: it is some other program.  Then the starter of an
 * executor sends start and gets ready or error.  Executor -> display: start ->
 * screen or error; do -> step …, finished.
 */
#ifndef TH_WIRE_EXEC_H
#define TH_WIRE_EXEC_H

#include "base/field.h"

/* Version of these messages: both ends of a connection have the same.  2: input, and what answers
 * a question of a program.  3: give. */
#define TH_EXEC_PROTOCOL 3
#define TH_EXEC_TOKEN_LEN 32 /* hex digits: what a hello proves itself with */

/* ---- requests of a runtime ---- */

#define TH_FIELDS_exec_hello(F)                                                                    \
	F(exec_hello, str, op, "op", TH_REQ, "hello")                                              \
	F(exec_hello, str, session, "session", TH_REQ, "session the caller works for")             \
	F(exec_hello, int, epoch, "epoch", TH_REQ | TH_NONEG | TH_EMIT,                            \
	  "fencing number; 0: guest")                                                              \
	F(exec_hello, str, token, "token", TH_REQ,                                                 \
	  "of the lock file: who can read that is no command")                                     \
	F(exec_hello, str, build, "build", 0, "version of the caller")                             \
	F(exec_hello, int, protocol, "protocol", TH_NONEG, "version of these messages; absent: 1") \
	F(exec_hello, str, scope, "scope", 0, "from another machine: store of the session")        \
	F(exec_hello, str, workspace, "workspace", 0, "folder it expects; empty: any")             \
	F(exec_hello, raw, computer, "computer", 0, "exec_computer_start it expects; absent: any") \
	F(exec_hello, bool, looks_on, "looks_on", 0, "it only watches: nobody need stay for it")

#define TH_FIELDS_exec_run(F)                                                                     \
	F(exec_run, str, op, "op", TH_REQ, "run or attach")                                       \
	F(exec_run, int, id, "id", TH_REQ | TH_EMIT, "number of the request on this connection")  \
	F(exec_run, str, effect_id, "effect_id", TH_REQ | TH_NONEMPTY, "random id of the intent") \
	F(exec_run, int, epoch, "epoch", TH_REQ | TH_NONEG | TH_EMIT,                             \
	  "fencing number of the intent")                                                         \
	F(exec_run, str, class, "class", TH_REQ, "effect class")                                  \
	F(exec_run, str, tool, "tool", TH_REQ, "tool to run, or computer")                        \
	F(exec_run, raw, arguments, "arguments", TH_REQ, "its arguments")                         \
	F(exec_run, str, digest, "digest", 0, "SHA-256 of tool and arguments")                    \
	F(exec_run, int, timeout_ms, "timeout_ms", TH_NONEG,                                      \
	  "when it is ended; 0: the tool's own")                                                  \
	F(exec_run, bool, watch, "watch", 0, "output is wanted as it comes")                      \
	F(exec_run, int, offset, "offset", TH_NONEG, "attach: output from here on")               \
	F(exec_run, bool, again, "again", 0, "run: attach when it is known")                      \
	F(exec_run, bool, begin, "begin", 0,                                                      \
	  "attach: what this executor certainly never began is begun now")                        \
	F(exec_run, raw, hosts, "hosts", 0,                                                       \
	  "list of {host, port, allow}: what people said of hosts that net does not list; "       \
	  "absent: as before")                                                                    \
	F(exec_run, bool, strict, "strict", 0,                                                    \
	  "hosts that net lists are asked about, too, but for those of `hosts`")                  \
	F(exec_run, str, journal, "journal", 0,                                                   \
	  "the journal it must be in, if it was accepted; run: and that alone may take it")

/* open, cancel, end, next, unwatch; and accepted, the answer. */
#define TH_FIELDS_exec_request(F)                                                              \
	F(exec_request, str, op, "op", TH_REQ, "open, cancel, end, next, unwatch or accepted") \
	F(exec_request, int, id, "id", TH_EMIT, "number of the request; cancel: of the run meant")

/* With it come the bytes that were typed. */
#define TH_FIELDS_exec_input(F)                                                           \
	F(exec_input, str, op, "op", TH_REQ, "input")                                     \
	F(exec_input, int, id, "id", TH_REQ | TH_EMIT, "number of the run")               \
	F(exec_input, int, columns, "columns", TH_NONEG, "of the terminal; 0: as it was") \
	F(exec_input, int, rows, "rows", TH_NONEG, "of the terminal; 0: as it was")

/* asks, and host, which answers it. */
#define TH_FIELDS_exec_host(F)                                                               \
	F(exec_host, str, op, "op", TH_REQ, "asks or host")                                  \
	F(exec_host, int, id, "id", TH_REQ | TH_EMIT, "number of the run")                   \
	F(exec_host, str, host, "host", TH_REQ | TH_NONEMPTY, "name or address")             \
	F(exec_host, int, port, "port", TH_REQ | TH_POSITIVE, "port of it")                  \
	F(exec_host, bool, listed, "listed", 0, "asks: net lists it, and the run is strict") \
	F(exec_host, bool, withdrawn, "withdrawn", 0, "asks: who waited has hung up")        \
	F(exec_host, bool, allow, "allow", 0, "host: it may be reached")

#define TH_FIELDS_exec_forget(F)                        \
	F(exec_forget, str, op, "op", TH_REQ, "forget") \
	F(exec_forget, strs, effect_ids, "effect_ids", TH_REQ, "effects whose outcome is durable")

#define TH_FIELDS_exec_given(F)                                                   \
	F(exec_given, str, name, "name", TH_REQ | TH_NONEMPTY, "of the variable") \
	F(exec_given, str, value, "value", TH_REQ, "never written anywhere")      \
	F(exec_given, bool, old, "old", 0, "masked, and given to no command any more")

#define TH_FIELDS_exec_give(F)                      \
	F(exec_give, str, op, "op", TH_REQ, "give") \
	F(exec_give, raw, secrets, "secrets", TH_REQ, "list of exec_given")

/* ---- answers ---- */

#define TH_FIELDS_exec_welcome(F)                                                               \
	F(exec_welcome, str, op, "op", TH_REQ, "welcome")                                       \
	F(exec_welcome, int, id, "id", TH_EMIT, "of the open that is answered; 0: the hello's") \
	F(exec_welcome, int, pid, "pid", TH_REQ, "process of the executor")                     \
	F(exec_welcome, str, journal, "journal", TH_REQ,                                        \
	  "random name of its journal, changes when that is lost")                              \
	F(exec_welcome, int, epoch, "epoch", TH_REQ | TH_EMIT, "highest seen")                  \
	F(exec_welcome, str, build, "build", TH_REQ, "its version")                             \
	F(exec_welcome, int, protocol, "protocol", TH_NONEG, "as of hello")                     \
	F(exec_welcome, str, workspace, "workspace", 0, "folder its tools work in")             \
	F(exec_welcome, str, computer, "computer", 0, "kind of its computer")                   \
	F(exec_welcome, int, width, "width", TH_NONEG, "of the screen, once open")              \
	F(exec_welcome, int, height, "height", TH_NONEG, "of the screen, once open")            \
	F(exec_welcome, int, caps, "caps", TH_NONEG, "what the computer can do, as bits")       \
	F(exec_welcome, raw, sandbox, "sandbox", 0, "object: what is enforced on commands")

#define TH_FIELDS_exec_output(F)                                                 \
	F(exec_output, str, op, "op", TH_REQ, "output")                          \
	F(exec_output, int, id, "id", TH_REQ | TH_EMIT, "number of the request") \
	F(exec_output, int, offset, "offset", TH_REQ | TH_EMIT,                  \
	  "where the attached bytes stand in the whole output")

#define TH_FIELDS_exec_finished(F)                                                               \
	F(exec_finished, str, op, "op", TH_REQ, "finished")                                      \
	F(exec_finished, int, id, "id", TH_REQ | TH_EMIT, "number of the request")               \
	F(exec_finished, str, status, "status", TH_REQ,                                          \
	  "done, failed, not_started, unknown or refused")                                       \
	F(exec_finished, raw, output, "output", TH_REQ,                                          \
	  "as outcome.output; images name blobs by hash")                                        \
	F(exec_finished, raw, evidence, "evidence", 0, "as outcome.evidence")                    \
	F(exec_finished, raw, blobs, "blobs", 0, "list of exec_blob in the attachment's order")  \
	F(exec_finished, int, elapsed_ms, "elapsed_ms", TH_NONEG, "from accepted on")            \
	F(exec_finished, bool, journal, "journal", 0, "it had finished before it was asked for") \
	F(exec_finished, bool, last, "last", 0, "display only: it is lost, and this process ends")

#define TH_FIELDS_exec_blob(F)                                                   \
	F(exec_blob, str, blob, "blob", TH_REQ, "SHA-256 of the bytes, hex")     \
	F(exec_blob, str, media_type, "media_type", TH_REQ, "what they are")     \
	F(exec_blob, int, size, "size", TH_REQ | TH_NONEG | TH_EMIT, "how many") \
	F(exec_blob, bool, known, "known", 0, "display only: as sent before, not attached again")

#define TH_FIELDS_exec_error(F)                                                        \
	F(exec_error, str, op, "op", TH_REQ, "error")                                  \
	F(exec_error, int, id, "id", TH_EMIT, "of the request; 0: the connection's")   \
	F(exec_error, str, code, "code", TH_REQ, "name of the code, as in base/err.h") \
	F(exec_error, str, message, "message", TH_REQ, "one sentence")

/* ---- what a process says that was started in a role ---- */

#define TH_FIELDS_exec_role(F)                                         \
	F(exec_role, str, op, "op", TH_REQ, "role")                    \
	F(exec_role, str, program, "program", TH_REQ, "thole")         \
	F(exec_role, str, role, "role", TH_REQ, "executor or display") \
	F(exec_role, int, protocol, "protocol", TH_REQ, "version of these messages")

/* ---- starting: what th_executor_options says, once, over the inherited socket ---- */

#define TH_FIELDS_exec_computer_start(F)                                                       \
	F(exec_computer_start, str, kind, "kind", TH_REQ | TH_NONEMPTY, "name of computers/")  \
	F(exec_computer_start, raw, options, "options", 0, "object: of this kind alone")       \
	F(exec_computer_start, int, width, "width", TH_NONEG, "desktop: pixels; 0: default")   \
	F(exec_computer_start, int, height, "height", TH_NONEG, "desktop: pixels; 0: default") \
	F(exec_computer_start, str, display, "display", 0, "x11: the display")                 \
	F(exec_computer_start, str, xauthority, "xauthority", 0, "x11: its key file")          \
	F(exec_computer_start, str, bus, "bus", 0, "x11: its accessibility bus")               \
	F(exec_computer_start, str, parser, "parser", 0, "URL of an OmniParser server")        \
	F(exec_computer_start, str, ocr, "ocr", 0, "program that reads pictures")              \
	F(exec_computer_start, strs, start, "start", 0, "commands to start on a new desktop")  \
	F(exec_computer_start, int, windows, "windows", TH_NONEG,                              \
	  "windows that these show, for which the first call waits")                           \
	F(exec_computer_start, int, wait_ms, "wait_ms", TH_NONEG, "and how long at most")

#define TH_FIELDS_exec_secret(F)                                                     \
	F(exec_secret, str, name, "name", TH_REQ, "variable of the placeholder")     \
	F(exec_secret, str, placeholder, "placeholder", TH_REQ, "what programs see") \
	F(exec_secret, str, value, "value", TH_REQ, "never written anywhere")        \
	F(exec_secret, raw, hosts, "hosts", 0, "where it may go, as in net")         \
	F(exec_secret, strs, headers, "headers", 0, "in which headers")              \
	F(exec_secret, bool, give, "give", 0, "to commands that name it")

#define TH_FIELDS_exec_start(F)                                                                 \
	F(exec_start, str, op, "op", TH_REQ, "start")                                           \
	F(exec_start, str, session, "session", TH_REQ | TH_NONEMPTY, "session")                 \
	F(exec_start, str, state_dir, "state_dir", TH_REQ | TH_NONEMPTY,                        \
	  "folder of journal and spool")                                                        \
	F(exec_start, str, socket, "socket", TH_REQ | TH_NONEMPTY, "where runtimes connect")    \
	F(exec_start, str, workspace, "workspace", 0, "folder its tools work in")               \
	F(exec_start, bool, net_host, "net_host", 0, "commands have the host's network")        \
	F(exec_start, raw, net, "net", 0, "else the list of what they may reach: th_net_parse") \
	F(exec_start, bool, net_ask, "net_ask", 0, "what that lacks may be asked for")          \
	F(exec_start, bool, net_strict, "net_strict", 0, "runs may be strict")                  \
	F(exec_start, raw, secrets, "secrets", 0, "list of exec_secret")                        \
	F(exec_start, bool, no_sandbox, "no_sandbox", 0, "commands are not confined")           \
	F(exec_start, raw, computer, "computer", 0, "exec_computer_start")                      \
	F(exec_start, strs, environment, "environment", 0, "NAME=value for commands")           \
	F(exec_start, int, command_ms_max, "command_ms_max", TH_NONEG,                          \
	  "longest command; 0: default")                                                        \
	F(exec_start, int, linger_ms, "linger_ms", TH_NONEG, "wait for a runtime; 0: default")

/* ready: to the starter.  socket differs from the asked one when another executor has the session.
 */
#define TH_FIELDS_exec_ready(F)                       \
	F(exec_ready, str, op, "op", TH_REQ, "ready") \
	F(exec_ready, str, socket, "socket", TH_REQ, "where to connect")

/* ---- the computer, and its process ---- */

/* Arguments of the tool "computer". */
#define TH_FIELDS_exec_computer(F)                                                                \
	F(exec_computer, raw, actions, "actions", TH_REQ,                                         \
	  "list of actions, done in order; may be empty")                                         \
	F(exec_computer, bool, screenshot, "screenshot", 0, "one picture after the last of them") \
	F(exec_computer, str, format, "format", 0, "png (default), jpeg or webp")                 \
	F(exec_computer, int, quality, "quality", TH_NONEG, "jpeg, webp: 1 to 100")               \
	F(exec_computer, int, fit_width, "fit_width", TH_NONEG,                                   \
	  "picture scaled down to fit; 0: as it is")                                              \
	F(exec_computer, int, fit_height, "fit_height", TH_NONEG,                                 \
	  "picture scaled down to fit; 0: as it is")                                              \
	F(exec_computer, bool, cursor, "cursor", 0, "draw the pointer into the picture")          \
	F(exec_computer, bool, marks, "marks", 0, "numbered marks on the elements of pictures")   \
	F(exec_computer, raw, browse, "browse", 0,                                                \
	  "instead of actions: arguments of the tool browser, for a computer that has pages")     \
	F(exec_computer, bool, tree, "tree", 0, "tell its elements; no picture for that")         \
	F(exec_computer, bool, whole, "whole", 0,                                                 \
	  "all of a clipboard, for people; models are shown as much as of other outputs")         \
	F(exec_computer, bool, settle, "settle", 0,                                               \
	  "wait until the screen is quiet before the picture")

#define TH_FIELDS_exec_display_start(F)                                                         \
	F(exec_display_start, str, op, "op", TH_REQ, "start")                                   \
	F(exec_display_start, raw, computer, "computer", TH_REQ, "exec_computer_start")         \
	F(exec_display_start, str, state_dir, "state_dir", TH_REQ,                              \
	  "private folder of the desktop")                                                      \
	F(exec_display_start, str, workspace, "workspace", 0, "folder its programs may write")  \
	F(exec_display_start, bool, net_host, "net_host", 0,                                    \
	  "its programs have the host's network")                                               \
	F(exec_display_start, bool, net_space, "net_space", 0,                                  \
	  "or the namespace of the descriptors 5 and, unless as root, 6")                       \
	F(exec_display_start, str, trust, "trust", 0, "file of roots that its programs trust")  \
	F(exec_display_start, int, uid, "uid", TH_NONEG, "as root: whom it runs as; 0: nobody") \
	F(exec_display_start, int, gid, "gid", TH_NONEG, "as root: its group")

#define TH_FIELDS_exec_screen(F)                                                             \
	F(exec_screen, str, op, "op", TH_REQ, "screen")                                      \
	F(exec_screen, int, width, "width", TH_REQ | TH_POSITIVE, "pixels")                  \
	F(exec_screen, int, height, "height", TH_REQ | TH_POSITIVE, "pixels")                \
	F(exec_screen, int, caps, "caps", TH_NONEG, "what the computer can do, as bits")     \
	F(exec_screen, int, released, "released", TH_NONEG, "stuck keys and buttons let go") \
	F(exec_screen, strs, prefix, "prefix", 0, "argv before a command's own, to start it there")

#define TH_FIELDS_exec_do(F)                                                 \
	F(exec_do, str, op, "op", TH_REQ, "do")                              \
	F(exec_do, int, id, "id", TH_REQ | TH_EMIT, "number of the request") \
	F(exec_do, raw, arguments, "arguments", TH_REQ, "exec_computer")

#define TH_FIELDS_exec_step(F)                                                 \
	F(exec_step, str, op, "op", TH_REQ, "step")                            \
	F(exec_step, int, id, "id", TH_REQ | TH_EMIT, "number of the request") \
	F(exec_step, int, done, "done", TH_REQ | TH_EMIT, "actions that have been done")

/* ---- watching: a live view of the computer ---- */

#define TH_FIELDS_exec_watch(F)                                                                    \
	F(exec_watch, str, op, "op", TH_REQ, "watch")                                              \
	F(exec_watch, int, id, "id", TH_REQ | TH_EMIT, "number of the request, and of its frames") \
	F(exec_watch, str, format, "format", 0, "jpeg (default), webp, png or terminal")           \
	F(exec_watch, int, quality, "quality", TH_NONEG, "jpeg, webp: 1 to 100; 0: 80")            \
	F(exec_watch, int, interval_ms, "interval_ms", TH_NONEG, "from frame to frame, at least")

/* With it come the pictures of the tiles, one file each, one behind the other. */
#define TH_FIELDS_exec_frame(F)                                                               \
	F(exec_frame, str, op, "op", TH_REQ, "frame")                                         \
	F(exec_frame, int, id, "id", TH_REQ | TH_EMIT, "of the watch")                        \
	F(exec_frame, int, width, "width", TH_NONEG, "of the screen; 0: no computer is open") \
	F(exec_frame, int, height, "height", TH_NONEG, "of the screen")                       \
	F(exec_frame, str, reason, "reason", 0, "why there is none")                          \
	F(exec_frame, bool, pointer, "pointer", 0, "it is known where the pointer is")        \
	F(exec_frame, int, x, "x", 0, "there")                                                \
	F(exec_frame, int, y, "y", 0, "there")                                                \
	F(exec_frame, raw, tiles, "tiles", TH_REQ,                                            \
	  "what has changed: a list of [x, y, width, height, size of its picture]")

#define TH_EXEC_MESSAGES(X)    \
	X(exec_hello)          \
	X(exec_run)            \
	X(exec_request)        \
	X(exec_host)           \
	X(exec_input)          \
	X(exec_forget)         \
	X(exec_given)          \
	X(exec_give)           \
	X(exec_welcome)        \
	X(exec_output)         \
	X(exec_finished)       \
	X(exec_blob)           \
	X(exec_error)          \
	X(exec_computer_start) \
	X(exec_role)           \
	X(exec_secret)         \
	X(exec_start)          \
	X(exec_ready)          \
	X(exec_computer)       \
	X(exec_display_start) X(exec_screen) X(exec_do) X(exec_step) X(exec_watch) X(exec_frame)

#define X(name) TH_STRUCT(name) extern const struct th_table th_##name##_table;
TH_EXEC_MESSAGES(X)
#undef X

/* Ops, for those who dispatch on them. */
#define TH_EXEC_OPS(X)          \
	X(HELLO, "hello")       \
	X(OPEN, "open")         \
	X(RUN, "run")           \
	X(ATTACH, "attach")     \
	X(CANCEL, "cancel")     \
	X(FORGET, "forget")     \
	X(GIVE, "give")         \
	X(HOST, "host")         \
	X(INPUT, "input")       \
	X(ASKS, "asks")         \
	X(END, "end")           \
	X(WELCOME, "welcome")   \
	X(ACCEPTED, "accepted") \
	X(OUTPUT, "output")     \
	X(FINISHED, "finished") \
	X(ERROR, "error")       \
	X(ROLE, "role")         \
	X(START, "start")       \
	X(READY, "ready")       \
	X(SCREEN, "screen")     \
	X(DO, "do")             \
	X(STEP, "step") X(WATCH, "watch") X(NEXT, "next") X(UNWATCH, "unwatch") X(FRAME, "frame")
#define X(id, name) TH_EXEC_OP_##id,
enum th_exec_op { TH_EXEC_OPS(X) TH_EXEC_OP_COUNT };
#undef X
const char *th_exec_op_name(enum th_exec_op op);
int th_exec_op_find(struct th_str name); /* op or -1 */

/*
 * A frame's head: parses it and finds the op.  TH_EPROTO: not JSON, or an op
 * that is not known.  The document is the caller's to free.
 */
TH_NODISCARD enum th_code th_exec_open(struct th_str head, struct th_json_doc **ret,
				       enum th_exec_op *ret_op, struct th_err *err);

/* A message as a frame's head, appended to `out`. */
void th_exec_print(const struct th_table *t, const void *message, struct th_buf *out);

/* An error message: code and sentence. */
void th_exec_print_error(int64_t id, const struct th_err *e, struct th_buf *out);
/* "This is thole in that role", as a frame's head. */
void th_exec_print_role(const char *role, struct th_buf *out);
/* Whether a head says that.  TH_EPROTO: it says something else; TH_EUNSUPPORTED: another protocol.
 */
TH_NODISCARD enum th_code th_exec_check_role(struct th_str head, const char *role,
					     struct th_err *err);

/* Whether a hello or a welcome is of our version, TH_EUNSUPPORTED otherwise; 0: it says none. */
TH_NODISCARD enum th_code th_exec_check_protocol(int64_t version, struct th_err *err);

/* What th_exec_print_error printed; an unknown code is TH_EPROTO. */
enum th_code th_exec_error(const struct th_exec_error *e, struct th_err *err);

/* Ids become file names: 1..TH_EFFECT_ID_MAX of A-Z a-z 0-9 - _ and not beginning with '-'. */
bool th_exec_effect_id_ok(struct th_str id);

#endif
