"""compare.py: launches of BASE beside launches of NEW: slower, faster, same, or cannot tell.

The unit is the launch: a point's value in a launch is its median there. Three things have to agree
before a point is called slower or faster:

- the rank test (Mann-Whitney) orders its launches: p at most RANK_P;
- of all points, no random exchange of BASE's and NEW's launches makes one as extreme, but for ALPHA
  of the exchanges (Westfall and Young's step-down maximum: it corrects for the number of points and
  keeps what sizes of one launch have in common; `p` of a row);
- the 95 % bootstrap interval of the ratio of medians lies beyond the minimum effect.

"Same" is an interval within the minimum effect; everything else is "cannot tell". No distribution is
assumed. ci/night/simulate.py shows what that comes to on recorded launches.
"""
import math
from collections import defaultdict
from itertools import groupby

import numpy as np

import rows as launches_of
from rows import human

ALPHA = 0.005      # false alarms, a direction and comparison of all points
RANK_P = 0.05      # for one point by itself
MIN_LAUNCHES = 5   # fewer permit no conclusion
MIN_EFFECT = 0.02
RESAMPLES = 1999
EXCHANGES = 9999   # all of them where there are no more
MANY = 1000        # more launches than any night has
MEDIAN_ERROR = 1.2533  # standard error of a median over that of a mean
SMALL_SAMPLE = 1.2     # a median absolute deviation of ten is that much too small
APART = ", ranks apart"  # of a mode: the figure is not a time
LONG, LONGEST = 1.5, 2  # times as long: most points of a collective, one point
FLOOR = 0.002      # of the standard error, as a ratio: keeps accidental quiet from looking like certainty

COLUMNS = ("collective", "bytes", "mode", "placement", "unit", "base_median", "new_median", "ratio", "low", "high",
           "p", "base_launches", "new_launches", "launches_needed", "verdict", "min_effect", "ceiling_percent",
           "ceiling_moved", "vendor_percent", "vendor_moved", "text", "variant", "rank_p")


# ---- statistics over many points with the same numbers of launches: arrays of points x launches ----

def _middle(logs):
    """Mean without the lowest and the highest tenth, the squares that go with it (Yuen), how many are left."""
    logs = np.sort(logs, axis=-1)
    cut, n = logs.shape[-1] // 10, logs.shape[-1]
    kept = np.clip(logs, logs[..., cut:cut + 1], logs[..., n - cut - 1:n - cut])
    return logs[..., cut:n - cut].mean(axis=-1), kept.var(axis=-1) * n, n - 2 * cut


def scipy_stats():
    """The module, which takes a third of a second to load: a night without a baseline needs none of it."""
    from scipy import stats
    return stats


def distance(base, new, axis=-1):
    """Difference of the trimmed means of log times over its standard error; launches along the last axis."""
    (low, squares, n), (high, others, m) = _middle(base), _middle(new)
    return (high - low) / (np.sqrt((squares + others) / (n + m - 2) * (1 / n + 1 / m)) + FLOOR)


def exchanged(base, new, seed):
    """Distances of all points for each exchange of launches, exchanges x points; all points are exchanged
    alike."""
    found = scipy_stats().permutation_test((base, new), distance, vectorized=True, n_resamples=EXCHANGES, batch=200,
                                   axis=-1, random_state=seed)
    null = np.asarray(found.null_distribution)
    everyone = len(null) == math.comb(base.shape[-1] + new.shape[-1], base.shape[-1])
    return null if everyone else np.concatenate([null, distance(base, new)[None]])


def ratio_of_medians(base, new, axis=-1):
    return np.median(new, axis=axis) / np.median(base, axis=axis)


def interval(base, new, seed, confidence=0.95):
    """(low, high) of the ratio of medians for each point."""
    found = scipy_stats().bootstrap((base, new), ratio_of_medians, vectorized=True, n_resamples=RESAMPLES, batch=200, axis=-1,
                            confidence_level=confidence, method="percentile", random_state=seed)
    return found.confidence_interval.low, found.confidence_interval.high


class Family:
    """Points with the same numbers of launches on both sides."""

    def __init__(self, points, base, new, seed):
        self.points = points
        self.base, self.new = (np.array([side[p] for p in points], dtype=float) for side in (base, new))
        logs = np.log(self.base), np.log(self.new)
        self.distance = distance(*logs)
        self.null = exchanged(*logs, seed)
        self.low, self.high = interval(self.base, self.new, seed)
        # "auto" leaves the exact test for all points when one of them has a tie.
        exact = max(self.base.shape[-1], self.new.shape[-1]) <= 50
        self.rank_p = scipy_stats().mannwhitneyu(self.base, self.new, axis=-1, method="exact" if exact else "asymptotic").pvalue

    def exceeded(self, sign, limits):
        """Share of exchanges in which one of the points that are at most as extreme as the limit reaches
        it, for each limit; `sign` 1 looks for slower points, -1 for faster ones."""
        order = np.argsort(sign * self.distance)
        highest = np.maximum.accumulate(sign * self.null[:, order], axis=1)
        members = np.searchsorted(sign * self.distance[order], limits + 1e-9, side="right")
        shares = np.zeros(len(limits))
        for i in np.flatnonzero(members):
            shares[i] = np.mean(highest[:, members[i] - 1] >= limits[i] - 1e-9)
        return shares


