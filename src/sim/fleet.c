/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/fleet.h"

#include <stdarg.h>
#include <string.h>

#include "base/text.h"
#include "sim/disk.h"

#define NODES 4
#define SESSIONS 6
#define OWNERS 512 /* that one story can have */
#define STEP_MS 50
#define STORY_MS 120000
#define LEASE_MS 9000
#define RENEW_MS (LEASE_MS / 4)
#define RETRY_MS 200
#define LOOK_MS 1000
#define ORPHAN_MS 10000  /* a session that runs is without an owner for so long at most */
#define OFFSET_MS 240000 /* clocks are off by up to so much */
#define ENDED INT64_MIN  /* of a lease: found dead, and stays so */
#define NOBODY 0         /* the owner of what was handed over */

enum event { INTENT = 1, OUTCOME, UNKNOWN_OUTCOME };

/* ---- the database ---- */

struct owner {
	int64_t expires_ms; /* by the database's clock */
	uint64_t batch;     /* its last transaction */
};

struct row {
	int owner;
	int64_t epoch, head;
	enum event last;
	int64_t orphan_ms; /* since when nobody that lives has it; -1: somebody does */
};

/* ---- a node ---- */

struct held {
	bool has;
	int64_t epoch, head;
	enum event last;
	bool done; /* the effect of the last intent was begun */
	/* A commit of which nothing is known yet. */
	bool unsure;
	enum event sent;
	uint64_t sent_batch;
};

struct node {
	bool alive, draining;
	int owner;
	int64_t rate_ppm, offset_ms; /* its clocks: how fast, how wrong */
	int64_t until_ms;            /* by its own steady clock */
	int64_t renew_ms, look_ms, back_ms, frozen_ms, cut_ms, well_ms;
	uint64_t batch;
	bool told; /* somebody said that there is something to take */
	struct held held[SESSIONS];
};

struct world {
	struct th_sim_random random;
	enum th_sim_fleet_variant variant;
	FILE *trace;
	struct th_sim_fleet_counts *counts;
	int64_t now_ms;
	struct owner owners[OWNERS];
	int owner_count;
	struct row rows[SESSIONS];
	struct node nodes[NODES];
	uint8_t ledger[SESSIONS][STORY_MS / STEP_MS * 2]; /* effects by their intent's place */
	char *failure;
	bool failed;
};

/* ---- chance and words ---- */

static int64_t below(struct world *w, int64_t n)
{
	return (int64_t)th_sim_below(&w->random, (uint64_t)n);
}

/* Once in so many steps. */
static bool once_in(struct world *w, unsigned steps)
{
	return th_sim_chance(&w->random, steps);
}

TH_PRINTF(2, 3)
static void tell(const struct world *w, const char *fmt, ...)
{
	va_list ap;

	if (!w->trace)
		return;
	fprintf(w->trace, "%8.2f s  ", (double)w->now_ms / 1000);
	va_start(ap, fmt);
	vfprintf(w->trace, fmt, ap);
	va_end(ap);
	fputc('\n', w->trace);
}

TH_PRINTF(2, 3)
static void fail(struct world *w, const char *fmt, ...)
{
	va_list ap;

	if (w->failed)
		return;
	w->failed = true;
	va_start(ap, fmt);
	vsnprintf(w->failure, TH_ERR_MSG_MAX, fmt, ap);
	va_end(ap);
	tell(w, "DOES NOT HOLD: %s", w->failure);
}

/* Its steady clock, and what it takes for the time of day. */
static int64_t steady_ms(const struct world *w, const struct node *n)
{
	return w->now_ms + w->now_ms * n->rate_ppm / 1000000;
}

static int64_t wall_ms(const struct world *w, const struct node *n)
{
	return steady_ms(w, n) + n->offset_ms;
}

static int number(const struct world *w, const struct node *n)
{
	return (int)(n - w->nodes);
}

/* ---- what the database does ---- */

static bool is_dead(const struct world *w, const struct node *by, int owner)
{
	int64_t now = w->variant == TH_SIM_FLEET_LOCAL_CLOCK ? wall_ms(w, by) : w->now_ms;

	return w->owners[owner].expires_ms <= now;
}

