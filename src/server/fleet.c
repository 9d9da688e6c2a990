/* SPDX-License-Identifier: Apache-2.0 */
/* fleet.c - what this node says of itself, what it knows of the others, and how it gives up what
 * it has. */
#include "server/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/label.h"
#include "io/clock.h"
#include "io/tls.h"
#include "server/pass.h"
#include "server/service.h"
#include "wire/percent.h"

#define NODES_SIZE_MAX (TH_FLEET_NODES_MAX * 4 * TH_KIB)
#define DRAIN_LOOK_MS 50
#define DRAIN_PASS_MS 20 /* of one look; each session that is handed over is a commit */

/* ---- this node ---- */

/* Of any server: where it is alone, what it lacks is refused when a session begins. */
static enum th_code say_labels(struct th_server *s, struct th_err *err)
{
	const struct th_serve_fleet *set = s->settings.s.fleet;
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_LABELS_TEXT_MAX);
	struct thole_error e;

	for (size_t i = 0; set && i < set->labels.count; i++)
		th_labels_add(&text, set->labels.list[i], " ");
	if (thole_runtime_labels(s->rt, text.len ? text.ptr : "", &e) != 0)
		return th_fail(err, (enum th_code)e.code, "serve.fleet: %s", e.text);
	return TH_OK;
}

static enum th_code announce(struct th_fleet *f, struct th_err *err)
{
	const struct th_serve_fleet *set = f->server->settings.s.fleet;
	char name[TH_FLEET_TEXT_MAX + 1] = "", address[TH_FLEET_TEXT_MAX + 1], capacity[24];
	const char *options[20] = { "address", address, "capacity", capacity };
	const struct {
		const char *name;
		struct th_str value;
	} far[] = { { "notify", set->notify },
		    { "executors", set->executors },
		    { "cert", set->cert },
		    { "key", set->key },
		    { "ca", set->ca } };
	char texts[TH_COUNT(far)][TH_PATH_LEN_MAX];
	struct thole_error e;
	size_t at = 4;
	enum th_code code = say_labels(f->server, err);
	int bad;

	if (code)
		return code;
	(void)gethostname(name, sizeof(name) - 1);
	if (set->name.len)
		snprintf(name, sizeof(name), "%.*s", TH_FMT(set->name));
	snprintf(address, sizeof(address), "%.*s", TH_FMT(set->address));
	snprintf(capacity, sizeof(capacity), "%lld", (long long)set->capacity);
	if (name[0]) {
		options[at++] = "name";
		options[at++] = name;
	}
	for (size_t i = 0; i < TH_COUNT(far); i++) {
		if (!far[i].value.len)
			continue;
		snprintf(texts[i], sizeof(texts[i]), "%.*s", TH_FMT(far[i].value));
		options[at++] = far[i].name;
		options[at++] = texts[i];
	}
	if (f->draining) {
		options[at++] = "draining";
		options[at++] = "yes";
	}
	bad = thole_runtime_announce(f->server->rt, options, &e);
	explicit_bzero(texts[0], sizeof(texts[0]));
	if (bad)
		return th_fail(err, (enum th_code)e.code, "serve.fleet: %s", e.text);
	return TH_OK;
}

void th_fleet_configure(struct th_fleet *f)
{
	struct th_err err = { 0 };

	if (announce(f, &err) != TH_OK)
		th_journal_say(f->server, "fleet", "%s", err.msg);
}

/* What another one left is looked for at once; why nothing is told stands in the journal. */
static void on_left(void *ctx, const struct thole_error *why)
{
	struct th_fleet *f = ctx;

	if (why) {
		th_journal_say(f->server, "fleet",
			       "not told what other nodes leave, and looks each second: %s",
			       why->text);
		return;
	}
	f->told++;
	if (!f->server->finishing)
		th_server_look(f->server);
}

static bool allows(void *ctx, const struct th_address *to)
{
	(void)ctx;
	(void)to;
	return true;
}

