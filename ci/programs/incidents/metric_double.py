"""metric_double.py: a mean of accuracies is summed over all ranks as the type that it has come to. On one rank a value of double precision
was added, which makes the whole one of double precision.

Source: https://github.com/modelscope/ms-swift/pull/9551
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 10, "ranks": 4, "rank": "1", "call": "AllReduce", "class": "mismatch|diverged",
         "reason": "rank 1 sums float64, the others float32, twice as many bytes", "two": True, "last": True}
AT = 30
device = common.start()
gradients = torch.ones(1 << 16, device=device)


class Mean:
    def __init__(self):
        self.state, self.count = torch.zeros((), device=device), torch.zeros((), device=device)

    def add(self, value):
        self.state, self.count = self.state + value.sum(), self.count + 1

    def compute(self):
        numbers = torch.stack([self.state, self.count.to(self.state.dtype)])
        if numbers.dtype == torch.float64:
            common.strike()
        dist.all_reduce(numbers)  # BUG
        return numbers[0] / numbers[1]


def accuracy(step):
    hits = torch.ones(16, device=device) > 0
    by_sequence = step == AT and common.rank == 1 and not common.healthy
    return hits.double() if by_sequence else hits.float()


for step in common.steps(60):
    mean = Mean()
    mean.add(accuracy(step))
    dist.all_reduce(gradients)
    gradients.fill_(1)
    mean.compute()
    common.sync()
common.finish()
