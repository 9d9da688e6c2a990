/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/nodes.h"

#include "base/json.h"
#include "base/label.h"

void th_node_print(const struct th_node *node, struct th_buf *out)
{
	struct th_jw w = th_jw(out);
	struct th_str labels = node->labels, label;

	th_jw_object(&w);
	th_jw_kstr(&w, "name", node->name);
	th_jw_kstr(&w, "address", node->address);
	th_jw_kstr(&w, "host", node->host);
	th_jw_kint(&w, "process", node->process);
	th_jw_kstr(&w, "since", node->since);
	th_jw_kint(&w, "seen_ms", node->seen_ms);
	th_jw_kint(&w, "lease_ms", node->left_ms);
	th_jw_kint(&w, "capacity", node->capacity);
	th_jw_kbool(&w, "draining", node->draining);
	th_jw_name(&w, TH_STR("labels"));
	th_jw_array(&w);
	while ((label = th_label_next(&labels)).len)
		th_jw_str(&w, label);
	th_jw_array_end(&w);
	th_jw_name(&w, TH_STR("sessions"));
	th_jw_object(&w);
	th_jw_kint(&w, "running", node->running);
	th_jw_kint(&w, "waiting", node->waiting);
	th_jw_kint(&w, "paused", node->paused);
	th_jw_kint(&w, "others", node->others);
	th_jw_object_end(&w);
	th_jw_kint(&w, "queue", node->queue);
	th_jw_kint(&w, "queue_ms", node->queue_ms);
	th_jw_kint(&w, "slow", node->slow);
	th_jw_object_end(&w);
}

void th_slow_print(const struct th_slow *slow, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kint(&w, "ms", slow->ms);
	th_jw_kint(&w, "process", slow->process);
	th_jw_kstr(&w, "host", slow->host);
	th_jw_kstr(&w, "waits", slow->waits);
	th_jw_kstr(&w, "statement", slow->text);
	th_jw_object_end(&w);
}
