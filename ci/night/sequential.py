"""sequential.py: which launch comes next, and when enough is known, in the search for what mends an intermittent hang.

An arm is a combination of values, one of each axis; the first value of each axis is what hangs now. What is sought is one
axis and the values of it that mend: of ordered values (libraries) all from one on, of others (settings) one or all.
The posterior over these, over "none mends it" and over "it never hangs" is kept on a grid of rates; the next launch is the
one that lowers its expected entropy most. Launches of all arms count for all answers, which a test of each pair of
neighbours (SPRT) has no use for: it needs about 27 launches without a hang for each step of a bisection.

It is said that values mend when they are so by SURE, of all that may, and when "none mends it" is refuted: the likelihood of
the launches, averaged over all answers, is 1 / FALSE times that of the rate that suits "none mends it" best. By Ville's
inequality that happens in at most FALSE of the searches where none mends, however often it hangs, whenever one looks. A rate
that is given is taken for true: "none mends it" is then refuted for that rate and higher ones alone, with half the launches."""
import itertools

import numpy as np
from scipy.special import betaincinv

SURE, FALSE = 0.95, 0.005
PRIOR_NONE, PRIOR_NEVER = 0.15, 0.05
RESIDUE = (0, 0.98), (0.1, 0.02)  # of the rate, how much is left where it is mended, and how likely
RATES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8)
ABOUT = (0.5, 0.02), (1, 0.88), (2, 0.1)  # times the rate that is given
NEVER = 0.002
NONE_MENDS, NEVER_HANGS = -1, -2


class Axis:
    """Values of a name, the first of which hangs; `ordered`: from one on all mend."""

    def __init__(self, name, values, ordered):
        self.name, self.values, self.ordered = name, list(values), ordered

    def answers(self):
        """Sets of places of values that may mend."""
        n = len(self.values)
        if self.ordered:
            return [frozenset(range(k, n)) for k in range(1, n)]
        return [frozenset([k]) for k in range(1, n)] + [frozenset(range(1, n))] * (n > 2)


class Search:
    """What is known after some launches. `rate`: at least so often it hangs, None: not known."""

    def __init__(self, axes, rate=None):
        self.axes, self.rate, self.log_total = axes, rate or 0, 0.0
        self.arms = list(itertools.product(*(range(len(axis.values)) for axis in axes)))
        self.answers = [(i, mends) for i, axis in enumerate(axes) for mends in axis.answers()]
        self.counts = np.zeros((len(self.arms), 2), dtype=int)  # launches that ended, that hung
        rates = [(rate * times, w) for times, w in ABOUT if rate * times < 1] if rate else [(r, 1) for r in RATES]
        rows, weights, kinds = [], [], []
        for kind, (axis, mends) in enumerate(self.answers):
            for (p, wp), (left, wq) in itertools.product(rates, RESIDUE):
                rows.append([p * left if arm[axis] in mends else p for arm in self.arms])
                weights.append((1 - PRIOR_NONE - PRIOR_NEVER) * wp * wq / len(self.answers))
                kinds.append(kind)
        for p, wp in rates:
            rows.append([p] * len(self.arms))
            weights.append(PRIOR_NONE * wp)
            kinds.append(len(self.answers))
        total = sum(w for _, w in rates)
        self.rows = np.array([*rows, [NEVER] * len(self.arms)])
        self.weights = np.array([w / total for w in weights] + [PRIOR_NEVER])
        kinds.append(len(self.answers) + 1)
        self.member = np.zeros((len(self.answers) + 2, len(kinds)))
        self.member[kinds, np.arange(len(kinds))] = 1

    def note(self, arm, hung):
        """A launch of an arm (its place in `arms`) has ended."""
        self.counts[arm][int(hung)] += 1
        self.weights = self.weights * (self.rows[:, arm] if hung else 1 - self.rows[:, arm])
        self.log_total += np.log(self.weights.sum())
        self.weights /= self.weights.sum()

    def refuted(self):
        """That none mends it, at any rate that is possible."""
        ended, hung = self.counts.sum(0)
        p = max(self.rate, hung / max(1, ended + hung))
        none = hung * np.log(p or 1) + (ended * np.log1p(-p) if ended else 0)
        mends = self.log_total + np.log(max(1e-300, self.belief()[:-2].sum()) / (1 - PRIOR_NONE - PRIOR_NEVER))
        return mends - none >= np.log(1 / FALSE)

    def belief(self):
        """How likely each answer is; then that none mends, that it never hangs."""
        return self.member @ self.weights

    def next(self):
        """The arm whose launch is expected to tell most, the first of equals; where all that is left is to refute "none
        mends it" at any rate, one of the side that has fewer launches."""
        belief = self.belief()
        best = int(belief[:-2].argmax())
        if not self.rate and belief[best] >= SURE * belief[:-2].sum() and belief[-1] < 1 - SURE:
            side, counts = self.mended(self.answers[best]), self.counts.sum(1)
            fewer = side if counts[side].sum() < counts[~side].sum() else ~side
            return int(np.argmax(np.where(fewer, counts, -1)))
        entropy = 0
        for chance in (self.rows, 1 - self.rows):
            joint = self.member @ (self.weights[:, None] * chance)
            entropy = entropy + _xlogx(joint.sum(0)) - _xlogx(joint).sum(0)
        return int(np.argmin(np.round(entropy, 12)))

    def answer(self):
        """(axis, places of values that mend), NONE_MENDS, NEVER_HANGS, or None: not known yet."""
        belief = self.belief()
        best = int(belief.argmax())
        if best == len(self.answers):
            return NONE_MENDS if belief[best] >= 1 - (1 - SURE) / 5 else None
        if best > len(self.answers):
            return NEVER_HANGS if belief[best] >= SURE else None
        return self.answers[best] if belief[best] >= SURE * belief[:-2].sum() and self.refuted() else None

    def mended(self, answer):
        """Which arms have values that mend."""
        return np.array([arm[answer[0]] in answer[1] for arm in self.arms])

    def sides(self, answer):
        """Launches that ended and that hung, of the arms that do not mend, and of those that do."""
        side = self.mended(answer)
        return self.counts[~side].sum(0), self.counts[side].sum(0)

    def ahead(self, times=25, most=400, seed=1):
        """Launches until an answer, if what is believed now is so: [simulated number, sorted]."""
        dice, found = np.random.default_rng(seed), []
        kept = self.weights, self.counts, self.log_total
        for _ in range(times):
            self.weights, self.counts, self.log_total = kept[0], kept[1].copy(), kept[2]
            truth = self.rows[dice.choice(len(self.rows), p=kept[0])]
            found.append(simulate(self, truth, dice, most)[1])
        self.weights, self.counts, self.log_total = kept
        return sorted(found)


def _xlogx(x):
    return x * np.log(np.where(x > 0, x, 1))


def simulate(search, rates, dice, most):
    """(answer, launches) of a search among arms that hang at these rates; None after `most` launches."""
    for done in range(most + 1):
        answer = search.answer()
        if answer is not None or done == most:
            return answer, done
        arm = search.next()
        search.note(arm, dice.random() < rates[arm])


def interval(hung, launches, confidence=0.95):
    """(low, high) of a rate, exact (Clopper and Pearson): both ends hold with `confidence`, each by itself."""
    low = betaincinv(hung, launches - hung + 1, 1 - confidence) if hung else 0.0
    high = betaincinv(hung + 1, launches - hung, confidence) if hung < launches else 1.0
    return float(low), float(high)
