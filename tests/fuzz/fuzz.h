/* SPDX-License-Identifier: MIT */
/* What a fuzz target exports; replay_corpus.c or libFuzzer calls it. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Aborts on a broken promise. P is borrowed; always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#endif
