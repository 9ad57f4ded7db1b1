"""test_night_simulate.py: false alarms and power, on nights made of recorded launches: ci/night/simulate.py in
short, and a planted change through perf_compare itself. launches-*.json.xz are baseline files that say how
they were recorded."""
# timeout: 350
from collections import Counter
from pathlib import Path

from case import NightCase, rows, unittest
import compare
import simulate

RECORDED = {name: Path(__file__).with_name(f"launches-{name}.json.xz") for name in ("mpi-host", "h200x2")}


def total(by_size, least=0):
    return sum((counts for size, counts in by_size.items() if size >= least), Counter())


class Simulated(unittest.TestCase):
    def setUp(self):
        """Fewer exchanges and resamples than a night makes: the time of a test."""
        for name, fewer in (("EXCHANGES", 1999), ("RESAMPLES", 499)):
            self.addCleanup(setattr, compare, name, getattr(compare, name))
            setattr(compare, name, fewer)

    def test_nothing_changed(self):
        """Nights of 200 comparisons in which nothing changed: none of these nights calls anything slower."""
        for name, path in RECORDED.items():
            alarms = simulate.false_alarms(simulate.programs(rows.read_side(path)), 12, 200, 5, 5, seed=1)
            with self.subTest(name):
                self.assertEqual((alarms["nights"], alarms["slower"]), (12, 0))

    def test_noisy_host(self):
        """Two noisy cores, ten launches: a factor of two is found, 5 % cannot be told."""
        recorded = simulate.programs(rows.read_side(RECORDED["mpi-host"]))
        twice = total(simulate.power(recorded, 15, 48, 10, 10, 1.0, seed=2))
        self.assertGreaterEqual(twice["slower"], 12)
        few = total(simulate.power(recorded, 5, 48, 10, 10, 0.05, seed=2))
        self.assertEqual(few, Counter({"cannot-tell": 5}))


    def test_h200_host(self):
        """Two H200, seven launches against seven: 5 % is found from 32 MiB on."""
        recorded = simulate.programs(rows.read_side(RECORDED["h200x2"]))
        few = total(simulate.power(recorded, 48, 48, 7, 7, 0.05, seed=2), least=32 << 20)
        self.assertGreaterEqual(few["slower"], 0.9 * few.total(), few)


class Planted(NightCase):
    def plant(self, name, launches, factor):
        """A baseline file of these launches, all_reduce from 64 KiB slower by the factor."""
        for launch in launches:
            for row in launch.rows:
                if row["collective"] == "all_reduce" and row["size_bytes"] >= 65536:
                    row["time_us"] *= factor
        rows.write_baseline(self.place / name, launches)
        return self.place / name

    def run_planted(self, recorded, factor):
        """(exit code, output) of perf_compare of recorded launches, every second one slower."""
        base, new = (rows.read_side(RECORDED[recorded])[start::2] for start in (0, 1))
        code, out, err = self.program("perf_compare", self.plant("base", base, 1), self.plant("new", new, factor))
        self.assertEqual(err, "")
        return code, out

    def test_noisy_host(self):
        self.assertEqual(self.run_planted("mpi-host", 1)[0], 17)  # too noisy for "nothing is slower"
        code, out = self.run_planted("mpi-host", 2)
        self.assertEqual(code, 13)
        self.assertRegex(out, r"# all_reduce 64 KiB to 512 KiB in-place stream: slower by a factor of 1\.\d+ to 2\.\d+ at")
        self.assertNotRegex(out, "# (all_gather|reduce_scatter).*(slower|faster)")

    def test_h200_host(self):
        """A planted 5 % is found where this machine's noise permits it, and nothing where nothing was planted."""
        self.assertEqual(self.run_planted("h200x2", 1)[0], 0)
        code, out = self.run_planted("h200x2", 1.05)
        self.assertEqual(code, 13)
        self.assertRegex(out, r"# all_reduce 4 MiB to 256 MiB in-place stream: slower by 4.\d to 6.\d %")
        self.assertNotRegex(out, "# (all_gather|reduce_scatter).*(slower|faster)")


if __name__ == "__main__":
    unittest.main()
