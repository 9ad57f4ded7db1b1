"""test_nccl_causes.py: a log fits each row of nccl_causes.txt, or the row stands in the list of those that no log was found for."""
import glob
import re
import unittest

TABLE = "common/host/nccl_log/nccl_causes.txt"
LOGS = "ci/tests/data/logs"
UNSEEN = "ci/tests/data/causes_unseen.txt"


def lines(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().splitlines()


class Causes(unittest.TestCase):
    def setUp(self):
        rows = [re.split(r" \|(?: |$)", line) for line in lines(TABLE) if line.strip() and not line.startswith("#")]
        self.patterns = [row[1].strip() for row in rows if len(row) > 1]
        self.unseen = [line for line in lines(UNSEEN) if not line.startswith("#")]

    def test_seen(self):
        text = "\n".join(line for path in glob.glob(LOGS + "/**/*.log", recursive=True) + glob.glob("ci/tests/nccl_log/*.[ch]") for line in lines(path))
        seen = {pattern for pattern in self.patterns if re.search(pattern, text)}
        for pattern in self.patterns:
            self.assertTrue(pattern in seen or pattern in self.unseen,
                            f"{TABLE}: no line of a log fits '{pattern}': put a log into {LOGS}/, and its row into {LOGS}/expected.txt")
        for pattern in self.unseen:
            self.assertIn(pattern, self.patterns, f"{UNSEEN}: no row of {TABLE} has this pattern: take it out")
            self.assertNotIn(pattern, seen, f"{UNSEEN}: a log fits this pattern now: take it out")

    def test_expected(self):
        rows = [line.split("|")[0].strip() for line in lines(LOGS + "/expected.txt")]
        for path in glob.glob(LOGS + "/**/*.log", recursive=True):
            self.assertIn(path[len(LOGS) + 1:], rows, f"{LOGS}/expected.txt has no row of this log")


if __name__ == "__main__":
    unittest.main()
