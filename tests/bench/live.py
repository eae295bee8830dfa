#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Live viewing in figures: our relay and lttng-relayd in turn, each run with
daemons of its own; medians and ranges, beside what was asked for."""
import argparse
import functools
import json
import os
import shutil
import signal
import statistics
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "interop")]

import live_raw                                         # noqa: E402
import live_stock                                       # noqa: E402
from servers import GIB, RELAYS, spread                 # noqa: E402


class Measure:
    """A figure: how it is taken, and how large it may be, by itself and as a
    multiple of the reference's; None: no matter."""

    def __init__(self, name, take, limit=None, of_reference=None,
                 servers=None, text=None):
        self.name, self.take = name, take
        self.limit, self.of_reference = limit, of_reference
        self.servers = servers or RELAYS
        self.text = text or " ".join(take.__doc__.split())


def stock_measures():
    """Those that need lttng and stock viewers."""
    found = []
    for viewer in live_stock.VIEWERS:
        for channels in (1, 4):
            found.append(Measure(
                f"requests-{viewer}-{channels}", functools.partial(
                    live_stock.run, "requests", viewer=viewer,
                    live_us=1000000, channels=channels),
                limit=15, text=f"requests/s of an idle {viewer}, {channels} "
                "channels, one stream per CPU each, timer 1 s"))
    for live_us in (100000, 1000000):
        for viewer in live_stock.VIEWERS:
            found.append(Measure(
                f"latency-{viewer}-{live_us // 1000}", functools.partial(
                    live_stock.run, "latency", viewer=viewer,
                    live_us=live_us, seconds=20 if live_us < 500000 else 12),
                of_reference=1.0, text=f"ms from tracepoint to {viewer}'s "
                f"line, timer {live_us / 1e6:g} s"))
    return found


def measures():
    """All, in the order in which they are run."""
    return [
        Measure("attach", live_raw.attach, limit=5),
        Measure("give-256k", live_raw.give_256k, of_reference=0.5),
        Measure("give-4k", live_raw.give_4k, of_reference=0.5),
        Measure("give-8-viewers", live_raw.give_8_viewers, servers=["ours"]),
        Measure("stopped-viewer", live_raw.stopped_viewer, limit=2),
        Measure("late-answer", live_raw.late_answer, limit=1),
        Measure("idle", live_raw.idle, limit=16),
        Measure("idle-cpu", live_raw.idle_cpu, of_reference=0.5),
        Measure("start", live_raw.start, limit=50),
    ] + stock_measures()


def verdict(measure, runs):
    """What was asked for, and whether it is so; None: nothing was asked."""
    ours = statistics.median(r["value"] for r in runs["ours"])
    if measure.limit is not None:
        return f"at most {measure.limit:g}", ours <= measure.limit
    if measure.of_reference is None or not runs.get("lttng-relayd"):
        return None, None
    other = statistics.median(r["value"] for r in runs["lttng-relayd"])
    return (f"at most {measure.of_reference:g} of lttng-relayd's, is "
            f"{ours / other:.2f}", ours <= measure.of_reference * other)


def take(measure, options):
    """All runs of one measure, in turn; one that fails is reported."""
    runs, errors = {s: [] for s in measure.servers}, []
    if not shutil.which("lttng-relayd"):
        runs.pop("lttng-relayd", None)
    for _ in range(options.runs):
        for server, done in runs.items():
            try:
                done.append(measure.take(options, server))
            except RuntimeError as error:
                errors.append(f"{server}: {error}")
    return runs, errors


def is_wanted(measure, only):
    """NAME is that figure, or all that begin so if none has that name."""
    names = {m.name for m in measures()}
    return not only or any(
        measure.name == n or (n not in names and measure.name.startswith(n))
        for n in only)


def report(measure, runs, errors):
    """On the terminal; the same as a dict."""
    print(f"\n{measure.name}: {measure.text}")
    for server, done in runs.items():
        if not done:
            continue
        line = f"  {server:13}{spread([r['value'] for r in done], '%.2f')}"
        for key, value in done[0].items():
            if key != "value" and isinstance(value, (int, float)):
                line += ", %s %.4g" % (
                    key, statistics.median(r[key] for r in done))
        print(line)
    for error in errors:
        print("  failed: " + error)
    goal, is_met = verdict(measure, runs) if runs["ours"] else (None, False)
    if goal:
        print(f"  {'ok' if is_met else 'MISSED'}: {goal}")
    sys.stdout.flush()
    return {"name": measure.name, "text": measure.text, "runs": runs,
            "errors": errors, "goal": goal, "is_met": is_met}


def parse():
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__)
    for name in ("relay", "loadgen", "viewgen", "app"):
        p.add_argument("--" + name, required=True, metavar="PATH")
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--gib", type=float, default=0.5,
                   help="recorded for each run that gives it to viewers")
    p.add_argument("--scratch", default="/dev/shm",
                   help="where to write (default: %(default)s)")
    p.add_argument("--only", action="append", metavar="NAME",
                   help="this figure, or those that begin so; several times")
    p.add_argument("--list", action="store_true", help="names of the figures")
    p.add_argument("--json", metavar="FILE", help="all results, too")
    return p.parse_args()


def main():
    """Exit status 1: a figure is not as asked, or could not be taken."""
    if "--list" in sys.argv[1:]:
        for m in measures():
            print(f"{m.name:24} {m.text}")
        return 0
    options = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if shutil.disk_usage(options.scratch).free < 2 * options.gib * GIB:
        sys.exit(f"{options.scratch}: not enough room")
    results = []
    for m in measures():
        if not is_wanted(m, options.only):
            continue
        results.append(report(m, *take(m, options)))
        if options.json:
            with open(options.json, "w", encoding="utf-8") as f:
                json.dump(results, f, indent=1)
    return 0 if all(r["is_met"] is not False and not r["errors"]
                    for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
