# SPDX-License-Identifier: MIT
"""Scenarios that end well: sessions, tracefiles, chunks."""
import os
import shutil
import time

import tree
from story import (begin, end, expect_archive, expect_session, prepare, rotate,
                   scenario, watch)
from tree import expect_events
from world import Failure, check, wait_for



# Sessions from start to end.

@scenario()
def per_uid(w):
    """buffers per user: all events, no index ever ahead of its data"""
    begin(w, "uid")
    emitted = w.run_app(0, 600, meanwhile=watch(w))
    end(w, "uid")
    expect_session(w, "uid", emitted)


@scenario()
def per_pid(w):
    """buffers per process, two processes one after another"""
    begin(w, "pid", channel=["--buffers-pid"])
    emitted = w.run_app(0, 200, meanwhile=watch(w))
    emitted += w.run_app(200, 200, meanwhile=watch(w))
    end(w, "pid")
    expect_session(w, "pid", emitted)


@scenario()
def big_packets(w):
    """events of 2 KiB in sub-buffers of 256 KiB"""
    begin(w, "big", subbuf="256k", count="32")
    emitted = w.run_app(0, 2000, microseconds=400, length=2000,
                        meanwhile=watch(w))
    end(w, "big")
    expect_session(w, "big", emitted)


@scenario(compare_tree=False)
def flood(w):
    """events as fast as the relay takes them: the tracer waits, none is lost"""
    begin(w, "flood", channel=["--blocking-timeout=inf"], subbuf="64k",
          count="4")
    emitted = w.run_app(0, 40000, microseconds=0, length=500,
                        meanwhile=watch(w))
    end(w, "flood")
    expect_session(w, "flood", emitted)


@scenario(compare_tree=False)
def many_applications(w):
    """eight applications at once, with buffers per process"""
    begin(w, "many", channel=["--buffers-pid"])
    apps = [w.app(200 * n, 200, microseconds=1000, cpu=n % 2)
            for n in range(8)]
    emitted = [number for app in apps for number in app.finish()]
    end(w, "many")
    expect_session(w, "many", emitted)


@scenario()
def live(w):
    """a live session: beacons while nothing happens, also while stopped"""
    begin(w, "live1", "--live=200000")
    emitted = w.run_app(0, 12, microseconds=100000, meanwhile=watch(w))
    time.sleep(0.7)
    w.lttng("stop", "live1")
    time.sleep(0.5)
    w.lttng("destroy", "live1")
    expect_session(w, "live1", emitted)


@scenario()
def live_viewer(w):
    """babeltrace2 watches a live session from its first event to its end"""
    begin(w, "watch", "--live=100000")
    wait_for("the session listed", lambda: tree.listed(w, "watch"))
    viewer = tree.Viewer(w, "watch")
    tree.wait_attached(w, "watch")
    emitted = w.run_app(0, 1000, microseconds=2000)
    time.sleep(0.5)
    end(w, "watch")
    got = viewer.finish()
    check(got == emitted,
          f"babeltrace2 saw {tree.span(got)}, emitted {tree.span(emitted)}")
    expect_session(w, "watch", emitted)


@scenario()
def regenerate_metadata(w):
    """the metadata sent again in the middle"""
    begin(w, "regen")
    emitted = w.run_app(0, 200)
    w.lttng("regenerate", "metadata", "-s", "regen")
    emitted += w.run_app(200, 200)
    end(w, "regen")
    expect_session(w, "regen", emitted)


@scenario(reference=False)      # its answers make `lttng destroy` hang
def two_sessions(w):
    """two sessions record the same application"""
    begin(w, "one")
    begin(w, "two", channel=["--buffers-pid"])
    emitted = w.run_app(0, 500, meanwhile=watch(w))
    end(w, "one")
    end(w, "two")
    expect_session(w, "one", emitted)
    expect_session(w, "two", emitted)


@scenario()
def two_applications(w):
    """two applications at once, each on a CPU"""
    begin(w, "apps")
    first, second = w.app(0, 500, cpu=0), w.app(500, 500, cpu=1)
    emitted = first.finish(watch(w)) + second.finish()
    end(w, "apps")
    expect_session(w, "apps", emitted)


@scenario()
def base_path(w):
    """a path in the URL names the output directory"""
    begin(w, "based", url_path="/some/where")
    emitted = w.run_app(0, 100)
    end(w, "based")
    path = w.path("*/some/where")
    tree.check_indexes(path)
    expect_events(w, path, emitted)


@scenario(options=["--group-output-by-session"])
def group_by_session(w):
    """--group-output-by-session, with and without a path in the URL"""
    begin(w, "grp")
    emitted = w.run_app(0, 100)
    end(w, "grp")
    expect_events(w, w.path("grp/*"), emitted)
    begin(w, "grp2", url_path="/sub")
    emitted = w.run_app(100, 100)
    end(w, "grp2")
    expect_events(w, w.path("grp2/*/sub"), emitted)


# Tracefiles.

