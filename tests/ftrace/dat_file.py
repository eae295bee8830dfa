# SPDX-License-Identifier: MIT
"""Small files of trace-cmd, made for tests: any byte order, any size of a
long, versions 6 and 7, and pages with any events."""
import struct
import zlib

PAGE = 512
FIELD = "\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n"
COMMON = (("unsigned short common_type", 0, 2, 0),
          ("unsigned char common_flags", 2, 1, 0),
          ("unsigned char common_preempt_count", 3, 1, 0),
          ("int common_pid", 4, 4, 1))
FIELDS_MAX = 256        # EVENT_FIELDS_MAX
CLOCKS = "[local] global counter uptime perf mono mono_raw boot tai x86-tsc\n"


class Maker:
    """Bytes in one byte order, of a kernel with longs of one size."""

    def __init__(self, big=False, long_size=8):
        self.order = ">" if big else "<"
        self.big, self.long_size = big, long_size
        self.symbols = b"ffffffff81000000 T _stext\n"
        self.commands = self.block(b"1 init\n")

    def pack(self, kinds, *values):
        return struct.pack(self.order + kinds, *values)

    def format(self, name, number, fields, common=COMMON):
        """A format text; FIELDS are (declaration, offset, size, signed)."""
        return ("name: %s\nID: %d\nformat:\n" % (name, number)
                + "".join(FIELD % f for f in common) + "\n"
                + "".join(FIELD % f for f in fields)
                + "\nprint fmt: \"%d\", REC->x\n").encode()

    def many(self, events, declaration, number=1000):
        """Format texts with as many fields as one may have, all of them at the
        same place; a %d in DECLARATION is the number of the field."""
        count = FIELDS_MAX - len(COMMON)
        return [self.format("e%d" % i, number + i, [
            (declaration.replace("%d", str(k)), 8, 4, 0)
            for k in range(count)]) for i in range(events)]

    def event(self, number, data, pid=1, flags=0, preempt=0):
        """The bytes of an event; DATA follows the common ones."""
        return self.pack("HBBi", number, flags, preempt, pid) + data

    def entry(self, data, delta=0):
        """An event in a page."""
        data += bytes(-len(data) % 4)
        if 0 < len(data) <= 28 * 4:
            return self.word(len(data) // 4, delta) + data
        return self.word(0, delta) + self.pack("I", len(data) + 4) + data

    def word(self, kind, delta):
        return self.pack("I", kind << 27 | delta if self.big
                         else delta << 5 | kind)

    def extend(self, time, absolute=False):
        """A time extend, or an absolute time."""
        return self.word(31 if absolute else 30, time & ((1 << 27) - 1)) \
            + self.pack("I", time >> 27 & 0xffffffff)

    def page(self, time, data, lost=None, commit=None, size=PAGE):
        """LOST: None, how many, or -1 if the kernel did not count."""
        word = len(data) if commit is None else commit
        tail = b""
        if lost is not None:
            word |= 1 << 31
            if lost >= 0:
                word |= 1 << 30
                tail = self.pack("Q" if self.long_size == 8 else "I", lost)
            if self.long_size == 8:  # as the kernel extends its sign
                word |= 0xffffffff00000000
        out = self.pack("QQ" if self.long_size == 8 else "QI", time, word) \
            + data + tail
        assert len(out) <= size
        return out + bytes(size - len(out))

    def beginning(self, version, size=PAGE):
        return b"\x17\x08Dtracing%d\0" % version \
            + bytes((self.big, self.long_size)) + self.pack("I", size)

    def block(self, text):
        return self.pack("Q", len(text)) + text

    def headers(self):
        at = 8 + self.long_size
        page = FIELD % ("u64 timestamp", 0, 8, 0) \
            + FIELD % ("local_t commit", 8, self.long_size, 1) \
            + FIELD % ("char data", at, PAGE - at, 0)
        return b"header_page\0" + self.block(page.encode()) \
            + b"header_event\0" + self.block(b"# compressed entry header\n")

    def formats(self, systems):
        """SYSTEMS: name -> list of format texts."""
        out = self.pack("I", len(systems))
        for name, texts in systems.items():
            out += name.encode() + b"\0" + self.pack("I", len(texts)) \
                + b"".join(self.block(t) for t in texts)
        return out

    def blocks(self, ftrace, systems):
        """Items 6 to 9, as (section id, bytes)."""
        printk = b"0xffffffff82000000 : \"x\"\n"
        return [(16, self.headers()),
                (17, self.pack("I", len(ftrace))
                 + b"".join(self.block(t) for t in ftrace)),
                (18, self.formats(systems)),
                (19, self.pack("I", len(self.symbols)) + self.symbols),
                (20, self.pack("I", len(printk)) + printk),
                (21, self.commands)]

    def options(self, more=()):
        return [(4, CLOCKS.encode() + b"\0"),
                (5, b"Linux target 6.18.0 x86_64\0"),
                (11, self.pack("Q", 0x1122334455667788))] + list(more)

    def metadata_v6(self, ftrace, systems, cpus, options=()):
        """What a recorder sends."""
        out = self.beginning(6) + b"".join(
            b for _, b in self.blocks(ftrace, systems))
        out += self.pack("I", cpus) + b"options  \0"
        for number, data in self.options(options):
            out += self.pack("HI", number, len(data)) + data
        return out + self.pack("H", 0)

    def file_v6(self, ftrace, systems, pages, options=()):
        """PAGES: a list of pages for each CPU."""
        out = self.metadata_v6(ftrace, systems, len(pages), options) \
            + b"flyrecord\0"
        clock = self.block(b"[local]")
        at = len(out) + 16 * len(pages) + len(clock)
        table, data = b"", b""
        for own in pages:
            data += bytes(-(at + len(data)) % PAGE)
            table += self.pack("QQ", at + len(data), PAGE * len(own))
            data += b"".join(own)
        return out + table + clock + data

    def section(self, number, data, packed=None):
        if packed is not None:
            small = packed(data)
            data = self.pack("II", len(small), len(data)) + small
        return self.pack("HHiQ", number, packed is not None, -1, len(data)) \
            + data

    def option_list(self, options, then):
        return b"".join(self.pack("HI", n, len(d)) + d for n, d in options) \
            + self.pack("HIQ", 0, 8, then)

    def file_v7(self, ftrace, systems, buffers, options=(), packing="none",
                chunk=2):
        """BUFFERS: name -> a list of pages for each CPU. Packed pages are
        CHUNK to one chunk."""
        packed = {"none": None, "zlib": zlib.compress}[packing]
        begin = self.beginning(7) + packing.encode() + b"\0" + b"\0"
        out = begin + self.pack("Q", 0)
        places = []
        for number, data in self.blocks(ftrace, systems):
            places.append((number, self.pack("Q", len(out))))
            out += self.section(number, data, packed)
        cpus = max(len(own) for own in buffers.values())
        first = places + self.options(options) + [(8, self.pack("I", cpus))]
        at = len(out)
        size = len(self.section(0, self.option_list(first, 0)))
        body = b""
        more = []
        for name, own in buffers.items():
            place = at + size + len(body)
            data, rows = self.packed_pages(own, place + 16, packed, chunk)
            body += self.pack("HHiQ", 3, packed is not None, -1, len(data)) \
                + data
            more.append((3, self.pack("Q", place) + name.encode() + b"\0local\0"
                         + self.pack("II", PAGE, len(rows)) + b"".join(
                             self.pack("IQQ", *r) for r in rows)))
        out += self.section(0, self.option_list(first, at + size + len(body))) \
            + body + self.section(0, self.option_list(more, 0))
        return begin + self.pack("Q", at) + out[len(begin) + 8:]

    def packed_pages(self, own, at, packed, chunk):
        data, rows = b"", []
        for cpu, pages in enumerate(own):
            if not pages:
                continue
            body = b"".join(pages)
            size = len(body)
            if packed is not None:
                body = b""
                groups = [b"".join(pages[i:i + chunk])
                          for i in range(0, len(pages), chunk)]
                for group in groups:
                    small = packed(group)
                    body += self.pack("II", len(small), len(group)) + small
                size = len(body)  # stock does not count the 4 bytes
                body = self.pack("I", len(groups)) + body
            rows.append((cpu, at + len(data), size))
            data += body
        return data, rows
