#!/usr/bin/env python3
"""answers.py: the same schedules live, over the doubles, and as Flight Recorder dumps: do both get the same answer, and the right one?

usage: ci/tests/schedules/answers.py [--seed 1] [--count 300] [--jobs 6] [--ranks 3-16] [--csv FILE]

Needs build/hangar_run, build/hang_diagnose and build/tests/double/schedule (BUILD names another folder). Writes a line for each
schedule on which the two differ, then a table; --csv: a line for each. Exit 1 where a healthy one is called broken, live and dump
name other ranks, or they differ although all ranks wait and the dump's answer is no inconclusive one.

How live and dump agree: "same": in class and ranks; "class": in ranks alone; "open": one of them names no rank; "other": they name
other ranks. Who is named: "right": the guilty one alone; "pair": none, and the pair or the sides have it; "none"; "partner":
ranks that the evidence cannot clear; "innocent".
"""
import argparse
import collections
import concurrent.futures
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# pylint: disable-next=wrong-import-position
from generate import Play, generate, row, text, write_dumps, COLUMNS

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
BUILD = os.environ.get("BUILD", os.path.join(TOP, "build"))
LIMIT = 60  # s of one run
Answer = collections.namedtuple("Answer", "outcome name ranks confidence pair sides")
OK = Answer("ok", "ok", "-", "", "", "")


def sides_of(printed):
    return " ".join(re.findall(r"\b[Rr]ank \d+(?= made )", printed))


def live_answer(printed):
    """The first verdict: what follows is that the job is killed. None: there is none."""
    line = re.search(r"verdict: (outcome=.*)", printed)
    said = dict(re.findall(r"(\w+)=(\S+)", line.group(1))) if line else None
    return said and Answer(said["outcome"], said["class"], said["ranks"], said["confidence"], said.get("pair", ""), sides_of(printed))


def dump_answer(folder, printed):
    """What verdict.json in the folder says; None: there is none."""
    path = os.path.join(folder, "verdict.json")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        v = json.load(file)
    return Answer(v["outcome"], v["class"], v["ranks"], v["confidence"], v["pair"] or "", sides_of(printed))


def run_live(play, folder):
    """Plays it with hangar_run. No verdict, and an end with 0: it is well."""
    name, out, meet = (os.path.join(folder, x) for x in ("schedule.txt", "live", "meet"))
    os.mkdir(meet)
    with open(name, "w", encoding="utf-8") as file:
        file.write(text(play))
    env = dict(os.environ, DOUBLE_DIR=meet, DOUBLE_ID="schedule", LD_LIBRARY_PATH=os.path.join(BUILD, "tests/double"))
    done = subprocess.run([os.path.join(BUILD, "hangar_run"), "--wait", "--quiet", "--timeout", "1.5", "--on-hang=kill", "--out", out,
                           "--", os.path.join(BUILD, "tests/double/schedule"), name], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=LIMIT, universal_newlines=True, check=False)
    found = live_answer(done.stdout)
    return found or (OK if done.returncode == 0 else Answer("none", "none", "-", "", "", ""))


def run_dumps(play, folder, timed):
    dumps = os.path.join(folder, "dumps")
    write_dumps(play, dumps, timed)
    done = subprocess.run([os.path.join(BUILD, "hang_diagnose"), "--torch", dumps], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=LIMIT, universal_newlines=True, check=False)
    return dump_answer(dumps, done.stdout) or Answer("none", "none", "-", "", "", "")


def numbers(words):
    return {int(n) for n in re.findall(r"\d+", words)}


def judge(schedule, answer):
    """Who is named, against the truth."""
    guilty, named = set(schedule.guilty), numbers(answer.ranks)
    if schedule.edit == "none":
        return "quiet" if answer.outcome == "ok" else "alarm"
    if not named:
        return "quiet" if answer.outcome == "ok" else \
            "pair" if guilty & numbers(answer.pair + " " + answer.sides) else "none"
    return "right" if named == guilty else "among" if named & guilty else \
        "partner" if named <= set(schedule.beside) else "innocent"


def compare(live, dump):
    if live[:3] == dump[:3]:
        return "same"
    if live.ranks == dump.ranks:
        return "class" if live.ranks != "-" else "open"
    return "open" if "-" in (live.ranks, dump.ranks) else "other"


def all_wait(play):
    """Whether no rank comes to the end of its calls, so that no process ends."""
    return all(len(made) < len(calls) or any(p.over < 0 for p in made)
               for made, calls in zip(play.calls, play.schedule.ranks))


def is_wrong(play, live, dump):
    agree = compare(live, dump)
    return "alarm" in (judge(play.schedule, live), judge(play.schedule, dump)) or agree == "other" or \
        (agree != "same" and all_wait(play) and dump.confidence != "inconclusive")


def run(seed, number, ranks):
    play = Play(generate(seed, number, ranks=ranks))
    with tempfile.TemporaryDirectory() as folder:
        return number, play, run_live(play, folder), run_dumps(play, folder, number % 2 == 0)


def tell(number, play, live, dump):
    s = play.schedule
    print("%d: %s, %s@%d in %s, %s: live %s; dump %s: %s" %
          (number, s.calls_of, s.edit, s.at, s.guilty, "all wait" if all_wait(play) else "some end",
           " ".join(filter(None, live[:5])), " ".join(filter(None, dump[:5])), compare(live, dump)))


def print_table(rows, titles=("live", "dumps", "live and dumps")):
    """rows: what kind of schedule, then, by the titles: how it was judged live and by dumps, how these agree."""
    for column, title in enumerate(titles, 1):
        print(title)
        for kind in sorted({r[0] for r in rows}):
            counts = collections.Counter(r[column] for r in rows if r[0] == kind)
            print("  %-22s %4d: %s" % (kind, sum(counts.values()), ", ".join("%d %s" % (n, what) for what, n in counts.most_common())))


def kind_of(play):
    s = play.schedule
    return s.calls_of + (", healthy" if s.edit == "none" else "" if play.stands() else ", ends all the same")


def run_all(seed, count, jobs, ranks, rows=None):
    """Returns what print_table takes, and how many are wrong, once more alone too: a starved rank is late. rows: a csv.writer."""
    table, wrong = [], []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for number, play, live, dump in pool.map(lambda n: run(seed, n, ranks), range(count)):
            agree, bad = compare(live, dump), is_wrong(play, live, dump)
            table.append((kind_of(play), judge(play.schedule, live), judge(play.schedule, dump), agree))
            wrong += [number] * bad
            if agree != "same" or bad:
                print("WRONG " if bad else "", end="")
                tell(number, play, live, dump)
            if rows:
                rows.writerow(row(number, play, number % 2 == 0) + [int(all_wait(play)), *live[:5], *dump[:5], *table[-1][1:]])
    return table, sum(is_wrong_again(seed, number, ranks) for number in wrong)


def is_wrong_again(seed, number, ranks):
    played = run(seed, number, ranks)
    print("again, alone: ", end="")
    tell(*played)
    return is_wrong(*played[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--ranks", default="3-16")
    parser.add_argument("--csv")
    args = parser.parse_args()
    least, _, most = args.ranks.partition("-")
    with open(args.csv or os.devnull, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(COLUMNS + "all_wait".split() + ["%s_%s" % (way, what) for way in ("live", "dump")
                                                     for what in "outcome class ranks confidence pair".split()] +
                      "live_judged dump_judged agree".split())
        table, wrong = run_all(args.seed, args.count, args.jobs, (int(least), int(most or least)), rows)
    print_table(table)
    print("%d of %d are wrong" % (wrong, args.count))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
