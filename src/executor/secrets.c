/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secrets.c - an executor's part of an agent's secrets: the mask over all that
 * its tools give out, the session's own authority of certificates, and what
 * programs find in their environment.  Values are in memory here and in the
 * egress, nowhere else.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/wiped.h"
#include "executor/state.h"
#include "io/ca.h"
#include "io/files.h"

/* Where systems keep the roots that they trust. */
static const char *const roots[] = { "/etc/ssl/certs/ca-certificates.crt",
				     "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
				     "/etc/ssl/cert.pem", NULL };

/* What programs read the name of a file of roots from. */
static const char *const trust_variables[] = {
	"SSL_CERT_FILE",       "CURL_CA_BUNDLE",    "REQUESTS_CA_BUNDLE",
	"NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO",    "PIP_CERT",
	"AWS_CA_BUNDLE",       "CARGO_HTTP_CAINFO", "NIX_SSL_CERT_FILE",
};

/* The system's roots and our own, in a file beside the executor's socket. */
static enum th_code write_trust(struct th_executor_server *x, const struct th_ca *ca,
				struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(TH_TRUST_SIZE_MAX);
	struct th_str socket = th_str_of(x->socket);

	for (size_t i = 0; roots[i]; i++)
		if (access(roots[i], R_OK) == 0) {
			enum th_code code =
			    th_file_read(roots[i], TH_TRUST_SIZE_MAX / 2, &text, err);
			if (code)
				return th_prefix(err, code, "the roots that this system trusts");
			break;
		}
	if (text.len > 0 && text.ptr[text.len - 1] != '\n')
		th_buf_add_char(&text, '\n');
	th_ca_print(ca, &text);
	if (th_str_ends(socket, TH_STR(".sock")))
		socket.len -= 5;
	x->trust = th_arena_cstr(&x->arena, th_arena_printf(&x->arena, "%.*s.pem", TH_FMT(socket)));
	if (!x->trust)
		return th_fail(err, TH_ELIMIT, "the path of the session's roots is too long");
	return th_file_write(x->trust, th_buf_str(&text), 0644, err);
}

static enum th_code make_authority(struct th_executor_server *x, struct th_err *err)
{
	struct th_buf pem = TH_BUF_INIT(TH_CA_PEM_MAX);
	struct th_ca *ca = NULL;
	enum th_code code = th_ca_new(&ca, err);

	th_buf_reserve(&pem, TH_CA_PEM_MAX);
	if (code == TH_OK)
		code = write_trust(x, ca, err);
	if (code == TH_OK)
		code = th_ca_export(ca, &pem, err);
	if (code == TH_OK)
		x->authority = th_secret_new(th_buf_str(&pem));
	th_buf_wipe(&pem);
	th_ca_free(ca);
	return code;
}

/* A value for commands that name it: it is in no environment before. */
static enum th_code give(struct th_executor_server *x, const struct th_exec_secret *m,
			 struct th_err *err)
{
	struct th_given *g = &x->env.given;
	struct th_given_secret *one;

	if (!g->list)
		g->list = (struct th_given_secret *)th_arena_array(&x->arena, TH_SECRETS_MAX,
								   sizeof(*g->list));
	one = g->list ? &g->list[g->count] : NULL;
	if (one) {
		one->name = th_arena_str(&x->arena, m->name);
		one->entry =
		    th_arena_cstr(&x->arena, th_arena_printf(&x->arena, "%.*s=%.*s",
							     TH_FMT(m->name), TH_FMT(m->value)));
	}
	if (!one || !one->entry)
		return th_fail(err, TH_ELIMIT, "the secrets are too long");
	g->count++;
	return TH_OK;
}

/* *entry: its place in the environment; untouched: it has none. */
static enum th_code add(struct th_executor_server *x, const struct th_json *v, const char **entry,
			struct th_err *err)
{
	struct th_exec_secret m;
	enum th_code code = th_table_parse(&th_exec_secret_table, v, &x->arena, &m, err);

	if (code)
		return code;
	struct th_secret *value = th_secret_new(m.value);
	if (m.value.len) /* else it comes before the first call, as one that is given */
		code = th_mask_add(x->mask, value, err);
	th_secret_free(value);
	if (m.give)
		return code ? code : give(x, &m, err);
	if (code == TH_OK && x->start.net.len == 0)
		return th_fail(err, TH_EUSAGE, "secrets with hosts need a net that is a list");
	*entry = th_arena_cstr(&x->arena, th_arena_printf(&x->arena, "%.*s=%.*s", TH_FMT(m.name),
							  TH_FMT(m.placeholder)));
	if (code == TH_OK && !*entry)
		code = th_fail(err, TH_ELIMIT, "the secrets are too long");
	return code;
}

