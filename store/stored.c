/* SPDX-License-Identifier: MIT */
#include "store/stored.h"

#include <stdlib.h>
#include <string.h>

struct stored_dir *
stored_dir_create(void)
{
	struct stored_dir *d = calloc(1, sizeof(*d));

	if (d != NULL)
		ref_init(&d->ref);
	return d;
}

struct stored_dir *
stored_dir_get(struct stored_dir *d)
{
	ref_get(&d->ref);
	return d;
}

static void
release(struct ref *r)
{
	free(container_of(r, struct stored_dir, ref));
}

void
stored_dir_put(struct stored_dir *d)
{
	if (d != NULL)
		ref_put(&d->ref, release);
}

void
stored_dir_enter(struct stored_dir *d)
{
	if (d != NULL)
		published_add(&d->users, 1);
}

void
stored_dir_leave(struct stored_dir *d)
{
	/* A thread that sees that no user is left also sees everything that the
	 * users did. */
	if (d != NULL)
		(void)published_release(&d->users);
}

bool
stored_dir_is_used(const struct stored_dir *d)
{
	return published(&d->users) > 0;
}

static const char *
add(char **to, const char *s)
{
	const size_t n = strlen(s) + 1;
	char *at = *to;

	memcpy(at, s, n);
	*to += n;
	return at;
}

struct stored_note *
stored_note_create(const struct stored_note *from)
{
	struct stored_note *n = malloc(sizeof(*n) + strlen(from->row.path) +
				       strlen(from->row.host) +
				       strlen(from->row.session) + 3);
	char *text;

	if (n == NULL) {
		stored_dir_put(from->dir);
		return NULL;
	}
	*n = *from;
	text = n->text;
	n->row.path = n->row.name = add(&text, from->row.path);
	n->row.host = add(&text, from->row.host);
	n->row.session = add(&text, from->row.session);
	return n;
}

void
stored_note_destroy(struct stored_note *n)
{
	if (n == NULL)
		return;
	stored_dir_put(n->dir);
	free(n);
}
