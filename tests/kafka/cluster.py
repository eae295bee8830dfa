#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A real Kafka cluster of one's own: brokers in KRaft mode, each a controller
too, on free ports of the loopback address, with files in a directory that goes
away. Started by hand it stays until its input ends:

    tests/kafka/cluster.py build/kafka
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

BROKERS = 3
READY_S = 120           # three JVMs beside other tests
HEAP = "-Xmx320m"
USER, MECHANISM = "traces", "SCRAM-SHA-512"
CLUSTER_ID = "dHJhY2VwdWxzZS10ZXN0cw"   # 16 bytes in base64


def free_ports(count):
    """Unused ports; found together, so that all are different."""
    with contextlib.ExitStack() as stack:
        socks = [stack.enter_context(socket.socket()) for _ in range(count)]
        for sock in socks:
            sock.bind(("127.0.0.1", 0))
        return [sock.getsockname()[1] for sock in socks]


def certificate(top):
    """A certificate authority of one's own, in TOP/ca.pem, and a broker's key
    and certificate, in TOP/broker.pem."""
    def make(name, *options):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
             f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem",
             *options], cwd=top, check=True, capture_output=True)
    make("ca")
    make("broker", "-CA", "ca.pem", "-CAkey", "ca.key", "-addext",
         "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=CA:FALSE")
    with open(top / "broker.pem", "a", encoding="ascii") as store:
        store.write((top / "broker.key").read_text())


def missing(jars):
    """Why there can be no cluster; None: there can."""
    for program in "java", "kcat":
        if shutil.which(program) is None:
            return f"{program} is not installed"
    if not (pathlib.Path(jars) / ".installed").exists():
        return "Kafka's jars are not installed: tests/kafka/install"
    return None


