# SPDX-License-Identifier: MIT
"""A small trace in CTF 1.8 with events of every type, from a seed."""
import math
import random
import struct

HEAD = """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le;
  packet.header := struct { integer { size = 32; align = 8; } magic;
                            integer { size = 32; align = 8; } stream_id; }; };
env { hostname = "h\\"ost"; trace_name = "sess ion"; domain = "ust"; };
%(clock)s
typealias integer { size = 64; align = 8; %(map)s } := stamp;
stream { id = 0;
  packet.context := struct { stamp timestamp_begin; stamp timestamp_end;
    integer { size = 64; align = 8; } content_size;
    integer { size = 64; align = 8; } packet_size;
    integer { size = 64; align = 8; } packet_seq_num;
    integer { size = 64; align = 8; } events_discarded;
    integer { size = 32; align = 8; } cpu_id; };
  event.header := struct { integer { size = 16; align = 8; } id;
                           stamp timestamp; };
  event.context := struct { integer { size = 32; align = 8; signed = true; } _vpid;
                            string _procname; }; };
"""
CLOCK = """clock { name = c; freq = 1000000000; offset_s = 1700000000;
  absolute = TRUE; };"""
INT = "integer { size = %d; align = %d; signed = %s; %s}"


def integer(size, signed=False, align=8, more=""):
    return INT % (size, align, "true" if signed else "false", more)


