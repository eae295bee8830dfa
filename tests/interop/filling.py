# SPDX-License-Identifier: MIT
"""Scenarios on a small disk: it gets full below sessions and has room again.
No session ends, and no command of lttng hangs."""
import os
import re
import time

import tree
from refusing import mount, say
from story import begin, scenario
from viewers import attach, expect_seen, wait_seen
from world import Failure, check, wait_for

SMALL = ["-t", "tmpfs", "-o", "size=8m", "tmpfs"]


def must(w, *argv):
    check(say(w, *argv), "lttng %s failed" % " ".join(argv))


def free(w):
    disk = os.statvfs(w.relay.output)
    return disk.f_bavail * disk.f_frsize


def fill(w):
    """No room is left, but what the relay keeps for itself."""
    with open(os.path.join(w.relay.output, "fill"), "ab") as f:
        for step in 1 << 20, 1 << 16, 4096:
            while free(w) >= step:
                try:
                    os.posix_fallocate(
                        f.fileno(), os.fstat(f.fileno()).st_size, step)
                except OSError:
                    break       # somebody else has written


def make_room(w):
    os.unlink(os.path.join(w.relay.output, "fill"))


def read(w, path):
    """The numbers of the events that babeltrace2 reads; whether it reports
    missing packets."""
    text, said = tree.babeltrace2(w, path)
    return tree.event_numbers(path, text), sum(
        int(n) for n in re.findall(r"Tracer discarded (\d+) packet", said))


def flush(w, name):
    """All events until now are on the disk."""
    must(w, "stop", name)
    must(w, "start", name)


def is_lost(w):
    with open(w.relay.log, encoding="utf-8", errors="replace") as lines:
        return "there is no space on the disk" in lines.read()


def expect_gap(numbers, emitted, last):
    """What was there before and afterwards is there."""
    if numbers[:1] != [0] or sorted(numbers) != numbers:
        raise Failure("events %s" % tree.span(numbers))
    if not set(numbers) < set(emitted) or numbers[-last:] != emitted[-last:]:
        raise Failure("events %s of %s" % (tree.span(numbers),
                                           tree.span(emitted)))


def story(w, name, *create):
    """A session on a disk that has no room for a while, to its end."""
    os.mkdir(w.relay.output)
    mount(w, *SMALL)
    w.relay.start("-vv")
    begin(w, name, *create)
    viewers = attach(w, name) if create else []
    emitted = w.run_app(0, 2000)
    fill(w)
    emitted += w.run_app(2000, 6000, microseconds=100)
    must(w, "stop", name)
    path = w.path("*/%s-*" % name)
    tree.check_indexes(path)
    before, told = read(w, path)
    # The kernel finds room for a few packets more now and then.
    is_whole = before == list(range(len(before)))
    if before[:1] != [0] or sorted(set(before)) != before \
            or not (is_whole or told > 0) or len(before) > 7900:
        raise Failure("on a full disk: %s" % tree.span(before))
    must(w, "start", name)
    emitted += w.run_app(8000, 1000)
    make_room(w)
    time.sleep(1)
    emitted += w.run_app(9000, 2000)
    must(w, "stop", name)
    must(w, "destroy", name)
    tree.check_indexes(path)
    numbers, told = read(w, path)
    expect_gap(numbers, emitted, 2000)
    check(told != 0, "babeltrace2 does not tell of the gap")
    for viewer in viewers:
        seen = viewer.finish()
        if seen != numbers:
            raise Failure("the viewer saw %s, on disk is %s"
                          % (tree.span(seen), tree.span(numbers)))
        if "Tracer discarded" not in viewer.text(1):
            raise Failure("the viewer is not told of the gap")


@scenario(options=None, reference=False)
def full_disk(w):
    """a disk that is full for a while below a recorded session: no session
    ends, no command fails, babeltrace2 reads the rest and tells of the gap"""
    story(w, "rec")


