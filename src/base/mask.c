/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask.c - the automaton of Aho and Corasick over all forms of all secrets.
 *
 * A node is a prefix of forms; its fail link is the longest other prefix that
 * its text ends with.  Edges are a hash table of (node, byte); those of the root,
 * where nearly every byte stays, are an array.
 *
 * Programs break lines: base64 at its 76th column, and a terminal puts "\r" before
 * each "\n".  So the end of a line that goes on with no form is passed over.
 */
#include "base/mask.h"

#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/wiped.h"

#define STREAM_PIECE (64 * TH_KIB)
#define LINE_ENDS_MAX 5 /* so many in a row end an occurrence */
#define HELD_MAX ((size_t)LINE_ENDS_MAX * 8 * TH_MASK_LEN_MAX) /* the longest form */

struct node {
	uint32_t fail;
	uint32_t parent;
	uint32_t child, next; /* the first child; the next one of the same parent */
	uint32_t depth;
	uint32_t match; /* the last node of the longest form that ends here; 0: none */
	unsigned char byte;
};

struct edge {
	uint32_t from_byte; /* node << 8 | byte, + 1; 0: free */
	uint32_t to;
};

struct th_mask {
	struct node *nodes; /* 0: the root */
	uint32_t count, cap;
	struct edge *edges;
	uint32_t edge_cap; /* a power of two, at least twice the edges */
	uint32_t root[256];
};

/* ---- the tree ---- */

static uint32_t slot(const struct th_mask *m, uint32_t key)
{
	uint32_t at = (key * 2654435761U) & (m->edge_cap - 1);

	while (m->edges[at].from_byte && m->edges[at].from_byte != key)
		at = (at + 1) & (m->edge_cap - 1);
	return at;
}

static uint32_t key_of(uint32_t node, unsigned char byte)
{
	return (node << 8 | byte) + 1;
}

/* 0: there is none. */
static uint32_t child_of(const struct th_mask *m, uint32_t node, unsigned char byte)
{
	return node == 0 ? m->root[byte] : m->edges[slot(m, key_of(node, byte))].to;
}

static void grow_edges(struct th_mask *m)
{
	struct edge *old = m->edges;
	uint32_t cap = m->edge_cap;

	m->edge_cap = cap ? 2 * cap : 1024;
	m->edges = (struct edge *)th_alloc(m->edge_cap * sizeof(*m->edges));
	for (uint32_t i = 0; i < cap; i++)
		if (old[i].from_byte)
			m->edges[slot(m, old[i].from_byte)] = old[i];
	if (old)
		explicit_bzero(old, cap * sizeof(*old));
	free(old);
}

static uint32_t add_child(struct th_mask *m, uint32_t node, unsigned char byte)
{
	uint32_t new = m->count;

	if (m->count == TH_MASK_NODES_MAX)
		return 0;
	if (m->count == m->cap) {
		uint32_t cap = 2 * m->cap;
		struct node *nodes = (struct node *)th_alloc(cap * sizeof(*nodes));

		memcpy(nodes, m->nodes, m->count * sizeof(*nodes));
		explicit_bzero(m->nodes, m->count * sizeof(*nodes));
		free(m->nodes);
		m->nodes = nodes;
		m->cap = cap;
	}
	if (2 * (m->count + 1) > m->edge_cap)
		grow_edges(m);
	m->count++;
	m->nodes[new] = (struct node){ .byte = byte,
				       .parent = node,
				       .depth = m->nodes[node].depth + 1,
				       .next = m->nodes[node].child };
	m->nodes[node].child = new;
	if (node == 0)
		m->root[byte] = new;
	else
		m->edges[slot(m, key_of(node, byte))] = (struct edge){ key_of(node, byte), new };
	return new;
}

struct th_mask *th_mask_new(void)
{
	struct th_mask *m = (struct th_mask *)th_alloc(sizeof(*m));

	m->cap = 256;
	m->count = 1;
	m->nodes = (struct node *)th_alloc(m->cap * sizeof(*m->nodes));
	grow_edges(m);
	return m;
}

