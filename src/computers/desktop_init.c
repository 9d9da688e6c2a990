/* SPDX-License-Identifier: Apache-2.0 */
/*
 * desktop_init.c - the process inside a desktop that starts and ends all
 * others: Xvfb, the window manager, a message bus when somebody wants one, and
 * the commands that th_desktop_prefix asks for.  One thread, one poll loop.
 *
 * It runs with the rights of the programs themselves, so whoever takes it over
 * has won nothing.  It ends when Xvfb ends or the display process is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "computers/desktop.h"
#include "io/clock.h"
#include "io/files.h"

#define WM_STARTS_MAX 5
#define REQUEST_MS 2000 /* to read a whole request */
#define TEARDOWN_MS 2000
#define ENV_MAX 16

struct job {
	int conn;
	pid_t pid; /* 0: free slot */
};

/* A message bus that is started when the first one connects to it. */
enum bus_kind { BUS_SESSION, BUS_TREE, BUS_COUNT };

static const struct {
	const char *name, *variable, *config; /* config: a file, or an option of dbus-daemon */
} bus_kinds[BUS_COUNT] = {
	[BUS_SESSION] = { "bus", "DBUS_SESSION_BUS_ADDRESS", "--session" },
	/* Of the programs' accessibility: where it is there, they tell what is in their windows. */
	[BUS_TREE] = { "at-spi", "AT_SPI_BUS_ADDRESS",
		       "--config-file=/usr/share/defaults/at-spi2/accessibility.conf" },
};

struct bus {
	char path[352];
	int fd; /* listening, until the daemon has it; -1 */
	bool there;
	pid_t pid;
};

struct init {
	struct th_desktop_config config;
	char home[320], run[320], authority[352];
	struct bus buses[BUS_COUNT];
	char env_text[ENV_MAX][512];
	char *env[ENV_MAX + 1];
	size_t env_count;
	char *search; /* PATH of env */
	pid_t xvfb, wm;
	int wm_starts;
	int signal_fd, ready_fd; /* -1: none */
	int number;              /* of the display; -1: not known yet */
	char ready[16]; /* what Xvfb has written of its number so far: digits, then a newline */
	size_t ready_len;
	struct job jobs[TH_DESKTOP_JOBS_MAX];
};

