#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tracepulse-ftrace flush, by a user who may not signal recorders and by root. The
recorders are made here: a process called trace-cmd, and a child of it that waits."""
import contextlib
import ctypes
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile

from sender import PROGRAM, SKIPPED, as_nobody, equal, run

PR_SET_NAME, PR_SET_PDEATHSIG = 15, 1
SAID = "cannot signal the recorders"


def be_called(name):
    ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def be_recorder(ready, groups, pipe):
    """Like trace-cmd: this process, and a child that catches SIGUSR2 and writes to READY,
    also when it is signalled. It has the file PIPE open. Both are in that many groups."""
    be_called("trace-cmd")
    os.setgroups(range(1000000000, 1000000000 + groups))
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        signal.signal(signal.SIGUSR2, lambda *_: os.write(ready, b"s"))
        if pipe:
            os.open(pipe, os.O_RDONLY | os.O_CREAT)
        os.write(ready, b"x")
        while True:
            select.select([], [], [], 60)
    os.waitpid(child, 0)


@contextlib.contextmanager
def recorder(groups=0, pipe=None, signals=None):
    """Its process number. SIGNALS gets the descriptor from which its signals are read."""
    out, ready = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            be_recorder(ready, groups, pipe)
        finally:
            os._exit(1)
    try:
        equal(os.read(out, 1), b"x", "a recorder")
        if signals is not None:
            signals.append(out)
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(out)
        os.close(ready)


def flush(pid, *command):
    """Flushes this recorder, as the user nobody."""
    with as_nobody(PROGRAM) as (program, nobody):
        return subprocess.run(
            [program, "flush", "--interval=50ms", "--pid=%d" % pid, *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, timeout=60, check=False, text=True,
            **nobody)


def who_may_not_signal_has_failed():
    with recorder() as pid:
        for options in (), ("--once",):
            done = flush(pid, *options)
            equal(done.returncode, 1, "status: " + done.stderr)
            equal(done.stderr.count(SAID), 1, done.stderr)


def a_command_goes_on_all_the_same():
    """It ends by itself, with a status of its own; that its recorder cannot be
    told is said once."""
    with recorder() as pid:
        done = flush(pid, "sh", "-c", "sleep 2; exit 3")
        equal(done.returncode, 3, "status: " + done.stderr)
        equal(done.stderr.count(SAID), 1, done.stderr)


def a_recorder_may_be_in_many_groups():
    """/proc/PID/status names all of them before the signals."""
    for groups in 1000, 65536:
        with recorder(groups) as pid:
            done = flush(pid, "--once")
            equal(done.stderr.count(SAID), 1, done.stderr)


def files_of_others_are_not_opened():
    """A process that anyone calls trace-cmd names any file as its stats: one that is not
    in tracefs is not read, waited for, or followed."""
    idle = "entries: 0\noverrun: 0\nread events: 1\n"
    with tempfile.TemporaryDirectory() as top:
        stats = os.path.join(top, "stats")
        for make in (lambda: pathlib.Path(stats).write_text(idle, encoding="ascii"),
                     lambda: os.mkfifo(stats),
                     lambda: os.symlink("/dev/tty", stats)):
            make()
            signals = []
            with recorder(0, os.path.join(top, "trace_pipe_raw"), signals) as pid:
                done = subprocess.run(
                    [PROGRAM, "flush", "--once", "--pid=%d" % pid],
                    stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                    timeout=60, check=False, text=True)
                equal(done.returncode, 0, "status: " + done.stderr)
                # Its state is not known, so it is signalled.
                equal(bool(select.select(signals, [], [], 20)[0]), True, "a signal")
            os.unlink(stats)


CASES = (files_of_others_are_not_opened, who_may_not_signal_has_failed, a_command_goes_on_all_the_same,
         a_recorder_may_be_in_many_groups)


def main():
    if os.geteuid() != 0:
        print("SKIP: not root")
        return SKIPPED
    run(CASES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