def numbers(size, signed):
    """All extremes, then any."""
    low, high = (-1 << size - 1, (1 << size - 1) - 1) if signed \
        else (0, (1 << size) - 1)
    yield from (low, high, 0, 1, high // 2 + 1)
    while True:
        yield random.randint(low, high)


def text(n):
    """Random bytes; often whole characters, quotes and controls."""
    parts = [b"plain", b"\"", b"\\", b"\n\t\r\b\f\v\x1b\x7f", "é€😀".encode(),
             b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf", b"\xe2\x82",
             b"\xf0\x9f\x98"]
    out = b""
    for _ in range(n):
        out += random.choice(parts) if random.random() < .5 else \
            bytes([random.randint(1, 255)])
    return out


def kind_of_integer(size, signed, order=""):
    values = numbers(size, signed)
    big = "big" if "be" in order else "little"
    return (f"{integer(size, signed, more=order)} v;",
            lambda: next(values).to_bytes(size // 8, big, signed=signed))


REALS = (0.0, -0.0, 1.0, 0.1, 1e300, -1e-300, 5e-324, math.nan, math.inf,
         -math.inf, 1 / 3, 123456789.125)


def reals(letter, limit):
    def value():
        n = random.choice(REALS + (random.uniform(-1e9, 1e9),))
        if math.isfinite(n) and abs(n) > limit:
            n = limit
        return struct.pack(letter, n)
    return value


def array(form, element, most):
    def value():
        n = random.randint(0, most)
        return struct.pack(form, n) + b"".join(element() for _ in range(n))
    return value


def byte():
    return bytes([random.randint(0, 255)])


def variant():
    which = random.randint(0, 2)
    return bytes([which]) + (struct.pack("<q", -5), text(4) + b"\0",
                             struct.pack("<BH", 7, 8))[which]


U8, HEX = integer(8), integer(8, more="base = 16; ")
CHAR = integer(8, more="encoding = UTF8; ")
ENUM = f"enum : {U8} {{ A = 0, \"B b\" = 1 ... 3, C = 3, \"q\\\"\" = 7 }}"
KINDS = {f"{'su'[not s]}{n}": kind_of_integer(n, s) for n in (8, 16, 32, 64)
         for s in (False, True)}
KINDS.update({
    "be16": kind_of_integer(16, False, "byte_order = be; "),
    "be64": kind_of_integer(64, True, "byte_order = be; "),
    "octal": kind_of_integer(32, False, "base = 8; "),
    "hex": kind_of_integer(64, False, "base = 16; "),
    "bits": (f"{integer(3, False, 1)} a; {integer(5, True, 1)} b;", byte),
    "f32": ("floating_point { exp_dig = 8; mant_dig = 24; align = 8; } v;",
            reals("<f", 3e38)),
    "f64": ("floating_point { exp_dig = 11; mant_dig = 53; align = 8; } v;",
            reals("<d", 1e308)),
    "string": ("string v;", lambda: text(30) + b"\0"),
    "char_array": (f"{CHAR} v[8];", lambda: text(8)[:8].ljust(8, b"x")),
    "char_sequence": (f"{U8} n; {CHAR} v[n];",
                      array("<B", lambda: random.choice([b"a", b"\"", b"z"]), 9)),
    "array": (f"{integer(16)} v[3];", lambda: struct.pack("<3H", 1, 2, 65535)),
    "empty_array": (f"{integer(16)} v[0];", bytes),
    "sequence": (f"{integer(16)} n; {integer(32, True)} v[n];",
                 array("<H", lambda: struct.pack("<i", -3), 20)),
    "long_sequence": (f"{integer(32)} n; {U8} v[n];", array("<I", byte, 9000)),
    "blob": (f"{U8} n; {HEX} v[n]; {HEX} w[6];",
             lambda: array("<B", byte, 40)() + b"\0\x01\xfe\xff\x10\x0a"),
    "strings": (f"{U8} n; string v[n];",
                array("<B", lambda: text(3) + b"\0", 4)),
    "two_dimensions": (f"{U8} v[2][3];", lambda: b"abcdef"),
    "structure": (f"struct {{ {U8} a; struct {{ string s; {ENUM} e; }} in; }} v; "
                  f"struct {{ }} empty;", lambda: b"\1" + text(3) + b"\0\3"),
    "structures": (f"{U8} n; struct {{ {U8} a; {ENUM} e; }} v[n];",
                   array("<B", lambda: byte() + byte(), 4)),
    "enum": (f"{ENUM} v;", lambda: bytes([random.choice((0, 1, 2, 3, 7, 9))])),
    "signed_enum": (f"enum : {integer(64, True)} {{ low = -9223372036854775808, "
                    "minus = -1, some = -100 ... -2 } v;",
                    lambda: struct.pack("<q", random.choice(
                        (-1 << 63, -1, -50, 77)))),
    "variant": (f"enum : {U8} {{ n, s, t }} tag; variant <tag> {{ "
                f"{integer(64, True)} n; string s; struct {{ {U8} a; "
                f"{integer(16)} b; }} t; }} v;", variant),
    "names:with \\\"odd\\\" name": (f"{U8} _x; {U8} _v_1;", lambda: b"\1\2"),
    "nothing": ("", bytes),
})


def metadata(clock):
    head = HEAD % {"clock": CLOCK if clock else "",
                   "map": "map = clock.c.value;" if clock else ""}
    # babeltrace2 takes a timestamp that is mapped to no clock for one, too.
    yield head if clock else head.replace("timestamp", "when")
    for number, (name, (fields, _)) in enumerate(KINDS.items()):
        # One in three has a context of its own, with a name of the other one.
        context = "" if number % 3 else \
            f"context := struct {{ {U8} _own; {U8} _vpid; }};"
        level = f"loglevel = {number % 15};" if number % 2 else ""
        yield f"event {{ name = \"{name}\"; id = {number}; stream_id = 0; " \
              f"{level} {context} fields := struct {{ {fields} }}; }};\n"


def event(number, time):
    _, value = list(KINDS.values())[number]
    return struct.pack("<HQi", number, time, random.randint(-5, 99999)) + \
        text(2) + b"\0" + (b"" if number % 3 else b"\5\6") + value()


def packet(sequence, lost, events, begin):
    body = b"".join(event(n, begin + i * 1_000_003)
                    for i, n in enumerate(events))
    bits = (len(body) + 60) * 8
    return struct.pack("<IIQQQQQQI", 0xc1fc1fc1, 0, begin,
                       begin + len(events) * 1_000_003, bits, bits, sequence,
                       lost, sequence % 3) + body


def write(directory, seed=1, rounds=20, clock=True, skip=True):
    """Packets with all kinds of events; with SKIP some are said to be lost."""
    random.seed(seed)
    directory.mkdir(parents=True)
    (directory / "metadata").write_text("".join(metadata(clock)))
    with open(directory / "chan_0", "wb") as out:
        for i in range(rounds):
            gap = 3 if skip and i > rounds // 2 else 0
            out.write(packet(i + gap, gap * 2, range(len(KINDS)),
                             i * 1_000_000_000))
