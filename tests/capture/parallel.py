#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The program with a substitute for libtrace 4's parallel interface
(tests/capture/double): threads that the library has read an interface, or a
file in place of one. They lose nothing, and what they drop is told."""
import collections
import os
import signal
import sys
import time

os.environ["CAPTURE"] = "tests/capture/capture_double"
import packets as make  # noqa: E402
import program  # noqa: E402
from program import check, equal  # noqa: E402
from relay import run  # noqa: E402

INPUT = ["-i", "ring:tracepulse0"]      # needs not be there
PACKETS = 10000


def file_of(top, n=PACKETS):
    return make.write(f"{top}/a.pcap", list(make.some(n, 7)))


class Double:
    """Its variables, for what is started within."""

    def __init__(self, **variables):
        self.variables = {"LIBTRACE_DOUBLE_" + k: str(v)
                          for k, v in variables.items()}

    def __enter__(self):
        os.environ.update(self.variables)

    def __exit__(self, *_):
        for name in self.variables:
            del os.environ[name]


def seen(trace):
    return [packet for s in program.streams(trace) for packet in s.packets]


def of_file(top, path):
    """What the program makes of the file itself."""
    program.run("-i", path, "--payload", "none", "--quiet", "--output",
                f"{top}/serial")
    return seen(f"{top}/serial")


def lengths(packets):
    """Without their times, which a stream holds back where a packet is older
    than the one before, and which those are depends on the thread."""
    return collections.Counter(what for _, what in packets)


def each_packet_once():
    with program.directory() as top:
        path = file_of(top)
        want = of_file(top, path)
        for j in 2, 5:
            for hashing in "balance", "flow":
                out = f"{top}/{j}{hashing}"
                with Double(FILE=path):
                    said = program.capture(
                        *INPUT, "-j", j, "--hash", hashing, "--payload",
                        "none", "--output", out)
                equal((said["received"], said["written"]), (PACKETS, PACKETS),
                      "packets")
                got = program.streams(out)
                equal(len(got), j, "streams")
                equal(lengths(seen(out)), lengths(want), "packets")
                check(all(len(s.packets) > 100 for s in got), "shares")
                if said["clamped"] == 0:
                    equal(sorted(seen(out)), sorted(want), "times")
                for s in got:
                    equal(sorted(s.packets, key=lambda p: p[0]), s.packets,
                          "order in a stream")


def flows_stay_together():
    """Both directions of one come to one stream; headers and bytes arrive."""
    program.need("babeltrace2")
    with program.directory() as top:
        path = file_of(top, 2000)
        with Double(FILE=path):
            program.run(*INPUT, "-j", 3, "--hash", "flow", "--payload",
                        "full", "--quiet", "--output", f"{top}/out")
        of = collections.defaultdict(set)
        for e in program.events(f"{top}/out"):
            if e.name == "ipv4":
                ends = sorted([tuple(e["saddr"]), tuple(e["daddr"])])
                of[tuple(ends)].add(e["cpu_id"])
        check(len(of) > 3, f"{len(of)} pairs of hosts")
        check(all(len(streams) == 1 for streams in of.values()),
              "a flow in two streams")


def count():
    with program.directory() as top:
        path = file_of(top, 5000)
        for n in 1, 777:
            with Double(FILE=path, REPEATS=1):
                said = program.capture(*INPUT, "-j", 4, "--count", n,
                                       "--payload", "none", "--output",
                                       f"{top}/{n}")
            equal((said["received"], said["written"]), (n, n), "packets")


def drops():
    """Also as discarded events, of the first stream."""
    with program.directory() as top:
        path = file_of(top, 3000)
        with Double(FILE=path, DROPPED=4711):
            said = program.capture(*INPUT, "-j", 2, "--payload", "none",
                                   "--output", f"{top}/out")
        equal(said["dropped_kernel"], 4711, "dropped")
        equal(sum(s.discarded[-1] for s in program.streams(f"{top}/out")),
              4711, "discarded events")


def it_is_ended():
    """By a signal, or after a time, in the middle or while nothing comes."""
    with program.directory() as top:
        path = file_of(top, 500)
        for i, (how, option) in enumerate(
                (how, option) for how in ("REPEATS", "STAYS")
                for option in ([], ["--duration", "3s"])):
            out = f"{top}/{i}"
            with Double(FILE=path, **{how: 1}):
                process = program.start(
                    *INPUT, "-j", 3, "--payload", "none", "--json",
                    "--output", out, *option)
            if how == "STAYS" and not option:
                program.wait_for_rest(process)
            time.sleep(3)
            began = time.monotonic()
            if not option:
                process.send_signal(signal.SIGTERM)
            result = program.end(process)
            took = time.monotonic() - began
            equal((result.status, result.err), (0, ""), "status, stderr")
            check(took < 10, f"it took {took:.2f} s")
            said = result.json()
            equal(said["received"], said["written"] + said["dropped_local"],
                  "packets")
            equal(len(seen(out)), said["written"], "in the trace")
            if how == "STAYS":
                equal(said["written"], 500, "packets")


def idle_streams_go_on():
    """Each has statistics, with the numbers of the input, and its time goes
    on, when nothing comes any more."""
    with program.directory() as top:
        path = file_of(top, 100)
        with Double(FILE=path, STAYS=1):
            program.run(*INPUT, "-j", 3, "--payload", "none", "--quiet",
                        "--flush", "100ms", "--duration", "2500ms",
                        "--output", f"{top}/out")
        for s in program.streams(f"{top}/out"):
            check(len(s.stats) >= 2, f"{len(s.stats)} statistics")
            equal(s.stats[-1][1][0], 100, "received")
            times = [ns for ns, _ in s.stats]
            check(times[1] > times[0], "time stands still")
            check(abs(times[-1] / 1e9 - time.time()) < 60, "not this time")


def messages_and_filters():
    """Messages about the capture are no packets, also of a file, which is read
    by the serial calls; a filter that is given to libtrace was not tried."""
    with program.directory() as top:
        path = file_of(top, 500)
        with Double(FILE=path, META=1):
            said = program.capture(*INPUT, "-j", 2, "--filter", "ip or ip6",
                                   "--output", f"{top}/out")
        equal((said["received"], said["written"]), (500, 500), "packets")
        program.run("-i", path, "--write", f"erf:{top}/a.erf", "--quiet")
        want = program.capture("-i", path, "--filter", "tcp", "--output",
                               f"{top}/1")["written"]
        got = program.capture("-i", f"erf:{top}/a.erf", "--filter", "tcp",
                              "--output", f"{top}/2")["written"]
        equal(got, want, "packets of TCP")


def orders():
    """In one order over all, there is one reader, which is libtrace's own
    serial one."""
    with program.directory() as top:
        path = file_of(top, 100)
        with Double(FILE=path):
            for option in ["--order", "strict"], []:
                j = 2 if option else 1
                result = program.run(*INPUT, "-j", j, *option, "--output",
                                     f"{top}/out", status=1)
                check("tracepulse0" in result.err, result.err)


def it_does_not_start():
    with program.directory() as top:
        path = file_of(top, 100)
        with Double(FILE=path, FAILS=1):
            result = program.run(*INPUT, "-j", 2, "--output", f"{top}/out",
                                 status=1)
        equal(len(result.lines()), 1, result.err)
        check(not os.path.exists(f"{top}/out"), "something was made")
        with Double(FILE=path, THREADS=5):
            program.run(*INPUT, "-j", 2, "--output", f"{top}/more", status=1)
        with Double(FILE=path, STAYS=1):    # the output is the problem
            result = program.run(*INPUT, "-j", 2, "--write", "what:ever",
                                 status=1)
            check("what:ever" in result.err, result.err)


def capabilities():
    """Threads of the library have none."""
    if os.getuid() != 0 or program.has_sanitizer("thread"):
        print("SKIP capabilities: not root, or ThreadSanitizer, which has a "
              "thread of its own")
        return
    with program.directory() as top:
        path = file_of(top, 100)
        with Double(FILE=path, STAYS=1):
            process = program.start(*INPUT, "-j", 2, "--payload", "none",
                                    "--quiet", "--output", f"{top}/out")
        program.wait_for_rest(process)
        held = []
        for task in os.listdir(f"/proc/{process.pid}/task"):
            with open(f"/proc/{process.pid}/task/{task}/status",
                      encoding="ascii") as f:
                held += [line.split()[1] for line in f
                         if line.startswith(("CapPrm", "CapEff"))]
        process.send_signal(signal.SIGTERM)
        program.end(process)
        check(len(held) > 4, f"{len(held) // 2} threads")
        equal(sum(int(h, 16) != 0 for h in held), 0,
              "threads with capabilities")


CASES = [each_packet_once, flows_stay_together, count, drops, it_is_ended,
         idle_streams_go_on, messages_and_filters, orders,
         it_does_not_start, capabilities]

if __name__ == "__main__":
    sys.exit(run(CASES, sys.argv[1:]))
