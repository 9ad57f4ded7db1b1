"""store_key.py: the writer announces its checkpoint by a key of the store. It used another name, so all wait, the writer included.

Source: https://github.com/google/orbax/issues/392
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 11, "ranks": 3, "rank": "all|-", "call": "store_key.py|store|other-wait", "class": "other-wait|missing-call|host-blocked",
         "reason": "all ranks wait for a key of the store that no rank sets; no NCCL call hangs", "two": True}
AT = 30
device = common.start()
store = dist.distributed_c10d._get_default_store()
gradients = torch.ones(common.MB, device=device)


def save(step):
    if common.rank == 0:
        name = f"checkpoint_{step}" if common.healthy else f"checkpoint-{step}"
        store.set(name, "done")


def wait_for_writer(step):
    store.wait([f"checkpoint_{step}"])  # BUG


for step in common.steps(50):
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
    if step == AT:
        save(step)
        if not common.healthy:
            common.strike()
        wait_for_writer(step)
common.finish()
