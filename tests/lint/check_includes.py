#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rules for includes find what they are to find, and nothing else."""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.join(os.environ.get("srcdir", "."), "tests/lint")
sys.path.insert(0, HERE)
import includes

CASES = [  # a file, what it includes, the lines that are found
    ("relayd/live/live_objects.c", ["relayd/live/live_objects.h"], []),
    ("relayd/live/live_objects.c", ["relayd/live/live_objects.h", "relayd/live/viewer.h"], [2]),
    ("relayd/live/live_objects.h", ["relayd/live/viewers.h"], [1]),
    ("relayd/live/live_objects.c", ["relayd/live/viewer_internal.h"], [1, 1]),
    ("relayd/live/live_objects.c", ["relayd/live_worker.h"], [1]),
    ("relayd/live/viewers.c", ["relayd/live/live_objects.h"], []),
    ("relayd/live/viewers.c", ["relayd/live/viewer_internal.h"], []),
    ("relayd/live/viewer_data.c", ["relayd/live/viewer_internal.h"], []),
    ("relayd/net/viewer_conn.c", ["relayd/live/viewer_internal.h"], [1]),
    ("relayd/live_worker.c", ["common/log.h", "relayd/live/viewer_internal.h"],
     [2]),
    ("relayd/net/desk.c", ["relayd/net/conn_internal.h"], []),
    ("relayd/net/desk.c", ["relayd/live/viewer_internal.h"], [1]),
    ("store/chunk.c", ["store/tracefile_internal.h"], [1]),
    ("store/tracefile_pool.c", ["store/tracefile_internal.h"], []),
    ("tests/relayd/scene.c", ["relayd/live/viewer_internal.h"], []),
    ("tests/lib/studio.c", ["relayd/live/viewer_internal.h"], [1]),
    ("tests/client/check_connect.c", ["tools/client/client_internal.h"], []),
]


def main():
    failed = 0
    for path, headers, want in CASES:
        text = "".join("#include \"%s\"\n" % header for header in headers)
        got = [line for line, _ in includes.check(path, text)]
        if got != want:
            print("%s: found on lines %r, want %r\n%s"
                  % (path, got, want, text))
            failed += 1
    # And the whole program says it, with file and line.
    with tempfile.TemporaryDirectory() as base:
        for folder in ("doc", "relayd/live"):
            os.makedirs(os.path.join(base, folder))
        for path, text in (("doc/streaming.md", ""), ("doc/live.md", ""),
                           ("doc/udp.md", ""),
                           ("relayd/live/live_objects.c",
                            "/* SPDX-License-Identifier: MIT */\n"
                            "#include \"relayd/live/viewer.h\"\n")):
            with open(os.path.join(base, path), "w",
                      encoding="utf-8") as handle:
                handle.write(text)
        done = subprocess.run([os.path.join(HERE, "lint"), base],
                              stdout=subprocess.PIPE, check=False,
                              universal_newlines=True)
        if done.returncode != 1 or "relayd/live/live_objects.c:2: \"relayd/live/viewer.h\"" \
                not in done.stdout:
            print("lint: status %d\n%s" % (done.returncode, done.stdout))
            failed += 1
    print("%d of %d failed" % (failed, len(CASES) + 1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
