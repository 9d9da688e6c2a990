/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/terminal.h"

#include <stdlib.h>
#include <vterm.h>

#include "base/limits.h"
#include "base/text.h"

#define ROWS TH_TERMINAL_ROWS
#define COLUMNS TH_TERMINAL_COLUMNS
#define LEAVE_FULL_SCREEN "\033[?1049l"
#define LINE_SIZE (COLUMNS * VTERM_MAX_CHARS_PER_CELL * 4 + 2)

/* What libvterm does not remember of a row. */
struct row {
	bool ended;         /* a newline came there: the next row is another line */
	bool tabs[COLUMNS]; /* a tab began there */
};

struct th_terminal {
	VTerm *vt;
	VTermScreen *screen;
	VTermState *state;
	void (*reply)(void *ctx, struct th_str bytes);
	void *ctx;
	struct row rows[ROWS];
	uint64_t gone;       /* rows that scrolled off */
	uint64_t told_row;   /* counted from the first: told up to there */
	struct th_buf told;  /* of that row */
	struct th_clip clip; /* what scrolled off untold */
	/* Plain lines that the terminal has not seen yet: most of a flood never has to. */
	struct th_buf held, part; /* whole lines; the beginning of another */
	bool plain;               /* no sequence came since it was calm */
	bool exact;               /* nothing is held */
	unsigned passed_over;     /* rows that scroll off, and are told already */
	bool full_screen;
	bool garbled;          /* by bytes that were no text */
	uint64_t fresh, noise; /* bytes; of them no text */
};

/* ---- from cells to text ---- */

typedef int get_cell_fn(const struct th_terminal *t, const void *from, int column,
			VTermScreenCell *ret);

static int cell_of_screen(const struct th_terminal *t, const void *from, int column,
			  VTermScreenCell *ret)
{
	return vterm_screen_get_cell(t->screen,
				     (VTermPos){ .row = *(const int *)from, .col = column }, ret);
}

static int cell_of_list(const struct th_terminal *t, const void *from, int column,
			VTermScreenCell *ret)
{
	(void)t;
	*ret = ((const VTermScreenCell *)from)[column];
	return 1;
}

static bool is_blank(const VTermScreenCell *c)
{
	return c->chars[0] == 0;
}

/* A tab stands for the blanks up to the next stop, unless something was written there. */
static int tab_end(const struct th_terminal *t, const void *from, get_cell_fn *get, int column)
{
	int end = (column / 8 + 1) * 8;
	VTermScreenCell c;

	for (int i = column; i < end && i < COLUMNS; i++)
		if (!get(t, from, i, &c) || !is_blank(&c))
			return 0;
	return end;
}

/* Appends a row; true: it goes on in the next one. */
static bool put_row(const struct th_terminal *t, const struct row *r, const void *from,
		    get_cell_fn *get, struct th_buf *out)
{
	size_t solid = out->len; /* up to the last thing that was written */
	VTermScreenCell c = { 0 };
	bool last_used = false;

	for (int column = 0; column < COLUMNS; column++) {
		int end = r->tabs[column] ? tab_end(t, from, get, column) : 0;

		if (end > 0) {
			th_buf_add_char(out, '\t');
			column = end - 1;
			continue;
		}
		if (!get(t, from, column, &c))
			break;
		if (c.chars[0] == (uint32_t)-1) /* the second half of a wide one */
			continue;
		if (is_blank(&c)) {
			th_buf_add_char(out, ' ');
			continue;
		}
		for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && c.chars[i]; i++)
			th_utf8_add(out, c.chars[i]);
		solid = out->len;
		last_used = column + (c.width > 1 ? 2 : 1) >= COLUMNS;
	}
	/* Tabs at the end were written, though nothing is to be seen. */
	while (solid < out->len && out->ptr[solid] == '\t')
		solid++;
	th_buf_truncate(out, solid);
	return last_used && !r->ended;
}

/* ---- what libvterm tells ---- */

static void tell_row(struct th_terminal *t, uint64_t number, struct th_str text, bool goes_on)
{
	/* The start of it was told when it was the last one. */
	if (number == t->told_row && t->told.len > 0) {
		if (!th_str_starts(text, th_buf_str(&t->told)))
			th_clip_add(&t->clip, text);
		else if (text.len > t->told.len)
			th_clip_add(&t->clip, th_str_sub(text, t->told.len, text.len));
		else if (!goes_on)
			return; /* nothing came but its end */
	} else {
		th_clip_add(&t->clip, text);
	}
	if (!goes_on)
		th_clip_add(&t->clip, TH_STR("\n"));
}

