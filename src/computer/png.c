/* SPDX-License-Identifier: Apache-2.0 */
/*
 * png.c - PNG (ISO/IEC 15948) with one IDAT chunk per band.
 *
 * The zlib stream (RFC 1950) is cut so that no band knows its neighbours: the
 * first IDAT holds the two header bytes, each band's deflate blocks (RFC 1951)
 * end at a byte and refer to nothing before them, and the last IDAT holds an
 * empty final block and the Adler-32 of everything, which is combined from the
 * bands' own sums.  ISA-L writes such blocks; where it is missing, libdeflate
 * writes the whole picture as one band, which is then made anew when a pixel
 * changes.
 *
 * Many bands at once are shared with a helper thread that lives as long as the
 * encoder and sleeps otherwise.  It touches its own lane and the bands it has
 * drawn by number, nothing else.
 */
#include <libdeflate.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#ifdef TH_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif
#ifdef __x86_64__
#include <tmmintrin.h>
#endif

#include "base/limits.h"
#include "computer/image.h"

#define CHUNK_FRAME 12 /* length, type, CRC */
#define ADLER_MOD 65521u
#define SHARED_BANDS_MIN 4 /* fewer are done before a thread wakes up */
#define RAW_SLACK 16       /* rgb_row may write this far behind a row */

struct band {
	uint8_t *chunk; /* the whole IDAT chunk */
	size_t size, cap;
	size_t raw_size;
	uint32_t adler;
};

/* What one thread needs to encode a band. */
struct lane {
	uint8_t *raw; /* filter bytes and RGB of one band */
	uint8_t *deflated;
	size_t deflated_cap;
#ifdef TH_HAVE_ISAL
	struct isal_zstream *stream; /* too large for a stack */
	uint8_t *level_buf;
#else
	struct libdeflate_compressor *compressor;
#endif
};

enum { LANES = 2 };

struct th_png {
	struct th_size size;
	struct band *bands;
	int32_t count, rows; /* of bands; per band */
	bool whole;          /* all bands hold what `seen` shows */
	uint8_t *seen;       /* pixels of the last picture */
	struct lane lanes[LANES];
	struct th_buf out;
	/* The round of work that both threads take part in; written before it starts. */
	const struct th_pixels *image;
	const bool *stale;
	int32_t next;         /* band to draw; atomic */
	bool changed, failed; /* atomic */
	/* The helper. */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake, done;
	bool has_thread, ending, working; /* under lock */
};

static void put32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

/* The Adler-32 of a string and a second one after it, of len2 bytes. */
static uint32_t adler_join(uint32_t a, uint32_t b, size_t len2)
{
	uint32_t rem = (uint32_t)(len2 % ADLER_MOD);
	uint32_t a1 = a & 0xffff, a2 = a >> 16, b1 = b & 0xffff, b2 = b >> 16;
	uint32_t s1 = (a1 + b1 + ADLER_MOD - 1) % ADLER_MOD;
	uint64_t s2 = (uint64_t)rem * (a1 + ADLER_MOD - 1) + a2 + b2;
	return (uint32_t)(s2 % ADLER_MOD) << 16 | s1;
}

/* Writes a chunk around `len` bytes of data at to + 8; returns its size. */
static size_t chunk_close(uint8_t *to, const char type[static 4], size_t len)
{
	put32(to, (uint32_t)len);
	memcpy(to + 4, type, 4);
	put32(to + 8 + len, libdeflate_crc32(0, to + 4, len + 4));
	return len + CHUNK_FRAME;
}

static void add_chunk(struct th_buf *out, const char type[static 4], const void *data, size_t len)
{
	uint8_t chunk[32 + CHUNK_FRAME];
	assert(len <= 32);
	if (len > 0)
		memcpy(chunk + 8, data, len);
	th_buf_add_mem(out, chunk, chunk_close(chunk, type, len));
}

