# SPDX-License-Identifier: MIT
"""A daemon whose output directory is a small file system in memory, mounted in
a mount namespace of the script's own."""
import ctypes
import os
import subprocess

import relay

CLONE_NEWNS = 0x00020000
has_namespace = False


def enter_namespace():
    """Enters a mount namespace. False: that is not allowed here."""
    global has_namespace
    if has_namespace:
        return True
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 or libc.unshare(CLONE_NEWNS) != 0:
        return False
    has_namespace = subprocess.run(
        ["mount", "--make-rprivate", "/"], stderr=subprocess.DEVNULL
    ).returncode == 0
    return has_namespace


def run(case, *options, workers=2, mount="size=8m"):
    """Runs CASE(daemon) on a small file system; prints SKIP and why if it
    cannot be mounted."""
    with relay.Daemon(*options, workers=workers) as daemon:
        daemon.stop()
        if not enter_namespace() or subprocess.run(
                ["mount", "-t", "tmpfs", "-o", mount, "tmpfs",
                 str(daemon.out)], stderr=subprocess.DEVNULL).returncode != 0:
            print(f"SKIP {case.__name__}: not permitted to mount", flush=True)
            return
        try:
            daemon.start_again()
            case(daemon)
            daemon.stop()
        finally:
            # A daemon that a failed case left keeps the mount busy.
            if daemon.process.poll() is None:
                daemon.process.kill()
                daemon.process.wait()
            subprocess.run(["umount", str(daemon.out)], check=True)


def free(daemon):
    disk = os.statvfs(daemon.out)
    return disk.f_bavail * disk.f_frsize


def fill(daemon):
    """Nothing is left, but what the relay has for itself."""
    with open(daemon.out / "fill", "ab") as f:
        for step in (1 << 20, 1 << 16, 4096):
            while free(daemon) >= step:
                os.posix_fallocate(f.fileno(), os.fstat(f.fileno()).st_size,
                                   step)


def make_room(daemon):
    (daemon.out / "fill").unlink()
