/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/egress.h"

TH_TABLE(egress_begin, "A session begins.", true)
TH_TABLE(egress_renew, "Other values of the same secrets.", true)
TH_TABLE(egress_number, "An op and a number.", true)
TH_TABLE(egress_ask, "A connection waits for a word about its host.", true)
TH_TABLE(egress_answer, "That word.", true)
TH_TABLE(egress_error, "Why a session does not begin.", true)
TH_TABLE(egress_connection, "A connection, or more of one.", true)

void th_egress_print(const struct th_table *t, const void *message, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_table_print(t, message, &w);
}
