"""Population based training (Jaderberg et al. 2017) by synchronous generations.

All members learn for a generation. Then each of the worst fifth is replaced by a copy of one of the best fifth, from
its checkpoint, with options perturbed: times 0.8 or 1.25, or drawn anew. Every choice comes from the study's seed, and
every score from the runs' own metrics, so the same study is the same population wherever and however often it ran.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from holdfast.config.reading import load_config
from holdfast.kit.errors import RunFolderError
from holdfast.kit.rng import numpy_generator
from holdfast.studies.engine import Engine
from holdfast.studies.folder import StudyFolder
from holdfast.studies.fork import fork
from holdfast.studies.options import words_of
from holdfast.studies.piece import curve_of, exists
from holdfast.studies.plan import Goal, Plan, PopulationPlan, Range
from holdfast.studies.trials import FAILED, WAITING, Trial, TrialLog

SHARE = 0.2  # of the members that are replaced, and that are copied; at least one
FACTORS = (0.8, 1.25)
RESAMPLED = 0.25  # how often an option is drawn anew instead of perturbed


class Exchange(NamedTuple):
    """One member goes on as the copy of another."""

    loser: int
    winner: int
    options: dict[str, Any]


def evolve(folder: StudyFolder, plan: Plan, log: TrialLog, engine: Engine) -> None:
    """Generation after generation, from wherever an earlier driver left off."""
    population = plan.population
    assert population is not None
    length = load_config(plan.targets[0], words_of(plan.options))[0].run.iterations
    members = first_members(plan, population)
    log.write([trial for number, trial in members.items() if number not in log.trials])
    for generation in range(1, math.ceil(length / population.generation) + 1):
        until = generation * population.generation
        _learn(folder, plan, log, engine, members, until if until < length else None)
        if until < length:
            scores = {number: _score(folder, log, trial, plan, until) for number, trial in members.items()}
            options = {number: trial.options for number, trial in members.items()}
            chance = numpy_generator(plan.seed, f"p{generation}")
            for exchange in exchanges(scores, options, population, chance):
                members[exchange.loser] = _exchange(folder, plan, log, engine, members, exchange, generation, until)


def first_members(plan: Plan, population: PopulationPlan) -> dict[int, Trial]:
    """Each with options of its own, and all with the study's one seed plus their number: no two begin alike."""
    chance = numpy_generator(plan.seed, "p0")
    found = {}
    for number in range(1, population.members + 1):
        options = {name: drawn(span, chance) for name, span in population.space.items()}
        seed = plan.seeds[0] + number - 1
        found[number] = Trial(number, plan.targets[0], options, seed, member_run(number, 0))
    return found


def member_run(number: int, generation: int) -> str:
    """The folder of a member since the generation in which it was last replaced."""
    return f"m{number:02d}-g{generation:02d}"


def _learn(
    folder: StudyFolder, plan: Plan, log: TrialLog, engine: Engine, members: dict[int, Trial], until: int | None
) -> None:
    pieces = []
    for number, member in members.items():
        if log.trials[number].state == FAILED:
            continue
        pieces.append(folder.piece(plan, member, until=until))
    engine.drive(pieces)


def _score(folder: StudyFolder, log: TrialLog, member: Trial, plan: Plan, until: int) -> float | None:
    """At the end of a generation, as the run evaluated itself; a run that was solved earlier keeps its last one."""
    if log.trials[member.trial].state == FAILED:
        return None
    curve = curve_of(folder.runs / member.run, plan.goal.measure)
    reached = [at for at in curve if at <= until]
    if not reached:
        raise RunFolderError(
            f"{folder.runs / member.run} has no evaluation of {plan.goal.measure} by iteration {until}"
        )
    return curve[max(reached)]


def exchanges(
    scores: dict[int, float | None],
    options: dict[int, dict[str, Any]],
    plan: PopulationPlan,
    chance: np.random.Generator,
) -> list[Exchange]:
    """Who is replaced by whom; a pure function, so that a study that goes on decides the same again."""
    living = {number: score for number, score in scores.items() if score is not None}
    ranked = sorted(living, key=lambda number: (_rank(living[number], plan.goal), number))
    count = min(max(1, round(SHARE * len(scores))), len(ranked) // 2)
    best, worst = ranked[:count], ranked[len(ranked) - count :]
    found = []
    for loser in worst:
        winner = best[int(chance.integers(len(best)))]
        perturbed = {name: _perturbed(options[winner][name], span, chance) for name, span in plan.space.items()}
        if plan.goal.better(living[winner], living[loser]):  # of equals none learns from the other
            found.append(Exchange(loser, winner, perturbed))
    return found


def _rank(score: float, goal: Goal) -> float:
    return -score if goal.direction == "max" else score


def _perturbed(value: Any, span: Range, chance: np.random.Generator) -> Any:
    """Times a factor within the range, the neighbour in a list, or drawn anew."""
    anew, up = chance.random() < RESAMPLED, int(chance.integers(2))
    fresh = drawn(span, chance)
    if anew:
        return fresh
    if span.choices:
        place = span.choices.index(value) + (1 if up else -1)
        return span.choices[min(max(place, 0), len(span.choices) - 1)]
    assert span.low is not None and span.high is not None
    moved = min(max(value * FACTORS[up], span.low), span.high)
    return round(moved) if isinstance(span.low, int) else float(moved)


def drawn(span: Range, chance: np.random.Generator) -> Any:
    """A value of a range, uniform or uniform in its logarithm."""
    share = float(chance.random())
    if span.choices:
        return span.choices[int(share * len(span.choices))]
    assert span.low is not None and span.high is not None
    if span.log:
        value = math.exp(math.log(span.low) + share * (math.log(span.high) - math.log(span.low)))
    else:
        value = span.low + share * (span.high - span.low)
    if isinstance(span.low, int):
        return round(value)
    return float(f"{min(max(value, span.low), span.high):.6g}")


def _exchange(
    folder: StudyFolder,
    plan: Plan,
    log: TrialLog,
    engine: Engine,
    members: dict[int, Trial],
    exchange: Exchange,
    generation: int,
    until: int,
) -> Trial:
    """The loser's next folder; made once, and left alone by a driver that comes after."""
    before, winner = members[exchange.loser], members[exchange.winner]
    run = member_run(exchange.loser, generation)
    if not exists(folder.runs / run):
        fork(folder.runs / winner.run, folder.runs / run, exchange.options)
        engine.watch.note(f"iteration {until}: member {exchange.loser} goes on as a copy of member {exchange.winner}")
    member = before.now(WAITING, run=run, options=exchange.options, seed=winner.seed, generation=generation)
    known = log.trials[exchange.loser]
    if known.generation < generation:
        log.write([dataclasses.replace(member, tries=known.tries, elapsed_s=known.elapsed_s, score=known.score)])
    return member