/* Few bindings: nothing an agent hits by chance may hide its windows or change the desktop. */
static const char wm_config[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<openbox_config xmlns=\"http://openbox.org/3.4/rc\">\n"
    "<focus><focusNew>yes</focusNew><focusLast>yes</focusLast></focus>\n"
    "<placement><policy>Smart</policy><center>yes</center></placement>\n"
    "<theme><name>Clearlooks</name><titleLayout>NLMC</titleLayout>"
    "<animateIconify>no</animateIconify></theme>\n"
    "<desktops><number>1</number><popupTime>0</popupTime></desktops>\n"
    "<resize><drawContents>yes</drawContents><popupShow>Never</popupShow></resize>\n"
    "<keyboard>"
    "<keybind key=\"A-F4\"><action name=\"Close\"/></keybind>"
    "<keybind key=\"A-Tab\"><action name=\"NextWindow\"/></keybind>"
    "<keybind key=\"A-S-Tab\"><action name=\"PreviousWindow\"/></keybind>"
    "</keyboard>\n"
    "<mouse><dragThreshold>8</dragThreshold><doubleClickTime>400</doubleClickTime>\n"
    "<context name=\"Frame\">"
    "<mousebind button=\"A-Left\" action=\"Press\"><action name=\"Focus\"/><action "
    "name=\"Raise\"/></mousebind>"
    "<mousebind button=\"A-Left\" action=\"Drag\"><action name=\"Move\"/></mousebind>"
    "</context>\n"
    "<context name=\"Titlebar\">"
    "<mousebind button=\"Left\" action=\"Drag\"><action name=\"Move\"/></mousebind>"
    "<mousebind button=\"Left\" action=\"DoubleClick\"><action "
    "name=\"ToggleMaximize\"/></mousebind>"
    "</context>\n"
    "<context name=\"Titlebar Top Right Bottom Left TLCorner TRCorner BRCorner BLCorner\">"
    "<mousebind button=\"Left\" action=\"Press\"><action name=\"Focus\"/><action "
    "name=\"Raise\"/></mousebind>"
    "</context>\n"
    "<context name=\"Top\"><mousebind button=\"Left\" action=\"Drag\"><action name=\"Resize\">"
    "<edge>top</edge></action></mousebind></context>\n"
    "<context name=\"Left\"><mousebind button=\"Left\" action=\"Drag\"><action name=\"Resize\">"
    "<edge>left</edge></action></mousebind></context>\n"
    "<context name=\"Right\"><mousebind button=\"Left\" action=\"Drag\"><action name=\"Resize\">"
    "<edge>right</edge></action></mousebind></context>\n"
    "<context name=\"Bottom\"><mousebind button=\"Left\" action=\"Drag\"><action name=\"Resize\">"
    "<edge>bottom</edge></action></mousebind></context>\n"
    "<context name=\"TLCorner TRCorner BRCorner BLCorner\">"
    "<mousebind button=\"Left\" action=\"Drag\"><action name=\"Resize\"/></mousebind></context>\n"
    "<context name=\"Client\">"
    "<mousebind button=\"Left\" action=\"Press\"><action name=\"Focus\"/><action "
    "name=\"Raise\"/></mousebind>"
    "<mousebind button=\"Middle\" action=\"Press\"><action name=\"Focus\"/><action "
    "name=\"Raise\"/></mousebind>"
    "<mousebind button=\"Right\" action=\"Press\"><action name=\"Focus\"/><action "
    "name=\"Raise\"/></mousebind>"
    "</context>\n"
    "<context name=\"Close\"><mousebind button=\"Left\" action=\"Press\"><action "
    "name=\"Focus\"/></mousebind>"
    "<mousebind button=\"Left\" action=\"Click\"><action name=\"Close\"/></mousebind></context>\n"
    "<context name=\"Maximize\"><mousebind button=\"Left\" action=\"Press\"><action "
    "name=\"Focus\"/></mousebind>"
    "<mousebind button=\"Left\" action=\"Click\"><action "
    "name=\"ToggleMaximize\"/></mousebind></context>\n"
    "</mouse>\n"
    "</openbox_config>\n";

/* ---- telling the display process ---- */

static void tell(int32_t kind, int32_t value, const char *text, int fd)
{
	struct th_desktop_note note = { .kind = kind, .value = value };
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec iov = { &note, sizeof(note) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	snprintf(note.text, sizeof(note.text), "%s", text);
	if (fd >= 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	(void)!sendmsg(TH_DESKTOP_CONTROL_FD, &msg, MSG_NOSIGNAL);
}

static int fail(const char *what)
{
	char text[384];

	snprintf(text, sizeof(text), "%.300s: %s", what, strerror(errno));
	tell(TH_DESKTOP_FAILED, 0, text, -1);
	return 1;
}

/* ---- environment and files ---- */

static void add_env(struct init *in, const char *name, const char *value)
{
	assert(in->env_count < ENV_MAX);
	char *text = in->env_text[in->env_count];
	int len = snprintf(text, sizeof(in->env_text[0]), "%s=%s", name, value);
	assert(len > 0 && (size_t)len < sizeof(in->env_text[0]));
	in->env[in->env_count++] = text;
	in->env[in->env_count] = NULL;
}

static void make_env(struct init *in)
{
	char text[384];
	const char *tree = getenv("THOLE_TREE");

	add_env(in, "HOME", in->home);
	add_env(in, "XDG_RUNTIME_DIR", in->run);
	add_env(in, "XAUTHORITY", in->authority);
	add_env(in, "TMPDIR", in->config.plain ? in->config.base : "/tmp");
	snprintf(text, sizeof(text), ":%d", in->number);
	add_env(in, "DISPLAY", text);
	add_env(in, "USER", "agent");
	add_env(in, "LOGNAME", "agent");
	add_env(in, "XDG_SESSION_TYPE", "x11");
	for (int i = 0; i < BUS_COUNT; i++) {
		snprintf(text, sizeof(text), "unix:path=%.350s", in->buses[i].path);
		if (in->buses[i].there)
			add_env(in, bus_kinds[i].variable, text);
	}
	/* Without it Chromium stays away from the bus, whatever its options say. */
	if (in->buses[BUS_TREE].there)
		add_env(in, "ACCESSIBILITY_ENABLED", "1");
	if (tree)
		add_env(in, "THOLE_TREE", tree); /* by which io/child.c finds what we lose */
}

static int put_file(const char *path, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	ssize_t put = write(fd, bytes, len);
	close(fd);
	return put == (ssize_t)len ? 0 : -1;
}

/* For any address and number: there is one display in here. */
static int write_authority(const struct init *in)
{
	static const char name[] = "MIT-MAGIC-COOKIE-1";
	uint8_t entry[128], *p = entry;

	*p++ = 0xff; /* family: any */
	*p++ = 0xff;
	memset(p, 0, 4); /* address and number: empty */
	p += 4;
	*p++ = 0;
	*p++ = sizeof(name) - 1;
	memcpy(p, name, sizeof(name) - 1);
	p += sizeof(name) - 1;
	*p++ = 0;
	*p++ = sizeof(in->config.cookie);
	memcpy(p, in->config.cookie, sizeof(in->config.cookie));
	p += sizeof(in->config.cookie);
	return put_file(in->authority, entry, (size_t)(p - entry));
}

static int make_bus(const struct init *in, enum bus_kind kind, struct bus *bus)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const char *file = strchr(bus_kinds[kind].config, '/');

	if ((access("/usr/bin/dbus-daemon", X_OK) && access("/bin/dbus-daemon", X_OK)) ||
	    (file && access(file, R_OK)))
		return -1;
	snprintf(bus->path, sizeof(bus->path), "%s/%s", in->run, bus_kinds[kind].name);
	if (strlen(bus->path) >= sizeof(a.sun_path))
		return -1;
	memcpy(a.sun_path, bus->path, strlen(bus->path) + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && (bind(fd, (const struct sockaddr *)&a, sizeof(a)) || listen(fd, 64)))
		th_fd_close(&fd);
	return fd;
}

static int make_files(struct init *in)
{
	char path[384];

	snprintf(in->home, sizeof(in->home), "%s/home", in->config.base);
	snprintf(in->run, sizeof(in->run), "%s/run", in->config.base);
	snprintf(in->authority, sizeof(in->authority), "%s/xauthority", in->run);
	umask(022);
	if ((mkdir(in->home, 0700) && errno != EEXIST) ||
	    (mkdir(in->run, 0700) && errno != EEXIST) ||
	    (mkdir("/tmp/.X11-unix", 01777) && errno != EEXIST) ||
	    (mkdir("/tmp/.ICE-unix", 01777) && errno != EEXIST))
		return -1;
	chmod("/tmp/.X11-unix", 01777);
	snprintf(path, sizeof(path), "%s/openbox.xml", in->run);
	if (put_file(path, wm_config, sizeof(wm_config) - 1) || write_authority(in))
		return -1;
	for (int i = 0; i < BUS_COUNT; i++) {
		in->buses[i].fd = make_bus(in, (enum bus_kind)i, &in->buses[i]);
		in->buses[i].there = in->buses[i].fd >= 0;
	}
	return 0;
}

/* ---- starting ---- */

static void become_child(int death_signal)
{
	sigset_t none;

	setsid();
	prctl(PR_SET_PDEATHSIG, death_signal);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* One of our own programs: no input, output into `log` (truncated), environment ours.  `keep` stays
 * open. */
static pid_t start(struct init *in, char *const *argv, const char *log, int keep, int death_signal)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	become_child(death_signal);
	int null_fd = open("/dev/null", O_RDWR),
	    log_fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	dup2(null_fd, 0);
	dup2(log_fd, 1);
	dup2(log_fd, 2);
	if (keep >= 0)
		fcntl(keep, F_SETFD, 0);
	if (chdir(in->home) == 0)
		execvpe(argv[0], argv, in->env);
	_exit(127);
}

static int start_xvfb(struct init *in)
{
	char screen[64], number[16], ready[16], log[384];
	char *argv[24];
	size_t n = 0;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return -1;
	snprintf(screen, sizeof(screen), "%dx%dx24", in->config.width, in->config.height);
	snprintf(number, sizeof(number), ":%d", in->config.number);
	snprintf(ready, sizeof(ready), "%d", fds[1]);
	snprintf(log, sizeof(log), "%s/xvfb.log", in->run);
	argv[n++] = (char[]){ "Xvfb" };
	if (in->config.number >= 0)
		argv[n++] = number;
	argv[n++] = (char[]){ "-displayfd" };
	argv[n++] = ready;
	argv[n++] = (char[]){ "-screen" };
	argv[n++] = (char[]){ "0" };
	argv[n++] = screen;
	argv[n++] = (char[]){ "-auth" };
	argv[n++] = in->authority;
	argv[n++] = (char[]){ "-nolisten" };
	argv[n++] = (char[]){ "tcp" };
	argv[n++] = (char[]){ "-nolisten" };
	argv[n++] = (char[]){
		"local"
	}; /* no abstract socket: with the host's network it would be the host's */
	argv[n++] = (char[]){ "-noreset" };
	argv[n++] = (char[]){ "-dpi" };
	argv[n++] = (char[]){ "96" };
	argv[n++] = (char[]){ "-s" };
	argv[n++] = (char[]){ "0" };
	argv[n] = NULL;
	in->ready_fd = fds[0];
	/* Asked to end, it removes its socket and lock; in a namespace these die anyway. */
	in->xvfb = start(in, argv, log, fds[1], in->config.plain ? SIGTERM : SIGKILL);
	close(fds[1]);
	return in->xvfb > 0 ? 0 : -1;
}

static void start_wm(struct init *in)
{
	char file[384], log[384];
	char *argv[] = { (char[]){ "openbox" }, (char[]){ "--sm-disable" },
			 (char[]){ "--config-file" }, file, NULL };

	if (in->wm_starts++ >= WM_STARTS_MAX)
		return;
	snprintf(file, sizeof(file), "%s/openbox.xml", in->run);
	snprintf(log, sizeof(log), "%s/openbox.log", in->run);
	in->wm = start(in, argv, log, -1, SIGKILL);
}

/* Somebody has connected to the bus: the daemon takes the socket over (as systemd would hand it).
 */
static void start_bus(struct init *in, enum bus_kind kind)
{
	struct bus *bus = &in->buses[kind];
	pid_t pid = fork();

	if (pid == 0) {
		char text[32], log[384];
		snprintf(log, sizeof(log), "%s/dbus-%s.log", in->run, bus_kinds[kind].name);
		become_child(SIGKILL);
		int null_fd = open("/dev/null", O_RDWR);
		int log_fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		dup2(null_fd, 0);
		dup2(log_fd, 1);
		dup2(log_fd, 2);
		dup2(bus->fd, 3);
		for (char **e = in->env; *e; e++)
			putenv(*e);
		snprintf(text, sizeof(text), "%d", (int)getpid());
		setenv("LISTEN_PID", text, 1);
		setenv("LISTEN_FDS", "1", 1);
		execlp("dbus-daemon", "dbus-daemon", bus_kinds[kind].config, "--nofork",
		       "--nopidfile", "--nosyslog", "--address=systemd:", (char *)NULL);
		_exit(127);
	}
	bus->pid = pid;
	th_fd_close(&bus->fd);
}

static void log_tail(const struct init *in, char *text, size_t size)
{
	char path[384], bytes[4096];

	snprintf(path, sizeof(path), "%s/xvfb.log", in->run);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, bytes, sizeof(bytes) - 1) : -1;
	th_fd_close(&fd);
	while (len > 0 && bytes[len - 1] == '\n')
		len--;
	bytes[len > 0 ? len : 0] = '\0';
	for (ssize_t i = 0; i < len; i++)
		if ((unsigned char)bytes[i] < ' ')
			bytes[i] = ' ';
	size_t used = strlen(bytes), kept = TH_MIN(used, size - 1);
	memcpy(text, bytes + used - kept, kept + 1);
}

/* Xvfb has written its number: a connection for the display process, and the window manager. */
static int on_ready(struct init *in)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t used = TH_MIN(in->ready_len, sizeof(in->ready) - 1);
	ssize_t len = read(in->ready_fd, in->ready + used, sizeof(in->ready) - 1 - used);

	if (len > 0) {
		in->ready_len += (size_t)len;
		if (in->ready[in->ready_len - 1] != '\n')
			return 0; /* it would die of a pipe closed before it has said all */
	}
	th_fd_close(&in->ready_fd);
	if (len <= 0)
		return -1; /* it died: SIGCHLD tells the rest */
	in->number = (int)strtol(in->ready, NULL, 10);
	make_env(in);
	start_wm(in);
	snprintf(a.sun_path, sizeof(a.sun_path), "/tmp/.X11-unix/X%d", in->number);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&a, sizeof(a))) {
		fail("connect to Xvfb");
		th_fd_close(&fd);
		return -1;
	}
	tell(TH_DESKTOP_DISPLAY, in->number, "", fd);
	close(fd);
	return 0;
}

