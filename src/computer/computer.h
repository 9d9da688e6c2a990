/* SPDX-License-Identifier: Apache-2.0 */
/*
 * computer.h - a screen that a model may see and touch: what every kind promises.  One kind = one
 * folder with a kind.h = one row of TH_COMPUTERS (computers/computers.h).  Its struct below says
 * all that the rest of the program must know of a kind; no other folder compares its name.
 *
 * All calls block and belong to one thread: a computer lives in the executor's
 * `display` process, which does nothing else and may die without harm to the
 * log.  A call that waits (settle, wait, hold) polls `interrupt_fd` and ends
 * early with TH_ECANCELED when it becomes readable or hangs up.
 */
#ifndef TH_COMPUTER_COMPUTER_H
#define TH_COMPUTER_COMPUTER_H

#include "actions/action.h"
#include "actions/browse.h"
#include "actions/mark.h"
#include "base/err.h"
#include "base/field.h"
#include "base/geom.h"
#include "base/hash.h"
#include "base/limits.h"
#include "wire/found.h"

enum th_image_format { TH_IMAGE_PNG, TH_IMAGE_JPEG, TH_IMAGE_WEBP, TH_IMAGE_FORMAT_COUNT };

enum th_computer_caps {
	TH_CAP_SEE = 1 << 0,
	TH_CAP_POINTER = 1 << 1,
	TH_CAP_KEYBOARD = 1 << 2,
	TH_CAP_CLIPBOARD = 1 << 3,
	TH_CAP_SETTLE = 1 << 4,
	TH_CAP_TREE = 1 << 5,
	TH_CAP_SHELL = 1 << 6, /* commands can be started on it */
};

/*
 * Options that several kinds share; an agent file that gives one to a kind without it is refused.
 * They are a mask over typed members, since the tools, the executor and the command line work with
 * them.  An option of one kind alone stands in its table `own` instead.
 */
enum th_computer_shared {
	TH_HAS_SIZE = 1 << 0,    /* width, height */
	TH_HAS_START = 1 << 1,   /* start, start_wait_s */
	TH_HAS_DISPLAY = 1 << 2, /* display; default: DISPLAY, and XAUTHORITY is its key */
	TH_HAS_BUS = 1 << 3,     /* bus; default: AT_SPI_BUS_ADDRESS */
};

/* How to open one.  A kind uses what concerns it; an agent file was checked against its row. */
struct th_computer_options {
	struct th_str kind;    /* a name of TH_COMPUTERS */
	struct th_str own;     /* its own options: a JSON object of its table; empty: none given */
	struct th_size size;   /* desktop: default 1280x800 */
	struct th_str display; /* x11: ":0"; empty: $DISPLAY was resolved by the caller */
	struct th_str xauthority; /* x11: its file; empty: no cookie is sent ($XAUTHORITY was
				     resolved by the caller) */
	struct th_str bus; /* x11: accessibility bus with the elements of its programs: an address,
			      or "display", the one that the display names; empty: none */
	struct th_str
	    state_dir; /* private folder, made and later removed by the owner of the session */
	bool net_host; /* desktop: give its programs the host's network */
	struct th_str trust; /* desktop: file of roots that its programs may read; may be empty */
	bool net_space;      /* or that of these descriptors (io/net_space.h) */
	int net_fd, user_fd;
	struct th_str
	    workspace; /* desktop: the folder its programs may write; absolute; may be empty */
	struct th_str profile; /* desktop: a folder beside the workspace that its programs may
				  write; may be empty */
	/* desktop: a file that its programs find in a folder of the system; may be NULL */
	const struct th_sandbox_placed *placed;
	uint32_t uid, gid; /* desktop, started by root: whom it runs as; 0: nobody */
	bool plain;        /* desktop: without namespaces, as where the kernel forbids them */
	int interrupt_fd;  /* -1: none */
};

/* One picture.  Bytes belong to the computer and stay until its next call of see or close. */
struct th_frame_image {
	uint64_t frame_id;   /* grows by one with every picture that differs from the one before */
	struct th_size size; /* of the encoded image */
	enum th_image_format format;
	struct th_str bytes;
	struct th_digest digest; /* SHA-256 of bytes */
	bool unchanged; /* same pixels as the frame before: not captured or encoded again */
};

