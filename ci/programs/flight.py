"""flight.py: a small job that is broken in one known way, for PyTorch's Flight Recorder to see; `flights` starts it.

Each step: an all-reduce and an all-gather of all ranks, all-reduces of both halves; and but for --plain 1 sends and receives
round in a ring, in pairs, and three all-reduces coalesced. At step --at the guilty rank does its --bug.
"""
import os
import signal
import time

import job  # first: without torch it says so
import torch
import torch.distributed as dist

KINDS = ("none", "shape", "dtype", "drop", "skip", "extra", "kill", "exit0", "p2p", "half", "order", "coalesced")


class Flight:
    def __init__(self):
        self.j = job.Job(__doc__, KINDS, dumps="", count=4 << (20 if torch.cuda.is_available() else 10), plain=0)
        j = self.j
        half = j.size // 2
        halves = [dist.new_group(list(range(half))), dist.new_group(list(range(half, j.size)))]
        self.half = halves[j.rank >= half]
        self.count = j.options.count
        self.big = torch.ones(self.count, device=j.device)
        self.small = [torch.ones(1 << 10, device=j.device) for _ in range(3)]
        self.all = torch.empty(self.count * j.size, device=j.device)

    def first(self, kind):
        """The step's first all-reduce, which the guilty rank may make otherwise."""
        if kind == "shape":
            dist.all_reduce(self.big[:1 << 10])
        elif kind == "dtype":
            dist.all_reduce(self.big.to(torch.uint8))
        elif kind == "drop":
            time.sleep(3600)
        elif kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif kind == "exit0":
            os._exit(0)
        elif kind == "order":
            self.halves()
            dist.all_reduce(self.big)
        elif kind != "skip":
            dist.all_reduce(self.big)
        if kind == "extra":
            dist.all_reduce(self.small[0])

    def halves(self):
        dist.all_reduce(self.big, group=self.half)

    def ring(self, kind):
        """Around: each sends to the next; the guilty rank leaves its send out."""
        j = self.j
        ops = [dist.P2POp(dist.irecv, self.small[0], (j.rank - 1) % j.size)]
        if kind != "p2p":
            ops.append(dist.P2POp(dist.isend, self.small[1], (j.rank + 1) % j.size))
        for work in dist.batch_isend_irecv(ops):
            work.wait()

    def pair(self):
        """Ungrouped: even ranks send to odd ones."""
        j = self.j
        if j.rank % 2 == 0 and j.rank + 1 < j.size:
            dist.send(self.small[2], j.rank + 1)
        elif j.rank % 2 == 1:
            dist.recv(self.small[2], j.rank - 1)

    def coalesced(self, kind):
        if self.j.device.type == "cpu":
            return  # gloo has no groups of calls
        with dist._coalescing_manager(device=self.j.device, async_ops=True) as manager:
            for x in self.small[:2 if kind == "coalesced" else 3]:
                dist.all_reduce(x)
        manager.wait()

    def step(self, number):
        o = self.j.options
        kind = o.bug if self.j.guilty and number == o.at else "none"
        self.first(kind)
        dist.all_gather_into_tensor(self.all, self.big)
        if kind == "half":
            time.sleep(3600)
        if kind != "order":
            self.halves()
        if not o.plain:
            self.ring(kind)
            self.pair()
            self.coalesced(kind)
        self.j.sync()
        if number == o.at and o.dumps:
            self.dump(o.dumps)

    def dump(self, to):
        """A healthy job's dumps, both forms."""
        from torch._C._distributed_c10d import _dump_nccl_trace, _dump_nccl_trace_json
        with open(f"{to}{self.j.rank}", "wb") as file:
            file.write(_dump_nccl_trace())
        with open(f"{to}{self.j.rank}.json", "wb") as file:
            file.write(_dump_nccl_trace_json())


def main():
    flight = Flight()
    if flight.j.device.type == "cuda":
        flight.first("none")
        flight.j.sync()
    flight.j.train(flight.step)


if __name__ == "__main__":
    main()
