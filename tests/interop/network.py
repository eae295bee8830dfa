# SPDX-License-Identifier: MIT
"""Scenarios of tracepulse-send over a network that really loses datagrams,
from a namespace of its own (link.py)."""
import json
import os
import re
import signal
import subprocess
import time

import made
import tree
from link import LossyLink
from senders import expect_same, sent_to
from story import scenario
from world import Failure, check, wait_for

TIMEOUT = 120.0
PACKETS = 600           # per stream
LARGEST = 9000          # bytes: seven datagrams
ONE_DATAGRAM = 1300     # bytes: a packet of that size is never split
LIVE_PACKETS = 300
# What netem does by itself, done by the sender, where netem is not.
ALSO_BAD = ["--duplicate=0.02", "--reorder=16"]


def spawn(w, link, *arguments):
    """tracepulse-send on the other side of LINK."""
    return w.spawn(*link.command(w.send_path, "--json", *arguments, link.url),
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def summary_of(child, status=0):
    """Its summary when it has ended with that status."""
    out, said = child.communicate(timeout=TIMEOUT)
    if child.returncode != status:
        raise Failure("tracepulse-send: status %d: %s"
                      % (child.returncode, said.decode(errors="replace")))
    return json.loads(out)


def send(w, link, *arguments):
    """From start to end."""
    return summary_of(spawn(w, link, *arguments))


def begin(w, largest=LARGEST, packets=PACKETS):
    """A relay, a lossy link, a trace, and the numbers of its events."""
    link = LossyLink(w)
    w.relay.start()
    trace = os.path.join(w.directory, "trace")
    return link, trace, made.make(trace, packets, largest)


@scenario(options=None, needs_sessiond=False, reference=False)
def network_resend(w):
    """a network that loses 1 % and 10 %; with resending nothing is lost and
    the trees are those of TCP"""
    link, trace, _ = begin(w)
    link.lose(0)
    tcp = sent_to(w, send(w, link, "--session=tcp", trace))
    expect_same(trace, os.path.join(tcp, "trace"),
                lambda name: name.startswith("index/"))
    for percent in (1, 10):
        link.lose(percent)
        summary = send(w, link, "--resend", "--session=udp%d" % percent,
                       *ALSO_BAD, trace)
        if link.kind.dropped() == 0 or summary["resent"] == 0:
            raise Failure("%d %%: nothing was lost on the way" % percent)
        check(summary["lost"] == 0, f"{percent} %: summary: {summary!r}")
        expect_same(tcp, sent_to(w, summary))
        w.notes.append("%d %%: %d datagrams, %d dropped, %d resent, %.1f s" % (
            percent, summary["datagrams"], link.kind.dropped(),
            summary["resent"], summary["seconds"]))


@scenario(options=None, needs_sessiond=False, reference=False)
def network_outage(w):
    """a network that is gone for a moment: sending fails, nothing is lost"""
    link, trace, _ = begin(w)
    link.lose(0)
    child = spawn(w, link, "--resend", "--rate=500k", "--gap-timeout=5000000",
                  trace)
    wait_for("packets", lambda: any(
        n.startswith("ch0_") for _, _, names in os.walk(w.relay.output)
        for n in names))
    link.set_up(False)
    time.sleep(0.7)
    check(child.poll() is None, "tracepulse-send has ended")
    link.set_up(True)
    summary = summary_of(child)
    if summary["lost"] != 0 or summary["resent"] == 0:
        raise Failure("summary: %r" % summary)
    expect_same(trace, os.path.join(sent_to(w, summary), "trace"),
                lambda name: name.startswith("index/"))


def expect_each_once(path, packets):
    """On disk or in the loss log; what is lost, {stream: numbers}."""
    here, lost = made.on_disk(path), made.in_loss_log(path)
    for stream in made.STREAMS:
        if here.get(stream) != sorted(set(here.get(stream, []))):
            raise Failure("%s: packets twice, or out of order" % stream)
        told = sorted(here[stream] + lost.get(stream, []))
        if told != list(range(packets)):
            raise Failure("%s: on disk or in the loss log: %s of 0-%d"
                          % (stream, tree.span(told), packets - 1))
    return {stream: set(numbers) for stream, numbers in lost.items()}


def expect_those_dropped(link, lost):
    """Exactly the packets that the network took a datagram of."""
    dropped = link.kind.which()
    if dropped is None:
        return
    # Handles and names do not know each other.
    if sorted(map(sorted, dropped.values())) \
            != sorted(map(sorted, lost.values())):
        raise Failure("the network dropped of %s, lost are %s" % (
            [tree.span(n) for n in dropped.values()],
            {stream: tree.span(n) for stream, n in lost.items()}))


def gaps(here):
    """How many packets are missing between others."""
    return sum(n[-1] - n[0] + 1 - len(n) for n in here.values())


def expect_readable(w, path, emitted):
    """babeltrace2 reads the rest, and reports every gap between packets."""
    text, said = tree.babeltrace2(w, path)
    seen = tree.event_numbers(path, text)
    if len(set(seen)) != len(seen) or not set(seen) < set(emitted):
        raise Failure("events twice, or that were not emitted, or all of them")
    told = sum(int(n) for n in
               re.findall(r"Tracer discarded (\d+) packet", said))
    if told != gaps(made.on_disk(path)):
        raise Failure("babeltrace2 tells of %d packets discarded, not %d"
                      % (told, gaps(made.on_disk(path))))


@scenario(options=None, needs_sessiond=False, reference=False)
def network_lossy(w):
    """without resending exactly the packets that lost a datagram are missing:
    each is on disk or in .loss.jsonl, and babeltrace2 tells of the gaps"""
    link, trace, emitted = begin(w)
    for percent in (1, 10):
        link.lose(percent)
        summary = send(w, link, "--udp", "--session=s%d" % percent,
                       "--gap-timeout=2000000", "--rate=4M", trace)
        path = sent_to(w, summary)
        lost = expect_each_once(path, PACKETS)
        count = sum(map(len, lost.values()))
        check(count != 0 and summary["lost"] == count,
              f"{count} packets are lost, summary: {summary!r}")
        expect_those_dropped(link, lost)
        tree.check_indexes(path)
        expect_readable(w, path, emitted)
        w.notes.append("%d %%: %d datagrams, %d dropped, %d of %d packets lost"
                       % (percent, summary["datagrams"], link.kind.dropped(),
                          count, 2 * PACKETS))


def watched(w, viewer, path):
    """Until all packets are on disk or lost, and the viewer has seen all but
    the last, which it may hold back; the session goes on. How many events it
    had seen at each look before."""
    looks = []

    def is_over():
        here, lost = made.on_disk(path), made.in_loss_log(path)
        return all(len(here.get(s, [])) + len(lost.get(s, [])) == LIVE_PACKETS
                   for s in made.STREAMS)

    def has_seen_all():
        seen = viewer.seen()
        if not is_over():
            looks.append(len(seen))
            return False
        here = tree.events(w, path)
        return seen[-1:] >= [here[len(here) * 9 // 10]]
    wait_for("the viewer sees what is on disk", has_seen_all, TIMEOUT, 0.2)
    return looks


@scenario(options=None, needs_sessiond=False, reference=False)
def network_live(w):
    """babeltrace2 watches a live session while packets are lost: it goes on
    and sees all that arrives from then on"""
    link, trace, emitted = begin(w, ONE_DATAGRAM, LIVE_PACKETS)
    link.lose(5)
    child = spawn(w, link, "--udp", "--session=live", "--live-timer=100000",
                  "--gap-timeout=300000", "--rate=40k", "--linger=1000", trace)
    wait_for("the session listed", lambda: tree.listed(w, "live"))
    viewer = tree.Viewer(w, "live")
    path = w.path("*/live-*")
    looks = watched(w, viewer, path)
    if len(set(looks)) < 3:
        raise Failure("the viewer stood still while packets were lost: %r"
                      % looks)
    child.send_signal(signal.SIGTERM)
    summary = summary_of(child, 128 + signal.SIGTERM)
    lost = expect_each_once(path, LIVE_PACKETS)
    expect_those_dropped(link, lost)
    # It begins with the packet that is the newest when it comes.
    here, seen = tree.events(w, path), viewer.finish()
    if not seen or seen != here[-len(seen):] or not set(here) < set(emitted):
        raise Failure("the viewer saw %s, on disk is %s"
                      % (tree.span(seen), tree.span(here)))
    if summary["lost"] != sum(map(len, lost.values())):
        raise Failure("summary: %r" % summary)
    w.notes.append("5 %%: %d of %d packets lost, %d looks, %d with news" % (
        summary["lost"], 2 * LIVE_PACKETS, len(looks), len(set(looks))))
