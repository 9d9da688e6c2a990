/* SPDX-License-Identifier: Apache-2.0 */
/* cbor.c - see cbor.h. */
#include "wire/cbor.h"

#include "base/codec.h"
#include "base/limits.h"
#include "base/text.h"

enum major { UNSIGNED, NEGATIVE, BYTES, TEXT, ARRAY, MAP, TAG, SIMPLE };

#define INDEFINITE 31
#define TAG_BASE64 22 /* bytes that are base64 in JSON */
#define TAG_CBOR 24   /* a byte string that holds a value */
#define SIZE_32 26    /* four bytes follow */
#define SIZE_64 27
#define BYTE(major, more) ((uint8_t)((major) << 5 | (more)))
#define FALSE_BYTE BYTE(SIMPLE, 20)
#define TRUE_BYTE BYTE(SIMPLE, 21)
#define NULL_BYTE BYTE(SIMPLE, 22)
#define DOUBLE_BYTE BYTE(SIMPLE, SIZE_64)
#define CUT_DEPTH 4 /* in the map that is a member of the message's */
#define BREAK_BYTE BYTE(SIMPLE, INDEFINITE)

/* ---- to JSON ---- */

struct in {
	const uint8_t *at, *end;
	const struct th_cbor_cut *cut;
	bool cuts; /* here */
	struct th_jw w;
	size_t depth; /* envelopes, and what they hold */
};

static uint64_t big_endian(const uint8_t *p, size_t size)
{
	uint64_t v = 0;

	for (size_t i = 0; i < size; i++)
		v = v << 8 | p[i];
	return v;
}

struct head {
	enum major major;
	uint8_t more; /* low bits of the first byte */
	uint64_t value;
};

static bool read_head(struct in *in, struct head *ret)
{
	if (in->at == in->end)
		return false;
	uint8_t first = *in->at++;
	*ret = (struct head){ (enum major)(first >> 5), first & 31, first & 31 };
	if (ret->more < 24)
		return true;
	if (ret->more == INDEFINITE)
		return ret->major == ARRAY || ret->major == MAP || ret->major == SIMPLE;
	if (ret->more > SIZE_64)
		return false;
	size_t size = (size_t)1 << (ret->more - 24);
	if ((size_t)(in->end - in->at) < size)
		return false;
	ret->value = big_endian(in->at, size);
	in->at += size;
	return true;
}

static bool take(struct in *in, uint64_t len, struct th_str *ret)
{
	if (len > (uint64_t)(in->end - in->at))
		return false;
	*ret = th_str_n((const char *)in->at, (size_t)len);
	in->at += len;
	return true;
}

/* Where an envelope ends that begins here; NULL: none does, or it is cut off. */
static const uint8_t *envelope_end(const struct in *in)
{
	size_t size =
	    th_cbor_message_size(th_str_n((const char *)in->at, (size_t)(in->end - in->at)));

	return size > 0 && size <= (size_t)(in->end - in->at) ? in->at + size : NULL;
}

/* A text or a member's name in UTF-16, little endian. */
static void write_wide(struct in *in, struct th_str bytes,
		       void (*write)(struct th_jw *w, struct th_str s))
{
	const uint8_t *p = (const uint8_t *)bytes.ptr;
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);

	for (size_t i = 0; i + 1 < bytes.len; i += 2) {
		uint32_t c = (uint32_t)(p[i] | p[i + 1] << 8);
		uint32_t low = i + 3 < bytes.len ? (uint32_t)(p[i + 2] | p[i + 3] << 8) : 0;

		if (c >= 0xd800 && c < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
			i += 2;
		} else if (c >= 0xd800 && c < 0xe000) {
			c = 0xfffd; /* half of a pair */
		}
		th_utf8_add(&text, c);
	}
	write(&in->w, th_buf_str(&text));
	in->w.out->failed |= text.failed;
	th_buf_deinit(&text);
}

static void write_base64(struct in *in, struct th_str bytes)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);

	th_base64_encode(&text, bytes.ptr, bytes.len);
	th_jw_str(&in->w, th_buf_str(&text));
	in->w.out->failed |= text.failed;
	th_buf_deinit(&text);
}

static bool read_value(struct in *in);

/* Whether another item follows; takes the end of one that does not say how many it has. */
static bool another(struct in *in, const struct head *h, uint64_t count, bool *ret_bad)
{
	*ret_bad = in->at == in->end && (h->more == INDEFINITE || count < h->value);
	if (h->more != INDEFINITE)
		return count < h->value && !*ret_bad;
	if (!*ret_bad && *in->at == BREAK_BYTE) {
		in->at++;
		return false;
	}
	return !*ret_bad;
}

