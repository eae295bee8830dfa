#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a start and an idle session may cost. Sanitizers make both dearer, so
with them the limits are wide: only a change of kind is seen."""
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

import relay
from relay import check

SESSIONS = 200
STREAMS = 4
START_MS, START_MS_SANITIZED = 50, 200
SESSION_KIB, SESSION_KIB_SANITIZED = 16, 128


def is_sanitized():
    with open(relay.PROGRAM, "rb") as f:
        return b"__asan_init" in (blob := f.read()) or b"__tsan_init" in blob


def start(top):
    """ms until -d returns: all ports listen."""
    anywhere = "tcp://127.0.0.1:0"
    env = dict(os.environ, HOME=str(top), LTTNG_RUNDIR=str(top / "run"))
    began = time.monotonic()
    subprocess.run(
        [relay.PROGRAM, "-d", "--dynamic-port-allocation", "-C", anywhere,
         "-D", anywhere, "-L", anywhere, "-o", str(top / "out"),
         "-P", str(top / "pid")], env=env, check=True)
    took = (time.monotonic() - began) * 1000
    os.kill(int((top / "pid").read_text()), signal.SIGTERM)
    until = time.monotonic() + relay.TIMEOUT
    while (top / "pid").exists():
        check(time.monotonic() < until, "it does not end")
        time.sleep(0.002)
    return took


def a_start_is_quick():
    """With an empty output directory. The best of ten: others use the
    machine, too."""
    with tempfile.TemporaryDirectory(prefix="tracepulse-budget-") as top:
        times = sorted(start(pathlib.Path(top)) for _ in range(10))
    limit = START_MS_SANITIZED if is_sanitized() else START_MS
    print(f"  {times[0]:.0f} to {times[-1]:.0f} ms, limit {limit}")
    check(times[0] <= limit, f"a start takes {times[0]:.0f} ms")


def private(daemon):
    """KiB that the daemon has written to."""
    rollup = pathlib.Path(f"/proc/{daemon.process.pid}/smaps_rollup")
    return next(int(line.split()[1]) for line in
                rollup.read_text().splitlines()
                if line.startswith("Private_Dirty"))


def an_idle_session_is_small():
    """After packets, and live: what is kept for reuse has been given back."""
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
        limit = SESSION_KIB_SANITIZED if is_sanitized() else SESSION_KIB
        until = time.monotonic() + relay.TIMEOUT
        while (each := (private(daemon) - before) / SESSIONS) > limit:
            check(time.monotonic() < until,
                  f"an idle session keeps {each:.1f} KiB")
            time.sleep(0.5)
        print(f"  {each:.1f} KiB, limit {limit}")
        for s in sessions:
            s.finish()


CASES = [a_start_is_quick, an_idle_session_is_small]

if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    chosen = sys.argv[1:]
    sys.exit(relay.run([c for c in CASES
                        if not chosen or c.__name__ in chosen]))