#ifdef __x86_64__
/* Four pixels at a time; each store's last four bytes are written again by the next. */
__attribute__((target("ssse3"))) static int32_t rgb_part(uint8_t *to, const uint8_t *from,
							 int32_t width)
{
	const __m128i order = _mm_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1);
	int32_t x = 0;

	for (; x + 4 <= width; x += 4, from += 16, to += 12) {
		__m128i p = _mm_loadu_si128((const __m128i *)(const void *)from);
		_mm_storeu_si128((__m128i *)(void *)to, _mm_shuffle_epi8(p, order));
	}
	return x;
}
#endif

static void rgb_row(uint8_t *to, const uint8_t *from, int32_t width)
{
	int32_t x = 0;
#ifdef __x86_64__
	if (__builtin_cpu_supports("ssse3"))
		x = rgb_part(to, from, width);
#endif
	to += (size_t)x * 3;
	from += (size_t)x * 4;
	for (; x < width; x++, from += 4, to += 3) {
		to[0] = from[2];
		to[1] = from[1];
		to[2] = from[0];
	}
}

struct th_png *th_png_new(void)
{
	struct th_png *p = th_alloc(sizeof(*p));
	th_buf_init(&p->out, TH_IMAGE_SIZE_MAX);
	for (int i = 0; i < LANES; i++) {
#ifdef TH_HAVE_ISAL
		p->lanes[i].stream = th_alloc(sizeof(*p->lanes[i].stream));
		p->lanes[i].level_buf = th_alloc(ISAL_DEF_LVL1_DEFAULT);
#else
		p->lanes[i].compressor = libdeflate_alloc_compressor(1);
		assert(p->lanes[i].compressor);
#endif
	}
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	pthread_cond_init(&p->done, NULL);
	return p;
}

static void drop_picture(struct th_png *p)
{
	for (int32_t i = 0; i < p->count; i++)
		free(p->bands[i].chunk);
	free(p->bands);
	free(p->seen);
	p->bands = NULL;
	p->seen = NULL;
	for (int i = 0; i < LANES; i++) {
		free(p->lanes[i].raw);
		free(p->lanes[i].deflated);
		p->lanes[i].raw = p->lanes[i].deflated = NULL;
	}
	p->count = 0;
	p->size = (struct th_size){ 0 };
	p->whole = false;
	th_buf_clear(&p->out);
}

static void end_thread(struct th_png *p)
{
	if (!p->has_thread)
		return;
	pthread_mutex_lock(&p->lock);
	p->ending = true;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
}

struct th_png *th_png_free(struct th_png *p)
{
	if (!p)
		return NULL;
	end_thread(p);
	pthread_cond_destroy(&p->wake);
	pthread_cond_destroy(&p->done);
	pthread_mutex_destroy(&p->lock);
	drop_picture(p);
	th_buf_deinit(&p->out);
	for (int i = 0; i < LANES; i++) {
#ifdef TH_HAVE_ISAL
		free(p->lanes[i].stream);
		free(p->lanes[i].level_buf);
#else
		libdeflate_free_compressor(p->lanes[i].compressor);
#endif
	}
	free(p);
	return NULL;
}

struct th_str th_png_bytes(const struct th_png *p)
{
	return th_buf_str(&p->out);
}

static void start_picture(struct th_png *p, struct th_size size)
{
	drop_picture(p);
	p->size = size;
#ifdef TH_HAVE_ISAL
	p->rows = TH_PNG_BAND_ROWS;
#else
	p->rows = size.height;
#endif
	p->count = (size.height + p->rows - 1) / p->rows;
	p->bands = th_alloc((size_t)p->count * sizeof(*p->bands));
	p->seen = th_realloc(NULL, (size_t)size.width * 4 * size.height);
	size_t raw = ((size_t)size.width * 3 + 1) * TH_MIN(p->rows, size.height);
	for (int i = 0; i < LANES; i++) {
		struct lane *l = &p->lanes[i];
		l->raw = th_realloc(NULL, raw + RAW_SLACK);
		/* Stored blocks add 5 bytes per 64 KiB; headers and the flush a few more. */
		l->deflated_cap = raw + raw / 8 + 1024 + CHUNK_FRAME;
		l->deflated = th_realloc(NULL, l->deflated_cap);
	}
}

