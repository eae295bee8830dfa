/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tools/plugin/tracks.h"

bool
track_push(struct track *t, uint64_t name)
{
	if (t->depth == t->room && t->room < TRACK_DEPTH_MAX) {
		uint32_t room = t->room > 0 ? t->room * 2 : 16;
		uint64_t *open = realloc(t->open, room * sizeof(open[0]));

		if (open != NULL) {
			t->open = open;
			t->room = room;
		}
	}
	if (t->depth == t->room) {
		t->deeper++;
		return false;
	}
	t->open[t->depth++] = name;
	return true;
}

uint32_t
track_pop(struct track *t, uint64_t name)
{
	uint32_t n = 0;

	if (t->deeper > 0) {
		t->deeper--;
		return 0;
	}
	while (n < t->depth && t->open[t->depth - 1 - n] != name)
		n++;
	if (n == t->depth)
		return 0;
	t->depth -= n + 1;
	return n + 1;
}

static void
track_reset(struct track *t)
{
	t->is_described = false;
	t->depth = 0;
	t->deeper = 0;
}

struct thread *
threads_get(struct threads *threads, int64_t tid)
{
	struct thread **bucket =
	    &threads->buckets[(uint64_t)tid % THREADS_BUCKETS];
	struct thread *t = *bucket;

	while (t != NULL && t->tid != tid)
		t = t->next;
	if (t != NULL)
		return t;
	if (threads->n == THREADS_KNOWN_MAX)
		threads_free(threads);
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return NULL;
	t->tid = tid;
	t->pid = tid;
	t->next = *bucket;
	*bucket = t;
	threads->n++;
	return t;
}

void
thread_set_pid(struct thread *thread, int64_t pid)
{
	thread->knows_pid = true;
	if (thread->pid == pid)
		return;
	thread->pid = pid;
	thread->name[0] = '\0';
	track_reset(&thread->track);
}

void
thread_set_name(struct thread *thread, const char *name)
{
	size_t len = strnlen(name, THREAD_NAME - 1);

	if (strncmp(thread->name, name, THREAD_NAME - 1) == 0)
		return;
	memcpy(thread->name, name, len);
	thread->name[len] = '\0';
	thread->track.is_described = false;
}

void
threads_free(struct threads *threads)
{
	for (unsigned i = 0; i < THREADS_BUCKETS; i++) {
		while (threads->buckets[i] != NULL) {
			struct thread *t = threads->buckets[i];

			threads->buckets[i] = t->next;
			free(t->track.open);
			free(t);
		}
	}
	threads->n = 0;
}

uint64_t
tracks_hash(uint64_t hash, const char *s)
{
	for (; *s != '\0'; s++)
		hash = (hash ^ (unsigned char)*s) * 0x100000001b3U;
	return hash;
}
