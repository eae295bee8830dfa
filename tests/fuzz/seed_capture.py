#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Seeds for fuzz_capture: seed_capture.py CORPUS"""
import pathlib
import struct
import sys

NULL, ETHERNET, PPP, RAW, C_HDLC, WIFI, LOOP, SLL, RADIOTAP = \
    0, 1, 9, 101, 104, 105, 108, 113, 127
MACS = bytes.fromhex("020000000001020000000002")
TCP = bytes.fromhex("3039005001020304050607085018010000000000") + b"data"
UDP = bytes.fromhex("0035c350000a00006869")
ICMP = bytes.fromhex("0800f7ff00000001")


def ipv4(protocol, payload, options=b"", fragment=0):
    return struct.pack(
        ">BBHHHBBH4s4s", 0x45 + len(options) // 4, 0,
        20 + len(options) + len(payload), 7, fragment, 64, protocol, 0,
        bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2))) + options + payload


def ipv6(following, payload):
    address = bytes.fromhex("20010db80000000000000000000000")
    return struct.pack(">IHBB", 6 << 28, len(payload), following, 64) \
        + address + b"\1" + address + b"\2" + payload


def extension(following, more=b"\1\4\0\0\0\0"):
    return struct.pack("BB", following, (len(more) - 6) // 8) + more


def wifi(control, payload):
    return control + b"\0\0" + MACS + MACS[:6] + b"\x10\0" + payload


def seeds():
    """name -> link type, packet"""
    snap = bytes.fromhex("aaaa030000000800") + ipv4(17, UDP)
    yield "tcp", ETHERNET, MACS + b"\x08\0" + ipv4(6, TCP) + bytes(2)
    yield "vlans", ETHERNET, MACS + bytes.fromhex(
        "88a80064810000018100000281000003" "86dd") + ipv6(17, UDP)
    yield "length", ETHERNET, MACS + b"\0\x08" + bytes.fromhex("aaaa0300")
    yield "options", RAW, ipv4(1, ICMP, options=bytes.fromhex("9404000001010100"))
    yield "fragment", RAW, ipv4(17, UDP, fragment=0x2000)
    yield "extensions", RAW, ipv6(0, extension(60) + extension(43) + extension(
        44, bytes(14)) + bytes.fromhex("3300000100000007") + extension(
            6, bytes(6)) + TCP)
    yield "icmpv6", SLL, bytes(14) + b"\x86\xdd" + ipv6(58, ICMP)
    yield "null", NULL, b"\2\0\0\0" + ipv4(6, TCP)
    yield "loop", LOOP, b"\0\0\0\x18" + ipv6(6, TCP)
    yield "ppp", PPP, b"\xff\3\0\x21" + ipv4(17, UDP)
    yield "hdlc", C_HDLC, b"\x0f\0\x08\0" + ipv4(17, UDP)
    yield "wifi", WIFI, wifi(b"\x88\x83", MACS[:6] + bytes(6) + snap)
    yield "radiotap", RADIOTAP, bytes.fromhex("000009000000000010") \
        + wifi(b"\x08\x02", snap)


def main():
    for name, link_type, packet in seeds():
        pathlib.Path(sys.argv[1], name).write_bytes(
            struct.pack("<H", link_type) + packet)


if __name__ == "__main__":
    main()
