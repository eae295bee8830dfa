# SPDX-License-Identifier: MIT
"""A link: a sender's network namespace, joined by a veth pair to the one that
its user is in, where the relay is. It can be down, and it can lose datagrams.

What loses is the first of these that the machine has: netem, which also
delays, reorders and repeats, and does so to all that the sender sends, its
control connection too; nftables; iptables. The last two take datagrams to the
relay's data port only. nftables notes which, so that a test knows.

Namespaces, link and rules are within the world's own namespaces and end with
it, however it ends."""
import json
import os
import re
import subprocess

from world import Skipped, check

HERE, THERE = "10.77.0.1", "10.77.0.2"
SETUP = """
link add relay0 type veth peer name sender0 netns {name}
addr add {here}/30 dev relay0
link set relay0 up gso_max_segs 1
-n {name} addr add {there}/30 dev sender0
-n {name} link set lo up
-n {name} link set sender0 up gso_max_segs 1
"""

# In the datagram: the stream at 24, the packet's number at 32 (udp 2). A UDP
# header is 8 bytes.
NFTABLES = """
table inet lossy {
 set dropped { typeof @th,256,64 . @th,320,64; size 65535; flags dynamic; }
 chain in {
  type filter hook prerouting priority -300;
  iifname "relay0" udp dport %d numgen random mod 1000 < %d \\
   add @dropped { @th,256,64 . @th,320,64 } counter drop
 }
}
"""


def run(*argv, text=None):
    """(status, what it printed, what it complained of)"""
    try:
        done = subprocess.run(argv, input=text, capture_output=True, text=True,
                              timeout=30, check=False)
    except FileNotFoundError:
        return 127, "", "no %s" % argv[0]
    return done.returncode, done.stdout, done.stderr.strip()


class Netem:
    """A queue of the sender's side."""

    def __init__(self, link):
        self.link = link
        self.is_on = False
        self.name = "tc netem: loss, 2 ms, 25 % reordered, 1 % repeated"

    def lose(self, thousandths):
        """Why it cannot, or nothing."""
        verb = "change" if self.is_on else "add"
        status, _, said = self.link.there(
            "tc", "qdisc", verb, "dev", "sender0", "root", "netem",
            "limit", "100000", "delay", "2ms", "reorder", "25%", "50%",
            "duplicate", "1%", "loss", "%g%%" % (thousandths / 10))
        self.is_on = self.is_on or status == 0
        return said or "status %d" % status if status != 0 else None

    def dropped(self):
        """How many."""
        said = self.link.there("tc", "-s", "-j", "qdisc", "show", "dev",
                               "sender0")[1]
        return sum(q.get("drops", 0) for q in json.loads(said)
                   if q.get("kind") == "netem")

    def which(self):
        """Not known."""


class Nftables:
    """A rule where datagrams come in, on the relay's side."""

    def __init__(self, link):
        self.port = link.port
        self.name = "nftables: numgen random"

    def lose(self, thousandths):
        """Why it cannot, or nothing; what was lost before is forgotten."""
        run("nft", "delete table inet lossy")
        status, _, said = run("nft", "-f", "-",
                              text=NFTABLES % (self.port, thousandths))
        return said or "status %d" % status if status != 0 else None

    def dropped(self):
        """How many."""
        said = run("nft", "list chain inet lossy in")[1]
        return int(re.search(r"counter packets (\d+)", said).group(1))

    def which(self):
        """{stream handle: numbers of the packets that lost a datagram}"""
        said = json.loads(run("nft", "-j", "list set inet lossy dropped")[1])
        found = {}
        for entry in said["nftables"]:
            for element in entry.get("set", {}).get("elem", []):
                stream, seq = element["concat"]
                found.setdefault(stream, set()).add(seq)
        return found


class Iptables:
    """The same without notes."""

    def __init__(self, link):
        self.rule = ["PREROUTING", "-i", "relay0", "-p", "udp", "--dport",
                     str(link.port), "-m", "statistic", "--mode", "random"]
        self.name = "iptables: statistic"

    def lose(self, thousandths):
        """Why it cannot, or nothing."""
        run("iptables", "-t", "mangle", "-F")
        status, _, said = run(
            "iptables", "-t", "mangle", "-A", *self.rule, "--probability",
            "%g" % (thousandths / 1000), "-j", "DROP")
        return said or "status %d" % status if status != 0 else None

    def dropped(self):
        """How many."""
        said = run("iptables", "-t", "mangle", "-L", "PREROUTING", "-nvx")[1]
        return int(said.splitlines()[2].split()[0])

    def which(self):
        """Not known."""


class Link:
    """In the world W, whose relay listens on PORT for datagrams."""

    def __init__(self, w):
        if not w.private:
            raise Skipped("no network namespaces: they need root, and a "
                          "machine that lets it make them")
        self.port = w.ports[1]
        self.url = "net://%s:%d:%d" % (HERE, w.ports[0], w.ports[1])
        self.name = "sender-%d" % os.getpid()
        self._must("ip", "netns", "add", self.name)
        for line in SETUP.strip().splitlines():
            self._must("ip", *line.format(name=self.name, here=HERE,
                                          there=THERE).split())

    def _must(self, *argv):
        status, _, said = run(*argv)
        if status != 0:
            raise Skipped("no network of its own: %s: %s"
                          % (" ".join(argv), said))

    def command(self, *argv):
        """ARGV, on the sender's side."""
        return ["ip", "netns", "exec", self.name] + list(argv)

    def there(self, *argv):
        """The same, from start to end."""
        return run(*self.command(*argv))

    def set_up(self, is_up):
        """Or down: nothing passes any more."""
        status, _, said = run("ip", "-n", self.name, "link", "set", "sender0",
                              "up" if is_up else "down")
        check(status == 0, "ip link set: " + said)


class LossyLink(Link):
    """The same, which loses datagrams on request."""

    def __init__(self, w):
        super().__init__(w)
        self.kind = self._first_that_works()
        w.notes.append("loss by " + self.kind.name)

    def _first_that_works(self):
        wanted = os.environ.get("TP_LINK", "").lower()
        reasons = []
        for kind in (Netem, Nftables, Iptables):
            if wanted not in kind.__name__.lower():
                continue
            candidate = kind(self)
            reason = candidate.lose(500)
            if reason is None:
                return candidate
            reasons.append("%s: %s" % (kind.__name__.lower(),
                                       reason.splitlines()[0]))
        raise Skipped("nothing here loses datagrams: " + "; ".join(reasons))

    def lose(self, percent):
        """From now on, that many of a hundred."""
        reason = self.kind.lose(round(percent * 10))
        check(reason is None, f"{self.kind.name}: {reason}")