@scenario()
def tracefile_ring(w):
    """--tracefile-size and --tracefile-count: only the newest stay"""
    begin(w, "ring", channel=["--tracefile-size", "8192",
                              "--tracefile-count", "3"])
    emitted = w.run_app(0, 1500)
    end(w, "ring")
    path = w.path("*/ring-*")
    tree.check_indexes(path)
    got = tree.events(w, path)
    check(0 < len(got) < len(emitted) and got == emitted[-len(got):],
          f"events {tree.span(got)} of {tree.span(emitted)}")
    files = w.paths("*/ring-*/ust/uid/*/*/ch0_0_*")
    check(len(files) == 3, f"{len(files)} tracefiles instead of 3")


@scenario(reference=False)
def tracefile_size(w):
    """--tracefile-size alone: all events, in many files"""
    begin(w, "size", channel=["--tracefile-size", "8192"])
    emitted = w.run_app(0, 1500)
    end(w, "size")
    expect_session(w, "size", emitted)
    files = w.paths("*/size-*/ust/uid/*/*/ch0_0_*")
    check(len(files) >= 5, f"only {len(files)} tracefiles")


# Rotation, clear, snapshot.

@scenario()
def rotate_active(w):
    """rotate twice while events come, destroy archives the rest"""
    begin(w, "rot")
    for number in range(3):
        emitted = w.run_app(150 * number, 150)
        if number < 2:
            rotate(w, "rot")
            expect_archive(w, "rot", number, emitted)
    end(w, "rot")
    expect_archive(w, "rot", 2, emitted)


@scenario(compare_tree=False)
def rotate_under_load(w):
    """rotate five times under an application that does not pause"""
    begin(w, "load")
    app = w.app(0, 4000, microseconds=500)
    for number in range(5):
        app.wait_emitted(500 * (number + 1))
        rotate(w, "load")
    emitted = app.finish()
    end(w, "load")
    got = []
    for number in range(6):
        path = w.path("*/load-*/archives/*-%d" % number)
        tree.check_indexes(path)
        got += tree.events(w, path)
    if got != emitted:
        raise Failure("events %s over six archives, emitted %s"
                      % (tree.span(got), tree.span(emitted)))


@scenario(compare_tree=False)
def rotate_timer(w):
    """rotations on a timer: all events, over the archives"""
    prepare(w, "timer")
    w.lttng("enable-rotation", "--timer=400ms")
    w.lttng("start")
    emitted = w.run_app(0, 4000, microseconds=500)
    wait_for("three archives", lambda: len(
        w.paths("*/timer-*/archives/*")) >= 3, timeout=30)
    w.lttng("stop", "timer")
    # It names the last archive or none, as the timer has it, with either.
    w.lttng("destroy", "timer", compare=False)
    expect_events(w, w.path("*/timer-*"), emitted)


@scenario()
def rotate_stopped(w):
    """rotate while stopped, go on, destroy"""
    begin(w, "rots")
    emitted = w.run_app(0, 150)
    w.lttng("stop", "rots")
    rotate(w, "rots")
    expect_archive(w, "rots", 0, emitted)
    w.lttng("start", "rots")
    emitted = w.run_app(150, 150)
    end(w, "rots")
    expect_archive(w, "rots", 1, emitted)


@scenario()
def rotate_per_pid(w):
    """rotate with buffers per process, an application in each chunk"""
    begin(w, "rotp", channel=["--buffers-pid"])
    emitted = w.run_app(0, 100)
    rotate(w, "rotp")
    expect_archive(w, "rotp", 0, emitted)
    emitted = w.run_app(100, 100)
    end(w, "rotp")
    expect_archive(w, "rotp", 1, emitted)


@scenario()
def clear_early(w):
    """clear before any packet was sent: what follows is all there"""
    begin(w, "clr")
    w.run_app(0, 20)
    w.lttng("clear", "clr")
    emitted = w.run_app(20, 300)
    end(w, "clr")
    path = w.path("*/clr-*")
    if not w.is_reference:
        expect_session(w, "clr", emitted)
    elif not set(tree.events(w, path)) <= set(emitted):
        raise Failure("cleared events came back")


@scenario(compare_tree=False)
def clear_under_load(w):
    """clear three times under an application: all that comes after stays"""
    begin(w, "clrl", channel=["--blocking-timeout=inf"])
    app = w.app(0, 1000000, microseconds=500)
    for number in (400, 1000, 1600):
        app.wait_emitted(number)
        w.lttng("clear", "clrl")
    cleared = len(app.emitted())
    app.wait_emitted(cleared + 500)
    emitted = app.enough()
    end(w, "clrl")
    path = w.path("*/clrl-*")
    tree.check_indexes(path)
    got = tree.events(w, path)
    check(got == emitted[-len(got):] and got and got[0] <= cleared,
          f"events {tree.span(got)}, clear was done at {cleared}")


