"""rows.py: what runs leave behind, read: launches, their rows, what they ran on, baseline files.

A launch is one folder of `--out`: rows.csv, and beside it rows.jsonl, whose first line says on what
it ran. A side (BASE, NEW) is a folder of launches at any depth, a night among them, a baseline
file, or a table of nccl-tests or lines of NCCL Inspector, in a file or several in a folder. A side that cannot be read raises RowsError, whose text is for people; one that can be read in
part leaves a note with its launch.
"""
import json
import lzma
import math
import os
import re
from collections import defaultdict, namedtuple
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import tables

SCHEMA = 1  # ROW_SCHEMA of common/harness/report/row.h
BASELINE_SCHEMA = 1
HEADER_MOST = 64 << 20  # bytes of rows.jsonl's first line

# A thing that is compared. `variant` has all else that must be equal: ranks, type, operator, root.
Point = namedtuple("Point", "collective bytes mode placement variant")
# `name` differs between the sides; `base` and `new` are what it was there, as text.
Difference = namedtuple("Difference", "name base new")

REQUIRED = ("schema", "collective", "backend", "nranks", "nnodes", "size_bytes", "dtype", "redop", "root",
            "placement", "mode", "time_us", "busbw_gbs")
NUMBERS = ("time_us", "busbw_gbs", "ci_percent", "predicted_us", "ceiling_busbw_gbs", "of_predicted_percent",
           "of_ceiling_percent", "rank_spread_percent")
KEPT = REQUIRED + NUMBERS[2:] + ("used_algo", "used_proto", "used_channels", "timestamp")

# Variables that Open MPI sets for its own use, and options that say where and how long, not what.
_OMPI = re.compile(r"OMPI_MCA_(btl|pml|mtl|coll|osc|topo)(_(?!vader_backing_directory)|$)")
_SETTING = re.compile(r"(NCCL|UCX|FI|HANGAR)_|CUDA_(?!HOME$)|OMP_NUM_THREADS$|LD_PRELOAD$")
_OPTIONS_LEFT_OUT = {
    "csv", "json", "nccl_json", "out", "min_bytes", "max_bytes", "sizes", "step_bytes", "step_factor", "budget", "seed",
    "dtype_first", "dtype_last", "op_first", "op_last", "root", "mode", "min_bw", "expect", "table_plain", "cycles",
    "backend", "per_iter", "per_iter_skip", "timeout", "memory_report", "timestamps", "matrix_summary",
    "table", "metrics", "trace", "baseline", "topo", "vendor", "good", "low", "reconcile", "schedule", "list_faults",
    "min_busbw", "min_percent", "device_impl", "device_ctas"}


class RowsError(Exception):
    """Sides that cannot be compared; the text says why."""


@dataclass
class Launch:
    path: str
    facts: dict = field(default_factory=dict)  # name -> text; see facts_of
    rows: list = field(default_factory=list)   # dicts of KEPT; numbers as float, NaN where not known
    notes: list = field(default_factory=list)  # what was left out, for people


# ---- one launch ----

