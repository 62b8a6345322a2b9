"""The curriculum of the fish school: schedule, gate and deck, as the training loop uses them.

Everything that decides is a pure function elsewhere in this package; here is only what is remembered between two
iterations, and which arrays of the world it reaches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.config.sections import Config
from holdfast.curriculum.contract import Curriculum, Evaluated, Numbers, Plan, Played
from holdfast.curriculum.criteria import Measured
from holdfast.curriculum.deck_files import Source
from holdfast.curriculum.deck_queue import episode_limit, first_limit
from holdfast.curriculum.gate import GateState, decide, phase_limit
from holdfast.curriculum.record import Record
from holdfast.curriculum.schedule import schedule_for
from holdfast.games.fish.boost import BoostSettings
from holdfast.games.fish.course import Conditions, Course
from holdfast.games.fish.density import DensitySettings
from holdfast.games.fish.school_deck import SchoolDeck
from holdfast.games.fish.school_records import DECISIONS, HISTORY, TRACE, SchoolRecords, training_numbers
from holdfast.games.fish.school_replay import Tracks, keep_worst
from holdfast.games.fish.world.evaluation import evaluated_schools
from holdfast.games.fish.world.measure import EvaluatedSchools, final_share, measure
from holdfast.worlds.api import Act, World
from holdfast.worlds.api import Plan as LevelPlan

if TYPE_CHECKING:
    from holdfast.run import Run

LOGGED = ("min_final", "worst10_final", "death_p10", "early_100", "step_one_ratio", "avoidable_step_one_ratio",
          "ceiling_avg", "ceiling_min")  # fmt: skip


def course_of(config: Config) -> Course:
    """The part of a run's curriculum that is known before it starts."""
    schedule = schedule_for(config.schedule, config.world.fish, config.run.iterations)
    boost = config.section(BoostSettings)
    if not config.schedule.phases:
        boost = replace(boost, speed=config.world.boost)
    return Course(schedule, config.section(DensitySettings), boost, config.world.density_coef)


def worst_gap(schools: EvaluatedSchools) -> float:
    """How far the worst episode stays behind what was possible in that same episode."""
    ceiling = 1.0 - schools.floor / schools.death_step.shape[1]
    return float((ceiling - final_share(schools.death_step)).max())


