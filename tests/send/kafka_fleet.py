#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Live sessions of one relay, through a topic of Kafka, to another relay: the
trees of both are the same, whatever is killed between them."""
import contextlib
import os
import pathlib
import random
import sys
import time

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(os.environ.get("srcdir", ".")).resolve()
sys.path.insert(0, str(SOURCE / "tests/replay"))
sys.path.insert(0, str(SOURCE / "tests/send"))
import chain
import ctf
import relay
import viewer
from chain import DATED, MORE, Edge
from kafka import OUT_OF_ORDER, PRODUCE, Cluster, Sender, storing
from relay import check, equal, wait_until

SESSIONS = 6
KILLS = 4


def sending(daemon, cluster):
    """All live sessions of the relay to the topic."""
    state = daemon.top / "acknowledged"
    return Sender("--all", f"--state={state}",
                  f"net://127.0.0.1:{daemon.live_port}", cluster.url())


def is_same(first, second, edge):
    return chain._is_same(first, second, edge.path)


def edges_of(daemon, count=SESSIONS):
    """Sessions, each with a packet, of several hosts."""
    edges = []
    for n in range(count):
        dated = DATED.replace("080000", f"08{n // 60:02}{n % 60:02}")
        edges.append(Edge(daemon, name=f"s{n}", host=f"h{n % 3}", env=dated,
                          created=chain.CREATED + n, number=n))
        edges[-1].stream()
        edges[-1].packet()
    return edges


@contextlib.contextmanager
def fleet(*options):
    """Cluster, first relay, second relay."""
    with Cluster() as cluster, relay.Daemon(*options) as first, \
            relay.Daemon() as second:
        yield cluster, first, second


def ended_while_the_sender_was_away():
    """It lingers at the first relay. It arrives once, and the next sender,
    which sees it too, sends nothing of it."""
    with fleet("--live-linger=5m") as (cluster, first, second):
        edge, unseen = edges_of(first, 2)
        with storing(cluster, second) as q:
            with sending(first, cluster) as p:
                wait_until("the first", is_same(first, second, edge), 30)
                p.kill()
            for e in (edge, unseen):
                e.packet(size=100_000)
                e.more_metadata(MORE)
                e.end()
            with sending(first, cluster) as p:
                for e in (edge, unseen):
                    wait_until(e.path, is_same(first, second, e), 30)
                wait_until("the end",
                           lambda: not viewer.greeted(second).list(), 30)
                p.stop()
            with sending(first, cluster) as p:
                time.sleep(3)
                equal(p.stop()["packets"], 0, "sent again")
            equal(viewer.greeted(second).list(), [], "opened again")
            equal(q.stop()["packets"], 4, "packets")


def goes_through():
    """Packets, streams and metadata that come later, and the ends."""
    with fleet() as (cluster, first, second):
        edges = edges_of(first)
        with sending(first, cluster) as p, storing(cluster, second) as q:
            for e in edges:
                wait_until(e.path, is_same(first, second, e), 30)
            for e in edges:
                for _ in range(20):
                    e.packet()
                e.more_metadata(MORE)
                e.packet(size=100_000)
                e.stream()
                e.packet(1)
            for e in edges:
                wait_until(f"{e.path}: more", is_same(first, second, e), 30)
                e.end()
            wait_until("the end", lambda: not viewer.greeted(second).list(),
                       30)
            for e in edges:
                check(is_same(first, second, e)(), e.path)
            sent, got = p.stop(), q.stop()
        for s in sent, got:
            equal((s["packets"], s["sessions"], s["missing"]),
                  (SESSIONS * 23, SESSIONS, 0), "summary")


def beacons():
    """A viewer of the second relay learns the time of a silent stream."""
    with fleet() as (cluster, first, second):
        edge = edges_of(first, 1)[0]
        with sending(first, cluster) as p, storing(cluster, second) as q:
            wait_until("the first", is_same(first, second, edge), 30)
            v, _, streams = viewer.attached(second, "s0")
            stream, _ = viewer.ids(streams)
            equal(v.next_index(stream).status, viewer.OK, "the packet")
            for _ in range(3):
                at = edge.time
                edge.beacon()
                began = time.monotonic()
                wait_until("a beacon",
                           lambda: chain._beacon_of(v, stream) == at)
                check(time.monotonic() - began < 2, "later than 2 s")
            edge.leave()
            p.stop()
            q.stop()


def load(edges, chance, seconds, size=512):
    """Packets of any session."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        chance.choice(edges).packet(size=size)
        time.sleep(0.002)


def all_arrives(first, second, edges):
    """Once, in one session each, to the end of the sessions; babeltrace2 prints
    the same events."""
    for e in edges:
        e.packet()
    for e in edges:
        wait_until(e.path, is_same(first, second, e), 120)
        e.end()
    wait_until("the end", lambda: not viewer.greeted(second).list(), 30)
    for e in edges:
        check(is_same(first, second, e)(), e.path)
        equal(*(ctf.read(r.out / e.path) for r in (second, first)),
              f"events of {e.path}")
    equal(len(list(second.out.glob("h*/*"))), len(edges), "sessions")


