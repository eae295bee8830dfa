/* SPDX-License-Identifier: MIT */
/* The options of a program that does not exist; see check_option.c. */
/* clang-format off */
OPTION(FLAG, 'f', "flag", NULL, FLAG(flag), "a flag")
OPTION(TEXT, 't', "text", "TEXT", TEXT(text), "a text")
OPTION(NUMBER, 0, "number", "N", NUMBER(number, 2, 9), "2 to 9 [5]")
OPTION(COUNT, 0, "count", "N", COUNT(count, 0, UINT64_MAX), "any number")
OPTION(DECIMAL, 0, "decimal", "P", DECIMAL(decimal, 0, 1), "0 to 1")
OPTION(SIZE, 0, "size", "SIZE", SIZE(size, 1, UINT64_MAX), "a size")
OPTION(TIME, 0, "time", "TIME", TIME(time_ns, 1, NS_PER_S), "up to 1s")
OPTION(CHOICE, 'c', "choice", "red|green|blue", CHOICE(choice), "a colour")
OPTION(TINY, 0, "tiny", "N", OWN(take_tiny), "twice that number")
