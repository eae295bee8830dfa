/* SPDX-License-Identifier: MIT */
/*
 * A process that does what a file may crash or take over: it has the file as
 * its standard input, a pipe to us as its standard output, and no rights. One
 * thread at a time per child.
 */
#ifndef TOOLS_CAPTURE_CHILD_H
#define TOOLS_CAPTURE_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/capture/source.h"

/* The memory that a reader of files may use; xz and zstd want up to 128 MiB for
 * what their programs write. */
#define CHILD_MEMORY_MAX (512 << 20)

struct child {
	pid_t pid;  /* 0: none */
	int output; /* to be read, and closed, by the caller */
	char *why;  /* memory shared with it */
};

/* What the process does. False: WHY, which is zeros, is one line. */
typedef bool child_work(const void *arg, char why[SOURCE_WHY_MAX]);

/* Start it. INPUT is borrowed. E_IO with errno. */
enum status child_start(
    struct child *c, int input, child_work *work, const void *arg) MUST_CHECK;
/* Has it said why it cannot do its work? It does so before its output ends. */
bool child_complains(const struct child *c);
/* After the end of its output: did it do its work? E_REFUSED: *WHY is one line,
 * without the name of the input. */
enum status child_end(struct child *c, char why[SOURCE_WHY_MAX]) MUST_CHECK;
/* End it, whatever it does; one that was not started is fine. */
void child_kill(struct child *c);

/* For its work: write to the standard output. False: nobody reads it. */
bool child_write(const void *bytes, size_t n);

#endif
