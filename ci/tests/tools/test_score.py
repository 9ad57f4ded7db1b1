#!/usr/bin/env python3
"""test_score.py: the arithmetic that scores verdicts, on verdicts made by hand: each rule refuses what it
should."""
import importlib.machinery
import os
import sys
import tempfile
import types
from pathlib import Path

os.environ["SEED"] = "1"
sys.path.insert(0, "ci/faults")
import cells  # noqa: E402
import score  # noqa: E402

failures = 0


def check(what, good):
    global failures
    if not good:
        failures += 1
        print("FAIL", what)


def verdict(outcome, kind, named, low, high=None, comm=0, confidence="majority"):
    return {"outcome": outcome, "class": kind, "named": set(named), "comm": comm, "seq_low": low,
            "seq_high": low if high is None else high, "confidence": confidence}


def row(fault, keys="", transport="mpi", when="default"):
    return score.expectation({"fault": fault, "keys": keys, "transport": transport, "when": when,
                              "schedule": "plain", "collective": "all_reduce", "mode": "stream"})


# fault, guilty, ranks, verdict, part of the complaint ("" for right)
cases = [
    ("drop-rank", {3}, 4, verdict("hang", "missing-call", [3], 8), ""),
    ("drop-rank", {3}, 4, verdict("ok", "missing-call", [3], 8), "outcome"),
    ("drop-rank", {3}, 4, verdict("hang", "host-busy", [3], 8), "class"),
    ("drop-rank", {3}, 4, verdict("hang", "missing-call", [2], 8), "ranks"),
    ("drop-rank", {3}, 4, verdict("hang", "missing-call", [], 8), "ranks"),
    ("drop-rank", {3}, 4, verdict("hang", "missing-call", [2, 3], 8), "ranks"),
    ("drop-rank", {3}, 4, verdict("hang", "missing-call", [3], 9), "parted"),
    ("drop-rank", {3}, 4, verdict("hang", "missing-call", [3], -1), "parted"),
    ("drop-rank", {3}, 4, verdict("hang", "missing-call", [3], 8, comm=1), "parted"),
    ("drop-rank", {1, 2}, 4, verdict("hang", "missing-call", [1, 2], 8), ""),
    ("drop-rank", {1, 2}, 4, verdict("hang", "missing-call", [1], 8), "ranks"),
    ("none", set(), 4, verdict("ok", "-", [], -1), ""),
    ("none", set(), 4, verdict("hang", "unexplained", [], 8), "outcome"),
    ("extra-call", {0}, 4, verdict("error", "extra-call", [0], 8, 9), ""),
    ("extra-call", {0}, 4, verdict("error", "extra-call", [0], 9), ""),
    ("extra-call", {0}, 4, verdict("error", "extra-call", [0], 7, 9), "parted"),
    ("extra-call", {0}, 4, verdict("error", "extra-call", [0], 8, 10), "parted"),
    # One against one: nobody can say who was meant, so nobody may sound certain.
    ("skip-call", {1}, 2, verdict("hang", "skipped-call", [1], 8), "confidence"),
    ("skip-call", {1}, 2, verdict("hang", "skipped-call", [1], 8, confidence="inconclusive"), ""),
    ("skip-call", {1}, 2, verdict("hang", "mismatch", [], 8, confidence="inconclusive"), ""),
    ("skip-call", {1}, 2, verdict("hang", "mismatch", [0], 8, confidence="inconclusive"), "ranks"),
    ("skip-call", {1}, 4, verdict("hang", "mismatch", [], 8, confidence="inconclusive"), "class"),
    ("skip-call", {0, 1, 2}, 4, verdict("hang", "mismatch", [], 8, confidence="inconclusive"), ""),
    ("skip-call", {0, 1, 2}, 4, verdict("hang", "mismatch", [3], 8), "ranks"),
    # Three of four give another root: by majority, field by field, the fourth does.
    ("root-mismatch", {0, 1, 2}, 4, verdict("hang", "mismatch", [3], 8), "outvoted"),
    ("root-mismatch", {0, 1, 2}, 4, verdict("hang", "mismatch", [3], 9), "parted"),
    ("root-mismatch", {0}, 4, verdict("hang", "mismatch", [3], 8), "ranks"),
    ("kill-rank", {2}, 4, verdict("died", "rank-killed", [2], -1), "parted"),
    ("drop-rank", {1}, 2, verdict("hang", "missing-call", [], 8), "ranks"),
    # ... nor of three of four
    ("skip-call", {0, 1, 2}, 4, verdict("hang", "skipped-call", [0, 1, 2], 8), "confidence"),
    ("skip-call", {0, 1, 2}, 4, verdict("hang", "extra-call", [3], 8, confidence="inconclusive"), "ranks"),
    ("drop-rank", {0, 1, 2}, 4, verdict("hang", "missing-call", [0, 1, 2], 8), ""),
    ("init-missing", {1}, 4, verdict("hang", "init-missing-rank", [1], 0), ""),
    ("init-missing", {1}, 4, verdict("hang", "init-missing-rank", [1], 1), "parted"),
    ("no-such-fault", {1}, 2, verdict("hang", "missing-call", [1], 8), "no row"),
]
for name, guilty, ranks, said, complaint in cases:
    shots = {rank: (0, 0 if name.startswith("init") else 8) for rank in guilty}
    why = score.fault_of(row(name), shots, {"ranks": ranks, "schedule": "plain"}, said)
    check(f"{name} {guilty} of {ranks}, {said}: '{why}'",
          complaint in why if complaint else why == "")

