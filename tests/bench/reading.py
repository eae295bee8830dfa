# SPDX-License-Identifier: MIT
"""The plug-in of babeltrace2: what an event of a kernel trace costs, from its CTF
to JSON and to a Perfetto trace, beside text and a sink that drops it."""
import atexit
import functools
import os
import shutil
import subprocess
import tempfile

from conversion import trace_file
from measure import Measure
from sending import run

BYTES = 47 * 10 ** 6    # of the trace.dat, with --gib=1: a million events
SINKS = {"dropped": "sink.utils.dummy", "text": "sink.text.pretty",
         "ndjson": "sink.tracepulse.ndjson",
         "perfetto": "sink.tracepulse.perfetto"}


@functools.lru_cache(maxsize=None)
def trace(ftrace, scratch, total):
    """In CTF, and how many events it has."""
    directory = tempfile.mkdtemp(prefix="tracepulse-bench-", dir=scratch)
    atexit.register(shutil.rmtree, directory)
    said = subprocess.run(
        [ftrace, "convert", trace_file(scratch, total), directory + "/trace"],
        stdout=subprocess.PIPE, check=True, text=True).stdout
    return directory + "/trace", int(said.split()[0])


def read(options, name, ours):
    """With the sink NAME; "ours" is OURS."""
    path, events = trace(options.ftrace, options.scratch,
                         int(options.gib * BYTES))
    name = ours if name == "ours" else name
    with tempfile.TemporaryDirectory(dir=options.scratch) as where:
        out = where + "/out"
        argv = ["babeltrace2", "--plugin-path",
                os.path.dirname(options.plugin), path, "-c", SINKS[name]]
        if name != "dropped":
            argv += ["-p", f'path="{out}"']
        cpu_s = run(argv)
        size = os.path.getsize(out) if name != "dropped" else 0
    return {"value": cpu_s / events * 1e9, "bytes": size / events}


def measures(options):
    """Those of `make bench`."""
    if not options.ftrace or not options.plugin or \
            not shutil.which("babeltrace2"):
        return []
    return [Measure(
        f"read-{format}", functools.partial(read, ours=format),
        servers=["ours", "dropped", "text"], of={"text": 1.0},
        text="CPU ns and bytes per event of a kernel trace, by "
        f"sink.tracepulse.{format}; dropped is the reader's share")
        for format in ("ndjson", "perfetto")]