/* ---- commands ---- */

static bool env_is_ours(const struct init *in, const char *entry)
{
	size_t len = strcspn(entry, "=");

	for (size_t i = 0; i < in->env_count; i++)
		if (strncmp(in->env[i], entry, len + 1) == 0)
			return true;
	return false;
}

/* Splits the text of a request; NULL when it is not what its numbers say.  One free() for all. */
static char **split(struct init *in, const struct th_desktop_request *r, char *text,
		    char ***ret_env, const char **ret_cwd)
{
	size_t count = 1 + (size_t)r->argc + r->envc;
	char **list = th_alloc((count + 2 + in->env_count) * sizeof(*list));
	char *at = text, *end = text + r->size;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		char *nul = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;
		if (!nul) {
			free(list);
			return NULL;
		}
		if (i == 0)
			*ret_cwd = at;
		else if (i <= r->argc || !env_is_ours(in, at))
			list[n++] = at;
		at = nul + 1;
		if (i == r->argc) {
			list[n++] = NULL;
			*ret_env = list + n;
		}
	}
	for (size_t i = 0; i < in->env_count; i++)
		list[n++] = in->env[i];
	list[n] = NULL;
	return list;
}

static void set_limits(const struct th_desktop_request *r)
{
	for (int i = 0; i < TH_DESKTOP_LIMITS; i++) {
		struct rlimit have, want = { r->soft[i], r->hard[i] };
		if (getrlimit((__rlimit_resource_t)i, &have))
			continue;
		/* Never more than we have. */
		want.rlim_max = TH_MIN(want.rlim_max, have.rlim_max);
		want.rlim_cur = TH_MIN(want.rlim_cur, want.rlim_max);
		setrlimit((__rlimit_resource_t)i, &want);
	}
}

