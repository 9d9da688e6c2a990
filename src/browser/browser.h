/* SPDX-License-Identifier: Apache-2.0 */
/*
 * browser.h - kind "browser": a Chromium of the session's own, driven over its pipe
 * (wire/cdp.h), without a window; kind "browser_window" has one.  This room alone includes it.
 *
 *	browser.c   the row: open, act, close
 *	process.c   finds the program, starts it confined, ends it
 *	wire.c      commands, answers, events
 *	tabs.c      tabs: which there are, which is looked at
 *	sessions.c  tabs and frames as they come and go
 *	events.c    what the browser tells of them
 *	go.c        to another page
 *	see.c       pictures, quiet, live view
 *	input.c     pointer and keys
 *	keys.c      keysyms as a page knows keys
 *	steps.c     steps on the structure of pages (actions/browse.h); step_*.c has each
 *	page.c      snapshots, and elements by their number
 *	marks.c     elements on the screen, with the numbers of snapshots
 *	log.c       console and network, as they were told
 *	files.c     downloads, uploads, long texts: files of the workspace
 *	window.c    the row of the same in a window on a desktop
 *
 * All block, in one thread.  A page that does not answer is TH_EIO and costs
 * only its tab; a browser that is gone is TH_ECONN and ends the computer.
 * What pages say is hostile: bounded where it is kept, cleaned where it is told.
 */
#ifndef TH_BROWSER_BROWSER_H
#define TH_BROWSER_BROWSER_H

#include "actions/keys.h"
#include "base/arena.h"
#include "browser/kind.h"
#include "computer/computer.h"
#include "computer/image.h"
#include "wire/cdp.h"
#include "wire/page.h"

#define TH_BROWSER_NOBODY 65534 /* as root: whom it runs as when nobody is named */
#define TH_BROWSER_ID_SIZE 40   /* ids of targets, sessions and frames: 32 hex digits */

/* A page that goes on to others by itself, as many as this in so long, is stopped. */
#define TH_BROWSER_HOPS_MAX 20
#define TH_BROWSER_HOPS_MS 10000

struct th_browser_dialog {
	bool open;
	unsigned number; /* of this tab, so far */
	char type[16];   /* alert confirm prompt beforeunload */
	char message[TH_BROWSER_DIALOG_MAX + 1];
};

struct th_browser_tab {
	int32_t number; /* by which it is named; never given twice */
	char target[TH_BROWSER_ID_SIZE], session[TH_BROWSER_ID_SIZE];
	char frame[TH_BROWSER_ID_SIZE]; /* its main frame */
	char url[TH_BROWSER_URL_MAX + 1], title[TH_BROWSER_TITLE_MAX + 1];
	bool loading, crashed;
	char crash[48];     /* how */
	uint64_t loads;     /* signs that its main frame goes somewhere, so far */
	uint64_t documents; /* that came, so far */
	unsigned hops;      /* of these, since an action, or in TH_BROWSER_HOPS_MS */
	int64_t hops_since_us;
	bool going;                 /* we ask for another page: what it did before counts no more */
	bool spun;                  /* it went on without an end, and was stopped; not yet told */
	uint64_t requests, answers; /* of its pages; those that are under way are the difference */
	struct th_browser_chooser {
		bool open, many;
		int64_t node; /* the input that asked for files */
		char session[TH_BROWSER_ID_SIZE];
	} chooser;
	struct th_browser_dialog dialog;
};

/* A frame with a process of its own, or a tab's main frame. */
struct th_browser_session {
	char id[TH_BROWSER_ID_SIZE], parent[TH_BROWSER_ID_SIZE], target[TH_BROWSER_ID_SIZE];
	int32_t tab;   /* its number */
	int32_t space; /* of the numbers of its nodes: another one for each document */
};

#define TH_BROWSER_LOG_LINES 100

/* The last lines of what scripts logged, or of what was requested. */
struct th_browser_log {
	char lines[TH_BROWSER_LOG_LINES][TH_BROWSER_LOG_LINE_MAX + 1];
	uint64_t count; /* all that came */
	uint64_t told;  /* of these, when a call began */
};

struct th_browser_download {
	char guid[TH_BROWSER_ID_SIZE], name[TH_BROWSER_FILE_NAME_MAX + 1];
	enum { TH_DOWNLOAD_RUNS, TH_DOWNLOAD_DONE, TH_DOWNLOAD_ENDED } state;
	int64_t size;
	bool told;
	char saved[TH_BROWSER_FILE_NAME_MAX + 32]; /* where in the workspace; "" */
	char why[200];                             /* or why not */
};

