#!/usr/bin/env python3
"""score.py: scores a run of the fault matrix in a process of its own, sums up.

score.py score OUTDIR NAME: a line for OUTDIR/matrix.csv.
score.py summary OUTDIR...: several matrices in one table; the files go to the first."""
import csv
import fcntl
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
from cells import FACTORS, expectation, read_csv  # noqa: E402
from tables import run, save, table, write_csv  # noqa: E402

CODES = {"ok": 0, "internal": 1, "usage": 2, "hang": 10, "error": 11, "wrong-data": 12, "died": 14,
         "diverged": 16, "not-fired": 20}
COLUMNS = ["cell", "repeat", "fault", "spec", *FACTORS, "culprits", "expected", "exit_code",
           "outcome", "class", "named", "comm", "seq_low", "seq_high", "confidence", "fired",
           "fired_at",           "detect_ms", "observed_ms", "printed_detect_ms", "scored_equal", "permuted", "verdict",
           "why", "seconds", "processes", "shm", "cgroups", "command"]
SUMMARY = ["fault", "keys", "transport", "runs", "right", "inconclusive", "wrong", "not_fired",
           "impossible", "detect_p50_ms", "detect_p99_ms", "detect_max_ms", "observed_max_ms",
           "leftovers"]
RIGHT = ("ok", "inconclusive", "outvoted")
# Most ranks did the same wrong thing: by majority the others are the odd ones, which is all that calls can say.
OUTVOTED = "outvoted"
VOID = ("impossible", "refused")


# ---- expectations ----

