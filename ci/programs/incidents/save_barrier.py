"""save_barrier.py: after the fit rank 0 alone saves. Saving ends with a barrier, which meets the others' next one.

Source: https://github.com/alan-turing-institute/autocast/pull/386
"""
import os

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 3, "rank": "0", "call": "AllReduce", "class": "extra-call|skipped-call|early-exit|skipped-or-early-exit",
         "reason": "rank 0 makes one barrier more, inside save_checkpoint, and waits alone in the last one", "two": True}


class Trainer:
    def __init__(self):
        self.device = common.start()
        self.weights = torch.ones(common.MB, device=self.device)

    def fit(self):
        for _ in common.steps(40):
            dist.all_reduce(self.weights)
            self.weights /= common.size
            common.sync()

    def save_checkpoint(self, name):
        if common.rank == 0:
            torch.save(self.weights.cpu(), os.path.join(common.folder, name))
        dist.barrier()  # BUG


trainer = Trainer()
trainer.fit()
if common.healthy:
    trainer.save_checkpoint("last.pt")
elif common.rank == 0:
    common.strike()
    trainer.save_checkpoint("last.pt")
dist.barrier()
common.finish()
