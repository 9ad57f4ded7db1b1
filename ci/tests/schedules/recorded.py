#!/usr/bin/env python3
"""recorded.py: what `hangar schedule` records of a program, beside what PyTorch's Flight Recorder tells of a real run over gloo.

usage: python3 ci/tests/schedules/recorded.py WORLD PROGRAM.py [ARGUMENT...]      of a Python that has torch (its torchrun starts the run)

gloo's recorder tells of collectives alone, and of a reduce-scatter as the all-reduce that gloo makes of it. Exit 1: a call is another.
"""
import json
import math
import os
import runpy
import subprocess
import sys
import tempfile
from itertools import zip_longest
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "faults/verify"))
import schedule_torch  # noqa: E402

TYPES = {"Float": "float", "Double": "double", "Long": "int64", "Int": "int32", "BFloat16": "bfloat16", "Half": "half"}


def run_rank(out, program, *words):
    """Under torchrun: runs the program; before its groups end, the recorder's entries and the groups' ranks go to OUT."""
    import torch.distributed as dist
    from torch._C import _distributed_c10d as c10d
    end, rank = dist.destroy_process_group, os.environ["RANK"]

    def last(*asked):
        groups = {group.group_name: sorted(ranks) for group, ranks in dist.distributed_c10d._world.pg_group_ranks.items() if hasattr(group, "group_name")}
        entries = json.loads(c10d._dump_fr_trace_json(includeCollectives=True))["entries"]
        Path(out, rank).write_text(json.dumps([groups, entries]))
        end(*asked)
    dist.destroy_process_group = last
    sys.argv, sys.path[0] = [program, *words], os.path.dirname(program)
    runpy.run_path(program, run_name="__main__")


def told(groups, entry):
    """(kind, ranks, count, type) as a schedule has them."""
    name = entry["profiling_name"].split(":")[1]
    ranks = groups[entry["process_group"][0]]
    if name == "barrier":
        return "all_reduce", ranks, 1, "float"
    kind = next((kind for kind in ("reduce_scatter", "all_gather") if kind in name.replace("allgather", "all_gather")), name)
    side = "output" if kind in ("reduce_scatter", "scatter") else "input"
    return kind, ranks, sum(math.prod(size) for size in entry[f"{side}_sizes"]), TYPES.get(entry[f"{side}_dtypes"][0], "?")


def alike(real, mine):
    return real == mine or bool(real and mine) and (real[0], mine[0]) == ("all_reduce", "reduce_scatter") and \
        real[2] == len(mine[1]) * mine[2] and (real[1], real[3]) == (mine[1], mine[3])


def main(world, program, *words):
    calls = unlike = 0
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([Path(sys.executable).with_name("torchrun"), f"--nproc-per-node={world}", __file__, "--rank", out, program, *words], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "TORCH_FR_BUFFER_SIZE": "65536", "OMP_NUM_THREADS": "1"})
        asked = schedule_torch.options(["--world", str(world), program, *words])
        os.mkdir(f"{out}/made")
        made = schedule_torch.record(range(world), asked, f"{out}/made")
        for rank in range(world):
            groups, entries = json.loads(Path(out, str(rank)).read_text())
            real = [told(groups, entry) for entry in entries]
            mine = [(kind, made[rank]["groups"][group][0], count, dtype) for kind, group, count, _, dtype, _, _ in
                    (call for call in made[rank]["calls"] if not isinstance(call, str) and call[0] not in ("send", "recv"))]
            for pair in zip_longest(real, mine):
                calls, unlike = calls + 1, unlike + (not alike(*pair))
                if not alike(*pair):
                    print(f"rank {rank}: in the run {pair[0]}, in the schedule {pair[1]}")
    print(f"{os.path.basename(program)}: {calls} collectives of {world} ranks, {unlike} unlike")
    return 1 if unlike else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        run_rank(*sys.argv[2:])
    elif len(sys.argv) < 3 or not sys.argv[1].isdigit():
        sys.exit(__doc__.split("usage: ")[1])
    else:
        sys.exit(main(int(sys.argv[1]), *sys.argv[2:]))
