"""shares.py: each row's share of what its links could carry and of what vendors say, and thresholds."""
import csv
import re
from collections import defaultdict
from pathlib import Path
from statistics import median

import rows as launches_of
from rows import human

SPECS = Path(__file__).resolve().parents[2] / "common/predict/topo/vendor_specs.csv"
LIMITS = """Usual limits, at the best size of a collective: below 70 % of the ceiling is a configuration
problem; 80 to 90 % of the NICs' line rate is good, below 50 % is poor. Small sizes never get there:
what they take is latency, which predictions know (--min-percent)."""


# ---- vendors ----

def _words(text):
    """Product names in a text: words with a digit that are no board, no capacity."""
    return {w for w in re.findall(r"[A-Za-z0-9]+", text)
            if any(c.isdigit() for c in w) and not re.fullmatch(r"(SXM|NVLink)\d*|\d+GB|\d+way|\d", w)}


def _boards(text):
    return {board for board in ("PCIe", "NVL") if re.search(rf"\b{board}\b", text, re.I)}


def vendor_gbs(device, specs=SPECS):
    """(GB/s per GPU and direction, the vendor's item) of NVLink of a device, "NVIDIA H200"; None where no
    vendor's row is about it."""
    with open(specs, newline="") as file:
        for row in csv.DictReader(file):
            if row["category"] != "nvlink_gpu_unidir" or not _words(device) & _words(row["item"]):
                continue
            boards, gbs = _boards(row["item"]), launches_of.number(row["value"])
            if (boards & _boards(device) if _boards(device) else not boards) and gbs > 0:
                return gbs, row["item"]
    return None


def vendor_of(launches):
    """vendor_gbs of launches on one host with GPUs of one kind; None where there is no such figure: between
    hosts it is the NICs', which rows do not name."""
    devices = {launch.facts.get("device", "") for launch in launches}
    nodes = {row["nnodes"] for launch in launches for row in launch.rows}
    if len(devices) != 1 or nodes != {"1"} or "," in min(devices):
        return None
    return vendor_gbs(min(devices).partition(" x ")[2])


# ---- shares ----

def _medians(launches, column):
    return {point: median(values) for point, values in launches_of.columns(launches, column).items()}


def _percent_of(busbw, gbs):
    return {point: 100 * value / gbs for point, value in busbw.items()}


def add_shares(compared, base, new, gbs=None):
    """Fill in ceiling_percent, vendor_percent and how many points of percent they moved from BASE to NEW.
    `gbs`: the vendor's figure, None: vendors' columns stay empty."""
    kinds = {"ceiling": [_medians(side, "of_ceiling_percent") for side in (base, new)]}
    if gbs:
        kinds["vendor"] = [_percent_of(_medians(side, "busbw_gbs"), gbs) for side in (base, new)]
    for row in compared:
        point = launches_of.Point(*(row[c] for c in launches_of.Point._fields))
        for kind, (before, after) in kinds.items():
            row[f"{kind}_percent"] = after.get(point)
            if point in before and point in after:
                row[f"{kind}_moved"] = after[point] - before[point]


def _by_collective(compared, value):
    found = defaultdict(list)
    for row in compared:
        if value(row) is not None:
            found[row["collective"], row["mode"], row["variant"]].append((value(row), row["bytes"]))
    return found


def below(compared, column, least, what):
    """Sentences on each collective whose best size's share of `column` is less than `least` percent; None
    where no row has that share."""
    found = _by_collective(compared, lambda row: row[column])
    best = {name: max(values) for name, values in found.items()}
    return [f"{name[0]} {name[1]} reaches {share:.1f} % of {what} at best ({human(size)}): asked for {least:g} %"
            for name, (share, size) in best.items() if share < least] if found else None


def below_predicted(compared, new, least):
    """The same for the median row's share of its predicted time."""
    shares = _medians(new, "of_predicted_percent")
    found = _by_collective(compared, lambda row: shares.get(
        launches_of.Point(*(row[c] for c in launches_of.Point._fields))))
    middle = {name: median(v for v, _ in values) for name, values in found.items()}
    return [f"{name[0]} {name[1]} reaches {share:.1f} % of what was predicted (median row): asked for {least:g} %"
            for name, share in middle.items() if share < least] if found else None
