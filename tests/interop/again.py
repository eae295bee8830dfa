# SPDX-License-Identifier: MIT
"""Scenarios in which a tracer adds once more what it has added before: an
application that is not tracked for a while, with buffers of its own."""
import collections

import tree
from story import begin, end, rotate, scenario
from viewers import attach, await_session, wait_seen
from world import Failure, wait_for

PER_PROCESS = ["--buffers-pid"]


def track(w, app):
    """Follow it, by its number, which is another one with the reference."""
    status, output = w.run("lttng", "-n", "track", "-u", "--vpid",
                           str(app.child.pid))
    if status != 0:
        raise Failure("lttng track: status %d: %s" % (status, output))


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
    """Each event TIMES times, but for those of the pauses."""
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
    if not w.is_reference and len(found) != number:
        raise Failure("%d folders of the process instead of %d"
                      % (len(found), number))


@scenario(compare_tree=False)
def track_again(w):
    """untrack and track a process three times: all generations are kept"""
    begin(w, "trk", channel=PER_PROCESS)
    app = w.app(0, 2000, microseconds=1000)
    app.wait_emitted(200)
    pauses = [pause(w, app) for _ in range(3)]
    emitted = app.finish()
    end(w, "trk")
    generations(w, "trk", 4)
    if not w.is_reference:      # it keeps only the last one
        expect_all_but(events_below(w, "*/trk-*/ust/pid/*"), emitted, pauses)
        expect_all_but(tree.events(w, w.path("*/trk-*")), emitted, pauses)


@scenario(compare_tree=False)
def track_again_channels(w):
    """the same with two channels, each with all events"""
    w.lttng("create", "trkc", "--set-url", w.url())
    for channel in ("zz", "aa"):
        w.lttng("enable-channel", "-u", "--subbuf-size", "4k",
                "--num-subbuf", "64", channel, *PER_PROCESS)
        w.lttng("enable-event", "-u", "-c", channel, "demo:*")
    w.lttng("start")
    app = w.app(0, 1500, microseconds=1000)
    app.wait_emitted(200)
    pauses = [pause(w, app) for _ in range(2)]
    emitted = app.finish()
    end(w, "trkc")
    generations(w, "trkc", 3)
    if not w.is_reference:
        expect_all_but(events_below(w, "*/trkc-*/ust/pid/*"), emitted, pauses,
                       times=2)


@scenario(reference=False, compare_tree=False)
def track_again_files(w):
    """the same with --tracefile-size: each generation has its own row"""
    begin(w, "trkf", channel=PER_PROCESS + ["--tracefile-size", "8192"])
    app = w.app(0, 2000, microseconds=1000)
    app.wait_emitted(200)
    pauses = [pause(w, app) for _ in range(2)]
    emitted = app.finish()
    end(w, "trkf")
    generations(w, "trkf", 3)
    expect_all_but(events_below(w, "*/trkf-*/ust/pid/*"), emitted, pauses)


@scenario(compare_tree=False)
def track_again_per_uid(w):
    """the same with buffers per user, which stay: nothing new is added"""
    begin(w, "trku")
    app = w.app(0, 1200, microseconds=1000)
    app.wait_emitted(200)
    pauses = [pause(w, app) for _ in range(2)]
    emitted = app.finish()
    end(w, "trku")
    expect_all_but(tree.events(w, w.path("*/trku-*")), emitted, pauses)


@scenario(compare_tree=False)
def track_again_rotated(w):
    """rotations between the generations and in them"""
    begin(w, "trkr", channel=PER_PROCESS)
    app = w.app(0, 5000, microseconds=1000)
    app.wait_emitted(200)
    pauses = [pause(w, app), pause(w, app)]
    rotate(w, "trkr")
    pauses += [pause(w, app), pause(w, app, lambda: rotate(w, "trkr")),
               pause(w, app)]
    emitted = app.finish()
    end(w, "trkr")
    if not w.is_reference:
        got = events_below(w, "*/trkr-*/archives/*")
        expect_all_but(got, emitted, pauses)


@scenario(compare_tree=False)
def track_again_cleared(w):
    """clear while a second generation is there: what follows is all there"""
    begin(w, "trkx", channel=PER_PROCESS)
    app = w.app(0, 2000, microseconds=1000)
    app.wait_emitted(200)
    pause(w, app)
    w.lttng("clear", "trkx")
    cleared = len(app.emitted())
    pauses = [pause(w, app)]
    emitted = app.finish()
    end(w, "trkx")
    if not w.is_reference:
        got = events_below(w, "*/trkx-*/ust/pid/*")
        expect_all_but([n for n in got if n >= cleared],
                       emitted[cleared:], pauses)


@scenario(reference=False, compare_tree=False)
def viewers_track_again(w):
    """viewers of a live session see all generations of a process"""
    begin(w, "vtrk", "--live=200000", channel=PER_PROCESS)
    await_session(w, "vtrk")
    viewers = attach(w, "vtrk", ("babeltrace2", "babeltrace2"))
    app = w.app(0, 2500, microseconds=1000)
    app.wait_emitted(200)
    pauses = []
    for _ in range(3):
        pauses.append(pause(w, app))
        for viewer in viewers:
            wait_seen(viewer, 1)
            wait_for("the new generation shown", lambda v=viewer:
                     max(v.seen()) > pauses[-1].stop, timeout=10)
    emitted = app.finish()
    end(w, "vtrk")
    for viewer in viewers:
        expect_all_but(viewer.finish(20), emitted, pauses)
    expect_all_but(tree.events(w, w.path("*/vtrk-*")), emitted, pauses)
