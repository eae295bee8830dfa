/* SPDX-License-Identifier: MIT */
#include "common/list.h"

#include <string.h>

#include "tests/lib/unit.h"

struct item {
	char name;
	struct list node;
};

/* The names of all items that are left without those in DROP. */
static void
drop_in_loop(struct list *head, const char *drop, char *seen)
{
	struct list *pos, *tmp;

	list_for_each (pos, tmp, head) {
		struct item *it = list_entry(pos, struct item, node);

		*seen++ = it->name;
		if (strchr(drop, it->name) != NULL)
			list_del(pos);
	}
	*seen = '\0';
}

static const struct {
	const char *add, *drop, *left;
} cases[] = {
	{ "", "", "" },
	{ "a", "", "a" },
	{ "a", "a", "" },
	{ "abc", "a", "bc" },
	{ "abc", "b", "ac" },
	{ "abc", "c", "ab" },
	{ "abc", "abc", "" },
};

TEST_ROWS(entries_may_leave_while_the_list_is_walked, ARRAY_LEN(cases))
{
	struct item items[4];
	struct list head;
	char seen[8];

	list_init(&head);
	for (size_t i = 0; cases[_i].add[i] != '\0'; i++) {
		items[i].name = cases[_i].add[i];
		list_append(&head, &items[i].node);
	}
	drop_in_loop(&head, cases[_i].drop, seen);
	ck_assert_str_eq(seen, cases[_i].add);
	drop_in_loop(&head, "", seen);
	ck_assert_str_eq(seen, cases[_i].left);
	ck_assert_int_eq(list_empty(&head), cases[_i].left[0] == '\0');
	if (!list_empty(&head))
		ck_assert_int_eq(list_first(&head, struct item, node)->name,
		    cases[_i].left[0]);
}

TEST(deleting_twice_does_no_harm)
{
	struct item a = { .name = 'a' }, b = { .name = 'b' };
	struct list head;
	char seen[8];

	list_init(&head);
	list_append(&head, &a.node);
	list_append(&head, &b.node);
	list_del(&a.node);
	list_del(&a.node);
	drop_in_loop(&head, "", seen);
	ck_assert_str_eq(seen, "b");
}
