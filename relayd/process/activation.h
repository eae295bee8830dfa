/* SPDX-License-Identifier: MIT */
/*
 * Sockets that the service manager has opened for us: socket activation, as in
 * sd_listen_fds(3). Each has a name, which is that of a port: "control",
 * "data", "live", "http" (FileDescriptorName= of the socket unit).
 */
#ifndef RELAYD_PROCESS_ACTIVATION_H
#define RELAYD_PROCESS_ACTIVATION_H

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
enum status activation_take(struct options *o) MUST_CHECK;

#endif
