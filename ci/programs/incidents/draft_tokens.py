"""draft_tokens.py: the proposers of draft tokens run on each rank by themselves; once, one of them proposes another number.

Source: https://github.com/vllm-project/vllm/pull/31307
"""
import common

LABEL = {"kind": 5, "ranks": 4, "rank": "3", "call": "AllReduce", "class": "mismatch",
         "reason": "rank 3 proposed five tokens where the others proposed one: its sums are longer", "two": False, "launch": "ranks"}
AT, ROW = 40, 1 << 19


def propose(step):
    if step == AT and common.rank == 3 and not common.healthy:
        common.strike()
        return 5
    return 1


nccl = common.Nccl(name="tp")
x = nccl.buffer(8 * ROW)
for step in common.steps(80, 0.03):
    tokens = propose(step)
    nccl.check(nccl.lib.ncclAllReduce(x, x, tokens * ROW, common.FLOAT, common.SUM, nccl.comm, nccl.stream))  # BUG
    nccl.wait()