struct th_mask *th_mask_free(struct th_mask *m)
{
	if (!m)
		return NULL;
	explicit_bzero(m->nodes, m->cap * sizeof(*m->nodes));
	explicit_bzero(m->edges, m->edge_cap * sizeof(*m->edges));
	free(m->nodes);
	free(m->edges);
	explicit_bzero(m, sizeof(*m));
	free(m);
	return NULL;
}

/* ---- forms ---- */

static bool add_form(struct th_mask *m, struct th_str form)
{
	uint32_t node = 0;

	for (size_t i = 0; i < form.len; i++) {
		unsigned char byte = (unsigned char)form.ptr[i];
		uint32_t next = child_of(m, node, byte);

		if (!next)
			next = add_child(m, node, byte);
		if (!next)
			return false;
		node = next;
	}
	m->nodes[node].match = node;
	return true;
}

/* What of the value is certain in base64, when `before` bytes stand before it in its group: the
 * characters that it alone decides. */
static bool add_base64(struct th_mask *m, struct th_str value, size_t before)
{
	static const char alphabets[2][65] = {
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
	};
	size_t first = (8 * before + 5) / 6, end = 8 * (before + value.len) / 6;
	char *text = (char *)th_alloc(end + 1);
	bool good = true;

	for (int a = 0; a < 2 && good; a++) {
		for (size_t i = first; i < end; i++) {
			unsigned bits = 0;

			for (size_t bit = 6 * i; bit < 6 * i + 6; bit++) {
				unsigned char byte = (unsigned char)value.ptr[bit / 8 - before];

				bits = bits << 1 | (byte >> (7 - bit % 8) & 1U);
			}
			text[i - first] = alphabets[a][bits];
		}
		good = add_form(m, th_str_n(text, end - first));
	}
	explicit_bzero(text, end + 1);
	free(text);
	return good;
}

