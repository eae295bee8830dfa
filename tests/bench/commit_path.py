#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a relay costs: CPU seconds per GiB received and written, of our relay,
of a plain sink that only reads and writes, and of lttng-relayd, in turn."""
import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

GIB = 1 << 30
# Options of loadgen, share of --gib: small packets cost more for each byte.
LOADS = [
    ({"streams": 4, "size": 256 << 10, "outstanding": 16}, 1.0),
    ({"streams": 2, "size": 4 << 10, "outstanding": 256}, 0.25),
    ({"streams": 2, "size": 4 << 10, "outstanding": 1}, 0.125),
]
SERVERS = ["ours", "sink", "lttng-relayd"]


def wait_for(what, condition, timeout=10.0):
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError("no " + what)
        time.sleep(0.02)


def listens(port):
    """Without connecting: the sink serves one connection after the other."""
    wanted = ":%04X" % port
    with open("/proc/net/tcp", encoding="ascii") as f:
        rows = [line.split() for line in f][1:]
    return any(r[1].endswith(wanted) and r[3] == "0A" for r in rows)


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def cpu_ns(pid):
    """On the CPU so far, all threads, in ns; start and end do not count."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total


def warm(directory, size):
    """Touch as much memory as a run will write to. In a virtual machine free
    pages may have gone back to the host; the first touch then costs as much
    as all that is measured here, and hits whoever runs first."""
    piece = bytes(1 << 20)
    with tempfile.TemporaryFile(dir=directory) as f:
        for _ in range(size >> 20):
            f.write(piece)


class Server:
    """One of SERVERS, with its own directory, home and ports."""

    def __init__(self, name, options):
        self.name = name
        self.options = options
        self.dir = tempfile.mkdtemp(prefix="tracepulse-bench-",
                                    dir=options.scratch)
        self.ports = free_ports(3)
        self.process = None

    def argv(self):
        if self.name == "sink":
            return [self.options.sink, str(self.ports[0]),
                    self.dir + "/data"]
        url = "tcp://127.0.0.1:%d"
        relay = [self.options.relay, "--workers=1"]
        if self.name == "lttng-relayd":
            relay = [shutil.which("lttng-relayd")]
        return relay + ["-C", url % self.ports[0], "-D", url % self.ports[1],
                        "-L", url % self.ports[2], "-o", self.dir + "/traces"]

    def __enter__(self):
        env = dict(os.environ, HOME=self.dir, LTTNG_HOME=self.dir,
                   LTTNG_RUNDIR=self.dir + "/run",
                   LTTNG_RELAYD_HEALTH=self.dir + "/health")
        self.process = subprocess.Popen(
            self.argv(), env=env, stdout=subprocess.DEVNULL)
        ports = self.ports[:1] if self.name == "sink" else self.ports
        wait_for("listener of " + self.name,
                 lambda: all(listens(p) for p in ports))
        time.sleep(0.2)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        shutil.rmtree(self.dir)

    def load(self, load, packets, verify):
        """Of one run: CPU of the server, what the load generator says."""
        argv = [self.options.loadgen, "--json", f"--packets={packets}"]
        argv += [f"--{k}={v}" for k, v in load.items()]
        if self.name == "sink":
            argv += [f"--raw={self.ports[0]}"]
        else:
            argv += [f"--control={self.ports[0]}", f"--data={self.ports[1]}"]
            if verify:
                argv += [f"--verify={self.dir}/traces"]
        warm(self.dir, packets * load["streams"] * load["size"] + (64 << 20))
        before = cpu_ns(self.process.pid)
        said = json.loads(subprocess.run(
            argv, check=True, stdout=subprocess.PIPE).stdout)
        said["server_cpu_s"] = (cpu_ns(self.process.pid) - before) / 1e9
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
                with Server(s, options) as server:
                    runs[s].append(server.load(load, packets, n == 0))
        results.append({"load": name, "runs": runs})
        report(results[-1])
    return results


def spread(values, form):
    return (form + " (" + form + " - " + form + ")") % (
        statistics.median(values), min(values), max(values))


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
