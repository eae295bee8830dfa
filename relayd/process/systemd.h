/* SPDX-License-Identifier: MIT */
/*
 * The service manager: socket activation as in sd_listen_fds(3), and
 * notifications as in sd_notify(3). The name of a socket is that of its port:
 * "control", "data", "live", "http" (FileDescriptorName= of the socket unit).
 */
#ifndef RELAYD_PROCESS_SYSTEMD_H
#define RELAYD_PROCESS_SYSTEMD_H

#include "common/compiler.h"
#include "common/status.h"

struct options;

/*
 * Gives each socket to the URL of its port in O, which owns it from then on,
 * and is not bound again. Without such sockets, or when they are another
 * process's or the program is set-uid, nothing is done. They are not inherited
 * by other programs, and their variables are removed from the environment.
 * E_REFUSED, with a message: a socket without a name, with one that no port
 * has, or that two have; a socket that does not listen for TCP connections.
 * Main thread, before any fork, as the variables name our process.
 */
enum status systemd_take_sockets(struct options *o) MUST_CHECK;

/*
 * Sends STATE ("READY=1\n...") to ADDRESS, the value of NOTIFY_SOCKET: a path
 * or an abstract name after '@'. When ADDRESS is NULL or empty, nothing is
 * sent: OK. Failures are logged. When the queue is full, it waits for at most a
 * second. Any thread.
 */
enum status systemd_notify(const char *address, const char *state) MUST_CHECK;

#endif
