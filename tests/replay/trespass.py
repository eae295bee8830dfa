#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Who is not trusted reaches for what is not his: other sessions' directories,
names that the relay uses itself, the run directory. Starts daemons of its
own."""
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

import relay
from relay import check, equal

# A program file with CAP_NET_BIND_SERVICE, permitted and effective.
CAPABILITY = struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0)


def capabilities_are_not_for_the_environment():
    """A program file with capabilities does not trust its user's variables,
    though uid and effective uid are the same."""
    if os.geteuid() != 0:
        return
    top = pathlib.Path(tempfile.mkdtemp(prefix="tracepulse-replay-"))
    try:
        top.chmod(0o755)
        theirs = top / "theirs"
        theirs.mkdir()
        os.chown(theirs, 65534, 65534)
        program = top / "relayd"
        shutil.copy(relay.PROGRAM, program)
        try:
            os.setxattr(program, "security.capability", CAPABILITY)
        except OSError:
            return  # this file system has no capabilities
        run = subprocess.run(
            [program, "--dynamic-port-allocation",
             "-C", "tcp://127.0.0.1:0", "-D", "tcp://127.0.0.1:0",
             "-L", "tcp://127.0.0.1:0", "--pid-file", str(theirs / "pid")],
            user=65534, group=65534, extra_groups=[], timeout=30,
            capture_output=True,
            env={"HOME": str(theirs), "LTTNG_RUNDIR": str(theirs / "run")})
        equal(list(theirs.iterdir()), [], f"made; {run.stderr}")
        check(b"--pid-file is ignored" in run.stderr, f"{run.stderr}")
        check(run.returncode != 0, "it started")
    finally:
        shutil.rmtree(top)


CASES = [capabilities_are_not_for_the_environment]

if __name__ == "__main__":
    sys.exit(relay.run(CASES, sys.argv[1:]))
