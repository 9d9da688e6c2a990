/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h - `serve` of the configuration file, checked and ready for use.
 */
#ifndef TH_SERVER_SETTINGS_H
#define TH_SERVER_SETTINGS_H

#include "base/field.h"
#include "base/priority.h"
#include "base/secret.h"
#include "io/address.h"

// clang-format off
#define TH_FIELDS_serve_settings(F)                                                                  \
	F(serve_settings, str, public_url, "public_url", TH_NONEMPTY, "where clients find the server, such as https://agents.example.org") \
	F(serve_settings, strs, hosts, "hosts", 0, "further names that a request's Host may have")        \
	F(serve_settings, strs, origins, "origins", 0, "pages of other sites that may call, such as https://app.example.org") \
	F(serve_settings, strs, models, "models", 0, "models that /v1 may name, beside agents; they get no tool of ours") \
	F(serve_settings, strs, computers, "computers", 0, "kinds of computer that whoever begins a session may choose, such as desktop; default: none is") \
	F(serve_settings, strs, proxies, "proxies", 0, "whose X-Forwarded-For and X-Forwarded-Proto are believed: addresses, ranges such as 10.0.0.0/8, and unix for the socket file") \
	F(serve_settings, int, sessions_per_user, "sessions_per_user", TH_POSITIVE, "running at once; default: no limit") \
	F(serve_settings, int, turns_per_day, "turns_per_day", TH_POSITIVE, "of one user's models, by UTC; default: no limit") \
	F(serve_settings, num, cost_usd_per_day, "cost_usd_per_day", TH_POSITIVE, "of one user, by UTC; models without a price cost nothing; default: no limit") \
	F(serve_settings, str, priority, "priority", TH_NONEMPTY, "the highest that sessions of a user may have: low, normal or high; default: normal") \
	F(serve_settings, int, free_memory_mib, "free_memory_mib", TH_POSITIVE, "MiB of memory that stay free on this machine (or of its cgroup's limit): with less left no session begins here, and none of a dead node is taken; default: no limit") \
	F(serve_settings, num, load_per_processor, "load_per_processor", TH_POSITIVE, "the machine's load average of a minute, divided by its processors, above which none does either; default: no limit") \
	F(serve_settings, int, requests_per_second, "requests_per_second", TH_POSITIVE, "of one user; default: no limit") \
	F(serve_settings, bool, client_hooks_private, "client_hooks_private", 0, "hooks that clients ask for (A2A push notifications) may be at addresses that are not public, such as those of this machine") \
	F(serve_settings, strs, secret_servers, "secret_servers", 0, "servers such as https://vault.example.org of which this one may fetch the values of clients' secrets (LookupSecret of OpenHands' clients); default: none") \
	F(serve_settings, int, strangers_per_second, "strangers_per_second", TH_POSITIVE, "requests without a good token, and logins, of one address; default: 100")
// clang-format on
/* The fleet that this server is a node of. */
struct th_serve_fleet {
	struct th_str address; /* where the other nodes reach it: https://…, http://… */
	struct th_str secret_file, name;
	struct th_str notify;                   /* of thole_runtime_announce; may have a password */
	struct th_strs labels;                  /* of thole_runtime_labels */
	struct th_str executors, cert, key, ca; /* of thole_runtime_announce; all, or none */
	int64_t capacity;                       /* sessions that run at once; 0: no limit */
	int64_t idle_s;                         /* 0: TH_FLEET_IDLE_S */
};
struct th_serve_settings {
	TH_FIELDS_serve_settings(
	    TH_FIELD_MEMBER) struct th_objects users; /* of struct th_serve_user */
	struct th_objects webhooks;                   /* of struct th_serve_webhook */
	struct th_serve_fleet *fleet;                 /* NULL: it is alone */
};

struct th_serve_user {
	struct th_str name;
	int64_t sessions, requests_per_second; /* -1: as for everybody; 0: no limit */
	int64_t turns_per_day;
	double cost_usd_per_day;
	struct th_str priority; /* empty: as for everybody */
};

/* What a webhook is told of. */
enum th_webhook_event {
	TH_WEBHOOK_FINISHED,
	TH_WEBHOOK_FAILED,
	TH_WEBHOOK_WAITING, /* for a person */
	TH_WEBHOOK_LIMIT,
	TH_WEBHOOK_STOPPED, /* only who names it is told */
	TH_WEBHOOK_EVENT_COUNT
};
const char *th_webhook_event_name(enum th_webhook_event e); /* "session.finished", … */

struct th_serve_webhook {
	struct th_str url, secret, secret_file, user;
	struct th_strs events;
	bool private_too;
	int64_t retry_ms;
};
extern const struct th_table th_serve_settings_table, th_serve_webhook_table, th_serve_fleet_table;

/* One of them, checked. */
struct th_webhook_to {
	struct th_str url, user; /* borrowed of the settings; user empty: of everybody */
	unsigned events;         /* bits of enum th_webhook_event */
	bool private_too;
	uint64_t retry_ms;
	unsigned char key[64]; /* of the signature */
	size_t key_len;
	char name[17]; /* of the URL and the user: what its outbox is called */
};

struct th_settings { /* {0} */
	struct th_serve_settings s;
	struct th_subnet *proxies;
	size_t proxy_count;
	bool proxy_unix;
	struct th_webhook_to *webhooks;
	size_t webhook_count;
	struct th_secret *fleet_secret; /* NULL: it is alone */
	struct th_arena memory;
	struct th_json_doc *doc;
};

/* `json` empty: the defaults.  TH_EUSAGE, TH_ELIMIT: the field is named. */
TH_NODISCARD enum th_code th_settings_parse(struct th_str json, struct th_settings *ret,
					    struct th_err *err);
void th_settings_deinit(struct th_settings *s);
/* settings_webhooks.c: fills in `webhooks`. */
TH_NODISCARD enum th_code th_settings_webhooks(struct th_settings *s, struct th_err *err);

/* settings_fleet.c: fills in `fleet_secret`. */
TH_NODISCARD enum th_code th_settings_fleet(struct th_settings *s, struct th_err *err);

/* https://HOST/… or http://HOST/…, without a user or blanks. */
bool th_webhook_url_is_good(struct th_str url);

bool th_settings_trusts(const struct th_settings *s, const struct th_address *proxy);

/* What a user may have; 0: there is no limit. */
struct th_quota {
	int64_t sessions, requests_per_second, turns_per_day;
	double cost_usd_per_day;
	enum th_priority priority; /* the highest */
};
struct th_quota th_settings_quota(const struct th_settings *s, const char *user);

/* May the value of a client's secret be fetched from there? */
bool th_settings_secret_server(const struct th_settings *s, struct th_str url);

/* May it be chosen by who begins a session?  "none" always. */
bool th_settings_computer(const struct th_settings *s, struct th_str kind);
void th_settings_put_computers(const struct th_settings *s, struct th_jw *w); /* into a list */

#endif
