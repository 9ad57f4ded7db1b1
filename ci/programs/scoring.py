"""scoring.py: labels of incident programs, and how right hangar_run and its rivals are about a run; `score` runs them.

A log is a list of (seconds since 1970, line). A block is one of hangar's lines of the kinds late, lines, calls (that differ), verdict
and other-wait, with the lines below it. A rank counts as named with certainty by a verdict that is proved or by majority, and by
another line that does not say "one of". Where no NCCL call hangs nothing is ever proved: the rank beside its line is enough.
"""
import ast
import json
import os
import re
import statistics

FIELDS = {"kind": int, "ranks": int, "rank": str, "call": str, "class": str, "reason": str, "two": bool, "line": str, "launch": str,
          "gpus": int, "seconds": int, "last": bool}
MUST = "kind ranks rank call class reason two".split()
COLUMNS = ("name kind ranks two healthy turn void exit seconds struck_s detected class class_right named confidence rank_right "
           "call_right line_right right tie wrong early verdicts lates first_right_s verdict_s fr_found fr_named fr_right fr_line_right "
           "ras_found ras_named ras_right spy_found spy_named spy_right spy_line_right device last").split()
CERTAIN = ("proved", "majority")
HEAD = re.compile(r"# (late|lines|verdict|other-wait|waits): (.*)|# (ranks made different calls.*|ranks? [\d,-]+ made call \d+ .*the others as .*)")
WITHDRAWN = re.compile(r"the verdict is withdrawn|came after all")


def read_label(path):
    """A program's LABEL, read without running it, its name, and `lines`: the numbers of its lines marked BUG."""
    with open(path) as file:
        text = file.read()
    value = next((n.value for n in ast.parse(text).body if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == "LABEL"), None)
    if value is None:
        raise ValueError(f"{path}: no LABEL")
    label = ast.literal_eval(value)
    wrong = [k for k in label if k not in FIELDS or not isinstance(label[k], FIELDS[k])] + [k for k in MUST if k not in label]
    if wrong:
        raise ValueError(f"{path}: LABEL: {wrong[0]} is missing, unknown, or of a wrong type")
    label = {"line": "BUG", "launch": "torchrun", "gpus": 1, "seconds": 60, "last": False, **label, "name": os.path.splitext(os.path.basename(path))[0]}
    label["torch"] = "common.start(" in text or "lightning" in text or "accelerate" in text
    label["lines"] = [n for n, line in enumerate(text.split("\n"), 1) if re.search(r"# BUG\b", line)]
    if label["line"] == "BUG" and not label["lines"]:
        raise ValueError(f"{path}: no line is marked BUG")
    re.compile(label["call"] + label["class"])
    return label


def ranks_of(text, size):
    """The sets of ranks that are right: "1", "0,2", "last", and alternatives, "0|1"; "-" is none, "all" all."""
    found = []
    for part in text.split("|"):
        found.append(set() if part == "-" else set(range(size)) if part == "all" else {size - 1 if r == "last" else int(r) for r in part.split(",")})
    return found


def numbers(text):
    """Ranks of a list such as 0-2,5."""
    found = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        found |= set(range(int(first), int(last or first) + 1))
    return found


def blocks(log):
    """The blocks that hangar said: dicts of kind, time, text, ranks, certain, class, confidence, withdrawn."""
    found, current = [], None
    for at, line in log:
        head = HEAD.match(line)
        if head:
            current = {"kind": head[1] or "calls", "at": at, "text": line + "\n", "withdrawn": False, "class": "", "confidence": ""}
            current["ranks"], current["certain"] = names(current["kind"], head[2] or head[3], current)
            found.append(current)
        elif WITHDRAWN.search(line):
            for block in found:
                if block["kind"] == "late" or "verdict is withdrawn" in line:
                    block["withdrawn"] = True
            current = None
        elif line.startswith(("# meter:", "# slow:")):
            current = None
        elif current and line.startswith("#"):
            current["text"] += line + "\n"
        elif current and line.strip():
            current = None
    return found


