#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rule for citations finds what leads nowhere, and nothing else: on a made
tree, one file per case."""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.join(os.environ.get("srcdir", "."), "tests/lint")
sys.path.insert(0, HERE)
import citations

STREAMING = """# A page
## 1. One
### 1.1 A part
1. a point
2. another
```
## 9. in an example, and streaming 9.9
```
## 2. Two
### 2.1 Its part
"""
LIVE = """# Another
## 5. Five
| W1 | a weakness |
## 6. Six
| P1 | a pitfall |
| P2 | a pitfall |
"""
UDP = "# The third\n## 1. One\n## 2. Two\n"

GOOD = {
    "relayd/a.c": "/* streaming 1.1 */\n/* Streaming 1, 2; live 5 */\n",
    "relayd/b.h": "/*\n * (relay protocol 2.4 - 2.15, streaming 1.1 -\n"
                  " * 2.1, and live 6, P1)\n */\n",
    "relayd/c.c": "// live 5, W1; 6, P1 to P2\n// udp 1 to 2\n",
    "relayd/d.c": "/* streaming 1.1.2, streaming 1.1, point 2 */\n",
    "relayd/e.c": 'f("live 9", o->live, 9);\nint live = 9; /* 9: live */\n'
                  "int udp; /* udp */ int n; /* 9 */\n",
    "relayd/f.c": "/* 8 live sessions, udp 9 times, live 9,000 of them */\n",
    "relayd/g.tbl.h": "/* streaming 2.1. Then more. */\n",
    "tests/h.py": '"""live 5, W1."""\n# P2, streaming\n# 1.1\nX = "W9"\n',
    "tests/i.c": "/* P1, W1: found */\n",
    "doc/j.md": "[x.md](streaming.md), [streaming.md](streaming.md), section "
                "1.1, and streaming 2.\n",
    "doc/k.md": "Section 9 of something else, W9.\n",
    "Makefile.inc": "# streaming 1.1\nall:\n",
}

BAD = {  # the lines that are found
    "relayd/a.c": ("/* streaming 1.1 */\n\n/* streaming 1.2 */\n", [3]),
    "relayd/b.h": ("/*\n * streaming 1.1 -\n * 2.2\n */\n", [2]),
    "relayd/c.c": ("/* live 6, W1 */\n// live 6, P3\n", [1, 2]),
    "relayd/d.c": ("/* streaming 1.1.3, live 5, 4) */\n", [1, 1]),
    "relayd/e.c": ("int a; /* udp 1 to 3 */\n", [1]),
    "relayd/f.tbl.h": ("/* (streaming 9) */\n", [1]),
    "relayd/g.c": ("/* as the\n * viewer port has it (live\n * 5.1) */\n", [2]),
    "tests/h.py": ('"""live 5, W2."""\n# W3\n', [1, 1, 2]),
    "tests/i.c": ("/* P9: not found */\n", [1]),
    "doc/j.md": ("# It\n[streaming.md](streaming.md), section 1.3.\n", [2]),
    "doc/udp.md": ("# The third\n## 1. One\n(section 1 and section 4)\n", [3]),
    "Makefile.inc": ("all:\n# live 7\n", [2]),
    "relayd/k.sh": ("#!/bin/sh\n# streaming 3.1\n", [2]),
}


def write(base, files):
    for name, text in files.items():
        path = os.path.join(base, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as handle:
            handle.write(text)


def found(base, path, text):
    return sorted(line for line, _ in citations.check(
        citations.pages(base), path, text))


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as base:
        write(base, {"doc/streaming.md": STREAMING, "doc/live.md": LIVE,
                     "doc/udp.md": UDP})
        cases = [(p, t, []) for p, t in GOOD.items()] \
            + [(p, t, lines) for p, (t, lines) in BAD.items()]
        for path, text, want in cases:
            got = found(base, path, text)
            if got != want:
                print("%s: found on lines %r, want %r\n%s"
                      % (path, got, want, text))
                failed += 1
        # And the whole program says it, with file and line.
        write(base, {"common/x.c": "/* SPDX-License-Identifier: MIT */\n"
                                   "/* live 5.9 */\n"
                                   "/* common/x.c, common/y.h */\n"})
        done = subprocess.run([os.path.join(HERE, "lint"), base],
                              stdout=subprocess.PIPE, check=False,
                              universal_newlines=True)
        if done.returncode != 1 or "common/x.c:2: no section live 5.9" \
                not in done.stdout or done.stdout.count(": no file ") != 1 \
                or "common/x.c:3: no file common/y.h" not in done.stdout:
            print("lint: status %d\n%s" % (done.returncode, done.stdout))
            failed += 1
    print("%d of %d failed" % (failed, len(cases) + 1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
