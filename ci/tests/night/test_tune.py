"""test_tune.py: ci/tune: what is launched in which order with which settings, who wins, what is refused."""
# timeout: 350
import contextlib
import csv
import io
import json
import os
import shutil
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

from case import TOP, NightCase

loader = SourceFileLoader("tune", str(TOP / "ci/tune"))
tune = module_from_spec(spec_from_loader("tune", loader))
loader.exec_module(tune)

# A program whose time depends on its settings: B is faster by a fifth from 1 MiB on, C as fast as A,
# D dies, E is all noise.
FAKE = """#!/usr/bin/env python3
import csv, os, sys
sys.path.insert(0, "{tests}")
from case import ROW
name, out = os.environ.get("X_ALGO", "unset"), sys.argv[sys.argv.index("--out") + 1]
print(name, os.environ.get("LD_PRELOAD", "-"), *sys.argv[1:], file=open("{place}/order", "a"))
if name == "D":
    sys.exit("fake_perf: no such algorithm" if "twice" not in sys.argv else 2)
os.makedirs(out)
turn = int(os.path.basename(out))
noise = 1 + (turn * 7 % 5 - 2) * (.3 if name == "E" else .001)
with open(out + "/rows.csv", "w", newline="") as file:
    writer = csv.DictWriter(file, ROW, lineterminator="\\n")
    writer.writeheader()
    for size in (1 << 10, 1 << 20):
        faster = .8 if (name == "B" or os.environ.get("NCCL_ALGO") == "NVLSTree") and size > 1 << 10 else 1
        writer.writerow(dict(ROW, size_bytes=size, time_us=100 * faster * noise))
"""


