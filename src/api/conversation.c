/* SPDX-License-Identifier: Apache-2.0 */
#include "api/conversation.h"

#include <stdio.h>
#include <stdlib.h>

#include "admin/trajectory.h"

/* ---- what is told ---- */

static enum th_code picture(void *ctx, const struct th_digest *hash, struct th_buf *out,
			    struct th_err *err)
{
	const struct thole_conversation *c = ctx;

	return th_trajectory_picture(c->store, hash, out, err);
}

static enum th_code on_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			     struct th_err *err)
{
	struct thole_conversation *c = ctx;
	size_t before = c->log.count;
	enum th_code code;

	(void)digest;
	if (c->broken.code)
		return th_fail(err, c->broken.code, "%s", c->broken.msg);
	code = th_openhands_write(&c->writer, ev, err);
	if (code) {
		c->broken = *err;
		c->broken.code = code;
		return code;
	}
	c->read.bytes += ev->data.len;
	for (size_t i = before; i < c->log.count; i++)
		c->read.bytes += c->log.list[i].text.len; /* with its pictures */
	return TH_OK;
}

static void begin_log(struct thole_conversation *c)
{
	c->read = (struct th_log_read){ .next = 1, .take = on_event, .ctx = c };
	th_openhands_log_init(&c->log, TH_OPENHANDS_V1);
	th_openhands_log_bound(&c->log, TH_CONVERSATION_SIZE_MAX, TH_CONVERSATION_EVENTS_MAX);
	th_openhands_writer_init(&c->writer, &c->log, &c->out);
	c->writer.has_tools = true;
	c->broken = (struct th_err){ 0 };
	c->created_ms = 0;
}

static void end_log(struct thole_conversation *c)
{
	th_openhands_writer_deinit(&c->writer);
	th_openhands_log_deinit(&c->log);
}

/* When the session of that name began, which says whether it is still the same one. */
static enum th_code get_created(const struct thole_conversation *c, struct th_store *store,
				int64_t *ret, struct th_err *err)
{
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	struct th_session_row row;
	enum th_code code;

	th_arena_init(&memory, TH_MIB);
	code = store->kind->get(store, th_str_of(c->id), &memory, &row, err);
	*ret = code ? 0 : row.created_ms;
	return code;
}

/* A session may be deleted, and another one, maybe of another user, begin under its name: nothing
 * of the old one is told then.  So it is looked at behind each piece, and before the first. */
static enum th_code catch_up(struct thole_conversation *c, struct th_store *store,
			     bool *ret_current, struct th_err *err)
{
	enum th_code code = TH_OK;
	int64_t created_ms = 0;

	if (!c->created_ms)
		code = get_created(c, store, &c->created_ms, err);
	if (!code && !c->broken.code) {
		c->store = store;
		code = th_log_read_next(&c->read, store, th_str_of(c->id), err);
		c->store = NULL;
	}
	if (!code || c->broken.code)
		code = get_created(c, store, &created_ms, err);
	if (!code && created_ms != c->created_ms) {
		end_log(c);
		begin_log(c);
		return TH_OK;
	}
	if (!code && c->broken.code)
		return th_fail(err, c->broken.code, "%s", c->broken.msg);
	*ret_current = !code && c->read.over;
	return code;
}

/* ---- what is given ---- */

static enum th_code find_place(const struct thole_conversation *c, struct th_conversation_place *p,
			       struct th_err *err)
{
	ptrdiff_t at;

	p->placed = true;
	if (p->from_last)
		p->next = c->log.count ? c->log.count - 1 : SIZE_MAX;
	if (!p->event[0])
		return TH_OK;
	at = th_openhands_log_find(&c->log, th_str_of(p->event));
	if (at < 0)
		return th_fail(err, TH_ENOENT, "there is no event of that id");
	p->next = (size_t)at;
	return TH_OK;
}

/* An event, or its place. */
static enum th_code give(const struct thole_conversation *c, const struct th_conversation_place *p,
			 th_give_fn *take, void *ctx, bool *ret_full, struct th_err *err)
{
	struct th_buf place TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const uint64_t *seqs = c->writer.seqs;
	bool last = p->next + 1 == c->log.count || seqs[p->next + 1] != seqs[p->next];

	if (!p->places)
		return take(ctx, c->log.list[p->next].text, ret_full, err);
	th_buf_printf(&place, "{\"seq\":%llu,\"last\":%s}", (unsigned long long)seqs[p->next],
		      last ? "true" : "false");
	return take(ctx, th_buf_str(&place), ret_full, err);
}

