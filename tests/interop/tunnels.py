# SPDX-License-Identifier: MIT
"""Scenarios of encrypted connections: the recipes of doc/ops/tls, between a
traced machine and a collector in network namespaces of their own."""
import os
import shutil
import subprocess

import made
import tree
from link import HERE, Link
from senders import SEND_TIMEOUT, expect_same
from story import begin, end, scenario
from world import Failure, Skipped, check, processes, wait_for

RECIPES = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "..", "..", "doc", "ops", "tls")
EVENTS = 20000
PACKETS = 100           # per stream, to measure with
LARGEST = 1 << 20       # bytes
LOCAL = ["--control-port=tcp://127.0.0.1", "--data-port=tcp://127.0.0.1"]
SSHD_PORT = 2222
# What the sshd of a collector has anyway. The keys belong to root, and not to
# the user.
SSHD = """
Port %d
HostKey {0}/host_key
AuthorizedKeysFile {0}/authorized_keys
StrictModes no
UsePAM no
PidFile none
Include {0}/sshd-collector.conf
""" % SSHD_PORT
PROBE = ("import socket; s = socket.create_connection(('%s', %d), 5); "
         "s.settimeout(20); print(len(s.recv(1)))")
TICK = os.sysconf("SC_CLK_TCK")


def found(program, package):
    """Its path, or the scenario is skipped."""
    path = shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin")
    if path is None:
        raise Skipped("no %s (apt-get install %s)" % (program, package))
    return path


class Tunnel:
    """What two kinds of tunnels have in common: a directory with the recipe's
    files, and programs that run on either side of the link."""

    def __init__(self, w):
        self.w = w
        self.link = Link(w)
        w.relay.start(*LOCAL)
        # Large segments, as network cards have them.
        for side in ["ip"], ["ip", "-n", self.link.name]:
            name = "relay0" if side == ["ip"] else "sender0"
            subprocess.run([*side, "link", "set", name, "gso_max_segs",
                            "65535"], check=True)
        self.keys = os.path.join(w.directory, "keys")
        os.makedirs(self.keys)
        self.children = []

    def write(self, name, text):
        """Writes a file that only root can read; returns its path."""
        path = os.path.join(self.keys, name)
        with open(path, "w", encoding="ascii") as handle:
            os.chmod(path, 0o600)
            handle.write(text)
        return path

    def recipe(self, name, **replaced):
        """The recipe's file, with what its user replaces; its path."""
        with open(os.path.join(RECIPES, name), encoding="ascii") as handle:
            text = handle.read()
        text = text.replace("/etc/tracepulse/tls", self.keys)
        for old, new in replaced.items():
            check(old in text, f"{name}: no {old}")
            text = text.replace(old, new)
        return self.write(name, text)

    def start(self, argv, **how):
        """A program that runs on; its output goes to a file."""
        name = os.path.join(self.w.directory, "tunnel%d.log"
                            % len(self.children))
        with open(name, "wb") as log:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL,
                                     stdout=log, stderr=log, **how)
        self.w.children.append(child)
        self.children.append(child)
        return child

    def reaches(self, host, port):
        """Does a peer on the traced machine get a connection that stays?"""
        status, _, said = self.link.there("python3", "-c", PROBE % (host, port))
        return status != 0 and "timed out" in said

    def wait_listening(self, *ports):
        """Until the traced machine's end listens."""
        def is_open():
            if any(child.poll() is not None for child in self.children):
                raise Failure("a tunnel ended; see tunnel*.log")
            said = self.link.there("ss", "-Hltn")[1]
            return all("127.0.0.1:%d " % port in said for port in ports)
        wait_for("the tunnel listening", is_open, step=0.1)


