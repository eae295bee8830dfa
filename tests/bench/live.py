#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Live viewing in figures: our relay and lttng-relayd in turn, each run with
daemons of its own; medians and ranges, beside what was asked for."""
import functools
import os
import shutil
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "interop")]

import live_raw                                         # noqa: E402
import live_stock                                       # noqa: E402
import measure                                          # noqa: E402
from measure import Measure                             # noqa: E402

# Medians of the same program differ by so much from run to run.
NOISE = 1.02
PROGRAMS = ("relay", "loadgen", "viewgen", "app")


def has_tail(options):
    """Is all there that `tail` needs? It is found beside the relay."""
    where = os.path.dirname(os.path.abspath(options.relay or ""))
    return shutil.which("jq") and all(
        os.path.exists(os.path.join(where, name))
        for name in ("tracepulse", "babeltrace-plugin-tracepulse.so"))


def stock_measures(options):
    """Those that need lttng and stock viewers."""
    found = []
    for viewer in live_stock.VIEWERS:
        for channels in (1, 4):
            found.append(Measure(
                f"requests-{viewer}-{channels}", functools.partial(
                    live_stock.run, "requests", viewer=viewer,
                    live_us=1000000, channels=channels),
                limit=15, slow=True,
                text=f"requests/s of an idle {viewer}, channels: {channels}, "
                "one stream per CPU each, timer 1 s"))
    for live_us in (100000, 1000000):
        for viewer in live_stock.VIEWERS:
            found.append(Measure(
                f"latency-{viewer}-{live_us // 1000}", functools.partial(
                    live_stock.run, "latency", viewer=viewer, live_us=live_us,
                    seconds=20 if live_us < 500000 else 12),
                of={"lttng-relayd": NOISE}, slow=True,
                text=f"ms from tracepoint to {viewer}'s line, timer "
                f"{live_us / 1e6:g} s"))
        found.append(Measure(
            f"follow-{live_us // 1000}", functools.partial(
                live_stock.run, "follow", viewer="babeltrace2",
                live_us=live_us, seconds=20),
            limit=1000, servers=["ours"], slow=True,
            text="ms that babeltrace2 is later behind a second relay, to which "
            "`tracepulse-send --follow` sends, than behind the first, at most; "
            f"timer {live_us / 1e6:g} s"))
        if not has_tail(options):
            continue
        found.append(Measure(
            f"tail-{live_us // 1000}", functools.partial(
                live_stock.run, "tail", viewer="babeltrace2",
                live_us=live_us, seconds=20),
            limit=100, within=("late_most", 0, live_us / 1e3 + 200),
            servers=["ours"], slow=True,
            text="ms that `tracepulse tail --json | jq` is behind "
            "babeltrace2's text, at most; late: behind the tracepoint, timer "
            f"{live_us / 1e6:g} s"))
    return found


def measures(options):
    """All, in the order in which they are run."""
    return live_raw.measures() + [
        Measure("start", live_raw.start, limit=50),
    ] + stock_measures(options)


def main():
    """Exit status 1: a figure could not be taken."""
    options = measure.parse(__doc__, PROGRAMS)
    return measure.status(measure.run_all(measures(options), options))


if __name__ == "__main__":
    sys.exit(main())
