/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a chord; a NUL parts the names.  What is accepted has its
 * modifiers first, no key twice and known keysyms; what is refused has a
 * sentence on one line.
 */
#include "actions/keys.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str rest = th_str_n(data, size), names[TH_CHORD_KEYS_MAX + 2];
	struct th_chord chord;
	struct th_err err = {};
	size_t count = 0;

	while (rest.len > 0 && count < TH_COUNT(names))
		names[count++] = th_str_split(&rest, '\0');
	if (th_keys_chord(names, count, &chord, &err) < 0) {
		assert(err.code == TH_EPROTO || err.code == TH_ELIMIT);
		assert(err.msg[0] != '\0' && !strchr(err.msg, '\n'));
		assert(th_utf8_valid(th_str_of(err.msg)) == strlen(err.msg));
		return 0;
	}
	assert(chord.count > 0 && chord.count <= TH_CHORD_KEYS_MAX);
	assert(chord.modifier_count <= chord.count);
	for (size_t i = 0; i < chord.count; i++) {
		assert(chord.keysyms[i] != TH_KEYSYM_NONE);
		assert(th_keys_is_modifier(chord.keysyms[i]) == (i < chord.modifier_count));
		for (size_t j = 0; j < i; j++)
			assert(chord.keysyms[j] != chord.keysyms[i]);
	}
	return 0;
}
