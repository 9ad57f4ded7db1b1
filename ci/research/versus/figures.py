#!/usr/bin/env python3
"""figures.py: the arithmetic of the comparisons: from OUTDIR/raw to tables and verdicts."""
import csv
import math
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tables import run, save, table, write_csv  # noqa: E402

SMALL = 64 << 10  # "8 B to 64 KiB"
LIKE = 128 << 10  # where --like-nccl-tests reproduces its figures
LARGE = 64 << 20  # "64 MiB and above"
MIB = 1 << 20


# ---- reading ----

def launches(out):
    """name -> wall seconds, of the launches that succeeded."""
    with open(out / "launches.csv", newline="") as file:
        return {r["name"]: float(r["seconds"]) for r in csv.DictReader(file)
                if r["exit_code"] == "0"}


def nccl_table(path):
    """(size, placement) -> us, from a table of nccl-tests; rows of no bytes are left out."""
    times = {}
    for line in path.read_text(errors="replace").splitlines():
        cells = line.split()
        if len(cells) < 13 or not cells[0].isdigit() or int(cells[0]) == 0:
            continue
        times[int(cells[0]), "out-of-place"] = float(cells[5])
        times[int(cells[0]), "in-place"] = float(cells[9])
    return times


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def hangar_times(path):
    return {(int(r["size_bytes"]), r["placement"]): float(r["time_us"]) for r in rows(path)}


def by_size(keys):
    """(size, placement) in the order of the tables."""
    return sorted(keys, key=lambda k: (k[0], k[1] == "in-place"))


def gather(out, pattern, read):
    """groups of the pattern -> what was read, of the successful launches whose name matches."""
    found = {}
    for name in launches(out):
        match = re.fullmatch(pattern, name)
        if match:
            found[match.groups()] = read(name)
    return found


# ---- writing ----

def human(size):
    for unit in "B", "KiB", "MiB", "GiB":
        if size < 1024 or unit == "GiB":
            return f"{size:g} {unit}"
        size /= 1024


def number(value):
    return "" if value is None else f"{value:.6g}"


def conclude(out, text, verdicts):
    """Print the summary and keep it; the exit code."""
    save(out / "summary.txt", text + "\n")
    print(text)
    return 1 if not verdicts or any(v == "fail" for v in verdicts) else 0


# ---- statistics ----

def interval(a, b, statistic):
    """95 % bootstrap interval of statistic(launches a, launches b): percentiles, fixed seed."""
    if min(len(a), len(b)) < 3:
        return -math.inf, math.inf
    dice = random.Random(1)
    values = sorted(statistic(dice.choices(a, k=len(a)), dice.choices(b, k=len(b)))
                    for _ in range(2000))
    return values[49], values[1950]


def judge(value, bounds, low, high):
    """Is the value within low..high, and what does its interval say?"""
    if low <= value <= high:
        return "pass" if low <= bounds[0] and bounds[1] <= high else "likely"
    return "unclear" if bounds[0] <= high and bounds[1] >= low else "fail"


VERDICTS = ("pass: in the target with its whole interval; likely: without; unclear: not in the\n"
            "target, but part of its interval is; fail: no part is")


def tally(verdicts):
    return ", ".join(f"{verdicts.count(v)} {v}" for v in ("pass", "likely", "unclear", "fail"))