struct th_browser_own { /* computer.options */
	struct th_str program, start_url, search_url;
	bool evaluate;
};

extern const struct th_table th_browser_own_table;

struct th_loop;
struct th_child;
struct th_sandbox_plan;

struct th_browser {
	struct th_computer computer; /* first */
	struct th_arena arena;       /* options */
	struct th_browser_own own;
	struct th_json_doc *own_doc;
	struct th_size size;
	int interrupt_fd;
	struct th_computer *screen; /* a desktop that has it as a window; NULL: it has none */
	int screen_fd; /* of that one, which is served while the browser is waited for; else -1 */

	/* process.c */
	struct th_loop *loop;
	struct th_sandbox_plan *plan;
	struct th_child *child;
	const char *state_dir; /* of the desktop */
	int conn;              /* holds it where a desktop started it; else -1 */
	const char *profile;   /* folder; others may write in it: opened beneath profile_fd */
	int profile_fd;
	bool own_profile;  /* made by us, and removed */
	int in_fd, out_fd; /* from it, to it */
	bool proxied;      /* its network is a list of hosts */
	bool contained;    /* by its own sandbox as well as by ours */

	/* wire.c */
	struct th_cdp_in in;
	struct th_buf text, out; /* one command, as it is written and as it is sent */
	struct th_jw out_w;
	char out_session[TH_BROWSER_ID_SIZE];
	const char *out_method;
	int64_t call_ms; /* for the next call; 0: TH_BROWSER_REPLY_MS */
	int64_t last_id, awaited;
	struct th_json_doc *answer_doc;
	struct th_cdp_message answer;
	bool answered;

	/* tabs.c */
	struct th_browser_tab tabs[TH_BROWSER_TABS_MAX];
	size_t tab_count;
	struct th_browser_session sessions[TH_BROWSER_SESSIONS_MAX];
	size_t session_count;
	int32_t active; /* number of the tab that is looked at; 0: none */
	int32_t last_tab;
	unsigned crashes;
	uint64_t drawn; /* times that the active tab was drawn */

	/* see.c */
	struct th_pixels pixels; /* of the last picture; free() */
	struct th_buf shot;      /* as it came */
	struct th_digest shot_digest;
	uint64_t frame_id, seen_drawn, marked_drawn;
	struct th_png *png;
	struct th_buf encoded;
	struct th_pixels scaled, pointed; /* free() */
	bool *live_tiles;

	/* input.c */
	struct th_point at;
	unsigned buttons; /* bit per enum th_button */
	uint32_t keys_down[TH_CHORD_KEYS_MAX * 4];
	size_t keys_down_count;
	bool drag_came; /* the page began a drag of its own: data in drag_doc */
	struct th_json_doc *drag_doc;

	/* page.c */
	struct th_page_refs refs;
	struct th_page *page, *shown; /* the newest snapshot, and what the model knows */
	int32_t shown_tab;
	uint64_t shown_document;
	int32_t last_space;
	struct th_json_doc *trees[TH_PAGE_FRAMES_MAX];
	size_t tree_count;

	/* log.c */
	struct th_browser_log console, network;

	/* files.c */
	const char *workspace; /* NULL: none */
	struct th_browser_download downloads[TH_BROWSER_DOWNLOADS_MAX];
	uint64_t download_count; /* all that began */
	uint32_t uid, gid;       /* as root: whom the browser runs as */
	unsigned files;          /* that were put into the profile or the workspace, so far */

	/* steps.c */
	bool in_call;
	uint64_t call_drawn;
	bool acted, moved; /* in this call: something was done; the page is to be shown whole */
	int32_t last_tab_told;

	struct th_buf notice;
};

/* As a window of a desktop that was opened with the same options; ended by th_browser_free. */
TH_NODISCARD enum th_code th_browser_new(struct th_computer *screen,
					 const struct th_computer_options *options,
					 struct th_browser **ret, struct th_err *err);
struct th_browser *th_browser_free(struct th_browser *b); /* takes NULL, returns NULL */

static inline struct th_browser *th_browser_of(struct th_computer *c)
{
	return (struct th_browser *)(void *)c;
}

/* ---- process ---- */

bool th_browser_installed(void); /* where distributions have it */
/* Its folder, which a desktop must show to it. */
TH_NODISCARD enum th_code th_browser_profile(struct th_arena *a,
					     const struct th_computer_options *o, char **ret,
					     struct th_err *err);
