"""page_data.py: what a folder of runs has to say, for a page: read leniently, damage becomes a note.

A folder is a night, a launch (--out), the evidence of a run that went wrong, or holds some of these
at any depth. Nothing here raises for what is in a file; what cannot be read is said in `notes`."""
import json
import math
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import rows
import tables
from place import hosts_of

TEXT_MOST = 100_000  # bytes of a text file that are shown
LAUNCHES_MOST = 2000
METERS_MOST = 8
POINT = ("collective", "backend", "nranks", "nnodes", "size_bytes", "dtype", "redop", "root", "placement", "mode")
SHOWN = ("time_us", "busbw_gbs", "p5_us", "p95_us", "ci_percent", "predicted_us", "predicted_busbw_gbs",
         "ceiling_busbw_gbs", "of_predicted_percent", "of_ceiling_percent", "wrong")


class NothingError(Exception):
    """The folder has nothing to show; the text says why."""


@dataclass
class Run:
    """One launch: a folder with rows.csv or rows.jsonl."""
    path: Path
    header: dict = field(default_factory=dict)
    facts: dict = field(default_factory=dict)  # of the header, as rows.facts_of has them
    comments: list = field(default_factory=list)
    end: dict = None   # None: it did not end by itself, or nothing says so
    rows: list = field(default_factory=list)  # dicts of text, as in rows.csv
    fault: bool = False  # its times are no measurement


@dataclass
class Evidence:
    """The evidence of one run that went wrong."""
    path: Path
    verdict: dict
    postmortem: str = ""
    command: str = ""  # of command.txt, faults and all
    timeline: Path = None  # timeline.csv


@dataclass
class Data:
    path: Path
    night: dict = field(default_factory=dict)  # night.json; {} where there is none
    runs: list = field(default_factory=list)
    evidence: list = field(default_factory=list)
    meters: list = field(default_factory=list)  # folders with meter.csv or trace.json of hangar_run
    texts: dict = field(default_factory=dict)  # name -> text of machine.txt, command.txt
    health: dict = field(default_factory=dict)  # (host, part, name) -> {"before": value, "after": value}
    trend: Path = None
    files: list = field(default_factory=list)  # all of them, relative to path
    notes: list = field(default_factory=list)


def text_of(path, notes, most=TEXT_MOST):
    try:
        data = tables.read_file(path, most)
    except OSError as error:
        notes.append(f"{path}: {error.strerror}")
        return ""
    if len(data) > most:
        notes.append(f"{path}: only its first {most} bytes are shown")
    return data[:most].decode(errors="replace").replace("\0", "")


def object_of(path, notes):
    """A file's JSON object, {} with a note where it is none."""
    try:
        value = json.loads(text_of(path, notes, 64 << 20) or "{}")
    except (ValueError, RecursionError) as error:
        notes.append(f"{path}: damaged: {error}")
        return {}
    if not isinstance(value, dict):
        notes.append(f"{path}: no JSON object")
        return {}
    return value


def read_health(data):
    """The readings of health-before.json and health-after.json of a night, by host, part and name."""
    for when in ("before", "after"):
        path = data.path / f"health-{when}.json"
        try:
            for host in hosts_of(json.loads(text_of(path, data.notes, 64 << 20))) if path.exists() else []:
                for part, kinds in host["reading"]["parts"].items():
                    for name, value in (kinds.get("states") or {}).items() | (kinds.get("counters") or {}).items():
                        data.health.setdefault((host["host"], part, name), {})[when] = value
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            data.notes.append(f"{path}: damaged: {error!r}")


def read_rows(path, notes):
    """The rows of a CSV file that have as many cells as its first line."""
    try:
        lines = tables.cells_of(text_of(path, notes, 64 << 20)) or [[]]
    except ValueError as error:
        notes.append(f"{path}: {error}")
        return []
    whole = [dict(zip(lines[0], cells)) for cells in lines[1:] if len(cells) == len(lines[0])]
    if len(whole) < len(lines) - 1:
        notes.append(f"{path}: {len(lines) - 1 - len(whole)} torn lines left out")
    missing = [c for c in (*POINT, "time_us", "busbw_gbs") if c not in lines[0]]
    if missing:
        notes.append(f"{path}: no column {', '.join(missing)}: its rows are not shown")
        return []
    return whole


def read_run(path, notes, is_fault):
    run = Run(path, fault=is_fault)
    if (path / "rows.csv").exists():
        run.rows = read_rows(path / "rows.csv", notes)
    lines = text_of(path / "rows.jsonl", notes, 64 << 20).splitlines() if (path / "rows.jsonl").exists() else []
    for i, line in enumerate(lines, 1):
        try:
            value = {} if line.startswith('{"type":"row"') else json.loads(line)
        except (ValueError, RecursionError):
            notes.append(f"{path}/rows.jsonl:{i}: torn")
            continue
        kind = value.get("type") if isinstance(value, dict) else None
        if kind == "header":
            run.header = value
            try:
                run.facts = rows.facts_of(value)
            except (AttributeError, TypeError, ValueError) as error:
                notes.append(f"{path}/rows.jsonl:{i}: damaged: {error}")
        elif kind == "comment":
            run.comments.append(str(value.get("text")))
        elif kind == "end":
            run.end = value
    return run


