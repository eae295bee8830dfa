#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Seeds for fuzz_interleave, fuzz_index and fuzz_recovery: seed_store.py VECTORS
CORPUS

Recorded sessions in timeline order, handles as a sequence of ids gives them
out, the first kilobytes of each; index files, two synthetic ones; and what
recoveries find, with journals of each kind.
"""
import pathlib
import struct
import sys

WIRES = {"ctl": 0, "ctl2": 1, "data": 2, "data2": 3}
LARGEST = 12288
BY_HANDLE = {6, 7, 8, 9, 13, 17}


def shift(stream, at):
    handle = struct.unpack_from(">Q", stream, at)[0]
    struct.pack_into(">Q", stream, at, handle << 8)


def translated(folder, wire):
    stream, at = bytearray((folder / f"{wire}.c2s.bin").read_bytes()), 0
    while at < len(stream):
        if wire.startswith("data"):
            shift(stream, at + 8)
            at += 32 + struct.unpack_from(">I", stream, at + 24)[0]
            continue
        size, command = struct.unpack_from(">QI", stream, at + 8)
        if command == 18:
            count = struct.unpack_from(">I", stream, at + 24)[0]
            for i in range(count):
                shift(stream, at + 24 + size - 16 * (count - i))
        elif command in BY_HANDLE:
            shift(stream, at + 24)
        at += 24 + size
    return stream


def pieces(wire, blob):
    out = b""
    for at in range(0, len(blob), 255):
        piece = blob[at:at + 255]
        out += bytes([WIRES[wire], len(piece)]) + piece
    return out


def interleaved(folder):
    out, streams = b"", {}
    for line in (folder / "timeline.tsv").read_text().splitlines()[1:]:
        _, wire, event, offset, length = line.split()
        if event not in ("c2s", "c2s-fin"):
            continue
        if wire not in streams:
            streams[wire] = translated(folder, wire)
        out += pieces(
            wire, streams[wire][int(offset):int(offset) + int(length)])
        if event == "c2s-fin":
            out += bytes([WIRES[wire] | 4, 0])
        if len(out) > LARGEST:
            break
    return out


def request(command, payload=b""):
    return struct.pack(">QQII", 0, len(payload), command, 0) + payload


def of_2_1():
    """A session without names, chunks and indexes, which nobody recorded."""
    handles = [n << 8 for n in (1, 2)]
    control = request(5, struct.pack(">II", 2, 1)) + request(2)
    for channel in b"c_0", b"metadata":
        control += request(1, channel.ljust(264, b"\0")
                           + b"/h/s-date/ust/".ljust(4096, b"\0"))
    packet = struct.pack(">QQQII", 0, handles[0], 0, 40, 8) + bytes(40)
    control += request(6, struct.pack(">QI", handles[1], 4) + b"text")
    asks = request(10, struct.pack(">Q", 1))
    asks += request(8, struct.pack(">QQ", handles[0], 0))
    asks += request(9, struct.pack(">Q", handles[1]))
    asks += request(11, struct.pack(">Q", 1))
    for handle, last in zip(handles, (0, 2 ** 64 - 1)):
        asks += request(7, struct.pack(">QQ", handle, last))
    return (pieces("ctl", control) + pieces("data", packet)
            + pieces("ctl", asks) + bytes([WIRES["ctl"] | 4, 0]))


def resumed(is_taken):
    """A session that another connection continues: it is taken from the first
    one, or was left by it."""
    def begin(wire, first):
        names = [b"s\0", b"h\0", b"\0"]
        blob = request(5, struct.pack(">II", 2, 13)) + request(10003, b"k" * 16)
        blob += request(2, struct.pack(
            ">IIIIBB16sQQBQ", *map(len, names), 1000, 0, 0, b"u" * 16, 0,
            1_800_000_000, 0, 0) + b"".join(names))
        blob += request(19, struct.pack(">QQI", 0, 1_800_000_000, 0))
        for channel in b"c_0\0", b"metadata\0":
            blob += request(1, struct.pack(
                ">IIQQQ", len(channel), 4, 0, 0, 0) + channel + b"ust\0")
        blob += request(16)
        for handle in first, first + 1:
            blob += request(10004, struct.pack(">Q", handle << 8))
        return pieces(wire, blob)

    def packets(control, data, handle, *numbers):
        blob = request(6, struct.pack(">QI", handle + 1 << 8, 0) + b"text")
        out = b""
        for i, number in enumerate(numbers):
            out += pieces(data, struct.pack(
                ">QQQII", 0, handle << 8, i, 40, 0) + bytes(40))
            blob += request(13, struct.pack(
                ">10Q", handle << 8, i, 320, 320, number, number, 0, 0, 0,
                number))
        return out + pieces(control, blob)

    out = begin("ctl", 1) + packets("ctl", "data", 1, 0, 1)
    if not is_taken:
        out += bytes([WIRES["data"] | 4, 0, WIRES["ctl"] | 4, 0])
    out += begin("ctl2", 3)
    if is_taken:
        out += packets("ctl", "data", 1, 2)
    out += packets("ctl2", "data2", 3, 2, 3)
    return out + bytes([WIRES["ctl2"] | 4, 0])


HEAD, ROOT, MORE, FILE = 1, 2, 3, 4
MAGIC = 0x54504a32
PACKET = 100


def slot(kind, root=0, following=0, length=0, rest=b""):
    return (struct.pack("<IIII", kind, root, following, length)
            + rest).ljust(128, b"\0")


def index_file(records):
    return struct.pack(">IIII", 0xC1F1DCC1, 1, 1, 72) + b"".join(
        struct.pack(">9Q", n * PACKET, 8 * PACKET, 8 * PACKET, n, n, 0, 0, 0,
                    n) for n in range(records))


def file_slot(number, length, synced):
    """Of file NUMBER, born when it was."""
    return slot(FILE, 1, rest=struct.pack("<4QI", number, length, synced, 1,
                                          number in (1, 3)))


def recovered(is_of_this_boot, sync, packets, records, path=b"h/s"):
    """Two pairs of files that are longer than their lengths in the journal."""
    out = bytes([is_of_this_boot])
    for n in range(6):
        index = index_file(records) + b"t" * 9 if n in (1, 3) else b""
        size = len(index) or PACKET * packets + 7
        index = index[:255]
        out += struct.pack("<BH", len(index), size) + index
    head = struct.pack("<II", MAGIC, sync) + b"0" * 36
    out += slot(HEAD, rest=head) + slot(ROOT, 2, 2, 1, path[:1])
    out += slot(MORE, 0, 0, len(path) - 1, path[1:])
    for n, most in (0, PACKET), (1, 72), (2, PACKET), (3, 72), (4, 1), (5, 1):
        head = 16 if n in (1, 3) else 0
        out += file_slot(n, head + most * packets, max(head + most * (packets - 1), 0))
    return out


def recoveries():
    for boot in 0, 1:
        for sync in 0, 1, 2:
            yield f"2-{boot}-{sync}", recovered(boot, sync, 3, 3)
    yield "ahead", recovered(0, 0, 2, 3)
    yield "no-header", recovered(1, 0, 0, 0)
    yield "outside", recovered(1, 0, 1, 1, b"h/../..")
    yield "link", recovered(1, 0, 1, 1, b"h/link")
    yield "nothing", b""


def main(vectors, corpus):
    recovery = pathlib.Path(corpus) / "recovery"
    recovery.mkdir(exist_ok=True)
    for name, blob in recoveries():
        (recovery / name).write_bytes(blob)
    interleave = pathlib.Path(corpus) / "interleave"
    index = pathlib.Path(corpus) / "index"
    interleave.mkdir(exist_ok=True)
    index.mkdir(exist_ok=True)
    for folder in sorted(pathlib.Path(vectors).iterdir()):
        if (folder / "timeline.tsv").exists():
            (interleave / folder.name).write_bytes(interleaved(folder))
    (interleave / "of-2.1").write_bytes(of_2_1())
    for is_taken, name in ((False, "resumed"), (True, "taken")):
        (interleave / name).write_bytes(resumed(is_taken))
    for minor, n in (0, 7), (1, 9):
        (index / f"1.{minor}").write_bytes(
            struct.pack(">IIII", 0xC1F1DCC1, 1, minor, 8 * n)
            + struct.pack(f">{3 * n}Q", *range(3 * n)))


if __name__ == "__main__":
    main(*sys.argv[1:])
