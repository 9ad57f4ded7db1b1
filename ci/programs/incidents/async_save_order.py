"""async_save_order.py: a thread gathers the plan of an asynchronous checkpoint while the main thread ends its save with a barrier, in
one group. On one rank the thread comes second.

Source: https://github.com/KempnerInstitute/KempnerForge/issues/104
"""
import threading
import time

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 6, "ranks": 4, "rank": "2", "call": "AllGather|AllReduce|[Bb]arrier",
         "class": "mismatch|extra-call|skipped-call|order-cycle|deadlock|missing-call",
         "reason": "rank 2 makes the barrier before the thread's all-gather, the others after it", "two": False, "last": True}
EVERY, AT = 10, 30
device = common.start()
gradients, plan = torch.ones(1 << 19, device=device), torch.ones(256, device=device)


class Saver:
    def __init__(self):
        self.thread, self.made = None, threading.Event()

    def gather_plan(self, delay):
        time.sleep(delay)
        dist.all_gather([torch.empty_like(plan) for _ in range(common.size)], plan)  # BUG
        self.made.set()

    def save(self, step):
        if self.thread:
            self.thread.join()
        slow = step == AT and common.rank == 2 and not common.healthy
        self.made.clear()
        self.thread = threading.Thread(target=self.gather_plan, args=(0.5 if slow else 0,), daemon=True)
        self.thread.start()
        if slow:
            common.strike()
        else:
            self.made.wait()
        dist.barrier()  # BUG


saver = Saver()
for step in common.steps(50):
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
    if step % EVERY == 0:
        saver.save(step)
saver.thread.join()
common.finish()
