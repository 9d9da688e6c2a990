/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys_chord.c - keys that go down together, as people and models write them.
 */
#include "actions/keys_internal.h"

#include "base/text.h"

/* Keys as they were written, before they are put in order. */
struct written {
	uint32_t keysyms[TH_CHORD_KEYS_MAX];
	size_t count;
};

static enum th_code add_key(struct written *w, struct th_str name, struct th_err *err)
{
	uint32_t keysym = th_keys_find(name);

	if (keysym == TH_KEYSYM_NONE)
		return th_keys_unknown(name, err);
	if (w->count == TH_CHORD_KEYS_MAX)
		return th_fail(err, TH_ELIMIT, "a chord has at most %d keys", TH_CHORD_KEYS_MAX);
	w->keysyms[w->count++] = keysym;
	return TH_OK;
}

static bool is_blank(struct th_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] != ' ')
			return false;
	}
	return true;
}

static enum th_code fail_chord(struct th_err *err, struct th_str chord, const char *what)
{
	return th_fail(err, TH_EPROTO, "\"%.*s\": %s", TH_FMT(th_utf8_cut(chord, TH_KEY_SHOWN_MAX)),
		       what);
}

/*
 * Cuts the next name off *rest at `sep`.  A separator where a name is expected
 * is that character's key: "ctrl++" is ctrl and +.  False when nothing stands
 * between two separators or behind the last one.
 */
static bool next_part(struct th_str *rest, char sep, struct th_str *ret)
{
	struct th_str name = *rest;
	size_t blanks = 0;
	ptrdiff_t end;

	while (blanks < name.len && name.ptr[blanks] == ' ')
		blanks++;
	if (blanks < name.len && name.ptr[blanks] == sep &&
	    is_blank(th_str_sub(name, blanks + 1, name.len))) { /* the last one */
		*ret = th_str_sub(name, blanks, 1);
		*rest = (struct th_str){};
		return true;
	}
	if (blanks + 1 < name.len && name.ptr[blanks] == sep && name.ptr[blanks + 1] == sep) {
		*ret = th_str_sub(name, blanks, 1);
		*rest = th_str_sub(name, blanks + 2, name.len);
		return rest->len > 0;
	}
	end = th_str_find_char(name, sep);
	if (end < 0) {
		*rest = (struct th_str){};
	} else {
		*rest = th_str_sub(name, (size_t)end + 1, name.len);
		name.len = (size_t)end;
		if (rest->len == 0)
			return false;
	}
	*ret = th_str_trim(name);
	if (ret->len == 0 && name.len > 0 && end < 0)
		*ret = TH_STR(" "); /* "ctrl+ " */
	return ret->len > 0;
}

static enum th_code add_parts(struct written *w, struct th_str chord, char sep, struct th_err *err)
{
	struct th_str rest = chord, name;

	while (rest.len > 0) {
		if (!next_part(&rest, sep, &name))
			return fail_chord(err, chord, "a key is missing in the chord");
		if (sep == '+' && th_keys_find(name) == TH_KEYSYM_NONE &&
		    th_str_find_char(name, ' ') >= 0)
			return fail_chord(
			    err, chord, "more than one chord, of which each needs its own action");
		enum th_code code = add_key(w, name, err);

		if (code < 0)
			return code;
	}
	return TH_OK;
}

/* Names with a blank between them; two words that are one key ("page down") are taken as such. */
static enum th_code add_words(struct written *w, struct th_str words, struct th_err *err)
{
	while ((words = th_str_trim(words)).len > 0) {
		struct th_str rest = words, first = th_str_split(&rest, ' ');
		struct th_str after = rest, second = th_str_split(&after, ' ');
		struct th_str both = { first.ptr, first.len + 1 + second.len };
		enum th_code code;

		if (second.len > 0 && th_keys_find(both) != TH_KEYSYM_NONE) {
			first = both;
			rest = after;
		}
		if ((code = add_key(w, first, err)) < 0)
			return code;
		words = rest;
	}
	return TH_OK;
}

static enum th_code add_chord(struct written *w, struct th_str text, struct th_err *err)
{
	struct th_str trimmed = th_str_trim(text);

	if (th_keys_find(text) != TH_KEYSYM_NONE)
		return add_key(w, text, err);
	if (trimmed.len == 0)
		return th_fail(err, TH_EPROTO, "the name of a key is empty");
	if (th_keys_find(trimmed) != TH_KEYSYM_NONE)
		return add_key(w, trimmed, err);
	if (th_str_find_char(trimmed, '+') >= 0)
		return add_parts(w, text, '+', err);
	if (th_str_find_char(trimmed, ' ') >= 0)
		return add_words(w, trimmed, err);
	if (th_str_find_char(trimmed, '-') >= 0)
		return add_parts(w, trimmed, '-', err);
	return add_key(w, trimmed, err);
}

enum th_code th_keys_chord(const struct th_str *names, size_t count, struct th_chord *ret,
			   struct th_err *err)
{
	struct written w = {};
	struct th_chord chord = {};
	enum th_code code;

	for (size_t i = 0; i < count; i++) {
		if ((code = add_chord(&w, names[i], err)) < 0)
			return code;
	}
	if (w.count == 0)
		return th_fail(err, TH_EPROTO, "no key is named");
	for (size_t i = 0; i < w.count; i++) {
		if (w.count > 1 && w.keysyms[i] >= 'A' && w.keysyms[i] <= 'Z')
			w.keysyms[i] += 'a' - 'A';
		for (size_t j = 0; j < i; j++) {
			if (w.keysyms[j] == w.keysyms[i])
				return th_fail(err, TH_EPROTO,
					       "the same key is in the chord twice; to press it "
					       "several times, use count");
		}
	}
	for (int modifiers = 1; modifiers >= 0; modifiers--) {
		for (size_t i = 0; i < w.count; i++) {
			if (th_keys_is_modifier(w.keysyms[i]) == modifiers)
				chord.keysyms[chord.count++] = w.keysyms[i];
		}
		if (modifiers)
			chord.modifier_count = chord.count;
	}
	*ret = chord;
	return TH_OK;
}
