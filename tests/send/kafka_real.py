#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""As kafka_fleet.py, with three brokers of a real Kafka, which are killed, too.
Skipped without Java, or without the jars that "tests/kafka/install build/kafka"
gets. --long: 100 kills, and more cases."""
import contextlib
import os
import pathlib
import sys
import threading

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(os.environ.get("srcdir", ".")).resolve()
for folder in "replay", "send", "kafka":
    sys.path.insert(0, str(SOURCE / "tests" / folder))
import cluster
import relay
import viewer
from follow import url
from kafka import Sender
from kafka_fleet import (all_arrives, dice, edges_of, is_same, load, sending,
                         storing, survive, tree)
from relay import check, equal, wait_until

JARS = os.environ.get("KAFKA_JARS", SOURCE / "build/kafka/jars")
IS_LONG = "--long" in sys.argv
KILLS = int(os.environ.get("KILLS", 100 if IS_LONG else 5))
PARTITIONS = 4
MINUTE = 60
SHARED = 200        # sessions of two relays


class Real:
    """The topics of a cluster."""

    def __init__(self, brokers, partitions=PARTITIONS):
        self.brokers = brokers
        brokers.topic("t", partitions, min_insync_replicas=2)
        brokers.topic("t-sessions", partitions, cleanup_policy="compact")

    def url(self):
        return f"kafka://{self.brokers.bootstrap}/t"

    def leader(self, chance):
        """Of some partition."""
        n = chance.randrange(PARTITIONS)
        return self.brokers.brokers[self.brokers.leader("t", n)]

    def kill_a_leader(self, chance):
        """One at a time, as a topic with three copies can bear."""
        broker = self.leader(chance)
        broker.kill()
        broker.start()
        self.brokers.wait()

    def pause_a_leader(self, chance):
        broker = self.leader(chance)
        broker.pause()
        relay.time.sleep(chance.uniform(1, 6))
        broker.go_on()
        self.brokers.wait()


@contextlib.contextmanager
def fleet(*settings):
    """Topics, the first relay, the second one."""
    with cluster.Cluster(JARS) as brokers, relay.Daemon() as first, \
            relay.Daemon() as second:
        yield Real(brokers, *settings), first, second


def anything_is_killed():
    """Senders, members, the relay that stores, and leaders of partitions."""
    with fleet() as (real, first, second):
        survive(real, first, second, KILLS,
                (real.kill_a_leader, real.pause_a_leader))


def brokers_are_away():
    """All, for a minute: the relay of the edge keeps more than the sender
    does, and all goes on by itself."""
    with fleet() as (real, first, second):
        chance, edges = dice(), edges_of(first)
        with sending(first, real) as p, storing(real, second) as q:
            load(edges, chance, 5)
            for broker in real.brokers.brokers:
                broker.kill()
            load(edges, chance, MINUTE, 8192)
            for broker in real.brokers.brokers:
                broker.start()
            real.brokers.wait()
            all_arrives(first, second, edges)
            p.stop()
            q.stop()


def members_come_and_go():
    """Every five seconds there is one more, or one less."""
    with fleet() as (real, first, second):
        chance, edges = dice(), edges_of(first)
        with sending(first, real) as p, storing(real, second) as q:
            for _ in range(MINUTE // 10):
                with storing(real, second) as more:
                    load(edges, chance, 5)
                    more.stop()
                load(edges, chance, 5)
            all_arrives(first, second, edges)
            p.stop()
            q.stop()


def partitions_move():
    """From broker to broker, by kafka-reassign-partitions."""
    with fleet() as (real, first, second):
        chance, edges = dice(), edges_of(first)
        with sending(first, real) as p, storing(real, second) as q:
            for where in [0, 1], [1, 2], [2, 0], [0, 1, 2]:
                mover = threading.Thread(target=real.brokers.move, args=(
                    {"t": PARTITIONS, "t-sessions": PARTITIONS}, where))
                mover.start()
                while mover.is_alive():
                    load(edges, chance, 1)
                mover.join()
                check(real.brokers.leader("t", 0) in where, f"{where}")
            all_arrives(first, second, edges)
            p.stop()
            q.stop()


def two_relays_share():
    """Each has about half of the sessions, and each session is whole in one
    trace."""
    with fleet(32) as (real, first, second), relay.Daemon() as third:
        # Members that nobody believes to be dead while the machine is busy.
        with sending(first, real) as p, \
                Sender("--group=storage", real.url(), url(second)) as q, \
                Sender("--group=storage", real.url(), url(third)) as r:
            wait_until("a share for each", lambda: sorted(
                real.brokers.shares("storage")) == [16, 16], 60)
            edges = edges_of(first, SHARED)
            for _ in range(3):
                for e in edges:
                    e.packet()
            for e in edges:
                wait_until(e.path, lambda e=e: any(
                    is_same(first, other, e)() for other in (second, third)),
                    120)
                e.end()
            for other in second, third:
                wait_until("the end",
                           lambda: not viewer.greeted(other).list(), 60)
            for member in p, q, r:
                member.stop()
        found = [{str(s.relative_to(other.out)) for s in
                  other.out.glob("h*/*")} for other in (second, third)]
        print("sessions:", [len(s) for s in found])
        equal(found[0] | found[1], {e.path for e in edges}, "sessions")
        check(not found[0] & found[1], "a session is in both")
        check(min(map(len, found)) > 0.3 * SHARED, f"{found}")


def only_whom_it_knows():
    """TLS and a password, by --kafka-config: what is wrong is named, and what
    is right goes through."""
    with cluster.Cluster(JARS, 1, "right") as broker, relay.Daemon() as first:
        broker.topic("t")
        broker.topic("t-sessions")
        config, edge = first.top / "kafka.conf", edges_of(first, 1)[0]
        other = first.top / "other"
        other.mkdir()
        cluster.certificate(other)
        archive = first.top / "archive"
        archive.mkdir()
        for ca, password, why in (
                (other, "right", "certificate verify failed"),
                (broker.top, "wrong", "SASL authentication error"),
                (broker.top, "right", None)):
            config.write_text(
                f"security.protocol=sasl_ssl\nssl.ca.location={ca}/ca.pem\n"
                f"sasl.mechanism={cluster.MECHANISM}\n"
                f"sasl.username={cluster.USER}\nsasl.password={password}\n")
            topic = f"kafka://{broker.secure}/t"
            with Sender("--all", f"--kafka-config={config}",
                        f"net://127.0.0.1:{first.live_port}", topic) as p, \
                    Sender("--group=g", f"--kafka-config={config}", topic,
                           archive) as q:
                if why is None:
                    wait_until("a copy", lambda: tree(archive / edge.path) ==
                               tree(first.out / edge.path), 60)
                    p.stop()
                    q.stop()
                    continue
                for sender in p, q:
                    while why not in (
                            line := sender.process.stderr.readline()):
                        check(line != "", f"{why} is not told")
        edge.leave()


SHORT = anything_is_killed, only_whom_it_knows
LONG = brokers_are_away, members_come_and_go, partitions_move, two_relays_share

if __name__ == "__main__":
    WHY = cluster.missing(JARS)
    if WHY is not None:
        print("SKIP:", WHY)
        sys.exit(77)
    NAMES = [n for n in sys.argv[1:] if n != "--long"]
    sys.exit(relay.run(SHORT + LONG if IS_LONG or NAMES else SHORT, NAMES))
