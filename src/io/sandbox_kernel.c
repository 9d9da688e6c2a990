/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_kernel.c - the layers that need no program of others: landlock,
 * seccomp, idmapped mounts, the uid.  See sandbox.h and sandbox_kernel.h.
 */
#include "io/sandbox_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/files.h"
#include "io/net_space.h"

/* ---- landlock: by number, since the headers of a distribution are older than its kernels ---- */

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

struct ruleset_attr {
	uint64_t fs, net, scoped;
};

struct path_attr {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

enum {
	FS_EXECUTE = 1 << 0,
	FS_WRITE_FILE = 1 << 1,
	FS_READ_FILE = 1 << 2,
	FS_READ_DIR = 1 << 3,
	FS_REFER = 1 << 13,
	FS_TRUNCATE = 1 << 14,
	FS_IOCTL_DEV = 1 << 15,
	FS_ALL = (1 << 16) - 1,
	FS_FILE = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV,
	FS_READ = FS_EXECUTE | FS_READ_FILE | FS_READ_DIR,
};

int th_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, 1u);
	return abi < 0 ? 0 : (int)abi;
}

static uint64_t fs_handled(int abi)
{
	uint64_t all = FS_ALL;
	if (abi < 5)
		all &= ~(uint64_t)FS_IOCTL_DEV;
	if (abi < 3)
		all &= ~(uint64_t)FS_TRUNCATE;
	if (abi < 2)
		all &= ~(uint64_t)FS_REFER;
	return all;
}

int th_landlock_new(int abi, bool net_none)
{
	struct ruleset_attr attr = { .fs = fs_handled(abi) };
	size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
	if (abi >= 4 && net_none)
		attr.net = 3; /* bind, connect */
	if (abi >= 6)
		attr.scoped = 3; /* abstract sockets of others, signals to others */
	return (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0u);
}

/* What is not there cannot be granted: no error. */
int th_landlock_allow(int ruleset, int abi, const char *path, bool writable)
{
	struct stat st;
	TH_CLEANUP(th_fd_close) int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT || errno == EACCES || errno == ENOTDIR ? 0 : -1;
	struct path_attr attr = { .allowed = writable ? fs_handled(abi) : FS_READ,
				  .parent_fd = fd };
	if (!S_ISDIR(st.st_mode))
		attr.allowed &= FS_FILE;
	return (int)syscall(SYS_landlock_add_rule, ruleset, 1u, &attr, 0u);
}

/* ---- seccomp ---- */

/* Never of use to a command, and where kernels had their holes. */
static const int denied[] = {
	SCMP_SYS(acct),
	SCMP_SYS(add_key),
	SCMP_SYS(adjtimex),
	SCMP_SYS(bpf),
	SCMP_SYS(clock_adjtime),
	SCMP_SYS(clock_settime),
	SCMP_SYS(delete_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(fsconfig),
	SCMP_SYS(fsmount),
	SCMP_SYS(fsopen),
	SCMP_SYS(fspick),
	SCMP_SYS(init_module),
	SCMP_SYS(ioperm),
	SCMP_SYS(iopl),
	SCMP_SYS(kcmp),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(kexec_load),
	SCMP_SYS(keyctl),
	SCMP_SYS(lookup_dcookie),
	SCMP_SYS(mount),
	SCMP_SYS(mount_setattr),
	SCMP_SYS(move_mount),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(open_tree),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(pivot_root),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(ptrace),
	SCMP_SYS(quotactl),
	SCMP_SYS(reboot),
	SCMP_SYS(request_key),
	SCMP_SYS(setns),
	SCMP_SYS(settimeofday),
	SCMP_SYS(swapoff),
	SCMP_SYS(swapon),
	SCMP_SYS(syslog),
	SCMP_SYS(umount2),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(vhangup),
};

/* "Not there" instead of "not allowed": programs then take the older way. */
static const int absent[] = { SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter),
			      SCMP_SYS(io_uring_register) };

/* Needed by programs that build a sandbox of their own. */
static bool for_own_sandbox(int number)
{
	return number == SCMP_SYS(mount) || number == SCMP_SYS(umount2) ||
	       number == SCMP_SYS(pivot_root) || number == SCMP_SYS(setns) ||
	       number == SCMP_SYS(ptrace);
}

