/* SPDX-License-Identifier: MIT */
#include "relayd/process/machine.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A line of /proc/self/cgroup: its number, its controllers, its path. */
#define LINE_MAX_LEN (PATH_MAX + 256)

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The number in a file; UINT64_MAX: there is none ("max", or no file). */
static uint64_t
read_limit(const char *file)
{
	FILE *f = fopen(file, "re");
	uint64_t n = UINT64_MAX;

	if (f == NULL)
		return UINT64_MAX;
	if (fscanf(f, "%" SCNu64, &n) != 1)
		n = UINT64_MAX;
	fclose(f);
	return n;
}

/* The least limit of the group at PATH and of those above it. PATH is cut. */
static uint64_t
limit_of_groups(
    const char *root, const char *mount, char *path, const char *file)
{
	uint64_t limit = UINT64_MAX;
	char name[2 * LINE_MAX_LEN];
	char *slash;

	for (;;) {
		snprintf(name, sizeof(name), "%s/sys/fs/cgroup%s%s/%s", root,
		    mount, path, file);
		limit = least(limit, read_limit(name));
		slash = strrchr(path, '/');
		if (slash == NULL)
			return limit;
		*slash = '\0';
	}
}

/* "0::/path" is of cgroup v2; "9:memory:/path" is the memory controller of
 * cgroup v1. */
static uint64_t
limit_of_line(const char *root, char *line)
{
	char *controllers = strchr(line, ':'), *path;

	line[strcspn(line, "\n")] = '\0';
	if (controllers == NULL)
		return UINT64_MAX;
	path = strchr(++controllers, ':');
	if (path == NULL)
		return UINT64_MAX;
	*path++ = '\0';
	if (strcmp(path, "/") == 0)
		*path = '\0';
	if (*controllers == '\0')
		return limit_of_groups(root, "", path, "memory.max");
	if (strcmp(controllers, "memory") == 0)
		return limit_of_groups(
		    root, "/memory", path, "memory.limit_in_bytes");
	return UINT64_MAX;
}

static uint64_t
limit_of_process(const char *root)
{
	uint64_t limit = UINT64_MAX;
	char line[LINE_MAX_LEN];
	FILE *f;

	snprintf(line, sizeof(line), "%s/proc/self/cgroup", root);
	f = fopen(line, "re");
	if (f == NULL)
		return UINT64_MAX;
	while (fgets(line, sizeof(line), f) != NULL)
		limit = least(limit, limit_of_line(root, line));
	fclose(f);
	return limit;
}

uint64_t
machine_memory(const char *root)
{
	const long pages = sysconf(_SC_PHYS_PAGES);
	const long page = sysconf(_SC_PAGESIZE);
	uint64_t memory = UINT64_MAX;

	if (pages > 0 && page > 0)
		memory = (uint64_t)pages * (uint64_t)page;
	memory = least(memory, limit_of_process(root));
	return memory == UINT64_MAX ? 0 : memory;
}
