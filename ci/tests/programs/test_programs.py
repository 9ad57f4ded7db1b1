"""test_programs.py: the training programs are sound Python, and say what they lack; measure goes on where it was ended, on
doubles of torchrun and hangar_run."""
import csv
import glob
import os
import py_compile
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../programs"))
TORCHRUN = """#!/bin/sh
echo "# program=x ranks=2 device=cpu steps=9 mean_ms=1.5 median_ms=1.4 loss=0.25"
"""
HANGAR = """#!/bin/bash
case $1 in --fault=kill*) kind=rank-killed ;; --fault*) kind=mismatch ;; esac
[ -z "$kind" ] || echo "hangar: pid 7: rank 1: the fault that was asked for strikes call 20 (AllReduce) of communicator 0 (2 ranks)" >&2
while [ "$1" != -- ]; do [ "$1" = --out ] && out=$2; shift; done
[ -z "$kind" ] || { mkdir -p "$out"; echo "{\\"outcome\\": \\"died\\", \\"class\\": \\"$kind\\", \\"ranks\\": \\"1\\", \\"comm\\": 0}" >"$out/verdict.json"; }
shift; exec "$@"
"""


class Programs(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)

    def test_sound(self):
        for path in glob.glob(PROGRAMS + "/*.py") + [PROGRAMS + "/measure"]:
            py_compile.compile(path, os.path.join(self.dir, "c"), doraise=True)
        for name in ("flights", "capstone"):
            subprocess.run(["bash", "-n", os.path.join(PROGRAMS, name)], check=True)

    def test_no_torch(self):
        done = subprocess.run([sys.executable, "-S", "-I", "-c", "import sys; sys.path.insert(0, sys.argv[1]); import ddp",
                               PROGRAMS], stderr=subprocess.PIPE, universal_newlines=True)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (77, 1), done.stderr)

    def test_measure(self):
        for name, text in (("torchrun", TORCHRUN), ("hangar_run", HANGAR)):
            with open(os.path.join(self.dir, name), "w") as file:
                file.write(text)
            os.chmod(file.name, 0o755)
        out = os.path.join(self.dir, "out")

        def measure(*more):
            return subprocess.run(
                [sys.executable, PROGRAMS + "/measure", out, "--hangar", self.dir + "/hangar_run", "--programs", "ddp",
                 "--faults", "kill,stop", "--times", "1", "--rounds", "2", *more], stdout=subprocess.PIPE,
                env=dict(os.environ, PATH=self.dir + ":" + os.environ["PATH"]), universal_newlines=True)

        self.assertIn("runs are left", measure("cost", "--within", "0").stdout)
        self.assertEqual(measure("cost").returncode, 0)
        text = measure().stdout
        for part in ("same exit and loss", "2/2", "quiet: 1 of 1 right", "faults: 1 of 2 right"):
            self.assertIn(part, text)
        with open(out + "/results.csv") as file:
            self.assertEqual([r["part"] for r in csv.DictReader(file)], ["cost"] * 5 + ["alternate", "quiet"] + ["faults"] * 2)
        self.assertNotIn("part=", measure().stdout)


if __name__ == "__main__":
    unittest.main()
