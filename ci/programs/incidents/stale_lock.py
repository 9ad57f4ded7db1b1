"""stale_lock.py: an extension is built at first use, under a lock file that a killed build left behind on one host.

Source: https://github.com/pytorch/pytorch/issues/189245
"""
import os
import time

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 3, "ranks": 3, "rank": "1", "call": "init|set-up|communicator|AllReduce", "class": "init-missing-rank|missing-call|host-blocked",
         "reason": "rank 1 waits for a lock that no process holds; the others are in the set-up of the first communicator", "two": True}
device = common.start()
gradients = torch.ones(common.MB, device=device)
lock = os.path.join(common.folder, f"lock{common.rank}")


class Baton:
    def acquire(self):
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
            return True
        except FileExistsError:
            return False

    def wait(self):
        while os.path.exists(lock):
            time.sleep(0.1)  # BUG


def load_extension():
    baton = Baton()
    if baton.acquire():
        time.sleep(0.2)
        os.unlink(lock)
        return
    common.strike()
    baton.wait()


if common.rank == 1 and not common.healthy:
    open(lock, "w").close()
load_extension()
for step in common.steps(30):
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
common.finish()
