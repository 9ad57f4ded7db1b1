#!/usr/bin/env python3
"""arrivals: how late each rank came to each sampled call, of a trace that hangar_run --trace wrote, as CSV for plots/arrivals.gp.

usage: arrivals.py TRACE.json     exit 1: no call in it says who waited

A rank is as late to a call as the median rank waited longer than it. Of the communicator with most such calls; where they
are more than COLUMNS, neighbours share a column, which has their mean, and where ranks are more than LANES, neighbours
share a lane, which has the latest of them. What is later than 1.5 times the mean of the latest rank is that late."""
import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median_high

COLUMNS, LANES = 400, 128


def calls_of(events):
    """{communicator: {call: {rank: waited us}}}."""
    calls = defaultdict(lambda: defaultdict(dict))
    for event in events:
        if event.get("ph") != "X":
            continue
        ranks, rank = calls[event["args"]["communicator"]][int(event["args"]["call"])], int(event["tid"])
        ranks[rank] = ranks.get(rank, 0.0) + (float(event["dur"]) if event["name"].startswith("waits in ") else 0.0)
    return calls


def lateness(calls):
    """The calls of one communicator in order, {rank: late us}; those in which nobody waits say nothing."""
    found = []
    for call, ranks in sorted(calls.items()):
        if len(ranks) > 1 and max(ranks.values()) > 0:
            usual = median_high(ranks.values())
            found.append((call, {rank: max(usual - waited, 0.0) for rank, waited in ranks.items()}))
    return found


def cells(late):
    """(column, first call, first rank of the lane, late us) of each cell."""
    per, per_lane = -(-len(late) // COLUMNS), 1 + max(max(ranks) for _, ranks in late) // LANES
    found, means = [], defaultdict(list)
    for column, start in enumerate(range(0, len(late), per)):
        sums, lanes = defaultdict(list), defaultdict(float)
        for _, ranks in late[start:start + per]:
            for rank, us in ranks.items():
                sums[rank].append(us)
        for rank, values in sums.items():
            mean, lane = sum(values) / len(values), rank // per_lane * per_lane
            lanes[lane] = max(lanes[lane], mean)
            means[rank].append(mean)
        found += [(column, late[start][0], lane, us) for lane, us in sorted(lanes.items())]
    top = 1.5 * max(sum(values) / len(values) for values in means.values())
    return [(*cell[:3], min(cell[3], top)) for cell in found]


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        calls = calls_of(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["traceEvents"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        print(f"{sys.argv[1]}: no trace: {error}", file=sys.stderr)
        return 1
    late = max(map(lateness, calls.values()), key=len, default=[])
    if not late:
        print(f"{sys.argv[1]}: no call in it says who waited", file=sys.stderr)
        return 1
    print("column,call,rank,late_us")
    for column, call, rank, us in cells(late):
        print(f"{column},{call},{rank},{us:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