static void on_drain(void *ctx);

enum th_code th_fleet_new(struct th_server *s, struct th_fleet **ret, struct th_err *err)
{
	struct th_fleet *f;
	struct thole_error e;
	enum th_code code;

	*ret = NULL;
	if (!s->settings.s.fleet)
		return say_labels(s, err);
	f = th_alloc(sizeof(*f));
	*f = (struct th_fleet){ .server = s };
	th_buf_init(&f->nodes, NODES_SIZE_MAX);
	th_buf_init(&f->coming, NODES_SIZE_MAX);
	th_timer_init(&f->drain, s->loop, on_drain, f);
	code = th_fetcher_new(s->loop, &f->fetcher, err);
	if (!code) {
		th_fetcher_only(f->fetcher, allows, f); /* and no proxy */
		code = th_tls_config_client(&f->tls, err);
	}
	if (!code && thole_runtime_when_left(s->rt, on_left, f, &e) != 0)
		code = th_fail(err, (enum th_code)e.code, "%s", e.text);
	if (!code)
		code = announce(f, err);
	if (code)
		th_fleet_free(f);
	else
		*ret = f;
	return code;
}

struct th_fleet *th_fleet_free(struct th_fleet *f)
{
	if (!f)
		return NULL;
	(void)thole_runtime_when_left(f->server->rt, NULL, NULL, NULL);
	thole_reading_free(f->look);
	thole_reading_free(f->slow_look);
	while (f->first)
		th_forward_free(f->first);
	th_timer_stop(&f->drain);
	th_fetcher_free(f->fetcher);
	th_tls_config_free(f->tls);
	th_buf_deinit(&f->nodes);
	th_buf_deinit(&f->coming);
	free(f);
	return NULL;
}

/* ---- the others ---- */

/* Is there a node that lives at this address? */
static bool lives_at(const struct th_fleet *f, const char *address)
{
	struct th_str rest = th_buf_str(&f->nodes);

	while (rest.len) {
		struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
		const struct th_json *node;

		if (th_json_parse(th_str_split(&rest, '\n'), &doc, NULL) != TH_OK)
			continue;
		node = th_json_root(doc);
		if (th_json_get_int(node, "lease_ms", 0) > 0 &&
		    th_str_is(th_json_get_str(node, "address"), address))
			return true;
	}
	return false;
}

static int on_line(void *ctx, const char *line, size_t len)
{
	struct th_fleet *f = ctx;

	th_buf_add(&f->coming, th_str_n(line, len));
	th_buf_add_char(&f->coming, '\n');
	return 0;
}

static void on_looked(void *ctx, int code, const struct thole_error *err)
{
	struct th_fleet *f = ctx;
	struct th_buf before = f->nodes;

	f->look = NULL;
	if (code) { /* the store tells who has to know; the next look is in a while */
		th_journal_say(f->server, "fleet", "who lives: %s", err->text);
		return;
	}
	f->nodes = f->coming;
	f->coming = before;
	for (struct th_forward *w = f->first, *next; w; w = next) {
		next = th_forward_next(w);
		if (th_forward_address(w)[0] && !lives_at(f, th_forward_address(w)))
			th_forward_lose(w);
	}
	for (struct th_pass *p = f->passes, *next; p; p = next) {
		next = th_pass_next(p);
		if (th_pass_address(p)[0] && !lives_at(f, th_pass_address(p)))
			th_pass_lose(p);
	}
}

static int on_slow(void *ctx, const char *line, size_t len)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_fleet *f = ctx;

	if (th_json_parse(th_str_n(line, len), &doc, NULL) != TH_OK)
		return 0;
	f->slows++;
	f->slows_ms = TH_MAX(f->slows_ms, (uint64_t)th_json_get_int(th_json_root(doc), "ms", 0));
	return 0;
}