static bool read_array(struct in *in, const struct head *h)
{
	bool bad = false;

	th_jw_array(&in->w);
	for (uint64_t i = 0; another(in, h, i, &bad); i++)
		if (!read_value(in))
			return false;
	th_jw_array_end(&in->w);
	return !bad;
}

static bool is_cut(const struct in *in, struct th_str name)
{
	for (size_t i = 0; in->cuts && in->cut->names[i]; i++)
		if (th_str_is(name, in->cut->names[i]))
			return true;
	return false;
}

/* A member's value; `name` may be where the cuts begin. */
static bool read_member(struct in *in, struct th_str name)
{
	bool cuts = in->cuts;

	in->cuts = cuts || (in->cut && in->depth == CUT_DEPTH && th_str_is(name, in->cut->in));
	bool good = read_value(in);
	in->cuts = cuts;
	return good;
}

static bool is_text(const struct head *h)
{
	return h->major == TEXT || (h->major == BYTES && h->value % 2 == 0);
}

static bool read_map(struct in *in, const struct head *h)
{
	struct head key;
	struct th_str name;
	bool bad = false;

	th_jw_object(&in->w);
	for (uint64_t i = 0; another(in, h, i, &bad); i++) {
		if (!read_head(in, &key) || !take(in, key.value, &name) || !is_text(&key))
			return false;
		const uint8_t *end = is_cut(in, name) ? envelope_end(in) : NULL;
		if (end) {
			in->at = end;
			continue;
		}
		if (key.major == BYTES)
			write_wide(in, name, th_jw_key);
		else
			th_jw_key(&in->w, name);
		if (!read_member(in, name))
			return false;
	}
	th_jw_object_end(&in->w);
	return !bad;
}

/* An envelope holds one value and nothing behind it. */
static bool read_envelope(struct in *in, struct th_str inside)
{
	const uint8_t *end = in->end;

	in->at -= inside.len;
	in->end = in->at + inside.len;
	bool good = read_value(in) && in->at == in->end;
	in->end = end;
	return good;
}

static bool read_tagged(struct in *in, const struct head *tag)
{
	struct head h;
	struct th_str bytes;

	if ((tag->value != TAG_CBOR && tag->value != TAG_BASE64) || !read_head(in, &h) ||
	    h.major != BYTES || !take(in, h.value, &bytes))
		return false;
	if (tag->value == TAG_CBOR)
		return read_envelope(in, bytes);
	write_base64(in, bytes);
	return true;
}

static bool read_simple(struct in *in, const struct head *h)
{
	double number;

	_Static_assert(sizeof(number) == sizeof(h->value), "a double has 64 bits");
	switch (BYTE(SIMPLE, h->more)) {
	case FALSE_BYTE:
	case TRUE_BYTE:
		th_jw_bool(&in->w, BYTE(SIMPLE, h->more) == TRUE_BYTE);
		return true;
	case NULL_BYTE:
		th_jw_null(&in->w);
		return true;
	case DOUBLE_BYTE:
		memcpy(&number, &h->value, sizeof(number));
		th_jw_real(&in->w, number);
		return true;
	default:
		return false;
	}
}

static bool read_negative(struct in *in, const struct head *h)
{
	if (h->value > INT64_MAX)
		return false;
	th_jw_int(&in->w, -1 - (int64_t)h->value);
	return true;
}

static bool read_item(struct in *in, const struct head *h)
{
	struct th_str bytes;

	switch (h->major) {
	case UNSIGNED:
		th_jw_uint(&in->w, h->value);
		return true;
	case NEGATIVE:
		return read_negative(in, h);
	case BYTES:
		if (!is_text(h) || !take(in, h->value, &bytes))
			return false;
		write_wide(in, bytes, th_jw_str);
		return true;
	case TEXT:
		if (!take(in, h->value, &bytes))
			return false;
		th_jw_str(&in->w, bytes);
		return true;
	case ARRAY:
		return read_array(in, h);
	case MAP:
		return read_map(in, h);
	case TAG:
		return read_tagged(in, h);
	case SIMPLE:
		return read_simple(in, h);
	}
	return false;
}

static bool read_value(struct in *in)
{
	struct head h;

	/* An envelope counts as the map or array that it holds. */
	if (in->depth > 2 * TH_JSON_DEPTH_MAX || !read_head(in, &h))
		return false;
	in->depth++;
	bool good = read_item(in, &h);
	in->depth--;
	return good;
}

