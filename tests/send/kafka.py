#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tracepulse-send and Kafka: a trace goes through a topic of a mock cluster of
three brokers and arrives as it was."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(os.environ.get("srcdir", ".")).resolve()
sys.path.insert(0, str(SOURCE / "tests/replay"))
sys.path.insert(0, str(SOURCE / "tests/send"))
import follow
import relay
from follow import METADATA, PROGRAM, TRACE, Recording, url
from relay import check, equal, wait_until

CLUSTER = os.path.abspath("tests/kafka/mock_cluster")
PARTITIONS = 4
PRODUCE = 0                 # kinds of requests, and errors, of Kafka's protocol
NOT_ENOUGH_REPLICAS, NOT_LEADER, TIMED_OUT, OUT_OF_ORDER = 19, 6, 7, 45


class Cluster:
    """Three brokers."""

    def __init__(self):
        self.process = subprocess.Popen(
            [CLUSTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        self.brokers = self.process.stdout.readline().strip()
        check(self.brokers.count(",") == 2, f"brokers: {self.brokers}")
        for topic in ("t", "t-sessions"):
            self.order("topic", topic, PARTITIONS)

    def order(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        equal(self.process.stdout.readline(), "ok\n", f"{words}")

    def url(self, topic="t"):
        return f"kafka://{self.brokers}/{topic}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


class Sender:
    """The program. Its end is waited for with done(), or it is killed."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [PROGRAM, "--json", *map(str, arguments)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)

    def done(self, status=0):
        out, self.complaint = self.process.communicate(timeout=60)
        equal(self.process.returncode, status, self.complaint)
        self.summary = json.loads(out)
        return self.summary

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.done(128 + signal.SIGTERM)

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()


def sending(source, cluster, *options):
    return Sender("--session=copy", "--hostname=h", *options, source,
                  cluster.url())


def storing(cluster, daemon, *options, to=None):
    """The mock lets a member wait for this time after another has left."""
    config = daemon.top / "member.conf"
    config.write_text("session.timeout.ms=6000\nheartbeat.interval.ms=200\n"
                      "fetch.wait.max.ms=50\n")
    return Sender("--group=storage", f"--kafka-config={config}", *options,
                  cluster.url(), to or url(daemon))


@contextlib.contextmanager
def recorded(top, streams=2, packets=20, size=512):
    """A finished trace."""
    r = Recording(top)
    for i in range(streams):
        f = r.file(f"c_{i}", i)
        for seq in range(packets):
            f.packet(seq, size)
    r.end()
    yield r


def files(folder):
    """name -> content of a trace's files, without the index."""
    return {f.name: f.read_bytes() for f in folder.iterdir() if f.is_file()
            and not f.name.startswith(".")}


def has_copy(daemon, folder, session="copy"):
    """Has the relay, in one session, all that is in the folder?"""
    def has_now():
        found = sorted(daemon.out.glob(f"h/{session}*"))
        equal(len(found) < 2, True, f"sessions: {found}")
        return found and (found[0] / TRACE).is_dir() and \
            files(found[0] / TRACE) == files(folder)
    return has_now


def goes_through():
    """Each packet arrives once, and so does the metadata, in one session that
    ends."""
    with Cluster() as cluster, relay.Daemon() as daemon, \
            recorded(daemon.top) as r:
        with sending(r.dir, cluster) as p:
            s = p.done()
        equal((p.complaint, s["packets"], s["bytes"], s["streams"]),
              ("", 40, 40 * 512, 2), "sent")
        with storing(cluster, daemon) as p:
            wait_until("all", has_copy(daemon, r.folder))
            s = p.stop()
        equal((p.complaint, s["packets"], s["sessions"]), ("", 40, 1),
              "stored")
        with storing(cluster, daemon) as p:     # all is committed
            with recorded(daemon.top / "second", 1, 3) as more, \
                    Sender("--session=more", "--hostname=h", more.dir,
                           cluster.url()) as q:
                q.done()
                wait_until("the next session",
                           has_copy(daemon, more.folder, "more"))
            equal(p.stop()["packets"], 3, "only what is new")


def goes_in_parts():
    """Packets above the limit of the topic."""
    with Cluster() as cluster, relay.Daemon() as daemon, \
            recorded(daemon.top, 2, 3, 3 << 20) as r:
        with sending(r.dir, cluster) as p:
            equal(p.done()["packets"], 6, "sent")
        with storing(cluster, daemon) as p:
            wait_until("all", has_copy(daemon, r.folder))
            equal(p.stop()["packets"], 6, "stored")


def survives_errors():
    """Requests that fail, slow brokers, brokers that are away: every packet
    once, in order."""
    with Cluster() as cluster, relay.Daemon() as daemon, \
            recorded(daemon.top, 3, 300) as r:
        config = daemon.top / "kafka.conf"
        config.write_text("# small batches\nlinger.ms=1\n"
                          "batch.num.messages = 7\n")
        cluster.order("rtt", 2, 20)
        for error in (NOT_ENOUGH_REPLICAS, NOT_LEADER, TIMED_OUT) * 3:
            cluster.order("fail", PRODUCE, 2, error)
        cluster.order("down", 1)
        with sending(r.dir, cluster, f"--kafka-config={config}") as p, \
                storing(cluster, daemon) as q:
            cluster.order("down", 0)
            cluster.order("up", 0)
            equal(p.done()["packets"], 900, "sent")
            wait_until("all", has_copy(daemon, r.folder), 60)
            equal(q.stop()["packets"], 900, "stored")


def waits_for_brokers():
    """Brokers that are away are waited for, and reported once."""
    with Cluster() as cluster, relay.Daemon() as daemon, \
            recorded(daemon.top) as r:
        cluster.order("down", 0)
        with sending(r.dir, cluster) as p:
            line = p.process.stderr.readline()
            check("tracepulse-send: kafka: " in line and "down" in line, line)
            cluster.order("up", 0)
            equal(p.done()["packets"], 40, "sent")
        equal(p.complaint, "tracepulse-send: kafka: connected again\n",
              "more messages")


def grows():
    """What is being recorded arrives while it is recorded."""
    with Cluster() as cluster, relay.Daemon() as daemon, \
            storing(cluster, daemon) as q:
        r = Recording(daemon.top)
        a = r.file("c_0")
        state = daemon.top / "position"
        with sending(r.dir, cluster, "--follow", f"--state={state}",
                     "--quiet-after=0.2", "--live-timer=100000") as p:
            for seq in range(20):
                a.packet(seq)
                wait_until(f"packet {seq}", has_copy(daemon, r.folder))
            wait_until("the state", lambda: state.exists()
                       and "\n20 0 0 " in state.read_text())
            r.end()
            equal(p.done()["packets"], 20, "sent")
        s = q.stop()
        equal((q.complaint, s["packets"]), ("", 20), "stored")
        check(s["beacons"] > 0, str(s))


def takes_over():
    """After crashes the next member has description and metadata from the topic
    of sessions, and goes on in the session of the relay: every packet once."""
    with Cluster() as cluster, relay.Daemon() as daemon:
        r = Recording(daemon.top)
        a = r.file("c_0")
        a.packet(0)
        with sending(r.dir, cluster, "--follow") as p:
            for seq in range(1, 3):
                with storing(cluster, daemon) as q:
                    wait_until(f"packet {seq}", has_copy(daemon, r.folder), 30)
                    if seq > 1:     # the first time it begins again
                        committed(q)
                    q.kill()
                a.packet(seq)
            r.end()
            p.done()
        with storing(cluster, daemon) as q:
            wait_until("all", has_copy(daemon, r.folder), 30)
            equal(q.stop()["packets"] <= 2, True, "packets again")


def sender_dies():
    """What was sent again arrives once."""
    with Cluster() as cluster, relay.Daemon() as daemon, \
            storing(cluster, daemon) as q:
        r = Recording(daemon.top)
        a = r.file("c_0")
        state = daemon.top / "position"
        for run in range(3):
            with sending(r.dir, cluster, "--follow", f"--state={state}") as p:
                for seq in range(4 * run, 4 * run + 4):
                    a.packet(seq)
                wait_until(f"run {run}", has_copy(daemon, r.folder), 30)
                p.kill()
        with sending(r.dir, cluster, "--follow", f"--state={state}") as p:
            r.end()
            p.done()
        s = q.stop()
        equal((q.complaint, s["packets"], s["sessions"]), ("", 12, 1), "all")


def committed(sender):
    """Wait until the group has an offset: it is asked for once a second."""
    relay.time.sleep(2.5)
    equal(sender.process.poll(), None, "the program has ended")


def shares():
    """Two members have half of the partitions each; sessions move between them
    and nothing is missing."""
    with Cluster() as cluster, relay.Daemon() as daemon:
        with storing(cluster, daemon) as a, storing(cluster, daemon) as b, \
                recorded(daemon.top, 1, 5) as r:
            for i in range(12):
                with Sender(f"--session=s{i}", "--hostname=h", r.dir,
                            cluster.url()) as p:
                    p.done()
            for i in range(12):
                wait_until(f"session {i}",
                           has_copy(daemon, r.folder, f"s{i}-"), 60)
            counts = [p.stop()["sessions"] for p in (a, b)]
        # One that moved counts with both.
        check(sum(counts) >= 12, f"sessions {counts}")


REFUSED = (
    (["DIR", "kafka://b"], "kafka://b: the topic is missing"),
    (["kafka://b/t", "net://h"], "a topic requires --group"),
    (["--group=g", "DIR", "net://h"], "--group requires a topic to read"),
    (["--kafka-config=x", "DIR", "net://h"],
     "--kafka-config requires a kafka:// URL"),
    (["--udp", "DIR", "kafka://b/t"], "--udp is for a relay"),
    (["--state=x", "DIR", "kafka://b/t"], "--state requires --follow, or a "
     "topic that live sessions go to"),
    (["--group=g", "--follow", "kafka://b/t", "net://h"],
     "--follow is for a TRACE-DIR"),
    (["--group=g", "kafka://b/t", "DIR", "net://h"],
     'unexpected argument "DIR"'),
)

BAD_CONFIG = (
    ("nonsense", 'KEY=VALUE is required: "nonsense"'),
    ("linger.ms=1\nbatch.nmu.messages=1",
     'No such configuration property: "batch.nmu.messages"'),
    ("linger.ms=soon", 'Invalid value'),
    ("message.max.bytes=1000", "message.max.bytes is below 16384"),
    ("acks=1", "acks cannot be set"),
    ("group.id=x", "group.id cannot be set"),
)


def refuses():
    """Options, and settings of the library: the message names the key and the
    line."""
    for arguments, why in REFUSED:
        p = subprocess.run([PROGRAM, *arguments], capture_output=True,
                           text=True, timeout=30)
        equal((p.returncode, p.stderr), (2, f"tracepulse-send: {why}\n"),
              str(arguments))
    with Cluster() as cluster, relay.Daemon() as daemon, \
            recorded(daemon.top, 1, 1) as r:
        config = daemon.top / "kafka.conf"
        for text, why in BAD_CONFIG:
            config.write_text(text)
            with sending(r.dir, cluster, f"--kafka-config={config}") as p:
                out, err = p.process.communicate(timeout=30)
            place = f"{config}:{text.count(chr(10)) + 1}: " \
                if "below" not in why else f"{config}: "
            check(p.process.returncode == 1 and err.startswith(
                f"tracepulse-send: {place}") and why in err, f"{text}: {err}")
        cluster.order("topic", "u", 2)
        cluster.order("topic", "u-sessions", 3)
        with Sender(r.dir, cluster.url("u")) as p:
            p.done(1)
        check("u has 2 partitions, u-sessions has 3" in p.complaint,
              p.complaint)


CASES = (goes_through, goes_in_parts, survives_errors, waits_for_brokers,
         grows, takes_over, sender_dies, shares, refuses)

if __name__ == "__main__":
    sys.exit(relay.run(CASES, sys.argv[1:], at_once=2))