def members(cell, comm):
    """The ranks of a communicator of the cell's schedule: common/harness/backend/comm_set.c."""
    n = int(cell["ranks"])
    if comm > 0 and cell["schedule"] == "ring":
        return {comm - 1, comm % n}
    if comm > 0 and cell["schedule"] == "pairs":
        return {2 * comm - 2, 2 * comm - 1}
    if comm > 0 and cell["schedule"] == "halves":
        return set(range(n // 2)) if comm == 1 else set(range(n // 2, n))
    return set(range(n))


def point_right(rule, shots, verdict, cell):
    """`rule`: "op", "op-1..op+1", "init", which comes before call 1; "-": no point. With a star also the
    same step on another communicator of the culprit's, or none where it made no call: what a rank
    that is gone would have called next no record says."""
    low, high, star = verdict["seq_low"], verdict["seq_high"], rule.endswith("*")
    if rule == "-":
        return low < 0
    ends = [int(end.removeprefix("init").removeprefix("op") or 0) for end in rule.rstrip("*").split("..")]

    def fits(rank, comm, op):
        if star and low < 0:
            return op <= 1
        if star and verdict["comm"] != comm:
            return cell["schedule"] in ("halves", "pairs", "ring") and rank in members(cell, verdict["comm"]) and op + ends[0] - 1 <= low <= high <= op + ends[-1] + 1
        return verdict["comm"] == comm and op + ends[0] <= low <= high <= op + ends[-1]
    return any(fits(rank, *shot) for rank, shot in shots.items())


def names_right(named, shots, here, kind):
    """`here`: who fired on the communicator at hand, or is in it: all of them, of others as many as were
    seen; of a circle one at least."""
    return bool(named) and (kind in ("order-cycle", "p2p-deadlock") or here <= named) and named <= set(shots)


def fault_of(row, shots, cell, verdict):
    """The error of a verdict; "" when it is right. `shots`: rank -> (communicator, number of the
    call on it) where a fault fired. A rank that fired on another communicator may be left unnamed."""
    if row is None:
        return "expected.csv has no row for this cell"
    if verdict["outcome"] not in row["outcome"].split("|"):
        return f"outcome {verdict['outcome']} instead of {row['outcome']}"
    if verdict["outcome"] == "ok":
        row = dict(row, **{"class": "-", "tie": "", "point": "-"})
    circle = members(cell, verdict["comm"])
    fired_here = {rank for rank, (comm, _) in shots.items() if comm == verdict["comm"]}
    here = fired_here or set(shots)
    tie = bool(row["tie"]) and 2 * len(here) >= len(circle)
    classes = row["class"].split("|") + (row["tie"].removeprefix("?").split("|") if tie else [])
    none_named = row["class"] == "-" or tie and verdict["confidence"] == "inconclusive"
    if verdict["class"] not in classes:
        return f"class {verdict['class']} instead of {'|'.join(classes)}"
    if not point_right(row["point"], shots, verdict, cell):
        return (f"parted at {verdict['comm']}:{verdict['seq_low']}..{verdict['seq_high']} instead of "
                f"{row['point']}, fired at {marked(shots)}")
    if tie and row["fault"].endswith(("-mismatch", "conditional-call")) and 2 * len(set(shots) & circle) > len(circle) and verdict["confidence"] == "majority" and \
            verdict["named"] == circle - set(shots):
        return OUTVOTED
    if not (none_named and verdict["named"] in (set(), circle, set(range(int(cell["ranks"]))))) and \
            (row["class"] == "-" or not names_right(
                verdict["named"], shots, fired_here or set(shots) & circle, verdict["class"])):
        return f"ranks {listed(verdict['named'])} instead of {listed(shots)}"
    if tie and not row["tie"].startswith("?") and verdict["confidence"] != "inconclusive":
        return f"confidence {verdict['confidence']} in a tie"
    return ""


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
    """The evidence as a rank's host would have had it: no verdict, no report, no command. Stack traces hold the
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
        save(target / name, data)
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
    """Rank -> (when, communicator, call on it). The status of a command is left out."""
    path = folder / "fired.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return {rank: rest[:3] for rank, *rest in (map(int, line.split()) for line in lines)}


def marked(shots):
    return " ".join(f"{rank}@{comm}:{op}" for rank, (comm, op) in sorted(shots.items()))


def shots_of(text):
    shots = [list(map(int, re.split("[@:]", shot))) for shot in text.split()]
    return {rank: (comm, op) for rank, comm, op in shots}


def entered(evidence):
    tool = Path(os.environ["BUILD"]) / "tests" / "tool_evidence"
    text = subprocess.run([tool, "entered", evidence], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout
    return {int(r): int(ns) for r, ns in (line.split() for line in text.splitlines())}


def times(evidence, line, fired_ns):
    """detect: the verdict minus the later of "the fault fired" and "the last healthy rank entered
    its last call"; observed: how long after the fault the first death was seen."""
    said_ns = json.loads((evidence / "verdict.json").read_text()).get("said_ns", 0)
    if not said_ns or not fired_ns:
        return "", ""
    late = [ns for rank, ns in entered(evidence).items() if rank not in fired_ns]
    detect = (said_ns - max([*fired_ns.values(), *late])) / 1e6
    observed = ""
    if line["outcome"] == "died":
        observed = f"{(said_ns - min(fired_ns.values())) / 1e6 - float(line['detect_ms']):.1f}"
    return f"{detect:.1f}", observed


def permuted(evidence, cell, row, shots):
    """The same evidence with ranks renumbered must name the renumbered ranks: "yes" or why not."""
    ranks, tool = int(cell["ranks"]), Path(os.environ["BUILD"]) / "tests" / "tool_evidence"
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "permuted"
        made = subprocess.run([tool, "permute", evidence, copy]).returncode == 0
        verdict = diagnose(copy) if made else None
    moved = {ranks - 1 - rank: where for rank, where in shots.items()}
    why = fault_of(row, moved, cell, verdict) if verdict else "no verdict"
    why = "" if why == OUTVOTED else why
    return f"ranks renumbered: {why}" if why else "yes"


def judge(folder, cell, row, line, found):
    """The verdict, which a fresh process reaches again, and why it is not right ("")."""
    shots, verdict, why = shots_of(found["fired_at"]), from_line(line, found["exit_code"]), ""
    if line and line["evidence"] != "-":
        source, copy = folder / line["evidence"], folder / "evidence"
        found["detect_ms"], found["observed_ms"] = times(source, line, found["fired_ns"])
        copy.mkdir()
        why = copy_evidence(source, copy, cell["fault"])
        fresh = diagnose(copy)
        found["scored_equal"] = "yes" if fresh and same(verdict, fresh) else "no"
        verdict = fresh or verdict
        shutil.rmtree(source)
        why = why or fault_of(row, shots, cell, verdict)
        if cell["schedule"] == "plain" and why in ("", OUTVOTED):
            found["permuted"] = permuted(copy, cell, row, shots)
            why = why if found["permuted"] == "yes" else found["permuted"]
    else:
        why = fault_of(row, shots, cell, verdict)
        if not why and cell["fault"] == "settings-mismatch" and "settings differ" not in \
                (folder / "err.txt").read_text(errors="replace"):
            why = "no warning that settings differ"
    if why in ("", OUTVOTED) and found["exit_code"] != CODES.get(verdict["outcome"]):
        why = f"exit {found['exit_code']} with outcome {verdict['outcome']}"
    if why in ("", OUTVOTED) and found["scored_equal"] == "no":
        why = "a fresh process says otherwise than the run's monitor"
    return verdict, why


def last_line(folder):
    lines = (folder / "err.txt").read_text(errors="replace").strip().splitlines()
    return lines[-1].split(": ", 1)[-1] if lines else ""


def expected(row, cell):
    return "" if row is None else \
        f"{row['outcome']} {row['class']} ranks {cell['culprits'] or '-'} at {row['point']}"


def score(out, name):
    """A line for matrix.csv: what a run said, what a fresh process says of its evidence, right
    or not."""
    folder, (cell_name, repeat) = out / "raw" / name, name.rsplit("-", 1)
    cell = next(c for c in read_csv(out / "cells.csv") if c["cell"] == cell_name)
    end, shots, row = (folder / "end.txt").read_text().split(), fired(folder), expectation(cell)
    found = dict.fromkeys(COLUMNS, "")
    found.update(cell, repeat=repeat, expected=expected(row, cell),
                 fired_at=marked({rank: where for rank, (_, *where) in shots.items()}),
                 fired_ns={rank: ns for rank, (ns, _, _) in shots.items()}, exit_code=int(end[0]), seconds=end[1], processes=end[2], shm=end[3], cgroups=end[4])
    found["fired"] = "yes" if shots or cell["fault"] == "none" else "no"
    verdict = from_line(None, int(end[0]))
    if int(end[0]) in (2, 77):
        found["verdict"], why = "refused" if int(end[0]) == 2 else "impossible", last_line(folder)
    else:
        try:
            line = verdict_line((folder / "out.txt").read_text(errors="replace"))
            found["printed_detect_ms"] = line["detect_ms"] if line else ""
            verdict, why = judge(folder, cell, row, line, found)
        except (ValueError, OSError, KeyError) as trouble:
            why = f"{type(trouble).__name__}: {trouble}"
        why = why if found["fired"] == "yes" else "did not fire"
        if not why and sum(map(int, end[2:])):
            why = "left something behind"
        found["verdict"] = "outvoted" if why == OUTVOTED else "wrong" if why else \
            "inconclusive" if verdict["confidence"] == "inconclusive" else "ok"
    found.update({key: verdict[key] for key in ("outcome", "class", "comm", "seq_low", "seq_high",
                                                "confidence")})
    found.update(named=listed(verdict["named"]), why=why)
    append(out / "matrix.csv", [found[column] for column in COLUMNS])
    if found["verdict"] in RIGHT and os.environ.get("KEEP", "wrong") == "wrong":
        shutil.rmtree(folder)
    print(f"{found['verdict']:<12} {name} {end[1]} s" + (f": {why}" if why else ""), file=sys.stderr)
    return 0


def append(path, line):
    """One line, whole, also if other processes append; the first brings the head."""
    with open(path, "a", newline="") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        writer = csv.writer(file, lineterminator="\n")
        if os.fstat(file.fileno()).st_size == 0:
            writer.writerow(COLUMNS)
        writer.writerow(line)


# ---- summary ----

def percentile(values, percent):
    """The smallest value that at least so many percent do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else ""


def numbers(group, name):
    return [float(row[name]) for row in group if row[name]]


def leftovers(rows):
    return sum(int(row[name] or 0) for row in rows for name in ("processes", "shm", "cgroups"))


def by_fault(rows):
    groups = {}
    for row in rows:
        groups.setdefault((row["fault"], row["keys"], row["transport"]), []).append(row)
    lines = []
    for (fault, keys, transport), group in sorted(groups.items()):
        valid = [r for r in group if r["fired"] == "yes"]
        count, delays = Counter(r["verdict"] for r in group), numbers(valid, "detect_ms")
        lost = sum(r["fired"] != "yes" and r["verdict"] not in VOID for r in group)
        lines.append([fault, keys or "-", transport, len(group), count["ok"], count["inconclusive"] + count["outvoted"],
                      count["wrong"] - lost, lost, sum(count[word] for word in VOID),
                      percentile(delays, 50), percentile(delays, 99), max(delays, default=""),
                      max(numbers(valid, "observed_ms"), default=""), leftovers(group)])
    return lines


def classes(rows, refused):
    """class x transport: outcomes measured and how often, or why it is impossible, or "not run"."""
    names, seen, cannot = {}, {}, {}
    for row in rows:
        if row["verdict"] not in VOID and row["fault"] != "none":
            key = row["expected"].split(" ")[1] if row["expected"] else "?"
            names.setdefault(key, set()).add(row["fault"])
            seen.setdefault((key, row["transport"]), Counter())[
                row["outcome"] + (" WRONG" if row["verdict"] == "wrong" else "")] += 1
    for row in refused:
        if row["exit_code"] == "77":
            cannot.setdefault((row["fault"], row["transport"]), row["why"])
    for fault in {fault for fault, _ in cannot} - {f for faults in names.values() for f in faults}:
        names[f"({fault})"] = {fault}
    lines = []
    for key, faults in sorted(names.items()):
        line = [key, " ".join(sorted(faults))]
        for transport in ("mpi", "p2p", "shm", "net"):
            why = [cannot.get((fault, transport)) for fault in sorted(faults)]
            line.append(" ".join(f"{what}:{n}" for what, n in seen[key, transport].most_common())
                        if (key, transport) in seen else
                        f"impossible: {why[0]}" if all(why) else "not run")
        lines.append(line)
    return lines


def swapped(rows):
    """(found wrong, tried): what one fault's run said, scored as another's with the same culprits."""
    tried = wrong = 0
    for mine in rows:
        row, shots = expectation(mine), shots_of(mine["fired_at"])
        for other in rows if row and 2 * len(shots) < len(members(mine, 0)) else []:
            if (other["ranks"], other["place"]) == (mine["ranks"], mine["place"]) and \
                    other["class"] not in row["class"].split("|"):
                said = dict(other, named=ranks_of(other["named"]), **{
                    key: int(other[key]) for key in ("comm", "seq_low", "seq_high")})
                tried += 1
                wrong += bool(fault_of(row, shots, mine, said))
    return wrong, tried


def wrong_ones(rows):
    """Each kind of wrong once, with how often and a run to look at."""
    kinds = {}
    for row in rows:
        if row["verdict"] == "wrong":
            kinds.setdefault((row["fault"], row["keys"], row["when"], row["why"]), []).append(row)
    return [f"  {len(group)} x {group[0]['spec']} raw/{group[0]['cell']}-{group[0]['repeat']}: {why}"
            for (_, _, _, why), group in kinds.items()]


def summary(out, *more):
    """Exit code 1 where a run was wrong or left something behind, or the scoring cannot fail."""
    folders = [out, *map(Path, more)]
    rows, cells, refused, covered = ([row for folder in folders for row in read_csv(folder / name)]
                                     for name in ("matrix.csv", "cells.csv", "refused.csv",
                                                  "coverage.csv"))
    lines, table_of_classes = by_fault(rows), classes(rows, refused)
    write_csv(out / "summary.csv", SUMMARY, lines)
    write_csv(out / "classes.csv", ["class", "faults", "mpi", "p2p", "shm", "net"], table_of_classes)
    planned, ran = len(cells), len({(row["cell"], row["transport"]) for row in rows})
    sums = [sum(int(row[name]) for row in covered) for name in ("covered", "feasible", "infeasible")]
    text = [f"{ran} of {planned} planned runs of a cell, {len(rows)} runs",
            "right: outcome, class, ranks and divergence point as expected.csv, said alike by the run",
            "and by hang_diagnose in a fresh process on a copy without the command",
            "detect: verdict minus the later of fault fired, last healthy rank entered its last call",
            "", table(SUMMARY, lines), "",
            table(["class", "faults", "mpi", "p2p", "shm", "net"], table_of_classes), "",
            "pairs of values: planned {} of {} that are feasible, {} are not".format(*sums)]
    if any(row["verdict"] == "wrong" for row in rows):
        text += ["", "wrong or not fired:"] + wrong_ones(rows)
    right = [row for row in rows if row["verdict"] in RIGHT]
    found, tried = swapped(right)
    bad, lost = sum(row["verdict"] == "wrong" for row in rows), leftovers(rows)
    failed = bad or lost or not rows or found < tried
    text += ["", f"scored as another fault and found wrong: {found} of {tried}",
             f"{len(right)} right, {bad} wrong or not fired, {lost} leftovers: "
             + ("FAILED" if failed else "passed")]
    save(out / "summary.txt", "\n".join(text) + "\n")
    print("\n".join(text))
    return 1 if failed else 0


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
    save(out / "summary.txt", "\n".join(text) + "\n")
    print("\n".join(text))
    return 1 if bad or not rows else 0


def main(command, *rest):
    if command == "score":
        return score(Path(rest[0]), rest[1])
    if command == "healthy":
        return healthy(Path(rest[0]), int(rest[1]))
    return summary(*map(Path, rest))


if __name__ == "__main__":
    sys.exit(run("score", lambda: main(*sys.argv[1:])))
