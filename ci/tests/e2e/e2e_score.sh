#!/bin/bash
# e2e_score.sh: the arithmetic that scores verdicts, on verdicts made by hand: each rule refuses
# what it should.
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"

cat >"$work/test_score.py" <<'END'
import sys
from pathlib import Path
import score

failures = 0


def check(what, good):
    global failures
    if not good:
        failures += 1
        print("FAIL", what)


def verdict(outcome, kind, named, low, high=None, comm=0, confidence="majority"):
    return {"outcome": outcome, "class": kind, "named": set(named), "comm": comm, "seq_low": low,
            "seq_high": low if high is None else high, "confidence": confidence}


def row(fault, keys="", backend="mpi"):
    return score.expectation({"fault": fault, "keys": keys, "backend": backend})


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
    ("drop-rank", {1}, 2, verdict("hang", "missing-call", [], 8), "ranks"),
    ("init-missing", {1}, 4, verdict("hang", "init-missing-rank", [1], 0), ""),
    ("init-missing", {1}, 4, verdict("hang", "init-missing-rank", [1], 1), "parted"),
    ("no-such-fault", {1}, 2, verdict("hang", "missing-call", [1], 8), "no row"),
]
for name, guilty, ranks, said, complaint in cases:
    why = score.fault_of(row(name), guilty, ranks, said)
    check(f"{name} {guilty} of {ranks}, {said}: '{why}'",
          complaint in why if complaint else why == "")

check("middle and two need a healthy rank", score.positions(2) == {"first": [0], "last": [1]})
check("positions of 8", score.positions(8) ==
      {"first": [0], "last": [7], "middle": [4], "two": [1, 4]})
check("spec", score.spec_of("block-rank", [1, 2], "how=read") == "block-rank:1,2,how=read")
check("spec at init", score.spec_of("drop-rank", [3], "@init") == "drop-rank:3@init")
check("rows that the binary cannot fire", score.variants("kill-rank", "mpi", []) == [("", "")])
check("rows that it can", score.variants("kill-rank", "mpi", ["@init"]) == [("", ""), ("@init", "")])
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
source, target = Path(sys.argv[1]) / "source", Path(sys.argv[1]) / "target"
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

# Several matrices: cells, right least and most often, and what is left of the summary.
for name, lines in (("a", [["block-rank:3,how=read", "last", "3", "yes", "700.5"],
                           ["block-rank:1,2,how=read", "two", "1,2", "no", "90"]]),
                    ("b", [["block-rank:3,how=read", "last", "3", "yes", "600.5"],
                           ["drop-rank:1@init", "last", "1", "yes", "12000"]])):
    (Path(sys.argv[1]) / name).mkdir()
    rows = [[{"fault": spec.split(":")[0], "spec": spec, "transport": "net", "ranks": "4",
              "position": position, "guilty": guilty, "fired": "yes", "detect_ms": delay,
              "right": right, "processes": "0", "shm": "1", "cgroups": "0"}.get(c, "")
             for c in score.COLUMNS] for spec, position, guilty, right, delay in lines]
    score.write_csv(Path(sys.argv[1]) / name / "matrix.csv", score.COLUMNS, rows)
score.join(Path(sys.argv[1]) / "joined.csv", [Path(sys.argv[1]) / "a", Path(sys.argv[1]) / "b"])
check("joined", (Path(sys.argv[1]) / "joined.csv").read_text().splitlines()[1:] == [
    "block-rank,how=read,net,2,0,2,3,2,1,0,600.5,700.5,700.5,,3",
    "drop-rank,@init,net,1,1,1,1,1,0,0,12000.0,12000.0,12000.0,,1"])
sys.exit(1 if failures else 0)
END
run env PYTHONPATH=ci/faults PYTHONDONTWRITEBYTECODE=1 python3 "$work/test_score.py" "$work"
expect_rc 0 'score.py:'
expect_no_out '^FAIL'
finish