enum th_code th_exec_secrets_make(struct th_executor_server *x, struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	struct rlimit none = { 0, 0 };
	enum th_code code = TH_OK;
	size_t n = 0;

	x->mask = th_mask_new();
	x->env.mask = x->mask;
	x->secret_environment = (const char **)th_arena_array(
	    &x->arena, TH_SECRETS_MAX + TH_COUNT(trust_variables) + 1, sizeof(char *));
	if (!x->secret_environment)
		return th_fail(err, TH_ELIMIT, "the environment is too long");
	if (x->start.secrets.len == 0)
		return TH_OK;
	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return th_fail_errno(err, errno, "forbid core files");
	x->secrets = th_secret_new(x->start.secrets);
	code = th_json_parse(x->start.secrets, &doc, err);
	for (struct th_json_iter it = th_json_iter(doc ? th_json_root(doc) : NULL);
	     code == TH_OK && th_json_next(&it);) {
		if (n + x->env.given.count == TH_SECRETS_MAX)
			return th_fail(err, TH_ELIMIT, "more than %d secrets", TH_SECRETS_MAX);
		code = add(x, it.val, &x->secret_environment[n], err);
		n += x->secret_environment[n] != NULL;
	}
	th_mask_build(x->mask);
	x->own_given = x->env.given.count;
	if (code || n == 0)
		return code;
	code = make_authority(x, err);
	for (size_t i = 0; code == TH_OK && i < TH_COUNT(trust_variables); i++) {
		x->secret_environment[n] = th_arena_cstr(
		    &x->arena, th_arena_printf(&x->arena, "%s=%s", trust_variables[i], x->trust));
		if (!x->secret_environment[n++])
			code = th_fail(err, TH_ELIMIT, "the environment is too long");
	}
	return code;
}

/* ---- what comes while the session goes on: of clients, and new values of the agent's own ---- */

/* NAME=value as it was given before, or for the first time, and then it is masked from here on. */
static enum th_code hand(struct th_executor_server *x, const struct th_exec_given *m,
			 const char **ret, struct th_err *err)
{
	struct th_secret *value;
	enum th_code code;

	for (size_t i = 0; i < x->handed_count; i++) {
		struct th_str entry = th_str_of(x->handed[i]);

		*ret = x->handed[i];
		if (entry.len == m->name.len + 1 + m->value.len && th_str_starts(entry, m->name) &&
		    entry.ptr[m->name.len] == '=' && th_str_ends(entry, m->value))
			return TH_OK;
	}
	if (!x->handed)
		x->handed = (const char **)th_arena_array(&x->arena, TH_SECRETS_GIVEN_MAX,
							  sizeof(*x->handed));
	if (!x->handed || x->handed_count == TH_SECRETS_GIVEN_MAX)
		return th_fail(err, TH_ELIMIT,
			       "the session's executor was given %d values of secrets and takes no "
			       "more before it ends",
			       TH_SECRETS_GIVEN_MAX);
	value = th_secret_new(m->value);
	code = th_mask_add(x->mask, value, err);
	th_secret_free(value);
	if (code)
		return code;
	th_mask_build(x->mask);
	*ret = th_arena_cstr(
	    &x->arena, th_arena_printf(&x->arena, "%.*s=%.*s", TH_FMT(m->name), TH_FMT(m->value)));
	if (!*ret)
		return th_fail(err, TH_ELIMIT, "the secrets are too long");
	x->handed[x->handed_count++] = *ret;
	return TH_OK;
}

/* The list as it came, with another value of that name.  *changed: it had another one. */
static enum th_code print_with(struct th_executor_server *x, const struct th_exec_given *m,
			       struct th_buf *out, bool *found, bool *changed, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_jw w = th_jw(out);
	enum th_code code = th_json_parse_secret(th_secret_expose(x->secrets), &doc, err);

	th_arena_init(&a, 4 * TH_MIB);
	th_jw_array(&w);
	for (struct th_json_iter it = th_json_iter(doc ? th_json_root(doc) : NULL);
	     code == TH_OK && th_json_next(&it);) {
		struct th_exec_secret one;

		code = th_table_parse(&th_exec_secret_table, it.val, &a, &one, err);
		if (code == TH_OK && !one.give && th_str_eq(one.name, m->name)) {
			*found = true;
			*changed = !th_str_eq(one.value, m->value);
			one.value = m->value;
		}
		if (code == TH_OK)
			th_table_print(&th_exec_secret_table, &one, &w);
	}
	th_jw_array_end(&w);
	return code ? code : th_buf_check(out, "the secrets", err);
}

