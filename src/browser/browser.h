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
 *	menu.c      the menu of a select element, which no picture shows
 *	marks.c     elements on the screen, with the numbers of snapshots
 *	log.c       console and network, as they were told
 *	files.c     downloads, uploads, long texts: files of the workspace
 *	policy.c    what its address bar may open
 *	window.c    the row of the same in a window on a desktop
 *
 * All functions block, in one thread.  A page that does not answer is TH_EIO and costs only its
 * tab; a browser that has ended is TH_ECONN and ends the computer.  What pages say is hostile: its
 * size is limited where it is stored, and it is cleaned where it is shown.
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

/* A page that navigates by itself more often than this, in this time, is stopped. */
#define TH_BROWSER_HOPS_MAX 20
#define TH_BROWSER_HOPS_MS 10000
#define TH_BROWSER_MENU_MAX 2000 /* characters that are told of a menu */

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
	uint64_t loads;     /* counts signs that its main frame navigates */
	uint64_t documents; /* counts documents of its main frame */
	unsigned hops;      /* documents since an action, or in TH_BROWSER_HOPS_MS */
	int64_t hops_since_us;
	bool going;                 /* we navigate: what the page did before does not count */
	bool spun;                  /* it was stopped for its hops; not yet reported */
	uint64_t requests, answers; /* of its pages; the difference is under way */
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
	int32_t space; /* its node ids are valid in this one; each document has a new one */
};

#define TH_BROWSER_LOG_LINES 100

/* The last lines of the console, or of the network. */
struct th_browser_log {
	char lines[TH_BROWSER_LOG_LINES][TH_BROWSER_LOG_LINE_MAX + 1];
	uint64_t count; /* lines so far */
	uint64_t told;  /* count when the call began */
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
struct th_sandbox_placed;

struct th_browser {
	struct th_computer computer; /* first */
	struct th_arena arena;       /* options */
	struct th_browser_own own;
	struct th_json_doc *own_doc;
	struct th_size size;
	int interrupt_fd;
	struct th_computer *screen; /* the desktop with its window; NULL: it has no window */
	int screen_fd; /* of `screen`, which is served while we wait for the browser; else -1 */

	/* process.c */
	struct th_loop *loop;
	struct th_sandbox_plan *plan;
	struct th_child *child;
	const char *state_dir; /* of the desktop */
	int conn;              /* closing it ends a browser that a desktop started; else -1 */
	const char *profile;   /* folder; others may write in it: opened beneath profile_fd */
	int profile_fd;
	bool own_profile;  /* we made it, and remove it */
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
	int32_t active; /* number of the current tab; 0: none */
	int32_t last_tab;
	unsigned crashes;
	uint64_t drawn; /* counts frames of the current tab */

	/* see.c */
	struct th_pixels pixels; /* of the last picture; free() */
	struct th_buf shot;      /* the PNG from the browser */
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
	bool drag_came; /* the page began a drag of data, which is in drag_doc */
	struct th_json_doc *drag_doc;

	/* page.c */
	struct th_page_refs refs;
	struct th_page *page, *shown; /* the newest snapshot, and the last one that the model saw */
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
	bool acted, moved; /* in this call: there was an action; the whole page is to be shown */
	int32_t last_tab_told;

	/* menu.c */
	bool menu_due;      /* one may have been opened since the last picture */
	struct th_buf menu; /* what it offers, as a line; empty: none is open */

