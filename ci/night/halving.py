"""halving.py: finds bad members of a group by trials of subsets, all of a round at once. Pure."""


class Halving:
    """Members 0 .. n-1 are bad together. `groups` are the subsets to try in this round; no two share a member.

    A group of more than three is halved; each member of a smaller one is tried with a member that is known to be good,
    since a host with a bad network is good alone. log2(n) rounds at most.
    """

    def __init__(self, n):
        self.n, self.rounds = n, 0
        self.good, self.bad, self.sides = set(), set(), []
        self.groups, self.suspects = [], []
        self._next([list(range(n))])

    def answer(self, bad):
        """One answer a group. Sets up the next round; returns False at the end."""
        halves = len(self.groups) - len(self.suspects)
        for group, is_bad in zip(self.groups, bad):
            if not is_bad and len(group) > 1:
                self.good.update(group)
        self.bad.update(one for one, is_bad in zip(self.suspects, bad[halves:]) if is_bad)
        for i in range(0, halves, 2):
            if not bad[i] and not bad[i + 1]:
                self.sides.append((self.groups[i], self.groups[i + 1]))  # neither has the cause alone
        return self._next([group for group, is_bad in zip(self.groups[:halves], bad) if is_bad])

    def _next(self, groups):
        company = sorted(self.good)
        self.suspects = [one for group in groups if len(group) <= 3 for one in group]
        self.groups = [half for group in groups if len(group) > 3
                       for half in (group[:len(group) // 2], group[len(group) // 2:])]
        self.groups += [[one, *company[i:i + 1]] for i, one in enumerate(self.suspects)]
        self.rounds += bool(self.groups)
        return bool(self.groups)