/* Of one that the egress puts in. */
static enum th_code renew_hosts(struct th_executor_server *x, const struct th_exec_given *m,
				bool *ret, struct th_err *err)
{
	struct th_buf list = TH_BUF_INIT(TH_FRAME_JSON_MAX / 2);
	const char *ignored;
	bool changed = false;
	enum th_code code;

	th_buf_reserve(&list, TH_FRAME_JSON_MAX / 2); /* so that no copy is left behind */
	code = print_with(x, m, &list, ret, &changed, err);
	if (code == TH_OK && changed)
		code = hand(x, m, &ignored, err);
	if (code == TH_OK && changed) {
		struct th_secret *old = x->secrets;

		x->secrets = th_secret_new(th_buf_str(&list));
		if (x->egress)
			th_egress_link_secrets(x->egress, x->secrets);
		th_secret_free(old);
	}
	th_buf_wipe(&list);
	return code;
}

/* *ret: it is one of the agent's own, which has that value from now on. */
static enum th_code renew(struct th_executor_server *x, const struct th_exec_given *m, bool *ret,
			  struct th_err *err)
{
	*ret = false;
	for (size_t i = 0; i < x->own_given; i++) {
		struct th_given_secret *g = &x->env.given.list[i];

		if (!th_str_eq(g->name, m->name))
			continue;
		*ret = true;
		return th_str_is(m->value, g->entry + g->name.len + 1) ? TH_OK
								       : hand(x, m, &g->entry, err);
	}
	return x->secrets ? renew_hosts(x, m, ret, err) : TH_OK;
}

static enum th_code give_to_commands(struct th_executor_server *x, const char *entry,
				     struct th_err *err)
{
	struct th_given *g = &x->env.given;

	if (!g->list)
		g->list = (struct th_given_secret *)th_arena_array(&x->arena, TH_SECRETS_MAX,
								   sizeof(*g->list));
	if (!g->list || g->count == TH_SECRETS_MAX)
		return th_fail(err, TH_ELIMIT, "more than %d secrets", TH_SECRETS_MAX);
	g->list[g->count].name = th_str_n(entry, (size_t)(strchr(entry, '=') - entry));
	g->list[g->count++].entry = entry;
	return TH_OK;
}

enum th_code th_exec_on_give(struct th_exec_client *c, const struct th_exec_give *m,
			     struct th_err *err)
{
	struct th_executor_server *x = c->x;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct rlimit none = { 0, 0 };
	enum th_code code;

	if (!c->greeted || c->epoch <= 0 || c->looks_on)
		return th_fail(err, TH_EPERM, "a guest gives no secrets");
	if (c->epoch < th_ledger_epoch(x->ledger))
		return th_fail(err, TH_EFENCED, "a newer owner has the session");
	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return th_fail_errno(err, errno, "forbid core files");
	th_arena_init(&a, 4 * TH_MIB);
	code = th_json_parse(m->secrets, &doc, err);
	x->env.given.count = x->own_given; /* what is not among them is not given any more */
	for (struct th_json_iter it = th_json_iter(doc ? th_json_root(doc) : NULL);
	     code == TH_OK && th_json_next(&it);) {
		struct th_exec_given one;
		const char *entry = NULL;
		bool own = false;

		code = th_table_parse(&th_exec_given_table, it.val, &a, &one, err);
		if (code == TH_OK)
			code = renew(x, &one, &own, err);
		if (code == TH_OK && !own)
			code = hand(x, &one, &entry, err);
		if (code == TH_OK && !own && !one.old)
			code = give_to_commands(x, entry, err);
	}
	/* Servers that had the session before gave it others, which stay masked.  It is no fault of
	 * the connection: what is run is told, since its output would not be masked. */
	x->not_given = code == TH_ELIMIT ? *err : (struct th_err){ 0 };
	return code == TH_ELIMIT ? TH_OK : code;
}

void th_exec_secrets_deinit(struct th_executor_server *x)
{
	if (x->trust)
		unlink(x->trust);
	x->authority = th_secret_free(x->authority);
	x->secrets = th_secret_free(x->secrets);
	x->mask = th_mask_free(x->mask);
}
