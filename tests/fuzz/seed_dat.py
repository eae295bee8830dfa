#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Seeds for fuzz_dat: seed_dat.py CORPUS"""
import os
import pathlib
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "ftrace"))
import dat_file  # noqa: E402


def systems(m):
    """Fields of every kind."""
    return {"sched": [m.format("sched_switch", 300, (
        ("char prev_comm[16]", 8, 16, 0), ("pid_t prev_pid", 24, 4, 1),
        ("unsigned long ip", 32, m.long_size, 0)))],
            "odd-one": [
                m.format("loc", 301, (
                    ("__data_loc char[] name", 8, 4, 0),
                    ("__data_loc unsigned long[] mask", 12, 4, 0),
                    ("__rel_loc char[] what", 16, 4, 0))),
                m.format("array", 302, (
                    ("u8 mac[6]", 8, 6, 0), ("u16 ports[2]", 14, 4, 0),
                    ("struct odd x", 18, 3, 0)))]}


def ftrace(m):
    return [m.format("print", 5, (("unsigned long ip", 8, m.long_size, 0),
                                  ("char buf[]", 8 + m.long_size, 0, 0))),
            m.format("kernel_stack", 4, (
                ("int size", 8, 4, 1),
                ("unsigned long caller[8]", 16, 8 * m.long_size, 0)))]


def pages(m):
    """Two CPUs: every kind of event, losses, times of every kind."""
    switch = m.event(300, b"bash" + bytes(12) + m.pack("i", 7) + bytes(4)
                     + m.pack("Q", 0xffffffff81000000)[:8])
    loc = m.event(301, m.pack("III", 4 << 16 | 20, 8 << 16 | 24,
                              5 << 16 | 12) + b"abc\0" + bytes(8) + b"what\0")
    array = m.event(302, bytes(range(13)))
    text = m.event(5, m.pack("Q", 1)[:m.long_size] + b"hello\n\0")
    stack = m.event(4, m.pack("iI", 2, 0) + m.pack("QQ", 1, 2))
    first = m.entry(switch, 10) + m.entry(loc, 5) + m.entry(array, 1)
    second = m.extend(1 << 30) + m.entry(text, 1) \
        + m.extend(3 << 40, absolute=True) + m.entry(stack) \
        + m.word(29, 5) + m.pack("I", 8) + bytes(4) + m.entry(array, 2)
    return [[m.page(1 << 40, first), m.page(2 << 40, second, lost=3)],
            [m.page((1 << 40) + 5, m.entry(switch) + m.word(29, 0)),
             m.page(2 << 40, m.entry(array, 1), lost=-1),
             m.page(1 << 40, m.entry(array, 1))]]


def seeds():
    for name, big, size in (("little", False, 8), ("big", True, 4)):
        m = dat_file.Maker(big, size)
        yield "v6-" + name, m.file_v6(
            ftrace(m), systems(m), pages(m), [(1, b"0x660dd7798625e\0")])
        for packing in "none", "zlib":
            yield "v7-%s-%s" % (packing, name), m.file_v7(
                ftrace(m), systems(m), {"": pages(m), "other": pages(m)[:1]},
                packing=packing)


def main():
    for name, data in seeds():
        pathlib.Path(sys.argv[1], name).write_bytes(data)


if __name__ == "__main__":
    main()