enum th_code th_cbor_to_json(struct th_str cbor, const struct th_cbor_cut *cut, struct th_buf *out,
			     struct th_err *err)
{
	struct in in = { .at = (const uint8_t *)cbor.ptr,
			 .end = (const uint8_t *)cbor.ptr + cbor.len,
			 .cut = cut,
			 .w = th_jw(out) };

	if (!read_value(&in) || in.at != in.end)
		return th_fail(err, TH_EPROTO, "it is no CBOR as a browser writes it");
	return th_buf_check(out, "a message", err);
}

size_t th_cbor_message_size(struct th_str bytes)
{
	const uint8_t *p = (const uint8_t *)bytes.ptr;
	static const uint8_t head[] = { BYTE(TAG, 24), TAG_CBOR, BYTE(BYTES, SIZE_32) };

	for (size_t i = 0; i < sizeof(head) && i < bytes.len; i++)
		if (p[i] != head[i])
			return SIZE_MAX;
	if (bytes.len < TH_CBOR_ENVELOPE_SIZE)
		return 0;
	return TH_CBOR_ENVELOPE_SIZE + (size_t)big_endian(p + sizeof(head), 4);
}

/* ---- from JSON ---- */

static void add_big_endian(struct th_buf *out, uint64_t v, size_t size)
{
	for (size_t i = size; i-- > 0;)
		th_buf_add_char(out, (char)(uint8_t)(v >> 8 * i));
}

static void add_head(struct th_buf *out, enum major major, uint32_t value)
{
	if (value < 24) {
		th_buf_add_char(out, (char)BYTE(major, value));
		return;
	}
	th_buf_add_char(out, (char)BYTE(major, SIZE_32));
	add_big_endian(out, value, 4);
}

static void add_text(struct th_buf *out, struct th_str s)
{
	add_head(out, TEXT, (uint32_t)TH_MIN(s.len, (size_t)UINT32_MAX));
	th_buf_add(out, s);
}

static void add_number(struct th_buf *out, const struct th_json *v)
{
	int64_t whole = th_json_int(v, INT64_MIN);
	double number = th_json_num(v, 0);
	uint64_t bits;

	if (whole >= 0 && whole <= INT32_MAX) {
		add_head(out, UNSIGNED, (uint32_t)whole);
	} else if (whole < 0 && whole >= INT32_MIN) {
		add_head(out, NEGATIVE, (uint32_t)(-1 - whole));
	} else {
		memcpy(&bits, &number, sizeof(bits));
		th_buf_add_char(out, (char)DOUBLE_BYTE);
		add_big_endian(out, bits, sizeof(bits));
	}
}

static void add_all(struct th_buf *out, const struct th_json *v)
{
	struct th_json_iter it = th_json_iter(v);
	bool map = th_json_is_object(v);

	th_buf_add_char(out, (char)BYTE(TAG, 24));
	th_buf_add_char(out, TAG_CBOR);
	th_buf_add_char(out, (char)BYTE(BYTES, SIZE_32));
	size_t at = out->len;
	add_big_endian(out, 0, 4);
	th_buf_add_char(out, (char)BYTE(map ? MAP : ARRAY, INDEFINITE));
	while (th_json_next(&it)) {
		if (map)
			add_text(out, it.key);
		th_cbor_from_json(it.val, out);
	}
	th_buf_add_char(out, (char)BREAK_BYTE);
	if (out->failed)
		return;
	size_t len = out->len - at - 4;
	for (size_t i = 0; i < 4; i++)
		out->ptr[at + i] = (char)(uint8_t)(len >> 8 * (3 - i));
}

void th_cbor_from_json(const struct th_json *v, struct th_buf *out)
{
	switch (th_json_type(v)) {
	case TH_JSON_ABSENT:
	case TH_JSON_NULL:
		th_buf_add_char(out, (char)NULL_BYTE);
		break;
	case TH_JSON_BOOL:
		th_buf_add_char(out, (char)(th_json_bool(v, false) ? TRUE_BYTE : FALSE_BYTE));
		break;
	case TH_JSON_INT:
	case TH_JSON_REAL:
		add_number(out, v);
		break;
	case TH_JSON_STR:
		add_text(out, th_json_str(v));
		break;
	case TH_JSON_ARRAY:
	case TH_JSON_OBJECT:
		add_all(out, v);
		break;
	}
}
