/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init_start.c - what a desktop is made of: folders, environment, Xvfb, the
 * window manager, and a message bus when somebody wants one.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/limits.h"
#include "desktop/init.h"
#include "io/files.h"

#define WM_STARTS_MAX 5

static const struct {
	const char *name, *variable, *config; /* config: a file, or an option of dbus-daemon */
} bus_kinds[TH_DESKTOP_BUS_COUNT] = {
	[TH_DESKTOP_BUS_SESSION] = { "bus", "DBUS_SESSION_BUS_ADDRESS", "--session" },
	/* Of the programs' accessibility: where it is there, they tell what is in their windows. */
	[TH_DESKTOP_BUS_TREE] = { "at-spi", "AT_SPI_BUS_ADDRESS",
				  "--config-file=/usr/share/defaults/at-spi2/accessibility.conf" },
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

void th_desktop_init_tell(int32_t kind, int32_t value, const char *text, int fd)
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

int th_desktop_init_fail(const char *what)
{
	char text[384];

	snprintf(text, sizeof(text), "%.300s: %s", what, strerror(errno));
	th_desktop_init_tell(TH_DESKTOP_FAILED, 0, text, -1);
	return 1;
}

/* ---- environment and files ---- */

static void add_env(struct th_desktop_init *in, const char *name, const char *value)
{
	assert(in->env_count < TH_DESKTOP_ENV_MAX);
	char *text = in->env_text[in->env_count];
	int len = snprintf(text, sizeof(in->env_text[0]), "%s=%s", name, value);
	assert(len > 0 && (size_t)len < sizeof(in->env_text[0]));
	in->env[in->env_count++] = text;
	in->env[in->env_count] = NULL;
}

static void make_env(struct th_desktop_init *in)
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
	for (int i = 0; i < TH_DESKTOP_BUS_COUNT; i++) {
		snprintf(text, sizeof(text), "unix:path=%.350s", in->buses[i].path);
		if (in->buses[i].there)
			add_env(in, bus_kinds[i].variable, text);
	}
	/* Without it Chromium stays away from the bus, whatever its options say. */
	if (in->buses[TH_DESKTOP_BUS_TREE].there)
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
static int write_authority(const struct th_desktop_init *in)
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

static int make_bus(const struct th_desktop_init *in, enum th_desktop_bus_kind kind,
		    struct th_desktop_bus *bus)
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

int th_desktop_init_files(struct th_desktop_init *in)
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
	for (int i = 0; i < TH_DESKTOP_BUS_COUNT; i++) {
		in->buses[i].fd = make_bus(in, (enum th_desktop_bus_kind)i, &in->buses[i]);
		in->buses[i].there = in->buses[i].fd >= 0;
	}
	return 0;
}

/* ---- starting ---- */

void th_desktop_init_child(int death_signal)
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
static pid_t start(struct th_desktop_init *in, char *const *argv, const char *log, int keep,
		   int death_signal)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	th_desktop_init_child(death_signal);
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

int th_desktop_init_xvfb(struct th_desktop_init *in)
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

void th_desktop_init_wm(struct th_desktop_init *in)
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
void th_desktop_init_bus(struct th_desktop_init *in, enum th_desktop_bus_kind kind)
{
	struct th_desktop_bus *bus = &in->buses[kind];
	pid_t pid = fork();

	if (pid == 0) {
		char text[32], log[384];
		snprintf(log, sizeof(log), "%s/dbus-%s.log", in->run, bus_kinds[kind].name);
		th_desktop_init_child(SIGKILL);
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

void th_desktop_init_log(const struct th_desktop_init *in, char *text, size_t size)
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

int th_desktop_init_ready(struct th_desktop_init *in)
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
	th_desktop_init_wm(in);
	snprintf(a.sun_path, sizeof(a.sun_path), "/tmp/.X11-unix/X%d", in->number);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&a, sizeof(a))) {
		th_desktop_init_fail("connect to Xvfb");
		th_fd_close(&fd);
		return -1;
	}
	th_desktop_init_tell(TH_DESKTOP_DISPLAY, in->number, "", fd);
	close(fd);
	return 0;
}
