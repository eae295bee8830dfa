#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the relay costs, beside lttng-relayd and beside plain sinks that only
read and write, on the same bytes, in turn; every byte is verified. CPU of the
relay's process is the figure that counts: the load generator shares the
machine."""
import functools
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "interop")]
sys.path.append(os.path.join(HERE, "..", "ftrace"))

import conversion                                       # noqa: E402
import datagrams                                        # noqa: E402
import downloading                                      # noqa: E402
import heap                                             # noqa: E402
import listening                                        # noqa: E402
import live_raw                                         # noqa: E402
import measure                                          # noqa: E402
import packets                                          # noqa: E402
import picture                                          # noqa: E402
import reading                                          # noqa: E402
import sending                                          # noqa: E402
from measure import Measure                             # noqa: E402
from servers import GIB, Server, network, warm                   # noqa: E402

PROGRAMS = ("relay", "loadgen", "viewgen", "sink", "heapcost", "sender")
MAY_LACK = ("capture", "ftrace", "plugin")  # without their libraries; old builds
ALL = ["ours", "sink", "lttng-relayd"]
MIB = 1 << 20
ELSEWHERE = 100000      # numbers of sessions that are not measured
# Sessions: packets of each of their two streams, of ours and of the
# reference, which needs too long for more.
CROWDS = {10: (1000, 1000), 100: (100, 100), 300: (100, 20), 1000: (100, 10),
          3000: (30, 0)}


def bulk(options, name, sessions=1, ours=("--workers=1",), kib=256, within=()):
    """CPU s/GiB, packets of 256 KiB, 4 streams, 16 indexes outstanding"""
    load = {"sessions": sessions, "streams": 4, "size": kib << 10,
            "outstanding": 16}
    load["packets"] = int(options.gib * GIB / (kib << 12) / sessions)
    with Server(name, options, ours, within) as server:
        warm(server.dir, int(options.gib * GIB) + 64 * MIB)
        server.mark()
        said = server.load(load)
        threads = server.threads_cpu_s()
        result = {"value": sum(threads) / (said["bytes"] / GIB),
                  "mib_per_s": said["bytes"] / said["wall_s"] / MIB,
                  "busiest_share": threads[0] / sum(threads)}
        if name != "sink":
            result["peak_mib"] = server.memory("VmHWM") / MIB
            server.verify(load)
        return result


def two_workers(options, name):
    """CPU s/GiB of two senders on two workers, and the share of the busier
    one"""
    return bulk(options, name, sessions=2, ours=("--workers=2",))


def bulk_by_ethernet(options, name):
    """CPU s/GiB, packets of 256 KiB, through a loopback with an MTU of 1,500"""
    with network(1500) as within:
        return bulk(options, name, within=within)


def small(options, name, sessions, outstanding=1):
    """CPU us for each packet, without what the sessions themselves cost"""
    packets = CROWDS[sessions][1 if name == "lttng-relayd" else 0]
    load = {"sessions": sessions, "streams": 2, "size": 4096,
            "outstanding": outstanding, "packets": packets}
    with Server(name, options) as server:
        warm(server.dir, sessions * packets * 2 * 4096 + 64 * MIB)
        server.mark()
        server.load(dict(load, packets=0, first=ELSEWHERE))
        empty_s = server.cpu_s()
        said = server.load(load)
        cpu_s = server.cpu_s() - 2 * empty_s
        server.verify(load)
        return {"value": cpu_s / said["packets"] * 1e6,
                "packets": said["packets"],
                "packets_per_s": said["packets"] / said["wall_s"],
                "peak_mib": server.memory("VmHWM") / MIB}


def streams_created(options, name):
    """CPU us for each of 10,000 streams, created and closed"""
    load = {"sessions": 100, "streams": 100, "packets": 0, "size": 4096}
    with Server(name, options) as server:
        server.mark()
        server.load(load)
        return {"value": server.cpu_s() / 10000 * 1e6,
                "peak_mib": server.memory("VmHWM") / MIB}


def short_sessions(options, name):
    """CPU us for each of 5,000 short sessions: 2 streams, one packet each"""
    load = {"sessions": 5000, "streams": 2, "packets": 1, "size": 4096}
    with Server(name, options) as server:
        server.mark()
        server.load(load)
        cpu_s = server.cpu_s()
        server.verify(load)
        return {"value": cpu_s / 5000 * 1e6,
                "peak_mib": server.memory("VmHWM") / MIB}


def asked_bystanders(options, name):
    """median index round trip beside 20 sessions of which one asks
    DATA_PENDING in a loop, as a multiple of that without"""
    load = {"sessions": 4, "streams": 2, "packets": 200, "size": 4096,
            "rate": 100}
    others = {"sessions": 20, "streams": 50, "packets": 1, "size": 4096}
    p50 = []
    with Server(name, options) as server:
        for n, asks in enumerate((None, True, None)):
            with server.background(dict(others, asking=asks,
                                        first=ELSEWHERE * (n + 1))):
                said = server.load(dict(load, first=1000 * (n + 1)))
            p50.append(said["index_reply_us"]["p50"])
    without = (p50[0] + p50[2]) / 2
    return {"value": p50[1] / without, "p50_us": p50[1],
            "p50_without_us": without}


def crowds():
    """Cost per packet against the number of sessions."""
    asked = {100: {"of": {"lttng-relayd": 0.28}},
             1000: {"of": {"lttng-relayd": 0.06},
                    "of_own": ("sessions-10", 1.5)}}
    return [Measure(
        f"sessions-{n}", functools.partial(small, sessions=n),
        servers=None if theirs else ["ours"], slow=n > 100,
        runs=2 if n > 100 else None,
        text=f"CPU us per packet of 4 KiB: {n} sessions of 2 streams, one "
        "index at a time", **asked.get(n, {}))
        for n, (_, theirs) in CROWDS.items()]


def measures(options):
    """All, in the order in which they are run."""
    return [
        Measure("bulk", bulk, servers=ALL,
                of={"sink": 1.0, "lttng-relayd": 0.85}),
        Measure("two-workers", two_workers, servers=["ours"],
                of_own=("bulk", 1.15), within=("busiest_share", 0.35, 0.65)),
        Measure("bulk-64k", functools.partial(bulk, kib=64), servers=ALL,
                text="CPU s/GiB, packets of 64 KiB, else as bulk"),
        Measure("bulk-1m", functools.partial(bulk, kib=1024), servers=ALL,
                text="CPU s/GiB, packets of 1 MiB, else as bulk"),
        Measure("bulk-1500", bulk_by_ethernet, servers=ALL),
    ] + crowds() + [
        Measure("outstanding-16", functools.partial(
            small, sessions=100, outstanding=16), of={"lttng-relayd": 0.12},
            text="CPU us per packet of 4 KiB: 100 sessions, 16 indexes "
            "outstanding"),
        Measure("streams", streams_created, of={"lttng-relayd": 0.6},
                runs=3),
        Measure("short-sessions", short_sessions, of={"lttng-relayd": 0.6},
                slow=True, runs=2),
        Measure("data-pending", asked_bystanders, limit=1.1, slow=True,
                runs=3),
    ] + datagrams.measures() + heap.measures() + sending.measures() \
        + packets.measures(options) + conversion.measures(options) \
        + listening.measures(options) + reading.measures(options) \
        + live_raw.measures() + downloading.measures()


def main():
    """Exit status 1: a figure could not be taken."""
    options = measure.parse(__doc__, PROGRAMS, MAY_LACK)
    results = measure.run_all(measures(options), options)
    if options.svg and results:
        picture.write(options.svg, results)
    return measure.status(results)


if __name__ == "__main__":
    sys.exit(main())
