#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Seeds for fuzz_interleave and fuzz_index: seed_store.py VECTORS CORPUS

Recorded sessions in timeline order, handles as a sequence of ids gives them
out, the first kilobytes of each; and index files, two synthetic ones.
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


def main(vectors, corpus):
    interleave = pathlib.Path(corpus) / "interleave"
    index = pathlib.Path(corpus) / "index"
    interleave.mkdir(exist_ok=True)
    index.mkdir(exist_ok=True)
    for folder in sorted(pathlib.Path(vectors).iterdir()):
        if (folder / "timeline.tsv").exists():
            (interleave / folder.name).write_bytes(interleaved(folder))
    (interleave / "of-2.1").write_bytes(of_2_1())
    for minor, n in (0, 7), (1, 9):
        (index / f"1.{minor}").write_bytes(
            struct.pack(">IIII", 0xC1F1DCC1, 1, minor, 8 * n)
            + struct.pack(f">{3 * n}Q", *range(3 * n)))


if __name__ == "__main__":
    main(*sys.argv[1:])
