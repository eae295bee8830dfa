#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The processes that decompress files, and that read them with libtrace: what
they pass on, what they may do, and how they end."""
import bz2
import gzip
import lzma
import os
import shutil
import signal
import struct
import subprocess
import sys

import packets as make
import program
from program import check, equal, wait_until
from relay import run


def erf_record(data, kind=2):
    """At a time that does not matter; with variable length."""
    return struct.pack("<QBB", 1700000000 << 32, kind, 4) + struct.pack(
        ">HHH", 16 + len(data), 0, len(data)) + data


def seen(trace):
    return [p for s in program.streams(trace) for p in s.packets]


def compressed():
    """By four methods, in any format and from anywhere; in several members, and
    with a block of zeros at the end."""
    all = list(make.some(300, 40))
    pcap = make.pcap(all)
    erf = b"".join(erf_record(bytes(62)) for _ in range(7))
    methods = [gzip.compress, bz2.compress, lzma.compress]
    if shutil.which("zstd"):
        methods.append(lambda data: subprocess.run(
            ["zstd", "-qc"], input=data, stdout=subprocess.PIPE,
            check=True).stdout)
    with program.directory() as top:
        path = f"{top}/a"
        for compress in methods:
            half = len(pcap) // 2
            for content, uri, n in (
                    (compress(pcap), path, len(all)),
                    (compress(pcap), "pcapfile:" + path, len(all)),
                    (compress(pcap[:half]) + compress(pcap[half:]), path,
                     len(all)),
                    (compress(pcap) + bytes(512), path, len(all)),
                    (compress(erf), path, 7), (compress(erf), "erf:" + path, 7)):
                with open(path, "wb") as f:
                    f.write(content)
                said = program.capture("-i", uri, "--output", f"{top}/out")
                equal(said["written"], n, uri)
                program.shutil.rmtree(f"{top}/out")
            with open(path, "rb") as f:
                result = program.run("-i", "-", "--output", f"{top}/out",
                                     "--json", stdin=f)
            equal(result.json()["written"], 7, "standard input")
            program.shutil.rmtree(f"{top}/out")


def compressed_and_damaged():
    """Every packet that can be decompressed is there, and the end is told."""
    all = list(make.some(4000, 41))
    with program.directory() as top:
        path = f"{top}/a.gz"
        whole = gzip.compress(make.pcap(all))
        broken = bytearray(whole)
        broken[len(whole) // 2] ^= 0xff
        checksum = bytearray(whole)
        checksum[-6] ^= 0xff
        for what, content in (("cut", whole[:len(whole) // 2]),
                              ("damaged", broken), ("damaged", checksum)):
            with open(path, "wb") as f:
                f.write(content)
            plain = subprocess.run(["zcat", path], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, check=False)
            with open(f"{top}/plain", "wb") as f:
                f.write(plain.stdout)
            want = program.end(program.start(
                "-i", f"{top}/plain", "--output", f"{top}/p",
                "--json")).json()["written"]
            result = program.run("-i", path, "--output", f"{top}/out",
                                 "--payload", "none", "--json", status=1)
            got = result.json()["written"]
            check(want <= got <= want + 200 and got > 1000,
                  f"{what}: {got}, zcat has {want}")
            # What comes of damaged bytes may be refused before the end.
            check(path in result.err and (what in result.err or
                  "invalid packet" in result.err), result.err)
            equal(len(seen(f"{top}/out")), got, "packets in the trace")
            for name in "p", "out":
                program.shutil.rmtree(f"{top}/{name}")


def hostile():
    """A file that ends libtrace does not end the program."""
    good = erf_record(bytes(62))
    with program.directory() as top:
        path = f"{top}/a.erf"
        for content, n, said in ((good * 5 + erf_record(b"") + good, 5,
                                  "has crashed"),
                                 (good * 9 + good[:30], 9, "Truncated"),
                                 (erf_record(b""), 0, "has crashed")):
            with open(path, "wb") as f:
                f.write(content)
            result = program.run("-i", "erf:" + path, "--output",
                                 f"{top}/out", "--payload", "none", "--json",
                                 status=1)
            check("erf:" + path in result.err and said in result.err and
                  len(result.err.splitlines()) == 1, result.err)
            equal(result.json()["written"], n, "packets")
            equal(len(seen(f"{top}/out")), n, "packets in the trace")
            program.shutil.rmtree(f"{top}/out")


def children(process):
    found = []
    for task in os.listdir(f"/proc/{process.pid}/task"):
        with open(f"/proc/{process.pid}/task/{task}/children",
                  encoding="ascii") as f:
            found += f.read().split()
    return found


def no_rights():
    """The processes that read a file have its bytes, a pipe and nothing else."""
    with program.directory() as top:
        path = f"{top}/fifo"
        os.mkfifo(path)
        process = program.start("-i", "erf:" + path, "--output", f"{top}/out")
        with open(path, "wb") as writer:
            writer.write(gzip.compress(erf_record(bytes(62)))[:-8])
            writer.flush()
            wait_until(lambda: len(children(process)) == 2, "processes")
            program.wait_for_rest(process)
            for child in children(process):
                with open(f"/proc/{child}/status", encoding="ascii") as f:
                    status = dict(line.split(":", 1) for line in f)
                equal([int(status[name], 16) for name in
                       ("CapPrm", "CapEff", "NoNewPrivs")], [0, 0, 1],
                      "capabilities, no new privileges")
                files = [os.readlink(f"/proc/{child}/fd/{n}") for n in
                         sorted(os.listdir(f"/proc/{child}/fd"))]
                equal([files[0] if files[0] == path else "pipe",
                       files[1].split(":")[0], *files[2:]],
                      [files[0] if files[0] == path else "pipe", "pipe",
                       "/dev/null"], "open files")
        result = program.end(process)
        equal(result.status, 1, result.err)
        check("the file is cut" in result.err, result.err)


def killed():
    """A process that somebody else ends is told, too; none is left."""
    with program.directory() as top:
        path = f"{top}/fifo"
        os.mkfifo(path)
        process = program.start("-i", "erf:" + path, "--output", f"{top}/out")
        with open(path, "wb") as writer:
            writer.write(erf_record(bytes(62)))
            writer.flush()
            wait_until(lambda: len(children(process)) == 1, "a process")
            program.wait_for_rest(process)
            os.kill(int(children(process)[0]), signal.SIGKILL)
            result = program.end(process)
        equal(result.status, 1, result.err)
        check("has crashed (Killed)" in result.err, result.err)


CASES = [compressed, compressed_and_damaged, hostile, no_rights, killed]

if __name__ == "__main__":
    sys.exit(run(CASES, sys.argv[1:]))
