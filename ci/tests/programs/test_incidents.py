"""test_incidents.py: the labels of the incident programs can be read; a log's score, the rivals' words and the table are right; score
itself runs made-up programs under a double of hangar_run, and goes on where it was ended; and incidents that need no PyTorch under
hangar_run itself, over test doubles of libnccl and libcuda."""
# quiet: waits for deadlines
import csv
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../programs"))
sys.path.insert(0, PROGRAMS)
import scoring  # noqa: E402

LABEL = {"name": "train", "kind": 5, "ranks": 3, "rank": "1", "call": "AllReduce", "class": "skipped-call|missing-call", "line": "BUG", "lines": [48]}
LATE = "# late: rank 1 (vm pid 7) is in no call since call 36, train.py:30, 1.2 s\n#   lacks call 37: AllReduce 64 float sum\n# ranks 0,2 wait"
LINES = "# lines: rank 1 left out call 37 of comm 0: AllReduce count 64 float sum, train.py:48 (save)\n# since then calls meet"
VERDICT = "# verdict: outcome=hang class=skipped-call ranks={} comm=0 seq=37 confidence={} detect_ms=9 evidence=x\n# culprit: rank {} (vm pid 7), train.py:48"
BACK = "# the run goes on: what ranks waited for came after all, after 9.0 s; the verdict is withdrawn"
RIGHT, NONE = VERDICT.format(1, "majority", 1), VERDICT.format("-", "inconclusive", 0)
# struck at 10: each text's time, and columns that the score must have
ROWS = [
    ([], "detected=False rank_right=False right=False class= class_right=False named=- wrong= first_right_s= verdicts=0"),
    ([(11.2, LATE)], "detected=True rank_right=True call_right=True line_right=False right=False first_right_s=1.2 verdict_s= class_right=False lates=1"),
    ([(10.5, LINES)], "rank_right=True call_right=True line_right=True right=True first_right_s=0.5 verdicts=0"),
    ([(10.5, LINES), (15.5, RIGHT)], "right=True first_right_s=0.5 verdict_s=5.5 class=skipped-call class_right=True named=1 confidence=majority"),
    ([(15, RIGHT), (17, BACK)], "rank_right=True verdicts=0 early=0"),
    ([(9, RIGHT), (15, RIGHT)], "early=1 right=False rank_right=True verdicts=1"),
    ([(9, RIGHT), (9.5, BACK), (15, RIGHT)], "early=1 right=False"),
    ([(15, VERDICT.format(0, "proved", 0))], "rank_right=False wrong=0 right=False"),
    ([(15, VERDICT.format(0, "inconclusive", 0))], "rank_right=False wrong= named=0 right=False"),
    ([(15, VERDICT.format("0,1", "proved", 0))], "rank_right=False wrong=0,1"),
    ([(11, "# late: rank 2 (vm pid 3) is in no call"), (12, "# rank 2 came after all, after 1.4 s"), (15, RIGHT)], "wrong= right=True lates=1 call_right=False"),
    ([(11, "# late: one of ranks 0,1 has not come"), (15, NONE)], "detected=True rank_right=False wrong= confidence=inconclusive"),
]
TIE = "# verdict: outcome=hang class=mismatch ranks=- comm=0 seq=5 confidence=inconclusive field=line\n# no culprit: rank 1 at train.py:9, rank 0 at train.py:48"
MISSING = "Not all ranks joining collective, sequence number: 7\nmissing ranks: {1}\ncollective stack trace:\n step at /tmp/train.py:48\n"
CULPRITS = "error msg: Culprit rank 0; Error type: X, Culprit rank 2; Error type: X\nmissing ranks: {3}\n"
DUMPS = "AssertionError: Missing dump files from ranks {1}"
STACK = "Thread 7 (idle): \"MainThread\"\n    wait (torch/x.py:3)\n    step (/tmp/train.py:{})\n    main (/tmp/train.py:90)\n"
PROGRAM = """
import common
LABEL = {"kind": 5, "ranks": 2, "rank": "1", "call": "AllReduce", "class": "skipped-call", "reason": "made up", "two": True, "launch": "alone", "seconds": 9}
if not common.healthy and %s:
    common.strike()  # BUG
print("# verdict: outcome=hang class=skipped-call ranks=1 comm=0 seq=7 confidence=proved" if %s else "well", flush=True)
"""
BUILD = os.path.abspath(os.environ.get("BUILD", PROGRAMS + "/../../build"))
INCIDENTS = {  # over the doubles: columns that the score must have
    "draft_tokens": "void=False right=True rank_right=True line_right=True early=0 named=3 class=mismatch confidence=majority",
    "split_missing": "void=False rank_right=True call_right=True early=0 named=2 class=init-missing-rank",
    "group_made": "void=False right=True named=2 class=init-mismatch",
    "init_count": "void=False right=True named=1 class=init-mismatch",
    "plain_c": "void=False right=True named=2",
    "c_left_out": "void=False right=True named=2",
    "engine_graph": "void=False rank_right=True named=1 early=0",
}
HANGAR = '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n'