def corrected(families, sign):
    """Adjusted p of each family's points, step by step from the most extreme one. Families were measured by
    launches of their own: their maxima are independent."""
    limits = np.concatenate([sign * f.distance for f in families])
    kept = np.ones(len(limits))
    for family in families:
        kept *= 1 - family.exceeded(sign, limits)
    order = np.argsort(-limits)
    adjusted = np.empty(len(limits))
    adjusted[order] = np.maximum.accumulate((1 - kept)[order])
    return np.split(adjusted, np.cumsum([len(f.points) for f in families])[:-1])


# ---- one point's verdict ----

def needed(base, new, limit):
    """Launches a side at which a point this noisy permits a conclusion, roughly: a median's interval shrinks
    with the square root of their number. `limit` is the minimum effect as a logarithm; differences nearer
    to it than half of it are not asked for."""
    have = min(len(base), len(new))
    if have < MIN_LAUNCHES:
        return MIN_LAUNCHES
    logs = [np.log(side) for side in (base, new)]
    away = max(abs(abs(np.median(logs[1]) - np.median(logs[0])) - limit), limit / 2)
    rest = np.concatenate([side - np.median(side) for side in logs])
    noise = SMALL_SAMPLE * scipy_stats().median_abs_deviation(rest, center=lambda x, axis: 0.0, scale="normal")
    return max(have + 1, math.ceil(2 * (1.96 * MEDIAN_ERROR * noise / away) ** 2))


def decide(row, slower_p, faster_p, min_effect):
    """The verdict of a point with enough launches."""
    above = row["low"] > 1 + min_effect
    below = row["high"] < 1 / (1 + min_effect)
    ordered = row["rank_p"] <= RANK_P
    if above and ordered and slower_p <= ALPHA:
        return "slower"
    if below and ordered and faster_p <= ALPHA:
        return "faster"
    if row["low"] > 1 / (1 + min_effect) and row["high"] < 1 + min_effect:
        return "same"
    return "cannot-tell"


def _percent(value):
    return f"{value:.1f}".removesuffix(".0") if abs(value) < 10 else f"{value:.0f}"


def sentence(row):
    """The verdict for people: "slower by 4 to 6 %"."""
    verdict, low, high = row["verdict"], row["low"], row["high"]
    if verdict == "slower" and low >= 1.5:
        return f"slower by a factor of {low:.3g} to {high:.3g}"
    if verdict == "slower":
        return f"slower by {_percent(100 * (low - 1))} to {_percent(100 * (high - 1))} %"
    if verdict == "faster":
        return f"faster by {_percent(100 * (1 - high))} to {_percent(100 * (1 - low))} %"
    if verdict == "same":
        return f"same within {_percent(100 * row['min_effect'])} %"
    if verdict == "cannot-tell":
        n = row["launches_needed"]
        return f"cannot tell (would need {n if n <= MANY else f'more than {MANY}'} launches)"
    return {"new": "only in NEW", "gone": "only in BASE"}[verdict]


# ---- comparing ----

def _blank(point, base, new, min_effect):
    row = dict.fromkeys(COLUMNS)
    row.update(collective=point[0], bytes=point[1], mode=point[2], placement=point[3], unit="us",
               base_launches=len(base), new_launches=len(new), min_effect=min_effect,
               variant=point[4] if len(point) > 4 else "")
    if len(base):
        row["base_median"] = float(np.median(base))
    if len(new):
        row["new_median"] = float(np.median(new))
    if len(base) and len(new):
        row["ratio"] = row["new_median"] / row["base_median"]
    row["verdict"] = "gone" if not len(new) else "cannot-tell" if len(base) else "new"
    return row


def _families(base, new, seed):
    sizes = defaultdict(list)
    for point in base:
        if min(len(base[point]), len(new.get(point, ()))) >= MIN_LAUNCHES:
            sizes[len(base[point]), len(new[point])].append(point)
    return [Family(points, base, new, seed) for points in sizes.values()]


