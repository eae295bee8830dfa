# SPDX-License-Identifier: MIT
"""Scenarios of tracepulse-ftrace listen --relay: the kernel as stock trace-cmd
records it, live beside an application's events of LTTng."""
import os
import re
import shutil
import signal
import subprocess
import time

import capture
import tracing
from capture import View
from story import begin, scenario
from world import Failure, check, wait_for

EVENT_US = 5000
MARKS = 60
# Events that the recorder does not cause itself.
EVENTS = ("sched:sched_process_exec", "sched:sched_process_exit")
FLUSH_S = 0.2          # as --interval says
# The clocks are compared by trace-cmd and by LTTng; on a busy machine to a
# millisecond.
TOLERANCE = 2


class Flushing:
    """tracepulse-ftrace flush, which also lets full pages leave at once."""

    def __init__(self, w, child):
        self.child = w.spawn(w.ftrace_path, "flush", "--interval=200ms",
                             "--pid", str(child.pid))
        wait_for("buffer_percent", lambda: 0 < int(percent()) < 10)

    def stop(self, before):
        self.child.send_signal(signal.SIGTERM)
        if self.child.wait(20) != 0:
            raise Failure("flush: status %d" % self.child.returncode)
        if percent() != before:
            raise Failure("buffer_percent is %s, and was %s"
                          % (percent(), before))


def percent():
    """How full a ring buffer must be."""
    with open(tracing.TRACEFS + "/buffer_percent", encoding="ascii") as f:
        return f.read().strip()


def session_of(w):
    """The listener's session, once the relay has it."""
    found = []

    def is_there():
        done = subprocess.run(
            ["babeltrace2", "-i", "lttng-live", "net://127.0.0.1:%d"
             % w.ports[2]], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=w.env(), check=False, timeout=20)
        found[:] = re.findall(r"/(ftrace-\d+)", done.stdout.decode())
        return found

    wait_for("a session of the listener", is_there, timeout=30)
    return found[0]


def mark_and_count(w, app):
    """MARKS programs run, one after another; how many of the application's
    events were there before and behind each."""
    mark = os.path.join(w.directory, "mark")
    shutil.copy("/bin/true", mark)
    bounds = []
    for _ in range(MARKS):
        least = len(app.emitted())
        subprocess.run([mark], check=True)
        bounds.append((least, len(app.emitted())))
        time.sleep(0.01)
    return bounds


def expect(where, events, emitted, bounds):
    """Each once, in one order of time, and each mark where it was made."""
    for a, b in zip(events, events[1:]):
        check(b.ns >= a.ns, f"{where}: {b.name} goes back in time")
    got = [e.fields["n"] for e in events if e.name == "demo:ev"]
    if got != emitted:
        raise Failure("%s: %d events of the application instead of %d" % (
            where, len(got), len(emitted)))
    place, at = 0, iter(bounds)
    for event in events:
        if event.name == "demo:ev":
            place += 1
        elif event.name == "sched:sched_process_exec" and \
                '/mark"' in event.text:
            least, most = next(at, (None, None))
            check(least is not None, where + ": more marks than were made")
            if not least - TOLERANCE <= place <= most + TOLERANCE:
                raise Failure("%s: a mark behind event %d to %d is shown "
                              "behind %d" % (where, least, most, place))
    check(next(at, None) is None, where + ": marks are missing")


@scenario(reference=False, compare_tree=False)
def ftrace_beside_lttng(w):
    """programs that the kernel starts, recorded by stock trace-cmd, and events of
    an application, in one babeltrace2 and from disk: one order, none missing"""
    begin(w, "app", "--live=200000")
    kernel = tracing.Tracing(w)
    try:
        listener = tracing.Listener(
            w, "--relay=net://127.0.0.1:%d:%d" % tuple(w.ports[:2]),
            "--hold=10s")
        before = percent()
        child = kernel.start(listener.port, "-t", "--date", events=EVENTS)
        flushing = Flushing(w, child)
        view = View(w, session_of(w), "app")
        app = w.app(0, 400, microseconds=EVENT_US)
        app.wait_emitted(20)
        bounds = mark_and_count(w, app)
        emitted = app.finish()
        time.sleep(3 * FLUSH_S)
        flushing.stop(before)
        os.killpg(child.pid, signal.SIGINT)
        child.wait(30)
        listener.wait_file()
    finally:
        kernel.close()
    w.lttng("destroy", "app")
    listener.stop()
    check("came too late" not in listener.log(), listener.log())
    expect("live", view.finish(), emitted, bounds)
    expect("babeltrace2", capture.read(w, w.relay.output), emitted, bounds)