class SchoolCurriculum(Curriculum):
    """A run's schedule, gate and deck."""

    streams = (TRACE, HISTORY, DECISIONS)

    def __init__(self, run: Run, world: World) -> None:
        self.config, self.folder, self.tell = run.config, run.folder.folder, run.decision
        config = run.config
        self.course = course_of(config)
        self.gate = GateState()
        self.now: Conditions | None = None
        self.best_gap: float | None = None
        self.tracks: Tracks | None = None  # of the evaluation under way
        self.final: dict[str, Any] = {}  # what the last evaluation, on held-out seeds, measured
        self._improved = False
        self.deck = SchoolDeck(config, self.course, self.folder, self.tell)
        self.deal = self.deck.deal if self.deck.in_use else None
        self.records = SchoolRecords(run.recorder.append)
        self.notes = list(self.deck.open(world))

    # --- before an iteration -----------------------------------------------------------------------------------------

    @property
    def phase_limit(self) -> int:
        enabled, last = self.config.gate.enabled, len(self.course.schedule.phases)
        return phase_limit(self.config.gate, self.gate.level) if enabled else last

    @property
    def episode_steps(self) -> int:
        return episode_limit(self.config.world.steps, self.config.deck.force_reset_steps)

    def conditions(self, iteration: int) -> Conditions:
        controls = self.config.gate.controls if self.config.gate.enabled else "none"
        return self.course.at(iteration, self.phase_limit, controls)

    def level(self, conditions: Conditions, steps: int) -> dict[str, float]:
        level = {"fish": conditions.fish, "steps": steps, "boost": conditions.boost}
        if self.config.world.reward == "classic":
            level["density_coef"] = conditions.density
        return level

    def begin(self, run: Run, is_new: bool) -> list[str]:
        if is_new:
            self._begin(run.state.world)
        return self.notes

    def _begin(self, world: World) -> None:
        """First episodes of different lengths, so that the schools never reset in lock-step."""
        self.now = self.conditions(1)
        for lane in range(world.lanes):
            steps = first_limit(lane, world.lanes, self.episode_steps)
            world.plan(np.array([lane]), LevelPlan(self.level(self.now, steps)))
        world.reset()
        self._deal(world, world.chosen(None))

    def plan(self, run: Run) -> Plan:
        seat = run.state.seat
        restarted = self._prepare(seat.world, run.state.counts.iteration + 1)
        if len(restarted):
            seat.memory.restart(restarted, seat.world.lanes)
        return super().plan(run)._replace(deal=self.deal)

    def _prepare(self, world: World, iteration: int) -> np.ndarray:
        """Set what the next episodes are like; the lanes that were restarted."""
        before, self.now = self.now, self.conditions(iteration)
        world.plan(world.chosen(None), LevelPlan(self.level(self.now, self.episode_steps)))
        if before is None or before.phase == self.now.phase:
            return np.empty(0, np.int64)
        restart = before.fish != self.now.fish or self.config.schedule.phase_reset == "always"
        self.tell("phase", before=before._asdict(), after=self.now._asdict(), restarted=restart)
        if not restart:
            return np.empty(0, np.int64)
        lanes = world.chosen(None)
        world.reset(lanes)
        self._deal(world, lanes)
        return lanes

    def _deal(self, world: World, lanes: np.ndarray) -> None:
        if self.deal is not None:
            self.deal(world, lanes)

    # --- after an iteration ------------------------------------------------------------------------------------------

    def observe(self, run: Run, played: Sequence[Played], row: Numbers) -> Numbers:
        assert self.now is not None
        iteration = run.state.counts.iteration
        trained = training_numbers(played[0].episodes)
        dealt = self.deck.after_iteration(iteration)
        self.records.trace(iteration, self.now, self.gate.level, trained, dealt, row)
        return {
            **{f"curriculum.{name}": value for name, value in self.now._asdict().items()},
            "curriculum.level": self.gate.level,
            "curriculum.phase_limit": self.phase_limit,
            "curriculum.deals": dealt["deals"],
            "curriculum.deck_remaining": dealt["ratio"],
        }

    def is_done(self, run: Run) -> bool:
        stops = self.deck.in_use and self.config.deck.on_empty == "stop"
        return super().is_done(run) or (stops and self.deck.dealer.is_empty)

    # --- evaluations -------------------------------------------------------------------------------------------------

    def evaluation_settings(self, settings: Any) -> Any:
        if self.config.section(BoostSettings).in_evaluations == "current" and self.now is not None:
            return replace(settings, boost=self.now.boost)
        return settings

    def watching(self, act: Act, world: World) -> Act:
        if not self.config.deck.replay_count:
            return act
        self.tracks = Tracks(act, world)
        return self.tracks

    def judge(self, run: Run, found: Evaluated) -> Numbers:
        iteration, episodes, settings, policy = run.state.counts.iteration, found.episodes, found.settings, found.policy
        schools = evaluated_schools(episodes, settings)
        numbers = self.numbers(schools, settings)
        record = self._decide(iteration, numbers) if self.config.gate.enabled else None
        self.records.evaluated(iteration, episodes, schools, numbers, record, self.deck.type)
        self._keep_best(numbers["worst_gap"])
        if self.tracks is not None:
            source = Source(self.folder.name, iteration, policy)
            keep_worst(self.folder, self.tracks, episodes, settings, self.config.deck.replay_count, source)
            self.tracks = None
        now = settings if self.now is None else replace(settings, fish=self.now.fish)
        self.deck.after_evaluation(iteration, episodes, now, found.make_act, policy)
        logged = {f"evaluation.{name}": float(numbers[name]) for name in (*LOGGED, "worst_gap")}
        return {**logged, "curriculum.level": self.gate.level}

    def numbers(self, schools: EvaluatedSchools, settings: Any) -> dict[str, Any]:
        """Everything that is measured of an evaluation, with what it was played under."""
        density = self.now.density if self.now else 0.0
        return {**measure(schools), "worst_gap": worst_gap(schools), "boost": settings.boost, "density": density}

    def measured(self, iteration: int, numbers: dict[str, Any]) -> Measured:
        """What the gate is asked about."""
        return Measured(
            iteration=iteration,
            type=self.deck.type,
            death_p10=numbers["death_p10"],
            early_death=numbers["early_100"],
            min_final=numbers["min_final"],
            step_one=numbers["step_one"],
            agents=numbers["episodes"] * numbers["fish"],
            floor=numbers["floor_step_one"],
            eval_id=f"{iteration:06d}",
            deck_label=self.deck.label,
            metrics=numbers,
        )

    def _decide(self, iteration: int, numbers: dict[str, Any]) -> Record:
        self.gate, record = decide(self.gate, self.config.gate, self.measured(iteration, numbers))
        self.tell("gate", decision=record.to_json())
        return record

    def _keep_best(self, gap: float) -> None:
        self._improved = self.best_gap is None or gap < self.best_gap
        if self._improved:
            self.best_gap = gap

    @property
    def improved(self) -> bool:
        return self._improved

    def conclude(self, found: Evaluated) -> None:
        schools = evaluated_schools(found.episodes, found.settings)
        self.final = {**measure(schools), "worst_gap": worst_gap(schools)}

    # --- saved and taken back ----------------------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        return {
            "gate": self.gate.to_json(),
            "now": None if self.now is None else list(self.now),
            "best_gap": self.best_gap,
            "deck": self.deck.facts(),
        }

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        self.gate = GateState.from_json(facts["gate"])
        self.now = None if facts["now"] is None else Conditions(*facts["now"])
        self.best_gap = facts["best_gap"]
        self.deck.restore(facts["deck"])

    def outcome(self) -> dict[str, Any]:
        gate = {"level": self.gate.level, "max_level": self.config.gate.max_level} if self.config.gate.enabled else None
        return {"gate": gate, "final": self.final}
