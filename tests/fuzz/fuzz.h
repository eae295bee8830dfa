/* SPDX-License-Identifier: MIT */
/* What a fuzz target exports; replay_corpus.c or libFuzzer calls it. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Run one input, and abort on a broken promise. P is borrowed. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#endif
