#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Interfaces that behave badly: they go down, change, vanish; tags of VLANs in
filters; what came before a stop. Between two ends of a veth pair."""
import collections
import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time

import packets as make
import program
from program import check, equal

A, B = "tp-a", "tp-b"
TAGS = [(make.VLAN, 0x6064)]


def ip(*words):
    subprocess.run(["ip", *words], check=True, stdout=subprocess.DEVNULL)


def wait_up():
    """Until frames can pass: the kernel looks at new states once a second."""
    until = time.monotonic() + program.TIMEOUT
    for end in A, B:
        while "state UP" not in subprocess.run(
                ["ip", "link", "show", "dev", end], check=True, text=True,
                stdout=subprocess.PIPE).stdout:
            check(time.monotonic() < until, f"{end} does not come up")
            time.sleep(0.02)


def wait_taken():
    """The kernel passes packets on after 20 ms, or a little more."""
    time.sleep(0.2)


@contextlib.contextmanager
def link():
    """Two ends, both up; frames that are sent at A come in at B."""
    ip("link", "add", A, "type", "veth", "peer", "name", B)
    try:
        for end in A, B:
            with open(f"/proc/sys/net/ipv6/conf/{end}/disable_ipv6", "w",
                      encoding="ascii") as f:
                f.write("1")
            ip("link", "set", end, "arp", "off", "up")
        wait_up()
        yield
    finally:
        subprocess.run(["ip", "link", "del", A], check=False,
                       stderr=subprocess.DEVNULL)


def frame(n, size=60, tags=()):
    """Number N, in its length of UDP's."""
    data = struct.pack(">I", n) + bytes(size)
    return make.ethernet(make.IPV4, make.ipv4(
        "10.0.0.1", "10.0.0.2", make.UDP, make.udp(1, 7777, data)), tags)


def send(*frames):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind((A, 0))
        for data in frames:
            s.send(data)


class Capture:
    """Of B, from when it captures on."""

    def __init__(self, *options, top):
        self.out = f"{top}/out"
        self.process = program.start("-i", f"int:{B}", "--payload", "full",
                                     "--json", "--output", self.out, *options)
        until = time.monotonic() + program.TIMEOUT
        while not os.path.exists(f"{self.out}/metadata"):
            check(time.monotonic() < until, "it does not begin")
            check(self.process.poll() is None, "it has ended")
            time.sleep(0.02)
        program.wait_for_rest(self.process)

    def end(self, status=0):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.ended(status)

    def ended(self, status=0):
        result = program.end(self.process)
        equal(result.status, status, result.err)
        return result

    def frames(self):
        return [bytes(e["payload"]) for e in program.events(self.out)]


@contextlib.contextmanager
def capturing(*options):
    with program.directory() as top, link():
        capture = Capture(*options, top=top)
        try:
            yield capture
        finally:
            if capture.process.poll() is None:
                capture.process.kill()
                capture.process.communicate()


def taken_after_a_stop(n):
    """Sends N frames that the program has not read before it is stopped; returns
    (received, written)."""
    with capturing("--payload", "none") as c:
        send(frame(0))
        time.sleep(0.3)
        os.kill(c.process.pid, signal.SIGSTOP)
        time.sleep(0.1)
        send(*(frame(i) for i in range(1, n + 1)))
        os.kill(c.process.pid, signal.SIGTERM)
        os.kill(c.process.pid, signal.SIGCONT)
        said = c.ended().json()     # a second signal would kill it
        return said["received"], said["written"]


def what_came_before_a_stop():
    """It is in the trace, although the program had not looked yet. What it may
    take for that is little on a busy machine: one try of some counts."""
    n = 1000 if program.has_sanitizer("thread") or \
        program.has_sanitizer("address") else 10000
    for _ in range(3):
        got = taken_after_a_stop(n)
        if got == (n + 1, n + 1):
            break
    equal(got, (n + 1, n + 1), "packets")


def filters_with_vlans():
    """As tcpdump has them: the kernel has taken the tag off before."""
    plain, tagged = frame(1), frame(2, tags=TAGS)
    for text, want in ("vlan", [tagged]), ("vlan 100", [tagged]), \
            ("vlan 101", []), ("udp port 7777", [plain, tagged]), \
            ("not vlan", [plain]), ("vlan and udp port 7777", [tagged]):
        with capturing("--filter", text) as c:
            send(plain, tagged)
            time.sleep(0.3)
            c.end()
            equal(c.frames(), want, text)


