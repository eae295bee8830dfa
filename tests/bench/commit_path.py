#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a relay costs: CPU seconds per GiB received and written, of our relay,
of a plain sink that only reads and writes, and of lttng-relayd, in turn."""
import argparse
import json
import os
import shutil
import statistics
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]

from servers import GIB, Server, spread, warm           # noqa: E402

# Options of loadgen, share of --gib: small packets cost more for each byte.
LOADS = [
    ({"streams": 4, "size": 256 << 10, "outstanding": 16}, 1.0),
    ({"streams": 2, "size": 4 << 10, "outstanding": 256}, 0.25),
    ({"streams": 2, "size": 4 << 10, "outstanding": 1}, 0.125),
]
SERVERS = ["ours", "sink", "lttng-relayd"]


def once(options, name, load, packets, verify):
    """One run: CPU of the server, what the load generator says."""
    load = dict(load, packets=packets)
    with Server(name, options, ["--workers=1"]) as server:
        warm(server.dir, packets * load["streams"] * load["size"] + (64 << 20))
        time.sleep(0.2)
        server.mark()
        said = server.load(load)
        said["server_cpu_s"] = server.cpu_s()
        if verify and name != "sink":
            server.verify(load)
    said["cpu_s_per_gib"] = said["server_cpu_s"] / (said["bytes"] / GIB)
    said["cpu_us_per_packet"] = said["server_cpu_s"] / said["packets"] * 1e6
    return said


def measure(options, servers):
    results = []
    for load, share in LOADS:
        name = (f"{load['streams']} streams, {load['size'] >> 10} KiB, "
                f"{load['outstanding']} outstanding")
        packets = int(options.gib * share * GIB
                      / (load["size"] * load["streams"]))
        runs = {s: [] for s in servers}
        for n in range(options.runs):
            for s in servers:
                runs[s].append(once(options, s, load, packets, n == 0))
        results.append({"load": name, "runs": runs})
        report(results[-1])
    return results


def report(result):
    runs = result["runs"]
    print(f"\n{result['load']}: median (range) of {len(runs['ours'])} runs")
    sink = [r["cpu_s_per_gib"] for r in runs["sink"]]
    for s, of_server in runs.items():
        cpu = [r["cpu_s_per_gib"] for r in of_server]
        # In turn: the machine was the same for both runs of a pair.
        ratio = [a / b for a, b in zip(cpu, sink)]
        rate = [r["bytes"] / r["wall_s"] / (1 << 20) for r in of_server]
        per_packet = statistics.median(
            r["cpu_us_per_packet"] for r in of_server)
        line = (f"  {s:13}{spread(cpu, '%.3f')} CPU s/GiB, "
                f"{spread(ratio, '%.2f')} of the sink's, "
                f"{per_packet:.1f} us/packet; {spread(rate, '%.0f')} MiB/s")
        print(line, flush=True)
    result["ratio"] = {
        s: statistics.median(r["cpu_s_per_gib"] for r in runs[s])
        / statistics.median(sink) for s in runs}


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--relay", required=True)
    p.add_argument("--loadgen", required=True)
    p.add_argument("--sink", required=True)
    p.add_argument("--runs", type=int, default=7)
    p.add_argument("--gib", type=float, default=2.0)
    p.add_argument("--scratch", default="/dev/shm",
                   help="where to write; memory, or the disk is measured")
    p.add_argument("--json", help="write all results there")
    p.add_argument("--limit", type=float,
                   help="fail if ours costs more times what the sink costs, "
                   "for the first load")
    options = p.parse_args()
    if shutil.disk_usage(options.scratch).free < (options.gib + 0.5) * GIB:
        p.error(f"{options.scratch}: not enough room for {options.gib} GiB")
    servers = [s for s in SERVERS if s != "lttng-relayd" or shutil.which(s)]
    results = measure(options, servers)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(results, f, indent=1)
    ratio = results[0]["ratio"]["ours"]
    if options.limit and ratio > options.limit:
        print(f"ours / sink is {ratio:.2f}, above {options.limit}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