static int deny_sockets(scmp_filter_ctx ctx, bool inet)
{
	static const int families[] = { AF_UNIX, AF_NETLINK, AF_INET, AF_INET6 };
	int status = 0;
	/* All families but the allowed ones, which lie between 1 and AF_NETLINK. */
	for (int family = 0; family <= AF_NETLINK && status == 0; family++) {
		bool allowed = family == AF_UNIX;
		for (size_t i = 1; i < TH_COUNT(families); i++)
			allowed = allowed || (inet && family == families[i]);
		if (!allowed)
			status =
			    seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
					     SCMP_A0_32(SCMP_CMP_EQ, (unsigned)family, 0));
	}
	if (status == 0)
		status = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
					  SCMP_A0_32(SCMP_CMP_GT, AF_NETLINK, 0));
	return status;
}

static int deny_namespaces(scmp_filter_ctx ctx)
{
	static const unsigned flags[] = { CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,   CLONE_NEWNET,
					  CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP };
	int status = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 0);
	/* clone3 hides its flags behind a pointer. */
	if (status == 0)
		status = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	for (size_t i = 0; i < TH_COUNT(flags) && status == 0; i++)
		status = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
					  SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i]));
	return status;
}

static int add_rules(scmp_filter_ctx ctx, bool inet, bool gui)
{
	int status = 0;
	for (size_t i = 0; i < TH_COUNT(denied) && status == 0; i++)
		if (!gui || !for_own_sandbox(denied[i]))
			status = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), denied[i], 0);
	for (size_t i = 0; i < TH_COUNT(absent) && status == 0; i++)
		status = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), absent[i], 0);
	if (status == 0)
		status = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
					  SCMP_A1_32(SCMP_CMP_EQ, TIOCSTI, 0));
	if (status == 0 && !gui)
		status = deny_namespaces(ctx);
	return status ? status : deny_sockets(ctx, inet);
}

enum th_code th_filter_new(bool inet, bool gui, struct sock_fprog *ret, struct th_err *err)
{
	struct stat st;
	enum th_code code = TH_OK;
	TH_CLEANUP(th_fd_close) int fd = memfd_create("filter", MFD_CLOEXEC);
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int status = !ctx ? -ENOMEM : fd < 0 ? -errno : add_rules(ctx, inet, gui);
	if (status == 0)
		status = seccomp_export_bpf(ctx, fd);
	if (ctx)
		seccomp_release(ctx);
	if (status == 0 && fstat(fd, &st) < 0)
		status = -errno;
	if (status < 0)
		return th_fail_errno(err, -status, "build the system call filter");
	size_t size = (size_t)st.st_size;
	ret->filter = (struct sock_filter *)th_alloc(size);
	ret->len = (unsigned short)(size / sizeof(struct sock_filter));
	if (pread(fd, ret->filter, size, 0) != (ssize_t)size)
		code = th_fail(err, TH_EIO, "read the system call filter");
	return code;
}

int th_sandbox_filter_fd(const struct th_sandbox_plan *p)
{
	size_t size = p->filter.len * sizeof(struct sock_filter);
	int fd = memfd_create("filter", MFD_CLOEXEC);
	if (fd >= 0 && pwrite(fd, p->filter.filter, size, 0) != (ssize_t)size)
		th_fd_close(&fd);
	return fd;
}

/* ---- between fork and exec ---- */

static int drop_ids(uid_t uid, gid_t gid, const char **ret_step)
{
	*ret_step = "become the unprivileged user";
	/* By system call: the C library's wrappers would try to reach other threads. */
	if (syscall(SYS_setgroups, (size_t)0, NULL) < 0 ||
	    syscall(SYS_setresgid, gid, gid, gid) < 0 || syscall(SYS_setresuid, uid, uid, uid) < 0)
		return -1;
	return 0;
}

int th_sandbox_apply(const struct th_sandbox_plan *p, const char **ret_step)
{
	if (p->drop && drop_ids(p->uid, p->gid, ret_step) < 0)
		return -1;
	*ret_step = "set no_new_privs";
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	*ret_step = "enforce landlock";
	if (p->landlock_fd >= 0 && syscall(SYS_landlock_restrict_self, p->landlock_fd, 0u) < 0)
		return -1;
	*ret_step = "load the system call filter";
	if (p->filter.len && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p->filter) < 0)
		return -1;
	return 0;
}

int th_sandbox_join(const struct th_sandbox_plan *p, const char **ret_step)
{
	*ret_step = "enter the session's network";
	return p->net_fd < 0 ? 0 : th_net_space_enter(p->net_fd, p->user_fd);
}

/* ---- root's folders as the unprivileged user's own ---- */

#ifndef MOUNT_ATTR_IDMAP
#define MOUNT_ATTR_IDMAP 0x00100000
#endif

struct idmap_attr {
	uint64_t set, clear, propagation, userns_fd;
};

