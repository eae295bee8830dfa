/* SPDX-License-Identifier: MIT */
/*
 * usage: nth_file_call DIR LOG N ACTION PROGRAM [ARGUMENT...]
 *
 * Runs PROGRAM in this process and numbers the system calls by which it changes
 * files below DIR, from 1 on. What becomes of number N says ACTION:
 *	none		it is made, as all others are
 *	kill		before it, the process is killed
 *	ENOSPC etc.	it fails so, without being made
 *	cut		of a write, the first half is made, and then it is
 *killed short		of a write, only the first half is made torn
 *the same, and the call behind it fails with ENOSPC
 *	full		of a write, only the first half is made, another one
 *			fails with ENOSPC; so do all later ones that need room
 * LOG gets a line for each call: its number, name and path.
 *
 * The kernel stops the program at these calls (seccomp(2), user notification)
 * until a process of ours has answered. So calls that bypass libc are seen, the
 * program is the one that users have, in whatever way it was built, its process
 * number is that of this program, and its sanitizers work as without.
 *
 * Exit status 77: the kernel does not allow that; 99: another failure of ours.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIPPED 77
#define TROUBLE 99
#define PIECES_MAX 1024

/* What the first arguments are. */
enum kind {
	AT_FD,	  /* a descriptor */
	AT_WRITE, /* the same, bytes, a length: write(2) */
	AT_WRITEV,
	AT_DIR, /* a descriptor and a path */
	AT_OPEN,
	AT_OPEN2,
	AT_PATH, /* a path */
};

static const struct call {
	long nr;
	const char *name;
	enum kind kind;
	bool needs_room;
} calls[] = {
	{ SYS_openat, "openat", AT_OPEN, true },
	{ SYS_openat2, "openat2", AT_OPEN2, true },
	{ SYS_write, "write", AT_WRITE, true },
	{ SYS_pwrite64, "pwrite", AT_WRITE, true },
	{ SYS_writev, "writev", AT_WRITEV, true },
	{ SYS_pwritev, "pwritev", AT_WRITEV, true },
	{ SYS_ftruncate, "ftruncate", AT_FD, false },
	{ SYS_fallocate, "fallocate", AT_FD, true },
	{ SYS_fsync, "fsync", AT_FD, false },
	{ SYS_fdatasync, "fdatasync", AT_FD, false },
	{ SYS_syncfs, "syncfs", AT_FD, false },
	{ SYS_mkdirat, "mkdirat", AT_DIR, true },
	{ SYS_unlinkat, "unlinkat", AT_DIR, false },
	{ SYS_renameat2, "renameat2", AT_DIR, false },
	{ SYS_linkat, "linkat", AT_DIR, true },
#ifdef SYS_mkdir /* newer machines have only the calls above */
	{ SYS_renameat, "renameat", AT_DIR, false },
	{ SYS_mkdir, "mkdir", AT_PATH, true },
	{ SYS_rmdir, "rmdir", AT_PATH, false },
	{ SYS_unlink, "unlink", AT_PATH, false },
	{ SYS_rename, "rename", AT_PATH, false },
#endif
};
#define N_CALLS (sizeof(calls) / sizeof(calls[0]))

static const struct {
	const char *name;
	int error;
} errors[] = {
	{ "ENOSPC", ENOSPC },
	{ "EIO", EIO },
	{ "EDQUOT", EDQUOT },
	{ "EMFILE", EMFILE },
	{ "EINTR", EINTR },
};

static const char *dir;
static FILE *log_file;
static unsigned long wanted, count;
static bool does_kill, does_shorten;
static int fails_with;	    /* 0: it does not */
static unsigned long fails; /* so many, from number WANTED on */
static pid_t program;

static void
parse(char **argv)
{
	const char *action = argv[4];
	const bool is_cut = strcmp(action, "cut") == 0;
	const bool is_torn = strcmp(action, "torn") == 0;
	const bool is_full = strcmp(action, "full") == 0;

	dir = argv[1];
	log_file = fopen(argv[2], "we");
	if (log_file == NULL)
		err(TROUBLE, "%s", argv[2]);
	wanted = strtoul(argv[3], NULL, 10);
	does_kill = is_cut || strcmp(action, "kill") == 0;
	does_shorten = is_cut || is_torn || is_full ||
		       strcmp(action, "short") == 0;
	fails_with = is_torn || is_full ? ENOSPC : 0;
	fails = is_full ? ULONG_MAX : is_torn ? 2 : 1;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (strcmp(action, errors[i].name) == 0)
			fails_with = errors[i].error;
	if (!does_kill && !does_shorten && fails_with == 0 &&
	    strcmp(action, "none") != 0)
		errx(TROUBLE, "what is %s?", action);
}

