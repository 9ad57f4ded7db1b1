#!/usr/bin/env python3
"""switch.py ADDRESS/PREFIX NETNS...: a switch in user space between network namespaces, each with a tap
eth0 there, where the kernel has no netem. Host I (from 1) has the address behind ADDRESS by I.

Prints "ready" when all is up. Lines of commands on standard input, any number a line:
  loss SHARE, delay SECONDS              of everything
  cut I, mend I                          nothing passes to and from host I any more
  pair FROM TO loss SHARE|delay SECONDS  of IPv4 packets between these addresses; * is any
  quit                                   (or the end of the input)"""
import ctypes
import fcntl
import heapq
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time

TUNSETIFF, TAP, NO_PI, NEWNET = 0x400454CA, 0x0002, 0x1000, 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def enter(fd):
    if LIBC.setns(fd, NEWNET) != 0:
        sys.exit(f"switch: setns: {os.strerror(ctypes.get_errno())}")


def tap(namespace):
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    enter(there)
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH", b"eth0", TAP | NO_PI))
    enter(home)
    os.close(home)
    os.close(there)
    return fd


class Switch:
    def __init__(self, ports):
        self.ports, self.where, self.cut, self.later, self.n = ports, {}, set(), [], 0
        self.rules = {("*", "*"): {}}

    def command(self, line):
        """One line; False to end."""
        words, pair = iter(line.split()), ("*", "*")
        for word in words:
            if word == "quit":
                return False
            if word == "pair":
                pair = (next(words), next(words))
            elif word in ("cut", "mend"):
                (self.cut.add if word == "cut" else self.cut.discard)(int(next(words)) - 1)
            else:
                self.rules.setdefault(pair, {})[word] = float(next(words))
        return True

    def rule(self, frame):
        """Loss and delay: the sum of what is said of its addresses."""
        ends = ("", "")
        if frame[12:14] == b"\x08\x00":
            ends = (socket.inet_ntoa(frame[26:30]), socket.inet_ntoa(frame[30:34]))
        said = [r for (a, b), r in self.rules.items() if a in ("*", ends[0]) and b in ("*", ends[1])]
        return sum(r.get("loss", 0) for r in said), sum(r.get("delay", 0) for r in said)

    def deliver(self, source, frame):
        known = self.where.get(frame[0:6])
        for i, port in enumerate(self.ports):
            if i != source and i not in self.cut and known in (None, i):
                try:
                    os.write(port, frame)
                except OSError:  # its queue is full, or it is down: lost, as on any switch
                    pass

    def take(self, source):
        for _ in range(64):
            try:
                frame = os.read(self.ports[source], 65536)
            except OSError:
                return
            self.where[frame[6:12]] = source
            loss, delay = self.rule(frame)
            if source in self.cut or random.random() < loss:
                continue
            self.n += 1
            if delay:
                heapq.heappush(self.later, (time.monotonic() + delay, self.n, source, frame))
            else:
                self.deliver(source, frame)

    def serve(self):
        poll, of = select.poll(), {port: i for i, port in enumerate(self.ports)}
        for fd in (0, *self.ports):
            poll.register(fd, select.POLLIN)
        while True:
            wait = max(0, self.later[0][0] - time.monotonic()) * 1e3 if self.later else None
            for fd, _ in poll.poll(wait):
                if fd:
                    self.take(of[fd])
                    continue
                text = os.read(0, 4096).decode()
                if not text or not all(self.command(line) for line in text.splitlines()):
                    return
            while self.later and self.later[0][0] <= time.monotonic():
                self.deliver(*heapq.heappop(self.later)[2:])


def main():
    address, prefix = sys.argv[1].split("/")
    base, last = address.rsplit(".", 1)
    ports = [tap(name) for name in sys.argv[2:]]
    for i, name in enumerate(sys.argv[2:], 1):
        for words in (f"addr add {base}.{int(last) + i}/{prefix} dev eth0", "link set eth0 alias hangar-host up"):
            subprocess.check_call(["ip", "-n", name, *words.split()])
    print("ready", flush=True)
    Switch(ports).serve()


main()
