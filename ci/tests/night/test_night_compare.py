"""test_night_compare.py: verdicts on launches: by hand, by brute force, by the program."""
import csv
import io
import json
from itertools import combinations

from case import HEADER, NightCase, rows, unittest
import compare
import numpy as np
import shares

QUIET = np.array([100.0, 100.3, 99.8, 100.1, 99.9])
NOISY = np.array([100.0, 130.0, 90.0, 101.0, 117.0])
MIXED = NOISY * [1, 1, .1, 1, 1.1]  # a launch far off


def point(name, size=1 << 20):
    return rows.Point(name, size, "stream", "in-place", "")


def verdict(base, new, **others):
    """The row of one point beside others that did not change."""
    sides = [{point("a"): side, **{point(name): QUIET for name in others}} for side in (base, new)]
    return compare.compare_points(*sides)[0]


class Verdicts(unittest.TestCase):
    def test_each(self):
        for base, new, expected, text in (
                (QUIET, QUIET[::-1], "same", "same within 2 %"),
                (QUIET, QUIET * 1.05, "slower", r"slower by 4\.\d to 5\.\d %"),
                (QUIET, QUIET / 1.05, "faster", r"faster by 4\.\d to 5(\.\d)? %"),
                (QUIET, QUIET * 2, "slower", r"slower by a factor of 1.99 to 2.01"),
                (QUIET, QUIET * 1.02, "cannot-tell", r"cannot tell \(would need \d+ launches\)"),
                (NOISY, NOISY[::-1], "cannot-tell", r"cannot tell \(would need more than 1000 launches\)"),
                (NOISY, NOISY * 1.05, "cannot-tell", "cannot tell"),
                (QUIET[:4], QUIET * 9, "cannot-tell", r"cannot tell \(would need 5 launches\)"),
                (QUIET, [], "gone", "only in BASE"), ([], QUIET, "new", "only in NEW")):
            row = verdict(base, new)
            with self.subTest(text):
                self.assertEqual(row["verdict"], expected)
                self.assertRegex(row["text"], f"^{text}")
                self.assertEqual(row["launches_needed"] is not None, expected == "cannot-tell")

    def test_one_wild_launch(self):
        """One launch far off says nothing about a point, on either side."""
        wild = np.append(QUIET[:4], 400)
        self.assertEqual(verdict(QUIET, wild)["verdict"], "cannot-tell")
        self.assertEqual(verdict(wild, QUIET)["verdict"], "cannot-tell")
        self.assertEqual(verdict(np.tile(QUIET, 4), np.append(np.tile(QUIET, 4), 400))["verdict"], "same")

    def test_number_of_points(self):
        """What is slower by itself may be chance among many points as noisy: then it cannot be told."""
        dice = np.random.default_rng(3)
        noise = {point(f"{i}"): [100 * np.exp(.1 * dice.standard_normal(5)) for _ in "ab"] for i in range(150)}
        ours = [NOISY, NOISY * 1.55]
        alone, among = ([compare.compare_points(*({**rest, point("a"): ours[k]} for k, rest in enumerate(sides)))
                         for sides in ([{}, {}], [{p: v[k] for p, v in noise.items()} for k in (0, 1)])])
        self.assertEqual(alone[-1]["verdict"], "slower")
        self.assertEqual(among[-1]["verdict"], "cannot-tell")
        self.assertEqual(alone[-1]["rank_p"], among[-1]["rank_p"])
        self.assertLess(alone[-1]["p"], among[-1]["p"])

    def test_order(self):
        """The same input gives the same rows; other numbers of launches hide no change."""
        dice = np.random.default_rng(1)
        base = {point(str(i)): 100 * np.exp(.002 * dice.standard_normal(5 + i % 3)) for i in range(30)}
        new = {p: v * (1.05 if p[0] in "78" else 3 if p[0] == "9" else 1) for p, v in base.items()}
        found = compare.compare_points(base, new)
        self.assertEqual(found, compare.compare_points(base, new))
        self.assertEqual([r["collective"] for r in found if r["verdict"] != "same"], ["7", "8", "9"])

    def test_ranges(self):
        found = compare.compare_points(*({point("a", 8 << k): QUIET * (factor if k in (3, 4) else 1) for k in range(6)}
                                         for factor in (1, 1.3)))
        self.assertEqual([len(g) for g in compare.ranges(found)], [3, 2, 1])
        self.assertRegex(compare.range_text(compare.ranges(found)[1]),
                         r"^a 64 B to 128 B in-place stream: slower by \d+ to \d+ % at (64|128) B$")


