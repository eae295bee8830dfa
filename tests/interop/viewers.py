# SPDX-License-Identifier: MIT
"""Scenarios with stock viewers: what babeltrace2 and babeltrace 1.5 print of a
session while it is recorded is what the application wrote (live 7)."""
import os
import random
import shutil
import signal
import socket
import time

import tree
from story import begin, end, expect_session, scenario
from world import Failure, check, wait_for

PROGRAMS = ("babeltrace2", "babeltrace")


def attach(w, session, programs=("babeltrace2",)):
    """Viewers on SESSION, all attached when it returns."""
    before = (tree.listed(w, session) or (0, 0))[1]
    viewers = [tree.Viewer(w, session, program) for program in programs
               if shutil.which(program)]
    wait_for("%d viewers attached" % len(viewers),
             lambda: (tree.listed(w, session) or (0, 0))[1]
             == before + len(viewers), timeout=30)
    return viewers


def await_session(w, session):
    """Until the relay lists it."""
    wait_for("session %s listed" % session,
             lambda: tree.listed(w, session) is not None, timeout=30)


def begin_live(w, session, programs=("babeltrace2",), timer=200000, **how):
    """A live session with viewers on it."""
    begin(w, session, f"--live={timer}", **how)
    await_session(w, session)
    return attach(w, session, programs)


def expect_seen(viewers, emitted, is_ordered=True, timeout=20.0):
    """Each viewer ends by itself, having printed all once."""
    for n, viewer in enumerate(viewers):
        got = viewer.finish(timeout)
        if (got if is_ordered else sorted(got)) != emitted:
            raise Failure("viewer %d, %s, saw %s; emitted %s" % (
                n, viewer.program, tree.span(got), tree.span(emitted)))


def wait_seen(viewer, count, timeout=15.0):
    """Until it has printed COUNT events."""
    wait_for("%d events printed by %s" % (count, viewer.program),
             lambda: len(viewer.seen()) >= count, timeout=timeout)


def wait_last(viewer, emitted):
    """Until it has printed the last event."""
    wait_for("the last event", lambda: viewer.seen()[-1:] == emitted[-1:],
             timeout=30)


def descriptors(w):
    """What the relay has open: {number: where it leads}."""
    found = {}
    with w.relay.replacing:
        top = "/proc/%d/fd" % w.relay.child.pid
        for number in os.listdir(top):
            try:
                found[int(number)] = os.readlink(os.path.join(top, number))
            except OSError:
                pass        # closed meanwhile
    return found


def wait_descriptors(w, before):
    """Until no more are open than BEFORE."""
    try:
        wait_for("descriptors", lambda: len(descriptors(w)) <= len(before),
                 timeout=30)
    except Failure:
        after = descriptors(w)
        raise Failure("%d descriptors for %d; also open: %s" % (
            len(after), len(before), ", ".join(
                sorted(where for number, where in after.items()
                       if before.get(number) != where)))) from None


@scenario(reference=False, compare_tree=False)
def viewers_per_uid(w):
    """babeltrace2 and babeltrace 1.5 from the first event to the last"""
    viewers = begin_live(w, "vuid", PROGRAMS)
    emitted = w.run_app(0, 500, microseconds=2000)
    time.sleep(1)
    emitted += w.run_app(500, 200, microseconds=2000, cpu=1)
    w.lttng("destroy", "vuid")
    expect_seen(viewers, emitted)
    expect_session(w, "vuid", emitted)


@scenario(reference=False, compare_tree=False)
def viewers_per_pid(w):
    """per-process buffers: one CTF trace per process, all of them shown"""
    viewers = begin_live(w, "vpid", channel=["--buffers-pid"])
    emitted = w.run_app(0, 100, microseconds=3000)
    apps = [w.app(100 * (i + 1), 100, microseconds=5000, cpu=i)
            for i in range(2)]
    for app in apps:
        emitted += app.finish()
    w.lttng("destroy", "vpid")
    expect_seen(viewers, sorted(emitted), is_ordered=False)


