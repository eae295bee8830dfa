#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tracepulse-ftrace listen in the place of trace-cmd listen: its options, ports and
what it says at its start."""
import re
import subprocess

from sender import PROGRAM, Sender, check, equal, listening, run


def default_ports():
    """None of the relay's, nor 5345 to 5354, which lttng-sessiond takes for agents of
    applications."""
    for command in ("listen", "broker"):
        said = subprocess.run([PROGRAM, command, "--help"], text=True,
                              stdout=subprocess.PIPE, check=True).stdout
        port = int(re.search(r"--port=.*?\[(\d+)\]", said, re.S)[1])
        check(not 5340 <= port <= 5354, f"{command}: port {port}")


def options_of_stock():
    """--debug logs everything, and -V is vsock."""
    with listening("--debug") as listener:
        Sender(listener).play("v6-tcp")
        listener.wait_files(1)
        check("all pages of CPU 0 have arrived" in listener.log(), "--debug")
    said = subprocess.run([PROGRAM, "listen", "--help"], text=True,
                          stdout=subprocess.PIPE, check=True).stdout
    check(re.search(r"-V, +--vsock", said), "-V")


def a_build_without_zstd():
    """It says at its start what will not be live; one with zstd does not."""
    with open("config.h", encoding="ascii") as f:
        has_zstd = "#define HAVE_ZSTD 1" in f.read()
    with listening("--relay=net://127.0.0.1:1") as listener:
        equal("built without zstd" in listener.log(), not has_zstd, "warning")


CASES = (default_ports, options_of_stock, a_build_without_zstd)

if __name__ == "__main__":
    run(CASES)