class Untold(unittest.TestCase):
    def test_what_leaves_it_open(self):
        """No point told; a point that takes twice as long; most of them half as long again. Not: noise beside what is told."""
        for changes, expected in (
                ((MIXED * 1.6, MIXED * 11.7), (True, "2 of 2 points cannot be told; medians 1.6 to 11.7 times as long")),
                ((NOISY, NOISY), (True, "2 of 2 points cannot be told; medians 1 to 1 times as long")),
                ((QUIET, NOISY * 1.2), (False, "1 of 2 points cannot be told; medians 1.2 to 1.2 times as long")),
                ((QUIET, MIXED * 2.1), (True, "1 of 2 points cannot be told; medians 2.1 to 2.1 times as long")),
                ((QUIET, MIXED * 1.6, MIXED * 1.7), (True, "2 of 3 points cannot be told; medians 1.6 to 1.7")),
                ((QUIET, QUIET), None), ((), None)):
            sides = [{point("a", 8 << i): QUIET if new is QUIET else NOISY if side else new for i, new in enumerate(changes)} for side in (1, 0)]
            said = compare.untold(compare.compare_points(*sides) if changes else [])
            with self.subTest(expected):
                self.assertEqual(len(said), expected is not None)
                if expected:
                    self.assertEqual(said[0]["open"], expected[0], said)
                    self.assertRegex(said[0]["text"], "^a stream: " + expected[1])


class Corrected(unittest.TestCase):
    def test_brute_force(self):
        """Adjusted p beside the definition: the largest of all that are no more extreme, in every exchange."""
        dice = np.random.default_rng(2)
        both = dice.standard_normal((6, 10)).cumsum(axis=0) + 5 * np.arange(10).reshape(1, 10)[:, ::-1] % 3
        both[2, 5:] += 4
        sides = [{point(str(i)): np.exp(.01 * row[part]) for i, row in enumerate(both)}
                 for part in (slice(0, 5), slice(5, 10))]
        logs = np.concatenate([np.log(np.array(list(side.values()))) for side in sides], axis=1)
        null = [compare.distance(logs[:, list(c)], logs[:, [i for i in range(10) if i not in c]])
                for c in combinations(range(10), 5)]
        family = compare.Family(list(sides[0]), *sides, 1)
        for sign in (1, -1):
            seen, expected = sign * null[0], {}
            for i in np.argsort(-seen):
                rest = [k for k in range(6) if seen[k] <= seen[i]]
                p = np.mean([(sign * exchange[rest]).max() >= seen[i] - 1e-9 for exchange in null])
                expected[i] = max([p, *expected.values()])
            np.testing.assert_allclose(compare.corrected([family], sign)[0], [expected[i] for i in range(6)])


class Shares(NightCase):
    def test_vendor(self):
        for device, expected in (("NVIDIA H200", 450), ("NVIDIA H100 80GB HBM3", 450), ("NVIDIA H100 NVL", 300),
                                 ("NVIDIA A100-PCIE-40GB", 300), ("Tesla V100-SXM2-32GB", 150), ("NVIDIA B200", 900),
                                 ("NVIDIA GeForce RTX 4090", None), ("AMD EPYC", None)):
            found = shares.vendor_gbs(device)
            self.assertEqual(found and found[0], expected, device)


