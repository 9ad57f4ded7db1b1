"""test_schedule_torch.py: what `hangar schedule` makes of recorded ranks; nothing here needs torch."""
import contextlib
import importlib.util
import io
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("BUILD", TOP / "build"))
SPEC = importlib.util.spec_from_file_location("schedule_torch", TOP / "faults/verify/schedule_torch.py")
recorder = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(recorder)
MESH = {"dp": 3, "pp": 2}  # rank = 2 dp + pp


def call(kind, group=0, count=8, peer=None, dtype="float", op=None, line=""):
    return [kind, group, count, peer, dtype, op, line]


def stage(dp, pp):
    """A rank of a pipeline of two stages, and of the sum over its three copies."""
    world, pair, copies = [*range(6)], [2 * dp, 2 * dp + 1], [pp, 2 + pp, 4 + pp]
    move = call("send", 1, peer=1) if pp == 0 else call("recv", 1, peer=0)
    return {"groups": [[world, 0], [pair, 0], [copies, 0]],
            "calls": [move, call("all_reduce", 2, op="sum"), call("broadcast", 2, peer=1), call("all_reduce", 0, 1, op="max", line="a.py:3")]}


class Text(unittest.TestCase):
    def verify(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(text)
            file.flush()
            done = subprocess.run([BUILD / "hang_verify", file.name], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_ranges(self):
        for numbers, text in (([0], "0"), ([2, 1, 0], "0-2"), ([0, 2, 3, 9], "0,2-3,9"), ([], "")):
            self.assertEqual(recorder.ranges(numbers), text)

    def test_words(self):
        for one, text in ((call("all_reduce", op="sum"), "all_reduce//8"), (call("all_reduce", op="avg", line="a.py:1"), "all_reduce//8/-/float/avg@a.py:1"),
                          (call("send", 1, peer=0, dtype="half"), "send/tp/8/0/half"), (call("broadcast", peer=1), "broadcast//8/1"), ("(", "(")):
            self.assertEqual(recorder.word(one, ["", "tp"]), text)

    def test_parts_keep_groups_of_calls(self):
        words = ["a"] * 7 + ["(", "b", "b", ")"] + ["c"] * 9
        self.assertEqual([len(part) for part in recorder.parts_of(words)], [11, 8, 1])
        self.assertEqual(recorder.parts_of([]), [[]])

    def test_is_read(self):
        made = {2 * dp + pp: stage(dp, pp) for dp in range(3) for pp in range(2)}
        text = recorder.text_of(6, made)
        code, said = self.verify(text)
        self.assertEqual((code, said.splitlines()[0]), (0, "completes: 6 ranks, 24 calls"), text + said)
        made[5]["calls"].pop(1)
        code, said = self.verify(recorder.text_of(6, made))
        self.assertEqual(code, 10, said)
        self.assertRegex(said, "(?m)^culprit: rank 5 ")

    def test_two_groups_of_the_same_ranks(self):
        made = {rank: {"groups": [[[0, 1], 0], [[0, 1], 1]], "calls": [call("all_reduce", rank), call("all_reduce", 1 - rank)]} for rank in (0, 1)}
        text = recorder.text_of(2, made)
        self.assertIn("group g0 0,1\n", text)
        self.assertIn("all_reduce/g0/8 all_reduce//8", text)


class Sample(unittest.TestCase):
    def test_stands(self):
        stands, last = recorder.sampled(MESH, ["dp"])
        self.assertEqual((stands, last), ({0: 0, 1: 1, 2: 0, 3: 1, 4: 0, 5: 1}, {0: 4, 1: 5}))
        stands, last = recorder.sampled(MESH, ["dp", "pp"])
        self.assertEqual((set(stands.values()), last), ({0}, {0: 5}))

    def test_moved(self):
        """Groups and partners go along; a root is the same place."""
        for rank in range(6):
            dp, pp = rank // 2, rank % 2
            self.assertEqual(recorder.moved(stage(0, pp), MESH, pp, rank), stage(dp, pp))

    def test_sends_along_the_sample(self):
        """A ring over dp: the partner moves, too."""
        def ring(dp):
            return {"groups": [[[0, 2, 4], 0]], "calls": [call("send", peer=(dp + 1) % 3), call("recv", peer=(dp + 2) % 3)]}
        for dp in range(3):
            self.assertEqual(recorder.moved(ring(0), MESH, 0, 2 * dp), ring(dp))

    def test_unlike_ends(self):
        made = {0: stage(0, 0), 4: stage(2, 0)}
        recorder.compared(6, made, MESH, {0: 4})
        self.assertEqual(list(made), [0])
        other = stage(2, 0)
        other["calls"][1][2] = 9
        with self.assertRaisesRegex(recorder.Refused, r"ranks 0 and 4 are not alike \(all_reduce/g1/8, all_reduce/g1/9\)"):
            recorder.compared(6, {0: stage(0, 0), 4: other}, MESH, {0: 4})


class Program(unittest.TestCase):
    def test_usage(self):
        for words, why in (([], "required"), (["--world", "0", __file__], "1 or more"), (["--world", "8", "/none.py"], "no such file"),
                           (["--world", "8", "--mesh", "dp=3", __file__], "--mesh has 3 ranks, --world 8"),
                           (["--world", "8", "--mesh", "dp", __file__], "NAME=N"), (["--world", "8", "--mesh", "dp=8", "--sample", "tp", __file__], "parts of --mesh")):
            said = io.StringIO()
            with self.assertRaises(SystemExit) as end, contextlib.redirect_stderr(said):
                recorder.options(words)
            self.assertEqual(end.exception.code, 2)
            self.assertIn(why, said.getvalue())

    def test_without_torch(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "torch.py").write_text("raise ImportError\n")
            done = subprocess.run(["python3", TOP / "faults/verify/schedule_torch.py", "--world", "2", __file__], capture_output=True, text=True, check=False,
                                  env={**os.environ, "PYTHONPATH": folder})
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("has no torch: pip install torch", done.stderr)


if __name__ == "__main__":
    unittest.main()