enum th_code th_api_conversation_piece(struct thole_conversation *c,
				       struct th_conversation_place *p, struct th_store *store,
				       th_give_fn *take, void *ctx, bool *ret_more,
				       struct th_err *err)
{
	enum th_code code = TH_OK;
	bool full = false;

	*ret_more = true;
	if (!p->current)
		code = catch_up(c, store, &p->current, err);
	if (code || !p->current)
		return code;
	if (!p->placed)
		code = find_place(c, p, err);
	while (!code && !full && p->next < c->log.count) {
		code = give(c, p, take, ctx, &full, err);
		p->next = p->backwards ? p->next - 1 : p->next + 1; /* before 0: beyond the end */
	}
	*ret_more = p->next < c->log.count;
	p->count = c->log.count;
	p->size = th_openhands_writer_size(&c->writer);
	return code;
}

static int read_option(const char *name, const char *value, struct th_conversation_place *p,
		       struct thole_error *err)
{
	int code = th_api_text(value, name, 1, TH_SESSION_ID_MAX, err);
	int64_t from;

	if (code)
		return code;
	if (strcmp(name, "event") == 0) {
		snprintf(p->event, sizeof(p->event), "%s", value);
	} else if (strcmp(name, "from") == 0) {
		if (!th_str_i64(th_str_of(value), &from) || from < 0)
			return th_api_fail(err, TH_EUSAGE, "from is a number, 0 or more");
		p->next = (size_t)from;
		p->from_last = false;
	} else if (strcmp(name, "order") == 0) {
		p->backwards = strcmp(value, "desc") == 0;
		if (!p->backwards && strcmp(value, "asc") != 0)
			return th_api_fail(err, TH_EUSAGE, "order is asc or desc");
	} else if (strcmp(name, "give") == 0) {
		p->places = strcmp(value, "places") == 0;
		if (!p->places && strcmp(value, "events") != 0)
			return th_api_fail(err, TH_EUSAGE, "give is events or places");
	} else {
		return th_api_fail(err, TH_EUSAGE, "there is no option \"%.64s\"", name);
	}
	return TH_OK;
}

int th_api_conversation_place(struct thole_conversation *c, const char *const *options,
			      struct th_conversation_place *ret, struct thole_error *err)
{
	struct th_conversation_place p = { .from_last = true };
	int code =
	    c ? th_api_enter(c->rt, err) : th_api_fail(err, TH_EUSAGE, "the conversation is NULL");

	for (; !code && options && *options; options += 2) {
		code = th_api_text(*options, "an option's name", 1, TH_SESSION_ID_MAX, err);
		if (!code)
			code = read_option(options[0], options[1], &p, err);
	}
	p.from_last &= p.backwards;
	*ret = p;
	return code;
}

/* ---- life ---- */

int thole_conversation_new(struct thole_runtime *rt, const char *session_id,
			   struct thole_conversation **ret, struct thole_error *err)
{
	struct thole_conversation *c;
	int code = th_api_enter(rt, err);

	if (!code)
		code = th_api_text(session_id, "the session's name", 1, TH_SESSION_ID_MAX, err);
	if (!code && !ret)
		code = th_api_fail(err, TH_EUSAGE, "there is no place for it: ret is NULL");
	if (code)
		return code;
	c = th_alloc(sizeof(*c));
	*c = (struct thole_conversation){ .rt = rt, .users = 1 };
	c->id = th_api_copy(th_str_of(session_id));
	c->out = (struct th_trajectory_out){ c, NULL, picture };
	begin_log(c);
	*ret = c;
	return THOLE_OK;
}

void th_api_conversation_unref(struct thole_conversation *c)
{
	if (!c || --c->users > 0)
		return;
	end_log(c);
	free(c->id);
	free(c);
}

void thole_conversation_free(struct thole_conversation *c)
{
	th_api_conversation_unref(c);
}

size_t thole_conversation_count(const struct thole_conversation *c)
{
	return c ? c->count : 0;
}

size_t thole_conversation_size(const struct thole_conversation *c)
{
	return c ? c->size : 0;
}
