/* SPDX-License-Identifier: MIT */
#include "tools/capture/ctf_dirs.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>

/* Numbers as such: chunk 10 is behind chunk 9. babeltrace2 takes parts that
 * begin at the same time in the order in which it is given them. */
static int
by_name(const FTSENT **a, const FTSENT **b)
{
	return strverscmp((*a)->fts_name, (*b)->fts_name);
}

/* The directory of the file at PATH, which is absolute. */
static enum status
add(struct ctf_dirs *dirs, const char *path)
{
	char **more = reallocarray(
	    dirs->paths, dirs->n + 1, sizeof(*dirs->paths));

	if (more == NULL)
		return E_NOMEM;
	dirs->paths = more;
	more[dirs->n] = strndup(path, (size_t)(strrchr(path, '/') - path));
	return more[dirs->n++] != NULL ? OK : E_NOMEM;
}

static enum status
walk(struct ctf_dirs *dirs, FTS *fts)
{
	const FTSENT *e;
	enum status st = OK;

	errno = 0;
	while (st == OK && (e = fts_read(fts)) != NULL) {
		if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR) {
			errno = e->fts_errno;
			return E_IO;
		}
		if (e->fts_info == FTS_F &&
		    strcmp(e->fts_name, "metadata") == 0)
			st = add(dirs, e->fts_path);
	}
	return st == OK && errno != 0 ? E_IO : st;
}

enum status
ctf_dirs_find(struct ctf_dirs *dirs, const char *top)
{
	char *const tops[] = { realpath(top, NULL), NULL };
	enum status st = E_IO;
	FTS *fts;
	int error;

	*dirs = (struct ctf_dirs){ 0 };
	if (tops[0] == NULL)
		return E_IO;
	fts = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	if (fts != NULL)
		st = walk(dirs, fts);
	error = errno;
	if (fts != NULL)
		fts_close(fts);
	free(tops[0]);
	if (st != OK)
		ctf_dirs_free(dirs);
	errno = error;
	return st;
}

void
ctf_dirs_free(struct ctf_dirs *dirs)
{
	for (size_t i = 0; i < dirs->n; i++)
		free(dirs->paths[i]);
	free(dirs->paths);
	*dirs = (struct ctf_dirs){ 0 };
}
