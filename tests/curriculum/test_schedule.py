"""Schedules: the grammar, the published tables of density and boost, and phases that wait for the gate."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.curriculum.schedule import Phase, Schedule, ScheduleSettings, parse_schedule, print_schedule, schedule_for
from holdfast.games.fish.boost import BoostSettings, boost_problems
from holdfast.games.fish.course import Course
from holdfast.games.fish.density import density_coefficient, density_problems
from holdfast.kit.errors import ConfigError
from tests.curriculum.published import density, imported

TEXT = "15:9,20:10,25:9,25:8,25:8,25:8,25:8"
SCHEDULE = parse_schedule(TEXT)
DENSITY, BOOST = density(), imported("v42").section(BoostSettings)
COURSE = Course(SCHEDULE, DENSITY, BOOST)
NUMBERS = st.integers(1, 10**6)
SCHEDULES = st.lists(st.builds(Phase, NUMBERS, NUMBERS), min_size=1, max_size=8).map(lambda rows: Schedule(tuple(rows)))


@settings(deadline=None)
@given(SCHEDULES)
def test_a_printed_schedule_is_read_back(schedule: Schedule) -> None:
    assert parse_schedule(print_schedule(schedule)) == schedule


@settings(deadline=None)
@given(st.text(alphabet="0123456789:,. -x", max_size=20))
def test_any_text_is_a_schedule_or_a_clear_error(text: str) -> None:
    try:
        schedule = parse_schedule(text)
    except ConfigError as error:
        assert all(problem.startswith("schedule.phases: item ") for problem in error.problems)
    else:
        assert parse_schedule(print_schedule(schedule)) == schedule


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("15:9,20", "item 2, '20': must be written as two parts"),
        ("15:9,0:4", "item 2, '0:4': '0' is not a whole number"),
        ("15:-9", "item 1, '15:-9': '-9' is not a whole number"),
        ("15:9,", "item 2, ''"),
        ("a:1", "'a' is not a whole number"),
    ],
)
def test_a_malformed_schedule_names_its_part(text: str, part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_schedule(text)
    assert part in str(caught.value)


def test_the_phases_must_last_as_long_as_the_run() -> None:
    with pytest.raises(ConfigError, match=r"9 \+ 10 = 19 iterations, but run.iterations is 20"):
        schedule_for(ScheduleSettings("15:9,20:10"), 25, 20)
    assert schedule_for(ScheduleSettings(""), 25, 20) == Schedule((Phase(25, 20),))


@settings(deadline=None)
@given(SCHEDULES, st.data())
def test_every_iteration_lies_in_the_span_of_its_phase(schedule: Schedule, data: st.DataObject) -> None:
    iteration = data.draw(st.integers(1, schedule.iterations))
    first, last = schedule.span(schedule.phase_at(iteration))
    assert first <= iteration <= last


@pytest.mark.parametrize(
    ("iterations", "value"), [(range(1, 10), 0.0), (range(10, 20), 0.02), (range(20, 29), 0.04), (range(29, 61), 0.05)]
)
def test_density_while_the_gate_holds_phase_4(iterations: range, value: float) -> None:
    assert {COURSE.at(iteration, 4, "density").density for iteration in iterations} == {value}


@pytest.mark.parametrize(("iteration", "value"), [(45, 0.055), (48, 0.05714), (52, 0.06), (53, 0.06), (60, 0.065)])
def test_density_rises_in_ramp_phases(iteration: int, value: float) -> None:
    assert COURSE.at(iteration, 7, "density").density == pytest.approx(value, abs=5e-6)


def test_a_plateau_stays_at_the_target_before() -> None:
    settings = replace(DENSITY, ramp_phases=(5,))  # its plateau is 4 of 8 iterations, 37 to 44
    values = [density_coefficient(settings, SCHEDULE, iteration, 7) for iteration in range(37, 45)]
    assert values[:5] == [0.05] * 5 and values[-1] == 0.055 and values == sorted(values)


@pytest.mark.parametrize(
    ("iterations", "value"), [(range(1, 20), 0.75), (range(20, 29), 0.76), (range(29, 37), 0.78), (range(37, 61), 0.80)]
)
def test_boost_of_the_published_schedule(iterations: range, value: float) -> None:
    assert {COURSE.at(iteration, 4, "density").boost for iteration in iterations} == {value}


def test_what_the_gate_controls() -> None:
    density, schedule, nothing = (COURSE.at(60, 2, control) for control in ("density", "schedule", "none"))
    assert (density.fish, density.density) == (25, 0.02)
    assert (schedule.phase, schedule.fish, schedule.density) == (2, 20, 0.02)
    assert (nothing.fish, nothing.density) == (25, 0.065)


def test_lists_must_have_an_entry_per_phase() -> None:
    short = parse_schedule("15:9,20:10")
    problems = density_problems(DENSITY, short)
    assert "density.targets has 7 entries, but schedule.phases has 2 phases" in problems
    assert any("ramp_phases names phase 6" in problem for problem in problems)
    assert density_problems(DENSITY, SCHEDULE) == []


def test_boost_texts_are_checked() -> None:
    wrong = BoostSettings(phase_speeds="8:0.7,x:1", phase_floors="9:1.5", density_caps="a")
    problems = "\n".join(boost_problems(wrong, SCHEDULE))
    for part in (
        "boost.phase_speeds: item 2",
        "boost.phase_floors: 9:1.5 must be between",
        "no phase 9",
        "density_caps",
    ):
        assert part in problems
    assert boost_problems(BOOST, SCHEDULE) == []


def test_shares_fit_a_run_of_any_length() -> None:
    shares = ScheduleSettings(phases="25:40%,32:30%,40:30%")
    assert print_schedule(schedule_for(shares, 40, 100)) == "25:40,32:30,40:30"
    assert print_schedule(schedule_for(shares, 40, 7)) == "25:3,32:2,40:2"
    assert schedule_for(shares, 40, 1).phase_at(1) in (1, 2, 3)


@pytest.mark.parametrize(
    ("phases", "words"),
    [
        ("25:40%,32:30%", "the shares add up to 70 %"),
        ("25:40%,32:60", "write all phases as shares, or none"),
        ("25:0%,32:100%", "must be above 0%"),
        ("25:x%", "schedule.phases"),
    ],
)
def test_wrong_shares_are_named(phases: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        schedule_for(ScheduleSettings(phases=phases), 40, 10)
