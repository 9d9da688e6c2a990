/* SPDX-License-Identifier: Apache-2.0 */
#include "models/model.h"

#define X(id, name, retry) { name, retry },
static const struct {
	const char *name;
	bool retries;
} failures[] = { TH_FAILURES(X) };
#undef X

const char *th_failure_name(enum th_failure f)
{
	assert(f < TH_FAILURE_COUNT);
	return failures[f].name;
}

bool th_failure_retries(enum th_failure f)
{
	assert(f < TH_FAILURE_COUNT);
	return failures[f].retries;
}

int th_failure_find(struct th_str name)
{
	for (int i = 0; i < TH_FAILURE_COUNT; i++)
		if (th_str_is(name, failures[i].name))
			return i;
	return -1;
}

/* ---- what the providers call things ---- */

struct word {
	struct th_str text;
	enum th_failure class;
};

/* Whole words, case folded. */
static const struct word words[] = {
	{ TH_STR_INIT("insufficient_quota"), TH_FAILURE_QUOTA },
	{ TH_STR_INIT("billing_hard_limit_reached"), TH_FAILURE_QUOTA },
	{ TH_STR_INIT("billing_not_active"), TH_FAILURE_QUOTA },
	{ TH_STR_INIT("billing_error"), TH_FAILURE_QUOTA },
	{ TH_STR_INIT("insufficient_credits"), TH_FAILURE_QUOTA },
	{ TH_STR_INIT("insufficient_balance"), TH_FAILURE_QUOTA },
	{ TH_STR_INIT("payment_required"), TH_FAILURE_QUOTA },
	{ TH_STR_INIT("rate_limit_exceeded"), TH_FAILURE_RATE_LIMITED },
	{ TH_STR_INIT("rate_limit_error"), TH_FAILURE_RATE_LIMITED },
	{ TH_STR_INIT("too_many_requests"), TH_FAILURE_RATE_LIMITED },
	{ TH_STR_INIT("resource_exhausted"), TH_FAILURE_RATE_LIMITED },
	{ TH_STR_INIT("server_is_overloaded"), TH_FAILURE_OVERLOADED },
	{ TH_STR_INIT("engine_overloaded"), TH_FAILURE_OVERLOADED },
	{ TH_STR_INIT("overloaded_error"), TH_FAILURE_OVERLOADED },
	{ TH_STR_INIT("overloaded"), TH_FAILURE_OVERLOADED },
	{ TH_STR_INIT("slow_down"), TH_FAILURE_OVERLOADED },
	{ TH_STR_INIT("conversation_locked"), TH_FAILURE_OVERLOADED }, /* by another request */
	{ TH_STR_INIT("unavailable"), TH_FAILURE_OVERLOADED },
	{ TH_STR_INIT("service_unavailable"), TH_FAILURE_OVERLOADED },
	{ TH_STR_INIT("invalid_api_key"), TH_FAILURE_AUTH },
	{ TH_STR_INIT("authentication_error"), TH_FAILURE_AUTH },
	{ TH_STR_INIT("permission_error"), TH_FAILURE_AUTH },
	{ TH_STR_INIT("permission_denied"), TH_FAILURE_AUTH },
	{ TH_STR_INIT("unauthenticated"), TH_FAILURE_AUTH },
	{ TH_STR_INIT("account_deactivated"), TH_FAILURE_AUTH },
	{ TH_STR_INIT("unsupported_country_region_territory"), TH_FAILURE_AUTH },
	{ TH_STR_INIT("model_not_found"), TH_FAILURE_NOT_FOUND },
	{ TH_STR_INIT("not_found_error"), TH_FAILURE_NOT_FOUND },
	{ TH_STR_INIT("not_found"), TH_FAILURE_NOT_FOUND },
	{ TH_STR_INIT("tool_use_failed"), TH_FAILURE_MALFORMED }, /* Groq: of the model's making */
	{ TH_STR_INIT("bio_policy"), TH_FAILURE_REJECTED },
	{ TH_STR_INIT("failed_to_download_image"), TH_FAILURE_REJECTED },
	{ TH_STR_INIT("data_residency_mismatch"), TH_FAILURE_REJECTED },
	{ TH_STR_INIT("previous_response_not_found"), TH_FAILURE_REJECTED },
};

/* Beginnings of words that all say "this request is wrong". */
static const struct th_str rejections[] = {
	TH_STR_INIT("invalid_"), TH_STR_INIT("image_"),       TH_STR_INIT("empty_"),
	TH_STR_INIT("context_"), TH_STR_INIT("unsupported_"), TH_STR_INIT("missing_"),
	TH_STR_INIT("unknown_"), TH_STR_INIT("content_"),     TH_STR_INIT("string_"),
};

