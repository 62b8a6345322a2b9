"""Values by type: the grammar and its errors."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.curriculum.bytype import parse_by_type, unknown_types
from holdfast.curriculum.pairs import print_pairs
from holdfast.kit.errors import ConfigError

NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,6}", fullmatch=True)
VALUES = st.dictionaries(NAMES, st.floats(-1e9, 1e9) | st.integers(0, 10**6).map(float), max_size=5)


@settings(deadline=None)
@given(VALUES)
def test_printed_values_are_read_back(values: dict[str, float]) -> None:
    assert dict(parse_by_type(print_pairs(values.items()))) == values


@settings(deadline=None)
@given(st.text(alphabet="neNE:,.0123456789- ", max_size=16))
def test_any_text_is_read_or_refused_by_item(text: str) -> None:
    try:
        values = parse_by_type(text, "gate.x")
    except ConfigError as error:
        assert all(problem.startswith("gate.x: item ") for problem in error.problems)
    else:
        assert parse_by_type(print_pairs(values.items())) == values


def test_names_are_lower_case() -> None:
    assert dict(parse_by_type(" NE : .13 , Main:.1")) == {"ne": 0.13, "main": 0.1}


@pytest.mark.parametrize("text", ["ne", "ne:", ":3", "ne:x", "ne:nan", "ne:inf", "ne:1,ne:2", "ne:1,,", "4:1"])
def test_malformed_texts_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"item \d"):
        parse_by_type(text)


def test_types_that_the_deck_never_has_are_named() -> None:
    (problem,) = unknown_types(["ne", "mian"], "gate.by_type", {"ne", "main"})
    assert problem.startswith("gate.by_type: the deck never has type mian (did you mean main?)")
    assert "there is no deck" in unknown_types(["ne"], "x", set())[0]