def read_evidence(path, notes):
    found = Evidence(path, object_of(path / "verdict.json", notes))
    if (path / "postmortem.md").exists():
        found.postmortem = text_of(path / "postmortem.md", notes)
    if (path / "command.txt").exists():
        found.command = text_of(path / "command.txt", notes).strip()
    if (path / "timeline.csv").exists():
        found.timeline = path / "timeline.csv"
    return found


def elsewhere(data):
    """Folders of evidence that a night's launches name and that are not below it."""
    for run in listed(data.night, "runs"):
        for launch in listed(run, "launches"):
            verdict = launch.get("verdict")
            name = verdict.get("evidence") if isinstance(verdict, dict) else None
            for base in (data.path, data.path / str(launch.get("dir", "")), Path()) if name else ():
                place = base / str(name)
                if there(place / "verdict.json"):
                    yield place
                    break


def there(path):
    """It exists; a name that cannot be one does not."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def texts(of, name):
    """The texts of a list in a dict that a file brought."""
    value = of.get(name)
    return [str(one) for one in value] if isinstance(value, list) else []


def listed(of, name):
    """The dicts of a list in a dict that a file brought."""
    value = of.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def gather(path):
    """All of a folder. Raises NothingError where there is nothing to show."""
    path = Path(path)
    data = Data(path)
    if (path / "night.json").exists():
        data.night = object_of(path / "night.json", data.notes)
    faults = {str(run.get("name")) for run in listed(data.night, "runs") if run.get("kind") == "fault"}
    for place, folders, files in os.walk(path):
        here = Path(place)
        folders[:] = sorted(f for f in folders if (here, f) != (path, "plots"))
        inside = here.relative_to(path).parts
        data.files += [str(Path(*inside, f)) for f in sorted(files)]
        if {"rows.csv", "rows.jsonl"} & set(files) and len(data.runs) < LAUNCHES_MOST:
            data.runs.append(read_run(here, data.notes, inside[:1] == ("runs",) and inside[1:2] and inside[1] in faults))
        if {"meter.csv", "trace.json"} & set(files) and len(data.meters) < METERS_MOST:
            data.meters.append(here)
        if "verdict.json" in files:
            data.evidence.append(read_evidence(here, data.notes))
        for name in {"machine.txt", "command.txt"} & set(files) if here == path else ():
            data.texts[name] = text_of(here / name, data.notes)
    known = {e.path.resolve() for e in data.evidence}
    for place in dict.fromkeys(elsewhere(data)):
        if place.resolve() not in known:
            data.evidence.append(read_evidence(place, data.notes))
    if not (data.night or data.evidence or data.meters or any(run.rows or run.header for run in data.runs)) and (data.notes or not data.runs):
        raise NothingError(data.notes[0] if data.notes else f"{path}: no night.json, rows.csv, meter.csv, trace.json or verdict.json in it or below")
    read_health(data)
    data.trend = path / "trend.csv" if (path / "trend.csv").exists() else None
    return data


# ---- points: what all launches measured, one row each ----

def points_of(runs):
    """A dict per point: POINT as text, SHOWN as medians over the launches, `launches`, `spread` (percent, of
    the launches' times, or of one launch's samples p5 to p95), and what NCCL used."""
    groups = {}
    for run in runs:
        for row in () if run.fault else run.rows:
            groups.setdefault(tuple(row[c] for c in POINT), []).append((run, row))
    return [point_of(key, group) for key, group in groups.items()]


def point_of(key, group):
    point = dict(zip(POINT, key))
    for name in SHOWN:
        values = [v for _, row in group if not math.isnan(v := rows.number(row.get(name)))]
        point[name] = median(values) if values else math.nan
    point["wrong"] = max((rows.number(row.get("wrong")) for _, row in group), default=math.nan)
    point["launches"] = len({id(run) for run, _ in group})
    times = [v for _, row in group if not math.isnan(v := rows.number(row.get("time_us")))]
    low, high = (min(times), max(times)) if len(times) > 1 else (point["p5_us"], point["p95_us"])
    point["spread"] = 100 * (high - low) / point["time_us"] if point["time_us"] else math.nan
    used = Counter(" ".join(row[c] for c in ("used_algo", "used_proto", "used_channels")
                            if row.get(c) not in (None, "", "-1")) for _, row in group)
    point["used"] = used.most_common(1)[0][0]
    return point


def detections(data):
    """(run, outcome, ms) of each verdict that says when it came; evidence that a night names is not told twice."""
    found = []
    for run in listed(data.night, "runs"):
        for launch in listed(run, "launches"):
            verdict = launch.get("verdict") or {}
            found.append((str(run.get("name")), verdict.get("outcome"), rows.number(verdict.get("detect_ms"))))
    if not data.night:
        found = [(e.path.name, e.verdict.get("outcome"), rows.number(e.verdict.get("detect_ms"))) for e in data.evidence]
    return [(name, str(outcome), ms) for name, outcome, ms in found if ms > 0]
