#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rule for limits finds options that the page lacks, values that are not those
of the source, and nothing else."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("srcdir", "."), "tests/lint"))
import limits

SOURCE = """\
#define NS_PER_S UINT64_C(1000000000)
#define QUEUE_MAX (64 * 1024)
#define WAIT_NS (3 * NS_PER_S / 2)
#define PART_MAX (QUEUE_MAX / 64)
#define SHIFTED_BYTES (UINT64_C(8) << 20)
#define HAS_SPOKEN 1
"""
OPTIONS = """\
OPTION(SPACE, 0, "space", "SIZE", false,
    SIZE(space, 1, 2),
    "hold that much [16M]")
OPTION(PLACE, 'p', "place", "DIR", true,
    TEXT(place),
    "where [there]")
"""
PAGE = """\
## Limits

| what | default |
|---|---|
| `QUEUE_MAX` | 64 KiB |
| `WAIT_NS` | 1.5 s |
| `PART_MAX`, of `QUEUE_MAX` | 1,024 |
| `SHIFTED_BYTES` | 8 MiB |
| `--space` | 16 MiB |
"""
CASES = [  # what is changed to what, how many findings
    ("", "", 0),
    ("| `WAIT_NS` | 1.5 s |\n", "", 0),
    ("| 1.5 s", "| 2 s", 1),
    ("| 1.5 s", "| 1500 ms", 0),
    ("8 MiB", "9 MiB", 1),
    ("1,024", "1,025", 1),
    ("| 64 KiB", "| 65,536", 0),
    ("16 MiB", "17 MiB", 1),
    ("| `--space` | 16 MiB |\n", "", 1),
    ("| `--space`", "| `--spade` | 1 |\n| `--space`", 1),
    ("| `--space`", "| `--place` | 1 |\n| `--space`", 0),
    ("| `--space`", "| `GAPS` | 1 |\n| `--space`", 1),
    ("| `--space`", "| `HAS_SPOKEN` | 1 |\n| `--space`", 0),
    ("| `QUEUE_MAX` |", "| `QUEUE_MAX`, `GONE_MAX` (3) |", 1),
    ("## Limits", "## Others", 1),
]


def main():
    failed = 0
    for before, after, want in CASES:
        with tempfile.TemporaryDirectory() as base:
            for path, text in ((limits.OPTIONS, OPTIONS),
                               ("store/one.h", SOURCE),
                               (limits.PAGE, PAGE.replace(before, after, 1))):
                path = os.path.join(base, path)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as handle:
                    handle.write(text)
            got = list(limits.check(base))
            if len(got) != want:
                print("%r, %r: found %r, want %d" % (before, after, got, want))
                failed += 1
    print("%d of %d failed" % (failed, len(CASES)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
