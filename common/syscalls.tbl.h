/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * System calls, for the filter of seccomp. Names that this architecture, or
 * this libseccomp, does not know are left out, so that later ones may stand
 * here.
 *	CALL(NAME)			allowed
 *	IF(NAME, N, MASK, VALUE)	allowed if argument N & MASK is VALUE
 *	NEVER(NAME)			ends the process: nothing that the
 *	    daemon or its libraries do leads there, so that somebody else does
 * Any other call fails with ENOSYS. That is what libraries expect of a kernel
 * that is too old, and they do without (clone3, whose flags a filter cannot
 * see: clone).
 */
/* Bytes, most frequent first. */
CALL(epoll_wait) CALL(epoll_pwait) CALL(recvfrom) CALL(sendto)
CALL(writev) CALL(pwritev) CALL(pwritev2) CALL(readv) CALL(preadv) CALL(read)
CALL(write) CALL(pread64) CALL(pwrite64) CALL(recvmsg) CALL(recvmmsg)
CALL(sendmsg) CALL(sendmmsg) CALL(sendfile) CALL(sendfile64) CALL(flock)
CALL(futex) CALL(futex_time64) CALL(futex_waitv) CALL(membarrier)
CALL(clock_gettime) CALL(clock_gettime64) CALL(gettimeofday) CALL(time)
CALL(clock_getres) CALL(clock_getres_time64)
/* Waiting. */
CALL(epoll_ctl) CALL(epoll_create) CALL(epoll_create1) CALL(epoll_pwait2)
CALL(poll) CALL(ppoll) CALL(ppoll_time64) CALL(select) CALL(pselect6)
CALL(nanosleep) CALL(clock_nanosleep) CALL(clock_nanosleep_time64)
CALL(eventfd2) CALL(timerfd_create) CALL(timerfd_settime) CALL(pipe) CALL(pipe2)
CALL(restart_syscall) CALL(sched_yield)
/* Files; Landlock says which. */
CALL(open) CALL(openat) CALL(openat2) CALL(close) CALL(close_range)
CALL(fstat) CALL(fstat64) CALL(stat) CALL(stat64) CALL(lstat) CALL(lstat64)
CALL(newfstatat) CALL(fstatat64) CALL(statx) CALL(statfs) CALL(fstatfs)
CALL(access) CALL(faccessat) CALL(faccessat2) CALL(readlink) CALL(readlinkat)
CALL(getcwd) CALL(getdents) CALL(getdents64) CALL(lseek) CALL(_llseek)
CALL(fallocate) CALL(ftruncate) CALL(ftruncate64) CALL(fadvise64)
CALL(fsync) CALL(fdatasync) CALL(sync_file_range) CALL(syncfs)
CALL(mkdir) CALL(mkdirat) CALL(rmdir) CALL(unlink) CALL(unlinkat)
CALL(rename) CALL(renameat) CALL(renameat2) CALL(link) CALL(linkat)
CALL(fcntl) CALL(fcntl64) CALL(dup) CALL(dup2) CALL(dup3)
/* The key of a session that may be resumed is its owner's alone. */
IF(fchmod, 1, 0xffffffff, 0600)
/* SQLite, of root: a file beside its database belongs to the same user. */
IF(fchown, 1, 0xffffffff, 0)
/* FIONREAD; TCGETS and TCGETS2, for isatty(3). TIOCSTI would type into the
 * terminal from which the daemon was started. */
IF(ioctl, 1, 0xffffffff, FIONREAD)
IF(ioctl, 1, 0xffffffff, TCGETS)
#ifdef TCGETS2
IF(ioctl, 1, 0xffffffff, TCGETS2)
#endif
/* The daemon accepts connections but makes none. One datagram notifies
 * systemd. */
CALL(accept) CALL(accept4) CALL(shutdown) CALL(getsockopt) CALL(setsockopt)
CALL(getsockname) CALL(getpeername)
IF(socket, 0, 0xffffffff, AF_UNIX)
/* Memory, none of it to be executed. */
IF(mmap, 2, PROT_EXEC, 0) IF(mmap2, 2, PROT_EXEC, 0)
IF(mprotect, 2, PROT_EXEC, 0)
CALL(munmap) CALL(mremap) CALL(madvise) CALL(brk) CALL(msync) CALL(mincore)
/* Threads; no processes. */
IF(clone, 0, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM)
CALL(set_robust_list) CALL(set_tid_address) CALL(rseq) CALL(exit)
CALL(exit_group) CALL(gettid) CALL(getpid) CALL(getppid) CALL(tgkill)
CALL(sched_getaffinity) CALL(sched_setaffinity) CALL(getcpu)
IF(prctl, 0, 0xffffffff, PR_SET_NAME)
IF(prctl, 0, 0xffffffff, PR_SET_VMA)
/* Signals. SIGUSR1 notifies the parent process. */
CALL(rt_sigaction) CALL(rt_sigprocmask) CALL(rt_sigreturn) CALL(sigreturn)
CALL(sigaltstack) CALL(rt_sigpending) CALL(rt_sigtimedwait)
CALL(rt_sigtimedwait_time64)
IF(kill, 1, 0xffffffff, SIGUSR1)
/* About itself. */
CALL(getrandom) CALL(uname) CALL(sysinfo) CALL(getrusage) CALL(getrlimit)
CALL(ugetrlimit) CALL(prlimit64) CALL(times)
CALL(getuid) CALL(geteuid) CALL(getgid) CALL(getegid)
CALL(getuid32) CALL(geteuid32) CALL(getgid32) CALL(getegid32)

/* Other programs, other processes. */
NEVER(execve) NEVER(execveat) NEVER(fork) NEVER(vfork) NEVER(ptrace)
NEVER(process_vm_readv) NEVER(process_vm_writev) NEVER(kcmp)
NEVER(pidfd_open) NEVER(pidfd_getfd) NEVER(pidfd_send_signal)
/* Other users, other name spaces. */
NEVER(setuid) NEVER(setgid) NEVER(setreuid) NEVER(setregid) NEVER(setresuid)
NEVER(setresgid) NEVER(setgroups) NEVER(setfsuid) NEVER(setfsgid)
NEVER(capset) NEVER(unshare) NEVER(setns) NEVER(chroot) NEVER(pivot_root)
NEVER(personality)
/* The machine. */
NEVER(mount) NEVER(umount) NEVER(umount2) NEVER(move_mount) NEVER(open_tree)
NEVER(fsopen) NEVER(fsmount) NEVER(fspick) NEVER(mount_setattr)
NEVER(open_by_handle_at) NEVER(init_module) NEVER(finit_module)
NEVER(delete_module) NEVER(kexec_load) NEVER(kexec_file_load) NEVER(reboot)
NEVER(swapon) NEVER(swapoff) NEVER(bpf) NEVER(perf_event_open)
NEVER(userfaultfd) NEVER(add_key) NEVER(request_key) NEVER(keyctl)
NEVER(iopl) NEVER(ioperm) NEVER(acct) NEVER(syslog) NEVER(sethostname)
NEVER(setdomainname) NEVER(settimeofday) NEVER(clock_settime) NEVER(adjtimex)
NEVER(clock_adjtime) NEVER(io_uring_setup) NEVER(memfd_create)
NEVER(memfd_secret) NEVER(quotactl) NEVER(quotactl_fd)
    /* clang-format on */
