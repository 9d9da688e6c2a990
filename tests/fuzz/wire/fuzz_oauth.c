/* SPDX-License-Identifier: Apache-2.0 */
/* What other servers say of logins: the first byte chooses who says it.  Whatever is taken is as
 * promised. */
#include <stdlib.h>

#include "base/limits.h"
#include "wire/oauth.h"
#include "wire/percent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_percent(struct th_str text)
{
	struct th_buf out = TH_BUF_INIT(4 * TH_MIB), back = TH_BUF_INIT(4 * TH_MIB);

	th_percent_encode(text, &out);
	if (!memchr(text.ptr, 0, text.len) && !out.failed) {
		bool good = th_percent_decode(th_buf_str(&out), &back);

		assert(good && th_str_eq(th_buf_str(&back), text));
	}
	th_buf_deinit(&out);
	th_buf_deinit(&back);
}

static void take(int what, struct th_str text, struct th_arena *a)
{
	const struct th_str url = TH_STR("https://a.example/mcp"),
			    issuer = TH_STR("https://s.example");
	struct th_oauth_server s = { .issuer = issuer };
	struct th_oauth_ask ask = { .server = &s, .state = TH_STR("s") };
	struct th_oauth_challenge challenge;
	struct th_oauth_resource resource;
	struct th_oauth_client client;
	struct th_oauth_tokens tokens;
	struct th_str code;

	switch (what % 6) {
	case 0:
		(void)th_oauth_challenge_read(text, a, &challenge);
		break;
	case 1:
		if (th_oauth_resource_read(text, url, a, &resource, NULL) == TH_OK)
			assert(th_oauth_is_safe(resource.issuer) && resource.resource.len);
		break;
	case 2:
		if (th_oauth_server_read(text, issuer, a, &s, NULL) == TH_OK)
			assert(th_oauth_is_safe(s.token) &&
			       (!s.authorize.len || th_oauth_is_safe(s.authorize)));
		break;
	case 3:
		if (th_oauth_redirect_read(text, &ask, a, &code, NULL) == TH_OK)
			assert(code.len > 0);
		break;
	case 4:
		if (th_oauth_tokens_read(200, text, a, &tokens, NULL) == TH_OK)
			assert(tokens.access.len && tokens.access.len <= TH_OAUTH_TOKEN_MAX &&
			       !memchr(tokens.access.ptr, '\n', tokens.access.len));
		break;
	default:
		if (th_oauth_registration_read(text, &s, a, &client, NULL) == TH_OK)
			assert(client.id.len > 0);
		check_percent(text);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_arena a;

	if (!size)
		return 0;
	th_arena_init(&a, 4 * TH_MIB);
	take(data[0], th_str_n(data + 1, size - 1), &a);
	th_arena_deinit(&a);
	return 0;
}
