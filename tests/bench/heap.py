# SPDX-License-Identifier: MIT
"""What the priority heap costs: a packet through store/reorder, in and out,
while so many wait for their turn."""
import functools

from measure import Measure
from servers import argv_of, run_json

DEPTHS = (1, 64, 4096)
PACKETS = 1 << 20


def through(options, _, depth):
    """CPU ns of one packet; every one is checked as it comes out."""
    said = run_json(argv_of(options.heapcost,
                            {"depth": depth, "packets": PACKETS}))
    return {"value": said["ns_per_packet"], "packets": said["packets"]}


def measures():
    """One for each depth."""
    return [Measure(
        f"heap-{n}", functools.partial(through, depth=n), servers=["ours"],
        text="CPU ns of a packet through store/reorder, in and out, seeded "
        f"order: {n} at most wait for their turn") for n in DEPTHS]
