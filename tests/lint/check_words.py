#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rules for words find what they are to find, and nothing else."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("srcdir", "."), "tests/lint"))
import words

GUARD = "#ifndef STORE_A_H\n#define STORE_A_H\n"
LONG = "x" * 66
CASES = [  # a file, its text, the lines that are found
    ("store/a.c", "int catalog_of;\n", [1]),
    ("store/a.c", "/* A gallery. */\n", [1]),
    ("store/a.c", "list_add(a, b);\nlist_append(a, b);\n", [1]),
    ("store/a.h", GUARD, []),
    ("store/a.h", "#ifndef A_H\n#define A_H\n", [1]),
    ("store/a.h", "int x;\n", [1]),
    ("store/a.tbl.h", "X(a)\n", []),
    ("store/a.c", "/* These words are here\n * and these had room. */\n", [1]),
    ("store/a.c", "/*\n * A sentence.\n * another one: end\n */\n", []),
    ("store/a.c", "/*\n * %s\n * and so on\n */\n" % LONG, []),
    ("store/a.c", "/*\n * These are rows:\n *\tone\n */\n", []),
    ("store/a.c", "glob(\"a/*\");\nint\nb; /* one */\n", []),
    ("store/a.c", "int a; /* one */\nint b; /* two */\n", []),
]
FUNCTION = "static int\n%s(void)\n{\n}\n"
NAMES = [  # files and their one function, in which ones it is found
    (("store/a.c", "look"), ("store/b.c", "look"), [False, True]),
    (("store/a.c", "look"), ("relayd/net/b.c", "look"), [False, False]),
    (("store/a.c", "release"), ("store/b.c", "release"), [False, False]),
    (("tests/a.c", "look"), ("tests/b.c", "look"), [False, False]),
    (("store/a.c", "look"), ("store/a.c", "look"), [False, False]),
]


def main():
    failed = 0
    for path, text, want in CASES:
        got = [line for line, _ in words.check(path, text)]
        if got != want:
            print("%s: found on lines %r, want %r\n%s"
                  % (path, got, want, text))
            failed += 1
    for first, second, want in NAMES:
        names = words.Names()
        got = [bool(list(names.check(path, FUNCTION % name)))
               for path, name in (first, second)]
        if got != want:
            print("%r, %r: found %r, want %r" % (first, second, got, want))
            failed += 1
    print("%d of %d failed" % (failed, len(CASES) + len(NAMES)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
