#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""As kafka_fleet.py, with three brokers of a real Kafka, which are killed, too.
Skipped without Java, or without the jars that "tests/kafka/install build/kafka"
gets."""
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
KILLS = int(os.environ.get("KILLS", "5"))


class Real:
    """The topics of a cluster."""

    def __init__(self, brokers):
        self.brokers = brokers
        brokers.topic("t", 4, min_insync_replicas=2)
        brokers.topic("t-sessions", 4, cleanup_policy="compact")

    def url(self):
        return f"kafka://{self.brokers.bootstrap}/t"

    def kill_a_broker(self, chance):
        """One at a time, as a topic with three copies can bear."""
        broker = chance.choice(self.brokers.brokers)
        broker.kill()
        broker.start()
        self.brokers.wait()

    def pause_a_broker(self, chance):
        broker = chance.choice(self.brokers.brokers)
        broker.pause()
        relay.time.sleep(chance.uniform(1, 6))
        broker.go_on()
        self.brokers.wait()


def anything_is_killed():
    """Senders, members and leaders of partitions."""
    with cluster.Cluster(JARS) as brokers, relay.Daemon() as first, \
            relay.Daemon() as second:
        real = Real(brokers)
        survive(real, first, second, KILLS,
                (real.kill_a_broker, real.pause_a_broker))


if __name__ == "__main__":
    WHY = cluster.missing(JARS)
    if WHY is not None:
        print("SKIP:", WHY)
        sys.exit(77)
    sys.exit(relay.run((anything_is_killed,), sys.argv[1:]))
