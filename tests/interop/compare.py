# SPDX-License-Identifier: MIT
"""Our relay against lttng-relayd: what lttng printed, how long it took, and
the trees. What differs on purpose stands in DIFFERENCES, and nowhere else."""
import re

SLOWER_WARN = 0.5       # seconds beyond the reference
SLOWER_FAIL = 15.0      # a busy machine stands still at times


class Difference:
    """A reply or a tree of ours that differs on purpose."""

    def __init__(self, why, command=None, edit=None, name=None,
                 scenario="."):
        self.why = why                  # a heading of doc/compat.md
        self.scenario = re.compile(scenario)
        self.command = command and re.compile(command)
        self.edit = edit                # (pattern, replacement), for both
        self.name = name and re.compile(name)   # of a file


DIFFERENCES = [
    Difference("the place of the first archive",
               command=r"rotate|destroy|stop",
               edit=(r"(DATE)/archives/STAMP-STAMP-0\b", r"\1")),
    Difference("first packet after an early clear", scenario="^clear-early$",
               name=r"/index(/|$)"),
    # Of differential.py: a dialogue is not compared further once the relays
    # have gone different ways.
    Difference("the place of the first archive", command="^dialogue ",
               edit=(r"(rotate: path 0: b'[^']*?)/archives/STAMP-STAMP-\d+",
                     r"\1")),
    Difference("names", command="^dialogue ",
               edit=(r"(?s)(^|\n)odd (channel: |path: |session with an "
                     r"absolute).*", "")),
    Difference("refused, where the reference crashes or goes wrong",
               command="^dialogue ",
               edit=(r"(?s)\nodd (chunk: same id|version|major version"
                     r"|index of metadata|rotate: to the same): .*", "")),
    Difference("handles", command="^dialogue ",
               edit=(r"(?s)\nodd (begin|end): unknown session: .*", "")),
    Difference("a payload that is cut short", command="^dialogue ",
               edit=(r"(?s)\nodd chunk: name cut short: .*", "")),
    Difference("DATA_PENDING", command="^dialogue ",
               edit=(r"(odd pending of metadata: asked\nanswer: )\w+", r"\1N")),
    Difference("an archive exists when `lttng rotate` says so",
               command="^dialogue ",
               edit=(r"(odd exists: current: asked\nanswer: )\w+", r"\1N")),
    Difference("a rotation that cannot be finished is told",
               command="^dialogue ",
               edit=(r"(?s)\nrotate: close: \w+\nrotate: path \w+: b''\n.*",
                     "")),
    Difference("a rotation that cannot be finished is told",
               command="^dialogue ",
               edit=(r"(?s)(\nodd close: current chunk: asked\nanswer: \w+\n"
                     r"path: [^\n]*)\n.*", r"\1")),
    Difference("temporary directories", command="^dialogue ",
               edit=(r"(?s)(\nodd chunk: bad name: asked\nanswer: \w+\nover)"
                     r"\n.*", r"\1")),
]


def edited(scenario, argv, text):
    """TEXT without what differs on purpose."""
    for difference in DIFFERENCES:
        if difference.edit and difference.scenario.search(scenario) \
                and difference.command.search(argv):
            text = re.sub(*difference.edit, text)
    return text


def compare_commands(scenario, ours, reference):
    """(problems, warnings) in what lttng did."""
    problems, warnings = [], []
    if [c["argv"] for c in ours] != [c["argv"] for c in reference]:
        return ["not the same commands"], warnings
    for mine, other in zip(ours, reference):
        if not mine["compare"]:
            continue
        argv = mine["argv"]
        said, wanted = (edited(scenario, argv, c["output"])
                        for c in (mine, other))
        if (mine["status"], said) != (other["status"], wanted):
            problems.append("lttng %s: status %d %r; with lttng-relayd %d %r"
                            % (argv, mine["status"], said, other["status"],
                               wanted))
        slower = mine["seconds"] - other["seconds"]
        message = "lttng %s: %.2f s; with lttng-relayd %.2f s" \
            % (argv, mine["seconds"], other["seconds"])
        if slower > SLOWER_FAIL:
            problems.append(message)
        elif slower > SLOWER_WARN:
            warnings.append(message)
    return problems, warnings


def compare_trees(scenario, ours, reference):
    """Problems in names, kinds and permissions."""
    problems = []
    for name in sorted(set(ours) | set(reference)):
        if ours.get(name) == reference.get(name):
            continue
        if any(d.name and d.scenario.search(scenario) and d.name.search(name)
               for d in DIFFERENCES):
            continue
        problems.append("%s: %s; with lttng-relayd %s"
                        % (name, ours.get(name), reference.get(name)))
    return problems


def compare(scenario, ours, reference):
    """(problems, warnings) of two results of one scenario."""
    problems, warnings = compare_commands(
        scenario.name, ours["commands"], reference["commands"])
    if scenario.compare_tree:
        problems += compare_trees(scenario.name, ours["tree"],
                                  reference["tree"])
    return problems, warnings
