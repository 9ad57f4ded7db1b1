#!/usr/bin/env python3
"""score.py: plans the fault matrix, scores a run in a process of its own, sums up.

score.py join FILE OUTDIR... sums up several matrices, by fault."""
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tables import table, write_csv  # noqa: E402

HERE = Path(__file__).resolve().parent
CODES = {"ok": 0, "internal": 1, "usage": 2, "hang": 10, "error": 11, "wrong-data": 12, "died": 14,
         "diverged": 16, "not-fired": 20}
# The call at which a fault fires by default: common/measure/schedule.h, SCHEDULE_FAULT_STEP, where a step
# is one call (not so of sendrecv and hypercube). Init comes before call 1.
POINTS = {"init": 0, "first": 1, "op": 8, "op+1": 9}
COLUMNS = ["fault", "spec", "backend", "transport", "ranks", "position", "guilty", "repeat",
           "exit_code", "outcome", "class", "named", "comm", "seq_low", "seq_high", "confidence",
           "fired", "detect_ms", "observed_ms", "printed_detect_ms", "scored_equal", "right", "why",
           "seconds", "processes", "shm", "cgroups"]
SUMMARY = ["fault", "keys", "transport", "runs", "right", "wrong", "not_fired", "detect_p50_ms",
           "detect_p99_ms", "detect_max_ms", "observed_max_ms", "leftovers"]


# ---- expectations ----

def expectations():
    path = os.environ.get("EXPECTED", HERE / "expected.csv")
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def rows_for(fault, backend):
    return [r for r in expectations() if r["fault"] == fault and r["backend"] in ("any", backend)]


def expectation(trial):
    for row in rows_for(trial["fault"], trial["backend"]):
        if row["keys"] == trial["keys"]:
            return row
    return None


def point_right(rule, verdict):
    low, high = verdict["seq_low"], verdict["seq_high"]
    if rule in ("", "-"):
        return low < 0
    bounds = [POINTS[end] for end in rule.split("..")]
    return verdict["comm"] == 0 and bounds[0] <= low <= high <= bounds[-1]


def is_tie(row, guilty, ranks):
    """As many ranks called one way as the other: no majority says whose way was meant."""
    return bool(row["tie"]) and 2 * len(guilty) == ranks


def fault_of(row, guilty, ranks, verdict):
    """What is wrong with a verdict; "" when it is right."""
    if row is None:
        return "expected.csv has no row for this fault"
    tie = is_tie(row, guilty, ranks)
    named = set() if row["class"] == "-" else guilty
    classes = (row["tie"] if tie else row["class"]).split("|")
    sides = [named, set(), set(range(ranks))] if tie else [named]
    if verdict["outcome"] not in row["outcome"].split("|"):
        return f"outcome {verdict['outcome']} instead of {row['outcome']}"
    if verdict["class"] not in classes:
        return f"class {verdict['class']} instead of {'|'.join(classes)}"
    if verdict["named"] not in sides:
        return f"ranks {listed(verdict['named'])} instead of {listed(named)}"
    if not point_right(row["point"], verdict):
        return f"parted at {verdict['seq_low']}..{verdict['seq_high']} instead of {row['point']}"
    if tie and verdict["confidence"] != "inconclusive":
        return f"confidence {verdict['confidence']} in a tie"
    return ""


# ---- plan ----

