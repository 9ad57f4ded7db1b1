"""nested_launch.py: rank 0 starts an evaluation, a torchrun of its own, and waits for it; the others wait in the next sum. One rank of
the evaluation is stuck.

Source: https://github.com/pytorch/pytorch/issues/62381
"""
import os
import subprocess
import sys
import time

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 9, "ranks": 3, "rank": "0", "call": "AllReduce", "class": "missing-call|host-blocked",
         "reason": "rank 0 waits for the evaluation that it started", "two": True}
AT = 30


def evaluation():
    """The inner job: it only reads."""
    time.sleep(60 if os.environ["RANK"] == "1" else 0.5)


def evaluate():
    inner = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_PORT") and "TORCHELASTIC" not in k}
    job = subprocess.Popen([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", __file__, "--inner"], env=inner)
    common.strike()
    return job.wait()  # BUG


if "--inner" in sys.argv:
    evaluation()
    sys.exit(0)
device = common.start()
gradients = torch.ones(common.MB, device=device)
for step in common.steps(50):
    if step == AT and common.rank == 0 and not common.healthy:
        evaluate()
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
common.finish()
