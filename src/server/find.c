/* SPDX-License-Identifier: Apache-2.0 */
#include "server/find.h"

#include <stdio.h>

#include "base/hash.h"
#include "server/service.h"

void th_fleet_tag(struct th_str address, char ret[static TH_FLEET_TAG_SIZE + 1])
{
	struct th_digest d = th_sha256_of(address.ptr, address.len);
	char hex[TH_SHA256_HEX_SIZE + 1];

	th_digest_hex(&d, hex);
	snprintf(ret, TH_FLEET_TAG_SIZE + 1, "%.*s", TH_FLEET_TAG_SIZE, hex);
}

bool th_session_name(struct th_str text, char ret[static TH_SESSION_ID_MAX + 1])
{
	if (!text.len || text.len > TH_SESSION_ID_MAX || memchr(text.ptr, 0, text.len))
		return false;
	memcpy(ret, text.ptr, text.len);
	ret[text.len] = '\0';
	return true;
}

bool th_session_name_raw(struct th_str raw, char ret[static TH_SESSION_ID_MAX + 1])
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	return th_json_unescape(raw, &text) && !text.failed &&
	       th_session_name(th_buf_str(&text), ret);
}

/* ---- a line for each node ---- */

static bool lives(const struct th_json *node, struct th_str address)
{
	return th_json_get_int(node, "lease_ms", 0) > 0 && address.len &&
	       address.len <= TH_FLEET_TEXT_MAX;
}

static bool has_labels(const struct th_node_find *f, const struct th_json *node)
{
	struct th_buf has TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_LABELS_TEXT_MAX);
	struct th_json_iter it = th_json_iter(th_json_get(node, "labels"));

	while (th_json_next(&it))
		th_labels_add(&has, th_json_str(it.val), " ");
	return th_labels_have(th_buf_str(&has), th_str_of(f->what));
}

/* One that can run it, and has less to do than what was found before; full ones come last. */
static bool runs_it(struct th_node_find *f, const struct th_json *node, struct th_str address)
{
	const struct th_serve_fleet *set = f->server->settings.s.fleet;
	int64_t busy = th_json_get_int(th_json_get(node, "sessions"), "running", 0);
	int64_t capacity = th_json_get_int(node, "capacity", 0);

	if (!set || th_json_bool(th_json_get(node, "draining"), false) ||
	    th_str_eq(address, set->address) || !has_labels(f, node))
		return false;
	if (capacity > 0 && busy >= capacity)
		busy = INT64_MAX - 1;
	if (f->found && busy >= f->busy)
		return false;
	f->busy = busy;
	return true;
}

static bool has_tag(const struct th_node_find *f, struct th_str address)
{
	char tag[TH_FLEET_TAG_SIZE + 1];

	th_fleet_tag(address, tag);
	return strcmp(tag, f->what) == 0;
}

static bool is_it(struct th_node_find *f, const struct th_json *node, struct th_str address)
{
	switch (f->by) {
	case TH_FIND_SESSION:
		return true;
	case TH_FIND_LABELS:
		return lives(node, address) && runs_it(f, node, address);
	case TH_FIND_TAG:
		return lives(node, address) && has_tag(f, address);
	}
	return false;
}

static int on_line(void *ctx, const char *line, size_t len)
{
	struct th_node_find *f = ctx;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str address;

	if (th_json_parse(th_str_n(line, len), &doc, NULL) != TH_OK)
		return 0;
	address = th_json_get_str(th_json_root(doc), "address");
	if (!is_it(f, th_json_root(doc), address))
		return 0;
	f->found = true;
	snprintf(f->address, sizeof(f->address), "%.*s", TH_FMT(address));
	return 0;
}

/* ---- the look ---- */

static void on_looked(void *ctx, int code, const struct thole_error *err)
{
	struct th_node_find *f = ctx;

	f->look = NULL;
	f->fn(f->ctx, code, err);
}

void th_node_find_init(struct th_node_find *f, struct th_server *s, th_find_fn *fn, void *ctx)
{
	*f = (struct th_node_find){ .server = s, .fn = fn, .ctx = ctx };
}

int th_node_find_start(struct th_node_find *f, struct thole_error *err)
{
	f->found = false;
	f->address[0] = '\0';
	return thole_runtime_nodes_start(f->server->rt, f->by == TH_FIND_SESSION ? f->what : NULL,
					 on_line, on_looked, f, &f->look, err);
}

void th_node_find_stop(struct th_node_find *f)
{
	thole_reading_free(f->look);
	f->look = NULL;
}
