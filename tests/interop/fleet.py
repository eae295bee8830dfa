# SPDX-License-Identifier: MIT
"""A live session of stock lttng, from the world's relay through a real Kafka to
another relay."""
import contextlib
import os
import sys
import time
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../kafka"))
import cluster                                          # noqa: E402
import tree                                             # noqa: E402
from senders import contents, text                      # noqa: E402
from story import begin, end, scenario                  # noqa: E402
from tree import expect_events                          # noqa: E402
from world import (Skipped, SOURCE, check, free_ports,  # noqa: E402
                   listening_ports, wait_for)

JARS = os.environ.get("KAFKA_JARS", os.path.join(SOURCE, "build/kafka/jars"))


def missing(send):
    """Why there can be no Kafka with this tracepulse-send; None: there can."""
    with open(send, "rb") as program:
        if b"librdkafka" not in program.read():
            return "tracepulse-send was built without librdkafka"
    return cluster.missing(JARS)


def second_relay(w):
    """Another relay, as far as tree.Viewer needs it; its ports and output."""
    second = types.SimpleNamespace(
        directory=w.directory, env=w.env, spawn=w.spawn, ports=free_ports(4),
        output=os.path.join(w.directory, "second/out"))
    top = os.path.dirname(second.output)
    os.mkdir(top)
    w.spawn(w.relay.path, "-o", second.output, *(
        word for option, port in zip(("-C", "-D", "-L", "--http"),
                                     second.ports)
        for word in (option, "tcp://127.0.0.1:%d" % port)),
        environment={"LTTNG_HOME": top, "LTTNG_RUNDIR": top + "/run"})
    wait_for("the second relay",
             lambda: set(second.ports) <= listening_ports())
    return second


@contextlib.contextmanager
def through_kafka(w):
    """All live sessions go to another relay, which it returns."""
    with cluster.Cluster(JARS) as brokers:
        brokers.topic("t", 2, min_insync_replicas=2)
        brokers.topic("t-sessions", 2, cleanup_policy="compact")
        second = second_relay(w)
        topic = "kafka://%s/t" % brokers.bootstrap
        with open(os.path.join(w.directory, "send.log"), "wb") as log:
            senders = [w.spawn(w.send_path, *arguments, stderr=log)
                       for arguments in (
                ("--all", "--state=" + os.path.join(w.directory, "position"),
                 "net://127.0.0.1:%d" % w.ports[2], topic),
                ("--group=storage", topic,
                 "net://127.0.0.1:%d:%d" % tuple(second.ports[:2])))]
        yield second
        for sender in senders:
            check(sender.poll() is None, "a tracepulse-send has ended")
            sender.kill()
            sender.wait()


def files(path):
    """Of a trace, without the relay's own."""
    return {name: data for name, data in contents(path).items()
            if not os.path.basename(name).startswith(".")}


@scenario(reference=False)
def fleet(w):
    """stock lttng, a relay, a real Kafka, another relay: babeltrace2 prints the
    same at both ends, live and from disk"""
    why = "a real Kafka takes namespaces of its own" if not w.private \
        else missing(w.send_path)
    if why is not None:
        raise Skipped(why)
    with through_kafka(w) as second:
        begin(w, "fleet", "--live=100000")
        emitted = w.run_app(0, 100)
        original = w.path("*/fleet-*")
        copy = os.path.join(second.output, os.path.relpath(
            original, w.relay.output))
        wait_for("the copy", lambda: files(original) == files(copy),
                 timeout=60)
        viewers = [tree.Viewer(at, "fleet") for at in (w, second)]
        for at in w, second:
            tree.wait_attached(at, "fleet")
        seen = w.run_app(100, 1000, microseconds=2000)
        time.sleep(0.5)
        end(w, "fleet")
        for viewer in viewers:
            got = viewer.finish()
            check(got == seen, f"babeltrace2 saw {tree.span(got)}, emitted "
                  f"{tree.span(seen)}")
        wait_for("the rest", lambda: files(original) == files(copy))
        expect_events(w, copy, emitted + seen)
        check(text(w, original) == text(w, copy),
              "babeltrace2 prints other things of the copy")
