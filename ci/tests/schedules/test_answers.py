"""test_answers.py: a few schedules of answers.py: live and as dumps they get the same answer, and a healthy one none; of verified.py:
hang_verify tells whether they end, and names no innocent rank."""
import argparse
import collections
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# pylint: disable-next=wrong-import-position
from answers import BUILD, judge, run_all
from generate import EDITS, Play, generate, write_dumps
from verified import run

SEED, COUNT = 501, 20


class Answers(unittest.TestCase):
    def test_alike(self):
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            table, wrong = run_all(SEED, COUNT, 5, (3, 6))
        self.assertEqual((len(table), wrong), (COUNT, 0), told.getvalue())
        for column in (1, 2):
            counts = collections.Counter(r[column] for r in table)
            self.assertFalse(counts["innocent"] or counts["alarm"], told.getvalue())

    def test_ended_or_idle(self):
        """A dump does not tell an idle rank from one that has come to its end: a send too many names its partner at most as one of two."""
        for number in (31, 37):
            play = Play(generate(99173, number))
            with tempfile.TemporaryDirectory() as folder:
                write_dumps(play, folder, True)
                done = subprocess.run([os.path.join(BUILD, "hang_diagnose"), "-n", "--json", "--torch", folder], stdout=subprocess.PIPE, check=False)
            said = json.loads(done.stdout)
            self.assertEqual((said["outcome"], said["confidence"]), ("hang", "inconclusive"), (number, said))
            self.assertIn(str(play.schedule.guilty[0]), said["pair"], number)

    def test_verified(self):
        args = argparse.Namespace(seed=SEED, ranks="3-8", edits="none," + ",".join(EDITS))
        with tempfile.TemporaryDirectory() as folder:
            for number in range(60):
                _, play, answer, end = run(args, number, folder)
                self.assertEqual(end, "ok", (number, answer))
                self.assertNotIn(judge(play.schedule, answer), ("innocent", "alarm"), (number, answer))


if __name__ == "__main__":
    unittest.main()
