"""prefetch_dies.py: a thread reads samples ahead into a queue. On one rank its iterator raises: the thread is gone, no word reaches the
trainer, and the queue stays empty.

Source: https://github.com/RadarML/red-rover/issues/23
"""
import queue
import threading

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 12, "ranks": 3, "rank": "last", "call": "AllReduce", "class": "missing-call|host-blocked",
         "reason": "the last rank waits for a sample of a thread that has died", "two": True, "last": True}
AT, STEPS = 30, 50
device = common.start()
gradients = torch.ones(common.MB, device=device)


class Channel:
    """Samples of a recording, of which one is damaged."""

    def __iter__(self):
        for number in range(STEPS):
            if number == AT and common.rank == common.last and not common.healthy:
                common.strike()
                raise ValueError("bad header")
            yield bytes(256)


class Prefetch:
    def __init__(self, source):
        self.ready = queue.Queue(maxsize=2)
        threading.Thread(target=self.read_ahead, args=(source,), daemon=True).start()

    def read_ahead(self, source):
        for sample in source:
            self.ready.put(sample)

    def next(self):
        return self.ready.get()  # BUG


samples = Prefetch(Channel())
for step in common.steps(STEPS):
    samples.next()
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
common.finish()
