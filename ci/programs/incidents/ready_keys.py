"""ready_keys.py: each rank reports its shard by a key of the store, and rank 0 waits for all keys. Some are there; one rank wrote its own
under another step.

Source: https://github.com/pytorch/pytorch/issues/53840
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 12, "ranks": 3, "rank": "0|2", "call": "AllReduce", "class": "missing-call|host-blocked|other-wait",
         "reason": "rank 0 waits for a key that rank 2 wrote under another name; ranks 1 and 2 are in the next sum", "two": False, "last": True}
AT, EVERY = 30, 5
device = common.start()
store = dist.distributed_c10d._get_default_store()
gradients = torch.ones(common.MB, device=device)


def report(step):
    if step == AT and common.rank == 2 and not common.healthy:
        common.strike()
        step += 1
    store.set(f"shard/{step}/{common.rank}", "written")  # BUG


def wait_for_shards(step):
    store.wait([f"shard/{step}/{rank}" for rank in range(1, common.size)])  # BUG


for step in common.steps(50):
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
    if step % EVERY == 0:
        if common.rank > 0:
            report(step)
        else:
            wait_for_shards(step)
common.finish()
