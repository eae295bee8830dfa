#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""As kafka_fleet.py, with three brokers of a real Kafka, which are killed, too.
Skipped without Java, or without the jars that "tests/kafka/install build/kafka"
gets. kafka_real.py --long kills 100 times."""
import os
import pathlib
import sys

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(os.environ.get("srcdir", ".")).resolve()
for folder in "replay", "send", "kafka":
    sys.path.insert(0, str(SOURCE / "tests" / folder))
import cluster
import relay
from kafka_fleet import survive

JARS = os.environ.get("KAFKA_JARS", SOURCE / "build/kafka/jars")
IS_LONG = "--long" in sys.argv
KILLS = int(os.environ.get("KILLS", 100 if IS_LONG else 5))
PARTITIONS = 4


class Real:
    """The topics of a cluster."""

    def __init__(self, brokers):
        self.brokers = brokers
        brokers.topic("t", PARTITIONS, min_insync_replicas=2)
        brokers.topic("t-sessions", PARTITIONS, cleanup_policy="compact")

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


def anything_is_killed():
    """Senders, members, the relay that stores, and leaders of partitions."""
    with cluster.Cluster(JARS) as brokers, relay.Daemon() as first, \
            relay.Daemon() as second:
        real = Real(brokers)
        survive(real, first, second, KILLS,
                (real.kill_a_leader, real.pause_a_leader))


if __name__ == "__main__":
    WHY = cluster.missing(JARS)
    if WHY is not None:
        print("SKIP:", WHY)
        sys.exit(77)
    sys.exit(relay.run((anything_is_killed,),
                       [n for n in sys.argv[1:] if n != "--long"]))