def positions(ranks):
    """name -> guilty ranks; one healthy rank must be left, and nothing is asked twice."""
    found = {"first": [0], "last": [ranks - 1]}
    if ranks > 2:
        found["middle"] = [ranks // 2]
        found["two"] = [1, ranks // 2]
    return found


def listed_faults():
    """fault -> ("can run" or why not, where it can fire), in the binary's own words."""
    text = subprocess.run([os.environ["perf"], "--backend", os.environ["BACKEND"], "--list-faults"],
                          text=True, check=True, stdout=subprocess.PIPE).stdout
    found = {}
    for name, rows in re.findall(r"^# ([a-z][a-z0-9-]*) {2,}.*\n((?:#   .*\n)*)", text, re.M):
        here = re.search(r"^#   here: (.*)$", rows, re.M)
        fires = re.search(r"^#   fires: (.*)$", rows, re.M)
        found[name] = (here[1] if here else "can run", fires[1].split() if fires else [])
    return found


def repeats(plan, count, elsewhere, ranks, position, base):
    """`base`: the number of ranks that the shorter plans look at."""
    if plan == "full":
        return count
    if (ranks, position) == (base, "last"):
        return count if plan == "short" else 1
    return elsewhere if plan == "short" else 0


def whole_rows(path):
    """The rows of a matrix.csv; ValueError where one is torn, as by a full disk."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    if path.stat().st_size == 0:
        raise ValueError("it is empty")
    for number, row in enumerate(rows, 2):
        try:
            for name in ("ranks", "processes", "shm", "cgroups"):
                row[name] = int(row[name])
        except (TypeError, ValueError):
            raise ValueError(f"line {number} is torn: {name} is no number") from None
    return rows


def right_so_far():
    """(transport, ranks, spec) -> how often right in the matrices named by HAVE, each counted once
    however often it is named."""
    had, seen = Counter(), set()
    for name in os.environ.get("HAVE", "").split():
        path = Path(name)
        try:
            path = (path / "matrix.csv" if path.is_dir() else path).resolve()
            if path not in seen:
                had.update((r["transport"], r["ranks"], r["spec"])
                           for r in whole_rows(path) if r["right"] == "yes")
            seen.add(path)
        except (OSError, KeyError, ValueError) as e:
            sys.exit(f"HAVE: {name} has no matrix: {e}")
    return had


def spec_of(fault, guilty, keys):
    """`keys`: "", "how=read" or "@init": ranks stand between name and the rest."""
    mark = "" if keys.startswith("@") or not keys else ","
    return f"{fault}:{','.join(map(str, guilty))}{mark}{keys}"


def variants(fault, backend, fires):
    """(keys, options) of the table's rows; a fault that it does not know runs as it is, and is
    scored wrong. Where a fault fires is said by the binary."""
    rows = [(row["keys"], row["options"]) for row in rows_for(fault, backend)
            if not row["keys"].startswith("@") or row["keys"].split(",")[0] in fires]
    return rows or [("", "")]


def guess(options, backend, deadlines):
    """Seconds of a run, by what two quiet cores take; init of NCCL takes longer. Others who use the
    machine make it more."""
    own = re.search(r"-T (\d+)", options)
    return (1.2 if backend == "mpi" else 7) + deadlines * (float(own[1]) if own else 0.5)


def plan():
    """One line per run: name, ranks, spec; trial.json of each below raw/. Repeats come outermost,
    so that a run that is cut short has covered all cells alike."""
    env = os.environ
    backend, out = env["BACKEND"], Path(env["out"])
    sizes = [int(n) for n in env["RANKS"].split()]
    base = 4 if 4 in sizes else max(sizes)
    had = right_so_far()
    count, elsewhere = int(env["REPEATS"]), int(env["ELSEWHERE"])
    faults = {f: fires for f, (here, fires) in listed_faults().items()
              if here == "can run" and re.search(env["ONLY"], f)}
    cells = [("none", "", "", n, "-", []) for n in sizes]
    for fault, fires in faults.items():
        for keys, options in variants(fault, backend, fires):
            for n in sizes:
                cells += [(fault, keys, options, n, p, g) for p, g in positions(n).items()]
    seconds = total = 0
    for repeat in range(1, count + 1):
        for fault, keys, options, n, position, guilty in cells:
            spec = "none" if fault == "none" else spec_of(fault, guilty, keys)
            wanted = repeats(env["PLAN"], count, elsewhere, n,
                             "last" if fault == "none" else position, base)
            if repeat > wanted or repeat <= had[env["TRANSPORT"], n, spec]:
                continue
            name = re.sub("[:,@]", "-", f"{spec}-of{n}-{repeat}").replace("=", "")
            first = repeat == had[env["TRANSPORT"], n, spec] + 1
            trial = {"fault": fault, "keys": keys, "spec": spec, "backend": backend,
                     "transport": env["TRANSPORT"], "ranks": n, "position": position,
                     "guilty": guilty, "repeat": repeat, "first": first}
            (out / "raw" / name).mkdir()
            (out / "raw" / name / "trial.json").write_text(json.dumps(trial))
            print(name, n, spec, options)
            total += 1
            seconds += guess(options, backend, float(env["DEADLINES"]))
    print(f"{total} runs, about {seconds / 60 / int(env['JOBS']):.0f} minutes", file=sys.stderr)
    return 0 if faults else 2


# ---- one run ----

def ranks_of(text):
    return {int(n) for n in re.findall(r"\d+", text)}


def listed(ranks):
    return ",".join(map(str, sorted(ranks))) or "-"


def verdict_line(text):
    """The verdict line as a dict, None without one; more than one is an error of the run."""
    lines = re.findall(r"^# verdict: (.*)$", text, re.M)
    if len(lines) > 1:
        raise ValueError("more than one verdict line")
    return dict(re.findall(r"(\S+)=(\S*)", lines[0])) if lines else None


def outcome_of(code):
    return next((name for name, value in CODES.items() if value == code), f"exit {code}")


def from_line(line, code):
    if not line:
        return {"outcome": outcome_of(code), "class": "-", "named": set(), "comm": -1,
                "seq_low": -1, "seq_high": -1, "confidence": ""}
    return {"outcome": line["outcome"], "class": line["class"], "named": ranks_of(line["ranks"]),
            "comm": int(line["comm"]), "seq_low": int(line["seq"]), "seq_high": int(line["seq"]),
            "confidence": line["confidence"]}


def from_json(path):
    v = json.loads(path.read_text())
    return {"outcome": v["outcome"], "class": v["class"], "named": ranks_of(v["ranks"]),
            "comm": v["comm"], "seq_low": v["seq_low"], "seq_high": v["seq_high"],
            "confidence": v["confidence"]}


def copy_evidence(source, target, fault):
    """What a rank's host would have had: no verdict, no report, no command. Stack traces hold the
    name of the fault's source file: it is taken out. "" or where the fault is still named."""
    source_file = fault.replace("-", "_") + ".c"
    for name in sorted(os.listdir(source)):
        keep = re.fullmatch(r"rank-\d+\..*|run\.json|ras\.txt|.*\.log", name)
        if not keep or not (source / name).is_file():
            continue
        data = (source / name).read_bytes()
        if name == "run.json":
            run = json.loads(data)
            run.pop("command", None)
            data = json.dumps(run).encode()
        if ".stack." in name:
            data = data.replace(source_file.encode(), b"scrubbed.c")
        (target / name).write_bytes(data)
        for word in {fault, source_file, "--fault"} - {"none"}:
            if word.encode() in data:
                return f"evidence names the fault: {word} in {name}"
    return ""


def diagnose(folder):
    """hang_diagnose in a process of its own: its verdict, or None when it had none."""
    program = Path(os.environ["BUILD"]) / "hang_diagnose"
    env = {k: v for k, v in os.environ.items() if not k.startswith("HANGAR_")}
    run = subprocess.run([program, folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         env=env, timeout=60)
    path = Path(folder) / "verdict.json"
    verdict = from_json(path) if path.exists() else None
    if verdict and run.returncode != CODES.get(verdict["outcome"]):
        verdict["outcome"] += f" (hang_diagnose exit {run.returncode})"
    return verdict


def same(line, verdict):
    """Did the fresh process say what the run's monitor said?"""
    first = (line["outcome"], line["class"], line["named"])
    return first == (verdict["outcome"], verdict["class"], verdict["named"]) and \
        (verdict["seq_low"] < 0 or line["seq_low"] == verdict["seq_low"])


def fired(folder):
    path = folder / "fired.txt"
    lines = path.read_text().split("\n") if path.exists() else []
    return {int(r): int(ns) for r, ns in (line.split() for line in lines if line)}


def entered(evidence):
    tool = Path(os.environ["BUILD"]) / "tests" / "tool_evidence"
    text = subprocess.run([tool, "entered", evidence], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout
    return {int(r): int(ns) for r, ns in (line.split() for line in text.splitlines())}


def times(evidence, line, shots):
    """detect: the verdict minus the later of "the fault fired" and "the last healthy rank entered
    its last call"; observed: how long after the fault the first death was seen."""
    said_ns = json.loads((evidence / "verdict.json").read_text()).get("said_ns", 0)
    if not said_ns or not shots:
        return "", ""
    late = [ns for rank, ns in entered(evidence).items() if rank not in shots]
    detect = (said_ns - max(list(shots.values()) + late)) / 1e6
    observed = ""
    if line["outcome"] == "died":
        observed = f"{(said_ns - min(shots.values())) / 1e6 - float(line['detect_ms']):.1f}"
    return f"{detect:.1f}", observed


def score(folder):
    """row.json of one run: what it said, what a fresh process says of its evidence, right
    or not."""
    trial = json.loads((folder / "trial.json").read_text())
    end = (folder / "end.txt").read_text().split()
    guilty, shots = set(trial["guilty"]), fired(folder)
    row = dict(trial, guilty=listed(guilty), exit_code=int(end[0]), seconds=end[1],
               processes=int(end[2]), shm=int(end[3]), cgroups=int(end[4]), scored_equal="",
               detect_ms="", observed_ms="", printed_detect_ms="")
    row["fired"] = "yes" if set(shots) == guilty and row["exit_code"] != CODES["not-fired"] else "no"
    why, verdict = "", None
    try:
        line = verdict_line((folder / "out.txt").read_text(errors="replace"))
        verdict = from_line(line, row["exit_code"])
        if line:
            row["printed_detect_ms"] = line["detect_ms"]
        if line and line["evidence"] != "-":
            source, copy = folder / line["evidence"], folder / "evidence"
            row["detect_ms"], row["observed_ms"] = times(source, line, shots)
            copy.mkdir()
            why = copy_evidence(source, copy, trial["fault"])
            fresh = diagnose(copy)
            row["scored_equal"] = "yes" if fresh and same(verdict, fresh) else "no"
            verdict = fresh or verdict
            shutil.rmtree(source)
    except (ValueError, OSError, KeyError) as trouble:
        why = f"{type(trouble).__name__}: {trouble}"
    verdict = verdict or from_line(None, row["exit_code"])
    why = why or fault_of(expectation(trial), guilty, trial["ranks"], verdict)
    if not why and row["exit_code"] != CODES.get(verdict["outcome"]):
        why = f"exit {row['exit_code']} with outcome {verdict['outcome']}"
    if not why and row["scored_equal"] == "no":
        why = "a fresh process says otherwise than the run's monitor"
    if row["fired"] == "no":
        why = "did not fire"
    row.update({key: verdict[key] for key in ("outcome", "class", "comm", "seq_low", "seq_high",
                                              "confidence")})
    row.update(named=listed(verdict["named"]), right="no" if why else "yes", why=why)
    (folder / "row.json").write_text(json.dumps(row))
    if not why and not trial["first"]: # that of a cell serves the swap and the permutation
        shutil.rmtree(folder / "evidence", ignore_errors=True)
    print(f"{'right' if not why else 'WRONG'} {folder.name} {row['seconds']} s"
          + (f": {why}" if why else ""), file=sys.stderr)
    return 0


# ---- can the scoring fail? ----

def kept(out):
    """(trial, evidence folder) of every run whose evidence is there, right ones only."""
    for path in sorted(out.glob("raw/*/row.json")):
        row = json.loads(path.read_text())
        if row["right"] == "yes" and (path.parent / "evidence").is_dir():
            yield json.loads((path.parent / "trial.json").read_text()), path.parent / "evidence"


def swaps(out):
    """Evidence of one fault scored as another's of the same size: each must come out wrong."""
    runs = list(kept(out))
    lines = []
    for trial, _ in runs:
        mine = expectation(trial)
        for other, evidence in runs:
            theirs = expectation(other)
            if other["ranks"] != trial["ranks"] or other["position"] != trial["position"] or \
                    set(mine["class"].split("|")) & set(theirs["class"].split("|")) or \
                    is_tie(mine, trial["guilty"], trial["ranks"]):
                continue
            verdict = from_json(evidence / "verdict.json")
            why = fault_of(mine, set(trial["guilty"]), trial["ranks"], verdict)
            lines.append([trial["spec"], other["spec"], trial["ranks"], "yes" if why else "NO"])
    write_csv(out / "swap.csv", ["scored_as", "evidence_of", "ranks", "found_wrong"], lines)
    return lines


def permutations(out):
    """The same evidence with ranks renumbered must name the renumbered ranks."""
    tool, lines = Path(os.environ["BUILD"]) / "tests" / "tool_evidence", []
    for trial, evidence in kept(out):
        n, guilty = trial["ranks"], {trial["ranks"] - 1 - g for g in trial["guilty"]}
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "permuted"
            made = subprocess.run([tool, "permute", evidence, copy]).returncode == 0
            verdict = diagnose(copy) if made else None
        why = fault_of(expectation(trial), guilty, n, verdict) if verdict else "no verdict"
        lines.append([trial["spec"], n, listed(guilty), listed(verdict["named"]) if verdict else "",
                      verdict["class"] if verdict else "", "no" if why else "yes", why])
    write_csv(out / "permute.csv", ["spec", "ranks", "guilty_now", "named", "class", "right", "why"],
              lines)
    return lines


# ---- summary ----

def percentile(values, percent):
    """The smallest value that at least so many percent do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else ""


def by_fault(rows):
    groups = {}
    for row in rows:
        groups.setdefault((row["fault"], row["keys"], row["transport"]), []).append(row)
    lines = []
    for (fault, keys, transport), group in groups.items():
        valid = [r for r in group if r["fired"] == "yes"]
        delays = [float(r["detect_ms"]) for r in valid if r["detect_ms"] != ""]
        seen = [float(r["observed_ms"]) for r in valid if r["observed_ms"] != ""]
        right = sum(r["right"] == "yes" for r in valid)
        lines.append([fault, keys or "-", transport, len(group), right, len(valid) - right,
                      len(group) - len(valid), percentile(delays, 50), percentile(delays, 99),
                      max(delays, default=""), max(seen, default=""),
                      sum(r["processes"] + r["shm"] + r["cgroups"] for r in group)])
    return lines


def wrong_ones(rows):
    """Each kind of wrong once, with how often and a run to look at."""
    kinds = {}
    for row in rows:
        if row["right"] != "yes":
            kinds.setdefault((row["fault"], row["keys"], row["ranks"], row["position"], row["why"]),
                             []).append(row)
    return [f"  {len(group)} x {group[0]['spec']} of {ranks}: {why}"
            for (_, _, ranks, _, why), group in kinds.items()]


def drop_right(out):
    """What was right needs no evidence: matrix.csv has it."""
    for path in list(out.glob("raw/*/row.json")):
        if json.loads(path.read_text())["right"] == "yes":
            shutil.rmtree(path.parent)


def summary(out, planned):
    rows = [json.loads(p.read_text()) for p in
            sorted(out.glob("raw/*/row.json"), key=lambda p: p.stat().st_mtime_ns)]
    write_csv(out / "matrix.csv", COLUMNS, [[row[c] for c in COLUMNS] for row in rows])
    lines = by_fault(rows)
    write_csv(out / "summary.csv", SUMMARY, lines)
    text = [f"{len(rows)} of {planned} planned runs; PLAN={os.environ['PLAN']} "
            f"REPEATS={os.environ['REPEATS']} RANKS=\"{os.environ['RANKS']}\" "
            f"DEADLINES={os.environ['DEADLINES']} JOBS={os.environ['JOBS']}",
            "right: outcome, class, ranks and divergence point as expected.csv, said alike by the run",
            "and by hang_diagnose in a fresh process on a copy without the command",
            "detect: verdict minus the later of fault fired, last healthy rank entered its last call",
            "", table(SUMMARY, lines)]
    bad = [row for row in rows if row["right"] != "yes"]
    lost = sum(line[-1] for line in lines)
    text += [f"left out: {fault}: {here}" for fault, (here, _) in listed_faults().items()
             if here != "can run" and re.search(os.environ["ONLY"], fault)]
    if bad:
        text += ["", "wrong or not fired:"] + wrong_ones(rows)
    checks = []
    nothing = planned == 0 and os.environ["HAVE"] != ""
    if os.environ["SWAP"] == "1" and not nothing:
        checks.append(("swapped evidence found wrong", [line[-1] == "yes" for line in swaps(out)]))
    if os.environ["PERMUTE"] == "1" and not nothing:
        found = permutations(out)
        checks.append(("ranks renumbered, still right", [line[5] == "yes" for line in found]))
        text += [f"  permuted {line[0]} of {line[1]}: {line[6]}" for line in found if line[6]]
    text.append("")
    text += [f"{name}: {sum(good)} of {len(good)}" for name, good in checks]
    if os.environ["KEEP"] == "wrong":
        drop_right(out)
    if nothing:
        text.append("nothing was left to do: what HAVE names was right often enough")
    failed = bad or lost or not (rows or nothing) or \
        any(not good or not all(good) for _, good in checks)
    text.append(f"{len(rows) - len(bad)} right, {len(bad)} wrong or not fired, {lost} leftovers: "
                + ("FAILED" if failed else "passed"))
    (out / "summary.txt").write_text("\n".join(text) + "\n")
    print("\n".join(text))
    return 1 if failed else 0


# ---- several matrices ----

def read_back(path):
    """The runs of a matrix.csv, as they were before they were written."""
    rows = whole_rows(path)
    for row in rows:
        row["keys"] = re.fullmatch(r"[a-z-]+(?::\d+(?:,\d+)*)?,?(.*)", row["spec"])[1]
    return rows


def join(target, folders):
    """per-fault.csv over several matrices: delays, and in how many cells (variant, guilty ranks,
    number of ranks) each was right, the least and the most often."""
    rows = [row for folder in folders for row in read_back(Path(folder) / "matrix.csv")]
    lines = by_fault(rows)
    for line in lines:
        cells = {}
        for row in rows:
            if [row["fault"], row["keys"] or "-", row["transport"]] == line[:3]:
                cell = (row["ranks"], row["position"])
                cells[cell] = cells.get(cell, 0) + (row["right"] == "yes")
        line[3:3] = [len(cells), min(cells.values()), max(cells.values())]
    head = SUMMARY[:3] + ["cells", "right_least", "right_most"] + SUMMARY[3:]
    write_csv(Path(target), head, sorted(lines, key=lambda line: (line[2], line[0], line[1])))
    return 0


# ---- healthy runs ----

def healthy(out, planned):
    with open(out / "healthy.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    groups = {}
    for row in rows:
        groups.setdefault(row["kind"], []).append(row)
    head = ["kind", "runs", "healthy", "false_verdicts", "failed", "leftovers", "not_stopped",
            "seconds_p50", "seconds_max"]
    words = ["healthy", "false-verdict", "failed", "leftovers", "not-stopped"]
    lines = [[kind, len(group)] + [sum(r["how"] == word for r in group) for word in words] +
             [percentile([float(r["seconds"]) for r in group], 50),
              max(float(r["seconds"]) for r in group)] for kind, group in sorted(groups.items())]
    bad = [row for row in rows if row["how"] != "healthy"]
    verdicts = sum(row["how"] == "false-verdict" for row in rows)
    text = [f"{len(rows)} of {planned} planned runs", "", table(head, lines), ""]
    text += [f"  {row['name']}: {row['how']}, exit {row['exit_code']}: {row['command']}\n"
             f"    {row['verdict']}" for row in bad]
    text.append(f"{verdicts} false verdicts, {len(bad)} runs not healthy: "
                + ("FAILED" if bad or not rows else "passed"))
    (out / "summary.txt").write_text("\n".join(text) + "\n")
    print("\n".join(text))
    return 1 if bad or not rows else 0


def main(command, *rest):
    if command == "plan":
        return plan()
    if command == "score":
        return score(Path(rest[0]))
    if command == "join":
        return join(rest[0], rest[1:])
    if command == "healthy":
        return healthy(Path(rest[0]), int(rest[1]))
    return summary(Path(rest[0]), int(rest[1]))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