def spread(values):
    """Percent of the median between the quartiles' order statistics."""
    ordered = sorted(values)
    n = len(ordered)
    return 100 * (ordered[(3 * n - 1) // 4] - ordered[n // 4]) / median(ordered)


# ---- nccl_tests ----

def libraries(out):
    """Which NCCL each side ran on."""
    lines, codes = [], set()
    for tool in "nccl-tests", "hangar":
        for path in sorted((out / "raw").glob(f"*-{tool}.txt"))[:1]:
            text = path.read_text(errors="replace")
            found = re.search(r"^# .*(nccl-library=(\d+)|NCCL (\d+)\.(\d+)\.(\d+)).*$", text, re.M)
            lines.append(f"{tool}: {found[0][2:] if found else 'does not say its library'}")
            if found:
                codes.add(int(found[2]) if found[2] else
                          int(found[3]) * 10000 + int(found[4]) * 100 + int(found[5]))
    if len(codes) > 1:
        lines.append("WARNING: the two ran on different versions of NCCL")
    return "\n".join(lines)


def versus_range(collective, name, points, low, high):
    """One line of the summary: (collective, ..., verdict). `low`: None when faster is as good."""
    if not points:
        return [collective, name, 0, "", "", "", "", "none"]
    def off(p):
        return abs(p["ratio"] - 100) if low else p["ratio"]
    worst = max(points, key=off)
    ratios = [p["ratio"] for p in points]
    noise = median(100 * (max(p["theirs"]) / min(p["theirs"]) - 1) for p in points)
    # their table rounds to 0.01 us
    slower = any(p["ratio"] > high + 0.5 / median(p["theirs"]) for p in points)
    verdict = "fail" if slower else "pass" if not low or min(ratios) >= low else "faster"
    return [collective, name, len(points), f"{worst['ratio']:.2f}",
            f"{human(worst['size'])} {worst['placement']}", f"{median(ratios):.2f}", f"{noise:.2f}",
            verdict]


def versus_points(theirs, ours):
    """Points that both sides have, per collective."""
    points = {}
    for collective in dict.fromkeys(c for c, _ in theirs):
        sides = [[t for (c, _), t in sorted(side.items()) if c == collective]
                 for side in (theirs, ours)]
        keys = by_size(set().union(*sides[0]) & set().union(*sides[1]))
        points[collective] = []
        for key in keys:
            times = [[t[key] for t in side if key in t] for side in sides]
            points[collective].append({
                "size": key[0], "placement": key[1], "theirs": times[0], "ours": times[1],
                "ratio": 100 * median(times[1]) / median(times[0])})
    return points


def versus(out, like="0"):
    theirs = gather(out, r"(\w+)-(\d+)-nccl-tests", lambda n: nccl_table(out / "raw" / f"{n}.txt"))
    ours = gather(out, r"(\w+)-(\d+)-hangar", lambda n: hangar_times(out / "raw" / f"{n}.csv"))
    points = versus_points(theirs, ours)
    rounds = max((int(r) for _, r in theirs), default=0)
    lines, summary = [], []
    for collective, found in points.items():
        for p in found:
            times = [(side + [None] * rounds)[:rounds] for side in (p["theirs"], p["ours"])]
            lines.append([collective, p["size"], p["placement"], number(median(p["theirs"])),
                          number(median(p["ours"])), f"{p['ratio']:.3f}",
                          *map(number, times[0] + times[1])])
        least = LARGE if like == "0" else LIKE
        summary.append(versus_range(collective, f">= {human(least)}",
                                    [p for p in found if p["size"] >= least], 99, 101))
        if like == "0":
            summary.append(versus_range(collective, "8 B..64 KiB",
                                        [p for p in found if p["size"] <= SMALL], None, 100))
    each = [f"{side}_us_{r}" for side in ("nccl_tests", "hangar") for r in range(1, rounds + 1)]
    write_csv(out / "versus.csv", ["collective", "size_bytes", "placement", "nccl_tests_us",
                                   "hangar_us", "ratio_percent", *each], lines)
    head = ["collective", "sizes", "points", "worst_%", "worst at", "median_%", "noise_%",
            "verdict"]
    text = "\n".join([
        f"hangar's time in percent of nccl-tests', medians of {rounds} rounds; targets at every",
        "point: 99..101 % from 64 MiB (LIKE=1: 128 KiB), at most 100 % up to 64 KiB. noise: nccl-tests' slowest",
        "round over its fastest. faster: differs by more than 1 %, but only by being faster",
        libraries(out), "", table(head, summary)])
    return conclude(out, text, [line[-1] for line in summary])


# ---- wall_time ----

def stamp(*command):
    """Run it, with the second before each line of its output."""
    begin = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            print(f"{time.monotonic() - begin:.4f} {line}", end="")
    return process.returncode


def sweep_seconds(path):
    """From the first row, behind which connections are made, to the closing line."""
    stamps = [line.partition(" ") for line in path.read_text().splitlines()]
    return max(float(at) for at, _, text in stamps if text.startswith("# Avg bus bandwidth")) - \
        min(float(at) for at, _, text in stamps if re.match(r"\s*\d+\s+\d+", text))


def wall(out):
    took = gather(out, r"sweep-(\d+)-(nccl-tests|hangar)",
                  lambda n: sweep_seconds(out / "raw" / f"{n}.txt"))
    seconds = {tool: [s for (_, t), s in sorted(took.items()) if t == tool]
               for tool in ("nccl-tests", "hangar")}
    if not all(seconds.values()):
        return conclude(out, "no successful launches", ["fail"])
    points = [r for path in sorted((out / "raw").glob("sweep-*-hangar.csv")) for r in rows(path)]
    wide = [r for r in points if not float(r["ci_percent"]) <= 1]
    share = median(seconds["hangar"]) / median(seconds["nccl-tests"])
    verdict = "pass" if share <= 1 else "fail"
    text = "\n".join([
        "all_reduce sweep from its first row on, seconds", "",
        *(f"{tool:10} {median(s):.2f}  of " + " ".join(f"{x:.2f}" for x in s)
          for tool, s in seconds.items()), "",
        f"hangar takes {100 * share:.1f} % of nccl-tests' time; target 100 %: {verdict}",
        f"of hangar's {len(points)} points {len(wide)} ended with an interval wider than 1 %",
        *(f"{human(int(r['size_bytes']))} {r['placement']}: {r['ci_percent']} %" for r in wide)])
    return conclude(out, text, [verdict])


# ---- bare_mpi ----

def batches(path):
    print(*(":".join(r[c] for c in ("size_bytes", "calls", "samples", "warmup_calls"))
            for r in rows(path) if r["placement"] == "out-of-place"))
    return 0


def ratio_of_medians(a, b):
    return 100 * median(a) / median(b)


def bare(out):
    ours = gather(out, r"(\w+)-(\d+)-hangar", lambda n: hangar_times(out / "raw" / f"{n}.csv"))
    loop = gather(out, r"(\w+)-(\d+)-bare",
                  lambda n: {int(r["size_bytes"]): float(r["time_us"])
                             for r in rows(out / "raw" / f"{n}.txt")})
    both = [key for key in sorted(ours, key=lambda k: int(k[1])) if key in loop]
    lines = []
    for collective in dict.fromkeys(c for c, _ in both):
        mine = [key for key in both if key[0] == collective]
        for size in sorted(loop[mine[0]]):
            a = [ours[key][size, "out-of-place"] for key in mine]
            b = [loop[key][size] for key in mine]
            ratio, bounds = ratio_of_medians(a, b), interval(a, b, ratio_of_medians)
            pairs, best = median(100 * x / y for x, y in zip(a, b)), 100 * min(a) / min(b)
            lines.append([collective, size, len(mine), number(median(b)), number(median(a)),
                          f"{ratio:.2f}", f"{bounds[0]:.2f}", f"{bounds[1]:.2f}", f"{pairs:.2f}",
                          f"{best:.2f}", f"{spread(b):.1f}", f"{spread(a):.1f}",
                          judge(ratio, bounds, 97, 103)])
    head = ["collective", "size_bytes", "launches", "bare_us", "hangar_us", "ratio_percent", "low",
            "high", "pairs_percent", "best_percent", "bare_spread_percent", "hangar_spread_percent",
            "verdict"]
    write_csv(out / "bare_mpi.csv", head, lines)
    text = "\n".join([
        "hangar's time in percent of a bare loop's, medians over launches; target 97..103 %. low,",
        "high: 95 % bootstrap interval over launches; pairs: median of the ratios of neighbouring",
        "launches; best: ratio of the fastest; spread: between the quartiles over launches",
        VERDICTS,
        "", table(head, lines), "", tally([line[-1] for line in lines])])
    return conclude(out, text, [line[-1] for line in lines])


# ---- recorder ----

def difference(a, b):
    return median(a) - median(b)


def loss(a, b):
    """Percent of busbw lost when a call takes a instead of b."""
    return 100 * (1 - median(b) / median(a))


def recorder(out):
    times = gather(out, r"(off|calls)-(\d+)-(small|large)",
                   lambda n: hangar_times(out / "raw" / f"{n}.csv"))
    hooks = float(re.search(r"median=([0-9.]+)", (out / "raw" / "hooks.txt").read_text())[1])
    lines = []
    for key in by_size(set().union(*times.values())):
        on, off = ([t[key] for (record, _, _), t in times.items() if record == side and key in t]
                   for side in ("calls", "off"))
        if not on or not off:
            continue
        small = key[0] < MIB
        statistic, target = (difference, 0.2) if small else (loss, 0.1)
        value, bounds = statistic(on, off), interval(on, off, statistic)
        lines.append([*key, min(len(on), len(off)), number(median(off)), number(median(on)),
                      f"{value:.3f}", "us" if small else "%",
                      f"{bounds[0]:.3f}", f"{bounds[1]:.3f}", f"{hooks / median(off) / 10:.4f}",
                      judge(value, bounds, -math.inf, target)])
    head = ["size_bytes", "placement", "launches", "off_us", "calls_us", "cost", "unit", "low",
            "high", "hooks_percent", "verdict"]
    write_csv(out / "recorder.csv", head, lines)
    text = "\n".join([
        "what --record calls costs against --record off, medians over launches: us a call at 8 B",
        "(target below 0.2), percent of busbw from 1 MiB (target below 0.1). low, high: 95 %",
        "bootstrap interval over launches", VERDICTS,
        f"hooks alone, in a tight loop: {hooks:.1f} ns a call; hooks_percent: share of a call",
        "", table(head, lines), "", tally([line[-1] for line in lines])])
    return conclude(out, text, [line[-1] for line in lines])


def main(command, path, *rest):
    if command == "stamp":
        return stamp(path, *rest)
    return {"versus": versus, "wall": wall, "batches": batches, "bare": bare,
            "recorder": recorder}[command](Path(path), *rest)


if __name__ == "__main__":
    sys.exit(run("figures", lambda: main(*sys.argv[1:])))
