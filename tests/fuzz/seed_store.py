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


def interleaved(folder):
    out, streams = b"", {}
    for line in (folder / "timeline.tsv").read_text().splitlines()[1:]:
        _, wire, event, offset, length = line.split()
        if event not in ("c2s", "c2s-fin"):
            continue
        if wire not in streams:
            streams[wire] = translated(folder, wire)
        blob = streams[wire][int(offset):int(offset) + int(length)]
        while blob:
            out += bytes([WIRES[wire], min(len(blob), 255)]) + blob[:255]
            blob = blob[255:]
        if event == "c2s-fin":
            out += bytes([WIRES[wire] | 4, 0])
        if len(out) > LARGEST:
            break
    return out


def main(vectors, corpus):
    interleave = pathlib.Path(corpus) / "interleave"
    index = pathlib.Path(corpus) / "index"
    interleave.mkdir(exist_ok=True)
    index.mkdir(exist_ok=True)
    for folder in sorted(pathlib.Path(vectors).iterdir()):
        if (folder / "timeline.tsv").exists():
            (interleave / folder.name).write_bytes(interleaved(folder))
    for minor, n in (0, 7), (1, 9):
        (index / f"1.{minor}").write_bytes(
            struct.pack(">IIII", 0xC1F1DCC1, 1, minor, 8 * n)
            + struct.pack(f">{3 * n}Q", *range(3 * n)))


if __name__ == "__main__":
    main(*sys.argv[1:])
