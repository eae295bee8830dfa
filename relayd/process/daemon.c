/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "relayd/process/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "relayd/process/systemd.h"
#include "relayd/process/options.h"
#include "relayd/process/rundir.h"

/* Open standard streams that are closed: no other file may get their
 * numbers. */
static enum status
open_standard_streams(void)
{
	int fd = open("/dev/null", O_RDWR);

	while (fd >= 0 && fd <= STDERR_FILENO)
		fd = dup(fd);
	if (fd < 0)
		return E_IO;
	(void)dup2(fd, STDIN_FILENO);
	close(fd);
	return OK;
}

void
daemon_raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
	    limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		log_errno(LOG_WARN, "cannot raise RLIMIT_NOFILE");
}

static void
signal_parent(pid_t parent)
{
	/* If the parent is gone, its process id may be another process's. */
	if (getppid() == parent && kill(parent, SIGUSR1) != 0)
		log_errno(LOG_WARN, "cannot send SIGUSR1 to parent process %d",
		    (int)parent);
}

/* The first process: its exit status is the outcome of the start. */
static _Noreturn void
wait_until_ready(const struct daemon *d, int fd, pid_t child)
{
	char byte;
	ssize_t n;

	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1) {
		if (d->options->sig_parent)
			signal_parent(d->parent);
		_exit(EXIT_SUCCESS);
	}
	/* The pipe is closed because the child ends: wait until it has, so that
	 * its messages are printed before. */
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	_exit(EXIT_FAILURE);
}

/* Returns in the child. */
static enum status
detach(struct daemon *d)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) != 0) {
		log_errno(LOG_ERROR, "pipe");
		return E_IO;
	}
	(void)fflush(NULL);
	pid = fork();
	if (pid < 0) {
		log_errno(LOG_ERROR, "fork");
		close(fds[0]);
		close(fds[1]);
		return E_IO;
	}
	if (pid > 0) {
		close(fds[1]);
		wait_until_ready(d, fds[0], pid);
	}
	close(fds[0]);
	d->ready_fd = fds[1];
	if (setsid() < 0 || chdir("/") != 0) {
		log_errno(LOG_ERROR, "cannot detach from the terminal");
		return E_IO;
	}
	return OK;
}

static enum status
change_directory(const char *dir)
{
	if (*dir == '\0')
		return OK;
	if (chdir(dir) != 0) {
		log_errno(LOG_ERROR,
		    "Failed to change working directory to \"%s\"", dir);
		return E_IO;
	}
	if (faccessat(AT_FDCWD, ".", W_OK, AT_EACCESS) != 0)
		log_info("Working directory \"%s\" is not writable", dir);
	return OK;
}

static enum status
choose_admin_path(struct daemon *d)
{
	const struct admin_socket *a = &d->options->admin_socket;
	char path[PATH_MAX];

	if (a->is_off)
		return OK;
	if (a->is_explicit) {
		memcpy(d->admin_path, a->path, sizeof(a->path));
		return rundir_check_place(a->path);
	}
	rundir_path(path, d->options->run_dir, "admin");
	if (strlen(path) < sizeof(d->admin_path))
		memcpy(d->admin_path, path, strlen(path) + 1);
	else
		log_warn("no admin socket: %s is too long", path);
	return OK;
}

enum status
daemon_start(struct daemon *d, const struct options *o)
{
	char health[32];

	*d = (struct daemon){
		.options = o,
		.parent = getppid(),
		.ready_fd = -1,
		.null_fd = -1,
	};
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGUSR1, SIG_IGN);
	/* Until it means a reload; and when it does no more. */
	(void)signal(SIGHUP, SIG_IGN);
	if (open_standard_streams() != OK) {
		log_errno(LOG_ERROR, "/dev/null");
		return E_IO;
	}
	daemon_raise_descriptors();
	if ((o->daemonize || o->background) && detach(d) != OK)
		return E_IO;
	if (change_directory(o->working_dir) != OK)
		return E_IO;
	d->has_group = geteuid() == 0;
	/* Without the group, lttng-relayd warns, but prints nothing with -d. */
	if (d->has_group)
		d->group = rundir_group(
		    o->group, o->daemonize ? LOG_INFO : LOG_WARN);
	if (rundir_create(o->run_dir, d->group) != OK)
		return E_IO;
	snprintf(health, sizeof(health), "health-%d", (int)getpid());
	rundir_path(d->health_path, o->run_dir, health);
	if (o->health_path[0] != '\0')
		memcpy(d->health_path, o->health_path, sizeof(o->health_path));
	return choose_admin_path(d);
}

