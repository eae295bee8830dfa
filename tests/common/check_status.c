/* SPDX-License-Identifier: MIT */
#include "common/status.h"

#include <string.h>

#include "common/compiler.h"
#include "tests/lib/unit.h"

static const struct {
	enum status st;
	enum blame blame;
	const char *text;
} rows[] = {
#define STATUS(name, blame, text) { name, BLAME_##blame, text },
#include "common/status.tbl.h"
#undef STATUS
};

TEST_ROWS(each_row_has_its_text_and_blame, ARRAY_LEN(rows))
{
	ck_assert_int_eq(rows[_i].st, _i);
	ck_assert_str_eq(status_text(rows[_i].st), rows[_i].text);
	ck_assert_int_eq(status_blame(rows[_i].st), rows[_i].blame);
	for (int i = 0; i < _i; i++)
		ck_assert_str_ne(rows[i].text, rows[_i].text);
}

TEST(no_failure_is_zero)
{
	ck_assert_int_eq(OK, 0);
	ck_assert_int_eq(status_blame(E_MALFORMED), BLAME_PEER);
	ck_assert_int_eq(status_blame(E_NOMEM), BLAME_US);
	ck_assert_int_eq(status_blame(E_REFUSED), BLAME_NOBODY);
}

TEST(any_number_has_a_text)
{
	const enum status bad = (enum status)ARRAY_LEN(rows);

	ck_assert_uint_gt(strlen(status_text(bad)), 0);
	ck_assert_int_eq(status_blame(bad), BLAME_US);
}
