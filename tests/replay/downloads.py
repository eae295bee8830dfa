#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finished traces as tar files: what is downloaded is what is on the disk, and
a download that cannot be completed fails."""
import gzip
import http.client
import io
import shutil
import socket
import subprocess
import sys
import tarfile
import time

sys.dont_write_bytecode = True
import relay
from looking import ask, get, wait_until
from relay import check, equal
from retention import finished, stored

LARGE = dict(packets=64, size=1 << 20)


def started(how="on"):
    return relay.Daemon(f"--http-download={how}")


def url(daemon, path, end="tar"):
    name = str(path.relative_to(daemon.out))
    return f"/api/v1/stored/{stored(daemon)[name]['id']}/trace.{end}"


def on_disk(daemon, top):
    return {str(p.relative_to(daemon.out)): p.read_bytes()
            for p in top.rglob("*") if p.is_file()}


def in_tar(blob):
    with tarfile.open(fileobj=io.BytesIO(blob)) as t:
        return {m.name: t.extractfile(m).read() for m in t.getmembers()}


def whole():
    with started() as daemon:
        top, other = finished(daemon, 2)
        (top / "not-ours").write_text("secret")
        want = on_disk(daemon, top)
        del want[str((top / "not-ours").relative_to(daemon.out))]
        check(ask(daemon, "/api/v1/stored")["downloads"], "no downloads")
        status, headers, tar = get(daemon, url(daemon, top))
        equal(status, 200, "status")
        equal(int(headers["Content-Length"]), len(tar), "length")
        equal(headers["Content-Type"], "application/x-tar", "type")
        equal(headers["Content-Disposition"],
              f'attachment; filename="{top.name}.tar"', "name")
        equal(in_tar(tar), want, "the files")
        status, headers, packed = get(daemon, url(daemon, top, "tar.gz"))
        equal(status, 200, "status")
        equal(headers["Content-Type"], "application/gzip", "type")
        equal(gzip.decompress(packed), tar, "as gzip")
        status, headers, nothing = get(daemon, url(daemon, top), "HEAD")
        equal((status, int(headers["Content-Length"]), nothing),
              (200, len(tar), b""), "HEAD")
        equal(in_tar(get(daemon, url(daemon, other))[2]),
              on_disk(daemon, other), "the other one")


def parts():
    """A range continues a download, unless the trace is another one."""
    with started() as daemon:
        top, = finished(daemon, 1, **LARGE)
        path = url(daemon, top)
        _, headers, tar = get(daemon, path)
        tag = headers["ETag"]
        size = len(tar)
        for text, first, last in (
                ("bytes=0-0", 0, 0), ("bytes=511-", 511, size - 1),
                ("bytes=70000-1000000", 70000, 1000000),
                (f"bytes={size - 1}-", size - 1, size - 1),
                (f"bytes=5-{size + 9}", 5, size - 1)):
            status, headers, body = get(
                daemon, path, headers={"Range": text, "If-Range": tag})
            equal(status, 206, text)
            equal(headers["Content-Range"], f"bytes {first}-{last}/{size}",
                  text)
            check(body == tar[first:last + 1], f"{text}: other bytes")
        for headers in ({"Range": "bytes=5-", "If-Range": '"another"'},
                        {"Range": "bytes=-5"}, {"Range": "bytes=5-4"},
                        {"Range": "bytes=1-2,4-5"}, {"Range": "rows=1-2"}):
            status, _, body = get(daemon, path, headers=headers)
            check(status == 200 and body == tar, f"{headers}: {status}")
        status, headers, _ = get(daemon, path,
                                 headers={"Range": f"bytes={size}-"})
        equal((status, headers["Content-Range"]), (416, f"bytes */{size}"),
              "after the end")
        daemon.stop()
        daemon.start_again()
        wait_until("listed", lambda: stored(daemon))
        equal(url(daemon, top), path, "the name after a restart")
        equal(get(daemon, path)[1]["ETag"], tag, "the tag after a restart")


def refusals():
    with started("off") as daemon:
        top, = finished(daemon, 1)
        status, _, body = get(daemon, url(daemon, top))
        equal(status, 403, "downloads are off")
        check(b"--http-download" in body, str(body))
    with started() as daemon:
        s = relay.Session(daemon, "running")
        s.packet()
        wait_until("noted", lambda: stored(daemon))
        path = url(daemon, daemon.out / s.path)
        equal(get(daemon, path)[0], 409, "it is being recorded")
        s.finish()
        wait_until("finished", lambda: get(daemon, path)[0] == 200)
        for bad in ("1-1/trace.tar", "/trace.tar", "x-1/trace.tar",
                    path.split("/")[4] + "/trace.tar.xz",
                    path.split("/")[4] + "/trace.ta",
                    path.split("/")[4]):
            equal(get(daemon, "/api/v1/stored/" + bad)[0], 404, bad)


class Slow:
    """A client that has asked, and has not read the answer."""

    def __init__(self, daemon, path, version="1.1"):
        self.sock = socket.socket()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.sock.settimeout(relay.TIMEOUT)
        self.sock.connect(("127.0.0.1", daemon.http_port))
        self.sock.sendall(f"GET {path} HTTP/{version}\r\n"
                          "Host: localhost\r\n\r\n".encode())
        self.text = self.sock.recv(64)

    def is_whole(self):
        """Read the rest."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        r = http.client.HTTPResponse(self.sock)
        r.fp = io.BufferedReader(Joined(self.text, self.sock))
        try:
            r.begin()
            r.read()
            return True
        except (http.client.IncompleteRead, ConnectionResetError):
            return False
        finally:
            self.sock.close()


