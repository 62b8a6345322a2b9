"""Can the gate of a school's run open? The question put together from its configuration and from measurements.

Floors and the reference policy are measured on the run's own evaluation seeds, in the evaluation's own world.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from holdfast.config.sections import Config
from holdfast.curriculum.deck_spec import OWN_HARVEST, deck_types, parse_stages
from holdfast.curriculum.dry_run import EvaluationPlan, Floor, Reference
from holdfast.curriculum.feasibility import Deck, Question, check
from holdfast.curriculum.feasibility_reference import FloorSpread
from holdfast.curriculum.findings import Report
from holdfast.curriculum.gate_check import gate_problems
from holdfast.curriculum.schedule import schedule_for
from holdfast.games.fish.boost import BoostSettings, boost_problems
from holdfast.games.fish.density import DensitySettings, density_problems
from holdfast.games.fish.school import course_of
from holdfast.games.fish.school_deck import queue_plan
from holdfast.games.fish.world.evaluation import evaluated_schools
from holdfast.games.fish.world.floor import spawn_floor
from holdfast.games.fish.world.measure import early, final_share, lifetimes
from holdfast.kit.errors import ConfigError
from holdfast.learner.schedules import pace
from holdfast.rollout.evaluate import DURING_RUN, ROLLING, Evaluation, evaluation_keys

POPULATION = 500  # episodes from which the spread of floors is measured
POPULATION_BLOCK = 1 << 20  # of the evaluation seeds; no evaluation gets there


def idle_problems(config: Config, explicit: frozenset[str]) -> list[str]:
    """Costs of crowding that are set while nothing reads them."""
    if config.world.reward == "classic" or not config.schedule.phases:
        return []
    idle = [key for key in sorted(explicit) if key.startswith("density.")]
    why = f"while world.reward is {config.world.reward}, only with classic"
    return [f"{key} has no effect {why}: remove it" for key in idle]


def school_problems(config: Config) -> list[str]:
    """Everything in the curriculum's options that cannot be read or does not fit together."""
    problems: list[str] = []

    def gathered(read: Any, *arguments: Any) -> Any:
        try:
            return read(*arguments)
        except ConfigError as error:
            problems.extend(error.problems)
            return None

    stages = gathered(parse_stages, config.deck.stages) or ()
    if any(stage.path == OWN_HARVEST for stage in stages) and not config.harvest.enabled:
        problems.append(f"deck.stages: {OWN_HARVEST} needs harvest.enabled = true: nothing is harvested otherwise")
    schedule = gathered(schedule_for, config.schedule, config.world.fish, config.run.iterations)
    if schedule is None:
        return problems
    if schedule.most_fish > config.world.fish:
        problems.append(
            f"schedule.phases has {schedule.most_fish} fish, but world.fish = {config.world.fish} is the room there is"
        )
    problems += density_problems(config.section(DensitySettings), schedule)
    problems += boost_problems(config.section(BoostSettings), schedule)
    if config.gate.enabled:
        evaluations = len(evaluation_plan(config).iterations(config.run.iterations))
        problems += gate_problems(config.gate, deck_types(stages), evaluations)
    return problems


def evaluation_plan(config: Config) -> EvaluationPlan:
    world, evaluation = config.evaluation_world, config.evaluation
    return EvaluationPlan(evaluation.every, evaluation.episodes, world.fish, world.steps)


def blocks(config: Config) -> list[int]:
    """The blocks of seeds that the run will be evaluated on: one for all evaluations, or one for each."""
    if config.evaluation.seeds == "fixed":
        return [DURING_RUN]
    return [
        ROLLING + when // config.evaluation.every for when in evaluation_plan(config).iterations(config.run.iterations)
    ]


def reference_name(config: Config) -> str:
    """The best policy that needs no learning."""
    return "dodge_keep" if config.world.rules == "hunt" else "dodge_shelter"


def question_of(config: Config) -> Question:
    """With floors and reference scores measured, which takes a second or two."""
    # What fish see of each other changes no death, and a script does not look at it.
    settings = replace(config.evaluation_world, neighbours=False, divergence_coef=0.0)
    measured = [_measure_block(config, settings, block) for block in blocks(config)]
    course = course_of(config)
    deck = None
    if config.deck.stages:
        deck = Deck(config.deck, queue_plan(config, course), config.world.steps)
    iterations, density = config.run.iterations, config.section(DensitySettings)
    return Question(
        gate=config.gate,
        schedule=course.schedule,
        evaluation=evaluation_plan(config),
        total_iterations=iterations,
        deck=deck,
        misfits=density_problems(density, course.schedule) if density.targets else (),
        floors=[floor for floor, _ in measured],
        floor_spread=_spread(config, settings),
        reference=[reference for _, reference in measured],
        reference_name=reference_name(config),
        learning_rates=[pace(config.learner, when, iterations).lr for when in range(iterations)],
    )


def _measure_block(config: Config, settings: Any, block: int) -> tuple[Floor, Reference]:
    keys = evaluation_keys(config.evaluation.seed, block, config.evaluation.episodes)
    evaluation = Evaluation(config.world_name, settings, keys, config.rollout.threads)
    script = reference_name(config)
    schools = evaluated_schools(evaluation.play(lambda world: world.yardsticks()[script]), settings)
    floor = Floor(int(schools.floor_step_one.sum()), int(schools.floor.sum()), int(schools.floor.max()))
    reference = Reference(
        death_p10=float(np.percentile(lifetimes(schools), 10)),
        early_death=early(schools.death_step, 100),
        min_final=float(final_share(schools.death_step).min()),
        step_one=int((schools.death_step == 1).sum()),
    )
    return floor, reference


def _spread(config: Config, settings: Any) -> FloorSpread:
    keys = evaluation_keys(config.evaluation.seed, POPULATION_BLOCK, POPULATION)
    doomed = spawn_floor(settings, keys, depth=1).doomed
    return FloorSpread(float(doomed.mean() / settings.fish), float(doomed.std()))


def check_school(config: Config) -> Report:
    """All findings about the gate of this configuration."""
    if not config.gate.enabled:
        raise ConfigError(["gate.enabled is false: there is no gate to check; add --gate.enabled true"])
    if not config.evaluation.every:
        raise ConfigError(["evaluation.every = 0: a gate decides at evaluations, and there are none"])
    return check(question_of(config))
