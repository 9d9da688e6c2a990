/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/secrets.h"

#include <stdlib.h>

#include "base/codec.h"
#include "base/limits.h"
#include "base/wiped.h"
#include "wire/exec.h"
#include "wire/http1.h"

static enum th_code read_one(struct th_egress_secrets *s, const struct th_json *v,
			     struct th_err *err)
{
	struct th_egress_secret *one = &s->list[s->count];
	struct th_exec_secret m;
	enum th_code code = th_table_parse(&th_exec_secret_table, v, &s->arena, &m, err);

	if (code || m.give) /* which goes to no host */
		return code;
	one->name = th_arena_str(&s->arena, m.name);
	one->placeholder = th_arena_str(&s->arena, m.placeholder);
	one->headers = m.headers;
	for (size_t i = 0; i < m.headers.count; i++)
		one->headers.list[i] = th_arena_str(&s->arena, m.headers.list[i]);
	one->value = th_secret_new(m.value);
	s->count++;
	code = th_net_parse(m.hosts, &s->arena, &one->hosts, NULL, err);
	if (code == TH_OK && one->hosts.kind != TH_NET_LIST)
		code = th_fail(err, TH_EPROTO, "a secret goes to no host");
	/* One that is asked for may come later. */
	return code || !m.value.len ? code : th_mask_add(s->mask, one->value, err);
}

enum th_code th_egress_secrets_read(struct th_str raw, struct th_str ca,
				    struct th_egress_secrets **ret, struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	struct th_egress_secrets *s = (struct th_egress_secrets *)th_alloc(sizeof(*s));
	enum th_code code = th_json_parse_secret(raw, &doc, err);

	th_arena_init(&s->arena, 4 * TH_MIB);
	s->mask = th_mask_new();
	size_t count = doc ? th_json_count(th_json_root(doc)) : 0;
	if (count > TH_SECRETS_MAX)
		code = th_fail(err, TH_ELIMIT, "more than %d secrets", TH_SECRETS_MAX);
	if (code == TH_OK) {
		s->list = (struct th_egress_secret *)th_arena_array(&s->arena, count + 1,
								    sizeof(*s->list));
		if (!s->list)
			code = th_fail(err, TH_ELIMIT, "the secrets are too long");
	}
	for (struct th_json_iter it = th_json_iter(doc ? th_json_root(doc) : NULL);
	     code == TH_OK && th_json_next(&it);)
		code = read_one(s, it.val, err);
	th_mask_build(s->mask);
	if (code == TH_OK)
		code = th_ca_import(ca, &s->ca, err);
	if (code == TH_OK)
		code = th_tls_config_client(&s->client, err);
	if (code) {
		th_egress_secrets_free(s);
		return code;
	}
	*ret = s;
	return TH_OK;
}

enum th_code th_egress_secrets_renew(struct th_egress_secrets *s, struct th_str raw,
				     struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	TH_CLEANUP(th_arena_deinit) struct th_arena a = {};
	enum th_code code = th_json_parse_secret(raw, &doc, err);

	th_arena_init(&a, 4 * TH_MIB);
	for (struct th_json_iter it = th_json_iter(doc ? th_json_root(doc) : NULL);
	     code == TH_OK && th_json_next(&it);) {
		struct th_exec_secret m;

		code = th_table_parse(&th_exec_secret_table, it.val, &a, &m, err);
		for (size_t i = 0; code == TH_OK && i < s->count; i++) {
			struct th_egress_secret *one = &s->list[i];

			if (!th_str_eq(one->name, m.name) || th_secret_eq(one->value, m.value))
				continue;
			th_secret_free(one->value);
			one->value = th_secret_new(m.value);
			code = th_mask_add(s->mask, one->value, err);
		}
	}
	th_mask_build(s->mask);
	return code;
}

struct th_egress_secrets *th_egress_secrets_free(struct th_egress_secrets *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->count; i++)
		th_secret_free(s->list[i].value);
	th_mask_free(s->mask);
	th_ca_free(s->ca);
	th_tls_config_free(s->client);
	th_arena_deinit(&s->arena);
	free(s);
	return NULL;
}

static bool goes_to(const struct th_egress_secret *one, struct th_str host, bool address,
		    uint16_t port)
{
	const struct th_net_target t = { .host = host, .address = address, .port = port };

	return th_net_match(&one->hosts, &t) != NULL;
}

bool th_egress_secrets_for(const struct th_egress_secrets *s, struct th_str host, bool address,
			   uint16_t port)
{
	for (size_t i = 0; s && i < s->count; i++)
		if (goes_to(&s->list[i], host, address, port))
			return true;
	return false;
}

static bool in_header(const struct th_egress_secret *one, struct th_str header)
{
	for (size_t i = 0; i < one->headers.count; i++)
		if (th_str_ieq(one->headers.list[i], header))
			return true;
	return false;
}

/* Where placeholders of the header stand; what was put in is not looked at again. */
static void replace(const struct th_egress_secrets *s, struct th_str host, bool address,
		    uint16_t port, struct th_str header, struct th_str text, struct th_buf *out)
{
	while (text.len > 0) {
		const struct th_egress_secret *first = NULL;
		size_t at = text.len;

		for (size_t i = 0; i < s->count; i++) {
			const struct th_egress_secret *one = &s->list[i];
			ptrdiff_t found =
			    in_header(one, header) && goes_to(one, host, address, port)
				? th_str_find(text, one->placeholder)
				: -1;
			if (found >= 0 && (size_t)found < at) {
				at = (size_t)found;
				first = one;
			}
		}
		th_buf_add(out, th_str_sub(text, 0, at));
		if (!first)
			return;
		th_buf_add(out, th_secret_expose(first->value));
		text = th_str_sub(text, at + first->placeholder.len, text.len);
	}
}

void th_egress_secrets_fill(const struct th_egress_secrets *s, struct th_str host, bool address,
			    uint16_t port, struct th_str header, struct th_str value,
			    struct th_buf *out)
{
	struct th_buf plain = TH_BUF_INIT(TH_HTTP1_HEAD_MAX);
	struct th_buf filled = TH_BUF_INIT(2 * TH_HTTP1_HEAD_MAX);
	struct th_str basic = TH_STR("basic "), text = th_str_trim(value);

	if (th_str_istarts(text, basic) &&
	    th_base64_decode(&plain, th_str_trim(th_str_sub(text, basic.len, text.len)))) {
		replace(s, host, address, port, header, th_buf_str(&plain), &filled);
		th_buf_add(out, th_str_sub(text, 0, basic.len));
		th_base64_encode(out, filled.ptr, filled.len);
	} else {
		replace(s, host, address, port, header, value, out);
	}
	th_buf_wipe(&filled);
	th_buf_deinit(&plain);
}