class Joined(io.RawIOBase):
    def __init__(self, text, sock):
        self.text, self.sock = text, sock

    def readable(self):
        return True

    def readinto(self, b):
        if self.text:
            n = min(len(b), len(self.text))
            b[:n], self.text = self.text[:n], self.text[n:]
            return n
        return self.sock.recv_into(b)


def deleted():
    """What is deleted while it is read is not taken for complete. A client
    that only sees the end of the connection needs a length."""
    with started() as daemon:
        tops = finished(daemon, 4, **LARGE)
        for top, end, version in ((tops[0], "tar", "1.1"),
                                  (tops[1], "tar.gz", "1.1"),
                                  (tops[2], "tar", "1.0")):
            # Several files: the one that is open can still be read.
            d = top / "ust/uid/0/64-bit"
            for i in range(1, 4):
                shutil.copy(d / "ch_0", d / f"ch_{i}")
                shutil.copy(d / "index/ch_0.idx", d / f"index/ch_{i}.idx")
            c = Slow(daemon, url(daemon, top, end), version)
            shutil.rmtree(top)
            check(not c.is_whole(), f"{end}, HTTP/{version}: looks complete")
        check(Slow(daemon, url(daemon, tops[3])).is_whole(), "the last one")
        c = Slow(daemon, url(daemon, tops[3], "tar.gz"), "1.0")
        check(c.text.startswith(b"HTTP/1.0 505"), str(c.text))
        c.sock.close()


def clients():
    """Slow ones cost no memory and time out; beyond a few, others wait."""
    with started() as daemon:
        top, = finished(daemon, 1, **LARGE)
        path = url(daemon, top)
        before = daemon.rss()
        slow = [Slow(daemon, path) for _ in range(4)]
        status, headers, _ = get(daemon, path)
        equal((status, headers["Retry-After"]), (503, "10"), "one more")
        equal(get(daemon, "/healthz")[0], 200, "others")
        # Sanitizers keep what was freed. The trace has 64 MiB.
        most = 32 << 20 if relay.has_sanitizer("address") else 8 << 20
        check(daemon.rss() - before < most,
              f"{daemon.rss() - before} bytes for 4 clients")
        time.sleep(8)
        slow[0].sock.recv(1)
        wait_until("given up", lambda: get(daemon, path)[0] == 200)
        for c in slow:
            c.sock.close()
        left = [Slow(daemon, path) for _ in range(4)]
        for c in left:
            c.sock.close()
        wait_until("they left", lambda: get(daemon, path)[0] == 200)
        again = Slow(daemon, path)
        daemon.stop()
        check(not again.is_whole(), "the relay has ended")


def by_curl():
    """As a user does it."""
    if not shutil.which("curl") or not shutil.which("tar"):
        print("SKIP: by_curl: curl is not installed")
        return
    with started() as daemon:
        top, = finished(daemon, 1)
        where = daemon.top / "copy"
        where.mkdir()
        subprocess.run(
            f"curl -fsS http://127.0.0.1:{daemon.http_port}"
            f"{url(daemon, top, 'tar.gz')} | tar xzf -",
            shell=True, check=True, cwd=where)
        subprocess.run(["diff", "-r", top,
                        where / top.relative_to(daemon.out)], check=True)


if __name__ == "__main__":
    sys.exit(relay.main())
