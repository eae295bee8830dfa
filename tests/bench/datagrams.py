# SPDX-License-Identifier: MIT
"""Packets over UDP, beside the same ones over TCP, into one worker of our
relay: how fast, and what a GiB costs. What was lost is sent again, and every
byte is verified."""
import functools

from measure import Measure
from servers import GIB, Server, warm

MIB = 1 << 20
FRAGMENT = 65000        # bytes of packets in a datagram: all that fit IPv4
SMALL = (512, 1024, 4096)


def once(options, load):
    """One run: what the load generator says, and CPU of the relay."""
    total = load["size"] * load["streams"] * load["packets"]
    with Server("ours", options, ["--workers=1", "--udp-port=data"]) as server:
        warm(server.dir, total + 64 * MIB)
        server.mark()
        said = server.load(load)
        said["relay_cpu_s"] = server.cpu_s()
        server.verify(load)
    return said


def cpu_s_per_gib(said):
    """Of the relay."""
    return said["relay_cpu_s"] / (said["bytes"] / GIB)


def packets_per_s(said):
    """That were answered."""
    return said["packets"] / said["wall_s"]


def both(options, load):
    """Over TCP, then over UDP."""
    tcp = once(options, load)
    udp = once(options, dict(load, udp=True, fragment=FRAGMENT))
    figures = {"resent_share": udp["resent"] / udp["datagrams"],
               "datagrams": udp["datagrams"],
               "udp_cpu_s_per_gib": cpu_s_per_gib(udp),
               "tcp_cpu_s_per_gib": cpu_s_per_gib(tcp),
               "udp_mib_per_s": udp["bytes_per_s"] / MIB,
               "tcp_mib_per_s": tcp["bytes_per_s"] / MIB}
    return udp, tcp, figures


def large(options, _):
    """bytes/s over UDP as a share of those over TCP, packets of 256 KiB in
    datagrams of 64 KiB, 4 streams, 16 indexes outstanding"""
    load = {"streams": 4, "size": 256 << 10, "outstanding": 16,
            "packets": int(options.gib * GIB / MIB)}
    udp, tcp, figures = both(options, load)
    return dict(figures, value=udp["bytes_per_s"] / tcp["bytes_per_s"])


def small(options, _, size):
    """Packets/s over UDP, 2 streams."""
    load = {"streams": 2, "size": size, "outstanding": 256,
            "packets": min(200000, int(options.gib * GIB / size / 8))}
    udp, tcp, figures = both(options, load)
    return dict(figures, value=packets_per_s(udp),
                tcp_packets_per_s=packets_per_s(tcp),
                udp_us_per_packet=udp["relay_cpu_s"] / udp["packets"] * 1e6,
                tcp_us_per_packet=tcp["relay_cpu_s"] / tcp["packets"] * 1e6)


def measures():
    """Those of `make bench`."""
    return [Measure("udp-256k", large, servers=["ours"], least=0.7)] + [
        Measure(f"udp-{n}", functools.partial(small, size=n),
                servers=["ours"], least=100000,
                text=f"packets/s over UDP: {n} bytes each, 2 streams, 256 "
                "indexes outstanding, one worker") for n in SMALL]
