"""test_atlas.py: ci/atlas: its plan, its runs over MPI and of a program under hangar_run, how it goes on, and what it draws and says."""
# timeout: 750
import csv
import os
import shutil
import subprocess
import unittest

from case import TOP, NightCase

BUILD = os.path.abspath(os.environ.get("BUILD", TOP / "build"))
HEAD = ["library", "run", "cell", "transport", "ranks", "fault", "keys", "collective", "size", "algo", "proto", "when", "outcome"]


def built(name):
    return unittest.skipUnless(os.access(os.path.join(BUILD, name), os.X_OK), "not built")


class Atlas(NightCase):
    def atlas(self, *words):
        """In a process of its own: the plan changes the environment."""
        done = subprocess.run([TOP / "ci/atlas", self.place / "out", *map(str, words)], cwd=self.place, text=True, capture_output=True)
        return done.returncode, done.stdout, done.stderr

    def rows(self, name="atlas"):
        with open(self.place / f"out/{name}.csv", newline="") as file:
            return list(csv.DictReader(file))

    @built("tests/fired/all_gather_perf")
    def test_mpi(self):
        plan = ("--plan", "--transport", "mpi", "--ranks", "3", "--faults", "none|drop-rank|kill-rank|size-mismatch|redop-mismatch", "--cells", "2",
                "--collectives", "all_reduce all_gather", "--sizes", "32K 256K")
        self.assertEqual(self.atlas(*plan)[0], 0)
        planned = self.rows("cells-mpi")
        # faults and their keys take turns; a fault whose keys are three has three times the cells
        self.assertEqual([len({row["fault"] + row["keys"] for row in planned if row["round"] == turn}) for turn in "01"], [7, 7])
        self.assertEqual(self.atlas(*plan)[0], 0)
        self.assertEqual(self.rows("cells-mpi"), planned)  # the same again
        code, out, err = self.atlas("--within", "0.5")
        self.assertEqual(code, 0, out + err)
        begun = len(self.rows())
        self.assertTrue(1 <= begun < 3, begun)
        code, out, err = self.atlas("--jobs", "2")
        rows = self.rows()
        self.assertEqual((code, len(rows)), (0, 2 * len(planned)), out + err)
        self.assertRegex(out, r"28 runs in .*, 0 left")
        ends = {row["fault"]: row for row in rows if row["when"] in ("warm", "-") or row["fault"] == "redop-mismatch"}
        self.assertEqual([ends[fault]["outcome"] for fault in ("none", "kill-rank", "redop-mismatch")], ["passes", "died", "wrong-data"])
        killed = ends["kill-rank"]
        self.assertEqual(killed["named"], "rank-killed 1 proved")
        self.assertIn("gone:1", killed["who"])
        self.assertTrue(float(killed["free_s"]) > 0 and float(killed["after_ms"]) > 0, killed)
        hung = next(row for row in rows if row["outcome"] == "hang")
        self.assertTrue(hung["who"] and not hung["ras"], hung)
        errors = [row["detail"] for row in rows if row["outcome"] == "error"]
        self.assertTrue(not errors or any("MPI_ERR" in text for text in errors), errors)
        self.assertFalse((self.place / "out/raw").exists())
        code, out, err = self.atlas()
        self.assertEqual((code, len(self.rows())), (0, len(rows)))

    @built("tests/double/subject")
    def test_any_program(self):
        program = "sh", "-c", f"DOUBLE_DIR=$(mktemp -d) exec {BUILD}/tests/double/subject 3 40"
        code, out, err = self.atlas("--plan", "--transport", "shm", "--ranks", "3", "--faults", "skip-call", "--", *program)
        self.assertEqual(code, 0, out + err)
        code, out, err = self.atlas("--lib", f"double={BUILD}/tests/double/libnccl.so.2", "--jobs", "2", "--", *program)
        rows = self.rows()
        self.assertEqual((code, len(rows)), (0, 8), out + err)
        self.assertEqual({(row["library"], row["outcome"]) for row in rows}, {("double", "hang")})
        self.assertTrue(all(row["named"].startswith("skipped-call 1") and "spins:" in row["who"] for row in rows), rows)

    @built("tests/double/subject")
    def test_fault_that_does_not_strike(self):
        """Of a program that makes too few calls, or none: that says nothing about NCCL."""
        for program in (("sh", "-c", f"DOUBLE_DIR=$(mktemp -d) exec {BUILD}/tests/double/subject 3 1"), ("true",)):
            shutil.rmtree(self.place / "out", ignore_errors=True)
            code, out, err = self.atlas("--transport", "net", "--faults", "skip-call", "--within", "0.5", "--lib",
                                        f"double={BUILD}/tests/double/libnccl.so.2", "--", *program)
            self.assertEqual((code, [row["outcome"] for row in self.rows()]), (0, ["not-fired"]), out + err)

    @built("all_reduce_perf")
    def test_no_gpu(self):
        """A library that does not run here has one line."""
        if os.path.exists("/dev/nvidia0"):
            self.skipTest("there is a GPU")
        (self.place / "out").mkdir()
        with open(self.place / "out/cells-net.csv", "w") as file:
            file.write("round,cell,transport,ranks,fault,keys,collective,size,algo,proto,when,command\n" + "".join(
                f"0,none.0{n},net,4,none,,all_reduce,32K,Ring,LL,-,all_reduce_perf --backend nccl -g 4 --share-gpu\n" for n in (1, 2, 3)))
        (self.place / "lib").touch()
        code, out, err = self.atlas("--lib", f"2.0={self.place}/lib")
        self.assertEqual((code, [row["outcome"] for row in self.rows()]), (0, ["absent"]), out + err)

    def made(self, *ends):
        """atlas.csv of these (library, fault, keys, cell, outcomes of its runs)."""
        (self.place / "out").mkdir(exist_ok=True)
        with open(self.place / "out/atlas.csv", "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([HEAD, *(
                [library, n + 1, cell, "net", 4, fault, keys, "all_reduce", "32K", "Ring", "LL", "warm", outcome]
                for library, fault, keys, cell, outcomes in ends for n, outcome in enumerate(outcomes))])

    ENDS = (("2.9", "size-mismatch", "by=-1", "s.01", ["hang", "hang"]), ("2.30", "size-mismatch", "by=-1", "s.01", ["wrong-data"] * 2),
            ("2.9", "drop-rank", "", "d.01", ["hang", "hang"]), ("2.30", "drop-rank", "", "d.01", ["hang", "hang"]),
            ("2.9", "drop-rank", "", "d.02", ["hang", "error"]), ("2.30", "drop-rank", "", "d.02", ["error", "error"]),
            ("2.9", "root-mismatch", "", "r.01", ["passes"]), ("2.30", "root-mismatch", "", "r.01", ["diverged"]))

    def test_diff(self):
        self.made(*self.ENDS)
        code, out, err = self.atlas("--diff", "2.9", "2.30")
        self.assertEqual(code, 13, out + err)
        self.assertRegex(out, r"(?m)^size-mismatch,by=-1 +net +all_reduce 32K Ring LL warm +hang +wrong-data +now silent$")
        self.assertRegex(out, r"(?m)^1 of 4 cells end otherwise with 2.30 than with 2.9, 1 of them now in wrong data$")
        self.assertEqual(self.atlas("--diff", "2.30", "2.30")[0], 0)
        code, out, err = self.atlas("--diff", "2.30", "2.31")
        self.assertEqual((code, err), (2, "atlas: no cell was run with both 2.30 and 2.31\n"))

    @unittest.skipUnless(shutil.which("gnuplot"), "no gnuplot")
    def test_draw(self):
        self.made(*self.ENDS)
        code, out, err = self.atlas("--draw")
        self.assertEqual((code, err), (0, ""), out)
        fields = {(row["library"], row["fault"]): row["text"] for row in self.rows("map-net")}
        self.assertEqual([fields["2.9", fault] for fault in ("drop-rank", "root-mismatch", "size-mismatch,by=-1")], ["2H/1E*", "1P?", "1H"])
        self.assertEqual(fields["2.30", "root-mismatch"], "1d?")  # D has died
        self.assertEqual([row["library"] for row in self.rows("map-net")[:2]], ["2.9", "2.30"])  # as versions, not as words
        svg = (self.place / "out/atlas-net.svg").read_text()
        for word in ("size-mismatch,by=-1", "2.30", "2H/1E*", "W wrong-data", "d diverged"):
            self.assertIn(f">{word}</", svg)
        self.assertTrue((self.place / "out/atlas-net.png").stat().st_size > 5000)
        self.assertIn("| size-mismatch,by=-1 | hang 1 of 2, wrong-data 1 of 2 |", (self.place / "out/atlas.md").read_text())

    def test_ras(self):
        """What RAS answers: ranks that are behind or silent, with the comma that 2.28.9 forgets; older text; nothing."""
        counts = '{"rank": %d, "status": {"async_error": 0}, "collective_counts": {"AllGather": 0, "AllReduce": %d}}'
        alike, silent = ", ".join(counts % (rank, 7 if rank == 1 else 8) for rank in range(3)), '{"rank": 2, "nvml_dev": 2 "status": {"unresponsive": true}}'
        folder = self.place / "evidence/run"
        folder.mkdir(parents=True)
        for text, said in ((f'{{"ranks": [{alike}]}}', "AllReduce 8 of 0,2; 7 of 1"), (f"[{counts % (0, 3)}, {silent}]", "AllReduce 3 of 0, silent: 2"),
                           ("Job summary\n#0-0 (27a079b8) MISMATCH\n", "#0-0 (27a079b8) MISMATCH"), ("[no answer]", ""), ('"rank": ' * 9000, "")):
            (folder / "ras.txt").write_text(text)
            self.assertEqual(self.module("atlas").ras(self.place), said)

    def test_refused(self):
        for words, why in ((["--lib", "x=/no/lib"], "/no/lib: no such file"), (["--ranks", "1"], "2 or more"), (["--diff", "a"], "expected 2"),
                           (["--transport", "tcp"], "invalid choice"), (["--faults", "["], "--faults [: "),
                           (["--faults", "no-fault", "--", "sh"], "--faults no-fault: no fault")):
            code, out, err = self.atlas(*words)
            self.assertEqual((code, why in err), (2, True), err)
        self.assertEqual(list((self.place / "out").glob("*")), [])  # no plan without a cell
        code, out, err = self.atlas("--draw")
        self.assertEqual((code, "atlas.csv: no rows" in err), (1, True), err)


if __name__ == "__main__":
    unittest.main()
