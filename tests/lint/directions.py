# SPDX-License-Identifier: MIT
"""Who may know whom on the recording side of relayd/ (doc/design.md).

Files are known by their names, so that the rules stay true wherever below
relayd/ a file stands. "stream*" is stream.c, stream.h, stream_window.c, ...
"""
import fnmatch
import os
import re

INCLUDE = re.compile(r'^\s*#\s*include\s+"relayd/([^"]+)"', re.M)

# (files, headers that they may not include, but these headers, but not these
# files, why).
MODEL = ("stream*", "writer*", "place*", "intake*", "session*", "shard*",
         "siblings*", "trace*")
RULES = [
    (("shard*",), ("*",),
     ("shard.h", "udp_count.tbl.h", "stats.h"), (),
     "the shard knows nobody: who needs its lists knows it"),
    (MODEL + ("udp.[ch]",), ("ingest.h", "control.h"), (), (),
     "endpoints know sessions and streams, not the other way round"),
    (MODEL + ("udp.[ch]", "ingest*", "control*"),
     ("cycle.h",), (), (), "only the worker and net/ call cycle.h"),
    (("stream*", "writer*", "place*", "intake*", "ingest*"), ("udp*.h",), (),
     ("stream.c",),  # where the transport is chosen
     "what depends on the transport stands behind struct transport_ops"),
]

# Common code does not ask which transport a stream has.
ASKS_UDP = re.compile(r"(?:->|\.)udp\b(?!\s*=[^=])")
COMMON = ("stream*", "writer*", "place*", "intake*", "ingest*", "cycle*", "shard*")

# A part of struct stream: the files that may read its fields.
PART = re.compile(r"->(intake|place|writer)\.")
READS = {"intake": ("intake.c", "udp.c", "udp_state.c"), "place": ("place.c", "stream_window.c"),
         "writer": ("writer.c", "stream_metadata.c")}


def is_one_of(name, patterns):
    """Does a file name match one of the patterns?"""
    return any(fnmatch.fnmatchcase(name, p) for p in patterns)


def check(path, text, code):
    """What is wrong in a file: pairs of line number and message. CODE is TEXT
    without comments and strings."""
    name = os.path.basename(path)
    if not path.startswith("relayd/"):
        return
    for match in INCLUDE.finditer(text):
        header = os.path.basename(match.group(1))
        line = text.count("\n", 0, match.start(1)) + 1
        for files, forbidden, allowed, but, why in RULES:
            if is_one_of(name, files) and not is_one_of(name, but) \
                    and is_one_of(header, forbidden) \
                    and not is_one_of(header, allowed):
                yield line, "%s may not include \"%s\": %s" \
                    % (name, header, why)
    if is_one_of(name, COMMON):
        for match in ASKS_UDP.finditer(code):
            yield code.count("\n", 0, match.start()) + 1, \
                "->udp: ask the transport (struct transport_ops)"
    for match in PART.finditer(code):
        if name not in READS[match.group(1)]:
            yield code.count("\n", 0, match.start()) + 1, \
                "->%s.: ask the part of the stream" % match.group(1)
