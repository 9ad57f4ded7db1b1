"""lock_order.py: the trainer logs under one lock and takes the buffer's, its flushing thread does it the other way round.

Source: https://github.com/NVIDIA/nccl/issues/395
"""
import threading
import time

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 12, "ranks": 3, "rank": "0", "call": "AllReduce", "class": "missing-call|host-blocked",
         "reason": "rank 0's two threads wait for each other's lock", "two": True}
AT = 30


class Log:
    def __init__(self):
        self.lines, self.file = threading.Lock(), threading.Lock()
        self.text = []

    def write(self, line, slowly=False):
        with self.lines:
            self.text.append(line)
            if slowly:
                threading.Thread(target=self.flush, daemon=True).start()
                time.sleep(0.5)
                common.strike()
                self.file.acquire()  # BUG
                self.file.release()

    def flush(self):
        with self.file:
            with self.lines:
                self.text.clear()


device = common.start()
gradients = torch.ones(common.MB, device=device)
log = Log()
for step in common.steps(50):
    log.write(f"step {step}", step == AT and common.rank == 0 and not common.healthy)
    log.flush()
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
common.finish()
