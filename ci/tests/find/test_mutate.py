"""test_mutate.py: no row of the table of rules can be taken out without a test of diagnosis that fails."""
# timeout: 300
import os
import subprocess
import unittest

MUTATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mutate")


class Mutate(unittest.TestCase):
    def test_each_row_is_missed(self):
        run = subprocess.run([MUTATE], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, "\n".join(line for line in run.stdout.splitlines() if "NOT MISSED" in line) + run.stderr)
        self.assertRegex(run.stdout, r"\n[1-9]\d* rows taken out, 0 missed by no test\n$")


if __name__ == "__main__":
    unittest.main()
