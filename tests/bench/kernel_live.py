#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How late babeltrace2 prints what the kernel traced: stock trace-cmd record -N
under tracepulse-ftrace flush, tracepulse-ftrace listen, tracepulse-relayd,
babeltrace2. Marks are written to tracefs, each with its own time, on one CPU
after the other; the lag is from there to the line of text.

Needs root, tracefs, trace-cmd, unshare and babeltrace2. It ends with status 1 if
a mark is missing or out of order, or a program said something wrong.
"""
import argparse
import contextlib
import fcntl
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "ftrace"),
                os.path.join(HERE, "..", "replay")]

import recording                                        # noqa: E402
from relay import PROGRAM as RELAY, Daemon              # noqa: E402
from sender import PROGRAM, listening, wait_until       # noqa: E402

MARK = re.compile(r"tp-mark (\d+) (\d+)")
SECOND = 10 ** 9
LIMIT = 1               # s; what the project asks of itself


def say(text):
    print(text, flush=True)


def memory_of(process):
    with open("/proc/%d/status" % process.pid, encoding="ascii") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])


class Viewer:
    """babeltrace2 on what is a terminal as far as its buffering goes."""

    def __init__(self, relay):
        url = "net://127.0.0.1:%d" % relay.live_port
        found = []

        def is_there():
            text = subprocess.run(
                ["babeltrace2", "-i", "lttng-live", url],
                stdout=subprocess.PIPE, text=True, check=False).stdout
            found[:] = re.findall(r"net://\S+", text)
            return found

        wait_until("a session", is_there)
        self.errors = open(relay.top / "viewer.err", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            ["stdbuf", "-oL", "babeltrace2", "-i", "lttng-live",
             "--clock-cycles", found[0]], stdout=subprocess.PIPE,
            stderr=self.errors, text=True, errors="replace")
        self.events, self.lags, self.backwards = 0, {}, 0
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        last = ""
        for line in self.process.stdout:
            now = time.monotonic_ns()
            self.events += 1
            at = line[1:line.find("]")]
            if at < last:
                self.backwards += 1
            last = at
            found = MARK.search(line) if "tp-mark" in line else None
            if found:
                self.lags[int(found[1])] = (now - int(found[2]), now)

    def end(self):
        """Its exit status, and what it has said."""
        status = self.process.wait(60)
        self.thread.join()
        self.errors.seek(0)
        return status, self.errors.read()


def mark(tracefs, seconds, period, cpus):
    """A process of its own; how many."""
    with open(tracefs + "/trace_marker", "wb", buffering=0) as f:
        end, n = time.monotonic() + seconds, 0
        # So that each CPU has a stream, which is idle then.
        for cpu in sorted(os.sched_getaffinity(0)):
            os.sched_setaffinity(0, {cpu})
            f.write(b"tp-mark %d %d\n" % (n, time.monotonic_ns()))
            n += 1
        while time.monotonic() < end:
            os.sched_setaffinity(0, {cpus[n % len(cpus)]})
            time.sleep(random.uniform(0.5, 1.5) * period)
            f.write(b"tp-mark %d %d\n" % (n, time.monotonic_ns()))
            n += 1
    return n


@contextlib.contextmanager
def recorder(port, options, top):
    """Stock trace-cmd, under flush, until the end."""
    log = open(os.path.join(top, "record.log"), "w+", encoding="utf-8")
    buffer = ["-B", options.instance] if options.instance else []
    command = [PROGRAM, "flush", *options.flush, "trace-cmd", "record", "-N",
               "127.0.0.1:%d" % port, *buffer, "-t", *options.record,
               *(w for e in options.event for w in ("-e", e))]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                               stderr=log, cwd=top)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        status = process.wait(60)
        log.seek(0)
        if status != 0:
            say("trace-cmd record: status %d: %s" % (status, log.read()))


def lags_of(viewer):
    """What is told of them, s."""
    lags = sorted(lag for lag, _ in viewer.lags.values())
    if not lags:
        return {}
    found = {"median": statistics.median(lags) / SECOND,
             "worst": lags[-1] / SECOND}
    for share in (0.9, 0.99):
        found["p%d" % (100 * share)] = \
            lags[min(len(lags) - 1, int(len(lags) * share))] / SECOND
    return found


def marked(options, tracefs, tell):
    """Marks for as long as was asked for, by a process of their own; how many
    there were."""
    got, put = os.pipe()
    pid = os.fork()
    if pid == 0:
        count = mark(tracefs, options.seconds, options.period, options.cpus
                     or sorted(os.sched_getaffinity(0)))
        os.write(put, b"%d" % count)
        os._exit(0)
    told = time.monotonic()
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        time.sleep(0.2)
        if time.monotonic() - told > 60:
            told = time.monotonic()
            tell()
    return int(os.read(got, 100))


def measure(options, tracefs):
    """One run; the result."""
    with Daemon(*options.relay) as relay:
        url = "net://127.0.0.1:%d:%d" % (relay.control_port, relay.data_port)
        with listening("--relay=" + url, *options.listen) as listener:
            def memory():
                return [memory_of(p.process) for p in (listener, relay)]

            with recorder(listener.port, options, listener.output):
                viewer = Viewer(relay)
                time.sleep(2)
                before = memory()
                count = marked(options, tracefs, lambda: say(
                    "%d events, %d marks, KiB of memory: %r; %r" % (
                        viewer.events, len(viewer.lags), memory(),
                        lags_of(viewer))))
                time.sleep(2)
                after = memory()
            status, text = viewer.end()
        log = listener.log()
    if options.raw:
        with open(options.raw, "w", encoding="ascii") as f:
            json.dump(sorted((n, *v) for n, v in viewer.lags.items()), f)
    return {"marks": count, "seen": len(viewer.lags),
            "events": viewer.events, "backwards": viewer.backwards,
            "viewer_status": status, "viewer_said": text,
            "listener_and_relay_kib": [before, after],
            "log": [line for line in log.splitlines()
                    if re.search("not live|were live|error", line)],
            **lags_of(viewer)}


@contextlib.contextmanager
def place(options):
    """The folder of the ring buffer. The main one is for one at a time; beside
    an instance others may trace."""
    if not options.instance:
        lock = os.open(recording.TRACEFS, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield recording.TRACEFS
        return
    path = "%s/instances/%s" % (recording.TRACEFS, options.instance)
    os.mkdir(path)
    covered = []
    try:
        for name in ("set_ftrace_filter", "set_ftrace_notrace",
                     "set_ftrace_pid"):
            if os.path.exists(path + "/" + name):
                covered.append(path + "/" + name)
                subprocess.run(["mount", "--bind", options.empty, covered[-1]],
                               check=True)
        yield path
    finally:
        for name in covered:
            subprocess.run(["umount", "-l", name], check=True)
        os.rmdir(path)


def in_own_mounts(argv):
    """The same program in a mount namespace with a tracefs that stock trace-cmd
    bears: see tests/ftrace/recording.py."""
    with tempfile.TemporaryDirectory() as top:
        for name, text in (("one", "1\n"), ("empty", "")):
            with open(os.path.join(top, name), "w", encoding="ascii") as f:
                f.write(text)
        return subprocess.run(
            ["unshare", "-m", "sh", "-c", recording.RECORD, "sh",
             sys.executable, *argv, "--empty", top + "/empty"], cwd=top,
            check=False,
            env={**os.environ, "PERCENT": "", "TP_HERE": os.getcwd(),
                 "RELAYD": RELAY, "FTRACE": PROGRAM}).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--seconds", type=float, default=60)
    add("--period", type=float, default=0.07, help="s between marks")
    add("--cpus", type=lambda s: [int(c) for c in s.split(",")],
        help="where marks are written: 0,1; the default is all")
    add("--event", action="append", help="of trace-cmd record -e")
    add("--listen", action="append", default=[], help="an option of listen")
    add("--flush", action="append", default=[], help="an option of flush")
    add("--record", action="append", default=[], help="an option of record")
    add("--raw", help="all lags go there")
    add("--instance", help="a ring buffer of its own, of this name")
    add("--relay", action="append", default=[], help="an option of the relay")
    add("--empty", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.event = options.event or ["sched:sched_process_exec"]
    if not options.empty:
        return in_own_mounts([os.path.abspath(sys.argv[0]), *sys.argv[1:]])
    os.chdir(os.environ["TP_HERE"])
    with place(options) as tracefs:
        result = measure(options, tracefs)
    say(json.dumps(result, indent=1))
    if result.get("worst", LIMIT) >= LIMIT:
        say("MISSED: at most %d s" % LIMIT)
    return result["viewer_status"] != 0 or result["seen"] != result["marks"] \
        or result["backwards"] > 0


if __name__ == "__main__":
    sys.exit(main())