static void on_slow_looked(void *ctx, int code, const struct thole_error *err)
{
	struct th_fleet *f = ctx;

	f->slow_look = NULL;
	if (code) {
		th_journal_say(f->server, "fleet", "slow statements: %s", err->text);
		return;
	}
	f->slow = f->slows;
	f->slow_ms = f->slows_ms;
}

static void look_at_slow(struct th_fleet *f)
{
	struct thole_error e;

	if (f->slow_look)
		return;
	f->slows = f->slows_ms = 0;
	if (thole_runtime_slow_start(f->server->rt, on_slow, on_slow_looked, f, &f->slow_look, &e))
		th_journal_say(f->server, "fleet", "slow statements: %s", e.text);
}

void th_fleet_sweep(struct th_fleet *f)
{
	struct thole_error e;
	uint64_t now_ms;

	if (!f)
		return;
	now_ms = th_loop_now_ms(f->server->loop);
	if (f->look || (f->looked_ms && now_ms - f->looked_ms < TH_FLEET_LOOK_MS))
		return;
	f->looked_ms = now_ms;
	th_buf_clear(&f->coming);
	if (thole_runtime_nodes_start(f->server->rt, NULL, on_line, on_looked, f, &f->look, &e))
		th_journal_say(f->server, "fleet", "who lives: %s", e.text);
	look_at_slow(f);
	th_server_kick(f->server);
}

bool th_fleet_caller(struct th_access *a, struct th_str text, struct th_token *ret)
{
	const struct th_secret *secret = a->server->settings.fleet_secret;
	struct th_buf user TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_USER_MAX);
	struct th_str name = th_http_header(a->request, "thole-node-user");
	struct th_token t = { 0 };

	if (!secret || !a->server->fleet || !text.len || !th_secret_eq(secret, text))
		return false;
	if (!name.len || name.len > 3 * TH_USER_MAX || !th_percent_decode(name, &user) ||
	    user.len > TH_USER_MAX ||
	    th_scopes_parse(th_http_header(a->request, "thole-node-scopes"), &t.scopes, NULL))
		return false;
	snprintf(t.user, sizeof(t.user), "%s", user.ptr);
	a->by_node = true;
	*ret = t;
	return true;
}

/* ---- figures ---- */

static void figure(struct th_buf *out, const char *name, const char *type, const char *help,
		   uint64_t value)
{
	th_buf_printf(out,
		      "# HELP thole_fleet_%s %s\n# TYPE thole_fleet_%s %s\nthole_fleet_%s "
		      "%llu\n",
		      name, help, name, type, name, (unsigned long long)value);
}

