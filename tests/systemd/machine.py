# SPDX-License-Identifier: MIT
"""A Debian machine with a real systemd, booted by systemd-nspawn from a tree
that debootstrap made. The tree is kept, if there is a place for it; what a run
changes is in memory and goes with it."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

BASE = ["systemd", "systemd-sysv", "dbus", "iproute2", "python3-minimal",
        "adduser"]
BOOT_TIMEOUT = 60
COMMAND_TIMEOUT = 120
# Exists when all that is wanted is in the tree; says what was wanted.
STAMP = ".tracepulse-ready"
# In a mount namespace of its own, with cgroup2, which systemd needs, and in a
# group of its own, so that what systemd leaves there is found again.
ENTER = """
set -e
group=$1
shift
mount -t tmpfs none /run
umount -l /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mkdir -p /sys/fs/cgroup/$group
echo $$ >/sys/fs/cgroup/$group/cgroup.procs
exec "$@"
"""


class Failure(Exception):
    """It is not as it should be."""


class Skipped(Exception):
    """It cannot be tried here."""


def check(condition, text):
    """A failure with that text, unless it holds."""
    if not condition:
        raise Failure(text)


def run(*argv, timeout=COMMAND_TIMEOUT, status=0, **more):
    """What a command printed, both streams; STATUS None: whatever it is."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=timeout, check=False, **more)
    check(status is None or done.returncode == status, "%s: status %d\n%s"
          % (" ".join(argv), done.returncode, done.stdout[-3000:]))
    return done.stdout


def within(seconds, condition, what):
    """Wait for it; what it is then."""
    until = time.monotonic() + seconds
    while not (found := condition()):
        check(time.monotonic() < until, "not within %g s: %s" % (seconds, what))
        time.sleep(0.05)
    return found


def mirror():
    """Where apt of this machine takes packages from, and the release."""
    lines = run("apt-get", "indextargets", "--format",
                "$(REPO_URI) $(CODENAME)", "Created-By: Packages",
                "Component: main", status=None).splitlines()
    pairs = [line.split() for line in lines if len(line.split()) == 2]
    codename = run("sh", "-c", ". /etc/os-release; echo $VERSION_CODENAME")
    for uri, name in pairs:
        if name == codename.strip():
            return uri, name
    raise Skipped("apt of this machine has no mirror of its release "
                  "(apt-get update)")


