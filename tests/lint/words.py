# SPDX-License-Identifier: MIT
"""Words: those that were given up, names that would mean two things, header
guards, and comments that a formatter has torn."""
import os
import re

PRODUCT = ("common/", "proto/", "store/", "relayd/", "tools/")

# What was renamed, since it misled, and what it is called now.
GIVEN_UP = [
    (r"\w*catalog\w*", "a list"),
    (r"\w*galler(?:y|ies)\w*", "viewers"),
    (r"\bviewer_desk\w*", "viewer_conns"),
    (r"\blist_add\b", "list_append"),
]

# Static functions of one folder that have the same name because they do the
# same: a callback of its socket or loop, one side of struct transport_ops, a
# constructor's or a parser's step.
SAME = {
    "relayd": {"on_message", "on_session_gone", "run"},
    "relayd/net": {"on_accept", "on_readable", "on_resume", "on_writable",
                   "read_some", "set_options", "try_bind"},
    "relayd/record": {"check_gap", "closing", "destroy", "find", "has_pieces",
                      "may_go_on", "pass_gap", "pending", "record", "show"},
    "store": {"begin", "drop", "make_path", "release"},
    "tools/capture": {"complain", "destroy", "finish", "on_signal",
                      "put_packet", "tell"},
    "tools/client": {"advance", "grow"},
    "tools/ftrace": {"begin_pages", "end_session", "on_accepted",
                     "on_connection", "on_control", "on_drained", "on_ended",
                     "on_event", "on_frame", "on_input", "on_left", "on_line",
                     "on_message", "on_output", "on_over", "on_readable",
                     "on_stop", "on_timer", "prepare", "run", "serve",
                     "log_end", "take_prefix"},
    "tools/send": {"add_stream", "add_streams", "grow", "take_number",
                   "wrong"},
}
STATIC = re.compile(r"^static [^;{}=]*?\n(\w+)\(", re.M)

GUARD = re.compile(r"^#ifndef (\w+_H)\n#define \1\n", re.M)
NO_GUARD = (".tbl.h", "tests/interop/tp.h")  # read more than once

STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/', re.S)
COLUMNS, SLACK = 80, 12


def width(line):
    """Columns of a line."""
    return len(line.expandtabs(8))


def torn(text):
    """Lines of comments after which the next one's first word had had room:
    what is left when a formatter moved words to a line of their own."""
    for match in STRING_OR_COMMENT.finditer(text):
        start = text.rfind("\n", 0, match.start()) + 1
        lines = text[start:match.end()].split("\n")
        for i, (line, after) in enumerate(zip(lines, lines[1:])):
            words = re.sub(r"^\s*\*? ?", "", after)
            if not re.match(r"[a-z]", words) \
                    or not re.search(r"[A-Za-z0-9,]$", line):
                continue
            if width(line) + 1 + len(words.split()[0]) <= COLUMNS - SLACK:
                yield text.count("\n", 0, start) + i + 1


def guard(path):
    """What a header's guard is called: its path."""
    return re.sub(r"[^A-Z0-9]", "_", path.upper())


class Names:
    """Static functions, by folder; files are given one after another."""

    def __init__(self):
        self.seen = {}

    def check(self, path, code):
        """Pairs of a line number and what is wrong there."""
        if not path.endswith(".c") or not path.startswith(PRODUCT):
            return
        folder = os.path.dirname(path)
        for match in STATIC.finditer(code):
            name = match.group(1)
            first = self.seen.setdefault((folder, name), path)
            if first != path and name not in SAME.get(folder, ()):
                yield code.count("\n", 0, match.start(1)) + 1, \
                    "%s() is another function in %s" % (name, first)


def check(path, text):
    """The same, for one C file."""
    for number, line in enumerate(text.split("\n"), 1):
        for pattern, now in GIVEN_UP:
            found = re.search(pattern, line, re.I)
            if found:
                yield number, "%s: say %s" % (found.group(0), now)
    for number in torn(text):
        yield number, "a torn comment: the next line's words have room here"
    if path.endswith(".h") and not path.endswith(NO_GUARD):
        found = GUARD.search(text)
        if found is None or found.group(1) != guard(path):
            yield 1, "the guard is %s" % guard(path)