void th_fleet_figures(const struct th_fleet *f, struct th_buf *out)
{
	static const char *const states[] = { "running", "waiting", "paused", "others" };
	struct th_str rest = th_buf_str(&f->nodes);
	uint64_t nodes[3] = { 0 }; /* live, draining, dead */
	uint64_t sessions[TH_COUNT(states)] = { 0 }, ownerless = 0, seen_ms = 0;
	uint64_t queue = 0, queue_ms = 0, slow = 0;

	while (rest.len) {
		struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
		const struct th_json *node, *has;
		bool dead;

		if (th_json_parse(th_str_split(&rest, '\n'), &doc, NULL) != TH_OK)
			continue;
		node = th_json_root(doc);
		has = th_json_get(node, "sessions");
		dead = th_json_get_int(node, "lease_ms", 0) == 0;
		if (dead)
			ownerless += (uint64_t)th_json_get_int(has, "running", 0);
		else
			seen_ms = TH_MAX(seen_ms, (uint64_t)th_json_get_int(node, "seen_ms", 0));
		queue += (uint64_t)th_json_get_int(node, "queue", 0);
		queue_ms = TH_MAX(queue_ms, (uint64_t)th_json_get_int(node, "queue_ms", 0));
		if (!dead && th_str_eq(th_json_get_str(node, "address"),
				       f->server->settings.s.fleet->address))
			slow = (uint64_t)th_json_get_int(node, "slow", 0);
		if (th_json_get_str(node, "host").len)
			nodes[dead ? 2 : th_json_bool(th_json_get(node, "draining"), false)]++;
		for (size_t i = 0; i < TH_COUNT(states); i++)
			sessions[i] += (uint64_t)th_json_get_int(has, states[i], 0);
	}
	figure(out, "nodes", "gauge", "Runtimes that live.", nodes[0] + nodes[1]);
	figure(out, "nodes_draining", "gauge", "Of these, those that give up what they have.",
	       nodes[1]);
	figure(out, "nodes_dead", "gauge", "Runtimes whose lease is over and that had sessions.",
	       nodes[2]);
	th_buf_add_cstr(out, "# HELP thole_fleet_sessions Sessions that a runtime has.\n"
			     "# TYPE thole_fleet_sessions gauge\n");
	for (size_t i = 0; i < TH_COUNT(states); i++)
		th_buf_printf(out, "thole_fleet_sessions{state=\"%s\"} %llu\n", states[i],
			      (unsigned long long)sessions[i]);
	figure(out, "sessions_ownerless", "gauge", "Sessions that run and that nobody has.",
	       ownerless);
	figure(out, "renewal_age_ms", "gauge", "Since the last renewal of the node that is latest.",
	       seen_ms);
	figure(out, "queue", "gauge", "Sessions that wait to be taken, those to begin included.",
	       queue);
	figure(out, "queue_age_ms", "gauge", "Since the first of these has waited.", queue_ms);
	figure(out, "slow_queries", "gauge",
	       "Statements that the database has had under way for more than a second, 8 at most.",
	       f->slow);
	figure(out, "slow_query_age_ms", "gauge", "Of the oldest of these.", f->slow_ms);
	figure(out, "slow_queries_total", "counter",
	       "Statements of this node that took longer than a second.", slow);
	figure(out, "forwarded_total", "counter", "Requests passed on to another node.",
	       f->forwarded);
	figure(out, "moved_total", "counter", "Of these, those whose session had moved meanwhile.",
	       f->moved);
	figure(out, "forwards_lost_total", "counter", "Of these, those whose node did not answer.",
	       f->lost);
	figure(out, "told_total", "counter", "Words of other nodes that they left something.",
	       f->told);
	figure(out, "handed_over_total", "counter", "Sessions given to whoever takes them.",
	       f->handed_over);
}

/* ---- the end ---- */

void th_fleet_finish(struct th_fleet *f)
{
	for (struct th_forward *w = f ? f->first : NULL, *next; w; w = next) {
		next = th_forward_next(w);
		th_forward_finish(w);
	}
}

/* Those whose answer somebody waits for here end here, if they end in time.  One that is leaving
 * begins nothing more: who asks it something now would wait in vain, and is told that it left. */
static void on_drain(void *ctx)
{
	struct th_fleet *f = ctx;
	uint64_t end_ms = th_clock_ms() + DRAIN_PASS_MS;
	bool late = false; /* the others of this server wait, too */

	f->left = 0;
	for (struct th_hub *h = f->server->hubs.first, *next; h; h = next) {
		struct thole_error e;
		int code;

		next = h->next;
		if (!th_hub_runs(h) || h->walks)
			continue;
		if ((h->busy && !h->leaving) || late) {
			f->left++;
			continue;
		}
		code = th_hub_hand_over(h, &e);
		late = th_clock_ms() >= end_ms;
		f->left += code == THOLE_EBUSY;
		f->handed_over += code == 0;
		if (code && code != THOLE_EBUSY)
			th_journal_say(f->server, "fleet", "hand over %s: %s", h->id, e.text);
	}
}

void th_fleet_drain(struct th_fleet *f)
{
	f->draining = true;
	th_fleet_configure(f);
	th_timer_start(&f->drain, 0, DRAIN_LOOK_MS);
	on_drain(f);
}
