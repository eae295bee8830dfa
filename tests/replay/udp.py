#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trace packets over UDP: order, loss, resends, lies and limits. Starts
daemons of its own."""
import hashlib
import json
import os
import random
import re
import signal
import socket
import struct
import sys
import time
import zlib

import ctf
import relay
import viewer
from relay import check, equal

UDP = "--udp-port=data"
UDP_OPEN, UDP_STATUS = 10001, 10002
RESENDS = 1
UDP_SEGMENT = 103
MAGIC = 0x54505544
HEADER = struct.Struct(">IBBH16sQQIIII")


def pieces(token, stream, seq, payload, fragment, padding=0, resend=0):
    """All datagrams of one packet."""
    out = []
    for at in range(0, len(payload), fragment) or [0]:
        out.append(datagram(token, stream, seq, payload[at:at + fragment],
                            len(payload), at, padding, resend))
    return out


def datagram(token, stream, seq, piece, size, at, padding=0, resend=0,
             crc=None, version=1, header_size=56, magic=MAGIC):
    head = [magic, version, resend, header_size, token, stream, seq, size,
            padding, at, 0]
    if crc is None:
        crc = zlib.crc32(HEADER.pack(*head) + piece)
    head[-1] = crc
    return HEADER.pack(*head) + piece


def ask_for_udp(control, fragment=1392, window=64, flags=0, gap_us=0,
                version=1):
    """(code, port, fragment, window, window bytes, flags, token)"""
    return struct.unpack(">IHxxIIQI16s", control.ask(
        UDP_OPEN, struct.pack(">IIIIQ", version, fragment, window, flags,
                              gap_us), 44))


def queued(port):
    """Bytes that wait in the sockets of this port (proc_net_udp)."""
    total = 0
    for name in ("udp", "udp6"):
        with open(f"/proc/net/{name}", encoding="ascii") as table:
            for line in list(table)[1:]:
                fields = line.split()
                if int(fields[1].rsplit(":", 1)[1], 16) == port:
                    total += int(fields[4].split(":")[1], 16)
    return total


class UdpSession(relay.Session):
    """A session whose packets go as datagrams, through a channel that a test
    may make bad."""

    def __init__(self, daemon, name="udp", fragment=1392, window=64, flags=0,
                 gap_us=5_000_000, streams=1, **fields):
        super().__init__(daemon, name, **fields)
        self.data.close()
        (code, port, self.fragment, self.window, self.window_bytes,
         self.flags, self.token) = ask_for_udp(
             self.control, fragment, window, flags, gap_us)
        equal(code, relay.OK, "UDP_OPEN")
        self.address = ("127.0.0.1", port or daemon.data_port)
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sent = {}
        self.others = [self.add(f"ch_{i}") for i in range(1, streams)]
        if self.others:
            self.control.code(relay.STREAMS_SENT)

    def throw(self, blob):
        self.sock.sendto(blob, self.address)

    def calm(self, most=16 << 10):
        """Waits until the daemon has taken nearly all from its socket: a
        busy machine drops nothing that a test did not drop itself."""
        relay.wait_until("the daemon takes no datagrams",
                         lambda: queued(self.address[1]) <= most)

    def payload(self, seq, size=4000):
        block = hashlib.sha256(f"{self.path} {seq}".encode()).digest()
        return (block * (size // 32 + 1))[:size]

    def pieces(self, seq, size=4000, padding=96, resend=0, stream=None):
        return pieces(self.token, stream or self.stream, seq,
                      self.payload(seq, size), self.fragment, padding, resend)

    def announce(self, seq, size=4000, padding=96, stream=None, **fields):
        self.control.index(stream or self.stream, seq, size + padding,
                           content=size, **fields)

    def arrive(self, seq, size=4000, padding=96):
        """All of a packet, and the daemon has it whole: no gap begins."""
        for piece in self.pieces(seq, size, padding):
            self.throw(piece)
        self.wait_for(lambda: self.has(seq))

    def packet(self, size=4000, padding=96):
        self.arrive(self.seq, size, padding)
        self.announce(self.seq, size, padding)
        self.offsets.append(len(self.written))
        self.written += self.payload(self.seq, size) + bytes(padding)
        self.seq += 1

    def status(self, stream=relay.NONE):
        """stream -> (next, end, lost, [(seq, first, count)])"""
        code, count = struct.unpack(">II", self.control.ask(
            UDP_STATUS, struct.pack(">Q", stream), 8))
        equal(code, relay.OK, "UDP_STATUS")
        out = {}
        for _ in range(count):
            stream, first, end, lost, n = struct.unpack(
                ">QQQQI", self.control.read(36))
            out[stream] = (first, end, lost, [
                struct.unpack(">QII", self.control.read(16))
                for _ in range(n)])
        return out

    def state(self):
        return self.status(self.stream)[self.stream]

    def has(self, seq):
        """Is this packet whole?"""
        low, end, _, holes = self.state()
        return seq < low or seq < end and seq not in [h[0] for h in holes]

    def wait_for(self, what, seconds=relay.TIMEOUT):
        relay.wait_until(lambda: f"no change: {self.state()}", what, seconds)

    def numbers(self, where=None, size=4096):
        """packet_seq_num of each record, whose bytes are looked at."""
        where = where or self.dir
        blob = (where / "ch_0").read_bytes()
        found = []
        for offset, length, seq in relay.records(where / "index/ch_0.idx"):
            equal(length, size, "record's size")
            check(blob[offset:offset + 4000] == self.payload(seq),
                  f"packet {seq}: other bytes")
            found.append(seq)
        equal(len(blob), size * len(found), "bytes of whole packets")
        return found

    def losses(self, where=None):
        path = (where or self.dir) / ".loss.jsonl"
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text().splitlines()]

    def end(self):
        self.control.close()
        self.sock.close()


def figures(daemon):
    """udp_name=n of all workers, from the log of a daemon that has ended."""
    found = {}
    for name, n in re.findall(
            r"(udp_\w+)=(\d+)", "\n".join(
                line for line in daemon.log_text().splitlines()
                if "worker " in line)):
        found[name[4:]] = found.get(name[4:], 0) + int(n)
    return found


def trees_equal_those_over_tcp():
    """Whole packets of many sizes, in order, reordered and repeated."""
    sizes = [0, 1, 511, 512, 513, 1392, 1393, 4000, 65536, 70001, 300000]
    trees = []
    for way in ("tcp", "udp", "bad"):
        with relay.Daemon(UDP, "-v") as daemon:
            random.seed(way)
            if way == "tcp":
                s = relay.Session(daemon, "same")
            else:
                s = UdpSession(daemon, "same", window=128)
            packets = []
            for seq, size in enumerate(sizes * 3):
                payload = hashlib.sha512(b"%d" % seq).digest()
                payload = (payload * (size // 64 + 1))[:size]
                if way == "tcp":
                    s.data.packet(s.stream, seq, payload, seq % 9 + 1)
                else:
                    packets += pieces(s.token, s.stream, seq, payload,
                                      s.fragment, seq % 9 + 1)
            if way == "bad":
                packets += random.sample(packets, len(packets) // 10)
                packets = [p for _, p in sorted(
                    (i + random.random() * 60, p)
                    for i, p in enumerate(packets))]
            for i, blob in enumerate(packets):
                s.throw(blob)
                if i % 50 == 0:
                    s.calm()
            for seq, size in enumerate(sizes * 3):
                s.control.index(s.stream, seq, size + seq % 9 + 1,
                                content=size)
            s.seq = len(sizes) * 3
            s.control.metadata(s.meta, b"meta", 4092)
            s.wait_written()
            s.control.close_stream(s.stream, s.seq - 1)
            s.control.close_stream(s.meta)
            s.control.close()
            daemon.stop()
            trees.append(daemon.tree())
            if way == "bad":
                check(figures(daemon).get("duplicate", 0) +
                      figures(daemon).get("late", 0) > 0, "no duplicates")
    check(len(trees[0]) > 5, "an empty tree")
    equal(trees[1], trees[0], "UDP's tree")
    equal(trees[2], trees[0], "the tree of a channel that reorders")


def configuration_says_so():
    with relay.Daemon(UDP) as daemon:
        c = daemon.peer()
        bit = 1 << 63
        code, flags = struct.unpack(">IQ", c.ask(
            relay.GET_CONFIGURATION, struct.pack(">Q", bit), 12))
        equal((code, flags), (relay.OK, bit | 1), "GET_CONFIGURATION")
        code, flags = struct.unpack(">IQ", c.ask(
            relay.GET_CONFIGURATION, struct.pack(">Q", bit | 2), 12))
        equal(code, relay.PROTOCOL, "an unknown query")
        c.close()
    with relay.Daemon() as daemon:
        s = relay.Session(daemon)
        code, _ = struct.unpack(">IQ", s.control.ask(
            relay.GET_CONFIGURATION, struct.pack(">Q", bit), 12))
        equal(code, relay.PROTOCOL, "without UDP")
        equal(ask_for_udp(s.control)[0], relay.PROTOCOL, "UDP_OPEN")
        s.packet()
        s.finish()


def wishes_are_lowered_or_refused():
    with relay.Daemon(UDP) as daemon:
        s = relay.Session(daemon, "a")
        for bad in ({"version": 2}, {"fragment": 511}):
            equal(ask_for_udp(s.control, **bad)[0], relay.INVALID, str(bad))
        code, _, fragment, window, size, flags, token = ask_for_udp(
            s.control, 100_000, 1 << 30, flags=0xff)
        equal((code, fragment, window, flags), (relay.OK, 65000, 16384, 1),
              "the largest wishes")
        check(size == 64 << 20, "window bytes")
        check(token != bytes(16), "no token")
        equal(ask_for_udp(s.control)[0], relay.INVALID, "a second time")
        s.control.close()
        s = relay.Session(daemon, "b")
        s.packets(1)
        equal(ask_for_udp(s.control)[0], relay.INVALID, "after a packet")
        s.finish()
        s = relay.Session(daemon, "c", snapshot=1)
        equal(ask_for_udp(s.control)[0], relay.INVALID, "a snapshot")
        s.control.close()
        s = UdpSession(daemon, "d", fragment=0, window=0)
        equal((s.fragment, s.window), (1392, 64), "defaults")
        data = daemon.data()
        data.packet(s.stream, 0, b"x" * 100)
        data.ends()
        s.packet()
        s.finish()


def lies_change_nothing():
    """Forged, cut, replayed, foreign, contradicting: counted by cause."""
    with relay.Daemon(UDP, "-v", workers=2) as daemon:
        good = UdpSession(daemon, "good")
        other = UdpSession(daemon, "other")
        first, rest = good.pieces(0)[0], good.pieces(0)[1:]
        args = good.token, good.stream, 0, good.payload(0)[:1392], 4000, 0
        forged = datagram(bytes(16), *args[1:], 96)
        foreign = datagram(other.token, *args[1:], 96)
        good.throw(forged)
        good.throw(foreign)
        good.throw(datagram(*args, 96, crc=12345))
        good.throw(first[:-1])                               # checksum
        good.throw(datagram(*args[:3], b"x" * 1391, 4000, 0, 96))  # figures
        good.throw(datagram(*args[:3], b"x" * 1392, 4000, 1, 96))  # figures
        good.throw(datagram(*args[:3], b"x" * 1392, 1 << 31, 0))   # figures
        good.throw(datagram(*args[:3], b"x" * 1392, 1400,
                            4294966288 // 1392 * 1392))            # figures
        good.throw(b"")
        good.throw(b"x")
        good.throw(first[:55])
        good.throw(datagram(*args, magic=1))
        good.throw(datagram(*args, version=2))
        good.throw(datagram(*args, header_size=55))
        good.throw(datagram(*args, header_size=65535))
        unknown = datagram(good.token, good.stream ^ 1 << 40, *args[2:])
        good.throw(unknown)
        good.throw(datagram(good.token, good.meta, *args[2:]))
        good.throw(datagram(good.token, good.stream | 0xff, *args[2:]))
        good.throw(datagram(*args[:2], 1 << 40, *args[3:]))        # figures
        good.throw(first)
        good.throw(datagram(good.token, good.stream, 0, b"x" * 1392, 5000,
                            1392, 96))                       # contradiction
        good.throw(first)                                    # duplicate
        for piece in rest:
            good.throw(piece)
        good.announce(0)
        good.seq, good.written = 1, good.payload(0) + bytes(96)
        good.offsets.append(0)
        good.wait_written()
        good.throw(first)                                    # late
        good.packets(1)
        other.packet()
        good.finish()
        other.finish()
        daemon.stop()
        got = figures(daemon)
        want = dict(token=2, checksum=2, figures=5, malformed=7, stream=3,
                    contradiction=1, duplicate=1, late=1, taken=9)
        equal({k: got.get(k) for k in want}, want, "figures")
        for secret in (good.token, other.token):
            check(secret.hex() not in daemon.log_text(), "a token is logged")


def a_gap_ends_in_time():
    """Other streams and later packets do not wait for a lost one."""
    with relay.Daemon(UDP, "-v") as daemon:
        s = UdpSession(daemon, streams=2)
        began = time.monotonic()
        s.throw(s.pieces(0)[1])  # a piece of it: still missing
        for seq in (1, 2):
            for piece in s.pieces(seq):
                s.throw(piece)
        for seq in (0, 1, 2):
            s.announce(seq)
        for piece in s.pieces(0, stream=s.others[0]):
            s.throw(piece)
        s.announce(0, stream=s.others[0])
        s.wait_for(lambda: s.status(s.others[0])[s.others[0]][0] == 1, 4.5)
        equal(s.state()[:3], (0, 3, 0), "before the timeout")
        equal(s.state()[3], [(0, 0, 1), (0, 2, 1)], "what is missing")
        s.wait_for(lambda: s.state()[0] == 3)
        took = time.monotonic() - began
        check(4.9 < took < 9.5, f"the gap took {took:.3f} s")
        equal(s.state(), (3, 3, 1, []), "after the timeout")
        equal(s.control.pending(s.stream, 2), 0, "DATA_PENDING")
        equal(s.numbers(), [1, 2], "packets")
        lost = s.losses()
        equal([(x["stream"], x["first"], x["lost"], x["announced"], x["why"])
               for x in lost], [("ch_0", 0, 1, 1, "timeout")], "loss log")
        for piece in s.pieces(0) + s.pieces(3):
            s.throw(piece)
        s.announce(3)
        s.wait_for(lambda: s.state()[0] == 4)
        s.end()
        daemon.stop()
        equal(daemon.log_text().count(" gap: 1 packets from number 0 "), 1,
              "lines about the gap")
        equal(figures(daemon).get("late"), 3, "late pieces")
        check("gaps=1 lost=1" in daemon.log_text(), "no figures")


def a_slow_sender_loses_nothing():
    """It pauses in the midst of a packet for longer than a gap may last."""
    with relay.Daemon(UDP) as daemon:
        s = UdpSession(daemon, gap_us=20_000)
        for seq in range(3):
            for piece in s.pieces(seq):
                s.throw(piece)
                time.sleep(0.1)
            s.wait_for(lambda: s.has(seq))
            s.announce(seq)
        s.wait_for(lambda: s.state()[0] == 3)
        equal(s.numbers(), [0, 1, 2], "packets")
        equal(s.losses(), [], "loss log")


def a_gap_behind_a_slow_packet_ends_in_time():
    """Packet 0 grows, packet 1 is missing from the beginning."""
    with relay.Daemon(UDP) as daemon:
        s = UdpSession(daemon)
        first, began = s.pieces(0), time.monotonic()
        s.throw(first[0])
        for piece in s.pieces(2):
            s.throw(piece)
        for seq in range(3):
            s.announce(seq)
        for at, piece in (2.6, first[1]), (5.2, first[2]):
            time.sleep(max(0, began + at - time.monotonic()))
            s.throw(piece)
        s.wait_for(lambda: s.state()[0] == 3)
        took = time.monotonic() - began
        check(took < 9.5, f"given up after {took:.1f} s")
        equal(s.numbers(), [0, 2], "packets")


def one_gap_after_the_other_ends_in_time():
    """Without requests: the daemon wakes up by itself."""
    with relay.Daemon(UDP, workers=1) as daemon:
        s = UdpSession(daemon, gap_us=300_000)
        for seq in 1, 3, 5, 7:
            s.arrive(seq)
        for seq in range(8):
            s.announce(seq)
        index = s.dir / "index/ch_0.idx"
        until = time.monotonic() + relay.TIMEOUT
        while not index.exists() or index.stat().st_size < 16 + 4 * 72:
            check(time.monotonic() < until, "nobody gives the gaps up")
            time.sleep(0.02)
        equal(s.numbers(), [1, 3, 5, 7], "packets")


def the_last_of_a_burst_is_lost():
    """Known by its index, by DATA_PENDING, or by CLOSE_STREAM only."""
    with relay.Daemon(UDP, "-v") as daemon:
        s = UdpSession(daemon, gap_us=200_000)
        s.packet()
        began = time.monotonic()
        s.announce(1)
        while s.control.pending(s.stream, 1) != 0:
            check(time.monotonic() - began < relay.TIMEOUT, "held for too long")
            time.sleep(0.005)
        check(time.monotonic() - began > 0.15, "given up too early")
        began = time.monotonic()
        equal(s.control.pending(s.stream, 2), 1, "of which nothing came")
        while s.control.pending(s.stream, 2) != 0:
            check(time.monotonic() - began < relay.TIMEOUT, "held for too long")
            time.sleep(0.005)
        equal(s.state(), (3, 3, 2, []), "state")
        began = time.monotonic()
        s.control.close_stream(s.stream, 3)
        while s.status():
            check(time.monotonic() - began < relay.TIMEOUT,
                  "the stream stays open")
            time.sleep(0.005)
        check(time.monotonic() - began > 0.15, "closed too early")
        equal([x["first"] for x in s.losses()], [1, 2, 3], "loss log")
        equal(s.numbers(), [0], "packets")
        s.end()


def the_end_of_control_waits_for_what_is_under_way():
    with relay.Daemon(UDP, "-v") as daemon:
        s = UdpSession(daemon)
        s.announce(0)
        s.announce(1)
        s.control.close()
        time.sleep(0.1)
        for piece in s.pieces(0):
            s.throw(piece)
        daemon.wait_log("session ended")
        equal(s.numbers(), [0], "packets")
        equal([x["first"] for x in s.losses()], [1], "loss log")


def an_ordered_end_takes_what_arrived():
    """The socket holds more than a turn takes."""
    size, arrived = 60_000, []
    with relay.Daemon(UDP, "--workers=1") as daemon:
        s = UdpSession(daemon, fragment=size)
        for seq in range(60):
            s.announce(seq, size, 0)
        daemon.pause()
        for seq in range(60):
            before = queued(s.address[1])
            s.throw(s.pieces(seq, size, 0)[0])
            if queued(s.address[1]) == before:
                break
            arrived.append(seq)
        daemon.process.send_signal(signal.SIGTERM)
        daemon.resume()
        daemon.wait_for_end()
        equal(s.numbers(size=size), arrived, "packets")


def live_viewers_go_on():
    """Past a lost packet in the middle, and past a lost last one to the
    beacons after it; another stream meanwhile is not held."""
    with relay.Daemon(UDP, "-v") as daemon:
        s = UdpSession(daemon, "live", streams=2, live=200_000)
        s.control.metadata(s.meta, b"metadata")
        v, _, streams = viewer.attached(daemon, "live", count=3)
        mine, other = (next(x.id for x in streams if x.channel == c)
                       for c in ("ch_0", "ch_1"))
        seqs = {mine: [0, 2, 3], other: [0, 1, 2, 3]}
        began, shown = time.monotonic(), {}
        for seq in range(5):
            for handle, ident in ((s.stream, mine), (s.others[0], other)):
                if seq in seqs[ident]:
                    for piece in s.pieces(seq, stream=handle):
                        s.throw(piece)
                if seq < 4 or ident == mine:
                    s.announce(seq, stream=handle, begin=1000 * seq + 1,
                               end=1000 * seq + 999)
        for ident in (other, mine):
            got = []
            while len(got) < len(seqs[ident]):
                check(time.monotonic() < began + 40, f"viewer has {got}")
                i = v.next_index(ident)
                if i.status == viewer.OK:
                    got.append(i.begin // 1000)
            equal(got, seqs[ident], "packets shown")
            shown[ident] = time.monotonic() - began
        check(shown[other] < 4.5, f"the other after {shown[other]:.3f} s")
        check(4.9 < shown[mine], f"shown after {shown[mine]:.3f} s")
        while True:
            s.control.index(s.stream, 5, 0, end=9000)
            i = v.next_index(mine)
            if i.status == viewer.INACTIVE and i.end == 9000:
                break
            check(time.monotonic() < began + 40, "no beacon after the loss")
        equal([x["first"] for x in s.losses()], [1, 4], "loss log")
        v.close()
        s.end()


def rotations_do_not_wait_for_lost_packets():
    with relay.Daemon(UDP, "-v") as daemon:
        s = UdpSession(daemon, gap_us=200_000)
        s.packet()
        s.announce(1)
        s.control.next_chunk(1, 0, (s.stream, 2), (s.meta, 0))
        began = time.monotonic()
        while s.control.chunk_exists(0) != (relay.OK, 0):
            check(time.monotonic() - began < relay.TIMEOUT, "chunk 0 stays")
            time.sleep(0.005)
        archive = next((daemon.out / s.path / "archives").iterdir())
        equal(s.numbers(archive / "ust/uid/0/64-bit"), [0], "archived")
        equal([x["first"] for x in s.losses(archive / "ust/uid/0/64-bit")],
              [1], "loss log of the archive")
        s.arrive(2)
        s.announce(2)
        s.wait_for(lambda: s.state()[0] == 3)
        s.end()


def a_clear_takes_the_loss_log_away():
    with relay.Daemon(UDP) as daemon:
        s = UdpSession(daemon, gap_us=50_000)
        s.announce(0)
        s.wait_for(lambda: s.state()[0] == 1)
        equal(len(s.losses()), 1, "loss log")
        s.control.next_chunk(1, 2, (s.stream, 1), (s.meta, 0))
        s.control.wait_gone(0)
        equal(s.losses(), [], "loss log")
        left = [str(p) for p in daemon.out.rglob(".loss.jsonl")]
        equal(left, [], "loss logs")
        s.end()


def full_windows_lose_the_oldest():
    with relay.Daemon(UDP, "-v") as daemon:
        s = UdpSession(daemon, window=8)
        for seq in range(1, 9):
            for piece in s.pieces(seq):
                s.throw(piece)
        s.wait_for(lambda: s.state()[0] >= 1)
        for seq in range(9):
            s.announce(seq)
        s.wait_for(lambda: s.state()[0] == 9)
        equal(s.numbers(), list(range(1, 9)), "packets")
        equal([(x["first"], x["why"]) for x in s.losses()],
              [(0, "the window is full")], "loss log")
        s.end()


def announce_all(session, numbers):
    """Their answers are not read."""
    session.control.send(b"".join(
        relay.frame(relay.SEND_INDEX, relay.index_request(
            session.stream, seq, 4096, content=4000)) for seq in numbers))


def bad_channel(drop, resend, count=2000, depth=32):
    """COUNT packets of 3 pieces each; exactly those that lost a piece are
    missing, or none if pieces are sent again."""
    rng = random.Random(f"{drop} {resend}")
    with relay.Daemon(UDP, "-v") as daemon:
        s = UdpSession(daemon, flags=RESENDS if resend else 0, window=64)
        hit, pending, announced = set(), [], 0
        for seq in range(count):
            for blob in s.pieces(seq):
                if rng.random() < drop:
                    hit.add(seq)
                    continue
                pending.append((3 * seq + rng.random() * depth, blob))
                if rng.random() < 0.01:
                    pending.append((3 * seq + rng.random() * depth, blob))
        pending.sort()
        for i, (place, blob) in enumerate(pending):
            s.throw(blob)
            if i % 64 == 0:
                s.calm()
                # Those of which nothing is still to be sent.
                upto = max(0, int(place - depth) // 3)
                announce_all(s, range(announced, upto))
                announced = max(announced, upto)
        announce_all(s, range(announced, count))
        s.control.read(4 * count)
        until = time.monotonic() + 60
        while resend:
            low, end, lost, holes = s.state()
            if low == count:
                break
            check(time.monotonic() < until, f"at {low} of {count}")
            for seq, first, n in holes:
                for blob in s.pieces(seq, resend=1)[first:][:n]:
                    if rng.random() >= drop:
                        s.throw(blob)
            time.sleep(0.01)
        while s.control.pending(s.stream, count - 1) != 0:
            check(time.monotonic() < until, f"still pending: {s.state()}")
            time.sleep(0.005)
        equal(s.state()[2], 0 if resend else len(hit), "lost")
        got = s.numbers()
        equal(got, [n for n in range(count) if resend or n not in hit],
              "packets")
        lost = [n for x in s.losses()
                for n in range(x["first"], x["first"] + x["lost"])]
        equal(lost, [] if resend else sorted(hit), "loss log")
        s.end()
        daemon.stop()
        if resend and hit:
            check(figures(daemon).get("resent", 0) > 0, "nothing was resent")


def loss_of_0_1_percent():
    bad_channel(0.001, False)


def loss_of_1_percent():
    bad_channel(0.01, False)


def loss_of_10_percent():
    bad_channel(0.1, False)


def resends_after_0_1_percent():
    bad_channel(0.001, True)


def resends_after_1_percent():
    bad_channel(0.01, True)


def resends_after_10_percent():
    bad_channel(0.1, True)


def memory_is_bounded():
    """Packets of which one piece is always missing, until long after the
    limit; a stream of another session goes on."""
    quarantine = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") +
                  ":quarantine_size_mb=1"}
    with relay.Daemon(UDP, "-v", "--max-memory", "64M",
                      env=quarantine) as daemon, \
            relay.bystander(daemon) as good:
        s = UdpSession(daemon, "never", fragment=60000, flags=RESENDS)
        equal(s.window_bytes, 16 << 20, "a quarter of --max-memory")
        before, most = daemon.rss(), 0
        payload = bytes(60000)
        for seq in range(600):
            for i in range(3):
                s.throw(datagram(s.token, s.stream, seq, payload, 240000,
                                 60000 * i))
                s.calm()
            if seq % 20 == 0:
                most = max(most, daemon.rss())
                s.state()
                good.packet()
        most = max(most, daemon.rss()) - before
        low, end, lost, _ = s.state()
        equal((end, lost), (600, low), "state")
        check(low > 400, f"{low} given up")
        # A sanitizer has its own for each allocation.
        slack = (60 if relay.has_sanitizer("address") else 4) << 20
        check(most < (20 << 20) + slack, f"{most} bytes")
        equal(s.losses()[0]["why"], "memory", "loss log")
        s.end()


def what_the_kernel_drops_is_counted():
    """The daemon stands still until its socket is full."""
    with relay.Daemon(UDP, "-v") as daemon:
        s = UdpSession(daemon, flags=RESENDS)
        daemon.pause()
        for seq in range(30000):
            s.throw(s.pieces(seq % 100)[0])
        daemon.resume()
        s.calm()
        for seq in range(100):
            for piece in s.pieces(seq):
                s.throw(piece)
            s.calm()
            s.announce(seq)
        s.wait_for(lambda: s.state()[0] == 100)
        equal(s.numbers(), list(range(100)), "packets")
        s.end()
        daemon.stop()
        got = figures(daemon)
        check(got.get("kernel", 0) > 0, f"figures: {got}")
        equal(got["kernel"] + got["taken"] + got.get("duplicate", 0) +
              got.get("late", 0), 30000 + 300, "datagrams")


def send_merged(sessions):
    """Ten packets of each in messages of many datagrams, which the kernel
    steers by the first. False: it cannot merge."""
    merges = True
    for _ in range(10):
        blobs = [s.pieces(s.seq, 1000, 3096)[0] for s in sessions]
        try:
            sessions[0].sock.sendmsg(
                [b"".join(blobs)], [(socket.IPPROTO_UDP, UDP_SEGMENT,
                                     struct.pack("=H", len(blobs[0])))],
                0, sessions[0].address)
        except OSError:
            merges = False
            for blob in blobs:
                sessions[0].throw(blob)
        for s in sessions:
            s.announce(s.seq, 1000, 3096)
            s.offsets.append(len(s.written))
            s.written += s.payload(s.seq, 1000) + bytes(3096)
            s.seq += 1
    return merges


def workers_get_what_is_theirs():
    """Sessions of several workers, all from one socket."""
    with relay.Daemon(UDP, "-v", workers=4) as daemon:
        sessions = [UdpSession(daemon, f"s{i}") for i in range(8)]
        for s in sessions:
            s.sock = sessions[0].sock
        check(len({s.stream & 0xff for s in sessions}) == 4, "placement")
        for _ in range(20):
            for s in sessions:
                s.packet()
        merged = send_merged(sessions)
        for s in sessions:
            s.finish()
        daemon.stop()
        equal(figures(daemon)["taken"], 8 * (20 * 3 + 10), "figures")
        if merged:
            check(figures(daemon).get("forwarded", 0) > 0, "none handed on")


def babeltrace2_reports_the_gap():
    with relay.Daemon(UDP, "-v") as daemon:
        s = UdpSession(daemon)
        s.control.metadata(s.meta, ctf.METADATA)
        for seq in range(6):
            packet = ctf.packet(seq)
            s.control.index(s.stream, seq, len(packet), begin=1000 * seq,
                            end=1000 * seq + 10)
            if seq not in (2, 3):
                s.throw(datagram(s.token, s.stream, seq, packet, len(packet),
                                 0))
        s.wait_for(lambda: s.state()[0] == 6)
        s.control.close_stream(s.meta)
        s.control.close_stream(s.stream, 5)
        s.end()
        found = ctf.read(s.dir)
        if found is not None:
            equal(found[0], [0, 1, 4, 5], "events")
            check("Tracer discarded 2 packets" in found[1],
                  "babeltrace2 says: " + found[1])
        # One gap, or two: each number has its own time.
        equal([n for x in s.losses()
               for n in range(x["first"], x["first"] + x["lost"])], [2, 3],
              "loss log")


if __name__ == "__main__":
    sys.exit(relay.main(at_once=4))
