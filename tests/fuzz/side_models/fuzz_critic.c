/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A critic's answer -> its verdict.  Whatever comes, it is an error with a sentence, or a score
 * from 0 to 1 with an object of labels and a list of what is missing, which is empty where it is
 * done.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "side_models/critic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_buf labels TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(16 * TH_KIB);
	struct th_buf missing TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(16 * TH_KIB);
	struct th_json_doc *one TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_doc *other TH_CLEANUP(th_json_freep) = NULL;
	struct th_err err = {};
	double score = -1;

	if (th_critic_read(th_str_n(data, size), 0.6, &score, &labels, &missing, &err)) {
		assert(err.msg[0]);
		return 0;
	}
	assert(score >= 0 && score <= 1);
	if (th_json_parse(th_buf_str(&labels), &one, NULL) ||
	    th_json_parse(th_buf_str(&missing), &other, NULL))
		abort();
	assert(th_json_is_object(th_json_root(one)) && th_json_is_array(th_json_root(other)));
	assert((th_json_count(th_json_root(other)) == 0) == (score >= 0.6));
	return 0;
}
