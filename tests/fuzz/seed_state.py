#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make states as common/state.c writes them: seed_state.py OUT"""
import pathlib
import struct
import sys

FIRST = 0x80000000
NONE = 0xffffffff


def part(content):
    return struct.pack(">Q", len(content)) + content


def text(s):
    return struct.pack(">I", len(s) + 1) + s + b"\0"


def record(n):
    return part(b"\1" + struct.pack(">QQQ", n, 3, 7 * n) + text(b"a text") +
                text(b"a/path") + part(b"bytes") + struct.pack(">Q", n) +
                part(struct.pack(">Q", n)) + b"raw!")


def node(n, *children, fd=NONE, content=None):
    """The first time that node N is named; CHILDREN are as bytes."""
    head = struct.pack(">I", FIRST | n)
    content = record(n) if content is None else content
    return head + content + struct.pack(">I", fd) + b"".join(
        b"\1" + part(c) for c in children) + b"\0" * (len(children) < 3)


def named(n):
    return struct.pack(">I", n)


def main(out):
    short = part(b"\1" + struct.pack(">Q", 1))
    for name, fds, objects, state in (
            ("one", 1, 1, node(1, fd=0)),
            ("shared", 2, 3, node(1, node(2, node(3, fd=1)), named(3),
                                  named(2), fd=0)),
            ("older", 0, 2, node(1, node(2, content=short), content=short)),
            ("inside-itself", 0, 2, node(1, node(2, named(1)))),
            ("broken-part", 1, 3, node(1, node(2, b"\0\0", node(3)),
                                       named(3), named(2), fd=0))):
        (pathlib.Path(out) / name).write_bytes(bytes([fds, objects]) + state)


if __name__ == "__main__":
    main(sys.argv[1])
