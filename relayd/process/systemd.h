/* SPDX-License-Identifier: MIT */
/*
 * The service manager: socket activation as in sd_listen_fds(3), and
 * notifications as in sd_notify(3). The name of a socket is that of its port:
 * "control", "data", "live", "http" (FileDescriptorName= of the socket unit).
 */
#ifndef RELAYD_PROCESS_SYSTEMD_H
#define RELAYD_PROCESS_SYSTEMD_H

#include <stdbool.h>

#include "common/compiler.h"
#include "common/status.h"

struct handoff;
struct options;

/*
 * What the process before has stored ("state", "listen", "pack") goes to H,
 * which owns it. Store each other socket in the URL of its port in O, which
 * owns it and is not bound again. Does nothing without such sockets, or if they
 * are for another process, or if the program is set-uid. Other programs do not
 * inherit them, and their variables are removed from the environment.
 * E_REFUSED, logged: a socket without a name, with an unknown name, or with a
 * name used twice; a socket that does not listen for TCP connections. Called in
 * the main thread before any fork, as the variables name this process.
 */
enum status systemd_take_sockets(
    struct options *o, struct handoff *h) MUST_CHECK;

/*
 * Send STATE ("READY=1\n...") to the service manager: to NOTIFY_SOCKET, a path,
 * or an abstract name after '@'. Does nothing if that is not set. False: it
 * failed, which was logged. If the queue is full, it waits for at most a
 * second. Any thread.
 */
bool systemd_notify(const char *state);
/* The same, with N descriptors, which stay open. */
bool systemd_notify_fds(
    const char *state, const int *fds, unsigned n) MUST_CHECK;
/* Is there a service manager that can be notified? */
bool systemd_has_manager(void);

#endif
