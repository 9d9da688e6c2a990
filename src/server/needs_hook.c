/* SPDX-License-Identifier: Apache-2.0 */
/* needs_hook.c - a client's hook that is added, and written down before the client hears of it. */
#include <stdio.h>

#include "server/needs_internal.h"

struct hook_need {
	struct th_need need;
	struct th_shared_wait wait;
	bool waits;
};

static void on_end(struct th_need *n)
{
	struct hook_need *h = TH_CONTAINER_OF(n, struct hook_need, need);

	if (h->waits)
		th_shared_forget(n->needs->server->webhooks->shared, &h->wait);
}

static void on_put(struct th_shared_wait *wait, const struct thole_error *err)
{
	struct hook_need *h = TH_CONTAINER_OF(wait, struct hook_need, wait);
	struct th_needs *needs = h->need.needs;

	h->waits = false;
	th_need_over(&h->need, err ? err->code : 0, err);
	needs->again(needs->ctx);
}

const struct th_found *th_need_hook(struct th_needs *needs, const struct th_client_hook *hook)
{
	const char *options[] = { NULL };
	struct th_webhooks *w = needs->server->webhooks;
	struct th_buf key = th_need_key("hook", options);
	struct th_err err = { 0 };
	struct hook_need *h;
	struct th_need *n;
	enum th_code code;

	th_buf_add_char(&key, '\0');
	th_buf_add(&key, hook->service);
	th_buf_add_char(&key, '\0');
	th_buf_add(&key, hook->id);
	n = th_need_find(needs, &key);
	if (n)
		return th_need_answer(n);
	n = th_need_new(needs, &key, sizeof(*h));
	n->end = on_end;
	h = TH_CONTAINER_OF(n, struct hook_need, need);
	code = th_client_hook_add(w, hook, &err);
	if (code) {
		n->err.code = (int)code;
		snprintf(n->err.text, sizeof(n->err.text), "%s", err.msg);
	}
	if (code || !w->shared) {
		th_need_over(n, code, NULL);
		return th_need_answer(n);
	}
	h->wait.done = on_put;
	h->waits = true;
	th_shared_wait(w->shared, &h->wait);
	return NULL;
}
