# SPDX-License-Identifier: MIT
"""A gate before a relay's control port. A sender's first index, and what comes
after it, waits there: no packet is complete before the gate is opened, however
slow the machine is."""
import contextlib
import socket
import struct
import threading

HEADER = struct.Struct(">QQII")
SEND_INDEX = 13


def pass_replies(source, target):
    """Until SOURCE ends."""
    with contextlib.suppress(OSError):
        while part := source.recv(65536):
            target.sendall(part)
        target.shutdown(socket.SHUT_WR)


class Gate:
    """For one connection to PORT, by way of the port of its own."""

    def __init__(self, port):
        self.is_open = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, args=(port,), daemon=True).start()

    def open(self):
        """From now on everything passes."""
        self.is_open.set()

    def _serve(self, port):
        peer, _ = self.listener.accept()
        relay = socket.create_connection(("127.0.0.1", port))
        threading.Thread(target=pass_replies, args=(relay, peer),
                         daemon=True).start()
        with contextlib.suppress(OSError), peer.makefile("rb") as requests:
            while len(header := requests.read(HEADER.size)) == HEADER.size:
                _, size, command, _ = HEADER.unpack(header)
                if command == SEND_INDEX:
                    self.is_open.wait()
                relay.sendall(header + requests.read(size))
            relay.shutdown(socket.SHUT_WR)
