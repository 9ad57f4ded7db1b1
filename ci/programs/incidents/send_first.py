"""send_first.py: two stages that hold two parts each send to each other before they receive.

Source: https://github.com/pytorch/pytorch/issues/172668
"""
import common

LABEL = {"kind": 4, "ranks": 2, "rank": "all|-", "call": "[Ss]end", "class": "deadlock|order-cycle|p2p-cycle|p2p-unmatched|wait-cycle",
         "reason": "both ranks wait in a send whose receive comes after the other's send", "two": True, "launch": "ranks"}
AT = 25
nccl = common.Nccl(name="pp")
COUNT = 1 << 23  # more than NCCL buffers
activations, gradients = nccl.buffer(COUNT), nccl.buffer(COUNT)
peer = 1 - common.rank


def send(count):
    nccl.check(nccl.lib.ncclSend(activations, count, common.FLOAT, peer, nccl.comm, nccl.stream))  # BUG
    nccl.wait()


def recv(count):
    nccl.check(nccl.lib.ncclRecv(gradients, count, common.FLOAT, peer, nccl.comm, nccl.stream))
    nccl.wait()


def exchange(number):
    """Even and odd stages take turns, as long as the schedule is the plain one."""
    interleaved = number == AT and not common.healthy
    if interleaved:
        common.strike()
    if common.rank == 0 or interleaved:
        send(COUNT)
        recv(COUNT)
    else:
        recv(COUNT)
        send(COUNT)


for number in common.steps(40):
    exchange(number)
