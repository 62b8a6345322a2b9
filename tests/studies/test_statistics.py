"""The statistics against scipy, against the published formulas written out plainly, and against their own promises."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from holdfast.studies import statistics as ours

VALUES = arrays(np.float64, st.integers(2, 12), elements=st.floats(-100, 100).map(lambda x: round(x, 3)))
rng = np.random.default_rng(5)


@given(VALUES)
def test_the_interquartile_mean_is_scipys_trimmed_mean(values: np.ndarray) -> None:
    assert ours.iqm(values) == pytest.approx(stats.trim_mean(values, 0.25), abs=1e-9)
    assert ours.iqm(np.stack([values, values[::-1]]))[1] == pytest.approx(stats.trim_mean(values, 0.25), abs=1e-9)


def test_bootstrap_intervals_are_scipys() -> None:
    values = rng.normal(3.0, 2.0, 12)
    for name, statistic in ours.STATISTICS.items():
        found = ours.estimate([values], statistic)
        theirs = stats.bootstrap(
            (values,), lambda x, axis, f=statistic: f(np.moveaxis(x, axis, -1)), method="percentile", n_resamples=10_000
        ).confidence_interval
        assert found.value == pytest.approx(float(statistic(values))), name
        assert (found.low, found.high) == pytest.approx(tuple(theirs), abs=0.15), name


def test_resampling_stays_within_each_task() -> None:
    """Two tasks whose values do not vary: their pooled mean has no interval, while unstratified it would."""
    strata = [np.zeros(6), np.full(6, 10.0)]
    assert ours.estimate(strata, ours.mean) == (5.0, 5.0, 5.0)
    assert ours.estimate([np.concatenate(strata)], ours.mean).low < 4.0


def test_the_same_values_give_the_same_interval_and_large_ones_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    values = rng.normal(size=40)
    assert ours.estimate([values], ours.iqm) == ours.estimate([values.copy()], ours.iqm)
    whole = ours.estimate([values], ours.mean)
    monkeypatch.setattr(ours, "AT_ONCE", 1000)
    in_portions = ours.estimate([values], ours.mean)
    assert in_portions == pytest.approx(whole)  # one task: the same draws, however they are cut


@given(VALUES, VALUES)
@settings(max_examples=50, deadline=None)
def test_probability_of_improvement_is_mann_and_whitneys_u(a: np.ndarray, b: np.ndarray) -> None:
    found = ours.probability_of_improvement([a], [b], resamples=200)
    u = (
        stats.mannwhitneyu(a, b, method="asymptotic").statistic
        if np.ptp(np.concatenate([a, b]))
        else len(a) * len(b) / 2
    )
    assert found.value == pytest.approx(u / (len(a) * len(b)))
    turned = ours.probability_of_improvement([b], [a], resamples=200)
    assert turned.value == pytest.approx(1.0 - found.value)
    assert 0.0 <= found.low <= found.high <= 1.0


def test_probability_of_improvement_over_tasks_and_its_interval_by_plain_resampling() -> None:
    a, b = [rng.normal(0.5, 1, 8), rng.normal(0, 1, 6)], [rng.normal(0, 1, 7), rng.normal(0, 1, 6)]
    found = ours.probability_of_improvement(a, b)
    plain = np.random.default_rng(1)

    def u(x: np.ndarray, y: np.ndarray) -> float:
        return float(np.mean([[1.0 if i > j else 0.5 if i == j else 0.0 for j in y] for i in x]))

    draws = [
        np.mean([u(plain.choice(x, len(x)), plain.choice(y, len(y))) for x, y in zip(a, b, strict=True)])
        for _ in range(3000)
    ]
    assert found.value == pytest.approx(np.mean([u(x, y) for x, y in zip(a, b, strict=True)]))
    assert (found.low, found.high) == pytest.approx(tuple(np.percentile(draws, (2.5, 97.5))), abs=0.03)


@given(arrays(np.float64, st.integers(1, 9), elements=st.floats(-10, 10).map(lambda x: round(x, 2))))
@settings(max_examples=60, deadline=None)
def test_sign_flips_are_counted_one_by_one(differences: np.ndarray) -> None:
    observed = abs(differences.mean())
    patterns = [abs(np.mean(differences * signs)) for signs in itertools.product((1, -1), repeat=len(differences))]
    plain = np.mean([value >= observed - 1e-10 for value in patterns])
    assert ours.sign_flip(differences) == pytest.approx(plain)


def test_sign_flips_are_scipys_permutations_and_drawn_beyond_sixteen_pairs() -> None:
    few, many = rng.normal(0.6, 1.0, 10), rng.normal(0.4, 1.0, 40)
    for values, near in ((few, 1e-9), (many, 0.01)):
        theirs = stats.permutation_test(
            (values, np.zeros_like(values)),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=50_000,
        ).pvalue
        assert ours.sign_flip(values) == pytest.approx(theirs, abs=near)
    assert ours.sign_flip(np.array([])) == 1.0
    assert ours.sign_flip(np.full(16, 1.0)) == 2 / 2**16


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_helps_keeps_the_order_and_is_the_formula(p_values: list[float]) -> None:
    found = ours.holm(p_values)
    assert all(p <= q <= 1.0 for p, q in zip(p_values, found, strict=True))
    ordered = sorted(p_values)
    formula = [max(min(1.0, (len(ordered) - k) * ordered[k]) for k in range(at + 1)) for at in range(len(ordered))]
    assert sorted(found) == pytest.approx(formula)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 18, 101, 500])
@pytest.mark.parametrize("share", [0.025, 0.5, 0.8, 0.975, 0.9995])
def test_students_quantiles_are_scipys(freedom: int, share: float) -> None:
    assert ours.student_quantile(share, freedom) == pytest.approx(stats.t.ppf(share, freedom), rel=1e-6, abs=1e-9)


def test_a_detectable_effect_is_detected_four_times_in_five() -> None:
    size, deviation, draws = 10, 2.0, np.random.default_rng(3)
    spread = rng.normal(size=size)
    spread = (spread - spread.mean()) / spread.std(ddof=1) * deviation
    effect = ours.detectable_unpaired(spread, spread)
    assert effect is not None
    a, b = draws.normal(effect, deviation, (4000, size)), draws.normal(0.0, deviation, (4000, size))
    assert np.mean(stats.ttest_ind(a, b, axis=1).pvalue < 0.05) == pytest.approx(0.8, abs=0.025)
    paired = ours.detectable_paired(spread)
    assert paired is not None
    found = stats.ttest_1samp(draws.normal(paired, deviation, (4000, size)), 0.0, axis=1).pvalue
    assert np.mean(found < 0.05) == pytest.approx(0.8, abs=0.025)
    assert ours.detectable_paired(np.array([1.0])) is None
    assert ours.detectable_unpaired(np.array([1.0]), np.array([1.0, 2.0])) is None


def test_profiles_and_curves_have_the_plain_values_and_intervals_around_them() -> None:
    values, thresholds = rng.normal(size=20), np.linspace(-2, 2, 9)
    profile = ours.performance_profile(values, thresholds)
    assert profile.y == pytest.approx([(values > limit).mean() for limit in thresholds])
    assert (profile.low <= profile.y).all() and (profile.y <= profile.high).all() and (np.diff(profile.y) <= 0).all()
    rows = rng.normal(size=(15, 4))
    curve = ours.learning_curve(rows, np.arange(4))
    alone = ours.estimate([rows[:, 2]], ours.mean)
    assert curve.y[2] == pytest.approx(alone.value) and curve.low[2] == pytest.approx(alone.low, abs=0.05)


def test_curves_are_compared_where_all_of_them_are() -> None:
    a = np.array([1.0, 3.0, 5.0]), np.array([0.0, 2.0, 4.0])
    b = np.array([2.0, 4.0, 9.0]), np.array([5.0, 5.0, 5.0])
    x, rows = ours.same_points([a, b])
    assert x.tolist() == [2.0, 3.0, 4.0, 5.0] and rows.tolist() == [[1.0, 2.0, 3.0, 4.0], [5.0] * 4]
    long = np.arange(1000.0)
    assert len(ours.same_points([(long, long)])[0]) == 200


@given(st.lists(st.tuples(st.integers(1, 20), st.booleans()), min_size=1, max_size=15))
@settings(max_examples=100, deadline=None)
def test_times_to_a_threshold_are_scipys_survival_function(runs: list[tuple[int, bool]]) -> None:
    spent, reached = np.array([float(at) for at, _ in runs]), np.array([done for _, done in runs])
    found = ours.until_threshold(spent, reached)
    assert (found.reached, found.runs) == (int(reached.sum()), len(runs))
    survival = stats.ecdf(stats.CensoredData.right_censored(spent, ~reached)).sf
    below = survival.quantiles[survival.probabilities <= 0.5 + 1e-12]
    assert found.median == (below[0] if len(below) and reached.any() else None)


def test_all_pairs_of_few_groups_and_the_first_with_each_of_many() -> None:
    assert ours.all_pairs(3, 6) == [(0, 1), (0, 2), (1, 2)]
    assert ours.all_pairs(8, 6) == [(0, other) for other in range(1, 8)]