def snap_lengths_with_tags():
    tagged = frame(2, tags=TAGS)
    for n in 12, 13, 16, 18, 40:
        with capturing("--snaplen", str(n)) as c:
            send(tagged)
            time.sleep(0.3)
            c.end()
            events = program.events(c.out)
            equal([(e["wire_len"], e["cap_len"]) for e in events],
                  [(len(tagged), n)], n)
            equal(c.frames(), [tagged[:n]], n)


def down_and_up_again():
    """Nothing comes for a while."""
    with capturing() as c:
        send(frame(1))
        for n in 2, 3:
            time.sleep(0.2)
            ip("link", "set", B, "down")
            time.sleep(0.3)
            check(c.process.poll() is None, "it has ended")
            ip("link", "set", B, "arp", "off", "up")
            wait_up()
            time.sleep(0.2)
            send(frame(n))
        time.sleep(0.3)
        equal(c.end().err, "", "stderr")
        equal(c.frames(), [frame(1), frame(2), frame(3)], "frames")


def other_sizes():
    with capturing() as c:
        send(frame(1, 1000))
        for end in A, B:
            ip("link", "set", end, "mtu", "9000")
        send(frame(2, 8000))
        for end in A, B:
            ip("link", "set", end, "mtu", "300")
        send(frame(3, 200))
        time.sleep(0.3)
        c.end()
        equal(c.frames(), [frame(1, 1000), frame(2, 8000), frame(3, 200)],
              "frames")


def gone():
    """One line, soon; what came is written. Also while it was down."""
    for is_down in False, True:
        with capturing() as c:
            send(frame(1))
            time.sleep(0.2)
            wait_taken()
            if is_down:
                ip("link", "set", B, "down")
                time.sleep(0.5)
            ip("link", "del", A)
            result = program.end(c.process, 20)
            equal(result.status, 1, result.err)
            equal(len(result.lines()), 1, result.err)
            check(f"int:{B}" in result.err and "No such device" in result.err,
                  result.err)
            equal(json.loads(result.out)["written"], 1, "packets")
            equal(c.frames(), [frame(1)], "frames")


def down_at_first():
    """It is refused, and nothing is made."""
    with program.directory() as top, link():
        ip("link", "set", B, "down")
        result = program.run("-i", f"int:{B}", "--output", f"{top}/out",
                             status=1)
        equal(len(result.lines()), 1, result.err)
        check("Network is down" in result.err, result.err)
        check(not os.path.exists(f"{top}/out"), "something was made")


def any_interface():
    """As tcpdump does, once each, with the filter of the user."""
    with program.directory() as top, link():
        ip("link", "set", "lo", "up")
        out = f"{top}/out.pcap"
        process = program.start("-i", "any", "-w", out, "--json", "udp", "port",
                                "7777")
        program.wait_for_rest(process)
        send(*(frame(i) for i in range(20)))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            for _ in range(5):
                s.sendto(b"data", ("127.0.0.1", 7777))
                s.sendto(b"other", ("127.0.0.1", 7778))
        wait_taken()
        process.send_signal(signal.SIGTERM)
        result = program.end(process)
        equal(result.status, 0, result.err)
        lines = program.told("tcpdump", "-nn", "-e", "-r", out)
        came = collections.Counter(line.split()[1] for line in lines)
        equal(came, {A: 20, B: 20, "lo": 5}, "packets of each interface")
        equal(result.json()["written"], 45, "packets")


def signals():
    """SIGUSR1 prints the counters, SIGHUP ends as SIGTERM does."""
    with program.directory() as top, link():
        out = f"{top}/out.pcap"
        process = program.start("-i", B, "-w", out)
        program.wait_for_rest(process)
        send(*(frame(i) for i in range(30)))
        wait_taken()
        process.send_signal(signal.SIGUSR1)
        program.wait_for_rest(process)
        process.send_signal(signal.SIGHUP)
        result = program.end(process)
        equal(result.status, 0, result.err)
        check("30 received" in result.err, result.err)
        check("30 packets written" in result.out, result.out)
        equal(len(program.told("tcpdump", "-nn", "-r", out)), 30, "packets")


CASES = [any_interface, signals, what_came_before_a_stop, filters_with_vlans,
         snap_lengths_with_tags, down_and_up_again, other_sizes, gone, down_at_first]


if __name__ == "__main__":
    program.need("babeltrace2")
    sys.exit(program.run_in_own_network(__file__, CASES, sys.argv[1:]))
