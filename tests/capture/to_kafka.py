#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packets go to a topic of a mock cluster of three brokers, and from there to a
directory."""
import os
import pathlib
import signal
import sys

import packets as make
import program
from program import check, equal
from relay import run, wait_until

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "send"))
import kafka
from kafka import Cluster, NOT_LEADER, PRODUCE

PACKETS = 20000


def archived(cluster, folder):
    """Numbers of the packets that the topic has, once its session is written
    to the folder."""
    config = folder.parent / "member.conf"
    config.write_text("session.timeout.ms=6000\nfetch.wait.max.ms=50\n")
    with kafka.Sender("--group=archive", f"--kafka-config={config}",
                      cluster.url(), folder) as sender:
        def has_all():
            return len(numbers(folder)) >= PACKETS
        wait_until("the archive", has_all, 60)
        sender.stop()
    return numbers(folder)


def numbers(folder):
    """Of all streams."""
    return sorted(length - make.NUMBERED for path in
                  folder.glob("*/*/network/stream_*")
                  for _, (_, _, length, _) in program.Stream(path).packets)


def goes_through():
    """All packets of a file, although requests fail; the trace has the host,
    the session and the time in its path."""
    with Cluster() as cluster, program.directory() as top:
        path = make.write(f"{top}/a.pcap", list(make.some(PACKETS, 1)))
        for _ in range(3):
            cluster.order("fail", PRODUCE, 2, NOT_LEADER)
        said = program.capture("-r", path, "-j", 2, "--payload", "none",
                               "--session", "s",
                               "--hostname", "h", "--relay", cluster.url())
        equal((said["written"], said["lost"]), (PACKETS, 0), f"{said}")
        folder = pathlib.Path(top, "archive")
        equal(archived(cluster, folder), list(range(PACKETS)), "packets")
        equal([p.name.rsplit("-", 2)[0] for p in folder.glob("h/*")], ["s"],
              "sessions")
        equal(len(program.events(folder)), PACKETS, "babeltrace2")


def brokers_are_away():
    """What they have not confirmed is lost; a signal ends the program."""
    with Cluster() as cluster, program.directory() as top:
        fifo = f"{top}/fifo"
        os.mkfifo(fifo)
        process = program.start("-r", fifo, "--json", "--live", "--flush",
                                "10ms", "--relay", cluster.url())
        with open(fifo, "wb") as f:
            f.write(make.pcap(list(make.some(100, 2))))
            f.flush()
            program.wait_for_rest(process)
            cluster.order("down", 0)
            f.write(make.pcap(list(make.some(100, 3)))[24:])
            f.flush()
            program.wait_for_rest(process)
            process.send_signal(signal.SIGTERM)
            result = program.end(process)
        equal(result.status, 1, result.err)
        said = result.json()
        equal((said["received"], said["written"] + said["lost"]), (200, 200),
              f"{said}")
        check("the topic accepts no more data" in result.err, result.err)


def has_no_privileges():
    """Nor do the threads of the library."""
    with Cluster() as cluster, program.directory() as top:
        fifo = f"{top}/fifo"
        os.mkfifo(fifo)
        process = program.start("-r", fifo, "--relay", cluster.url())
        with open(fifo, "wb") as f:
            f.write(make.pcap(list(make.some(100, 4))))
            f.flush()
            program.wait_for_rest(process)
            found = [line for path in pathlib.Path(
                f"/proc/{process.pid}/task").glob("*/status")
                for line in path.read_text().splitlines()
                if line.startswith("CapPrm")]
            check(len(found) > 4, f"threads: {found}")
            equal(set(found), {"CapPrm:\t" + 16 * "0"}, "capabilities")
        result = program.end(process)
        equal((result.status, result.err), (0, ""), "end")


def what_is_refused():
    topic = "kafka://localhost/t"
    for options, why in (
            (["--relay", topic, "--udp"], "--udp is for a relay"),
            (["--relay", "kafka://localhost"], "kafka://localhost: "),
            (["--output", topic], f"--output {topic}: a directory is required"),
            (["--relay", "net://localhost", "--kafka-config", "f"],
             "--kafka-config requires a kafka:// URL"),
            (["--output", "d", "--kafka-config", "f"],
             "--kafka-config requires --relay")):
        result = program.run("-r", "-", *options, status=2)
        check(why in result.err, result.err)


CASES = [goes_through, brokers_are_away, has_no_privileges, what_is_refused]

if __name__ == "__main__":
    program.need("babeltrace2")
    sys.exit(run(CASES, sys.argv[1:]))
