#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an idle session may cost. AddressSanitizer makes it dearer, so with it the
limit is wide: only a change of kind is seen."""
import pathlib
import resource
import sys
import time

import relay
from relay import check

SESSIONS = 200
STREAMS = 4
SESSION_KIB, SESSION_KIB_SANITIZED = 16, 128


def private(daemon):
    """KiB that the daemon has written to."""
    rollup = pathlib.Path(f"/proc/{daemon.process.pid}/smaps_rollup")
    return next(int(line.split()[1]) for line in
                rollup.read_text().splitlines()
                if line.startswith("Private_Dirty"))


def an_idle_session_is_small():
    """After packets, and live: what is kept for reuse has been given back."""
    if relay.has_sanitizer("thread"):
        print("SKIP an_idle_session_is_small: ThreadSanitizer's own memory would "
              "be measured")
        return
    with relay.Daemon() as daemon:
        warm = relay.Session(daemon, "warm", live=1000000)
        warm.packet()
        before = private(daemon)
        sessions = []
        for i in range(SESSIONS):
            s = relay.Session(daemon, f"idle-{i}", live=1000000)
            for n in range(1, STREAMS):
                s.add(f"ch_{n}")
            s.packet()
            sessions.append(s)
        limit = SESSION_KIB
        if relay.has_sanitizer("address"):
            limit = SESSION_KIB_SANITIZED
        until = time.monotonic() + relay.TIMEOUT
        while (each := (private(daemon) - before) / SESSIONS) > limit:
            check(time.monotonic() < until,
                  f"an idle session keeps {each:.1f} KiB")
            time.sleep(0.5)
        print(f"  {each:.1f} KiB, limit {limit}")
        for s in sessions:
            s.finish()


if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    sys.exit(relay.main())
