"""Clients that send slowly, or wait to be closed."""

import select
import threading
import time


class Drip(threading.Thread):
    """Many connections that send one byte a second each, in one thread. Counts those the server has closed."""

    def __init__(self, made, data):
        super().__init__(daemon=True)
        self.socks, self.data, self.stopped, self.closed = made, data, threading.Event(), 0

    def run(self):
        left = {sock: 0 for sock in self.socks}
        while left and not self.stopped.is_set():
            began = time.monotonic()
            gone = []
            readable, _, _ = select.select(list(left), [], [], 0)
            for sock in readable:
                try:
                    if not sock.recv(65536):
                        gone.append(sock)
                except OSError:
                    gone.append(sock)
            for sock, at in left.items():
                if sock in gone:
                    continue
                try:
                    sock.send(self.data[at % len(self.data) : at % len(self.data) + 1])
                    left[sock] = at + 1
                except OSError:
                    gone.append(sock)
            for sock in gone:
                left.pop(sock, None)
                self.closed += 1
            self.stopped.wait(max(0, 1 - (time.monotonic() - began)))


def closed_by_server(socks, seconds):
    """How many were closed within that time; what they were sent is thrown away."""
    left, until = set(socks), time.monotonic() + seconds
    while left and time.monotonic() < until:
        readable, _, _ = select.select(list(left), [], [], 0.2)
        for sock in readable:
            try:
                if not sock.recv(1 << 20):
                    left.discard(sock)
            except OSError:
                left.discard(sock)
    return len(socks) - len(left)