def human(size):
    """1048576: "1 MiB"."""
    unit = min(int(math.log2(size)) // 10, 4) if size else 0
    return f"{size / 1024 ** unit:g} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[unit]}"


def number(text):
    """A cell as a float, NaN where it holds no finite one."""
    try:
        return float(text) if math.isfinite(float(text)) else math.nan
    except (TypeError, ValueError, OverflowError):
        return math.nan


def point_of(row):
    rooted = f", root {row['root']}" if str(row["root"]) not in ("-1", "") else ""
    nodes = f" on {row['nnodes']} nodes" if str(row["nnodes"]) not in ("1", "") else ""
    operator = f" {row['redop']}" if row["redop"] not in ("none", "") else ""
    variant = f"{row['nranks']} ranks{nodes}, {row['backend']}, {row['dtype']}{operator}{rooted}"
    return Point(row["collective"], row["size_bytes"], row["mode"], row["placement"], variant)


def _header(path, header):
    missing = [c for c in REQUIRED if c not in header]
    if missing and "size_bytes" not in header:
        raise RowsError(f"{path}: this is no rows.csv of a *_perf program (no column {missing[0]})")
    if missing:
        raise RowsError(f"{path}: without column {', '.join(missing)}")


def row_of(cells):
    """A row of KEPT from cells by column, as text or as JSON has them. Raises ValueError."""
    row = {c: "" if cells.get(c) is None else str(cells[c]) for c in KEPT}
    row.update((c, number(row[c])) for c in NUMBERS)
    if row["schema"] != str(SCHEMA):
        raise ValueError(f"rows of schema {row['schema']!r}; this program reads schema {SCHEMA}: measure again, or "
                         "compare with the tree that wrote them")
    if not re.fullmatch("[0-9]{1,18}", row["size_bytes"]):
        raise ValueError(f"size_bytes is {row['size_bytes']!r}")
    row["size_bytes"] = int(row["size_bytes"])
    return row


def read_csv(path):
    """(rows, notes) of a rows.csv. A torn last line is left out with a note."""
    path = Path(path)
    try:
        text = tables.read_file(path).decode(errors="replace")
        lines = tables.cells_of(text)
    except OSError as error:
        raise RowsError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise RowsError(f"{path}: {error}") from error
    if not lines:
        raise RowsError(f"{path}: empty")
    header, notes, rows = lines[0], [], []
    _header(path, header)
    for i, cells in enumerate(lines[1:], 2):
        last = i == len(lines)
        if len(cells) != len(header) or (last and not text.endswith("\n")):
            if not last:
                raise RowsError(f"{path}:{i}: {len(cells)} cells where the first line has {len(header)}")
            notes.append(f"{path}:{i}: the last line is torn and was left out: that launch did not end by itself")
            continue
        try:
            row = row_of(dict(zip(header, cells)))
        except ValueError as error:
            raise RowsError(f"{path}:{i}: {error}") from error
        if row["time_us"] > 0:
            rows.append(row)
        else:
            notes.append(f"{path}:{i}: no time; left out")
    return rows, notes


def _settings(header):
    for name, value in (header.get("env") or {}).items():
        if _SETTING.match(name) or _OMPI.match(name):
            yield name, str(value)
    for name, value in (header.get("options") or {}).items():
        if name not in _OPTIONS_LEFT_OUT:
            yield f"option {name}", json.dumps(value)


def counted(values):
    """"4 x NVIDIA H200", or several of them."""
    values = [v for v in values if v]
    return ", ".join(f"{values.count(v)} x {v}" for v in dict.fromkeys(values))


def facts_of(header):
    """name -> text of what a launch ran on, from the first line of rows.jsonl: host, device, nccl, mpi,
    cuda, hangar, started, library, settings by their names, options as "option NAME"."""
    ranks = header.get("ranks") or []
    libraries = sorted({str(r.get("library")) for r in ranks if r.get("library")})
    nccl = [text.split()[1] for text in libraries if text.startswith("NCCL ")]
    facts = {
        "host": ", ".join(map(str, header.get("hosts") or [])),
        "device": counted([str(r.get("device") or "") for r in ranks]),
        "nccl": ", ".join(n.rstrip(",") for n in nccl),
        "cuda": ", ".join(sorted({str(r.get("runtime")) for r in ranks if r.get("runtime")})),
        "communicator": ", ".join(sorted({str(r.get("config")) for r in ranks if r.get("config")})),
        "mpi": str(header.get("mpi_library") or ""),
        "hangar": str(header.get("hangar_version") or ""),
        "started": str(header.get("started") or ""),
    }
    facts.update(_settings(header))
    return {name: text for name, text in facts.items() if text}


def _note_end(path, notes):
    """Notes a launch that did not end well: its times may be those of a sick run."""
    with open(path, "rb") as file:
        file.seek(max(0, os.stat(path).st_size - 4096))
        last = file.read(4096).decode(errors="replace").splitlines()[-1]
    try:
        outcome = json.loads(last).get("outcome", "no end")
    except (ValueError, AttributeError, RecursionError):
        outcome = "a torn line"
    if outcome != "ok":
        notes.append(f"{path}: the launch ended with {outcome}; its rows up to there are used")


def _read_facts(folder, notes):
    """Facts of the launch in `folder`; none where rows.jsonl is missing or torn."""
    path = Path(folder) / "rows.jsonl"
    try:
        first = tables.read_file(path, HEADER_MOST).split(b"\n", 1)[0]
        header = json.loads(first.decode(errors="replace") or "null")
        if isinstance(header, dict) and header.get("type") == "header":
            _note_end(path, notes)
            return facts_of(header)
        notes.append(f"{path}: its first line is no header: what it ran on is not known")
    except FileNotFoundError:
        notes.append(f"{path}: not there: what it ran on is not known")
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        notes.append(f"{path}: unreadable: what it ran on is not known")
    return {}


def read_launch(folder):
    """The launch in `folder`, which holds rows.csv. Raises RowsError."""
    rows, notes = read_csv(Path(folder) / "rows.csv")
    return Launch(str(folder), _read_facts(folder, notes), rows, notes)


# ---- a side ----

def _natural(path):
    return [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", str(path))]


def _fault_runs(root):
    """Names of a night's runs that inject faults: their times are no measurement."""
    try:
        night = json.loads(tables.read_file(root / "night.json"))
        return {run["name"] for run in night["runs"] if run.get("kind") == "fault"}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return set()


def find_launches(folder):
    """Folders with a rows.csv, `folder` itself or below, in their order; a night's fault runs are not
    among them."""
    root = Path(folder)
    left_out = {root / "runs" / name for name in _fault_runs(root)}
    found = []
    for place, folders, files in os.walk(root):
        folders[:] = [f for f in folders if Path(place, f) not in left_out]
        if "rows.csv" in files:
            found.append(Path(place))
    return sorted(found, key=_natural)


def _foreign(path):
    """The launch in a table of nccl-tests, or in the lines of NCCL Inspector; None: it is neither."""
    try:
        return foreign.read(path)
    except (OSError, ValueError) as error:
        raise RowsError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def read_side(path):
    """Launches of a folder or a baseline file, in the order in which they began. A launch that cannot be
    read is an error: what is left out silently is not compared. Raises RowsError."""
    path = Path(path)
    if path.is_file():
        if path.suffix == ".csv":
            return [Launch(str(path), {}, *read_csv(path))]
        launch = _foreign(path)
        return [launch] if launch else read_baseline(path)
    if not path.is_dir():
        raise RowsError(f"{path}: no such folder or baseline file")
    folders = find_launches(path)
    if not folders:
        others = [launch for launch in map(_foreign, sorted((f for f in path.iterdir() if f.is_file()), key=_natural)) if launch]
        if others:
            return others
        raise RowsError(f"{path}: no rows.csv in it or below: a launch is a folder that --out of a *_perf program made")
    launches = [read_launch(folder) for folder in folders]
    if not any(launch.rows for launch in launches):
        raise RowsError(f"{path}: {len(launches)} launches without a single row")
    return sorted(launches, key=lambda launch: launch.facts.get("started", ""))


def columns(launches, column="time_us"):
    """Point -> one value per launch that measured it, in the order of the launches: the median over the
    launch's rows of that point (-N makes several). NaN is left out."""
    found = defaultdict(list)
    for launch in launches:
        here = defaultdict(list)
        for row in launch.rows:
            value = row[column]
            if not isinstance(value, float) or not math.isnan(value):
                here[point_of(row)].append(value)
        for point, values in here.items():
            found[point].append(median(values) if isinstance(values[0], float) else values[-1])
    return dict(found)


# ---- what differs between sides ----

def fact_text(launches, name):
    """The values of a fact in the launches: one text, or each with its count. "" where none says anything."""
    values = [launch.facts.get(name, "") for launch in launches]
    if len(set(values)) == 1:
        return values[0]
    return ", ".join(f"{v or 'not set'} ({values.count(v)} launches)" for v in sorted(set(values)))


_ORDER = ("NCCL_", "nccl", "cuda", "device", "host", "communicator", "mpi", "hangar", "CUDA_", "UCX_", "FI_")

_MACHINE = ("nccl", "cuda", "device", "host", "mpi", "hangar")  # of one kind within a side


def _rank(name):
    if name.startswith("NCCL_DEBUG"):  # seldom costs anything
        return len(_ORDER)
    return next((i for i, start in enumerate(_ORDER) if name.startswith(start)), len(_ORDER))


def differences(base, new):
    """Facts that differ between two sides, the likeliest suspects first: settings of NCCL, its version,
    machines, options; and versions and machines that differ within a side. Sides of which nothing is
    known differ in nothing."""
    known = [[launch for launch in side if launch.facts] for side in (base, new)]
    if not all(known):
        return []
    names = {n for side in known for launch in side for n in launch.facts} - {"started"}
    found = []
    for name in sorted(names, key=lambda n: (_rank(n), n)):
        values = [{launch.facts.get(name) for launch in side} for side in known]
        if values[0] != values[1] or (name in _MACHINE and len(values[0]) > 1):
            found.append(Difference(name, *(fact_text(side, name) or "not set" for side in known)))
    return found


# ---- baselines ----

def write_baseline(path, launches, **about):
    """Keeps launches as one file, whole or not at all. `about`: what else to note, as JSON (host_class,
    nccl, date)."""
    def cell(value):
        return None if isinstance(value, float) and math.isnan(value) else value
    document = {"schema": BASELINE_SCHEMA, "kind": "hangar-baseline", **about, "columns": KEPT, "launches": [
        {"path": launch.path, "facts": launch.facts,
         "rows": [[cell(row[c]) for c in KEPT] for row in launch.rows]} for launch in launches]}
    text = json.dumps(document).encode()
    tables.save(path, lzma.compress(text) if Path(path).suffix == ".xz" else text)


def read_baseline(path):
    """Launches of a baseline file. Raises RowsError."""
    path = Path(path)
    try:
        data = tables.read_file(path)
        if path.suffix == ".xz":
            unpack = lzma.LZMADecompressor()
            data = unpack.decompress(data, tables.MOST)
            if not unpack.eof:
                raise EOFError("torn, or too large unpacked")
        document = json.loads(data)
    except OSError as error:
        raise RowsError(f"{path}: {error.strerror}") from error
    except (ValueError, EOFError, RecursionError, lzma.LZMAError) as error:
        raise RowsError(f"{path}: neither a folder, a baseline file nor a table of nccl-tests (JSON: {error})") from error
    if not isinstance(document, dict) or document.get("kind") != "hangar-baseline":
        raise RowsError(f"{path}: JSON, but no baseline file; ci/nightly --accept makes them")
    if document.get("schema") != BASELINE_SCHEMA:
        raise RowsError(f"{path}: a baseline of schema {document.get('schema')!r}; this program reads schema "
                        f"{BASELINE_SCHEMA}: make it again with ci/nightly --accept")
    try:
        return [_kept_launch(kept, document["columns"]) for kept in document["launches"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RowsError(f"{path}: damaged: {error!r}") from error


def _kept_launch(kept, names):
    kept_rows = [row_of(dict(zip(names, cells, strict=True))) for cells in kept["rows"]]
    facts = {str(name): str(text) for name, text in kept["facts"].items()}
    return Launch(str(kept["path"]), facts, [row for row in kept_rows if row["time_us"] > 0])


import foreign  # noqa: E402  (it needs Launch)
