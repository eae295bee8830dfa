/* SPDX-License-Identifier: MIT */
/* Threads that never run a signal handler, and how many there may be. */
#ifndef COMMON_THREAD_H
#define COMMON_THREAD_H

#include <pthread.h>
#include <signal.h>

#define WORKERS_MAX 64
#define LIVE_WORKERS_MAX 4 /* each serves hundreds of viewers */

/*
 * Start RUN(ARG) in a thread with all signals blocked, so that signals reach
 * the thread that handles them. Returns 0, or an error number as
 * pthread_create(3) does.
 */
static inline int
thread_start(pthread_t *out, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(out, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

#endif
