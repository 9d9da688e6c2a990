/* SPDX-License-Identifier: Apache-2.0 */
/* What a server of MCP says, a line a message: no message ends anything but its own conversation,
 * and each request has at most one end.  A first byte of 1 or 2 says that the era is known. */
#include <stdlib.h>
#include <strings.h>

#include "base/limits.h"
#include "wire/mcp_client.h"
#include "wire/mcp_endpoint.h"
#include "wire/mcp_offer.h"
#include "wire/mcp_read.h"
#include "wire/mcp_sample.h"
#include "wire/mcp_task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct place {
	struct th_mcp_client client;
	int asked, ended;
};

static void on_send(void *ctx, struct th_str message)
{
	(void)ctx;
	assert(message.len && !memchr(message.ptr, '\n', message.len));
	assert(th_json_valid(message));
}

static void ask(struct place *p)
{
	static const char *const methods[] = { "tools/list", "tools/call", "tasks/get" };

	if (th_mcp_client_request(&p->client, methods[p->asked % 3], TH_STR("{}"), p, NULL) ==
	    TH_OK)
		p->asked++;
}

static void on_opened(void *ctx)
{
	ask(ctx);
}

static void on_text(void *ctx, struct th_str text)
{
	(void)ctx;
	(void)text;
}

static void on_picture(void *ctx, struct th_str bytes, struct th_str type)
{
	(void)ctx;
	assert(bytes.len && type.len);
}

static void read_sample(struct th_str params)
{
	struct th_buf out = TH_BUF_INIT(2 * TH_MCP_FORM_MAX);
	struct th_json_doc *doc = NULL;
	int64_t tokens;

	if (th_json_parse(params, &doc, NULL) == TH_OK &&
	    th_mcp_sample_question(th_json_root(doc), &out, NULL) == TH_OK) {
		assert(th_json_valid(th_buf_str(&out)));
		th_buf_clear(&out);
		assert(th_mcp_sample_prompt(th_json_root(doc), &out, &tokens, NULL) == TH_OK);
		assert(tokens > 0 && tokens <= TH_MCP_SAMPLE_TOKENS_MAX);
	}
	th_json_free(doc);
	th_buf_deinit(&out);
}

/* What is said goes to the server's own origin, or nowhere. */
static void read_endpoint(struct th_str named)
{
	struct th_buf out = TH_BUF_INIT(2 * TH_MCP_ENDPOINT_MAX);

	if (th_mcp_endpoint(TH_STR("https://a.example/x/sse"), named, &out, NULL) == TH_OK)
		assert(out.len >= 17 && !strncasecmp(out.ptr, "https://a.example", 17) &&
		       (out.len == 17 || strchr("/?", out.ptr[17])));
	th_buf_deinit(&out);
}

static void on_asked(void *ctx, void *user, const struct th_mcp_question *q)
{
	struct place *p = ctx;

	assert(user == p && (q->id.len > 0) == !q->key.len);
	assert(!q->sample || p->client.samples);
	if (q->sample)
		read_sample(q->params);
	if (q->id.len && q->sample)
		th_mcp_client_refuse(&p->client, q->id, TH_STR("no"));
	else if (q->id.len)
		th_mcp_client_reply(&p->client, q->id, TH_STR("{\"action\":\"cancel\"}"));
	else
		p->ended++;
}

static void on_answered(void *ctx, void *user, struct th_str result)
{
	static const struct th_mcp_result_ops ops = { on_text, on_picture };
	struct place *p = ctx;
	struct th_mcp_task task;
	struct th_mcp_pages pages;
	struct th_buf params = TH_BUF_INIT(TH_MIB);
	struct th_err err;
	bool error;

	assert(user == p);
	p->ended++;
	if (th_mcp_task_read(result, &task, &err) == TH_OK)
		assert(task.id[0] && task.poll_ms >= TH_MCP_POLL_MS_MIN &&
		       task.poll_ms <= TH_MCP_POLL_MS_MAX);
	(void)!th_mcp_result_read(result, &ops, NULL, &error, &err);
	if (th_mcp_offer_result(th_mcp_offer_find(TH_STR("@read_resource")), result, &params,
				&err) == TH_OK)
		assert(th_json_valid(th_buf_str(&params)));
	th_buf_clear(&params);
	th_mcp_pages_init(&pages);
	(void)!th_mcp_pages_add(&pages, result, &err);
	th_mcp_pages_params(&pages, &params);
	assert(th_json_valid(th_buf_str(&params)));
	th_mcp_pages_deinit(&pages);
	th_buf_deinit(&params);
	if (p->asked < 4)
		ask(p);
}

static void on_failed(void *ctx, void *user, const struct th_err *err)
{
	struct place *p = ctx;

	assert(user == p && err->code);
	p->ended++;
}

static void on_progress(void *ctx, void *user, struct th_str text)
{
	(void)ctx;
	assert(user && text.len);
}

static void on_changed(void *ctx)
{
	(void)ctx;
}

static const struct th_mcp_client_ops ops = { on_send,     on_opened,  on_answered, on_failed,
					      on_progress, on_changed, on_asked };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct place p = { 0 };
	struct th_str rest = th_str_n(data, size);
	enum th_mcp_era era = TH_MCP_ERA_UNKNOWN;
	struct th_err err;

	if (size && data[0] <= 2)
		era = (enum th_mcp_era)data[0];
	th_mcp_client_init(&p.client, &ops, &p, era, TH_STR("/w"));
	p.client.samples = size % 2;
	read_endpoint(th_str_sub(rest, 0, TH_MCP_ENDPOINT_MAX));
	th_mcp_client_begin(&p.client);
	while (rest.len)
		if (th_mcp_client_take(&p.client, th_str_split(&rest, '\n'), &err))
			break;
	assert(p.ended <= p.asked);
	th_mcp_client_deinit(&p.client);
	return 0;
}
