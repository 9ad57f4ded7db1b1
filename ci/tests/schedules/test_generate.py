"""test_generate.py: the schedules of generate.py: healthy ones end, edits are known, dumps and text say the same."""
import collections
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# pylint: disable-next=wrong-import-position
from generate import EDITS, Call, Play, Schedule, dump, generate, is_transfer, text


def play(lists, stream="one", ahead=-1, groups=None):
    """Plays lists of the short form of facts: s1 = send to 1, r0 = receive from 0, A = all_reduce on group 0, B on group 1."""
    s = Schedule("both", groups or [list(range(len(lists)))], stream, ahead)
    of = {"s": "send", "r": "recv"}
    s.ranks = [[Call(of[x[0]], 0, 8, int(x[1:])) if x[0] in of else Call("all_reduce", ord(x) - ord("A"), 8, -1)
                for x in words.split(",")] for words in lists]
    return Play(s)


def states(played):
    """A word a rank, a letter a call: c, s, . = completed, started, scheduled."""
    return ["".join({"completed": "c", "started": "s", "scheduled": "."}[e["state"]] for e in dump(played, r, True)["entries"])
            for r in range(played.schedule.n)]


class Generated(unittest.TestCase):
    def test_played(self):
        two = [[0, 1], [0, 1]]
        for lists, how, wanted in (
                (["s1,A", "r0,s2,A", "r1,A"], {}, ["cc", "ccc", "cc"]),
                (["s1,s1", "r0,s2,r0,s2", "r1,r1,r1"], {}, ["cc", "cccc", "ccs"]),
                (["s1,A", "A,r0"], {}, ["s.", "s."]),
                (["s1,A", "A,r0"], {"ahead": 0}, ["s", "s"]),
                (["A,B", "B,A"], {"groups": two}, ["s.", "s."]),
                (["A,B", "B,A"], {"groups": two, "stream": "group"}, ["cc", "cc"]),
                (["A,B", "B,A"], {"groups": two, "stream": "group", "ahead": 0}, ["s", "s"])):
            with self.subTest(lists=lists, **how):
                self.assertEqual(states(play(lists, **how)), wanted)

    def test_truth(self):
        met = collections.Counter()
        for number in range(240):
            s = generate(7, number)
            played = Play(s)
            met[s.edit, played.stands()] += 1
            if s.edit == "none":
                self.assertFalse(played.stands() or s.guilty or s.beside, number)
                continue
            healthy = generate(7, number, edits=("none",))
            self.assertEqual([r for r in range(s.n) if s.ranks[r] != healthy.ranks[r]], s.guilty)
            self.assertFalse(set(s.guilty) & set(s.beside))
        self.assertEqual({edit for edit, stands in met if stands}, set(EDITS))

    def test_dump(self):
        for number in range(60):
            played = Play(generate(3, number))
            lines = [line.split() for line in text(played).splitlines() if line.startswith("rank ")]
            for rank, words in enumerate(lines):
                entries = dump(played, rank, False)["entries"]
                calls = [word.split("/") for word in words[2:]]
                self.assertEqual([e["process_group"][0] for e in entries], [c[1] for c in calls][:len(entries)])
                for e, p in zip(entries, played.calls[rank]):
                    self.assertEqual(e["is_p2p"], is_transfer(p.call))
                    self.assertEqual(e["state"] == "completed", p.over >= 0)
                for group in {e["process_group"] for e in entries}:
                    seqs = [e["op_id"] for e in entries if e["process_group"] == group]
                    self.assertEqual(seqs, list(range(1, len(seqs) + 1)))


if __name__ == "__main__":
    unittest.main()
