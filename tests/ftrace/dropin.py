#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tracepulse-ftrace listen in the place of trace-cmd listen: its options, ports and
what it says at its start."""
import re
import subprocess

from sender import PROGRAM, check, run


def default_ports():
    """None of the relay's, nor 5345 to 5354, which lttng-sessiond takes for agents of
    applications."""
    for command in ("listen", "broker"):
        said = subprocess.run([PROGRAM, command, "--help"], text=True,
                              stdout=subprocess.PIPE, check=True).stdout
        port = int(re.search(r"--port=.*?\[(\d+)\]", said, re.S)[1])
        check(not 5340 <= port <= 5354, f"{command}: port {port}")


CASES = (default_ports,)

if __name__ == "__main__":
    run(CASES)
