"""test_hang_bisect.py: ci/hang_bisect: how many launches an answer takes and how often it is wrong, by simulation; what is
launched, kept and said, with programs that hang by the number of the launch."""
# timeout: 750
import csv
import os
import unittest

from case import TOP, NightCase

import numpy as np
import sequential

LIBRARIES = [sequential.Axis("LD_PRELOAD", range(8), True)]
# Hangs under library a, in 2 of 5 launches; dies under c. The library is told by its name alone.
FAKE = """#!/bin/sh
echo "$LD_PRELOAD $X_MODE $HANG_BISECT_LAUNCH" >>"{place}/order"
case $X_MODE in *broken*) echo "no such mode" >&2; exit 3 ;; esac
case $X_MODE in *bad*) [ $((HANG_BISECT_LAUNCH * 7 % 5)) -gt 1 ] || {hang} ;; esac
"""
PERF = os.path.join(os.environ.get("BUILD", TOP / "build"), "all_gather_perf")


def searches(rates, times, seed, rate=1 / 7, most=400):
    """(answer, launches) of so many simulated searches among eight libraries; rates(i): how often each hangs."""
    dice = np.random.default_rng(seed)
    return [sequential.simulate(sequential.Search(LIBRARIES, rate), rates(i), dice, most) for i in range(times)]


class Simulated(unittest.TestCase):
    """A 1-in-7 hang among eight libraries. At most 60 launches cannot find it in 95 of 100 with a wrong "mends it" in less
    than 1 of 100: see test_bound."""

    def planted(self, rate):
        found = searches(lambda i: [1 / 7] * (1 + i % 7) + [0] * (7 - i % 7), 100, 11, rate)
        right = [n for i, (answer, n) in enumerate(found) if answer == (0, frozenset(range(1 + i % 7, 8)))]
        wrong = sum(answer is not None for answer, _ in found) - len(right)
        return sorted(right), wrong

    def test_planted(self):
        right, wrong = self.planted(1 / 7)
        print(f"known rate: right within 60: {sum(n <= 60 for n in right)}, 100: {sum(n <= 100 for n in right)}, wrong {wrong}")
        self.assertTrue(sum(n <= 60 for n in right) >= 60 and sum(n <= 100 for n in right) >= 95 and wrong <= 5, (right, wrong))

    def test_rate_not_known(self):
        found = searches(lambda i: [1 / 4] * (1 + i % 7) + [0] * (7 - i % 7), 20, 11, None, 300)
        right = sorted(n for i, (answer, n) in enumerate(found) if answer == (0, frozenset(range(1 + i % 7, 8))))
        self.assertTrue(len(right) >= 19 and right[9] <= 110, found)

    def test_forecast(self):
        """What is told before a launch is what searches take; asking changes nothing."""
        search = sequential.Search(LIBRARIES, 1 / 7)
        ahead, taken = search.ahead(), sorted(n for _, n in searches(lambda i: [1 / 7] * (1 + i % 7) + [0] * (7 - i % 7), 40, 3))
        self.assertTrue(taken[20] / 1.6 < ahead[12] < taken[20] * 1.6, (ahead, taken))
        self.assertEqual((search.ahead(), search.counts.sum(), search.log_total), (ahead, 0, 0))

    def test_nothing_differs(self):
        for chance, rate, most in ((1 / 7, 1 / 7, 150), (1 / 3, 1 / 7, 100), (0, 1 / 7, 60), (1 / 7, None, 100), (1 / 40, None, 100)):
            mends = [answer for answer, _ in searches(lambda _: [chance] * 8, 100, 5, rate, most) if isinstance(answer, tuple)]
            self.assertEqual(mends, [], (chance, rate))

    def test_bound(self):
        """That library k mends is seen by launches without a hang alone: P(said | none mends) is at least .95 (6/7)^good,
        summed over seven k. The last one that hangs has to hang once: 1 - (6/7)^bad. Nothing is left for the search."""
        def most_found(wrong):
            good = np.log(7 * .95 / wrong) / np.log(7 / 6)
            return 1 - (6 / 7) ** (60 - np.ceil(good))
        self.assertLess(most_found(.01), .95)
        self.assertLess(most_found(.005), .87)

    def test_settings(self):
        """One of three values mends, or all three, or none."""
        axes = [sequential.Axis("A", ["", "x", "y", "z"], False)]
        for truth, wanted in (([.3, .3, 0, .3], {2}), ([.3, 0, 0, 0], {1, 2, 3}), ([.3, .3, .3, .3], None)):
            found = [sequential.simulate(sequential.Search(axes, .3), truth, np.random.default_rng(i), 400)[0] for i in range(20)]
            right = sum(a == (sequential.NONE_MENDS if wanted is None else (0, frozenset(wanted))) for a in found)
            self.assertGreaterEqual(right, 18, found)

    def test_interval(self):
        self.assertEqual([round(x, 3) for x in sequential.interval(0, 59)], [0, .05])
        self.assertEqual([round(x, 3) for x in sequential.interval(3, 10)], [.087, .607])
        self.assertEqual(sequential.interval(4, 4)[1], 1)


