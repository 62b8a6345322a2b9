"""Philox against published vectors, statistical sanity, and independence of call order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.kit import rng

U64 = st.integers(0, 2**64 - 1)


@pytest.mark.parametrize(
    ("key", "low", "high", "words"),
    [
        # known-answer vectors of philox4x32-10 from the Random123 distribution (kat_vectors)
        (0, 0, 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (2**64 - 1, 2**64 - 1, 2**64 - 1, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            0x299F31D0A4093822,
            0x85A308D3243F6A88,
            0x0370734413198A2E,
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_published_words(key: int, low: int, high: int, words: tuple[int, ...]) -> None:
    assert tuple(int(w) for w in rng.philox(np.uint64(key), np.uint64(low), np.uint64(high))) == words


@given(U64, U64, U64)
def test_compiled_and_plain_philox_agree(key: int, low: int, high: int) -> None:
    arguments = (np.uint64(key), np.uint64(low), np.uint64(high))
    assert rng.philox(*arguments) == rng.philox.py_func(*arguments)


def draws(count: int, key: int = 5, stream: int = 1) -> np.ndarray:
    return np.array([rng.uniform(np.uint64(key), stream, i) for i in range(count)])


def test_uniforms_are_uniform_and_uncorrelated() -> None:
    values = draws(40_000)
    assert values.min() >= 0.0 and values.max() < 1.0
    counts = np.histogram(values, 100, (0, 1))[0]
    chi_square = ((counts - 400) ** 2 / 400).sum()
    assert 50 < chi_square < 160  # 99 degrees of freedom: mean 99, deviation 14
    for lag in (1, 2, 7):
        assert abs(np.corrcoef(values[:-lag], values[lag:])[0, 1]) < 0.02
    assert abs(np.corrcoef(values, draws(40_000, key=6))[0, 1]) < 0.02
    assert abs(np.corrcoef(values, draws(40_000, stream=2))[0, 1]) < 0.02


def test_every_bit_of_a_word_is_fair() -> None:
    words = np.array([rng.philox(np.uint64(1), np.uint64(i), np.uint64(0)) for i in range(20_000)], np.uint64)
    for bit in range(32):
        share = ((words >> np.uint64(bit)) & np.uint64(1)).mean()
        assert abs(share - 0.5) < 0.01


def test_normals_have_the_moments_of_a_normal() -> None:
    values = np.array([rng.normal(np.uint64(3), 0, i) for i in range(40_000)])
    assert abs(values.mean()) < 0.02
    assert abs(values.std() - 1.0) < 0.02
    assert abs((values**3).mean()) < 0.06
    assert abs((values**4).mean() - 3.0) < 0.15


def test_integers_cover_their_range_evenly() -> None:
    values = np.array([rng.integer(np.uint64(3), 0, i, 7) for i in range(14_000)])
    counts = np.bincount(values, minlength=7)
    assert len(counts) == 7 and counts.min() > 1800 and counts.max() < 2200


def test_derived_keys_do_not_collide() -> None:
    keys = {int(rng.derive(np.uint64(seed), np.uint64(n))) for seed in range(40) for n in range(1000)}
    assert len(keys) == 40_000


def test_a_draw_does_not_depend_on_earlier_draws() -> None:
    backwards = [rng.uniform(np.uint64(5), 1, i) for i in reversed(range(50))]
    assert backwards[::-1] == draws(50).tolist()


@given(st.floats(0.0, 1.0, exclude_max=True))
def test_a_share_of_a_turn_is_a_point_on_the_circle(share: float) -> None:
    cosine, sine = rng.on_circle(share)
    assert abs(cosine - math.cos(2.0 * math.pi * share)) < 1e-12
    assert abs(sine - math.sin(2.0 * math.pi * share)) < 1e-12
    assert (cosine, sine) == rng.on_circle.py_func(share)


def test_normals_four_at_a_time_are_normal() -> None:
    drawn = np.array([rng.normal4(np.uint64(3), 1, i) for i in range(20_000)])
    assert np.abs(drawn.mean(0)).max() < 0.03 and np.abs(drawn.std(0) - 1.0).max() < 0.02
    assert np.abs(np.corrcoef(drawn.T) - np.eye(4)).max() < 0.03
    assert abs((np.abs(drawn) < 1.0).mean() - 0.6827) < 0.005