struct th_see_options {
	enum th_image_format format;
	int quality;     /* JPEG, WebP: 1..100; 0: 80 */
	bool has_region; /* zoom */
	struct th_rect region;
	struct th_size fit; /* scaled down to fit (area average); 0x0: as it is */
	bool cursor;        /* draw the pointer into it */
};

/* What an action did: evidence, not a bare "ok". */
struct th_act_result {
	bool has_at;
	struct th_point at;    /* where the pointer is afterwards */
	struct th_str text;    /* clipboard_get; borrowed until the next call */
	int32_t keys_released; /* stuck keys and buttons let go by reset */
	bool
	    started; /* with an error: something may have reached the display; false: nothing did */
};

struct th_settle_options {
	int32_t quiet_ms; /* no damage for this long counts as settled; 0: TH_SETTLE_QUIET_MS */
	int32_t first_ms; /* wait at most this long for a first change; 0: TH_SETTLE_FIRST_MS */
	int32_t max_ms;   /* hard cap; 0: TH_SETTLE_MAX_MS */
};

struct th_settle_result {
	bool changed; /* anything was drawn since the last picture or action */
	bool settled; /* false: still changing at max_ms */
	int32_t waited_ms;
	struct th_rect area; /* bounding box of the change */
};

/* What a live view takes (see `live` below); borrowed until the next call of any function. */
struct th_live_look {
	struct th_size size;
	uint8_t *pixels; /* as th_pixels has them */
	size_t stride;
	/* Per tile of TH_LIVE_TILE_WIDTH x TH_LIVE_TILE_HEIGHT, row by row: drawn on since whoever
	 * looks has last cleared it. */
	bool *drawn;
	bool has_at;
	struct th_point at; /* where the pointer is */
};

static inline int32_t th_live_columns(struct th_size s)
{
	return (s.width + TH_LIVE_TILE_WIDTH - 1) / TH_LIVE_TILE_WIDTH;
}

static inline int32_t th_live_rows(struct th_size s)
{
	return (s.height + TH_LIVE_TILE_HEIGHT - 1) / TH_LIVE_TILE_HEIGHT;
}

/* A callback while a call waits.  It may call `drawn` and `live` alone, and returns after how many
 * milliseconds it wants to be called again; -1: not before `fd` (-1: none) is readable or something
 * was drawn. */
struct th_pulse {
	int64_t (*fn)(void *ctx);
	void *ctx;
	int fd;
};

struct th_computer;
struct th_pixels; /* image.h */

/* A folder in the state directory that stays when a computer ends by itself: the next one of the
 * session uses it again. */
#define TH_COMPUTER_STAYS "profile"