@scenario(reference=False, compare_tree=False)
def viewers_long_timer(w):
    """a live timer of 1 s, stop and start in between"""
    viewers = begin_live(w, "vslow", PROGRAMS, timer=1000000)
    emitted = w.run_app(0, 100, microseconds=10000)
    w.lttng("stop", "vslow")
    time.sleep(2)
    w.lttng("start", "vslow")
    emitted += w.run_app(100, 100, microseconds=5000)
    end(w, "vslow")
    expect_seen(viewers, emitted)


@scenario(reference=False, compare_tree=False)
def viewers_eight(w):
    """eight viewers of one session; one is stopped and catches up"""
    viewers = begin_live(w, "veight", ["babeltrace2"] * 8)
    app = w.app(0, 1500, microseconds=2000)
    wait_seen(viewers[0], 50)
    viewers[0].child.send_signal(signal.SIGSTOP)
    had = len(viewers[0].seen())
    for viewer in viewers[1:]:
        wait_seen(viewer, 600)
    if len(viewers[0].seen()) > had + 50:
        raise Failure("the stopped viewer was not stopped")
    viewers[0].child.send_signal(signal.SIGCONT)
    emitted = app.finish()
    w.lttng("destroy", "veight")
    expect_seen(viewers, emitted)


@scenario(reference=False, compare_tree=False)
def viewers_staggered(w):
    """three viewers started one after another print the same lines"""
    viewers = begin_live(w, "vstag")
    app = w.app(0, 1200, microseconds=3000)
    wait_seen(viewers[0], 200)
    viewers += attach(w, "vstag")
    wait_seen(viewers[0], 500)
    viewers += attach(w, "vstag")
    emitted = app.finish() + w.run_app(1200, 400, microseconds=1000)
    w.lttng("destroy", "vstag")
    texts = []
    for viewer in viewers:
        viewer.child.wait(20)
        lines = viewer.text().splitlines()
        got = viewer.finish()
        if got != emitted[len(emitted) - len(got):] or len(got) < 300:
            raise Failure("a viewer saw %s" % tree.span(got))
        texts.append(lines)
    for lines in texts[1:]:
        # The first line of each has no time difference to one before.
        if texts[0][len(texts[0]) - len(lines) + 1:] != lines[1:]:
            raise Failure("viewers print different lines")


@scenario(reference=False, compare_tree=False)
def viewers_short_apps(w):
    """100 short processes with buffers of their own: nothing is missed, and
    nothing stays behind while the viewer is attached"""
    viewers = begin_live(w, "vshort", channel=["--buffers-pid"])
    emitted = w.run_app(0, 5, microseconds=0)
    wait_seen(viewers[0], 5)
    wait_for("streams gone", lambda: tree.listed(w, "vshort")[0] == 0,
             timeout=30)
    before = descriptors(w)
    for i in range(1, 100):
        emitted += w.run_app(5 * i, 5, microseconds=0)
    wait_seen(viewers[0], 500)
    wait_for("streams gone again",
             lambda: tree.listed(w, "vshort")[0] == 0, timeout=30)
    wait_descriptors(w, before)
    w.lttng("destroy", "vshort")
    expect_seen(viewers, sorted(emitted), is_ordered=False)


@scenario(reference=False, compare_tree=False)
def viewers_idle_and_new(w):
    """an idle process and a new one, which is shown while the other one is
    idle; then the idle one wakes (live 4.9)"""
    viewers = begin_live(w, "vidle", timer=500000, channel=["--buffers-pid"])
    # An event, then 15 s of silence before the last one.
    idle = w.app(0, 2, microseconds=15000000)
    wait_seen(viewers[0], 1)
    time.sleep(1.5)
    emitted = w.run_app(1000, 50, microseconds=1000)
    wait_seen(viewers[0], 51, timeout=10)
    emitted += idle.finish()
    w.lttng("destroy", "vidle")
    expect_seen(viewers, sorted(emitted), is_ordered=False)