static _Noreturn void run_command(struct init *in, const struct th_desktop_request *r, char **argv,
				  char **env, const char *cwd, const int fds[static 3],
				  int report_fd)
{
	become_child(SIGKILL);
	for (int i = 0; i < 3; i++) /* they are above 2: our own 0 to 2 are open */
		dup2(fds[i], i);
	if (isatty(0))
		ioctl(0, TIOCSCTTY, 0); /* fails where the other side owns it */
	set_limits(r);
	if ((cwd[0] == '\0' || chdir(cwd)) && chdir(in->home))
		(void)!chdir("/");
	for (char **e = env; *e; e++)
		if (strncmp(*e, "PATH=", 5) == 0)
			setenv("PATH", *e + 5, 1);
	execvpe(argv[0], argv, env);
	int error = errno;
	(void)!write(report_fd, &error, sizeof(error));
	_exit(127);
}

/* The command's process id, or -1 with errno. */
static pid_t start_command(struct init *in, const struct th_desktop_request *r, char *text,
			   const int fds[static 3])
{
	int report[2], error = 0;
	char **env;
	const char *cwd;

	if (r->argc == 0) {
		errno = EINVAL;
		return -1;
	}
	char **argv = split(in, r, text, &env, &cwd);
	if (!argv) {
		errno = EBADMSG;
		return -1;
	}
	if (pipe2(report, O_CLOEXEC)) {
		free(argv);
		return -1;
	}
	pid_t pid = fork();
	if (pid == 0)
		run_command(in, r, argv, env, cwd, fds, report[1]);
	error = pid < 0 ? errno : 0;
	close(report[1]);
	if (pid > 0 && read(report[0], &error, sizeof(error)) == (ssize_t)sizeof(error)) {
		waitpid(pid, NULL, 0);
		pid = -1;
	}
	close(report[0]);
	free(argv);
	errno = error;
	return pid;
}

