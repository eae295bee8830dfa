#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each system call by which finished sessions are deleted is the last before a
kill, or fails: the next start deletes the rest, and nothing else is harmed.

Of all calls a sample is run, by TP_FAULT_SEED; with TP_TEST_LONG=1 all, some
minutes. Starts daemons of its own, under nth_file_call.

usage: retention_faults.py [N:ACTION...]
"""
import concurrent.futures
import contextlib
import os
import random
import sqlite3
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import relay
from relay import Failed, check, equal
from retention import record

TOOL = os.path.abspath("tests/replay/nth_file_call")
ACTIONS = ("kill", "cut", "short", "EIO", "ENOSPC", "EMFILE")
SKIPPED = 77
SAMPLE = 16
LIMITS = "--max-use=1B", "--keep-at-least=0s"


class Faulty(relay.Daemon):
    """The start by again() is under the tool, when there is a fault."""

    def __init__(self):
        super().__init__(workers=1)
        self.plain = self.command

    def again(self, fault, *options):
        """False: it ended at once."""
        self.is_stopped = False
        self.command = [*self.plain, *options]
        if fault is not None:
            self.command = [TOOL, str(self.out), str(self.top / "calls"),
                            *fault, *self.command]
        try:
            self.start_again()
        except Failed:
            if self.process.poll() is None:
                raise
            return False
        return True

    def forget_ports(self):
        for name in ("control", "data", "live", "http"):
            (self.rundir / f"relayd/{name}.port").unlink(missing_ok=True)


def wait(daemon, is_done, seconds):
    """Until then, or until the daemon was killed. True: it is done."""
    until = time.monotonic() + seconds
    while not is_done() and time.monotonic() < until:
        if daemon.process.poll() is not None:
            return False
        time.sleep(0.02)
    return is_done()


def is_gone(daemon, dirs):
    return not any(p.exists() for p in dirs) and \
        not list((daemon.out / "h").glob(".*"))


def play(number, action):
    """How many calls there were."""
    with Faulty() as daemon:
        dirs = [record(daemon, f"s{i}", packets=1) for i in range(2)]
        kept = record(daemon, "kept", packets=1, host="other")
        daemon.stop()
        # This one is not noted any more.
        with contextlib.closing(sqlite3.connect(daemon.notes())) as db, db:
            db.execute("DELETE FROM directories WHERE host = X'%s'"
                       % b"other".hex())
        is_up = daemon.again((str(number), action), *LIMITS)
        if daemon.process.poll() == SKIPPED:
            return None
        # What fails is tried again in some minutes; the next start tries, too.
        if is_up:
            wait(daemon, lambda: is_gone(daemon, dirs), 3)
        if daemon.process.poll() is None:
            daemon.process.terminate()
            daemon.process.wait(relay.TIMEOUT)
        count = len((daemon.top / "calls").read_text().splitlines())
        daemon.forget_ports()
        check(daemon.again(None, *LIMITS), "the next start")
        check(wait(daemon, lambda: is_gone(daemon, dirs), relay.TIMEOUT),
              "it is never deleted")
        daemon.stop()
        check((kept / "ust").exists(), "another one was deleted")
        equal({p.name for p in daemon.out.glob(".*")}, set(), "rests")
        return count


def main():
    seed = int(os.environ.get("TP_FAULT_SEED", time.time_ns() % 1000000))
    count = play(0, "none")
    if count is None:
        print("SKIP: this kernel has no seccomp user notification")
        return SKIPPED
    faults = [(n, a) for n in range(1, count + 1) for a in ACTIONS]
    if not os.environ.get("TP_TEST_LONG"):
        faults = random.Random(seed).sample(faults, min(SAMPLE, len(faults)))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for fault, done in [(f, pool.submit(play, *f)) for f in faults]:
            try:
                done.result()
            except (Failed, OSError, subprocess.SubprocessError) as e:
                failed += 1
                print(f"{fault[0]}:{fault[1]}: FAILED: {e}")
    print(f"{count} calls, {len(faults)} faults (TP_FAULT_SEED={seed}), "
          f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for arg in sys.argv[1:]:
            print(play(*arg.split(":")), "calls")
    else:
        sys.exit(main())
