/* SPDX-License-Identifier: MIT */
#include "common/account.h"

#include "common/list.h"

void
account_close_largest(struct account *a, const struct list *owners,
    const struct account_owners *ops, const struct list *but, uint64_t least)
{
	struct list *n, *tmp, *largest;
	uint64_t holds, most, sum;

	while (account_is_exhausted(a)) {
		largest = NULL;
		most = sum = 0;
		list_for_each (n, tmp, owners) {
			holds = n == but ? 0 : ops->holds(n);
			sum += holds;
			if (holds > most) {
				most = holds;
				largest = n;
			}
		}
		if (largest == NULL || sum < least)
			return;
		ops->close(largest);
	}
}
