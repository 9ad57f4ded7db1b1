"""evaluation.py: as ddp.py, but rank 0 is rightly away for 30 s now and then: it evaluates alone."""
import time

import ddp
import torch


def evaluate(j, model, number):
    o = j.options
    end = time.monotonic() + o.away
    with torch.no_grad():
        while j.rank == 0 and number % o.every == o.every // 2 and time.monotonic() < end:
            model(j.data(0, o.batch, o.width)).square().mean().item()


if __name__ == "__main__":
    ddp.main(__doc__, evaluate, away=30.0, every=100)
