# SPDX-License-Identifier: MIT
"""Scenarios with processes that come while a viewer watches, on machines that
are slow to announce them (doc/live.md 4.11)."""
import os
import time

import tree
from story import register, scenario
from viewers import begin_live, wait_seen
from world import Skipped, check

LONG = int(os.environ.get("TP_TEST_LONG") or 0)


def expect_all(viewer, emitted, last):
    """It has shown each event once. Of an application that was killed, LAST
    may be missing, or the next one be there."""
    got = viewer.finish(30)
    wrong = (set(emitted) ^ set(got)) - {last, last + 1}
    check(not wrong and len(got) == len(set(got)),
          f"saw {tree.span(got)}; emitted {tree.span(emitted)}")


def late_sessiond(w, data_ms, metadata_ms):
    """A session daemon whose consumer daemon is slow to announce streams."""
    shim = os.path.join(os.path.dirname(w.app_path), "late.so")
    if not os.path.exists(shim):
        raise Skipped("%s is not built" % shim)
    w.start_sessiond(environment={
        "LD_PRELOAD": shim, "LATE_DATA_MS": str(data_ms),
        "LATE_METADATA_MS": str(metadata_ms)})


def storm(w, count, busy_loops):
    """COUNT short processes one after another beside one that traces all the
    time: babeltrace2 shows all of both."""
    (viewer,) = begin_live(w, "late", timer=100000, channel=["--buffers-pid"])
    steady = w.app(1000000, 1000000, microseconds=5000)
    wait_seen(viewer, 5)
    for _ in range(busy_loops):
        w.spin()
    emitted = []
    for i in range(count):
        emitted += w.run_app(10 * i, 10, microseconds=100)
    emitted += steady.kill()
    w.lttng("destroy", "late")
    expect_all(viewer, emitted, emitted[-1])


def register_late(name, data_ms, metadata_ms, count, busy_loops=0):
    """A storm with such delays."""
    def play(w):
        late_sessiond(w, data_ms, metadata_ms)
        storm(w, 100 if LONG else count, busy_loops)
    play.__doc__ = "%d processes while a viewer watches, announced %d ms " \
        "late, metadata %d ms" % (count, data_ms, metadata_ms)
    register(play, name, reference=False, compare_tree=False,
             needs_sessiond=False)


register_late("late-streams-100", 100, 0, 12)
register_late("late-streams-300", 300, 0, 6)
register_late("late-streams-1500", 1500, 0, 3)
register_late("late-metadata", 100, 150, 8)
register_late("late-streams-busy", 0, 0, 25, busy_loops=4)


@scenario(reference=False, compare_tree=False)
def viewers_behind(w):
    """processes that start every 0.4 s with a live timer of 1 s: a viewer is
    does not fall behind"""
    (viewer,) = begin_live(w, "vbehind", timer=1000000,
                           channel=["--buffers-pid"])
    steady = w.app(0, 1000000, microseconds=10000)
    wait_seen(viewer, 1)
    apps, worst = [], 0.0
    ends = time.monotonic() + 20
    history = []            # (time, events that the steady one had emitted)
    while time.monotonic() < ends:
        # They are there for 2 s, idle for most of the time.
        apps.append(w.app(10000000 + 10 * len(apps), 3,
                          microseconds=700000))
        until = time.monotonic() + 0.4
        while time.monotonic() < until:
            history.append((time.monotonic(), len(steady.emitted())))
            seen = sum(1 for n in viewer.seen() if n < 10000000)
            age = [t for t, n in history if n > seen]
            if age and len(history) > 50:
                worst = max(worst, time.monotonic() - age[0])
            time.sleep(0.04)
    w.notes.append("at most %.2f s behind" % worst)
    emitted = steady.kill()
    last = emitted[-1]
    emitted += [n for app in apps for n in app.finish()]
    w.lttng("destroy", "vbehind")
    expect_all(viewer, emitted, last)
    # 1.2 s on a quiet machine; a viewer that falls behind does not catch up.
    check(worst <= 6, f"the viewer was {worst:.2f} s behind")
