"""The sequential tests: exact error rates by enumeration, Wilson and Newcombe against published numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.kit.intervals import newcombe, wilson
from holdfast.selfplay.sequential import Question, ask, looks_up_to


def binomial(n: int, p: float) -> np.ndarray:
    """P(k of n) by the recurrence, in logs."""
    k = np.arange(n + 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log((n - k[:-1]) / (k[:-1] + 1)) + np.log(p / (1 - p)))])
    return np.exp(logs + n * np.log(1 - p))


def exact(question: Question, rate: float, looks: tuple[int, ...]) -> tuple[float, float, float]:
    """P(yes), P(no) and mean number of episodes, by carrying the distribution of wins from look to look."""
    alive, yes, no, mean, before = np.ones(1), 0.0, 0.0, 0.0, 0
    for number, look in enumerate(looks, start=1):
        alive = np.convolve(alive, binomial(look - before, rate))
        before = look
        verdicts = np.array([question.at(k, look, number).verdict for k in range(look + 1)])
        decided = verdicts != "undecided" if look < looks[-1] else np.ones(look + 1, bool)
        yes, no = yes + alive[verdicts == "yes"].sum(), no + alive[verdicts == "no"].sum()
        mean += look * alive[decided].sum()
        alive = np.where(decided, 0.0, alive)
    return yes, no, mean


@pytest.mark.parametrize(
    ("half_width", "rate", "yes", "no", "mean"),
    [
        (0.05, 0.50, 1.000, 0.000, 1529),
        (0.05, 0.55, 0.019, 0.029, 3984),
        (0.05, 0.60, 0.000, 1.000, 946),
        (0.075, 0.50, 1.000, 0.000, 668),
        (0.075, 0.55, 0.816, 0.001, 2765),
        (0.075, 0.60, 0.001, 0.824, 2727),
    ],
)
def test_the_balance_test_errs_as_rarely_as_published(
    half_width: float, rate: float, yes: float, no: float, mean: float
) -> None:
    found = exact(Question("balance", "balance", half_width), rate, looks_up_to(4096))
    assert found[0] == pytest.approx(yes, abs=0.0015)
    assert found[1] == pytest.approx(no, abs=0.0015)
    assert found[2] == pytest.approx(mean, abs=2.0)


def test_point_test_of_one_hundred_episodes_passes_from_46_to_54() -> None:
    question = Question("balance", "balance", 0.05)
    passing = [k for k in range(101) if question.by_point(k, 100).verdict == "yes"]
    assert passing == list(range(46, 55))


def test_wilson_gives_the_published_limits() -> None:
    assert wilson(50, 100) == pytest.approx((0.404, 0.596), abs=5e-4)
    assert wilson(196, 200) == pytest.approx((0.950, 0.992), abs=5e-4)
    assert wilson(100, 100)[0] == pytest.approx(0.963, abs=5e-4)


def test_newcombe_gives_the_published_example() -> None:
    # Newcombe 1998, table II, row (a): 56/70 - 48/80
    assert newcombe((56, 70), (48, 80)) == pytest.approx((0.0524, 0.3339), abs=5e-5)


@given(st.integers(0, 256), st.floats(0.05, 0.95))
def test_above_and_below_never_both_hold(successes: int, threshold: float) -> None:
    above = Question("above", "above", threshold).at(successes, 256, 1).verdict
    below = Question("below", "below", threshold).at(successes, 256, 1).verdict
    assert (above, below) in {("yes", "no"), ("no", "yes"), ("undecided", "undecided")}


def test_ask_stops_at_the_first_look_that_tells() -> None:
    questions = [Question("capture", "above", 0.7), Question("balance", "balance", 0.05)]
    answers = ask(questions, [240, 480], [256, 512])
    assert answers["capture"].look == 1 and answers["capture"].verdict == "yes"
    assert answers["balance"].verdict == "no"
    assert ask(questions, [128], [256])["balance"].verdict == "undecided"


def test_looks_double_up_to_the_most() -> None:
    assert looks_up_to(4096) == (256, 512, 1024, 2048, 4096)
    assert looks_up_to(1000) == (256, 512)
    assert looks_up_to(100) == (100,)
