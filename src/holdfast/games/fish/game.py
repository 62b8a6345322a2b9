"""What the school of fish brings beside its world."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.games.fish.boost import BoostSettings
from holdfast.games.fish.density import DensitySettings
from holdfast.worlds.game import Game, Imported, Metric

METRICS = (
    Metric("evaluation.min_final", "share", "survivors of the worst episode"),
    Metric("evaluation.worst10_final", "share", "survivors of the worst tenth of the episodes"),
    Metric("evaluation.death_p10", "steps", "10th percentile of the steps fish lived"),
    Metric("evaluation.early_100", "share", "fish dead before step 100"),
    Metric("evaluation.step_one_ratio", "share", "fish dead in the first step"),
    Metric("evaluation.avoidable_step_one_ratio", "share", "of those, beyond the ones that no action saves"),
    Metric("evaluation.ceiling_avg", "share", "mean survivors if only doomed fish died"),
    Metric("evaluation.ceiling_min", "share", "survivors of the worst episode if only doomed fish died"),
    Metric("evaluation.worst_gap", "share", "most that an episode stays behind its own ceiling"),
    Metric("curriculum.phase", "number", "phase of the schedule in force"),
    Metric("curriculum.fish", "count", "fish of new training episodes"),
    Metric("curriculum.density", "1", "density coefficient"),
    Metric("curriculum.boost", "of top speed", "first speed of fish"),
    Metric("curriculum.level", "number", "level of the gate"),
    Metric("curriculum.phase_limit", "number", "last phase that the gate allows"),
    Metric("curriculum.deals", "count", "episodes begun from the deck so far"),
    Metric("curriculum.deck_remaining", "share", "of the deck not yet dealt"),
)


def check(config: Any, explicit: frozenset[str]) -> list[str]:
    from holdfast.games.fish.question import idle_problems, school_problems

    return idle_problems(config, explicit) + school_problems(config)


def feasibility(config: Any) -> Any:
    from holdfast.games.fish.question import check_school

    return check_school(config)


def curriculum(run: Any, state: Any) -> Any:
    from holdfast.curriculum.judge import EpisodeJudge
    from holdfast.games.fish.school import SchoolCurriculum

    made = SchoolCurriculum(run, state.world)
    return made, EpisodeJudge(made.evaluation_settings, made.watching)


def rehearsal() -> Any:
    from holdfast.games.fish.rehearsal import school_company

    return school_company()


def report(record: Any) -> Any:
    from holdfast.games.fish.views.report import school_sections

    return school_sections(record)


def report_tables(record: Any) -> Any:
    from holdfast.games.fish.views.report import school_tables

    return school_tables(record)


def pictures(folder: Path, all_of_them: bool) -> None:
    from holdfast.games.fish.views.films import film_worst, training_curve

    film_worst(folder, all_of_them)
    training_curve(folder)


def harvest_deck(arguments: Any, run: Any, config: Any) -> Any:
    from holdfast.games.fish.views.decks import harvest_deck as harvest

    return harvest(arguments, run, config)


def velocity_facts(velocities: Any) -> dict[str, Any]:
    from holdfast.games.fish.world.decks import velocity_facts as facts

    return facts(velocities)


def import_command(text: str) -> Imported:
    from holdfast.games.fish.fish_command import import_command as read

    return read(text)


def deck_lines(facts: Mapping[str, Any]) -> list[str]:
    if "floor_share" not in facts:
        return []
    fish = ", ".join(str(count) for count in facts["fish"])
    return [f"{fish} fish; {facts['living_share']:.1%} alive, {facts['floor_share']:.2%} of them beyond rescue"]


GAME = Game(
    sections={"density": DensitySettings, "boost": BoostSettings},
    uses=frozenset({"schedule", "gate", "deck", "harvest"}),
    check=check,
    feasibility=feasibility,
    curriculum=curriculum,
    metrics=METRICS,
    rehearsal=rehearsal,
    report=report,
    report_tables=report_tables,
    pictures=pictures,
    harvest_deck=harvest_deck,
    velocity_facts=velocity_facts,
    deck_lines=deck_lines,
    speeds={"15": ({"fish": 15}, 256, 200), "25": ({"fish": 25}, 256, 100), "96": ({"fish": 96}, 64, 50)},
    imports={"command": import_command},
)