static bool wait_readable(int fd, uint64_t until_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t now = th_clock_ms();
	return now < until_ms && poll(&p, 1, (int)(until_ms - now)) > 0;
}

static bool read_all(int fd, void *to, size_t len, uint64_t until_ms)
{
	while (len > 0) {
		if (!wait_readable(fd, until_ms))
			return false;
		ssize_t got = read(fd, to, len);
		if (got <= 0)
			return false;
		to = (char *)to + got;
		len -= (size_t)got;
	}
	return true;
}

/* The head of a request comes in one piece, with the descriptors. */
static bool read_head(int conn, struct th_desktop_request *r, int fds[static 3], uint64_t until_ms)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * 8)];
		struct cmsghdr align;
	} control;
	struct iovec iov = { r, sizeof(*r) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };
	size_t count = 0;

	if (!wait_readable(conn, until_ms) ||
	    recvmsg(conn, &msg, MSG_CMSG_CLOEXEC | MSG_WAITALL) != (ssize_t)sizeof(*r))
		return false;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (count < 3)
				fds[count++] = fd;
			else
				close(fd);
		}
	}
	return count == 3 && r->size <= TH_DESKTOP_REQUEST_MAX && r->argc <= r->size &&
	       r->envc <= r->size;
}

static void answer(int conn, int32_t kind, int32_t value)
{
	struct th_desktop_answer a = { kind, value };
	(void)!send(conn, &a, sizeof(a), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static struct job *free_slot(struct init *in)
{
	for (size_t i = 0; i < TH_COUNT(in->jobs); i++)
		if (in->jobs[i].pid == 0)
			return &in->jobs[i];
	return NULL;
}

static void on_request(struct init *in)
{
	uint64_t until = th_clock_ms() + REQUEST_MS;
	struct th_desktop_request r;
	int fds[3] = { -1, -1, -1 };
	struct job *job = free_slot(in);
	int conn = accept4(TH_DESKTOP_LAUNCH_FD, NULL, NULL, SOCK_CLOEXEC);

	if (conn < 0)
		return;
	char *text = NULL;
	pid_t pid = -1;
	bool full = false;
	errno = EBADMSG;
	if (read_head(conn, &r, fds, until)) {
		text = th_alloc((size_t)r.size + 1);
		if (read_all(conn, text, r.size, until)) {
			full = !job; /* said to one who has asked: before that he does not listen */
			pid = full ? -1 : start_command(in, &r, text, fds);
		}
	}
	int error = errno;
	free(text);
	for (int i = 0; i < 3; i++)
		th_fd_close(&fds[i]);
	answer(conn,
	       pid > 0 ? TH_DESKTOP_STARTED
	       : full  ? TH_DESKTOP_FULL
		       : TH_DESKTOP_REFUSED,
	       pid > 0 ? (int32_t)pid : error);
	if (pid <= 0) {
		close(conn);
		return;
	}
	job->conn = conn;
	job->pid = pid;
}

/* A signal for the command, or the end of who wanted it. */
static void on_job(struct job *job)
{
	int32_t signum;
	ssize_t got = recv(job->conn, &signum, sizeof(signum), MSG_DONTWAIT | MSG_WAITALL);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got == (ssize_t)sizeof(signum)) {
		if (signum > 0 && signum < NSIG)
			kill(-job->pid, signum);
		return;
	}
	kill(-job->pid, SIGKILL);
	th_fd_close(&job->conn);
}

/* ---- the end ---- */

/* False: Xvfb is gone. */
static bool reap(struct init *in)
{
	int status;
	pid_t pid;
	bool alive = true;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == in->xvfb) {
			in->xvfb = 0;
			alive = false;
		} else if (pid == in->wm) {
			in->wm = 0;
			start_wm(in);
		}
		for (size_t i = 0; i < BUS_COUNT; i++)
			if (pid == in->buses[i].pid)
				in->buses[i].pid = 0;
		for (size_t i = 0; i < TH_COUNT(in->jobs); i++) {
			struct job *job = &in->jobs[i];
			if (job->pid != pid)
				continue;
			job->pid = 0;
			if (job->conn >= 0)
				answer(job->conn, TH_DESKTOP_EXITED, status);
			th_fd_close(&job->conn);
		}
	}
	return alive;
}

