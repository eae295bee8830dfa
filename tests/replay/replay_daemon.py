#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recorded sessions against the daemon: real sockets, real trees.

Each vector whole, in writes of one byte, and 50 times with every connection
cut in two at a seeded place. Every reply is compared, and then the tree.
Arguments: vectors, all if none.
"""
import random
import shutil
import struct
import sys
import time

import relay

VECTORS = ["simple", "live", "perpid", "tracefile", "snapshot", "clear-first",
           "rotate-clear"]
CUTS = 50

# Where a request names a stream (h) or a session (s), by offset in its payload.
IDS = {relay.SEND_METADATA: "h", relay.CLOSE_STREAM: "h",
       relay.DATA_PENDING: "h", relay.QUIESCENT_CONTROL: "h",
       relay.BEGIN_DATA_PENDING: "s", relay.END_DATA_PENDING: "s",
       relay.SEND_INDEX: "h", relay.RESET_METADATA: "h"}
SIZES = {relay.ADD_STREAM: 12, relay.VERSION: 8, relay.SEND_METADATA: 0,
         relay.CHUNK_EXISTS: 5, relay.GET_CONFIGURATION: 12}

# "Is there still ...?"
POLLED = {relay.DATA_PENDING, relay.CHUNK_EXISTS}


def requests(stream):
    """(offset, size with header, command)"""
    at = 0
    while at < len(stream):
        size, command = struct.unpack_from(">QI", stream, at + 8)
        yield at, 24 + size, command
        at += 24 + size


def reply_size(command, replies, at):
    if command == relay.CREATE_SESSION:
        return 16 + struct.unpack_from(">I", replies, at + 12)[0]
    if command == relay.CLOSE_CHUNK:
        return 8 + struct.unpack_from(">I", replies, at + 4)[0]
    return SIZES.get(command, 4)


def id_fields(stream, is_data):
    """(kind, offset) of every id that the peer sends."""
    if is_data:
        at = 0
        while at < len(stream):
            yield "h", at + 8
            at += 32 + struct.unpack_from(">I", stream, at + 24)[0]
        return
    for at, size, command in requests(stream):
        if command == relay.ROTATE_STREAMS:
            count = struct.unpack_from(">I", stream, at + 24)[0]
            first = at + size - 16 * count
            yield from (("h", first + 16 * i) for i in range(count))
        elif command in IDS:
            yield IDS[command], at + 24


class Wire:
    """One recorded connection: what it says and what must come back."""

    def __init__(self, folder, name):
        self.name = name
        self.is_data = name.startswith("data")
        self.sent = (folder / f"{name}.c2s.bin").read_bytes()
        self.ids = list(id_fields(self.sent, self.is_data))
        self.replies = []  # (end of its bytes, command, bytes, request)
        if self.is_data:
            return
        replies, at = (folder / f"{name}.s2c.bin").read_bytes(), 0
        for begin, asked, command in requests(self.sent):
            size = reply_size(command, replies, at)
            if size > 0:
                self.replies.append((at + size, command,
                                     replies[at:at + size],
                                     slice(begin, begin + asked)))
            at += size
        relay.equal(at, len(replies), "recorded replies")


class Vector:
    def __init__(self, name):
        folder = relay.VECTORS / name
        self.name = name
        with open(folder / "timeline.tsv") as f:
            self.rows = [line.split() for line in f][1:]
        self.wires = {w: Wire(folder, w) for w in {r[1] for r in self.rows}}
        own = relay.SOURCE / f"tests/replay/{name}.tree"
        with open(own if own.exists() else folder / "expected-tree.txt") as f:
            self.tree = dict(tree_line(line) for line in f)

    def fields(self, conn, low, high):
        return [f for f in self.wires[conn].ids if low <= f[1] < high]


def tree_line(line):
    first, *rest = line.split(maxsplit=1 if line.startswith("dir") else 2)
    if first == "dir":
        return rest[0].strip(), None
    return rest[1].strip(), (first, int(rest[0]))


class Replay:
    def __init__(self, vector, daemon, send):
        self.vector = vector
        self.daemon = daemon
        self.send = send
        self.ids = {}
        self.open = {}
        self.next_reply = {}
        self.translated = {}

    def run(self):
        for _, conn, event, offset, length in self.vector.rows:
            low, high = int(offset), int(offset) + int(length)
            wire = self.vector.wires[conn]
            if event == "open":
                self.open[conn] = (self.daemon.data() if wire.is_data
                                   else self.daemon.control())
                self.next_reply[conn] = 0
            elif event == "c2s":
                self.send(self.open[conn], conn,
                          self.translate(wire, low, high), low)
            elif event == "s2c":
                self.answers(wire, high)
            elif event == "c2s-fin" and conn in self.open:
                self.open.pop(conn).close()
        for conn in self.open.values():
            conn.close()

    def translate(self, wire, low, high):
        out = self.translated.setdefault(wire.name, bytearray(wire.sent))
        for kind, at in self.vector.fields(wire.name, low, high):
            recorded = struct.unpack_from(">Q", wire.sent, at)[0]
            struct.pack_into(">Q", out, at,
                             self.ids.get((kind, recorded), recorded))
        return bytes(out[low:high])

    def answers(self, wire, end):
        while self.next_reply[wire.name] < len(wire.replies):
            upto, command, want, request = \
                wire.replies[self.next_reply[wire.name]]
            if upto > end:
                return
            self.next_reply[wire.name] += 1
            got = self.read(self.open[wire.name], command)
            if command in POLLED and want[-1] == 0:
                got = self.poll(wire.name, command, request, got)
            self.compare(wire.name, command, want, got)

    def poll(self, name, command, request, got):
        """A peer asks on until it is so: what follows builds on it."""
        until = time.monotonic() + relay.TIMEOUT
        while got[-1] == 1 and time.monotonic() < until:
            time.sleep(0.002)
            self.open[name].send(bytes(self.translated[name][request]))
            got = self.read(self.open[name], command)
        return got

    def read(self, conn, command):
        if command == relay.CREATE_SESSION:
            head = conn.read(16)
        elif command == relay.CLOSE_CHUNK:
            head = conn.read(8)
        else:
            return conn.read(SIZES.get(command, 4))
        return head + conn.read(struct.unpack(">I", head[-4:])[0])

    def compare(self, name, command, want, got):
        what = f"{name}: reply to command {command}"
        if command in (relay.ADD_STREAM, relay.CREATE_SESSION):
            kind = "h" if command == relay.ADD_STREAM else "s"
            self.ids[kind, struct.unpack_from(">Q", want)[0]] = \
                struct.unpack_from(">Q", got)[0]
            relay.equal(got[8:], want[8:], what)
        elif command == relay.VERSION:
            relay.equal(got, struct.pack(">II", 2, 15), what)
        elif command in (relay.DATA_PENDING, relay.END_DATA_PENDING):
            relay.check(got[:3] == b"\0\0\0" and got[3] <= 1,
                        f"{what}: {got.hex()}")
        elif command == relay.CHUNK_EXISTS:
            relay.equal(got[:4], want[:4], what)
            relay.check(got[4] <= 1, what)
        elif command == relay.CLOSE_CHUNK and got != want:
            self.first_archive(want, got, what)
        else:
            relay.equal(got, want, what)

    def first_archive(self, want, got, what):
        """streaming 9.20: we name the archive, not the session."""
        session = want[8:-1] + b"/archives/"
        archives = [name for name in self.vector.tree
                    if name.encode().startswith(session)]
        relay.equal(got[:4], want[:4], what)
        path = got[8:-1].decode() + "/"
        relay.check(path in archives and path.endswith("-0/"),
                    f"{what}: {path}")


def whole(conn, _name, blob, _at):
    conn.send(blob)


def bytewise(conn, _name, blob, _at):
    for i in range(len(blob)):
        conn.send(blob[i:i + 1])


def cutter(vector, seed):
    rng = random.Random(f"{vector.name} {seed}")
    cuts = {w.name: rng.randrange(1, len(w.sent))
            for w in vector.wires.values()}

    def send(conn, name, blob, at):
        cut = cuts[name] - at
        if 0 < cut < len(blob):
            conn.send(blob[:cut])
            time.sleep(0.002)
            blob = blob[cut:]
        conn.send(blob)
    return send


def settle(vector, daemon, what):
    """What is left must become the expected tree, and nothing else."""
    until = time.monotonic() + relay.TIMEOUT
    while daemon.tree() != vector.tree and time.monotonic() < until:
        time.sleep(0.002)
    differ(vector.tree, daemon.tree(), what)


def differ(want, got, what):
    lines = [f"{name}: got {got.get(name, 'nothing')}, "
             f"want {want.get(name, 'nothing')}"
             for name in sorted(set(want) | set(got))
             if want.get(name, 0) != got.get(name, 0)]
    relay.check(not lines, f"{what}: tree differs\n  " + "\n  ".join(lines))


def replay(vector):
    with relay.Daemon() as daemon:
        variants = [("whole", whole), ("bytewise", bytewise)]
        variants += [(f"cut {seed}", cutter(vector, seed))
                     for seed in range(CUTS)]
        for what, send in variants:
            try:
                Replay(vector, daemon, send).run()
            except relay.Failed as e:
                raise relay.Failed(f"{what}: {e}")
            settle(vector, daemon, what)
            for entry in daemon.out.iterdir():
                if entry.is_dir():
                    shutil.rmtree(entry)
        relay.check(" error " not in daemon.log_text(), daemon.log_text())


def case(name):
    def run():
        replay(Vector(name))
    run.__name__ = name
    return run


if __name__ == "__main__":
    sys.exit(relay.run([case(n) for n in sys.argv[1:] or VECTORS]))