/* One transaction: compares, writes, notes its number. */
static bool append(struct world *w, struct node *n, int session, enum event event)
{
	struct row *r = &w->rows[session];
	struct held *h = &n->held[session];

	if (w->owners[n->owner].expires_ms == ENDED)
		return false;
	if (w->variant != TH_SIM_FLEET_NO_EPOCH &&
	    (r->owner != n->owner || r->epoch != h->epoch || r->head != h->head))
		return false;
	if (r->head != h->head || r->owner != n->owner)
		fail(w, "node %d wrote event %lld of session %d behind event %lld", number(w, n),
		     (long long)h->head + 1, session, (long long)r->head);
	r->head = h->head + 1;
	r->last = event;
	w->owners[n->owner].batch = h->sent_batch;
	return true;
}

static bool renew(struct world *w, struct node *n)
{
	struct owner *o = &w->owners[n->owner];

	if (o->expires_ms <= w->now_ms)
		return false;
	o->expires_ms = w->now_ms + LEASE_MS;
	return true;
}

/* ---- how a node begins and ends ---- */

static void end(struct world *w, struct node *n, const char *why)
{
	tell(w, "node %d ends: %s", number(w, n), why);
	n->alive = false;
	n->well_ms = -1;
	n->back_ms = w->now_ms + 500 + below(w, 8000);
}

static void begin(struct world *w, struct node *n)
{
	if (w->owner_count == OWNERS)
		return;
	*n = (struct node){ .alive = true,
			    .owner = w->owner_count++,
			    .rate_ppm = below(w, 40001) - 20000,
			    .offset_ms = below(w, 2 * OFFSET_MS + 1) - OFFSET_MS,
			    .frozen_ms = -1,
			    .cut_ms = -1,
			    .well_ms = w->now_ms };
	w->owners[n->owner] = (struct owner){ .expires_ms = w->now_ms + LEASE_MS };
	n->until_ms = steady_ms(w, n) + LEASE_MS - LEASE_MS / 10;
	n->renew_ms = w->now_ms + RENEW_MS;
	n->look_ms = w->now_ms + below(w, LOOK_MS);
	tell(w, "node %d begins as owner %d", number(w, n), n->owner);
}

static bool is_certain(const struct world *w, const struct node *n)
{
	return steady_ms(w, n) < n->until_ms;
}

static void look_after_lease(struct world *w, struct node *n)
{
	int64_t sent_ms = steady_ms(w, n);

	if (w->now_ms >= n->renew_ms) {
		n->renew_ms = w->now_ms + RETRY_MS;
		if (w->now_ms >= n->cut_ms) {
			if (!renew(w, n)) {
				if (w->variant != TH_SIM_FLEET_RENEWAL_IGNORED)
					end(w, n, "its lease was over");
				return;
			}
			n->until_ms = sent_ms + LEASE_MS - LEASE_MS / 10;
			n->renew_ms = w->now_ms + RENEW_MS;
		}
	}
	if (!is_certain(w, n) && w->variant != TH_SIM_FLEET_RENEWAL_IGNORED)
		end(w, n, "its lease is not certain");
}

/* ---- what it takes and gives ---- */

static void take(struct world *w, struct node *n)
{
	for (int i = 0; i < SESSIONS; i++) {
		struct row *r = &w->rows[i];
		struct held *h = &n->held[i];

		if (r->owner == n->owner || !is_dead(w, n, r->owner) || once_in(w, 10))
			continue;
		w->owners[r->owner].expires_ms = ENDED;
		tell(w, "node %d takes session %d of owner %d", number(w, n), i, r->owner);
		r->owner = n->owner;
		r->epoch++;
		*h = (struct held){
			.has = true, .epoch = r->epoch, .head = r->head, .last = r->last
		};
		h->done = true; /* what an earlier one began, if anything, is not known */
		w->counts->takeovers++;
	}
}

/* Whoever is told may not hear it. */
static void notify(struct world *w)
{
	for (int i = 0; i < NODES; i++)
		w->nodes[i].told |= !once_in(w, 5);
}

