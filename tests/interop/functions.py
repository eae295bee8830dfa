# SPDX-License-Identifier: MIT
"""Functions that lttng-ust-cyg-profile traces, as slices of a Perfetto trace."""
import ctypes.util
import os
import pathlib
import shutil
import subprocess
import sys

import world
from world import Failure, Skipped, check

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(TESTS, name) for name in ("plugin", "replay")]
os.environ.setdefault("srcdir", world.SOURCE)
import perfetto
import plugin
from story import end, scenario
from viewers import await_session


def slices(w, path, *options):
    """(kind, name) of what sink.tracepulse.perfetto makes of the trace."""
    file = pathlib.Path(w.send_path).with_name(
        "babeltrace-plugin-tracepulse.so")
    if not file.exists():
        raise Skipped("the plug-in of babeltrace2 was not built")
    out = os.path.join(w.directory, "functions.pftrace")
    done = subprocess.run(
        ["babeltrace2", "--plugin-path", file.parent, *options, path,
         "-c", "sink.tracepulse.perfetto", "-p", f'path="{out}"'],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=plugin.environment(file))
    if done.returncode != 0:
        raise Failure("babeltrace2: " + done.stderr.decode())
    return [(kind, name) for _, _, kind, name, _ in
            perfetto.track_events(perfetto.packets_of(out))
            if kind != "INSTANT"]


def calls(main, outer, inner):
    """What the program does, by the names of its functions."""
    def of(name, *within):
        return [("SLICE_BEGIN", name), *sum(within, []), ("SLICE_END", None)]
    return of(main, of(outer, of(inner)), of(outer, *[of(inner)] * 3))


@scenario(reference=False, compare_tree=False)
def functions(w):
    """calls of functions, traced by the library lttng-ust-cyg-profile, are slices
    with the functions' addresses, and with their names by debug-info"""
    library = ctypes.util.find_library("lttng-ust-cyg-profile")
    program = os.path.join(os.path.dirname(w.app_path), "functions")
    if library is None:
        raise Skipped("there is no liblttng-ust-cyg-profile")
    if not os.path.exists(program):
        raise Skipped("the program of functions is not within reach")
    if shutil.which("protoc") is None:
        raise Skipped("there is no protoc")
    w.lttng("create", "calls", "--set-url", w.url())
    w.lttng("enable-event", "-u", "-s", "calls",
            "lttng_ust_cyg_profile:*,lttng_ust_statedump:*")
    w.lttng("add-context", "-u", "-s", "calls", "-t", "vpid", "-t", "vtid",
            "-t", "procname", "-t", "ip")
    w.lttng("start", "calls")
    await_session(w, "calls")
    child = w.spawn(program, stdout=subprocess.PIPE,
                    environment={"LD_PRELOAD": library})
    addresses = child.communicate(timeout=30)[0].decode().split()
    check(child.returncode == 0, "the program failed")
    end(w, "calls")
    path = w.path("*/calls-*")
    for options, names in (([], addresses),
                           (["--debug-info"], ("main", "outer", "inner"))):
        got, want = slices(w, path, *options), calls(*names)
        if got != want:
            raise Failure("%s: slices are %r, not %r" % (options, got, want))
