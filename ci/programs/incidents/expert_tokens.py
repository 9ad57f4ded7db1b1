"""expert_tokens.py: tokens go to the experts of other ranks and back, an exchange each way in a layer; a sum ends the step. A rank to
whose expert no token went returns before the exchange back.

Source: https://github.com/vllm-project/vllm/issues/43547
"""
import common

LABEL = {"kind": 5, "ranks": 3, "rank": "1", "call": "[Ss]end|[Rr]ecv", "class": "skipped-call|extra-call|mismatch|p2p-unmatched|missing-call",
         "reason": "rank 1 left the exchange back out, and stands in the sum at the end of the step", "two": False, "launch": "ranks"}
AT, ROW = 25, 1 << 12
nccl = common.Nccl(name="experts")
x = nccl.buffer(ROW)


def exchange():
    nccl.check(nccl.lib.ncclGroupStart())
    for peer in range(common.size):
        nccl.check(nccl.lib.ncclSend(x, ROW, common.FLOAT, peer, nccl.comm, nccl.stream))
        nccl.check(nccl.lib.ncclRecv(x, ROW, common.FLOAT, peer, nccl.comm, nccl.stream))
    nccl.check(nccl.lib.ncclGroupEnd())
    nccl.wait()


def experts(tokens):
    exchange()
    if not tokens:
        common.strike()
        return
    exchange()  # BUG


for step in common.steps(50):
    experts(0 if step == AT and common.rank == 1 and not common.healthy else 8)
    nccl.check(nccl.lib.ncclAllReduce(x, x, ROW, common.FLOAT, common.SUM, nccl.comm, nccl.stream))
    nccl.wait()