@scenario(compare_tree=False)
def clear_viewer(w):
    """clear a live session that babeltrace2 watches: it goes on after it"""
    begin(w, "clrv", "--live=100000")
    app = w.app(0, 1500, microseconds=2000)
    app.wait_emitted(20)
    viewer = tree.Viewer(w, "clrv")
    tree.wait_attached(w, "clrv")
    app.wait_emitted(600)
    w.lttng("clear", "clrv")
    cleared = len(app.emitted())
    emitted = app.finish() + w.run_app(1500, 300, microseconds=2000)
    time.sleep(0.5)
    end(w, "clrv")
    got = viewer.finish()
    check(got == sorted(set(got)) and got[-(len(emitted) - cleared):] ==
          emitted[cleared:],
          f"babeltrace2 saw {tree.span(got)}, clear was done at {cleared}")


@scenario()
def clear_rotated(w):
    """clear after a rotation leaves the archives alone"""
    begin(w, "clrr")
    first = w.run_app(0, 150)
    rotate(w, "clrr")
    w.run_app(150, 150)
    w.lttng("clear", "clrr")
    last = w.run_app(300, 150)
    end(w, "clrr")
    expect_archive(w, "clrr", 0, first)
    expect_archive(w, "clrr", 2, last)


@scenario()
def clear_stopped(w):
    """clear while stopped leaves an empty directory; go on after it"""
    begin(w, "clrs")
    w.run_app(0, 150)
    w.lttng("stop", "clrs")
    w.lttng("clear", "clrs")
    left = os.listdir(w.path("*/clrs-*"))
    check(not left, f"left after a clear: {left!r}")
    w.lttng("start", "clrs")
    emitted = w.run_app(150, 150)
    end(w, "clrs")
    expect_session(w, "clrs", emitted)


@scenario(options=["--disallow-clear"])
def disallow_clear(w):
    """--disallow-clear: lttng clear fails, nothing is lost"""
    begin(w, "noclr")
    emitted = w.run_app(0, 100)
    w.lttng("clear", "noclr", ok=False)
    end(w, "noclr")
    expect_session(w, "noclr", emitted)


def look(w, title):
    """What is below the output directory now, hidden files too: the same with
    the reference. Then the traces are removed, as scripts do, and nothing may be
    left."""
    names = sorted(tree.listing(w))
    w.commands.append({"argv": "(look) " + title, "status": 0, "seconds": 0,
                       "output": "\n".join(names), "compare": True})
    hidden = [name for name in names if name.startswith(".")]
    check(not hidden, f"{title}: {hidden!r} is left")
    for path in w.paths("*"):
        shutil.rmtree(path)
    left = os.listdir(w.relay.output)
    check(not left, f"{title}: {left!r} is left without the traces")


@scenario()
def nothing_left(w):
    """what is in the output directory after destroy, while the relay runs, as
    scripts look for it: what was recorded, and nothing else"""
    look(w, "start")
    for number, (create, channel, steps) in enumerate((
            ([], [], ""),
            ([], [], "start stop"),
            ([], [], "start clear stop"),
            ([], [], "start rotate stop"),
            (["--live"], [], "start stop"),
            (["--snapshot"], [], "start stop"),
            (["--snapshot"], [], "start record stop"),
            ([], [], "start app stop"),
            ([], [], "start app stop clear"),
            ([], ["--buffers-pid"], "start app clear stop"),
            ([], ["--buffers-pid"], "untrack start app stop"),
            ([], [], "start app rotate clear app stop"),
            (["--live"], [], "start app stop"),
            (["--snapshot"], [], "start app record stop"))):
        name = "left%d" % number
        prepare(w, name, *create, channel=channel, count="4")
        for step in steps.split():
            if step == "app":
                w.run_app(0, 50)
            elif step == "record":
                w.lttng("snapshot", "record", "-s", name)
            elif step == "untrack":
                w.lttng("untrack", "-u", "-s", name, "--vpid", "--all")
            else:
                w.lttng(step, name)
        w.lttng("destroy", name)
        look(w, " ".join(["create"] + create + channel + [steps, "destroy"]))
    w.relay.stop()
    os.rmdir(w.relay.output)


def expect_snapshot(w, pattern, least):
    """A row of events without a gap that reaches beyond number LEAST."""
    def is_there():
        try:
            got = tree.events(w, w.path(pattern))
        except Failure:
            return False
        return got == list(range(got[0], got[-1] + 1)) and got[-1] >= least \
            if got else False
    try:
        wait_for("snapshot", is_there, timeout=30.0, step=0.2)
    except Failure:
        got = tree.events(w, w.path(pattern))
        raise Failure("%s: events %s, expected up to %d or more"
                      % (pattern, tree.span(got), least)) from None


@scenario()
def snapshot(w):
    """two snapshot records of a running application, one of them named"""
    begin(w, "snap", "--snapshot")
    app = w.app(0, 2500, microseconds=400)
    app.wait_emitted(500)
    w.lttng("snapshot", "record")
    app.wait_emitted(1200)
    w.lttng("snapshot", "record", "-n", "named")
    app.finish()
    end(w, "snap")
    expect_snapshot(w, "*/snap-*/snapshot-1-*", 499)
    expect_snapshot(w, "*/snap-*/named-*", 1199)