def can_make_tree():
    """Skipped if not."""
    if os.geteuid() != 0:
        raise Skipped("not root")
    if shutil.which("debootstrap") is None:
        raise Skipped("no debootstrap (package debootstrap)")
    done = subprocess.run(["unshare", "-mpfC", "--", "true"], check=False,
                          stderr=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Skipped("no namespaces")


def can_boot():
    """Skipped if not."""
    can_make_tree()
    if shutil.which("systemd-nspawn") is None:
        raise Skipped("no systemd-nspawn (package systemd-container)")


def host_sources(tree):
    """The tree's apt takes packages from where the machine's does."""
    etc = tree / "etc/apt"
    for name in ("sources.list", "sources.list.d", "trusted.gpg.d"):
        source = pathlib.Path("/etc/apt") / name
        if source.is_dir():
            shutil.copytree(source, etc / name, dirs_exist_ok=True)
        elif source.exists():
            shutil.copy(source, etc / name)
        elif (etc / name).is_file():
            (etc / name).unlink()
    if pathlib.Path("/usr/share/keyrings").exists():
        shutil.copytree("/usr/share/keyrings", tree / "usr/share/keyrings",
                        dirs_exist_ok=True)


def host_network(tree):
    """The tree's apt reaches servers as the machine's does."""
    acquire = run("apt-config", "dump", "Acquire")
    (tree / "etc/apt/apt.conf.d/90host").write_text(acquire)
    shutil.copy("/etc/resolv.conf", tree / "etc/resolv.conf")


def make_tree(tree, wanted, release=None):
    """A Debian in which WANTED, as in a package's control file, is installed:
    RELEASE as its mirror has it, or that of this machine, with its sources."""
    stamp = tree / STAMP
    if stamp.exists() and stamp.read_text() == wanted:
        return
    uri, name = mirror()
    try:
        if not stamp.exists():
            shutil.rmtree(tree, ignore_errors=True)
            run("debootstrap", "--variant=minbase",
                "--include=" + ",".join(BASE), release or name, str(tree),
                uri, timeout=1200)
        if release is None:
            host_sources(tree)
        host_network(tree)
        apt = ["chroot", str(tree), "env", "DEBIAN_FRONTEND=noninteractive",
               "apt-get", "-qq", "-y", "--no-install-recommends"]
        run(*apt, "update", timeout=300)
        run(*apt, "satisfy", wanted, timeout=900)
    except (Failure, subprocess.TimeoutExpired) as failure:
        raise Skipped("no tree: %s" % failure) from None
    # Sources of packages are not for who is booted: there is no network.
    run("chroot", str(tree), "systemctl", "mask", "lttng-sessiond.service")
    stamp.write_text(wanted)


class Machine:
    """A booted tree; a context."""

    def __init__(self, tree, share):
        self.tree, self.share = tree, share
        self.top = tempfile.mkdtemp(prefix="tracepulse-machine-")
        self.group = "tracepulse-test-%d" % os.getpid()
        self.log = open(os.path.join(self.top, "console"), "w+b")
        self.leader = self.nspawn = None

    def __enter__(self):
        self.nspawn = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             ENTER, "sh", self.group, "systemd-nspawn", "--quiet",
             "--register=no", "--keep-unit", "--private-network",
             "--machine=" + self.group, "--volatile=overlay", "--boot",
             # What it would not let through otherwise.
             "--system-call-filter=landlock_create_ruleset landlock_add_rule "
             "landlock_restrict_self",
             "--console=pipe", "--resolv-conf=off", "--timezone=off",
             "--bind-ro=%s:/mnt" % self.share, "--directory", str(self.tree)],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        try:
            self.leader = within(BOOT_TIMEOUT, self._leader, "a first process")
            within(BOOT_TIMEOUT, self._is_up, "systemd is up")
        except Failure as failure:
            self.log.seek(0)
            text = self.log.read().decode(errors="replace")
            self.__exit__()
            raise Skipped("systemd does not boot here: %s\n%s"
                          % (failure, text[-1000:])) from None
        return self

    def _leader(self):
        """The first process of the machine, when it is systemd."""
        if self.nspawn.poll() is not None:
            raise Failure("systemd-nspawn ended")
        path = "/proc/%d/task/%d/children" % (self.nspawn.pid, self.nspawn.pid)
        with contextlib.suppress(OSError):
            for child in pathlib.Path(path).read_text().split():
                comm = pathlib.Path("/proc/%s/comm" % child).read_text()
                if comm.strip() == "systemd":
                    return int(child)
        return None

    def _is_up(self):
        return self.run("systemctl", "is-system-running", status=None).strip() \
            in ("running", "degraded")

    def __exit__(self, *rest):
        if self.leader is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.run("systemctl", "poweroff", status=None, timeout=10)
                self.nspawn.wait(30)
        if self.nspawn.poll() is None:
            self.nspawn.send_signal(signal.SIGKILL)
            self.nspawn.wait()
        self.log.close()
        for root in "/sys/fs/cgroup", "/sys/fs/cgroup/unified":
            top = os.path.join(root, self.group)
            for folder, _, _ in os.walk(top, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
        shutil.rmtree(self.top, ignore_errors=True)

    def argv(self, *argv):
        """A command line that runs in there."""
        return ["nsenter", "--target", str(self.leader), "--all", "--",
                "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
                "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", *argv]

    def run(self, *argv, **more):
        """A command in there."""
        return run(*self.argv(*argv), **more)

    def sh(self, text, **more):
        """A line for its shell."""
        return self.run("sh", "-c", text, **more)
