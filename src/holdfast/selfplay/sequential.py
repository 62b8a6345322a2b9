"""Tests of a rate that look at growing numbers of episodes and stop as soon as the interval tells.

The interval at each look is Wilson's with a z large enough for five looks together (2.413). What a test saw goes into
an `Evidence`, from which it can be judged again under another threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from holdfast.kit.intervals import wilson

Z_FIVE_LOOKS = 2.413
FIRST_LOOK = 256
Verdict = Literal["yes", "no", "undecided"]


class Evidence(NamedTuple):
    """One test inside a decision: what was asked, what was counted, and the answer."""

    name: str
    verdict: Verdict
    successes: int
    trials: int
    low: float
    high: float
    z: float
    threshold: float
    look: int  # 0: a test of the bare rate

    @property
    def rate(self) -> float:
        return self.successes / max(1, self.trials)


Judge = Callable[[float, float], Verdict]


def looks_up_to(most: int) -> tuple[int, ...]:
    """256, 512, ... up to `most`; a smaller `most` is the only look."""
    sizes = [FIRST_LOOK]
    while sizes[-1] * 2 <= most:
        sizes.append(sizes[-1] * 2)
    return tuple(sizes) if most >= FIRST_LOOK else (most,)


def _balance(half_width: float) -> Judge:
    def judge(low: float, high: float) -> Verdict:
        if low >= 0.5 - half_width and high <= 0.5 + half_width:
            return "yes"
        return "no" if low > 0.5 + half_width or high < 0.5 - half_width else "undecided"

    return judge


def _above(threshold: float) -> Judge:
    return lambda low, high: "yes" if low > threshold else "no" if high < threshold else "undecided"


def _below(threshold: float) -> Judge:
    return lambda low, high: "yes" if high < threshold else "no" if low > threshold else "undecided"


class Question(NamedTuple):
    """A test by name: `balance`: the rate is within `threshold` of one half; `above` and `below`: beyond it."""

    name: str
    kind: Literal["balance", "above", "below"]
    threshold: float

    @property
    def judge(self) -> Judge:
        return {"balance": _balance, "above": _above, "below": _below}[self.kind](self.threshold)

    def at(self, successes: int, trials: int, look: int, z: float = Z_FIVE_LOOKS) -> Evidence:
        """The answer after this many episodes."""
        low, high = wilson(successes, trials, z)
        return Evidence(self.name, self.judge(low, high), successes, trials, low, high, z, self.threshold, look)

    def by_point(self, successes: int, trials: int) -> Evidence:
        """The answer of the bare rate, as a test without statistics would give it; limits are for the record."""
        low, high = wilson(successes, trials)
        rate = successes / trials
        # strict, as 46 to 54 of 100 count as nearer than 0.05 to one half
        inside = {
            "balance": abs(rate - 0.5) < self.threshold - 1e-12,
            "above": rate > self.threshold,
            "below": rate < self.threshold,
        }[self.kind]
        return Evidence(self.name, "yes" if inside else "no", successes, trials, low, high, 0.0, self.threshold, 0)


def ask(questions: Sequence[Question], wins: Sequence[int], looks: Sequence[int]) -> dict[str, Evidence]:
    """Each question's answer at the first look that decides it; `wins[i]` of the first `looks[i]` episodes.

    Looks that were not played are not asked about: `undecided` after the last one played means to go on or to hold.
    """
    answers: dict[str, Evidence] = {}
    for question in questions:
        for number, (successes, trials) in enumerate(zip(wins, looks, strict=False), start=1):
            answers[question.name] = question.at(successes, trials, number)
            if answers[question.name].verdict != "undecided":
                break
    return answers
