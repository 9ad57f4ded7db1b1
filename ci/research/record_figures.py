#!/usr/bin/env python3
"""record_figures.py: the arithmetic of ci/research/record: from OUTDIR's parts to points, tables and plots.

usage: ci/research/record_figures.py OUTDIR
"""
import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent


def load(name, path):
    """A script without .py as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


sys.dont_write_bytecode = True
figures = load("figures", HERE / "versus/figures.py")
accuracy = load("accuracy", HERE / "accuracy")
import tables  # noqa: E402
BANDS = ">=64MiB", ">=1MiB", "<1MiB"


# ---- what there is ----

def predictions(out):
    """(ranks, collective, size) -> row of topo_predict; empty without a file. Outputs may follow
    each other, each with its header."""
    path = out / "predictions.csv"
    if not path.exists():
        return {}
    return {(int(r["nranks"]), r["collective"], int(r["size_bytes"])): r
            for r in figures.rows(path) if r["nranks"].isdigit()}


def folders(out, kind):
    """(ranks, folder) of the parts of this kind that have left something."""
    return sorted((int(p.name.rsplit("-", 1)[1]), p) for p in out.glob(f"{kind}-*")
                  if (p / "launches.csv").exists())


def points(out):
    """(ranks, mode, collective, size, placement) -> {"ours": [us], "theirs": [us], "row": the
    first row}"""
    found = {}
    for kind in "sweep", "modes", "again":
        for ranks, folder in folders(out, kind):
            read = figures.gather(folder, r"(\w+)-(\w+)-hangar",
                                  lambda n: figures.rows(folder / "raw" / f"{n}.csv"))
            for rows in read.values():
                for r in rows:
                    key = ranks, r["mode"], r["collective"], int(r["size_bytes"]), r["placement"]
                    point = found.setdefault(key, {"ours": [], "theirs": [], "row": r})
                    point["ours"].append(float(r["time_us"]))
            read = figures.gather(folder, r"(\w+)-(\d+)-nccl-tests",
                                  lambda n: figures.nccl_table(folder / "raw" / f"{n}.txt"))
            for (collective, _), times in read.items():
                for (size, placement), us in times.items():
                    point = found.get((ranks, "stream", collective, size, placement))
                    if point:
                        point["theirs"].append(us)
    return found


def prediction_of(point, key, before):
    """Predicted us: of the file made before the run where there is one, else of the row; None
    without. topo_predict predicts calls back to back."""
    ranks, mode, collective, size, _ = key
    if before and mode != "stream":
        return None
    if before:
        row = before.get((ranks, collective, size))
        return float(row["time_us"]) if row else None
    text = point["row"].get("predicted_us", "")
    return float(text) if text not in ("", "nan") else None


def finished(found, before):
    """One dict per point, in order."""
    lines = []
    for key in sorted(found, key=lambda k: (k[0], k[1], k[2], k[3], k[4] == "in-place")):
        point = found[key]
        us, theirs = median(point["ours"]), point["theirs"]
        predicted = prediction_of(point, key, before)
        ranks, mode, collective, size, placement = key
        lines.append({
            "ranks": ranks, "mode": mode, "collective": collective, "size_bytes": size,
            "placement": placement, "time_us": us,
            "launches": len(point["ours"]),
            "busbw_gbs": float(point["row"]["busbw_gbs"]) * float(point["row"]["time_us"]) / us,
            "nccl_tests_us": median(theirs) if theirs else None,
            "ratio_percent": 100 * us / median(theirs) if theirs else None,
            "predicted_us": predicted,
            "error_percent": 100 * (predicted / us - 1) if predicted else None})
    return lines


# ---- accuracy ----

def accuracy_rows(lines):
    """The points that ci/research/accuracy counts and plots/accuracy.gp draws: mode stream, a colour per number of
    ranks."""
    return [dict(source="this host", sweep=p["collective"], model=f"{p['ranks']}-ranks",
                 size_bytes=p["size_bytes"], placement=p["placement"], set="held-out",
                 band=accuracy.band(p["size_bytes"]), measured=p["time_us"],
                 predicted=p["predicted_us"], unit="us", error_percent=p["error_percent"])
            for p in lines if p["predicted_us"] and p["mode"] == "stream"]


def write(path, names, lines):
    def cell(value):
        return figures.number(value) if value is None or isinstance(value, float) else value
    figures.write_csv(path, names, [[cell(p[n]) for n in names] for p in lines])


# ---- summary ----

def middle(values, digits=1):
    values = [v for v in values if v is not None]
    return f"{median(values):.{digits}f}" if values else "-"


def sweep_table(lines):
    groups = {}
    for p in lines:
        groups.setdefault((p["ranks"], p["mode"], p["collective"]), []).append(p)
    table = []
    for (ranks, mode, collective), group in groups.items():
        largest = max(p["size_bytes"] for p in group)
        top = [p for p in group if p["size_bytes"] == largest]
        large = [p for p in group if p["size_bytes"] >= figures.LARGE]
        small = [p for p in group if p["size_bytes"] <= figures.SMALL]
        table.append([
            ranks, mode, collective, len(group), figures.human(largest),
            middle([p["busbw_gbs"] for p in top], 2), middle([p["time_us"] for p in small], 2),
            middle([p["ratio_percent"] for p in large]),
            middle([p["ratio_percent"] for p in small]),
            *(middle([p["error_percent"] and abs(p["error_percent"]) for p in group
                      if accuracy.band(p["size_bytes"]) == band]) for band in BANDS)])
    head = ["ranks", "mode", "collective", "points", "largest", "busbw", "small_us", "nccl>=64M",
            "nccl<=64K", "err>=64M", "err>=1M", "err<1M"]
    return figures.table(head, table)


def error_table(rows):
    models = list(dict.fromkeys(r["model"] for r in rows))
    bands = [band for band in BANDS if any(r["band"] == band for r in rows)]
    return figures.table(["size", *models], [
        [band, *(accuracy.cell([r for r in rows if (r["model"], r["band"]) == (m, band)])
                 for m in models)] for band in bands])


def fault_lines(out):
    """Per matrix: its own last line, and when hangs and deaths were named."""
    for path in sorted(out.glob("faults-*/matrix.csv")):
        rows = figures.rows(path)
        summary = path.parent / "summary.txt"
        text = summary.read_text().splitlines() if summary.exists() else []
        yield f"{path.parent.name}: {text[-1] if text else 'ended before its summary'}"
        for name, outcome in ("hangs", "hang"), ("deaths", "died"), ("errors", "error"):
            ms = sorted(float(r["detect_ms"]) for r in rows
                        if r["outcome"] == outcome and r["detect_ms"])
            if ms:
                yield (f"  {len(ms)} {name} named after: median {median(ms):.0f} ms, "
                       f"90th percentile {accuracy.quantile(ms, .9):.0f}, slowest {ms[-1]:.0f}")


def steps(out):
    """Parts that were left out, that failed, that cannot be had here."""
    for r in figures.rows(out / "steps.csv"):
        if r["how"] != "done":
            yield f"{r['part']}: {r['how']}" + (f", {r['note']}" if r["note"] else "")
    for line in (out / "not-here.txt").read_text().splitlines():
        yield f"not here: {line}"


def summary(out, lines, rows, before):
    yield "Medians over points and launches. busbw: GB/s at the largest size; small_us: up to 64 KiB;"
    yield "nccl: time in percent of nccl-tests'; err: predicted time's absolute error in percent,"
    yield "predictions " + ("of predictions.csv" if before else "as the binaries print them")
    yield from ["", sweep_table(lines), ""]
    if rows:
        yield "Error of predicted time, percent, mode stream: median (90th percentile, points)"
        yield from [error_table(rows), ""]
        lost = sum(1 for p in lines if p["mode"] == "stream") - len(rows)
        if lost:
            yield from [f"{lost} points without a prediction", ""]
    yield from fault_lines(out)
    yield from ["", "Left out or failed:"] + [f"  {line}" for line in steps(out)]


# ---- what is drawn ----

def to_draw(out):
    """plots/COLLECTIVE-RANKS/rows.csv: a first launch in each mode, for plots/plot."""
    for kind in "sweep", "modes":
        for ranks, folder in folders(out, kind):
            for path in sorted(folder.glob("raw/*-hangar.csv")):
                collective, which, _ = path.stem.split("-")
                if which not in ("1", "isolated", "graph"):
                    continue
                into = out / "plots" / f"{collective}-{ranks}" / "rows.csv"
                first = kind == "sweep" or not into.exists()
                into.parent.mkdir(parents=True, exist_ok=True)
                text = path.read_text().splitlines(keepends=True)
                with open(into, "w" if first else "a") as file:
                    file.writelines(text if first else text[1:])


def main(path):
    out = Path(path)
    before = predictions(out)
    lines = finished(points(out), before)
    write(out / "points.csv", ["ranks", "mode", "collective", "size_bytes", "placement", "time_us",
                               "busbw_gbs", "launches", "nccl_tests_us", "ratio_percent",
                               "predicted_us", "error_percent"], lines)
    rows = accuracy_rows(lines)
    write(out / "accuracy.csv", ["source", "sweep", "model", "size_bytes", "placement", "set",
                                 "band", "measured", "predicted", "unit", "error_percent"], rows)
    text = "\n".join(summary(out, lines, rows, before)) + "\n"
    tables.save(out / "summary.txt", text)
    print(text, end="")
    to_draw(out)
    return 0


if __name__ == "__main__":
    sys.exit(tables.run("record_figures", lambda: main(sys.argv[1])))
