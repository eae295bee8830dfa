/* SPDX-License-Identifier: MIT */
/* For programs without a main() of their own. */
#include "tests/lib/unit.h"

int
main(void)
{
	return unit_run();
}
