#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A relay that dies, or is not there yet, while packets of the loopback come:
each packet is in one counter, and viewers learn what is missing."""
import contextlib
import os
import signal
import socket
import struct
import sys
import threading
import time

import packets as make
import program
from program import check, equal
from relay import Daemon, run

NUMBER = struct.Struct(">I")
PAUSE = 0.0005              # between two packets
HEADERS = 42                # of Ethernet, IPv4 and UDP


class Sender:
    """Sends numbered datagrams to itself until it is told to stop: the number
    is the length, and so is in an event without payload."""

    def __init__(self):
        self.inbox = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.inbox.bind(("127.0.0.1", 0))
        self.port = self.inbox.getsockname()[1]
        self.n, self.goes_on = 0, True
        self.thread = threading.Thread(target=self._send)

    def _send(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            while self.goes_on:
                s.sendto(NUMBER.pack(self.n), ("127.0.0.1", self.port))
                self.n += 1
                time.sleep(PAUSE)

    def stop(self):
        self.goes_on = False
        self.thread.join()
        self.inbox.close()
        return self.n


def keep_ports(daemon):
    """It will have the same ones when it starts again."""
    for option, port in (("-C", daemon.control_port), ("-D", daemon.data_port),
                         ("-L", daemon.live_port)):
        at = daemon.command.index(option) + 1
        daemon.command[at] = f"tcp://127.0.0.1:{port}"


@contextlib.contextmanager
def capturing(daemon, *options):
    """The program, which has begun, and a sender, which has not."""
    sender = Sender()
    process = program.start(
        "-i", "lo", "--payload", "none", "--json", "--live", "--relay",
        f"net://127.0.0.1:{daemon.control_port}:{daemon.data_port}", *options,
        f"udp port {sender.port}")
    try:
        program.wait_for_rest(process)
        yield process, sender
    finally:
        if sender.thread.is_alive():
            sender.stop()
        if process.poll() is None:
            process.kill()
            process.communicate()


def streams(daemon):
    """Those of all sessions, in the order of time."""
    found = [program.Stream(path) for path in daemon.out.rglob("stream_0*")
             if path.suffix != ".idx" and path.stat().st_size > 0]
    return sorted(found, key=lambda s: (s.packets + s.stats)[0])


def check_sums(result, sent):
    """Every packet is in one counter; the kernel's comes from the kernel."""
    said = result.json()
    equal(said["received"] + said["dropped_kernel"], sent, f"sent: {said}")
    equal(said["received"], said["written"] + said["dropped_local"] +
          said["lost"] + said["left_out"], f"received: {said}")
    return said


def relay_is_killed():
    """What it had confirmed is on its disk, the rest is lost."""
    with Daemon() as daemon, capturing(daemon, "--flush", "20ms") as (
            process, sender):
        sender.thread.start()
        time.sleep(1)
        daemon.kill()
        result = program.end(process)
        sent = sender.stop()
        daemon.start_again()
        said = result.json()
        equal((result.status, len(result.lines())), (1, 1), result.err)
        equal(said["received"], said["written"] + said["dropped_local"] +
              said["lost"], str(said))
        check(0 < said["written"] <= said["received"] <= sent, str(said))
        stored = sum(len(s.packets) for s in streams(daemon))
        check(said["written"] <= stored <= said["written"] + said["lost"],
              f"{stored} are stored: {said}")


def another_session_goes_on():
    with Daemon() as daemon:
        keep_ports(daemon)
        with capturing(daemon, "--flush", "10ms", "--retry") as (process,
                                                                 sender):
            sender.thread.start()
            time.sleep(1)
            daemon.kill()
            time.sleep(2.5)     # the batches do not suffice for so long
            daemon.start_again()
            time.sleep(4)
            sent = sender.stop()
            time.sleep(1.5)     # statistics report what is lost until now
            process.send_signal(signal.SIGTERM)
            result = program.end(process)
        equal(result.status, 0, result.err)
        lines = result.lines()
        equal(len(lines), 2, result.err)
        check("trying again" in lines[0] and "connected" in lines[1],
              result.err)
        said = check_sums(result, sent)
        check(said["dropped_local"] > 0, f"no packet was dropped: {said}")
        first, second = streams(daemon)
        equal(second.discarded[-1], said["lost"] + said["dropped_local"] +
              said["dropped_kernel"], f"discarded: {said}")
        check(second.seqs[0] > first.seqs[-1], "numbers of CTF packets")
        stored = len(first.packets) + len(second.packets)
        check(said["written"] <= stored <= said["written"] + said["lost"],
              f"{stored} are stored: {said}")
        told = [e for trace in sorted({p.parent for p in
                                       daemon.out.rglob("metadata")})
                for e in program.events(trace)]
        equal(len(told), stored, "babeltrace2")


def relay_that_is_not_there_yet():
    """Packets wait for it."""
    with Daemon() as daemon:
        keep_ports(daemon)
        daemon.kill()
        with capturing(daemon, "--retry") as (process, sender):
            sender.thread.start()
            time.sleep(1.2)
            sent = sender.stop()
            daemon.start_again()
            time.sleep(4)
            process.send_signal(signal.SIGTERM)
            result = program.end(process)
        equal(result.status, 0, result.err)
        said = check_sums(result, sent)
        equal((said["written"], said["lost"]), (sent, 0), str(said))
        equal(sum(len(s.packets) for s in streams(daemon)), sent, "stored")


def a_file_waits():
    """Nothing of it is dropped, however long the relay takes."""
    with Daemon() as daemon, program.directory() as top:
        keep_ports(daemon)
        daemon.kill()
        path = make.write(f"{top}/a.pcap",
                                  list(make.some(200000, 7)))
        process = program.start(
            "-r", path, "--json", "--retry", "--relay",
            f"net://127.0.0.1:{daemon.control_port}:{daemon.data_port}")
        time.sleep(0.5)
        daemon.start_again()
        result = program.end(process)
        equal((result.status, result.json()["written"]), (0, 200000),
              result.err)


def end_without_a_relay():
    """A time limit and a signal hold, although packets wait."""
    for how in ["--duration", "2s"], []:
        with Daemon() as daemon:
            keep_ports(daemon)
            daemon.kill()
            with capturing(daemon, "--retry", *how) as (process, sender):
                sender.thread.start()
                time.sleep(0.5)
                sent = sender.stop()
                if not how:
                    process.send_signal(signal.SIGTERM)
                result = program.end(process, 20)
            daemon.start_again()
            equal(result.status, 1, result.err)
            said = check_sums(result, sent)
            equal((said["written"], said["lost"]), (0, sent), str(said))


CASES = [relay_is_killed, another_session_goes_on, relay_that_is_not_there_yet,
         a_file_waits, end_without_a_relay]

if __name__ == "__main__":
    program.need("babeltrace2")
    if os.getuid() != 0:
        print("SKIP: not root")
        sys.exit(program.SKIPPED)
    sys.exit(run(CASES, sys.argv[1:]))
