"""foreign.py: what other programs print, as launches: the table of nccl-tests (2.10 and later, with any prefix of mpirun, srun or
a log), and the JSON lines of NCCL Inspector. They say what was measured, and little of what it ran on.

    ci/night/foreign.py FILE      writes FILE.run/rows.csv, which plots/plot and ci/page read, and prints the folder

The reader is common/predict/command/against.py, which topo_predict --against has built in; `make install` lays it here.
"""
import re
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(_HERE.parent))
sys.path += [str(_HERE), str(_HERE.parents[1] / "common/predict/command")]
import against  # noqa: E402
import rows  # noqa: E402
import tables  # noqa: E402

_VERSION = re.compile(r"NCCL version[: ]+(\d[\d.]+)|nccl-library=(\d+)")


def _dotted(code):
    """22809, NCCL's number of a version, as people write it: "2.28.9"; before 2.9 it had fewer digits."""
    major = 10000 if code >= 10000 else 1000
    return f"{code // major}.{code % major // 100}.{code % 100}"


def _facts(measured, text):
    hosts = list(dict.fromkeys(filter(None, measured.hosts)))
    version = None if measured.inspector else _VERSION.search(text)
    facts = {"host": ", ".join(sorted(hosts) if measured.inspector else hosts), "device": rows.counted(measured.devices),
             "nccl": (version[1] or _dotted(int(version[2]))) if version else ""}
    return {k: v for k, v in facts.items() if v}


def read(path):
    """The launch in a file, None where it is neither. Raises OSError."""
    text = tables.read_file(path, against.MOST).decode(errors="replace")
    measured = against.Measured(text, Path(path).stem)
    if measured.wrong:
        raise rows.RowsError(f"{path}: {measured.wrong}")
    kept, notes = [], []
    for number, row in enumerate(measured.rows):
        try:
            row = rows.row_of({"schema": "1", "backend": "nccl", "mode": "stream", "root": "-1", "redop": "none", "dtype": "", **row})
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
    return rows.Launch(str(path), _facts(measured, text), kept, notes)


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
