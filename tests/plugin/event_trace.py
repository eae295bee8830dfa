# SPDX-License-Identifier: MIT
"""A trace in CTF 1.8 of chosen events, as LTTng writes them."""
import struct

HEAD = """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le;
  packet.header := struct { integer { size = 32; align = 8; } magic;
                            integer { size = 32; align = 8; } stream_id; }; };
env { hostname = "%(host)s"; domain = "kernel"; sysname = "Linux";
      kernel_release = "6.1.0"; };
clock { name = c; freq = 1000000000; offset_s = 1700000000; absolute = TRUE; };
typealias integer { size = 64; align = 8; map = clock.c.value; } := stamp;
stream { id = 0;
  packet.context := struct { stamp timestamp_begin; stamp timestamp_end;
    integer { size = 64; align = 8; } content_size;
    integer { size = 64; align = 8; } packet_size;
    integer { size = 64; align = 8; } events_discarded;
    integer { size = 32; align = 8; } cpu_id; };
  event.header := struct { integer { size = 16; align = 8; } id;
                           stamp timestamp; };
  event.context := struct { %(context)s }; };
"""
ORIGIN = 1_700_000_000 * 10 ** 9
TYPES = {int: "integer { size = 64; align = 8; signed = true; }",
         str: "string"}


def kind_of(value):
    return f"struct {{ {fields(value)} }}" if isinstance(value, dict) \
        else TYPES[type(value)]


def fields(members):
    return " ".join(f"{kind_of(v)} _{n};" for n, v in members.items())


def encode(members):
    return b"".join(
        encode(v) if isinstance(v, dict) else struct.pack("<q", v)
        if isinstance(v, int) else v.encode() + b"\0" for v in members.values())


def write(directory, events, host="h", lost=0):
    """EVENTS: (CPU, ns, name, context, fields), the last two as dicts with
    equal keys and types for each name. LOST events follow on CPU 0."""
    directory.mkdir(parents=True)
    kinds = {}
    for _, _, name, _, members in events:
        kinds.setdefault(name, (len(kinds), members))
    with open(directory / "metadata", "w") as out:
        out.write(HEAD % {"host": host, "context": fields(events[0][3])})
        for name, (number, members) in kinds.items():
            out.write(f"event {{ name = \"{name}\"; id = {number}; "
                      f"stream_id = 0; fields := struct {{ "
                      f"{fields(members)} }}; }};\n")
    for cpu in {e[0] for e in events}:
        body = b"".join(struct.pack("<HQ", kinds[name][0], ns) +
                        encode(context) + encode(members)
                        for c, ns, name, context, members in events if c == cpu)
        times = [e[1] for e in events if e[0] == cpu]
        with open(directory / f"channel_{cpu}", "wb") as out:
            out.write(packet(cpu, times[0], times[-1], body, 0))
            if lost and cpu == 0:
                out.write(packet(cpu, times[-1] + 1, times[-1] + 2, b"", lost))


def packet(cpu, begin, end, body, lost):
    bits = (len(body) + 52) * 8
    return struct.pack("<IIQQQQQI", 0xc1fc1fc1, 0, begin, end, bits, bits,
                       lost, cpu) + body