# In communicators of two nobody is the majority, and who fired elsewhere may be left out.
for comm, shots, said, complaint in (
        (2, {3: (2, 8)}, verdict("hang", "mismatch", [2, 3], 8, comm=2, confidence="inconclusive"), ""),
        (2, {3: (2, 8)}, verdict("hang", "skipped-call", [3], 8, comm=2), "confidence"),
        (2, {0: (1, 4), 3: (2, 8)}, verdict("hang", "mismatch", [3], 8, comm=2, confidence="inconclusive"), ""),
        (0, {0: (1, 4), 3: (0, 8)}, verdict("hang", "skipped-call", [3], 8), ""),
        (0, {0: (1, 4), 3: (0, 8)}, verdict("hang", "skipped-call", [0], 8), "ranks"),
        (0, {0: (1, 4), 3: (0, 8)}, verdict("hang", "skipped-call", [3], 4), "parted")):
    why = score.fault_of(row("skip-call"), shots, {"ranks": "4", "schedule": "pairs"}, said)
    check(f"{shots} {said}: '{why}'", complaint in why if complaint else why == "")
check("members", [score.members({"ranks": "5", "schedule": s}, c) for s, c in
                  (("halves", 1), ("halves", 2), ("pairs", 2), ("ring", 5), ("ring", 0))] ==
      [{0, 1}, {2, 3, 4}, {2, 3}, {4, 0}, {0, 1, 2, 3, 4}])
check("a row for what the cell is", row("drop-rank", when="init")["class"] == "init-missing-rank")
check("the first row that fits", row("drop-rank", transport="net", when="first")["options"] == "-T 12")
for place, ranks, turn, guilty in (("first", 4, 0, [0]), ("last", 2, 0, [1]), ("middle", 2, 0, None),
                                   ("middle", 8, 0, [4]), ("several", 3, 0, None),
                                   ("several", 4, 1, [1, 2]), ("several", 8, 0, [1, 4]),
                                   ("several", 8, 1, [1, 3, 5, 7]), ("rest", 2, 0, None),
                                   ("rest", 4, 0, [0, 1, 3])):
    check(f"{place} of {ranks}", cells.culprits(place, ranks, turn) == guilty)


# The array: all pairs that can be are met, the others are known; the same again for the same seed.
def refuses(cell, turn):
    cell.update(command="")
    return (2, "too small") if cell["size"] == "1K" and cell["dtype"] == "int8" or \
        cell["collective"] == "reduce" else (0, "")


cells.fill = refuses
factors = {"collective": ["gather", "reduce", "hypercube"], "ranks": ["2", "3", "8"],
           "place": cells.PLACES, "size": ["1K", "1M"], "dtype": ["int8", "half", "double"],
           "mode": ["stream"], "transport": ["mpi"], "schedule": ["plain"], "when": ["default", "last"],
           "keys": [""]}
array = [cells.extended("f", factors, [], set(), 60) for _ in range(2)]
check("another array", array[0] == array[1])
made, covered, said = array[0]
met = set().union(*map(cells.pairs_of, made))
check("14 to 40 cells", 14 <= len(made) <= 40)
# 132 pairs of values that have a choice; those of reduce (15), 2 ranks and three places, 3 ranks and
# several, 3 ranks and hypercube, 1 KiB and int8 cannot be
check(f"coverage {covered}", covered == ["f", len(made), 0, 111, 111, 21])
check("pairs met", all(((a, x), (b, y)) in met for a, x, b, y in (
    ("collective", "gather", "ranks", "3"), ("ranks", "8", "place", "several"),
    ("size", "1K", "dtype", "half"), ("dtype", "int8", "when", "last"))))
check("what was refused", {(line[2], line[3]) for line in said} == {(2, "too small")})
corrupted = {made[0]["cell"]}
again, covered, _ = cells.extended("f", factors, made, corrupted, 60)
check(f"a corrupted cell is replaced: {covered} {len(made)}", again[:len(made)] == made and len(again) > len(made) and
      covered[:3] == ["f", len(again) - 1, 1] and covered[3] == 111)
check("a limit", len(cells.extended("f", factors, [], set(), 5)[0]) == 5)
check("p50", score.percentile([3, 1, 2, 4], 50) == 2)
check("p99", score.percentile(list(range(1, 201)), 99) == 198)
check("p99 of few", score.percentile([1, 5], 99) == 5)
check("verdict line", score.verdict_line("# verdict: outcome=hang ranks=1,3\n")["ranks"] == "1,3")
try:
    score.verdict_line("# verdict: outcome=hang\n# verdict: outcome=died\n")
    check("two verdict lines pass", False)
