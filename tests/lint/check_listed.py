#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rule for tests that never run finds them, and nothing else."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("srcdir", "."), "tests/lint"))
import listed

MAKEFILE = """\
REPLAY_PY = tests/replay/one.py \\
\ttests/replay/two.py
EXTRA_DIST += $(REPLAY_PY) tests/replay/three.py
if HAVE_PYTHON
TESTS += $(REPLAY_PY)
$(REPLAY_PY:.py=.log): tracepulse-relayd$(EXEEXT)
endif
REPLAY_TESTS = tests/replay/check_one
REPLAY_TESTS += tests/replay/check_two
TESTS += $(REPLAY_TESTS)
check_PROGRAMS += $(REPLAY_TESTS) tests/replay/check_three
"""
RUNS = "if __name__ == \"__main__\":\n    sys.exit(relay.run(CASES))\n"
CASES = [  # a file, its text, is it found
    ("tests/replay/one.py", RUNS, False),
    ("tests/replay/two.py", RUNS, False),
    ("tests/replay/three.py", RUNS, True),
    ("tests/replay/three.py", "def helper():\n    pass\n", False),
    ("tests/replay/check_one.c", "", False),
    ("tests/replay/check_two.c", "", False),
    ("tests/replay/check_three.c", "", True),
    ("tests/replay/check_on.c", "", True),
    ("tests/replay/player.c", "", False),
    ("tests/lint/check_one.py", "", True),
    ("tests/interop/three.py", RUNS, False),
    ("store/check_one.c", "", False),
]


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as base:
        os.makedirs(os.path.join(base, "tests/replay"))
        with open(os.path.join(base, "tests/replay/Makefile.inc"), "w",
                  encoding="utf-8") as handle:
            handle.write(MAKEFILE)
        for path, text, want in CASES:
            got = bool(list(listed.check(base, path, text)))
            if got != want:
                print("%s: found %r, want %r\n%s" % (path, got, want, text))
                failed += 1
    print("%d of %d failed" % (failed, len(CASES)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
