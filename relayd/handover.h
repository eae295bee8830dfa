/* SPDX-License-Identifier: MIT */
/*
 * A restart that peers do not notice: this process gives all that it has to the
 * next one, through the service manager or to a process that asked for it
 * (--take-over), or has got it from the one before (doc/ops/upgrading.md). Main
 * thread.
 */
#ifndef RELAYD_HANDOVER_H
#define RELAYD_HANDOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/state.h"
#include "common/status.h"
#include "relayd/acceptor.h"
#include "relayd/net/take_over.h"
#include "relayd/process/handoff.h"

struct http;
struct options;

/* The state that this version writes, and the oldest version that reads it: it
 * grows when a table gets a member that the sessions cannot do without. */
#define STATE_VERSION 1
#define STATE_OLDEST_READER 1
/* The oldest state that this version reads. */
#define STATE_OLDEST 1

/* How a state begins; all versions can read that. */
struct state_head {
	uint64_t magic;
	uint32_t version, oldest_reader;
	uint64_t n_bytes;  /* that follow */
	uint32_t checksum; /* of them */
	uint32_t n_fds, n_objects;
	uint16_t control, data, live; /* ports, in the order of listeners */
	uint64_t frozen_ns;	      /* when it stopped reading */
	uint32_t n_sessions, n_conns;
};
#define STATE_HEAD_LEN 58

/* Parse the head of the N bytes at P and check it against the rest.
 * E_MALFORMED: damaged; E_NOENT: of a version that this one cannot read, *HEAD
 * is set. */
enum status state_head_decode(
    struct state_head *head, const uint8_t *p, size_t n) MUST_CHECK;

struct handover {
	struct handoff from, to; /* of the process before, for the next one */
	int old;		 /* the process before, if it is asked; or -1 */
	struct take_over *server; /* for the next process; NULL: none */
	char path[PATH_MAX];	  /* of its socket */
	char attempt[PATH_MAX];	  /* a file that is there meanwhile */
	struct state_head head;
	const uint8_t *bytes; /* the state, mapped; NULL: none */
	size_t n_bytes;
	struct state_in in;
	struct acceptor_udp udp;
	struct acceptor_moved moved;
};

void handover_init(struct handover *h);
/*
 * At the start, before anything listens: with --take-over ask the relay that
 * runs, else read what the service manager has stored (h->from). Listening
 * sockets go to O's URLs; O->workers is raised to those of the state. E_IO,
 * E_REFUSED: the relay that runs cannot be taken over; logged. A stored state
 * that cannot be read is dropped, and logged; so is one that the last start has
 * not survived.
 */
enum status handover_begin(
    struct handover *h, struct options *o, int base_fd) MUST_CHECK;
/* Between acceptor_prepare() and acceptor_start(): restore what there is, and
 * wait until the relay that was asked has ended. E_IO: it goes on. */
enum status handover_restore(struct handover *h, struct acceptor *a) MUST_CHECK;
/* After http_create(), before threads start: its events go on. All is restored
 * then. */
void handover_restore_http(struct handover *h, struct http *http);
/* All is restored and serves: the service manager may forget the rest. */
void handover_done(struct handover *h);

/* Before the sandbox: get ready for the next process. A failure is logged, and
 * a restart cuts the sessions then. */
void handover_prepare(
    struct handover *h, struct acceptor *a, const struct options *o);
/*
 * After acceptor_run(): give everything away, if a process has asked or there
 * is a service manager. OK: it is given, so nothing may be closed any more,
 * except handover_end(). E_NOENT: nobody takes it: stop. E_LATER: the process
 * that asked did not take it: go on by acceptor_start(), http_start() and
 * acceptor_run().
 */
enum status handover_give(
    struct handover *h, struct acceptor *a, struct http *http) MUST_CHECK;
/* Closes what is left; the process that took over goes on then. */
void handover_end(struct handover *h);

#endif