def names(kind, text, block):
    if kind == "verdict":
        fields = dict(re.findall(r"(\w+)=(\S+)", text))
        block.update({"class": fields.get("class", ""), "confidence": fields.get("confidence", "")})
        return numbers(fields.get("ranks", "-")), block["confidence"] in CERTAIN
    first = re.search(r"(?:: |^)ranks? (\d[\d,-]*)", text) if kind == "calls" else re.match(r"(?:all )?ranks? (\d[\d,-]*)", text)
    block["confidence"] = next((c for c in ("proved", "majority", "inconclusive") if c in text), "")
    certain = first is not None and "one of" not in text and block["confidence"] != "inconclusive" and kind in ("late", "lines", "calls")
    return numbers(first[1]) if first else set(), certain


def has_line(text, label):
    return any(re.search(rf"\b{re.escape(label['name'])}\.py:{n}\b", text) for n in label["lines"])


def has_all(text, size):
    """All ranks are spoken of: of a circle none is to blame, and each waits."""
    return set().union(*[numbers(r) for r in re.findall(r"\branks? (\d[\d,-]*)", text)]) >= set(range(size))


def is_wrong(ranks, right):
    """A rank that is not to blame, or one alone of a circle."""
    return ranks not in right and (set() in right or not any(ranks <= r for r in right))


def is_tie(block, label, size):
    """Both of two sides are named, and the line: the most that two ranks can tell."""
    return size == 2 and not block["ranks"] and all(re.search(rf"\branks? {r}\b", block["text"]) for r in (0, 1)) and has_line(block["text"], label)


def stands(block, label, size):
    """The ranks are said to stand in a line of the bug, or are all that a verdict names."""
    for right in ranks_of(label["rank"], size):
        for found in re.finditer(r"\branks? (\d[\d,-]*)([^;\n]*)", block["text"]):
            if right and numbers(found[1]) == right and has_line(found[2], label):
                return True
        if right and block["ranks"] == right:
            return True
    return False


def judge(log, struck, label, size):
    """A row's columns about hangar, of a broken run."""
    said, right = blocks(log), ranks_of(label["rank"], size)
    after = [b for b in said if b["at"] >= struck - 0.05]
    verdicts = [b for b in after if b["kind"] == "verdict" and not b["withdrawn"]]
    good = [b for b in after if b["certain"] and b["ranks"] in right or set() in right and not b["ranks"] and has_all(b["text"], size)]
    ties = [] if good else [b for b in after if is_tie(b, label, size)]
    good += ties + ([b for b in after if b not in good and stands(b, label, size)] if label["kind"] == 11 else [])
    last = (verdicts or after or [{"class": "", "ranks": set(), "confidence": "", "kind": ""}])[-1]
    text = "".join(b["text"] for b in good)
    # a late line that was right when it was printed, and came to an end, is no wrong name
    wrong = [b for b in after if b["certain"] and b["ranks"] and is_wrong(b["ranks"], right) and not b["withdrawn"]]
    row = {"detected": bool(after), "class": last["class"], "named": listed(last["ranks"]), "confidence": last["confidence"],
           "class_right": bool(re.fullmatch(label["class"], last["class"] or "none")), "rank_right": bool(good),
           "call_right": bool(good) and bool(re.search(label["call"], text)),
           "line_right": bool(good) and (label["line"] == "-" or has_line(text, label)),
           "tie": bool(ties), "wrong": listed(set().union(*[b["ranks"] for b in wrong])) if wrong else "",
           "early": sum(b["kind"] == "verdict" and b["at"] < struck - 0.05 for b in said), "verdicts": len(verdicts),
           "lates": sum(b["kind"] == "late" for b in said),
           "first_right_s": round(good[0]["at"] - struck, 2) if good else "", "verdict_s": round(verdicts[0]["at"] - struck, 2) if verdicts else ""}
    row["right"] = row["rank_right"] and row["call_right"] and row["line_right"] and not row["wrong"] and not row["early"]
    return row