static int class_of_word(struct th_str word)
{
	for (size_t i = 0; i < TH_COUNT(words); i++)
		if (th_str_ieq(word, words[i].text))
			return (int)words[i].class;
	for (size_t i = 0; i < TH_COUNT(rejections); i++)
		if (th_str_istarts(word, rejections[i]))
			return TH_FAILURE_REJECTED;
	if (th_str_ends(word, TH_STR("_policy_violation")))
		return TH_FAILURE_REJECTED;
	return -1;
}

/* Pieces of sentences, case folded: not every server has a code for it. */
static const struct th_str too_long[] = {
	TH_STR_INIT("context_length_exceeded"),
	TH_STR_INIT("contextwindowexceeded"),
	TH_STR_INIT("prompt is too long"),
	TH_STR_INIT("exceed context limit"),
	TH_STR_INIT("exceeds the context window"),
	TH_STR_INIT("maximum context length"),
	TH_STR_INIT("context length exceeded"),
	TH_STR_INIT("exceeds the available context size"),
	TH_STR_INIT("exceeds the maximum number of tokens allowed"),
	TH_STR_INIT("please reduce the length of"),
};

static bool has_folded(struct th_str text, struct th_str piece)
{
	for (size_t at = 0; at + piece.len <= text.len; at++)
		if (th_str_istarts(th_str_sub(text, at, text.len), piece))
			return true;
	return false;
}

enum th_failure th_failure_context(enum th_failure f, struct th_str code, struct th_str message)
{
	if (f != TH_FAILURE_REJECTED && f != TH_FAILURE_SERVER)
		return f;
	for (size_t i = 0; i < TH_COUNT(too_long); i++)
		if (has_folded(code, too_long[i]) || has_folded(message, too_long[i]))
			return TH_FAILURE_CONTEXT;
	return f;
}

static enum th_failure class_of_status(int status)
{
	switch (status) {
	case 401:
	case 403:
		return TH_FAILURE_AUTH;
	case 402:
		return TH_FAILURE_QUOTA;
	case 404:
		return TH_FAILURE_NOT_FOUND;
	case 408:
	case 409:
		return TH_FAILURE_SERVER;
	case 429:
		return TH_FAILURE_RATE_LIMITED;
	case 503:
	case 529:
		return TH_FAILURE_OVERLOADED;
	default:
		break;
	}
	if (status >= 500)
		return TH_FAILURE_SERVER;
	return status >= 400 ? TH_FAILURE_REJECTED
			     : TH_FAILURE_NOT_FOUND; /* a redirect: another URL */
}

enum th_failure th_failure_of(int http_status, struct th_str code, struct th_str type)
{
	int by_code = class_of_word(code);
	int word = by_code >= 0 && by_code != TH_FAILURE_REJECTED ? by_code : class_of_word(type);
	enum th_failure class;

	if (word < 0)
		word = by_code;
	if (http_status == 0)
		return word >= 0 ? (enum th_failure)word : TH_FAILURE_SERVER;
	class = class_of_status(http_status);
	/* The words know money from haste, and a wrong model or key from a wrong request. */
	if (class == TH_FAILURE_RATE_LIMITED && word == TH_FAILURE_QUOTA)
		return TH_FAILURE_QUOTA;
	if ((class == TH_FAILURE_REJECTED || class == TH_FAILURE_AUTH) &&
	    (word == TH_FAILURE_QUOTA || word == TH_FAILURE_AUTH || word == TH_FAILURE_NOT_FOUND ||
	     word == TH_FAILURE_MALFORMED))
		return (enum th_failure)word;
	if (class == TH_FAILURE_REJECTED && word == TH_FAILURE_OVERLOADED)
		return TH_FAILURE_OVERLOADED;
	if (class == TH_FAILURE_SERVER && http_status >= 500 && word == TH_FAILURE_OVERLOADED)
		return TH_FAILURE_OVERLOADED;
	return class;
}

/* ---- waiting ---- */

int64_t th_retry_delay_ms(enum th_failure f, const struct th_retry_hints *hints, int attempt,
			  int attempts_max, double random)
{
	bool forced = hints && hints->should_retry == 1;
	bool forbidden = hints && hints->should_retry == 0;
	int64_t cap = TH_RETRY_FIRST_MS;

	if (attempt >= attempts_max || forbidden || (!th_failure_retries(f) && !forced))
		return -1;
	if (hints && hints->retry_after_ms >= 0 && hints->retry_after_ms <= TH_RETRY_HINT_MAX_MS)
		return hints->retry_after_ms;
	if (f == TH_FAILURE_OVERLOADED)
		cap *= 4; /* everybody else waits too */
	for (int i = 1; i < attempt && cap < TH_RETRY_MAX_MS; i++)
		cap *= 2;
	cap = TH_MIN(cap, (int64_t)TH_RETRY_MAX_MS);
	random = random >= 0 && random < 1 ? random : 0.5;
	return (int64_t)((double)cap * random);
}
