"""Names a user types: stages, buttons, sets of actions and scripts. What cannot be meant is refused by its part."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.games.mario.world.actions import BITS, COMPLEX, EXTENDED, SETS, buttons_name, buttons_of, read_actions
from holdfast.games.mario.world.errors import ActionError, StageError
from holdfast.games.mario.world.script import forward_buttons, read_script
from holdfast.games.mario.world.stages import STAGES, read_stages, stage
from holdfast.kit.errors import HoldfastError

ACTIONS = read_actions("complex")


def test_stage_patterns() -> None:
    assert read_stages("1-1") == (0,)
    assert read_stages("8-4, 1-2") == (31, 1)
    assert read_stages("2-*") == (4, 5, 6, 7)
    assert read_stages("*-4") == tuple(range(3, 32, 4))
    assert read_stages("all") == tuple(range(32))
    assert read_stages("1-1,1-*") == (0, 1, 2, 3)


@pytest.mark.parametrize("text", ["9-1", "1-5", "0-1", "", "1", "1-1-1", "1-1,", "castle", "-"])
def test_unknown_stages_are_refused(text: str) -> None:
    with pytest.raises(StageError):
        read_stages(text)


@given(st.text(max_size=12))
def test_any_text_is_a_list_of_stages_or_refused(text: str) -> None:
    try:
        found = read_stages(text)
    except StageError:
        return
    assert found and len(set(found)) == len(found) and set(found) <= set(range(32))


def test_area_is_not_the_level() -> None:
    """Worlds 1, 2, 4 and 7 have an area of their own before their second level."""
    assert [stage(number).area for number in (0, 1, 2, 3)] == [1, 3, 4, 5]
    assert [stage(STAGES.index(name)).area for name in ("3-1", "3-2", "3-4")] == [1, 2, 4]


def test_sets_of_actions() -> None:
    assert {name: len(names) for name, names in SETS.items()} == {"right": 5, "simple": 7, "complex": 12, "extended": 8}
    assert read_actions("simple")[1] == BITS["RIGHT"]
    assert read_actions("NOOP, right+a") == (0, BITS["RIGHT"] | BITS["A"])


def test_sets_with_start_are_refused_unless_the_policy_starts_the_game() -> None:
    for text in ("extended", "NOOP,START", "NOOP,SELECT+A"):
        with pytest.raises(ActionError, match="auto_start"):
            read_actions(text)
    assert len(read_actions("extended", auto_start=False)) == len(EXTENDED)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("JUMP", "no button"),
        ("RIGHT+RIGHT", "twice"),
        ("LEFT+RIGHT", "together"),
        ("UP+DOWN", "together"),
        ("", "no button"),
        ("RIGHT,RIGHT", "twice"),
    ],
)
def test_impossible_actions_are_refused(text: str, told: str) -> None:
    with pytest.raises(ActionError, match=told):
        read_actions(text)


@given(st.sampled_from(COMPLEX))
def test_buttons_have_one_spelling(name: str) -> None:
    assert buttons_of(buttons_name(buttons_of(name, "")), "") == buttons_of(name, "")
    assert buttons_of("+".join(reversed(name.lower().split("+"))), "") == buttons_of(name, "")


def test_scripts() -> None:
    run, jump = BITS["RIGHT"] | BITS["B"], BITS["RIGHT"] | BITS["A"] | BITS["B"]
    assert read_script("RIGHT+B:3,RIGHT+A+B:2", ACTIONS, 4) == (run,) * 3 + (jump,) * 2
    assert read_script(" b+right : 8f , noop", ACTIONS, 4) == (run, run, 0)
    assert read_script("", ACTIONS, 4) == ()
    assert read_script("START:8,RIGHT+B:2", ACTIONS, 4) == (run, run)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("RIGHT:0", "count"),
        ("RIGHT:-1", "segment 1"),
        ("RIGHT:6f", "no whole number"),
        ("RIGHT:x", "segment 1"),
        ("RIGHT:4,,A", "segment 2"),
        ("RIGHT:4,START:2", "leading START"),
        ("START+A", "leading START"),
        ("UP+A:2", "not among the actions"),
        ("WALK:4", "no button"),
        ("RIGHT:9999999", "count"),
        ("RIGHT:100000,A", "longer"),
    ],
)
def test_malformed_scripts_name_their_segment(text: str, told: str) -> None:
    with pytest.raises(ActionError, match=told):
        read_script(text, ACTIONS, 4)


@given(st.lists(st.tuples(st.sampled_from(COMPLEX), st.integers(1, 50)), max_size=8))
def test_a_written_script_is_read_back(parts: list[tuple[str, int]]) -> None:
    text = ",".join(f"{name}:{count}" for name, count in parts)
    expected = tuple(held for name, count in parts for held in [buttons_of(name, "")] * count)
    assert read_script(text, ACTIONS, 4) == expected


@given(st.text(alphabet="RIGHTABSNOP+:,0123f ", max_size=24))
def test_any_text_is_a_script_or_refused(text: str) -> None:
    try:
        steps = read_script(text, ACTIONS, 4)
    except HoldfastError:
        return
    assert set(steps) <= set(ACTIONS)


def test_forward_action() -> None:
    assert forward_buttons("", ACTIONS) == BITS["RIGHT"] | BITS["B"]
    assert forward_buttons("", (0, BITS["RIGHT"])) == BITS["RIGHT"]
    assert forward_buttons("LEFT", ACTIONS) == BITS["LEFT"]
    for text, actions in (("", (0, BITS["A"])), ("UP+A", ACTIONS)):
        with pytest.raises(ActionError):
            forward_buttons(text, actions)