static void hand_over(struct world *w, struct node *n, int session)
{
	struct row *r = &w->rows[session];

	r->owner = NOBODY;
	r->epoch++;
	n->held[session].has = false;
	w->counts->handovers++;
	tell(w, "node %d hands session %d over", number(w, n), session);
	notify(w);
}

static bool drain(struct world *w, struct node *n)
{
	bool left = false;

	for (int i = 0; i < SESSIONS; i++) {
		struct held *h = &n->held[i];
		struct row *r = &w->rows[i];

		if (h->has && !h->unsure && h->last != INTENT && r->owner == n->owner &&
		    r->epoch == h->epoch)
			hand_over(w, n, i);
		left |= h->has;
	}
	return !left;
}

/* ---- what it does ---- */

static void wrote(struct held *h, enum event event)
{
	h->head++;
	h->last = event;
	h->done = event != INTENT;
}

static void write(struct world *w, struct node *n, int session, enum event event)
{
	struct held *h = &n->held[session];
	bool arrives = true, answered = true;

	h->sent = event;
	h->sent_batch = ++n->batch;
	if (once_in(w, 40)) { /* the connection is cut at the commit */
		arrives = once_in(w, 2);
		answered = false;
		n->cut_ms = w->now_ms + below(w, 3000);
		w->counts->unknown_commits++;
		tell(w, "node %d: a commit of session %d is not answered (%s)", number(w, n),
		     session, arrives ? "it came" : "it did not come");
	}
	if (arrives && !append(w, n, session, event)) {
		tell(w, "node %d is fenced from session %d", number(w, n), session);
		h->has = false;
		return;
	}
	if (answered)
		wrote(h, event);
	else
		h->unsure = true;
}

/* Reads back what became of it. */
static void settle(struct world *w, struct node *n, int session)
{
	struct held *h = &n->held[session];

	h->unsure = false;
	if (w->owners[n->owner].batch == h->sent_batch)
		wrote(h, h->sent);
	else if (w->owners[n->owner].expires_ms == ENDED)
		h->has = false;
}

static void act(struct world *w, struct node *n, int session)
{
	struct held *h = &n->held[session];
	const struct row *r = &w->rows[session];
	uint8_t *line = &w->ledger[session][h->head];

	h->done = true;
	if (!is_certain(w, n) && w->variant != TH_SIM_FLEET_RENEWAL_IGNORED)
		return;
	w->counts->effects++;
	if (r->epoch != h->epoch || r->owner != n->owner)
		fail(w, "node %d began an effect of session %d, which owner %d has taken over",
		     number(w, n), session, r->owner);
	if ((*line)++)
		fail(w, "the effect of event %lld of session %d was done twice", (long long)h->head,
		     session);
}

static void go_on(struct world *w, struct node *n, int session)
{
	struct held *h = &n->held[session];

	if (h->last == INTENT && !h->done)
		act(w, n, session);
	if (w->now_ms < n->cut_ms) /* the database cannot be reached */
		return;
	if (h->unsure) {
		settle(w, n, session);
	} else if (h->last != INTENT) {
		if (!n->draining && once_in(w, 4))
			write(w, n, session, INTENT);
	} else if (once_in(w, 6)) {
		/* One that was taken over with an open intent: what became of it is not known. */
		bool known = w->ledger[session][h->head] > 0;

		w->counts->unknown_effects += !known;
		write(w, n, session, known ? OUTCOME : UNKNOWN_OUTCOME);
	}
}

static void trouble(struct world *w, struct node *n)
{
	if (once_in(w, 600)) {
		n->frozen_ms = w->now_ms + below(w, 20000);
		n->well_ms = -1;
		tell(w, "node %d freezes until %.2f s", number(w, n), (double)n->frozen_ms / 1000);
	}
	if (once_in(w, 600)) {
		n->cut_ms = w->now_ms + below(w, 20000);
		n->well_ms = -1;
		tell(w, "node %d is cut off until %.2f s", number(w, n), (double)n->cut_ms / 1000);
	}
	if (once_in(w, 900))
		end(w, n, "it is killed");
	else if (once_in(w, 900) && !n->draining) {
		n->draining = true;
		n->well_ms = -1;
		tell(w, "node %d drains", number(w, n));
	}
}