static bool
read_memory(pid_t pid, uint64_t from, void *to, size_t n)
{
	struct iovec ours = { to, n };
	struct iovec theirs = { (void *)(uintptr_t)from, n };

	return process_vm_readv(pid, &ours, 1, &theirs, 1, 0) == (ssize_t)n;
}

static bool
read_string(pid_t pid, uint64_t from, char out[PATH_MAX])
{
	for (size_t i = 0; i < PATH_MAX; i++) {
		if (!read_memory(pid, from + i, out + i, 1))
			return false;
		if (out[i] == '\0')
			return true;
	}
	return false;
}

static bool
path_of_fd(pid_t pid, int fd, char out[PATH_MAX])
{
	char link[64];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/%d/%s", (int)pid, "cwd");
	if (fd != AT_FDCWD)
		(void)snprintf(
		    link, sizeof(link), "/proc/%d/fd/%d", (int)pid, fd);
	n = readlink(link, out, PATH_MAX - 1);
	out[n < 0 ? 0 : n] = '\0';
	return n > 0;
}

/* The path that the call is about. */
static bool
path_of(
    const struct call *c, const struct seccomp_notif *n, char out[2 * PATH_MAX])
{
	const __u64 *args = n->data.args;
	const pid_t pid = (pid_t)n->pid;
	const bool has_fd = c->kind != AT_PATH;
	const bool has_path = has_fd && c->kind != AT_FD &&
			      c->kind != AT_WRITE && c->kind != AT_WRITEV;
	char base[PATH_MAX] = "", path[PATH_MAX] = "";

	if (!has_fd && !read_string(pid, args[0], path))
		return false;
	if (has_path && !read_string(pid, args[1], path))
		return false;
	if (path[0] != '/' &&
	    !path_of_fd(pid, has_fd ? (int)args[0] : AT_FDCWD, base))
		return false;
	(void)snprintf(out, 2 * PATH_MAX, "%s%s%s", base,
	    *base == '\0' || *path == '\0' ? "" : "/", path);
	return true;
}

/* Is a file opened for writing, or made? */
static bool
is_for_writing(const struct call *c, const struct seccomp_notif *n)
{
	struct open_how how = { 0 };
	uint64_t flags = n->data.args[2];

	if (c->kind == AT_OPEN2) {
		if (!read_memory((pid_t)n->pid, flags, &how, sizeof(how)))
			return false;
		flags = how.flags;
	}
	return (flags & (O_CREAT | O_TRUNC | O_WRONLY | O_RDWR)) != 0;
}

static const struct call *
call_of(int nr)
{
	for (size_t i = 0; i < N_CALLS; i++)
		if (calls[i].nr == nr)
			return &calls[i];
	return NULL;
}

/* Number the call, if it counts. */
static bool
is_wanted(const struct call *c, const struct seccomp_notif *n)
{
	const size_t len = strlen(dir);
	char path[2 * PATH_MAX];

	if (c == NULL || !path_of(c, n, path) || strncmp(path, dir, len) != 0 ||
	    (path[len] != '/' && path[len] != '\0'))
		return false;
	if ((c->kind == AT_OPEN || c->kind == AT_OPEN2) &&
	    !is_for_writing(c, n))
		return false;
	(void)fprintf(log_file, "%lu %s %s\n", ++count, c->name,
	    path[len] == '\0' ? "." : path + len + 1);
	(void)fflush(log_file);
	return count == wanted || (count > wanted && count - wanted < fails &&
				      fails_with != 0 && c->needs_room);
}

/* The pieces that the program wants to write, in its memory. */
static int
pieces_of(const struct call *c, const struct seccomp_notif *n,
    struct iovec iov[PIECES_MAX])
{
	const __u64 *args = n->data.args;

	if (c->kind == AT_WRITE) {
		iov[0].iov_base = (void *)(uintptr_t)args[1];
		iov[0].iov_len = (size_t)args[2];
		return 1;
	}
	if (args[2] > PIECES_MAX || !read_memory((pid_t)n->pid, args[1], iov,
					(size_t)args[2] * sizeof(iov[0])))
		return 0;
	return (int)args[2];
}

