/* SPDX-License-Identifier: MIT */
/* The service manager's notification datagrams, as in sd_notify(3). */
#ifndef RELAYD_PROCESS_NOTIFY_H
#define RELAYD_PROCESS_NOTIFY_H

#include "common/compiler.h"
#include "common/status.h"

/*
 * Sends STATE ("READY=1\n...") to ADDRESS, the value of NOTIFY_SOCKET: a path
 * or an abstract name after '@'. When ADDRESS is NULL or empty, nothing is
 * sent: OK. Failures are logged. When the queue is full, it waits for at most a
 * second. Any thread.
 */
enum status notify_send(const char *address, const char *state) MUST_CHECK;

#endif