static int on_scroll(int columns, const VTermScreenCell *cells, void *user)
{
	struct th_terminal *t = (struct th_terminal *)user;
	TH_CLEANUP(th_buf_deinit) struct th_buf line = TH_BUF_INIT(LINE_SIZE);

	if (t->full_screen)
		return 1;
	if (t->passed_over > 0) {
		t->passed_over--;
	} else if (columns == COLUMNS && t->gone >= t->told_row) {
		bool goes_on = put_row(t, &t->rows[0], cells, cell_of_list, &line);
		tell_row(t, t->gone, th_buf_str(&line), goes_on);
	}
	memmove(&t->rows[0], &t->rows[1], (ROWS - 1) * sizeof(t->rows[0]));
	t->rows[ROWS - 1] = (struct row){ 0 };
	t->gone++;
	return 1;
}

/* What is written above what was told is new: a cleared screen, several progress bars. */
static int on_damage(VTermRect rect, void *user)
{
	struct th_terminal *t = (struct th_terminal *)user;

	/* A whole row is erased: what was remembered of it is, too. */
	for (int row = rect.start_row;
	     row < rect.end_row && row < ROWS && rect.start_col == 0 && rect.end_col >= COLUMNS;
	     row++)
		t->rows[row] = (struct row){ 0 };
	if (!t->full_screen && t->gone + (uint64_t)rect.start_row < t->told_row) {
		t->told_row = t->gone + (uint64_t)rect.start_row;
		th_buf_clear(&t->told);
	}
	return 1;
}

static int on_move(VTermRect to, VTermRect from, void *user)
{
	(void)to;
	(void)from;
	(void)user;
	return 1; /* moved is not damaged */
}

static int on_property(VTermProp property, VTermValue *value, void *user)
{
	struct th_terminal *t = (struct th_terminal *)user;

	if (property == VTERM_PROP_ALTSCREEN)
		t->full_screen = value->boolean;
	return 1;
}

static void on_reply(const char *bytes, size_t len, void *user)
{
	struct th_terminal *t = (struct th_terminal *)user;

	t->reply(t->ctx, th_str_n(bytes, len));
}

static const VTermScreenCallbacks callbacks = {
	.damage = on_damage,
	.moverect = on_move,
	.settermprop = on_property,
	.sb_pushline = on_scroll,
};

struct th_terminal *th_terminal_new(void (*reply)(void *ctx, struct th_str bytes), void *ctx)
{
	struct th_terminal *t = (struct th_terminal *)th_alloc(sizeof(*t));

	t->reply = reply;
	t->ctx = ctx;
	t->vt = vterm_new(ROWS, COLUMNS);
	assert(t->vt);
	vterm_set_utf8(t->vt, 1);
	vterm_output_set_callback(t->vt, on_reply, t);
	t->state = vterm_obtain_state(t->vt);
	t->screen = vterm_obtain_screen(t->vt);
	vterm_screen_set_callbacks(t->screen, &callbacks, t);
	vterm_screen_enable_altscreen(t->screen, 1);
	vterm_screen_reset(t->screen, 1);
	th_buf_init(&t->told, LINE_SIZE);
	th_buf_init(&t->held, TH_TERMINAL_HELD_MAX);
	th_buf_init(&t->part, COLUMNS + 1);
	t->plain = true;
	th_clip_init(&t->clip, TH_TOOL_OUTPUT_MODEL_MAX);
	return t;
}

struct th_terminal *th_terminal_free(struct th_terminal *t)
{
	if (!t)
		return NULL;
	vterm_free(t->vt);
	th_clip_deinit(&t->clip);
	th_buf_deinit(&t->told);
	th_buf_deinit(&t->held);
	th_buf_deinit(&t->part);
	free(t);
	return NULL;
}

/* ---- bytes ---- */

static VTermPos cursor(const struct th_terminal *t)
{
	VTermPos pos;

	vterm_state_get_cursorpos(t->state, &pos);
	return pos;
}

/* A byte that libvterm obeys without a trace that we could ask for afterwards. */
static void feed_special(struct th_terminal *t, char c)
{
	VTermPos before = cursor(t);
	struct row *r = &t->rows[TH_MIN(TH_MAX(before.row, 0), ROWS - 1)];

	if (c == '\n')
		r->ended = true;
	else if (before.col >= 0 && before.col < COLUMNS)
		r->tabs[before.col] = true;
	vterm_input_write(t->vt, &c, 1);
}

static void feed(struct th_terminal *t, struct th_str bytes)
{
	size_t from = 0;

	for (size_t i = 0; i < bytes.len; i++) {
		unsigned char c = (unsigned char)bytes.ptr[i];

		t->noise += (c < 0x20 && (c < '\a' || c > '\r') && c != 0x1b) || c == 0xff;
		if (c != '\n' && c != '\t')
			continue;
		if (i > from)
			vterm_input_write(t->vt, bytes.ptr + from, i - from);
		feed_special(t, (char)c);
		from = i + 1;
	}
	if (bytes.len > from)
		vterm_input_write(t->vt, bytes.ptr + from, bytes.len - from);
}

