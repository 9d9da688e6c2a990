/* SPDX-License-Identifier: Apache-2.0 */
/*
 * risk_patterns.c - what the model says itself, and words that mean danger.
 *
 * A pattern is words with gaps: a gap ("…") is at most PATTERN_GAP bytes of one line.
 */
#include "rules/risk_internal.h"

#define PATTERN_GAP 100
#define TEXT_MAX 30000 /* bytes that are looked at */

static enum th_risk look_model(const struct th_json *arguments, const char **ret_why)
{
	static const struct {
		const char *word, *why;
		enum th_risk risk;
	} words[] = {
		{ "low", "the model says that this has little risk", TH_RISK_LOW },
		{ "medium", "the model says that this has some risk", TH_RISK_MEDIUM },
		{ "high", "the model says that this is risky", TH_RISK_HIGH },
	};
	struct th_str word = th_json_get_str(arguments, "security_risk");

	for (size_t i = 0; i < TH_COUNT(words); i++)
		if (th_str_ieq(word, th_str_of(words[i].word))) {
			*ret_why = words[i].why;
			return words[i].risk;
		}
	return TH_RISK_UNKNOWN;
}

const struct th_analyser th_analyser_model = { "model", look_model };

static const struct {
	enum th_risk risk;
	const char *words, *why;
} patterns[] = {
	{ TH_RISK_HIGH, "sudo rm", "it deletes with the rights of root" },
	{ TH_RISK_HIGH, "mkfs.", "it makes a file system" },
	{ TH_RISK_HIGH, "dd …of=/dev/", "it writes to a device" },
	{ TH_RISK_HIGH, "curl …| sh", "it runs what it downloads" },
	{ TH_RISK_HIGH, "curl …| bash", "it runs what it downloads" },
	{ TH_RISK_HIGH, "wget …| sh", "it runs what it downloads" },
	{ TH_RISK_HIGH, "wget …| bash", "it runs what it downloads" },
	{ TH_RISK_HIGH, "os.system(", "it runs commands from code" },
	{ TH_RISK_HIGH, "eval(", "it runs text as code" },
	{ TH_RISK_HIGH, "exec(", "it runs text as code" },
	{ TH_RISK_HIGH, "ignore …previous …instructions", "it reads like a prompt injection" },
	{ TH_RISK_HIGH, "disregard …instructions", "it reads like a prompt injection" },
	{ TH_RISK_HIGH, "forget …instructions", "it reads like a prompt injection" },
	{ TH_RISK_MEDIUM, "curl …http", "it reaches a server" },
	{ TH_RISK_MEDIUM, "wget …http", "it reaches a server" },
	{ TH_RISK_MEDIUM, "pip install", "it installs software" },
	{ TH_RISK_MEDIUM, "npm install", "it installs software" },
	{ TH_RISK_MEDIUM, "you are now …", "it reads like a prompt injection" },
	{ TH_RISK_MEDIUM, "pretend you are", "it reads like a prompt injection" },
};

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool is_word_part(char c)
{
	return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* Where the piece ends in the text, which is searched from `at` to `to`; 0: it is not there. */
static size_t find_piece(struct th_str text, size_t at, size_t to, struct th_str piece, bool begins)
{
	for (; at < to && at + piece.len <= text.len; at++) {
		size_t n = 0;

		if (text.ptr[at] == '\n' && !begins)
			return 0;
		if (begins && at > 0 && is_word_part(text.ptr[at - 1]) &&
		    is_word_part(piece.ptr[0]))
			continue;
		while (n < piece.len && lower(text.ptr[at + n]) == piece.ptr[n])
			n++;
		if (n == piece.len)
			return at + n;
	}
	return 0;
}

/* Its pieces in order, each not far behind the one before. */
static bool has_pattern(struct th_str text, const char *words)
{
	static const char gap[] = "…";
	struct th_str rest = th_str_of(words), first = rest;
	ptrdiff_t cut = th_str_find(rest, th_str_of(gap));
	size_t from = 0, at;

	if (cut >= 0)
		first = th_str_sub(rest, 0, (size_t)cut);
	while ((at = find_piece(text, from, text.len, first, true)) > 0) {
		struct th_str pieces =
		    cut < 0 ? TH_STR("")
			    : th_str_sub(rest, (size_t)cut + sizeof(gap) - 1, rest.len);

		from = at;
		while (at && pieces.len) {
			ptrdiff_t next = th_str_find(pieces, th_str_of(gap));
			size_t len = next < 0 ? pieces.len : (size_t)next;

			at = find_piece(text, at, at + PATTERN_GAP, th_str_sub(pieces, 0, len),
					false);
			pieces = next < 0 ? TH_STR("")
					  : th_str_sub(pieces, len + sizeof(gap) - 1, pieces.len);
		}
		if (at)
			return true;
	}
	return false;
}

/* Depth is bounded by the parser. */
static enum th_risk look_patterns(const struct th_json *v, const char **ret_why)
{
	struct th_str text = th_str_sub(th_json_str(v), 0, TEXT_MAX);
	struct th_json_iter it = th_json_iter(v);
	enum th_risk most = TH_RISK_UNKNOWN;

	for (size_t i = 0; text.len && i < TH_COUNT(patterns); i++)
		if (patterns[i].risk > most && has_pattern(text, patterns[i].words)) {
			most = patterns[i].risk;
			*ret_why = patterns[i].why;
		}
	while (th_json_next(&it)) {
		const char *why = "";
		enum th_risk risk = look_patterns(it.val, &why);

		if (risk > most) {
			most = risk;
			*ret_why = why;
		}
	}
	return most;
}

const struct th_analyser th_analyser_patterns = { "patterns", look_patterns };
