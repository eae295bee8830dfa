# SPDX-License-Identifier: MIT
"""Scenarios made of tests/vectors: recorded sessions played over real sockets,
and the tree compared with what lttng-relayd once made of them, to the byte."""
import hashlib
import os

import replay
import tree
import world
from story import register
from world import Failure, wait_for

# Where the tree differs on purpose (doc/compat.md): only its names must agree.
OTHER_BYTES = {"clear-first": "first packet after an early clear"}


def expected_tree(directory):
    """{name: (digest, size)}; directories have None."""
    out = {}
    with open(os.path.join(directory, "expected-tree.txt")) as lines:
        for line in lines:
            field = line.split()
            if field[0] == "dir":
                out[field[1].rstrip("/")] = None
            else:
                out[field[2]] = (field[0], int(field[1]))
    return out


def actual_tree(base, while_running=False):
    """The same of what is there. A journal of open streams is not part of the
    tree, but must be gone after a clean end."""
    out = {}
    for folder, directories, files in os.walk(base):
        if while_running:
            files = [name for name in files if not name.startswith(".")]
        for name in directories:
            out[os.path.relpath(os.path.join(folder, name), base)] = None
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as handle:
                blob = handle.read()
            out[os.path.relpath(path, base)] = (
                hashlib.sha256(blob).hexdigest(), len(blob))
    return out


def differences(wanted, got, names_only):
    """Names whose presence, or content, is not as expected."""
    return [name for name in sorted(set(wanted) | set(got))
            if (name in wanted) != (name in got)
            or (not names_only and wanted[name] != got[name])]


def play_recording(w, name):
    """Play it and compare the tree."""
    directory = os.path.join(world.VECTORS, name)
    try:
        replay.replay(directory, "127.0.0.1", w.ports[0], w.ports[1])
    except replay.ReplayError as error:
        raise Failure(str(error)) from error
    wanted = expected_tree(directory)
    names_only = name in OTHER_BYTES and not w.is_reference

    def is_as_expected():
        got = actual_tree(w.relay.output, while_running=True)
        return not differences(wanted, got, names_only)
    try:        # the last packets may still be on their way
        wait_for("tree", is_as_expected, timeout=5.0, step=0.1)
    except Failure:
        pass    # said below, with names
    w.relay.stop()
    got = actual_tree(w.relay.output)
    wrong = differences(wanted, got, names_only)
    if wrong:
        raise Failure("tree: " + "; ".join(
            "%s: %s instead of %s" % (path, got.get(path), wanted.get(path))
            for path in wrong))
    tree.check_indexes(w.relay.output)


def recording(name):
    """A scenario for one directory of tests/vectors."""
    def play(w):
        play_recording(w, name)
    play.__doc__ = "tests/vectors/%s, over sockets, to the byte" % name
    register(play, "recorded-" + name, reference=False, needs_sessiond=False)


if os.path.isdir(world.VECTORS):
    for folder in sorted(os.listdir(world.VECTORS)):
        if os.path.exists(os.path.join(world.VECTORS, folder, "timeline.tsv")):
            recording(folder)