class Program(NightCase):
    def side(self, name, factor=1, ceiling=75.0, header=HEADER):
        for i, time in enumerate(QUIET):
            self.launch(f"{name}/{i}", [
                {"size_bytes": size, "time_us": time * (factor if size == 4 << 20 else 1), "of_ceiling_percent": ceiling,
                 "busbw_gbs": 300 if size > 8 else 1} for size in (8, 1 << 20, 4 << 20)], header=header)
        return self.place / name

    def test_planted(self):
        """Nothing planted: exit 0. One size slower by 5 %, a setting changed: exit 13, and both named."""
        base, header = self.side("base"), {**HEADER, "env": {"NCCL_MAX_NCHANNELS": "16", "NCCL_DEBUG": "INFO"}}
        code, out, err = self.program("perf_compare", base, self.side("equal"))
        self.assertEqual((code, err), (0, ""), out)
        self.assertRegex(out, r"\n# 3 same within 2 %; exit 0\n$")
        code, out, _ = self.program("perf_compare", base, self.side("slow", 1.05, 70, header))
        self.assertEqual(code, 13, out)
        self.assertRegex(out, "# differs: NCCL_MAX_NCHANNELS: not set in BASE, 16 in NEW: the first suspect\n")
        self.assertRegex(out, r"# all_reduce 4 MiB out-of-place stream: slower by 4\.\d to 5\.\d %\n"
                         r"# 1 slower, 2 same within 2 %; exit 13\n$")
        self.assertRegex(out, r" 70\.0 +-5\.0 +66\.7 +\+0\.0 +slower by")

    def test_one_table_a_side(self):
        """Nothing can be told of one launch a side: never green; the ratio is printed."""
        base, new = (self.launch(f"{name}/1", [{"time_us": us}]) for name, us in (("one", 10), ("other", 26.5)))
        code, out, _ = self.program("perf_compare", base, new)
        self.assertEqual(code, 17, out)
        self.assertRegex(out, r" 10\.00 +26\.50 +2\.65 +1/1 ")
        self.assertRegex(out, "# all_reduce stream: 1 of 1 points cannot be told; medians 2.65 to 2.65 times as long\n"
                         "# 1 cannot tell; exit 17\n$")

    def test_apart(self):
        """As slow as before, and one rank comes later: that is a figure by itself. Of rows without it nothing is said."""
        def side(name, *spreads):
            for i, spread in enumerate(spreads):
                self.launch(f"{name}/{i}", [{"time_us": QUIET[i], "rank_spread_percent": spread}])
            return self.place / name
        base, late = side("base", 1, 1.1, 0.9, 1.2, 1), side("late", 12, 13, 12, 12.5, 14)
        code, out, _ = self.program("perf_compare", base, late)
        self.assertEqual(code, 13, out)
        self.assertRegex(out, r"# all_reduce 1 MiB out-of-place stream, ranks apart: ranks further apart: the slowest takes 12 % "
                         r"longer than the fastest, 1 % before\n# 1 slower, 1 same within 2 %; exit 13\n$")
        self.assertRegex(out, r" 1\.01x +1\.1[23]x ")
        for new in base, side("wild", 0, 30, 2, 1, 9), side("none", *[float("nan")] * 5):
            self.assertRegex(self.program("perf_compare", base, new)[1], "\n# 1 same within 2 %; exit 0\n$")
        self.assertRegex(self.program("perf_compare", late, base)[1], "ranks closer: the slowest takes 1 % longer")

    def test_thresholds(self):
        base, new = self.side("base"), self.side("new", header=None)
        for options, code, text in (
                (("--min-ceiling", 70, "--min-percent", 90), 0, "3 same"),
                (("--min-ceiling", 80), 13, r"reaches 75.0 % of the ceiling at best \(4 MiB\): asked for 80 %"),
                (("--min-percent", 99), 13, r"98.0 % of what was predicted \(median row\)"),
                (("--min-vendor", 60), 77, "--vendor-gbs"),
                (("--min-vendor", 60, "--vendor-gbs", 450), 0, "3 same"),
                (("--min-vendor", 70, "--vendor-gbs", 450), 13, "66.7 % of the vendor's 450 GB/s"),
                (("--min-percent", 1000), 13, "asked for 1000 %"),
                (("--min-percent", 0), 0, "3 same"),
                (("--min-percent", 1001), 2, "1001: must be a number from 0 to 1000"),
                (("--min-percent", "nan"), 2, "nan: must be a number from 0 to 1000"),
                (("--min-effect", "0"), 2, "above 0, to 1000")):
            found, out, err = self.program("perf_compare", *options, base, new)
            with self.subTest(options):
                self.assertEqual(found, code)
                self.assertRegex(out + err, text)

    def test_forms(self):
        """CSV and JSON have the same rows; errors name the file and end with 2."""
        base = self.side("base")
        _, text, _ = self.program("perf_compare", "--csv", "-", base, base)
        code, whole, _ = self.program("perf_compare", "--json", "-", base, base)
        lines, document = list(csv.DictReader(io.StringIO(text))), json.loads(whole)
        self.assertEqual((code, document["exit"], list(lines[0])), (0, 0, list(compare.COLUMNS)))
        self.assertEqual([r["text"] for r in document["comparisons"]], [r["text"] for r in lines])
        other = self.launch("other/1", [{"collective": "all_gather"}])
        for new, message in ((self.place / "nope", "nope: no such folder"), (other, "no point in common")):
            code, out, err = self.program("perf_compare", base, new)
            self.assertEqual((code, out), (2, ""))
            self.assertRegex(err, f"^perf_compare: .*{message}")


if __name__ == "__main__":
    unittest.main()
