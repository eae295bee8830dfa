/* SPDX-License-Identifier: MIT */
#include "store/folder.h"

#include <errno.h>
#include <stdlib.h>

#include "common/ref.h"
#include "store/kept_dir.h"

struct folder {
	struct ref ref;
	int fd;
};

enum status
folder_open(struct folder **out, int base, const char *path)
{
	struct folder *f = calloc(1, sizeof(*f));
	enum status st;

	*out = NULL;
	if (f == NULL)
		return E_NOMEM;
	ref_init(&f->ref);
	st = kept_dir_open(&f->fd, base, path);
	if (st != OK) {
		int saved = errno;

		free(f);
		errno = saved;
		return st;
	}
	*out = f;
	return OK;
}

struct folder *
folder_get(struct folder *f)
{
	ref_get(&f->ref);
	return f;
}

static void
release(struct ref *r)
{
	struct folder *f = container_of(r, struct folder, ref);

	kept_dir_close(f->fd);
	free(f);
}

void
folder_put(struct folder *f)
{
	if (f != NULL)
		ref_put(&f->ref, release);
}

bool
folder_is_gone(const struct folder *f)
{
	return kept_dir_is_gone(f->fd);
}

int
folder_fd(const struct folder *f)
{
	return f->fd;
}
