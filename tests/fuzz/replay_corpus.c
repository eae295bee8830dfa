/* SPDX-License-Identifier: MIT */
/*
 * Runs each file of a corpus through a fuzz target, as it is and with bytes
 * changed by a seeded generator, so that a compiler without libFuzzer checks
 * the target, too. Arguments: [-n mutations per file] [directory]; without a
 * directory, REPLAY_DIR of the source tree is used.
 */
#include <dirent.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tests/lib/bytes.h"

#define MUTATIONS 200

static uint64_t
next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A few bytes of B become something else; sometimes it ends early. */
static void
mutate(struct bytes *b, uint64_t *state)
{
	static const uint8_t values[] = { 0, 1, 2, '.', '/', 0x7f, 0x80, 0xff };

	for (unsigned left = 1 + next_random(state) % 4; left > 0; left--) {
		const size_t at = next_random(state) % b->n;
		const uint64_t r = next_random(state);

		b->p[at] = r % 2 == 0 ? (uint8_t)(r >> 8)
				      : values[(r >> 8) % sizeof(values)];
	}
	if (next_random(state) % 8 == 0)
		b->n = next_random(state) % b->n;
}

static void
run_file(const char *path, unsigned long mutations)
{
	uint64_t state = 88172645463325252;
	struct bytes b = bytes_file(path);

	(void)LLVMFuzzerTestOneInput(b.p, b.n);
	for (unsigned long i = 0; b.n > 0 && i < mutations; i++) {
		struct bytes changed = bytes_copy(b.p, b.n);
		struct bytes exact;

		mutate(&changed, &state);
		exact = bytes_copy(changed.p, changed.n);
		(void)LLVMFuzzerTestOneInput(exact.p, exact.n);
		free(exact.p);
		free(changed.p);
	}
	free(b.p);
}

static unsigned
run_directory(const char *dir, unsigned long mutations)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	unsigned n = 0;

	if (d == NULL)
		err(EXIT_FAILURE, "%s", dir);
	while ((e = readdir(d)) != NULL) {
		char path[4096];

		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		run_file(path, mutations);
		n++;
	}
	(void)closedir(d);
	return n;
}

int
main(int argc, char **argv)
{
	unsigned long mutations = MUTATIONS;
	char *dir;
	unsigned n;
	int opt;

	while ((opt = getopt(argc, argv, "n:")) != -1) {
		if (opt != 'n')
			errx(EXIT_FAILURE, "usage: [-n mutations] [dir]");
		mutations = strtoul(optarg, NULL, 10);
	}
	dir = optind < argc ? strdup(argv[optind])
			    : bytes_source_path(REPLAY_DIR);
	if (dir == NULL)
		err(EXIT_FAILURE, "strdup");
	n = run_directory(dir, mutations);
	if (n == 0)
		errx(EXIT_FAILURE, "%s: no files", dir);
	printf("%s: %u files\n", dir, n);
	free(dir);
	return EXIT_SUCCESS;
}
