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
    ("relayd/registry.c", ["relayd/registry.h", "relayd/live_objects.h"], []),
    ("relayd/registry.c", ["relayd/registry.h", "relayd/viewer.h"], [2]),
    ("relayd/registry.h", ["relayd/viewers.h"], [1]),
    ("relayd/registry.c", ["relayd/viewer_internal.h"], [1, 1]),
    ("relayd/registry.c", ["relayd/live_worker.h"], [1]),
    ("relayd/viewers.c", ["relayd/registry.h"], []),
    ("relayd/viewers.c", ["relayd/viewer_internal.h"], []),
    ("relayd/viewer_read.c", ["relayd/viewer_internal.h"], []),
    ("relayd/viewer_conn.c", ["relayd/viewer_internal.h"], [1]),
    ("relayd/live_worker.c", ["common/log.h", "relayd/viewer_internal.h"],
     [2]),
    ("relayd/desk.c", ["relayd/conn_internal.h"], []),
    ("relayd/desk.c", ["relayd/viewer_internal.h"], [1]),
    ("relayd/udp_port.c", ["relayd/udp_internal.h"], [1]),
    ("relayd/udp_session.c", ["relayd/udp_internal.h"], []),
    ("relayd/turn.c", ["relayd/stream_internal.h"], [1]),
    ("relayd/tcp_stream.c", ["relayd/stream_internal.h"], []),
    ("relayd/control_commands.c", ["relayd/session_internal.h"], [1]),
    ("tests/fuzz/fuzz_udp.c", ["relayd/udp_internal.h"], []),
    ("store/chunk.c", ["store/tracefile_internal.h"], [1]),
    ("store/tracefile_pool.c", ["store/tracefile_internal.h"], []),
    ("tests/relayd/scene.c", ["relayd/viewer_internal.h"], []),
    ("tests/lib/studio.c", ["relayd/viewer_internal.h"], [1]),
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
        for folder in ("doc", "relayd"):
            os.mkdir(os.path.join(base, folder))
        for path, text in (("doc/streaming.md", ""), ("doc/live.md", ""),
                           ("doc/udp.md", ""),
                           ("relayd/registry.c",
                            "/* SPDX-License-Identifier: MIT */\n"
                            "#include \"relayd/viewer.h\"\n")):
            with open(os.path.join(base, path), "w",
                      encoding="utf-8") as handle:
                handle.write(text)
        done = subprocess.run([os.path.join(HERE, "lint"), base],
                              stdout=subprocess.PIPE, check=False,
                              universal_newlines=True)
        if done.returncode != 1 or "relayd/registry.c:2: \"relayd/viewer.h\"" \
                not in done.stdout:
            print("lint: status %d\n%s" % (done.returncode, done.stdout))
            failed += 1
    print("%d of %d failed" % (failed, len(CASES) + 1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