class Tune(NightCase):
    def setUp(self):
        super().setUp()
        self.fake = self.place / "fake_perf"
        self.fake.write_text(FAKE.format(tests=TOP / "ci/tests/night", place=self.place))
        self.fake.chmod(0o755)

    def tune(self, *words, launches=5):
        code, out, err = self.program("tune", "--launches", launches, "--keep", self.place / "keep", *words)
        kept = self.place / "keep/tune.csv"
        return code, out, err, list(csv.DictReader(kept.read_text().splitlines())) if kept.exists() else []

    def order(self):
        return [line.split()[0] for line in (self.place / "order").read_text().splitlines()]

    def test_winner_and_no_difference(self):
        code, out, err, rows = self.tune(self.fake, "-b", "1K", "X_ALGO=A,B,")
        self.assertEqual((code, [row["verdict"] for row in rows]), (0, ["no-difference", "winner"]), out + err)
        self.assertRegex(out, r"(?m)1 KiB out-of-place .* no difference between 1 and 2 and 3: same within 2 %$")
        self.assertRegex(out, r"(?m)1 MiB out-of-place .* 2; the next, [13], is slower by 2[45].* to 2[56].* %$")
        self.assertEqual(rows[1]["fastest"], "X_ALGO=B")
        self.assertTrue(1.2 < float(rows[1]["low"]) <= 1.25 <= float(rows[1]["high"]) < 1.3, rows[1])
        self.assertIn("# 3: X_ALGO unset\n", out)
        self.assertEqual("".join(name[0] for name in self.order()), "ABu" "BuA" "uAB" "ABu" "BuA")

    def test_noise_and_failure(self):
        code, out, err, rows = self.tune(self.fake, "X_ALGO=A,D,E", "Y_SET=a\\,b")
        self.assertEqual((code, [row["verdict"] for row in rows]), (0, ["cannot-tell"] * 2), out + err)
        self.assertRegex(out, "no difference found between 1 and 3: cannot tell .would need ")
        self.assertIn("# 2 ended with exit 1 and is left out: fake_perf: no such algorithm\n", out)
        self.assertIn("# 1: X_ALGO=A Y_SET=a,b\n", out)
        self.assertEqual(self.order().count("D"), 1)

    def test_tuner(self):
        lines = [("all_reduce", 8, "", ""), ("all_reduce", 64, "Ring", "LL"), ("all_reduce", 512, "Ring", "LL"), ("all_reduce", 4096, "Tree", "Simple"),
                 ("alltoall", 8, "Ring", "LL"), ("all_gather", 8, "NVLS", "Simple")]
        self.assertEqual(tune.tuner_lines(lines, 2, 16), ["allreduce,64,4095,ring,ll,-1,2,16,-1,-1", "allreduce,4096,4096,tree,simple,-1,2,16,-1,-1",
                                                          "allgather,8,8,nvls,simple,-1,2,16,-1,-1"])
        table = self.place / "tuner.csv"
        code, out, err, _ = self.tune(self.fake, "NCCL_ALGO=Ring,NVLSTree", "NCCL_PROTO=Simple", "--tuner-csv", table)
        self.assertEqual(code, 0, out + err)
        self.assertEqual(table.read_text().splitlines()[1:], ["allreduce,1048576,1048576,nvls_tree,simple,-1,1,2,-1,-1"])
        self.assertIn(f"NCCL_TUNER_CONFIG_FILE={table}", out)
        code, _, err = self.program("tune", self.fake, "NCCL_ALGO=Ring,Tree", "--tuner-csv", table)
        self.assertEqual(code, 2)
        self.assertIn("NCCL_PROTO", err)

    def test_libraries(self):
        for name in "ab":
            (self.place / name).touch()
        code, out, err, _ = self.tune(self.fake, "--nccl-lib", f"{self.place}/a,{self.place}/b", launches=1)
        self.assertEqual(code, 0, out + err)
        said = (self.place / "order").read_text()
        self.assertIn(f"unset {self.place}/b --out", said)

    def test_all_fail(self):
        self.assertEqual(self.tune(self.fake, "X_ALGO=D", "Y=1,2")[0], 1)
        self.assertEqual(self.program("tune", self.fake, "twice", "X_ALGO=D", "Y=1,2", "--keep", self.place / "k")[0], 2)

    def test_refused(self):
        for words, why in (([], "name a PROGRAM"), (["X=1,2"], "name a PROGRAM"), ([self.fake], "1 combinations"),
                           ([self.fake, "X=1"], "1 combinations"), (["no_perf", "X=1,2"], "no such program"),
                           ([self.fake, "X=1,1"], "twice"), ([self.fake, "X=1,2", "X=3,4"], "twice"),
                           ([self.fake, "--out", "d", "X=1,2"], "--out: is not for"),
                           ([self.fake, "--nccl-lib", "/no/lib,/b"], "/no/lib: no such file"),
                           ([self.fake, "X=1,2", "--launches", "x"], "invalid int"),
                           ([self.fake, "X=1,2", "--launches", "0"], "1 or more"),
                           ([self.fake, "X=1,2", "--min-effect", "0"], "above 0"),
                           ([self.fake, "X=1,2", "--keep", self.place], "holds something already"),
                           ([self.fake, "A=1,2,3,4,5,6,7,8,9", "B=1,2,3,4,5,6,7,8"], "72 combinations")):
            with contextlib.redirect_stderr(io.StringIO()) as err, self.assertRaises(SystemExit) as end:
                tune.Tune([str(word) for word in words])
            self.assertEqual((end.exception.code, why in err.getvalue()), (2, True), (words, err.getvalue()))
        for keep, why in (("/dev/null/x", "Not a directory"), ("/dev/null", "File exists")):
            code, _, err = self.program("tune", self.fake, "X=1,2", "--keep", keep)
            self.assertEqual((code, err), (2, f"tune: {keep}: cannot be made: {why}\n"))
        self.assertFalse((self.place / "order").exists())

    def test_for_real(self):
        perf = os.path.join(os.environ.get("BUILD", TOP / "build"), "all_reduce_perf")
        if not os.access(perf, os.X_OK):
            self.skipTest("not built")
        code, out, err, rows = self.tune(perf, "--backend", "mpi", "-g", "2", "-b", "8", "-e", "8", "-n", "2", "-w", "1",
                                         "OMPI_MCA_btl=self\\,vader,self\\,tcp", launches=1)
        self.assertEqual((code, len(rows)), (0, 2), out + err)
        for which, value in (("1", "self,vader"), ("2", "self,tcp")):
            header = json.loads((self.place / "keep" / which / "1/rows.jsonl").read_text().splitlines()[0])
            self.assertEqual(header["env"]["OMPI_MCA_btl"], value)
        shutil.rmtree(self.place / "keep")
        code, _, err, _ = self.tune(perf, "--backend", "mpi", "-g", "2", "-b", "8", "-e", "8", "-n", "2", "NCCL_ALGO=Ring,Tree")
        self.assertEqual((code, "NCCL_ALGO: the mpi backend ran, which has no NCCL" in err), (2, True), err)


if __name__ == "__main__":
    unittest.main()
