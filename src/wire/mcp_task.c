/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/mcp_task.h"

#include "base/json.h"

/* The first form has the task in a member; the second one is flat. */
static struct th_str task_in(struct th_str result)
{
	struct th_str inside = th_json_raw_get(result, "task");

	return th_json_raw_is_object(inside) && th_json_raw_get(inside, "taskId").len ? inside
										      : result;
}

bool th_mcp_task_is(struct th_str result)
{
	struct th_str type = th_json_raw_inside(th_json_raw_get(result, "resultType"));

	return th_str_is(type, "task") || task_in(result).ptr != result.ptr;
}

static bool read_id(struct th_str raw, char ret[static TH_MCP_TASK_MAX + 1])
{
	struct th_buf id = TH_BUF_INIT(TH_MCP_TASK_MAX);
	bool good = raw.len && raw.ptr[0] == '"' && th_json_unescape(raw, &id) && id.len > 0;

	for (size_t i = 0; good && i < id.len; i++)
		good = id.ptr[i] >= 0x20 && id.ptr[i] <= 0x7e;
	if (good) {
		memcpy(ret, id.ptr, id.len);
		ret[id.len] = '\0';
	}
	th_buf_deinit(&id);
	return good;
}

static int64_t poll_of(struct th_str raw)
{
	double ms = TH_MCP_POLL_MS;
	struct th_json_doc *doc = NULL;

	if (raw.len && th_json_parse(raw, &doc, NULL) == TH_OK)
		ms = th_json_num(th_json_root(doc), TH_MCP_POLL_MS);
	th_json_free(doc);
	return ms >= TH_MCP_POLL_MS_MAX  ? TH_MCP_POLL_MS_MAX
	       : ms > TH_MCP_POLL_MS_MIN ? (int64_t)ms
					 : TH_MCP_POLL_MS_MIN;
}

enum th_code th_mcp_task_read(struct th_str result, struct th_mcp_task *ret, struct th_err *err)
{
	static const char *const states[] = { "working", "input_required", "completed", "failed",
					      "cancelled" };
	struct th_str task = task_in(result);
	struct th_str state = th_json_raw_inside(th_json_raw_get(task, "status"));
	struct th_str poll = th_json_raw_get(task, "pollIntervalMs");
	size_t i = 0;

	*ret = (struct th_mcp_task){ .result = th_json_raw_get(task, "result"),
				     .error = th_json_raw_get(task, "error"),
				     .message = th_json_raw_get(task, "statusMessage") };
	if (!read_id(th_json_raw_get(task, "taskId"), ret->id))
		return th_fail(err, TH_EPROTO,
			       "the server's task has no name of 1 to %d visible characters",
			       TH_MCP_TASK_MAX);
	while (i < TH_COUNT(states) && !th_str_is(state, states[i]))
		i++;
	if (i == TH_COUNT(states))
		return th_fail(err, TH_EPROTO, "the server's task has an unknown state");
	ret->state = (enum th_mcp_task_state)i;
	ret->poll_ms = poll_of(poll.len ? poll : th_json_raw_get(task, "pollInterval"));
	return TH_OK;
}

void th_mcp_task_params(const char *id, struct th_str more, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "taskId", th_str_of(id));
	th_jw_object_end(&w);
	if (more.len && !out->failed) {
		th_buf_truncate(out, out->len - 1);
		th_buf_add_char(out, ',');
		th_buf_add(out, more);
		th_buf_add_char(out, '}');
	}
}