def compare_points(base, new, min_effect=MIN_EFFECT, seed=1):
    """Rows, one per point of either side, in BASE's order: dicts of COLUMNS with None where nothing is known.
    `base`, `new`: {Point or (collective, bytes, mode, placement): [median time of each launch]}, in the order
    of the launches; larger is slower. The same input gives the same rows."""
    found = {p: _blank(p, base.get(p, ()), new.get(p, ()), min_effect) for p in [*base, *new]}
    families = _families(base, new, seed)
    both = [corrected(families, sign) for sign in (1, -1)] if families else []
    for i, family in enumerate(families):
        for k, point in enumerate(family.points):
            row, ps = found[point], [float(both[s][i][k]) for s in (0, 1)]
            row.update(low=float(family.low[k]), high=float(family.high[k]), p=min(ps), rank_p=float(family.rank_p[k]))
            row["verdict"] = decide(row, *ps, min_effect)
    for point, row in found.items():
        if row["verdict"] == "cannot-tell":
            row["launches_needed"] = needed(base[point], new[point], math.log(1 + min_effect))
        row["text"] = sentence(row)
    return list(found.values())


def ranges(compared):
    """Neighbouring sizes with one verdict, as lists of rows: a finding each."""
    def series(row):
        return row["collective"], row["mode"], row["placement"], row["variant"]
    ordered = sorted(compared, key=lambda row: (*series(row), row["bytes"]))
    return [list(group) for _, group in groupby(ordered, key=lambda row: (*series(row), row["verdict"]))]


def range_text(group):
    """A range for people, with its largest change: "all_reduce 1 MiB to 64 MiB in-place stream: ..."."""
    first, sizes = group[0], sorted({row["bytes"] for row in group})
    most = max(group, key=lambda row: row["launches_needed"] or abs(math.log(row["ratio"] or 1)))
    upto = f" to {human(sizes[-1])}" if len(sizes) > 1 else ""
    where = f" at {human(most['bytes'])}" if upto and first["verdict"] in ("slower", "faster") else ""
    return f"{first['collective']} {human(sizes[0])}{upto} {first['placement']} {first['mode']}: {most['text']}{where}"


def untold(compared):
    """Points that cannot be told, a dict for each collective and mode that has such points: `row`, the first of them; `text`;
    `open`: no point could be told, or those that could not took so much longer that "nothing is slower" would mislead."""
    by_collective, found = defaultdict(list), []
    for row in compared:
        if row["ratio"]:
            by_collective[row["collective"], row["mode"]].append(row)
    for (collective, mode), points in by_collective.items():
        mute = [row for row in points if row["verdict"] == "cannot-tell"]
        ratios = sorted(row["ratio"] for row in mute)
        if mute:
            most = 2 * len(mute) > len(points) and np.median(ratios) >= LONG
            found.append({"row": mute[0], "open": len(mute) == len(points) or bool(most) or ratios[-1] >= LONGEST,
                          "text": f"{collective} {mode}: {len(mute)} of {len(points)} points cannot be told; "
                                  f"medians {ratios[0]:.3g} to {ratios[-1]:.3g} times as long"})
    return found


def _tuning(launches):
    """Point -> what NCCL said most often that it used: "Ring, LL128, 24 channels"; "" where it said nothing."""
    parts = [launches_of.columns(launches, c) for c in ("used_algo", "used_proto", "used_channels")]
    said = {}
    for point in parts[0]:
        each = [f"{a}, {p}, {c} channels" if a else "" for a, p, c in zip(*(part[point] for part in parts))]
        said[point] = max(set(each), key=each.count)
    return said


def compare_apart(base, new, min_effect=MIN_EFFECT, seed=1):
    """Rows of points whose ranks came further apart or closer, by the slowest rank's time over the fastest's: in a call that
    no rank leaves before all have come, the rank that comes last takes least. ALPHA holds for these by themselves."""
    sides = [{p._replace(mode=p.mode + APART): [1 + percent / 100 for percent in values]
              for p, values in launches_of.columns(side, "rank_spread_percent").items()} for side in (base, new)]
    common = sides[0].keys() & sides[1].keys()
    found = compare_points(*({p: side[p] for p in side if p in common} for side in sides), min_effect, seed)
    changed = [row for row in found if row["verdict"] in ("slower", "faster")]
    for row in changed:
        was, now = (100 * (row[f"{side}_median"] - 1) for side in ("base", "new"))
        row.update(unit="x", text=f"ranks {'further apart' if now > was else 'closer'}: the slowest takes {_percent(now)} % "
                   f"longer than the fastest, {_percent(was)} % before")
    return changed


def compare_sides(base, new, min_effect=MIN_EFFECT, seed=1):
    """compare_points of two lists of launches (rows.read_side), and compare_apart; rows that changed say when NCCL
    chose otherwise."""
    compared = compare_points(launches_of.columns(base), launches_of.columns(new), min_effect, seed)
    before, after = _tuning(base), _tuning(new)
    for row in compared:
        point = launches_of.Point(*(row[c] for c in launches_of.Point._fields))
        was, now = before.get(point), after.get(point)
        if was and now and was != now and row["verdict"] in ("slower", "faster"):
            row["text"] += f" (NCCL used {was}, now {now})"
    return compared + compare_apart(base, new, min_effect, seed)
