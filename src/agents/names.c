/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/names.h"

#include "base/hash.h"
#include "base/text.h"

#define HASH_DIGITS 8

static char function_char(uint32_t c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? (char)c : '_';
}

/* `out`, which is too long, cut to make room for the hash of what it was made of. */
static size_t shorten(char *out, struct th_str whole)
{
	struct th_digest digest = th_sha256_of(whole.ptr, whole.len);
	char hex[TH_SHA256_HEX_SIZE + 1];
	size_t len = TH_FUNCTION_NAME_MAX - HASH_DIGITS - 1;

	while (len > 0 && out[len - 1] == '_')
		len--;
	if (!len) {
		len = strlen("tool");
		memcpy(out, "tool", len);
	}
	th_digest_hex(&digest, hex);
	out[len++] = '_';
	memcpy(out + len, hex, HASH_DIGITS);
	return len + HASH_DIGITS;
}

struct th_str th_name_function(struct th_arena *a, struct th_str name)
{
	char out[TH_FUNCTION_NAME_MAX + 1];
	struct th_str rest = name;
	size_t len = 0;
	uint32_t c;

	/* One more than fits is enough to know that it does not. */
	while (len < sizeof(out) && th_utf8_next(&rest, &c))
		out[len++] = function_char(c);
	if (len == sizeof(out))
		len = shorten(out, name);
	return th_arena_str(a, th_str_n(out, len));
}

struct th_str th_name_handoff(struct th_arena *a, struct th_str agent)
{
	struct th_str name = th_arena_printf(a, "transfer_to_%.*s", TH_FMT(agent));

	return name.ptr ? th_name_function(a, name) : name;
}

struct th_str th_name_handoff_text(struct th_arena *a, struct th_str agent, struct th_str about)
{
	return th_arena_printf(a, "Handoff to the %.*s agent to handle the request. %.*s",
			       TH_FMT(agent), TH_FMT(about));
}