/* raw[0..len) as deflate blocks at to[0..cap); returns their size, 0 on failure. */
static size_t deflate_band(struct lane *l, size_t len, uint8_t *to, size_t cap)
{
#ifdef TH_HAVE_ISAL
	struct isal_zstream *s = l->stream;
	isal_deflate_stateless_init(s);
	s->level = 1;
	s->level_buf = l->level_buf;
	s->level_buf_size = ISAL_DEF_LVL1_DEFAULT;
	s->flush = FULL_FLUSH;
	s->end_of_stream = 0;
	s->next_in = l->raw;
	s->avail_in = (uint32_t)len;
	s->next_out = to;
	s->avail_out = (uint32_t)cap;
	if (isal_deflate_stateless(s) != COMP_OK || s->avail_in > 0)
		return 0;
	return s->total_out;
#else
	return libdeflate_deflate_compress(l->compressor, l->raw, len, to, cap);
#endif
}

/* Encodes what `seen` shows of band `i`.  *ret_changed: its bytes are not what they were. */
static bool encode_band(const struct th_png *p, struct lane *l, int32_t i, bool *ret_changed)
{
	struct band *b = &p->bands[i];
	int32_t top = i * p->rows;
	int32_t rows = TH_MIN(p->rows, p->size.height - top);
	size_t line = (size_t)p->size.width * 3 + 1;

	for (int32_t y = 0; y < rows; y++) {
		uint8_t *to = l->raw + (size_t)y * line;
		*to = 0; /* filter none */
		rgb_row(to + 1, p->seen + (size_t)(top + y) * p->size.width * 4, p->size.width);
	}
	b->raw_size = line * (size_t)rows;
	b->adler = libdeflate_adler32(1, l->raw, b->raw_size);
	size_t len = deflate_band(l, b->raw_size, l->deflated + 8, l->deflated_cap - CHUNK_FRAME);
	if (len == 0)
		return false;
	size_t size = chunk_close(l->deflated, "IDAT", len);
	*ret_changed = size != b->size || memcmp(l->deflated, b->chunk, size) != 0;
	if (!*ret_changed)
		return true;
	if (size > b->cap) {
		b->cap = size + size / 8;
		b->chunk = th_realloc(b->chunk, b->cap);
	}
	memcpy(b->chunk, l->deflated, size);
	b->size = size;
	return true;
}

/* Takes the band's new pixels over; false: they are what was there. */
static bool take_band(const struct th_png *p, int32_t i, const struct th_pixels *image)
{
	int32_t top = i * p->rows, end = TH_MIN(top + p->rows, p->size.height);
	size_t line = (size_t)p->size.width * 4;
	bool differs = !p->whole;

	for (int32_t y = top; y < end; y++) {
		uint8_t *seen = p->seen + (size_t)y * line;
		const uint8_t *now = th_pixels_row(image, y);
		if (!differs && memcmp(seen, now, line) == 0)
			continue;
		differs = true;
		memcpy(seen, now, line);
	}
	return differs;
}

static enum th_code write_file(struct th_png *p, struct th_err *err)
{
	static const uint8_t signature[8] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
	uint8_t head[13] = { [8] = 8 /* bits */, [9] = 2 /* RGB */ };
	uint8_t tail[6] = { 0x03, 0x00 }; /* an empty final block with fixed codes */
	size_t tail_len = 2;
	uint32_t adler = 1;