def judge_healthy(log, code):
    """A healthy run has no verdict and no slow rank, and ends with 0."""
    said = blocks(log)
    row = {"verdicts": sum(b["kind"] == "verdict" for b in said), "lates": sum(b["kind"] == "late" for b in said), "exit": code,
           "named": listed(set().union(*[b["ranks"] for b in said])) if said else "", "detected": bool(said)}
    row["right"] = row["verdicts"] == 0 and not any(b["kind"] == "lines" for b in said) and code == 0 \
        and not any("# slow: rank" in line for _, line in log)
    return row


def listed(ranks):
    return ",".join(map(str, sorted(ranks))) or "-"


def fr_names(text):
    """Ranks that torchfrtrace blames in its first finding: missing ones, or its culprits; else those without a dump."""
    first = re.search(r"missing ranks: \{([\d, ]+)\}|error msg: (Culprit rank .*)|[Mm]iss(?:ing|ed)[^\n]*dump[^\n]*? from ranks \(?\{([\d, ]+)\}", text)
    if not first:
        return set()
    return numbers(first[1] or first[3] or ",".join(re.findall(r"Culprit rank (\d+)", first[2])))


def ras_names(text, pids):
    """Ranks that NCCL RAS names: gone or silent ones, those with an error, else those behind in calls of a function. `pids` are
    the ranks of processes."""
    try:
        answer = json.loads(text[text.index("{"):])
    except ValueError:
        return set()
    gone, behind = set(), set()

    def number(rank):
        return pids.get(rank.get("pid"), rank.get("rank"))

    for comm in answer.get("communicators", []):
        there = [r for r in comm.get("ranks", []) if isinstance(r, dict)]
        for rank in comm.get("missing_ranks", []):
            gone.add(number(rank) if isinstance(rank, dict) else rank)
        for rank in there:
            status = rank.get("status", {})
            if status.get("unresponsive") or status.get("considered_dead") or status.get("async_error") or status.get("abort_flag"):
                gone.add(number(rank))
        counts = [(number(r), r.get("collective_counts", {})) for r in there]
        for function in {f for _, c in counts for f in c}:
            most = max(c.get(function, 0) for _, c in counts)
            behind |= {n for n, c in counts if c.get(function, 0) < most}
    return {n for n in gone or behind if n is not None}


def spy_names(dumps, label):
    """In py-spy's stacks, by rank, the minority whose innermost line of the program differs, and whether that line is the bug's."""
    lines = {}
    for rank, text in dumps.items():
        main = re.search(r"MainThread.*?\n((?:    .*\n?)+)", text)
        frame = re.search(rf"\b{re.escape(label['name'])}\.py:(\d+)", main[1] if main else text)
        lines[rank] = frame[1] if frame else "-"
    if not lines:
        return set(), False
    groups = {}
    for rank, line in lines.items():
        groups.setdefault(line, set()).add(rank)
    most = max(map(len, groups.values()))
    if sum(len(g) == most for g in groups.values()) > 1:
        return set(), False
    odd = {line: g for line, g in groups.items() if len(g) < most}
    return set().union(*odd.values()) if odd else set(), any(line.isdigit() and int(line) in label["lines"] for line in odd)


def judge_rivals(label, size, fr_text, ras_text, dumps, pids):
    """A row's columns about Flight Recorder, NCCL RAS and py-spy."""
    right, row = ranks_of(label["rank"], size), {}
    spied, spied_line = spy_names(dumps, label)
    for tool, found, ranks in (("fr", bool(fr_text), fr_names(fr_text)), ("ras", bool(ras_text), ras_names(ras_text, pids)),
                               ("spy", bool(dumps), spied)):
        row.update({f"{tool}_found": found and bool(ranks), f"{tool}_named": listed(ranks) if found else "", f"{tool}_right": bool(ranks) and ranks in right})
    row["fr_line_right"] = row["fr_right"] and has_line(fr_text, label)
    row["spy_line_right"] = row["spy_right"] and spied_line
    return row


