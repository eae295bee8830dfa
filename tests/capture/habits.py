#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Options that tcpdump has, compared with it on the same packets: rotation of
files, direction, time stamps; and the examples of --help."""
import contextlib
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import time

import packets as make
import program
from interfaces import A, B, frame, link, send
from program import check, equal
from relay import Daemon
from retries import keep_ports

ROOT = ["-Z", "root"] if os.getuid() == 0 else []


def tcpdump(*args, **options):
    return subprocess.Popen(["tcpdump", *ROOT, "-nn", *map(str, args)],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env=program.environment(), **options)


def files(top):
    return {p.name: p.read_bytes() for p in pathlib.Path(top).iterdir()}


def folders(top):
    """Of tcpdump, and of our program."""
    for name in "theirs", "ours":
        program.shutil.rmtree(f"{top}/{name}", ignore_errors=True)
        os.mkdir(f"{top}/{name}")
    return f"{top}/theirs", f"{top}/ours"


def files_by_size():
    """The same names, and the same bytes in them."""
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", list(make.some(20000, 5)))
        for words in ("-C 1 -w x.pcap", "-C 1 -W 3 -w x.pcap",
                      "-C 1 -W 10 -w x.pcap", "-C 1 -W 11 -w x.pcap",
                      "-C 1 -W 1 -w x", "-G 3600 -W 1 -w x.pcap",
                      "-G 3600 -C 1 -w x-%H.pcap", "-C 2 -c 5000 -w x.pcap",
                      "-G 3600 -C 1 -W 3 -w x-%H", "-C 1 -W 3 -w x-%H.pcap",
                      "-C 1 -w x.pcap tcp", "-w x.pcap -C 1000000"):
            theirs, ours = folders(top)
            other = tcpdump("-r", path, *words.split(), cwd=theirs)
            other.communicate(timeout=program.TIMEOUT)
            equal(other.returncode, 0, words)
            program.run("-r", path, "--time-stamp-precision", "micro",
                        *words.split(), cwd=ours)
            expected, got = files(theirs), files(ours)
            equal(sorted(got), sorted(expected), words)
            check(got == expected, f"{words}: bytes differ")


def pcapng_by_size():
    """Each file can be read alone."""
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", list(make.some(20000, 6)))
        program.run("-r", path, "-C", "1", "-w", f"{top}/x.pcapng")
        total, found = 0, sorted(pathlib.Path(top).glob("x.pcapng*"))
        for one in found:
            total += len(program.told("tcpdump", "-nn", "-r", str(one)))
        equal(total, 20000, "packets")
        sizes = [one.stat().st_size for one in found]
        check(all(10 ** 6 < s < 10 ** 6 + 2000 for s in sizes[:-1]), sizes)


def wait_for_half(second):
    """Until the middle of a second: what is sent then is far from a change."""
    time.sleep(second + 0.4 - time.time())


def files_by_time():
    """Of an interface: each second has a file."""
    with program.directory() as top, link():
        theirs, ours = folders(top)
        other = tcpdump("-i", B, "--immediate-mode", "-G", 1, "-w",
                        "x-%H%M%S.pcap", cwd=theirs)
        process = program.start("-i", B, "-G", "1", "-w", "x-%H%M%S.pcap",
                                "--json", cwd=ours)
        program.wait_for_rest(process)
        second = int(time.time()) + 1
        for n in range(5):
            wait_for_half(second + n)
            send(*[frame(i) for i in range(10 + n)])
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        other.send_signal(signal.SIGTERM)
        other.communicate(timeout=program.TIMEOUT)
        equal(program.end(process).json()["written"], 60, "written")
        counts = [{p.name: len(program.told("tcpdump", "-nn", "-r", str(p)))
                   for p in pathlib.Path(d).iterdir()} for d in (theirs, ours)]
        # Their first file is that of when they began.
        counts = [{name: n for name, n in c.items() if n} for c in counts]
        equal(sorted(counts[1].values()), [10, 11, 12, 13, 14], "packets")
        equal(counts[1], counts[0], "files")


def end_after_files():
    """-G with -W ends the capture, as a success."""
    with program.directory() as top, link():
        process = program.start("-i", B, "-G", "1", "-W", "2", "-w",
                                f"{top}/x-%H%M%S.pcap", "--json")
        program.wait_for_rest(process)
        until = time.monotonic() + program.TIMEOUT
        while process.poll() is None:
            check(time.monotonic() < until, "it does not end")
            send(frame(1))
            time.sleep(0.1)
        result = program.end(process)
        equal((result.status, result.err), (0, ""), "end")
        found = list(pathlib.Path(top).iterdir())
        equal(len(found), 2, "files")
        said = result.json()
        equal(said["written"], sum(len(program.told("tcpdump", "-nn", "-r",
                                                    str(p))) for p in found),
              "written")
        equal(said["received"], said["written"] + said["lost"], str(said))


def direction():
    """Of one end of a link, and of the loopback."""
    with program.directory() as top, link():
        for way in "in", "out", "inout":
            path = f"{top}/{way}.pcap"
            other = tcpdump("-i", A, "-Q", way, "--immediate-mode", "-U", "-w",
                            path)
            process = program.start("-i", A, "-Q", way, "-w", f"{top}/ours",
                                    "--json")
            program.wait_for_rest(process)
            deadline = time.monotonic() + program.TIMEOUT
            while not os.path.exists(path):
                check(time.monotonic() < deadline, "tcpdump does not begin")
                time.sleep(0.05)
            time.sleep(0.2)
            send(*[frame(i) for i in range(7)])
            send_back(*[frame(i) for i in range(5)])
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            other.send_signal(signal.SIGTERM)
            other.communicate(timeout=program.TIMEOUT)
            got = program.end(process).json()
            equal((got["received"], got["written"]),
                  (dict([("in", 5), ("out", 7), ("inout", 12)])[way],) * 2, way)
            equal(len(program.told("tcpdump", "-nn", "-r", path)),
                  got["written"], "tcpdump")
        path = make.write(f"{top}/a.pcap", list(make.some(10, 1)))
        result = program.run("-r", path, "-Q", "in", "-w", f"{top}/b",
                             status=1)
        check("--direction" in result.err, result.err)


def send_back(*frames):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind((B, 0))
        for data in frames:
            s.send(data)


def buffer_size():
    """What is shared with the kernel, as the process has it mapped."""
    with program.directory() as top, link():
        for given, expected in ([], 32768), (["-B", "100"], 512), (
                ["-B", "2000"], 2048):
            process = program.start("-i", B, *given, "-w", f"{top}/x", "--json")
            program.wait_for_rest(process)
            with open(f"/proc/{process.pid}/maps", encoding="ascii") as f:
                ranges = [line.split()[0].split("-") for line in f
                          if "socket:" in line]
            equal([(int(b, 16) - int(a, 16)) // 1024 for a, b in ranges],
                  [expected], str(given))
            send(*[frame(i) for i in range(9)])
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            equal(program.end(process).json()["written"], 9, str(given))


def precision():
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", [make.Packet(
            make.BEGIN + 123456789, make.ethernet(make.ARP, bytes(28)))])
        for unit, digits in ("micro", "123456000"), ("nano", "123456789"):
            for name in "b.pcap", "b.pcapng":
                program.run("-r", path, "--time-stamp-precision", unit, "-w",
                            f"{top}/{name}")
                said = program.told("tcpdump", "-nn", "-tt", "--nano", "-r",
                                    f"{top}/{name}")
                equal(said[0].split()[0], f"1700000000.{digits}", name)
        check(make.read(path)[0][0].ns == make.BEGIN + 123456789, "input")
        said = program.run("-J").out
        check(re.search(r"^  host \(Host\)$", said, re.M), said)
        program.run("-r", path, "--time-stamp-type", "host", "-w",
                    f"{top}/b.pcap")
        program.run("-r", path, "--time-stamp-type", "adapter", "-w",
                    f"{top}/b.pcap", status=2)


def packet_buffered():
    """-U: each packet is written by itself."""
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", list(make.some(10, 1)))
        for words, is_each in ([], False), (["-U", "-p"], True):
            ours, its = socket.socketpair(socket.AF_UNIX,
                                          socket.SOCK_SEQPACKET)
            with ours, its:
                subprocess.run([program.PROGRAM, "-r", path, "-w", "-",
                                *words], stdout=its, stderr=subprocess.PIPE,
                               check=True, timeout=program.TIMEOUT)
                its.close()
                n = sum(1 for _ in iter(lambda: ours.recv(1 << 20), b""))
                equal(n >= 10, is_each, f"{n} writes")


def what_is_refused():
    with program.directory() as top:
        path = make.write(f"{top}/a.pcap", list(make.some(10, 1)))
        for words, status, told in (
                ("-C 1 --output DIR", 2, "--file-size"),
                ("-W 3 -w X", 2, "--file-count"),
                ("-C 0 -w X", 2, "--file-size"),
                ("-C 1 -w -", 1, "standard output"),
                ("-C 1 -w erf:X", 1, "-C, -G"),
                ("-C 1 -w X.gz --compress 1", 1, "-C, -G"),
                ("", 2, "--relay, --output and --write")):
            result = program.run("-r", path, *words.split(), status=status,
                                 cwd=top)
            check(told in result.err, f"{words}: {result.err}")


def loopback_up():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def examples():
    """Those of --help, in its order: each does what it says."""
    loopback_up()
    said = program.run("--help").out
    found = re.findall(r"^  tracepulse-capture (.*)$",
                       said.partition("Examples:\n")[2], re.M)
    equal(len(found), 5, "examples")
    with program.directory() as top, Daemon() as daemon, link():
        make.write(f"{top}/trace.pcap", list(make.some(50, 3)))
        url = f"net://127.0.0.1:{daemon.control_port}:{daemon.data_port}"
        for text in found:
            command, _, reader = text.partition(" | ")
            # Names, ports and the filter are those of this test.
            for old, new in (("eth0", B), ("net://collector", url),
                             ("port 80", "port 7777"), (" tcp", " udp")):
                command = command.replace(old, new)
            words = shlex.split(command)
            if "--relay" not in words and "-w" not in words and \
                    "--output" not in words:
                words = ["--live", "--relay", url, *words]
            process = program.start(*words, cwd=top)
            if "-r" not in words:
                program.wait_for_rest(process)
                send(*[frame(i) for i in range(4)])
                time.sleep(0.3)
                process.send_signal(signal.SIGTERM)
            if reader:
                check(reader.startswith("wireshark"), reader)
                with contextlib.closing(process.stdout) as out:
                    data = out.buffer.read()
                equal(len(data), 24 + 4 * (16 + len(frame(0))), "pcap bytes")
                equal(process.wait(timeout=program.TIMEOUT), 0, text)
                process.stderr.close()
            else:
                result = program.end(process)
                equal(result.status, 0, text + result.err)
                # An interface any sees both ends of the link.
                n = 50 if "-r" in words else 8 if "any" in words else 4
                least = n if "-r" not in words else 1
                written = int(result.out.split()[0])
                check(least <= written <= n, f"{text}: {result.out}")
        equal(len(program.told("tcpdump", "-nn", "-r", f"{top}/ring.pcap0")), 8,
              "the ring")


def without_an_output():
    """The relay of this machine has it: the command that is printed shows the
    packets."""
    loopback_up()
    with Daemon() as daemon, program.directory() as top:
        daemon.kill()
        (daemon.control_port, daemon.data_port,
         daemon.live_port) = 5342, 5343, 5344
        keep_ports(daemon)
        daemon.start_again()
        with open(f"{top}/said", "w", encoding="utf-8") as said, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            process = subprocess.Popen(
                [program.PROGRAM, "-i", "lo", "--flush", "100ms", "udp", "port",
                 "7777"], stderr=said, stdout=said, env=program.environment())
            # It reads packets before it has said so.
            until = time.monotonic() + program.TIMEOUT
            command = None
            while command is None:
                told = pathlib.Path(top, "said").read_text(encoding="utf-8")
                command = re.search(r"watch it: (babeltrace2 \S+)\n", told)
                check(time.monotonic() < until, told)
                time.sleep(0.05)
            program.wait_for_rest(process)
            viewer = subprocess.Popen(command[1].split(), text=True,
                                      stdout=subprocess.PIPE)
            time.sleep(1)
            for n in range(5):
                s.sendto(bytes(100 + n), ("127.0.0.1", 7777))
            time.sleep(1)
            process.send_signal(signal.SIGTERM)
            viewer.send_signal(signal.SIGINT)   # else it waits for the next one
            lines = viewer.communicate(timeout=program.TIMEOUT)[0].splitlines()
            equal(process.wait(timeout=program.TIMEOUT), 0, told)
        shown = [re.search(r'summary = "(.*?)"', line)[1]
                 for line in lines if "net:packet" in line]
        equal([re.sub(r":\d+ .*:7777", " to", one) for one in shown],
              [f"127.0.0.1 to UDP {142 + n}" for n in range(5)], "events")


CASES = [files_by_size, pcapng_by_size, files_by_time, end_after_files,
         direction, buffer_size, precision, packet_buffered,
         what_is_refused,
         examples, without_an_output]

if __name__ == "__main__":
    program.need("tcpdump", "babeltrace2")
    sys.exit(program.run_in_own_network(__file__, CASES, sys.argv[1:]))