	th_buf_clear(&p->out);
	put32(head, (uint32_t)p->size.width);
	put32(head + 4, (uint32_t)p->size.height);
	th_buf_add_mem(&p->out, signature, sizeof(signature));
	add_chunk(&p->out, "IHDR", head, sizeof(head));
	add_chunk(&p->out, "IDAT", "\x78\x01", 2);
	for (int32_t i = 0; i < p->count; i++) {
		const struct band *b = &p->bands[i];
		th_buf_add_mem(&p->out, b->chunk, b->size);
		adler = adler_join(adler, b->adler, b->raw_size);
	}
#ifdef TH_HAVE_ISAL
	const uint8_t *from = tail;
#else
	const uint8_t *from = tail + 2; /* libdeflate's last block was the final one */
	tail_len = 0;
#endif
	put32(tail + 2, adler);
	add_chunk(&p->out, "IDAT", from, tail_len + 4);
	add_chunk(&p->out, "IEND", NULL, 0);
	return th_buf_check(&p->out, "the PNG picture", err);
}

/* Whether any TH_PNG_BAND_ROWS band that band `i` covers is stale. */
static bool band_stale(const struct th_png *p, int32_t i, const bool *stale)
{
	if (!stale || !p->whole)
		return true;
	int32_t end = TH_MIN((i + 1) * p->rows, p->size.height);
	for (int32_t y = i * p->rows; y < end; y += TH_PNG_BAND_ROWS)
		if (stale[y / TH_PNG_BAND_ROWS])
			return true;
	return false;
}

/* Draws bands until there are no more. */
static void work(struct th_png *p, struct lane *l)
{
	for (;;) {
		int32_t i = __atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED);
		bool changed = false;
		if (i >= p->count)
			return;
		if (!band_stale(p, i, p->stale) || !take_band(p, i, p->image))
			continue;
		if (!encode_band(p, l, i, &changed))
			__atomic_store_n(&p->failed, true, __ATOMIC_RELAXED);
		if (changed)
			__atomic_store_n(&p->changed, true, __ATOMIC_RELAXED);
	}
}

static void *help(void *ctx)
{
	struct th_png *p = ctx;

	pthread_mutex_lock(&p->lock);
	while (!p->ending) {
		if (!p->working) {
			pthread_cond_wait(&p->wake, &p->lock);
			continue;
		}
		pthread_mutex_unlock(&p->lock);
		work(p, &p->lanes[1]);
		pthread_mutex_lock(&p->lock);
		p->working = false;
		pthread_cond_signal(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* False: there is no helper; one thread does it all. */
static bool wake_helper(struct th_png *p)
{
	if (!p->has_thread) {
		sigset_t all, old;
		sigfillset(&all); /* signals are for the main thread */
		pthread_sigmask(SIG_SETMASK, &all, &old);
		p->has_thread = pthread_create(&p->thread, NULL, help, p) == 0;
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		if (!p->has_thread)
			return false;
	}
	pthread_mutex_lock(&p->lock);
	p->working = true;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
	return true;
}

static void await_helper(struct th_png *p)
{
	pthread_mutex_lock(&p->lock);
	while (p->working)
		pthread_cond_wait(&p->done, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

static void encode_bands(struct th_png *p, const struct th_pixels *image, const bool *stale)
{
	int32_t todo = 0;

	p->image = image;
	p->stale = stale;
	p->next = 0;
	p->changed = !p->whole;
	p->failed = false;
	for (int32_t i = 0; i < p->count; i++)
		todo += band_stale(p, i, stale);
	bool helped = todo >= SHARED_BANDS_MIN && wake_helper(p);
	work(p, &p->lanes[0]);
	if (helped)
		await_helper(p);
	p->image = NULL;
	p->stale = NULL;
}

enum th_code th_png_encode(struct th_png *p, const struct th_pixels *image, const bool *stale,
			   bool *ret_changed, struct th_err *err)
{
	enum th_code code = th_image_check(image->size, err);
	if (code)
		return code;
	if (image->size.width != p->size.width || image->size.height != p->size.height)
		start_picture(p, image->size);
	encode_bands(p, image, stale);
	if (p->failed)
		code = th_fail(err, TH_EIO, "the deflate library could not compress the picture");
	else if (p->changed)
		code = write_file(p, err);
	p->whole = code == TH_OK;
	if (!code)
		*ret_changed = p->changed;
	return code;
}