def dice():
    """SEED=N repeats what they throw."""
    seed = int(os.environ.get("SEED", time.time_ns() % 10**6))
    print("SEED =", seed, flush=True)
    return random.Random(seed)


def survive(cluster, first, second, kills, others=()):
    """Kill the sender, the member or the relay that stores at random points
    under load, or call one of the OTHERS."""
    chance = dice()
    second.command += chain._ports(second)
    edges = edges_of(first)
    p, q = sending(first, cluster), storing(cluster, second)
    try:
        for n in range(kills):
            load(edges, chance, chance.uniform(0.5, 5))
            what = chance.choice(["sender", "member", "relay", *others])
            print(n, getattr(what, "__name__", what), flush=True)
            if what == "sender":
                p.kill()
                p = sending(first, cluster)
            elif what == "member":
                q.kill()
                q = storing(cluster, second)
            elif what == "relay":
                second.kill()
                second.start_again()
            else:
                what(chance)
        all_arrives(first, second, edges)
        p.stop()
        q.stop()
    finally:
        p.kill()
        q.kill()


def any_is_killed():
    """Senders and members."""
    with fleet() as (cluster, first, second):
        survive(cluster, first, second, KILLS)


def second_is_away():
    """The relay that stores is killed: the member reports it, and its sessions
    go on when it is back."""
    with fleet() as (cluster, first, second):
        edges = edges_of(first, 3)
        with sending(first, cluster) as p, storing(cluster, second) as q:
            for e in edges:
                wait_until(e.path, is_same(first, second, e), 30)
            second.kill()
            for e in edges:
                e.packet()
            time.sleep(1.5)
            second.command += chain._ports(second)
            second.start_again()
            for e in edges:
                e.packet()
            for e in edges:
                wait_until(e.path, is_same(first, second, e), 60)
            p.stop()
            q.stop()
        for e in edges:
            e.leave()
        check("/s0/" in q.complaint or "/s1/" in q.complaint
              or "/s2/" in q.complaint, q.complaint)


def brokers_are_away():
    """The edge's relay keeps what the topic cannot take."""
    with fleet() as (cluster, first, second):
        edges = edges_of(first)
        with sending(first, cluster) as p, storing(cluster, second) as q:
            for e in edges:
                wait_until(e.path, is_same(first, second, e), 30)
            cluster.order("down", 0)
            for _ in range(100):
                for e in edges:
                    e.packet()
            time.sleep(3)
            cluster.order("up", 0)
            all_arrives(first, second, edges)
            p.stop()
            q.stop()
        for who in p, q:
            check(who.complaint.count("down") <= 1, who.complaint)


def producer_is_fenced():
    """An error that ends an idempotent producer: another one goes on where the
    records are known to be."""
    with fleet() as (cluster, first, second):
        edges = edges_of(first)
        with sending(first, cluster) as p, storing(cluster, second) as q:
            for e in edges:
                wait_until(e.path, is_same(first, second, e), 30)
            cluster.order("fail", PRODUCE, 1, OUT_OF_ORDER)
            for _ in range(50):
                for e in edges:
                    e.packet()
            all_arrives(first, second, edges)
            p.stop()
            q.stop()
        check("Fatal error" in p.complaint, p.complaint)


def is_archived():
    """Into a directory, by members that are killed."""
    with fleet() as (cluster, first, second):
        edges = edges_of(first)
        archive = second.top / "archive"
        archive.mkdir()
        with sending(first, cluster) as p:
            for run in range(3):
                q = storing(cluster, second, to=archive)
                for e in edges:
                    e.packet()
                for e in edges:
                    wait_until(e.path, lambda e=e: chain._tree(first, e.path)
                               == tree(archive / e.path), 30)
                q.kill()
            q = storing(cluster, second, to=archive)
            for e in edges:
                e.packet()
                e.end()
            for e in edges:
                wait_until(e.path, lambda e=e: chain._tree(first, e.path)
                           == tree(archive / e.path), 30)
            q.stop()
            p.stop()
        equal(len(list(archive.glob("h*/*"))), SESSIONS, "sessions")


def tree(top):
    """{name: bytes} of the files of a session in the archive."""
    return {str(f.relative_to(top)): f.read_bytes()
            for f in top.rglob("*") if f.is_file() and f.name[0] != "."}


CASES = (goes_through, ended_while_the_sender_was_away, beacons,
         any_is_killed, second_is_away,
         brokers_are_away, producer_is_fenced, is_archived)

if __name__ == "__main__":
    sys.exit(relay.run(CASES, sys.argv[1:], at_once=2))
