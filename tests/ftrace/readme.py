#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The two commands of tools/ftrace/README.md, as they are printed, in an empty directory
beside a relay: the command that the first one prints shows the recording live."""
import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import recording
from sender import PROGRAM, SKIPPED, check, directory, equal, run
from relay import PROGRAM as RELAY

TOP = pathlib.Path(os.environ.get("srcdir", "."))
# As the reader, who copies what is printed. Only this namespace has the ports.
STEPS = r"""ip link set lo up && cd "$WORK" || exit 77
tracepulse-relayd -o "$PWD" >"$LOGS/relay" 2>&1 & relay=$!
until grep -q " ready: " "$LOGS/relay"; do sleep 0.1; done
$FIRST >"$LOGS/listen" 2>&1 & listen=$!
until grep -q "listening on" "$LOGS/listen"; do sleep 0.1; done
($SECOND >"$LOGS/record" 2>&1; echo $? >"$LOGS/status") & record=$!
until grep -q "to watch it: " "$LOGS/listen" || [ -e "$LOGS/status" ]; do
	sleep 0.1
done
watch=$(sed -n 's/.*to watch it: //p' "$LOGS/listen")
$watch 2>"$LOGS/warnings" | while read -r line; do
	[ -e "$LOGS/status" ] && echo "after $line" || echo "live $line"
done >"$LOGS/shown"
wait $record
kill $listen; wait $listen; kill $relay; wait $relay
exit 0
"""


def printed():
    """The commands in the README."""
    text = (TOP / "tools/ftrace/README.md").read_text(encoding="utf-8")
    lines = re.findall("^    (tracepulse-ftrace (?:listen|flush) .*)$", text,
                       re.M)
    equal(len(lines), 2, "commands")
    return lines


def bin_of(top):
    """A directory with the programs of this build, for PATH."""
    (top / "bin").mkdir()
    for program in (PROGRAM, RELAY):
        (top / "bin" / os.path.basename(program)).symlink_to(
            os.path.abspath(program))
    return top / "bin"


def follow(top):
    """Follows the README below TOP."""
    first, second = printed()
    for name in ("work", "logs"):
        (top / name).mkdir()
    (top / "one").write_text("1\n")
    (top / "empty").write_text("")
    environment = {
        **os.environ, "PATH": f"{bin_of(top)}:{os.environ['PATH']}",
        "HOME": str(top), "WORK": str(top / "work"), "PERCENT": "",
        "LOGS": str(top / "logs"), "FIRST": first, "SECOND": second}
    lock = os.open(recording.TRACEFS, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return recording.run_to_its_end(
            ["unshare", "-mn", "sh", "-c", recording.RECORD, "sh", "sh", "-c",
             STEPS], environment, top)
    finally:
        os.close(lock)


def the_two_commands():
    """Events are shown before the recorder ends, and the file is there."""
    with directory() as top:
        top = pathlib.Path(top)
        status, said = follow(top)
        logs = {p.name: p.read_text(errors="replace")
                for p in (top / "logs").iterdir()}
        if status == 77 or "Can't enable ftrace" in logs.get("record", ""):
            print("SKIP: trace-cmd cannot record here:", said.decode())
            return
        told = "\n".join(f"{name}: {text[-1500:]}"
                         for name, text in logs.items() if name != "shown")
        equal((status, logs.get("status")), (0, "0\n"), told)
        live = re.findall("^live .*sched:", logs["shown"], re.M)
        check(len(live) > 20, f"{len(live)} events live: {told}")
        check(list((top / "work").glob("trace.*.dat")), "a file")


def main():
    for program in ("trace-cmd", "babeltrace2", "unshare", "ip"):
        if shutil.which(program) is None or os.geteuid() != 0:
            print(f"SKIP: no {program}, or not root")
            return SKIPPED
    run((the_two_commands,))
    return 0


if __name__ == "__main__":
    sys.exit(main())
