/* SPDX-License-Identifier: MIT */
/*
 * In place of the header of the same name of libtrace 4: what
 * tools/capture/parallel_input.c needs of that interface, written after its
 * documentation. libtrace_double.c implements it on libtrace 3.
 */
#ifndef TESTS_CAPTURE_DOUBLE_LIBTRACE_PARALLEL_H
#define TESTS_CAPTURE_DOUBLE_LIBTRACE_PARALLEL_H

#include <libtrace.h>
#include <stdint.h>

typedef struct libtrace_thread_t libtrace_thread_t;
typedef struct callback_set libtrace_callback_set_t;

typedef void *(*fn_cb_starting)(
    libtrace_t *trace, libtrace_thread_t *thread, void *global);
typedef void (*fn_cb_dataless)(
    libtrace_t *trace, libtrace_thread_t *thread, void *global, void *local);
typedef libtrace_packet_t *(*fn_cb_packet)(libtrace_t *trace,
    libtrace_thread_t *thread, void *global, void *local,
    libtrace_packet_t *packet);
typedef void (*fn_cb_tick)(libtrace_t *trace, libtrace_thread_t *thread,
    void *global, void *local, uint64_t time);
typedef uint64_t (*fn_hasher)(const libtrace_packet_t *packet, void *data);

enum hasher_types {
	HASHER_BALANCE,
	HASHER_BIDIRECTIONAL,
	HASHER_UNIDIRECTIONAL,
	HASHER_CUSTOM,
};

libtrace_callback_set_t *trace_create_callback_set(void);
void trace_destroy_callback_set(libtrace_callback_set_t *set);
int trace_set_starting_cb(libtrace_callback_set_t *set, fn_cb_starting f);
int trace_set_stopping_cb(libtrace_callback_set_t *set, fn_cb_dataless f);
int trace_set_packet_cb(libtrace_callback_set_t *set, fn_cb_packet f);
int trace_set_tick_interval_cb(libtrace_callback_set_t *set, fn_cb_tick f);

int trace_set_perpkt_threads(libtrace_t *trace, int n);
int trace_set_tick_interval(libtrace_t *trace, size_t ms);
int trace_set_hasher(
    libtrace_t *trace, enum hasher_types type, fn_hasher f, void *data);

int trace_pstart(libtrace_t *trace, void *global,
    libtrace_callback_set_t *processing, libtrace_callback_set_t *reporting);
int trace_pstop(libtrace_t *trace);
void trace_join(libtrace_t *trace);

#endif
