"""test_answers.py: a few schedules of answers.py: live and as dumps they get the same answer, and a healthy one none; of verified.py:
hang_verify tells whether they end, and names no innocent rank."""
import argparse
import collections
import contextlib
import io
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# pylint: disable-next=wrong-import-position
from answers import judge, run_all
from generate import EDITS
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

    def test_verified(self):
        args = argparse.Namespace(seed=SEED, ranks="3-8", edits="none," + ",".join(EDITS))
        with tempfile.TemporaryDirectory() as folder:
            for number in range(60):
                _, play, answer, end = run(args, number, folder)
                self.assertEqual(end, "ok", (number, answer))
                self.assertNotIn(judge(play.schedule, answer), ("innocent", "alarm"), (number, answer))


if __name__ == "__main__":
    unittest.main()
