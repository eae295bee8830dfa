#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cut the corpus of fuzz_ftrace out of the recorded sessions of trace-cmd.

usage: seed_ftrace.py tests/vectors/tracecmd tests/fuzz/corpus/ftrace
"""
import os
import struct
import sys


def main():
    source, target = sys.argv[1:]
    os.makedirs(target, exist_ok=True)

    def read(name):
        with open(f"{source}/tracecmd-{name}.bin", "rb") as f:
            return f.read()

    def metadata(name):
        blob, out = read(name + "-c2s")[13:], b""
        while blob:
            size, number, _ = struct.unpack_from(">III", blob)
            out += blob[12:size] if number == 3 else b""
            blob = blob[size:]
        return out

    hello = b"-1V3\0766679\0\0"
    def tinit_of(cpus):
        return struct.pack(">IIIIII", 24, 1, 12, cpus, 4096, 0)

    def resp_of(cpus, sync_port):
        fixed = struct.pack(">IIIQ16sI", 0, cpus, 4096, 7, b"", sync_port)
        ports = b"1500\0" * cpus
        return struct.pack(">III", 12 + len(fixed) + len(ports), 7,
                           len(fixed)) + fixed + ports

    tinit = tinit_of(2)
    seeds = {
        "v7-zstd": b"\xff" + read("v7-tcp-c2s"),
        "v7-zstd-bytes": b"\0" + read("v7-tcp-c2s"),
        "v6-begin": b"\x10" + read("v6-tcp-c2s")[:2000],
        "v1-begin": b"\x20" + read("v1-tcp-conn2-c2s")[:2000],
        "v1-refused": b"\x03" + read("v1-tcp-conn1-c2s"),
        "metadata-6": b"\x20" + metadata("v6-udp"),
        "metadata-7": b"\x20" + metadata("v7-tcp"),
        "options-only": b"\x07" + hello + tinit + struct.pack(
            ">III", 12, 4, 0) * 2,
        "every-number": b"\x05" + hello + tinit + b"".join(
            struct.pack(">III", 12, n, 0) for n in range(12)),
        "other-version": b"\x05-1V9\0-1V3\0766679\0000\0" + tinit,
        **{f"ports-{n}": b"\xff" + hello + tinit_of(n)
           for n in (1362, 1363, 1600, 1601)},
        "resp-1600": b"\xff" + resp_of(1600, 1024),
        "resp-sync-port": b"\xff" + resp_of(2, 65536),
        "v1-udp": b"\x0216\0004096\0000\0",
    }
    for name, blob in seeds.items():
        with open(f"{target}/{name}", "wb") as f:
            f.write(blob)


if __name__ == "__main__":
    main()