@scenario(reference=False, compare_tree=False)
def viewers_silent_and_new(w):
    """processes that never traced anything, and new ones before the first
    beacon: babeltrace2 2.0 must still learn of them"""
    viewers = begin_live(w, "vsilent", timer=1000000,
                         channel=["--buffers-pid"])
    apps = []
    for i in range(6):
        apps.append(w.app(100 * i, 10, wait_ms=20000 if i % 2 == 0 else 0))
        time.sleep(0.3)
    wait_seen(viewers[0], 30, timeout=15)
    emitted = sorted(n for app in apps for n in app.finish())
    w.lttng("destroy", "vsilent")
    expect_seen(viewers, emitted, is_ordered=False)


@scenario(reference=False, compare_tree=False)
def viewers_idle_then_attached(w):
    """viewers attach at the end of idle streams while processes start: they
    have given nothing when there is something to announce"""
    begin(w, "vlate", "--live=1000000", channel=["--buffers-pid"])
    await_session(w, "vlate")
    apps = [w.app(100 * i, 10, wait_ms=14000) for i in range(2)]
    time.sleep(2.5)
    apps += [w.app(1000 + 100 * i, 10, wait_ms=8000 + 200 * i)
             for i in range(4)]
    viewers = []
    for i in range(4):
        viewers += attach(w, "vlate")
        apps.append(w.app(2000 + 100 * i, 10, wait_ms=8000))
        time.sleep(0.2)
    emitted = sorted(n for app in apps for n in app.finish())
    w.lttng("destroy", "vlate")
    expect_seen(viewers, emitted, is_ordered=False)


@scenario(reference=False, compare_tree=False)
def viewers_clear(w):
    """clear twice while two viewers watch: nothing twice, nothing missing
    after it, and both end by themselves"""
    viewers = begin_live(w, "vclear", PROGRAMS, timer=100000)
    emitted = []
    for round_ in range(3):
        emitted += w.run_app(300 * round_, 300, microseconds=1000)
        for viewer in viewers:
            wait_for("round %d seen" % round_, lambda v=viewer:
                     emitted[-1] in v.seen(), timeout=30)
        if round_ < 2:
            w.lttng("clear", "vclear")
    w.lttng("destroy", "vclear")
    expect_seen(viewers, emitted)


@scenario(reference=False, compare_tree=False)
def viewers_ring(w):
    """a stopped viewer is overtaken by a ring of tracefiles: it goes on at
    the oldest packet that is left"""
    viewers = begin_live(w, "vring", timer=100000,
                         channel=["--tracefile-size", "16384", "--tracefile-count", "2"])
    emitted = w.run_app(0, 200, microseconds=1000)
    wait_seen(viewers[0], 200)
    viewers[0].child.send_signal(signal.SIGSTOP)
    emitted += w.run_app(200, 3000, microseconds=1000)
    viewers[0].child.send_signal(signal.SIGCONT)
    wait_last(viewers[0], emitted)
    w.lttng("destroy", "vring")
    got = viewers[0].finish(20)
    if got != sorted(set(got)) or got[-100:] != emitted[-100:] or \
            not 0 < len(got) < len(emitted):
        raise Failure("a slow viewer of a ring saw %s" % tree.span(got))


@scenario(reference=False, compare_tree=False)
def viewers_ring_of_one(w):
    """a ring of a single file, and a size without a count"""
    for name, limits in (("vone", ["--tracefile-count", "1"]), ("vmany", [])):
        viewers = begin_live(w, name, timer=100000,
                             channel=["--tracefile-size", "8192"] + limits)
        emitted = w.run_app(0, 400, microseconds=2000)
        # The empty packets of the end take the last one's place.
        wait_last(viewers[0], emitted)
        w.lttng("destroy", name)
        got = viewers[0].finish(20)
        if got != sorted(set(got)) or got[-1:] != emitted[-1:] or \
                (name == "vmany" and got != emitted):
            raise Failure("%s: saw %s" % (name, tree.span(got)))


