/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/computer.h"

#include "runtime/internal.h"

enum th_code th_runtime_computer(struct th_runtime *rt, struct th_executor_options *o,
				 struct th_executor_client **ret, struct th_err *err)
{
	o->scope = th_buf_str(&rt->scope);
	o->no_sandbox = rt->no_sandbox;
	o->program = rt->program;
	o->linger_ms = rt->config ? rt->config->executor_linger_s * 1000 : 0;
	return th_executor_client_new(rt->loop, o, ret, err);
}
