"""foreign.py: what other programs print, as launches: the table of nccl-tests (2.10 and later, with any prefix of mpirun, srun or
a log), and the JSON lines of NCCL Inspector. They say what was measured, and little of what it ran on.

    ci/night/foreign.py FILE      writes FILE.run/rows.csv, which plots/plot and ci/page read, and prints the folder
"""
import json
import re
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import rows  # noqa: E402
import tables  # noqa: E402

# size, count, type, then operator and root in most versions, time, algbw, busbw, what is wrong, and the same in place
_ROW = re.compile(r"(?:^|\s)(\d+)\s+(\d+)\s+([a-z]\w*)(?:\s+([a-z]+))?(?:\s+(-?\d+)(?=\s+[\d.]+\s+[\d.]+\s+[\d.]+))?((?:\s+[\d.]+\s+[\d.]+\s+[\d.]+"
                  r"(?:\s+\S+)?){1,2})\s*$")
_TIMES = re.compile(r"([\d.]+)\s+([\d.]+)\s+([\d.]+)(?:\s+\S+)?")
_RANK = re.compile(r"#\s+Rank\s+\d+\s.*\bon\s+(\S+)\s+device\s+\S+\s+\[\w+\]\s*(.*?)\s*$")
_PROGRAM = re.compile(r"\b(all_reduce|all_gather|reduce_scatter|broadcast|reduce|alltoall|alltoallv|gather|scatter|sendrecv|hypercube)_perf")
_VERSION = re.compile(r"NCCL version[: ]+(\d[\d.]+)|nccl-library=(\d+)")
_KINDS = {"AllReduce": "all_reduce", "AllGather": "all_gather", "ReduceScatter": "reduce_scatter", "Broadcast": "broadcast",
          "Reduce": "reduce", "AlltoAll": "alltoall", "Send": "sendrecv", "Recv": "sendrecv"}
MOST = 256 << 20


def _cells(**known):
    return {"schema": "1", "backend": "nccl", "mode": "stream", "root": "-1", "redop": "none", "dtype": "", "nnodes": "", **known}


def _table(text, name):
    """(rows as cells, facts) of a table; the collective is its program's, or the file's name's."""
    program = _PROGRAM.search(text) or _PROGRAM.search(name + "_perf")
    ranks = [m for m in map(_RANK.search, text.splitlines()) if m]
    hosts = list(dict.fromkeys(m[1] for m in ranks))
    devices = [m[2] for m in ranks]
    found = []
    for line in text.splitlines():
        row = _ROW.search(line)
        if not row:
            continue
        for placement, times in zip(("out-of-place", "in-place"), _TIMES.findall(row[6])):
            found.append(_cells(collective=program[1] if program else "", nranks=str(len(ranks) or ""), nnodes=str(len(hosts) or ""),
                                size_bytes=row[1], dtype=row[3], redop=row[4] or "none", root=row[5] or "-1",
                                placement=placement, time_us=times[0], busbw_gbs=times[2]))
    version = _VERSION.search(text)
    facts = {"host": ", ".join(hosts), "device": rows.counted(devices), "nccl": (version[1] or version[2]) if version else ""}
    return found, {k: v for k, v in facts.items() if v}


def _inspector(text):
    """(rows as cells, facts) of JSON lines of NCCL Inspector; its message size is nccl-tests' size."""
    found, hosts = [], set()
    for line in text.splitlines():
        try:
            record = json.loads(line)
            call, header = record["coll_perf"], record["header"]
            hosts.add(str(record.get("metadata", {}).get("hostname", "")))
            found.append(_cells(collective=_KINDS.get(call["coll"], str(call["coll"]).lower()), nranks=str(header["n_ranks"]),
                                nnodes=str(header.get("nnodes", "")), size_bytes=str(int(call["coll_msg_size_bytes"])),
                                placement="out-of-place", time_us=call["coll_exec_time_us"], busbw_gbs=call["coll_busbw_gbs"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
    return found, {"host": ", ".join(sorted(hosts - {""}))} if hosts - {""} else {}


def read(path):
    """The launch in a file, None where it is neither. Raises OSError."""
    text = tables.read_file(path, MOST).decode(errors="replace")
    cells, facts = _inspector(text) if '"coll_perf"' in text else _table(text, Path(path).stem)
    kept, notes = [], []
    for number, row in enumerate(cells):
        try:
            row = rows.row_of(row)
        except ValueError:
            continue
        if row["time_us"] > 0:
            kept.append(row)
        elif number == 0:
            notes.append(f"{path}: rows without a time are left out")
    if not kept:
        return None
    if not kept[0]["collective"]:
        notes.append(f"{path}: it names no program: its rows are compared as one collective")
    return rows.Launch(str(path), facts, kept, notes)


def as_run(path):
    """Writes the launch in a file as FILE.run/rows.csv. Returns the folder, None where the file holds none. Raises OSError."""
    launch = read(path)
    folder = Path(f"{path}.run")
    if launch:
        folder.mkdir(exist_ok=True)
        tables.write_csv(folder / "rows.csv", rows.KEPT, [[row[c] for c in rows.KEPT] for row in launch.rows])
    return folder if launch else None


if __name__ == "__main__":
    try:
        made = as_run(sys.argv[1])
    except (OSError, IndexError) as wrong:
        sys.exit(f"foreign.py: {wrong}")
    print(made or sys.exit(f"foreign.py: {sys.argv[1]}: neither a table of nccl-tests nor lines of NCCL Inspector"))
