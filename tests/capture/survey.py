#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Capture files that others collected: those of tcpdump's tests, or any below
the directories of TP_CAPTURE_FILES. Of each file the program has the packets
that libpcap has, passes them on so that tcpdump prints the same, and sees the
headers that tshark sees. runtests --long fetches the files."""
import concurrent.futures
import fnmatch
import os
import pathlib
import struct
import subprocess
import sys

import files
import packets as make
import program
from packets import SECOND
from program import check, equal
from relay import Failed

# What differs, with the reason; doc/compat.md has it for users.
KNOWN = [
    ("DTP.pcap", "fields", "Cisco's ISL has five bytes of an address"),
    ("icmpv6-length-zero.pcapng", "fields",
     "a header behind IPv6 with the length 0"),
]


def tcpdump(path, *options):
    """Its status, and what it prints."""
    done = subprocess.run(
        ["tcpdump", "-nn", "-e", "-vv", "-xx", "--nano", *options, "-r", path],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
        timeout=program.TIMEOUT, env=program.environment())
    return done.returncode, done.stdout.decode(errors="replace").splitlines()


def same_print(got, want, what):
    for nth, (g, w) in enumerate(zip(got[1], want[1])):
        equal(g, w, f"{what}, line {nth + 1}")
    equal((got[0], len(got[1])), (want[0], len(want[1])), what)


def fractions(path):
    """Of a second, as they are in a file."""
    data, at = pathlib.Path(path).read_bytes(), 24
    while at < len(data):
        _, fraction, size = struct.unpack_from("<III", data, at)
        yield fraction
        at += 16 + size


class File:
    """HAS_TIMES: all are valid. Of others libpcap prints the two parts.
    IS_FOREIGN: tshark does not know the link type."""
    def __init__(self, path, top):
        self.path, self.top, self.is_foreign = path, top, False
        self.out = os.path.join(top, "libpcap.pcap")
        done = self.copy(self.out, "--nano")
        self.error = done.stderr.decode(errors="replace")
        self.is_whole = done.returncode == 0
        self.packets = make.read(self.out)[0] if os.path.exists(self.out) \
            else []
        self.n = len(self.packets)
        # In nanoseconds they overflow.
        micro = os.path.join(top, "micro.pcap")
        self.copy(micro)
        self.has_times = self.n == 0 or all(
            t < 10 ** 6 for t in fractions(micro))

    def copy(self, out, *options):
        return subprocess.run(
            ["tcpdump", "-r", self.path, "-w", out, *options], check=False,
            stderr=subprocess.PIPE, env=program.environment(),
            timeout=program.TIMEOUT)

    def capture(self, *options):
        """What --json says. It fails where libpcap does, with its packets."""
        done = program.end(program.start("-r", self.path, *options, "--json"))
        check(done.status in (0, 1) and "Sanitizer" not in done.err,
              f"status {done.status}: {done.err[-1000:]}")
        equal(done.status == 0, self.is_whole, f"success: {done.err}"
              f" tcpdump: {self.error}")
        if not done.out:
            equal(self.n, 0, f"packets; {done.err}")
            return None
        summary = done.json()
        equal(summary["received"], self.n, f"packets; {done.err}")
        return summary

    def compare(self, out, has_times, what):
        options = [] if has_times else ["-t"]
        same_print(tcpdump(out, *options),
                   (0, tcpdump(self.path, *options)[1]), what)

    def to_file(self, name):
        """By way of nothing else."""
        out = os.path.join(self.top, name)
        summary = self.capture("-w", out)
        if summary is not None and self.n > 0:
            equal((summary["written"], summary["left_out"]), (self.n, 0), name)
            self.compare(out, self.has_times, name)

    def pcap(self):
        self.to_file("out.pcap")

    def pcapng(self):
        self.to_file("out.pcapng")

    def ctf(self):
        """By way of a trace, in which time does not go back."""
        trace, out = (os.path.join(self.top, n) for n in ("full", "back.pcap"))
        summary = self.capture("--output", trace, "--payload", "full")
        if summary is None or self.n == 0:
            return
        program.run("--from-ctf", trace, "-w", out, "--quiet")
        self.compare(out, self.has_times and summary["clamped"] == 0,
                     "by way of a trace")

    def fields(self):
        """Those that tshark sees in what libpcap read."""
        trace = os.path.join(self.top, "headers")
        summary = self.capture("--output", trace)
        if summary is None or self.n == 0:
            return
        found = program.events(trace)
        equal([(e["wire_len"], e["cap_len"]) for e in found],
              [(p.wire, len(p.data)) for p in self.packets], "lengths")
        if self.has_times and summary["clamped"] == 0:
            equal([e.ns for e in found], [p.ns for p in self.packets], "times")
        try:
            rows = list(files.tshark(self.out))
        except Failed as e:
            self.is_foreign = "network type" in str(e)
            if self.is_foreign:
                return
            raise
        equal(len(rows), self.n, "packets of tshark")
        for nth, (e, row) in enumerate(zip(found, rows)):
            files.compare_headers(e, row, f"frame {nth + 1}", True)

    def anonymised(self):
        key, out = (os.path.join(self.top, n) for n in ("key", "anon.pcap"))
        pathlib.Path(key).write_bytes(bytes(range(32)))
        os.chmod(key, 0o600)
        summary = self.capture("-w", out, "--anon-key", key)
        if summary is not None and self.n > 0:
            equal(len(make.read(out)[0]), self.n, "packets")


CASES = [File.pcap, File.pcapng, File.ctf, File.fields, File.anonymised]


def known(path, case):
    return [k for k in KNOWN if k[1] == case and
            fnmatch.fnmatch(os.path.basename(path), k[0])]


def survey(path):
    """What is wrong with a file."""
    wrong = []
    with program.directory() as top:
        file = File(path, top)
        for case in CASES:
            name, excuses = case.__name__, known(path, case.__name__)
            try:
                case(file)
            except Failed as e:
                if not excuses:
                    wrong.append(f"{name}: {e}")
            else:
                if excuses:
                    wrong.append(f"{name}: no longer {excuses[0][2]}")
    return file, wrong


def capture_files():
    for directory in os.environ.get("TP_CAPTURE_FILES", "").split(":"):
        for path in sorted(pathlib.Path(directory or os.devnull).rglob("*")):
            if path.suffix in (".pcap", ".pcapng", ".cap", ".dmp", ".dump"):
                yield str(path)


def main():
    program.need("babeltrace2", "tcpdump", "tshark")
    paths = list(capture_files())
    if not paths:
        print("SKIP: TP_CAPTURE_FILES names no directory with capture files")
        return program.SKIPPED
    n_packets = n_wrong = n_foreign = n_timeless = 0
    with concurrent.futures.ThreadPoolExecutor(2 * os.cpu_count()) as pool:
        for path, (file, wrong) in zip(paths, pool.map(survey, paths)):
            n_packets += file.n
            n_foreign += file.is_foreign
            n_timeless += not file.has_times
            n_wrong += bool(wrong)
            for line in wrong:
                print(f"FAILED: {os.path.basename(path)}: {line}", flush=True)
    print(f"{len(paths)} files with {n_packets} packets, {n_wrong} wrong; "
          f"{n_timeless} have no valid times, of {n_foreign} tshark does not "
          "know the link type")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
