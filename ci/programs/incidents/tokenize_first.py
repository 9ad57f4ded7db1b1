"""tokenize_first.py: the main process tokenizes first while the others wait in a barrier; its progress stops in one sample.

Source: https://github.com/hiyouga/LlamaFactory/issues/360
"""
import re
import time

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 12, "ranks": 3, "rank": "0", "call": "AllReduce", "class": "host-busy|missing-call",
         "reason": "rank 0 is busy in one line of its tokenizer; the others wait in the barrier", "two": True}
device = common.start()
gradients = torch.ones(common.MB, device=device)
WORD = re.compile("(a+)+$")


def tokenize(samples):
    return [WORD.match(sample) for sample in samples]  # BUG


def main_process_first(samples):
    if common.rank == 0:
        if "b" in samples[-1]:
            common.strike()
        tokenize(samples)
    dist.barrier()


for epoch in range(3):
    for step in common.steps(12):
        dist.all_reduce(gradients)
        gradients /= common.size
        common.sync()
    long = "a" * 34 + "b" if epoch == 1 and not common.healthy else "aaa"  # a pattern that backtracks for ever
    main_process_first(["aa", "aaaa", long])
    time.sleep(0.1)
common.finish()
