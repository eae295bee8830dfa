#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Traces in directories: what is not overwritten, rotation, and what the
program says."""
import os
import pathlib
import re
import sys
import time

import packets as make
import program
from program import check, equal
from relay import run


def numbers(found):
    return sorted(e["wire_len"] - make.NUMBERED for e in found)


def contents(folder):
    """path -> bytes of each file below a folder."""
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def nothing_is_overwritten():
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", list(make.some(10, 1)))
        out = pathlib.Path(top, "out")
        out.mkdir()
        program.run("-i", path, "--output", out)  # it is empty
        before = contents(out)
        check(f"{out}/index/stream_0.idx" in map(str, before), f"{before}")
        for place in out, path, f"{top}/none/below":
            result = program.run("-i", path, "--output", place, status=1)
            check(str(place) in result.err and len(result.lines()) == 1,
                  result.err)
        equal(contents(out), before, "files")


def a_size_needs_a_unit():
    """10 bytes are hardly meant."""
    result = program.run("--rotate-size", "10", status=2)
    equal(result.lines(), [
        "tracepulse-capture: --rotate-size 10: a unit is missing (did "
        "you mean 10M? units: M, B, k, G, T)"], "a bare number")
    result = program.run("--rotate-size", "10k", status=2)
    check("--rotate-size" in result.err, result.err)


def rotation_by_size():
    """Each directory is a trace; a packet of CTF has 256 KiB at most."""
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", list(make.some(40000, 2)))
        for j, order, size in ((1, "stream", 270000), (3, "stream", 270000),
                               (2, "strict", 1 << 16), (2, "stream", 1 << 30)):
            out = f"{top}/out"
            summary = program.capture(
                "-i", path, "-j", j, "--order", order, "--payload", "none",
                "--rotate-size", f"{size}B", "--output", out)
            parts = sorted(pathlib.Path(out).iterdir())
            check((len(parts) > 2) == (size < 1 << 20), f"{len(parts)} parts")
            found, bytes = [], 0
            for part in parts:
                data = sum(p.stat().st_size for p in part.glob("stream_*"))
                check(data <= max(size, 1 << 18), f"{data} bytes")
                found += program.events(part)
                bytes += data
            equal(numbers(found), list(range(40000)), "packets")
            equal((summary["written"], summary["written_bytes"]),
                  (40000, bytes), "summary")
            # All of them are one set of traces, too.
            equal(len(program.events(out)), 40000, "together")
            program.shutil.rmtree(out)


def rotation_by_time():
    """A FIFO that is slow."""
    with program.directory() as top:
        all = list(make.some(60000, 3))
        data = make.pcap(all)
        path, out = f"{top}/fifo", f"{top}/out"
        os.mkfifo(path)
        process = program.start("-i", "pcapfile:" + path, "--payload", "none",
                                "--rotate-time", "200ms", "--output", out)
        with open(path, "wb") as f:
            for n in range(6):
                f.write(data[len(data) * n // 6:len(data) * (n + 1) // 6])
                f.flush()
                time.sleep(0.25)
        result = program.end(process)
        equal((result.status, result.err), (0, ""), "end")
        parts = list(pathlib.Path(out).iterdir())
        check(len(parts) > 2, f"{len(parts)} parts")
        equal(numbers(e for p in parts for e in program.events(p)),
              list(range(len(all))), "packets")


def what_it_says():
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", list(make.some(500, 4)))
        result = program.run("-i", path, "--output", f"{top}/1")
        check(re.match(r"500 packets written, 500 received in \d+\.\d s; "
                       r"dropped 0 by the kernel, 0 by this program\n$", result.out),
              result.out)
        equal(result.err, "", "stderr")
        result = program.run("-i", path, "--output", f"{top}/2", "--quiet")
        equal((result.out, result.err), ("", ""), "--quiet")
        said = program.capture("-i", path, "--output", f"{top}/3")
        equal((said["received"], said["written"], said["dropped_local"]),
              (500, 500, 0), "--json")
        equal(said["captured_bytes"],
              sum(len(p.data) for p in make.read(path)[0]), "captured_bytes")


def figures_on_a_pipe():
    """A line each second, without control sequences of a terminal."""
    with program.directory() as top:
        data = make.pcap(list(make.some(6000, 5)))
        path = f"{top}/fifo"
        os.mkfifo(path)
        began = time.monotonic()
        process = program.start("-i", "pcapfile:" + path, "--stats",
                                "--output", f"{top}/out")
        with open(path, "wb") as f:
            f.write(data)
            f.flush()
            time.sleep(2.6)
        result = program.end(process)
        equal(result.status, 0, result.err)
        most = time.monotonic() - began + 1
        check(1 <= len(result.lines()) <= most, result.err)
        for line in result.lines():
            check(re.match(
                r"\d+ s: received \d+ \(\d+/s, \d+\.\d MiB/s\), dropped by the "
                r"kernel 0, by this program 0, written \d+$", line), repr(line))


CASES = [nothing_is_overwritten, a_size_needs_a_unit, rotation_by_size,
         rotation_by_time, what_it_says, figures_on_a_pipe]

if __name__ == "__main__":
    program.need("babeltrace2")
    sys.exit(run(CASES, sys.argv[1:]))
