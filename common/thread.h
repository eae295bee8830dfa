/* SPDX-License-Identifier: MIT */
/* Threads that never run a signal handler, and how many there may be. */
#ifndef COMMON_THREAD_H
#define COMMON_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#define WORKERS_MAX 64
#define LIVE_WORKERS_MAX 4 /* each serves hundreds of viewers */

/*
 * Start RUN(ARG) in a thread with all signals blocked, so that signals reach
 * the thread that handles them. STACK is the size of its stack in bytes; 0: the
 * system's default. Returns 0, or an error number as pthread_create(3) does.
 */
static inline int
thread_start_with_stack(
    pthread_t *out, size_t stack, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	pthread_attr_t attr;
	int error = pthread_attr_init(&attr);

	if (error != 0)
		return error;
	if (stack != 0)
		error = pthread_attr_setstacksize(&attr, stack);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (error == 0)
		error = pthread_create(out, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return error;
}

static inline int
thread_start(pthread_t *out, void *(*run)(void *), void *arg)
{
	return thread_start_with_stack(out, 0, run, arg);
}

#endif
