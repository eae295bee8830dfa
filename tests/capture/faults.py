#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What goes wrong: disks, relays, signals, inputs. One clear line, the right
status, and what was written is readable."""
import fcntl
import gzip
import os
import pathlib
import resource
import signal
import socket
import subprocess
import sys
import termios
import time

import packets as make
import program
from program import check, equal, wait_until
from relay import NOBODY, Daemon, as_nobody, run

# What a signal, or a relay that hangs, may take; CAPTURE_END_MS and some.
END_S = 5.0
MIB = 1 << 20


def file_of(top, n, name="a.pcap"):
    return make.write(f"{top}/{name}", list(make.some(n, n)))


def large_file(top, size):
    """A file of that size, which repeats one piece."""
    piece = make.pcap(list(make.some(20000, 5)))
    path = f"{top}/large.pcap"
    with open(path, "wb") as f:
        f.write(piece[:24])
        while f.tell() < size:
            f.write(piece[24:])
    return path


def one_line(result, *words):
    lines = result.lines()
    check(len(lines) == 1, f"stderr: {result.err}")
    for word in words:
        check(word in lines[0], f"no {word!r}: {lines[0]}")


def ends(process, signal_number=signal.SIGTERM):
    """Ends the program by a signal; returns its result."""
    began = time.monotonic()
    process.send_signal(signal_number)
    result = program.end(process)
    took = time.monotonic() - began
    limit = END_S * (2 if program.has_sanitizer("thread") or
                     program.has_sanitizer("address") else 1)
    check(took < limit, f"it took {took:.2f} s")
    return result


def full_disk():
    with program.directory() as top, program.small_disk("1m") as disk:
        if disk is None:
            return
        path = file_of(top, 100000)
        for j in 1, 3:
            out = f"{disk}/out"
            result = program.run("-i", path, "-j", j, "--payload", "none",
                                 "--json", "--output", out, status=1)
            one_line(result, out, "No space left")
            found = program.streams(out)
            n = sum(len(s.packets) for s in found)
            check(0 < n < 100000, f"{n} packets")
            equal(result.json()["written"], n, "written")
            equal(len(program.events(out)), n, "babeltrace2")
            program.shutil.rmtree(out)
            result = program.run("-i", path, "-j", j, "--json", "--output",
                                 f"{out}", "--rotate-size", "200k", status=1)
            one_line(result, out, "No space left")
            program.shutil.rmtree(out)


def full_disk_of_a_file():
    with program.directory() as top, program.small_disk("3m") as disk:
        if disk is None:
            return
        for n in 30000, 9000:  # of the second, only the end does not fit
            path = file_of(top, n)
            out = f"{disk}/out.pcap"
            check(os.stat(path).st_size > 3 * MIB, "too small")
            result = program.run("-i", path, "--write", "pcapfile:" + out,
                                 status=1)
            one_line(result, out)
            os.unlink(out)


def relay_url(daemon):
    return f"net://127.0.0.1:{daemon.control_port}:{daemon.data_port}"


def no_relay():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))  # nobody listens
        port = s.getsockname()[1]
        with program.directory() as top:
            result = program.run("-i", file_of(top, 10), "--relay",
                                 f"net://127.0.0.1:{port}:{port}", status=1)
            one_line(result, str(port))


def the_trace(daemon):
    found = [p.parent for p in daemon.out.rglob("metadata")]
    equal(len(found), 1, "traces")
    return found[0]


def relay_takes_all():
    with program.directory() as top, Daemon() as daemon:
        all = list(make.some(30000, 30))
        path = make.write(f"{top}/a.pcap", all)
        summary = program.capture("-i", path, "-j", 2, "--relay",
                                  relay_url(daemon), "--payload", "none")
        equal(summary["written"], len(all), "written")
        found = program.events(the_trace(daemon))
        equal(sorted((e.ns, e["wire_len"]) for e in found),
              sorted((p.ns, p.wire) for p in all), "packets")


def slow_relay():
    """It stands still for three seconds: a file waits, nothing is lost."""
    with program.directory() as top, Daemon() as daemon:
        path = large_file(top, 150 * MIB)
        process = program.start("-i", path, "-j", 2, "--payload", "full",
                                "--json", "--relay", relay_url(daemon))
        wait_until(lambda: size_of(daemon.out) > MIB, "nothing arrives")
        daemon.pause()
        time.sleep(3)
        check(process.poll() is None, "it has not waited")
        daemon.resume()
        result = program.end(process)
        equal(result.status, 0, result.err)
        n = len(make.read(path)[0])
        equal((result.json()["written"], result.json()["dropped_local"]),
              (n, 0), "written")
        wait_until(lambda: "stream_0" in str(list(daemon.out.rglob("*"))), "")
        equal(size_of(the_trace(daemon), "stream_?"),
              result.json()["written_bytes"], "bytes")


def size_of(path, pattern="*"):
    return sum(p.stat().st_size for p in pathlib.Path(path).rglob(pattern)
               if p.is_file())


def relay_is_killed():
    with program.directory() as top, Daemon() as daemon:
        path = large_file(top, 200 * MIB)
        process = program.start("-i", path, "--payload", "full", "--quiet",
                                "--relay", relay_url(daemon))
        wait_until(lambda: size_of(daemon.out) > MIB, "nothing arrives")
        check(process.poll() is None, "it ended too early")
        daemon.kill()
        result = program.end(process, 20)
        daemon.start_again()
        equal(result.status, 1, result.err)
        one_line(result, "127.0.0.1")


def relay_hangs():
    for is_early in True, False:
        with program.directory() as top, Daemon() as daemon:
            path = large_file(top, 200 * MIB)
            if is_early:
                daemon.pause()
            process = program.start("-i", path, "--payload", "full", "--quiet",
                                    "--relay", relay_url(daemon))
            if not is_early:
                wait_until(lambda: size_of(daemon.out) > MIB, "nothing arrives")
                daemon.pause()
            program.wait_for_rest(process)
            result = ends(process)
            daemon.resume()
            equal(result.status, 1, result.err)
            one_line(result)


def signals_in_a_file():
    with program.directory() as top:
        path = large_file(top, 300 * MIB)
        for number in signal.SIGTERM, signal.SIGINT:
            for j, order in (1, "stream"), (2, "strict"):
                out = f"{top}/out"
                process = program.start("-i", path, "-j", j, "--order", order,
                                        "--payload", "none", "--json",
                                        "--output", out)
                wait_until(lambda: os.path.exists(out) and
                           size_of(out, "stream_*") > MIB, "nothing written")
                result = ends(process, number)
                equal((result.status, result.err), (0, ""), "status, stderr")
                n = result.json()["received"]
                equal(result.json()["written"], n, "written")
                equal(sum(len(s.packets) for s in program.streams(out)), n,
                      "packets")
                check(n > 10000, f"{n} packets")
                program.shutil.rmtree(out)


def unread(fifo):
    """Unread bytes in the FIFO."""
    if fifo is None:
        return 0
    return int.from_bytes(fcntl.ioctl(fifo, termios.FIONREAD, bytes(4)),
                          sys.byteorder)


def fifo():
    """Without a writer, with one that says nothing, with one that does not
    end."""
    if program.has_sanitizer("thread"):
        print("SKIP fifo: ThreadSanitizer keeps signals back while a file is "
              "opened")
        return
    with program.directory() as top:
        data = make.pcap(list(make.some(3000, 31)))
        for content in None, b"", data[:24], data, data[:-30]:
            path, out = f"{top}/fifo", f"{top}/out"
            os.mkfifo(path)
            process = program.start("-i", "pcapfile:" + path, "--payload",
                                    "none", "--json", "--output", out)
            writer = None
            if content is not None:
                writer = os.open(path, os.O_WRONLY)
                os.write(writer, content)
            wait_until(lambda: unread(writer) == 0, "it does not read")
            program.wait_for_rest(process)
            result = ends(process)
            if writer is not None:
                os.close(writer)
            os.unlink(path)
            if not content:  # the kind of file is not known yet
                equal(result.status, 1, result.err)
                one_line(result, "signal")
            else:
                n = result.json()["received"]
                equal((result.status, result.json()["written"]), (0, n),
                      "written")
                equal(sum(len(s.packets) for s in program.streams(out)), n,
                      "what was read before the signal")
                equal(n, 0 if len(content) == 24 else 2999 if
                      len(content) < len(data) else 3000, "packets")
            program.shutil.rmtree(out, ignore_errors=True)


def write_slowly(path, pieces):
    """By a process of its own, which says whether it could."""
    script = ("import os, sys, time; fd = os.open(sys.argv[1], os.O_WRONLY)\n"
              "for n in map(int, sys.argv[2:]):\n"
              "    while n:\n"
              "        n -= os.write(fd, sys.stdin.buffer.read(n))\n"
              "    time.sleep(0.1)\n")
    data = b"".join(pieces)
    writer = subprocess.Popen(
        [sys.executable, "-c", script, path, *(str(len(p)) for p in pieces)],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    return writer, data


def fifo_in_pieces():
    """Of a file that comes byte by byte at first nothing is lost."""
    with program.directory() as top:
        plain = make.pcap(list(make.some(3000, 31)))
        path = f"{top}/fifo"
        os.mkfifo(path)
        writer, data = write_slowly(path, [plain[:1], plain[1:3], plain[3:]])
        process = program.start("-i", "pcapfile:" + path, "--payload", "none",
                                "--json", "--output", f"{top}/out")
        writer.communicate(data, timeout=program.TIMEOUT)
        result = program.end(process)
        equal((result.status, result.err), (0, ""), "status, stderr")
        equal(result.json()["written"], 3000, "packets")


def fifo_with_other_data():
    """Data that nobody knows is refused, soon."""
    with program.directory() as top:
        for content in b"no", b"no capture file", b"", gzip.compress(b"no"):
            path = f"{top}/fifo"
            os.mkfifo(path)
            writer, data = write_slowly(path, [content])
            process = program.start("-i", path, "--output", f"{top}/out")
            writer.communicate(data, timeout=program.TIMEOUT)
            result = program.end(process, 20)
            equal(result.status, 1, content)
            one_line(result, path, "format")
            os.unlink(path)


def inputs_that_are_refused():
    with program.directory() as top:
        good = file_of(top, 10)
        out = ["--output", f"{top}/out"]
        for uri in (f"{top}/none", f"pcapfile:{top}/none", top,
                    f"pcapfile:{top}", "what:ever", "int:no-such-device",
                    "ring:no-such-device", "erf:" + f"{top}/none"):
            result = program.run("-i", uri, *out, status=1)
            one_line(result, uri)
            check(not os.path.exists(f"{top}/out"), "something was made")
        result = program.run("-i", good, "--filter", "nonsense and", *out,
                             status=1)
        one_line(result, good, "nonsense and")
        result = program.run("-i", good, "--write", "what:ever", status=1)
        one_line(result, "what:ever", "pcapfile:FILE")
        result = program.run("-i", good, "-i", f"{top}/none", *out, status=1)
        one_line(result, f"{top}/none")
        for usage in ([], ["-i", good], ["-i", good, *out, "--what"],
                      ["-i", good, *out, "-j", "0"], ["-i", "", *out],
                      ["-i", good, *out, "--payload", "some"],
                      ["-i", good, *out, "--relay", "net://localhost"],
                      ["-i", good, *out, "--filter", "tcp", "udp"]):
            result = program.run(*usage, status=2)
            check(result.err != "" and result.out == "", str(usage))


def without_privileges():
    """As the user nobody: a file that it may not read, a device."""
    if os.getuid() != 0:
        print("SKIP without_privileges: not root")
        return
    with program.directory() as top, \
            as_nobody(program.PROGRAM) as (copy, nobody):
        # The list of leaks that are not ours is in the checkout, which this
        # user may not be able to read.
        nobody |= dict(program=copy, env=program.environment(
            LSAN_OPTIONS="detect_leaks=0"))
        path = file_of(top, 10)
        os.chmod(path, 0o600)
        os.chmod(top, 0o777)
        for uri in path, "int:lo", "ring:lo":
            result = program.run("-i", uri, "--output", f"{top}/out",
                                 status=1, **nobody)
            one_line(result, uri, *(["CAP_NET_RAW"] if uri != path else []))
        os.chmod(path, 0o644)
        program.run("-i", path, "--output", f"{top}/out", **nobody)
        equal(os.stat(f"{top}/out").st_uid, NOBODY, "owner")


def peak_of(process):
    """Bytes, until it ends. What wait4() says begins with the memory of the
    process that started it."""
    peak = 0
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status") as status:
                for line in status:
                    if line.startswith("VmHWM:"):
                        peak = int(line.split()[1]) * 1024
        except (OSError, ValueError):
            pass        # it ends just now
        time.sleep(0.005)
    return peak


def memory():
    """It does not grow with the file."""
    if program.has_sanitizer("thread"):
        print("SKIP memory: ThreadSanitizer takes more itself")
        return
    with program.directory() as top:
        path = large_file(top, 500 * MIB)
        for args in ([], ["-j", "4", "--hash", "flow"], ["-j", "2", "--order",
                                                         "strict"]):
            process = program.start("-i", path, "--payload", "headers",
                                    "--quiet", "--output", f"{top}/out", *args)
            peak = peak_of(process)
            result = program.end(process)
            equal(result.status, 0, "status")
            print(f"{args}: {peak / MIB:.1f} MiB")
            check(peak < 72 * MIB, f"{peak / MIB:.1f} MiB")
            program.shutil.rmtree(f"{top}/out")


CASES = [full_disk, full_disk_of_a_file, no_relay, relay_takes_all, slow_relay,
         relay_is_killed, relay_hangs, signals_in_a_file, fifo,
         fifo_in_pieces, fifo_with_other_data,
         inputs_that_are_refused, without_privileges, memory]

if __name__ == "__main__":
    program.need("babeltrace2")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(run(CASES, sys.argv[1:]))