class Broker:
    """A process of Kafka."""

    def __init__(self, cluster, number):
        self.cluster, self.process = cluster, None
        self.top = cluster.top / f"broker-{number}"
        self.top.mkdir()
        self.config = self.top / "server.properties"
        self.config.write_text("".join(
            f"{name}={value}\n" for name, value in
            cluster.properties(number, self.top / "log").items()))
        cluster.java("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID,
                     "-c", self.config, *cluster.users())

    def start(self):
        with open(self.top / "output", "ab") as output:
            self.process = subprocess.Popen(
                self.cluster.java_command("kafka.Kafka", self.config),
                cwd=self.top, stdin=subprocess.DEVNULL, stdout=output,
                stderr=output)

    def kill(self, number=signal.SIGKILL):
        """SIGKILL: as a crash does."""
        self.process.send_signal(number)
        self.process.wait()

    def pause(self):
        """It stays, and says nothing."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)


class Cluster:
    """Used with with: there are BROKERS, and they answer. With a PASSWORD they
    also answer the user USER by SASL_SSL, at the addresses SECURE; the
    certificate authority is TOP/ca.pem."""

    def __init__(self, jars, brokers=BROKERS, password=None):
        self.jars, self.password = pathlib.Path(jars).resolve(), password
        ports = free_ports(3 * brokers)
        self.ports, self.controllers, self.secure_ports = (
            ports[n * brokers:(n + 1) * brokers] for n in range(3))
        self.secure = ",".join(f"127.0.0.1:{n}" for n in self.secure_ports)
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="tracepulse-kafka-"))
        try:
            if password is not None:
                certificate(self.top)
            self.brokers = [Broker(self, n) for n in range(brokers)]
        except BaseException:
            shutil.rmtree(self.top)
            raise

    def properties(self, number, log):
        """Of broker NUMBER. Elections and joins wait as little as they can."""
        copies = min(3, len(self.ports))
        return {
            "process.roles": "broker,controller",
            "node.id": number,
            "controller.quorum.voters": ",".join(
                f"{n}@127.0.0.1:{port}"
                for n, port in enumerate(self.controllers)),
            "listeners": f"PLAINTEXT://127.0.0.1:{self.ports[number]},"
                         f"CONTROLLER://127.0.0.1:{self.controllers[number]}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": log,
            "default.replication.factor": copies,
            "min.insync.replicas": max(1, copies - 1),
            "offsets.topic.replication.factor": copies,
            "offsets.topic.num.partitions": 3,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.num.partitions": 3,
            "group.initial.rebalance.delay.ms": 0,
            "broker.session.timeout.ms": 4000,
            "broker.heartbeat.interval.ms": 500,
            "group.min.session.timeout.ms": 1000,
            "auto.create.topics.enable": "false",
            **self.secrets(number),
        }

    def secrets(self, number):
        """Properties for encryption."""
        if self.password is None:
            return {}
        return {
            "listeners": f"PLAINTEXT://127.0.0.1:{self.ports[number]},"
                         f"CONTROLLER://127.0.0.1:{self.controllers[number]},"
                         f"SASL_SSL://127.0.0.1:{self.secure_ports[number]}",
            "listener.security.protocol.map": ",".join(
                f"{name}:{protocol}" for name, protocol in (
                    ("PLAINTEXT", "PLAINTEXT"), ("CONTROLLER", "PLAINTEXT"),
                    ("SASL_SSL", "SASL_SSL"))),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": self.top / "broker.pem",
            "sasl.enabled.mechanisms": MECHANISM,
            f"listener.name.sasl_ssl.{MECHANISM.lower()}.sasl.jaas.config":
                "org.apache.kafka.common.security.scram.ScramLoginModule "
                "required;",
        }

    def users(self):
        """Options that make the user."""
        return [] if self.password is None else [
            "--add-scram", f"{MECHANISM}=[name={USER},password="
                           f"{self.password}]"]

    def java_command(self, name, *arguments):
        return ["java", HEAP, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                "-cp", f"{self.jars}/*", name, *map(str, arguments)]

    def java(self, name, *arguments, timeout=READY_S):
        """A tool of Kafka, to its end; returns what it printed."""
        done = subprocess.run(
            self.java_command(name, *arguments), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=timeout, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{name}: {done.stdout}")
        return done.stdout

    def topic(self, name, partitions=1, **settings):
        """Create a topic, with copies on all brokers."""
        options = [text for key, value in settings.items()
                   for text in ("--config",
                                f"{key.replace('_', '.')}={value}")]
        self.java("org.apache.kafka.tools.TopicCommand", "--bootstrap-server",
                  self.bootstrap, "--create", "--topic", name, "--partitions",
                  partitions, "--replication-factor",
                  min(3, len(self.ports)), *options)

    def move(self, topics, brokers):
        """Partitions of TOPICS, {name: how many}, to these BROKERS; returns
        when they are there."""
        plan = self.top / "plan.json"
        plan.write_text(json.dumps({"version": 1, "partitions": [
            {"topic": name, "partition": n, "replicas": brokers}
            for name, count in topics.items() for n in range(count)]}))
        tool = ("org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
                "--bootstrap-server", self.bootstrap,
                "--reassignment-json-file", plan)
        self.java(*tool, "--execute")
        until = time.monotonic() + READY_S
        while "still in progress" in (
                said := self.java(*tool, "--verify")):
            if time.monotonic() > until:
                raise RuntimeError(said)

    def shares(self, group):
        """How many partitions each member of the group has."""
        said = self.java(
            "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
            "--bootstrap-server", self.bootstrap, "--describe", "--members",
            "--group", group, "--timeout", 60000)
        return [int(n) for n in re.findall(
            rf"^{group} .* (\d+) *$", said, re.M)]

    def described(self, pattern, *options):
        """The first number that PATTERN finds in what the cluster says of
        itself; None: it says nothing of the kind."""
        done = subprocess.run(
            ["kcat", "-L", "-b", self.bootstrap, "-m", "2", *options],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False)
        found = re.search(pattern, done.stdout, re.M)
        return int(found[1]) if found else None

    def alive(self):
        """How many brokers the cluster says it has."""
        return self.described(r"^ (\d+) brokers:") or 0

    def leader(self, topic, partition):
        """The number of the broker that leads it."""
        pattern = rf"^    partition {partition}, leader (\d+),"
        until = time.monotonic() + READY_S
        while (found := self.described(pattern, "-t", topic)) is None:
            if time.monotonic() > until:
                raise RuntimeError(f"{topic} {partition} has no leader")
        return found

    def wait(self, count=None):
        """Until COUNT brokers, or all, are in the cluster."""
        until = time.monotonic() + READY_S
        while self.alive() != (count or len(self.brokers)):
            for broker in self.brokers:
                if broker.process.poll() is not None and count is None:
                    raise RuntimeError(
                        (broker.top / "output").read_text()[-4000:])
            if time.monotonic() > until:
                raise RuntimeError(f"no cluster after {READY_S} s")
            time.sleep(0.2)

    def __enter__(self):
        try:
            for broker in self.brokers:
                broker.start()
            self.wait()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        for broker in self.brokers:
            if broker.process is not None and broker.process.poll() is None:
                broker.kill()
        shutil.rmtree(self.top, ignore_errors=True)


def main():
    jars = os.path.join(sys.argv[1], "jars")
    why = missing(jars)
    if why is not None:
        sys.exit(why)
    with Cluster(jars) as cluster:
        print(cluster.bootstrap, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