/*
 * ---- plain lines ----
 *
 * A terminal moves its whole screen at each newline, which costs ten times what
 * the line is worth.  Of many lines without sequences, none longer than a row,
 * all but the first and last ROWS only pass through: when the first ROWS have
 * been printed nothing of before is on the screen, so what follows is told as
 * it stands, and the last ROWS make the screen what it would be.
 */

/* The end of its line in `bytes` at `from`, behind the newline; 0: not plain, too long, or not
 * whole. */
static size_t plain_line(struct th_str bytes, size_t from)
{
	size_t i = from;

	while (i < bytes.len && bytes.ptr[i] >= 0x20 && bytes.ptr[i] < 0x7f)
		i++;
	return i - from <= COLUMNS && i + 1 < bytes.len && bytes.ptr[i] == '\r' &&
		       bytes.ptr[i + 1] == '\n'
		   ? i + 2
		   : 0;
}

/* The rows of the screen, but the last, which is empty, leave it; they scroll off later. */
static void tell_rows(struct th_terminal *t)
{
	struct th_buf line = TH_BUF_INIT(LINE_SIZE);

	for (int row = 0; row < ROWS - 1; row++) {
		th_buf_clear(&line);
		bool goes_on = put_row(t, &t->rows[row], &row, cell_of_screen, &line);
		if (t->gone + (uint64_t)row >= t->told_row)
			tell_row(t, t->gone + (uint64_t)row, th_buf_str(&line), goes_on);
	}
	th_buf_deinit(&line);
}

/* `lines` whole plain lines. */
static void feed_lines(struct th_terminal *t, struct th_str text, size_t lines)
{
	size_t at = 0, n = 0;

	if (lines < 3 * ROWS) {
		feed(t, text);
		return;
	}
	for (; n < ROWS; n++)
		at = plain_line(text, at);
	feed(t, th_str_sub(text, 0, at));
	tell_rows(t);
	for (; n < lines - ROWS; n++) {
		size_t end = plain_line(text, at);

		th_clip_add(&t->clip, th_str_sub(text, at, end - 2 - at));
		th_clip_add(&t->clip, TH_STR("\n"));
		t->gone++;
		at = end;
	}
	t->passed_over = ROWS - 1;
	feed(t, th_str_sub(text, at, text.len));
	assert(t->passed_over == 0);
}

/* What is held is printed. */
static void settle(struct th_terminal *t)
{
	struct th_buf held = t->held, part = t->part;
	size_t lines = 0;

	if (held.len + part.len == 0)
		return;
	th_buf_init(&t->held, TH_TERMINAL_HELD_MAX);
	th_buf_init(&t->part, COLUMNS + 1);
	for (size_t i = 0; i < held.len; i++)
		lines += held.ptr[i] == '\n';
	if (lines)
		feed_lines(t, th_buf_str(&held), lines);
	if (part.len)
		feed(t, th_buf_str(&part));
	th_buf_deinit(&held);
	th_buf_deinit(&part);
}

/* A sequence begins there, or a byte that changes how others are read. */
static bool has_sequence(struct th_str bytes)
{
	return memchr(bytes.ptr, 0x1b, bytes.len) || memchr(bytes.ptr, 0x0e, bytes.len) ||
	       memchr(bytes.ptr, 0x0f, bytes.len);
}

/* The rest may become a plain line with what comes next. */
static bool is_part(struct th_str rest)
{
	size_t i = 0;

	while (i < rest.len && rest.ptr[i] >= 0x20 && rest.ptr[i] < 0x7f)
		i++;
	return i <= COLUMNS && (i == rest.len || (i + 1 == rest.len && rest.ptr[i] == '\r'));
}

static void take_bytes(struct th_terminal *t, struct th_str bytes)
{
	while (bytes.len > 0) {
		size_t end = t->plain ? plain_line(bytes, 0) : 0;
		const char *newline;

		if (end > 0) {
			if (t->held.len + end > TH_TERMINAL_HELD_MAX)
				settle(t);
			th_buf_add(&t->held, th_str_sub(bytes, 0, end));
			bytes = th_str_sub(bytes, end, bytes.len);
			continue;
		}
		if (t->plain && is_part(bytes)) {
			th_buf_add(&t->part, bytes);
			return;
		}
		settle(t);
		newline = memchr(bytes.ptr, '\n', bytes.len);
		end = newline && t->plain ? (size_t)(newline - bytes.ptr) + 1 : bytes.len;
		t->plain &= !has_sequence(th_str_sub(bytes, 0, end));
		feed(t, th_str_sub(bytes, 0, end));
		bytes = th_str_sub(bytes, end, bytes.len);
	}
}

