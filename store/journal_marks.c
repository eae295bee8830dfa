/* SPDX-License-Identifier: MIT */
/*
 * What of the files is on the disk for certain, with --sync=TIME. The kernel
 * tells of bytes that it could not write once, and takes them for written from
 * then on: no later sync speaks of them. So a file with such bytes is in doubt
 * for good: what the journal vouches for stays what it was, and its slot stays
 * until the daemon ends.
 */
#include <unistd.h>

#include "store/journal_internal.h"
#include "store/journal_sync.h"

void
journal_end(struct journal *j)
{
	j->is_ending = j->config.sync != JOURNAL_UNSYNCED;
}

/* The round that has on the disk what was written now. If one has failed that
 * is not known here, it may have tried to write that: then it is the answer,
 * and what waits for it will be in doubt. */
static uint64_t
round_of_now(const struct journal *j)
{
	const uint64_t next = syncer_round(j->config.syncer);
	const uint64_t failed = syncer_failed(j->config.syncer);

	return failed > j->failed ? failed : next;
}

/* Those in the list are in the order of their rounds. */
void
journal_mark(struct journal *j, struct journal_file *file)
{
	if (j->config.syncer == NULL || file->root == NULL ||
	    file->is_doubtful || !list_empty(&file->mark_node))
		return;
	file->mark_length = file->length;
	file->mark_round = round_of_now(j);
	list_append(&j->marked, &file->mark_node);
}

void
journal_leave_if_empty(struct journal *j)
{
	if (j->n_files == 0 && j->leaving == 0 && j->n_doubtful == 0)
		journal_leave(j);
}

/* Rings of small files are closed faster than the rounds come. */
static void
hurry(struct journal *j)
{
	struct syncer *s = j->config.syncer;

	if (s == NULL || j->n_leaving < JOURNAL_LEAVING_MAX ||
	    j->hurried == syncer_round(s))
		return;
	j->hurried = syncer_round(s);
	syncer_hurry(s);
}

void
journal_leave_later(struct journal *j, const struct journal_file *file)
{
	const uint32_t n = file->slot;

	if (file->is_doubtful) {
		j->n_doubtful++;
		return;
	}
	j->slots[n].next = 0;
	/* Without a syncer the daemon ends, and no round will come. */
	j->slots[n].file.round = j->config.syncer == NULL ? UINT64_MAX
							  : round_of_now(j);
	if (j->leaving == 0)
		j->leaving = n;
	else
		j->slots[j->last_leaving].next = n;
	j->last_leaving = n;
	j->n_leaving++;
	hurry(j);
}

/* The slots that wait for a round up to ROUND: it is done, or it FAILED. */
static void
leave_until(struct journal *j, uint64_t round, bool failed)
{
	uint32_t n;

	while (j->leaving != 0 && j->slots[j->leaving].file.round <= round) {
		n = j->leaving;
		j->leaving = j->slots[n].next;
		j->n_leaving--;
		if (failed)
			j->n_doubtful++;
		else
			journal_leave_file(j, n);
	}
}

/* Have the kernel write the journal's own pages again: they may be among those
 * that it could not write. */
static void
touch_pages(struct journal *j)
{
	const uint32_t step = (uint32_t)sysconf(_SC_PAGESIZE) / JOURNAL_SLOT;

	volatile uint32_t *kind;

	for (uint32_t n = 0; n < j->n_slots; n += step) {
		kind = &j->slots[n].kind;
		*kind = *kind;
	}
}

/* A round failed: what waited for it is in doubt. */
static void
take_failure(struct journal *j, uint64_t failed)
{
	struct journal_file *file;

	j->failed = failed;
	while (!list_empty(&j->marked)) {
		file = list_first(&j->marked, struct journal_file, mark_node);
		if (file->mark_round > failed)
			break;
		file->is_doubtful = true;
		list_del(&file->mark_node);
	}
	leave_until(j, failed, true);
	touch_pages(j);
}

/* A round is done: store what it has on the disk. */
static void
take_done(struct journal *j, uint64_t done)
{
	struct journal_file *file;

	while (!list_empty(&j->marked)) {
		file = list_first(&j->marked, struct journal_file, mark_node);
		if (file->mark_round > done)
			break;
		journal_set_synced(j, file, file->mark_length);
		list_del(&file->mark_node);
		if (file->length > file->mark_length || file->slot == 0)
			journal_mark(j, file);
	}
	leave_until(j, done, false);
	journal_leave_if_empty(j);
}

uint64_t
journal_tick(struct journal *j)
{
	struct syncer *s = j->config.syncer;
	uint64_t done, failed;

	if (s == NULL || (list_empty(&j->marked) && j->leaving == 0))
		return UINT64_MAX;
	/* In this order: a failure that came before DONE is seen. */
	done = syncer_done(s);
	failed = syncer_failed(s);
	if (failed > j->failed)
		take_failure(j, failed);
	take_done(j, done);
	return list_empty(&j->marked) && j->leaving == 0 ? UINT64_MAX
							 : syncer_pause_ns(s);
}
