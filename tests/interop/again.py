# SPDX-License-Identifier: MIT
"""Scenarios in which something comes again: an application that is not tracked
for a while, with buffers of its own; directories that somebody removed."""
import collections
import contextlib
import os
import shutil
import time

import tree
from story import (begin, end, expect_archive, expect_session, rotate,
                   scenario)
from viewers import begin_live, wait_seen
from world import Failure, check, wait_for

PER_PROCESS = ["--buffers-pid"]
ENDLESS = 1000000       # events of an application that is told to end


def track(w, app):
    """Follow it, by its number, which is another one with the reference."""
    status, output = w.run("lttng", "-n", "track", "-u", "--vpid",
                           str(app.child.pid))
    check(status == 0, f"lttng track: status {status}: {output}")


def pause(w, app, meanwhile=None):
    """The application is not tracked for a moment: the range of events that
    may be missing."""
    before = len(app.emitted())
    w.lttng("untrack", "-u", "--vpid", "--all")
    if meanwhile is not None:
        meanwhile()
    track(w, app)
    after = len(app.emitted())
    app.wait_emitted(after + 150)
    return range(before, after + 1)


def expect_all_but(got, emitted, pauses, times=1):
    """Each event TIMES times, except those of the pauses."""
    may_miss = {n for numbers in pauses for n in numbers}
    count = collections.Counter(got)
    wrong = [n for n in emitted if count[n] != times and n not in may_miss]
    if wrong or not set(got) <= set(emitted):
        raise Failure("events %s; not there, or more than once: %s"
                      % (tree.span(set(got)), tree.span(wrong)))


def events_below(w, pattern):
    """The events of every trace there; each must be readable by itself."""
    got = []
    for path in w.paths(pattern):
        tree.check_indexes(path)
        got += tree.events(w, path)
    return got


def generations(w, session, number):
    """So many folders of the one process."""
    found = w.paths("*/%s-*/ust/pid/*" % session)
    check(w.is_reference or len(found) == number,
          f"{len(found)} folders of the process instead of {number}")


def tracked(w, session, pauses, **how):
    """A session of one process with so many pauses; the events, and those that
    may be missing."""
    begin(w, session, **how)
    app = w.app(0, ENDLESS, microseconds=1000)
    app.wait_emitted(200)
    missing = [pause(w, app) for _ in range(pauses)]
    emitted = app.enough()
    end(w, session)
    return emitted, missing


@scenario(compare_tree=False)
def track_again(w):
    """untrack and track a process three times: all generations are kept"""
    emitted, pauses = tracked(w, "trk", 3, channel=PER_PROCESS)
    generations(w, "trk", 4)
    if not w.is_reference:      # it keeps only the last one
        expect_all_but(events_below(w, "*/trk-*/ust/pid/*"), emitted, pauses)
        expect_all_but(tree.events(w, w.path("*/trk-*")), emitted, pauses)


@scenario(compare_tree=False)
def track_again_channels(w):
    """the same with two channels, each with all events"""
    emitted, pauses = tracked(w, "trkc", 2,
                              channel=PER_PROCESS, channels=("zz", "aa"))
    generations(w, "trkc", 3)
    if not w.is_reference:
        expect_all_but(events_below(w, "*/trkc-*/ust/pid/*"), emitted, pauses,
                       times=2)


@scenario(reference=False, compare_tree=False)
def track_again_files(w):
    """the same with --tracefile-size: each generation has its own row"""
    emitted, pauses = tracked(w, "trkf", 2,
                              channel=PER_PROCESS + ["--tracefile-size", "8192"])
    generations(w, "trkf", 3)
    expect_all_but(events_below(w, "*/trkf-*/ust/pid/*"), emitted, pauses)


@scenario(compare_tree=False)
def track_again_per_uid(w):
    """the same with buffers per user, which stay: nothing new is added"""
    emitted, pauses = tracked(w, "trku", 2)
    expect_all_but(tree.events(w, w.path("*/trku-*")), emitted, pauses)


@scenario(compare_tree=False)
def track_again_rotated(w):
    """rotations between the generations and in them"""
    begin(w, "trkr", channel=PER_PROCESS)
    app = w.app(0, ENDLESS, microseconds=1000)
    app.wait_emitted(200)
    pauses = [pause(w, app), pause(w, app)]
    rotate(w, "trkr")
    pauses += [pause(w, app), pause(w, app, lambda: rotate(w, "trkr")),
               pause(w, app)]
    emitted = app.enough()
    end(w, "trkr")
    if not w.is_reference:
        got = events_below(w, "*/trkr-*/archives/*")
        expect_all_but(got, emitted, pauses)


@scenario(compare_tree=False)
def track_again_cleared(w):
    """clear while a second generation is there: what follows is all there"""
    begin(w, "trkx", channel=PER_PROCESS)
    app = w.app(0, ENDLESS, microseconds=1000)
    app.wait_emitted(200)
    pause(w, app)
    w.lttng("clear", "trkx")
    cleared = len(app.emitted())
    pauses = [pause(w, app)]
    emitted = app.enough()
    end(w, "trkx")
    if not w.is_reference:
        got = events_below(w, "*/trkx-*/ust/pid/*")
        expect_all_but([n for n in got if n >= cleared],
                       emitted[cleared:], pauses)