	struct th_buf notice;
};

/* `screen`: a desktop, opened with the same options, that gets the window; NULL: no window. */
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
/* What its address bar and menus may open, as a file in the folder, and where it looks for that. */
TH_NODISCARD enum th_code th_browser_policy(struct th_arena *a, struct th_str folder,
					    struct th_sandbox_placed *ret, struct th_err *err);
TH_NODISCARD enum th_code th_browser_start(struct th_browser *b,
					   const struct th_computer_options *o, struct th_err *err);
void th_browser_end(struct th_browser *b); /* and all processes that it started */

/* ---- wire ---- */

/*
 * A command: begin, then its parameters as members, then one of
 *   post   sends it and does not wait for the answer
 *   call   waits; *ret_result is borrowed until the next call, NULL when a
 *          dialog opened meanwhile, because then the page does not answer
 * TH_EIO: the page hangs, or refuses, with a sentence.  TH_EBUSY: a dialog is open.
 */
struct th_jw *th_browser_begin(struct th_browser *b, const char *session, const char *method);
TH_NODISCARD enum th_code th_browser_post(struct th_browser *b, struct th_err *err);
TH_NODISCARD enum th_code th_browser_call(struct th_browser *b, const struct th_json **ret_result,
					  struct th_err *err);
/* A call without parameters and result. */
TH_NODISCARD enum th_code th_browser_tell(struct th_browser *b, const char *session,
					  const char *method, struct th_err *err);
/* Waits for one message, until `until_us` at most, and handles it.  TH_ETIMEOUT: none came. */
TH_NODISCARD enum th_code th_browser_pump(struct th_browser *b, int64_t until_us,
					  struct th_err *err);
/* The same, and live views go on meanwhile. */
TH_NODISCARD enum th_code th_browser_idle(struct th_browser *b, int64_t until_us,
					  struct th_err *err);
int64_t th_browser_now_us(void);

/* ---- tabs ---- */

TH_NODISCARD enum th_code th_browser_tabs_begin(struct th_browser *b, struct th_err *err);
struct th_browser_tab *th_browser_tab_find(struct th_browser *b, int32_t number);
/* By the session of a tab or of one of its frames; NULL: unknown. */
struct th_browser_tab *th_browser_tab_of(struct th_browser *b, struct th_str session);
struct th_browser_session *th_browser_session_of(struct th_browser *b, int32_t space);
/* The current tab.  TH_EIO: there is none, or it crashed. */
TH_NODISCARD enum th_code th_browser_tab(struct th_browser *b, struct th_browser_tab **ret,
					 struct th_err *err);
/* Makes it the current tab. */
TH_NODISCARD enum th_code th_browser_show(struct th_browser *b, struct th_browser_tab *tab,
					  struct th_err *err);
TH_NODISCARD enum th_code th_browser_tab_new(struct th_browser *b, struct th_err *err);
TH_NODISCARD enum th_code th_browser_tab_close(struct th_browser *b, int32_t number,
					       struct th_err *err);
/* With a window, where a person may change the tab: shows the current tab there. */
TH_NODISCARD enum th_code th_browser_to_front(struct th_browser *b, struct th_err *err);
/* With a window, where a person may change its size: asks for the size of the page. */
TH_NODISCARD enum th_code th_browser_fit(struct th_browser *b, struct th_err *err);

/* ---- events ---- */

TH_NODISCARD enum th_code th_browser_on_event(struct th_browser *b, const struct th_cdp_message *m,
					      struct th_err *err);

/* ---- to another page ---- */

/* Navigates, and waits until the page is loaded.  TH_EPERM: a scheme that is not allowed. */
TH_NODISCARD enum th_code th_browser_open(struct th_browser *b, struct th_str url,
					  struct th_err *err);
/* Goes `by` entries through the history; 0: reload. */
TH_NODISCARD enum th_code th_browser_history(struct th_browser *b, int by, struct th_err *err);
TH_NODISCARD enum th_code th_browser_dialog_end(struct th_browser *b, struct th_browser_tab *tab,
						bool accept, struct th_str text,
						struct th_err *err);
/* Counts hops from 0 again: there was an action. */
void th_browser_hops_begin(struct th_browser *b);

/* ---- pages ---- */

/* A new snapshot into b->page. */
TH_NODISCARD enum th_code th_browser_snapshot(struct th_browser *b, bool plain, struct th_err *err);
/* The model has seen b->page. */
void th_browser_shown(struct th_browser *b);
void th_browser_page_deinit(struct th_browser *b);

/* An element by its number, if it still exists: its session and node. */
struct th_browser_element {
	char session[TH_BROWSER_ID_SIZE];
	int64_t node;
	struct th_point at; /* its middle, on the screen; set by th_browser_reach */
	struct th_rect box;
};
TH_NODISCARD enum th_code th_browser_element(struct th_browser *b, int64_t ref,
					     struct th_browser_element *ret, struct th_err *err);
/* Scrolls it into view.  TH_EUSAGE: it is hidden. */
TH_NODISCARD enum th_code th_browser_reach(struct th_browser *b, struct th_browser_element *e,
					   struct th_err *err);
/* Sets `box` alone: where it is now, also outside of the view.  TH_EUSAGE: it is hidden. */
TH_NODISCARD enum th_code th_browser_box(struct th_browser *b, struct th_browser_element *e,
					 struct th_err *err);
/* Calls a JavaScript function with the element as `this`.  *ret is borrowed until the next call,
 * NULL when a dialog opened. */
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
/* Moves finished downloads into the workspace, and reports those not yet reported. */
void th_browser_downloads_tell(struct th_browser *b, struct th_buf *out);
/* Copies a file of the workspace to where the browser can read it; its path is in the arena. */
TH_NODISCARD enum th_code th_browser_upload(struct th_browser *b, struct th_str path,
					    struct th_arena *a, const char **ret,
					    struct th_err *err);
/* Writes a long text to a file of the workspace, and adds its path to `out`. */
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
void th_browser_mark(struct th_browser *b); /* what is drawn from now on is a change */
void th_browser_see_deinit(struct th_browser *b);

enum th_code th_browser_marks(struct th_computer *c, struct th_marks *m, int32_t **ret_last,
			      struct th_err *err);
/* With a window: the marks in pixels of the desktop's screen, and where the page is on it.  None
 * while another tab is shown. */
TH_NODISCARD enum th_code th_browser_marks_on(struct th_browser *b, struct th_size screen,
					      struct th_marks *m, struct th_rect *ret_page,
					      struct th_err *err);

/* ---- menu ---- */

/* Behind a picture of the tab: fills b->menu.  What fails leaves it empty. */
void th_browser_menu_look(struct th_browser *b, const struct th_browser_tab *tab);

/* ---- input ---- */

enum th_code th_browser_act(struct th_computer *c, const struct th_action *action,
			    struct th_act_result *ret, struct th_err *err);
enum th_code th_browser_reset(struct th_computer *c, struct th_act_result *ret, struct th_err *err);

/* An action of pointer or keys.  Does not wait for its effect. */
TH_NODISCARD enum th_code th_browser_input(struct th_browser *b, const struct th_action *action,
					   struct th_err *err);

/* A key as KeyboardEvent has it. */
struct th_browser_key {
	char key[16];     /* KeyboardEvent.key: "a", "Enter" */
	const char *code; /* KeyboardEvent.code: "KeyA"; NULL: none */
	int vk;           /* its Windows key code; 0: none */
	char text[8];     /* what it types, UTF-8; "": nothing */
	bool shift;       /* it needs Shift on a US keyboard */
	int location;     /* 0 standard, 1 left, 2 right, 3 numeric */
};
bool th_browser_key_find(uint32_t keysym, struct th_browser_key *ret);

#endif