class Stunnel(Tunnel):
    """stunnel on both sides."""

    names = ("stunnel4", "stunnel")

    def __init__(self, w):
        program = found("stunnel", "stunnel4")
        super().__init__(w)
        self.program = program
        self.write("machines.psk", "other:%s\nweb1:%s\n" % ("0" * 64, "1" * 64))
        self.write("viewers.psk", "alice:%s\n" % ("2" * 64))
        self.start([program, self.recipe("stunnel-collector.conf")])
        wait_for("stunnel on the collector", lambda: all(
            ":%d " % port in self.listening() for port in (6342, 6343, 6344)))
        self.check_keys()
        self.client("1", "2").wait_listening(*w.ports)

    @staticmethod
    def listening():
        """What ss prints on the collector."""
        return subprocess.run(["ss", "-Hltn"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def client(self, machine, viewer):
        """stunnel on the traced machine, with these keys."""
        self.write("machine.psk", "web1:%s\n" % (machine * 64))
        self.write("viewer.psk", "alice:%s\n" % (viewer * 64))
        self.start(self.link.command(self.program, self.recipe(
            "stunnel-client.conf", COLLECTOR=HERE)))
        return self

    def check_keys(self):
        """A wrong key, and a machine's key where viewers connect, are
        refused."""
        self.client("3", "1").wait_listening(*self.w.ports)
        for port in self.w.ports:
            if self.reaches("127.0.0.1", port):
                raise Failure("port %d can be used with a wrong key" % port)
        child = self.children.pop()
        child.kill()
        child.wait()


class Ssh(Tunnel):
    """ssh on the traced machine, sshd on the collector."""

    names = ("ssh", "sshd")

    def __init__(self, w):
        sshd = os.environ.get("TP_SSHD") or found("sshd", "openssh-server")
        ssh = found("ssh", "openssh-client")
        super().__init__(w)
        for name in "host_key", "id_ed25519":
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "",
                            "-f", os.path.join(self.keys, name)], check=True)
        with open(self.keys + "/host_key.pub", encoding="ascii") as handle:
            self.write("known_hosts", "[%s]:%d %s" % (HERE, SSHD_PORT,
                                                      handle.read()))
        self.start_sshd(sshd)
        wait_for("sshd", lambda: ":%d " % SSHD_PORT in Stunnel.listening())
        self.argv = self.link.command(
            ssh, "-F", self.recipe("ssh-client.conf", COLLECTOR=HERE),
            "-p", str(SSHD_PORT), "collector")
        self.check_limits()
        self.start(self.argv[:-1] + ["-N", "-T", "collector"])
        self.wait_listening(*w.ports)

    def start_sshd(self, sshd):
        """With users that are known in this world only."""
        for name, lines in (
                ("passwd", "sshd:x:%d:65534::/run/sshd:/usr/sbin/nologin\n"
                 "tracepulse-tunnel:x:%d:65534::/nonexistent:/usr/sbin/nologin"),
                ("shadow", "tracepulse-tunnel:*:1::::::")):
            with open("/etc/" + name, encoding="utf-8") as handle:
                text = handle.read()
            if "%d" in lines:
                lines %= 64998, 64999
            copy = self.write(name, text + lines + "\n")
            os.chmod(copy, 0o644 if name == "passwd" else 0o600)
            subprocess.run(["mount", "--bind", copy, "/etc/" + name],
                           check=True)
        os.makedirs("/run/sshd", exist_ok=True)
        self.recipe("sshd-collector.conf")
        with open(self.keys + "/id_ed25519.pub", encoding="ascii") as handle:
            self.write("authorized_keys", "restrict,port-forwarding,%s %s" % (
                ",".join('permitopen="127.0.0.1:%d"' % port
                         for port in self.w.ports), handle.read()))
        os.chmod(self.w.directory, 0o755)
        os.chmod(self.keys, 0o755)
        os.chmod(self.keys + "/authorized_keys", 0o644)
        more = []
        for name in "session", "auth":
            part = os.path.join(os.path.dirname(sshd), "..", "lib", "openssh",
                                "sshd-" + name)
            if os.path.exists(part):
                more += ["-o", "Sshd%sPath=%s" % (name.capitalize(), part)]
        self.start([os.path.abspath(sshd), "-D", "-e", "-f", self.write(
            "sshd_config", SSHD.format(self.keys)), *more])

    def check_limits(self):
        """No command, no other port, no listening on the collector."""
        for words in (["collector", "true"],
                      ["-W", "127.0.0.1:%d" % SSHD_PORT, "collector"],
                      ["-N", "-R", "127.0.0.1:7000:127.0.0.1:22",
                       "collector"]):
            if self.link.there(*self.argv[4:-1], *words)[0] == 0:
                raise Failure("sshd allows: ssh " + " ".join(words))


def cpu(names):
    """Seconds that all processes of these names have used."""
    total = 0.0
    for pid in {pid for name in names for pid in processes(name)}:
        with open("/proc/%d/stat" % pid, encoding="ascii") as handle:
            field = handle.read().rpartition(")")[2].split()
        total += (int(field[11]) + int(field[12])) / TICK
    return total


def measure(w, tunnel):
    """The same trace, sent plainly and through the tunnel."""
    trace = os.path.join(w.directory, "trace")
    made.make(trace, PACKETS, LARGEST)
    size = sum(os.path.getsize(os.path.join(trace, name))
               for name in os.listdir(trace)) / (1 << 20)
    lines = []
    for name, before in ("plain", []), ("tunnel", tunnel.link.command()):
        used, began = cpu(tunnel.names), os.times().elapsed
        done = subprocess.run(
            before + [w.send_path, "--quiet", "--session=" + name, trace,
                      w.url()], stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE, env=w.env(), timeout=SEND_TIMEOUT)
        check(done.returncode == 0, "tracepulse-send: " + done.stderr.decode())
        took = os.times().elapsed - began
        lines.append("%s: %.0f MiB/s" % (name, size / took))
        used = cpu(tunnel.names) - used
        expect_same(trace, os.path.join(w.path("*/%s-*" % name), "trace"),
                    lambda name: name.startswith("index/"))
    w.notes.append("%s; %.1f s of CPU per GiB in the tunnel's programs"
                   % ("; ".join(lines), used * 1024 / size))


def carry(w, tunnel):
    """Record through the tunnel, watch through it, and compare."""
    if tunnel.reaches(HERE, w.ports[0]):
        raise Failure("the relay can be reached beside the tunnel")
    w.start_sessiond(tunnel.link)
    begin(w, "secret", "--live=200000", channel=["--blocking-timeout=inf"])
    wait_for("the session listed", lambda: tree.listed(w, "secret"))
    viewer = tree.Viewer(w, "secret", link=tunnel.link)
    tree.wait_attached(w, "secret")
    emitted = w.run_app(0, EVENTS, microseconds=0)
    end(w, "secret")
    got = viewer.finish()
    check(got == emitted,
          f"babeltrace2 saw {tree.span(got)}, emitted {tree.span(emitted)}")
    tree.expect_events(w, w.path("*/secret-*"), emitted)
    measure(w, tunnel)


@scenario(options=None, needs_sessiond=False, reference=False)
def tunnel_stunnel(w):
    """stunnel as in doc/ops/tls: a session and its viewer, all events; wrong
    keys are refused"""
    carry(w, Stunnel(w))


@scenario(options=None, needs_sessiond=False, reference=False)
def tunnel_ssh(w):
    """ssh as in doc/ops/tls: a session and its viewer, all events; nothing but
    the relay's ports is within reach"""
    carry(w, Ssh(w))
