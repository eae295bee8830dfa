#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tracepulse-ftrace listen --relay: the times of a recorder on this machine are
those of its programs."""
import functools
import os
import pathlib
import re
import shutil
import sys

sys.dont_write_bytecode = True
import reading
from recording import HIDE, MOUNT, Skip, record
from sender import SKIPPED, check, directory, listening, run, wait_until
from relay import Daemon

LONG = os.environ.get("TP_TEST_LONG") is not None
MS = 10 ** 6
MARKERS = 40
# What it writes is Unix time. Afterwards nothing happens for a moment, so the
# pages, of which none is full, are old when they leave.
WRITE = """import time
with open("/sys/kernel/tracing/trace_marker", "w", 1) as f:
    for i in range(%d):
        print("unix", time.clock_gettime_ns(time.CLOCK_REALTIME), file=f)
        time.sleep(0.002)
time.sleep(0.5)
""" % MARKERS


def differences(path):
    """For each marker: its time in the trace less what it says, in ns."""
    text = reading.run("babeltrace2", "--clock-seconds", str(path)).stdout
    return [int(s) * 10 ** 9 + int(ns) - int(told) for s, ns, told in re.findall(
        r"^\[(\d+)\.(\d+)\].* buf = \"unix (\d+)", text, re.M)]


def recorded(clock, *options, under=()):
    """The differences of one live recording, the trace's metadata, the
    listener's log."""
    with directory() as top, Daemon() as relay:
        url = "net://127.0.0.1:%d:%d" % (relay.control_port, relay.data_port)
        with listening("--relay=" + url, under=under) as listener:
            # Under "env", so that buffer_percent stays as it is: with 0 a stock
            # recorder may lose its only page.
            record(top, "-C", clock, "-e", "sched:sched_process_exit", *options,
                   command=(sys.executable, "-c", WRITE), under=("env",),
                   to="127.0.0.1:%d" % listener.port)
            wait_until("the end live", lambda: " events live in" in
                       listener.log(), 60)
        session, = pathlib.Path(relay.out).glob("*/*")
        out = differences(session)
        check(len(out) == MARKERS, "%d markers" % len(out))
        return out, (session / "kernel/metadata").read_bytes().decode(
            errors="replace"), listener.log()


def check_times(clock, *options, under=()):
    """The marker that was written fastest is less than 1 ms off, and nothing is
    before it was written."""
    out, metadata, log = recorded(clock, *options, under=under)
    check(-MS / 10 < min(out) < MS, "%s: %.3f ms off" % (clock, min(out) / MS))
    check('clock_offset = "measured"' in metadata, metadata[:3000])
    error = int(re.search(r"clock_offset_error_ns = (\d+)", metadata)[1])
    check(error < MS, "wrong by up to %d ns" % error)
    check("clock %s: measured, wrong by at most" % clock in log, log)
    return min(out)


def clocks_of_this_machine_are_measured():
    for clock in ("mono", "mono_raw", "boot", "tai"):
        print("%s: %.3f ms" % (clock, check_times(clock) / MS))


def the_kernels_own_clock_is_measured_by_root():
    """Where the listener sees tracefs."""
    for clock in ("local", "global", "perf"):
        print("%s: %.3f ms" % (clock, check_times(clock, under=MOUNT) / MS))


def a_measurement_is_better_than_a_date():
    check_times("mono", "--date")


def what_is_given_is_kept():
    out, metadata, _ = recorded("mono", "--ts-offset", "5000")
    check('clock_offset = "ts-offset"' in metadata, metadata[:3000])
    check(max(out) < 0, "Unix time")


def an_estimate_tells_how_wrong_it_is():
    """Without tracefs nothing is known of the clock "local"."""
    out, metadata, log = recorded("local", under=HIDE)
    check('clock_offset = "arrival"' in metadata, metadata[:3000])
    error = int(re.search(r"clock_offset_error_ns = (\d+)", metadata)[1])
    check("clock local: arrival, wrong by at most" in log, log)
    check(0 < min(out) < error, "%d ns off, not within %d" % (
        min(out), error))


def a_hundred_of_a_hundred():
    worst = max(check_times("mono") for _ in range(100 if LONG else 2))
    print("at most %.3f ms" % (worst / MS))


def unless_skipped(case):
    """The same case, where this machine can be traced."""
    @functools.wraps(case)
    def call():
        try:
            case()
        except Skip as why:
            print("SKIP %s: %s" % (case.__name__, why))
    return call


CASES = (clocks_of_this_machine_are_measured,
         the_kernels_own_clock_is_measured_by_root,
         a_measurement_is_better_than_a_date, what_is_given_is_kept,
         an_estimate_tells_how_wrong_it_is, a_hundred_of_a_hundred)


def main():
    if shutil.which("babeltrace2") is None:
        print("SKIP: no babeltrace2")
        return SKIPPED
    run([unless_skipped(case) for case in CASES])
    return 0


if __name__ == "__main__":
    sys.exit(main())
