/* SPDX-License-Identifier: Apache-2.0 */
/* A message of JSON-RPC: what is read of it, printed and read again, is the same. */
#include <stdlib.h>

#include "base/limits.h"
#include "wire/jsonrpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_buf out = TH_BUF_INIT(64 * TH_MIB);
	struct th_rpc r, again;

	th_rpc_read(th_str_n(data, size), &r);
	if (r.kind == TH_RPC_RESULT)
		th_rpc_print_result(r.id, r.value, &out);
	else if (r.kind == TH_RPC_REQUEST || r.kind == TH_RPC_NOTIFICATION)
		th_rpc_print_call(r.id, "m", r.params, &out);
	if (out.len) {
		th_rpc_read(th_buf_str(&out), &again);
		assert(again.kind == r.kind && th_str_eq(again.id, r.id));
		assert(th_str_eq(again.params, r.params) && th_str_eq(again.value, r.value));
	}
	th_buf_deinit(&out);
	return 0;
}