@scenario(reference=False, compare_tree=False)
def viewers_track_again(w):
    """viewers of a live session see all generations of a process"""
    viewers = begin_live(w, "vtrk", ("babeltrace2", "babeltrace2"),
                         channel=PER_PROCESS)
    app = w.app(0, ENDLESS, microseconds=1000)
    app.wait_emitted(200)
    pauses = []
    for _ in range(3):
        pauses.append(pause(w, app))
        for viewer in viewers:
            wait_seen(viewer, 1)
            wait_for("the new generation shown", lambda v=viewer:
                     max(v.seen()) > pauses[-1].stop, timeout=30)
    emitted = app.enough()
    end(w, "vtrk")
    for viewer in viewers:
        expect_all_but(viewer.finish(20), emitted, pauses)
    expect_all_but(tree.events(w, w.path("*/vtrk-*")), emitted, pauses)


# Somebody removes directories of sessions that live.

def pass_if_gone(function, path, found):
    """As rm -f: what the relay removes meanwhile is gone, too."""
    if not isinstance(found[1], FileNotFoundError):
        raise found[1]


def remove_all(w, pattern="*"):
    """rm -rf of what is there; "": the output directory itself. Hidden files
    go with the rest, as by `find -delete`."""
    paths = w.paths(pattern) if pattern else [w.relay.output]
    if pattern == "*":
        paths += w.paths(".*")
    check(paths, f"nothing to remove: {pattern}")
    for path in paths:
        if os.path.isdir(path):
            shutil.rmtree(path, onerror=pass_if_gone)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)


def trace_events(w, path):
    """The events of a trace that may not be there yet."""
    try:
        return tree.events(w, w.path(path))
    except Failure:
        return []


@scenario()
def removed_between_snapshots(w):
    """rm -rf of everything below the output directory between snapshots, and
    of that directory: each snapshot is there"""
    begin(w, "rsnap", "--snapshot", count="4")
    app = w.app(0, ENDLESS, microseconds=500)
    app.wait_emitted(300)
    w.lttng("snapshot", "record")
    for pattern in ("*", "*/*", "*/*/*", ""):
        wait_for("snapshot", lambda: trace_events(w, "*/rsnap-*/snapshot-*"),
                 timeout=30, step=0.1)
        remove_all(w, pattern)
        least = len(app.emitted())
        app.wait_emitted(least + 50)
        w.lttng("snapshot", "record")
        wait_for("snapshot after rm -rf '%s'" % pattern, lambda: max(
            trace_events(w, "*/rsnap-*/snapshot-*"), default=0) > least,
                 timeout=30, step=0.1)
    app.enough()
    end(w, "rsnap")


@scenario(reference=False)      # `lttng rotate` fails with it
def removed_then_rotated(w):
    """rm -rf of the session's directory, of its chunk, of the output
    directory: rotate goes on as if nothing had been"""
    begin(w, "rrot")
    w.run_app(0, 150)
    for number, pattern in enumerate(
            ("*/rrot-*", "*/rrot-*/*T*", "", "*/rrot-*/*T*/ust", "*")):
        first = 1000 * (number + 1)
        remove_all(w, pattern)
        w.run_app(first, 150)       # lost, or in the buffers
        w.lttng("rotate", "rrot")
        emitted = w.run_app(first + 500, 150)
        rotate(w, "rrot")
        path = w.path("*/rrot-*/archives/*-%d" % (2 * number + 1))
        tree.check_indexes(path)
        got = tree.events(w, path)
        if got[-150:] != emitted or got[0] < first - 500:
            raise Failure("rm -rf '%s': events %s" % (pattern, tree.span(got)))
    w.run_app(9000, 150)
    end(w, "rrot")
    expect_archive(w, "rrot", 10, list(range(9000, 9150)))


@scenario(reference=False)      # `lttng clear` hangs with it
def removed_then_cleared(w):
    """the same, then clear, while active and while stopped"""
    begin(w, "rclr")
    w.run_app(0, 150)
    for number, pattern in enumerate(("*/rclr-*", "", "*/rclr-*/ust", "*")):
        remove_all(w, pattern)
        w.run_app(1000 * number + 500, 50)
        if number % 2 == 1:
            w.lttng("stop", "rclr")
        w.lttng("clear", "rclr")
        if number % 2 == 1:
            w.lttng("start", "rclr")
        emitted = w.run_app(1000 * (number + 1), 150)
    end(w, "rclr")
    expect_session(w, "rclr", emitted)


@scenario(reference=False)      # it loses the session
def removed_then_traced(w):
    """the same with buffers per process: processes that come later are
    recorded, also over stop and start"""
    begin(w, "rpid", channel=["--buffers-pid"])
    old = w.app(0, 6000, microseconds=1000)
    old.wait_emitted(100)
    for number, pattern in enumerate(("*/rpid-*", "", "*/rpid-*/ust", "*")):
        remove_all(w, pattern)
        emitted = w.run_app(10000 * (number + 1), 150)
        w.lttng("stop", "rpid")
        w.lttng("start", "rpid")
        wait_for("the process's trace", lambda: sorted(
            trace_events(w, "*/rpid-*")) == emitted, timeout=30, step=0.1)
    old.kill()
    end(w, "rpid")
    tree.expect_events(w, w.path("*/rpid-*"), emitted)


@scenario(reference=False, compare_tree=False)
def viewers_removed(w):
    """the same while a viewer watches: it goes on after the next clear"""
    viewers = begin_live(w, "vrem", channel=["--buffers-pid"])
    app = w.app(0, ENDLESS, microseconds=1000)
    wait_seen(viewers[0], 100)
    for number, pattern in enumerate(("*/vrem-*", "")):
        remove_all(w, pattern)
        time.sleep(0.3)
        w.lttng("clear", "vrem")
        least = len(app.emitted()) + 100
        wait_for("events after the clear %d" % number, lambda: max(
            viewers[0].seen()) >= least, timeout=30)
    app.kill()
    w.lttng("destroy", "vrem")
    got = viewers[0].finish(20)
    check(got == sorted(set(got)), f"saw {tree.span(got)}")