/* Make the first half of the write. The number of bytes; 0: it is no write. */
static ssize_t
write_half(const struct call *c, const struct seccomp_notif *n)
{
	static struct iovec iov[PIECES_MAX];
	const int n_iov = c->kind == AT_WRITE || c->kind == AT_WRITEV
			      ? pieces_of(c, n, iov)
			      : 0;
	struct iovec ours = { 0 };
	ssize_t done;
	int pidfd, fd;

	for (int i = 0; i < n_iov; i++)
		ours.iov_len += iov[i].iov_len;
	ours.iov_len /= 2;
	if (ours.iov_len == 0)
		return 0;
	ours.iov_base = malloc(ours.iov_len);
	pidfd = (int)syscall(SYS_pidfd_open, program, 0);
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, (int)n->data.args[0], 0);
	if (ours.iov_base == NULL || fd < 0 ||
	    process_vm_readv((pid_t)n->pid, &ours, 1, iov, (unsigned long)n_iov,
		0) != (ssize_t)ours.iov_len)
		err(TROUBLE, "short write");
	if (c->nr == SYS_pwrite64 || c->nr == SYS_pwritev)
		done = pwrite(
		    fd, ours.iov_base, ours.iov_len, (off_t)n->data.args[3]);
	else
		done = write(fd, ours.iov_base, ours.iov_len);
	free(ours.iov_base);
	close(fd);
	close(pidfd);
	return done;
}

static void
answer(const struct seccomp_notif *n, struct seccomp_notif_resp *r)
{
	const struct call *c = call_of(n->data.nr);

	r->id = n->id;
	r->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	if (!is_wanted(c, n))
		return;
	if (does_shorten && count == wanted)
		r->val = write_half(c, n);
	if (does_kill)
		(void)kill(program, SIGKILL);
	if (r->val == 0)
		r->error = -fails_with;
	if (r->error != 0 || r->val > 0)
		r->flags = 0;
}

static void
supervise(int listener)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };

	/* It hangs up when the program has ended. */
	while (poll(&p, 1, -1) > 0 && (p.revents & POLLIN) != 0) {
		struct seccomp_notif n = { 0 };
		struct seccomp_notif_resp r = { 0 };

		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n) != 0)
			continue; /* the caller has gone */
		answer(&n, &r);
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &r);
	}
	_exit(0);
}

static int
install(void)
{
	struct sock_filter filter[N_CALLS + 3];
	struct sock_fprog prog = { .filter = filter };
	unsigned short n = 0;

	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
	    (uint32_t)offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < N_CALLS; i++)
		filter[n++] = (struct sock_filter)BPF_JUMP(
		    BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i].nr,
		    (uint8_t)(N_CALLS - i), 0);
	filter[n++] = (struct sock_filter)BPF_STMT(
	    BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	filter[n++] = (struct sock_filter)BPF_STMT(
	    BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	prog.len = n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	    SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
}

union fd_message {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* FD < 0: receive one, otherwise send it. */
static int
pass_fd(int sock, int fd)
{
	union fd_message m = { 0 };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = m.bytes,
		.msg_controllen = sizeof(m.bytes) };

	if (fd < 0) {
		if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1 ||
		    CMSG_FIRSTHDR(&msg) == NULL)
			return -1;
		memcpy(&fd, CMSG_DATA(&m.header), sizeof(fd));
		return fd;
	}
	m.header.cmsg_level = SOL_SOCKET;
	m.header.cmsg_type = SCM_RIGHTS;
	m.header.cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(&m.header), &fd, sizeof(fd));
	return sendmsg(sock, &msg, 0) == 1 ? fd : -1;
}

/* The supervisor is nobody's child, so that the program need not wait for
 * it. */
static void
start_supervisor(int sock)
{
	pid_t pid = fork();
	int listener;

	if (pid < 0)
		err(TROUBLE, "fork");
	if (pid > 0) {
		(void)waitpid(pid, NULL, 0);
		return;
	}
	if (fork() != 0)
		_exit(0);
	listener = pass_fd(sock, -1);
	if (listener >= 0)
		supervise(listener);
	_exit(0);
}

int
main(int argc, char **argv)
{
	int socks[2], listener;

	if (argc < 6)
		errx(TROUBLE, "usage: nth_file_call DIR LOG N ACTION "
			      "PROGRAM [ARGUMENT...]");
	parse(argv);
	program = getpid();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) != 0)
		err(TROUBLE, "socketpair");
	start_supervisor(socks[1]);
	close(socks[1]);
#ifdef PR_SET_PTRACER
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
	listener = install();
	if (listener < 0 || pass_fd(socks[0], listener) < 0) {
		warn("seccomp user notification");
		return SKIPPED;
	}
	close(listener);
	execv(argv[5], argv + 5);
	err(TROUBLE, "%s", argv[5]);
}
