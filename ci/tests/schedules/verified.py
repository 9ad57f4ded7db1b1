#!/usr/bin/env python3
"""verified.py: what hang_verify says of schedules, against the truth.

usage: ci/tests/schedules/verified.py [--seed 1] [--count 300] [--jobs 2] [--ranks 3-16] [--edits LIST] [--csv FILE]

Needs build/hang_verify (BUILD names another folder). Writes a line for each schedule whose end is told wrongly, or of which an
innocent rank is named, then a table. The words are those of answers.py. Exit 1 where "completes or stands still" is wrong.
"""
import argparse
import collections
import concurrent.futures
import csv
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# pylint: disable-next=wrong-import-position
from answers import BUILD, LIMIT, Answer, judge, kind_of, print_table, sides_of
from generate import EDITS, Play, generate, row, text, COLUMNS


def verify(play, folder, number):
    """The answer, and the exit code."""
    name = os.path.join(folder, "%d.txt" % number)
    with open(name, "w", encoding="utf-8") as file:
        file.write(text(play))
    done = subprocess.run([os.path.join(BUILD, "hang_verify"), "--json", name], stdout=subprocess.PIPE, timeout=LIMIT, check=False)
    v = json.loads(done.stdout)
    return Answer(v["outcome"], v["class"], v["ranks"], v["confidence"], v["pair"] or "", sides_of(" ".join(v["lines"]))), done.returncode


def run(args, number, folder):
    least, _, most = args.ranks.partition("-")
    play = Play(generate(args.seed, number, edits=args.edits.split(","), ranks=(int(least), int(most or least))))
    answer, code = verify(play, folder, number)
    return number, play, answer, "ok" if (code == 10) == play.stands() and code in (0, 10) else "WRONG END"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--ranks", default="3-16")
    parser.add_argument("--edits", default="none," + ",".join(EDITS))
    parser.add_argument("--csv")
    args = parser.parse_args()
    table = []
    with open(args.csv or os.devnull, "w", newline="", encoding="utf-8") as file, tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(COLUMNS + "outcome class ranks confidence pair judged end".split())
        for number, play, answer, end in pool.map(lambda n: run(args, n, folder), range(args.count)):
            judged = judge(play.schedule, answer)
            table.append((kind_of(play), judged, end))
            rows.writerow(row(number, play, False) + [*answer[:5], judged, end])
            if end != "ok" or judged in ("innocent", "alarm"):
                print("%d: %s, %s@%d in %s: %s: %s, %s" % (number, play.schedule.calls_of, play.schedule.edit, play.schedule.at,
                                                          play.schedule.guilty, " ".join(filter(None, answer[:5])), judged, end))
    print_table(table, ("named", "end"))
    sys.exit(1 if any(end != "ok" for _, _, end in table) else 0)


if __name__ == "__main__":
    main()
