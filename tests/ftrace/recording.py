# SPDX-License-Identifier: MIT
"""Recordings of this machine, by stock trace-cmd."""
import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import time

TRACEFS = "/sys/kernel/tracing"
# A tracefs of its own mount. Some sandboxes let nobody write the switch and the
# filters of the function tracer, which are not needed: empty files stand there.
RECORD = """mount --make-rprivate / || exit 77
[ -d %s/events ] || mount -t tracefs none %s || exit 77
for f in set_ftrace_filter set_ftrace_notrace set_ftrace_pid \\
    set_graph_function set_graph_notrace; do
	f=%s/$f
	[ ! -e $f ] || (true >>$f) 2>/dev/null || mount --bind empty $f
done
(echo 1 >/proc/sys/kernel/ftrace_enabled) 2>/dev/null ||
    mount --bind one /proc/sys/kernel/ftrace_enabled
percent=$(cat %s/buffer_percent)
size=$(sed 's/.*expanded: \\([0-9]*\\).*/\\1/' %s/buffer_size_kb)
[ -z "$PERCENT" ] || echo "$PERCENT" >%s/buffer_percent
"$@"
status=$?
echo "$percent" >%s/buffer_percent
echo "$size" >%s/buffer_size_kb
exit $status
""" % ((TRACEFS,) * 8)


# A program that sees tracefs.
MOUNT = ("unshare", "-m", "sh", "-c", """mount --make-rprivate / &&
{ [ -d %s/events ] || mount -t tracefs none %s; } && exec "$@"
""" % (TRACEFS, TRACEFS), "sh")

# One that does not.
HIDE = ("unshare", "-m", "sh", "-c", """mount --make-rprivate / &&
mount -t tmpfs none %s && exec "$@"
""" % TRACEFS, "sh")


class Skip(Exception):
    """This case cannot be tried here."""


def run_to_its_end(command, environment, top):
    """Its status, and what it said. Nothing of it is left in any case: a
    recorder would trace until the machine stops."""
    with subprocess.Popen(command, env=environment, cwd=top,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT,
                          start_new_session=True) as child:
        try:
            said, _ = child.communicate(timeout=120)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGINT)
                time.sleep(2)
                os.killpg(child.pid, signal.SIGKILL)
            raise
        return child.returncode, said


def record(top, *options, command, to=None, under=()):
    """A recording of this machine, to the file that is returned, or TO a
    listener HOST:PORT. Full pages leave at once then: buffer_percent is 0 for as
    long as it lasts, unless a program that it runs UNDER sees to that."""
    if os.geteuid() != 0:
        raise Skip("not root")
    if shutil.which("trace-cmd") is None or shutil.which("unshare") is None:
        raise Skip("no trace-cmd, or no unshare")
    (top / "one").write_text("1\n")
    (top / "empty").write_text("")
    place = ["-o", str(top / "trace.dat")] if to is None else ["-N", to, "-t"]
    environment = {**os.environ, "PERCENT": "" if to is None or under else "0"}
    lock = os.open(TRACEFS, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status, said = run_to_its_end(
            ["unshare", "-m", "sh", "-c", RECORD, "sh", *under, "trace-cmd",
             "record", *place, *options, *command], environment, top)
    finally:
        os.close(lock)
    if status != 0:
        raise Skip("trace-cmd cannot record here: %s" % said.decode(
            errors="replace")[-200:])
    return top / "trace.dat"