struct th_computer_kind {
	const char *name, *summary;
	unsigned caps;              /* enum th_computer_caps */
	const char *tool;           /* that works on it: an agent with it that names no tools has
				       this one too; NULL: none */
	unsigned shared;            /* options that it has: enum th_computer_shared */
	const struct th_table *own; /* options of it alone: `computer.options` of an agent file;
				       NULL: none.  th_computer_own reads them. */
	/* While it is open, its process needs the network; else that is taken away.  Doctor opens
	 * none of these: a server may cost money. */
	bool network;
	/* While it is open, its process writes files into the workspace and reads some. */
	bool files;
	/* The screen was there before and stays, perhaps with a person at it: doctor opens none,
	 * and keys that a killed process held down are let go of at once. */
	bool outlives;
	/* The programs that it needs are on this machine: its name is then a label of the machine,
	 * which sessions with it need.  NULL: any machine will do. */
	bool (*here)(void);
	/* TH_EUSAGE, TH_EUNSUPPORTED, TH_EIO … with a sentence that names what is missing and what
	 * to do. */
	enum th_code (*open)(const struct th_computer_options *options, struct th_computer **ret,
			     struct th_err *err);
	struct th_size (*size)(struct th_computer *c);
	enum th_code (*see)(struct th_computer *c, const struct th_see_options *options,
			    struct th_frame_image *ret, struct th_err *err);
	/* The action was checked against size(), and a text at a place was taken apart: `type` has
	 * no point.  TH_ECONN (it died) or TH_ETIMEOUT (it is frozen)
	 * with ret->started: whether the action happened is unknown and the message says so;
	 * without: it did not happen.  *ret is valid with every code. */
	enum th_code (*act)(struct th_computer *c, const struct th_action *action,
			    struct th_act_result *ret, struct th_err *err);
	enum th_code (*settle)(struct th_computer *c, const struct th_settle_options *options,
			       struct th_settle_result *ret, struct th_err *err);
	/* Counts the windows of programs on the screen.  NULL: this kind cannot. */
	enum th_code (*windows)(struct th_computer *c, size_t *ret, struct th_err *err);
	/* The pixels of the last picture, the whole screen's; borrowed until the next one.  NULL:
	 * this kind has none to show. */
	void (*pixels)(struct th_computer *c, struct th_pixels *ret);
	/* A live view.  drawn: was anything drawn on since the last `live`?  Costs next to nothing.
	 * live: the pixels of the whole screen as they are now.  NULL, both: this kind has none. */
	enum th_code (*drawn)(struct th_computer *c, bool *ret, struct th_err *err);
	enum th_code (*live)(struct th_computer *c, struct th_live_look *ret, struct th_err *err);
	/* The elements of its accessibility tree that are on the screen.  TH_EUNSUPPORTED: there is
	 * none, and why.  NULL: this kind never has one. */
	enum th_code (*tree)(struct th_computer *c, th_found_fn *fn, void *ctx, struct th_err *err);
	/* The address of the visible page; borrowed until the next call.  NULL: this kind
	 * shows no pages. */
	struct th_str (*address)(struct th_computer *c);
	/* Instead of `tree`, where its other tools name elements by numbers: adds those on the
	 * screen with theirs.  *ret_last: the counter of these numbers, from which others count on,
	 * without an end.  NULL: they are named by none. */
	enum th_code (*marks)(struct th_computer *c, struct th_marks *m, int32_t **ret_last,
			      struct th_err *err);
	/* Releases every button and key that is down. */
	enum th_code (*reset)(struct th_computer *c, struct th_act_result *ret, struct th_err *err);
	/* A step on the structure of pages.  What it found is appended to `out`; *ret_started as of
	 * act.  NULL: this kind has no pages. */
	enum th_code (*browse)(struct th_computer *c, const struct th_browse_step *step,
			       struct th_buf *out, bool *ret_started, struct th_err *err);
	/* After the last one, or one that failed: what has changed.  Once for each call. */
	enum th_code (*browsed)(struct th_computer *c, struct th_buf *out, struct th_err *err);
	/* What a picture does not show and whoever acts must know (a dialog that waits), in a
	 * sentence; borrowed until the next call; empty: nothing.  NULL: never anything. */
	struct th_str (*notice)(struct th_computer *c);
	/* Between calls: when fd() is readable, dispatch() serves what others ask of the display (a
	 * clipboard that we own, damage).  TH_ECONN: the display is gone. */
	int (*fd)(struct th_computer *c);
	enum th_code (*dispatch)(struct th_computer *c, struct th_err *err);
	/* Environment ("NAME=value", NULL-terminated, borrowed) for programs that shall appear on
	 * it. */
	const char *const *(*env)(struct th_computer *c);
	/* The words before a command's own that start it on the computer which has this folder;
	 * NULL-terminated, in the arena.  NULL: no program can be started on it. */
	const char *const *(*prefix)(struct th_arena *a, struct th_str state_dir);
	/* Ends it and everything that runs on it; frees `c`. */
	void (*close)(struct th_computer *c);
};

struct th_computer {
	const struct th_computer_kind *kind;
	const struct th_pulse *pulse; /* of its owner; NULL: none */
};

/* The kind's own options from JSON, which may be empty, into the struct of its table; its strings
 * are in the document, which the caller frees, also after an error.  `ret` NULL: they are only
 * checked.  TH_EUSAGE: they do not fit, or it has none. */
TH_NODISCARD enum th_code th_computer_own(const struct th_computer_kind *kind, struct th_str own,
					  struct th_arena *a, struct th_json_doc **ret_doc,
					  void *ret, struct th_err *err);

struct th_computer *th_computer_close(struct th_computer *c); /* takes NULL, returns NULL */

/* Checks the action against the screen, waits for R kinds that only wait, and acts. */
TH_NODISCARD enum th_code th_computer_act(struct th_computer *c, const struct th_action *action,
					  struct th_act_result *ret, struct th_err *err);

#endif