/* All bytes in hex, or those that a URL cannot have. */
static bool add_hex(struct th_mask *m, struct th_str value, const char *digits, bool url)
{
	char *text = (char *)th_alloc(3 * value.len + 1);
	size_t len = 0;

	for (size_t i = 0; i < value.len; i++) {
		unsigned char c = (unsigned char)value.ptr[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';

		if (url && plain) {
			text[len++] = (char)c;
			continue;
		}
		if (url)
			text[len++] = '%';
		text[len++] = digits[c >> 4];
		text[len++] = digits[c & 15];
	}
	bool good = add_form(m, th_str_n(text, len));
	explicit_bzero(text, len);
	free(text);
	return good;
}

static bool add_json(struct th_mask *m, struct th_str value)
{
	struct th_buf text = TH_BUF_INIT(8 * TH_MASK_LEN_MAX);

	th_json_escape(&text, value);
	bool good = text.failed || add_form(m, th_buf_str(&text));
	th_buf_wipe(&text);
	return good;
}

enum th_code th_mask_add(struct th_mask *m, const struct th_secret *secret, struct th_err *err)
{
	static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";
	struct th_str value = th_secret_expose(secret);

	if (value.len < TH_MASK_LEN_MIN || value.len > TH_MASK_LEN_MAX)
		return th_fail(err, TH_EUSAGE, "a secret has %d to %d bytes", TH_MASK_LEN_MIN,
			       TH_MASK_LEN_MAX);
	bool good = add_form(m, value) && add_json(m, value) && add_hex(m, value, lower, false) &&
		    add_hex(m, value, upper, false) && add_hex(m, value, lower, true) &&
		    add_hex(m, value, upper, true);
	for (size_t before = 0; before < 3 && good; before++)
		good = add_base64(m, value, before);
	return good ? TH_OK : th_fail(err, TH_ELIMIT, "the secrets are too many or too long");
}

bool th_mask_empty(const struct th_mask *m)
{
	return !m || m->count == 1;
}

void th_mask_build(struct th_mask *m)
{
	uint32_t *queue = (uint32_t *)th_alloc(m->count * sizeof(*queue));
	uint32_t from = 0, to = 0;

	queue[to++] = 0;
	while (from < to) {
		uint32_t node = queue[from++];

		for (uint32_t c = m->nodes[node].child; c; c = m->nodes[c].next) {
			uint32_t fail = m->nodes[node].fail, next = 0;

			/* The root's children fail to the root. */
			while (node != 0 && !(next = child_of(m, fail, m->nodes[c].byte)) &&
			       fail != 0)
				fail = m->nodes[fail].fail;
			m->nodes[c].fail = next;
			next = m->nodes[next].match;
			if (m->nodes[next].depth > m->nodes[m->nodes[c].match].depth)
				m->nodes[c].match = next;
			queue[to++] = c;
		}
	}
	free(queue);
}

/* ---- masking ---- */

static uint32_t step(const struct th_mask *m, uint32_t node, unsigned char byte)
{
	for (;;) {
		uint32_t next = child_of(m, node, byte);

		if (next || node == 0)
			return next;
		node = m->nodes[node].fail;
	}
}

static bool ends_line(char c)
{
	return c == '\n' || c == '\r';
}

/* The end of a line at bytes[i], which no form has there; but not many in a row, so that what is
 * held back stays small. */
static bool passes_over(const struct th_mask *m, uint32_t node, const char *bytes, size_t i)
{
	size_t count = 0;

	while (count < LINE_ENDS_MAX && count <= i && ends_line(bytes[i - count]))
		count++;
	return count > 0 && count < LINE_ENDS_MAX && m->nodes[node].child;
}

/* Where the text of `node`, which ends before bytes[end], begins, if that is not gone already
 * (TH_MASK_HOLD_MIN); `cover`: it becomes stars, but for the ends of lines inside it. */
static size_t begin_of(const struct th_mask *m, uint32_t node, char *bytes, size_t end, bool cover)
{
	while (node != 0 && end > 0) {
		char c = bytes[--end];

		if (ends_line(c) && (unsigned char)c != m->nodes[node].byte)
			continue;
		if (cover)
			bytes[end] = '*';
		node = m->nodes[node].parent;
	}
	return end;
}

/* Masks bytes[from..len); what stands before `from` was read already and may be masked too. */
static bool mask(const struct th_mask *m, uint32_t *node, char *bytes, size_t from, size_t len)
{
	bool any = false;
	uint32_t at = *node;

	for (size_t i = from; i < len; i++) {
		if (at == 0) {
			while (i < len && !m->root[(unsigned char)bytes[i]])
				i++;
			if (i == len)
				break;
		}
		uint32_t next = step(m, at, (unsigned char)bytes[i]);

		if (!next && passes_over(m, at, bytes, i))
			continue;
		/* The node stands for what was read, not for what is written here. */
		at = next;
		if (m->nodes[at].match) {
			any = true;
			begin_of(m, m->nodes[at].match, bytes, i + 1, true);
		}
	}
	*node = at;
	return any;
}

bool th_mask_apply(const struct th_mask *m, char *bytes, size_t len)
{
	uint32_t node = 0;

	return !th_mask_empty(m) && mask(m, &node, bytes, 0, len);
}

void th_mask_stream_init(struct th_mask_stream *s, const struct th_mask *m)
{
	*s = (struct th_mask_stream){ .mask = m };
	th_buf_init(&s->held, STREAM_PIECE + HELD_MAX);
}

void th_mask_stream_deinit(struct th_mask_stream *s)
{
	th_buf_wipe(&s->held);
	s->mask = NULL;
	s->node = 0;
}

void th_mask_stream_feed(struct th_mask_stream *s, struct th_str bytes, struct th_buf *out)
{
	while (!th_mask_empty(s->mask) && bytes.len > 0) {
		struct th_str piece = th_str_sub(bytes, 0, STREAM_PIECE);
		size_t from = s->held.len;

		bytes = th_str_sub(bytes, piece.len, bytes.len);
		th_buf_add(&s->held, piece);
		assert(!s->held.failed);
		(void)mask(s->mask, &s->node, s->held.ptr, from, s->held.len);
		size_t ready = s->held.len;
		if (s->mask->nodes[s->node].depth >= TH_MASK_HOLD_MIN)
			ready = begin_of(s->mask, s->node, s->held.ptr, ready, false);
		th_buf_add(out, th_str_sub(th_buf_str(&s->held), 0, ready));
		th_buf_drop(&s->held, ready);
	}
	th_buf_add(out, bytes);
}

void th_mask_stream_end(struct th_mask_stream *s, struct th_buf *out)
{
	th_buf_add(out, th_buf_str(&s->held));
	th_buf_clear(&s->held);
	s->node = 0;
}
