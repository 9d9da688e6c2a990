/* SPDX-License-Identifier: Apache-2.0 */
/* url.h - addresses of the web, as the HTTP client reads them. */
#ifndef TH_IO_URL_H
#define TH_IO_URL_H

#include "base/buf.h"
#include "base/err.h"

/* Where `location`, of an answer of `base`, leads; without a fragment.  TH_EUSAGE: nowhere that is
 * http or https, or with a user in it. */
TH_NODISCARD enum th_code th_url_join(struct th_str base, struct th_str location,
				      struct th_buf *out, struct th_err *err);

#endif