static size_t kill_children(pid_t except)
{
	char path[64], text[4096];
	size_t count = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	th_fd_close(&fd);
	text[len > 0 ? len : 0] = '\0';
	for (char *at = text, *end; *at; at = end) {
		pid_t pid = (pid_t)strtol(at, &end, 10);
		if (end == at)
			break;
		if (pid <= 1 || pid == except)
			continue;
		count++;
		kill(pid, SIGKILL);
	}
	return count;
}

/* What Xvfb leaves when it is killed, if it is its own. */
static void remove_display(int number, pid_t owner)
{
	char path[64], text[32] = "";

	snprintf(path, sizeof(path), "/tmp/.X%d-lock", number);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	ssize_t len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0 || strtol(text, NULL, 10) != owner)
		return;
	unlink(path);
	snprintf(path, sizeof(path), "/tmp/.X11-unix/X%d", number);
	unlink(path);
}

/* Without namespaces nobody cleans up for us.  All that lost their parents are our children now. */
static void tear_down(struct init *in, pid_t xvfb)
{
	uint64_t until = th_clock_ms() + TEARDOWN_MS;

	close(TH_DESKTOP_LAUNCH_FD); /* the next desktop of the session may listen there */
	if (in->xvfb > 0)
		kill(in->xvfb, SIGTERM);
	for (;;) {
		size_t left = kill_children(th_clock_ms() < until ? in->xvfb : 0);
		pid_t pid;
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			if (pid == in->xvfb)
				in->xvfb = 0;
		if ((left == 0 && in->xvfb <= 0) || th_clock_ms() >= until + TEARDOWN_MS)
			break;
		poll(NULL, 0, 2);
	}
	if (in->number >= 0)
		remove_display(in->number, xvfb);
	/* Again, because a process that is ending may still have made a file. */
	for (int tries = 0; tries < 20 && th_dir_remove(in->config.base, NULL) &&
			    access(in->config.base, F_OK) == 0;
	     tries++)
		poll(NULL, 0, 20);
}