static void
tell_log_ready(const struct options *o, const struct daemon_ports *ports)
{
	const struct {
		const char *name;
		const struct listen_url *url;
		uint16_t port; /* 0: none */
	} listeners[] = { { "control", &o->control, ports->control },
		{ "data", &o->data, ports->data }, { "UDP", NULL, ports->udp },
		{ "live", &o->live, ports->live },
		{ "http", &o->http, ports->http } };
	char text[5 * 300] = "", url[300];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(listeners); i++) {
		const struct listen_url *u = listeners[i].url;

		if (listeners[i].port == 0)
			continue;
		snprintf(url, sizeof(url), "port %u%s", listeners[i].port,
		    u == NULL ? "" : " (inherited)");
		if (u != NULL && !u->has_socket)
			listen_url_show(u, listeners[i].port, url, sizeof(url));
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s %s, ",
		    listeners[i].name, url);
	}
	log_notice("tracepulse-relayd " PACKAGE_VERSION
		   " ready: %s%s%s%straces in %s",
	    text, o->http_path[0] != '\0' ? "http unix:" : "", o->http_path,
	    o->http_path[0] != '\0' ? ", " : "", o->output);
}

static void
release_parent(struct daemon *d)
{
	if (d->null_fd >= 0) {
		(void)dup2(d->null_fd, STDOUT_FILENO);
		(void)dup2(d->null_fd, STDERR_FILENO);
		close(d->null_fd);
		d->null_fd = -1;
		/* The journal is not standard error any more. */
		(void)log_look_at_stderr(true);
	}
	log_leave_stderr();
	if (d->ready_fd < 0) {
		if (d->options->sig_parent)
			signal_parent(d->parent);
		return;
	}
	if (write(d->ready_fd, "", 1) != 1)
		log_errno(LOG_INFO, "cannot notify the parent process");
	close(d->ready_fd);
	d->ready_fd = -1;
}

enum status
daemon_write(struct daemon *d, const struct daemon_ports *ports)
{
	const struct {
		const char *name;
		uint16_t port;
	} files[] = {
		[FILE_CONTROL] = { "control.port", ports->control },
		[FILE_DATA] = { "data.port", ports->data },
		[FILE_LIVE] = { "live.port", ports->live },
		[FILE_HTTP] = { "http.port", ports->http },
	};
	const char *pid_file = d->options->pid_file;
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		rundir_path(path, d->options->run_dir, files[i].name);
		if ((i != FILE_HTTP || ports->http != 0) &&
		    runfile_write(&d->files[i], path, files[i].port) != OK)
			return E_IO;
	}
	if (*pid_file != '\0' && runfile_write(&d->files[FILE_PID], pid_file,
				     (uint64_t)getpid()) != OK)
		return E_IO;
	if (d->options->daemonize)
		d->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return OK;
}

void
daemon_ready(struct daemon *d, const struct daemon_ports *ports)
{
	char state[64];

	tell_log_ready(d->options, ports);
	/* If it fails, the relay serves all the same. */
	snprintf(state, sizeof(state), "READY=1\nMAINPID=%d\n", (int)getpid());
	(void)systemd_notify(state);
	release_parent(d);
}

void
daemon_end(struct daemon *d)
{
	for (size_t i = 0; i < DAEMON_FILES; i++)
		runfile_remove(&d->files[i]);
}
