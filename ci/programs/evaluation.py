"""evaluation.py: data parallel training in which rank 0 is rightly away for 30 s now and then: it evaluates alone."""
import time

import job  # first: without torch it says so
import torch
from torch.nn.parallel import DistributedDataParallel


def main():
    j = job.Job(__doc__, away=30.0, every=100)
    o = j.options
    model = DistributedDataParallel(job.blocks(o.width, o.layers).to(j.device))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def evaluate():
        end = time.monotonic() + o.away
        with torch.no_grad():
            while time.monotonic() < end:
                model.module(j.data(0, o.batch, o.width)).square().mean().item()

    def step(number):
        if number % o.every == o.every // 2 and j.rank == 0:
            evaluate()
        optimizer.zero_grad()
        loss = model(j.data(number, o.batch, o.width)).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    j.train(step)


if __name__ == "__main__":
    main()
