/* SPDX-License-Identifier: Apache-2.0 */
#include "server/needs_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/service.h"

static void need_free(struct th_need *n)
{
	if (n->end)
		n->end(n);
	thole_reading_free(n->reading);
	th_buf_deinit(&n->key);
	th_buf_deinit(&n->text);
	free(n);
}

void th_needs_forget(struct th_needs *n)
{
	while (n->first) {
		struct th_need *need = n->first;

		n->first = need->next;
		need_free(need);
	}
}

bool th_needs_wait(const struct th_needs *n)
{
	for (const struct th_need *need = n->first; need; need = need->next)
		if (!need->over)
			return true;
	return false;
}

/* ---- readings ---- */

static int on_line(void *ctx, const char *line, size_t len)
{
	struct th_need *n = ctx;

	th_buf_add_mem(&n->text, line, len);
	return 0;
}

void th_need_over(struct th_need *n, int code, const struct thole_error *err)
{
	static const struct thole_error long_one = { THOLE_ELIMIT,
						     "what the store says is too long" };

	n->over = true;
	if (!code && n->text.failed) {
		code = THOLE_ELIMIT;
		err = &long_one;
	}
	if (code && err)
		n->err = *err;
	n->answer = (struct th_found){ .text = th_buf_str(&n->text), .err = code ? &n->err : NULL };
}

static void on_done(void *ctx, int code, const struct thole_error *err)
{
	struct th_need *n = ctx;

	n->reading = NULL;
	th_need_over(n, code, err);
	n->needs->again(n->needs->ctx);
}

static void on_items(void *ctx, int code, const struct thole_error *err)
{
	struct th_need *n = ctx;

	if (code == THOLE_ENOENT) { /* its first event is on the way to the store */
		th_buf_clear(&n->text);
		th_buf_add_cstr(&n->text, "[]");
		code = 0;
	}
	on_done(ctx, code, err);
}

/* ---- what is asked for ---- */

/* The one with this key, which is freed here. */
struct th_need *th_need_find(struct th_needs *needs, struct th_buf *key)
{
	struct th_need *n = needs->first;

	while (n && !th_str_eq(th_buf_str(&n->key), th_buf_str(key)))
		n = n->next;
	if (n)
		th_buf_deinit(key);
	return n;
}

struct th_need *th_need_new(struct th_needs *needs, struct th_buf *key, size_t size)
{
	struct th_need *n = th_alloc(size);

	n->needs = needs;
	n->key = *key;
	n->next = needs->first;
	th_buf_init(&n->text, TH_JSON_SIZE_MAX);
	needs->first = n;
	return n;
}

/* It was begun, or cannot be. */
const struct th_found *th_need_begun(struct th_need *n, int code)
{
	if (!code) {
		th_server_kick(n->needs->server);
		return NULL;
	}
	if (code == THOLE_EBUSY) { /* too many reads wait: it may be asked again soon */
		code = THOLE_ENOMEM;
		n->err.code = code;
	}
	th_need_over(n, code, NULL);
	return &n->answer;
}

const struct th_found *th_need_answer(const struct th_need *n)
{
	return n->over ? &n->answer : NULL;
}

struct th_buf th_need_key(const char *kind, const char *const *options)
{
	struct th_buf key = TH_BUF_INIT(TH_MIB);

	th_buf_add_cstr(&key, kind);
	for (; options && *options; options++) {
		th_buf_add_char(&key, '\0');
		th_buf_add_cstr(&key, *options);
	}
	return key;
}

const struct th_found *th_need_session(struct th_needs *needs, const char *id, const char *user)
{
	const char *options[] = { id, user, NULL };
	struct th_buf key = th_need_key("session", options);
	struct th_need *n = th_need_find(needs, &key);

	if (n)
		return th_need_answer(n);
	n = th_need_new(needs, &key, sizeof(struct th_need));
	return th_need_begun(n, thole_runtime_session_start(needs->server->rt, id, user, on_line,
							    on_done, n, &n->reading, &n->err));
}

const struct th_found *th_need_page(struct th_needs *needs, const char *const *options)
{
	struct th_buf key = th_need_key("page", options);
	struct th_need *n = th_need_find(needs, &key);

	if (n)
		return th_need_answer(n);
	n = th_need_new(needs, &key, sizeof(struct th_need));
	return th_need_begun(n, thole_runtime_page_start(needs->server->rt, options, on_line,
							 on_done, n, &n->reading, &n->err));
}

const struct th_found *th_need_usage(struct th_needs *needs, const char *const *options)
{
	struct th_buf key = th_need_key("usage", options);
	struct th_need *n = th_need_find(needs, &key);

	if (n)
		return th_need_answer(n);
	n = th_need_new(needs, &key, sizeof(struct th_need));
	return th_need_begun(n, thole_runtime_usage_start(needs->server->rt, options, on_line,
							  on_done, n, &n->reading, &n->err));
}

const struct th_found *th_need_waiting(struct th_needs *needs, const char *user, const char *after,
				       size_t limit)
{
	const char *options[] = { user, after, NULL };
	struct th_buf key = th_need_key("waiting", options);
	struct th_need *n;

	th_buf_printf(&key, " %zu", limit);
	n = th_need_find(needs, &key);
	if (n)
		return th_need_answer(n);
	n = th_need_new(needs, &key, sizeof(struct th_need));
	return th_need_begun(n, thole_runtime_waiting_start(needs->server->rt, user, after, limit,
							    on_line, on_done, n, &n->reading,
							    &n->err));
}

const struct th_found *th_need_items(struct th_needs *needs, const char *id, int64_t first,
				     size_t count, uint64_t to)
{
	const char *options[] = { id, NULL };
	struct th_buf key = th_need_key("items", options);
	struct th_need *n;

	th_buf_printf(&key, " %lld %zu %llu", (long long)first, count, (unsigned long long)to);
	n = th_need_find(needs, &key);
	if (n)
		return th_need_answer(n);
	n = th_need_new(needs, &key, sizeof(struct th_need));
	return th_need_begun(n,
			     thole_runtime_items_start(needs->server->rt, id, first, count, to,
						       on_line, on_items, n, &n->reading, &n->err));
}

const struct th_found *th_need_numbered_items(struct th_needs *needs, const char *id, uint64_t to)
{
	const char *options[] = { id, NULL };
	struct th_buf key = th_need_key("numbered", options);
	struct th_need *n;

	th_buf_printf(&key, " %llu", (unsigned long long)to);
	n = th_need_find(needs, &key);
	if (n)
		return th_need_answer(n);
	n = th_need_new(needs, &key, sizeof(struct th_need));
	return th_need_begun(n,
			     thole_runtime_numbered_items_start(needs->server->rt, id, to, on_line,
								on_done, n, &n->reading, &n->err));
}