/* The display process wants to hear what is in the windows: a connection to the bus that tells.
 * False: it is gone. */
static bool on_order(const struct init *in)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const struct bus *bus = &in->buses[BUS_TREE];
	char order;
	int fd = -1;

	if (recv(TH_DESKTOP_CONTROL_FD, &order, 1, 0) != 1)
		return false;
	if (bus->there) {
		memcpy(a.sun_path, bus->path, strlen(bus->path) + 1);
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, (const struct sockaddr *)&a, sizeof(a)))
			th_fd_close(&fd);
	}
	tell(TH_DESKTOP_TREE, 0, bus->there ? "the bus of accessibility does not answer" : "", fd);
	th_fd_close(&fd);
	return true;
}

/* ---- the loop ---- */

/* False: it is over. */
static bool serve(struct init *in, const struct pollfd *p, size_t fixed)
{
	struct signalfd_siginfo info;

	if (p[0].revents && !on_order(in))
		return false;
	if (p[1].revents) {
		(void)!read(in->signal_fd, &info, sizeof(info));
		if (!reap(in))
			return false;
	}
	if (p[2].revents && on_ready(in))
		return in->number <
		       0; /* Xvfb ended: SIGCHLD follows.  A failed connection is the end. */
	if (p[3].revents)
		on_request(in);
	for (int i = 0; i < BUS_COUNT; i++)
		if (p[4 + i].revents && in->buses[i].fd >= 0)
			start_bus(in, (enum bus_kind)i);
	for (size_t i = 0; i < TH_COUNT(in->jobs); i++)
		if (p[fixed + i].fd >= 0 && p[fixed + i].revents &&
		    in->jobs[i].conn == p[fixed + i].fd)
			on_job(&in->jobs[i]);
	return true;
}

