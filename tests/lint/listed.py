# SPDX-License-Identifier: MIT
"""Tests that never run: a program check_*.c, a script check_*.py, or a script
of tests/replay with cases, that TESTS of its folder's Makefile.inc lacks."""
import os
import re

IS_TEST = re.compile(r"tests/\w+/check_\w+\.(?:c|py)")
REPLAY = re.compile(r"tests/replay/\w+\.py")
HAS_CASES = re.compile(r"\brelay\.(?:main|run)\(")

ASSIGNED = re.compile(r"^(\w+) *\+?= *(.*)", re.M)
VARIABLE = re.compile(r"\$\((\w+)\)")


def in_tests(makefile):
    """The words that TESTS has in this text."""
    words = {}
    for name, value in ASSIGNED.findall(makefile.replace("\\\n", " ")):
        words.setdefault(name, []).extend(value.split())

    def expand(word):
        found = VARIABLE.fullmatch(word)
        if not found:
            return {word}
        return set().union(*map(expand, words.get(found.group(1), ())))
    return expand("$(TESTS)")


def check(base, path, text):
    """Pairs of a line number and what is wrong there."""
    if not IS_TEST.fullmatch(path) \
            and not (REPLAY.fullmatch(path) and HAS_CASES.search(text)):
        return
    inc = os.path.join(os.path.dirname(path), "Makefile.inc")
    makefile = ""
    if os.path.exists(os.path.join(base, inc)):
        with open(os.path.join(base, inc), encoding="utf-8") as handle:
            makefile = handle.read()
    name = path[:-2] if path.endswith(".c") else path
    if name not in in_tests(makefile):
        yield 1, "it never runs: no list in TESTS of %s has it" % inc
