# SPDX-License-Identifier: MIT
"""Scenarios of tracepulse-capture: network packets beside the events of
applications, on disk and live, as stock readers and tcpdump see them."""
import random
import re
import shutil
import signal
import time

import capture
import tree
from capture import Capture, Loopback, Tcpdump, View
from link import HERE, Link, run
from story import begin, scenario
from world import Failure, Skipped, check, wait_for

FLUSH = 0.2                     # seconds, as --flush says
FLUSH_OPTION = "--flush=200ms"
# A viewer asks for news so often, and shows them.
VIEWER = 0.1
# On a machine that is busy with others a time limit holds now and then only.
TRIES = 20
SMALLEST = 60                   # bytes on the wire
EVENT_US = 5000


def expect_order(events):
    """In the order of time, over all sessions."""
    for a, b in zip(events, events[1:]):
        check(b.ns >= a.ns, f"{b.name} of {b.ns} ns behind one of {a.ns} ns")


def expect_both(where, events, emitted, lengths):
    """The application's events and our packets, each once and in order."""
    expect_order(events)
    got = [e.fields["n"] for e in events if e.name == "demo:ev"]
    if got != emitted:
        raise Failure("%s: %d events of the application instead of %d"
                      % (where, len(got), len(emitted)))
    got = [e.fields["wire_len"] for e in capture.packets(events)]
    check(got == lengths,
          f"{where}: {len(got)} packets instead of {len(lengths)}")


def expect_between(events, bounds):
    """Each packet stands among the application's events where it was sent:
    behind those that had been emitted, before those that came later. One more
    or less: clocks are compared to some microseconds only."""
    place, at = 0, iter(bounds)
    for event in events:
        if event.name == "demo:ev":
            place += 1
        elif event.is_packet():
            least, most = next(at)
            if not least - 1 <= place <= most + 2:
                raise Failure("a packet sent behind event %d to %d is shown "
                              "behind %d" % (least, most, place))


@scenario(reference=False, compare_tree=False)
def capture_beside_lttng(w):
    """packets of the loopback and events of an application, watched by one
    babeltrace2, and read from disk: one order of time, nothing missing"""
    begin(w, "app", "--live=200000")
    tracer = Capture.to_relay(w, "packets", "int:lo", FLUSH_OPTION)
    view = View(w, "packets", "app")
    loopback, bounds = Loopback(), []
    lengths = list(range(SMALLEST, SMALLEST + 100))
    app = w.app(0, 300, microseconds=EVENT_US)
    app.wait_emitted(20)
    for length in lengths:
        least = len(app.emitted())
        loopback.send(length)
        bounds.append((least, len(app.emitted())))
        time.sleep(0.01)
    loopback.close()
    emitted = app.finish()
    time.sleep(3 * FLUSH)
    w.lttng("destroy", "app")
    summary = tracer.finish()
    check(summary["written"] == len(lengths), f"summary: {summary!r}")
    for where, events in (
            ("live", view.finish()),
            ("babeltrace2", capture.read(w, w.relay.output)),
            ("babeltrace", capture.read(w, w.relay.output, "babeltrace")
             if shutil.which("babeltrace") else None)):
        if events is not None:
            expect_both(where, events, emitted, lengths)
            expect_between(events, bounds)


def latencies(view, loopback, first, count):
    """Send COUNT packets at any time; how long until each was shown."""
    chance = random.Random(first)
    sent = {}
    for length in range(first, first + count):
        sent[length] = loopback.send(length)
        time.sleep(chance.random() * FLUSH)
    wait_for("all packets shown", lambda: set(sent) <= set(
        view.times("wire_len")), timeout=30)
    shown = view.times("wire_len")
    return [shown[length] - when for length, when in sent.items()]


