/* SPDX-License-Identifier: Apache-2.0 */
/*
 * computer.h - a screen that a model may see and touch: one kind = one file =
 * one row of th_computer_kinds (list.c).
 *
 * All calls block and belong to one thread: a computer lives in the executor's
 * `display` process, which does nothing else and may die without harm to the
 * log.  A call that waits (settle, wait, hold) polls `interrupt_fd` and ends
 * early with TH_ECANCELED when it becomes readable or hangs up.
 */
#ifndef TH_COMPUTERS_COMPUTER_H
#define TH_COMPUTERS_COMPUTER_H

#include "base/err.h"
#include "base/geom.h"
#include "base/hash.h"
#include "core/action.h"
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

/* How to open one; kinds use what concerns them and refuse what they cannot honour. */
struct th_computer_options {
	struct th_str kind;       /* "desktop", "x11" */
	struct th_size size;      /* desktop: default 1280x800 */
	struct th_str display;    /* x11: ":0"; empty: $DISPLAY was resolved by the caller */
	struct th_str xauthority; /* x11: its file; empty: no cookie is sent ($XAUTHORITY was
				     resolved by the caller) */
	struct th_str bus; /* x11: accessibility bus with the elements of its programs: an address,
			      or "display", the one that the display names; empty: none */
	struct th_str
	    state_dir; /* private folder, made and later removed by the owner of the session */
	bool net_host; /* desktop: give its programs the host's network */
	struct th_str
	    workspace;     /* desktop: the folder its programs may write; absolute; may be empty */
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

struct th_computer;
struct th_pixels; /* computers/image.h */

struct th_computer_kind {
	const char *name, *summary;
	unsigned caps;
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
	/* How many windows of programs are on the screen now.  NULL: this kind cannot say. */
	enum th_code (*windows)(struct th_computer *c, size_t *ret, struct th_err *err);
	/* The pixels of the last picture, the whole screen's; borrowed until the next one.  NULL:
	 * this kind has none to show. */
	void (*pixels)(struct th_computer *c, struct th_pixels *ret);
	/* The elements of its accessibility tree that are on the screen.  TH_EUNSUPPORTED: there is
	 * none, and why.  NULL: this kind never has one. */
	enum th_code (*tree)(struct th_computer *c, th_found_fn *fn, void *ctx, struct th_err *err);
	/* Releases every button and key that is down. */
	enum th_code (*reset)(struct th_computer *c, struct th_act_result *ret, struct th_err *err);
	/* Between calls: when fd() is readable, dispatch() serves what others ask of the display (a
	 * clipboard that we own, damage).  TH_ECONN: the display is gone. */
	int (*fd)(struct th_computer *c);
	enum th_code (*dispatch)(struct th_computer *c, struct th_err *err);
	/* Environment ("NAME=value", NULL-terminated, borrowed) for programs that shall appear on
	 * it. */
	const char *const *(*env)(struct th_computer *c);
	/* Ends it and everything that runs on it; frees `c`. */
	void (*close)(struct th_computer *c);
};

struct th_computer {
	const struct th_computer_kind *kind;
};

extern const struct th_computer_kind th_computer_desktop, th_computer_x11;
extern const struct th_computer_kind *const th_computer_kinds[]; /* NULL-terminated */
const struct th_computer_kind *th_computer_find(struct th_str name);

/* Opens by options->kind; an unknown name is TH_EUSAGE and lists the known ones. */
TH_NODISCARD enum th_code th_computer_open(const struct th_computer_options *options,
					   struct th_computer **ret, struct th_err *err);
struct th_computer *th_computer_close(struct th_computer *c); /* takes NULL, returns NULL */

/* Checks the action against the screen, waits for R kinds that only wait, and acts. */
TH_NODISCARD enum th_code th_computer_act(struct th_computer *c, const struct th_action *action,
					  struct th_act_result *ret, struct th_err *err);

#endif
