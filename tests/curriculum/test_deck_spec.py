"""The stage text of a deck: grammar, errors that name their part, types of situations."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.curriculum.deck_spec import (
    Stage,
    check_files,
    deck_types,
    default_label,
    mismatch,
    parse_stages,
    print_stages,
    type_of_velocity,
)
from holdfast.kit.errors import ConfigError

WORDS = st.from_regex(r"[A-Za-z0-9_./=:-]{1,12}", fullmatch=True)
FREE = st.tuples(st.just("post_roll"), st.floats(0.01, 10))
STAGES = st.lists(
    st.builds(
        lambda deals, path, kind, label, way: Stage(deals, path, kind, label, *way),
        st.integers(1, 10**6),
        WORDS,
        st.from_regex(r"[a-z][a-z0-9_-]{0,5}", fullmatch=True),
        WORDS,
        FREE | st.just(("pre_roll", 1.0)),
    ),
    max_size=5,
).map(tuple)


@settings(deadline=None)
@given(STAGES)
def test_printed_stages_are_read_back(stages: tuple[Stage, ...]) -> None:
    assert parse_stages(print_stages(stages)) == stages


@settings(deadline=None)
@given(st.text(alphabet="0123456789:|;=typelabscd_ .", max_size=24))
def test_any_text_is_read_or_refused_by_stage(text: str) -> None:
    try:
        stages = parse_stages(text)
    except ConfigError as error:
        assert all(problem.startswith("deck.stages: stage ") for problem in error.problems)
    else:
        assert parse_stages(print_stages(stages)) == stages


def test_defaults_of_a_stage() -> None:
    (first, second) = parse_stages("10:decks/ne.json|type=NE ; 8:decks/slow.npz|scale_speed=.8|label=slow")
    assert first == Stage(10, "decks/ne.json", "ne", "block1:ne", "post_roll", 1.0)
    assert second == Stage(8, "decks/slow.npz", "main", "slow", "post_roll", 0.8)
    assert deck_types((first, second, first)) == ("ne", "main")
    assert default_label(3, "a/b.c.npz") == "block3:b.c"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("decks/ne.json", "stage 1, 'decks/ne.json': must begin with N:path"),
        ("0:a", "stage 1, '0:a': '0' is not a whole number from 1 up"),
        ("1.5:a", "'1.5' is not a whole number"),
        ("3:", "no path after the colon"),
        ("3:a;", "stage 2, ''"),
        ("3:a|tpye=ne", "unknown key 'tpye' (did you mean type?)"),
        ("3:a|type", "key type has no value"),
        ("3:a|type=", "key type has no value"),
        ("3:a|type=ne|type=main", "key type is given twice"),
        ("3:a|type=9", "'9' is not a type name"),
        ("3:a|apply=later", "apply=later must be one of post_roll, pre_roll"),
        ("3:a|scale_speed=fast", "'fast' is not a finite number"),
        ("3:a|scale_speed=0", "scale_speed=0 must be above 0"),
        ("3:a|apply=pre_roll|scale_speed=0.8", "scale_speed has no effect with apply=pre_roll"),
    ],
)
def test_a_malformed_stage_names_its_part(text: str, part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_stages(text)
    (problem,) = caught.value.problems
    assert part in problem


def test_all_wrong_stages_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_stages("x;1:a;0:b")
    assert len(caught.value.problems) == 2


def test_missing_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "there.json").write_text("{}")
    stages = parse_stages("1:there.json;2:gone.json|label=slow")
    check_files(stages[:1], tmp_path)
    with pytest.raises(ConfigError, match=r"stage 2 \(slow\): no file .*gone\.json"):
        check_files(stages, tmp_path)


@pytest.mark.parametrize(
    ("heading_deg", "speed", "kind"),
    [
        (45.01, 1.7, "ne"),
        (60, 1.6, "ne"),
        (60, 1.59, "main"),
        (44, 2, "main"),
        (91, 2, "main"),
        (240, 2, "main"),
        (89, 3, "ne"),
    ],
)
def test_types_of_velocities(heading_deg: float, speed: float, kind: str) -> None:
    angle = math.radians(heading_deg)
    nudge = 1 + 1e-12
    assert type_of_velocity(speed * nudge * math.cos(angle), speed * nudge * math.sin(angle)) == kind


def test_both_ends_of_the_sector_belong_to_it() -> None:
    assert type_of_velocity(1.2, 1.2) == type_of_velocity(0.0, 1.6) == "ne"


def test_a_stage_with_too_few_of_its_type_is_reported() -> None:
    ne, main, other = parse_stages("1:a|type=ne;1:b;1:c|type=slow")
    north_east, west = (1.5, 1.6), (-2.0, 0.0)
    assert mismatch(ne, [north_east] * 4 + [west]) is None
    assert mismatch(ne, [north_east] * 3 + [west]) == "block1:a: only 3 of 4 situations are of the declared type ne"
    assert mismatch(main, [north_east]) is not None
    assert mismatch(other, [west, north_east]) is None
