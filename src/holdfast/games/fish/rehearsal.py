"""The rehearsal of a school: scripts play the evaluations, so that every event of the gate comes within seconds.

Which script plays next is found by looking ahead through the pure gate: the shortest way to an event not seen yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from holdfast.config.sections import Config
from holdfast.curriculum.contract import Evaluated
from holdfast.curriculum.deck_spec import parse_stages, print_stages
from holdfast.curriculum.gate import GateState, decide
from holdfast.curriculum.gate_settings import FAILURE_KEYS, GateSettings, is_on
from holdfast.curriculum.judge import EpisodeJudge
from holdfast.curriculum.schedule import Schedule, print_schedule, schedule_for
from holdfast.games.fish.boost import BoostSettings
from holdfast.games.fish.density import DensitySettings
from holdfast.games.fish.school import SchoolCurriculum
from holdfast.games.fish.world.evaluation import evaluated_schools
from holdfast.run import Run
from holdfast.runs.folder import RunFolder
from holdfast.runs.metrics import read_lines
from holdfast.runs.rehearse import Company, Feature

EPISODE_STEPS = 12  # of training, so that schools reset in every iteration
LEAST_SHARE = 0.5
EVALUATIONS = 14
LOOK_AHEAD = 5
ALL_EVENTS = ("noop", "success_progress", "advance", "failure_hold", "rollback", "locked", "frozen")


def school_company() -> Company:
    return Company(shrink, with_scripts, school_features)


# --- the miniature ---------------------------------------------------------------------------------------------------


def shrink(whole: Config, mini: Config) -> Config:
    """One iteration for every evaluation interval of the whole run; one deal for every stage of its deck."""
    interval = max(whole.evaluation.every, 1)
    schedule, iterations = _short_schedule(whole, interval)
    seen = {"steps": whole.evaluation_world.steps, "fish": whole.evaluation_world.fish}
    forced, density = whole.deck.force_reset_steps, mini.section(DensitySettings)
    return replace(
        mini,
        world=replace(mini.world, steps=min(mini.world.steps, EPISODE_STEPS * (2 if forced else 1))),
        evaluation=replace(mini.evaluation, world={**mini.evaluation.world, **seen}),
        schedule=replace(mini.schedule, phases=schedule),
        gate=short_gate(whole.gate, interval),
        deck=replace(
            mini.deck,
            stages=print_stages(stage._replace(deals=1) for stage in parse_stages(whole.deck.stages)),
            share=max(mini.deck.share, LEAST_SHARE),
            force_reset_steps=min(forced, EPISODE_STEPS),
        ),
        harvest=replace(mini.harvest, episodes=min(mini.harvest.episodes, 8)),
        run=replace(mini.run, iterations=iterations),
    ).with_section(
        replace(
            density,
            plateaus=tuple(_scaled(count, interval) for count in density.plateaus),
            lock_until=_scaled(density.lock_until, interval),
        )
    )


def _scaled(count: int, interval: int) -> int:
    return -(-count // interval)


def short_gate(gate: GateSettings, interval: int) -> GateSettings:
    """The gate as it acts when there is an evaluation at every iteration."""
    return replace(
        gate,
        lock_iteration=gate.lock_iteration // interval,
        freeze_iterations=_scaled(gate.freeze_iterations, interval),
        success_freeze_iterations=_scaled(gate.success_freeze_iterations, interval),
    )


def _short_schedule(whole: Config, interval: int) -> tuple[str, int]:
    """Phases in the new unit of time, the last one long enough for every event."""
    least = EVALUATIONS if whole.gate.enabled else 4
    if not whole.schedule.phases:
        return "", least
    phases = [
        phase._replace(iterations=_scaled(phase.iterations, interval))
        for phase in schedule_for(whole.schedule, whole.world.fish, whole.run.iterations).phases
    ]
    missing = max(0, least - sum(phase.iterations for phase in phases))
    phases[-1] = phases[-1]._replace(iterations=phases[-1].iterations + missing)
    short = Schedule(tuple(phases))
    return print_schedule(short), short.iterations


# --- the cast --------------------------------------------------------------------------------------------------------


class ScriptedJudge(EpisodeJudge):
    """Lets scripts play the evaluations once the policy itself has played the first."""

    def __init__(self, judge: EpisodeJudge) -> None:
        super().__init__(judge.settings, judge.watching)
        self._measured: dict[str, dict[str, Any]] = {}  # what each script reaches

    def play(self, run: Run) -> Evaluated:
        if run.state.counts.iteration <= 1 or not run.config.gate.enabled:
            return super().play(run)
        script, evaluation = self._next_script(run), self.during(run)
        return self.keep(run, evaluation, evaluation.play(lambda world: world.yardsticks()[script]))

    def _next_script(self, run: Run) -> str:
        curriculum, iteration = run.curriculum, run.state.counts.iteration
        assert isinstance(curriculum, SchoolCurriculum)
        means = {name: found.mean for name, found in self.yardsticks.items()}
        cast = {name: self._numbers(run, curriculum, name) for name in casting(means)}
        seen = {line["event"] for line in read_lines(run.folder.folder / "gate_debug.jsonl")}
        wanted = set(enabled_events(run.config.gate)) - seen
        for length in range(1, LOOK_AHEAD + 1):
            for plan in product(cast, repeat=length):
                evaluations = [curriculum.measured(iteration + k, cast[name]) for k, name in enumerate(plan)]
                if last_event(curriculum.gate, run.config.gate, evaluations) in wanted:
                    return plan[0]
        return next(iter(cast))

    def _numbers(self, run: Run, curriculum: SchoolCurriculum, script: str) -> dict[str, Any]:
        """What a script reaches on the seeds of the evaluations, measured once."""
        if script not in self._measured:
            evaluation = self.during(run)
            episodes = evaluation.play(lambda world: world.yardsticks()[script])
            schools = evaluated_schools(episodes, evaluation.settings)
            self._measured[script] = curriculum.numbers(schools, evaluation.settings)
        return self._measured[script]


def with_scripts(run: Run) -> None:
    assert isinstance(run.judge, EpisodeJudge)
    run.judge = ScriptedJudge(run.judge)


def casting(means: dict[str, float]) -> list[str]:
    """The best script, the worst, and one between them."""
    ranked = sorted(means, key=lambda name: -means[name])
    return list(dict.fromkeys([ranked[0], ranked[-1], ranked[len(ranked) // 2]]))


def last_event(state: GateState, gate: GateSettings, evaluations: Sequence[Any]) -> str:
    event = ""
    for measured in evaluations:
        state, record = decide(state, gate, measured)
        event = record.event
    return event


def enabled_events(gate: GateSettings) -> tuple[str, ...]:
    """Events that this gate is set to have, with an evaluation at every iteration."""
    can_fail = any(is_on(gate, key) for key in FAILURE_KEYS)
    absent = {
        "failure_hold": not can_fail,
        "rollback": not can_fail or gate.max_level == 0,
        "advance": gate.max_level == 0,
        "locked": gate.lock_iteration < 1,
        "frozen": gate.freeze_iterations <= 1 and gate.success_freeze_iterations <= 1,
    }
    return tuple(event for event in ALL_EVENTS if not absent.get(event, False))


# --- what was seen ---------------------------------------------------------------------------------------------------


def school_features(mini: Config, run: RunFolder) -> list[Feature]:
    trace = read_lines(run.folder / "schedule_trace.jsonl")
    events = read_lines(run.folder / "events.jsonl")
    return [
        *_schedule_features(mini, trace, events),
        *(_gate_features(mini, run) if mini.gate.enabled else []),
        *(_deck_features(mini, trace, events) if mini.deck.stages else []),
        *(_harvest_features(run, events) if mini.harvest.enabled else []),
    ]


def _schedule_features(mini: Config, trace: list[dict[str, Any]], events: list[dict[str, Any]]) -> list[Feature]:
    found = []
    schedule = schedule_for(mini.schedule, mini.world.fish, mini.run.iterations)
    phases = schedule.phases if mini.schedule.phases else ()
    for number in range(1, len(phases) + 1):
        lines = [line for line in trace if line["phase"] == number]
        if mini.gate.enabled and mini.gate.controls == "schedule" and number > max(mini.gate.phase_allowance):
            continue
        seen = f"{len(lines)} iterations of {phases[number - 1].fish} fish"
        found.append(Feature(f"phase {number}", bool(lines), seen if lines else "never reached"))
    density, boost = mini.section(DensitySettings), mini.section(BoostSettings)
    for name, is_set in (("density", bool(density.targets)), ("boost", bool(boost.phase_speeds))):
        values = sorted({line[name] for line in trace})
        if is_set:
            found.append(Feature(name, len(values) > 1, f"values {', '.join(f'{value:g}' for value in values)}"))
    if mini.deck.force_reset_steps:
        steps = mini.deck.force_reset_steps
        ended = sum(line["training"]["episodes"] for line in trace)
        found.append(Feature("forced resets", ended > 0, f"{ended} episodes, cut after {steps} steps at most"))
    return found


def _gate_features(mini: Config, run: RunFolder) -> list[Feature]:
    records = read_lines(run.folder / "gate_debug.jsonl")
    found = []
    for event in enabled_events(mini.gate):
        first = next((line for line in records if line["event"] == event), None)
        text = "never came, whatever was played" if first is None else f"at {first['iteration']}: {first['because']}"
        found.append(Feature(f"gate {event}", first is not None, text))
    if mini.gate.controls != "none" and mini.gate.max_level:
        limits = sorted({line["phase_limit"] for line in records})
        found.append(Feature("gate limits phases", len(limits) > 1, f"phase limits {limits}"))
    return found


def _deck_features(mini: Config, trace: list[dict[str, Any]], events: list[dict[str, Any]]) -> list[Feature]:
    dealt = [line["deck"] for line in trace]
    resets = sum(line["training"]["episodes"] for line in trace)
    found = [Feature("deck deals", dealt[-1]["deals"] > 0, f"{dealt[-1]['deals']} of {resets} resets")]
    reached = {label for line in dealt for label in line["entered"]}
    for stage in parse_stages(mini.deck.stages):
        found.append(Feature(f"deck stage {stage.label}", stage.label in reached, f"of type {stage.type}"))
    warned = [event for event in events if event["event"] == "deck_warning"]
    if mini.deck.warn_ratio > 0:
        found.append(Feature("deck warning", bool(warned), f"{len(warned)} raised or resolved"))
    return found


def _harvest_features(run: RunFolder, events: list[dict[str, Any]]) -> list[Feature]:
    kept = sum(int(event["situations"]) for event in events if event["event"] == "harvest")
    files = sorted(path.name for path in (run.folder / "decks").glob("harvest_*.npz"))
    return [Feature("harvest", kept > 0 and bool(files), f"{kept} situations in {len(files)} files")]
