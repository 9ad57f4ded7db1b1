"""zero_tokens.py: data parallel engines agree on the batch by a collective each step. A rank that has no token to schedule
returns before it, and all its later calls meet those of the step after.

Source: https://github.com/vllm-project/vllm/issues/43547
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 3, "rank": "1", "call": "AllReduce", "class": "skipped-call|skipped-or-early-exit|mismatch|missing-call",
         "reason": "rank 1 left coordinate() out in the step in which it had nothing to do", "two": False}
AT = 30


class Engine:
    def __init__(self):
        self.device = common.start()
        self.tokens = torch.zeros(64, device=self.device)
        self.hidden = torch.ones(64, device=self.device)

    def coordinate(self, scheduled):
        self.tokens.fill_(scheduled)
        dist.all_reduce(self.tokens)  # BUG
        return self.tokens

    def forward(self):
        for _ in range(2):
            dist.all_reduce(self.hidden)
        self.hidden /= common.size ** 2

    def step(self, number):
        scheduled = 0 if common.rank == 1 and number == AT else 8
        if scheduled == 0 and not common.healthy:
            common.strike()
            self.forward()
            return
        self.coordinate(scheduled)
        self.forward()


engine = Engine()
for number in common.steps(120):
    engine.step(number)
    common.sync()
common.finish()