except ValueError:
    pass

# The copy: neither verdict nor command goes along, and a name that does is found.
work = Path(tempfile.mkdtemp(dir=os.environ.get("TMPDIR")))
source, target = work / "source", work / "target"
source.mkdir()
target.mkdir()
for name, text in (("rank-0.json", "{}"), ("verdict.json", "drop-rank"), ("command.txt", "drop-rank"),
                   ("run.json", '{"command": "x --fault=drop-rank:3", "nranks": 4}'),
                   ("rank-0.stack.txt", "fire at drop_rank.c:13")):
    (source / name).write_text(text)
check("clean copy", score.copy_evidence(source, target, "drop-rank") == "")
check("what is copied", sorted(p.name for p in target.iterdir()) ==
      ["rank-0.json", "rank-0.stack.txt", "run.json"])
check("stack scrubbed", (target / "rank-0.stack.txt").read_text() == "fire at scrubbed.c:13")
check("command gone", (target / "run.json").read_text() == '{"nranks": 4}')
(source / "rank-1.json").write_text('{"error": "drop-rank could not act"}')
check("leak", "rank-1.json" in score.copy_evidence(source, target, "drop-rank"))

# Lines of several processes are whole; a table of classes says what was measured and what cannot be.
path = work / "matrix.csv"
for fault, transport, outcome, verdict_of in (("drop-rank", "net", "hang", "ok"),
                                              ("drop-rank", "net", "ok", "wrong"),
                                              ("drop-rank", "mpi", "hang", "ok"),
                                              ("gpu-oom", "p2p", "unsupported", "impossible")):
    said = {"fault": fault, "transport": transport, "outcome": outcome, "verdict": verdict_of, "fired": "yes",
            "expected": "hang missing-call ranks 1 at op"}
    score.append(path, [said.get(column, "") for column in score.COLUMNS])
cannot = [{"fault": "gpu-oom", "transport": "mpi", "exit_code": "77", "why": "no GPU"}]
check("classes", score.classes(score.read_csv(path), cannot) == [
    ["(gpu-oom)", "gpu-oom", "impossible: no GPU", "not run", "not run", "not run"],
    ["missing-call", "drop-rank", "hang:1", "not run", "not run", "hang:1 ok WRONG:1"]])
check("by fault", [line[3:9] for line in score.by_fault(score.read_csv(path))] == [
    [1, 1, 0, 0, 0, 0], [2, 1, 0, 1, 0, 0], [1, 0, 0, 0, 0, 1]])

# Runs of chaos: what was said beside what was done; fault, culprits, who, event, exit code, ranks:class, score.
chaos = types.ModuleType("chaos")
chaos.__file__ = str(Path("ci/faults/chaos").resolve())
exec(compile(Path(chaos.__file__).read_text(), "chaos", "exec"), chaos.__dict__)
(work / "1").mkdir()
for fault, who, event, code, said, wanted in (
        ("none", "rank", "pause", 0, "", "right"), ("none", "rank", "pause", 10, "1:rank-stopped", "innocent"),
        ("none", "", "load", 11, "", "ended"), ("none", "rank", "stop", 10, "1:rank-stopped", "right"),
        ("none", "rank", "stop", 10, "2:rank-stopped", "innocent"), ("none", "rank", "stop", 0, "1:rank-stopped", "code"),
        ("none", "rank", "stop", 10, "-:watcher-held", "wrong"), ("none", "leader", "stop", 10, "-:watcher-held", "right"),
        ("none", "leader", "stop", 124, "", "silent"), ("drop-rank", "rank", "duty", 10, "3:missing-call", "right"),
        ("drop-rank", "rank", "duty", 10, "1:rank-stopped", "innocent"), ("drop-rank", "rank", "stop", 10, "1:rank-stopped", "right"),
        ("drop-rank", "", "none", 10, "-:watcher-held", "wrong"), ("drop-rank", "", "none", 20, "", "void")):
    cell = {"fault": fault, "keys": "", "transport": "mpi", "when": "default", "schedule": "plain", "collective": "all_reduce",
            "mode": "stream", "ranks": "4", "culprits": "3" * (fault != "none"), "spec": fault}
    answers = chaos.ANSWERS["rank" if who == "rank" else "watcher"].get(event, "") if who else ""
    named, _, kind = said.partition(":")
    (work / "1" / "out.txt").write_text(said and f"# verdict: outcome=hang class={kind} ranks={named} comm=0 seq=8 "
                                        "confidence=proved detect_ms=1 evidence=-\n")
    (work / "1" / "err.txt").write_text("")
    (work / "1" / "fired.txt").write_text("3 1 0 8 -1\n" if fault != "none" and code != 20 else "")
    found = {"exit_code": code, "met": "1" * bool(who), "gap_s": 0, "verdict_s": 1}
    got = chaos.judge(cell, {"answers": answers, "event": event, "who": who, "rank": "1", "hosts": 1, "moment": "any"}, work / "1", found)
    check(f"chaos: {fault} {who} {event} {said}: {got}", got[0] == wanted)
sys.exit(1 if failures else 0)
