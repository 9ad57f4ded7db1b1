#!/usr/bin/env python3
"""simulate.py: how often compare.py is wrong, by nights made of recorded launches.

usage: ci/night/simulate.py [--nights N] [--comparisons N] [--effect P] [--base N] [--new N] LAUNCHES

LAUNCHES is a folder of launches of one state of a machine, or a baseline file: at least BASE + NEW of
each program. A night draws whole launches without replacement, so what the sizes of a launch share
stays together, as many programs as make up the comparisons, each with launches of its own. Nothing is
assumed about how times are distributed.

- False alarms: nights in which nothing changed and some point is called slower (or faster).
- Power: one point a night, each in turn, becomes slower by the effect; how often it is called so.
"""
import argparse
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]
import interpreter  # noqa: E402

interpreter.need_libraries()
import numpy as np  # noqa: E402

import compare  # noqa: E402
import rows  # noqa: E402
from tables import table  # noqa: E402


def programs(launches):
    """Per program, a dict Point -> array of its launches' times; points that some launch lacks are left
    out."""
    found = defaultdict(dict)
    for point, times in rows.columns(launches).items():
        found[point.collective, point.mode, point.variant][point] = times
    for points in found.values():
        most = max(len(times) for times in points.values())
        for point in [p for p, times in points.items() if len(times) < most]:
            del points[point]
    return [{p: np.array(t) for p, t in points.items()} for points in found.values()]


def night(recorded, comparisons, n_base, n_new, dice):
    """(base, new) for compare_points: programs in turn until there are that many comparisons; the copies'
    names tell them apart."""
    base, new = {}, {}
    for copy in range(comparisons):
        program = recorded[copy % len(recorded)]
        count = len(next(iter(program.values())))
        drawn = dice.permutation(count)[:n_base + n_new]
        for point, times in program.items():
            if len(base) == comparisons:
                return base, new
            name = point._replace(variant=f"{point.variant}, copy {copy}")
            base[name], new[name] = times[drawn[:n_base]], times[drawn[n_base:]]
    return base, new


def false_alarms(recorded, nights, comparisons, n_base, n_new, seed):
    """Counter: nights in all, with a point called slower, called faster; points by verdict."""
    dice, counts = np.random.default_rng(seed), Counter()
    for _ in range(nights):
        found = Counter(row["verdict"] for row in compare.compare_points(
            *night(recorded, comparisons, n_base, n_new, dice)))
        counts.update(found, nights=1, slower_nights=found["slower"] > 0, faster_nights=found["faster"] > 0)
    return counts


def power(recorded, nights, comparisons, n_base, n_new, effect, seed):
    """Size -> Counter of verdicts of the one point that became slower by `effect` (0.05)."""
    dice, found = np.random.default_rng(seed), defaultdict(Counter)
    for i in range(nights):
        base, new = night(recorded, comparisons, n_base, n_new, dice)
        planted = list(new)[i * 7 % len(new)]  # 7: all sizes in turn, whatever their order
        new[planted] = new[planted] * (1 + effect)
        verdict = next(row["verdict"] for row in compare.compare_points(base, new)
                       if row["variant"] == planted.variant and row["bytes"] == planted.bytes
                       and row["placement"] == planted.placement)
        found[planted.bytes][verdict] += 1
    return dict(sorted(found.items()))


def noise(recorded):
    """Size -> the launches' standard deviation of log time in percent, the median over points."""
    found = defaultdict(list)
    for program in recorded:
        for point, times in program.items():
            found[point.bytes].append(100 * np.log(times).std(ddof=1))
    return {size: float(np.median(values)) for size, values in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("nights", 1000), ("comparisons", 200), ("base", 5), ("new", 5), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--effect", type=float, default=5, metavar="PERCENT")
    parser.add_argument("launches")
    args = parser.parse_args()
    recorded = programs(rows.read_side(args.launches))
    shape = args.nights, args.comparisons, args.base, args.new
    alarms = false_alarms(recorded, *shape, args.seed)
    points = args.nights * args.comparisons
    print(f"{args.nights} nights of {args.comparisons} comparisons in which nothing changed, {args.base} launches "
          f"against {args.new}:\nslower in {alarms['slower_nights']} nights, faster in {alarms['faster_nights']}; "
          f"{100 * alarms['same'] / points:.1f} % of comparisons the same, "
          f"{100 * alarms['cannot-tell'] / points:.1f} % cannot tell\n")
    found, spread = power(recorded, *shape, args.effect / 100, args.seed + 1), noise(recorded)
    verdicts = "slower", "cannot-tell", "same", "faster"
    print(f"One point of them slower by {args.effect:g} %, percent of nights:")
    print(table(["size", "noise %", "nights", *verdicts], [
        [rows.human(size), f"{spread[size]:.2f}", sum(c.values()),
         *(f"{100 * c[v] / sum(c.values()):.1f}" for v in verdicts)] for size, c in found.items()]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
