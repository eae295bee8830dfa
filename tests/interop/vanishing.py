# SPDX-License-Identifier: MIT
"""Scenarios of traced machines that vanish from the network, without a word."""
import os
import re
import signal
import subprocess
import time

import made
import tree
from link import HERE, THERE, Link
from senders import SEND_TIMEOUT, expect_same
from story import begin, expect_beginning, scenario
from world import Failure, wait_for

# Seconds, and probes: a peer of which nothing is heard for IDLE + INTERVAL *
# COUNT is gone.
IDLE, INTERVAL, COUNT = 3, 2, 2
GONE = IDLE + INTERVAL * COUNT
MARGIN = 15.0           # of a busy machine, and of a listing
ENVIRONMENT = {
    "LTTNG_RELAYD_TCP_KEEP_ALIVE": "1",
    "LTTNG_RELAYD_TCP_KEEP_ALIVE_IDLE_TIME": str(IDLE),
    "LTTNG_RELAYD_TCP_KEEP_ALIVE_PROBE_INTERVAL": str(INTERVAL),
    "LTTNG_RELAYD_TCP_KEEP_ALIVE_MAX_PROBE_COUNT": str(COUNT)}
PACKETS = 900           # of the bystander, per stream
RATE = "30k"            # bytes per second: it sends for about 40 s


def address(text, port):
    """As the kernel prints it."""
    numbers = [int(n) for n in text.split(".")]
    return "%02X%02X%02X%02X:%04X" % (*reversed(numbers), port)


def queues(w):
    """(bytes that the traced machine has not acknowledged, bytes that the
    relay has not read) of all control connections over the link."""
    here, far = address(HERE, w.ports[0]), address(THERE, 0)[:8]
    sent = unread = 0
    with open("/proc/net/tcp", encoding="ascii") as lines:
        for field in map(str.split, lines):
            if field[1] == here and field[2].startswith(far):
                tx, rx = field[4].split(":")
                sent += int(tx, 16)
                unread += int(rx, 16)
    return sent, unread


def bystander(w):
    """A session from another machine, which goes on: where its trace is, and
    its sender."""
    trace = os.path.join(w.directory, "trace")
    made.make(trace, PACKETS, 1300)
    return trace, w.spawn(
        w.send_path, "--quiet", "--session=near", "--live-timer=500000",
        "--rate=" + RATE, trace, w.url(), stderr=subprocess.PIPE)


def take_link_down(w, link):
    """At a moment when the relay has a request in hand, so that the traced
    machine cannot acknowledge the reply."""
    os.kill(w.relay.pid, signal.SIGSTOP)
    try:
        wait_for("a request", lambda: queues(w)[1] > 0)
        link.set_up(False)
    finally:
        os.kill(w.relay.pid, signal.SIGCONT)
    wait_for("a reply under way", lambda: queues(w)[0] > 0)


def expect_told(w, sessions):
    """One line of log says of each what became of it."""
    with open(w.relay.log, encoding="utf-8") as log:
        text = log.read()
    for session in sessions:
        told = re.findall(r"/%s control connection lost: (.*)" % session, text)
        if told not in (["Connection timed out"], ["No route to host"]):
            raise Failure("the log says of %s: %r" % (session, told))


@scenario(options=None, needs_sessiond=False, compare_tree=False)
def vanished(w):
    """the link to a traced machine goes down: with keep-alive its sessions,
    busy or idle, are gone in time; others go on"""
    link = Link(w)
    w.relay.start(environment=ENVIRONMENT)
    w.start_sessiond(link)
    begin(w, "busy", "--live=100000", url=link.url)
    begin(w, "idle", url=link.url)
    app = w.app(0, 30000, microseconds=1000)
    trace, child = bystander(w)
    app.wait_emitted(1500)
    names = ("busy", "idle", "near")
    wait_for("all sessions listed", lambda: all(
        tree.listed(w, name) for name in names))
    take_link_down(w, link)
    down = time.monotonic()
    emitted = app.emitted()
    wait_for("busy and idle gone", lambda: not any(
        tree.listed(w, name) for name in names[:2]), GONE + MARGIN, 0.1)
    w.notes.append("gone after %.1f s" % (time.monotonic() - down))
    if tree.listed(w, "near") is None and child.poll() is None:
        raise Failure("the session of the other machine is gone, too")
    link.set_up(True)
    said = child.communicate(timeout=SEND_TIMEOUT)[1]
    if child.returncode != 0:
        raise Failure("tracepulse-send: status %d: %s"
                      % (child.returncode, said.decode(errors="replace")))
    expect_same(trace, os.path.join(w.path("*/near-*"), "trace"),
                lambda name: name.startswith("index/"))
    if not w.is_reference:      # it may leave a torn packet
        path = w.path("*/busy-*")
        tree.check_indexes(path, is_whole=False)
        expect_beginning(w, path, 1000, len(emitted) + 1)
        expect_told(w, names[:2])
