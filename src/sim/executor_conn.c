/* SPDX-License-Identifier: Apache-2.0 */
/*
 * executor_conn.c - connections of a simulated executor: messages on their way, in both directions.
 */
#include "sim/rename.h"

#include <stdlib.h>

#include "sim/executor_internal.h"

static void queue_init(struct queue *q)
{
	q->first = NULL;
	q->last = &q->first;
}

static void queue_add(struct queue *q, struct th_str head, struct th_str attachment)
{
	struct message *m = th_alloc(sizeof(*m));

	m->head = th_alloc(head.len + 1);
	memcpy(m->head, head.ptr, head.len);
	m->head_len = head.len;
	m->attachment = th_alloc(attachment.len + 1);
	if (attachment.len > 0)
		memcpy(m->attachment, attachment.ptr, attachment.len);
	m->attachment_len = attachment.len;
	*q->last = m;
	q->last = &m->next;
}

void th_sim_queue_drop(struct queue *q)
{
	struct message *m = q->first;

	q->first = m->next;
	if (!q->first)
		q->last = &q->first;
	free(m->head);
	free(m->attachment);
	free(m);
}

void th_sim_conn_free(struct th_sim_conn *c)
{
	while (c->to_executor.first)
		th_sim_queue_drop(&c->to_executor);
	while (c->to_runtime.first)
		th_sim_queue_drop(&c->to_runtime);
	free(c);
}

struct th_sim_conn *th_sim_conn_new(struct th_sim_exec *x)
{
	struct th_sim_conn *c = th_alloc(sizeof(*c));

	c->client.x = &x->p;
	c->x = x;
	queue_init(&c->to_executor);
	queue_init(&c->to_runtime);
	c->next = x->conns;
	x->conns = c;
	return c;
}

struct th_sim_conn *th_sim_conn_close(struct th_sim_conn *c)
{
	if (!c)
		return NULL;
	c->closed = true;
	if (!c->x)
		th_sim_conn_free(c);
	return NULL;
}

void th_sim_conn_stall(struct th_sim_conn *c, int64_t until_ms)
{
	c->stalled_ms = until_ms;
}

void th_sim_conn_send(struct th_sim_conn *c, struct th_str head)
{
	if (c->x)
		queue_add(&c->to_executor, head, TH_STR(""));
}

bool th_sim_conn_cut(const struct th_sim_conn *c)
{
	return !c->x;
}

bool th_sim_conn_waiting(const struct th_sim_conn *c)
{
	return c->to_runtime.first || !c->x;
}

bool th_sim_conn_take(struct th_sim_conn *c, struct th_buf *head, struct th_buf *attachment)
{
	struct message *m = c->to_runtime.first;

	if (!m)
		return false;
	th_buf_add_mem(head, m->head, m->head_len);
	th_buf_add_mem(attachment, m->attachment, m->attachment_len);
	th_sim_queue_drop(&c->to_runtime);
	return true;
}

bool th_exec_send(struct th_exec_client *client, struct th_str head, struct th_str attachment)
{
	struct th_sim_conn *c = TH_CONTAINER_OF(client, struct th_sim_conn, client);

	if (client->dead || c->x->dead)
		return false;
	if (!c->closed)
		queue_add(&c->to_runtime, head, attachment);
	return true;
}
