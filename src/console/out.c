/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out.c - sentences, numbers and words, as people read them.
 */
#include "console/console.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/shell.h"
#include "base/text.h"
#include "io/clock.h"
#include "io/detach.h"

/* ---- errors and output ---- */

bool th_cli_write(int fd, struct th_str text)
{
	while (text.len > 0) {
		ssize_t n = write(fd, text.ptr, text.len);

		if (n >= 0) {
			text = th_str_sub(text, (size_t)n, text.len);
		} else if (errno == EAGAIN) {
			struct pollfd p = { fd, POLLOUT, 0 };

			(void)poll(&p, 1, -1);
		} else if (errno != EINTR) {
			return false;
		}
	}
	return true;
}

int th_cli_print(const struct th_buf *text, int exit_code)
{
	if (th_cli_write(STDOUT_FILENO, th_buf_str(text)) && !text->failed)
		return exit_code;
	return th_cli_die(1, "cannot write to standard output: %s",
			  text->failed ? "too long" : strerror(errno));
}

const char *th_cli_self(void)
{
	static char path[TH_PATH_LEN_MAX];

	return th_program_self(path);
}

int th_cli_fail(const struct th_err *err)
{
	return th_cli_die(th_code_exit(err->code), "%s", err->msg);
}

int th_cli_die(int exit_code, const char *fmt, ...)
{
	struct th_buf text = TH_BUF_INIT(8 * TH_KIB), line = TH_BUF_INIT(8 * TH_KIB);
	va_list ap;

	va_start(ap, fmt);
	th_buf_vprintf(&text, fmt, ap);
	va_end(ap);
	th_buf_add_cstr(&line, "thole: ");
	th_text_line(&line, th_buf_str(&text), 2000);
	th_buf_add_char(&line, '\n');
	(void)th_cli_write(STDERR_FILENO, th_buf_str(&line));
	th_buf_deinit(&text);
	th_buf_deinit(&line);
	return exit_code;
}

bool th_cli_terminal(int fd)
{
	return isatty(fd);
}

bool th_cli_colour(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

size_t th_cli_columns(int fd)
{
	struct winsize size = {};

	return isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* ---- what people read ---- */

void th_cli_size(struct th_buf *out, int64_t bytes)
{
	if (bytes < 1000)
		th_buf_printf(out, "%lld bytes", (long long)bytes);
	else if (bytes < 1000 * 1000)
		th_buf_printf(out, "%.1f KB", (double)bytes / 1e3);
	else
		th_buf_printf(out, "%.1f MB", (double)bytes / 1e6);
}

void th_cli_time(struct th_buf *out, int64_t ms)
{
	int64_t s = ms / 1000;

	if (ms < 100)
		th_buf_printf(out, "%lld ms", (long long)ms);
	else if (s < 60)
		th_buf_printf(out, "%.1f s", (double)ms / 1e3);
	else if (s < 3600)
		th_buf_printf(out, "%lld min %lld s", (long long)(s / 60), (long long)(s % 60));
	else
		th_buf_printf(out, "%lld h %lld min", (long long)(s / 3600),
			      (long long)(s / 60 % 60));
}

void th_cli_for_programs(const char *program, const char *page)
{
	if (th_cli_terminal(STDIN_FILENO))
		(void)th_cli_die(0,
				 "waits for the messages of %s, which begins it by itself (%s); "
				 "Ctrl-C ends it",
				 program, page);
}

void th_cli_cost(struct th_buf *out, int64_t nano)
{
	th_buf_printf(out, nano < 1000000000 ? "$%.4f" : "$%.2f", (double)nano / 1e9);
}

void th_cli_number(struct th_buf *out, int64_t n)
{
	if (n < 10000)
		th_buf_printf(out, "%lld", (long long)n);
	else if (n < 10000000)
		th_buf_printf(out, "%.1fk", (double)n / 1e3);
	else
		th_buf_printf(out, "%.1fM", (double)n / 1e6);
}

void th_cli_count(struct th_buf *out, int64_t n, const char *what)
{
	th_buf_printf(out, "%lld %s%s", (long long)n, what, n == 1 ? "" : "s");
}

void th_cli_ago(struct th_buf *out, int64_t unix_ms)
{
	int64_t s = ((int64_t)th_clock_wall_ms() - unix_ms) / 1000;

	if (s < 5)
		th_buf_add_cstr(out, "now");
	else if (s < 60)
		th_buf_printf(out, "%lld s ago", (long long)s);
	else if (s < 3600)
		th_buf_printf(out, "%lld min ago", (long long)(s / 60));
	else if (s < 2 * 86400)
		th_buf_printf(out, "%lld h ago", (long long)(s / 3600));
	else
		th_buf_printf(out, "%lld days ago", (long long)(s / 86400));
}

struct th_str th_cli_user(void)
{
	static char number[24];
	const char *name = getlogin();
	const struct passwd *user = name && *name ? NULL : getpwuid(getuid());

	if (name && *name)
		return th_str_of(name);
	if (user && *user->pw_name)
		return th_str_of(user->pw_name);
	snprintf(number, sizeof(number), "user %lu", (unsigned long)getuid());
	return th_str_of(number);
}

/* ---- commands to type ---- */

void th_cli_word(struct th_buf *out, struct th_str text)
{
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(out->max);
	struct th_str word;
	bool plain = text.len > 0;

	th_text_line(&line, text, out->max);
	word = th_buf_str(&line);

	for (size_t i = 0; i < word.len && plain; i++) {
		char c = word.ptr[i];

		plain = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
			(c && strchr("_./:=@%+,-", c));
	}
	if (plain) {
		th_buf_add(out, word);
		return;
	}
	th_shell_word(word, out);
}

/* What is shown of it is all of it. */
static bool shows(struct th_str name)
{
	if (!name.len || name.len > TH_PATH_LEN_MAX || th_utf8_valid(name) != name.len)
		return false;
	for (size_t i = 0; i < name.len; i++)
		if ((unsigned char)name.ptr[i] < ' ' || name.ptr[i] == 0x7f)
			return false;
	return true;
}

const char *th_cli_program(void)
{
	static struct th_buf word = TH_BUF_INIT(5 * TH_PATH_LEN_MAX);
	struct th_str name = th_str_of(program_invocation_name);

	th_buf_clear(&word);
	if (shows(name))
		th_cli_word(&word, name);
	return word.len ? word.ptr : "thole";
}