TH_NODISCARD enum th_code th_browser_start(struct th_browser *b,
					   const struct th_computer_options *o, struct th_err *err);
void th_browser_end(struct th_browser *b); /* with all that it started */

/* ---- wire ---- */

/*
 * begin, the parameters as members, then one of:
 *   post   nobody waits for its answer
 *   call   waits; *ret_result is borrowed until the next call, NULL where a
 *          dialog opened meanwhile, which keeps the page from answering
 * TH_EIO: the page hangs, or says that it cannot, with a sentence.  TH_EBUSY: a dialog is open.
 */
struct th_jw *th_browser_begin(struct th_browser *b, const char *session, const char *method);
TH_NODISCARD enum th_code th_browser_post(struct th_browser *b, struct th_err *err);
TH_NODISCARD enum th_code th_browser_call(struct th_browser *b, const struct th_json **ret_result,
					  struct th_err *err);
/* Without parameters. */
TH_NODISCARD enum th_code th_browser_tell(struct th_browser *b, const char *session,
					  const char *method, struct th_err *err);
/* Takes what comes until `until_us`, or something came.  TH_ETIMEOUT: nothing did. */
TH_NODISCARD enum th_code th_browser_pump(struct th_browser *b, int64_t until_us,
					  struct th_err *err);
/* The same while nothing is asked: live views go on. */
TH_NODISCARD enum th_code th_browser_idle(struct th_browser *b, int64_t until_us,
					  struct th_err *err);
int64_t th_browser_now_us(void);

/* ---- tabs ---- */

TH_NODISCARD enum th_code th_browser_tabs_begin(struct th_browser *b, struct th_err *err);
struct th_browser_tab *th_browser_tab_find(struct th_browser *b, int32_t number);
/* Of the session of a tab or of one of its frames; NULL. */
struct th_browser_tab *th_browser_tab_of(struct th_browser *b, struct th_str session);
struct th_browser_session *th_browser_session_of(struct th_browser *b, int32_t space);
/* The one that is looked at.  TH_EIO: there is none, or it crashed. */
TH_NODISCARD enum th_code th_browser_tab(struct th_browser *b, struct th_browser_tab **ret,
					 struct th_err *err);
/* Looks at another. */
TH_NODISCARD enum th_code th_browser_show(struct th_browser *b, struct th_browser_tab *tab,
					  struct th_err *err);
TH_NODISCARD enum th_code th_browser_tab_new(struct th_browser *b, struct th_err *err);
TH_NODISCARD enum th_code th_browser_tab_close(struct th_browser *b, int32_t number,
					       struct th_err *err);
/* In a window, whose tab and size a person may change: the tab that the tool acts on is shown. */
TH_NODISCARD enum th_code th_browser_to_front(struct th_browser *b, struct th_err *err);
/* And how large its page is now.  Without a window that is known. */
TH_NODISCARD enum th_code th_browser_fit(struct th_browser *b, struct th_err *err);

/* ---- events ---- */

TH_NODISCARD enum th_code th_browser_on_event(struct th_browser *b, const struct th_cdp_message *m,
					      struct th_err *err);

/* ---- to another page ---- */

/* Goes to an address, and waits until the page has come; TH_EPERM: of a kind that is not opened. */
TH_NODISCARD enum th_code th_browser_open(struct th_browser *b, struct th_str url,
					  struct th_err *err);
/* By so many pages of its history; 0: the same again. */
TH_NODISCARD enum th_code th_browser_history(struct th_browser *b, int by, struct th_err *err);
TH_NODISCARD enum th_code th_browser_dialog_end(struct th_browser *b, struct th_browser_tab *tab,
						bool accept, struct th_str text,
						struct th_err *err);
/* Documents that come are counted anew: somebody acts. */
void th_browser_hops_begin(struct th_browser *b);

/* ---- pages ---- */

/* A new snapshot into b->page. */
TH_NODISCARD enum th_code th_browser_snapshot(struct th_browser *b, bool plain, struct th_err *err);
/* From here on the model knows it. */
void th_browser_shown(struct th_browser *b);
void th_browser_page_deinit(struct th_browser *b);

/* An element by its number, which is still there: its session and node. */
struct th_browser_element {
	char session[TH_BROWSER_ID_SIZE];
	int64_t node;
	struct th_point at; /* in the middle of it, on the screen; th_browser_reach */
	struct th_rect box;
};
TH_NODISCARD enum th_code th_browser_element(struct th_browser *b, int64_t ref,
					     struct th_browser_element *ret, struct th_err *err);
