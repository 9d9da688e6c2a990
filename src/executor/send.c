/* SPDX-License-Identifier: Apache-2.0 */
/* send.c - messages to those who are connected. */
#include "executor/state.h"

void th_exec_drop(struct th_exec_client *c)
{
	c->dead = true;
	th_loop_defer(c->x->loop, &c->x->reap);
}

bool th_exec_send(struct th_exec_client *c, struct th_str head, struct th_str attachment)
{
	if (c->dead)
		return false;
	enum th_code code = th_sock_send(c->sock, head, attachment, NULL);
	if (code == TH_EBUSY)
		c->blocked = true;
	else if (code)
		th_exec_drop(c);
	return !c->dead;
}

bool th_exec_send_error(struct th_exec_client *c, int64_t id, const struct th_err *err)
{
	struct th_buf head = TH_BUF_INIT(8 * TH_ERR_MSG_MAX);
	th_exec_print_error(id, err, &head);
	bool there = th_exec_send(c, th_buf_str(&head), TH_STR(""));
	th_buf_deinit(&head);
	return there;
}