void th_terminal_feed(struct th_terminal *t, struct th_str bytes)
{
	struct th_buf joined;

	t->fresh += bytes.len;
	if (t->exact) {
		feed(t, bytes);
		return;
	}
	if (t->part.len == 0) {
		take_bytes(t, bytes);
		return;
	}
	th_buf_init(&joined, t->part.len + bytes.len);
	th_buf_add(&joined, th_buf_str(&t->part));
	th_buf_add(&joined, bytes);
	th_buf_clear(&t->part);
	take_bytes(t, th_buf_str(&joined));
	th_buf_deinit(&joined);
}

void th_terminal_exact(struct th_terminal *t)
{
	t->exact = true;
}

void th_terminal_calm(struct th_terminal *t)
{
	bool anew;

	settle(t);
	anew = t->full_screen || t->garbled;
	t->plain = true;
	if (t->full_screen) /* a reset leaves the other screen there, which nothing scrolls off */
		vterm_input_write(t->vt, LEAVE_FULL_SCREEN, sizeof(LEAVE_FULL_SCREEN) - 1);
	if (anew)
		vterm_input_write(t->vt, "\u00a0", 2); /* ends one that was cut off */
	vterm_screen_reset(t->screen, anew);
	if (!anew)
		return;
	t->full_screen = t->garbled = false;
	memset(t->rows, 0, sizeof(t->rows));
	t->told_row = t->gone;
	th_buf_clear(&t->told);
}

uint64_t th_terminal_fresh(const struct th_terminal *t)
{
	return t->fresh;
}

/* ---- the screen ---- */

/* The last row that has anything, or the cursor's. */
static int last_row(const struct th_terminal *t)
{
	int row = cursor(t).row;

	for (int i = ROWS - 1; i > row; i--)
		if (!vterm_screen_is_eol(t->screen, (VTermPos){ .row = i, .col = 0 }))
			return i;
	return row;
}

static void tell_screen(struct th_terminal *t)
{
	int last = last_row(t);
	struct th_buf line = TH_BUF_INIT(LINE_SIZE);

	for (int row = 0; row <= last; row++) {
		uint64_t number = t->gone + (uint64_t)row;

		th_buf_clear(&line);
		bool goes_on = put_row(t, &t->rows[row], &row, cell_of_screen, &line);
		if (number >= t->told_row || t->full_screen)
			tell_row(t, t->full_screen ? UINT64_MAX : number, th_buf_str(&line),
				 goes_on || row == last);
	}
	if (!t->full_screen) {
		t->told_row = t->gone + (uint64_t)last;
		th_buf_clear(&t->told);
		th_buf_add(&t->told, th_buf_str(&line));
	}
	th_buf_deinit(&line);
}

uint64_t th_terminal_take(struct th_terminal *t, struct th_buf *out)
{
	size_t start = out->len;
	uint64_t left_out;

	settle(t);
	tell_screen(t);
	left_out = th_clip_text(&t->clip, out);
	while (out->len > start &&
	       (out->ptr[out->len - 1] == '\n' || out->ptr[out->len - 1] == ' '))
		th_buf_truncate(out, out->len - 1);
	if (t->noise > 16 && t->noise > t->fresh / 16) {
		th_buf_truncate(out, start);
		th_buf_printf(out, "[binary output of %llu bytes, not shown]",
			      (unsigned long long)t->fresh);
		left_out = t->fresh;
		t->garbled = true;
	}
	th_clip_deinit(&t->clip);
	th_clip_init(&t->clip, TH_TOOL_OUTPUT_MODEL_MAX);
	t->fresh = t->noise = 0;
	return left_out;
}

void th_terminal_row(struct th_terminal *t, int row, struct th_buf *out)
{
	size_t solid = out->len;
	VTermScreenCell c = { 0 };

	settle(t);
	_Static_assert(TH_TERMINAL_ROW_MAX >= LINE_SIZE, "a row of the fullest cells");
	for (int column = 0; column < COLUMNS && cell_of_screen(t, &row, column, &c); column++) {
		if (c.chars[0] == (uint32_t)-1) /* the second half of a wide one */
			continue;
		if (is_blank(&c)) {
			th_buf_add_char(out, ' ');
			continue;
		}
		for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && c.chars[i]; i++)
			th_utf8_add(out, c.chars[i]);
		solid = out->len;
	}
	th_buf_truncate(out, solid);
}

void th_terminal_cursor(struct th_terminal *t, int32_t *ret_x, int32_t *ret_y)
{
	VTermPos at;

	settle(t);
	at = cursor(t);
	*ret_x = at.col;
	*ret_y = at.row;
}
