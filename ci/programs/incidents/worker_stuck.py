"""worker_stuck.py: a DataLoader's worker of one rank holds on to a lock for ever; its trainer waits for the next batch.

Source: https://github.com/pytorch/pytorch/issues/1355
"""
import time

import common
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

LABEL = {"kind": 12, "ranks": 2, "rank": "1", "call": "AllReduce", "class": "missing-call|host-blocked",
         "reason": "rank 1 waits for a batch of a worker that is stuck", "two": True}


class Frames(Dataset):
    def __len__(self):
        return 400

    def __getitem__(self, index):
        if index == 240 and common.rank == 1 and not common.healthy:
            common.strike()
            time.sleep(3600)
        return torch.full((64,), float(index))


def main():
    device = common.start()
    gradients = torch.ones(common.MB, device=device)
    loader = iter(DataLoader(Frames(), batch_size=8, num_workers=1, prefetch_factor=1))
    for _ in common.steps(50):
        next(loader)  # BUG
        dist.all_reduce(gradients)
        gradients /= common.size
        common.sync()
    common.finish()


if __name__ == "__main__":
    main()