def within(w, what, limit, measure):
    """MEASURE() must once return seconds that are all below LIMIT."""
    worst = []
    for n in range(TRIES):
        seconds = sorted(measure(n))
        worst.append(seconds[-1])
        if worst[-1] < limit:
            w.notes.append("%s: %.0f ms at most, %.0f in the middle" % (
                what, 1000 * worst[-1], 1000 * seconds[len(seconds) // 2]))
            return
    raise Failure("%s: %s s at most, not below %.1f" % (
        what, ", ".join("%.3f" % s for s in worst), limit))


@scenario(needs_sessiond=False, reference=False, compare_tree=False)
def capture_latency(w):
    """a packet is shown a flush interval and 100 ms after it was sent, or
    sooner"""
    tracer = Capture.to_relay(w, "packets", "int:lo", FLUSH_OPTION)
    view = View(w, "packets")
    loopback = Loopback()
    within(w, "from sent to shown", FLUSH + VIEWER, lambda n: latencies(
        view, loopback, SMALLEST + 20 * n, 20))
    loopback.close()
    tracer.finish()
    view.finish()


@scenario(reference=False, compare_tree=False)
def capture_idle(w):
    """beside an interface where nothing happens, the events of a busy session
    are shown at most a flush interval later than without it"""
    begin(w, "app", "--live=200000")
    tracer = Capture.to_relay(w, "packets", "int:lo", FLUSH_OPTION)
    alone, both = View(w, "app"), View(w, "packets", "app")
    app = w.app(0, 1000000, microseconds=EVENT_US)
    app.wait_emitted(1)

    def held_back(_):
        first = len(app.emitted())
        numbers = set(range(first, first + 250))
        wait_for("events shown by both", lambda: numbers <= set(
            alone.times("n")) & set(both.times("n")), timeout=20)
        a, b = alone.times("n"), both.times("n")
        return [b[n] - a[n] for n in numbers]
    within(w, "held back", FLUSH + VIEWER, held_back)
    emitted = app.enough()
    time.sleep(3 * FLUSH)
    w.lttng("destroy", "app")
    tracer.finish()
    for view in (alone, both):
        expect_both("live", view.finish(), emitted, [])


def expect_as_tcpdump(events, seen, sent):
    """The same packets with the same lengths, and times within 1 ms."""
    got = [(e.ns, e.fields["wire_len"]) for e in capture.packets(events)]
    if [n for _, n in seen] != sent:
        raise Failure("tcpdump saw %d of %d packets" % (len(seen), len(sent)))
    check([n for _, n in got] == sent,
          f"{len(got)} packets of {len(sent)} are in the trace")
    worst = max(abs(a - b) for (a, _), (b, _) in zip(got, seen))
    if worst > 10 ** 6:
        raise Failure("times are %d ns apart from those of tcpdump" % worst)
    return worst


def capture_link(w, link, session, uri, host, *arguments):
    """Datagrams over the link, as we and as tcpdump see them."""
    tcpdump = Tcpdump(w, uri.partition(":")[2])
    tracer = Capture.to_relay(w, session, uri, *arguments)
    lengths = [20 + 7 * n % 1400 for n in range(2000)]
    capture.send_from(link, host, lengths)
    wait_for("tcpdump to have all", lambda: tcpdump.has(len(lengths)),
             timeout=30)
    summary, seen = tracer.finish(), tcpdump.finish()
    if summary["dropped_kernel"] + summary["dropped_local"] \
            + summary["written"] != len(lengths):
        raise Failure("%s: %d sent, %r" % (session, len(lengths), summary))
    check(summary["written"] == len(lengths), f"{session}: drops: {summary!r}")
    worst = expect_as_tcpdump(
        capture.read(w, w.path("*/%s-*" % session)), seen,
        [capture.UDP_HEADERS + n for n in lengths])
    w.notes.append("%s: %d packets, times within %d ns of tcpdump's"
                   % (session, len(lengths), worst))


@scenario(needs_sessiond=False, reference=False, compare_tree=False)
def capture_link_int(w):
    """int: on a link between two namespaces: all packets, with the times and
    lengths that tcpdump sees"""
    capture_link(w, Link(w), "int", "int:relay0", HERE)


@scenario(needs_sessiond=False, reference=False, compare_tree=False)
def capture_link_ring(w):
    """the same by ring:"""
    capture_link(w, Link(w), "ring", "ring:relay0", HERE)


@scenario(needs_sessiond=False, reference=False, compare_tree=False)
def capture_link_udp(w):
    """the same with two threads, and to the relay over UDP"""
    capture_link(w, Link(w), "udp", "int:relay0", HERE, "--udp", "-j2")


@scenario(needs_sessiond=False, reference=False, compare_tree=False)
def capture_link_vlan(w):
    """the same on a VLAN of the link"""
    link = Link(w)
    for namespace, device, address in (
            ([], "relay0", "10.78.0.1/30"),
            (["-n", link.name], "sender0", "10.78.0.2/30")):
        for line in ("link add link {0} name {0}.5 type vlan id 5",
                     "addr add {1} dev {0}.5", "link set {0}.5 up"):
            line = line.format(device, address)
            status, _, said = run("ip", *namespace, *line.split())
            if status != 0:
                raise Skipped("no VLANs here: ip %s: %s" % (line, said))
    capture_link(w, link, "vlan", "int:relay0.5", "10.78.0.1")


@scenario(needs_sessiond=False, reference=False, compare_tree=False)
def capture_loopback(w):
    """the loopback shows each packet once, by int: and by ring:"""
    lengths = list(range(SMALLEST, SMALLEST + 200))
    for kind in ("int", "ring"):
        tracer = Capture.to_relay(w, kind, kind + ":lo")
        loopback = Loopback()
        for length in lengths:
            loopback.send(length)
        loopback.close()
        time.sleep(0.3)
        tracer.finish()
        expect_both(kind, capture.read(w, w.path("*/%s-*" % kind)), [],
                    lengths)


def discarded(w, path):
    """How many discarded events babeltrace2 reports."""
    return sum(int(n) for n in re.findall(
        r"Tracer discarded (\d+) event", tree.babeltrace2(w, path)[1]))


@scenario(needs_sessiond=False, reference=False, compare_tree=False)
def capture_drops(w):
    """what the kernel has no room for while the program stands still is
    counted, each time, and viewers tell of it"""
    rounds, each = 3, 40000     # of this length; more than 32 MiB
    length = 1400
    for kind in ("int", "ring"):
        tracer = Capture.to_relay(w, kind, kind + ":lo", FLUSH_OPTION)
        loopback = Loopback()
        for _ in range(rounds):
            tracer.child.send_signal(signal.SIGSTOP)
            for _ in range(each):
                loopback.send(length)
            tracer.child.send_signal(signal.SIGCONT)
            time.sleep(3 * FLUSH)
        loopback.close()
        summary = tracer.finish()
        if summary["dropped_kernel"] + summary["dropped_local"] \
                + summary["written"] != rounds * each:
            raise Failure("%s: %d sent, %r" % (kind, rounds * each, summary))
        path = w.path("*/%s-*" % kind)
        if not 0 < discarded(w, path) <= summary["dropped_kernel"] \
                + summary["dropped_local"]:
            raise Failure("%s: babeltrace2 tells of %d dropped, %r"
                          % (kind, discarded(w, path), summary))
        w.notes.append("%s: %d sent, %d dropped" % (
            kind, rounds * each, summary["dropped_kernel"]))