static int idmapped_tree(const char *path, int userns_fd)
{
	struct idmap_attr attr = { .set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)userns_fd };
	int fd = (int)syscall(SYS_open_tree, AT_FDCWD, path, 1u /* OPEN_TREE_CLONE */ | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		th_fd_close(&fd);
	return fd;
}

bool th_idmap_works(const char *path, int userns_fd)
{
	TH_CLEANUP(th_fd_close) int fd = idmapped_tree(path, userns_fd);
	return fd >= 0;
}

int th_sandbox_show(const struct th_sandbox_plan *p, const char **ret_step)
{
	*ret_step = "make a mount namespace";
	if (p->shown_count &&
	    (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0))
		return -1;
	for (size_t i = 0; i < p->shown_count; i++) {
		*ret_step = "show a folder to the unprivileged user";
		int fd = idmapped_tree(p->shown[i].path, p->shown[i].userns_fd);
		if (fd < 0 || syscall(SYS_move_mount, fd, "", AT_FDCWD, p->shown[i].path,
				      4u /* MOVE_MOUNT_F_EMPTY_PATH */) < 0)
			return -1;
		close(fd);
	}
	return 0;
}

/* "inside outside count" lines that swap a and b and leave all others. */
static void swap_map(char *to, size_t size, unsigned a, unsigned b)
{
	unsigned low = TH_MIN(a, b), high = TH_MAX(a, b), last = UINT32_MAX - 1;
	size_t len = 0;
	if (low > 0)
		len += (size_t)snprintf(to + len, size - len, "0 0 %u\n", low);
	len += (size_t)snprintf(to + len, size - len, "%u %u 1\n", low, high);
	if (high - low > 1)
		len += (size_t)snprintf(to + len, size - len, "%u %u %u\n", low + 1, low + 1,
					high - low - 1);
	len += (size_t)snprintf(to + len, size - len, "%u %u 1\n", high, low);
	if (high < last)
		snprintf(to + len, size - len, "%u %u %u\n", high + 1, high + 1, last - high);
}

static bool write_map(pid_t pid, const char *file, const char *text)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	TH_CLEANUP(th_fd_close) int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* A process that is in it until we have it open, or until we are gone: what it inherited of ours,
 * locks among it, must not outlive us. */
static pid_t be_in_userns(int ready, const int until[2])
{
	pid_t pid = fork();
	char ok;

	if (pid != 0)
		return pid;
	close(until[1]);
	ok = unshare(CLONE_NEWUSER) == 0;
	(void)!write(ready, &ok, 1);
	while (read(until[0], &ok, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

static int userns_with(const char *uid_map, const char *gid_map)
{
	char path[64], ok = 0;
	int fd = -1, ready[2], until[2];

	if (pipe2(ready, O_CLOEXEC) < 0)
		return -1;
	if (pipe2(until, O_CLOEXEC) < 0) {
		close(ready[0]);
		close(ready[1]);
		return -1;
	}
	pid_t pid = be_in_userns(ready[1], until);
	close(ready[1]);
	close(until[0]);
	if (pid > 0 && read(ready[0], &ok, 1) == 1 && ok) {
		ok = write_map(pid, "uid_map", uid_map) && write_map(pid, "gid_map", gid_map);
		snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
		if (ok)
			fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	int saved = errno;
	close(ready[0]);
	close(until[1]); /* its end */
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	errno = saved;
	return fd;
}

int th_userns_swapping(uid_t uid_a, uid_t uid_b, gid_t gid_a, gid_t gid_b)
{
	char uid_map[256], gid_map[256];

	swap_map(uid_map, sizeof(uid_map), uid_a, uid_b);
	swap_map(gid_map, sizeof(gid_map), gid_a, gid_b);
	return userns_with(uid_map, gid_map);
}

/* All that there is in ours (in a container not every number), each by its own. */
static bool same_map(const char *file, char *to, size_t size)
{
	unsigned inside, count;
	size_t len = 0;
	FILE *f = fopen(file, "re");

	to[0] = '\0';
	while (f && fscanf(f, "%u %*u %u", &inside, &count) == 2 && len < size)
		len += (size_t)snprintf(to + len, size - len, "%u %u %u\n", inside, inside, count);
	if (f)
		fclose(f);
	return len > 0 && len < size;
}

int th_userns_same(void)
{
	char uid_map[4096], gid_map[4096]; /* the kernel takes no more */

	if (!same_map("/proc/self/uid_map", uid_map, sizeof(uid_map)) ||
	    !same_map("/proc/self/gid_map", gid_map, sizeof(gid_map)))
		return -1;
	return userns_with(uid_map, gid_map);
}

bool th_userns_count(void)
{
	struct utsname name;
	unsigned major = 0, minor = 0;

	return uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 14));
}