@scenario(options=None, reference=False)
def full_disk_live(w):
    """the same below a live session, whose viewer goes on"""
    story(w, "live", "--live=100000")


@scenario(options=None, reference=False)
def full_disk_ends(w):
    """sessions that begin, rotate and end while there is no space, with new
    applications: no command hangs, and earlier events can be read"""
    os.mkdir(w.relay.output)
    mount(w, *SMALL)
    w.relay.start("-vv")
    begin(w, "old")
    emitted = w.run_app(0, 2000)
    flush(w, "old")
    fill(w)
    w.run_app(2000, 3000)
    must(w, "rotate", "old")
    w.run_app(5000, 3000)
    begin(w, "new", "--live=100000")
    w.run_app(8000, 1000)
    must(w, "stop", "new")
    must(w, "destroy", "new")
    must(w, "stop", "old")
    must(w, "destroy", "old")
    tree.check_indexes(w.relay.output)
    numbers, _ = read(w, w.path("*/old-*/archives/*-0"))
    if numbers[:2000] != emitted:
        raise Failure("before it was full: %s" % tree.span(numbers))
    for path in w.paths("*/old-*/*") + w.paths("*/new-*"):
        if tree.has_metadata(path):
            read(w, path)
    make_room(w)
    begin(w, "next")
    emitted = w.run_app(0, 1000)
    must(w, "stop", "next")
    must(w, "destroy", "next")
    if read(w, w.path("*/next-*"))[0] != emitted:
        raise Failure("afterwards events are missing")


@scenario(options=None, reference=False)
def full_disk_killed(w):
    """a relay that is killed while the disk is full: what there is can be read,
    also after the next start, which has no room either"""
    os.mkdir(w.relay.output)
    mount(w, *SMALL)
    w.relay.start("-vv")
    begin(w, "kld")
    emitted = w.run_app(0, 2000)
    flush(w, "kld")
    fill(w)
    app = w.app(2000, 4000, microseconds=300)
    wait_for("lost packets", lambda: is_lost(w))
    w.relay.kill()
    app.finish()
    w.relay.start("-vv")
    path = w.path("*/kld-*")
    tree.check_indexes(path)
    numbers, _ = read(w, path)
    if numbers[:2000] != emitted:
        raise Failure("before it was full: %s" % tree.span(numbers))
    say(w, "destroy", "kld")


def in_view(w, viewer, emitted, until):
    """EMITTED with events of 1 KB up to number UNTIL, of which the viewer never
    lacks more than 1 MB."""
    while len(emitted) < until:
        emitted += w.run_app(len(emitted), 1000, microseconds=500, length=1000)
        wait_seen(viewer, len(emitted), 30)
    return emitted


@scenario(options=["--live-window=4M"], reference=False)
def live_window(w):
    """a live session in a window of 4 MiB, cleared once: its viewer sees all,
    babeltrace2 reads what is left"""
    begin(w, "win", "--live=100000", channel=["--blocking-timeout=inf"])
    viewers = attach(w, "win")
    emitted = in_view(w, viewers[0], [], 8000)
    flush(w, "win")
    if tree_size(w) > 5 << 20:
        raise Failure("%d bytes on the disk" % tree_size(w))
    path = w.path("*/win-*")
    expect_last(w, path, emitted)
    must(w, "clear", "win")
    in_view(w, viewers[0], emitted, 12000)
    must(w, "stop", "win")
    must(w, "destroy", "win")
    expect_seen(viewers, emitted)
    expect_last(w, path, emitted)


def tree_size(w):
    """Bytes below the output directory."""
    return sum(os.path.getsize(os.path.join(at, name))
               for at, _, names in os.walk(w.relay.output) for name in names)


def expect_last(w, path, emitted):
    """The last events of EMITTED, and not all of them."""
    tree.check_indexes(path)
    numbers, _ = read(w, path)
    check(100 < len(numbers) < len(emitted) and numbers ==
          emitted[-len(numbers):],
          f"{path}: {tree.span(numbers)} of {tree.span(emitted)}")
