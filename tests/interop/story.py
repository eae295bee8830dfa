# SPDX-License-Identifier: MIT
"""What scenarios are made of: a scenario is a story told to stock programs,
with what must come out of it. The same story is told with lttng-relayd, and
the two are compared (compare.py)."""
import os
import re

import tree
from tree import expect_events
from world import Failure, check

ALL = []


class Scenario:
    """A story and how to run it."""

    def __init__(self, play, name, options=(), reference=True,
                 compare_tree=True, needs_sessiond=True, todo=None,
                 restarts=None):
        self.play, self.name = play, name
        self.summary = play.__doc__.splitlines()[0]
        self.options = options          # of the relay; None: play starts it
        self.reference = reference      # does lttng-relayd survive it?
        self.compare_tree = compare_tree
        self.needs_sessiond = needs_sessiond
        self.todo = todo                # what we lack to pass; must fail then
        self.restarts = restarts        # s between two; None: there are none


def register(play, name, **how):
    """One more scenario."""
    ALL.append(Scenario(play, name, **how))


def scenario(**how):
    """Register a function of a World as a scenario of that name."""
    def decorate(play):
        register(play, play.__name__.replace("_", "-"), **how)
        return play
    return decorate


# What the stories are made of.

def prepare(w, name, *create, channel=(), channels=("ch0",), url_path="",
            url=None, subbuf="4k", count="64"):
    """Create a session with these channels, each with demo:*."""
    w.lttng("create", name, "--set-url", url or w.url(url_path), *create)
    for one in channels:
        w.lttng("enable-channel", "-u", "-s", name, "--subbuf-size", subbuf,
                "--num-subbuf", count, one, *channel)
        w.lttng("enable-event", "-u", "-s", name, "-c", one, "demo:*")


def begin(w, name, *create, **how):
    """The same, and start it."""
    prepare(w, name, *create, **how)
    w.lttng("start", name)


def end(w, name):
    """Stop and destroy."""
    w.lttng("stop", name)
    w.lttng("destroy", name)


def watch(w):
    """To be called while packets arrive: no index ahead of its data."""
    return lambda: tree.check_indexes(w.relay.output, is_whole=False)


def expect_archive(w, session, number, wanted):
    """Archive NUMBER of SESSION, whole and with the events WANTED."""
    path = w.path("*/%s-*/archives/*-%d" % (session, number))
    tree.check_indexes(path)
    expect_events(w, path, wanted)


def expect_session(w, session, wanted):
    """A session without chunks, whole and with the events WANTED."""
    path = w.path("*/%s-*" % session)
    check(tree.check_indexes(path) != 0, f"{path}: no index files")
    expect_events(w, path, wanted)


def expect_beginning(w, path, least, most):
    """What survives a kill: the first events without a gap, at least those
    numbered below LEAST, at most those below MOST."""
    got = tree.events(w, path)
    if got != list(range(len(got))) or not least <= len(got) <= most:
        raise Failure("%s: events %s; expected the first %d to %d"
                      % (path, tree.span(got), least, most))


def rotate(w, session, *options):
    """Rotate; what it says is readable must be so at once."""
    output = w.lttng("rotate", session, *options)
    found = re.search(r"readable on relay tcp://[^/]*/(\S+)", output)
    check(found is not None, f"rotate printed no place: {output}")
    place = os.path.join(w.relay.output, found.group(1))
    if not w.is_reference and not tree.has_metadata(place):
        raise Failure("rotate printed %s: no trace there" % found.group(1))
