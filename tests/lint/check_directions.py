#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rule for directions finds what goes the wrong way, and nothing else: on
made files, then in the whole program."""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.join(os.environ.get("srcdir", "."), "tests/lint")
sys.path.insert(0, HERE)
import directions

GOOD = {
    "relayd/shard.c": ["relayd/shard.h"],
    "relayd/shard.h": ["relayd/udp_count.h", "store/store.h"],
    "relayd/session.c": ["relayd/session.h", "relayd/udp.h",
                         "relayd/stream.h", "relayd/shard.h"],
    "relayd/stream.c": ["relayd/stream.h", "relayd/udp.h"],
    "relayd/intake.c": ["relayd/writer.h"],
    "relayd/udp.c": ["relayd/stream.h", "relayd/udp.h"],
    "relayd/ingest.c": ["relayd/session.h", "relayd/stream.h"],
    "relayd/cycle.c": ["relayd/session.h", "relayd/stream.h"],
    "relayd/worker.c": ["relayd/cycle.h", "relayd/udp.h"],
    "relayd/viewer_data.c": ["relayd/viewer_internal.h"],
}

BAD = {
    "relayd/shard.c": ["relayd/session.h", "relayd/stream.h", "relayd/cycle.h"],
    "relayd/shard.h": ["relayd/udp.h", "relayd/stream.h"],
    "relayd/session.c": ["relayd/ingest.h", "relayd/cycle.h"],
    "relayd/session_chunk.c": ["relayd/control.h"],
    "relayd/stream.c": ["relayd/cycle.h"],
    "relayd/record/writer.c": ["relayd/record/udp.h"],
    "relayd/intake.c": ["relayd/udp.h"],
    "relayd/udp.c": ["relayd/ingest.h"],
    "relayd/ingest.c": ["relayd/cycle.h"],
}

ASKS = {  # how often it is found
    ("relayd/writer.c", "t->writer.tf = NULL; f(&t->place)"): 0,
    ("relayd/writer.c", "if (t->place.chunk)"): 1,
    ("relayd/cycle.c", "t->intake.reorder"): 1,
    ("relayd/writer.c", "if (t->udp != NULL)"): 1,
    ("relayd/writer.c", "t->udp->lost++"): 1,
    ("relayd/cycle.c", "x = s->udp;"): 1,
    ("relayd/intake.c", "t->udp = NULL; a->udp_port"): 0,
    ("relayd/stream.c", "if (s->udp != NULL)"): 1,
    ("relayd/udp.c", "if (t->udp == NULL)"): 0,
}


def lines(path, text):
    """The lines that are found."""
    return sorted(set(n for n, _ in directions.check(path, text, text)))


def main():
    """Every case, then the whole program on a made tree."""
    failed = 0
    for wanted, cases in ((False, GOOD), (True, BAD)):
        for path, headers in cases.items():
            text = "".join('#include "%s"\n' % h for h in headers)
            want = list(range(1, len(headers) + 1)) if wanted else []
            if lines(path, text) != want:
                print("%s: found on lines %r, want %r\n%s"
                      % (path, lines(path, text), want, text))
                failed += 1
    for (path, text), want in ASKS.items():
        got = len(lines(path, text))
        if got != want:
            print("%s: %s: found %d times, want %d" % (path, text, got, want))
            failed += 1
    with tempfile.TemporaryDirectory() as base:
        for folder in ("relayd", "doc"):
            os.mkdir(os.path.join(base, folder))
        for page in ("streaming", "live", "udp"):  # that citations wants
            with open(os.path.join(base, "doc/%s.md" % page), "w",
                      encoding="utf-8") as handle:
                handle.write("# A page\n## 1. One\n")
        with open(os.path.join(base, "relayd/shard.c"), "w",
                  encoding="utf-8") as handle:
            handle.write("/* SPDX-License-Identifier: MIT */\n"
                         "/* t->udp in a comment */\n"
                         '#include "relayd/stream.h"\n')
        done = subprocess.run([os.path.join(HERE, "lint"), base],
                              stdout=subprocess.PIPE, check=False,
                              universal_newlines=True)
        if done.returncode != 1 or \
                "relayd/shard.c:3: shard.c may not include" not in done.stdout \
                or "relayd/shard.c:2:" in done.stdout:
            print("lint: status %d\n%s" % (done.returncode, done.stdout))
            failed += 1
    print("%d of %d failed"
          % (failed, len(GOOD) + len(BAD) + len(ASKS) + 1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