static void loop(struct init *in)
{
	enum { FIXED = 4 + BUS_COUNT };
	struct pollfd p[FIXED + TH_DESKTOP_JOBS_MAX];
	bool more = true;

	while (more) {
		p[0] = (struct pollfd){ .fd = TH_DESKTOP_CONTROL_FD, .events = POLLIN };
		p[1] = (struct pollfd){ .fd = in->signal_fd, .events = POLLIN };
		p[2] = (struct pollfd){ .fd = in->ready_fd, .events = POLLIN };
		p[3] = (struct pollfd){ .fd = in->number >= 0 ? TH_DESKTOP_LAUNCH_FD : -1,
					.events = POLLIN };
		for (int i = 0; i < BUS_COUNT; i++)
			p[4 + i] = (struct pollfd){ .fd = in->buses[i].fd, .events = POLLIN };
		for (size_t i = 0; i < TH_COUNT(in->jobs); i++) {
			const struct job *job = &in->jobs[i];
			p[FIXED + i] =
			    (struct pollfd){ .fd = job->pid ? job->conn : -1, .events = POLLIN };
		}
		if (poll(p, TH_COUNT(p), -1) < 0 && errno != EINTR)
			return;
		more = serve(in, p, FIXED);
	}
}

static int take_config(struct th_desktop_config *config)
{
	ssize_t got = recv(TH_DESKTOP_CONTROL_FD, config, sizeof(*config), 0);

	if (got != (ssize_t)sizeof(*config)) {
		errno = got < 0 ? errno : EBADMSG;
		return -1;
	}
	config->base[sizeof(config->base) - 1] = '\0';
	return 0;
}

int th_desktop_init_main(void)
{
	static struct init in;
	sigset_t set;

	in.signal_fd = in.ready_fd = in.number = -1;
	for (size_t i = 0; i < TH_COUNT(in.jobs); i++)
		in.jobs[i].conn = -1;
	for (int fd = TH_DESKTOP_CONTROL_FD; fd <= TH_DESKTOP_SELF_FD; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	prctl(PR_SET_NAME, "thole-desktop", 0, 0, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	in.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (in.signal_fd < 0 || take_config(&in.config))
		return fail("the desktop's first process");
	if (make_files(&in))
		return fail("make the desktop's folders");
	if (start_xvfb(&in))
		return fail("start Xvfb");
	pid_t xvfb = in.xvfb;
	loop(&in);
	if (in.number < 0) {
		char text[300], log[384];
		log_tail(&in, text, sizeof(text));
		snprintf(log, sizeof(log), "Xvfb did not start: %s",
			 text[0] ? text : "it says nothing");
		tell(TH_DESKTOP_FAILED, 0, log, -1);
	}
	if (in.config.plain)
		tear_down(&in, xvfb);
	return 0;
}