static void node_step(struct world *w, struct node *n)
{
	if (!n->alive) {
		if (w->now_ms >= n->back_ms)
			begin(w, n);
		return;
	}
	if (w->now_ms < n->frozen_ms)
		return;
	/* One that thaws does what it was about to do, and then looks at its clock. */
	for (int i = 0; i < SESSIONS && n->alive && !w->failed; i++)
		if (n->held[i].has)
			go_on(w, n, i);
	look_after_lease(w, n);
	if (!n->alive)
		return;
	if (w->now_ms >= n->cut_ms) {
		bool looks =
		    w->variant == TH_SIM_FLEET_NOTIFY_TRUSTED ? n->told : w->now_ms >= n->look_ms;

		if (n->well_ms < 0 && !n->draining)
			n->well_ms = w->now_ms;
		if (looks && !n->draining) {
			n->look_ms = w->now_ms + LOOK_MS;
			n->told = false;
			take(w, n);
		}
		if (n->draining && drain(w, n)) {
			w->owners[n->owner].expires_ms = ENDED;
			end(w, n, "it has drained");
		}
	}
	if (n->alive)
		trouble(w, n);
}

/* ---- what must hold ---- */

static void check_orphans(struct world *w)
{
	for (int i = 0; i < SESSIONS; i++) {
		struct row *r = &w->rows[i];
		bool dead = w->owners[r->owner].expires_ms <= w->now_ms;
		bool well = false;

		if (!dead)
			r->orphan_ms = -1;
		else if (r->orphan_ms < 0)
			r->orphan_ms = w->now_ms;
		if (!dead || w->now_ms - r->orphan_ms <= ORPHAN_MS)
			continue;
		for (int k = 0; k < NODES; k++) {
			const struct node *n = &w->nodes[k];

			well |= n->alive && n->well_ms >= 0 && w->now_ms - n->well_ms > ORPHAN_MS;
		}
		if (well)
			fail(w, "session %d is nobody's for %lld ms", i,
			     (long long)(w->now_ms - r->orphan_ms));
	}
}

/* ---- a story ---- */

bool th_sim_fleet_run(uint64_t seed, enum th_sim_fleet_variant v, FILE *trace,
		      struct th_sim_fleet_counts *counts, char failure[static TH_ERR_MSG_MAX])
{
	static struct world w; /* too large for a stack; one story at a time */

	memset(&w, 0, sizeof(w));
	w.random.state = seed;
	w.variant = v;
	w.trace = trace;
	w.counts = counts;
	w.failure = failure;
	failure[0] = '\0';
	w.owners[w.owner_count++] = (struct owner){ .expires_ms = ENDED };
	for (int i = 0; i < SESSIONS; i++)
		w.rows[i] = (struct row){ .owner = NOBODY, .last = OUTCOME, .orphan_ms = -1 };
	for (int i = 0; i < NODES; i++)
		begin(&w, &w.nodes[i]);
	notify(&w);
	for (; w.now_ms < STORY_MS && !w.failed; w.now_ms += STEP_MS) {
		int64_t first = below(&w, NODES);

		for (int i = 0; i < NODES && !w.failed; i++)
			node_step(&w, &w.nodes[(first + i) % NODES]);
		if (!w.failed)
			check_orphans(&w);
	}
	counts->seeds++;
	counts->failed += w.failed;
	return !w.failed;
}

/* ---- names ---- */

static const char *const names[TH_SIM_FLEET_VARIANT_COUNT] = {
	"none", "no-epoch", "local-clock", "renewal-ignored", "notify-trusted",
};

const char *th_sim_fleet_variant_name(enum th_sim_fleet_variant v)
{
	return names[v];
}

int th_sim_fleet_variant_find(struct th_str name)
{
	for (int i = 0; i < TH_SIM_FLEET_VARIANT_COUNT; i++)
		if (th_str_is(name, names[i]))
			return i;
	return -1;
}
