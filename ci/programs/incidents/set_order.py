"""set_order.py: the outputs of a model are a set of names, and a step makes a collective for each. The order of a set of strings differs
between processes: when the set is made anew, one rank exchanges its forces before it sums the energy.

Source: https://github.com/NVIDIA/nvalchemi-toolkit/pull/143
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 4, "rank": "1", "call": "AllReduce|All[Tt]o[Aa]ll|[Ss]end|[Rr]ecv",
         "class": "mismatch|order-cycle|deadlock|wait-cycle|extra-call|skipped-call|missing-call|p2p-peer|p2p-unmatched",
         "reason": "rank 1 is in the all-to-all of the forces while the others sum the energy", "two": True, "last": True}
AT = 25
device = common.start()
energy, forces = torch.ones(1 << 12, device=device), torch.ones(common.size << 14, device=device)
halo = torch.empty_like(forces)


def outputs(step):
    """The names in this process's order."""
    names = ["energy", "forces"]
    if step == AT and common.rank == 1 and not common.healthy:
        common.strike()
        names.reverse()
    return names


def consolidate(names):
    for name in names:
        if name == "energy":
            dist.all_reduce(energy)  # BUG
            energy.div_(common.size)
        else:
            dist.all_to_all_single(halo, forces)  # BUG


for step in common.steps(45):
    consolidate(outputs(step))
    common.sync()
common.finish()
