/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks_draw.c - numbered marks on a picture: a thin frame round each element,
 * and its number on a plate at the frame's corner.  Digits are our own, 5x7.
 */
#include "computer/marked.h"

#define DIGIT_WIDTH 5
#define DIGIT_HEIGHT 7
#define PLATE_EDGE 2

/* A row of bits for each line, the highest of five is the left one. */
static const uint8_t digits[10][DIGIT_HEIGHT] = {
	{ 14, 17, 19, 21, 25, 17, 14 }, { 4, 12, 4, 4, 4, 4, 14 },  { 14, 17, 1, 2, 4, 8, 31 },
	{ 31, 2, 4, 2, 1, 17, 14 },     { 2, 6, 10, 18, 31, 2, 2 }, { 31, 16, 30, 1, 1, 17, 14 },
	{ 6, 8, 16, 30, 17, 17, 14 },   { 31, 1, 2, 4, 8, 8, 8 },   { 14, 17, 17, 14, 17, 17, 14 },
	{ 14, 17, 17, 15, 1, 2, 12 },
};

/* Blue, green, red; dark enough for white digits, unlike each other. */
static const uint8_t colours[][3] = { { 32, 32, 200 },  { 168, 80, 16 }, { 24, 120, 24 },
				      { 140, 20, 140 }, { 0, 90, 170 },  { 110, 110, 0 } };

static void fill(const struct th_pixels *to, struct th_rect r, const uint8_t colour[static 3])
{
	r = th_rect_clip(r, to->size);
	for (int32_t y = r.y; y < r.y + r.height; y++) {
		uint8_t *p = th_pixels_row(to, y) + (size_t)r.x * 4;

		for (int32_t x = 0; x < r.width; x++, p += 4)
			memcpy(p, colour, 3);
	}
}

static void frame(const struct th_pixels *to, struct th_rect r, const uint8_t colour[static 3])
{
	fill(to, (struct th_rect){ r.x, r.y, r.width, 1 }, colour);
	fill(to, (struct th_rect){ r.x, r.y + r.height - 1, r.width, 1 }, colour);
	fill(to, (struct th_rect){ r.x, r.y, 1, r.height }, colour);
	fill(to, (struct th_rect){ r.x + r.width - 1, r.y, 1, r.height }, colour);
}

static void digit(const struct th_pixels *to, int32_t left, int32_t top, int which, int32_t scale)
{
	static const uint8_t white[3] = { 255, 255, 255 };

	for (int32_t y = 0; y < DIGIT_HEIGHT; y++)
		for (int32_t x = 0; x < DIGIT_WIDTH; x++)
			if (digits[which][y] >> (DIGIT_WIDTH - 1 - x) & 1)
				fill(to,
				     (struct th_rect){ left + x * scale, top + y * scale, scale,
						       scale },
				     white);
}

/* Above the frame's left corner, or inside where there is no room. */
static void plate(const struct th_pixels *to, struct th_rect box, int32_t number, int32_t scale,
		  const uint8_t colour[static 3])
{
	int32_t count = 1;

	for (int32_t rest = number; rest > 9; rest /= 10)
		count++;

	int32_t width = count * (DIGIT_WIDTH + 1) * scale - scale + 2 * PLATE_EDGE;
	int32_t height = DIGIT_HEIGHT * scale + 2 * PLATE_EDGE;
	int32_t left = TH_MAX(TH_MIN(box.x, to->size.width - width), 0);
	int32_t top = box.y >= height ? box.y - height : box.y;

	fill(to, (struct th_rect){ left, top, width, height }, colour);
	for (int32_t i = count; i-- > 0; number /= 10)
		digit(to, left + PLATE_EDGE + i * (DIGIT_WIDTH + 1) * scale, top + PLATE_EDGE,
		      number % 10, scale);
}

static struct th_rect scaled(struct th_rect r, struct th_size from, struct th_size to)
{
	struct th_point a = { r.x, r.y }, b = { r.x + r.width - 1, r.y + r.height - 1 };

	a = th_point_map(a, from, to);
	b = th_point_map(b, from, to);
	return (struct th_rect){ a.x, a.y, b.x - a.x + 1, b.y - a.y + 1 };
}

void th_marks_draw(const struct th_marks *m, struct th_size screen, const struct th_pixels *to)
{
	int32_t scale = to->size.height > 1600 ? 3 : to->size.height > 600 ? 2 : 1;

	for (size_t i = 0; i < m->count; i++)
		frame(to, scaled(m->list[i].box, screen, to->size),
		      colours[(size_t)m->list[i].number % TH_COUNT(colours)]);
	for (size_t i = 0; i < m->count; i++)
		plate(to, scaled(m->list[i].box, screen, to->size), m->list[i].number, scale,
		      colours[(size_t)m->list[i].number % TH_COUNT(colours)]);
}