@scenario(reference=False, compare_tree=False)
def viewers_interrupted(w):
    """Ctrl-C at any time, before a process begins, beside a busy one, beside
    its remains: babeltrace2 ends with its status for it, and the count of
    clients is right at once"""
    begin(w, "vint", "--live=200000")
    await_session(w, "vint")
    chance = random.Random(5)
    app = None
    for n in range(13):
        if n == 3:
            app = w.app(0, 3000, microseconds=2000)
        elif n == 10:
            app.kill()
        viewer = attach(w, "vint")[0]
        time.sleep(chance.random() * 0.5)
        viewer.child.send_signal(signal.SIGINT)
        check(viewer.child.wait(5) == 2,
              f"interrupted {n}: status {viewer.child.returncode}")
        wait_for("no client", lambda: tree.listed(w, "vint")[1] == 0,
                 timeout=3)
    w.lttng("destroy", "vint")


@scenario(reference=False, compare_tree=False)
def viewers_relay_ends(w):
    """SIGTERM with viewers attached: it ends with 0; they end, too: with 0 if
    they still heard of the session's end, else with 1, as with the reference"""
    viewers = begin_live(w, "vterm", ["babeltrace2"] * 3)
    app = w.app(0, 2000, microseconds=1000)
    wait_seen(viewers[0], 50)
    w.relay.stop(timeout=5)
    for viewer in viewers:
        viewer.finish(5, statuses=(0, 1))
    app.kill()


@scenario(reference=False, compare_tree=False)
def viewers_tracer_killed(w):
    """the consumer daemon is killed: viewers see what it had sent, and end"""
    viewers = begin_live(w, "vtracer", ["babeltrace2"] * 2, timer=100000)
    app = w.app(0, 5000, microseconds=1000)
    for viewer in viewers:
        wait_seen(viewer, 300)
    for pid in w.consumerds():
        os.kill(pid, signal.SIGKILL)
    for viewer in viewers:
        got = viewer.finish(20)
        if len(got) < 300 or got != list(range(len(got))):
            raise Failure("saw %s" % tree.span(got))
    app.kill()


@scenario(reference=False, compare_tree=False)
def viewers_app_killed(w):
    """the application is killed, then destroy: what was flushed is shown"""
    viewers = begin_live(w, "vkill", timer=100000)
    app = w.app(0, 5000, microseconds=1000)
    wait_seen(viewers[0], 300)
    emitted = app.kill()
    time.sleep(0.5)
    w.lttng("destroy", "vkill")
    got = viewers[0].finish(20)
    if got != list(range(len(got))) or len(got) + 1 < len(emitted):
        raise Failure("saw %s of %d" % (tree.span(got), len(emitted)))


@scenario(reference=False, compare_tree=False)
def viewers_load(w):
    """two applications, 50 short ones, clear twice: no hang, nothing twice,
    nothing missing behind the last clear"""
    viewers = begin_live(w, "vload", ["babeltrace2"] * 2,
                         channel=["--buffers-pid"])
    apps = [w.app(100000 * (i + 1), 2500, microseconds=1000, cpu=i)
            for i in range(2)]
    for i in range(50):
        w.run_app(10 * i, 10, microseconds=0)
        if i in (15, 30):
            w.lttng("clear", "vload")
            cleared = [len(app.emitted()) for app in apps]
    wanted = [n for i in range(31, 50) for n in range(10 * i, 10 * i + 10)]
    for app, since in zip(apps, cleared):
        wanted += app.finish()[since:]
    w.lttng("destroy", "vload")
    for viewer in viewers:
        got = viewer.finish(30)
        check(len(got) == len(set(got)), "events twice")
        missing = sorted(set(wanted) - set(got))
        check(not missing, f"missing {tree.span(missing)}")


@scenario(reference=False, compare_tree=False)
def viewers_and_a_mute_one(w):
    """connections that send half a request and wait do not delay other viewers"""
    begin(w, "vmute", "--live=100000")
    await_session(w, "vmute")
    mutes = []
    for _ in range(8):
        s = socket.create_connection(("127.0.0.1", w.ports[2]))
        s.sendall(b"\\0" * 7)
        mutes.append(s)
    viewers = attach(w, "vmute")
    emitted = w.run_app(0, 300, microseconds=2000)
    w.lttng("destroy", "vmute")
    expect_seen(viewers, emitted)
    for s in mutes:
        s.close()