def percent(rows, column):
    return f"{100 * sum(r[column] == 'True' for r in rows) / len(rows):.0f}" if rows else ""


def hangar_line(title, rows):
    seconds = sorted(float(r["first_right_s"]) for r in rows if r["first_right_s"])
    half = f"{statistics.median(seconds):.1f}" if seconds else ""
    late = f"{seconds[min(len(seconds) - 1, int(len(seconds) * 0.99))]:.1f}" if seconds else ""
    shares = [percent(rows, c) for c in ("detected", "class_right", "rank_right", "call_right", "line_right", "right")]
    return [title, len(rows), *shares, sum(r["wrong"] != "" for r in rows), sum(int(r["early"] or 0) > 0 for r in rows), half, late]


def card(rows):
    """Header and lines of the score card over broken runs whose bug struck."""
    rows = [r for r in rows if r["healthy"] != "True" and r["void"] != "True"]
    if not rows:
        return ["tool"], []
    last = [r for r in rows if r["last"] == "True"]
    lines = [hangar_line("hangar_run", rows)]
    if last:
        lines += [hangar_line("  written first", [r for r in rows if r not in last]), hangar_line("  written last", last)]
    for tool, title in (("fr", "Flight Recorder"), ("ras", "NCCL RAS"), ("spy", "py-spy")):
        seen = [r for r in rows if r[f"{tool}_named"] != ""]
        bad = sum(r[f"{tool}_found"] == "True" and r[f"{tool}_right"] != "True" for r in rows)
        line = percent(rows, f"{tool}_line_right") if f"{tool}_line_right" in COLUMNS else ""
        lines.append([title, len(seen), percent(rows, f"{tool}_found"), "", percent(rows, f"{tool}_right"), "", line, "", bad, "", "", ""])
    return "tool runs detected% class% rank% call% line% all% wrong early p50_s p99_s".split(), lines


def by_kind(rows):
    """Header and lines: of each kind, how many runs were right, and what the rivals named."""
    rows, lines = [r for r in rows if r["healthy"] != "True" and r["void"] != "True"], []
    for kind in sorted({int(r["kind"]) for r in rows}):
        some = [r for r in rows if int(r["kind"]) == kind]
        columns = ("rank_right", "line_right", "right", "fr_right", "ras_right", "spy_right")
        lines.append([kind, len({r["name"] for r in some}), len(some)] + [percent(some, c) for c in columns])
    return "kind programs runs rank% line% all% fr_rank% ras_rank% spy_rank%".split(), lines


def by_program(rows):
    """Header and lines: each program's runs, and what they said where they were not right."""
    lines = []
    for name in sorted({r["name"] for r in rows}):
        some = [r for r in rows if r["name"] == name and r["healthy"] != "True"]
        struck, well = [r for r in some if r["void"] != "True"], [r for r in rows if r["name"] == name and r["healthy"] == "True"]
        bad = [r for r in struck if r["right"] != "True"]
        said = "; ".join(sorted({f"{r['class'] or 'silent'} {r['named']} {r['confidence']}".strip() for r in bad}))
        lines.append([name, some[0]["kind"] if some else well[0]["kind"], f"{len(struck) - len(bad)}/{len(struck)}", len(some) - len(struck)]
                     + [f"{sum(r[c] == 'True' for r in struck)}" for c in ("rank_right", "call_right", "line_right", "fr_right", "ras_right", "spy_right")]
                     + [f"{sum(r['right'] == 'True' for r in well)}/{len(well)}" if well else "", said])
    return "program kind right void rank call line fr ras spy healthy not_right".split(), lines


def healthy_line(rows):
    well = [r for r in rows if r["healthy"] == "True"]
    hours = sum(float(r["seconds"] or 0) for r in well) / 3600
    return f"healthy: {len(well)} runs, {hours:.2f} hours, {sum(int(r['verdicts'] or 0) for r in well)} verdicts, " \
           f"{sum(int(r['lates'] or 0) for r in well)} late lines, {sum(r['exit'] != '0' for r in well)} that did not end with 0"