def log(texts):
    return [(at, line) for at, text in texts for line in text.split("\n")]


def ras(counts, missing=()):
    ranks = [{"rank": r, "pid": 70 + r, "status": {"async_error": 0}, "collective_counts": {"AllReduce": n}} for r, n in enumerate(counts)]
    return "OK\n" + json.dumps({"communicators": [{"size": 3, "ranks": ranks, "missing_ranks": [{"rank": r, "pid": 70 + r} for r in missing]}]})


class Score(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)

    def test_labels(self):
        paths = [p for p in glob.glob(PROGRAMS + "/incidents/*.py") if not p.endswith("common.py")]
        self.assertGreaterEqual(len(paths), 45)
        for path in paths:
            label = scoring.read_label(path)
            with open(path) as file:
                text = file.read()
            self.assertRegex(text, r"Source: https://\S+")
            if "import plain_c" not in text:  # which strikes
                self.assertRegex(text, "strike|INCIDENT_STRUCK")
                self.assertIn("healthy", text)
            self.assertTrue(1 <= label["kind"] <= 12 and 2 <= label["ranks"] <= 4, path)
            self.assertTrue(all(r <= set(range(label["ranks"])) for r in scoring.ranks_of(label["rank"], label["ranks"])), path)
        self.assertEqual({scoring.read_label(p)["kind"] for p in paths}, set(range(1, 13)))

    def test_label_errors(self):
        for text, error in (("x = 1", "no LABEL"), ("LABEL = {'kind': 'five'}", "kind"), ((PROGRAM % (True, True)).replace("# BUG", ""), "no line is marked")):
            path = os.path.join(self.dir, "x.py")
            with open(path, "w") as file:
                file.write(text)
            with self.assertRaisesRegex(ValueError, error):
                scoring.read_label(path)

    def check(self, row, want, of):
        for pair in want.split():
            name, value = pair.split("=")
            self.assertEqual(str(row[name]), value, f"{name} of {of}")

    def test_judge(self):
        for texts, want in ROWS[:10] + ROWS[11:]:
            self.check(scoring.judge(log(texts), 10, LABEL, 3), want, texts)
        self.check(scoring.judge(log(ROWS[10][0]), 10, LABEL, 3), "wrong= lates=1 rank_right=True", ROWS[10][0])
        self.check(scoring.judge(log([(15, TIE)]), 10, LABEL, 2), "tie=True rank_right=True line_right=True wrong=", "a tie")
        self.check(scoring.judge(log([(15, TIE)]), 10, LABEL, 3), "tie=False rank_right=False", "no tie of three")
        self.check(scoring.judge(log([(15, NONE)]), 10, dict(LABEL, rank="all|-", line="-"), 2), "rank_right=False wrong=", "a circle of which one is spoken of")
        self.check(scoring.judge(log([(15, NONE + "; rank 1 waits")]), 10, dict(LABEL, rank="all|-", line="-"), 2), "rank_right=True wrong=", "a circle")
        self.check(scoring.judge(log([(15, RIGHT)]), 10, dict(LABEL, rank="all|-"), 2), "rank_right=False wrong=1", "one of a circle is accused")
        apart = "# ranks made different calls 31 of communicator 0: rank 1: AllReduce 62 float, the others: AllReduce 64 float"
        self.check(scoring.judge(log([(11, apart)]), 10, dict(LABEL, line="-"), 3), "rank_right=True call_right=True right=True", apart)
        other = "# other-wait: ranks 0,2 in gloo barrier, train.py:50; rank 1 in read, train.py:48 (load)"
        for kind, want in ((11, "True"), (5, "False")):
            self.check(scoring.judge(log([(15, other)]), 10, dict(LABEL, kind=kind, call="gloo"), 3), f"rank_right={want} right={want}", other)
        self.check(scoring.judge_healthy(log([(1, "well")]), 0), "right=True verdicts=0", "a healthy run")
        self.check(scoring.judge_healthy(log([(1, RIGHT)]), 0), "right=False verdicts=1", "a healthy run with a verdict")

    def test_rivals(self):
        for text, want in (("", "-"), (MISSING, "1"), (CULPRITS, "0,2"), (DUMPS, "1"), ("missed FR dumps from ranks ({1}) so", "1")):
            self.assertEqual(scoring.listed(scoring.fr_names(text)), want, text)
        for text, want in (("", "-"), (ras((6, 5, 6)), "1"), (ras((6, 6, 6)), "-"), (ras((6, 6), [2]), "2")):
            self.assertEqual(scoring.listed(scoring.ras_names(text, {70: 0, 71: 1, 72: 2})), want, text)
        stacks = {0: STACK.format(50), 1: STACK.format(48), 2: STACK.format(50)}
        row = scoring.judge_rivals(LABEL, 3, MISSING, ras((6, 6, 6)), stacks, {})
        self.check(row, "fr_right=True fr_line_right=True ras_found=False ras_right=False spy_named=1 spy_right=True spy_line_right=True", "rivals")
        self.assertEqual(scoring.spy_names({0: STACK.format(50), 1: STACK.format(48)}, LABEL), (set(), False))

    def score(self, *more, **env):
        if not env:
            more += "--corpus", self.dir, "--hangar", self.dir + "/hangar_run"
        done = subprocess.run([sys.executable, PROGRAMS + "/score", self.dir + "/out", *more], env=dict(os.environ, **env),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def rows(self):
        with open(self.dir + "/out/score.csv") as file:
            return list(csv.DictReader(file))

    @unittest.skipUnless(os.path.exists(BUILD + "/tests/double/libnccl.so.2"), "the test doubles are not built")
    def test_doubles(self):
        only = "--only", "^({})$".format("|".join(INCIDENTS)), "--jobs", "4", "--hangar", BUILD + "/hangar_run"
        for more in ([], ["--healthy"]):
            self.score(*only, *more, DOUBLE_DIR=self.dir, LD_LIBRARY_PATH=BUILD + "/tests/double")
        for row in self.rows():
            self.check(row, "right=True verdicts=0" if row["healthy"] == "True" else INCIDENTS[row["name"]], row)
        self.assertEqual(len(self.rows()), 2 * len(INCIDENTS))

    def test_score(self):
        shutil.copy(PROGRAMS + "/incidents/common.py", self.dir)
        for name, strikes, speaks in (("named", True, "not common.healthy"), ("silent", True, False), ("void", False, False)):
            with open(f"{self.dir}/{name}.py", "w") as file:
                file.write((PROGRAM % (strikes, speaks)).replace('"two"', f'"last": {name == "silent"}, "two"'))
        with open(self.dir + "/hangar_run", "w") as file:
            file.write(HANGAR)
        os.chmod(file.name, 0o755)
        self.assertIn("3 runs are left", self.score("--minutes", "0"))
        self.assertIn("name=named", self.score("--only", "named"))
        text = self.score("--jobs", "3")
        self.assertNotIn("name=named", text)
        self.assertRegex(text, r"3 broken runs of 3 programs, 1 void")
        self.assertRegex(text, r"hangar_run +2 +50 +50 +50 ")
        self.assertRegex(text, r"written first +1 +100 +100 +100 .*\n  written last +1 +0 +0 +0 ")
        text = self.score("--healthy")
        self.assertIn("healthy: 3 runs", text)
        self.assertIn(" 0 verdicts", text)
        rows = self.rows()
        self.assertEqual(sorted((r["name"], r["healthy"], r["void"]) for r in rows if r["healthy"] == "False"),
                         [("named", "False", "False"), ("silent", "False", "False"), ("void", "False", "True")])
        self.assertRegex(self.score("--again"), r"hangar_run +2 +50 +50 +50 ")
        self.assertLessEqual(len(os.listdir(self.dir + "/out")), 8)


if __name__ == "__main__":
    unittest.main()
