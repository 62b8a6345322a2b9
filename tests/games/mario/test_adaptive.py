"""Adaptive values follow the formula, stay in their bounds, and refuse settings that could not act."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.curriculum.adaptive import Channel, adapted, make_adaptive, positive_share
from holdfast.kit.errors import ConfigError

ENTROPY = Channel("entropy", 0.01, 0.001, 0.05, rate=0.1)


def test_few_lanes_on_new_ground_raise_a_value_and_many_lower_it() -> None:
    state = make_adaptive([ENTROPY], window=5)
    state, changes = adapted(state, 0.0)
    assert state.value("entropy") == pytest.approx(0.01 + (0.05 - 0.01) * 0.1)
    assert changes[0].before == 0.01 and changes[0].average == 0.0
    for _ in range(6):
        state, _ = adapted(state, 1.0)
    before = state.value("entropy")
    state, _ = adapted(state, 1.0)
    assert state.value("entropy") == pytest.approx(before + (0.001 - before) * 0.1)


def test_between_the_marks_nothing_changes() -> None:
    state, changes = adapted(make_adaptive([ENTROPY]), 0.2)
    assert state.value("entropy") == 0.01 and not changes


def test_a_channel_without_bounds_is_off() -> None:
    state, changes = adapted(make_adaptive([Channel("lr", 1.0)]), 0.0)
    assert state.value("lr") == 1.0 and not changes


@given(st.lists(st.floats(0.0, 1.0), max_size=80), st.integers(1, 60))
def test_values_stay_in_bounds_and_the_average_is_of_the_window(shares: list[float], window: int) -> None:
    state = make_adaptive([ENTROPY, Channel("distance", 9.0, 0.01, 0.5)], window=window)
    for share in shares:
        state, _ = adapted(state, share)
        assert 0.001 <= state.value("entropy") <= 0.05 and 0.01 <= state.value("distance") <= 0.5
    if shares:
        kept = shares[-max(5, window) :]
        assert state.average == pytest.approx(sum(kept) / len(kept))


@pytest.mark.parametrize(
    "channel",
    [Channel("x", 1.0, low_bound=0.5), Channel("x", 1.0, 0.5, 0.5), Channel("x", 1.0, 0.1, 0.5, few=0.5, many=0.4)],
)
def test_bounds_that_cannot_act_are_refused(channel: Channel) -> None:
    with pytest.raises(ConfigError, match="adaptive x"):
        make_adaptive([channel])


def test_the_share_of_lanes_on_new_ground() -> None:
    assert positive_share(16, 64, 900.0) == (0.25, False)
    assert positive_share(0, 64, 32.0) == (0.5, True)
    assert positive_share(0, 64, 0.0) == (0.0, False)