/* Brings it onto the screen.  TH_EUSAGE: it cannot be seen. */
TH_NODISCARD enum th_code th_browser_reach(struct th_browser *b, struct th_browser_element *e,
					   struct th_err *err);
/* Where it is now, `box` alone, on the screen or beside it.  TH_EUSAGE: it is hidden. */
TH_NODISCARD enum th_code th_browser_box(struct th_browser *b, struct th_browser_element *e,
					 struct th_err *err);
/* A function of JavaScript with the element as `this`; its value is borrowed until the next call,
 * NULL where a dialog opened. */
TH_NODISCARD enum th_code th_browser_on_element(struct th_browser *b,
						const struct th_browser_element *e,
						const char *function, struct th_str argument,
						const struct th_json **ret, struct th_err *err);

/* ---- log ---- */

void th_browser_log_event(struct th_browser *b, struct th_browser_tab *tab,
			  const struct th_cdp_message *m);
void th_browser_log_tell(const struct th_browser_log *log, uint64_t from, struct th_buf *out);

/* ---- files ---- */

TH_NODISCARD enum th_code th_browser_downloads_begin(struct th_browser *b, struct th_err *err);
void th_browser_download_event(struct th_browser *b, const struct th_cdp_message *m);
bool th_browser_downloading(const struct th_browser *b);
/* Those that ended, and that were not told of, into the workspace. */
void th_browser_downloads_tell(struct th_browser *b, struct th_buf *out);
/* A file of the workspace where the browser can read it; path in the arena. */
TH_NODISCARD enum th_code th_browser_upload(struct th_browser *b, struct th_str path,
					    struct th_arena *a, const char **ret,
					    struct th_err *err);
/* A long text into a file of the workspace; its path is said. */
void th_browser_put_text(struct th_browser *b, const char *what, struct th_str text,
			 struct th_buf *out);

/* ---- steps ---- */

enum th_code th_browser_browse(struct th_computer *c, const struct th_browse_step *step,
			       struct th_buf *out, bool *ret_started, struct th_err *err);
enum th_code th_browser_browsed(struct th_computer *c, struct th_buf *out, struct th_err *err);

/* ---- see ---- */

enum th_code th_browser_see(struct th_computer *c, const struct th_see_options *options,
			    struct th_frame_image *ret, struct th_err *err);
enum th_code th_browser_settle(struct th_computer *c, const struct th_settle_options *options,
			       struct th_settle_result *ret, struct th_err *err);
void th_browser_pixels(struct th_computer *c, struct th_pixels *ret);
enum th_code th_browser_drawn(struct th_computer *c, bool *ret, struct th_err *err);
enum th_code th_browser_live(struct th_computer *c, struct th_live_look *ret, struct th_err *err);
void th_browser_mark(struct th_browser *b); /* what is drawn from now on counts as changed */
void th_browser_see_deinit(struct th_browser *b);

enum th_code th_browser_marks(struct th_computer *c, struct th_marks *m, int32_t **ret_last,
			      struct th_err *err);
/* Those of a browser in a window, where they are on that screen, and where its page is; none while
 * another tab is shown. */
TH_NODISCARD enum th_code th_browser_marks_on(struct th_browser *b, struct th_size screen,
					      struct th_marks *m, struct th_rect *ret_page,
					      struct th_err *err);

/* ---- input ---- */

enum th_code th_browser_act(struct th_computer *c, const struct th_action *action,
			    struct th_act_result *ret, struct th_err *err);
enum th_code th_browser_reset(struct th_computer *c, struct th_act_result *ret, struct th_err *err);

/* An action of pointer or keys; none of them waits for what comes of it. */
TH_NODISCARD enum th_code th_browser_input(struct th_browser *b, const struct th_action *action,
					   struct th_err *err);

/* A key as a page is told of it. */
struct th_browser_key {
	char key[16];     /* KeyboardEvent.key: "a", "Enter" */
	const char *code; /* KeyboardEvent.code: "KeyA"; NULL: none */
	int vk;           /* Windows' number of it; 0: none */
	char text[8];     /* what it types, UTF-8; "": nothing */
	bool shift;       /* on a keyboard of the US it takes Shift */
	int location;     /* 0 standard, 1 left, 2 right, 3 numeric */
};
bool th_browser_key_find(uint32_t keysym, struct th_browser_key *ret);

#endif