class Launched(NightCase):
    def setUp(self):
        super().setUp()
        self.fake = self.place / "fake"
        self.script(FAKE.format(place=self.place, hang="sleep 60"))

    def script(self, text):
        self.fake.write_text(text)
        self.fake.chmod(0o755)

    def bisect(self, *words, keep="keep"):
        code, out, err = self.program("hang_bisect", "--keep", self.place / keep, "--limit", "2.5", *words)
        return code, out, err

    def rows(self):
        with open(self.place / "keep/launches.csv", newline="") as file:
            return list(csv.DictReader(file))

    def test_setting_mends_and_resumes(self):
        words = "--rate", ".5", "--env", "X_MODE=bad,good", "--", self.fake
        code, out, err = self.bisect("--launches", "3", *words)
        self.assertEqual((code, len(self.rows())), (1, 3), out + err)
        self.assertRegex(out, r"(?m)^cannot tell yet: about \d+ more launches .*; 3 launches$")
        code, out, err = self.bisect(*words)
        rows = self.rows()
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, rf"(?m)^X_MODE=good mends it: at most \d+ % of launches hang \(0 of \d+\), \d+ % before \(.*; {len(rows)} launches; if --rate 0.5 is true$")
        self.assertRegex(out, rf"(?m)^# in {sum(row['outcome'] == 'ended' for row in rows)} of {len(rows)} launches no NCCL was seen: ")
        self.assertEqual([int(row["launch"]) for row in rows], list(range(1, len(rows) + 1)))
        self.assertEqual(len((self.place / "order").read_text().splitlines()), len(rows))
        kept = sorted(path.name for path in (self.place / "keep").glob("launch-*"))
        self.assertEqual(kept, sorted(f"launch-{row['launch']}" for row in rows if row["outcome"] == "hang"))
        self.assertEqual(self.bisect(*words)[:2], (code, out))  # nothing is left to do
        code, dry, err = self.bisect("--dry-run", *words)
        self.assertIn(f"{len(rows)} launches made; about 0 more are expected", dry)
        self.refused("is of another command", "--rate", ".4", *words[2:])

    def test_hangs_after_another_verdict(self):
        self.script("""#!/bin/sh
echo "# verdict: outcome=diverged class=mismatch ranks=1 evidence=-"
[ $X_MODE = good ] || { echo "# verdict: outcome=hang class=missing-call ranks=0 evidence=-"; exit 9; }
""")
        code, out, err = self.bisect("--rate", ".5", "--env", "X_MODE=bad,good", self.fake)
        self.assertEqual(code, 0, out + err)
        self.assertIn("X_MODE=good mends it", out)
        self.assertTrue(all(row["verdict"] == "outcome=hang class=missing-call ranks=0" for row in self.rows() if row["outcome"] == "hang"))

    def test_fails_otherwise(self):
        code, out, err = self.bisect("--env", "X_MODE=broken,broken2", self.fake)
        self.assertEqual(code, 1, out + err)
        self.assertRegex(out, "3 launches with X_MODE=broken.* failed without a hang, exit 3: no such mode")
        self.assertFalse(any(row["outcome"] != "failed" for row in self.rows()))

    def refused(self, why, *words):
        """`program` of the case gives SystemExit's code."""
        code, out, err = self.bisect(*words)
        self.assertEqual((code, why in err), (2, True), (words, err))

    def test_refused(self):
        (self.place / "a").touch()
        for words, why in (([self.fake], "1 combinations"), (["--env", "X=1,2"], "name a COMMAND"), (["--env", "X=1", self.fake], "two values"),
                           (["--env", "X=1,1", self.fake], "twice"), (["--env", "1,2", self.fake], "is not NAME=V1,V2"),
                           (["--nccl-lib", f"{self.place}/a,/no/lib", self.fake], "/no/lib: no such file"),
                           (["--env", "X=1,2", "/no/program"], "/no/program: no such program"),
                           (["--env", "X=1,2", "--rate", "1", self.fake], "below 1")):
            self.refused(why, *words)
        self.assertFalse((self.place / "keep").exists())

    @unittest.skipUnless(os.access(PERF, os.X_OK), "not built")
    def test_verdict_of_the_watcher(self):
        """A fault of the benchmark's, in one of five launches, under one of two libraries: the verdict is the hang. The first three
        launches, and the first of each kind, are real ones; later ones say and return what that of their kind did."""
        library = next(path for path in ("/lib/x86_64-linux-gnu/libm.so.6", "/usr/lib/libm.so.6", "/lib64/libm.so.6") if os.path.exists(path))
        for name in "ab":
            os.symlink(library, self.place / f"lib{name}.so")
        self.script(f"""#!/bin/sh
cd {self.place}; fault=none
case $LD_PRELOAD in *liba.so) [ $((HANG_BISECT_LAUNCH * 7 % 5)) -ne 1 ] || fault=drop-rank ;; esac
if [ $HANG_BISECT_LAUNCH -le 3 ] || [ ! -e $fault ]; then
	{PERF} --backend mpi -g 2 --fault=$fault >said 2>&1
	echo $? >$fault.code; mv said $fault
fi
cat $fault; exit $(cat $fault.code)
""")
        code, out, err = self.program("hang_bisect", "--keep", self.place / "keep", "--limit", "60", "--rate", ".2", "--nccl-lib",
                                      f"{self.place}/liba.so,{self.place}/libb.so", self.fake)
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"(?m)^\S+/libb.so mends it: at most ")
        hung = [row for row in self.rows() if row["outcome"] == "hang"]
        self.assertTrue(hung and all(row["verdict"].startswith("outcome=hang class=missing-call") for row in hung), hung)


if __name__ == "__main__":
    unittest.main()
